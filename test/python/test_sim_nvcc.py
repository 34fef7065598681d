"""CUDA C++ kernels with inline PTX (test/foreign/kernels.cu), compiled by nvcc when the test runs, in the simulator with all checks."""

import glob
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from programs import bf16, fp32
from tileloom import sim, testing

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "foreign"))

import strict  # noqa: E402


def find_nvcc():
    """On PATH, of an installed toolkit, or of the Python package that tools/setup.sh installs."""
    for folder in [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"),
                   *glob.glob(os.path.join(sys.prefix, "lib", "python*", "site-packages", "nvidia", "cu13", "bin"))]:
        if os.access(os.path.join(folder, "nvcc"), os.X_OK):
            return os.path.join(folder, "nvcc")
    return shutil.which("nvcc")


@pytest.fixture(scope="module")
def ptx(tmp_path_factory):
    nvcc = find_nvcc()
    if not nvcc:
        pytest.skip("nvcc was not found; tools/setup.sh installs it (nvidia-cuda-nvcc, nvidia-nvvm, nvidia-cuda-crt, nvidia-cuda-runtime)")
    out = tmp_path_factory.mktemp("nvcc") / "kernels.ptx"
    command = [nvcc, "-ptx", "-arch=sm_90a", "-std=c++17", "-o", str(out), os.path.join(HERE, "..", "foreign", "kernels.cu")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return out.read_text()


def run(ptx, entry, *arguments, seeds=3, **launch):
    strict.check(testing.simulate(ptx, None, *arguments, entry=entry, checks="all,strict", **launch))
    return testing.simulate(ptx, None, *arguments, entry=entry, seeds=seeds, **launch).check().outputs


def test_reduce(ptx):
    x = np.random.default_rng(0).standard_normal(3000).astype(np.float32)
    out = run(ptx, "reduce", x, np.zeros(1, np.float32), np.int32(3000), grid=(3,), block=256)[1]
    assert abs(out[0] - x.astype(np.float64).sum()) < 1e-3


def test_scan(ptx):
    x = np.random.default_rng(1).integers(-100, 100, 1024).astype(np.int32)
    assert (run(ptx, "scan", x, np.zeros_like(x), block=1024)[1] == np.cumsum(x)).all()


def test_last_block(ptx):
    x = np.random.default_rng(2).standard_normal(1000).astype(np.float32)
    out = run(ptx, "lastBlock", x, np.zeros(5, np.float32), np.zeros(1, np.float32), np.int32(1000), grid=(5,), block=32, seeds=1)[2]
    assert abs(out[0] - x.astype(np.float64).sum()) < 1e-3


def test_gemm_mma(ptx):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((48, 96)).astype(np.float16), rng.standard_normal((64, 96)).astype(np.float16)
    c = run(ptx, "gemmMma", a, b, np.zeros((48, 64), np.float32), np.int32(64), np.int32(96), grid=(2, 3), block=32)[2]
    assert np.abs(c - a.astype(np.float64) @ b.astype(np.float64).T).max() < 1e-4


def test_gemm_wgmma(ptx):
    rng = np.random.default_rng(4)
    a, b = bf16(rng.standard_normal((64, 320))), bf16(rng.standard_normal((64, 320)))
    maps = [sim.tensor_map(sim.as_element(x, "bf16"), (64, 64), 128) for x in (a, b)]
    c = run(ptx, "gemmWgmma", *maps, np.zeros((64, 64), np.float32), np.int32(320), block=160, shared=33792)[2]
    assert np.abs(c - fp32(a).astype(np.float64) @ fp32(b).astype(np.float64).T).max() < 1e-3


def test_transpose(ptx):
    x = np.random.default_rng(5).standard_normal((64, 96)).astype(np.float32)
    y = np.zeros((96, 64), np.float32)
    out = run(ptx, "transpose", sim.tensor_map(x, (32, 32)), sim.tensor_map(y, (32, 32)), grid=(3, 2), block=128)[1]
    assert (out == x.T).all()


def test_cluster_histogram(ptx):
    x = np.random.default_rng(6).integers(0, 256, 2000).astype(np.uint8)
    bins = run(ptx, "clusterHistogram", x, np.zeros(256, np.int32), np.int32(2000), grid=(4,), cluster=(2,), block=128)[1]
    assert (bins == np.bincount(x, minlength=256)).all()


def test_upper_case(ptx):
    x = np.frombuffer(b"The quick brown fox jumps over the lazy dog. " * 100, np.uint8)[:4096].copy()
    y = run(ptx, "upperCase", x, np.zeros_like(x), np.int32(4), grid=(2,), block=128)[1]
    assert y.tobytes() == x.tobytes().upper()
