"""Kernels ready to use, written in the language. They take torch tensors on a GPU, or NumPy arrays (then the simulator runs them).

    from tileloom import kernels
    c = kernels.gemm(a, b)
    o, lse = kernels.attention(q, k, v, causal=True)
"""

from .attention import attention
from .attention_blocks import BlockMask
from .attention_kvcache import attention_kvcache
from .attention_varlen import attention_varlen
from .combine import combine
from .decode_plan import get_scheduler_metadata
from .gemm import gemm
from .grouped_gemm import grouped_gemm_contiguous, grouped_gemm_masked
from .layer_norm import layer_norm
from .softmax import softmax
from .swiglu import gemm_swiglu

__all__ = ["BlockMask", "attention", "attention_kvcache", "attention_varlen", "combine",
           "gemm", "gemm_swiglu", "get_scheduler_metadata", "grouped_gemm_contiguous", "grouped_gemm_masked", "layer_norm", "softmax"]
