"""The cost model's choice of tiles and schedule against an exhaustive search, on a Hopper GPU: bf16 products (NT), the 21 shapes of the other
benchmarks and random ones drawn now (M 1 to 16384, N and K 64 to 32768, evenly in the logarithm; N and K multiples of 8).

    bench/search.py [--random N] [--seed N] [--slice I/N] [--shapes REGEX] [--threads N] [--json FILE]
    bench/search.py --merge FILE... [--json FILE]       one table of several slices, without a GPU

Searched for each shape: every tile that the model does not refuse (heights, widths, depths, in turns or shared) with what it chooses besides, and
of the SPREAD best tiles also other numbers of slices of K, orders of tiles, eviction hints and pieces of results: 200 schedules and more. All are
compiled first, side by side. Each is timed a few times, the FINAL fastest and the model's choice again, with more repeats; L2 is flushed before
each. A result that is wrong, or a schedule that does not compile or spills, is counted. --slice I/N takes every N-th shape from the I-th
(1 to N) on, for machines that are lent for minutes; with the same seed the slices are of the same shapes.
"""

import argparse
import concurrent.futures
import functools
import json
import math
import os
import random
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if "TILELOOM_INSTALLED" not in os.environ:
    sys.path.insert(0, os.path.join(ROOT, "python"))
sys.path.insert(0, os.path.join(ROOT, "bench"))

SPREAD, FINAL, NEAR = 16, 12, 1.04
SPLITS, RASTERS, PIECES = (1, 2, 3, 4, 6, 8, 12, 16), (1, 4, 16, 32), ((32, 2), (64, 1), (64, 2), (128, 1))


def random_shapes(count, seed):
    draw = random.Random(seed)

    def between(least, most, step):
        return max(least, round(math.exp(draw.uniform(math.log(least), math.log(most))) / step) * step)

    return [(between(1, 16384, 1), between(64, 32768, 8), between(64, 32768, 8)) for _ in range(count)]


def name_of(constants, schedule):
    return "x".join(str(constants[key]) for key in ("BM", "BN", "BK")) + "".join(f" {key}={value}" for key, value in sorted(schedule.items()))


def candidates(kernel, a, b, c):
    """[(constants, schedule)] to search, and how many tiles the model refuses."""
    from tileloom import schedule as model
    known, values = kernel._known((a, b, c), None, {})
    arguments, emit = kernel._open(known, values)
    found = model.ranked(kernel, arguments, emit, "sm_90a")
    usable = [(constants, model.completed(prediction, own, None)) for prediction, constants, own in found if not prediction.reason]
    result = {name_of(*candidate): candidate for candidate in usable}
    for constants, own in usable[:SPREAD]:
        turns = own.get("use") == "pingpong"
        variants = [{"split": split} for split in SPLITS if not turns]
        variants += [{"raster": raster} for raster in RASTERS] + [{"keep": keep} for keep in ("none", "rows", "columns")]
        variants += [{"epilogue": columns, "buffers": buffers} for columns, buffers in PIECES if columns <= constants["BN"] and constants["BN"] % columns == 0]
        for more in variants:
            own_more = {key: value for key, value in {**own, **more}.items() if (key, value) != ("split", 1)}
            result.setdefault(name_of(constants, own_more), (constants, own_more))
    return list(result.values()), len(found) - len(usable)


class Search:
    def __init__(self, options):
        self.options, self.rows, self.compiled = options, [], {}

    def compile(self, work):
        """Compiles every candidate of every shape that differs in more than numbers, side by side, into the cache on disk."""
        import torch
        from tileloom.kernels.gemm import gemm_kernel
        jobs = {}
        for shape, found in work:
            kind = tuple(min(extent % 16, 1) for extent in shape)
            for constants, schedule in found:
                jobs.setdefault((kind, name_of(constants, schedule)), (shape, constants, schedule))

        def one(item):
            key, ((m, n, k), constants, schedule) = item
            # Small stand-ins of the same divisibility.
            m, n, k = (min(extent, 256 + extent % 256) for extent in (m, n, k))
            a, b, c = (torch.empty(rows, columns, device="cuda", dtype=torch.bfloat16) for rows, columns in ((m, k), (n, k), (m, n)))
            try:
                return key, gemm_kernel.compile(a, b, c, **constants, schedule=schedule).slowed_down()
            except Exception as error:
                return key, " ".join(str(error).split())[:200]

        with concurrent.futures.ThreadPoolExecutor(self.options.threads) as pool:
            for key, error in pool.map(one, jobs.items()):
                self.compiled[key] = error
        failed = sum(error is not None for error in self.compiled.values())
        print(f"{len(jobs)} programs compiled, {failed} of them refused", flush=True)

    def shape(self, m, n, k, found, refused):
        import torch
        from measure import check, relative_error, sorted_times
        from tileloom import kernels
        a, b = (torch.randn(rows, k, device="cuda", dtype=torch.bfloat16) for rows in (m, n))
        sample = torch.randint(0, m, (min(m, 32),), device="cuda")
        wanted = (a[sample].float() @ b.float().T).double() if n * k > 2**27 else a[sample].double() @ b.double().T
        kind = tuple(min(extent % 16, 1) for extent in (m, n, k))
        out, functions, errors = torch.empty(m, n, device="cuda", dtype=torch.bfloat16), {}, 0

        def add(name, **options):
            nonlocal errors
            out.fill_(math.nan)
            launch = functools.partial(kernels.gemm, a, b.T, out, **options)
            try:
                launch()
                check(name, (m, n, k), relative_error(out[sample], wanted), 4e-3)
                functions[name] = launch
            except (Exception, SystemExit) as error:
                errors += 1
                print(f"  {m}x{n}x{k} {name}: {' '.join(str(error).split())[:200]}", flush=True)

        add("model")
        for constants, schedule in found:
            name = name_of(constants, schedule)
            if self.compiled.get((kind, name)) is None:
                add(name, **constants, schedule=schedule)
            else:
                errors += 1
        functions["cublas"] = lambda: torch.mm(a, b.T, out=out)
        rough = self.times(functions, 3)
        best = sorted((name for name in functions if name not in ("model", "cublas")), key=rough.get)[:FINAL]
        final = {name: times[len(times) // 2] for name, times in
                 sorted_times({name: functions[name] for name in ("model", "cublas", *best)}, self.options.repeats).items()}
        first = min(best, key=final.get)
        row = {"shape": f"{m}x{n}x{k}", "searched": len(functions) - 2, "failed": errors, "refused": refused, "model_ms": final["model"],
               "best_ms": min(final[first], final["model"]), "best": first, "cublas_ms": final["cublas"]}
        self.rows.append(row)
        print(line(row), flush=True)

    @staticmethod
    def times(functions, repeats):
        """Medians, a group of functions at a time: as many captured graphs at once take memory."""
        from measure import sorted_times
        names, result = list(functions), {}
        for first in range(0, len(names), 64):
            group = sorted_times({name: functions[name] for name in names[first:first + 64]}, repeats)
            result.update({name: times[len(times) // 2] for name, times in group.items()})
        return result


def line(row):
    return (f"{row['shape']:>19}: model {row['model_ms'] * 1e3:9.1f} us, {row['model_ms'] / row['best_ms']:.3f} x the best of {row['searched']} "
            f"({row['best']}), {row['cublas_ms'] / row['model_ms']:.3f} x cublas")


def summary(rows, fixed):
    from statistics import geometric_mean
    for name, own in (("shapes of the benchmarks", [row for row in rows if row["shape"] in fixed]),
                      ("random shapes", [row for row in rows if row["shape"] not in fixed])):
        if not own:
            continue
        ratios = [row["model_ms"] / row["best_ms"] for row in own]
        near = sum(ratio <= NEAR for ratio in ratios)
        searched = sorted(row["searched"] for row in own)
        print(f"{name}: within {NEAR - 1:.0%} of the best of a search of {searched[0]} to {searched[-1]} schedules for {near} of {len(own)}; "
              f"{geometric_mean(ratios):.3f} x its time in the mean, {max(ratios):.3f} at worst; "
              f"{geometric_mean([row['cublas_ms'] / row['model_ms'] for row in own]):.3f} x cublas, with the best "
              f"{geometric_mean([row['cublas_ms'] / row['best_ms'] for row in own]):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=30)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--slice", default="1/1")
    parser.add_argument("--shapes", help="only shapes, as 4096x7168x2048, that this regular expression finds")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json")
    parser.add_argument("--merge", nargs="+", metavar="FILE")
    options = parser.parse_args()
    own, of = (int(part) for part in options.slice.split("/"))
    if not 1 <= own <= of:
        parser.error(f"--slice: {options.slice}; needed I/N with I from 1 to N")
    if options.merge:
        rows, fixed = [], set()
        for path in options.merge:
            with open(path) as file:
                data = json.load(file)
            rows, fixed = rows + data["rows"], fixed | set(data["fixed"])
    else:
        from measure import GEMM_SHAPES
        fixed = {"x".join(map(str, shape)) for shape in GEMM_SHAPES}
        seed = random.randrange(1 << 30) if options.seed is None else options.seed
        print(f"seed {seed}")
        shapes = [shape for shape in GEMM_SHAPES + random_shapes(options.random, seed)
                  if not options.shapes or re.search(options.shapes, "x".join(map(str, shape)))][own - 1::of]
        rows = run(options, shapes)
    for row in rows if options.merge else ():
        print(line(row))
    summary(rows, fixed)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"fixed": sorted(fixed), "rows": rows}, file, indent=1)
    return 0


def run(options, shapes):
    import torch
    from tileloom.kernels.gemm import gemm_kernel
    torch.manual_seed(0)
    search, work = Search(options), []
    for m, n, k in shapes:
        a, b, c = (torch.empty(rows, columns, device="cuda", dtype=torch.bfloat16) for rows, columns in ((m, k), (n, k), (m, n)))
        work.append(((m, n, k), candidates(gemm_kernel, a, b, c)))
    search.compile([(shape, found) for shape, (found, _) in work])
    for shape, (found, refused) in work:
        search.shape(*shape, found, refused)
        torch.cuda.empty_cache()
    return search.rows


if __name__ == "__main__":
    sys.exit(main())
