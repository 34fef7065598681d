# The configuration of the lit tests: .mlir and .test files under test/, run on the tools of the build folder.
#
# $TILELOOM_BUILD names the build folder (default: build). kernel-opt and kernel-sim come from there, FileCheck and not from
# LLVM 22. A test that assembles says "REQUIRES: ptxas", one that reads SASS "REQUIRES: cuobjdump", one that simulates "REQUIRES: kernel-sim",
# with NumPy "numpy".

import importlib.util
import os
import shutil
import sys

import lit.formats

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.abspath(os.environ.get("TILELOOM_BUILD", os.path.join(root, "build")))
llvm = os.environ.get("LLVM_PREFIX", "/usr/lib/llvm-22")

config.name = "tileloom"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "fake_cuda", "gpu", "python", "unit"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(build, "test", "lit")

# By path, for tests that change PATH.
config.substitutions += [("%kernel-opt", os.path.join(build, "bin", "kernel-opt")), ("%python", sys.executable)]
paths = [os.path.join(build, "bin"), os.path.join(llvm, "bin"), os.path.join(root, ".venv", "bin"),
         os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"), os.environ.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(paths)
if shutil.which("ptxas", path=config.environment["PATH"]):
    config.available_features.add("ptxas")
# The disassembler comes with the CUDA toolkit or inside Triton's Python package.
triton = importlib.util.find_spec("triton")
for folder in triton.submodule_search_locations if triton else []:
    config.environment["PATH"] += os.pathsep + os.path.join(folder, "backends", "nvidia", "bin")
if shutil.which("cuobjdump", path=config.environment["PATH"]):
    config.available_features.add("cuobjdump")
if shutil.which("kernel-sim", path=config.environment["PATH"]):
    config.available_features.add("kernel-sim")
if importlib.util.find_spec("numpy"):
    config.available_features.add("numpy")
