"""Results files that several runs of a benchmark write (bench/records.py)."""

import json
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "bench"))
import records  # noqa: E402


def row(work, shape, ms):
    return {"work": work, "shape": shape, "impl": "tileloom", "ms": ms}


def run(command):
    return {"machine": "M", "driver": "1", "date": "2026-01-01", "command": command}


def test_runs_of_one_machine(tmp_path):
    """Rows that are made again replace the old ones; a run without rows leaves the file."""
    path = str(tmp_path / "results.json")
    assert records.read(path, "M") == {}
    records.write(path, records.merged({}, run("first"), [row("a", "x", 1), row("a", "y", 2), row("b", "x", 3)]))
    records.write(path, records.merged(records.read(path, "M"), run("second"), [row("a", "x", 10), row("c", "x", 4)]))
    found = records.read(path, "M")
    assert found["command"] == "second" and [own["command"] for own in found["runs"]] == ["first", "second"]
    assert [(own["work"], own["shape"], own["ms"], own["run"]) for own in found["rows"]] == [("a", "y", 2, 0), ("b", "x", 3, 0), ("a", "x", 10, 1), ("c", "x", 4, 1)]
    records.write(path, records.merged(found, run("third"), [row("a", "y", 5), row("b", "x", 6)]))
    assert [own["command"] for own in records.read(path, "M")["runs"]] == ["second", "third"]
    assert os.listdir(tmp_path) == ["results.json"]


def test_a_file_without_runs(tmp_path):
    path = str(tmp_path / "results.json")
    with open(path, "w") as file:
        json.dump({**run("old"), "rows": [row("a", "x", 1)]}, file)
    found = records.merged(records.read(path, "M"), run("new"), [row("b", "x", 2)])
    assert [own["command"] for own in found["runs"]] == ["old", "new"] and [own["run"] for own in found["rows"]] == [0, 1]


def test_another_machine(tmp_path):
    path = str(tmp_path / "results.json")
    records.write(path, records.merged({}, run("first"), [row("a", "x", 1)]))
    with pytest.raises(SystemExit, match="has rows of M; needed N, where this runs"):
        records.read(path, "N")
