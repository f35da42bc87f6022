"""Draw the benchmark's JSON files as SVG: speed-up per matrix, its distribution, and the roofline where bytes are known.

    pip install -r examples/plots/requirements.txt
    python3 examples/plots/plot.py bench.json... [--output DIR] [--method auto] [--general]
"""

import argparse
import json
import math
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# Keep text as text, and make the file depend on the JSON alone.
plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "merbit", "font.family": "sans-serif"})

PRECISIONS = ("f32", "f64")
COLOURS = {"f32": "#1f77b4", "f64": "#e07b00"}
RIVAL = "#777777"


def short(name):
    """gen:road:57.5M seed 1 -> road 57.5M; paths lose folders and ending."""
    name = name.split(" (")[0].split(", values")[0]
    if name.startswith("gen:"):
        return " ".join(name[4:].replace(" seed 1", "").split(":"))
    return os.path.splitext(os.path.basename(name))[0]


def load(paths, method, kind):
    """Returns the points to draw, the ceilings of the last file that has any, and what was measured where and when."""
    points, ceilings, about = [], None, []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
        ceilings = run.get("ceilings", ceilings)
        about.append(f"{run['device']}, {run['date'][:10]}")
        for result in run["results"]:
            ours = [m for m in result["methods"]
                    if m["kind"] == kind and m["name"].removesuffix("-ab") == method]
            if not ours or not ours[0]["verified"] or "speedup" not in ours[0]:
                continue
            rival = next(m for m in result["methods"] if m["name"] == ours[0]["compared_with"])
            points.append({"input": short(result["input"]), "precision": result["precision"],
                           "nnz": result.get("nnz"), "ours": ours[0], "rival": rival})
    return points, ceilings, f"y = {kind}, {method}, " + "; ".join(dict.fromkeys(about))


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def speedups(points, precision):
    return [p["ours"]["speedup"] for p in points if p["precision"] == precision]


def with_mean(points, precision):
    """Returns the legend's entry for a precision."""
    found = speedups(points, precision)
    return f"{precision}, geometric mean {geometric_mean(found):.2f}, worst {min(found):.2f}"


def spread_of(point):
    """Returns how far the quartiles of merbit's time move the speed-up down and up; 0 if the file has none."""
    ours = point["ours"]
    low, high = (ours["seconds"] / ours.get(f"seconds_quartile_{k}", ours["seconds"]) for k in (3, 1))
    return ours["speedup"] * max(0.0, 1 - low), ours["speedup"] * max(0.0, high - 1)


def draw_speedups(points, title):
    """Draws a bar per matrix and precision; whiskers show the quartiles of merbit's time."""
    inputs = list(dict.fromkeys(p["input"] for p in points))
    figure, axes = plt.subplots(figsize=(max(6, 0.42 * len(inputs) + 2), 4.4))
    for side, precision in zip((-0.2, 0.2), PRECISIONS):
        mine = [p for p in points if p["precision"] == precision]
        if not mine:
            continue
        places = [inputs.index(p["input"]) + side for p in mine]
        heights = [p["ours"]["speedup"] for p in mine]
        spread = [spread_of(p) for p in mine]
        axes.bar(places, heights, 0.38, color=COLOURS[precision], label=with_mean(points, precision))
        if any(map(any, spread)):
            axes.errorbar(places, heights, yerr=list(zip(*spread)), fmt="none", ecolor="#333333", capsize=2)
        for x, height, (_, above) in zip(places, heights, spread):
            axes.annotate(f"{height:.2f}", (x, height + above), ha="center", va="bottom", rotation=90,
                          fontsize=7, xytext=(0, 3), textcoords="offset points")
    axes.axhline(1.0, color="black", linewidth=1)
    axes.set_xticks(range(len(inputs)), inputs, rotation=35, ha="right", rotation_mode="anchor")
    axes.set_ylabel("speed-up over the best rival")
    axes.set_title(title)
    axes.margins(x=0.01, y=0.28)
    axes.legend(loc="upper right", ncols=2)
    return figure


def draw_roof(axes, ceilings, value_bytes, ends):
    """Draws the copy bandwidth as a slope, and the gather rate for each size of x as a level."""
    copy = ceilings["copy_bytes_per_second"]
    axes.plot(ends, [copy * x for x in ends], color="black", linewidth=1.2)
    axes.annotate(f"copy, {1e-12 * copy:.2f} TB/s", (ends[0], copy * ends[0]), fontsize=7,
                  va="bottom", xytext=(0, 8), textcoords="offset points")
    for gather in ceilings["gathers"]:
        size = gather["vector_bytes"]
        if gather["value_bytes"] == value_bytes and math.log2(size) in (16, 22, 25, 27, 30):
            text = f"{size / 2**20:.0f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"
            axes.axhline(gather["per_second"], color="#bbbbbb", linewidth=0.7, zorder=0)
            axes.annotate(f"gathers from {text}", (ends[1], gather["per_second"]), fontsize=6,
                          color="#888888", ha="right", va="bottom")


def draw_points(axes, points, colour):
    for p in points:
        ours, rival = p["ours"], p["rival"]
        x, y = p["nnz"] / ours["bytes"], p["nnz"] / ours["seconds"]
        axes.plot([p["nnz"] / rival["bytes"]], [p["nnz"] / rival["seconds"]], "o",
                  markerfacecolor="none", color=RIVAL, zorder=1)
        axes.plot([x], [y], "o", color=colour)
        axes.annotate(p["input"], (x, y), fontsize=6, xytext=(5, -2),
                      textcoords="offset points")
        if "limit_seconds" in ours:
            top = p["nnz"] / ours["limit_seconds"]
            axes.plot([x, x], [y, top], ":", color=colour, linewidth=0.8)
            axes.plot([x], [top], "_", color=colour, markersize=10)


def draw_roofline(points, ceilings, method, title):
    """Draws nonzeros per second against nonzeros per byte. The cap over a point is its own limit: the
    lower of the slope and the gather rate for its x."""
    shown = [p for p in PRECISIONS if speedups(points, p)]
    figure, panels = plt.subplots(1, len(shown), figsize=(6.5 * len(shown), 5.6), sharey=True,
                                  squeeze=False)
    for axes, precision in zip(panels[0], shown):
        mine = [p for p in points if p["precision"] == precision]
        axes.set_xscale("log")
        axes.set_yscale("log")
        draw_points(axes, mine, COLOURS[precision])
        if ceilings:
            x = [p["nnz"] / p["ours"]["bytes"] for p in mine]
            draw_roof(axes, ceilings, 4 if precision == "f32" else 8,
                      [min(x) / 1.4, max(x) * 1.4])
        axes.plot([], [], "o", color=COLOURS[precision], label=f"{method}, {precision}")
        axes.plot([], [], "o", markerfacecolor="none", color=RIVAL, label="best rival")
        axes.set_xlabel("nonzeros per byte moved")
        axes.legend(loc="upper left")
    panels[0][0].set_ylabel("nonzeros per second")
    figure.suptitle(title)
    return figure


def draw_distribution(points, title):
    """Draws for every speed-up the share of matrices that reach it."""
    figure, axes = plt.subplots(figsize=(6.4, 4.4))
    for precision in PRECISIONS:
        found = sorted(speedups(points, precision))
        if found:
            shares = [100.0 * (len(found) - i) / len(found) for i in range(len(found))]
            axes.step([found[0]] + found + [found[-1]], [100.0] + shares + [0.0], where="pre",
                      color=COLOURS[precision], label=with_mean(points, precision))
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlabel("speed-up over the best rival")
    axes.set_ylabel("percent of the matrices with at least this")
    axes.set_ylim(0, 105)
    axes.set_title(title)
    axes.legend(loc="lower left")
    return figure


def save(figure, path):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="JSON", help="written by bench --json")
    parser.add_argument("--output", default=".", metavar="DIR", help="where the SVG files go")
    parser.add_argument("--method", default="auto", help="auto by default")
    parser.add_argument("--general", action="store_true", help="alpha A x + beta y, not A x")
    options = parser.parse_args()
    kind = "alpha A x + beta y" if options.general else "A x"
    points, ceilings, title = load(options.runs, options.method, kind)
    if not points:
        sys.exit(f"no verified result of {options.method} for {kind} beside a rival's")
    figures = {"speedups": draw_speedups(points, title),
               "distribution": draw_distribution(points, title)}
    if all("bytes" in m for p in points for m in (p["ours"], p["rival"])):
        figures["roofline"] = draw_roofline(points, ceilings, options.method, title)
    for name, figure in figures.items():
        save(figure, os.path.join(options.output, f"{name}.svg"))


if __name__ == "__main__":
    main()
