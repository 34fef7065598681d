"""Kernels that the library's functions (tileloom.kernels) would launch, as kernels of the seeded-fault suite.

A function is called on NumPy arrays; instead of the simulation comes a record of the PTX, the recipe and the arguments.
"""

import numpy as np

from tileloom import sim

MULTIPROCESSORS = 2  # persistent kernels: a few CTAs go through all tiles


class Recorded(Exception):
    pass


def record(call):
    """(ptx, recipe, values) of the first launch in call()."""
    def instead(ptx, recipe, *values, **options):
        raise Recorded(ptx, recipe, values)
    original, sim.run_recipe = sim.run_recipe, instead
    try:
        call()
    except Recorded as launch:
        return launch.args
    finally:
        sim.run_recipe = original
    raise AssertionError("nothing was launched")


def bits(array):
    return array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8) if array.dtype.kind not in "fiu" or array.dtype.name.startswith("float8") else array


def whole(value, arrays):
    """(the array, of those given, that an argument lies in, its shape and strides if it cannot be reshaped)"""
    if isinstance(value, sim.Described):
        address, shape, steps = value.address, value.shape, value.strides
    else:
        address, shape = value.ctypes.data, value.shape
        steps = tuple(step // value.itemsize for step in value.strides)
    dense = tuple(int(np.prod(shape[i + 1:])) for i in range(len(shape)))
    array = next((one for one in arrays if one.ctypes.data == address), value.array if isinstance(value, sim.Described) else value)
    if array.size == int(np.prod(shape)) and all(a == b or n == 1 for a, b, n in zip(steps, dense, shape)):
        return array.reshape(shape), None
    return array, (shape, steps)


def by_language(name, target, problem, Array, Kernel):
    """problem(rng) gives (call, arrays, {index of an output: (wanted, tolerance)}); all memory that the kernel touches is in `arrays`."""
    def make():
        call, arrays, outputs = problem(np.random.default_rng(1))
        ptx, recipe, values = record(call)
        wanted = {arrays[i].ctypes.data: pair for i, pair in outputs.items()}
        arguments = []
        for spec, value in zip(recipe["arguments"], values):
            if not isinstance(value, sim.Described) and not isinstance(value, np.ndarray):
                arguments.append(value)
                continue
            array, described = whole(value, arrays)
            given, tolerance = wanted.get(array.ctypes.data, (None, 0.0))
            arguments.append(Array(bits(array).copy(), spec["element"], None if given is None else given.reshape(array.shape), tolerance, described))
        recipe = {**recipe, "launch": dict(recipe["launch"])}
        grid = recipe["launch"]["grid"]
        if grid.get("persistent"):
            recipe["launch"]["grid"] = {"x": MULTIPROCESSORS}
        return Kernel(name, target, ptx, recipe, arguments)
    return make
