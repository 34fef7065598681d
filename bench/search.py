"""The cost model's choice of tiles and schedule against a search, on a Hopper GPU: bf16 products (NT), the 21 shapes of the other benchmarks and
random ones drawn now (M 1 to 16384, N and K 64 to 32768, evenly in the logarithm; N and K multiples of 8).

    bench/search.py [--random N] [--seed N] [--slice I/N] [--shapes REGEX] [--processes N] [--repeats N] [--seconds N] [--json FILE]
    bench/search.py --prepare FILE [...]            chooses and compiles what is to be measured; needs no GPU
    bench/search.py --prepared FILE [...]           measures it
    bench/search.py --merge FILE... [--json FILE]   one table of several results, without a GPU

Searched for each shape: the tiles that are predicted to take less than 1.8 times the best (heights, widths, depths, in turns or shared) with what the
model chooses besides, and variants of the best of them (bench/candidates.py): 200 schedules and more. Other processes choose and compile while one
shape is measured. Each schedule is checked, and timed a few times, those within NEAR of the fastest some times more; the FINAL fastest and the
model's choice again, with --repeats (three times as many where a launch takes less than 40 us, a third from 2 ms on); of these the LAST fastest and
the choice, loaded LOADS times each, with twice as many: the time is the median of the loads, as one program loaded again has taken 0.85 times as long
(2 x 144 x 72). Only this last round counts: of 200 times the smallest was also lucky. L2 is flushed before each launch, and the order is drawn anew
for each repeat: what ran before a kernel has been worth 4 % of 6 us. A result that is wrong, a schedule that does not compile, spills or hangs is
counted. --slice I/N takes every N-th shape from the I-th (1 to N) on; after --seconds no other shape is begun. The JSON file has every time,
predicted and measured: what the model's constants are fitted to; --summary leaves the times out.
"""

import argparse
import json
import math
import os
import random
import re
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if "TILELOOM_INSTALLED" not in os.environ:
    sys.path.insert(0, os.path.join(ROOT, "python"))
sys.path.insert(0, os.path.join(ROOT, "bench"))

QUICK, MORE, FINAL, LAST, LOADS, PATIENCE = 3, 9, 16, 4, 3, 20.0
NEAR, GOOD, SHORT, LONG = 1.25, 1.04, 40, 2000


def random_shapes(count, seed):
    draw = random.Random(seed)

    def between(least, most, step):
        return max(least, round(math.exp(draw.uniform(math.log(least), math.log(most))) / step) * step)

    return [(between(1, 16384, 1), between(64, 32768, 8), between(64, 32768, 8)) for _ in range(count)]


def fixed_shapes():
    return [(8192, 8192, 8192), (4096, 4096, 4096), (16384, 16384, 16384)] + [
        (m, n, k) for m in (4096, 128, 64) for n, k in ((7168, 2048), (2112, 7168), (24576, 1536), (32768, 512), (7168, 16384), (4096, 7168))]


class Search:
    def __init__(self, prepared, repeats):
        import torch
        self.torch, self.prepared, self.repeats, self.rows, self.kernels = torch, prepared, repeats, [], {}
        self.flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")

    def wait(self, what):
        """Waits for the device. A schedule that hangs ends the run, by its name."""
        event, start = self.torch.cuda.Event(), time.time()
        event.record()
        while not event.query():
            if time.time() - start > PATIENCE:
                print(f"{what()} hangs", flush=True)
                os._exit(3)

    def times(self, functions, repeats):
        """{name: median us}. The host queues ahead of the device, which flushes L2 meanwhile, so that no host is measured."""
        Event, events, order = self.torch.cuda.Event, {name: [] for name in functions}, list(functions.items())
        for _ in range(repeats):
            random.shuffle(order)
            for name, function in order:
                self.flush.zero_()
                start, end = Event(enable_timing=True), Event(enable_timing=True)
                start.record()
                function()
                end.record()
                events[name].append((start, end))
            self.wait(lambda: next((name for name, _ in order if not events[name][-1][1].query()), "?"))
        return {name: sorted(a.elapsed_time(b) * 1e3 for a, b in pairs)[len(pairs) // 2] for name, pairs in events.items()}

    def launcher(self, number, tensors, copy=0):
        from tileloom.runtime import Kernel
        _, recipe, cubin, bindings = self.prepared["programs"][number]
        kernel = self.kernels.get((number, copy)) or self.kernels.setdefault((number, copy), Kernel(cubin, recipe.encode()))
        values = [tensors[name] if kind == "view" else tensors[name].shape[axis[0]] for kind, name, *axis in bindings]
        return lambda: kernel(*values)

    def shape(self, shape, refused, found):
        torch, (m, n, k) = self.torch, shape
        a, b = (torch.randn(rows, k, device="cuda", dtype=torch.bfloat16) for rows in (m, n))
        out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        sample = torch.randint(0, m, (min(m, 32),), device="cuda")
        wanted = a[sample].float() @ b.float().T
        functions, errors, predicted, failed = {}, {}, {}, 0
        for name, microseconds, number in found:
            if self.prepared["programs"][number][0]:
                failed += 1
                continue
            functions[name], predicted[name] = self.launcher(number, {"a": a, "b": b, "c": out}), microseconds
            out.fill_(math.nan)
            functions[name]()
            self.wait(lambda: f"{m}x{n}x{k} {name}")
            errors[name] = (out[sample].float() - wanted).norm() / wanted.norm()
        for name, error in zip(list(errors), torch.stack(list(errors.values())).tolist()):
            if not error <= 4e-3:
                failed += 1
                print(f"  {m}x{n}x{k} {name}: relative error {error}", flush=True)
                del functions[name]
        searched, choice = len(functions), next(iter(functions))  # the choice is the first tile that compiles
        functions["cublas"] = lambda: torch.mm(a, b.T, out=out)

        def fastest(times, count):
            return [choice, "cublas", *[name for name in sorted(times, key=times.get) if name not in (choice, "cublas")][:count]]

        about = self.times({choice: functions[choice]}, QUICK)[choice]
        short, long = about < SHORT, about > LONG
        quick = self.times(functions, 1 if long else QUICK)
        if not long:
            near = NEAR * min(quick.values())
            quick.update(self.times({name: functions[name] for name, us in quick.items() if us < near}, MORE if short else QUICK))
        repeats = self.repeats * 3 if short else -(-self.repeats // 3) if long else self.repeats
        final = self.times({name: functions[name] for name in fastest(quick, FINAL)}, repeats)
        tensors, numbers = {"a": a, "b": b, "c": out}, {name: number for name, _, number in found}
        copies = {(name, copy): self.launcher(numbers[name], tensors, copy) for name in fastest(final, LAST) if name != "cublas" for copy in range(LOADS)}
        loaded = self.times({**copies, "cublas": functions["cublas"]}, 2 * repeats)
        spread = sorted(us for name, us in loaded.items() if name[0] == choice)
        last = {name: sorted(loaded[name, copy] for copy in range(LOADS))[LOADS // 2] for name, copy in copies}
        best = min(last, key=last.get)
        row = {"shape": f"{m}x{n}x{k}", "searched": searched, "failed": failed, "refused": refused, "choice": choice, "model_us": last[choice],
               "loads_us": [spread[0], spread[-1]], "best": best, "best_us": last[best], "cublas_us": loaded["cublas"],
               "times": [[name, predicted[name], quick[name], final.get(name), last.get(name)] for name in predicted if name in quick]}
        self.rows.append(row)
        print(line(row), flush=True)


def line(row):
    return (f"{row['shape']:>19}: model {row['model_us']:9.1f} us ({row['choice']}), {row['model_us'] / row['best_us']:.3f} x the best of "
            f"{row['searched']} ({row['best']}), {row['cublas_us'] / row['model_us']:.3f} x cublas")


def summary(rows):
    from statistics import geometric_mean
    fixed = {"x".join(map(str, shape)) for shape in fixed_shapes()}
    for name, own in (("shapes of the benchmarks", [row for row in rows if row["shape"] in fixed]),
                      ("random shapes", [row for row in rows if row["shape"] not in fixed])):
        if not own:
            continue
        ratios = [row["model_us"] / row["best_us"] for row in own]
        searched = sorted(row["searched"] for row in own)
        print(f"{name}: within {GOOD - 1:.0%} of the best of a search of {searched[0]} to {searched[-1]} schedules for "
              f"{sum(ratio <= GOOD for ratio in ratios)} of {len(own)}; {geometric_mean(ratios):.3f} x its time in the mean, {max(ratios):.3f} at worst; "
              f"{geometric_mean([row['cublas_us'] / row['model_us'] for row in own]):.3f} x cublas, with the best "
              f"{geometric_mean([row['cublas_us'] / row['best_us'] for row in own]):.3f}; {sum(row['failed'] for row in own)} schedules "
              f"did not compile, spilled or were wrong")
        for text, some in (("less than 10 us", [row for row in own if row["model_us"] < 10]), ("others", [row for row in own if row["model_us"] >= 10])):
            if some:
                apart = sorted(row["loads_us"][1] / row["loads_us"][0] for row in some)
                print(f"  {text}: {sum(row['model_us'] / row['best_us'] <= GOOD for row in some)} of {len(some)}; the loads of one program: "
                      f"{apart[len(apart) // 2]:.3f} apart, {apart[-1]:.3f} at most")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=30)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--slice", default="1/1")
    parser.add_argument("--shapes", help="only shapes, as 4096x7168x2048, that this regular expression finds")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 3) - 2))
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--prepare", metavar="FILE")
    parser.add_argument("--prepared", metavar="FILE")
    parser.add_argument("--merge", nargs="+", metavar="FILE")
    options = parser.parse_args()
    own, of = (int(part) for part in options.slice.split("/"))
    if not 1 <= own <= of:
        parser.error(f"--slice: {options.slice}; needed I/N with I from 1 to N")
    header, programs, start = {}, None, time.time()
    if options.merge:
        rows = []
        for path in options.merge:
            with open(path) as file:
                rows += json.load(file)["rows"]
        for row in rows:
            print(line(row))
    else:
        import candidates
        if options.prepared:
            prepared = candidates.read(options.prepared)
        else:
            seed = random.randrange(1 << 30) if options.seed is None else options.seed
            shapes = [shape for shape in fixed_shapes() + random_shapes(options.random, seed)
                      if not options.shapes or re.search(options.shapes, "x".join(map(str, shape)))]
            shapes = shapes[own - 1::of]
            if options.prepare:
                candidates.write({**candidates.prepare(shapes, options.processes), "seed": seed}, options.prepare)
                return 0
            programs = candidates.Programs(shapes, options.processes)
            prepared, own, of = {"work": programs.work, "programs": programs, "seed": seed}, 1, 1
        print(f"seed of the random shapes: {prepared['seed']}", flush=True)
        header = {"seed": prepared["seed"], **machine()}
        rows = run(prepared, options.repeats, slice(own - 1, None, of), start + options.seconds)
        if programs:
            programs.close()
    summary(rows)
    if options.summary:
        rows = [{key: value for key, value in row.items() if key != "times"} for row in rows]
    if options.json:
        with open(options.json, "w") as file:
            json.dump({**header, "command": "bench/search.py " + " ".join(sys.argv[1:]), "rows": rows}, file)
            file.write("\n")
    return 0


def machine():
    import datetime
    import torch
    return {"machine": torch.cuda.get_device_name(), "date": datetime.date.today().isoformat(),
            "driver": os.popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader").read().strip(),
            "versions": {"torch": torch.__version__, "cuda": torch.version.cuda}}


def run(prepared, repeats, part, end):
    import torch
    torch.manual_seed(0)
    search, work = Search(prepared, repeats), prepared["work"][part]
    for place, one in enumerate(work):
        if time.time() > end:
            print(f"{len(work) - place} shapes are left out: no time", flush=True)
            break
        search.shape(*one)
        torch.cuda.empty_cache()
    return search.rows


if __name__ == "__main__":
    sys.exit(main())
