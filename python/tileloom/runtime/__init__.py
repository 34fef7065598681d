"""Load compiled kernels and launch them on CUDA tensors.

    from tileloom.runtime import Kernel
    gemm = Kernel.load("gemm.cubin", "gemm.json")
    gemm(a, b, c)                      # torch tensors, or anything that exports CUDA memory

Errors are subclasses of `TileloomError`; their text names the kernel, the argument, the value found and the
value needed.
"""

from .errors import ArgumentError, DriverError, LaunchError, RecipeError, TileloomError
from .kernel import Device, Kernel, Launch, Parameter, TensorMap

__all__ = [
    "ArgumentError",
    "Device",
    "DriverError",
    "Kernel",
    "Launch",
    "LaunchError",
    "Parameter",
    "RecipeError",
    "TensorMap",
    "TileloomError",
]
