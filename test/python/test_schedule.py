"""The cost model: what it says of shapes and schedules whose order is not in doubt, and what it refuses."""

import os

import numpy as np
import pytest

import tileloom as tl
from programs import FOLDER
from tileloom import schedule, sim
from tileloom.dispatch import facts
from tileloom.dispatch.compiled import CompiledKernel
from tileloom.frontend.generate import generate
from tileloom.kernels.attention import attention_kernel
from tileloom.kernels.gemm import gemm_kernel
from tileloom.runtime.errors import TileloomError


def text(name):
    with open(os.path.join(FOLDER, name + ".mlir")) as file:
        return file.read()


def predict(name, values, target="sm_90a", **fields):
    return schedule.predict(text(name), target, fields, list(values))


def gemm(m, n, k, **fields):
    """128 x 256 x 64 tiles; the three descriptors are no numbers."""
    return predict("gemm", (None, None, None, m, n, k), **fields)


def test_work_is_counted():
    found = gemm(4096, 4096, 4096)
    assert (found.tiles, found.waves, found.reason) == (32 * 16, 4, b"")
    assert found.product_clocks == pytest.approx(64 * 1024, rel=0.03), "64 blocks of 128 x 256 x 64 at 2048 products a clock"
    assert found.stages == 4


def test_more_work_takes_longer():
    times = [gemm(4096, 4096, k).microseconds for k in (0, 512, 1024, 4096, 8192)]
    assert times == sorted(times) and times[-1] > 1.8 * times[-2]
    assert gemm(128, 256, 512).microseconds < gemm(132 * 128, 256, 512).microseconds * 1.2, "one wave"
    two = gemm(133 * 128, 256, 8192, split=1).microseconds
    assert two > 1.6 * gemm(132 * 128, 256, 8192, split=1).microseconds, "two waves"
    assert gemm(133 * 128, 256, 8192).microseconds < 0.97 * two, "slices of K fill the second"


def test_slices():
    few = gemm(128, 512, 65536)
    assert few.split > 8 and few.microseconds < gemm(128, 512, 65536, split=1).microseconds / 4
    assert gemm(4096, 4096, 4096).split == 1
    assert gemm(128, 512, 65536, split=4).split == 4
    assert b"split: expected a loop that carries sums" in predict("attention", (), split=2).reason


def test_refusals():
    assert b"shared memory" in gemm(4096, 4096, 4096, stages=8).reason
    assert b"registers" in gemm(4096, 4096, 4096, use="pingpong").reason, "two whole sums of 128 x 256 do not fit two warpgroups"
    assert gemm(4096, 4096, 4096, use="cooperative").reason == b""
    with pytest.raises(TileloomError, match="unknown field 'depth'"):
        gemm(1, 1, 1, depth=2)
    with pytest.raises(TileloomError, match="sm_80"):
        predict("gemm", (), target="sm_80")


def test_unknown_numbers_are_guessed():
    assert predict("gemm", (None,) * 6).reason == b""
    assert predict("attention", ()).microseconds > 0


def test_causal_sections():
    """Rows of tiles that are walked together: four rounds of the machine or what fits L2, in sections of one length."""
    assert gemm(4096, 4096, 4096).raster == 0, "the order of equal tiles does not matter"
    signature = "bf16", (None, None, None, 128)
    known = {p.name: facts.of_signature(p, signature, p.name) for p in attention_kernel.parameters if p.name in "qkvo"}
    known |= {"lse": facts.constant(None), "scale": facts.constant(0.1), "CAUSAL": facts.constant(True)}
    known = {p.name: facts.constant(p.default) for p in attention_kernel.parameters if p.name not in ("BM", "BN") and p.name not in known} | known
    for batch, length, heads, d, most in ((8, 2048, 16, 128, 33), (4, 4096, 16, 128, 16), (2, 8192, 16, 128, 8), (3, 4096, 11, 128, 16)):
        arguments = {name: facts.Tensor(tl.bfloat16, (batch, length, heads, d), (length * heads * d, heads * d, d, 1), 0, 0) for name in "qkvo"}

        def emit(constants):
            return generate(attention_kernel, {**known, **{name: facts.constant(value) for name, value in constants.items()}}, None)
        found = schedule.ranked(attention_kernel, {**arguments, "lse": None, "scale": 0.1, "CAUSAL": True}, emit, "sm_90a")
        raster = next(prediction.raster for prediction, tiles, _ in found if tiles == {"BM": 128, "BN": 128})
        sections = -(-batch * heads // raster)
        assert most // 2 < raster <= most and batch * heads > (sections - 1) * raster and sections * raster - batch * heads < sections


def test_windows_share_their_keys():
    """Tiles of rows side by side read nearly the same keys: all of them once, not each tile its own. So bytes do not decide, and the dense kernel's tile is the
    best one. Three warpgroups are not better for D 96."""
    def best(D, **given):
        batch, length, heads = 4, 4096, 16
        known = {p.name: facts.of_signature(p, ("bf16", (None, None, None, D)), p.name) for p in attention_kernel.parameters if p.name in "qkvo"}
        values = {"lse": None, "scale": 0.1, "CAUSAL": False, "DK": D, "DV": D, "THRESHOLD": 8.0, **given}
        known |= {p.name: facts.constant(values.get(p.name, p.default)) for p in attention_kernel.parameters if p.name not in ("BM", "BN", *"qkvo")}
        arguments = {name: facts.Tensor(tl.bfloat16, (batch, length, heads, D), (length * heads * D, heads * D, D, 1), 0, 0) for name in "qkvo"}

        def emit(constants):
            return generate(attention_kernel, {**known, **{name: facts.constant(value) for name, value in constants.items()}}, None)
        return schedule.ranked(attention_kernel, {**arguments, **values}, emit, "sm_90a")[0]
    prediction, tiles, _ = best(128)
    assert tiles == {"BM": 128, "BN": 128}
    for window in ({"left": 1024, "CAUSAL": True}, {"left": 512, "right": 512}):
        narrow, tiles, _ = best(128, **window)
        assert tiles == {"BM": 128, "BN": 128} and narrow.microseconds < 0.35 * prediction.microseconds, "9 of 32 tiles of keys"
    assert best(96)[1] in ({"BM": 128, "BN": 128}, {"BM": 128, "BN": 160}), "643 and 674 us measured, 192 x 112 726"


def choice(m, n, k, dtype=tl.bfloat16):
    known, arguments = {}, {}
    shapes = {"a": (m, k), "b": (n, k), "c": (m, n)}
    for parameter in gemm_kernel.parameters:
        if parameter.name in shapes:
            known[parameter.name] = facts.of_signature(parameter, (dtype.name, 2), parameter.name)
            arguments[parameter.name] = facts.Tensor(dtype, shapes[parameter.name], (shapes[parameter.name][1], 1), 0, 0)
        elif not parameter.name.startswith("B"):
            known[parameter.name] = facts.constant(parameter.default)
            arguments[parameter.name] = None

    def emit(constants):
        return generate(gemm_kernel, {**known, **{name: facts.constant(value) for name, value in constants.items()}}, None)
    return schedule.ranked(gemm_kernel, arguments, emit, "sm_90a")


def test_choice_follows_the_shape():
    best = choice(8192, 8192, 8192)[0]
    assert best[1]["BM"] * best[1]["BN"] >= 128 * 160
    best = choice(64, 4096, 7168)[0]
    assert best[1]["BM"] <= 64 and best[1]["BN"] <= 64, "64 rows: many narrow tiles, for the weights' sake"
    ranked = choice(1024, 1024, 1024)
    usable = [entry[0].microseconds for entry in ranked if not entry[0].reason]
    assert usable == sorted(usable) and len(usable) > 20


def test_candidates_are_explained():
    a, b, c = (sim.Element(np.empty(shape, np.uint16), "bf16") for shape in ((4096, 7168), (4096, 7168), (4096, 4096)))
    head, *lines = gemm_kernel.explain(a, b, c).split("\n")
    assert len(lines) >= 200 and head.split()[:3] == ["predicted", "us", "tiles"]
    times = [float(line.split()[0]) for line in lines if line.split()[0] != "-"]
    assert times == sorted(times) and len(times) > 100
    reasons = [line for line in lines if line.split()[0] == "-"]
    assert lines[-len(reasons):] == reasons
    assert any("registers: " in line for line in reasons) and any("shared memory: " in line for line in reasons)
    assert len(gemm_kernel.explain(a, b, c, BM=128, BN=256, BK=64, schedule={"use": "cooperative"}).split("\n")) == 2


def test_two_slots_without_a_product_in_flight():
    """A product in flight leaves nothing ahead of a ring of two slots: such tiles are predicted without one as well, however far behind they are with it."""
    prediction, constants, own = choice(8192, 8192, 8192, tl.float32)[0]
    assert own == {"pending": 0} and prediction.stages == 2 and constants["BN"] * constants["BM"] > 128 * 144, (constants, own)
    with_it = next(at for at, (_, other, given) in enumerate(choice(8192, 8192, 8192, tl.float32)) if other == constants and not given)
    assert with_it >= 8


def test_streams_are_kept_apart():
    """64 rows: the weights stream through L2. A schedule that says so is not overruled; half lines are worth it where one row of tiles reads
    each, not where many do."""
    def first(m, n, k, **more):
        a, b, c = (sim.Element(np.empty(shape, np.uint16), "bf16") for shape in ((m, k), (n, k), (m, n)))
        return gemm_kernel.explain(a, b, c, **more).split("\n")[1]
    assert "keep=rows" in first(64, 7168, 2048)
    assert "keep=columns" in first(8192, 128, 4096)
    assert "keep" not in first(4096, 4096, 4096)
    assert "keep=rows" in first(64, 7168, 2056)
    assert "keep" not in first(512, 7168, 2056)
    assert "keep=none" in first(64, 7168, 2048, schedule={"keep": "none"})


def test_neighbours_share_what_streams():
    """Many rows and few columns of tiles: those that read the same rows of A follow each other. A schedule that says so is not overruled."""
    prediction, constants, own = choice(13704, 504, 224)[0]
    assert "raster=1" in str(schedule.completed(prediction, own, None)).replace("'", "").replace(": ", "=")
    assert schedule.completed(prediction, own, {"raster": 8}) == own
    assert choice(4096, 24576, 1536)[0][0].raster == 32, "all rows: L2 holds A, and B is read once"
    assert all(entry[0].raster in (0, 16) for entry in choice(4096, 8192, 4096)[:3]), "2048 rows together: L2 does not hold A"


def test_the_learned_factor_is_for_plain_products():
    """Of 16-bit operands by rows that do not draw the power limit. It changes the order, not what a time is."""
    factors = [entry[0].learned for entry in choice(64, 2112, 7168) if not entry[0].reason]
    assert len(set(factors)) > 50 and 0.6 <= min(factors) < 1 < max(factors) <= 1.65
    assert {entry[0].learned for entry in choice(8192, 8192, 8192)} == {1.0}, "draws the power limit"
    assert {entry[0].learned for entry in choice(64, 2112, 7168, tl.float32)} == {1.0}
    assert predict("attention", ()).learned == 1 and predict("attention", ()).term_count == gemm(1, 1, 1).term_count > 40
    assert predict("gemm", (None, None, None, 64, 2112, 7168)).learned != 1


def test_few_rows_are_exchanged():
    constants = choice(5, 4864, 13760)[0][1]
    assert constants["BM"] < 64 and constants["BN"] % 64 == 0


def test_results_in_narrow_pieces_take_longer():
    """In turns: eleven pieces of 16 columns against five of 32."""
    turns = {(own.get("use"), constants["BN"]): found.turn_clocks for found, constants, own in reversed(choice(4096, 14336, 4096))
             if constants["BM"] == 128 and not found.reason}
    assert turns["pingpong", 176] > 1.2 * turns["pingpong", 160]


def test_rows_that_split_lines_take_longer():
    values = lambda pitch: (pitch, pitch, None, 4096, 4096, 1024)  # noqa: E731
    alone = predict("gemm", values(2064), cluster=1)
    assert alone.cluster == 1 and alone.microseconds > 1.2 * predict("gemm", values(2048)).microseconds
    assert predict("gemm", values(2064), cluster=2, multicast="rows").microseconds < 0.95 * alone.microseconds, "L2 is asked once for both"


def test_clusters():
    """CTAs load for each other where rows of operands begin within a sector of 32 bytes, if that pays (628 x 6296 x 14728 on an H200: 163 us with, 193
    without; at 4096 x 4096 x 4096 and for kernels of 6 us nothing)."""
    def first(m, n, k, **schedule_fields):
        prediction, _, own = choice(m, n, k)[0]
        return schedule.completed(prediction, own, schedule_fields)
    own = first(628, 6296, 14728)
    assert own["cluster"] == 2 and own["multicast"] in ("rows", "columns") and "split" not in own
    assert "cluster" not in first(628, 6296, 14728, cluster=1)
    for shape in ((4096, 4096, 4096), (628, 6296, 14736), (13, 336, 72), (123, 1960, 184)):
        assert "cluster" not in first(*shape), shape
    own = first(278, 2256, 25912)
    assert own["cluster"] == 2 and own["split"] > 2, "both (66.8 us; slices alone 86)"
    for fields in ({"cluster": 1}, {"scheduler": "dynamic"}):
        assert predict("gemm", (16 * 1001,) * 2 + (None, 4096, 4096, 8008), **fields).cluster == 1, fields
    assert predict("gemm", (16 * 1001,) * 2 + (None, 4096, 4096, 8008)).cluster == 2
    assert predict("gemm", (16 * 1001,) * 2 + (None, 4096, 4096, 8008), "sm_100a").cluster == 1, "not measured there"


def test_near_predictions():
    """Of long launches that are predicted within 0.7 %: the tensor core's rows before others, and then what moves least through L2."""
    found = [entry for entry in choice(5452, 11184, 12192) if not entry[0].reason]
    assert (found[0][1]["BM"], found[0][1]["BN"]) == (192, 192)
    assert found[1][0].microseconds < found[0][0].microseconds < 1.007 * found[1][0].microseconds and found[1][1]["BM"] == 176


def test_narrow_rows_take_longer():
    """B by rows: its tile has rows of BN, in which 176 columns are eleven rows of 32 bytes and 192 three of 128."""
    a, b, c = (sim.Element(np.empty(shape, np.uint16), "bf16") for shape in ((4096, 4096), (4096, 4096), (4096, 4096)))

    def clocks(by_rows, width):
        line = gemm_kernel.explain(a, b, c, TRANS_B=by_rows, BM=128, BN=width, BK=64, schedule={"use": "cooperative"}).split("\n")[1]
        return float(line.split()[6]) / float(line.split()[2])
    assert clocks(False, 176) == pytest.approx(clocks(False, 192), rel=0.1)
    assert clocks(True, 176) > 2 * clocks(True, 192) > 1.9 * clocks(False, 192)


def test_tiles_of_unequal_work_take_no_turns():
    """Groups of rows, some empty: which loads there are is known only at each tile."""
    from tileloom.kernels.grouped_gemm import contiguous_kernel
    a, b, c = (sim.Element(np.empty(shape, np.uint16), "bf16") for shape in ((512, 256), (4, 512, 256), (512, 512)))
    lines = contiguous_kernel.explain(a, b, c, np.zeros(512, np.int32)).split("\n")[1:]
    turns = [line for line in lines if "use=pingpong" in line]
    assert turns and all("differs from tile to tile" in line for line in turns) and float(lines[0].split()[0]) > 0


def test_slow_candidates_come_last():
    """What the assembler finds (spills, serialised products) rules a candidate out while another of the best is better; an error always does."""
    ranked = choice(4096, 4096, 4096)
    known, arguments = {}, {}
    for parameter in gemm_kernel.parameters:
        shape = {"a": (4096, 4096), "b": (4096, 4096), "c": (4096, 4096)}.get(parameter.name)
        if shape:
            known[parameter.name] = facts.of_signature(parameter, ("bf16", 2), parameter.name)
            arguments[parameter.name] = facts.Tensor(tl.bfloat16, shape, (shape[1], 1), 0, 0)
        elif not parameter.name.startswith("B"):
            known[parameter.name] = facts.constant(parameter.default)

    def emit(constants):
        return generate(gemm_kernel, {**known, **{name: facts.constant(value) for name, value in constants.items()}}, None)

    def chosen(*says):
        left = list(says)
        found = schedule.choose(gemm_kernel, arguments, lambda constants, own: left.pop(0) if left else None, emit, "sm_90a")
        return {name: found[name] for name in ("BM", "BN", "BK")}
    order = [constants for prediction, constants, _ in ranked if not prediction.reason]
    assert chosen() == order[0] and chosen("spills") == order[1] and chosen(ValueError(), "spills") == order[2]
    assert chosen(*["spills"] * 20) == order[0] and chosen(ValueError(), *["spills"] * 20) == order[1]
    with pytest.raises(ValueError):
        chosen(*[ValueError()] * 20)


@pytest.mark.parametrize("says, slow", [
    ("", False), ("warning: ptxas: 'k' spills registers: 16 bytes of stores, 16 bytes of loads", False),
    ("warning: ptxas: 'k' spills registers: 48 bytes of stores, 72 bytes of loads", True), ("warning: ptxas: C7510: serialized", True)])
def test_what_counts_as_slow(says, slow):
    compiled = object.__new__(CompiledKernel)
    compiled.diagnostics = says
    assert bool(compiled.slowed_down()) == slow


def times_of(m, n, k):
    """{(BM, BN, BK, use): predicted us} of the tiles that can be used."""
    return {(*constants.values(), own.get("use")): found.microseconds for found, constants, own in choice(m, n, k) if not found.reason}


def test_results_in_rows_of_whole_lines_leave_faster():
    """Short K, large results: widths that are no multiple of 64 columns leave in rows of 32 bytes (5016 x 30224 x 112 on an H200: 170 us with 192 x 144,
    108 with 128 x 256 and 192 x 192)."""
    times = times_of(5016, 30224, 112)
    for wide in ((128, 256, 64, None), (192, 192, 64, None), (256, 192, 64, None)):
        assert times[wide] < times[192, 144, 64, None]


def test_rows_that_split_lines_cost_at_any_depth():
    """Rows of K that begin within lines: each 128 bytes touch two, of one box or of two (2987 x 216 x 1624: 14.0 us with 64 x 112 x 64, 14.3 with 128)."""
    split, whole = times_of(2987, 216, 1624), times_of(2987, 216, 1664)
    deep, flat = (64, 112, 128, None), (64, 112, 64, None)
    assert abs(split[deep] / split[flat] - 1) < 0.08
    assert split[deep] > 1.15 * whole[deep] and split[flat] > 1.15 * whole[flat]


def test_a_product_in_flight_only_where_it_pays():
    """Slots are free earlier without one, where copies are what is waited for (9303 x 512 x 1688, 256 x 192: 33.0 us without, 35.5 with)."""
    assert choice(9303, 512, 1688)[0][2] == {"pending": 0}
    assert "pending" not in choice(4096, 4096, 4096)[0][2]


@pytest.mark.parametrize("d, blocks", [(64, 2), (128, 2), (256, 1)])
def test_blocks_of_rows(d, blocks):
    """On Blackwell attention takes two blocks of 128 rows where their scores, operands and sums have room; operands may lie over scores. Few rows are one block."""
    def first(length):
        q, k, v, o = (sim.Element(np.empty((1, length, 8, d), np.uint16), "bf16") for _ in range(4))
        return attention_kernel.explain(q, k, v, o, np.empty((1, 8, length), np.float32), 0.1, False, DK=d, DV=d, target="sm_100a").split("\n")[1]
    assert f"BM={128 * blocks} " in first(8192)
    assert "BM=128 " in first(128)


def test_sums_beside_each_other():
    """Tensor memory has two sums of 256 columns: of 256 x 128 one leaves while the next is made, of 256 x 256 none."""
    a, b, c = (sim.Element(np.empty(shape, np.uint16), "bf16") for shape in ((8192, 256), (8192, 256), (8192, 8192)))

    def microseconds(width):
        return float(gemm_kernel.explain(a, b, c, TRANS_B=True, BM=256, BN=width, BK=64, target="sm_100a").split("\n")[1].split()[0])
    assert microseconds(128) < microseconds(256)


def test_tiles_of_other_rows_have_to_win_where_there_are_several_rounds():
    """One round of 176 x 192 fits 650 x 6000 x 3152; four of them were slower than predicted (4096^3)."""
    assert choice(650, 6000, 3152)[0][1]["BM"] == 176
    for shape in ((4096, 4096, 4096), (4096, 4096, 7168), (16384, 16384, 16384)):
        assert choice(*shape)[0][1]["BM"] % 64 == 0
