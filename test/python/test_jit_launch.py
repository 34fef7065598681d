"""Launches of jitted kernels on the recording driver: specialisation, arguments, grids. A stub takes the compiler's place, so that these
tests say nothing about passes."""

import json
import struct

import numpy as np
import pytest

import tileloom as tl
from support import CudaArray, make_torch
from tileloom.dispatch import compiled as compiled_module
from tileloom.dispatch import function as function_module
from tileloom.frontend.generate import generate

ELEMENTS = {"bf16": 2, "f16": 2, "f32": 4, "i32": 4}


def recipe_of(program):
    """A recipe that passes every argument on as it is; tensors become maps."""
    arguments, parameters = [], []
    for index, line in enumerate(program.text.split("attributes")[0].split("%")[1:]):
        name = line.split('tile.name = "')[1].split('"')[0]
        type = line.split(": ")[1].split(" ")[0]
        if type.startswith("!tile.desc"):
            *box, element = type[len("!tile.desc<"):-1].split("x")
            arguments.append({"name": name, "kind": "tensor", "element": element, "rank": len(box)})
            parameters.append({"kind": "tensor_map", "argument": index, "box": [min(int(b), 256) for b in reversed(box)]})
        else:
            pointer = line.split("tile.pointer = ")[1].split(",")[0].split("}")[0] if "tile.pointer" in line else None
            arguments.append({"name": name, "kind": "pointer" if pointer else "scalar", "element": pointer or type})
            parameters.append({"kind": "argument", "argument": index})
    grid = {"persistent": True, "per_sm": 1} if program.has_tile_loop else {"given": True}
    return {"version": 1, "kernel": program.name, "target": "sm_90a", "arguments": arguments, "parameters": parameters,
            "launch": {"grid": grid, "threads": 128}}


@pytest.fixture
def stub(monkeypatch):
    """Programs that were compiled, in order."""
    made = []

    def compile_program(program, target, options=None, assemble=True):
        made.append((program, target))
        return compiled_module.CompiledKernel(program, target, {}, {"ptx": b"// PTX", "recipe": json.dumps(recipe_of(program)).encode()})
    monkeypatch.setattr(function_module, "compile_program", compile_program)
    return made


def add_kernel():
    @tl.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)
    return add


def copy_kernel():
    @tl.jit
    def copy(a: tl.view, b: tl.view, scale, BM: tl.constexpr = 64):
        for m, in tl.tiles((a.shape[0], BM)):
            b.store([m, 0], (a.load([m, 0], [BM, a.shape[1]]).to(tl.float32) * scale * b.stride(0)).to(b.dtype))
    return copy


def tensors(torch, *addresses, shape=(1000,), dtype="float32", **more):
    return [torch.Tensor(shape, getattr(torch, dtype), address=address, **more) for address in addresses]


def test_grid_and_arguments(fake, monkeypatch, stub):
    torch, add = make_torch(monkeypatch), add_kernel()
    x, y, out = tensors(torch, 0x1000, 0x2000, 0x3000)
    for index, size in enumerate((8, 8, 8, 4)):
        fake.parameter(index, 8 * index, size)
    fake.set("parameters=4")
    add[(tl.cdiv(1000, 256),)](x, y, out, 1000, BLOCK=256)
    assert fake.lines("cuLaunchKernelEx") == ["cuLaunchKernelEx grid=4x1x1 block=128x1x1 shared=0 stream=0x70"]
    assert fake.lines("parameter") == ["parameter 0 0010000000000000", "parameter 1 0020000000000000", "parameter 2 0030000000000000",
                                       "parameter 3 e8030000"]
    fake.clear()
    add[lambda meta: (meta["n"] // meta["BLOCK"], 2)](x, y, out, n=1024, BLOCK=256, stream=0x99)
    assert fake.lines("cuLaunchKernelEx") == ["cuLaunchKernelEx grid=4x2x1 block=128x1x1 shared=0 stream=0x99"]
    fake.clear()
    add[(0,)](x, y, out, 1000, 256)
    assert fake.lines("cuLaunch") == []


def test_preload(fake, monkeypatch, stub):
    torch, add = make_torch(monkeypatch), add_kernel()
    x, y, out = tensors(torch, 0x1000, 0x2000, 0x3000)
    add.preload(x, y, out, 1000, BLOCK=256)
    assert len(fake.lines("cuModuleLoad")) == 1 and fake.lines("cuLaunch") == []
    add[(4,)](x, y, out, 1000, BLOCK=256)
    assert len(fake.lines("cuModuleLoad")) == 1 and len(fake.lines("cuLaunchKernelEx")) == 1


def test_specialisation(fake, monkeypatch, stub):
    torch, add = make_torch(monkeypatch), add_kernel()
    x, y, out = tensors(torch, 0x1000, 0x2000, 0x3000)
    odd, = tensors(torch, 0x1004)
    half, = tensors(torch, 0x1000, dtype="float16")

    def compiled(*arguments, **constants):
        before = len(stub)
        add[(1,)](*arguments, **constants)
        return len(stub) - before
    assert compiled(x, y, out, 1000, BLOCK=256) == 1
    assert compiled(x, y, out, 999, BLOCK=256) == 0, "neither is a multiple of 16"
    assert compiled(x, y, out, 1008, BLOCK=256) == 1
    assert compiled(x, y, out, 1, BLOCK=256) == 1
    assert compiled(x, y, out, 1 << 40, BLOCK=256) == 1
    assert compiled(x, y, out, 1000, BLOCK=128) == 1
    assert compiled(odd, y, out, 1000, BLOCK=128) == 1
    assert compiled(half, y, out, 1000, BLOCK=128) == 1
    assert compiled(x, y, out, 1000, BLOCK=128, num_warps=8) == 1
    assert "#tile.schedule<warps = 8>" in stub[-1][0].text
    assert compiled(x, y, out, 1000, BLOCK=128, schedule={"warps": 8, "stages": 2}) == 1
    assert compiled(x, y, out, 1000, BLOCK=128, target="sm_100a") == 1
    assert compiled(x, y, out, 999, 128) == 0
    assert "tile.divisibility" not in stub[5][0].text.split("%y")[0] and "%n" not in stub[2][0].text


def test_views(fake, monkeypatch, stub):
    torch, copy = make_torch(monkeypatch), copy_kernel()
    a, = tensors(torch, 0x5000, shape=(100, 64), dtype="bfloat16")
    b, = tensors(torch, 0x9000, shape=(100, 64), dtype="bfloat16", strides=(72, 1))
    for index, (offset, size) in enumerate(((0, 128), (128, 4), (192, 128), (320, 8), (328, 4))):
        fake.parameter(index, offset, size)
    fake.set("parameters=5")
    copy(a, b, 0.5)
    assert "extents=64,100 strides=144 " in fake.lines("cuTensorMapEncodeTiled")[1]
    assert fake.lines("parameter 1") == ["parameter 1 64000000"] and fake.lines("parameter 3") == ["parameter 3 4800000000000000"]
    assert fake.lines("parameter 4") == ["parameter 4 " + struct.pack("<f", 0.5).hex()]
    assert len(stub) == 1
    copy(a, b, 0.25)
    assert len(stub) == 1
    wide, = tensors(torch, 0x5000, shape=(100, 32), dtype="bfloat16")
    copy(wide, b, 0.25)
    assert len(stub) == 2, "the extent of a box is a constant of the program"
    copy(a, b, 0.125)
    assert len(stub) <= 3
    count = len(stub)
    copy(a, b, 0.125)
    copy(wide, b, 0.125)
    assert len(stub) == count
    tall, = tensors(torch, 0x5000, shape=(7, 64), dtype="bfloat16")
    copy(tall, b, 0.125)
    assert len(stub) == count, "the other extent is not"


def test_new_shapes_do_not_visit_the_source_again(fake, monkeypatch, stub):
    torch, copy = make_torch(monkeypatch), copy_kernel()
    visits = []
    monkeypatch.setattr(function_module, "generate", lambda *arguments: visits.append(arguments) or generate(*arguments))
    for rows in (100, 200, 300):
        for columns in (64, 32):
            a, b = tensors(torch, 0x5000, 0x9000, shape=(rows, columns), dtype="bfloat16")
            copy(a, b, 0.5)
            assert f"!tile.desc<64x{columns}xbf16>" in copy._program(copy_facts(a, b, copy), {}, None).text
    assert len(stub) == 2 and len(visits) == 2, "one program for each number of columns"


def copy_facts(a, b, copy):
    from tileloom.dispatch import facts
    return {p.name: facts.of_value(p, value, p.name) for p, value in zip(copy.parameters, (a, b, 0.5, 64))}


def test_other_holders_of_memory(fake, stub):
    add = add_kernel()
    x, y, out = (CudaArray((1000,), address=address) for address in (0x1000, 0x2000, 0x3000))
    add[(4,)](x, y, out, 1000, BLOCK=256, stream=7)
    assert fake.lines("cuLaunchKernelEx") == ["cuLaunchKernelEx grid=4x1x1 block=128x1x1 shared=0 stream=0x7"]
    assert "tile.pointer = f32, tile.divisibility = 16" in stub[0][0].text


def test_descriptors(fake, monkeypatch, stub):
    @tl.jit
    def move(a, b, M, N, stride, BM: tl.constexpr):
        source = tl.make_tensor_descriptor(a, [M, N], [stride, 1], [BM, 32])
        target = tl.make_tensor_descriptor(b + M * 64, [M // 2, N + 32], [N * 2, 1], [BM, 32])
        target.store([tl.program_id(0) * BM, 0], source.load([tl.program_id(0) * BM, 0]))
    torch = make_torch(monkeypatch)
    a, b = tensors(torch, 0x4000, 0x8000, dtype="float16")
    move[(2,)](a, b, 100, 64, 80, BM=64)
    calls = fake.lines("cuTensorMapEncodeTiled")
    assert "address=0x4000 extents=64,100 strides=160 " in calls[0]
    assert f"address={0x8000 + 100 * 64 * 2:#x} extents=96,50 strides=256 " in calls[1]


def test_wrong_arguments(fake, monkeypatch, stub):
    torch, add, copy = make_torch(monkeypatch), add_kernel(), copy_kernel()
    x, y, out = tensors(torch, 0x1000, 0x2000, 0x3000)
    a, b = tensors(torch, 0x5000, 0x9000, shape=(100, 64), dtype="bfloat16")

    def refused(call, message):
        with pytest.raises(tl.TileloomError, match=message):
            call()
        assert fake.lines("cuLaunch") == []
    refused(lambda: add[(4,)](x, y, out, 1000), r"add\(\): argument 'BLOCK' is missing")
    refused(lambda: add[(4,)](x, y, out, 1000, 256, 3), r"add\(\): 6 arguments; needed at most 5")
    refused(lambda: add[(4,)](x, y, out, 1000, 256, n=3), r"add\(\): argument 'n' is given twice")
    refused(lambda: add[(4,)](x, y, out, 1000, BLOK=256), r"add\(\): unknown argument 'BLOK'; it has x, y, out, n, BLOCK")
    refused(lambda: add(x, y, out, 1000, 256), r"kernel 'add': no grid; needed add\[\(x, y, z\)\]")
    refused(lambda: add[(1, 2, 3, 4)](x, y, out, 1000, 256), "a grid of 4 extents")
    refused(lambda: add[(1, 70000)](x, y, out, 1000, 256), "grid y is 70000; needed 0 to 65535")
    refused(lambda: add[(1.5,)](x, y, out, 1000, 256), "grid x is 1.5; needed an integer")
    refused(lambda: add[(-1,)](x, y, out, 1000, 256), "grid x is -1; needed 0 to")
    refused(lambda: copy[(4,)](a, b, 1.0), r"kernel 'copy': a grid of \(4,\) for a kernel with tl.tiles")
    refused(lambda: add[(4,)](x, y, "out", 1000, 256), "kernel 'add', argument 2 'out': is of type str; needed a tensor, a number or None")
    refused(lambda: copy(a, 5, 1.0), "kernel 'copy', argument 1 'b': is of type int; needed a tensor")
    other, = tensors(torch, 0x3000, device=1)
    refused(lambda: add[(4,)](x, y, other, 1000, 256), "argument 2 'out': is on CUDA device 1; needed on CUDA device 0, where the launch is")
    host, = tensors(torch, 0x3000, device=-1)
    refused(lambda: add[(4,)](x, y, host, 1000, 256), "argument 2 'out': is on the CPU; needed on CUDA device 0")
    strange, = tensors(torch, 0x3000, dtype="complex64")
    refused(lambda: add[(4,)](x, y, strange, 1000, 256), "argument 2 'out': element type torch.complex64 is not supported")
    skewed, = tensors(torch, 0x5000, shape=(100, 64), dtype="bfloat16", strides=(65, 1))
    refused(lambda: copy(a, skewed, 1.0), "argument 2 'b': stride of dimension 0 is 65 elements .130 bytes.; needed a multiple of 16")


def test_automatic_parameters(fake, monkeypatch, stub):
    @tl.jit(candidates={"BM": (48, 64), "BN": (100, 32)})
    def kernel(out, BM: tl.constexpr = tl.auto, BN: tl.constexpr = tl.auto):
        tl.static_assert(BM == 64)
        tl.store(out + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], 1.0)
    torch = make_torch(monkeypatch)
    out, = tensors(torch, 0x1000)
    kernel[(1,)](out)
    assert "tensor<64x32xf32>" in stub[0][0].text and len(stub) == 1, "the first legal one"
    kernel[(1,)](out)
    assert len(stub) == 1
    kernel[(1,)](out, BM=64, BN=16)
    assert "tensor<64x16xf32>" in stub[1][0].text
    with pytest.raises(tl.CompilationError, match="assertion failed"):
        kernel[(1,)](out, BM=32)

    @tl.jit
    def unknown(out, WIDTH: tl.constexpr = tl.auto):
        tl.store(out, WIDTH)
    with pytest.raises(tl.ArgumentError, match="kernel 'unknown', parameter 'WIDTH': is tl.auto, and no candidates are known"):
        unknown[(1,)](out)


def test_choice_by_another_model(fake, monkeypatch, stub):
    from tileloom import schedule
    seen = []

    def choose(kernel, arguments, legal, emit, target, schedule):
        seen.append((kernel.__name__, [(name, getattr(value, "shape", None) or value.extents, value.dtype) for name, value in arguments.items()]))
        return {"BM": 16, "schedule": {"stages": 3, "warps": 4}}
    monkeypatch.setattr(schedule, "choose", choose)

    @tl.jit
    def kernel(a: tl.view, BM: tl.constexpr = tl.auto):
        for m, in tl.tiles((a.shape[0], BM)):
            a.store([m, 0], a.load([m, 0], [BM, 32]))
    torch = make_torch(monkeypatch)
    for rows in (100, 100, 200):
        kernel(torch.Tensor((rows, 32), torch.bfloat16), schedule={"warps": 8})
    assert seen == [("kernel", [("a", (rows, 32), tl.bfloat16)]) for rows in (100, 200)], "once for each shape"

    kernel.compile(signature={"a": ("bf16", 2)})
    assert seen[-1] == ("kernel", [("a", (None, None), tl.bfloat16)])
    assert "#tile.schedule<stages = 3, warps = 8>" in stub[0][0].text and "<16x32xbf16>" in stub[0][0].text


def test_simulated_grid(monkeypatch, stub):
    """NumPy arrays go to the simulator, with the grid in the recipe and the arrays as they are."""
    from tileloom import sim
    calls = []

    class Result:
        def check(self):
            return self

    monkeypatch.setattr(sim, "run_recipe", lambda ptx, recipe, *values, **options: calls.append((recipe, values, options)) or Result())
    add = add_kernel()
    x, y, out = (np.zeros(1000, np.float32) for _ in range(3))
    add[(4, 2)](x, y, out, 1000, BLOCK=256, simulator={"seed": 3})
    recipe, values, options = calls[0]
    assert recipe["launch"]["grid"] == {"x": 4, "y": 2, "z": 1} and options["seed"] == 3
    assert values[0] is x and values[2] is out and values[3] == 1000
