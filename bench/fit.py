"""Trains the learned factor of the cost model (lib/Schedule/LearnedFactor.cpp) on measured schedules, and writes its table. Needs no GPU.

    bench/fit.py [--data FILE] [--add SEARCH.json...] [--check [PARTS]] [--write]

The data (bench/results/h200-schedules.json.xz) are bf16 products (NT): for each shape the microseconds of many schedules, those of all tiles that the model
predicts to take less than 1.8 times the best, with variants of the best of them; measured as bench/search.py does. --add: takes the times of such a run's
JSON file in, and writes the data again. --check: leaves one of PARTS (4) parts of the shapes out at a time, and says what the picks of those take; without
it, all shapes are trained on. --write: writes lib/Schedule/LearnedFactor.inc.

What is learned is the logarithm of measured / predicted time up to a constant of each shape, as only the order within a shape counts, from the terms of the
prediction (include/tileloom/Schedule/Terms.h), which name no shape: boosted trees of one depth, squared error, weights that fall with the distance from the
shape's best time. The shapes of the benchmarks count more often.
"""

import argparse
import concurrent.futures
import json
import lzma
import math
import os
import re
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if "TILELOOM_INSTALLED" not in os.environ:
    sys.path.insert(0, os.path.join(ROOT, "python"))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import numpy as np  # noqa: E402

DATA, TABLE = "bench/results/h200-schedules.json.xz", "lib/Schedule/LearnedFactor.inc"
DEPTH, TREES, RATE, RIDGE, LEAST = 5, 200, 0.12, 1.0, 0.5
BINS, SHAPES_OF_TREE, TERMS_OF_TREE = 48, 0.8, 0.4
FAR, WIDTH, FLOOR, FIXED = 1.5, 0.08, 0.02, 2.5
TALL, HEIGHTS = 2, (80, 96, 112, 144, 160, 176, 208)  # shapes with times of tiles of these rows count so often
HEAVY = 1e11  # operations from which on a product draws the power limit: the factor is not applied to it


def parse(name):
    """(constants, schedule) of a schedule's name in bench/candidates.py."""
    tile, *fields = name.split()
    pairs = (field.split("=") for field in fields)
    return dict(zip(("BM", "BN", "BK"), map(int, tile.split("x")))), {key: int(value) if value.isdigit() else value for key, value in pairs}


def terms_of(shapes):
    """(terms, logarithm of the predicted time, logarithm of the measured one, number of the shape) of all schedules that are not refused."""
    with concurrent.futures.ProcessPoolExecutor() as pool:
        rows = [(*row, number) for number, own in enumerate(pool.map(rows_of, shapes.items(), chunksize=4)) for row in own]
    terms, predicted, measured, group = zip(*rows)
    return np.array(terms), np.log(predicted), np.log(measured), np.array(group)


def rows_of(item):
    """[(terms, predicted, measured)] of a shape's schedules."""
    import candidates
    from tileloom import schedule as model
    (shape, times), programs, rows = item, {}, []
    arguments, emit = candidates.gemm_kernel._open(*candidates.facts_of(*map(int, shape.split("x"))))
    for name, us in times.items():
        constants, own = parse(name)
        key = tuple(constants.values())
        if key not in programs:
            program = emit(constants)
            programs[key] = program.text, [model._number(binding, arguments) for binding in program.bindings]
        text, values = programs[key]
        found = model.predict(text, candidates.TARGET, {"split": 1, "keep": "none", "cluster": 1, **own}, values)
        if not found.reason:
            rows.append((found.terms[:found.term_count], found.microseconds / found.learned, us))
    return rows


def least(values, group):
    result = np.full(group.max() + 1, np.inf)
    np.minimum.at(result, group, values)
    return result[group]


def tree(bins, count, error, weight, columns):
    """([asked and cut of each node, level by level], leaves): a complete tree; a node without a gain sends all to the left."""
    node, nodes, rows = np.zeros(len(error), np.int64), [], np.arange(len(error))
    for level in range(DEPTH):
        size = 1 << level
        asked, cut, best = np.zeros(size, int), np.full(size, count), np.full(size, 1e-9)
        for column in columns:
            place = node * count + bins[:, column]
            g = np.bincount(place, error * weight, size * count).reshape(size, count).cumsum(1)
            h = np.bincount(place, weight, size * count).reshape(size, count).cumsum(1)
            all_g, all_h = g[:, -1:], h[:, -1:]
            gain = g**2 / (h + RIDGE) + (all_g - g)**2 / (all_h - h + RIDGE) - all_g**2 / (all_h + RIDGE)
            gain[(h < LEAST) | (all_h - h < LEAST)] = -1
            at = gain.argmax(1)
            better = gain[np.arange(size), at] > best
            best[better], asked[better], cut[better] = gain[np.arange(size), at][better], column, at[better]
        nodes.append((asked, cut))
        node = node * 2 + (bins[rows, asked[node]] > cut[node])
    size = 1 << DEPTH
    return nodes, -RATE * np.bincount(node, error * weight, size) / (np.bincount(node, weight, size) + RIDGE)


def answers(nodes, leaves, bins):
    node, rows = np.zeros(len(bins), np.int64), np.arange(len(bins))
    for asked, cut in nodes:
        node = node * 2 + (bins[rows, asked[node]] > cut[node])
    return leaves[node]


def edges_of(terms):
    """Cuts that may be asked for: floats, as the compiler has them, between values of the terms."""
    result = []
    for column in terms.T:
        values = np.unique(column.astype(np.float32))
        cuts = (values[1:] + values[:-1]) / 2 if len(values) <= BINS else np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1]).astype(np.float32))
        result.append(cuts.astype(np.float32))
    return result


def binned(terms, edges):
    return np.stack([np.searchsorted(cuts, column, side="left") for cuts, column in zip(edges, terms.T)], 1)


def train(terms, predicted, measured, group, often):
    random = np.random.default_rng(0)
    near = measured < least(measured, group) + np.log(FAR)
    terms, predicted, measured, group = terms[near], predicted[near], measured[near], group[near]
    edges = edges_of(terms)
    bins, count = binned(terms, edges), max(map(len, edges)) + 1
    weight = np.exp(-(measured - least(measured, group)) / WIDTH) + FLOOR
    weight *= often[group] * 20 / np.bincount(group, weight)[group]
    total = np.maximum(np.bincount(group, weight), 1e-9)
    guess, trees = predicted.copy(), []
    for _ in range(TREES):
        error = guess - measured
        error -= (np.bincount(group, error * weight) / total)[group]
        some = (random.random(len(total)) < SHAPES_OF_TREE)[group]
        columns = random.choice(terms.shape[1], int(terms.shape[1] * TERMS_OF_TREE), replace=False)
        trees.append(tree(bins[some], count, error[some], weight[some], columns))
        guess += answers(*trees[-1], bins)
    return edges, trees


def factors(model, terms):
    edges, trees = model
    bins = binned(terms, edges)
    return sum(answers(*one, bins) for one in trees)


def regrets(score, measured, group):
    order = np.lexsort((score, group))
    first = order[np.r_[True, group[order][1:] != group[order][:-1]]]
    return np.exp(measured[first] - least(measured, group)[first])


def says(name, ratios):
    print(f"{name}: the pick is within 4% of the best for {(ratios <= 1.04).sum()} of {len(ratios)}, {np.exp(np.log(ratios).mean()):.3f} x its time in "
          f"the mean, {ratios.max():.3f} at worst", flush=True)


def write(model, count, path):
    edges, trees = model
    asked, cuts, leaves = [], [], []
    for nodes, own in trees:
        for columns, at in nodes:
            asked += [int(column) for column in columns]
            cuts += [float(edges[column][place]) if place < len(edges[column]) else 1e30 for column, place in zip(columns, at)]
        leaves += own.tolist()

    def literal(value):
        text = f"{value:.8g}"
        return text + ("f" if "." in text or "e" in text else ".0f")

    def lines(values, form):
        words = [form(value) for value in values]
        return "\n".join("    " + " ".join(word + "," for word in words[i:i + 16]) for i in range(0, len(words), 16))
    with open(path, "w") as file:
        file.write(f"// The learned factor's trees: what each node asks, level by level of a tree, and the leaves.\n"
                   f"// Made by bench/fit.py --write from {DATA} ({count} shapes, H200); not to be edited.\n\nconstexpr unsigned trees = {len(trees)}, depth = {DEPTH};\n"
                   f"constexpr uint8_t asked[] = {{\n{lines(asked, str)}\n}};\nconstexpr float cuts[] = {{\n{lines(cuts, literal)}\n}};\n"
                   f"constexpr float leaves[] = {{\n{lines(leaves, lambda value: f'{value:.5f}f')}\n}};\n")


def read(path):
    with lzma.open(path, "rt") as file:
        data = json.load(file)
    return {shape: {data["schedules"][number]: us for number, us in times} for shape, times in data["shapes"].items()}


def store(shapes, path):
    names = sorted({name for times in shapes.values() for name in times})
    number = {name: i for i, name in enumerate(names)}
    rows = {shape: [[number[name], float(f"{us:.4g}")] for name, us in times.items()] for shape, times in shapes.items()}
    with lzma.open(path, "wt", preset=9) as file:
        json.dump({"schedules": names, "shapes": rows}, file, separators=(",", ":"))


def comparable(times):
    """{schedule: us} of a search's rows. Rounds with few repeats say up to 3 % more or less than the last one for all schedules alike; by the medians of
    those that were in both, each is brought to the last one."""
    rows = [row for row in times if re.match(r"\d+x", row[0])]

    def step(later, earlier):
        ratios = [row[later] / row[earlier] for row in rows if row[later] and row[earlier]]
        return statistics.median(ratios) if len(ratios) >= 3 else 1
    to_final, to_last = step(3, 2), step(4, 3)
    return {name: last or (final * to_last if final else quick * to_final * to_last) for name, _, quick, final, last in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.path.join(ROOT, DATA))
    parser.add_argument("--add", nargs="+", default=[], metavar="SEARCH.json")
    parser.add_argument("--check", type=int, nargs="?", const=4, metavar="PARTS")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    shapes = read(options.data)
    for path in options.add:
        with open(path) as file:
            for row in json.load(file)["rows"]:
                shapes[row["shape"]] = comparable(row["times"])
    if options.add:
        store(shapes, options.data)
    shapes = {shape: times for shape, times in shapes.items() if 2 * math.prod(map(int, shape.split("x"))) < HEAVY}
    from search import fixed_shapes
    fixed = {"x".join(map(str, shape)) for shape in fixed_shapes()}
    tall = {shape for shape, times in shapes.items() if any(parse(name)[0]["BM"] in HEIGHTS for name in times)}
    often = np.array([FIXED if shape in fixed else TALL if shape in tall else 1.0 for shape in shapes])
    terms, predicted, measured, group = terms_of(shapes)
    if options.check:
        part = np.random.default_rng(1).permutation(len(shapes)) % options.check
        ratios, before = [], []
        for own in range(options.check):
            out = (part == own)[group]
            left = np.unique(group[~out], return_inverse=True)[1]
            model = train(terms[~out], predicted[~out], measured[~out], left, often[part != own])
            number = np.unique(group[out], return_inverse=True)[1]
            ratios.append(regrets(predicted[out] + factors(model, terms[out]), measured[out], number))
            before.append(regrets(predicted[out], measured[out], number))
        says("without the factor", np.concatenate(before))
        says("with it, of shapes left out", np.concatenate(ratios))
    if options.write or not options.check:
        model = train(terms, predicted, measured, group, often)
        says("without the factor", regrets(predicted, measured, group))
        says("with it, of the shapes of the fit", regrets(predicted + factors(model, terms), measured, group))
        if options.write:
            write(model, len(shapes), os.path.join(ROOT, TABLE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
