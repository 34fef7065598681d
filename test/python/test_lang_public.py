"""Kernels as they are written for Triton, in the simulator, against NumPy in fp64: normalisation and its gradients, losses, routing, quantisation, scans."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl

TARGETS = ["sm_90a", "sm_100a"]
BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn


def fp64(x):
    return np.asarray(x).astype(np.float64)


def close(found, wanted, rtol=1e-5, atol=1e-5):
    return np.allclose(fp64(found), wanted, rtol=rtol, atol=atol)


def blank(shape, dtype=np.float32):
    return np.full(shape, np.nan, dtype)


# Element by element ---------------------------------------------------------------------------------

@tl.jit
def dropout(x_ptr, residual_ptr, out_ptr, n_elements, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0) + tl.load(residual_ptr + offsets, mask=mask), mask=mask)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n, p", [(1000, 0.25), (256, 0.0), (7, 0.9)])
def test_dropout(target, n, p):
    from test_lang_counters import philox, uniform_of
    rng = np.random.default_rng(n)
    x, residual, out = rng.standard_normal(n).astype(np.float32), rng.standard_normal(n).astype(np.float32), blank(n)
    dropout[(tl.cdiv(n, 256),)](x, residual, out, n, p, 123, BLOCK=256, target=target)
    keep = uniform_of(philox([np.arange(n), *np.zeros((3, n))], (123, 0))[0]) > np.float32(p)
    assert close(out, np.where(keep, fp64(x) / (1 - p), 0) + fp64(residual))


@tl.jit
def gelu_backward(x_ptr, dy_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    cdf = 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))
    pdf = tl.exp(-0.5 * x * x) * 0.3989422804014327
    tl.store(dx_ptr + offsets, dy * (cdf + x * pdf), mask=mask)


@pytest.mark.parametrize("target", TARGETS)
def test_gelu_backward(target):
    from math import erf
    rng = np.random.default_rng(3)
    x, dy = (rng.standard_normal(777).astype(BF16) for _ in range(2))
    dx = np.full(777, np.nan, BF16)
    gelu_backward[(4,)](x, dy, dx, 777, BLOCK=256, target=target)
    wide = fp64(x)
    cdf = 0.5 * (1 + np.array([erf(v / 2 ** 0.5) for v in wide]))
    assert close(dx, fp64(dy) * (cdf + wide * np.exp(-wide * wide / 2) / (2 * np.pi) ** 0.5), 1e-2, 1e-3)


@tl.jit
def rotary(x_ptr, cos_ptr, sin_ptr, out_ptr, seq_stride, head_stride, HEADS: tl.constexpr, PADDED: tl.constexpr, HALF: tl.constexpr,
           INTERLEAVED: tl.constexpr):
    position = tl.program_id(0)
    heads, columns = tl.arange(0, PADDED)[:, None], tl.arange(0, HALF)[None, :]
    cos, sin = tl.load(cos_ptr + position * HALF + columns), tl.load(sin_ptr + position * HALF + columns)
    base = position * seq_stride + heads * head_stride
    if INTERLEAVED:
        both = tl.arange(0, 2 * HALF)[None, :]
        first, second = tl.split(tl.load(x_ptr + base + both, mask=heads < HEADS, other=0.0).to(tl.float32).reshape(PADDED, HALF, 2))
        turned = tl.interleave(first * cos - second * sin, second * cos + first * sin)
        tl.store(out_ptr + base + both, turned.to(out_ptr.dtype.element_ty), mask=heads < HEADS)
    else:
        first = tl.load(x_ptr + base + columns, mask=heads < HEADS, other=0.0).to(tl.float32)
        second = tl.load(x_ptr + base + HALF + columns, mask=heads < HEADS, other=0.0).to(tl.float32)
        tl.store(out_ptr + base + columns, first * cos - second * sin, mask=heads < HEADS)
        tl.store(out_ptr + base + HALF + columns, second * cos + first * sin, mask=heads < HEADS)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("heads, half", [(3, 32), (8, 16)])
def test_rotary(target, interleaved, heads, half):
    rng = np.random.default_rng(heads)
    x = rng.standard_normal((5, heads, 2 * half)).astype(BF16)
    angles = rng.uniform(0, 6, (5, half))
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    out = np.full_like(x, np.nan)
    rotary[(5,)](x, cos, sin, out, heads * 2 * half, 2 * half, HEADS=heads, PADDED=tl.next_power_of_2(heads), HALF=half, INTERLEAVED=interleaved,
                 target=target)
    wide, c, s = fp64(x), np.cos(angles)[:, None], np.sin(angles)[:, None]
    first, second = (wide[..., ::2], wide[..., 1::2]) if interleaved else (wide[..., :half], wide[..., half:])
    parts = first * c - second * s, second * c + first * s
    wanted = np.stack(parts, -1).reshape(x.shape) if interleaved else np.concatenate(parts, -1)
    assert close(out, wanted, 1e-2, 1e-2)


# Row by row -----------------------------------------------------------------------------------------

@tl.jit
def rms_norm(x_ptr, w_ptr, y_ptr, rstd_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + columns, mask=columns < n_cols, other=0.0).to(tl.float32)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, n_cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_cols
        x = tl.load(x_ptr + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + columns, mask=mask)
        tl.store(y_ptr + row * stride + columns, x * rstd * w, mask=mask)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows, cols", [(3, 300), (2, 128), (1, 1)])
def test_rms_norm(target, rows, cols):
    rng = np.random.default_rng(cols)
    x, w = rng.standard_normal((rows, cols)).astype(np.float16), rng.standard_normal(cols).astype(np.float32)
    y, rstd = blank((rows, cols), np.float16), blank(rows)
    rms_norm[(rows,)](x, w, y, rstd, cols, cols, 1e-5, BLOCK=128, target=target)
    wanted = 1 / np.sqrt((fp64(x) ** 2).mean(1) + 1e-5)
    assert close(rstd, wanted) and close(y, fp64(x) * wanted[:, None] * fp64(w), 2e-3, 2e-3)


@tl.jit
def layer_norm_backward(dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, lock_ptr, stride, n_cols, GROUPS: tl.constexpr,
                        BLOCK: tl.constexpr):
    """dx of a row; dw and db of a group of rows under a lock, in the manner of Triton's tutorial."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * stride + columns, mask=mask, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + columns, mask=mask, other=0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=mask).to(tl.float32)
    mean, rstd = tl.load(mean_ptr + row), tl.load(rstd_ptr + row)
    xhat = tl.where(mask, (x - mean) * rstd, 0.)
    wdy = tl.where(mask, w * dy, 0.)
    c1, c2 = tl.sum(xhat * wdy, axis=0) / n_cols, tl.sum(wdy, axis=0) / n_cols
    tl.store(dx_ptr + row * stride + columns, (wdy - (xhat * c1 + c2)) * rstd, mask=mask)
    group = row % GROUPS
    tl.atomic_add(dw_ptr + group * n_cols + columns, dy * xhat, mask=mask, sem="relaxed")
    tl.atomic_add(db_ptr + group * n_cols + columns, dy, mask=mask, sem="relaxed")
    tl.atomic_add(lock_ptr + group, 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows, cols", [(5, 100), (3, 256)])
def test_layer_norm_backward(target, rows, cols):
    rng = np.random.default_rng(rows)
    x, dy = (rng.standard_normal((rows, cols)).astype(np.float16) for _ in range(2))
    w = rng.standard_normal(cols).astype(np.float16)
    wide, g = fp64(x), fp64(dy)
    mean, rstd = wide.mean(1, keepdims=True), 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    dx, dw, db, count = blank((rows, cols)), np.zeros((2, cols), np.float32), np.zeros((2, cols), np.float32), np.zeros(2, np.int32)
    layer_norm_backward[(rows,)](dx, dy, dw, db, x, w, mean.astype(np.float32).ravel(), rstd.astype(np.float32).ravel(), count, cols, cols, GROUPS=2,
                                 BLOCK=tl.next_power_of_2(cols), target=target)
    xhat, wdy = (wide - mean) * rstd, fp64(w) * g
    assert close(dx, (wdy - xhat * (xhat * wdy).mean(1, keepdims=True) - wdy.mean(1, keepdims=True)) * rstd, 1e-4, 1e-4)
    assert close(dw.sum(0), (g * xhat).sum(0), 1e-4, 1e-4) and close(db.sum(0), g.sum(0), 1e-4, 1e-4) and count.sum() == rows


@tl.jit
def cross_entropy(logits_ptr, labels_ptr, loss_ptr, stride, n_classes, smoothing, ignored, BLOCK: tl.constexpr):
    """The loss of a row, and its gradient in the place of the logits."""
    row = tl.program_id(0).to(tl.int64)
    logits_ptr += row * stride
    label = tl.load(labels_ptr + row)
    most, total, all_logits = float("-inf"), 0.0, 0.0
    for start in range(0, n_classes, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + columns, mask=columns < n_classes, other=float("-inf")).to(tl.float32)
        all_logits += tl.sum(tl.where(columns < n_classes, x, 0.0))
        new = tl.maximum(most, tl.max(x))
        total = total * tl.exp(most - new) + tl.sum(tl.exp(x - new))
        most = new
    lse = most + tl.log(total)
    valid = label != ignored
    own = tl.load(logits_ptr + label, mask=valid, other=0.0).to(tl.float32)
    loss = lse - (1 - smoothing) * own - smoothing / n_classes * all_logits
    tl.store(loss_ptr + row, tl.where(valid, loss, 0.0))
    tl.debug_barrier()  # the logit of the label has been read by all threads before one overwrites it
    for start in range(0, n_classes, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_classes
        x = tl.load(logits_ptr + columns, mask=mask, other=float("-inf")).to(tl.float32)
        target = tl.where(columns == label, 1 - smoothing, 0.0) + smoothing / n_classes
        tl.store(logits_ptr + columns, tl.where(valid, tl.exp(x - lse) - target, 0.0), mask=mask)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows, classes, smoothing", [(4, 1000, 0.0), (3, 130, 0.1), (2, 5, 0.2)])
def test_cross_entropy(target, rows, classes, smoothing):
    rng = np.random.default_rng(classes)
    x, labels = (rng.standard_normal((rows, classes)) * 4).astype(np.float32), rng.integers(0, classes, rows)
    labels[0] = -100
    grad, loss = x.copy(), blank(rows)
    cross_entropy[(rows,)](grad, labels, loss, classes, classes, smoothing, -100, BLOCK=256, target=target)
    wide = fp64(x)
    lse = np.log(np.exp(wide - wide.max(1, keepdims=True)).sum(1)) + wide.max(1)
    valid = labels != -100
    goal = np.eye(classes)[np.where(valid, labels, 0)] * (1 - smoothing) + smoothing / classes
    assert close(loss, np.where(valid, lse - (goal * wide).sum(1), 0), 1e-4, 1e-4)
    assert close(grad, np.where(valid[:, None], np.exp(wide - lse[:, None]) - goal, 0), 1e-4, 1e-4)


@tl.jit
def quantize(x_ptr, q_ptr, scale_ptr, stride, n_cols, MOST: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + columns, mask=columns < n_cols, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0), 1e-10) / MOST
    y = x / scale
    if q_ptr.dtype.element_ty == tl.int8:
        y = tl.where(y >= 0, tl.floor(y + 0.5), tl.ceil(y - 0.5))
    tl.store(q_ptr + row * n_cols + columns, tl.clamp(y, -MOST, MOST).to(q_ptr.dtype.element_ty), mask=columns < n_cols)
    tl.store(scale_ptr + row, scale)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype, most", [(np.int8, 127.0), (E4M3, 448.0)])
@pytest.mark.parametrize("rows, cols", [(3, 500), (2, 64)])
def test_quantize(target, dtype, most, rows, cols):
    x = np.random.default_rng(cols).standard_normal((rows, cols)).astype(BF16)
    x[0] = 0
    q, scale = np.zeros((rows, cols), dtype), blank(rows)
    quantize[(rows,)](x, q, scale, cols, cols, MOST=most, BLOCK=tl.next_power_of_2(cols), target=target)
    wanted = np.maximum(abs(fp64(x)).max(1), 1e-10) / most
    step = fp64(x) / wanted[:, None]
    assert close(scale, wanted)
    bound = 0.501 if dtype is np.int8 else np.maximum(abs(step) / 16, 2.0 ** -10) * 1.001
    assert (abs(fp64(q) - step) <= bound).all()


# Routing, indices and scans -----------------------------------------------------------------------

@tl.jit
def route(logits_ptr, weights_ptr, experts_ptr, counts_ptr, n_tokens, E: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    """The K best of E experts for each token, their softmax, and how many tokens each expert got."""
    tokens = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    experts = tl.arange(0, E)
    mask = tokens < n_tokens
    x = tl.load(logits_ptr + tokens[:, None] * E + experts[None, :], mask=mask[:, None], other=float("-inf")).to(tl.float32)
    first = tl.max(x, axis=1)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for k in tl.static_range(K):
        best, place = tl.max(x, axis=1), tl.argmax(x, axis=1)
        total += tl.exp(best - first)
        tl.store(weights_ptr + tokens * K + k, tl.exp(best - first), mask=mask)
        tl.store(experts_ptr + tokens * K + k, place, mask=mask)
        counts = tl.histogram(place, E, mask=mask)
        tl.atomic_add(counts_ptr + experts, counts, sem="relaxed")
        x = tl.where(experts[None, :] == place[:, None], float("-inf"), x)
    tl.store(weights_ptr + n_tokens * K + tokens, total, mask=mask)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("tokens, experts, k", [(100, 8, 2), (64, 64, 4), (5, 16, 1)])
def test_route(target, tokens, experts, k):
    x = np.random.default_rng(tokens).permutation(tokens * experts).reshape(tokens, experts).astype(np.float32) / 100
    weights, places, counts = blank(tokens * (k + 1)), np.full((tokens, k), -1, np.int32), np.zeros(experts, np.int32)
    route[(tl.cdiv(tokens, 32),)](x, weights, places, counts, tokens, E=experts, K=k, BLOCK=32, target=target)
    order = np.argsort(-x, 1)[:, :k]
    assert (places == order).all() and (counts == np.bincount(order.ravel(), minlength=experts)).all()
    best = np.exp(np.take_along_axis(fp64(x), order, 1) - fp64(x).max(1, keepdims=True))
    assert close(weights[:tokens * k].reshape(tokens, k), best) and close(weights[tokens * k:], best.sum(1))


@tl.jit
def sorted_topk(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.arange(0, ROWS)[:, None], tl.arange(0, COLS)[None, :]
    x = tl.load(x_ptr + rows * COLS + columns)
    # Value and place in one number, the place below: what sorts values carries places along.
    packed = (x.to(tl.int64, bitcast=False) << 32) | columns
    best = tl.topk(packed, K)
    tl.store(out_ptr + rows * K + tl.arange(0, K)[None, :], (best & 0xFFFFFFFF).to(tl.int32))


@pytest.mark.parametrize("target", TARGETS)
def test_sorted_topk(target):
    x = np.random.default_rng(1).permutation(4 * 64).reshape(4, 64).astype(np.int32)
    out = np.full((4, 8), -1, np.int32)
    sorted_topk[(1,)](x, out, ROWS=4, COLS=64, K=8, target=target)
    assert (out == np.argsort(-x, 1)[:, :8]).all()


@tl.jit
def scan_rows(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    """Running sums of rows of any length: what came before is carried from block to block."""
    row, carry = tl.program_id(0), 0.0
    for start in range(0, n_cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + columns, mask=columns < n_cols, other=0.0)
        tl.store(out_ptr + row * n_cols + columns, tl.cumsum(x, axis=0) + carry, mask=columns < n_cols)
        carry += tl.sum(x, axis=0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("cols", [1, 300, 512])
def test_scan_rows(target, cols):
    x = np.random.default_rng(cols).integers(-9, 9, (3, cols)).astype(np.float32)
    out = blank((3, cols))
    scan_rows[(3,)](x, out, cols, BLOCK=128, target=target)
    assert (out == x.cumsum(1)).all()


@tl.jit
def segmented(sum_a, head_a, sum_b, head_b):
    return tl.where(head_b != 0, sum_b, sum_a + sum_b), head_a | head_b


@tl.jit
def segment_sums(x_ptr, ids_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """The sum of each run of equal ids (which are in order), added where blocks share a run."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x, ids = tl.load(x_ptr + offsets, mask=mask, other=0.0), tl.load(ids_ptr + offsets, mask=mask, other=-1)
    before = tl.load(ids_ptr + offsets - 1, mask=mask & (offsets > 0), other=-1)
    after = tl.load(ids_ptr + offsets + 1, mask=offsets + 1 < n, other=-1)
    sums, _ = tl.associative_scan((x, (ids != before).to(tl.int32)), 0, segmented)
    last = mask & ((ids != after) | (tl.arange(0, BLOCK) == BLOCK - 1))
    tl.atomic_add(out_ptr + ids, sums, mask=last, sem="relaxed")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 100, 256])
def test_segment_sums(target, n):
    rng = np.random.default_rng(n)
    x, ids = rng.integers(-9, 9, n).astype(np.float32), np.sort(rng.integers(0, 12, n)).astype(np.int32)
    out = np.zeros(12, np.float32)
    segment_sums[(tl.cdiv(n, 64),)](x, ids, out, n, BLOCK=64, target=target)
    assert (out == np.bincount(ids, x, 12)).all()


@tl.jit
def through_memory(x_ptr, scratch_ptr, out_ptr, ROUNDS, M: tl.constexpr, N: tl.constexpr):
    """Rounds of transposition through memory: other threads read than wrote."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    for i in range(ROUNDS):
        tl.store(scratch_ptr + rows[:, None] * N + columns[None, :], value)
        tl.debug_barrier()
        value = tl.load(scratch_ptr + ((rows[:, None] + columns[None, :] * M) + 1) % (M * N))
        tl.debug_barrier()
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], value)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rounds, warps", [(0, 4), (1, 4), (3, 4), (2, 1)])
def test_barrier(target, rounds, warps):
    x = np.random.default_rng(rounds).standard_normal((16, 32)).astype(np.float32)
    out = blank((16, 32))
    through_memory[(1,)](x, blank(512), out, rounds, M=16, N=32, num_warps=warps, target=target)
    wanted = x
    for _ in range(rounds):
        wanted = np.roll(wanted.ravel(), -1).reshape(32, 16).T
    assert (out == wanted).all()
