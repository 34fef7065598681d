"""The order in which tiles are drawn that get shorter along a row: each once, the shortest of many rows last."""

import numpy as np
import pytest

import tileloom as tl


@tl.jit
def visit(x: tl.view, seen, turns, order, rows, columns):
    """Counts the visits of each tile in seen [rows, columns]; order: the columns in the order of their visits."""
    for i, j in tl.tiles(rows, columns):
        value = tl.max(x.load([0, 0], [16, 16]), 1)  # something to copy: that role draws
        tl.atomic_add(seen + i * columns + j, 1)
        turn = tl.atomic_add(turns, 1)
        tl.store(order + turn, tl.where(tl.max(value, 0) > 0, j, -1))


def run(rows, columns, group, processors, seed=0):
    seen, order, turns = np.zeros((rows, columns), np.int32), np.full(rows * columns, -1, np.int32), np.zeros(1, np.int32)
    schedule = {"scheduler": "dynamic", "order": "reverse", "raster": group}
    visit(np.ones((16, 16), np.float32), seen.reshape(-1), turns, order, rows, columns, schedule=schedule, simulator={"multiprocessors": processors, "seed": seed})
    return seen, order


@pytest.mark.parametrize("rows, columns, group, processors", [(1, 1, 1, 3), (5, 3, 2, 4), (7, 9, 4, 2), (20, 8, 3, 5), (33, 5, 16, 1), (64, 4, 5, 7), (3, 40, 8, 2), (70, 9, 32, 3), (100, 16, 33, 4)])
def test_each_tile_once(rows, columns, group, processors):
    seen, _ = run(rows, columns, group, processors, seed=rows)
    assert (seen == 1).all(), seen


def test_random_grids():
    rng = np.random.default_rng(0)
    for _ in range(12):
        rows, columns, group, processors = (int(rng.integers(1, most)) for most in (40, 12, 24, 9))
        seen, _ = run(rows, columns, group, processors)
        assert (seen == 1).all(), (rows, columns, group, processors)


def test_the_shortest_come_last():
    """One processor: the order of the visits is that of the draws. 6 rows have 12 tiles of the last quarter, of which 4 for each processor are enough: three parts of
    two rows, here one group each."""
    _, order = run(6, 8, 2, 1)
    for part in order.reshape(3, 16):
        longest_first = [7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2]
        assert part.tolist() == longest_first + [1, 1, 0, 0]
    _, order = run(6, 8, 2, 3)  # all rows together; three processors visit in nearly this order
    assert (order[-12:] < 2).sum() >= 10, order


def test_last_rows_only():
    """Sections of 32 rows or more: only the last rows hold tiles back. Two processors: 130 rows of 16 columns, of which 4 are
    short, in nearly the order of the draws; 8 tiles are wanted, which the last section (2 rows) has."""
    _, order = run(130, 16, 32, 2)
    drawn = order[order < 14]  # without the first tiles, which are not drawn
    assert drawn[-8:].tolist() == [3, 3, 2, 2, 1, 1, 0, 0], order
    sections = order[:2048].reshape(4, 512)
    for section in sections:  # no section waits for another one's short tiles
        assert (section[-120:] < 4).sum() >= 116 and (section < 4).sum() >= 124, order
