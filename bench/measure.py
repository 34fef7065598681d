"""What the benchmarks share: timing of captured launches, records of rows, and their JSON files."""

import concurrent.futures
import datetime
import math
import os
import random
import re
import sys

import records
import torch

GEMM_SHAPES = [(8192, 8192, 8192), (4096, 4096, 4096), (16384, 16384, 16384)]
GEMM_SHAPES += [(m, n, k) for m in (4096, 128, 64)
                for n, k in ((7168, 2048), (2112, 7168), (24576, 1536), (32768, 512), (7168, 16384), (4096, 7168))]


def sorted_times(functions, repeats):
    """{name: milliseconds, ascending}: replays of one captured launch each, so that no host is measured; in an order that is
    drawn anew for each repeat, L2 flushed before each."""
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    graphs, events = {}, {name: [] for name in functions}
    side = torch.cuda.Stream()
    for name, function in functions.items():
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                function()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            function()
        for _ in range(2):
            graphs[name].replay()
    order, draw = list(graphs.items()), random.Random(repeats)
    for _ in range(repeats):
        draw.shuffle(order)  # what ran before a short kernel has been worth 4 %, and the first one after the host's wait takes longer
        for name, graph in order:
            flush.zero_()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            events[name].append((start, end))
    torch.cuda.synchronize()
    return {name: sorted(a.elapsed_time(b) for a, b in pairs) for name, pairs in events.items()}


class _NotNow(Exception):
    """Stands for a compilation that is put off."""


def compile_ahead(launches):
    """Compiles what `launches` will need, side by side: they find it in the disk cache. What does not compile says so when it is launched."""
    from tileloom.dispatch import function
    jobs, compile_program = [], function.compile_program

    def put_off(*job):
        jobs.append(job)
        raise _NotNow

    def attempt(call, *arguments):
        try:
            call(*arguments)
        except Exception:
            pass
    function.compile_program = put_off
    try:
        for launch in launches:
            attempt(launch)
    finally:
        function.compile_program = compile_program
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda job: attempt(compile_program, *job), jobs))


def fastest(launches, refused=()):
    """The one of `launches` that takes least, timed as above: of a few in a row only the host's time would be seen. Those that raise `refused` are left out."""
    usable = {}
    for index, launch in enumerate(launches):
        try:
            launch()
        except refused:
            continue
        usable[index] = launch
    times = sorted_times(usable, 25)
    return usable[min(times, key=lambda index: times[index][12])]


class Records:
    """Rows of a results file, and the ratios of peers to ours by (work, peer)."""

    def __init__(self, repeats):
        self.repeats, self.rows, self.ratios, self.choices, self.known = repeats, [], {}, {}, {}

    def record(self, work, shape, flops, bytes_, functions, errors, peer, often=1, variants=False, **more):
        """Times the functions and prints a line. functions: {name: launch}, or a list of such, of the same work on other tensors, whose times are
        taken together. peer: the name, or names, that "tileloom" is compared with. often: times the repeats, for what takes a few microseconds.
        variants: "tileloom:..." are other work, not a search over schedules. more: fields of each row."""
        rounds = [sorted_times(each, often * self.repeats) for each in (functions if isinstance(functions, list) else [functions])]
        quantiles = {name: sorted(ms for each in rounds for ms in each[name]) for name in rounds[0]}
        times = {name: own[len(own) // 2] for name, own in quantiles.items()}
        for name, ms in times.items():
            impl, _, variant = name.partition(":")
            own = quantiles[name]
            self.rows.append({"work": work, "shape": shape, "impl": impl, **({"schedule": variant} if variant else {}), "ms": ms,
                              "quartiles": [own[len(own) // 4], own[-1 - len(own) // 4]],
                              "tflops": flops / ms / 1e9 if flops else None, "gbps": bytes_ / ms / 1e6 if bytes_ else None,
                              "err": errors.get(name), **more})
        ours = times["tileloom"]
        text = f"{work} {shape}: " + (f"{flops / ours / 1e9:.0f} TFLOP/s" if flops else f"{bytes_ / ours / 1e6:.0f} GB/s")
        for other in (peer,) if isinstance(peer, str) else peer:
            if other in times:
                self.ratios.setdefault((work, other), []).append(times[other] / ours)
                text += f", {times[other] / ours:.3f} x {other}"
        searched = sorted((ms, name) for name, ms in times.items() if name.startswith("tileloom:"))
        if searched and not variants:
            self.choices.setdefault(work, []).append(ours / min(ours, searched[0][0]))
            text += "; best " + ", ".join(f"{name[9:]} {ours / ms:.3f}" for ms, name in searched[:4])
        print(text, flush=True)
        return times

    def run(self, section, function, shapes, pattern):
        """Calls `function` with each of `shapes` that the regular expression `pattern` finds something in: in "8192x4096x512", or "(2, 8192, 16, True)".
        A failure is printed and ends that shape only; gives their number."""
        failures = 0
        for shape in shapes:
            if pattern and not re.search(pattern, f"{'x'.join(map(str, shape))} {shape}"):
                continue
            try:
                function(*shape)
            except (Exception, SystemExit) as error:
                failures += 1
                print(f"{section} {shape}: {type(error).__name__}: {str(error)[:600]}", flush=True)
            if isinstance(shape[0], int) and shape[0] > 8192:
                torch.cuda.empty_cache()
        return failures

    def summary(self):
        for (work, peer), ratios in self.ratios.items():
            print(f"{work}: geometric mean {geometric_mean(ratios):.3f} x {peer}, lowest {min(ratios):.3f}, highest {max(ratios):.3f}, {len(ratios)} shapes")
        for work, choices in self.choices.items():
            print(f"{work}: the model's choice takes {geometric_mean(choices):.3f} x the best of the search, {max(choices):.3f} at worst")

    def resume(self, path):
        """Rows that a file has already stay in it, where this run has none of the same work and shape."""
        self.known = records.read(path, torch.cuda.get_device_name())

    def write(self, path, name):
        run = {"machine": torch.cuda.get_device_name(),
               "driver": os.popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader").read().strip(),
               "versions": {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()},
               "date": datetime.date.today().isoformat(), "command": f"bench/{name} " + " ".join(sys.argv[1:])}
        records.write(path, records.merged(self.known, run, self.rows))


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def relative_error(found, wanted):
    if torch.isnan(found.float()).any():
        return math.nan
    return ((found.double() - wanted.double()).norm() / wanted.double().norm()).item()


def check(name, shape, error, limit):
    if not error <= limit:
        raise SystemExit(f"{name} {shape}: relative error {error}; needed at most {limit}")
    return error
