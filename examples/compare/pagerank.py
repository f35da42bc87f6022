"""Compare merbit's PageRank on the CPU with NetworkX's SciPy form, igraph and SuiteSparse:GraphBLAS.

    apt-get install libgraphblas-dev
    pip install scipy igraph
    nice -n -20 python3 examples/compare/pagerank.py [--threads 2] [--rounds 5] FILE...

A file is as for compare.py, whose reader this is; every entry is an edge of weight one. All run
in one process on the same CSR, round by round in random order; a figure is the median. All stop
when the L1 change of an iteration falls below --tolerance, but igraph's PRPACK, which stops at
1e-10 of its own measure. "all" is what seed-style end-to-end times count: making what the method
needs from the CSR (for igraph its edge list, not its Graph) and iterating; "iterate" is that alone.

NetworkX: the loop of networkx.pagerank, whose conversions from and to dictionaries and Python
numbers are left out. GraphBLAS: the calls of LAGraph's LAGr_PageRank in double, see ranks.c.
"""

import argparse
import ctypes
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import compare  # sets OpenMP up before a library starts its threads
import igraph
import numpy as np
import scipy.sparse

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ("merbit", "networkx", "graphblas", "igraph")


class Graph(ctypes.Structure):
    _fields_ = [("n", ctypes.c_int64), ("edges", ctypes.c_int64), ("row_ptr", ctypes.c_void_p),
                ("col_ind", ctypes.c_void_p)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--threads", type=int, default=int(compare.THREADS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--damping", type=float, default=0.85)
    parser.add_argument("--tolerance", type=float, default=1e-10)
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--json", help="write times, iterations and ratios here")
    return parser.parse_args()


def build():
    library = os.path.join(tempfile.mkdtemp(prefix="pagerank-"), "ranks.so")
    subprocess.run(["gcc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-w", "-I",
                    str(HERE.parent.parent), "-I/usr/include/suitesparse", str(HERE / "ranks.c"),
                    "-o", library, "-lgraphblas", "-ldl", "-lm", "-lpthread"], check=True)
    return ctypes.CDLL(library)


class Compiled:
    """Runs merbit or GraphBLAS."""

    def __init__(self, library, name, matrix, options):
        self.function = getattr(library, "ranks_" + name)
        self.graph = Graph(matrix.shape[0], matrix.nnz, matrix.indptr.ctypes.data,
                           matrix.indices.ctypes.data)
        self.options, self.note = options, ""

    def run(self, ranks):
        seconds, note = (ctypes.c_double * 2)(), ctypes.create_string_buffer(512)
        iterations = self.function(
            ctypes.byref(self.graph), ctypes.c_double(self.options.damping),
            ctypes.c_double(self.options.tolerance), self.options.threads,
            ctypes.c_void_p(ranks.ctypes.data), seconds, note)
        self.note = note.value.decode()
        return seconds[0], seconds[1], iterations


class NetworkX:
    """Iterates as networkx.pagerank does, but sums over dangling vertices with NumPy instead of Python."""

    def __init__(self, matrix, options):
        self.matrix, self.options = matrix, options

    def run(self, ranks):
        start = time.perf_counter()
        n, damping = self.matrix.shape[0], self.options.damping
        weights = np.asarray(self.matrix.sum(axis=1)).ravel()
        dangling = np.flatnonzero(weights == 0)
        weights[weights != 0] = 1 / weights[weights != 0]
        transition = scipy.sparse.dia_array((weights[None, :], 0), shape=(n, n)).tocsr() @ self.matrix
        uniform = np.repeat(1 / n, n)
        x, count, change = uniform, 0, 1.0
        middle = time.perf_counter()
        while change >= self.options.tolerance and count < 1000:
            last = x
            x = damping * (x @ transition + x[dangling].sum() * uniform) + (1 - damping) * uniform
            change = np.absolute(x - last).sum()
            count += 1
        ranks[:] = x
        return middle - start, time.perf_counter() - middle, count


class Igraph:
    """Runs igraph's PRPACK, whose time includes the conversion to its own graph format."""

    def __init__(self, matrix, options):
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        self.graph = igraph.Graph(n=matrix.shape[0], directed=True,
                                  edges=np.stack((rows, matrix.indices), axis=1))
        self.options = options

    def run(self, ranks):
        start = time.perf_counter()
        found = self.graph.pagerank(damping=self.options.damping, implementation="prpack")
        took = time.perf_counter() - start
        ranks[:] = found
        return 0.0, took, 0


def solvers(library, matrix, options):
    wanted = options.only.split(",")
    made = {"merbit": lambda: Compiled(library, "merbit", matrix, options),
            "networkx": lambda: NetworkX(matrix, options),
            "graphblas": lambda: Compiled(library, "graphblas", matrix, options),
            "igraph": lambda: Igraph(matrix, options)}
    return {name: made[name]() for name in NAMES if name in wanted}


def measure(found, n, options):
    """Returns for each name its times, iterations and ranks."""
    ranks = {name: np.zeros(n) for name in found}
    times = {name: [] for name in found}
    counts = {}
    for turn in range(options.rounds + 1):
        for name in random.Random(turn).sample(list(found), len(found)):
            prepare, iterate, counts[name] = found[name].run(ranks[name])
            if turn > 0:
                times[name].append((prepare + iterate, iterate))
    medians = {name: tuple(statistics.median(t[k] for t in times[name]) for k in (0, 1))
               for name in found}
    return medians, counts, ranks


def main():
    options = arguments()
    library = build()
    print(f"{options.threads} threads, f64, damping {options.damping}, L1 change below "
          f"{options.tolerance}; milliseconds, medians of {options.rounds} rounds: all / iterate")
    print(f"{'graph':20}" + "".join(f"{name:>22}" for name in options.only.split(",")) +
          "   best rival's time over merbit's: all, iterate; iterations; L1 distance")
    ratios, records = [], []
    for path in options.files:
        matrix = compare.read(path)
        if matrix.shape[0] != matrix.shape[1]:
            continue
        matrix.data = np.ones(matrix.nnz)
        found = solvers(library, matrix, options)
        medians, counts, ranks = measure(found, matrix.shape[0], options)
        away = max(np.abs(ranks[name] - ranks["merbit"]).sum() for name in found)
        ratio = [min(medians[n][k] for n in found if n != "merbit") / medians["merbit"][k]
                 for k in (0, 1)] if len(found) > 1 else [1, 1]
        ratios.append(ratio)
        records.append(dict(file=os.path.basename(path), medians={n: t[0] for n, t in medians.items()},
                            iterations=counts, ratio=ratio[0], distance=float(away)))
        print(f"{os.path.basename(path).split('.')[0]:20}" +
              "".join(f"{1e3 * t[0]:11.1f}{1e3 * t[1]:11.1f}" for t in medians.values()) +
              f"   {ratio[0]:5.2f} {ratio[1]:5.2f}  {counts['merbit']}"
              f"/{counts.get('graphblas', 0)}  {away:.1e}", flush=True)
        print("    " + found["merbit"].note, file=sys.stderr)
    for k, what in enumerate(("all", "iterate")):
        column = [r[k] for r in ratios]
        print(f"{what}: geometric mean {compare.geometric_mean(column):.2f}, worst "
              f"{min(column):.2f}")
    if options.json:
        compare.write_json(options, records)


if __name__ == "__main__":
    main()
