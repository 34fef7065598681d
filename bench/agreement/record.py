"""What a GPU computed, as digests that are small enough to keep: every later simulator is held to them without a GPU."""

import hashlib
import json

import numpy as np

from .case import Deferred, Map


def digest(*items):
    hashed = hashlib.blake2b(digest_size=8)
    for item in items:
        hashed.update(item.encode() if isinstance(item, str) else np.ascontiguousarray(item).tobytes())
    return hashed.hexdigest()


def inputs(case):
    return digest(*(a.array if isinstance(a, Map) else a for a in case.arguments))


def entry(case, measured):
    """case: made and not run. measured: its outputs, or the text of an error."""
    outputs = "refused" if isinstance(measured, str) else [digest(out) for out in measured]
    return {"ptx": digest(case.ptx), "inputs": inputs(case), "outputs": outputs}


def write(path, cases, measured, device, before=None):
    """All cases with exact results but the large ones of family "dots". before: entries that stay where there are no new ones."""
    kept = dict(before or {})
    for case in cases:
        if case.family == "dots" or case.tolerance or case.name not in measured:
            continue
        kept[case.name] = entry(case.make() if isinstance(case, Deferred) else case, measured[case.name])
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(kept[name])}" for name in kept)
    with open(path, "w") as file:
        file.write(f'{{"device": {json.dumps(device)}, "cases": {{\n{lines}}}}}\n')
    return len(kept)


def read(path):
    with open(path) as file:
        return json.load(file)["cases"]
