"""A Markdown table of the benchmark's JSON files: matrix by method, microseconds and percent of the
limit; how far AUTO is off the best method; how evenly each method spends its time.

    python3 examples/plots/methods.py bench.json...
"""

import argparse
import json
import os
import statistics

STUDIES = ("warp", "nonzero", "path", "static", "reference")
OTHER_RESULTS = ("light", "merbit-dual", "merbit-tile")


def short(name):
    """gen:road:57.5M seed 1 -> road; paths lose folders and ending."""
    name = name.split(" (")[0].split(", values")[0]
    if name.startswith("gen:"):
        return name.split(":")[1]
    return os.path.splitext(os.path.basename(name))[0]


def load(paths):
    """Returns {(side, precision): {input: {method: its JSON}}}, in the order of the files."""
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
        side = "GPU" if run["compute_capability"] else "CPU"
        for result in run["results"]:
            methods = {m["name"]: dict(m, nnz=result["nnz"]) for m in result["methods"]
                       if m["kind"] == "A x" and m["verified"] and m.get("seconds")
                       and not m["name"].startswith(OTHER_RESULTS)}
            table = found.setdefault((side, result["precision"]), {})
            table.setdefault(short(result["input"]), {}).update(methods)
    return found


def cell(method):
    if method is None:
        return "-"
    microseconds = 1e6 * method["seconds"]
    text = f"{microseconds:.1f}" if microseconds < 100 else f"{microseconds:.0f}"
    percent = method.get("percent_of_limit")
    return f"{text} ({percent:.0f})" if percent is not None else text


def best_rival(methods):
    rivals = [m for name, m in methods.items() if name.startswith("cusparse")]
    return min(rivals, key=lambda m: m["seconds"]) if rivals else None


def print_table(title, table):
    names = [n for n in dict.fromkeys(name for methods in table.values() for name in methods)
             if not n.startswith("cusparse")]
    rivals = any(best_rival(methods) for methods in table.values())
    heads = names + (["best cuSPARSE"] if rivals else [])
    print(f"\n## {title}: microseconds (percent of the limit)\n")
    print("| matrix | " + " | ".join(heads) + " |")
    print("|---|" + "--:|" * len(heads))
    for matrix, methods in table.items():
        cells = [cell(methods.get(name)) for name in names]
        if rivals:
            best = best_rival(methods)
            cells.append(cell(best) + " " + best["name"][9:] if best else "-")
        print(f"| {matrix} | " + " | ".join(cells) + " |")


def ours(name):
    return name != "auto" and not name.startswith("cusparse") and not name.startswith(STUDIES)


def print_choice(table):
    """Returns AUTO's time over that of the best method it may choose; 1 within the spread of the repeats."""
    off = {}
    for matrix, methods in table.items():
        rivals = [m for name, m in methods.items() if ours(name)]
        if "auto" in methods and rivals:
            best, auto = min(rivals, key=lambda m: m["seconds"]), methods["auto"]
            tie = auto["seconds_quartile_1"] <= best["seconds_quartile_3"]
            off[matrix] = (1 if tie else auto["seconds"] / best["seconds"], best["name"])
    if off:
        near = sum(ratio <= 1.05 for ratio, _ in off.values())
        worst = sorted(off.items(), key=lambda item: -item[1][0])[:4]
        print(f"\nAUTO within 5% of the best method on {near} of {len(off)}; furthest: "
              + ", ".join(f"{m} {r:.2f} ({n})" for m, (r, n) in worst))


def print_spread(table):
    """Returns the coefficients of variation of the time per nonzero over the matrices."""
    spreads = []
    for name in dict.fromkeys(name for methods in table.values() for name in methods):
        times = [m[name]["seconds"] / m[name]["nnz"] for m in table.values() if name in m]
        if len(times) > 2:
            spreads.append((statistics.pstdev(times) / statistics.mean(times), name))
    print("\nspread of the time per nonzero: "
          + ", ".join(f"{name} {spread:.2f}" for spread, name in sorted(spreads)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("files", nargs="+")
    for (side, precision), table in load(parser.parse_args().files).items():
        print_table(f"{side}, {precision}", table)
        print_choice(table)
        print_spread(table)


if __name__ == "__main__":
    main()
