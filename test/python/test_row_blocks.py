"""Tiles of 256 rows on Blackwell, in two blocks of which each has a warpgroup and tensor memory of its own, in the simulator with all checks against fp64."""

import re

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from attention_reference import batch, check, sequence
from programs import bf16, error, fp64, load, run
from tileloom import kernels

BF16 = ml_dtypes.bfloat16
SEEDS = (0, 3)


def values(rng, *shape, dtype=BF16):
    return rng.standard_normal(shape).astype(dtype)


def relative(found, wanted):
    return error(np.asarray(found).astype(np.float64), wanted)


@pytest.mark.parametrize("columns, layout", [(128, "NT"), (256, "NT"), (64, "TN"), (192, "NN")])
@pytest.mark.parametrize("m, n, k", [(300, 328, 200), (256, 72, 64), (40, 520, 8)])
def test_gemm(m, n, k, columns, layout):
    """Sums of up to 128 columns have a second slot for each block, wider ones do not."""
    rng = np.random.default_rng(m + columns)
    a = values(rng, k, m).T if layout[0] == "T" else values(rng, m, k)
    b = values(rng, n, k).T if layout[1] == "T" else values(rng, k, n)
    for seed in SEEDS:
        c = np.full((m, n), np.nan, BF16)
        kernels.gemm(a, b, c, target="sm_100a", simulator={"seed": seed}, BM=256, BN=columns, BK=64)
        assert relative(c, a.astype(np.float64) @ b.astype(np.float64)) < 4e-3


def test_gemm_without_k():
    c = np.full((300, 136), np.nan, BF16)
    kernels.gemm(np.zeros((300, 0), BF16), np.zeros((0, 136), BF16), c, target="sm_100a", BM=256, BN=128, BK=64)
    assert not c.any()


@tl.jit
def through_pointers(a, b, c, sums, m, n, k, ROWS: tl.constexpr, SUMS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, 64)
    total = tl.zeros([ROWS, 64], tl.float32)
    for start in range(0, k, 64):
        inner = start + tl.arange(0, 64)
        x = tl.load(a + rows[:, None] * k + inner[None, :], (rows[:, None] < m) & (inner[None, :] < k), 0.0)
        y = tl.load(b + inner[:, None] * n + columns[None, :], inner[:, None] < k, 0.0)
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total, rows[:, None] < m)
    if SUMS:
        tl.atomic_add(sums + columns, tl.sum(total, 0))


@pytest.mark.parametrize("rows, columns_summed", [(256, False), (384, False), (256, True)])
def test_pointers(rows, columns_summed):
    """Operands that a role gathers, two and three blocks. Sums along the rows keep them together: then all is one role's."""
    rng = np.random.default_rng(rows)
    a, b = values(rng, 700, 136), values(rng, 136, 64)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    for seed in SEEDS:
        c, sums = np.full((700, 64), np.nan, np.float32), np.zeros(64, np.float32)
        through_pointers[(-(-700 // rows),)](a, b, c, sums, 700, 64, 136, rows, columns_summed, target="sm_100a", simulator={"seed": seed})
        assert relative(c, wanted) < 1e-5
        assert not columns_summed or relative(sums, wanted.sum(0)) < 1e-4


# Side by side in tensor memory: 128 keys of 64, 80 and 64 of 128 columns; the others lie over the scores.
ATTENTION = [(64, 128, {}), (64, 128, {"causal": True}), (128, 80, {}), (128, 64, {"causal": True}), (128, 128, {}), (128, 128, {"causal": True}),
             (128, 128, {"window": (100, 30)}), (96, 112, {"causal": True}), (64, 160, {}), (128, 128, {"softcap": 20.0, "causal": True})]


@pytest.mark.parametrize("d, keys, options", ATTENTION)
@pytest.mark.parametrize("s, t, heads, groups", [(300, 200, 1, 1), (257, 520, 2, 1), (100, 40, 1, 1)])
def test_attention(s, t, heads, groups, d, keys, options):
    rng = np.random.default_rng(s + d + keys)
    q, k, v = values(rng, 1, s, heads, d), values(rng, 1, t, groups, d), values(rng, 1, t, groups, d)
    wanted = batch(q, k, v, **options)
    for seed in SEEDS:
        out, lse = np.full_like(q, np.nan), np.full((1, heads, s), np.nan, np.float32)
        kernels.attention(q, k, v, out, lse=lse, num_splits=1, pack_gqa=False, target="sm_100a", simulator={"seed": seed}, BM=256, BN=keys, **options)
        check((out, lse), wanted)


@pytest.mark.parametrize("options", [{}, {"causal": True}])
def test_grouped_heads_and_lengths(options):
    rng = np.random.default_rng(7)
    lens_q, lens_k = (150, 20, 300), (170, 0, 300)
    starts_q, starts_k = (np.concatenate([[0], np.cumsum(lens)]).astype(np.int32) for lens in (lens_q, lens_k))
    q, k, v = values(rng, sum(lens_q), 4, 128), values(rng, sum(lens_k), 2, 128), values(rng, sum(lens_k), 2, 128)
    for seed, keys in ((0, 80), (3, 128)):
        out, lse = np.full_like(q, np.nan), np.full((4, sum(lens_q)), np.nan, np.float32)
        kernels.attention_varlen(q, k, v, out, lse=lse, cu_seqlens_q=starts_q, cu_seqlens_k=starts_k, max_seqlen_q=300, num_splits=1, pack_gqa=False,
                                 target="sm_100a", simulator={"seed": seed}, BM=256, BN=keys, **options)
        for b in range(3):
            rows, own = slice(*starts_q[b:b + 2]), slice(*starts_k[b:b + 2])
            check((out[rows], lse[:, rows]), sequence(q[rows], k[own], v[own], **options))


def test_attention_in_8_bits():
    rng = np.random.default_rng(8)
    q, k, v = (values(rng, 1, 300, 1, 128, dtype=ml_dtypes.float8_e4m3fn) for _ in range(3))
    for seed in SEEDS:
        out, lse = np.full((1, 300, 1, 128), np.nan, BF16), np.full((1, 1, 300), np.nan, np.float32)
        kernels.attention(q, k, v, out, lse=lse, causal=True, num_splits=1, target="sm_100a", simulator={"seed": seed}, BM=256, BN=128)
        check((out, lse), batch(q, k, v, causal=True), 0.04)


@pytest.mark.parametrize("rows, features", [(128, 64), (200, 192), (100, 0)])
def test_blocks_of_64_rows(rows, features):
    """Two replicas of a tile of 128 rows; two chained products, none and several iterations."""
    rng = np.random.default_rng(rows + features)
    x, w1, w2 = (bf16(rng.standard_normal(shape)) for shape in ((rows, 64), (features, 64), (64, features)))
    for seed in SEEDS:
        y = np.full((rows, 64), 0x7FC0, np.uint16)
        run(load("", "mlp", "sm_100a", "replicas = 2"), (x, w1, w2, y, rows, features), seed=seed)
        h = fp64(x) @ fp64(w1).T
        assert error(fp64(y), 0.5 * h * (1 + np.tanh(0.7978845608 * (h + 0.044715 * h**3))) @ fp64(w2).T) < 8e-3


def test_structure():
    """A second replica instead of a second program: what the role that issues products does twice is in the same loop."""
    warp = load("", "mlp", "sm_100a", "replicas = 2").stages["warp"]
    roles = dict(re.findall(r"warp\.role @(\w+) ((?:.|\n)*?)(?=warp\.role|\Z)", warp))
    assert roles["math"].startswith("warps(4) replicas(2)")
    loop = roles["mma"].split("scf.for")[1].split("\n          }")[0] if "scf.for" in roles["mma"] else ""
    assert len(re.findall(r"nv\.tcgen05\.mma", loop)) >= 4
