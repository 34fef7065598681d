"""GEMM's features on a real GPU, against fp64: steps after the loop, batches, types, gated products, long sums, the same bits every time. See
conftest.py for when it is skipped."""

import random

import pytest

import tileloom as tl
from tileloom import kernels

try:
    import torch
    from torch.nn import functional as F
except ImportError:
    torch = F = None  # conftest.py skips everything


def randn(*shape, dtype="bfloat16"):
    return torch.randn(shape, device="cuda").to(getattr(torch, dtype))


def error(found, wanted):
    assert not found.float().isnan().any(), "elements that were not written, or NaN"
    return ((found.double() - wanted).norm() / wanted.norm().clamp_min(1e-30)).item()


def poison(*shape, dtype="bfloat16"):
    return torch.full(shape, float("nan"), device="cuda", dtype=torch.float32).to(getattr(torch, dtype))


ACTIVATIONS = {"relu": lambda v: v.relu(), "gelu": lambda v: F.gelu(v), "gelu_tanh": lambda v: F.gelu(v, approximate="tanh"), "silu": lambda v: F.silu(v)}


@tl.jit
def shifted(value, other, factor):
    return value * factor + other


@pytest.mark.parametrize("index", range(24))
def test_steps(index):
    """Random sizes and steps."""
    torch.manual_seed(index)
    rng = random.Random(index)
    m, n, k = (rng.choice([1, 8, 65, 128, 200, 256, 511, 1000, 2048]) for _ in range(3))
    a, b, out = randn(m, k), randn(n, k).T, poison(m, n)
    arguments, value = {}, a.double() @ b.double()
    if rng.random() < 0.5:
        arguments["alpha"] = 0.5
        value = value * 0.5
    if rng.random() < 0.4:
        arguments["scale_a"], arguments["scale_b"] = torch.rand(m, device="cuda"), torch.rand(n, device="cuda")
        value = value * arguments["scale_a"][:, None].double() * arguments["scale_b"].double()
    if rng.random() < 0.4:
        arguments["c"], arguments["beta"] = randn(m, n), -1.5
        value = value - 1.5 * arguments["c"].double()
    if rng.random() < 0.6:
        arguments["bias"] = randn(n, dtype=rng.choice(["bfloat16", "float32"]))
        value = value + arguments["bias"].double()
    name = rng.choice([None, *ACTIVATIONS])
    if name:
        arguments["activation"] = name
        value = ACTIVATIONS[name](value)
    if rng.random() < 0.4:
        arguments["epilogue"], arguments["epilogue_args"] = shifted, (randn(m, 1), 2.0)
        value = value * 2 + arguments["epilogue_args"][0].double()
    if rng.random() < 0.4:
        arguments["residual"] = randn(m, n, dtype="float32")
        value = value + arguments["residual"].double()
    if rng.random() < 0.5:
        arguments["row_amax"] = torch.zeros(m, device="cuda")
    if rng.random() < 0.3:
        arguments["column_amax"] = torch.zeros(n, device="cuda")
    kernels.gemm(a, b, out, **arguments)
    assert error(out, value) < 5e-3, arguments.keys()
    for own, axis in (("row_amax", 1), ("column_amax", 0)):
        if own in arguments:
            wanted = value.abs().amax(axis)  # gelu for results of 16 bits is within 2.3e-5, of small values too
            assert error(arguments[own], wanted) < 1e-4 or (arguments[own] - wanted).abs().max() < 3e-5


@pytest.mark.parametrize("layout", ["NT", "NN", "TN", "TT"])
@pytest.mark.parametrize("shared", [None, "a", "b"])
def test_batches(layout, shared):
    batch, m, n, k = 5, 200, 264, 136
    a = randn(batch, k, m).mT if layout[0] == "T" else randn(batch, m, k)
    b = randn(batch, n, k).mT if layout[1] == "T" else randn(batch, k, n)
    a, b = a[:1].expand(batch, -1, -1) if shared == "a" else a, b[0] if shared == "b" else b
    out, bias = poison(batch, m, n), randn(batch, 1, n)
    kernels.gemm(a, b, out, bias=bias)
    assert error(out, a.double() @ b.double() + bias.double()) < 5e-3


@pytest.mark.parametrize("m, n, k", [(128, 128, 64), (200, 136, 200), (1000, 511, 777), (64, 2048, 4096)])
def test_tf32(m, n, k):
    a, b = randn(m, k, dtype="float32"), randn(n, k, dtype="float32").T
    assert error(kernels.gemm(a, b), a.double() @ b.double()) < 1.5e-3


@pytest.mark.parametrize("types", [("float8_e4m3fn", "float8_e4m3fn"), ("float8_e4m3fn", "float8_e5m2"), ("float8_e5m2", "float8_e5m2")])
@pytest.mark.parametrize("rowwise", [False, True])
def test_fp8(types, rowwise):
    for m, n, k in ((128, 128, 128), (200, 136, 208), (1000, 528, 4096)):
        a, b = randn(m, k, dtype=types[0]), randn(n, k, dtype=types[1]).T
        x, y = (torch.rand(shape, device="cuda") + 0.5 for shape in (((m, 1), (1, n)) if rowwise else ((), (1,))))
        wanted = (a.double() @ b.double()) * x.double() * y.double()
        assert error(kernels.gemm(a, b, scale_a=x, scale_b=y), wanted) < 5e-3, (m, n, k)
    out = kernels.gemm(a, b, out_scale=torch.full((1,), 0.25, device="cuda"), out_dtype="float8_e4m3fn")
    assert error(out, (a.double() @ b.double() * 0.25).clamp(-448, 448)) < 4e-2


def test_scales_of_tiles_in_turn():
    """Scales that a tile reads from a slot are not those of a later tile, which the copies are far ahead with: 4 of 100 launches were wrong
    without a proxy fence between the reads and the copy."""
    m, n, k = 128, 32768, 512
    a, b = randn(m, k, dtype="float8_e4m3fn"), randn(n, k, dtype="float8_e4m3fn").T
    x, y = torch.rand(m, 1, device="cuda") + 0.5, torch.rand(1, n, device="cuda") + 0.5
    wanted = (a.double() @ b.double()) * x.double() * y.double()
    for launch in range(300):
        out = poison(m, n)
        kernels.gemm(a, b, out, scale_a=x, scale_b=y, BM=128, BN=64, schedule={"use": "pingpong", "stages": 8})
        assert error(out, wanted) < 5e-3, launch


def test_one_slot():
    """Tiles so large that one slot is left, in turns: a product in flight would wait for ever."""
    a, b, out = randn(439, 952), randn(1072, 952).T, poison(439, 1072)
    kernels.gemm(a, b, out, BM=32, BN=256, BK=128, schedule={"use": "pingpong"})
    assert error(out, a.double() @ b.double()) < 4e-3


@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize("m, n, k", [(128, 64, 64), (200, 136, 200), (1000, 1000, 512)])
def test_swiglu(interleaved, m, n, k):
    a, b = randn(m, k), randn(2 * n, k).T
    both = a.double() @ b.double()
    gate, up = (both[:, ::2], both[:, 1::2]) if interleaved else (both[:, :n], both[:, n:])
    assert error(kernels.gemm_swiglu(a, b, interleaved=interleaved), F.silu(gate) * up) < 6e-3


@pytest.mark.parametrize("k", [4096, 65536, 589824])
def test_long_sums(k):
    """Sums over positive terms, where rounding adds up, and over terms of both signs. The tensor core cuts a sum to 23 fraction bits after every 16 products
    (docs/simulator-numerics.md), so that is the bound."""
    a, b = torch.rand(128, k, device="cuda").bfloat16(), torch.rand(128, k, device="cuda").bfloat16().T
    wanted = a.double() @ b.double()
    found = kernels.gemm(a, b, out_dtype="float32")
    assert error(found, wanted) < 2.0 ** -23 * k / 16
    a, b = randn(128, k), randn(128, k).T
    assert error(kernels.gemm(a, b, out_dtype="float32"), a.double() @ b.double()) < 2.0 ** -23 * k / 16


def test_same_bits_every_time():
    a, b, bias = randn(1000, 2048), randn(1536, 2048).T, randn(1536)
    amax = torch.zeros(1000, device="cuda")

    def run():
        amax.zero_()
        return (kernels.gemm(a, b, bias=bias, activation="gelu", row_amax=amax), amax.clone(), kernels.gemm_swiglu(a, b),
                kernels.gemm(a.float(), b.float()))
    first = run()
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph):
        captured = run()
    for _ in range(10):
        with torch.cuda.stream(side):
            again = run()
        side.synchronize()
        graph.replay()
        torch.cuda.synchronize()
        assert all(torch.equal(x, y) and torch.equal(x, z) for x, y, z in zip(first, again, captured))


@pytest.mark.parametrize("tile, schedule", [((192, 208), {}), ((208, 192), {}), ((192, 256), {"cluster": 2, "multicast": "columns"}), ((192, 224), {"split": 3}),
                                            ((64, 128), {"divide": "columns"}), ((128, 48), {"divide": "columns", "epilogue": 8, "buffers": 2})], ids=str)
@pytest.mark.parametrize("m, n, k", [(100, 72, 8), (1300, 1000, 1000), (3001, 1480, 264)])
def test_warpgroups_that_share_columns(tile, schedule, m, n, k):
    a, b, out, bias = randn(m, k), randn(n, k).mT, poison(m, n), randn(n)
    for _ in range(5):
        kernels.gemm(a, b, out, bias=bias, BM=tile[0], BN=tile[1], BK=64, schedule=schedule)
    assert error(out, a.double() @ b.double() + bias.double()) < 4e-3


@pytest.mark.parametrize("schedule", [{"cluster": 2, "multicast": "columns"}, {"cluster": 2, "multicast": "rows", "use": "pingpong"},
                                      {"cluster": 4, "multicast": "columns"}, {"cluster": 4, "multicast": "rows"}], ids=str)
@pytest.mark.parametrize("batch, m, n, k", [(1, 100, 72, 0), (1, 1300, 1000, 1000), (1, 5000, 3000, 1480), (3, 328, 584, 264)])
def test_clusters(schedule, batch, m, n, k):
    """CTAs that load for each other; some have no tile."""
    a, b, out = randn(batch, m, k), randn(batch, n, k).mT, poison(batch, m, n)
    bias = randn(n)
    for _ in range(5):
        kernels.gemm(a, b, out, bias=bias, BM=64 if "use" in schedule else 128, BN=128, BK=64, schedule=schedule)
    assert error(out, a.double() @ b.double() + bias.double()) < 4e-3
