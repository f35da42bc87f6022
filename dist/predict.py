#!/usr/bin/env python3
"""Measured times of products on several GPUs, and predictions for more GPUs: the tables of docs/distributed.md.

    python3 dist/predict.py          write them between their marks, from docs/results/distributed/*.json
    python3 dist/predict.py --check  fail if the page differs from what would be written

The files are what dist_bench --json wrote. A rank's product is predicted as

    pack + max(own product, exchange) + halo product

and each part as a time to start and a rate. Both are fitted to what was measured of the part alone. Sizes of halos come from the
partition (boxes of a grid, places on a curve, R-MAT's probabilities); the links between hosts are assumed (HOST, LINK below).
"""

import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "distributed.md"
RESULTS = ROOT / "docs" / "results" / "distributed"
REQUIRED = ("device", "date", "commit", "command")
HOST = 8  # GPUs connected by NVLink
LINK = (15e-6, 45e9)  # between hosts: start-up seconds over NCCL, bytes per second each way of a GPU with 400 Gb/s InfiniBand
HOP = 5e-6  # extra seconds of a sum per doubling of the hosts
GPUS = (2, 4, 8, 16, 64, 256, 1024)
WEAK, STRONG = 80e6, 600e6  # nonzeros per GPU; of all GPUs


# ---- Fits ----


def line(points):
    """Returns (start, rate) for time = start + size / rate, by least squares of relative errors; neither is negative."""
    points = [(size, seconds) for size, seconds in points if seconds > 0]
    if not points:
        return 0.0, math.inf
    weight = [1 / seconds**2 for _, seconds in points]
    total = sum(weight)
    mean_size = sum(w * size for w, (size, _) in zip(weight, points)) / total
    mean_time = sum(w * seconds for w, (_, seconds) in zip(weight, points)) / total
    spread = sum(w * (size - mean_size) ** 2 for w, (size, _) in zip(weight, points))
    slope = 0.0
    if spread > 0:
        slope = sum(w * (s - mean_size) * (t - mean_time) for w, (s, t) in zip(weight, points)) / spread
    start = mean_time - slope * mean_size
    if slope <= 0:
        return min(seconds for _, seconds in points), math.inf
    if start < 0:
        return 0.0, 1 / (sum(w * s * t for w, (s, t) in zip(weight, points)) / sum(w * s * s for w, (s, _) in zip(weight, points)))
    return start, 1 / slope


def at(fit, size):
    return fit[0] + size / fit[1] if size > 0 else 0.0


class Model:
    """The rates of a GPU and of the links within a host, fitted to the results of one kind of machine."""

    def __init__(self, results):
        self.results = results
        several = [r for r in results if r["ranks"] > 1]
        self.pack = line([(8 * r["rank_sent"], r["pack"]["seconds"]) for r in several])
        self.exchange = line([(8 * max(r["rank_halo"], r["rank_sent"]), r["exchange"]["seconds"]) for r in several])
        self.halo = line([(r["rank_halo_nnz"], r["halo_product"]["seconds"]) for r in several])
        self.sums = {}
        for r in results:
            self.sums.setdefault(r["ranks"], []).append(r["sum"]["seconds"])
        self.own, self.passes = {}, {}
        for name in {r["matrix"] for r in results}:
            mine = [r for r in results if r["matrix"] == name]
            self.own[name] = line([(r["rank_own_nnz"], r["own"]["seconds"]) for r in mine])
            one = [r for r in mine if r["ranks"] == 1]
            self.passes[name] = {
                task: line([(r["rank_rows"], r[task + "_iteration_seconds"] - r["product"]["seconds"])
                            for r in one if task + "_iteration_seconds" in r])
                for task in ("cg", "pagerank")
            }

    def sum_seconds(self, gpus):
        """Returns the time of a sum over all GPUs: as measured within a host, plus a hop per doubling of the hosts."""
        known = [ranks for ranks in self.sums if ranks <= gpus]
        seconds = sorted(self.sums[max(known)])[len(self.sums[max(known)]) // 2]
        return seconds + HOP * max(0.0, math.log2(gpus / HOST))

    def product(self, name, own_nnz, halo_nnz, halo, outside):
        """Returns the seconds of a rank's product; `outside` is the part of the halo that comes from other hosts."""
        bytes_in = 8 * halo
        exchange = at(self.exchange, bytes_in * (1 - outside))
        if outside > 0:
            exchange = max(exchange, at(LINK, bytes_in * outside))
        return at(self.pack, bytes_in) + max(at(self.own[name], own_nnz), exchange) + at(self.halo, halo_nnz)


# ---- Halos ----


def boxes(gpus):
    """Returns the GPUs along each side of a grid of boxes, as close to a cube as possible."""
    sides = [1, 1, 1]
    for _ in range(round(math.log2(gpus))):
        sides[sides.index(min(sides))] *= 2
    return sides


def box_halo(rows, gpus, corners):
    """Returns the halo of an inner box of `rows` points; without `corners`, for a 7-point stencil."""
    side = rows ** (1 / 3)
    wide = [side + min(count - 1, 2) for count in boxes(gpus)]
    if corners:
        return wide[0] * wide[1] * wide[2] - side**3
    return sum(width - side for width in wide) * side**2


def rmat_halo(nnz, gpus):
    """Returns the distinct columns of other ranks in a rank's share of an R-MAT matrix: columns with k ones are equally likely."""
    scale = max(3, round(math.log2(nnz / 15.5)))
    draws = nnz / gpus
    met = sum(math.comb(scale, k) * -math.expm1(-draws * 0.24**k * 0.76 ** (scale - k)) for k in range(scale + 1))
    return met * (1 - 1 / gpus)


def halo_of(name, nnz, gpus, base):
    """Returns (elements, part from other hosts) of a rank's halo, scaled from `base`, a result with several ranks."""
    rows = nnz / gpus * base["rank_rows"] / (base["nnz"] / base["ranks"])
    beyond = max(0.0, (gpus - HOST) / (gpus - 1))
    if name in ("stencil27", "stencil7"):  # a host has 2 x 2 x 2 boxes: half of each box's faces are inside it
        return box_halo(rows, gpus, name == "stencil27"), 0.5 if gpus > HOST else 0.0
    if name == "road":  # the boundary of a piece of a plane; that of eight pieces together is sqrt(8) times as long
        return base["rank_halo"] * math.sqrt(rows / base["rank_rows"]), math.sqrt(1 / HOST) if gpus > HOST else 0.0
    if name == "rmat":
        return rmat_halo(nnz, gpus), beyond
    share = (1 - 1 / gpus) / (1 - 1 / base["ranks"])
    return base["rank_halo"] * share * rows / base["rank_rows"], beyond


def forecast(model, name, nnz, gpus):
    """Returns (seconds of a product, of an iteration of CG, of one of PageRank) on one or several GPUs; None: not measured."""
    mine = [r for r in model.results if r["matrix"] == name]
    base = max(mine, key=lambda r: (r["ranks"], r["scaling"] == "weak"))
    rows = nnz / gpus * base["rank_rows"] / (base["nnz"] / base["ranks"])
    if gpus == 1:
        product = at(model.own[name], nnz)
    else:
        halo, outside = halo_of(name, nnz, gpus, base)
        halo_nnz = min(halo * base["rank_halo_nnz"] / max(base["rank_halo"], 1), nnz / gpus)
        product = model.product(name, nnz / gpus - halo_nnz, halo_nnz, halo, outside)
    solves = []
    for task, sums in (("cg", 2), ("pagerank", 1)):
        fit = model.passes[name][task]
        more = sums * (model.sum_seconds(gpus) - model.sum_seconds(1))
        solves.append(product + at(fit, rows) + more if fit != (0.0, math.inf) else None)
    return product, *solves


# ---- Tables ----


def load(paths):
    runs = []
    for path in paths:
        run = json.loads(path.read_text(encoding="utf-8"))
        missing = [field for field in REQUIRED if not run.get(field)]
        if missing:
            sys.exit(f"{path} lacks {', '.join(missing)}: say what was measured, where and when")
        if not all(r["verified"] for r in run["results"]):
            sys.exit(f"{path} has a wrong result")
        runs.append((path, run))
    return runs


def markdown(head, rows):
    cells = [head, ["---"] * 2 + ["---:"] * (len(head) - 2), *rows]
    return ["| " + " | ".join(row) + " |" for row in cells]


def us(seconds):
    return f"{1e6 * seconds:,.0f}" if seconds else ""


def measured(runs):
    """Yields a row for each matrix, kind of scaling and number of GPUs."""
    head = ["matrix", "scaling", "GPUs", "A x, us", "own part", "halo, KB", "exchange, us", "hidden, %", "efficiency, %", "model, us",
            "CG, us", "eff.", "PageRank, us", "eff.", "set-up, ms", "GPU MB"]
    lines = []
    for device in sorted({run["device"] for _, run in runs}):
        mine = [(path, run) for path, run in runs if run["device"] == device]
        results = [r for _, run in mine for r in run["results"]]
        model = Model(results)
        order = sorted(results, key=lambda r: (r["scaling"] != "weak", r["matrix"], r["ranks"]))
        rows = []
        for r in order:
            several = r["ranks"] > 1
            expected = model.product(r["matrix"], r["rank_own_nnz"], r["rank_halo_nnz"], max(r["rank_halo"], r["rank_sent"]), 0.0)
            rows.append([
                r["matrix"], r["scaling"], str(r["ranks"]), us(r["product"]["seconds"]), us(r["own"]["seconds"]),
                f"{8e-3 * r['rank_halo']:,.0f}", us(r["exchange"]["seconds"]) if several else "",
                f"{max(0.0, min(100.0, r['halo_hidden_percent'])):.0f}" if several else "",
                f"{100 * r['efficiency']:.0f}" if several else "", us(expected) if several else "",
                us(r.get("cg_iteration_seconds")), f"{100 * r['cg_efficiency']:.0f}" if several and "cg_efficiency" in r else "",
                us(r.get("pagerank_iteration_seconds")),
                f"{100 * r['pagerank_efficiency']:.0f}" if several and "pagerank_efficiency" in r else "",
                f"{1e3 * r['create_seconds']:,.0f}", f"{1e-6 * r['device_bytes']:,.0f}"])
        lines += markdown(head, rows) + [""]
        for path, run in mine:
            lines.append(f"{device}, {run['date'][:10]}, commit {run['commit']}, [{path.name}](results/distributed/{path.name}): "
                         f"`{run['command']}`.")
        lines.append("")
    return lines[:-1]


def predicted(runs):
    lines = []
    for device in sorted({run["device"] for _, run in runs}):
        model = Model([r for _, run in runs if run["device"] == device for r in run["results"]])
        rows = []
        for name in sorted({r["matrix"] for r in model.results if r["ranks"] > 1}):
            if name == "vast":
                continue
            for label, nnz_of in (("weak, efficiency in %", lambda gpus: WEAK * gpus), ("strong, times one GPU", lambda _: STRONG)):
                weak = label.startswith("weak")
                one = forecast(model, name, nnz_of(1), 1)
                for task, what in enumerate(("A x", "CG", "PageRank")):
                    if one[task] is None:
                        continue
                    values = [one[task] / forecast(model, name, nnz_of(gpus), gpus)[task] for gpus in GPUS]
                    rows.append([f"{name}, {what}", label, *(f"{100 * v:.0f}" if weak else f"{v:.1f}" for v in values)])
        lines += markdown([f"{device}", "scaling", *(str(gpus) for gpus in GPUS)], rows)
        lines += ["", f"Fitted to {device}: an exchange takes {1e6 * model.exchange[0]:.0f} us and {1e-9 * model.exchange[1]:.0f} GB/s, "
                  f"packing {1e6 * model.pack[0]:.0f} us and {1e-9 * model.pack[1]:.0f} GB/s, "
                  f"a sum of two numbers over a host {1e6 * model.sum_seconds(HOST):.0f} us.", ""]
    return lines[:-1]


def filled(text, runs):
    tables = {"measured": measured, "predicted": predicted}

    def fill(match):
        lines = tables[match[1]](runs) if runs else ["Nothing has been measured yet."]
        return "\n".join([f"<!-- {match[1]} -->", *lines, "<!-- end -->"])

    return re.sub(r"<!-- (measured|predicted) -->\n.*?<!-- end -->", fill, text, flags=re.S)


def main():
    text = PAGE.read_text(encoding="utf-8")
    made = filled(text, load(sorted(RESULTS.glob("*.json"))))
    if "--check" in sys.argv[1:]:
        if made != text:
            sys.exit("docs/distributed.md is not as docs/results/distributed/ says; run python3 dist/predict.py")
    else:
        PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
