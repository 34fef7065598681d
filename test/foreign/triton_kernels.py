"""Kernels in Triton, for running its PTX in the simulator (test/python/test_sim_triton.py)."""

import triton
import triton.language as tl


@triton.jit
def vector_exp(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.exp(tl.load(x + i, mask=i < n)), mask=i < n)


@triton.jit
def softmax(x, y, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * stride + i, e / tl.sum(e, 0), mask=i < columns)


@triton.jit
def layer_norm(x, y, weight, bias, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < columns
    v = tl.load(x + row * columns + i, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / columns
    centred = tl.where(inside, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / columns + eps)
    w = tl.load(weight + i, mask=inside)
    b = tl.load(bias + i, mask=inside)
    tl.store(y + row * columns + i, centred * scale * w + b, mask=inside)


@triton.jit
def histogram(x, y, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    h = tl.histogram(v, BINS, mask=i < n)
    tl.atomic_add(y + tl.arange(0, BINS), h)


@triton.jit
def scan(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.cumsum(tl.load(x + i, mask=i < n, other=0.0), 0), mask=i < n)


@triton.jit
def matmul_pointers(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Row-major operands by pointers: cp.async pipelines."""
    pm, pn = tl.program_id(0), tl.program_id(1)
    rows, columns, depth = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    pa = a + rows[:, None] * k + depth[None, :]
    pb = b + depth[:, None] * n + columns[None, :]
    sum = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(k, BK)):
        x = tl.load(pa, mask=(rows[:, None] < m) & (depth[None, :] < k - i * BK), other=0.0)
        y = tl.load(pb, mask=(depth[:, None] < k - i * BK) & (columns[None, :] < n), other=0.0)
        sum = tl.dot(x, y, sum)
        pa += BK
        pb += BK * n
    tl.store(c + rows[:, None] * n + columns[None, :], sum.to(c.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def matmul_descriptors(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr):
    """B transposed; tensor maps made on the device; one tile for each program."""
    da = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [n, k], [k, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [m, n], [n, 1], [BM, BN])
    pm, pn = tl.program_id(0) * BM, tl.program_id(1) * BN
    sum = tl.zeros((BM, BN), tl.float32)
    for i in tl.range(0, tl.cdiv(k, BK), warp_specialize=WS):
        x = da.load([pm, i * BK])
        y = db.load([pn, i * BK])
        sum = tl.dot(x, y.T, sum)
    dc.store([pm, pn], sum.to(c.dtype.element_ty))


@triton.jit
def matmul_persistent(a, b, c, m, n, k, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr):
    """A few programs go through all tiles, one loop over both, warp-specialised."""
    da = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [n, k], [k, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [m, n], [n, 1], [BM, BN])
    across = tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, BM) * across, PROGRAMS, flatten=True, warp_specialize=WS):
        pm, pn = tile // across * BM, tile % across * BN
        sum = tl.zeros((BM, BN), tl.float32)
        for i in range(0, tl.cdiv(k, BK)):
            sum = tl.dot(da.load([pm, i * BK]), db.load([pn, i * BK]).T, sum)
        dc.store([pm, pn], sum.to(c.dtype.element_ty))


@triton.jit
def attention(q, k, v, o, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, WS: tl.constexpr):
    """One head for each program_id(1), by tensor maps; base-2 softmax."""
    head = tl.program_id(1)
    dq = tl.make_tensor_descriptor(q + head * length * D, [length, D], [D, 1], [BM, D])
    dk = tl.make_tensor_descriptor(k + head * length * D, [length, D], [D, 1], [BN, D])
    dv = tl.make_tensor_descriptor(v + head * length * D, [length, D], [D, 1], [BN, D])
    do = tl.make_tensor_descriptor(o + head * length * D, [length, D], [D, 1], [BM, D])
    row = tl.program_id(0) * BM
    x = dq.load([row, 0])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sum = tl.zeros((BM, D), tl.float32)
    for j in tl.range(0, length, BN, warp_specialize=WS):
        s = tl.dot(x, dk.load([j, 0]).T) * scale
        t = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - t[:, None])
        fade = tl.exp2(top - t)
        total = total * fade + tl.sum(p, 1)
        sum = tl.dot(p.to(q.dtype.element_ty), dv.load([j, 0]), sum * fade[:, None])
        top = t
    do.store([row, 0], (sum / total[:, None]).to(o.dtype.element_ty))


@triton.jit
def matmul_scaled(a, sa, b, sb, c, m, n, k, FORM: tl.constexpr, PACK: tl.constexpr, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr):
    """Block-scaled: elements e4m3, or e2m1 packed two to a byte (PACK 2), a scale for each GROUP along k; row-major scales by pointers."""
    pm, pn = tl.program_id(0), tl.program_id(1)
    rows, columns = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    depth, blocks = tl.arange(0, BK // PACK), tl.arange(0, BK // GROUP)
    sum = tl.zeros((BM, BN), tl.float32)
    for i in range(0, k // BK):
        x = tl.load(a + rows[:, None] * (k // PACK) + (i * (BK // PACK) + depth)[None, :])
        y = tl.load(b + columns[:, None] * (k // PACK) + (i * (BK // PACK) + depth)[None, :])
        p = tl.load(sa + rows[:, None] * (k // GROUP) + (i * (BK // GROUP) + blocks)[None, :])
        q = tl.load(sb + columns[:, None] * (k // GROUP) + (i * (BK // GROUP) + blocks)[None, :])
        sum = tl.dot_scaled(x, p, FORM, y.T, q, FORM, sum)
    tl.store(c + rows[:, None] * n + columns[None, :], sum)
