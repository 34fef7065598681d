"""Compiles a Triton kernel for a GPU that is not there, and runs its PTX in the simulator."""

import os

os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(os.environ.get("TILELOOM_BUILD", "build"), "test", "triton"))

import numpy as np  # noqa: E402
import triton  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

from tileloom import testing  # noqa: E402

_POINTER = {"float32": "*fp32", "float16": "*fp16", "uint16": "*bf16", "int32": "*i32", "uint8": "*u8", "float64": "*fp64"}


def compile(kernel, arguments, constants, capability, elements=None, **options):
    names = kernel.arg_names
    signature, constexprs, at = {}, {}, 0
    for i, name in enumerate(names):
        if name in constants:
            signature[name] = "constexpr"
            constexprs[(i,)] = constants[name]
            continue
        a = arguments[at]
        if isinstance(a, np.ndarray):
            signature[name] = (elements or {}).get(name) or _POINTER[a.dtype.name]
        else:
            signature[name] = "fp32" if isinstance(a, float) else "i32"
        at += 1
    # As in a launch: pointers and sizes that are multiples of 16 are known to be.
    attrs, at = {}, 0
    for i, name in enumerate(names):
        if name in constants:
            continue
        a = arguments[at]
        at += 1
        if isinstance(a, np.ndarray) or (isinstance(a, int) and a % 16 == 0):
            attrs[(i,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn=kernel, signature=signature, constexprs=constexprs, attrs=attrs)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


def run(compiled, arguments, grid, seeds=2, checks="all"):
    """A testing.Simulation; the arguments come first in its outputs."""
    metadata = compiled.metadata
    ptx = compiled.asm["ptx"]
    values = [a if isinstance(a, np.ndarray) else np.float32(a) if isinstance(a, float) else np.int32(a) for a in arguments]
    programs = int(np.prod(grid))
    # Two hidden parameters: scratch memory for tensor maps, and for profiling.
    scratch = np.zeros(max(1, metadata.global_scratch_size * programs * getattr(metadata, "num_ctas", 1)) + 128, np.uint8)
    scratch = scratch[-scratch.ctypes.data % 128:]
    values += [scratch, np.zeros(16, np.uint8)]
    warps = getattr(metadata, "num_warps", 4)
    threads = 32 * warps
    import re
    required = re.search(r"\.reqntid\s+(\d+)|\.maxntid\s+(\d+)", ptx)
    if required:
        threads = int(required.group(1) or required.group(2))
    return testing.simulate(ptx, None, *values, grid=grid, block=threads, shared=metadata.shared, entry=metadata.name, seeds=seeds,
                            checks=checks)
