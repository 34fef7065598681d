"""Configuration of the lit tests: `lit build/test`, or `ninja check-lit`."""

import os
import shutil

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "Tileloom"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
# Folders without RUN lines, or with test programs of another kind.
config.excludes = ["Inputs", "unit", "python", "gpu", "fake_cuda", "packaging", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
# Programs are inputs of other tests unless they say how to run them.
for root, _, files in os.walk(os.path.join(config.test_source_root, "programs")):
    for name in files:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            if "RUN:" not in file.read():
                config.excludes.append(name)
config.test_exec_root = os.path.join(config.tileloom_build, "test")

llvm_config.with_environment("PATH", config.llvm_tools, append_path=True)
llvm_config.with_system_environment(["CUDA_HOME", "HOME", "TMPDIR", "TILELOOM_PTXAS"])

tool_dirs = [os.path.join(config.tileloom_build, "bin"), config.llvm_tools]
tools = ["kernel-opt", "FileCheck", "not", "split-file", "count"]
tools += [name for name in ("kernel-sim",) if os.path.exists(os.path.join(tool_dirs[0], name))]
tools.append(ToolSubst("%python", config.python, unresolved="ignore"))
llvm_config.add_tool_substitutions(tools, tool_dirs)

if os.environ.get("TILELOOM_PTXAS") or shutil.which("ptxas"):
    config.available_features.add("ptxas")
