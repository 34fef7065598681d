"""What tests that run compiled programs in the simulator share: numbers in bf16, runs with all checks, errors."""

import os

import numpy as np

from tileloom import compiler, sim

FOLDER = os.path.join(os.path.dirname(__file__), "..", "programs")
_compiled = {}


def bf16(values):
    """The bits of bf16, rounded to nearest even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def fp32(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def fp64(bits):
    return fp32(bits).astype(np.float64)


def load(folder, name, target="sm_90a", schedule=None):
    """The compiled test/programs/FOLDER/NAME.mlir ("": the folder itself); `schedule` is the text of a #tile.schedule."""
    key = folder, name, target, schedule
    if key not in _compiled:
        with open(os.path.join(FOLDER, folder, name + ".mlir")) as file:
            text = file.read()
        if schedule:
            assert "{tile.kernel}" in text
            text = text.replace("{tile.kernel}", "{tile.kernel, tile.schedule = #tile.schedule<%s>}" % schedule)
        _compiled[key] = compiler.compile(text, target, name=name, cubin=False, stages=("warp",))
    return _compiled[key]


def run(compiled, arguments, **options):
    """Runs it with all checks; arrays of 16-bit integers are bf16."""
    wrapped = [sim.Element(a, "bf16") if isinstance(a, np.ndarray) and a.dtype == np.uint16 else a for a in arguments]
    sim.run_recipe(compiled.ptx, compiled.recipe, *wrapped, multiprocessors=2, **options).check()


def error(found, wanted):
    return np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-30)
