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
    """The array (of those given) that an argument lies in, shaped as the kernel sees it."""
    if isinstance(value, sim.Described):
        address, shape, steps = value.address, value.shape, value.strides
    else:
        address, shape = value.ctypes.data, value.shape
        steps = tuple(step // value.itemsize for step in value.strides)
    dense = tuple(int(np.prod(shape[i + 1:])) for i in range(len(shape)))
    assert all(a == b or n == 1 for a, b, n in zip(steps, dense, shape)), "only contiguous tensors can be recorded"
    for array in arrays:
        if array.ctypes.data == address and array.size == int(np.prod(shape)):
            return array.reshape(shape)
    return value.array if isinstance(value, sim.Described) else value


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
            array = whole(value, arrays)
            pair = wanted.get(array.ctypes.data)
            arguments.append(Array(bits(array).copy(), spec["element"], *((pair[0].reshape(array.shape), pair[1]) if pair else ())))
        recipe = {**recipe, "launch": dict(recipe["launch"])}
        grid = recipe["launch"]["grid"]
        if grid.get("persistent"):
            recipe["launch"]["grid"] = {"x": MULTIPROCESSORS}
        return Kernel(name, target, ptx, recipe, arguments)
    return make
