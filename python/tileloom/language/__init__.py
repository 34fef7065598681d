"""The language of kernels: Triton's names and rules, plus `view`, `tiles` and `auto`. See docs/language.md."""

from . import functions as math
from .atomics import (atomic_add, atomic_and, atomic_cas, atomic_load, atomic_max, atomic_min, atomic_or, atomic_store, atomic_xchg,
                      atomic_xor)
from .assembly import inline_asm_elementwise
from .blocks import advance, make_block_ptr
from .combine import associative_scan, cumprod, reduce
from .control import condition, range, static_assert, static_print, static_range, tiles, tuple
from .debug import device_assert, device_print, expect_zero
from .dtypes import (bfloat16, dtype, float8e4nv, float8e5, float8e8m0, float16, float32, float64, int1, int8, int16, int32, int64,
                     pointer_type, uint8, uint16, uint32, uint64)
from .functions import (PropagateNan, abs, add, assume, cdiv, ceil, clamp, cos, div_rn, dot, erf, exp, exp2, fast_tanh, fdiv, floor, fma, log, log2, max_constancy,
                        max_contiguous, maximum, minimum, mul, multiple_of, next_power_of_2, num_programs, program_id, rsqrt, sigmoid, sin,
                        softmax, sqrt, sqrt_rn, sub, swizzle2d, tanh, to_tensor, umulhi, where)
from .indexed import gather, histogram
from .memory import debug_barrier, load, store
from .random import (pair_uniform_to_normal, philox, rand, rand4x, randint, randint4x, randn, randn4x, uint_to_uniform_float)
from .rearrange import flip, interleave, join, split
from .reductions import argmax, argmin, cumsum, max, min, sum
from .shapes import (arange, broadcast, broadcast_to, cast, expand_dims, full, full_like, permute, ravel, reshape, squeeze, trans, unsqueeze,
                     zeros, zeros_like)
from .scaled import dot_scaled
from .trees import bitonic_merge, cat, reduce_or, sort, topk, xor_sum
from .values import MOST_ELEMENTS as TRITON_MAX_TENSOR_NUMEL
from .values import auto, const, constexpr, tensor
from .workspace import last_arrival, workspace
from .views import load_tensor_descriptor, make_tensor_descriptor, store_tensor_descriptor, tensor_descriptor, view

inf = float("inf")
nan = float("nan")

__all__ = [name for name in globals() if not name.startswith("_") and name not in (
    "assembly", "atomics", "batched", "blocks", "combine", "control", "debug", "dtypes", "functions", "indexed", "memory", "random", "rearrange", "reductions", "scaled", "semantic", "shapes", "trees", "values", "views")]
