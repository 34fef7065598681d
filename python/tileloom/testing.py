"""Runs a kernel in the simulator for a test: outputs, findings and a timeline, without touching the caller's arrays.

    from tileloom import testing
    run = testing.simulate(compiled, None, a, b, c, 8, seeds=5)      # what tileloom.compiler.compile gave
    run = testing.simulate(ptx, recipe, a, b, c, 8)                  # PTX text and launch recipe
    run = testing.simulate(ptx, None, a, c, np.int32(8), grid=(8,), block=128)     # PTX without a recipe
    run.check()                                                      # raises KernelFault if anything was found
    np.testing.assert_allclose(run.outputs[2], a @ b)
"""

import copy

import numpy as np

from . import sim
from .sim import KernelFault, SimulatorError  # noqa: F401: part of this interface


class Simulation:
    """What the runs of a kernel gave.

    outputs: the arguments after the run of the first seed: arrays as copies (of an Element its array, of a TensorMap the array under it),
        other arguments unchanged.
    findings: list of dicts as `sim.Result.findings`, each with the `seed` that showed it; one that several seeds show is there once.
    text: the findings for people; "" if there are none.
    deterministic: whether every seed gave the same bits.
    trace: the timeline of the first seed as Chrome trace events (JSON text), summary: who waited for what; None unless asked for.
    instructions, cycles: of the first seed (cycles of the cost model of docs/simulator.md).
    """

    def __init__(self):
        self.outputs, self.findings, self.text = [], [], ""
        self.deterministic, self.trace, self.summary = True, None, None
        self.instructions = self.cycles = 0

    @property
    def ok(self):
        return not self.findings

    @property
    def kinds(self):
        """The kinds of what was found, as a set."""
        return {finding["kind"] for finding in self.findings}

    def check(self):
        """Raises KernelFault if anything was found; returns self."""
        if self.findings:
            raise KernelFault(self.text, self.findings)
        return self


def _copies(arguments):
    """The arguments with every array copied, one copy of an array that occurs twice."""
    memory = {}

    def array(a):
        if id(a) not in memory:
            memory[id(a)] = a.copy(order="K") if a.flags.c_contiguous or a.flags.f_contiguous else _strided(a)
        return memory[id(a)]

    result = []
    for a in arguments:
        if isinstance(a, sim.Element):
            result.append(sim.Element(array(a.array), a.element))
        elif isinstance(a, sim.TensorMap):
            clone = copy.copy(a)
            clone.array = array(a.array)
            result.append(clone)
        elif isinstance(a, np.ndarray) and a.ndim:
            result.append(array(a))
        else:
            result.append(a)
    return result


def _strided(a):
    """A copy of a view with its strides, which the kernel's tensor maps depend on."""
    if any(stride < 0 for stride in a.strides):
        raise SimulatorError("arrays with negative strides are not supported")
    last = sum((n - 1) * stride for n, stride in zip(a.shape, a.strides)) + a.itemsize if a.size else 0
    memory = np.zeros(last, np.uint8)
    clone = np.ndarray(a.shape, a.dtype, memory, strides=a.strides)
    clone[...] = a
    return clone


def _plain(a):
    return a.array if isinstance(a, (sim.Element, sim.TensorMap)) else a


def simulate(kernel, recipe, *arguments, seeds=1, checks="all", trace=False, multiprocessors=132, max_steps=0, **launch):
    """Runs `kernel` on copies of the arguments, once for each seed, and returns a Simulation. Findings raise nothing here.

    kernel: PTX text, or an object with `ptx` and `recipe` (tileloom.compiler.Compiled).
    recipe: the launch recipe (dict or JSON text); None: the kernel's own or, for PTX text, a launch given by `grid`, `block`, `cluster`,
        `shared` (bytes) and `entry`, with one argument for each kernel parameter as `sim.Kernel.launch` takes them.
    seeds: their number, or the seeds themselves. Seed 0 is the deterministic default schedule, others are random interleavings.
    checks: "all", "none" or a list as in docs/simulator.md. trace: keep the timeline of the first seed; a path: write it there too.
    multiprocessors: of the device that persistent grids are sized for. max_steps: give up after so many warp instructions (0: never).

    Raises SimulatorError or a runtime error if the kernel cannot be loaded or launched at all.
    """
    ptx = getattr(kernel, "ptx", kernel)
    if recipe is None:
        recipe = getattr(kernel, "recipe", None)
    if isinstance(ptx, bytes):
        ptx = ptx.decode()
    if not isinstance(ptx, str):
        raise SimulatorError(f"the kernel is {type(kernel).__name__}; needed PTX text or an object with ptx and recipe")
    if recipe is not None and launch:
        raise SimulatorError(f"{', '.join(launch)} given beside a recipe; the recipe says how to launch")
    chosen = range(seeds) if isinstance(seeds, int) else list(seeds)
    if not len(chosen):
        raise SimulatorError("no seed to run; needed at least one")
    result, seen, first = Simulation(), set(), None
    module = sim.Kernel(ptx) if recipe is None else None
    for index, seed in enumerate(chosen):
        mine = _copies(arguments)
        options = dict(seed=seed, checks=checks, max_steps=max_steps, timeline=bool(trace) and index == 0)
        if recipe is None:
            run = module.launch(mine, multiprocessors=multiprocessors, **launch, **options)
        else:
            run = sim.run_recipe(ptx, recipe, *mine, multiprocessors=multiprocessors, **options)
        for finding in run.findings:
            key = (finding["kind"], finding["line"], finding["kernel"])
            if key not in seen:
                seen.add(key)
                result.findings.append({**finding, "seed": seed})
        if run.text and run.text not in result.text:
            result.text += f"with seed {seed}:\n{run.text}"
        outputs = [_plain(a) for a in mine]
        if index == 0:
            first = outputs
            result.outputs, result.instructions, result.cycles = outputs, run.instructions, run.cycles
            result.trace, result.summary = run.trace, run.summary
        else:
            result.deterministic &= all(not isinstance(a, np.ndarray) or a.tobytes() == b.tobytes() for a, b in zip(first, outputs))
    if trace and not isinstance(trace, bool):
        with open(trace, "w") as file:
            file.write(result.trace)
    return result
