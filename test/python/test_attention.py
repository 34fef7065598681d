"""Dense attention with each of its arguments, in the simulator, against fp64."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from attention_reference import BF16, alibi, alibi_numpy, batch, check, documents, documents_numpy, prefix, prefix_numpy
from tileloom import kernels


def inputs(seed, B, S, T, H, G, D, E=None, dtype=BF16):
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in ((B, S, H, D), (B, T, G, D), (B, T, G, E or D)))


def run(q, k, v, seed=0, **options):
    B, S, H = q.shape[:3]
    out = np.full((B, S, H, v.shape[-1]), np.nan).astype(q.dtype)
    lse = np.full((B, H, S), np.nan, np.float32)
    found = kernels.attention(q, k, v, out, lse=lse, simulator={"seed": seed}, **options)
    assert found[0] is out and found[1] is lse
    return found


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("d, e", [(8, 8), (32, 32), (72, 72), (80, 80), (96, 96), (128, 64), (192, 192), (192, 128), (256, 256), (60, 50)])
def test_head_dimensions(d, e, causal):
    q, k, v = inputs(d, 1, 140, 150, 2, 1, d, e)
    check(run(q, k, v, causal=causal), batch(q, k, v, causal=causal))


def test_fp16():
    q, k, v = inputs(1, 1, 200, 136, 2, 2, 128, dtype=np.float16)
    check(run(q, k, v, causal=True), batch(q, k, v, causal=True), 1e-3)


@pytest.mark.parametrize("s, t", [(1, 1), (70, 300), (300, 70), (257, 257), (130, 640)])
@pytest.mark.parametrize("window", [(0, 0), (10, None), (100, 20), (-1, 33), (0, 128), (500, 500), (127, 0), (200, -1)])
def test_windows(s, t, window):
    q, k, v = inputs(s + t, 1, s, t, 1, 1, 64)
    check(run(q, k, v, window=window), batch(q, k, v, window=window))


@pytest.mark.parametrize("tiles", [{"BM": 128, "BN": 128}, {"BM": 192, "BN": 112}, {"BM": 128, "BN": 64}, {"BM": 128, "BN": 96}])
def test_tiles_of_windows(tiles):
    """Many iterations before, within and after the part without masks."""
    q, k, v = inputs(9, 1, 450, 900, 1, 1, 128)
    for options in ({"window": (300, 50)}, {"window": (200, None), "causal": True}, {"window": (64, 0)}):
        check(run(q, k, v, **options, **tiles), batch(q, k, v, **options))


def test_windows_that_are_causal():
    """(S - 1, 0), (S, 0), (-1, 0) and causal are the same (flash-attention#1745's family: #1130, TransformerEngine#3528), to the bit in tiles of one
    size; which the host chooses may differ."""
    q, k, v = inputs(4, 2, 300, 300, 2, 2, 64)
    tiles = {"BM": 64, "BN": 64}
    check(run(q, k, v, window=(299, 0)), batch(q, k, v, causal=True))
    causal = run(q, k, v, causal=True, **tiles)
    check(causal, batch(q, k, v, causal=True))
    for options in ({"window": (299, 0)}, {"window": (300, 0)}, {"window": (-1, 0)}, {"causal": True, "window": (-1, -1)}, {"causal": True, "window": (-1, 0)},
                    {"causal": True, "window": (None, 77)}, {"window": (2**40, 0)}):
        for one, other in zip(run(q, k, v, **options, **tiles), causal):
            assert (one == other).all(), options


@pytest.mark.parametrize("chunk", [1, 48, 64, 100, 128, 1000])
@pytest.mark.parametrize("causal", [False, True])
def test_chunks(chunk, causal):
    q, k, v = inputs(chunk, 1, 200, 264, 1, 1, 64)
    check(run(q, k, v, attention_chunk=chunk, causal=causal), batch(q, k, v, attention_chunk=chunk, causal=causal))


@pytest.mark.parametrize("cap", [1.0, 30.0])
def test_softcap(cap):
    q, k, v = inputs(6, 1, 150, 200, 2, 1, 64)
    check(run(8 * q, k, v, softcap=cap, causal=True), batch(8 * q, k, v, softcap=cap, causal=True))


def test_softcap_does_not_leak():
    """A small cap is applied before the mask: keys that a row does not see have no influence (flash-attention#1025)."""
    q, k, v = inputs(7, 1, 128, 128, 1, 1, 64)
    out, lse = run(q, k, v, softcap=1.0, causal=True)
    v[:, 64:] += 1e4
    again, lse_again = run(q, k, v, softcap=1.0, causal=True)
    assert (out[:, :64] == again[:, :64]).all() and (lse == lse_again).all()


@pytest.mark.parametrize("dtype", [np.float32, BF16])
def test_sinks(dtype):
    q, k, v = inputs(8, 2, 90, 70, 4, 2, 64)
    sinks = np.array([-1.0, 0.0, 3.0, -np.inf], dtype)
    options = {"sinks": sinks, "causal": True}  # 20 rows of each head see the sink alone
    check(run(q, k, v, **options), batch(q, k, v, **options))


def test_score_mod():
    q, k, v = inputs(10, 2, 100, 140, 4, 2, 64)
    slopes = np.array([0.5, 0.25, 0.125, 0.0625], np.float32)
    check(run(q, k, v, score_mod=alibi, mod_arguments=(slopes,), causal=True), batch(q, k, v, score=alibi_numpy(slopes), causal=True))


def test_mask_mods():
    q, k, v = inputs(11, 1, 200, 200, 2, 1, 64)
    check(run(q, k, v, mask_mod=prefix, mod_arguments=(77,)), batch(q, k, v, mask=prefix_numpy(77)))
    labels = np.sort(np.random.default_rng(0).integers(0, 5, 200)).astype(np.int32)
    check(run(q, k, v, mask_mod=documents, mod_arguments=(labels, 200), causal=True), batch(q, k, v, mask=documents_numpy(labels), causal=True))


@tl.jit
def nothing(b, h, i, n):
    return n < 0


def test_rows_that_a_mask_hides():
    q, k, v = inputs(12, 1, 70, 70, 1, 1, 64)
    out, lse = run(q, k, v, mask_mod=nothing)
    assert not out.astype(np.float32).any() and (lse == -np.inf).all()


def test_everything_together():
    q, k, v = inputs(13, 1, 260, 400, 6, 2, 96)
    sinks = np.linspace(-1, 1, 6, dtype=np.float32)
    slopes = np.linspace(0, 0.1, 6, dtype=np.float32)
    options = {"window": (170, 40), "attention_chunk": 150, "softcap": 20.0, "sinks": sinks, "softmax_scale": 0.2}
    check(run(q, k, v, score_mod=alibi, mod_arguments=(slopes,), **options), batch(q, k, v, score=alibi_numpy(slopes), **options))


@pytest.mark.parametrize("options", [{"window": (3, 3)}, {"attention_chunk": 7, "causal": True}, {"softcap": 2.0}, {"sinks": np.zeros(2, np.float32)},
                                     {"mask_mod": prefix, "mod_arguments": (3,)}])
def test_without_keys(options):
    q, k, v = inputs(14, 1, 70, 0, 2, 1, 64)
    out, lse = run(q, k, v, **options)
    assert not out.astype(np.float32).any() and (lse == (0 if "sinks" in options else -np.inf)).all()


def test_schedules():
    """The same result under any interleaving."""
    q, k, v = inputs(15, 1, 300, 500, 2, 1, 64)
    options = {"window": (130, 20), "softcap": 5.0, "sinks": np.ones(2, np.float32)}
    first = run(q, k, v, **options)
    check(first, batch(q, k, v, **options))
    for seed in range(1, 5):
        again = run(q, k, v, seed=seed, **options)
        assert (again[0] == first[0]).all() and (again[1] == first[1]).all()


def test_refuses():
    q, k, v = inputs(0, 1, 64, 64, 4, 2, 64)

    def refused(message, q=q, k=k, v=v, **options):
        with pytest.raises(tl.ArgumentError, match="^attention: " + message):
            kernels.attention(q, k, v, **options)
    wide = np.zeros((1, 64, 4, 264), BF16)
    refused("'q' has head dimension 264; needed 1 to 256", wide, wide, wide)
    refused("'k' has head dimension 32; needed 64, as 'q'", k=k[..., :32])
    refused("'v' has 1 heads; needed 2, as 'k'", v=v[:, :, :1])
    refused("'softmax_scale' is True; needed a number above 0", softmax_scale=True)
    refused("'softmax_scale' is 0.0; needed a number above 0", softmax_scale=0.0)
    refused(r"'window' is 3; needed \(left, right\), each an int or None", window=3)
    refused(r"'window' is \(1.5, 2\); needed", window=(1.5, 2))
    refused("'attention_chunk' is -4; needed an int above 0, or None", attention_chunk=-4)
    refused("'softcap' is -1.0; needed a number above 0, or None", softcap=-1.0)
    refused(r"'sinks' has shape \[2\]; needed \[4\], one for each head of 'q'", sinks=np.zeros(2, np.float32))
    refused("'sinks' is of int32; needed float16 or bfloat16 or float32", sinks=np.zeros(4, np.int32))
    refused("'score_mod' is of type function; needed a function with @tl.jit, or None", score_mod=lambda s: s)
    refused("'mod_arguments' is given alone; needed score_mod or mask_mod too", mod_arguments=(1,))
    refused(r"'lse' has strides \[.*\]; needed a contiguous tensor", lse=np.zeros((1, 4, 128), np.float32)[:, :, ::2])


F8 = ml_dtypes.float8_e4m3fn


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("s, t, h, g, d", [(128, 128, 1, 1, 128), (200, 333, 4, 2, 128), (70, 300, 2, 1, 64), (300, 70, 1, 1, 96), (1, 1, 1, 1, 256)])
def test_fp8(s, t, h, g, d, causal, exact):
    """With the maximum itself as the reference its p is a number without rounding; one that trails has all of the format's error."""
    q, k, v = inputs(d + s, 1, s, t, h, g, d, dtype=F8)
    out, lse = np.full(q.shape, np.nan, BF16), np.full((1, h, s), np.nan, np.float32)
    kernels.attention(q, k, v, out, causal=causal, lse=lse, **({"rescale_threshold": 0.0} if exact else {}))
    check((out, lse), batch(q, k, v, causal=causal), 0.025 if exact else 0.0265)


@pytest.mark.parametrize("causal, bn", [(False, 192), (True, 160), (True, 192), (False, 96)])
def test_fp8_tiles(causal, bn):
    """The tiles of keys that long sequences get; the last one is not full."""
    q, k, v = inputs(bn, 1, 150, 450, 2, 1, 128, dtype=F8)
    out, lse = np.full(q.shape, np.nan, BF16), np.full((1, 2, 150), np.nan, np.float32)
    kernels.attention(q, k, v, out, causal=causal, lse=lse, BN=bn)
    check((out, lse), batch(q, k, v, causal=causal), 0.027)


def test_fp8_scales():
    """Factors of each group; a sink, which is no key, has none."""
    q, k, v = inputs(20, 2, 150, 200, 4, 2, 128, dtype=F8)
    rng = np.random.default_rng(0)
    scales = [rng.uniform(0.5, 2, (2, 2)).astype(np.float32) for _ in range(3)]
    sinks = np.linspace(-1, 1, 4, dtype=np.float32)
    out, lse = kernels.attention(q, k, v, q_descale=scales[0], k_descale=scales[1], v_descale=scales[2], sinks=sinks, window=(100, 20))
    assert out.dtype == BF16
    wide = [t.astype(np.float64) for t in (q, k, v)]
    wide[0] *= np.repeat(scales[0], 2, 1)[:, None, :, None]
    for index in (1, 2):
        wide[index] *= scales[index][:, None, :, None]
    check((out, lse), batch(*wide, sinks=sinks, window=(100, 20)), 0.025)


def test_fp8_refuses():
    q, k, v = inputs(0, 1, 64, 64, 4, 2, 64)
    with pytest.raises(tl.ArgumentError, match="^attention: 'v_descale' is given for bfloat16; needed float8_e4m3fn"):
        kernels.attention(q, k, v, v_descale=np.ones((1, 2), np.float32))
    q, k, v = inputs(0, 1, 64, 64, 4, 2, 64, dtype=F8)
    with pytest.raises(tl.ArgumentError, match=r"^attention: 'k_descale' has shape \[2\]; needed \[1, 2\], by the number of sequences and the heads of keys"):
        kernels.attention(q, k, v, k_descale=np.ones(2, np.float32))
