"""Matrix products of groups of rows, each with a matrix of its own (the experts of an MoE layer)."""

import tileloom as tl

from . import arrays
from .overlap import require_own
from .remember import remembered


@tl.jit
def product(a: tl.view, b: tl.view, row, column, e, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, MASKED: tl.constexpr):
    """Rows from `row` of a (of its matrix e, if MASKED) times the columns from `column` of b[e]^T."""
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, b.shape[2], BK):
        x = a.load([e, row, k], [1, BM, BK]).reshape(BM, BK) if MASKED else a.load([row, k], [BM, BK])
        acc = tl.dot(x, b.load([e, column, k], [1, BN, BK]).reshape(BN, BK).T, acc)
    return acc


@tl.jit
def contiguous_kernel(a: tl.view, b: tl.view, c: tl.view, labels, RAGGED: tl.constexpr = False, BM: tl.constexpr = 128, BN: tl.constexpr = tl.auto,
                      BK: tl.constexpr = tl.auto):
    """c[i] = a[i] @ b[labels[i]]^T. The labels of a block of BM rows are equal, or -1 at its end: those rows are not written."""
    M, N = c.shape
    for m, n in tl.tiles((M, BM), (N, BN)):
        e = tl.load(labels + m)
        if e >= 0:
            result = product(a, b, m, n, e, BM, BN, BK, False).to(c.dtype)
            rows, columns = m + tl.arange(0, BM), n + tl.arange(0, BN)
            if not RAGGED and tl.load(labels + tl.minimum(m + BM, M) - 1) >= 0:
                c.store([m, n], result)
            else:
                mask = (tl.load(labels + rows, rows < M, -1) >= 0)[:, None] & (columns < N)[None, :]
                tl.store(c.ptr + rows[:, None] * c.stride(0) + columns[None, :], result, mask)


@tl.jit
def masked_kernel(a: tl.view, b: tl.view, c: tl.view, counts, RAGGED: tl.constexpr = False, BM: tl.constexpr = tl.auto, BN: tl.constexpr = tl.auto,
                  BK: tl.constexpr = tl.auto):
    """c[e, i] = a[e, i] @ b[e]^T for the first counts[e] rows of each e; other rows are not written."""
    E, M, N = c.shape
    for e, m, n in tl.tiles(E, (M, BM), (N, BN)):
        count = tl.minimum(tl.load(counts + e), M)
        if m < count:
            result = product(a, b, m, n, e, BM, BN, BK, True).to(c.dtype)
            rows, columns = m + tl.arange(0, BM), n + tl.arange(0, BN)
            if not RAGGED and m + BM <= count:
                c.store([e, m, n], result)
            else:
                tl.store(c.ptr + e * c.stride(0) + rows[:, None] * c.stride(1) + columns[None, :], result,
                         (rows < count)[:, None] & (columns < N)[None, :])


def _check(name, a, b, rank_a):
    x, y = arrays.facts_of(a, name, "a"), arrays.facts_of(b, name, "b")
    arrays.require_rank(x, rank_a, name, "a", "[M, K]" if rank_a == 2 else "[groups, M, K]")
    arrays.require_rank(y, 3, name, "b", "[groups, N, K]")
    for own, tensor in (("a", x), ("b", y)):
        arrays.require_type(tensor, arrays.HALF, name, own)
    arrays.require(x.dtype is y.dtype, name, "b", f"is of {y.dtype}", f"{x.dtype}, as 'a'")
    arrays.require(x.shape[-1] == y.shape[2], name, "b", f"has shape {list(y.shape)}", f"K = {x.shape[-1]}, as 'a'")
    return x, y


def _finish(name, a, x, out, shape, index_name, index, length):
    out = arrays.empty(a, shape, x.dtype) if out is None else out
    z, i = arrays.facts_of(out, name, "out"), arrays.facts_of(index, name, index_name)
    arrays.require_shape(z, shape, name, "out", "by the shapes of 'a' and 'b'")
    arrays.require_type(z, (*arrays.HALF, tl.float32), name, "out")
    arrays.require(z.strides[-1] == 1, name, "out", f"has strides {list(z.strides)}", "a last stride of 1")
    arrays.require_type(i, (tl.int32,), name, index_name)
    arrays.require_shape(i, (length,), name, index_name, "by the shape of 'a'")
    arrays.require(length < 2 or i.strides == (1,), name, index_name, f"has stride {list(i.strides)}", "a contiguous tensor")
    return out, z, i


@remembered
def grouped_gemm_contiguous(a, b, labels, out=None, **launch):
    """a [M, K], b [groups, N, K], labels [M] in int32: out[i] = a[i] @ b[labels[i]]^T, [M, N]. Blocks of 128 rows belong to one group: their
    labels are equal, or -1 (padding) from some row on. Rows with -1 are left as they are in `out`."""
    name = "grouped_gemm_contiguous"
    x, y = _check(name, a, b, 2)
    out, z, i = _finish(name, a, x, out, (x.shape[0], y.shape[1]), "labels", labels, x.shape[0])
    arrays.require_device(("a", x), {"b": y, "labels": i, "out": z}, name)
    require_own(name, {"out": z}, {"a": x, "b": y, "labels": i})
    if x.shape[0] and y.shape[1]:
        ragged = z.strides[-1] == 1 and not arrays.fits(z, stored=True)
        result = out if ragged else arrays.boxed(out, z)
        contiguous_kernel(arrays.boxed(a, x), arrays.boxed(b, y), result, labels, ragged, **launch)
        if result is not out:
            arrays.write(out, result)
    return out


@remembered
def grouped_gemm_masked(a, b, counts, out=None, **launch):
    """a [groups, M, K], b [groups, N, K], counts [groups] in int32: out[e, i] = a[e, i] @ b[e]^T for i < counts[e]; other rows of `out`
    [groups, M, N] are left as they are."""
    name = "grouped_gemm_masked"
    x, y = _check(name, a, b, 3)
    arrays.require(x.shape[0] == y.shape[0], name, "b", f"has {y.shape[0]} groups", f"{x.shape[0]}, as 'a'")
    shape = (x.shape[0], x.shape[1], y.shape[1])
    out, z, i = _finish(name, a, x, out, shape, "counts", counts, x.shape[0])
    arrays.require_device(("a", x), {"b": y, "counts": i, "out": z}, name)
    require_own(name, {"out": z}, {"a": x, "b": y, "counts": i})
    if 0 not in shape:
        ragged = z.strides[-1] == 1 and not arrays.fits(z, stored=True)
        result = out if ragged else arrays.boxed(out, z)
        masked_kernel(arrays.boxed(a, x), arrays.boxed(b, y), result, counts, ragged, **launch)
        if result is not out:
            arrays.write(out, result)
    return out
