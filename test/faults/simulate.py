"""Runs a kernel of the suite, or a mutation of it, in the simulator; the outcome is a set of finding kinds."""

import numpy as np

from kernels import Array
from tileloom import sim

# A mutant may spin for ever without a deadlock in the simulator's sense; a correct kernel needs a hundredth of this.
MAX_STEPS = 3000000


def simulate(kernel, ptx=None, recipe=None, seed=0, checks=None, outputs=None):
    """(kinds, text): the kinds of the findings, and "wrong-result" if an output differs from fp64; `text` describes them.
    `outputs`: gets the contents of all arrays after the run, by argument.

    What cannot be loaded or launched is of kind "refused".
    """
    values, compared = [], []
    for argument in kernel.arguments:
        if isinstance(argument, Array):
            data = argument.data.copy()
            values.append(sim.Described(data, data.ctypes.data, *argument.described, argument.element) if argument.described
                          else sim.Element(data, argument.element))
            if argument.wanted is not None:
                compared.append((argument, data))
            if outputs is not None:
                outputs[len(values) - 1] = data
        else:
            values.append(argument)
    try:
        result = sim.run_recipe(ptx or kernel.ptx, recipe or kernel.recipe, *values, seed=seed,
                                max_steps=MAX_STEPS, checks=checks)
    except Exception as error:  # the library refused it
        return {"refused"}, str(error)
    kinds = {finding["kind"] for finding in result.findings}
    text = result.text
    for argument, data in compared:
        error = argument.error(data)
        if not error <= argument.tolerance:
            kinds.add("wrong-result")
            text += f"wrong result: relative error {error:.3g}\n"
    return kinds, text
