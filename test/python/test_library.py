"""Finding the library and the driver, each in a process of its own."""

import os
import subprocess
import sys

from conftest import ROOT

LAUNCH = """
from tileloom.runtime import Kernel, TileloomError
recipe = {"version": 1, "kernel": "k", "target": "sm_90a", "arguments": [], "parameters": [],
          "launch": {"grid": {"x": 1}, "threads": 32}}
try:
    Kernel.load(b"// PTX", recipe)()
    print("launched")
except TileloomError as error:
    print(type(error).__name__, error)
"""


def run(code, **variables):
    environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")}
    for name, value in variables.items():
        environment.pop(name, None) if value is None else environment.update({name: value})
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True,
                          check=True).stdout


def test_launches():
    assert run(LAUNCH) == "launched\n"


def test_no_library():
    assert run(LAUNCH, TILELOOM_LIBRARY=None).startswith("TileloomError libtileloom.so found neither at ")
    assert "cannot use the library /nowhere.so" in run(LAUNCH, TILELOOM_LIBRARY="/nowhere.so")


def test_library_of_another_version():
    out = run("import tileloom; tileloom.__version__ = '9.9.9'\n" + LAUNCH)
    assert out.startswith("TileloomError the library ") and "; needed 9.9.9, as the Python package" in out


def test_no_driver():
    assert run(LAUNCH, TILELOOM_CUDA_LIBRARY="/nowhere.so").startswith(
        "DriverError cannot open the CUDA driver /nowhere.so: ")


def test_device_of_another_architecture():
    assert run(LAUNCH, TILELOOM_FAKE_CUDA="major=10") == (
        "LaunchError kernel 'k': compiled for sm_90a; CUDA device 0 (Fake 0) is sm_100\n")


def test_import_needs_nothing():
    out = run("import sys, tileloom.runtime; print([m for m in ('numpy', 'torch') if m in sys.modules])",
              TILELOOM_LIBRARY=None)
    assert out == "[]\n"


def test_launch_is_cheap():
    """A coarse guard of the launch path, on the driver that does nothing; bench/ measures it properly."""
    code = """
import time, types, sys
from tileloom.runtime import Kernel
recipe = {"version": 1, "kernel": "k", "target": "sm_90a",
          "arguments": [{"name": n, "kind": "pointer", "element": "f32"} for n in "abc"],
          "parameters": [{"kind": "argument", "argument": i} for i in range(3)],
          "launch": {"grid": {"x": 1}, "threads": 32}}
kernel = Kernel.load(b"// PTX", recipe)
best = 1.0
for _ in range(20):
    start = time.perf_counter()
    for _ in range(200):
        kernel(0x1000, 0x2000, 0x3000)
    best = min(best, (time.perf_counter() - start) / 200)
print(best * 1e6)
"""
    assert float(run(code, TILELOOM_FAKE_CUDA="quiet=1")) < 50
