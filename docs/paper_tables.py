"""The tables of docs/papers.md: a function for each view of a file in docs/results/, for docs/tables.py.

Ratios are the rival's time over the method's, as in all of merbit's texts: above 1, the method is faster.
"""

import math
import re
import statistics

GROUPS = {"f32": 14, "f64": 7}  # the MERBIT paper's bounds of the mean row length: its sigmas
COUNTS = (50, 100, 150, 200)


def markdown(columns, rows, left=1):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * left + "--:|" * (len(columns) - left)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def short(name):
    name = name.removesuffix(" (random values)").removesuffix(", ones").replace(" seed 1", "")
    return name.removeprefix("gen:")


def mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def micro(seconds):
    return f"{1e6 * seconds:.1f}" if seconds < 99.95e-6 else f"{1e6 * seconds:,.0f}"


def milli(seconds):
    digits = 2 if seconds < 9.995e-3 else 1 if seconds < 0.09995 else 0
    return f"{1e3 * seconds:,.{digits}f}"


def times(result, kind="A x"):
    """{name: seconds} of one matrix in one precision."""
    return {m["name"]: m["seconds"] for m in result["methods"] if m.get("kind") == kind}


def of(run, precision):
    return [result for result in run["results"] if result["precision"] == precision]


def precisions(run):
    return [p for p in ("f32", "f64") if of(run, p)]


# ---- MERBIT ------------------------------------------------------------------------------------
def published(precision):
    return f"merbit-dual-s{GROUPS[precision]}"


def speedups(run):
    """Tables 3 and 4 of the MERBIT paper: over cuSPARSE's COO, its first algorithm, which is the default."""
    rows = []
    for precision in precisions(run):
        found = [(r, times(r)) for r in of(run, precision)]
        ours, sigma = published(precision), GROUPS[precision]
        kernels = (("MERBIT as published", ours), ("MERBIT, carry-out commit", f"merbit-s{sigma}"),
                   ("cuSPARSE CSR, ALG1", "cusparse-csr-alg1"), ("cuSPARSE CSR, ALG2", "cusparse-csr-alg2"),
                   ("cuSPARSE COO, ALG2", "cusparse-coo-alg2"), ("MERGE", "merge"), ("SCAN", "scan"), ("AUTO", "auto"))
        for title, name in kernels:
            ratios = [t["cusparse-coo-alg1"] / t[name] for _, t in found]
            low = [t["cusparse-coo-alg1"] / t[name] for r, t in found if r["row_length_mean"] <= sigma]
            high = [t["cusparse-coo-alg1"] / t[name] for r, t in found if r["row_length_mean"] > sigma]
            wins = sum(t[name] < t[ours] for _, t in found)
            rows.append([f"{precision}, {title}", f"{min(ratios):.2f}", f"{max(ratios):.2f}",
                         f"{statistics.median(ratios):.2f}", f"{mean(ratios):.2f}",
                         *(f"{mean(group):.2f} ({len(group)})" if group else "-" for group in (low, high)),
                         "-" if name == ours else str(wins)])
    return markdown(["kernel", "least", "most", "median", "geometric mean", "d <= 14 (f32), 7 (f64)", "d above",
                     "faster than MERBIT"], rows)


def headline(run):
    """What the paper's first claim is here: over the best of cuSPARSE's COO and CSR, and how often it is fastest."""
    rows = []
    for precision in precisions(run):
        found = [times(r) for r in of(run, precision)]
        rivals = [n for n in found[0] if n.startswith("cusparse-")]
        ours = published(precision)
        best = [min(t[n] for n in rivals) / t[ours] for t in found]
        coo = [t["cusparse-coo-alg1"] / t[ours] for t in found]
        slow = [t["cusparse-coo-alg2"] / t[ours] for t in found]
        csr = [min(t[n] for n in rivals if "csr" in n) / t[ours] for t in found]
        auto = [t[ours] / t["auto"] for t in found]
        tile = [times(r, "tile build")[ours.replace("dual", "tile")] / times(r)[ours] for r in of(run, precision)]
        rows.append([precision, f"{mean(slow):.2f}", f"{mean(coo):.2f}", f"{mean(csr):.2f}", f"{mean(best):.2f}",
                     f"{sum(r > 1 for r in best)} of {len(best)}", f"{mean(auto):.2f}",
                     f"{statistics.median(tile):.2f} ({min(tile):.2f} to {max(tile):.2f})"])
    return markdown(["", "over COO, ALG2", "over COO, ALG1", "over the better CSR", "over the best of the four",
                     "fastest of the five", "AUTO over MERBIT", "building TILE, products"], rows)


def throughput(run):
    """Figures 6 and 7: GFLOP/s, sorted by those of cuSPARSE's CSR in f32."""
    rows = {}
    for precision in precisions(run):
        for r in of(run, precision):
            t = times(r)
            about = [f"{r['row_length_mean']:.1f}", f"{r['row_length_variation']:.2f}"]
            row = rows.setdefault(short(r["input"]), about)
            for name in ("cusparse-csr-alg1", "cusparse-coo-alg1", published(precision), "auto"):
                row.append(f"{2e-9 * r['nnz'] / t[name]:.0f}")
    heads = [f"{p}: {n}" for p in precisions(run) for n in ("CSR", "COO", "MERBIT", "AUTO")]
    ordered = sorted(rows.items(), key=lambda row: float(row[1][2]))
    return markdown(["matrix", "d", "variation", *heads], [[name, *cells] for name, cells in ordered])


def sigma(run):
    """Figure 10: the dual-buffer commit over cuSPARSE's COO, and the share of tiles that lie within one row."""
    ratios, shares, bits = {}, {}, {}
    for r in run["results"]:
        coo, case = times(r)["cusparse-coo-alg1"], f"{r['precision']}, {short(r['input'])}"
        for m in r["methods"]:
            match = re.fullmatch(r"merbit-dual-s(\d+)", m["name"])
            if match:
                value = int(match[1])
                ratios[value, case] = f"{coo / m['seconds']:.3f}"
                shares[value, short(r["input"])] = re.search(r"([\d.]+)% of the tiles within", m["about"])[1]
                bits[value] = re.search(r"(\d+)-bit", m["about"])[1]
    cases, inputs = (list(dict.fromkeys(case for _, case in found)) for found in (ratios, shares))
    return markdown(["sigma", "bits of a lane", *cases, *(f"% of tiles, {name}" for name in inputs)],
                    [[str(value), bits[value], *(ratios.get((value, case), "-") for case in cases),
                      *(shares.get((value, name), "-") for name in inputs)] for value in sorted(bits)])


def profile(run):
    """Table 5 of the MERBIT paper; stalls are shares of the cycles between two instructions of a warp."""
    coo = next(r for r in run["results"] if "COO" in r["kernel"])["metrics"]["dram__bytes_read.sum"]
    peak = ".avg.pct_of_peak_sustained_elapsed"
    rows = []
    for r in run["results"]:
        m, row = r["metrics"], [r["kernel"]]
        between = m["smsp__average_warp_latency_per_inst_issued.ratio"]
        row.append(f"{1e-3 * m['gpu__time_duration.sum']:.1f}")
        row += [f"{m[f'{name}{peak}']:.0f}" for name in ("gpu__compute_memory_throughput",
                                                         "gpu__compute_memory_access_throughput",
                                                         "sm__memory_throughput")]
        loads = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
        row.append(f"{m[loads.format('requests')] / m[loads.format('sectors')]:.3f}")
        row += [f"{m['l1tex__t_sector_hit_rate.pct']:.0f}", f"{m['lts__t_sector_hit_rate.pct']:.0f}"]
        row.append(f"{m['dram__bytes_read.sum'] / coo:.2f}")
        row += [f"{m[f'smsp__{name}.avg.per_cycle_active']:.2f}" for name in ("warps_active", "warps_eligible",
                                                                              "inst_executed")]
        row.append(f"{between:.1f}")
        for stall in ("long_scoreboard", "short_scoreboard", "mio_throttle", "barrier"):
            row.append(f"{100 * m[f'smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio'] / between:.0f}")
        rows.append([*row, str(r["registers"])])
    return markdown(["kernel", "us", "Thr", "Busy", "Pipes", "Coal", "L1", "L2", "DRAM", "Active", "Eligible", "IPC",
                     "WCPI", "Long", "Short", "MIO", "Bar", "registers"], rows)


LOOPS = (("AUTO", "merbit"), ("MERBIT", "by-merbit"), ("SCAN", "by-scan"), ("CSR, ALG1", "cusparse-csr-alg1"),
         ("CSR, ALG2", "cusparse-csr-alg2"), ("COO, ALG2", "cusparse-coo-alg2"))


def iterations(run):
    """Tables 7 and 9: T = T_p + T_r over that of cuSPARSE's COO, geometric means, and wins over MERBIT.

    T_r is the count times an iteration, also where a loop stopped before, since its vector changed no more.
    """
    rows = []
    for task in dict.fromkeys(r["task"] for r in run["results"]):
        for count in dict.fromkeys(r["fixed_iterations"] for r in run["results"] if r["task"] == task):
            ratios, wins, cases = {}, {}, 0
            for r in run["results"]:
                if r["task"] == task and r["fixed_iterations"] == count:
                    total = {m["name"]: m["prepare_seconds"] + count * m["iteration_seconds"]
                             for m in r["methods"] if "total_seconds" in m}
                    cases += 1
                    for title, name in LOOPS:
                        if name in total:
                            ratios.setdefault(title, []).append(total["cusparse-coo-alg1"] / total[name])
                            wins[title] = wins.get(title, 0) + (total[name] < total["by-merbit"])
            cells = [f"{mean(ratios[t]):.2f}" + ("" if t == "MERBIT" else f" ({wins[t]})") if t in ratios else "-"
                     for t, _ in LOOPS]
            rows.append([{"pagerank": "PageRank", "bicgstab": "BiCGSTAB"}[task], str(count), str(cases), *cells])
    return markdown(["task", "iterations", "graphs", *(t for t, _ in LOOPS)], rows)


def ends(run):
    """Tables 6 and 8: T and in parentheses T_p, in milliseconds, and the iterations."""
    shown = (("COO, ALG1", "cusparse-coo-alg1"),) + LOOPS
    rows = []
    for r in run["results"]:
        found = {m["name"]: m for m in r["methods"] if "total_seconds" in m}
        row = [short(r["input"])]
        for _, name in shown:
            m = found.get(name)
            if m is None:
                row.append("-")
                continue
            end = "" if m["stop"] == "converged" else f" ({m['stop']} at {m['estimate']:.0e})"
            row.append(f"{milli(m['total_seconds'])} ({milli(m['prepare_seconds'])}), {m['iterations']}{end}")
        rows.append(row)
    return markdown(["graph", *(t for t, _ in shown)], rows)


# ---- CB-SpMV -----------------------------------------------------------------------------------
ABLATION = (("I: data together, all COO", "cb-coo"), ("I and the queue", "cb-coo-balanced"),
            ("II: columns left out, formats", "cb-t256"), ("II and the queue", "cb-balanced"),
            ("ours: 128 threads, strips in order", "cb"), ("no columns left out", "cb-plain"),
            ("columns always left out", "cb-listed"), ("COO below 20", "cb-coo20"), ("dense from 64", "cb-dense64"),
            ("dense from 200", "cb-dense200"))


def best_blocks(t):
    return min(seconds for name, seconds in t.items() if name.startswith("cusparse-bsr"))


def ablation(run):
    """Figure 11, microseconds; the last column: geometric mean of the time of I over the row's."""
    found = [times(r) for r in run["results"]]
    rows = []
    for title, name in ABLATION:
        if all(name in t for t in found):
            gain = mean([t["cb-coo"] / t[name] for t in found])
            rows.append([title, *(micro(t[name]) for t in found), f"{gain:.2f}"])
    rows.append(["best cuSPARSE BSR", *(micro(best_blocks(t)) for t in found),
                 f"{mean([t['cb-coo'] / best_blocks(t) for t in found]):.2f}"])
    rows.append(["AUTO", *(micro(t["auto"]) for t in found), f"{mean([t['cb-coo'] / t['auto'] for t in found]):.2f}"])
    return markdown(["", *(short(r["input"]) for r in run["results"]), "I over it"], rows)


def preparation(run):
    """Figure 12: milliseconds to prepare, and memory over that of CSR."""
    rows = []
    for r in run["results"]:
        m = {m["name"]: m for m in r["methods"]}
        blocks = min((v for n, v in m.items() if n.startswith("cusparse-bsr") and v["kind"] == "A x"),
                     key=lambda v: v["seconds"])
        generic = m[blocks["name"].replace("bsrmv", "bsr")]  # the legacy product takes the same arrays
        cells = [short(r["input"])]
        for plan, seconds in ((m["cb"], m["cb"]["plan_seconds"]), (m["cb-balanced"], m["cb-balanced"]["plan_seconds"]),
                              (blocks, generic["convert_seconds"] + generic["preprocess_seconds"]),
                              (m["auto"], m["auto"]["plan_seconds"])):
            cells += [milli(seconds), f"{plan['memory_bytes'] / plan['csr_memory_bytes']:.2f}"]
        rows.append(cells)
    heads = ("CB", "CB with the queue", "cuSPARSE BSR (csr2bsr)", "AUTO")
    return markdown(["matrix", *(head for h in heads for head in (f"{h}: ms", "memory"))], rows)


def histogram(run):
    """Figures 3 and 4: how full the blocks of 16 x 16 are."""
    rows = []
    for r in run["results"]:
        h = r["block_histogram"]
        share = [100 * n / h["blocks"] for n in h["by_32"]]
        fine = [100 * n / h["blocks"] for n in h["first_by_8"]]
        rows.append([short(r["input"]), f"{h['blocks']:,}", *(f"{s:.1f}" for s in fine), f"{share[1]:.1f}",
                     f"{share[2] + share[3]:.1f}", f"{sum(share[4:]):.1f}", f"{h['deviation_of_8_blocks']:.1f}"])
    return markdown(["matrix", "blocks", "% with 1 to 8", "9 to 16", "17 to 24", "25 to 32", "33 to 64", "65 to 128",
                     "129 to 256", "deviation of 8 blocks"], rows)


# ---- Merge path --------------------------------------------------------------------------------
TITLES = {"cusparse-csr-alg1": "cuSPARSE CSR, ALG1", "cusparse-csr-alg2": "cuSPARSE CSR, ALG2", "merge": "MERGE",
          "auto": "AUTO", "static": "OpenMP loop over rows"}


def shown_methods(run):
    names = [m["name"] for m in run["results"][0]["methods"] if m["kind"] == "A x"]
    return [n for n in TITLES if n in names]


def aspect(run):
    """Figures 5 and 6: dense matrices of the same size, GFLOP/s."""
    names = shown_methods(run)
    rows = [[f"{r['rows']:,} x {r['cols']:,}", *(f"{2e-9 * r['nnz'] / times(r)[n]:.3g}" for n in names)]
            for r in run["results"]]
    return markdown(["rows x columns", *(TITLES[n] for n in names)], rows)


def consistency(run):
    """Figures 3, 4 and 9: correlations over the suite, and the spread of the time for each nonzero."""
    rows = []
    for name in shown_methods(run):
        cases = [(r["nnz"], times(r)[name], r["row_length_variation"]) for r in run["results"]]
        rates = [2e-9 * n / s for n, s, _ in cases]
        each = [1e12 * s / n for n, s, _ in cases]
        sizes, seconds, variations = zip(*cases)
        logarithms = [list(map(math.log, numbers)) for numbers in (sizes, seconds)]
        found = (statistics.correlation(sizes, seconds), statistics.correlation(*logarithms),
                 statistics.correlation(rates, variations))
        rows.append([TITLES[name], *(f"{value:.2f}" for value in found), f"{min(each):,.0f} to {max(each):,.0f}"])
    return markdown([f"{len(run['results'])} matrices", "time and nonzeros", "of their logarithms",
                     "GFLOP/s and row-length variation", "picoseconds a nonzero"], rows)


def binding(run):
    """Threads that are bound, and parts on their nodes."""
    rows = {}
    for r in run["results"]:
        rows.setdefault(r["placed"], []).append((short(r["input"]), times(r)["merge"],
                                                 next(m for m in r["methods"] if m["name"] == "merge")["plan_seconds"]))
    names = [name for name, _, _ in next(iter(rows.values()))]
    return markdown(["", *(f"{n}: us" for n in names), "plan, ms"],
                    [[placed, *(micro(s) for _, s, _ in cells), milli(max(p for _, _, p in cells))]
                     for placed, cells in rows.items()])


# ---- Five kernels ------------------------------------------------------------------------------
FIVE = (("warp per row", "warp-rows"), ("warp loop", "warp-loop"), ("warp tiled", "warp-tiled"),
        ("nonzero split", "nonzero-split"), ("three-kernel merge path", "path-walk"),
        ("the same, walking in global memory", "path-global"), ("with 32 steps a thread", "tune-global-s32"),
        ("with 256 steps a thread", "tune-global-s256"), ("cuSPARSE CSR", "cusparse-csr-alg1"), ("AUTO", "auto"))


def five(run):
    """Figures 3 to 5 of the report: GFLOP/s and, behind it, GB/s."""
    rows = []
    for precision in precisions(run):
        for title, name in FIVE:
            row = [f"{precision}, {title}"]
            for r in of(run, precision):
                m = {m["name"]: m for m in r["methods"]}.get(name)
                row.append("-" if m is None else f"{m['gflops']:.1f}, {1e-9 * m['bytes_per_second']:,.0f}"
                           + (f" {m['about'].split()[0].upper()}" if name == "auto" else ""))
            rows.append(row)
    return markdown(["kernel", *(short(r["input"]) for r in of(run, precisions(run)[0]))], rows)


# ---- Blocks ------------------------------------------------------------------------------------
KERNELS = (("row-major", "rowmajor"), ("thread-private", "private"), ("team-based", "team"), ("vector", "vector"))


def oversubscription(run):
    """Tables 7 to 12 of Chirila's report: for each number of threads the best of 1, 2, 4, 8 and 16 waves."""
    t = times(run["results"][0])
    threads = sorted({int(m[1]) for m in (re.search(r"-t(\d+)-w", n) for n in t) if m})
    rows = []
    for title, kernel in KERNELS:
        row = [title]
        for count in threads:
            prefix = f"sweep-bsr-{kernel}-t{count}-w"
            found = {int(n.removeprefix(prefix)): s for n, s in t.items() if n.startswith(prefix)}
            if not found:
                row.append("-")
                continue
            best = min(found, key=found.get)
            row.append(f"{micro(found[best])} ({best}; {micro(max(found.values()))})")
        rows.append(row)
    return markdown(["us at best (waves; at worst)", *(f"{count} threads" for count in threads)], rows)


def kernels(run):
    """Table 13: the best of each, over the best cuSPARSE BSR, and the share of the copy bandwidth."""
    result, copy = run["results"][0], run["ceilings"]["copy_bytes_per_second"]
    m = {m["name"]: m for m in result["methods"] if m["kind"] == "A x"}
    best = min((v for n, v in m.items() if n.startswith("cusparse-bsr")), key=lambda v: v["seconds"])
    rows = [[f"best cuSPARSE ({best['name'].removeprefix('cusparse-')})", best]]
    for title, kernel in KERNELS:
        own = (v for n, v in m.items() if f"bsr-{kernel}" in n)
        rows.append([title, min(own, key=lambda v: v["seconds"])])
    rows.append(["BSR, merbit's", m["bsr"]])
    size = m["bsr"]["bytes"]
    return markdown(["kernel", "us", "over cuSPARSE", "GB/s", "% of the copy bandwidth"],
                    [[title, micro(v["seconds"]), f"{best['seconds'] / v['seconds']:.2f}",
                      f"{1e-9 * size / v['seconds']:,.0f}", f"{100 * size / v['seconds'] / copy:.0f}"]
                     for title, v in rows])


SCHEDULES = (("granular row", "bsr-rows"), ("naive intra-row", "bsr-naive"), ("improved intra-row", "bsr-split"),
             ("fixed maximum", "bsr-maximum"), ("fixed-size", "bsr-fixed"),
             ("preprocessed fixed-size", "bsr-preprocessed"),
             ("SciPy's BSR", "scipy-bsr"), ("NumPy's dense product", "numpy-dense"))


def schedule_rows(run, key, heads):
    found = {}
    for r in run["results"]:
        for name, seconds in times(r).items():
            found.setdefault(name, {})[r[key]] = seconds
    columns = sorted({r[key] for r in run["results"]})
    rows = [[title, *(milli(found[name][c]) if c in found[name] else "-" for c in columns)]
            for title, name in SCHEDULES if name in found]
    return markdown([heads, *map(str, columns)], rows)


def threads(run):
    """Table 1: milliseconds by threads, 8 chunks each."""
    return schedule_rows(run, "threads", "ms; threads")


def chunks(run):
    """Tables 2 and 3: milliseconds by chunks of a thread."""
    return schedule_rows(run, "chunks", f"ms; {run['results'][0]['threads']} threads, chunks each")


VIEWS = {f.__name__: f for f in (speedups, headline, throughput, sigma, profile, iterations, ends, ablation,
                                 preparation, histogram, aspect, consistency, binding, five, oversubscription,
                                 kernels, threads, chunks)}
