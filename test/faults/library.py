"""Correct kernels beside those that the seeded faults change: more programs of the compiler, for mutants.py and for the comparison with a GPU.

What a run in the simulator gives is what is wanted (their tests compare with fp64).
"""

import numpy as np

import kernels
from language import by_language
from simulate import simulate


def values(rng, *shape, dtype=None):
    import ml_dtypes
    return rng.standard_normal(shape).astype(dtype or ml_dtypes.bfloat16)


def zeros(*shape, dtype=None):
    import ml_dtypes
    return np.zeros(shape, dtype or ml_dtypes.bfloat16)


def grouped(target):
    def problem(rng):
        from tileloom import kernels as library
        a, b, out, counts = values(rng, 3, 256, 128), values(rng, 3, 128, 128), zeros(3, 256, 128), np.array([200, 0, 256], np.int32)
        return lambda: library.grouped_gemm_masked(a, b, counts, out, BM=128, BN=64, BK=64, target=target), [a, b, counts, out], {}
    return problem


def labelled(rng):
    from tileloom import kernels as library
    a, b, out = values(rng, 512, 192), values(rng, 3, 256, 192), zeros(512, 256)
    labels = np.repeat(np.array([2, 0, 1, -1], np.int32), 128)
    return lambda: library.grouped_gemm_contiguous(a, b, labels, out), [a, b, labels, out], {}


def decode(rng):
    from tileloom import kernels as library
    q, k, v, out = values(rng, 2, 1, 8, 64), values(rng, 8, 64, 2, 64), values(rng, 8, 64, 2, 64), zeros(2, 1, 8, 64)
    table, lengths = rng.permutation(8).astype(np.int32).reshape(2, 4), np.array([200, 131], np.int32)
    return (lambda: library.attention_kvcache(q, k, v, out, cache_seqlens=lengths, page_table=table, num_splits=1), [q, k, v, table, lengths, out], {})


def softmax(rng):
    from tileloom import kernels as library
    x, out = values(rng, 9, 500, dtype=np.float32), zeros(9, 500, dtype=np.float32)
    return lambda: library.softmax(x, out), [x, out], {}


def attention(causal, size, dtype=None):
    def problem(rng):
        from tileloom import kernels as library
        q, k, v = (values(rng, 1, n, 2, size, dtype=dtype) for n in (200, 300, 300))
        out = zeros(1, 200, 2, size)
        return lambda: library.attention(q, k, v, out, causal=causal), [q, k, v, out], {}
    return problem


def product(dtype, m, n, k, **options):
    def problem(rng):
        import ml_dtypes

        from tileloom import kernels as library
        element = np.float32 if dtype == "float32" else getattr(ml_dtypes, dtype) if dtype != "float16" else np.float16
        a, b, out = values(rng, m, k, dtype=element), values(rng, n, k, dtype=element), zeros(m, n, dtype=np.float32)
        return lambda: library.gemm(a, b.T, out, **options), [a, b, out], {}
    return problem


LIBRARY = {
    "grouped_gemm": ("sm_90a", grouped("sm_90a")), "grouped_gemm_sm_100a": ("sm_100a", grouped("sm_100a")), "paged_decode": ("sm_90a", decode),
    "softmax": ("sm_90a", softmax), "labelled_gemm": ("sm_90a", labelled),
    "attention_causal_64": ("sm_90a", attention(True, 64)), "attention_128": ("sm_90a", attention(False, 128)),
    "attention_e4m3_128": ("sm_90a", attention(False, 128, "float8_e4m3fn")),
    "gemm_bf16_to_f32": ("sm_90a", product("bfloat16", 200, 304, 320)), "gemm_f16_to_f32": ("sm_90a", product("float16", 130, 256, 192)),
    "gemm_tf32": ("sm_90a", product("float32", 136, 200, 160)), "gemm_e4m3_to_f32": ("sm_90a", product("float8_e4m3fn", 200, 304, 640)),
    "gemm_e5m2_to_f32": ("sm_90a", product("float8_e5m2", 128, 144, 256)), "gemm_gelu": ("sm_90a", product("bfloat16", 200, 304, 320, activation="gelu")),
    "gemm_few_rows": ("sm_90a", product("bfloat16", 21, 192, 520)),
}


def load(name):
    if name not in LIBRARY:
        return kernels.load(name)
    kernel = by_language(name, *LIBRARY[name], kernels.Array, kernels.Kernel)()
    outputs = {}
    kinds, text = simulate(kernel, outputs=outputs)
    assert not kinds, text
    for i, data in outputs.items():
        argument = kernel.arguments[i]
        if data.tobytes() != argument.data.tobytes():
            argument.result = data
            argument.wanted = (kernels.fp32(data) if argument.element == "bf16" else data).astype(np.float64)
            argument.tolerance = 1e-6
    return kernel
