"""How long the simulator takes on this machine: seconds for each program, with all checks and with none; medians. Needs no GPU.

    bench/simulator.py [--json FILE] [--repeats 3] [--only TEXT]

The programs are those by hand in test/programs/warp: products of 512 x 512 x 512 in bf16, and attention of 2 heads x 512 x 512 x 128, for Hopper and
for Blackwell. Results are checked against fp64, and nothing may be found. Prints what stands against the limits, and fails beyond one.
"""

import argparse
import datetime
import json
import math
import os
import statistics
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if "TILELOOM_INSTALLED" not in os.environ:
    sys.path.insert(0, os.path.join(ROOT, "python"))
    os.environ.setdefault("TILELOOM_LIBRARY", os.path.join(os.environ.get("TILELOOM_BUILD", os.path.join(ROOT, "build")), "lib", "libtileloom.so"))

import numpy as np  # noqa: E402
from records import processor  # noqa: E402
from tileloom import compiler, sim  # noqa: E402

LIMITS = {("gemm_bf16", "all"): 3.0, ("gemm_bf16", "none"): 0.5, ("attention_bf16", "all"): 6.0}  # seconds on two processors
SIZE, HEADS, D = 512, 2, 128


def bf16(values):
    """The bits of bf16, rounded to nearest even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def fp64(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def gemm(rows, columns):
    """(arguments, result, wanted) of a program with tiles of that size."""
    def make(rng):
        a, b = (bf16(rng.standard_normal((SIZE, SIZE))) for _ in range(2))
        c = np.full((SIZE, SIZE), 0x7FC0, np.uint16)
        return (a, b, c, SIZE // rows, SIZE // columns, SIZE // 64), c, fp64(a) @ fp64(b).T
    return make


def attention(rows, *order):
    """`order`: the numbers behind the arrays, by name."""
    def make(rng):
        q, k, v = (bf16(rng.standard_normal((1, SIZE, HEADS, D))) for _ in range(3))
        o, lse = np.full_like(q, 0x7FC0), np.full((1, HEADS, SIZE), np.nan, np.float32)
        numbers = {"heads": HEADS, "length": SIZE, "pairs": HEADS, "tiles": SIZE // rows, "blocks": SIZE // 128, "scale": D**-0.5 * math.log2(math.e)}
        x, y, z = (fp64(t).transpose(0, 2, 1, 3) for t in (q, k, v))
        weights = np.exp(x @ y.transpose(0, 1, 3, 2) * D**-0.5)
        wanted = (weights / weights.sum(-1, keepdims=True) @ z).transpose(0, 2, 1, 3)
        return (q, k, v, o, lse, *(numbers[name] for name in order)), o, wanted
    return make


CASES = {  # program: target, work, what makes its arguments
    "gemm_cooperative": ("sm_90a", "gemm_bf16", gemm(128, 256)),
    "gemm_pingpong": ("sm_90a", "gemm_bf16", gemm(64, 256)),
    "gemm_tcgen05": ("sm_100a", "gemm_bf16", gemm(128, 256)),
    "attention_d128": ("sm_90a", "attention_bf16", attention(128, "heads", "length", "pairs", "tiles", "scale")),
}
SHAPES = {"gemm_bf16": f"{SIZE}x{SIZE}x{SIZE}", "attention_bf16": f"B1 S{SIZE} H{HEADS} D{D} full"}


def run(compiled, make, checks):
    """(seconds, relative error) of a run."""
    arguments, found, wanted = make(np.random.default_rng(0))
    wrapped = [sim.Element(a, "bf16") if isinstance(a, np.ndarray) and a.dtype == np.uint16 else a for a in arguments]
    begin = time.perf_counter()
    result = sim.run_recipe(compiled.ptx, compiled.recipe, *wrapped, checks=checks)
    seconds = time.perf_counter() - begin
    result.check()
    return seconds, float(np.linalg.norm(fp64(found) - wanted) / np.linalg.norm(wanted))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="programs whose name contains this")
    arguments = parser.parse_args()
    rows, slow = [], []
    for name, (target, work, make) in CASES.items():
        if arguments.only not in name:
            continue
        with open(os.path.join(ROOT, "test", "programs", "warp", name + ".mlir")) as file:
            compiled = compiler.compile(file.read(), target, name=name, cubin=False)
        for checks in ("all", "none"):
            times, errors = zip(*(run(compiled, make, checks) for _ in range(arguments.repeats)))
            seconds, limit = statistics.median(times), LIMITS.get((work, checks))
            print(f"{name:20} {SHAPES[work]:20} checks {checks:5} {seconds:6.2f} s, relative error {errors[0]:.1e}" +
                  (f", at most {limit} s wanted" if limit else ""), flush=True)
            slow += [f"{name}, checks {checks}"] if limit and seconds > limit else []
            rows.append({"work": work, "shape": SHAPES[work], "impl": "simulator", "program": name, "target": target, "checks": checks,
                         "ms": 1e3 * seconds, "err": errors[0]})
            if not errors[0] < 6e-3:
                sys.exit(f"{name}: relative error {errors[0]}; needed below 6e-3")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"machine": processor(), "processors": os.cpu_count(), "date": datetime.date.today().isoformat(),
                       "command": "bench/simulator.py " + " ".join(sys.argv[1:]), "rows": rows}, file, indent=1)
    if slow:
        sys.exit(f"slower than wanted: {'; '.join(slow)}")


if __name__ == "__main__":
    main()
