"""Chooses `tl.auto` parameters and the schedule on the host, by the compiler's cost model (include/tileloom/Schedule/CostModel.h).

`choose(kernel, arguments, legal, emit, target, schedule)` is called once for each combination of shapes and numbers. kernel: the JITFunction.
arguments: {name: value} of the parameters that are given: a dispatch.facts.Tensor for tensors, numbers and constants as they are, a
dispatch.facts.Fact for what only a signature describes. legal(constants, schedule): None if the kernel compiles with them, else the error.
emit(constants): the tile program (frontend.generate.Program). It gives {name: value} for the parameters in `kernel.automatic`, and
"schedule", a dict for #tile.schedule.

Every combination of the candidates (`@tl.jit(candidates={...})`, else those below) is a program whose time is predicted, with each of a few
schedules; the fastest one that compiles is taken. Extents and integers that a signature leaves open count as ASSUMED: of a single tile the smallest
would be the fastest.
"""

import ctypes
import itertools

from .frontend.generate import schedule_attribute
from .language.dtypes import int32, int64
from .runtime import library as _runtime_library
from .runtime.errors import ArgumentError, TileloomError

_ROWS = (128, 64, 192, 256, 16, 8, 32, 160, 144, 176, 96, 112, 80, 208)
_COLUMNS, _DEPTHS = (128, 256, 192, 64, 96, 32, 16, 48, 80, 112, 144, 160, 176, 208, 224, 240), (64, 128)
CANDIDATES = {"BM": _ROWS, "BN": _COLUMNS, "BK": _DEPTHS, "BLOCK": (1024, 512, 256), "BLOCK_M": _ROWS, "BLOCK_N": _COLUMNS, "BLOCK_K": _DEPTHS}
SCHEDULES = ({}, {"use": "pingpong"})
# Tried beside the best of the candidates without a schedule, and beside all with two slots or fewer: a slot is free earlier where copies are what is waited for.
REFINED = {"pending": 0}
_PRODUCTS = (("BM", "BN"), ("BLOCK_M", "BLOCK_N"))  # one of the two is the tensor core's 64 rows (tile-swap-operands)
# Predictions of launches that take longer than this (us) and are this close say nothing, but where a factor was learned: of those a tile with the
# tensor core's rows is taken before others, and then the one that moves least through L2. (4096 x 7168 x 2048, B by rows: four tiles within 0.7 %, of
# which 128 x 256 measured 3 to 4 % faster than the first two; tf32 of 16384^3: 128 x 256 took 24.1 ms, 128 x 144 34.3.)
# Tiles of other rows in more than one round are up to 6 % slower than predicted (4096^3: 208 x 128 188 us, 176 x 192 184, 128 x 256 176, predicted within
# 1 %; in 8 bits with factors 176 x 192 102 for 96): there they have to be predicted this much faster.
_LONG, _NEAR, _TALL = 40, 1.007, 1.04
_KEEP = (None, "rows", "columns")
_UNKNOWN = -(1 << 63)
ASSUMED = 4096
_TRIALS = 8
# Variants of so many of the best, where a factor was learned, and how much less than their tile they have to take.
_VARIED, VARIED_GAIN = 6, 0.98
_PIECES = ((32, 2), (64, 1), (64, 2), (128, 1))


class Prediction(ctypes.Structure):
    """Times of one tile are in clocks of an SM; bytes are those through L2."""

    _fields_ = [("microseconds", ctypes.c_double), ("tiles", ctypes.c_double), ("waves", ctypes.c_double),
                ("product_clocks", ctypes.c_double), ("copy_clocks", ctypes.c_double), ("other_clocks", ctypes.c_double),
                ("turn_clocks", ctypes.c_double), ("bytes", ctypes.c_double), ("stages", ctypes.c_int64), ("raster", ctypes.c_int64),
                ("keep", ctypes.c_int64), ("split", ctypes.c_int64), ("cluster", ctypes.c_int64), ("multicast", ctypes.c_int64),
                ("learned", ctypes.c_double), ("term_count", ctypes.c_int64), ("terms", ctypes.c_double * 64), ("reason", ctypes.c_char * 160)]


def predict(text, target, schedule, values):
    """The Prediction for a tile program. schedule: a dict. values: one for each argument of the kernel, None where it is not known; of a
    descriptor the bytes from row to row."""
    library = _runtime_library.load()
    function = library.tileloomPredict
    function.restype = ctypes.c_int32
    source = text.encode()
    numbers = (ctypes.c_int64 * len(values))(*[_UNKNOWN if value is None else value for value in values])
    attribute = schedule_attribute(schedule)
    attribute = attribute[0].split("=", 1)[1].strip().encode() if attribute else None
    result = Prediction()
    if function(source, ctypes.c_size_t(len(source)), target.encode(), attribute, numbers, ctypes.c_size_t(len(values)), ctypes.byref(result)):
        raise TileloomError(result.reason.decode(errors="replace"))
    return result


def ranked(kernel, arguments, emit, target, schedule=None):
    """[(Prediction, constants, schedule)] of all candidates, the usable ones by predicted time, then the others."""
    lists = []
    for name in kernel.automatic:
        if name in arguments:
            continue
        values = kernel.candidates.get(name) or CANDIDATES.get(name)
        values = values(target) if callable(values) else values
        if not values:
            raise ArgumentError(f"kernel '{kernel.__name__}', parameter '{name}': is tl.auto, and no candidates are known; needed a value, or "
                                f"@tl.jit(candidates={{\"{name}\": (...)}})")
        lists.append([(name, value) for value in values])
    given = {} if isinstance(schedule, str) or not schedule else schedule
    found, error = [], None
    for place, combination in enumerate(itertools.product(*lists)):
        constants = dict(combination)
        if any(constants.get(rows, 64) % 64 and constants.get(columns, 64) % 64 for rows, columns in _PRODUCTS):
            continue
        try:
            program = emit(constants)
        except TileloomError as wrong:
            error = error or wrong
            continue
        values = [_number(binding, arguments) for binding in program.bindings]
        for own in SCHEDULES[:1] if target.startswith("sm_10") else SCHEDULES:  # the sums of tensor memory have one warpgroup, which does not take turns
            if any(given.get(key, value) != value for key, value in own.items()):
                continue
            try:
                found.append((predict(program.text, target, {**own, **given}, values), place, constants, own))
            except TileloomError as wrong:
                error = error or wrong
    by_time = lambda entry: (bool(entry[0].reason), entry[0].microseconds, entry[1])  # noqa: E731
    found.sort(key=by_time)
    for rank, (prediction, place, constants, own) in enumerate(list(found)):
        if rank >= _TRIALS and prediction.stages > 2:
            continue
        if kernel.automatic and not own and not prediction.reason and not any(name in given for name in REFINED):
            program = emit(constants)
            values = [_number(binding, arguments) for binding in program.bindings]
            other = predict(program.text, target, {**REFINED, **given}, values)
            if not other.reason and other.microseconds < 0.995 * prediction.microseconds:
                found.append((other, place, constants, REFINED))
    found.sort(key=by_time)
    for prediction, place, constants, own in found[:_VARIED]:
        if prediction.reason or prediction.learned == 1 or not kernel.automatic:
            break
        program = emit(constants)
        values = [_number(binding, arguments) for binding in program.bindings]
        for more in _variants(constants, completed(prediction, own, given)):
            if any(key in given for key in more):
                continue
            other = predict(program.text, target, {**own, **more, **given}, values)
            if not other.reason and other.microseconds < VARIED_GAIN * prediction.microseconds:
                found.append((other, place, constants, {**own, **more}))
    if not found:
        raise error or ArgumentError(f"kernel '{kernel.__name__}': has no candidates for {', '.join(kernel.automatic)}")
    found.sort(key=by_time)
    if found[0][0].microseconds > _LONG and not found[0][0].reason and found[0][0].learned == 1:
        usable = [entry for entry in found if not entry[0].reason]
        other_rows = lambda entry: any(entry[2].get(rows, 64) % 64 for rows, _ in _PRODUCTS)  # noqa: E731
        if other_rows(usable[0]) and usable[0][0].waves > 1:
            usable = [entry for entry in usable if not other_rows(entry) and entry[0].microseconds <= _TALL * usable[0][0].microseconds] or usable
        near = [entry for entry in usable if entry[0].microseconds <= _NEAR * usable[0][0].microseconds]
        first = min(near, key=lambda entry: (other_rows(entry), entry[0].bytes))  # of one tile, the fastest schedule comes first
        found.remove(first)
        found.insert(0, first)
    return [(prediction, constants, own) for prediction, _, constants, own in found]


def _variants(constants, own):
    """Schedules beside `own`, which says what the model chose, that are asked for plain products: the learned factor tells what the model's terms alone
    do not, as which operand to keep."""
    yield from ({"keep": keep} for keep in ("none", "rows", "columns") if keep != own.get("keep", "none"))
    yield from ({"pending": 0} for _ in range("pending" not in own))
    yield from ({"raster": raster} for raster in (1, 4, 16, 32) if raster != own.get("raster"))
    yield from ({"epilogue": piece, "buffers": buffers} for piece, buffers in _PIECES if constants.get("BN", 1) % piece == 0)


def completed(prediction, own, schedule):
    """`own` with what the model chose where `schedule` leaves it open."""
    if prediction.raster and "raster" not in (schedule or {}):
        own = {**own, "raster": prediction.raster}
    if prediction.keep and "keep" not in (schedule or {}):
        own = {**own, "keep": _KEEP[prediction.keep]}
    if prediction.split > 1 and "split" not in (schedule or {}):
        own = {**own, "split": prediction.split}
    if prediction.cluster > 1 and "cluster" not in (schedule or {}):
        own = {**own, "cluster": prediction.cluster, "multicast": _KEEP[prediction.multicast]}
    return own


def explain(kernel, arguments, emit, target, schedule=None):
    """A table of all candidates for people: the choice first, those that cannot be used last. Clocks are of an SM, for one tile; the learned factor is
    part of the predicted time (lib/Schedule/LearnedFactor.cpp), 1 where it does not apply."""
    lines = ["predicted us  tiles  waves  stages  L2 MB  clocks of products, copies, other work, turn  learned factor  candidate"]
    for prediction, constants, own in ranked(kernel, arguments, emit, target, schedule):
        given = {} if isinstance(schedule, str) or not schedule else schedule
        candidate = " ".join(f"{name}={value}" for name, value in {**constants, **completed(prediction, own, schedule), **given}.items())
        if prediction.reason:
            lines.append(f"{'-':>12}  {candidate}: {prediction.reason.decode(errors='replace')}")
            continue
        clocks = (prediction.product_clocks, prediction.copy_clocks, prediction.other_clocks, prediction.turn_clocks)
        lines.append(f"{prediction.microseconds:12.1f} {prediction.tiles:6.0f} {prediction.waves:6.0f} {prediction.stages:7d} {prediction.bytes / 1e6:6.0f}"
                     + "".join(f"{count:10.0f}" for count in clocks) + f"{prediction.learned:8.3f}  {candidate}")
    return "\n".join(lines)


def choose(kernel, arguments, legal, emit, target, schedule=None):
    """The first of the best candidates of which legal(constants, schedule) says None. It may give an error, or a text: what makes a kernel slow
    that the model could not know (spills, serialised products). Such a candidate is taken only if no other of the best can be used."""
    error = slow = None
    for prediction, constants, own in ranked(kernel, arguments, emit, target, schedule)[:_TRIALS]:
        own = completed(prediction, own, schedule)
        wrong = legal(constants, own)
        if isinstance(wrong, Exception) and prediction.cluster > 1 and "cluster" not in (schedule or {}):  # the model knows loads, not all that clusters need
            own = {key: value for key, value in own.items() if key not in ("cluster", "multicast")}
            wrong = legal(constants, own)
        if wrong is None:
            return {**constants, "schedule": own}
        if isinstance(wrong, Exception):
            error = error or wrong
        else:
            slow = slow or {**constants, "schedule": own}
    if slow:
        return slow
    raise error


def _number(binding, arguments):
    kind, value = binding[0], arguments.get(binding[1])
    if kind in ("shape", "stride"):
        extents = getattr(value, "shape" if kind == "shape" else "strides", None)
        if extents is None:
            return ASSUMED if kind == "shape" else None
        return int(extents[binding[2]])
    if kind == "view":
        strides = getattr(value, "strides", None)
        return int(strides[-2]) * value.dtype.primitive_bitwidth // 8 if strides is not None and len(strides) > 1 else None
    if kind == "scalar" and isinstance(value, int):
        return int(value)
    open_integer = kind == "scalar" and getattr(value, "kind", None) == "scalar" and value.dtype in (int32, int64)
    return ASSUMED if open_integer else None
