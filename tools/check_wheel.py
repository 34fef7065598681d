#!/usr/bin/env python3
"""Checks a built wheel as a user gets it: installs it into a fresh environment, away from the sources, compiles a
small program to PTX with the packaged library, and launches a kernel on the recording driver.

    tools/check_wheel.py WHEEL --fake PATH/libfake_cuda.so
"""

import argparse
import os
import subprocess
import sys
import tempfile
import venv

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

COMPILE = """
import ctypes, tileloom, os
c = ctypes
library = c.CDLL(os.path.join(os.path.dirname(tileloom.__file__), "lib", "libtileloom.so"))

class Options(c.Structure):  # TileloomCompileOptions
    _fields_ = [("size", c.c_size_t), ("target", c.c_char_p), ("name", c.c_char_p), ("emit", c.c_uint32),
                ("flags", c.c_uint32), ("ptxas", c.c_char_p), ("saveTemps", c.c_char_p), ("ptxasTimeout", c.c_uint32),
                ("lowerOptLevel", c.c_uint32)]

source = b'''llvm.func @probe(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %x = nvvm.read.ptx.sreg.tid.x : i32
  llvm.store %x, %p : i32, !llvm.ptr<1>
  llvm.return
}'''
options = Options(size=c.sizeof(Options), target=b"sm_90a")
artifacts = c.c_void_p()
status = library.tileloomCompile(source, c.c_size_t(len(source)), c.byref(options), c.byref(artifacts))
get = library.tileloomArtifactsGet
get.restype = c.c_char_p
size = c.c_size_t()
print(status, (get(artifacts, 6, c.byref(size)) or b"").decode(), (get(artifacts, 10, c.byref(size)) or b"").decode())
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
        out = subprocess.run([python, "-c", COMPILE], cwd=folder, env=environment, text=True, capture_output=True)
        if out.returncode or not out.stdout.startswith("0 ") or ".visible .entry probe(" not in out.stdout:
            sys.exit(f"the installed wheel does not compile:\n{out.stdout}{out.stderr}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("--fake", required=True)
    arguments = parser.parse_args()
    check_install(arguments.wheel, arguments.fake)
    print("the wheel is good")
