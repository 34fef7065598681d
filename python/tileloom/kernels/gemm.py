"""Matrix product: out = epilogue(a @ b), sums in float32. One matrix or a batch."""

import tileloom as tl

from . import arrays
from .chain import READ, Chain
from .epilogue import activations, add, add_scaled, amax_of_columns, amax_of_rows, finish, multiply, put
from .overlap import require_own
from .remember import remembered


@tl.jit
def gemm_kernel(a: tl.view, b: tl.view, c: tl.view, operands=(), STEPS: tl.constexpr = (), TRANS_A: tl.constexpr = False,
                TRANS_B: tl.constexpr = False, RAGGED: tl.constexpr = False, BM: tl.constexpr = tl.auto, BN: tl.constexpr = tl.auto, BK: tl.constexpr = tl.auto):
    """c[M, N] = steps of a @ b; a is [M, K], or [K, M] if TRANS_A; b is [N, K], or [K, N] if TRANS_B. Any may have a batch dimension before
    these; a and b without one are the same for the whole batch. STEPS, operands: see epilogue.py. RAGGED: see epilogue.put."""
    M, N = c.shape[-2:]
    K = a.shape[-2] if TRANS_A else a.shape[-1]
    for at in tl.tiles(*c.shape[:-2], (M, BM), (N, BN)):
        m, n = at[-2:]
        of_a, of_b = at[:len(a.shape) - 2], at[:len(b.shape) - 2]
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK):
            x = a.load(of_a + (k, m), [BK, BM]).T if TRANS_A else a.load(of_a + (m, k), [BM, BK])
            y = b.load(of_b + (k, n), [BK, BN]) if TRANS_B else b.load(of_b + (n, k), [BN, BK]).T
            acc = tl.dot(x, y, acc)
        put(c, at, finish(acc, at, operands, STEPS, BM, BN), RAGGED, BM, BN)


@remembered
def gemm(a, b, out=None, *, alpha=1.0, beta=1.0, c=None, accumulate=False, scale_a=None, scale_b=None, bias=None, activation=None, epilogue=None,
         epilogue_args=(), residual=None, row_amax=None, column_amax=None, out_scale=None, out_dtype=None, **launch):
    """out = epilogue(alpha * a @ b): [M, K] by [K, N], or batches [B, M, K], [B, K, N] of them (one of the two may be without batch, or of batch 1).

    The value goes through these steps in float32, in this order; each is left out unless it is given:
    * alpha, scale_a [M], scale_b [N] * value   (scales: float32, or a number, or one element)
    + beta * c                                  (c broadcasts to out; accumulate=True: c is out)
    + bias                                      ([N], or what broadcasts to out)
    activation                                  ("relu", "gelu", "gelu_tanh", "silu", or a @tl.jit function of the value)
    epilogue(value, *epilogue_args)             (a @tl.jit function; numbers, and tensors that broadcast to out, arrive as float32 tiles)
    + residual                                  (broadcasts to out)
    row_amax [M], column_amax [N]               (float32, with B before in a batch: the larger of what they hold and |value|; start with zeros)
    * out_scale                                 (a number, or one element in float32), and conversion: to fp8 it saturates

    a and b: both float16, both bfloat16, both float32 (as tf32) or float8_e4m3fn / float8_e5m2. 16-bit ones may be stored by rows or by columns; of
    the others a needs contiguous rows and b contiguous columns. Any B, M, N, K >= 0; a matrix whose rows (or columns) do not start at multiples of
    16 bytes goes through a padded copy. out: float16, bfloat16, float32 or fp8; by default of the type of a, bfloat16 for fp8.
    launch: BM, BN, BK, schedule, stream, target."""
    name = "gemm"
    x, y = arrays.facts_of(a, name, "a"), arrays.facts_of(b, name, "b")
    check_factors(name, x, y)
    M, K, N = *x.shape[-2:], y.shape[-1]
    batch = _batch(name, x, y)
    if out is None:
        arrays.require(not accumulate, name, "out", "is not given with accumulate", "the matrix to add to")
        default = tl.bfloat16 if x.dtype.is_fp8() else x.dtype
        out = arrays.empty(a, (*batch, M, N), default if out_dtype is None else arrays.as_dtype(out_dtype, name, "out_dtype"))
    z = arrays.facts_of(out, name, "out")
    arrays.require_shape(z, (*batch, M, N), name, "out", "by the shapes of 'a' and 'b'")
    arrays.require_type(z, READ, name, "out")
    arrays.require(all(step or extent < 2 for extent, step in zip(z.shape, z.strides)), name, "out", f"has strides {list(z.strides)}",
                   "an element of its own for each index")
    arrays.require(not (accumulate and c is not None), name, "c", "is given with accumulate", "one of the two")
    ragged = z.strides[-1] == 1 and not arrays.fits(z, stored=True)
    chain = Chain(name, z.shape, z, ragged)
    for own, value in (("alpha", alpha), ("beta", beta)):
        arrays.require(arrays.is_number(value), name, own, f"is of type {type(value).__name__}", "a number")
    if alpha != 1.0:
        chain.step(multiply, ("alpha", alpha))
    for own, value, axis in (("scale_a", scale_a, -2), ("scale_b", scale_b, -1)):
        if value is not None:
            chain.scale(own, value, axis)
    result = out if ragged else arrays.boxed(out, z, fill=accumulate)
    if (accumulate or c is not None) and beta != 0.0:
        added = ("out" if accumulate else "c", result if accumulate else c)
        chain.step(*(add, added) if beta == 1.0 else (add_scaled, added, ("beta", beta)))
    if bias is not None:
        chain.step(add, ("bias", bias))
    if activation is not None:
        chain.call("activation", arrays.one_of(activations(z.dtype), activation, name, "activation"))
    if epilogue is not None:
        chain.call("epilogue", epilogue, epilogue_args)
    if residual is not None:
        chain.step(add, ("residual", residual))
    if row_amax is not None:
        chain.amax(amax_of_rows, "row_amax", row_amax, -2)
    if column_amax is not None:
        chain.amax(amax_of_columns, "column_amax", column_amax, -1)
    if out_scale is not None:
        chain.scale("out_scale", out_scale, None)
    arrays.require_device(("a", x), {"b": y, "out": z, **chain.tensors}, name)
    require_own(name, {"out": z}, {"a": x, "b": y, **chain.updated})
    if 0 in z.shape:
        return out
    a, x, b, y = *_one_of_batch(a, x), *_one_of_batch(b, y)
    trans_a, trans_b = x.dtype in arrays.HALF and _by_columns(x), x.dtype in arrays.HALF and not _by_columns(y)
    a = arrays.boxed(a.swapaxes(-1, -2), arrays.transposed(x)) if trans_a else arrays.boxed(a, x)
    b = arrays.boxed(b, y) if trans_b else arrays.boxed(b.swapaxes(-1, -2), arrays.transposed(y))
    if column_amax is not None:
        launch = {"BM": 64, **launch}  # warpgroups cannot share the rows of what is reduced along them
    gemm_kernel(a, b, result, chain.operands, chain.steps, trans_a, trans_b, ragged, **narrow_tiles(x, launch))
    if result is not out:
        arrays.write(out, result)
    return out


def check_factors(name, x, y):
    """The types, shapes and strides of two factors."""
    for own, tensor in (("a", x), ("b", y)):
        arrays.require(len(tensor.shape) in (2, 3), name, own, f"has shape {list(tensor.shape)}", "a matrix, or a batch of matrices")
        arrays.require_type(tensor, READ, name, own)
    arrays.require(x.dtype is y.dtype or x.dtype.is_fp8() and y.dtype.is_fp8(), name, "b", f"is of {y.dtype}",
                   "an 8-bit float, as 'a'" if x.dtype.is_fp8() else f"{x.dtype}, as 'a'")
    arrays.require(y.shape[-2] == x.shape[-1], name, "b", f"has shape {list(y.shape)}", f"{x.shape[-1]} rows, as 'a' has {x.shape[-1]} columns")
    if x.dtype not in arrays.HALF:
        for own, tensor, axis, what in (("a", x, -1, "rows"), ("b", y, -2, "columns")):
            arrays.require(tensor.strides[axis] == 1 or 1 in tensor.shape[-2:] or 0 in tensor.shape, name, own,
                           f"is of {tensor.dtype} and has strides {list(tensor.strides)}",
                           f"contiguous {what}: tensor cores read {tensor.dtype} along K alone")


def narrow_tiles(x, launch):
    """The launch's options with BK for a type other than the 16-bit ones: rows of 128 bytes, which is the widest swizzle."""
    return launch if x.dtype in arrays.HALF else {"BK": 128 // x.dtype.itemsize, **launch}


def _batch(name, x, y):
    """The batch dimension of the result: () or (B,)."""
    batches = [tensor.shape[0] for tensor in (x, y) if len(tensor.shape) == 3]
    if not batches:
        return ()
    largest = batches[0] if len(batches) == 1 or batches[1] == 1 else batches[1]
    arrays.require(all(one in (1, largest) for one in batches), name, "b", f"has a batch of {y.shape[0]}", f"{x.shape[0]}, as 'a', or 1")
    return (largest,)


def _one_of_batch(value, tensor):
    """A factor without the batch dimension if all its matrices are one."""
    if len(tensor.shape) == 3 and (tensor.shape[0] == 1 or tensor.strides[0] == 0):
        return value[0], tensor._replace(shape=tensor.shape[1:], strides=tensor.strides[1:])
    return value, tensor


def _by_columns(tensor):
    """Whether the columns of a matrix are contiguous and its rows are not, or have one element."""
    return tensor.strides[-2] == 1 and (tensor.strides[-1] != 1 or tensor.shape[-1] == 1)
