"""Triton's kernels (test/foreign/triton_kernels.py), compiled here for sm_90a and sm_100a, run in the simulator with all checks: the right
result and no finding. So the compiler of this project and its simulator cannot be wrong together."""

import os
import sys

import numpy as np
import pytest

pytest.importorskip("triton", reason="Triton is not installed; tools/setup.sh installs it from test/requirements.txt")

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "foreign"))

import run_triton  # noqa: E402
import strict  # noqa: E402
import triton_kernels as kernels  # noqa: E402
from programs import bf16, fp32  # noqa: E402

LOG2E = 1.4426950408889634


def run(kernel, arguments, constants, grid, capability, elements=None, seeds=2, **options):
    compiled = run_triton.compile(kernel, arguments, constants, capability, elements, num_warps=4, **options)
    ptx = compiled.asm["ptx"]
    strict.check(run_triton.run(compiled, arguments, grid, 1, "all,strict"), "tcgen05.ld" in ptx and "tcgen05.fence" not in ptx)
    return ptx, run_triton.run(compiled, arguments, grid, seeds).check()


def error(found, wanted):
    return np.abs(found.astype(np.float64) - wanted).max() / np.abs(wanted).max()


def test_vector_exp():
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    _, r = run(kernels.vector_exp, [x, np.zeros_like(x), 1000], {"BLOCK": 256}, (4,), 90)
    assert error(r.outputs[1], np.exp(x.astype(np.float64))) < 1e-6


def test_softmax():
    x = np.random.default_rng(1).standard_normal((5, 200)).astype(np.float32)
    _, r = run(kernels.softmax, [x, np.zeros_like(x), 200, 200], {"BLOCK": 256}, (5,), 90)
    e = np.exp(x.astype(np.float64))
    assert error(r.outputs[1], e / e.sum(1, keepdims=True)) < 1e-6


def test_layer_norm():
    rng = np.random.default_rng(2)
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((4, 500), 500, 500))
    _, r = run(kernels.layer_norm, [x, np.zeros_like(x), w, b, 500, 1e-5], {"BLOCK": 512}, (4,), 90)
    z = x.astype(np.float64)
    z = (z - z.mean(1, keepdims=True)) / np.sqrt(z.var(1, keepdims=True) + 1e-5)
    assert error(r.outputs[1], z * w + b) < 1e-5


def test_histogram():
    x = np.random.default_rng(3).integers(0, 64, 1500).astype(np.int32)
    _, r = run(kernels.histogram, [x, np.zeros(64, np.int32), 1500], {"BLOCK": 512, "BINS": 64}, (3,), 90)
    assert (r.outputs[1] == np.bincount(x, minlength=64)).all()


def test_scan():
    x = np.random.default_rng(4).standard_normal(900).astype(np.float32)
    _, r = run(kernels.scan, [x, np.zeros_like(x), 900], {"BLOCK": 1024}, (1,), 90)
    assert error(r.outputs[1], np.cumsum(x.astype(np.float64))) < 1e-5


@pytest.mark.parametrize("capability", [90, 100])
@pytest.mark.parametrize("m, n, k", [(128, 128, 96), (200, 144, 160)])
def test_matmul_pointers(m, n, k, capability):
    rng = np.random.default_rng(m)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    ptx, r = run(kernels.matmul_pointers, [a, b, np.zeros((m, n), np.float16), m, n, k], {"BM": 128, "BN": 64, "BK": 32},
                 (-(-m // 128), -(-n // 64)), capability, num_stages=3)
    assert ("wgmma" if capability == 90 else "tcgen05.mma") in ptx and "cp.async" in ptx
    assert error(r.outputs[2], a.astype(np.float64) @ b.astype(np.float64)) < 2e-3


MATMULS = [(kernels.matmul_descriptors, False), (kernels.matmul_descriptors, True), (kernels.matmul_persistent, False),
           (kernels.matmul_persistent, True)]


@pytest.mark.parametrize("capability", [90, 100])
@pytest.mark.parametrize("kernel, specialised", MATMULS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_matmul_with_tensor_maps(kernel, specialised, capability):
    rng = np.random.default_rng(capability)
    m, n, k = 256, 256, 256
    a, b, c = bf16(rng.standard_normal((m, k))), bf16(rng.standard_normal((n, k))), np.zeros((m, n), np.uint16)
    constants, grid = {"BM": 128, "BN": 128, "BK": 64, "WS": specialised}, (2, 2)
    if kernel is kernels.matmul_persistent:
        constants, grid = {"PROGRAMS": 2, **constants}, (2,)
    ptx, r = run(kernel, [a, b, c, m, n, k], constants, grid, capability, num_stages=3)
    assert "cp.async.bulk.tensor" in ptx and ("wgmma" if capability == 90 else "tcgen05.mma") in ptx
    assert "setmaxnreg" in ptx or not specialised or kernel is kernels.matmul_persistent
    assert error(fp32(r.outputs[2]), fp32(a).astype(np.float64) @ fp32(b).astype(np.float64).T) < 5e-3


@pytest.mark.parametrize("capability", [90, 100])
@pytest.mark.parametrize("specialised", [False, True])
def test_attention(specialised, capability):
    rng = np.random.default_rng(5)
    heads, length, d = 2, 256, 64
    q, k, v = (bf16(rng.standard_normal((heads, length, d))) for _ in range(3))
    constants = {"BM": 128, "BN": 64, "D": d, "WS": specialised}
    ptx, r = run(kernels.attention, [q, k, v, np.zeros_like(q), length, d**-0.5 * LOG2E], constants, (length // 128, heads), capability,
                 num_stages=3)
    assert ("wgmma" if capability == 90 else "tcgen05.mma") in ptx
    x, y, z = (fp32(t).astype(np.float64) for t in (q, k, v))
    s = np.exp(x @ y.transpose(0, 2, 1) * d**-0.5)
    assert error(fp32(r.outputs[3]), s / s.sum(2, keepdims=True) @ z) < 8e-3


def e4m3(byte):
    exponent, fraction = byte >> 3 & 15, byte & 7
    value = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0**(exponent - 10.0))
    return np.where(byte & 0x80, -value, value)


E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])


@pytest.mark.parametrize("form", ["mxfp8", "mxfp4", "nvfp4"])
def test_block_scaled_matmul(form):
    rng = np.random.default_rng(6)
    m = n = 128
    k, group, pack = 256, 16 if form == "nvfp4" else 32, 1 if form == "mxfp8" else 2

    def operand(rows):
        if form == "mxfp8":
            data = (rng.integers(0, 2, (rows, k)) << 7 | rng.integers(0x20, 0x50, (rows, k))).astype(np.uint8)
            values = e4m3(data)
        else:
            codes = rng.integers(0, 16, (rows, k)).astype(np.uint8)
            data, values = codes[:, ::2] | codes[:, 1::2] << 4, E2M1[codes]
        if form == "nvfp4":
            scales = rng.integers(0x28, 0x48, (rows, k // group)).astype(np.uint8)
            factors = e4m3(scales)
        else:
            scales = rng.integers(122, 132, (rows, k // group)).astype(np.uint8)
            factors = 2.0**(scales.astype(np.float64) - 127)
        return np.ascontiguousarray(data), scales, values * np.repeat(factors, group, 1)

    (a, sa, x), (b, sb, y) = operand(m), operand(n)
    elements = {"mxfp8": {"a": "*fp8e4nv", "b": "*fp8e4nv"}, "mxfp4": {}, "nvfp4": {"sa": "*fp8e4nv", "sb": "*fp8e4nv"}}[form]
    constants = {"FORM": "e4m3" if form == "mxfp8" else "e2m1", "PACK": pack, "GROUP": group, "BM": 128, "BN": 128, "BK": 128}
    ptx, r = run(kernels.matmul_scaled, [a, sa, b, sb, np.zeros((m, n), np.float32), m, n, k], constants, (1, 1), 100, elements, num_stages=2)
    assert "block_scale" in ptx
    assert error(r.outputs[4], x @ y.T) < 1e-5
