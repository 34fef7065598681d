"""The simulator through Python: results, findings and refusals (python/tileloom/sim.py)."""

import json
import os

import pytest

np = pytest.importorskip("numpy")

from tileloom import sim  # noqa: E402
from tileloom.runtime.errors import ArgumentError  # noqa: E402

INPUTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Simulator", "Inputs")


def read(name):
    with open(os.path.join(INPUTS, name)) as file:
        return file.read()


def tiles():
    a = np.arange(16 * 32, dtype=np.float32).reshape(16, 32)
    return a, np.zeros_like(a)


def test_launch():
    a, b = tiles()
    result = sim.Kernel(read("tile.ptx")).launch([sim.tensor_map(a, (32, 16)), sim.tensor_map(b, (32, 16))], shared=4096)
    assert result.check().ok and result.instructions > 0
    assert (b == 2 * a).all()


def test_recipe():
    a, b = tiles()
    assert sim.run_recipe(read("tile.ptx"), read("tile.json"), a, b, seed=5, timeline=True).ok
    assert (b == 2 * a).all()
    with pytest.raises(ArgumentError, match="element type is f64; needed f32"):
        sim.run_recipe(read("tile.ptx"), json.loads(read("tile.json")), a.astype(np.float64), b)


def test_findings():
    a, b = tiles()
    ptx = read("tile.ptx").replace("fence.proxy.async.shared::cta;", "")
    result = sim.Kernel(ptx).launch([sim.tensor_map(a, (32, 16)), sim.tensor_map(b, (32, 16))], shared=4096)
    assert [f["kind"] for f in result.findings] == ["missing-proxy-fence"]
    with pytest.raises(sim.KernelFault, match="missing-proxy-fence"):
        result.check()
    assert sim.Kernel(ptx).launch([sim.tensor_map(a, (32, 16)), sim.tensor_map(b, (32, 16))], shared=4096, checks="none").ok


def test_refusals():
    with pytest.raises(sim.SimulatorError, match="unknown instruction"):
        sim.Kernel(read("vadd.ptx").replace("add.f32", "addd.f32"))
    kernel = sim.Kernel(read("vadd.ptx"))
    with pytest.raises(sim.SimulatorError, match="bytes of parameters"):
        kernel.launch([np.int32(1)])
    with pytest.raises(sim.SimulatorError, match="is str"):
        kernel.launch(["a"])
    with pytest.raises(sim.SimulatorError, match="unknown check"):
        kernel.launch([np.zeros(4, np.float32)] * 3 + [np.int32(4)], checks="everything")


def test_scalars_and_slices():
    """A slice of an array is a buffer of its own bounds."""
    data = np.arange(64, dtype=np.float32)
    out = np.zeros(32, np.float32)
    kernel = sim.Kernel(read("vadd.ptx"))
    assert kernel.launch([data[32:], data[:32], out, np.int32(32)], block=32).ok
    assert (out == data[32:] + data[:32]).all()
    result = kernel.launch([data[:16], data[:32], out, np.int32(32)], block=32)
    assert result.findings[0]["kind"] == "out-of-bounds"
