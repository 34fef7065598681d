#!/usr/bin/env python3
"""Compares the simulator with a GPU of compute capability 9.0, instruction family by family.

    bench/agreement.py --sim sim.npz                 run all cases in the simulator (needs $TILELOOM_LIBRARY)
    bench/agreement.py --gpu gpu.npz                 run them on the GPU (needs NumPy and the driver only)
    bench/agreement.py --compare sim.npz gpu.npz [--markdown docs/simulator-agreement.md] [--record bench/results/h200-agreement.json]
    bench/agreement.py --list | --ptx FOLDER         names; the PTX of every case

--record keeps digests of the GPU's outputs, to which test/python/test_sim_agreement.py holds the simulator. --only REGEX picks cases; the
rows and digests of the others stay as they are. The inputs come from seeded generators: both machines make the same. The GPU cases run in a child process that is
started anew behind a case that hangs (--limit seconds) or faults. A finding of the simulator is a failure of its run.
"""

import argparse
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "python")]

import numpy as np  # noqa: E402


def all_cases(only="", made=True):
    """One after the other; made: with their kernels and inputs."""
    from agreement import families
    from agreement.case import Deferred
    names = set()
    for case in families.cases(only):
        assert case.name not in names, f"two cases are called {case.name}"
        names.add(case.name)
        yield case.make() if made and isinstance(case, Deferred) else case


def save(path, results, device):
    arrays = {f"{name}/{i}": out for name, outs in results.items() if not isinstance(outs, str) for i, out in enumerate(outs)}
    errors = {name: outs for name, outs in results.items() if isinstance(outs, str)}
    np.savez_compressed(path, **arrays, **{"@": np.array(json.dumps({"device": device, "errors": errors}))})


def load(path):
    data = np.load(path)
    head = json.loads(str(data["@"]))
    results = dict(head["errors"])
    for key in data.files:
        if key != "@":
            name, i = key.rsplit("/", 1)
            results.setdefault(name, []).append((int(i), data[key]))
    return {n: r if isinstance(r, str) else [a for _, a in sorted(r, key=lambda p: p[0])] for n, r in results.items()}, head["device"]


def simulate(options):
    from agreement import simulator
    results, failed = {}, 0
    for case in all_cases(options.only):
        start = time.time()
        try:
            outputs, text = simulator.run(case, "none" if case.family == "dots" else "all")
            results[case.name] = f"refused: {text}" if case.refused and text else case.reduce(outputs)
        except Exception as error:
            results[case.name], text = f"refused: {error}", str(error)
        failed += bool(text) != case.refused
        print(f"{'FOUND' if bool(text) != case.refused else 'ok':6}{case.name} {time.time() - start:.1f} s {text[:600]}", flush=True)
    save(options.sim, results, "simulator")
    print(f"{len(results)} cases, {failed} with findings or refused")
    return failed > 0


def gpu_child(options):
    """Runs the cases named on standard input, each result into a file of its own."""
    from agreement import driver
    device = driver.Device()
    print("@device", device.name, flush=True)
    wanted = set(sys.stdin.read().split())
    from agreement.case import Deferred
    for case in all_cases(options.only, made=False):
        name = case.name
        if name not in wanted:
            continue
        case = case.make() if isinstance(case, Deferred) else case
        print("@start", name, flush=True)
        try:
            outputs = device.run(case)
            np.savez(os.path.join(options.child, name + ".npz"), *case.reduce(outputs))
            print("@done", name, flush=True)
        except driver.DriverError as error:
            print("@error", name, str(error).replace("\n", " "), flush=True)
            if "refused" not in str(error):
                os._exit(1)  # the context is lost
    os._exit(0)


def measure(options):
    import queue
    import tempfile
    import threading
    names, results, device = [case.name for case in all_cases(options.only, made=False)], {}, "?"
    with tempfile.TemporaryDirectory() as folder:
        while len(results) < len(names):
            left = [name for name in names if name not in results]
            child = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--child", folder, "--only", options.only],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            child.stdin.write(" ".join(left))
            child.stdin.close()
            lines = queue.Queue()
            threading.Thread(target=lambda: [lines.put(line) for line in child.stdout] + [lines.put(None)], daemon=True).start()
            current, before = None, len(results)
            while True:
                try:
                    line = lines.get(timeout=options.limit)
                except queue.Empty:
                    child.kill()
                    if current:
                        results[current] = f"hang: no end within {options.limit} s"
                        print("hang  ", current, flush=True)
                    break
                if line is None:
                    if current and current not in results:
                        results[current] = "fault: the process ended"
                    break
                word, _, rest = line.strip().partition(" ")
                if word == "@device":
                    device = rest
                elif word == "@start":
                    current = rest
                elif word == "@done":
                    data = np.load(os.path.join(folder, rest + ".npz"))
                    results[rest] = [data[f"arr_{i}"] for i in range(len(data.files))]
                    print("ok    ", rest, flush=True)
                elif word == "@error":
                    name, _, text = rest.partition(" ")
                    results[name] = text
                    print("error ", name, text[:300], flush=True)
            child.wait()
            if len(results) == before:
                print("the child process made no progress", file=sys.stderr)
                return 1
    save(options.gpu, results, device)
    refused = {case.name for case in all_cases(options.only, made=False) if case.refused}
    bad = [name for name, r in results.items() if isinstance(r, str) != (name in refused)]
    print(f"{len(results)} cases on {device}, {len(bad)} failed: {' '.join(bad)}")
    return bool(bad)


HEAD = """# Agreement with silicon

The same PTX with the same inputs in the simulator and on an {device}. "identical": every bit of every output. Approximate functions have no
documented bits: their column says how far the simulator (correctly rounded) and the GPU are apart; the bound is the documented one.
Made by `bench/agreement.py` (`--sim` here, `--gpu` there, `--compare`): {count} kernels, {values} values.

| kernel | family | values | agreement |
|---|---|---|---|
"""


def known_rows(path, new):
    """All cases: those of `new`, and the others as the table has them."""
    import re
    with open(path) as file:
        table = {name: (int(total.replace(",", "")), text) for name, total, text in
                 re.findall(r"^\| (\S+) \| [^|]* \| ([\d,]+) \| (.*) \|$", file.read(), re.M)}
    table.update({case.name: (total, text) for case, total, text in new})
    return [(case, *table[case.name]) for case in all_cases(made=False) if case.name in table]


def compare(options):
    from agreement.compare import compare as judge
    (simulated, _), (measured, device) = load(options.compare[0]), load(options.compare[1])
    rows, failed, values = [], 0, 0
    for case in all_cases(options.only, made=False):
        s, m = simulated.get(case.name, "not run"), measured.get(case.name, "not run")
        if case.refused and isinstance(s, str) and isinstance(m, str):
            rows.append((case, 0, "both refuse"))
            continue
        if isinstance(s, str) or isinstance(m, str):
            failed += 1
            text = f"**not compared**: simulator: {s if isinstance(s, str) else 'ok'}; GPU: {m if isinstance(m, str) else 'ok'}"
            rows.append((case, 0, text[:300]))
            print("FAILED", case.name, text)
            continue
        outcome = judge(case, s, m)
        values += outcome.total
        failed += not outcome.allowed
        text = ("identical" if outcome.identical else f"within the bound: {outcome.worst}" if outcome.allowed else
                f"**{outcome.differing} differ**: {outcome.example} {outcome.worst}")
        rows.append((case, outcome.total, text))
        if not outcome.identical:
            print("within" if outcome.allowed else "DIFFERS", case.name, text)
            if options.verbose and not outcome.allowed:
                for i, (x, y) in enumerate(zip(s, m)):
                    x, y = x.view(f"u{x.itemsize}"), y.view(f"u{y.itemsize}")
                    for at in np.argwhere(x != y)[:options.verbose]:
                        print("   ", i, tuple(int(v) for v in at), hex(int(x[tuple(at)])), hex(int(y[tuple(at)])))
                    if x.ndim == 2:
                        print("    differing by row:", dict(zip(*[v.tolist() for v in np.unique(np.argwhere(x != y)[:, 0], return_counts=True)])))
    if options.record:
        from agreement import record
        before = record.read(options.record) if options.only and os.path.exists(options.record) else None
        print(f"{record.write(options.record, all_cases(options.only, made=False), measured, device, before)} cases recorded")
    if options.markdown:
        if options.only and os.path.exists(options.markdown):
            rows = known_rows(options.markdown, rows)
            values = sum(total for _, total, _ in rows)
        with open(options.markdown, "w") as file:
            file.write(HEAD.format(device=device, count=len(rows), values=f"{values:,}"))
            for case, total, text in rows:
                file.write(f"| {case.name} | {case.family} | {total:,} | {text} |\n")
            questions = [(case, text) for case, _, text in rows if case.question]
            if questions:
                file.write("\n## Questions that only the hardware answers\n| kernel | question and what the simulator assumes | agreement |\n|---|---|---|\n")
                for case, text in questions:
                    file.write(f"| {case.name} | {case.question} | {text} |\n")
    print(f"{len(rows)} cases, {failed} disagree or were not compared; {values:,} values")
    return failed > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sim")
    parser.add_argument("--gpu")
    parser.add_argument("--compare", nargs=2, metavar=("SIM", "GPU"))
    parser.add_argument("--markdown")
    parser.add_argument("--record")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--ptx", metavar="FOLDER")
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=40)
    parser.add_argument("--verbose", type=int, default=0, metavar="N", help="--compare: the first N differences of an output")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return gpu_child(options)
    if options.compare:
        return compare(options)
    if options.sim:
        return simulate(options)
    if options.gpu:
        return measure(options)
    if options.list or options.ptx:
        for case in all_cases(options.only, made=bool(options.ptx)):
            print(f"{case.family:12} {case.name}")
            if options.ptx:
                os.makedirs(options.ptx, exist_ok=True)
                with open(os.path.join(options.ptx, case.name + ".ptx"), "w") as file:
                    file.write(case.ptx)
        return 0
    parser.error("one of --sim, --gpu, --compare, --list, --ptx is needed")


if __name__ == "__main__":
    sys.exit(main())
