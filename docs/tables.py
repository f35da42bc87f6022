"""The tables of docs/benchmarks.md, docs/papers.md and README.md, made from the JSON files in docs/results/.

    python3 docs/tables.py          write the tables between their marks in these files
    python3 docs/tables.py --check  fail if a file differs from what would be written

A mark is <!-- table NAME.json -->, <!-- table NAME.json VIEW --> with a view of docs/paper_tables.py, or
<!-- summary --> for a line on each file; <!-- end --> closes it. A file
is what `bench --json` or the --json of compare.py, pagerank.py, solvers.py, preconditioners.py (in examples/compare/)
or products.py (in python/tests/) wrote, with "commit" added.
"""

import json
import math
import pathlib
import re
import sys

import paper_tables

DOCS = pathlib.Path(__file__).resolve().parent
RESULTS = DOCS / "results"
REQUIRED = ("device", "date", "commit", "command")
RIVALS = {"mkl": "MKL", "eigen": "Eigen", "graphblas": "GraphBLAS", "networkx": "NetworkX", "igraph": "igraph",
          "scipy": "SciPy", "librsb": "librsb"}
CASES = {"merbit f64": "f64", "merbit f32": "f32", "merbit-refine f64": "refined in f32", "random": "general values",
         "given": "values as they come"}
RIVALS_OF_AMG = {"pyamg": "PyAMG", "hypre": "hypre", "scipy": "SciPy's ILU"}
METHODS = {"cg": "CG", "bicgstab": "BiCGSTAB", "gmres": "GMRES(30)"}
PRODUCTS = {"transpose": "transposed", "c64-auto": "complex (C64)", "c128-auto": "complex (C128)",
            "f16-auto": "f16 values, f32 vectors", "bf16-auto": "bf16 values, f32 vectors",
            "f32f64-auto": "f32 values, f64 vectors", "minplus-auto": "min-plus"}
LIBRARIES = {"cupy": "CuPy", "torch": "PyTorch", "numpy": "NumPy"}
TASKS = {"cg": "CG", "bicgstab": "BiCGSTAB", "pagerank": "PageRank"}
# A row of the summary: what was computed, the rivals, the file and which of its cases.
SUMMARY = (
    ("y = A x, f32", "cuSPARSE 12.9's CSR, COO, SELL, SpMVOp", "h100-products.json", "f32"),
    ("y = A x, f64", "the same", "h100-products.json", "f64"),
    ("CG, f64", "loops over cuSPARSE", "h200-cg.json", "merbit f64"),
    ("CG, f64, iterating in f32", "loops over cuSPARSE, f64", "h200-cg.json", "merbit-refine f64"),
    ("BiCGSTAB, f64", "loops over cuSPARSE", "h200-bicgstab.json", "merbit f64"),
    ("PageRank, f64", "loops over cuSPARSE", "h200-pagerank.json", "merbit f64"),
    ("PageRank, f32", "loops over cuSPARSE", "h200-pagerank.json", "merbit f32"),
    ("y = A x, f64", "MKL, Eigen, GraphBLAS, librsb, SciPy", "cpu-products.json", "random"),
    ("y = A x, f64, values of the files (mostly ones)", "the same", "cpu-products.json", "given"),
    ("PageRank, f64", "igraph, GraphBLAS, NetworkX", "cpu-pagerank.json", "f64"),
)


def load(name):
    run = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    missing = [field for field in REQUIRED if not run.get(field)]
    if missing:
        sys.exit(f"docs/results/{name} lacks {', '.join(missing)}: say what was measured, where and when")
    if "task" in run["results"][0]:  # f64 before f32, and a kind of system after the other
        run["results"].sort(key=lambda result: (result["precision"] == "f32", result["input"].split(", ")[1:]))
    return run


def short(name):
    """gen:road:57.5M seed 1 -> road:57.5M; paths lose folders, endings and what bench says of their values."""
    name = name.removesuffix(" (random values)")
    if name.startswith("gen:"):
        return re.sub(r" seed 1\b", "", name[4:])
    return re.sub(r"\.(mtx|csr)(\.xz)?$", "", name.split("/")[-1])


def case(name):
    """road:57.5M -> road: without the size and the usual kind of system."""
    return re.sub(r":[\d.]+M|, spd", "", short(name))


def grouped(number):
    """Thousands apart from five digits on."""
    return f"{number:,.0f}" if number >= 9999.5 else f"{number:.0f}"


def scaled(number):
    """One digit behind the point below 100."""
    return f"{number:.1f}" if number < 99.95 else grouped(number)


def three_digits(number):
    return f"{number:.3g}" if number < 99.95 else grouped(number)


def markdown(columns, rows, left=1):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * left + "--:|" * (len(columns) - left)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def best_rival(result):
    """The rival that merbit's first method of a result is compared with."""
    name = next(m["compared_with"] for m in result["methods"] if not m["rival"] and "compared_with" in m)
    return next(m for m in result["methods"] if m["name"] == name)


def method_of(about):
    """The method's name, with which a plan's description begins."""
    return about.split()[0].upper()


# ---- Kinds of files ----------------------------------------------------------------------------
def products(run):
    found, rows = {}, []
    for result in run["results"]:
        found.setdefault(short(result["input"]), {})[result["precision"]] = result["methods"]
    shown = [p for p in ("f32", "f64") if any(p in precisions for precisions in found.values())]
    named = any(m["name"] in ("scan", "rows") for m in run["results"][0]["methods"])  # its own methods beside AUTO
    for name, precisions in found.items():
        row = [name]
        for precision in shown:
            auto = next(m for m in precisions[precision] if m["name"] == "auto" and m["kind"] == "A x")
            best = next(m for m in precisions[precision] if m["name"] == auto["compared_with"])
            row += [f"{scaled(1e6 * best['seconds'])} {best['name'].removeprefix('cusparse-')}",
                    f"{scaled(1e6 * auto['seconds'])} {method_of(auto['about'])}",
                    f"{auto['speedup']:.2f}", f"{1e3 * auto['plan_seconds']:.1f}"]
            if named:
                own = min((m for m in precisions[precision] if not m["rival"] and m["kind"] == "A x"),
                          key=lambda m: m["seconds"])
                row[-1] = "" if own["seconds"] > 0.98 * auto["seconds"] else f"{scaled(1e6 * own['seconds'])} {own['name'].upper()}"
        rows.append(row)
    rival = "best cuSPARSE" if run.get("compute_capability") else "OpenMP loop"
    heads = [head for p in shown for head in (f"{p}: {rival}", "AUTO", "ratio", "better own" if named else "plan")]
    return markdown(["matrix", *heads], rows)


def unsolved(ours, best):
    """Whether ours did not converge where the rival did: their times are not comparable."""
    return ours["stop"] != "converged" == best["stop"]


def solves(run):
    """The ratio of an iteration is to the rival with the fastest iterations, perhaps not the fastest end to end."""
    rows = []
    for result in run["results"]:
        measured = [m for m in result["methods"] if "iterations" in m]
        best = best_rival(result)
        for ours in (m for m in measured if not m["rival"]):
            name = TASKS[result["task"]]
            name += {"merbit": "", "merbit-refine": " refined in f32"}[ours["name"]]
            name += " in f32" if result["precision"] == "f32" else ""
            name += ", " + case(result["input"])
            count = f"{ours['iterations']}, {best['iterations']}"
            count += " (cap)" if ours["stop"] == best["stop"] == "cap" else ""
            count = "not within " + count if unsolved(ours, best) else count
            fastest = ours["speedup_iteration"] * ours["iteration_seconds"]
            rows.append([name, count, f"{1e6 * ours['iteration_seconds']:.0f} of {1e6 * fastest:.0f}"])
            rows[-1] += (["-"] * 3 if unsolved(ours, best) else
                         [f"{ours['speedup_iteration']:.2f}", three_digits(1e3 * ours["total_seconds"]) + " of "
                          + three_digits(1e3 * best["total_seconds"]), f"{ours['speedup']:.2f}"])
    return markdown(["case", "iterations: merbit, cuSPARSE", "us an iteration", "ratio", "end to end, ms", "ratio"],
                    rows)


def kinds(run):
    """A row for each kind of product, a column for each matrix."""
    inputs, rows = list(dict.fromkeys(short(result["input"]) for result in run["results"])), {}
    for result in run["results"]:
        for ours in (m for m in result["methods"] if m["name"] in PRODUCTS):
            name = PRODUCTS[ours["name"]]
            name += f", {result['precision']}" if result["precision"] in ("f32", "f64") else ""
            cell = f"{1e6 * ours['seconds']:.0f}"
            if "compared_with" in ours:
                cell += f" of {1e6 * best_rival(result)['seconds']:.0f} ({ours['speedup']:.2f})"
            rows.setdefault(name, dict.fromkeys(inputs, ""))[short(result["input"])] = cell
    order = list(PRODUCTS.values())
    rows = sorted(rows.items(), key=lambda row: order.index(re.sub(r", f(32|64)$", "", row[0])))
    return markdown(["product", *inputs], [[name, *cells.values()] for name, cells in rows])


def cpu_products(run):
    found, rows = {}, []
    for record in run["results"]:
        least = record["least"]
        best = min((n for n in least if not n.startswith("merbit")), key=least.get)
        ours = next(n for n in least if n.startswith("merbit"))
        found.setdefault(short(record["file"]), {})[record["values"]] = [
            f"{grouped(1e6 * least[best])} {RIVALS[best]}",
            f"{grouped(1e6 * least[ours])} {method_of(record['note'])}", f"{record['least_ratio']:.2f}"]
    for name, kinds in found.items():
        rows.append([name] + kinds["random"] + kinds["given"])
    return markdown(["matrix", "general values: best rival", "AUTO", "ratio", "as they come: best rival", "AUTO",
                     "ratio"], rows)


def cpu_pagerank(run):
    rows = []
    for record in run["results"]:
        medians, counts = record["medians"], record["iterations"]
        best = min((n for n in medians if n != "merbit"), key=medians.get)
        rows.append([short(record["file"]), f"{scaled(1e3 * medians['merbit'])} ({counts['merbit']})",
                     f"{scaled(1e3 * medians[best])} {RIVALS[best]}"
                     + (f" ({counts[best]})" if counts[best] else ""), f"{record['ratio']:.2f}"])
    return markdown(["graph", "merbit, ms (iterations)", "best rival, ms (iterations)", "ratio"], rows)


def iterations(run):
    rows = {}
    for record in run["results"]:
        row = rows.setdefault(record["method"], [0, 0])
        row[0] += 1
        row[1] += record["agrees"]
    return markdown(["method", "cases", "within max(2, 10%) of SciPy's iterations"],
                    [[METHODS[name], *map(str, row)] for name, row in rows.items()])


def preconditioners(run):
    """Iterations and times with each kind of preconditioner, a row a system and solver, CG unless it is named: seconds
    on the CPU; on a GPU milliseconds, what AMG's set-up and an update of its values take, and where it was measured the
    solve alone beside that of the same cycle over cuSPARSE."""
    names = {"none": "none", "jacobi": "Jacobi", "block-jacobi": "block Jacobi", "chebyshev": "Chebyshev", "fsai": "FSAI",
             "amg": "AMG", "amg-single": "AMG in f32"}
    rival = "cusparse-amg"
    rows, found = {}, list(dict.fromkeys(result["preconditioner"] for result in run["results"]))
    kinds = [kind for kind in found if kind != rival]
    device = run["results"][0].get("memory") == "device"
    more = (["AMG: set-up", "update"] + ["solve", "over cuSPARSE"] * (rival in found)) * device
    scale = 1e3 if device else 1
    for result in run["results"]:
        solver = result.get("solver", "cg")
        system = re.sub(r"( seed 1, (spd|flow)|, given)$", "", result["input"])
        system = (short(system) if "/" in system else system) + f", {METHODS[solver]}" * (solver != "cg")
        row = rows.setdefault(system, [system, grouped(result["rows"])] + ["-"] * (len(kinds) + len(more)))
        seconds = {name: scale * result[f"{name}_seconds"] for name in ("setup", "solve", "update")
                   if result.get(f"{name}_seconds") is not None}
        if result["preconditioner"] == rival:
            cell = f"{result['iterations']}: {three_digits(seconds['solve'])}"
            row[-1] = cell if result["stop"] == 0 else f"not within {grouped(result['iterations'])}"
            continue
        row[2 + kinds.index(result["preconditioner"])] = (
            f"{result['iterations']}: {three_digits(seconds['setup'] + seconds['solve'])}" if result["stop"] == 0
            else f"not within {grouped(result['iterations'])}")
        if device and result["preconditioner"] == "amg":
            figures = [three_digits(seconds[name]) for name in ("setup", "update", "solve")]
            row[2 + len(kinds):] = figures[:2] + figures[2:] * (rival in found) + row[-1:] * (rival in found)
    return markdown(["system", "unknowns", *(names[kind] for kind in kinds), *more], list(rows.values()))


def fastest(record, *names):
    """(total seconds, kind, iterations) of the fastest program with one of the names or of a library, or None."""
    return min(((figures["total_seconds"], name.partition("-")[2], figures["iterations"])
                for name, figures in record["programs"].items()
                if {name, name.split("-")[0]} & set(names) and "failed" not in figures), default=None)


def beside(run):
    """AMG, merbit's best other preconditioner and the best of each library on each system: iterations and seconds."""
    rows = []
    for record in run["results"]:
        row = [re.sub(r" seed 1, spd$", "", record["input"]), grouped(record["rows"]), METHODS[record["method"]]]
        for names in (["merbit-amg"], ["merbit-amg-single"], ["merbit-jacobi", "merbit-fsai"],
                      *([library] for library in RIVALS_OF_AMG)):
            seconds, kind, count = fastest(record, *names) or (None, "", 0)
            row.append("-" if seconds is None else
                       f"{count}: {three_digits(seconds)}" + f" {kind}" * (names[0] not in ("merbit-amg", "merbit-amg-single")))
        rows.append(row)
    return markdown(["system", "unknowns", "solver", "AMG", "AMG in f32", "other kind", *RIVALS_OF_AMG.values()], rows, 3)


def petsc_products(run):
    """Times of PETSc's aij and the ratios of other types to it, a row a matrix and number of ranks."""
    rows, kinds = {}, list(dict.fromkeys(result["type"] for result in run["results"]))
    for result in run["results"]:
        row = rows.setdefault((result["matrix"], result["ranks"]), [
            result["matrix"], str(result["ranks"]) + " (more than processors)" * result["oversubscribed"]]
            + ["-"] * len(kinds))
        row[2 + kinds.index(result["type"])] = (three_digits(result["us"]) if result["type"] == kinds[0]
                                                else f"{result['ratio']:.2f}")
    return markdown(["matrix", "ranks", f"{kinds[0]}, us", *(f"{kind}, times as fast" for kind in kinds[1:])],
                    list(rows.values()), 2)


def ranks(run):
    """Products over several processes on the CPU, compared with those of one."""
    rows = []
    one = {result["matrix"]: result for result in run["results"] if result["ranks"] == 1}
    for result in run["results"]:
        if result["ranks"] > 1:
            rows.append([result["matrix"], str(result["ranks"]),
                         *(f"{1e3 * of['seconds']:.2f}" for of in (one[result["matrix"]]["product"], result["product"],
                                                                   result["own"])),
                         f"{100 * result['efficiency']:.0f}", grouped(result["rank_halo"]),
                         f"{result['create_products']:.0f}"])
    return markdown(["matrix", "processes", "one process, ms", "A x, ms", "own part, ms", "efficiency, %", "halo, elements",
                     "set-up, products"], rows, 1)


def pairs(record):
    """(merbit on a library, what the library has itself), as products.py measured them one after the other."""
    names = list(record["medians"])
    return list(zip(names[::2], names[1::2]))


def python_products(run):
    rows = []
    for record in run["results"]:
        row = [record["matrix"], scaled(1e-6 * record["nnz"]), record["dtype"].replace("float", "f")]
        for ours, theirs in pairs(record):
            seconds, rival = record["medians"][ours], record["medians"][theirs]
            method = record["methods"][ours.removeprefix("merbit on ")].upper()
            row += [f"{scaled(1e6 * seconds)} {method}", scaled(1e6 * rival), f"{rival / seconds:.2f}"]
        rows.append(row)
    heads = [head for ours, theirs in pairs(run["results"][0])
             for head in (f"merbit on {LIBRARIES[ours.removeprefix('merbit on ')]}", theirs, "ratio")]
    versions = [f"{LIBRARIES.get(name, name)} {run['versions'][name]}" for name in run["results"][0]["methods"]]
    return markdown(["matrix", "million nonzeros", "type", *heads], rows) + [
        "", f"{', '.join(versions)}, Python {run['python']}."]


def kind_of(run):
    if run["results"] and run["results"][0].get("task") == "preconditioners":
        return preconditioners
    if run["program"] != "bench":
        return {"compare.py": cpu_products, "pagerank.py": cpu_pagerank, "solvers.py": iterations, "preconditioners.py": beside,
                "bench.sh": petsc_products, "dist_bench": ranks, "products.py": python_products}[run["program"]]
    names = {m["name"] for result in run["results"] for m in result["methods"]}
    return (solves if "task" in run["results"][0] else products if "auto" in names else kinds)


# ---- What is said of all cases of a file --------------------------------------------------------
def ratios(run):
    """{which cases: {case: the best rival's time over ours, None where ours does not converge}}."""
    found = {}
    inputs = {short(result["input"]) for result in run["results"] if "input" in result}
    name_of = short if len({case(name) for name in inputs}) < len(inputs) else case
    for result in run["results"]:
        for library, label in RIVALS_OF_AMG.items() if "programs" in result else ():
            ours, theirs = fastest(result, "merbit-amg"), fastest(result, library)
            other = result["method"] != "cg"
            if theirs is not None:
                cases = found.setdefault(f"to {label}" + ", not symmetric" * other, {})
                name = short(result["input"]) + f" by {METHODS[result['method']]}" * other
                cases[name] = theirs[0] / ours[0] if ours is not None else None
        if "type" in result:
            if result["type"] != run["results"][0]["type"]:
                found.setdefault(result["type"], {})[f"{result['matrix']}, {result['ranks']} ranks"] = result["ratio"]
        elif "ratio" in result:
            key = result.get("values", "f64")
            found.setdefault(key, {})[short(result["file"])] = result.get("least_ratio", result.get("ratio"))
        if "dtype" in result:
            for ours, theirs in pairs(result):
                cases = found.setdefault(f"{result['dtype'].replace('float', 'f')} over {theirs}:", {})
                cases[result["matrix"]] = result["medians"][theirs] / result["medians"][ours]
            continue
        for method in result.get("methods", ()):
            key = result["precision"] if "task" not in result else f"{method['name']} {result['precision']}"
            if not method["rival"] and (method["name"] == "auto" and method["kind"] == "A x" or "task" in result):
                solved = "task" not in result or not unsolved(method, best_rival(result))
                found.setdefault(key, {})[name_of(result["input"])] = method["speedup"] if solved else None
    return found


def aggregate(cases):
    """(geometric mean, worst, best) as text."""
    solved = {name: ratio for name, ratio in cases.items() if ratio is not None}
    failed = [name for name in cases if name not in solved]
    worst, best = min(solved, key=solved.get), max(solved, key=solved.get)
    mean = math.exp(sum(map(math.log, solved.values())) / len(solved))
    return (f"{mean:.2f}", f"{solved[worst]:.2f} ({worst})" + "".join(f"; {n} does not converge" for n in failed),
            f"{solved[best]:.2f} ({best})")


def signature(name, run):
    """The line below a table: on what, when, at which commit and by which command it was measured."""
    return (f"{run['device']}, {run['date'][:10]}, commit {run['commit']}, [{name}](results/{name}):\n"
            f"`{run['command']}`.")


def table(name):
    run = load(name)
    lines = kind_of(run)(run)
    means = [f"{CASES.get(key, key)} {mean}, worst {worst}, best {best}"
             for key, (mean, worst, best) in ((k, aggregate(v)) for k, v in ratios(run).items())]
    lines += ["", f"Geometric means of the ratio: {'; '.join(means)}."] if means else []
    return lines + ["", signature(name, run)]


def summary():
    rows = []
    for task, rivals, name, key in SUMMARY:
        run = load(name)
        cases = ratios(run)[key]
        rows.append([task, f"{run['device']}, {run['date'][:10]}", rivals, str(len(cases)),
                     *(re.sub(r" seed \d+", "", text) for text in aggregate(cases))])
    return markdown(["task", "device, date", "ratio to the best of", "cases", "mean", "worst", "best"], rows, 3)


def filled(text):
    signed = set()  # files whose first view in the text has said how they were measured

    def view(name, kind):
        run = load(name)
        lines = paper_tables.VIEWS[kind](run)
        lines += [] if name in signed else ["", signature(name, run)]
        signed.add(name)
        return lines

    def fill(match):
        lines = summary() if match[2] is None else table(match[2]) if match[3] is None else view(match[2], match[3])
        return "\n".join([match[1], *lines, "<!-- end -->"])

    return re.sub(r"(<!-- (?:summary|table (\S+?)(?: (\w+))?) -->)\n.*?<!-- end -->", fill, text, flags=re.S)


def main():
    stale = []
    pages = [DOCS / "benchmarks.md", DOCS / "papers.md", DOCS.parent / "README.md"]
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    for page, text in texts.items():
        if filled(text) != text:
            stale.append(page.name)
            if "--check" not in sys.argv[1:]:
                page.write_text(filled(text), encoding="utf-8")
    shown = "".join(texts.values())
    unused = [path.name for path in RESULTS.glob("*.json") if f"<!-- table {path.name} " not in shown]
    if unused:
        sys.exit(f"no table shows {', '.join(sorted(unused))}: add its mark to docs/benchmarks.md or docs/papers.md")
    if "--check" in sys.argv[1:] and stale:
        sys.exit(f"{' and '.join(stale)}: not as docs/results/ says; run python3 docs/tables.py")


if __name__ == "__main__":
    main()
