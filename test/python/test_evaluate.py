"""Launches computed without a GPU, as the simulator uses them."""

import ml_dtypes
import numpy as np
import pytest
from support import recipe, tensor_argument
from tileloom.runtime import ArgumentError, Device, Kernel, LaunchError

H100 = Device.named("sm_90a")
GRID = {"persistent": True, "tiles": [{"op": "ceildiv", "of": [{"dimension": [0, 0]}, 128]}]}


def test_host_arrays(fake):
    kernel = Kernel.load(None, recipe(
        [tensor_argument(), {"name": "s", "kind": "scalar", "element": "f32"}],
        [{"kind": "tensor_map", "argument": 0, "box": [64, 128], "swizzle": 128, "l2_promotion": 256},
         {"kind": "argument", "argument": 1}, {"kind": "workspace", "bytes": 40, "zero": True}],
        grid=GRID, cluster=[2, 1, 1], shared_bytes=1024))
    a = np.zeros((300, 64), ml_dtypes.bfloat16)
    launch = kernel.evaluate(a, 1.0, device=H100)
    assert launch.grid == (4, 1, 1)
    assert launch.cluster == (2, 1, 1)
    assert (launch.threads, launch.shared_bytes) == (128, 1024)
    tensor_map, value, workspace = launch.parameters
    assert tensor_map.tensor_map.address == a.ctypes.data
    assert tensor_map.tensor_map.extents == (64, 300)
    assert tensor_map.tensor_map.strides == (128,)
    assert tensor_map.tensor_map.box == (64, 128)
    assert (tensor_map.tensor_map.swizzle, tensor_map.tensor_map.l2_promotion) == (3, 3)
    assert (value.kind, value.offset, value.bytes) == ("value", 128, b"\x00\x00\x80\x3f")
    assert (workspace.kind, workspace.offset, workspace.workspace_bytes, workspace.zero) == ("workspace", 136, 40, True)
    assert len(launch.bytes) == 144
    assert fake.lines() == []  # the driver was not touched


@pytest.mark.parametrize("dtype, element", [
    (np.float16, "f16"), (np.float32, "f32"), (np.int64, "i64"), (np.uint32, "u32"), (np.bool_, "i1"),
    (ml_dtypes.bfloat16, "bf16"), (ml_dtypes.float8_e4m3fn, "e4m3"), (ml_dtypes.float8_e5m2, "e5m2")])
def test_numpy_types(dtype, element):
    kernel = Kernel.load(None, recipe([tensor_argument(element=element, rank=1)]))
    kernel.evaluate(np.zeros(4, dtype), device=H100)
    with pytest.raises(ArgumentError, match=f"element type is f64; needed {element}"):
        kernel.evaluate(np.zeros(4, np.float64), device=H100)


def test_packed_fp4_in_bytes():
    kernel = Kernel.load(None, recipe([tensor_argument(element="e2m1")], [
        {"kind": "tensor_map", "argument": 0, "box": [128, 8], "expand": True, "swizzle": 128}], target="sm_100a"))
    memory = np.zeros(16 * 64 + 32, np.uint8)
    start = -memory.ctypes.data % 32
    values = memory[start:start + 16 * 64].reshape(16, 64)
    launch = kernel.evaluate(values, device=Device.named("sm_100a"))
    assert launch.parameters[0].tensor_map.extents == (128, 16)
    assert launch.parameters[0].tensor_map.data_type == 14


def test_empty_tensor_launches_nothing():
    kernel = Kernel.load(None, recipe([tensor_argument()], [
        {"kind": "tensor_map", "argument": 0, "box": [64, 128]}], grid=GRID))
    assert kernel.evaluate(np.zeros((0, 511), ml_dtypes.bfloat16), device=H100).grid == (0, 0, 0)


def test_wrong_device():
    kernel = Kernel.load(None, recipe([]))
    with pytest.raises(LaunchError, match="kernel 'k': compiled for sm_90a; the device is sm_100"):
        kernel.evaluate(device=Device.named("sm_100a"))
    with pytest.raises(ArgumentError, match="device 'sm_80' is not known; needed one of sm_90a, sm_100a"):
        Device.named("sm_80")


def test_host_array_on_a_cuda_device():
    kernel = Kernel.load(None, recipe([tensor_argument(element="f32", rank=1)]))
    with pytest.raises(ArgumentError, match="is on the CPU; needed on CUDA device 0"):
        kernel.evaluate(np.zeros(4, np.float32), device=Device(9, 0, 132, ordinal=0))
