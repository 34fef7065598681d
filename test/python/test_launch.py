"""From Python to the driver: what the driver is asked to do."""

import struct
import types

import numpy as np
import pytest
from support import CudaArray, OnDevice, fresh_address, make_torch, recipe, tensor_argument
from tileloom.runtime import ArgumentError, DriverError, Kernel, LaunchError, RecipeError, TileloomError

MAP = {"kind": "tensor_map", "argument": 0, "box": [64, 8], "swizzle": 128}


def test_torch_tensor(fake, monkeypatch):
    torch = make_torch(monkeypatch)
    kernel = Kernel.load(b"// PTX", recipe([tensor_argument()], [MAP]))
    address = fresh_address()
    kernel(torch.Tensor((100, 64), torch.bfloat16, address, strides=(72, 1)))
    assert fake.lines("cuTensorMapEncodeTiled") == [
        f"cuTensorMapEncodeTiled type=9 rank=2 address={address:#x} extents=64,100 strides=144 box=64,8 "
        "element_strides=1,1 interleave=0 swizzle=3 promotion=0 fill=0"]
    assert fake.lines("cuLaunchKernelEx") == [
        "cuLaunchKernelEx grid=1x1x1 block=128x1x1 shared=0 stream=0x70"]


def test_torch_stream_of_the_tensors_device(fake, monkeypatch):
    torch = make_torch(monkeypatch)
    fake.set("devices=2")
    kernel = Kernel.load(b"// PTX", recipe([tensor_argument()]))
    kernel(torch.Tensor((4, 8), torch.bfloat16, device=1))
    assert fake.lines("cuCtxPushCurrent") == ["cuCtxPushCurrent 1"]
    assert fake.lines("cuLaunchKernelEx")[0].endswith("stream=0x71")


@pytest.mark.parametrize("stream, text", [
    (0x99, "stream=0x99"),
    (types.SimpleNamespace(cuda_stream=0x98), "stream=0x98"),
    (types.SimpleNamespace(ptr=0x97), "stream=0x97"),
    (types.SimpleNamespace(__cuda_stream__=lambda: (0, 0x96)), "stream=0x96"),
    (0, "stream=(nil)"),
])
def test_explicit_stream(fake, monkeypatch, stream, text):
    torch = make_torch(monkeypatch)
    kernel = Kernel.load(b"// PTX", recipe([tensor_argument()]))
    kernel(torch.Tensor((4, 8), torch.bfloat16), stream=stream)
    assert fake.lines("cuLaunchKernelEx")[0].endswith(text)


def test_stream_of_wrong_type(fake):
    kernel = Kernel.load(b"// PTX", recipe([]))
    with pytest.raises(ArgumentError, match="stream is of type str; needed an integer"):
        kernel(stream="default")


@pytest.mark.parametrize("dtype, element, data_type", [
    ("float8_e4m3fn", "e4m3", 0), ("float8_e5m2", "e5m2", 0), ("float8_e8m0fnu", "e8m0", 0),
    ("float16", "f16", 6), ("float32", "f32", 7), ("int32", "i32", 3), ("uint8", "i8", 0)])
def test_torch_dtypes(fake, monkeypatch, dtype, element, data_type):
    torch = make_torch(monkeypatch)
    kernel = Kernel.load(b"// PTX", recipe([tensor_argument(element=element)],
                                           [{"kind": "tensor_map", "argument": 0, "box": [16, 8]}]))
    kernel(torch.Tensor((64, 64), getattr(torch, dtype), address=fresh_address()))
    assert f" type={data_type} " in fake.lines("cuTensorMapEncodeTiled")[0]


@pytest.mark.parametrize("dtype", ["float4_e2m1fn_x2", "uint8"])
def test_packed_fp4(fake, monkeypatch, dtype):
    torch = make_torch(monkeypatch)
    kernel = Kernel.load(b"// PTX", recipe([tensor_argument(element="e2m1")],
                                           [{"kind": "tensor_map", "argument": 0, "box": [128, 8]}]))
    address = fresh_address()
    kernel(torch.Tensor((16, 64), getattr(torch, dtype), address, strides=(96, 1)))
    assert f"type=13 rank=2 address={address:#x} extents=128,16 strides=96 " in fake.lines("cuTensorMapEncodeTiled")[0]
    with pytest.raises(ArgumentError, match="argument 0 'a': packed e2m1 has stride 2 in its last dimension; needed 1"):
        kernel(torch.Tensor((16, 64), getattr(torch, dtype), strides=(128, 2)))


def test_cuda_array_interface(fake):
    kernel = Kernel.load(b"// PTX", recipe([tensor_argument(element="f32")],
                                           [{"kind": "tensor_map", "argument": 0, "box": [4, 8]}]))
    address = fresh_address()
    kernel(CudaArray((3, 8), address=address, strides=(64, 4)))
    assert f"type=7 rank=2 address={address:#x} extents=8,3 strides=64 " in fake.lines("cuTensorMapEncodeTiled")[0]
    # The interface does not name the device: the driver was asked.
    assert fake.lines("cuPointerGetAttribute 9") == [f"cuPointerGetAttribute 9 {address:#x}"]
    with pytest.raises(ArgumentError, match="byte strides are \\(63, 4\\); needed multiples of the 4 bytes"):
        kernel(CudaArray((3, 8), strides=(63, 4)))


def test_dlpack(fake):
    array = np.zeros((5, 4, 8), np.float32)
    view = OnDevice(array[:, ::2, :])
    kernel = Kernel.load(b"// PTX", recipe([tensor_argument(element="f32", rank=3)],
                                           [{"kind": "tensor_map", "argument": 0, "box": [4, 1, 1]}]))
    kernel(view, stream=0x42)
    assert view.streams == [0x42]
    assert f"address={array.ctypes.data:#x} extents=8,2,5 strides=64,128 " in fake.lines("cuTensorMapEncodeTiled")[0]
    kernel(view)
    assert view.streams == [0x42, 1]


def test_host_memory_is_refused(fake):
    kernel = Kernel.load(b"// PTX", recipe([tensor_argument(element="f32")]))
    fake.clear()
    with pytest.raises(ArgumentError, match="argument 0 'a': is on the CPU; needed on a CUDA device"):
        kernel(np.zeros((4, 4), np.float32))
    assert fake.lines("cuLaunch") == []


@pytest.mark.parametrize("element, value, bits", [
    ("i32", -5, struct.pack("<i", -5)), ("i64", 1 << 40, struct.pack("<q", 1 << 40)), ("i1", True, b"\x01"),
    ("u8", 255, b"\xff"), ("f32", 1.5, struct.pack("<f", 1.5)), ("f64", 2, struct.pack("<d", 2.0)),
    ("f16", 0.5, struct.pack("<e", 0.5)), ("bf16", 1.0, b"\x80\x3f"), ("bf16", 1.00390625, b"\x80\x3f"),
    ("bf16", 1.01171875, b"\x82\x3f"), ("bf16", float("nan"), b"\xc0\x7f"), ("f32", np.float32(3), struct.pack("<f", 3)),
    ("i16", np.int64(-1), b"\xff\xff"), ("f32", float("-inf"), struct.pack("<f", float("-inf"))),
])
def test_scalars(fake, element, value, bits):
    kernel = Kernel.load(b"// PTX", recipe([{"name": "s", "kind": "scalar", "element": element}],
                                           [{"kind": "argument", "argument": 0}]))
    fake.parameter(0, 0, len(bits))
    fake.set("parameters=1")
    kernel(value)
    assert fake.lines("parameter") == [f"parameter 0 {bits.hex()}"]


@pytest.mark.parametrize("element, value, text", [
    ("i32", 1 << 31, r"is 2147483648; needed -2147483648..2147483647 \(i32\)"),
    ("u8", -1, r"is -1; needed 0..255 \(u8\)"),
    ("i32", 1.5, r"is 1.5 of type float; needed an integer \(i32\)"),
    ("f16", 1e6, "is 1000000.0; needed a number that f16 can hold"),
    ("f32", "1", "is of type str; needed a number"),
    ("f32", None, "is of type NoneType; needed a number"),
])
def test_bad_scalars(fake, element, value, text):
    kernel = Kernel.load(b"// PTX", recipe([{"name": "s", "kind": "scalar", "element": element,
                                             "location": "k.py:7:3"}]))
    with pytest.raises(ArgumentError, match=r"^kernel 'k', argument 0 's' \(k.py:7:3\): " + text):
        kernel(value)


def test_pointers(fake, monkeypatch):
    torch = make_torch(monkeypatch)
    kernel = Kernel.load(b"// PTX", recipe([{"name": "p", "kind": "pointer", "element": "i32"}],
                                           [{"kind": "argument", "argument": 0}]))
    fake.parameter(0, 0, 8)
    fake.set("parameters=1")
    for value in (0xABC0, None, torch.Tensor((3,), torch.int32, address=0xDEF0)):
        kernel(value)
    assert fake.lines("parameter") == ["parameter 0 c0ab000000000000", "parameter 0 0000000000000000",
                                       "parameter 0 f0de000000000000"]
    with pytest.raises(ArgumentError, match="argument 0 'p': element type is f32; needed i32"):
        kernel(torch.Tensor((3,), torch.float32))


def test_wrong_arguments(fake, monkeypatch):
    torch = make_torch(monkeypatch)
    kernel = Kernel.load(b"// PTX", recipe([tensor_argument()], [MAP]))
    good = torch.Tensor((4, 64), torch.bfloat16)
    for values, text in [
        ((), r"kernel 'k': 0 arguments found; needed 1 \(a\)"),
        ((good, good), r"kernel 'k': 2 arguments found; needed 1 \(a\)"),
        ((3,), "argument 0 'a': is a scalar; needed a tensor"),
        ((torch.Tensor((4, 64), torch.complex64),), "element type is unknown; needed bf16"),
        ((torch.Tensor((2,) * 9, torch.bfloat16),), "rank is 9; needed at most 8"),
        ((torch.Tensor((4, 511), torch.bfloat16),), r"stride of dimension 0 is 511 elements \(1022 bytes\)"),
        ((object(),), "is of type object; needed a tensor"),
    ]:
        with pytest.raises(ArgumentError, match=text):
            kernel(*values)
    kernel(good)


def test_statuses_become_classes(fake):
    with pytest.raises(RecipeError, match="recipe: version is missing; needed an integer 1..1"):
        Kernel.load(b"", {})
    with pytest.raises(RecipeError, match="recipe: not JSON"):
        Kernel.load(b"", "{")
    with pytest.raises(LaunchError, match=r"kernel 'k': compiled for sm_120a; CUDA device 0 \(Fake 0\) is sm_"):
        Kernel.load(b"// PTX", recipe([], target="sm_120a"))()
    fake.set("fail=cuLaunchKernelEx,fail_code=719")
    with pytest.raises(DriverError, match="kernel 'k': cuLaunchKernelEx of .* CUDA_ERROR_FAKE \\(719\\)"):
        Kernel.load(b"// PTX", recipe([]))()
    for error in (ArgumentError, RecipeError, LaunchError, DriverError):
        assert issubclass(error, TileloomError)


def test_first_use_inside_capture(fake):
    kernel = Kernel.load(b"// PTX", recipe([], [{"kind": "workspace", "bytes": 16, "zero": True}]))
    fake.set("capture=9")
    kernel(stream=9)
    assert fake.lines("SPOILT") == []
    assert len(fake.lines("cuLaunchKernelEx")) == 1


def test_load_from_files(fake, tmp_path):
    import json
    (tmp_path / "k.ptx").write_bytes(b"// from a file")
    (tmp_path / "k.json").write_text(json.dumps(recipe([])))
    Kernel.load(tmp_path / "k.ptx")()
    Kernel.load(str(tmp_path / "k.ptx"), tmp_path / "k.json")()
    assert fake.lines("cuModuleLoad") == ["cuModuleLoadDataEx // from a file"] * 2
    with pytest.raises(RecipeError, match="no recipe given"):
        Kernel.load(b"// PTX")
    with pytest.raises(FileNotFoundError):
        Kernel.load(tmp_path / "missing.cubin", recipe([]))


def test_several_kernels(fake, tmp_path):
    import json
    both = [recipe([], kernel="one"), recipe([], kernel="two")]
    (tmp_path / "both.json").write_text(json.dumps(both))
    for source in (both, json.dumps(both), tmp_path / "both.json"):
        kernel = Kernel.load(b"// PTX", source, name="two")
        assert kernel.name == "two"
    kernel()
    assert fake.lines("cuModuleGetFunction") == ["cuModuleGetFunction two"]
    for name in (None, "three"):
        with pytest.raises(RecipeError, match=f"kernel {name!r} is not one of 'one', 'two'"):
            Kernel.load(b"// PTX", both, name=name)
    assert Kernel.load(b"// PTX", both[:1]).name == "one"


def test_release(fake):
    kernel = Kernel.load(b"// PTX", recipe([]))
    kernel.preload()
    kernel.release()
    assert len(fake.lines("cuModuleUnload")) == 1
    with pytest.raises(TileloomError, match="kernel 'k' was released"):
        kernel()
    kernel.release()
