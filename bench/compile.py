"""What a compilation takes, stage by stage: milliseconds in a warm process, medians, without ptxas. Needs no GPU.

    bench/compile.py [--json FILE] [--repeats 9] [--only TEXT]

The programs are the kernel library's, with the tiles and the schedule that the host chooses for the shapes below, and those by hand in
test/programs/warp. `frontend`: from the Python function to the tile program; the other columns are the compiler's own stages (docs/report.md).
Each program is compiled twice for each measurement, since the report also runs ptxas. Times are those of the library that is loaded: a wheel has a release build,
build/ a quicker one to make. Prints last what stands against the limits.
"""

import argparse
import datetime
import functools
import json
import os
import statistics
import sys
import time
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if "TILELOOM_INSTALLED" not in os.environ:
    sys.path.insert(0, os.path.join(ROOT, "python"))
    os.environ.setdefault("TILELOOM_LIBRARY", os.path.join(os.environ.get("TILELOOM_BUILD", os.path.join(ROOT, "build")), "lib", "libtileloom.so"))

import numpy as np  # noqa: E402
from records import processor  # noqa: E402
from tileloom import compiler, kernels  # noqa: E402
from tileloom.dispatch import function  # noqa: E402
from tileloom.dispatch.launch import Variant  # noqa: E402
from tileloom.frontend import generate as frontend  # noqa: E402

LIMITS = {"gemm": 80, "attention causal": 150, "by hand: gemm": 60, "by hand: attention": 120}  # ms for sm_90a, front end included
BY_HAND = ("gemm_cooperative", "gemm_pingpong", "gemm_pingpong_128x192", "gemm_small_m", "gemm_fp8_block_192x128", "gemm_fp8_block_256x128",
           "gemm_fp8_block_128x256", "gemm_fp8_block_128x128", "attention_d128", "attention_d128_causal")


def zeros(*shape, dtype=np.float16):
    return np.zeros(shape, dtype)


def attention(d, causal):
    q, k, v = (zeros(4, 4096, 16, d) for _ in range(3))
    return functools.partial(kernels.attention, q, k, v, causal=causal, lse=zeros(4, 16, 4096, dtype=np.float32))


CASES = {
    "gemm": lambda: functools.partial(kernels.gemm, zeros(4096, 4096), zeros(4096, 4096).T),
    "gemm bias gelu": lambda: functools.partial(kernels.gemm, zeros(4096, 4096), zeros(4096, 4096).T, bias=zeros(4096), activation="gelu"),
    "attention": lambda: attention(128, False),
    "attention causal": lambda: attention(128, True),
    "attention D 256 causal": lambda: attention(256, True),
    "grouped": lambda: functools.partial(kernels.grouped_gemm_contiguous, zeros(4096, 4096), zeros(4, 4096, 4096), np.zeros(4096, np.int32), zeros(4096, 4096)),
    "softmax": lambda: functools.partial(kernels.softmax, zeros(4096, 4096)),
    "layer norm": lambda: functools.partial(kernels.layer_norm, zeros(4096, 4096), zeros(4096), zeros(4096)),
}


AGAIN = {}  # tile program: a function that makes it from Python once more


def remember(*arguments):
    program = frontend.generate(*arguments)
    AGAIN[program.text] = functools.partial(frontend.generate, *arguments)
    return program


def chosen(launch, target):
    """The tile program that a launch compiles, without the launch."""
    programs, original = [], Variant.launch
    Variant.launch = lambda variant, *rest: programs.append(variant.compiled.tile)
    function.generate = remember
    try:
        launch(target=target)
    finally:
        Variant.launch, function.generate = original, frontend.generate
    return programs[0]


def measured(call, repeats):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def stages(text, target, repeats):
    """{stage: ms} of a program, in order; `all` is the median of their sums."""
    result = {"frontend": measured(AGAIN[text], repeats) if text in AGAIN else 0.0}
    runs = []
    for _ in range(repeats):
        compiler.compile(text, target, cubin=False)  # the report before ran ptxas, which leaves nothing warm
        report = compiler.compile(text, target, cubin=False, report=True).report
        runs.append({entry["stage"]: entry["ms"] for entry in report["stages"] if entry["stage"] != "ptxas"})
    for stage in runs[0]:
        result[stage] = statistics.median(run[stage] for run in runs)
    result["all"] = result["frontend"] + statistics.median(sum(run.values()) for run in runs)
    return result


def programs(target, only):
    """(name, text) of the cases for a target."""
    for name in (name for name in CASES if only in name):
        yield name, chosen(CASES[name](), target)
    for name in BY_HAND if target == "sm_90a" else ():
        if only in f"by hand: {name}":
            with open(os.path.join(ROOT, "test", "programs", "warp", name + ".mlir")) as file:
                yield f"by hand: {name}", file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for target in ("sm_90a", "sm_100a"):
        for name, text in programs(target, arguments.only):
            own = stages(text, target, arguments.repeats)
            if not rows:
                print(f"{'ms':40}" + "".join(f"{stage:>10}" for stage in own))
            print(f"{name + ', ' + target:40}" + "".join(f"{ms:10.1f}" for ms in own.values()), flush=True)
            rows.append({"work": name, "target": target, "ms": own})
    for row in rows:
        kind = row["work"].split("_")[0]
        limit = LIMITS.get(kind) if row["target"] == "sm_90a" else None
        if limit:
            print(f"{row['work']}: {row['ms']['all']:.1f} ms, at most {limit} wanted")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"machine": processor(), "processors": os.cpu_count(), "date": datetime.date.today().isoformat(),
                       "command": "bench/compile.py " + " ".join(sys.argv[1:]), "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
