"""Gated products: out = activation(a @ gate) * (a @ up), the two matrices interleaved column by column (SwiGLU and its relatives)."""

import tileloom as tl

from . import arrays
from .chain import READ, Chain
from .epilogue import activations, finish, put
from .gemm import check_factors, narrow_tiles
from .overlap import require_own
from .remember import remembered


@tl.jit
def swiglu_kernel(a: tl.view, b: tl.view, c: tl.view, operands, STEPS: tl.constexpr, GATE: tl.constexpr, INTERLEAVED: tl.constexpr,
                  RAGGED: tl.constexpr = False, BM: tl.constexpr = tl.auto, BN: tl.constexpr = tl.auto, BK: tl.constexpr = tl.auto):
    """c[M, N] = GATE(a @ gate^T) * (a @ up^T), each after STEPS; a [M, K]; b [N, 2, K] has a row of gate and one of up in turn, or is [2, N, K]."""
    M, N = c.shape
    for m, n in tl.tiles((M, BM), (N, BN)):
        gate, up = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, a.shape[1], BK):
            x = a.load([m, k], [BM, BK])
            gate = tl.dot(x, b.load((n, 0, k) if INTERLEAVED else (0, n, k), [BN, BK]).T, gate)
            up = tl.dot(x, b.load((n, 1, k) if INTERLEAVED else (1, n, k), [BN, BK]).T, up)
        gate, up = finish(gate, (m, n), operands, STEPS, BM, BN), finish(up, (m, n), operands, STEPS, BM, BN)
        put(c, (m, n), GATE(gate) * up, RAGGED, BM, BN)


@remembered
def gemm_swiglu(a, b, out=None, *, activation="silu", interleaved=True, scale_a=None, scale_b=None, out_dtype=None, **launch):
    """out [M, N] = activation(a @ gate) * (a @ up) for a [M, K] and b [K, 2 N], whose even columns are gate and whose odd ones are up
    (interleaved=False: its first N columns and its last N). Sums, activation and product in float32.

    activation: "silu" (SwiGLU), "gelu", "gelu_tanh" (GEGLU), "relu" (ReGLU), or a @tl.jit function of the value. scale_a: a number, one element,
    or a factor for each row (float32); scale_b: a number or one element. Types as in `gemm`; a has contiguous rows, and b contiguous columns, as
    the transpose of a linear layer's weights [2 N, K] has. launch: BM, BN, BK, schedule, stream, target."""
    name = "gemm_swiglu"
    x, y = arrays.facts_of(a, name, "a"), arrays.facts_of(b, name, "b")
    for own, tensor in (("a", x), ("b", y)):
        arrays.require_rank(tensor, 2, name, own, "a matrix")
    check_factors(name, x, y)
    (M, K), columns = x.shape, y.shape[1]
    arrays.require(columns % 2 == 0, name, "b", f"has {columns} columns", "an even number: gate and up")
    arrays.require(y.strides[0] == 1 or K < 2, name, "b", f"has strides {list(y.strides)}",
                   "contiguous columns: copies cannot take every other element of a row")
    N = columns // 2
    if out is None:
        default = tl.bfloat16 if x.dtype.is_fp8() else x.dtype
        out = arrays.empty(a, (M, N), default if out_dtype is None else arrays.as_dtype(out_dtype, name, "out_dtype"))
    z = arrays.facts_of(out, name, "out")
    arrays.require_shape(z, (M, N), name, "out", "half as many columns as 'b' has")
    arrays.require_type(z, READ, name, "out")
    chain = Chain(name, z.shape, z)
    for own, value, axis in (("scale_a", scale_a, -2), ("scale_b", scale_b, None)):
        if value is not None:
            chain.scale(own, value, axis)
    gate = chain.function("activation", arrays.one_of(activations(z.dtype), activation, name, "activation"), 1)
    arrays.require_device(("a", x), {"b": y, "out": z, **chain.tensors}, name)
    require_own(name, {"out": z}, {"a": x, "b": y, **chain.tensors})
    if 0 in z.shape:
        return out
    ragged = z.strides[1] == 1 and not arrays.fits(z, stored=True)
    result = out if ragged else arrays.boxed(out, z, fill=False)
    weights = arrays.boxed(b.T, arrays.transposed(y))
    pairs = arrays.split_rows(weights, (N, 2) if interleaved else (2, N))
    swiglu_kernel(arrays.boxed(a, x), pairs, result, chain.operands, chain.steps, gate, bool(interleaved), ragged, **narrow_tiles(x, launch))
    if result is not out:
        arrays.write(out, result)
    return out
