"""Keys in parts and heads as rows (num_splits, pack_gqa) of dense and packed sequences, in the simulator, against fp64."""

import numpy as np
import pytest

import tileloom as tl
from attention_reference import BF16, alibi, alibi_numpy, batch, check, sequence
from tileloom import kernels
from tileloom.kernels import attention_parts
from tileloom.kernels.decode_plan import keys_seen

SEEDS = pytest.mark.parametrize("seed", range(5))


def inputs(seed, B, S, T, H, G, D=64, E=None, dtype=BF16):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in ((B, S, H, D), (B, T, G, D), (B, T, G, E or D))]


def dense(q, k, v, seed=0, E=None, **options):
    B, S, H = q.shape[:3]
    out, lse = np.full((B, S, H, E or v.shape[-1]), np.nan).astype(q.dtype), np.full((B, H, S), np.nan, np.float32)
    simulator = {"seed": seed, "multiprocessors": 2 + seed % 3}
    return kernels.attention(q, k, v, out, lse=lse, simulator=simulator, **options)


@SEEDS
@pytest.mark.parametrize("s, heads, groups", [(1, 8, 1), (3, 6, 2), (33, 4, 4), (70, 4, 2), (130, 2, 1)])
def test_dense(s, heads, groups, seed):
    """The parts of 64 rows or fewer are put together in the launch, of more by a launch of their own."""
    q, k, v = inputs(seed, 2, s, 290 + seed, heads, groups)
    causal, pack = seed % 2 == 0, (None, True, False)[seed % 3]
    for splits in (2, 3 + seed):
        check(dense(q, k, v, seed, causal=causal, num_splits=splits, pack_gqa=pack), batch(q, k, v, causal=causal))


@pytest.mark.parametrize("options", [{"window": (100, 0)}, {"window": (64, 30)}, {"attention_chunk": 70, "causal": True}, {"softcap": 2.0},
                                     {"sinks": np.linspace(-1, 2, 6, dtype=np.float32)}])
@pytest.mark.parametrize("s", [1, 9, 140])
def test_options(options, s):
    q, k, v = inputs(s, 1, s, 400, 6, 2)
    for splits, pack in ((3, True), (1, True), (2, False)):
        check(dense(q, k, v, num_splits=splits, pack_gqa=pack, **options), batch(q, k, v, **options))


def test_score_mod():
    q, k, v = inputs(1, 2, 5, 260, 6, 2)
    slopes = np.linspace(0, 0.1, 6, dtype=np.float32)
    check(dense(q, k, v, num_splits=3, score_mod=alibi, mod_arguments=(slopes,)), batch(q, k, v, score=alibi_numpy(slopes)))


@pytest.mark.parametrize("d, e", [(128, 128), (256, 256), (192, 128), (96, 96), (72, 50)])
def test_head_dimensions(d, e):
    q, k, v = inputs(d, 1, 2, 300, 4, 2, d, e, np.float16)
    check(dense(q, k, v, num_splits=3, causal=True), batch(q, k, v, causal=True))


def test_float8():
    import ml_dtypes
    q, k, v = inputs(3, 1, 4, 500, 4, 2, 128, dtype=ml_dtypes.float8_e4m3fn)
    out, lse = np.full(q.shape, np.nan, BF16), np.full((1, 4, 4), np.nan, np.float32)
    kernels.attention(q, k, v, out, lse=lse, num_splits=3)
    check((out, lse), batch(q, k, v), 0.04)


@pytest.mark.parametrize("t", [0, 1, 5])
def test_few_keys(t):
    """More parts than tiles of keys; rows that see none."""
    q, k, v = inputs(t, 2, 4, t, 4, 2)
    check(dense(q, k, v, num_splits=7, causal=True), batch(q, k, v, causal=True))


def test_any_strides():
    """Keys of a batch that do not begin at a multiple of their rows."""
    q, k, v = inputs(2, 2, 3, 200, 4, 2)
    wide = np.full((2, 200 * 2 * 64 + 8), np.nan).astype(BF16)
    wide[:, :200 * 2 * 64] = k.reshape(2, -1)
    own = np.lib.stride_tricks.as_strided(wide, k.shape, (wide.strides[0], *k.strides[1:]))
    check(dense(q, own, v, num_splits=2), batch(q, k, v))


@pytest.mark.parametrize("s", [2, 130])
def test_same_bits(s):
    """Whoever comes last, and however many processors there are."""
    q, k, v = inputs(5, 1, s, 700, 8, 2)
    first, *others = [dense(q, k, v, seed, num_splits=5, deterministic=True) for seed in range(5)]
    for other in others:
        assert all((one == two).all() for one, two in zip(first, other))


@pytest.mark.parametrize("d", [576])
@pytest.mark.parametrize("s, heads, splits", [(1, 16, None), (3, 4, 2), (70, 2, 1)])
def test_latent(s, heads, splits, d):
    rng = np.random.default_rng(s)
    q, k = (rng.standard_normal(shape).astype(BF16) for shape in ((1, s, heads, d), (1, 150, 1, d)))
    check(dense(q, k, k[..., :512], E=512, causal=True, num_splits=splits), batch(q, k, k[..., :512], causal=True))


# Sequences of different lengths --------------------------------------------------------------------

def packed(seed, lengths_q, lengths_k, H, G, D=64):
    rng = np.random.default_rng(seed)
    q, k, v = (rng.standard_normal(shape).astype(BF16) for shape in ((sum(lengths_q), H, D), (sum(lengths_k), G, D), (sum(lengths_k), G, D)))
    return q, k, v, *(np.cumsum([0, *lengths]).astype(np.int32) for lengths in (lengths_q, lengths_k))


@SEEDS
@pytest.mark.parametrize("heads, groups", [(4, 4), (8, 2), (6, 1)])
def test_varlen(heads, groups, seed):
    """Rows of tiles of 8 heads where a group has 6: nothing of the next group is written."""
    rng = np.random.default_rng(seed)
    lengths_q, lengths_k = [int(n) for n in rng.choice([0, 1, 3, 17, 40], 4)], [int(n) for n in rng.choice([0, 1, 64, 129, 300], 4)]
    lengths_q[0] += 1
    q, k, v, of_q, of_k = packed(seed, lengths_q, lengths_k, heads, groups)
    for splits, pack in ((1, True), (3, True), (2, False), (None, None)):
        out, lse = np.full(q.shape, np.nan).astype(BF16), np.full((heads, q.shape[0]), np.nan, np.float32)
        kernels.attention_varlen(q, k, v, out, lse=lse, cu_seqlens_q=of_q, cu_seqlens_k=of_k, max_seqlen_q=max(lengths_q), max_seqlen_k=max(lengths_k),
                                 causal=seed % 2 == 0, num_splits=splits, pack_gqa=pack, simulator={"seed": seed, "multiprocessors": 3})
        for b in range(4):
            rows, keys = slice(of_q[b], of_q[b + 1]), slice(of_k[b], of_k[b + 1])
            check((out[rows], lse[:, rows]), sequence(q[rows], k[keys], v[keys], causal=seed % 2 == 0))


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("pack", [True, False])
def test_varlen_of_used_rows(splits, pack):
    """Of tensors with a batch, what lies behind the rows that count may hold anything, and is not written."""
    q, k, v = inputs(4, 3, 5, 280, 6, 2)
    used_q, used_k = np.array([5, 2, 0], np.int32), np.array([280, 130, 77], np.int32)
    for b in range(3):
        q[b, used_q[b]:] = k[b, used_k[b]:] = v[b, used_k[b]:] = np.nan
    out, lse = np.full(q.shape, 7).astype(BF16), np.full((3, 6, 5), 7, np.float32)
    kernels.attention_varlen(q, k, v, out, lse=lse, seqused_q=used_q, seqused_k=used_k, causal=True, num_splits=splits, pack_gqa=pack)
    for b, (rows, keys) in enumerate(zip(used_q, used_k)):
        if rows:
            check((out[b, :rows], lse[b, :, :rows]), sequence(q[b, :rows], k[b, :keys], v[b, :keys], causal=True))
        assert (out[b, rows:] == 7).all() and (lse[b, :, rows:] == 7).all()


# Choices -------------------------------------------------------------------------------------------

def chosen(monkeypatch, module, kernel, call):
    """The number of parts, and how many rows are put together at once, of a call on an H200."""
    found = {}

    class Recorder:
        def __call__(self, *arguments, **launch):
            names = [parameter.name for parameter in original.parameters]
            found.update(dict(zip(names, arguments)))
    original = getattr(module, kernel)
    with monkeypatch.context() as patch:
        patch.setattr(module, kernel, Recorder())
        patch.setattr(attention_parts, "combine", lambda *arguments, **options: None)
        call()
    return found.get("splits"), found.get("TOGETHER"), found.get("R")


def test_choice_of_splits(monkeypatch):
    """As in FlashAttention-3: more than one where processors would have nothing to do."""
    def of(B, S, T, H, G, **options):
        q, k = np.zeros((B, S, H, 128), BF16), np.zeros((B, T, G, 128), BF16)
        return chosen(monkeypatch, attention_parts, "kvcache_kernel", lambda: kernels.attention(q, k, k, **options))
    assert of(1, 1, 8192, 64, 8)[::2] == (16, 8) and of(1, 1, 8192, 64, 8)[1] > 0, "put together in the launch"
    assert of(1, 16, 8192, 8, 8)[0] == 16 and of(1, 16, 8192, 8, 8)[2] == 1
    assert of(16, 1, 2048, 8, 8)[0] == 1, "128 tiles fill the machine"
    assert of(1, 1, 8192, 64, 8, window=(255, 0))[0] <= 3, "few tiles of keys are seen"
    assert of(1, 1, 8192, 64, 8, num_splits=5)[0] == 5
    assert of(1, 64, 4096, 16, 1, num_splits=0)[1] == 0, "many rows of many parts: all processors put them together"
    assert of(1, 512, 256, 2, 2) == (None, None, None), "the plain kernel"


def test_keys_seen():
    assert keys_seen(1000, 1, False, None, None, None) == 1000 and keys_seen(1000, 1, True, 100, None, None) == 101
    assert keys_seen(1000, 500, False, 100, 50, None) == 278 and keys_seen(1000, 1, True, None, None, 64) == 65


def test_refuses():
    q, k, v = inputs(0, 1, 4, 64, 4, 2)

    def refused(message, function=kernels.attention, q=q, k=k, v=v, **options):
        with pytest.raises(tl.ArgumentError, match=message):
            function(q, k, v, **options)
    refused("attention: 'num_splits' is -1; needed None or 0", num_splits=-1)
    refused("attention: 'num_splits' is 1.5; needed None or 0", num_splits=1.5)
    refused("attention_varlen: 'num_splits' is 257; needed None or 0", kernels.attention_varlen, num_splits=257)
    refused("attention_varlen: 'BM' is 128; needed 64 with num_splits above 1", kernels.attention_varlen, num_splits=2, BM=128)
    wide = np.zeros((1, 64, 1, 576), BF16)
    queries = np.zeros((1, 2, 4, 576), BF16)
    refused("attention: 'v' is another tensor than 'k', whose head dimension is 576; needed its first 512 columns", q=queries, k=wide,
            v=np.zeros((1, 64, 1, 512), BF16))
    refused(r"attention: 'q' has head dimension 576; needed 1 to 256", q=queries, k=wide, v=wide)
    refused(r"attention_varlen: 'q' has head dimension 576; needed 1 to 256", kernels.attention_varlen, q=queries, k=wide, v=wide[..., :512])
    narrow = wide.astype("float8_e5m2")
    refused("attention: 'q' is of float8e5; needed float16 or bfloat16 or float8e4nv", q=queries.astype("float8_e5m2"), k=narrow, v=narrow[..., :512])
