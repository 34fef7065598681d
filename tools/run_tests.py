#!/usr/bin/env python3
"""Runs all tests that need no GPU: lit (test/**/*.mlir, *.test), ctest (test/unit) and pytest (test/python), and ends
with one line that sums them: "N passed, N failed". A runner that is missing, crashes, or finds nothing where there are tests
counts as one failure. Skipped tests are neither.

    tools/run_tests.py [--build DIR]
"""

import argparse
import glob
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def count(report):
    """(passed, failed, skipped) of a JUnit file; None if there is no readable one."""
    try:
        tree = ElementTree.parse(report)
    except (OSError, ElementTree.ParseError):
        return None
    passed = failed = skipped = 0
    for case in tree.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def run(name, command, report, environment):
    print(f"== {name}: {' '.join(command)}", flush=True)
    if os.path.exists(report):
        os.remove(report)
    try:
        code = subprocess.run(command, cwd=ROOT, env=environment).returncode
    except OSError as error:
        print(f"{name} cannot be run: {error}")
        return 0, 1, 0
    counts = count(report)
    if counts is None or (code and counts[1] == 0) or sum(counts) == 0:
        print(f"{name} ended with code {code} and {'no report' if counts is None else 'no failed test'}; "
              "counted as one failure")
        passed, failed, skipped = counts or (0, 0, 0)
        return passed, failed + 1, skipped
    print(f"== {name}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    build = os.path.abspath(parser.parse_args().build)
    llvm = os.environ.get("LLVM_PREFIX", "/usr/lib/llvm-22")
    venv = os.path.join(ROOT, ".venv", "bin")
    environment = {**os.environ, "TILELOOM_BUILD": build}
    environment["PATH"] = os.pathsep.join([venv, os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"),
                                           environment.get("PATH", "")])
    reports = os.path.join(build, "test", "reports")
    os.makedirs(reports, exist_ok=True)
    junit = {name: os.path.join(reports, f"{name}.xml") for name in ("lit", "ctest", "pytest")}

    results = []
    lit_tests = [path for suffix in ("mlir", "test")
                 for path in glob.glob(os.path.join(ROOT, "test", "**", f"*.{suffix}"), recursive=True)]
    if lit_tests:
        # With this Python, so that the tests find NumPy.
        results.append(run("lit", [sys.executable, os.path.join(llvm, "bin", "lit"), "-q", "--xunit-xml-output", junit["lit"], "test"],
                           junit["lit"], environment))
    results.append(run("ctest", ["ctest", "--test-dir", build, "-Q", "--output-on-failure", "-E", "^lit$", "--output-junit",
                                 junit["ctest"]], junit["ctest"], environment))
    results.append(run("pytest", [os.path.join(venv, "python"), "-m", "pytest", "-q", "test/python",
                                  f"--junitxml={junit['pytest']}"], junit["pytest"], environment))
    passed, failed = (sum(column) for column in list(zip(*results))[:2])
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
