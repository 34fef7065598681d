"""The schedules that bench/search.py tries for a bf16 product (NT), and their programs, compiled side by side. Needs no GPU."""

import concurrent.futures
import json
import lzma
import pickle

from tileloom import schedule as model
from tileloom.dispatch.compiled import compile_program
from tileloom.kernels.gemm import gemm_kernel

SPREAD = 24
SPLITS, RASTERS, PIECES = (1, 2, 3, 4, 6, 8, 12, 16), (1, 4, 16, 32), ((32, 2), (64, 1), (64, 2), (128, 1))
PROCESSORS = 132
SECTOR = 32  # bytes: where rows of operands begin within one, clusters may pay
TARGET = "sm_90a"


class Extents:
    """Stands for a contiguous bf16 matrix: what the dispatcher asks of a tensor, without memory."""

    dtype = "bfloat16"

    def __init__(self, rows, columns):
        self.shape = (rows, columns)

    def stride(self):
        return (self.shape[1], 1)

    def data_ptr(self):
        return 1 << 20

    def get_device(self):
        return 0


def name_of(constants, schedule):
    return "x".join(str(constants[key]) for key in ("BM", "BN", "BK")) + "".join(f" {key}={value}" for key, value in sorted(schedule.items()))


def facts_of(m, n, k):
    return gemm_kernel._known((Extents(m, k), Extents(n, k), Extents(m, n)), None, {})


def schedules(m, n, k):
    """({name: (predicted us or None, constants, schedule)}, tiles that the model refuses); first the model's tiles in its order, with what it chooses
    besides, then variants of the SPREAD best in slices of K, clusters of two, orders of tiles, eviction hints, pieces of results and products in flight."""
    arguments, emit = gemm_kernel._open(*facts_of(m, n, k))
    found = model.ranked(gemm_kernel, arguments, emit, TARGET)
    usable = [(prediction, constants, model.completed(prediction, own, None)) for prediction, constants, own in found if not prediction.reason]
    result = {name_of(constants, own): (prediction.microseconds, constants, own) for prediction, constants, own in usable}
    for place, (_, constants, own) in enumerate(usable[:SPREAD]):
        for more in variants(m, n, k, place, constants, own):
            changed = {key: value for key, value in {**own, **more}.items() if (key, value) != ("split", 1)}
            result.setdefault(name_of(constants, changed), (None, constants, changed))
    return result, len(found) - len(usable)


def candidates(m, n, k):
    """([(name, predicted us or None, tile program)], tiles that the model refuses)."""
    found, refused = schedules(m, n, k)
    known = facts_of(m, n, k)[0]
    return [(name, predicted, gemm_kernel._program(known, constants, own)) for name, (predicted, constants, own) in found.items()], refused


def variants(m, n, k, place, constants, own):
    rows, columns = -(-m // constants["BM"]), -(-n // constants["BN"])
    tiles, turns = rows * columns, own.get("use") == "pingpong"
    most = min(4 * PROCESSORS / tiles, -(-k // constants["BK"]) / 2, 64)
    fill = {PROCESSORS // tiles, 2 * PROCESSORS // tiles}
    yield from ({"split": split} for split in sorted({*SPLITS, *fill}) if not turns and (split == 1 or 1 < split <= most))
    if 2 * k % SECTOR:
        yield from ({"cluster": 2, "multicast": shared} for shared, extent in (("columns", rows), ("rows", columns)) if extent > 1)
    yield from ({"raster": raster} for raster in RASTERS if min(rows, columns) > 1)
    yield from ({"keep": keep} for keep in ("none", "rows", "columns") if place < 8)
    yield from ({"epilogue": piece, "buffers": buffers} for piece, buffers in PIECES if constants["BN"] % piece == 0)
    yield from ({"pending": pending} for pending in (0,) if place < 8)


def compiled(program):
    """(reason why it is left out or None, recipe as JSON, cubin, bindings)."""
    try:
        kernel = compile_program(program, TARGET)
    except Exception as error:
        return " ".join(str(error).split())[:200], None, None, None
    return kernel.slowed_down(), json.dumps(kernel.recipe), kernel.cubin, kernel.bindings


def prepare(shapes, processes):
    """What the search measures: {"work": [(shape, tiles refused, [(name, predicted, program's number)])], "programs": [compiled(...)]}."""
    numbers, programs, work = {}, [], []
    for shape in shapes:
        found, refused = candidates(*shape)
        rows = []
        for name, predicted, program in found:
            number = numbers.setdefault(program.text, len(numbers))
            if number == len(programs):
                programs.append(program)
            rows.append((name, predicted, number))
        work.append((shape, refused, rows))
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        done = list(pool.map(compiled, programs, chunksize=8))
    print(f"{len(done)} programs compiled, {sum(reason is not None for reason, *_ in done)} of them refused or slow", flush=True)
    return {"work": work, "programs": done}


def write(prepared, path):
    with lzma.open(path, "wb", preset=4) as file:
        pickle.dump(prepared, file)


def read(path):
    with lzma.open(path) as file:
        return pickle.load(file)
