"""Plots of results files, without a GPU: needs matplotlib (`pip install tileloom[plots]`, or matplotlib itself).

    bench/plot.py FILE... [--prefix PREFIX]

FILE: what bench/gemm.py --json wrote, or bench/search.py --json; several of one kind go into one plot. Written are PREFIX-ratio.png (time of the
peers / ours, by shape), PREFIX-roofline.png (share of the dense peak against arithmetic intensity), PREFIX-search.png (time of the model's choice
/ the best one found).
"""

import argparse
import json
import re
import sys

BANDWIDTH = 4.8  # TB/s of an H200


def read(paths):
    """(rows of benchmarks, rows of searches) of files."""
    rows, searches = [], []
    for path in paths:
        with open(path) as file:
            for row in json.load(file)["rows"]:
                (searches if "best_ms" in row else rows).append(row)
    return rows, searches


def grouped(rows):
    """{work: {shape: {implementation: row}}}, in the order of the rows."""
    works = {}
    for row in rows:
        works.setdefault(row["work"], {}).setdefault(row["shape"], {})[row["impl"]] = row
    return works


def ratios(pyplot, works, path):
    """A row of bars for each work with several shapes; those with one shape share a row."""
    panels = [(work, shapes) for work, shapes in works.items() if len(shapes) > 1]
    single = {f"{work}\n{shape}": own for work, shapes in works.items() if len(shapes) == 1 for shape, own in shapes.items()}
    panels += [("one shape", single)] if single else []
    figure, axes = pyplot.subplots(len(panels), 1, figsize=(12, 2.8 * len(panels) + 0.5), squeeze=False)
    for axis, (work, shapes) in zip(axes[:, 0], panels):
        peers = list(dict.fromkeys(name for own in shapes.values() for name in own if name != "tileloom"))
        for index, peer in enumerate(peers):
            known = [(at, own) for at, own in enumerate(shapes.values()) if peer in own]
            axis.bar([at + 0.8 * (index + 0.5) / len(peers) - 0.4 for at, _ in known], [own[peer]["ms"] / own["tileloom"]["ms"] for _, own in known],
                     0.8 / len(peers), label=peer)
        axis.axhline(1, color="black", linewidth=0.8)
        axis.set_ylim(0.6)
        axis.set_ylabel(f"{work}\npeer time / ours", fontsize=8)
        axis.set_xticks(range(len(shapes)), list(shapes), rotation=0 if shapes is single else 30, ha="center" if shapes is single else "right", fontsize=7)
        axis.legend(fontsize=7, ncol=len(peers), loc="lower right")
    save(pyplot, figure, path)


def roofline(pyplot, works, path):
    figure, axis = pyplot.subplots(figsize=(9, 6))
    intensities = [2 * 1.1**step for step in range(97)]
    peaks = set()
    for work, shapes in works.items():
        own = [row["tileloom"] for row in shapes.values() if row.get("tileloom", {}).get("peak")]
        peaks |= {row["peak"] for row in own}
        axis.scatter([row["tflops"] * 1e3 / row["gbps"] for row in own], [row["tflops"] / row["peak"] for row in own], s=18, label=work)
    for peak in sorted(peaks):
        axis.plot(intensities, [min(1, BANDWIDTH * x / peak) for x in intensities], linewidth=0.8, color="grey")
        axis.annotate(f"{peak:g} TFLOP/s", (peak / BANDWIDTH, 1.01), fontsize=7)
    axis.set_xscale("log")
    axis.set_xlabel("FLOP per byte of the matrices")
    axis.set_ylabel("share of the dense peak")
    axis.set_ylim(0, 1.08)
    axis.set_xlim(intensities[0], intensities[-1])
    axis.legend(fontsize=8)
    save(pyplot, figure, path)


def searched(pyplot, rows, path):
    figure, axis = pyplot.subplots(figsize=(12, 4))
    axis.bar(range(len(rows)), [row["model_ms"] / row["best_ms"] for row in rows], 0.7)
    axis.axhline(1.04, color="black", linewidth=0.8)
    axis.set_ylim(0.95)
    axis.set_ylabel("model's choice / best of the search")
    axis.set_xticks(range(len(rows)), [row["shape"] for row in rows], rotation=60, ha="right", fontsize=7)
    save(pyplot, figure, path)


def save(pyplot, figure, path):
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
    print(path)


def plot(rows, searches, prefix):
    """Writes the plots; says so if there is no matplotlib."""
    try:
        import matplotlib
    except ImportError:
        print(f"no matplotlib here: bench/plot.py FILE --prefix {prefix} makes the plots elsewhere")
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot
    if rows:
        works = grouped(rows)
        ratios(pyplot, works, f"{prefix}-ratio.png")
        roofline(pyplot, works, f"{prefix}-roofline.png")
    if searches:
        searched(pyplot, searches, f"{prefix}-search.png")
    return True


def lengths(rows, path):
    """TFLOP/s against length for each head dimension; says so if there is no matplotlib."""
    try:
        import matplotlib
    except ImportError:
        print(f"no matplotlib here: bench/attention.py --from FILE --plot {path} makes the plot elsewhere")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot
    lines = {}
    for row in rows:
        found = re.fullmatch(r"B\d+ S(\d+) H(\d+)/\2 D(\d+) (\w+)", row["shape"])
        if row["work"] == "attention_bf16" and found and not row.get("schedule"):
            lines.setdefault((int(found[3]), found[4]), {}).setdefault(row["impl"], {})[int(found[1])] = row["tflops"]
    if not lines:
        print("no rows of attention_bf16 to plot")
        return
    panels = sorted(lines)
    figure, axes = pyplot.subplots(1, len(panels), figsize=(3.4 * len(panels), 3.4), squeeze=False, sharey=True)
    for axis, panel in zip(axes[0], panels):
        for impl, points in sorted(lines[panel].items()):
            axis.plot(sorted(points), [points[length] for length in sorted(points)], marker="o", label=impl)
        axis.set(xscale="log", title=f"D {panel[0]} {panel[1]}", xlabel="length")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("TFLOP/s")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--prefix", default="gemm")
    options = parser.parse_args()
    return 0 if plot(*read(options.files), options.prefix) else 1


if __name__ == "__main__":
    sys.exit(main())
