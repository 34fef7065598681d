"""The cost model: what it says of shapes and schedules whose order is not in doubt, and what it refuses."""

import os

import pytest

import tileloom as tl
from programs import FOLDER
from tileloom import schedule
from tileloom.dispatch import facts
from tileloom.frontend.generate import generate
from tileloom.kernels.gemm import gemm_kernel
from tileloom.runtime.errors import TileloomError


def text(name):
    with open(os.path.join(FOLDER, "tile", name + ".mlir")) as file:
        return file.read()


def predict(name, values, target="sm_90a", **fields):
    return schedule.predict(text(name), target, fields, list(values))


def gemm(m, n, k, **fields):
    """128 x 256 x 64 tiles; the three descriptors are no numbers."""
    return predict("gemm", (None, None, None, m, n, k), **fields)


def test_work_is_counted():
    found = gemm(4096, 4096, 4096)
    assert (found.tiles, found.waves, found.reason) == (32 * 16, 4, b"")
    assert found.product_clocks == pytest.approx(64 * 1024, rel=0.03), "64 blocks of 128 x 256 x 64 at 2048 products a clock"
    assert found.stages == 4


def test_more_work_takes_longer():
    times = [gemm(4096, 4096, k).microseconds for k in (0, 512, 1024, 4096, 8192)]
    assert times == sorted(times) and times[-1] > 1.8 * times[-2]
    assert gemm(128, 256, 512).microseconds < gemm(132 * 128, 256, 512).microseconds * 1.2, "one wave"
    assert gemm(133 * 128, 256, 8192).microseconds > 1.6 * gemm(132 * 128, 256, 8192).microseconds, "two waves"


def test_refusals():
    assert b"shared memory" in gemm(4096, 4096, 4096, stages=8).reason
    assert b"registers" in gemm(4096, 4096, 4096, use="pingpong").reason, "two whole sums of 128 x 256 do not fit two warpgroups"
    with pytest.raises(TileloomError, match="unknown field 'depth'"):
        gemm(1, 1, 1, depth=2)
    with pytest.raises(TileloomError, match="sm_80"):
        predict("gemm", (), target="sm_80")


def test_unknown_numbers_are_guessed():
    assert predict("gemm", (None,) * 6).reason == b""
    assert predict("attention", ()).microseconds > 0


def test_causal_sections():
    """Rows of tiles that are walked together: three rounds of the machine at the least, what fits L2 at the most."""
    assert gemm(4096, 4096, 4096).raster == 0, "the order of equal tiles does not matter"


def choice(m, n, k):
    known, arguments = {}, {}
    shapes = {"a": (m, k), "b": (n, k), "c": (m, n)}
    for parameter in gemm_kernel.parameters:
        if parameter.name in shapes:
            known[parameter.name] = facts.of_signature(parameter, ("bf16", 2), parameter.name)
            arguments[parameter.name] = facts.Tensor(tl.bfloat16, shapes[parameter.name], (shapes[parameter.name][1], 1), 0, 0)
        elif not parameter.name.startswith("B"):
            known[parameter.name] = facts.constant(None if parameter.name == "bias" else False)
            arguments[parameter.name] = None

    def emit(constants):
        return generate(gemm_kernel, {**known, **{name: facts.constant(value) for name, value in constants.items()}}, None)
    return schedule.ranked(gemm_kernel, arguments, emit, "sm_90a")


def test_choice_follows_the_shape():
    best = choice(8192, 8192, 8192)[0]
    assert best[1]["BM"] * best[1]["BN"] >= 128 * 160
    best = choice(64, 4096, 7168)[0]
    assert best[1]["BM"] == 64 and best[1]["BN"] <= 64, "64 rows: many narrow tiles, for the weights' sake"
    ranked = choice(1024, 1024, 1024)
    usable = [entry[0].microseconds for entry in ranked if not entry[0].reason]
    assert usable == sorted(usable) and len(usable) > 20
