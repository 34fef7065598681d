"""Chooses `tl.auto` parameters on the host.

`choose(kernel, arguments, legal)` is called once for each shape class. kernel: the JITFunction. arguments: {name: facts.Tensor, number or
constant} of the parameters that are given. legal(constants): whether the kernel compiles with them. It gives {name: value} for every
parameter in `kernel.automatic`, and may give "schedule", a dict for #tile.schedule.

This default takes the first legal combination of a list of candidates: those of `@tl.jit(candidates={...})`, else those below.
"""

import itertools

from .runtime.errors import ArgumentError

CANDIDATES = {"BM": (128, 64), "BN": (128, 64, 256), "BK": (64, 32), "BLOCK": (1024, 512, 256), "BLOCK_M": (128, 64), "BLOCK_N": (128, 64),
              "BLOCK_K": (64, 32)}
_TRIALS = 16


def choose(kernel, arguments, legal):
    lists = []
    for name in kernel.automatic:
        if name in arguments:
            continue
        values = kernel.candidates.get(name) or CANDIDATES.get(name)
        if not values:
            raise ArgumentError(f"kernel '{kernel.__name__}', parameter '{name}': is tl.auto, and no candidates are known; needed a value, or "
                                f"@tl.jit(candidates={{\"{name}\": (...)}})")
        lists.append([(name, value) for value in values])
    error = None
    for combination in itertools.islice(itertools.product(*lists), _TRIALS):
        constants = dict(combination)
        error = legal(constants)
        if error is None:
            return constants
    raise error
