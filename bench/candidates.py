"""The schedules that bench/search.py tries for a bf16 product (NT), and their programs, compiled side by side. Needs no GPU."""

import concurrent.futures
import json
import lzma
import os
import pickle

from tileloom import schedule as model
from tileloom.dispatch.compiled import compile_program
from tileloom.kernels.gemm import gemm_kernel

SPREAD = 24  # tiles of which variants are tried
FAR, TILES, LEAST = 1.8, 110, 210  # tiles predicted to take less than FAR times the best, so many of them at most, and schedules of a shape at the least
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
    besides, then variants of the SPREAD best in slices of K, clusters of two, orders of tiles, eviction hints, pieces of results and products in flight,
    and more tiles where these are fewer than LEAST."""
    arguments, emit = gemm_kernel._open(*facts_of(m, n, k))
    found = model.ranked(gemm_kernel, arguments, emit, TARGET)
    usable = [(prediction, constants, model.completed(prediction, own, None)) for prediction, constants, own in found if not prediction.reason]
    tiles = [(name_of(constants, own), (prediction.microseconds, constants, own)) for prediction, constants, own in usable]
    near = sum(prediction.microseconds < FAR * usable[0][0].microseconds for prediction, *_ in usable)
    result = dict(tiles[:min(near, TILES)])
    for place, (_, constants, own) in enumerate(usable[:SPREAD]):
        for more in variants(m, n, k, place, constants, own):
            changed = {key: value for key, value in {**own, **more}.items() if (key, value) != ("split", 1)}
            result.setdefault(name_of(constants, changed), (None, constants, changed))
    for name, tile in tiles:
        if len(result) >= LEAST:
            break
        result.setdefault(name, tile)
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


class Programs:
    """Chooses and compiles what is to be measured, by other processes, in the order of the shapes: what comes first can be measured meanwhile.
    To be made before CUDA is, as processes are forked."""

    def __init__(self, shapes, processes):
        self.pool = concurrent.futures.ProcessPoolExecutor(processes, initializer=os.nice, initargs=(10,))
        self.numbers, self.futures, self.work = {}, [], []
        for shape, (found, refused) in zip(shapes, self.pool.map(_candidates, shapes)):
            rows = []
            for name, predicted, program in found:
                number = self.numbers.setdefault(program.text, len(self.numbers))
                if number == len(self.futures):
                    self.futures.append(self.pool.submit(compiled, program))
                rows.append((name, predicted, number))
            self.work.append((shape, refused, rows))

    def __getitem__(self, number):
        return self.futures[number].result()

    def __len__(self):
        return len(self.futures)

    def close(self):
        self.pool.shutdown(cancel_futures=True)


def _candidates(shape):
    return candidates(*shape)


def prepare(shapes, processes):
    """What the search measures: {"work": [(shape, tiles refused, [(name, predicted, program's number)])], "programs": [compiled(...)]}."""
    programs = Programs(shapes, processes)
    done = [programs[number] for number in range(len(programs))]
    programs.close()
    print(f"{len(done)} programs compiled, {sum(reason is not None for reason, *_ in done)} of them refused or slow", flush=True)
    return {"work": programs.work, "programs": done}


def write(prepared, path):
    with lzma.open(path, "wb", preset=4) as file:
        pickle.dump(prepared, file)


def read(path):
    with lzma.open(path) as file:
        return pickle.load(file)
