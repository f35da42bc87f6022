"""Draw convergence curves from the JSON files that solve and pagerank write with --picture FILE.json.

    pip install -r examples/plots/requirements.txt
    python3 examples/plots/convergence.py --output cg.svg curve.json...
"""

import argparse
import json
import os

import matplotlib.pyplot as plt
from plot import save  # also sets Matplotlib up


# Late iterations on a logarithmic axis lie closer together than a pixel.
plt.rcParams["path.simplify_threshold"] = 0.5


def draw(runs, title, logarithmic=False):
    """Draws all curves and targets of all files on a logarithmic scale; with `logarithmic` the iterations, too."""
    figure, axes = plt.subplots(figsize=(7, 4))
    for run in runs:
        for curve in run["curves"]:
            points = [p for p in curve["points"] if p[1] is not None]
            last = curve["points"][-1][0] if curve["points"] else 0
            axes.plot(*(zip(*points) if points else ([], [])), label=curve["name"] + f": {last} iterations")
    for target in {run["target"] for run in runs if run["target"] > 0}:
        axes.axhline(target, color="#333333", linestyle="--", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_xlabel(runs[0]["x_label"])
    axes.set_ylabel(runs[0]["y_label"])
    axes.set_title(title or runs[0]["title"])
    axes.legend()
    if logarithmic:
        axes.set_xscale("log")
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1))  # outside: it would hide curves
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="JSON")
    parser.add_argument("--output", default="convergence.svg", metavar="SVG")
    parser.add_argument("--title", help="of the first file by default")
    options = parser.parse_args()
    runs = []
    for path in options.files:
        with open(path, encoding="utf-8") as file:
            runs.append(json.load(file))
    save(draw(runs, options.title), os.path.normpath(options.output))


if __name__ == "__main__":
    main()
