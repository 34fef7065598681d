"""Faults that users of other tools reported, as programs of the language in the simulator: the right answer, or a refusal that names the
operand, the value found and the value needed."""

import math
import re

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from test_lang_kernels import attention_in_fp64, error, guarded
from tileloom import kernels

BF16 = ml_dtypes.bfloat16


@tl.jit
def gemm(a: tl.view, b: tl.view, c: tl.view, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c[M, N] = a[M, K] @ b[N, K].T"""
    (M, K), N = a.shape, b.shape[0]
    for m, n in tl.tiles((M, BM), (N, BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK):
            acc = tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T, acc)
        c.store([m, n], acc.to(c.dtype))


def integers(rng, *shape, dtype=np.float16):
    return rng.integers(0, 3, shape).astype(dtype)


def exact(a, b, *, dtype=np.float32, schedule=None, **tiles):
    """Small integers: sums in float32 are exact."""
    out = np.full((a.shape[0], b.shape[0]), np.nan, dtype)
    gemm(a, b, out, schedule=schedule, **tiles)
    assert (out.astype(np.float64) == a.astype(np.float64) @ b.astype(np.float64).T).all()


@pytest.mark.parametrize("n", [24, 40, 56, 72])
def test_tiles_of_8_modulo_16_columns(n):
    rng = np.random.default_rng(n)
    exact(integers(rng, 64, 128), integers(rng, n, 128), BM=64, BN=n, BK=64)


@pytest.mark.parametrize("rows", [64, 128, 192, 256])
def test_rows_land_in_place(rows):
    a = np.repeat(np.arange(rows, dtype=np.float16)[:, None], 64, 1)
    exact(a, np.eye(64, dtype=np.float16), BM=rows, BN=64, BK=64)


@pytest.mark.parametrize("k, block", [(24, 24), (96, 48), (160, 80), (64, 16), (64, 32), (256, 128)])
def test_blocks_of_k(k, block):
    """Right, or refused with a place: never silently short."""
    try:
        exact(np.ones((64, k), np.float16), np.ones((64, k), np.float16), BM=64, BN=64, BK=block)
    except tl.CompilationError as refusal:
        assert block % 16 or block not in (16, 32, 64, 128), refusal
        assert re.match(r"\S*test_lang_cases.py:\d+:\d+: error: .*(expected|needed)", str(refusal)), refusal


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("k", [64, 128])
def test_one_iteration(k, stages):
    rng = np.random.default_rng(k)
    exact(integers(rng, 128, k), integers(rng, 128, k), BM=128, BN=128, BK=64, schedule={"stages": stages})


@pytest.mark.parametrize("n", [144, 176, 192, 240])
def test_products_are_as_wide_as_they_can_be(n):
    made = gemm.compile(signature={"a": ("f16", 2), "b": ("f16", 2), "c": ("f32", 2)}, BM=64, BN=n, BK=64, schedule={"replicas": 1})
    widths = set(re.findall(r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16", made.ptx))
    assert widths == {str(n)}


@pytest.mark.parametrize("element, columns", [("float8_e4m3fn", 466), ("bfloat16", 470), ("float32", 466)])
def test_nothing_is_written_beside_a_slice(element, columns):
    rng = np.random.default_rng(1)
    dtype = getattr(ml_dtypes, element, None) or np.dtype(element)
    a, b = integers(rng, 32, 64, dtype=BF16), integers(rng, columns, 64, dtype=BF16)
    whole = np.full((32, 512), 7).astype(dtype)
    # A copy through a descriptor would write up to 16 bytes; the library's GEMM takes another way.
    with pytest.raises(tl.ArgumentError, match=f"'c': extent of dimension 1 is {columns}; needed a multiple of .*: stores end at 16 bytes"):
        gemm(a, b, whole[:, :columns], BM=64, BN=128, BK=64)
    kernels.gemm(a, b.T, whole[:, :columns])
    assert (whole[:, columns:].astype(np.float32) == 7).all()
    assert error(whole[:, :columns], a.astype(np.float64) @ b.astype(np.float64).T) < (4e-2 if element == "float8_e4m3fn" else 4e-3)


ODD = {"511 columns": lambda rng: rng.standard_normal((128, 511)).astype(BF16), "row pitch of 65": lambda rng: rng.standard_normal((64, 65)).astype(np.float16)[:, :64],
       "1000 bytes": lambda rng: rng.standard_normal((64, 250)).astype(np.float32)}


@pytest.mark.parametrize("which", ["a", "b"])
@pytest.mark.parametrize("odd", ODD)
def test_strides_that_copies_cannot_take(odd, which):
    """Refused as a view, and right in the library, which goes another way; as either operand."""
    rng = np.random.default_rng(1)
    x = ODD[odd](rng)
    y = np.zeros((64, -(-x.shape[1] // 8) * 8), x.dtype)[:, :x.shape[1]]
    y[...] = rng.standard_normal(y.shape).astype(x.dtype)
    a, b = (x, y) if which == "a" else (y, x)
    c = np.full((a.shape[0], b.shape[0]), np.nan, np.float32)
    with pytest.raises(tl.ArgumentError, match=rf"argument \d+ '{which}': stride of dimension 0 is \d+ elements \(\d+ bytes\); needed a multiple of 16"):
        gemm(a, b, c, BM=64, BN=64, BK=64 if a.itemsize == 2 else 32)
    assert np.isnan(c).all()
    kernels.gemm(a, b.T, c)
    assert error(c, a.astype(np.float64) @ b.astype(np.float64).T) < 2e-3


@tl.jit
def two_products(c: tl.view, s: tl.view, p: tl.view, x: tl.view, out: tl.view, BN: tl.constexpr):
    """out = c @ s + p @ x, with a product before the loop."""
    for m, in tl.tiles((out.shape[0], 64)):
        acc = tl.dot(c.load([m, 0], [64, 64]), s.load([0, 0], [64, BN]))
        for k in range(0, p.shape[1], 64):
            acc = tl.dot(p.load([m, k], [64, 64]), x.load([k, 0], [64, BN]), acc)
        out.store([m, 0], acc)


def test_products_before_and_inside_a_loop():
    rng = np.random.default_rng(2)
    c, s, p, x = integers(rng, 64, 64), integers(rng, 64, 128), integers(rng, 64, 192), integers(rng, 192, 128)
    out = np.full((64, 128), np.nan, np.float32)
    two_products(c, s, p, x, out, BN=128)
    assert (out == c.astype(np.float64) @ s.astype(np.float64) + p.astype(np.float64) @ x.astype(np.float64)).all()


@tl.jit
def from_row(a: tl.view, b: tl.view, out: tl.view, row, BM: tl.constexpr, BK: tl.constexpr):
    for m, in tl.tiles((out.shape[0], BM)):
        acc = tl.zeros((BM, 64), tl.float32)
        for k in range(0, a.shape[1], BK):
            acc = tl.dot(a.load([m + row, k], [BM, BK]), b.load([0, k], [64, BK]).T, acc)
        out.store([m, 0], acc)


@pytest.mark.parametrize("row, tile", [*((row, 128) for row in range(16)), (7, 64), (13, 64)])
def test_rows_from_any_offset(row, tile):
    rng = np.random.default_rng(row)
    a, b = integers(rng, tile + 16, tile), integers(rng, 64, tile)
    out = np.full((tile, 64), np.nan, np.float32)
    from_row(a, b, out, row, BM=tile, BK=tile)
    assert (out == a[row:row + tile].astype(np.float64) @ b.astype(np.float64).T).all()


def test_more_queries_than_keys():
    rng = np.random.default_rng(4)
    q = rng.standard_normal((1, 256, 1, 64)).astype(BF16)
    k, v = (rng.standard_normal((1, 128, 1, 64)).astype(BF16) for _ in range(2))
    out, lse = kernels.attention(q, k, v, causal=True)
    assert not out[:, :128].astype(np.float32).any() and (lse[..., :128] == -np.inf).all(), "rows without a key"
    wanted, wanted_lse = attention_in_fp64(q, k, v, True, 0.125)
    assert error(out[:, 128:], wanted[:, 128:]) < 5e-3 and np.abs(lse[..., 128:] - wanted_lse[..., 128:]).max() < 1e-3


@pytest.mark.parametrize("causal", [False, True])
def test_no_keys(causal):
    q, k = np.ones((2, 70, 2, 64), BF16), np.ones((2, 0, 1, 64), BF16)
    out, lse = kernels.attention(q, k, k, causal=causal)
    assert not out.astype(np.float32).any() and (lse == -np.inf).all()


def test_large_negative_scores():
    rng = np.random.default_rng(7)
    q = np.full((1, 64, 1, 128), 448).astype(BF16)
    k = -np.full((1, 128, 1, 128), 1880).astype(BF16)
    k[0, :, 0, 0] += rng.integers(0, 4, 128).astype(BF16)
    v = rng.standard_normal((1, 128, 1, 128)).astype(BF16)
    out, lse = kernels.attention(q, k, v, softmax_scale=2.0**-20)
    wanted, wanted_lse = attention_in_fp64(q, k, v, False, 2.0**-20)
    assert error(out, wanted) < 5e-3 and np.abs(lse - wanted_lse).max() < 1e-2


@pytest.mark.parametrize("causal", [False, True])
def test_scores_of_minus_ten_million(causal):
    """With the scale of the head dimension: all keys are equal, so that a row gives the mean of the values that it sees, and no zeros."""
    q, k = np.full((1, 64, 1, 128), 448).astype(BF16), -np.full((1, 64, 1, 128), 1880).astype(BF16)
    v = np.random.default_rng(8).standard_normal((1, 64, 1, 128)).astype(BF16)
    out, lse = kernels.attention(q, k, v, causal=causal)
    wide = v[0, :, 0].astype(np.float64)
    mean = np.cumsum(wide, 0) / np.arange(1, 65)[:, None] if causal else np.broadcast_to(wide.mean(0), wide.shape)
    assert error(out[0, :, 0], mean) < 6e-3
    score = q[0, 0, 0].astype(np.float64) @ k[0, 0, 0].astype(np.float64) / math.sqrt(128)
    assert score < -9e6 and np.abs(lse - score).max() < 1e-6 * abs(score)


@pytest.mark.parametrize("ratio", [1, 3, 6, 7, 12])
@pytest.mark.parametrize("length", [1, 5, 130])
def test_grouped_heads(ratio, length):
    rng = np.random.default_rng(ratio * length)
    q = rng.standard_normal((1, length, ratio, 64)).astype(BF16)
    k, v = (rng.standard_normal((1, 140, 1, 64)).astype(BF16) for _ in range(2))
    out, lse = kernels.attention(q, k, v, causal=True)
    wanted, wanted_lse = attention_in_fp64(q, k, v, True, 0.125)
    assert error(out, wanted) < 5e-3 and np.abs(lse - wanted_lse).max() < 1e-3


@pytest.mark.parametrize("extent", ["M", "N", "K"])
def test_an_extent_of_zero(extent):
    sizes = {"M": 64, "N": 64, "K": 64, extent: 0}
    out, outer, inside = guarded((sizes["M"], sizes["N"]))
    kernels.gemm(np.ones((sizes["M"], sizes["K"]), BF16), np.ones((sizes["K"], sizes["N"]), BF16), out)
    if extent == "K":
        assert not out.astype(np.float32).any()
    outer[inside] = 7
    assert (outer.astype(np.float32) == 7).all()
    assert kernels.attention(*(np.ones((0, 64, 1, 64), BF16),) * 3)[0].shape == (0, 64, 1, 64)


@pytest.mark.parametrize("zero", range(4))
def test_extents_of_zero_of_the_other_operations(zero):
    """Each extent in turn: nothing is launched and nothing written, or K = 0 and no keys are sums of nothing."""
    def shape(*extents):
        return tuple(0 if i == zero else extent for i, extent in enumerate(extents))
    m, n, k, groups = shape(128, 64, 64, 2)
    labels, counts = np.zeros(m, np.int32), np.full(groups, m, np.int32)
    if groups:
        out, outer, inside = guarded((m, n))
        kernels.grouped_gemm_contiguous(np.ones((m, k), BF16), np.ones((groups, n, k), BF16), labels, out)
        assert (out.astype(np.float32) == k).all()
        outer[inside] = 7
        assert (outer == 7).all()
    masked = kernels.grouped_gemm_masked(np.ones((groups, m, k), BF16), np.ones((groups, n, k), BF16), counts)
    assert masked.shape == (groups, m, n) and (masked.astype(np.float32) == k).all()
    batch, s, heads, d = shape(2, 64, 2, 64)
    if d:
        q, keys = np.ones((batch, s, heads, d), BF16), np.ones((batch, 40, heads, d), BF16)
        out, lse = kernels.attention(q, keys, keys)
        assert out.shape == q.shape and lse.shape == (batch, heads, s) and (out.astype(np.float32) == 1).all()
    rows, columns = shape(3, 64, 0, 0)[:2]
    x = np.ones((rows, columns), np.float32)
    assert kernels.softmax(x).shape == kernels.layer_norm(x).shape == x.shape


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_padding_of_labels(target):
    """-1 inside of the blocks and in a tail of many blocks; and one group of one row."""
    rng = np.random.default_rng(25)
    labels = np.full(128 * 12, -1, np.int32)
    labels[:100], labels[128:129], labels[256:384] = 1, 0, 2
    a, b = rng.standard_normal((len(labels), 72)).astype(BF16), rng.standard_normal((3, 136, 72)).astype(BF16)
    a[labels < 0] = np.nan
    out = np.full((len(labels), 136), 7, BF16)
    kernels.grouped_gemm_contiguous(a, b, labels, out, target=target)
    for e in range(3):
        own = labels == e
        assert error(out[own], a[own].astype(np.float64) @ b[e].astype(np.float64).T) < 4e-3
    assert (out[labels < 0].astype(np.float32) == 7).all()
    one = kernels.grouped_gemm_contiguous(a[:1], b[:1], np.zeros(1, np.int32), target=target)
    assert error(one, a[:1].astype(np.float64) @ b[0].astype(np.float64).T) < 4e-3


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_groups_of_very_different_sizes(target):
    counts = np.array([400, 142, 0, 0, 0, 0, 0, 57, 50, 0, 2, 1, 123, 0, 0, 22], np.int32)
    rng = np.random.default_rng(26)
    a, b = rng.standard_normal((16, 400, 64)).astype(BF16), rng.standard_normal((16, 72, 64)).astype(BF16)
    out = np.full((16, 400, 72), 7, BF16)
    kernels.grouped_gemm_masked(a, b, counts, out, target=target)
    for e, count in enumerate(counts):
        if count:
            assert error(out[e, :count], a[e, :count].astype(np.float64) @ b[e].astype(np.float64).T) < 4e-3
        assert (out[e, count:].astype(np.float32) == 7).all()


def test_first_and_last_expert_alone():
    rng = np.random.default_rng(15)
    a, b = rng.standard_normal((256, 64)).astype(BF16), np.full((32, 64, 64), np.nan, BF16)
    b[0], b[31] = (rng.standard_normal((64, 64)).astype(BF16) for _ in range(2))
    out = kernels.grouped_gemm_contiguous(a, b, np.repeat(np.array([0, 31], np.int32), 128))
    for rows, e in ((slice(0, 128), 0), (slice(128, 256), 31)):
        assert error(out[rows], a[rows].astype(np.float64) @ b[e].astype(np.float64).T) < 4e-3


def test_softmax_scale_of_log2():
    """The scale includes log2(e) inside, not outside."""
    q = np.zeros((1, 64, 1, 64), BF16)
    k, v = np.zeros((1, 96, 1, 64), BF16), np.ones((1, 96, 1, 64), BF16)
    out, lse = kernels.attention(q, k, v)
    assert (out.astype(np.float32) == 1).all() and np.abs(lse - math.log(96)).max() < 1e-5


@tl.jit
def line(x: tl.view, out: tl.view):
    for m, in tl.tiles((x.shape[0], 64)):
        out.store([m], x.load([m], [64]))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
def test_lines_of_any_length(dtype):
    """All elements arrive and none beside them is written, or the length is refused: copies end at 16 bytes."""
    right = 0
    for n in range(1, 66):
        x, whole = np.arange(1, n + 1).astype(dtype), np.full(128, 77, dtype)
        try:
            line(x, whole[:n])
        except tl.ArgumentError as refusal:
            assert re.search(rf"extent of dimension 0 is {n}; needed a multiple of \d+", str(refusal)), refusal
            assert n * x.itemsize % 16 and (whole == 77).all()
            continue
        assert (whole[:n] == x).all() and (whole[n:] == 77).all()
        right += 1
    assert right >= 64 * np.dtype(dtype).itemsize // 16


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("use", ["cooperative", "pingpong"])
def test_results_of_odd_widths(target, use):
    """Buffers begin where their swizzle does, also behind results of 64 x 40."""
    rng = np.random.default_rng(5)
    m = 128 if target == "sm_100a" else 64
    a, b, out = integers(rng, 200, 200, dtype=BF16), integers(rng, 88, 200, dtype=BF16), np.full((200, 88), np.nan, np.float32)
    launch = dict(BM=m, BN=40, BK=64, schedule={"use": use}, target=target)
    gemm(a, b, out, **launch)
    assert (out == a.astype(np.float64) @ b.astype(np.float64).T).all()
    report = gemm.compile(a, b, out, **launch).report["kernels"][0]
    tiles = [entry for entry in report["shared"] if entry["bytes"] >= 1024]
    assert tiles and all(entry["offset"] % 1024 == 0 for entry in tiles), tiles


@tl.jit
def lines(x, out, n, STAGES: tl.constexpr):
    total = tl.zeros((1024,), tl.float32)
    for i in tl.range(0, n, num_stages=STAGES):
        row = tl.make_tensor_descriptor(x, [n * 1024], [1], [1024])
        total += row.load([i * 1024])
    tl.store(out + tl.arange(0, 1024), total)


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
def test_descriptor_made_in_a_loop(stages):
    x, out = np.random.default_rng(stages).standard_normal((7, 1024)).astype(np.float32), np.full(1024, np.nan, np.float32)
    lines[(1,)](x, out, 7, stages)
    np.testing.assert_allclose(out, x.sum(0), rtol=1e-5, atol=1e-5)


@tl.jit
def weight_gradients(a: tl.view, b: tl.view, c: tl.view, ends, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c[e] = a[rows of e].T @ b[rows of e]; ends[e]: where the rows of e end."""
    E, M, N = c.shape
    for e, m, n in tl.tiles(E, (M, BM), (N, BN)):
        first, last = tl.load(ends + e - 1, e > 0, 0), tl.load(ends + e)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(first, last, BK):
            own = (k + tl.arange(0, BK) < last)[:, None]
            x, y = (tl.where(own, a.load([k, m], [BK, BM]), 0.0).to(a.dtype), tl.where(own, b.load([k, n], [BK, BN]), 0.0).to(b.dtype))
            acc = tl.dot(x.T, y, acc)
        c.store([e, m, n], acc.to(c.dtype))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_gradients_of_groups_without_rows(target):
    """Products of groups along K: groups of no rows give zeros, and rows behind the last group, which are NaN, reach nobody."""
    splits = [162, 0, 97, 46, 0, 83]
    rng = np.random.default_rng(28)
    rows = sum(splits)
    a, b = (rng.standard_normal((rows + 40, columns)).astype(BF16) for columns in (136, 200))
    a[rows:], b[rows:] = np.nan, np.nan
    out = np.full((len(splits), 136, 200), np.nan, BF16)
    weight_gradients(a, b, out, np.cumsum(splits).astype(np.int32), BM=128, BN=128, BK=64, target=target)
    first = 0
    for found, count in zip(out.astype(np.float64), splits):
        wanted = a[first:first + count].astype(np.float64).T @ b[first:first + count].astype(np.float64)
        assert error(found, wanted) < 4e-3 if count else (found == 0).all()
        first += count
