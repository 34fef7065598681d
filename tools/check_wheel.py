#!/usr/bin/env python3
"""Checks a built wheel as a user gets it: installs it into a fresh environment, away from the sources, and launches
a kernel on the recording driver; then links the compiler probe (test/packaging) the same way as the wheel's library, loads
it and makes PTX with it.

    tools/check_wheel.py WHEEL --fake PATH/libfake_cuda.so [--probe]
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))

LAUNCH = """
import tileloom, tileloom.runtime as runtime
recipe = {"version": 1, "kernel": "k", "target": "sm_90a", "parameters": [], "launch": {"grid": {"x": 1}, "threads": 32},
          "arguments": [{"name": "a", "kind": "scalar", "element": "i32"}]}
kernel = runtime.Kernel.load(b"// PTX", recipe)
kernel(1)
try:
    kernel(1.5)
except runtime.ArgumentError:
    print("launched from", tileloom.__file__)
"""

KERNEL = """
llvm.func @probe(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %x = nvvm.read.ptx.sreg.tid.x : i32
  llvm.store %x, %p : i32, !llvm.ptr<1>
  llvm.return
}
"""


def check_install(wheel, fake):
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = os.path.join(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "-q", "install", "--no-index", os.path.abspath(wheel)], check=True)
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("TILELOOM_LIBRARY", "PYTHONPATH")}
        environment["TILELOOM_CUDA_LIBRARY"] = os.path.abspath(fake)
        out = subprocess.run([python, "-c", LAUNCH], cwd=folder, env=environment, text=True, capture_output=True)
        if out.returncode or not out.stdout.startswith(f"launched from {os.path.realpath(folder)}"):
            sys.exit(f"the installed wheel does not launch:\n{out.stdout}{out.stderr}")


def check_probe():
    from release_library import build_library
    path = os.path.join(ROOT, "build-release", "probe", "libtileloom_probe.so")
    build_library(path, extra=[os.path.join(ROOT, "test", "packaging", "link_probe.cpp")])
    probe = ctypes.CDLL(path).tileloomLinkProbe
    probe.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(1 << 16)
    length = probe(KERNEL.encode(), room, ctypes.c_size_t(len(room)))
    ptx = room.raw[:length].decode()
    if ".visible .entry probe(" not in ptx or ".target sm_90a" not in ptx:
        sys.exit(f"the release link cannot compile; PTX found: {ptx!r}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("--fake", required=True)
    parser.add_argument("--probe", action="store_true")
    arguments = parser.parse_args()
    check_install(arguments.wheel, arguments.fake)
    if arguments.probe:
        check_probe()
    print("the wheel is good")
