"""Tileloom: tile kernels for NVIDIA Hopper and Blackwell.

    import tileloom as tl

    @tl.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)

The language is in docs/language.md; kernels ready to use are in tileloom.kernels.
"""

__version__ = "0.1.0"

from .frontend.errors import CompilationError
from .dispatch.function import JITFunction, jit
from .language import *  # noqa: F403
from .language import (abs, max, min, range, sum, tuple)  # noqa: A004
from .runtime.errors import ArgumentError, DriverError, LaunchError, RecipeError, TileloomError
