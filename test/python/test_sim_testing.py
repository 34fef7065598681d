"""tileloom.testing: a simulated run as a test sees it."""

import json

import pytest

np = pytest.importorskip("numpy")

from test_sim import read, tiles  # noqa: E402
from tileloom import sim, testing  # noqa: E402

class Compiled:
    ptx, recipe = read("tile.ptx"), json.loads(read("tile.json"))


def test_outputs_are_copies():
    a, b = tiles()
    run = testing.simulate(Compiled, None, a, b, seeds=4)
    assert run.check() is run and run.ok and run.deterministic and run.kinds == set() and run.text == ""
    assert (run.outputs[1] == 2 * a).all() and not b.any()
    assert run.instructions > 0 and run.cycles > 0 and run.trace is None
    assert (testing.simulate(read("tile.ptx"), read("tile.json"), a, b).outputs[1] == 2 * a).all()


def test_findings_do_not_raise():
    ptx = read("tile.ptx").replace("fence.proxy.async.shared::cta;", "")
    run = testing.simulate(ptx, Compiled.recipe, *tiles(), seeds=[0, 7])
    assert run.kinds == {"missing-proxy-fence"} and len(run.findings) == 1 and run.findings[0]["seed"] == 0
    with pytest.raises(testing.KernelFault, match="missing-proxy-fence"):
        run.check()
    assert testing.simulate(ptx, Compiled.recipe, *tiles(), checks="none").ok


def test_trace(tmp_path):
    path = tmp_path / "trace.json"
    run = testing.simulate(Compiled, None, *tiles(), trace=path)
    assert json.loads(path.read_text()) == json.loads(run.trace)
    assert any(event.get("name", "").startswith("TMA load") for event in json.loads(run.trace)["traceEvents"])
    assert "warp" in run.summary and run.summary.startswith("role ") and "(TMA load" in run.summary


def test_without_a_recipe():
    n = np.int32(32)
    data, out = np.arange(64, dtype=np.float32), np.zeros((4, 32), np.float32)
    run = testing.simulate(read("vadd.ptx"), None, data[:32], data[32:], out[:, ::1][0], n, block=32)
    assert (run.check().outputs[2] == data[:32] + data[32:]).all()
    a, b = tiles()
    run = testing.simulate(read("tile.ptx"), None, sim.tensor_map(a, (32, 16)), sim.tensor_map(b, (32, 16)), shared=4096)
    assert (run.check().outputs[1] == 2 * a).all() and not b.any()


def test_views_keep_their_strides():
    wide = np.zeros((16, 64), np.float32)
    wide[:, :32] = np.arange(512).reshape(16, 32)
    run = testing.simulate(Compiled, None, wide[:, :32], np.zeros((16, 32), np.float32))
    assert run.outputs[0].strides == wide.strides and (run.check().outputs[1] == 2 * wide[:, :32]).all()


def test_refusals():
    a, b = tiles()
    with pytest.raises(sim.SimulatorError, match="beside a recipe"):
        testing.simulate(Compiled, None, a, b, grid=(1,))
    with pytest.raises(sim.SimulatorError, match="is int; needed PTX"):
        testing.simulate(3, None, a, b)
    with pytest.raises(sim.SimulatorError, match="at least one"):
        testing.simulate(Compiled, None, a, b, seeds=0)
    with pytest.raises(sim.SimulatorError, match="line"):
        testing.simulate("no ptx", None)
