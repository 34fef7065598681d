"""Results files: rows of measurements, and in which run (date, driver, versions, command) each was made. Needs no GPU."""

import json
import os


def processor():
    """The name of this machine's processor."""
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), os.uname().machine)


def read(path, machine):
    """What `path` has, {} if there is no such file; refuses one of another machine."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        known = json.load(file)
    if known["machine"] != machine:
        raise SystemExit(f"{path}: has rows of {known['machine']}; needed {machine}, where this runs (or another file)")
    return known


def merged(known, run, rows):
    """A results file out of one (or {}) and the rows of another run: these replace those with the same work and shape. run: {"machine": ...}."""
    runs = known.get("runs") or ([{name: value for name, value in known.items() if name != "rows"}] if known else [])
    new = {(row["work"], row["shape"]) for row in rows}
    kept = [row for row in known.get("rows", ()) if (row["work"], row["shape"]) not in new]
    used = sorted({row.get("run", 0) for row in kept})
    order = {old: index for index, old in enumerate(used)}
    return {**run, "runs": [*(runs[old] for old in used), run],
            "rows": [*({**row, "run": order[row.get("run", 0)]} for row in kept), *({**row, "run": len(used)} for row in rows)]}


def write(path, results):
    """Whole or not at all."""
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    os.replace(temporary, path)
