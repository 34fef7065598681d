"""Compares the outputs of two runs of a case."""

import numpy as np

FLOAT = {2: np.float16, 4: np.float32, 8: np.float64}


def ordered(bits):
    """Float bit patterns as integers in the order of their values."""
    signed = bits.view(f"i{bits.itemsize}").astype(np.int64)
    lowest = np.int64(-1) << np.int64(8 * bits.itemsize - 1) if bits.itemsize < 8 else np.iinfo(np.int64).min
    return np.where(signed < 0, lowest - signed, signed)


def values(bits, form=None):
    if form == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return bits.view(FLOAT[bits.itemsize]).astype(np.float64)


class Outcome:
    """Of one case: `identical`, the number of differing elements of `total`, and `worst`, a text for approximate functions."""

    def __init__(self, total, differing, allowed, worst="", example=""):
        self.total, self.differing, self.allowed, self.worst, self.example = total, differing, allowed, worst, example

    @property
    def identical(self):
        return self.differing == 0


def compare(case, simulated, measured):
    total = differing = 0
    allowed, worst, example = True, "", ""
    for i, (s, m) in enumerate(zip(simulated, measured)):
        s, m = s.view(f"u{s.itemsize}").ravel(), m.view(f"u{m.itemsize}").ravel()
        unequal = s != m
        total += len(s)
        differing += int(unequal.sum())
        if unequal.any():
            at = int(np.flatnonzero(unequal)[0])
            example = example or f"output {i} element {at}: simulator {int(s[at]):#x}, GPU {int(m[at]):#x}"
        rule = case.tolerance.get(i)
        if rule is None:
            allowed &= not unequal.any()
            continue
        form = rule[1] if rule[0] == "half" else None
        with np.errstate(all="ignore"):
            x, y = values(s, form), values(m, form)
            same = (np.isnan(x) & np.isnan(y)) | (x == y)
            finite = np.isfinite(x) & np.isfinite(y) & ~same
            wild = ~same & ~finite
            absolute = np.where(finite, np.abs(x - y), 0)
            relative = np.where(finite, absolute / np.maximum(np.abs(y), 1e-320), 0)
        ulps = np.where(finite, np.abs(ordered(s) - ordered(m)), 0)
        worst = f"{int(ulps.max())} ulp, relative {relative.max():.2g}, absolute {absolute.max():.2g}"
        if rule[0] == "ulp":
            good = ulps <= rule[1]
        elif rule[0] == "relative":
            good = (relative <= rule[1]) | (ulps <= 1)
        elif rule[0] == "absolute":
            good = absolute <= rule[1]
        else:  # either, half: relative or absolute
            good = (relative <= rule[-2]) | (absolute <= rule[-1]) | (ulps <= 1)
        allowed &= not wild.any() and bool(good.all())
    return Outcome(total, differing, allowed, worst, example)
