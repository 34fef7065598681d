"""Matrix product: out = a @ b (+ bias) (+ out), 16-bit inputs, sums in float32."""

import tileloom as tl

from . import arrays


@tl.jit
def gemm_kernel(a: tl.view, b: tl.view, c: tl.view, bias, TRANS_A: tl.constexpr, TRANS_B: tl.constexpr, ACCUMULATE: tl.constexpr,
                RAGGED: tl.constexpr = False, BM: tl.constexpr = tl.auto, BN: tl.constexpr = tl.auto, BK: tl.constexpr = tl.auto):
    """c[M, N] = a @ b; a is [M, K], or [K, M] if TRANS_A; b is [N, K], or [K, N] if TRANS_B; bias [N] or None.
    RAGGED: rows of c are no multiples of 16 bytes, which copies of boxes need."""
    M, N = c.shape
    K = a.shape[0] if TRANS_A else a.shape[1]
    for m, n in tl.tiles((M, BM), (N, BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK):
            x = a.load([k, m], [BK, BM]).T if TRANS_A else a.load([m, k], [BM, BK])
            y = b.load([k, n], [BK, BN]) if TRANS_B else b.load([n, k], [BN, BK]).T
            acc = tl.dot(x, y, acc)
        if bias is not None:
            columns = n + tl.arange(0, BN)
            acc += tl.load(bias + columns, columns < N, 0)[None, :].to(tl.float32)
        if RAGGED:
            rows, columns = m + tl.arange(0, BM), n + tl.arange(0, BN)
            at = c.ptr + rows.to(tl.int64)[:, None] * c.stride(0) + columns[None, :]
            inside = (rows < M)[:, None] & (columns < N)[None, :]
            if ACCUMULATE:
                acc += tl.load(at, inside, 0).to(tl.float32)
            tl.store(at, acc.to(c.dtype), inside)
        else:
            if ACCUMULATE:
                acc += c.load([m, n], [BM, BN]).to(tl.float32)
            c.store([m, n], acc.to(c.dtype))


def gemm(a, b, out=None, *, bias=None, accumulate=False, out_dtype=None, **launch):
    """a [M, K] @ b [K, N], both float16 or bfloat16; gives `out` [M, N] in float16, bfloat16 or float32 (by default the type of a).

    Any M, N, K >= 0. Each of a and b may be stored by rows or by columns (a transposed view). A matrix whose rows (or columns) do not
    start at multiples of 16 bytes goes through a padded copy. bias: [N]. accumulate: adds to what `out` holds. launch: BM, BN, BK, schedule, stream, target."""
    name = "gemm"
    x, y = arrays.facts_of(a, name, "a"), arrays.facts_of(b, name, "b")
    for own, tensor in (("a", x), ("b", y)):
        arrays.require_rank(tensor, 2, name, own, "a matrix")
        arrays.require_type(tensor, arrays.HALF, name, own)
    arrays.require(x.dtype is y.dtype, name, "b", f"is of {y.dtype}", f"{x.dtype}, as 'a'")
    (M, K), N = x.shape, y.shape[1]
    arrays.require(y.shape[0] == K, name, "b", f"has shape {list(y.shape)}", f"{K} rows, as 'a' has {K} columns")
    if out is None:
        arrays.require(not accumulate, name, "out", "is not given with accumulate", "the matrix to add to")
        out = arrays.empty(a, (M, N), x.dtype if out_dtype is None else arrays.as_dtype(out_dtype, name, "out_dtype"))
    z = arrays.facts_of(out, name, "out")
    arrays.require_shape(z, (M, N), name, "out", "by the shapes of 'a' and 'b'")
    arrays.require_type(z, (*arrays.HALF, tl.float32), name, "out")
    others = {"b": y, "out": z}
    if bias is not None:
        others["bias"] = arrays.facts_of(bias, name, "bias")
        arrays.require_shape(others["bias"], (N,), name, "bias", "as 'b' has as many columns")
    arrays.require_device(("a", x), others, name)
    if M == 0 or N == 0:
        return out
    trans_a, trans_b = _by_columns(x), not _by_columns(y)
    ragged = z.strides[1] == 1 and not arrays.fits(z, stored=True)
    result = out if ragged else arrays.boxed(out, z, fill=accumulate)
    a = arrays.boxed(a.T, arrays.transposed(x)) if trans_a else arrays.boxed(a, x)
    b = arrays.boxed(b, y) if trans_b else arrays.boxed(b.T, arrays.transposed(y))
    gemm_kernel(a, b, result, bias, trans_a, trans_b, bool(accumulate), ragged, **launch)
    if result is not out:
        out[...] = result
    return out


def _by_columns(tensor):
    """Whether the columns of a matrix are contiguous and its rows are not, or have one element."""
    return tensor.strides[0] == 1 and (tensor.strides[1] != 1 or tensor.shape[1] == 1)
