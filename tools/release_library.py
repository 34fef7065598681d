#!/usr/bin/env python3
"""Builds the self-contained libtileloom.so of the wheel.

The project's static libraries are built in Release mode and linked by hand with the static archives of LLVM and
MLIR: all libMLIR*.a and the LLVM components in one group, by lld with --gc-sections. CMake's targets are not used for
this: they bring in libLLVM.so as well, and two copies of LLVM register their options twice. The result needs
only libc and libm and exports only the C API; both are checked.

    tools/release_library.py OUTPUT.so [--build DIR]
"""

import argparse
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LLVM = os.environ.get("LLVM_PREFIX", "/usr/lib/llvm-22")
CXX = os.environ.get("CXX", "clang++-22")
CC = os.environ.get("CC", "clang-22")
COMPONENTS = ["nvptx", "passes"]
# Debian 12, which the wheel's tag names.
GLIBC = (2, 36)
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
# Each function and variable in a section of its own, for --gc-sections.
FLAGS = "-ffunction-sections -fdata-sections -fvisibility-inlines-hidden"


def run(command, **options):
    result = subprocess.run(command, text=True, capture_output=True, **options)
    if result.returncode:
        sys.exit(f"{' '.join(command[:6])} ... failed ({result.returncode}):\n{result.stdout[-4000:]}"
                 f"{result.stderr[-4000:]}")
    return result.stdout


def configure(build):
    command = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
               f"-DCMAKE_C_COMPILER={CC}", f"-DCMAKE_CXX_COMPILER={CXX}", f"-DCMAKE_CXX_FLAGS={FLAGS}",
               "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld-22", "-DTILELOOM_BUILD_TESTS=OFF"]
    if not subprocess.run(["which", "ccache"], capture_output=True).returncode:
        command.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    run(command)


def link(build, output):
    with open(os.path.join(build, "lib", "tileloom-archives.txt")) as file:
        archives = file.read().split()
    llvm = run([f"{LLVM}/bin/llvm-config", "--link-static", "--libs", *COMPONENTS]).split()
    mlir = sorted(glob.glob(f"{LLVM}/lib/libMLIR*.a"))
    capi, rest = archives[0], archives[1:]
    os.makedirs(os.path.dirname(os.path.abspath(output)), exist_ok=True)
    run([CXX, "-shared", "-o", output, "-fuse-ld=lld-22", "-Wl,-soname,libtileloom.so", "-Wl,-z,defs",
         f"-Wl,--version-script={ROOT}/lib/CAPI/exports.map", "-Wl,--gc-sections", "-Wl,-O2", "-Wl,--icf=safe",
         "-static-libstdc++", "-static-libgcc", "-s",
         # The C API is what everything else is reached from.
         "-Wl,--whole-archive", capi, "-Wl,--no-whole-archive",
         "-Wl,--start-group", *rest, *mlir, f"-L{LLVM}/lib", *llvm, "-Wl,--end-group",
         "-Wl,-Bstatic", "-lz", "-lzstd", "-Wl,-Bdynamic", "-ldl", "-lpthread", "-lm"])


def check(output):
    dynamic = run(["readelf", "-dW", output])
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    if needed - SYSTEM_LIBRARIES:
        sys.exit(f"{output} needs {', '.join(sorted(needed - SYSTEM_LIBRARIES))}; allowed: "
                 f"{', '.join(sorted(SYSTEM_LIBRARIES))}")
    symbols = run(["readelf", "-W", "--dyn-syms", output])
    newest = max(tuple(map(int, version.split("."))) for version in re.findall(r"@GLIBC_([\d.]+)", symbols))
    if newest > GLIBC:
        sys.exit(f"{output} needs glibc {newest}; allowed: {GLIBC}")
    defined = [line.split() for line in symbols.splitlines() if " GLOBAL " in line and " UND " not in line]
    foreign = [fields[7] for fields in defined if not fields[7].startswith("tileloom")]
    if foreign:
        sys.exit(f"{output} exports {foreign[:5]}; allowed: only the C API (tileloom*)")
    return len(defined), newest


def build_library(output, build=os.path.join(ROOT, "build-release")):
    configure(build)
    run(["ninja", "-C", build, "tileloom_archives"])
    link(build, output)
    exported, glibc = check(output)
    print(f"{output}: {os.path.getsize(output) / 1e6:.1f} MB, {exported} functions exported, needs glibc "
          f"{'.'.join(map(str, glibc))}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--build", default=os.path.join(ROOT, "build-release"))
    arguments = parser.parse_args()
    build_library(arguments.output, arguments.build)
