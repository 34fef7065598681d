"""Loops whose iterations are shared out over items of work (schedule's `split`), in the simulator against fp64."""

import numpy as np
import pytest

import tileloom as tl
from products import BF16, check_gated, check_steps, error, factors, wide
from tileloom import kernels
from tileloom.kernels.gemm import gemm_kernel

TARGETS = pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])


def product(a, b, split, out=None, **options):
    out = np.full((a.shape[0], b.shape[1]), np.nan, BF16) if out is None else out
    kernels.gemm(a, b, out, schedule={"split": split, **options.pop("schedule", {})}, **options)
    return out


@TARGETS
@pytest.mark.parametrize("m, n, k, split, tile", [
    (21, 72, 640, 3, (128, 64)),    # slices of 4, 3 and 3 steps
    (130, 200, 264, 4, (128, 96)),  # a last step of 8; columns beyond the end; two warpgroups
    (64, 64, 128, 5, (128, 64)),    # slices without a step
    (16, 40, 0, 2, (128, 64)),      # no steps at all
    (5, 24, 1000, 16, (128, 16)),   # many slices of narrow tiles
    (200, 256, 512, 2, (128, 256)), # several pieces of columns
    (70, 230, 1344, 7, (128, 256)), # more slices than registers: three of one piece, then two at a time
    (16, 128, 1472, 22, (128, 16)), # more than fit ahead, of few registers each
])
def test_products(m, n, k, split, tile, target):
    a, b = factors(m + k, m, n, k)
    out = product(a, b, split, BM=tile[0], BN=tile[1], BK=64, target=target)
    assert error(out, wide(a) @ wide(b)) < 4e-3


@TARGETS
def test_same_bits_whoever_comes_last(target):
    a, b = factors(3, 40, 64, 1024)
    results = [product(a, b, 4, BM=128, BN=64, BK=64, target=target, simulator={"seed": seed, "multiprocessors": 2 + seed}) for seed in range(5)]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
    assert error(results[0], wide(a) @ wide(b)) < 4e-3


@TARGETS
@pytest.mark.parametrize("scheduler", ["static", "dynamic"])
def test_tiles_in_turn_on_few_processors(scheduler, target):
    """Several items for each CTA: sums of one tile leave while the next one's are made."""
    a, b = factors(4, 200, 300, 448)
    out = product(a, b, 3, BM=128, BN=64, BK=64, target=target, schedule={"scheduler": scheduler}, simulator={"multiprocessors": 3})
    assert error(out, wide(a) @ wide(b)) < 4e-3


@TARGETS
def test_steps_after_the_sums(target):
    check_steps(lambda a, b, **steps: product(a, b, 3, BM=128, BN=64, BK=64, target=target, **steps), 72, 136, 520, accumulate=False)


@TARGETS
def test_batches(target):
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((3, 40, 300)).astype(BF16)[..., :296], rng.standard_normal((3, 72, 296)).astype(BF16).swapaxes(1, 2)
    out = np.full((3, 40, 72), np.nan, BF16)
    kernels.gemm(a, b, out, BM=128, BN=64, BK=64, schedule={"split": 2}, target=target)
    assert error(out, wide(a) @ wide(b)) < 4e-3


@TARGETS
def test_two_sums(target):
    check_gated(lambda *given: kernels.gemm_swiglu(*given, BM=128, BN=64, BK=64, schedule={"split": 3}, target=target), 72, 64, 384)


@pytest.mark.parametrize("rows, columns, split", [(192, 192, 3), (192, 192, 16), (256, 192, 4), (128, 256, 4), (64, 144, 6), (256, 96, 13)])
def test_slices_do_not_spill(rows, columns, split):
    """All slices at once are more than a thread has registers for, and ptxas loaded them all ahead."""
    view = ("bf16", 2)
    compiled = gemm_kernel.compile(signature={"a": view, "b": view, "c": view}, target="sm_90a", BM=rows, BN=columns, BK=64, schedule={"split": split})
    if compiled.cubin is None:
        pytest.skip("no ptxas")
    assert "spills" not in compiled.diagnostics


def test_three_warpgroups():
    a, b = factors(9, 190, 260, 580)
    out = product(a, b.T[:192].T, 5, BM=192, BN=192, BK=64, target="sm_90a")
    assert error(out, wide(a) @ wide(b)[:, :192]) < 4e-3


def test_workspace_follows_the_shapes():
    view = ("bf16", 2)
    compiled = gemm_kernel.compile(signature={"a": view, "b": view, "c": view}, target="sm_90a", BM=128, BN=64, BK=64, schedule={"split": 3})
    spaces = [parameter for parameter in compiled.recipe["parameters"] if parameter["kind"] == "workspace"]
    assert [space["zero"] for space in spaces] == [False, True]
    for own in spaces:
        assert "op" in own["bytes"]


@tl.jit
def running_maximum(a: tl.view, b: tl.view, c: tl.view, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    for m, n in tl.tiles((c.shape[0], BM), (c.shape[1], BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, a.shape[1], BK):
            acc = tl.maximum(acc, tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T))
        c.store([m, n], acc.to(c.dtype))


@pytest.mark.parametrize("kernel, schedule, message", [
    (running_maximum, {"split": 2}, r"split = 2 expected a loop that carries sums"),
    (gemm_kernel, {"split": 65}, r"'split': expected an integer from 1 to 64"),
    (gemm_kernel, {"split": 2, "use": "pingpong"}, r"split = 2 expected use = \"cooperative\""),
])
def test_refused(kernel, schedule, message):
    view = ("bf16", 2)
    with pytest.raises(tl.CompilationError, match=message):
        kernel.compile(signature={"a": view, "b": view, "c": view}, target="sm_90a", BM=128, BN=64, BK=64, schedule=schedule)


def test_the_model_splits_few_tiles_with_long_loops():
    def choice(m, n, k):
        shapes = {"a": (m, k), "b": (n, k), "c": (m, n)}
        table = gemm_kernel.explain(*(np.broadcast_to(np.zeros((), BF16), shape) for shape in shapes.values()), target="sm_90a")
        return table.splitlines()[1]

    assert "split=" in choice(21, 192, 14336)
    assert "split=" not in choice(4096, 4096, 4096)
