"""Jitted functions: specialisation, caches, launch."""

from .compiled import CompiledKernel
from .function import JITFunction, jit

__all__ = ["CompiledKernel", "JITFunction", "jit"]
