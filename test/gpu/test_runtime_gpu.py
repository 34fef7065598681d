"""The runtime on a real GPU: hand-written PTX (test/gpu/ptx) with recipes. See conftest.py for when it is skipped."""

import os
import threading

import pytest

from tileloom.runtime import ArgumentError, DriverError, Kernel, LaunchError, RecipeError

try:
    import torch
except ImportError:
    torch = None  # conftest.py skips everything

PTX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ptx")


def load(name, arguments, parameters, **launch):
    recipe = {"version": 1, "kernel": name, "target": launch.pop("target", "sm_90a"), "arguments": arguments,
              "parameters": parameters, "launch": {"threads": 128, **launch}}
    return Kernel.load(os.path.join(PTX, name + ".ptx"), recipe)


def pass_on(count):
    return [{"kind": "argument", "argument": index} for index in range(count)]


def vector_add(**launch):
    pointers = [{"name": name, "kind": "pointer", "element": "f32"} for name in "abc"]
    return load("vector_add", pointers + [{"name": "n", "kind": "scalar", "element": "i32"}], pass_on(4),
                grid={"x": {"op": "ceildiv", "of": [{"argument": 3}, 128]}}, **launch)


def tma_copy(element="bf16"):
    tensors = [{"name": name, "kind": "tensor", "element": element, "rank": 2, "location": "copy.mlir:1:1"}
               for name in ("source", "target")]
    maps = [{"kind": "tensor_map", "argument": index, "box": [64, 32], "swizzle": 128, "l2_promotion": 256}
            for index in range(2)]
    return load("tma_copy", tensors, maps, threads=32, grid={
        "x": {"op": "ceildiv", "of": [{"dimension": [0, 1]}, 64]},
        "y": {"op": "ceildiv", "of": [{"dimension": [0, 0]}, 32]}})


def last_block(blocks=1000):
    return load("last_block", [{"name": "out", "kind": "pointer", "element": "i32"}],
                [*pass_on(1), {"kind": "workspace", "bytes": 4, "zero": True}], threads=1, grid={"x": blocks})


def test_vector_add():
    a, b = torch.randn(2, 100001, device="cuda")
    c = torch.zeros_like(a)
    vector_add()(a, b, c, 100000)
    assert torch.equal(c[:100000], (a + b)[:100000])
    assert c[100000] == 0


def test_empty_launch():
    a = torch.empty(0, device="cuda")
    vector_add()(a, a, a, 0)


@pytest.mark.parametrize("rows, columns, pitch", [(32, 64, 64), (1, 8, 8), (300, 200, 208), (77, 1000, 1024)])
def test_tma_copy(rows, columns, pitch):
    source = torch.randn(rows, pitch, device="cuda").bfloat16()[:, :columns]
    memory = torch.ones(rows, pitch, device="cuda", dtype=torch.bfloat16)
    tma_copy()(source, memory[:, :columns])
    assert torch.equal(memory[:, :columns], source)
    assert (memory[:, columns:] == 1).all()


def test_stride_of_a_unit_extent_does_not_matter():
    source = torch.randn(1, 7, device="cuda").bfloat16()  # a row stride of 14 bytes
    target = torch.zeros(8, device="cuda", dtype=torch.bfloat16)
    tma_copy()(source, target.as_strided((1, 7), (7, 1)))
    assert torch.equal(target[:7], source[0])


def test_tensor_without_elements():
    """Three blocks load and store boxes of a tensor without columns; nothing may be written, nothing may fail."""
    tensors = [{"name": name, "kind": "tensor", "element": "bf16", "rank": 2} for name in ("source", "target")]
    maps = [{"kind": "tensor_map", "argument": index, "box": [64, 32], "swizzle": 128} for index in range(2)]
    kernel = load("tma_copy", tensors, maps, threads=32, grid={"x": 3})
    empty = torch.empty(96, 0, device="cuda", dtype=torch.bfloat16)
    kernel(empty, empty)
    torch.cuda.synchronize()


def test_tma_copy_past_four_gigabytes():
    free, _ = torch.cuda.mem_get_info()
    if free < 20 << 30:
        pytest.skip(f"{free >> 30} GiB of free GPU memory; needed: 20")
    source = torch.empty((1 << 22) + 17, 1024, device="cuda", dtype=torch.bfloat16)
    source[-100:] = torch.randn(100, 1024, device="cuda")
    target = torch.zeros_like(source)
    # 1 << 17 rows of blocks are more than grid y takes; copy the last rows by a view.
    tma_copy()(source[-1000:], target[-1000:])
    assert torch.equal(target[-1000:], source[-1000:])
    assert not target[:-1000].any()
    with pytest.raises(LaunchError, match="grid y is 131073; needed at most 65535"):
        tma_copy()(source, target)


def test_workspace_is_zeroed_and_per_stream():
    kernel = last_block()
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(8)]
    for _ in range(50):
        for stream in streams:
            kernel(out, stream=stream)
    torch.cuda.synchronize()
    assert out.item() == 400


def test_current_stream_is_used():
    a = torch.ones(1 << 20, device="cuda")
    c = torch.zeros_like(a)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    kernel = vector_add()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        a.add_(1)
        kernel(a, a, c, a.numel())
    stream.synchronize()
    assert (c == 4).all()


def test_capture_on_first_use():
    """Neither kernel has been loaded when the capture begins: modules, a workspace and a tensor map are made within."""
    copy, count = tma_copy(), last_block()
    source = torch.randn(64, 128, device="cuda").bfloat16()
    target = torch.zeros_like(source)
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        copy(source, target)
        count(out)
        count(out)
    torch.cuda.synchronize()
    assert out.item() == 0 and not target.any()
    for _ in range(10):
        graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(target, source)
    assert out.item() == 20


def test_captured_workspace_is_the_graphs_own():
    """The graph is replayed on one stream while the stream it was captured on launches eagerly."""
    kernel = last_block(20000)
    out = torch.zeros(2, dtype=torch.int32, device="cuda")
    capture, other = torch.cuda.Stream(), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=capture):
        kernel(out[:1])
    torch.cuda.synchronize()
    for _ in range(50):
        with torch.cuda.stream(other):
            graph.replay()
        kernel(out[1:], stream=capture)
    torch.cuda.synchronize()
    assert out.tolist() == [50, 50]


def test_graphs_come_and_go():
    kernel = last_block()
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    for _ in range(20):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kernel(out)
        graph.replay()
        torch.cuda.synchronize()
        del graph
    assert out.item() == 20


def test_launch_on_another_stream_while_one_captures():
    kernel = last_block()
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    graph, error = torch.cuda.CUDAGraph(), []

    def first_use():
        try:
            kernel(out, stream=stream)
        except Exception as caught:  # reported below, in the main thread
            error.append(caught)

    with torch.cuda.graph(graph):
        out.add_(0)
        thread = threading.Thread(target=first_use)
        thread.start()
        thread.join()
    assert not error
    graph.replay()
    torch.cuda.synchronize()
    assert out.item() == 1


def test_clusters():
    kernel = load("cluster_rank", [{"name": "out", "kind": "pointer", "element": "i32"}], pass_on(1), threads=1,
                  grid={"x": 64}, cluster=[4, 1, 1])
    out = torch.zeros(64, dtype=torch.int32, device="cuda")
    kernel(out)
    assert out.tolist() == [400 + block % 4 for block in range(64)]
    large = load("cluster_rank", [{"name": "out", "kind": "pointer", "element": "i32"}], pass_on(1), threads=1,
                 grid={"x": 64}, cluster=[16, 1, 1])
    large(out)
    assert out.tolist() == [1600 + block % 16 for block in range(64)]


def test_dependent_launches():
    kernel = vector_add(dependent=True)
    one = torch.ones(1 << 16, device="cuda")
    total = torch.zeros_like(one)
    for _ in range(200):
        kernel(one, total, total, one.numel())
    torch.cuda.synchronize()
    assert (total == 200).all()


def test_cooperative_launch_too_large():
    kernel = vector_add(cooperative=True)
    a = torch.ones(1 << 24, device="cuda")
    with pytest.raises(LaunchError, match=r"kernel 'vector_add': a cooperative launch of 131072 CTAs; .* holds \d+ at"):
        kernel(a, a, a, a.numel())
    c = torch.zeros_like(a)
    kernel(a, a, c, 1000)
    assert (c[:1000] == 2).all()


def test_threads_without_a_context():
    a = torch.ones(1000, device="cuda")
    c = torch.zeros_like(a)
    torch.cuda.synchronize()
    kernel = vector_add()
    errors = []

    def launch():
        try:
            kernel(a.data_ptr(), a.data_ptr(), c.data_ptr(), 1000, stream=0)
        except Exception as caught:
            errors.append(caught)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert not errors
    assert (c == 2).all()


def test_cuda_array_interface_and_dlpack():
    class Interface:
        def __init__(self, tensor):
            self.__cuda_array_interface__ = {"shape": tuple(tensor.shape), "typestr": "<f2", "version": 3,
                                             "data": (tensor.data_ptr(), False), "strides": None}

    class DLPack:
        def __init__(self, tensor):
            self.__dlpack__, self.__dlpack_device__ = tensor.__dlpack__, tensor.__dlpack_device__

    source = torch.randn(64, 128, device="cuda").half()
    target = torch.zeros_like(source)
    torch.cuda.synchronize()
    tma_copy("f16")(Interface(source), DLPack(target))
    torch.cuda.synchronize()
    assert torch.equal(target, source)


def test_two_devices():
    if torch.cuda.device_count() < 2:
        pytest.skip("one CUDA device; needed: 2")
    kernel = vector_add()
    for device in (1, 0, 1):
        a = torch.ones(1000, device=f"cuda:{device}")
        c = torch.zeros_like(a)
        kernel(a, a, c, 1000)
        torch.cuda.synchronize(device)
        assert (c == 2).all()
    assert torch.cuda.current_device() == 0
    with pytest.raises(ArgumentError, match="argument 1 'b': is on CUDA device 1; needed on CUDA device 0"):
        kernel(c.to("cuda:0"), a.to("cuda:1"), c.to("cuda:0"), 1000)


def test_wrong_arguments_leave_the_device_usable():
    copy = tma_copy()
    good = torch.zeros(64, 128, device="cuda", dtype=torch.bfloat16)
    wide = torch.zeros(64, 511, device="cuda", dtype=torch.bfloat16)
    flat = torch.zeros(64 * 128 + 8, device="cuda", dtype=torch.bfloat16)
    for values, text in [
        ((good.cpu(), good), "argument 0 'source' .*: is on the CPU; needed on CUDA device 0"),
        ((good, good.float()), "argument 1 'target' .*: element type is f32; needed bf16"),
        ((good, good[0]), "rank is 1; needed 2"),
        ((wide, wide), r"stride of dimension 0 is 511 elements \(1022 bytes\); needed a multiple of 16 bytes"),
        ((good.t(), good), "stride of dimension 1 is 128 elements; needed 1"),
        ((flat[1:1 + 64 * 128].view(64, 128), good), "needed a multiple of 16 bytes for TMA"),
        ((good,), "1 arguments found; needed 2"),
    ]:
        with pytest.raises(ArgumentError, match=text):
            copy(*values)
    source = torch.randn_like(good)
    copy(source, good)
    assert torch.equal(good, source)


def test_recipe_must_fit_the_code():
    kernel = load("vector_add", [{"name": "a", "kind": "pointer", "element": "f32"}], pass_on(1), grid={"x": 1})
    with pytest.raises(RecipeError, match="recipe and code disagree: the recipe has 1 parameters, the code more"):
        kernel(torch.zeros(1, device="cuda"))


def test_bad_code():
    recipe = {"version": 1, "kernel": "k", "target": "sm_90a", "arguments": [], "parameters": [],
              "launch": {"threads": 32, "grid": {"x": 1}}}
    broken = b".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { nonsense; }\n"
    with pytest.raises(DriverError, match="whose log says: .*nonsense"):
        Kernel.load(broken, recipe)()
    with pytest.raises(DriverError, match="cuModuleGetFunction of that name"):
        Kernel.load(os.path.join(PTX, "vector_add.ptx"), recipe)()
    with pytest.raises(LaunchError, match="compiled for sm_100a; CUDA device 0 .* is sm_90"):
        Kernel.load(broken, {**recipe, "target": "sm_100a"})()
