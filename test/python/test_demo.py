"""What `make demo` and the examples print."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT


def run(name, tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python"), "TILELOOM_BUILD": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run([sys.executable, os.path.join(ROOT, "examples", name)], env=environment, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return folder, re.split(r"^== ", run("demo.py", folder), flags=re.M)[1:]


@pytest.mark.parametrize("index, target, product, release", [(0, "sm_90a", "wgmma.mma_async", "mbarrier.arrive"), (1, "sm_100a", "tcgen05.mma", "tcgen05.commit")])
def test_demo(demo, index, target, product, release):
    folder, parts = demo
    text = parts[index]
    assert text.splitlines()[0].endswith(f"for {target}")
    path, lines = re.search(r"^PTX: (.*\.ptx), \d+ lines; its main loop, (\d+) lines:$", text, re.M).groups()
    loop = text.split("lines:\n")[1].split("\n\n")[0]
    assert len(loop.splitlines()) == int(lines)
    assert loop.count(product) == 4 and "mbarrier.try_wait" in loop and release in loop and loop.count("bra") >= 2
    assert path.startswith(str(folder)) and f".target {target}" in open(path).read()
    for title in ("roles", "rings", "matrix multiplies", "shared memory", "milliseconds"):
        assert title in text
    assert re.search(r"^simulated .* all checks on, nothing found: relative error against fp64 \d\.\de-0[3-9]$", text, re.M)


@pytest.mark.parametrize("name, lines", [("gemm.py", 2), ("attention.py", 4)])
def test_example(tmp_path, name, lines):
    text = run(name, tmp_path)
    assert len(re.findall(r"^sm_\d+a.*: \d+ warp instructions, nothing found, relative error against fp64 \d\.\de-0[3-9]$", text, re.M)) == lines
