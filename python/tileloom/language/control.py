"""What only the visitor can run: loops, and assertions and prints at compile time. Outside of a kernel these are markers."""

from ..frontend.errors import ProgramError


class range:
    """`for i in tl.range(...)`: Python's range, at run time. num_stages: how many iterations' loads are in flight; warp_specialize:
    whether to divide the loop among warps; the compiler decides what is not said."""

    def __init__(self, arg1, arg2=None, step=None, *, num_stages=None, warp_specialize=None, loop_unroll_factor=None,
                 disallow_acc_multi_buffer=False, flatten=False, disable_licm=False):
        self.start, self.stop = (0, arg1) if arg2 is None else (arg1, arg2)
        self.step = 1 if step is None else step
        self.num_stages, self.warp_specialize = num_stages, warp_specialize


class static_range:
    """`for i in tl.static_range(...)`: unrolled at compile time; i is a constant."""

    def __init__(self, arg1, arg2=None, step=None):
        self.start, self.stop = (0, arg1) if arg2 is None else (arg1, arg2)
        self.step = 1 if step is None else step


class tiles:
    """`for b, m, n in tl.tiles(B, (M, BM), (N, BN))`: all tiles of a problem, in any order and at the same time. A pair (extent, tile) gives
    element offsets 0, tile, 2 * tile, ...; a plain extent gives indices. How tiles fall to processors is the compiler's choice. scheduler:
    "static" deals them out in turn, "dynamic" lets each processor draw its next one from a counter; by default, dynamic where tiles may
    take different times."""

    def __init__(self, *extents, scheduler=None):
        if not extents:
            raise ProgramError("tl.tiles(): no extents; needed at least one")
        if scheduler not in (None, "static", "dynamic"):
            raise ProgramError(f"tl.tiles(): scheduler is {scheduler!r}; needed \"static\" or \"dynamic\"")
        self.extents, self.scheduler = extents, scheduler


def condition(arg1, disable_licm=False):
    """`while tl.condition(c)`: as `while c`; the hint has no effect."""
    return arg1


def tuple(args=()):
    """A tuple of a tuple or list."""
    return (*args,)


def static_assert(cond, msg=""):
    """Fails the compilation if `cond` is false."""
    raise ProgramError("tl.static_assert is understood only as a statement of a kernel")


def static_print(*values, sep=" ", end="\n", file=None, flush=False):
    """Prints at compile time."""
    raise ProgramError("tl.static_print is understood only as a statement of a kernel")
