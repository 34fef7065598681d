"""`kernel.compile`: what it gives, for both targets, from signatures and from example arguments."""

import shutil

import numpy as np
import pytest

import tileloom as tl
from tileloom.kernels.attention import attention_kernel
from tileloom.kernels.gemm import gemm_kernel

VIEW = ("bf16", 2)
GEMM = {"signature": {"a": VIEW, "b": VIEW, "c": VIEW}}


@pytest.mark.parametrize("target, product", [("sm_90a", "wgmma.mma_async"), ("sm_100a", "tcgen05.mma")])
def test_artifacts(target, product):
    made = gemm_kernel.compile(target=target, BM=128, BN=128, BK=64, **GEMM)
    assert "tile.for_each_tile" in made.tile and "warp.role" in made.warp and "nv." in made.nv
    assert "llvm.func" in made.llvm and "define" in made.llvmir
    assert f".target {target}" in made.ptx and product in made.ptx
    assert made.recipe["kernel"] == "gemm_kernel" and made.recipe["target"] == target
    assert [a["name"] for a in made.recipe["arguments"]] == ["a", "a.shape[1]", "b", "c", "c.shape[0]", "c.shape[1]"]
    assert made.report["kernels"][0] and "gemm_kernel" in made.report_text
    if shutil.which("ptxas"):
        assert made.cubin[:4] == b"\x7fELF"


def test_example_arguments_and_signature_agree():
    a, b, c = (np.zeros((64, 64), np.float16) for _ in range(3))
    by_example = gemm_kernel.compile(a, b, c, BM=64, BN=64, BK=64)
    view = ("f16", 2)
    by_signature = gemm_kernel.compile(signature={"a": view, "b": view, "c": view}, BM=64, BN=64, BK=64)
    assert by_example.ptx == by_signature.ptx


@tl.jit
def gemm_by_numbers(a: tl.view, b: tl.view, c: tl.view, M, N, K, BM: tl.constexpr = tl.auto, BN: tl.constexpr = tl.auto, BK: tl.constexpr = tl.auto):
    for m, n in tl.tiles((M, BM), (N, BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK):
            acc = tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T, acc)
        c.store([m, n], acc.to(c.dtype))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("kernel, numbers", [(gemm_kernel, {}), (gemm_by_numbers, {"M": "i32", "N": "i32", "K": "i32"})])
def test_what_a_signature_leaves_open_is_large(kernel, numbers, target):
    """Of one tile the smallest is the fastest, and slow for any other size."""
    first = kernel.explain(signature={**GEMM["signature"], **numbers}, target=target).split("\n")[1]
    chosen = {name: int(value) for name, value in (part.split("=") for part in first.split() if part[:2] in ("BM", "BN"))}
    assert chosen["BM"] * chosen["BN"] >= 128 * 128


def test_automatic_parameters_without_a_gpu():
    made = gemm_kernel.compile(**GEMM)
    assert "wgmma" in made.ptx


@pytest.mark.parametrize("d", [64, 128, 256])
def test_attention(d):
    view = f"bf16[?,?,?,{d}]"
    made = attention_kernel.compile(signature={"q": view, "k": view, "v": view, "o": view, "lse": "*f32:16", "scale": "f32"}, CAUSAL=True,
                                    DK=d, DV=d)
    assert f"x1x{d}xbf16>" in made.tile and made.ptx.count("wgmma.mma_async") >= 2


def test_line_info():
    made = gemm_kernel.compile(options={"line_info": True}, BM=64, BN=64, BK=64, **GEMM)
    assert ".loc" in made.ptx and "gemm.py" in made.ptx
    with pytest.raises(tl.CompilationError, match="unknown option 'debug'; known: line_info, opt_level, werror_ptxas"):
        gemm_kernel.compile(options={"debug": True}, BM=64, BN=64, BK=64, **GEMM)
