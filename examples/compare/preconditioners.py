#!/usr/bin/env python3
"""Compare merbit's preconditioners on the CPU with PyAMG's, hypre's BoomerAMG and SciPy's incomplete LU.

    apt-get install libhypre-dev mpi-default-dev mpi-default-bin
    pip install scipy pyamg ./python
    cmake --preset release && cmake --build --preset release --target bench
    nice -n -20 python3 examples/compare/preconditioners.py [--threads 2] [--rounds 3] INPUT...

What is not installed is named and left out. An INPUT is pde:NAME:SIDE or gen:NAME:NNZ of `bench --help`, which writes
the matrix, or a file as for compare.py. CG solves symmetric matrices, BiCGSTAB and GMRES(30) the others, to a residual
||b - A x|| / ||b|| of 1e-8; b = A x for a random x. A pattern is taken as an undirected graph, whose system is its
Laplacian with 1e-6 added to the diagonal.

Every solve runs in a process of its own, round by round in random order; a figure is the median. Set-up makes the
preconditioner of a matrix that is in the program's own form, solve is all else. A program that takes longer than
--limit, or whose answer has a residual above 2e-8, is not compared. PyAMG's and SciPy's solves have one thread; hypre
has as many processes as the others have threads.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import mmap
import multiprocessing
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import compare  # sets OpenMP up before a library starts its threads
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE, MOST, RESTART = 1e-8, 3000, 30  # hypre.c has the same
SHIFT = 1e-6  # added to a graph's Laplacian, which is singular
GRACE = 5  # seconds allowed before the set-up starts
FORK = multiprocessing.get_context("fork")
# BoomerAMG: the library's defaults, and one or two levels of aggressive coarsening by HMIS or by PMIS.
HYPRE = {"hypre-default": (), "hypre-aggressive": ("aggressive=1",), "hypre-aggressive-2": ("aggressive=2",),
         "hypre-pmis": ("coarsening=8", "aggressive=1")}
# SciPy's spilu without row exchanges: for a symmetric matrix L and U are nearly transposes of each other.
SYMMETRIC = dict(drop_tol=0.01, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=dict(SymmetricMode=True))
# Preconditioners that suit only some of the solvers.
SOLVERS = {"merbit-fsai": ("cg",), "scipy-ilu-symmetric": ("cg",), "pyamg-air": ("bicgstab", "gmres")}


@dataclasses.dataclass
class System:
    """A system A x = b, and what a user knows about it."""

    name: str
    method: str
    matrix: scipy.sparse.csr_matrix
    b: np.ndarray
    block: int = 1  # unknowns per node
    modes: np.ndarray | None = None  # near-null-space, unless it is the constant vector


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+", metavar="INPUT")
    parser.add_argument("--threads", type=int, default=int(compare.THREADS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=30, help="seconds of one solve with its set-up")
    parser.add_argument("--only", default="", help="names of programs or their beginnings, separated by commas")
    parser.add_argument("--bench", default=str(HERE.parent.parent / "build/release/bench"))
    parser.add_argument("--json", help="write times, iterations and residuals here")
    return parser.parse_args()


# ---- Systems ----


def rigid_body_modes(side):
    """Returns the translations and rotations of the bar of pde:elastic:SIDE, as columns."""
    z, y, x = np.meshgrid(np.arange(side + 1), np.arange(side + 1), np.arange(1, 2 * side + 1), indexing="ij")
    at = np.stack([x.ravel(), y.ravel(), z.ravel()]).astype(float)
    modes = np.zeros((at.shape[1], 3, 6))
    for axis in range(3):
        following, last = (axis + 1) % 3, (axis + 2) % 3
        modes[:, axis, axis] = 1
        modes[:, following, 3 + axis] = -at[last]
        modes[:, last, 3 + axis] = at[following]
    return modes.reshape(-1, 6)


def finished(a):
    """Returns a CSR of float64 with ascending columns and 32-bit indices."""
    a = scipy.sparse.csr_matrix(a)
    a.sum_duplicates()
    return scipy.sparse.csr_matrix((a.data.astype(np.float64), a.indices.astype(np.int32), a.indptr.astype(np.int32)),
                                   shape=a.shape)


def laplacian(a):
    edges = scipy.sparse.csr_matrix(abs(a) + abs(a).T)
    edges.data[:] = 1
    return finished(scipy.sparse.diags(np.asarray(edges.sum(axis=1)).ravel() + SHIFT) - edges)


def load(text, options, folder):
    """Returns (name, matrix) of an INPUT."""
    if not text.startswith(("pde:", "gen:")):
        a = compare.read(text)
        name = pathlib.Path(text).name.split(".")[0]
        return (name + ", Laplacian", laplacian(a)) if np.all(a.data == 1) else (name, finished(a))
    path = folder / "input.mtx"
    subprocess.run([options.bench, "--side", "cpu", "--system", "spd", "--write", str(path), text], check=True)
    return text, finished(compare.read(str(path)))


def systems(text, options, folder):
    name, a = load(text, options, folder)
    if a.shape[0] != a.shape[1]:
        sys.exit(f"{text} is {a.shape[0]} x {a.shape[1]}; give square matrices")
    b = a @ np.random.default_rng(2).uniform(-1, 1, a.shape[0])
    symmetric = abs(a - a.T).max() <= 1e-14 * abs(a).max() and np.all(a.diagonal() > 0)
    known = dict(block=3, modes=rigid_body_modes(int(name.split(":")[2]))) if name.startswith("pde:elastic:") else {}
    for method in ("cg",) if symmetric else ("bicgstab", "gmres"):
        yield System(name, method, a, b, **known)


# ---- Programs: each solves a system and returns x, its iterations, and the seconds of set-up and of solve ----


def merbit(kind, **more):
    def run(system, options):
        import merbit
        matrix = merbit.csr(system.matrix, context=merbit.Context("cpu", threads=options.threads))
        known = dict(block_size=system.block, near_nullspace=system.modes) if kind == "amg" and system.block > 1 else {}
        start = time.perf_counter()
        x, info = getattr(merbit, system.method)(matrix, system.b, preconditioner=kind, tolerance=TOLERANCE,
                                                 max_iterations=MOST, **more, **known)
        return x, info.iterations, info.prepare_seconds, time.perf_counter() - start - info.prepare_seconds
    return run


def scipys(system, m):
    """Returns x and the iterations of SciPy's solver with m as preconditioner."""
    count, more = [0], {}

    def step(_):
        count[0] += 1
    if system.method == "gmres":
        more = dict(restart=RESTART, callback_type="pr_norm")
    x, _ = getattr(scipy.sparse.linalg, system.method)(
        system.matrix, system.b, rtol=TOLERANCE, atol=0.0, M=m, callback=step,
        maxiter=MOST // RESTART if system.method == "gmres" else MOST, **more)
    return x, count[0]


def pyamg(function):
    def run(system, options):
        import pyamg
        matrix, more = system.matrix, {}
        if function == "smoothed_aggregation_solver":
            more = dict(B=system.modes, symmetry="symmetric" if system.method == "cg" else "nonsymmetric")
            matrix = matrix.tobsr((system.block, system.block)) if system.block > 1 else matrix
        start = time.perf_counter()
        m = getattr(pyamg, function)(matrix, **more).aspreconditioner()
        middle = time.perf_counter()
        x, iterations = scipys(system, m)
        return x, iterations, middle - start, time.perf_counter() - middle
    return run


def ilu(**settings):
    def run(system, options):
        matrix = system.matrix.tocsc()
        start = time.perf_counter()
        factors = scipy.sparse.linalg.spilu(matrix, **settings)
        middle = time.perf_counter()
        x, iterations = scipys(system, scipy.sparse.linalg.LinearOperator(matrix.shape, factors.solve))
        return x, iterations, middle - start, time.perf_counter() - middle
    return run


def hypre(program, settings):
    def run(system, options):
        folder = program.parent
        a, n = system.matrix, system.matrix.shape[0]
        with open(folder / "matrix", "wb") as file:
            np.array([compare.MAGIC, n, n, a.nnz, 1], "<i8").tofile(file)
            for array in (a.indptr, a.indices, a.data):
                array.tofile(file)
        np.concatenate([system.b, np.zeros(n)]).tofile(folder / "vectors")
        blocks = (f"functions={system.block}", "nodal=4") if system.block > 1 else ()
        done = subprocess.run(  # timeout also ends the processes that mpirun starts
            ["timeout", str(options.limit + GRACE / 2), "mpirun", "--allow-run-as-root", "--oversubscribe", "-n",
             str(options.threads), str(program), str(folder / "matrix"), str(folder / "vectors"), system.method, *settings,
             *blocks], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == 124:
            raise TimeoutError(f"more than {options.limit:g} s")
        if done.returncode != 0:
            raise RuntimeError(f"hypre ended with {done.returncode}")
        iterations, setup, solve = done.stdout.split()
        return np.fromfile(folder / "vectors")[n:], int(iterations), float(setup), float(solve)
    return run


def hypre_program(folder):
    """Compiles hypre.c. Returns the program, or None."""
    program = folder / "hypre"
    if shutil.which("mpicc") is None or shutil.which("mpirun") is None:
        return None
    done = subprocess.run(["mpicc", "-O2", "-I/usr/include/hypre", str(HERE / "hypre.c"), "-o", str(program), "-lHYPRE",
                           "-lm"], stderr=subprocess.DEVNULL, check=False)
    return program if done.returncode == 0 else None


def installed(module):
    """Returns whether a Python module exists. Imports it, so that the forked processes of all solves have it."""
    with contextlib.suppress(ImportError):
        return importlib.import_module(module)


def programs(options, folder):
    """Returns {name: function} for the programs that are installed and selected."""
    found, missing = {}, []
    if installed("merbit"):
        found.update({"merbit-amg": merbit("amg"), "merbit-amg-single": merbit("amg", single=True),
                      "merbit-jacobi": merbit("jacobi"), "merbit-fsai": merbit("fsai")})
    else:
        missing.append("merbit's Python package")
    if installed("pyamg"):
        found.update({"pyamg-sa": pyamg("smoothed_aggregation_solver"), "pyamg-rs": pyamg("ruge_stuben_solver"),
                      "pyamg-pairwise": pyamg("pairwise_solver"), "pyamg-air": pyamg("air_solver")})
    else:
        missing.append("PyAMG")
    program = hypre_program(folder)
    if program is not None:
        found.update({name: hypre(program, settings) for name, settings in HYPRE.items()})
    else:
        missing.append("hypre (libhypre-dev, mpicc, mpirun)")
    found.update({"scipy-ilu": ilu(), "scipy-ilu-symmetric": ilu(**SYMMETRIC)})
    if missing:
        print(f"left out, not installed: {', '.join(missing)}", file=sys.stderr)
    wanted = tuple(options.only.split(","))
    return {name: run for name, run in found.items() if name.startswith(wanted)}


# ---- Measuring ----


def small_system(method):
    """Returns the system of a grid of 20 x 20 points."""
    line = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(20, 20))
    return System("", method, finished(scipy.sparse.kronsum(line, line)), np.ones(400))


def child(run, system, options, x, send):
    """Solves a small system, so that the program is loaded and its threads are running, then this one."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    warnings.simplefilter("ignore")
    try:
        run(small_system(system.method), options)
        x[:], *figures = run(system, options)
        send.send(figures)
    except Exception as error:  # report a failing program and go on with the others
        send.send(f"{type(error).__name__}: {error}")


def attempt(run, system, options):
    """Runs one program in its own process. Returns (iterations, set-up, solve, residual), or an error message."""
    x = np.frombuffer(mmap.mmap(-1, 8 * len(system.b)))
    receive, send = FORK.Pipe(False)
    process = FORK.Process(target=child, args=(run, system, options, x, send))
    process.start()
    send.close()
    found = f"took more than {options.limit:g} s"
    if receive.poll(options.limit + GRACE):
        with contextlib.suppress(EOFError):
            found = "crashed"
            found = receive.recv()
    process.kill()
    process.join()
    if isinstance(found, str):
        return found
    if found[1] + found[2] > options.limit:
        return f"took more than {options.limit:g} s"
    residual = float(np.linalg.norm(system.b - system.matrix @ x) / np.linalg.norm(system.b))
    if not residual <= 2 * TOLERANCE:
        return f"residual {residual:.1e} after {found[0]} iterations"
    return (*found, residual)


def measure(found, system, options):
    """Returns {name: figures, or {"failed": why}}."""
    found = {name: run for name, run in found.items() if system.method in SOLVERS.get(name, system.method)}
    runs, failed = {name: [] for name in found}, {}
    for turn in range(options.rounds):
        for name in random.Random(turn).sample(list(found), len(found)):
            if name in failed:
                continue
            figures = attempt(found[name], system, options)
            if isinstance(figures, str):
                failed[name] = figures
            else:
                runs[name].append(figures)
    return {name: dict(failed=failed[name]) if name in failed else
            dict(iterations=runs[name][0][0], setup_seconds=statistics.median(r[1] for r in runs[name]),
                 solve_seconds=statistics.median(r[2] for r in runs[name]),
                 total_seconds=statistics.median(r[1] + r[2] for r in runs[name]),
                 totals=[r[1] + r[2] for r in runs[name]], residual=max(r[3] for r in runs[name])) for name in found}


def show(record):
    print(f"\n{record['input']}, {record['method']}: {record['rows']} unknowns, {record['nnz']} nonzeros")
    print(f"{'':20} {'iterations':>10} {'set-up s':>10} {'solve s':>10} {'total s':>10}  ||b - A x|| / ||b||")
    for name, figures in record["programs"].items():
        if "failed" in figures:
            print(f"{name:20} {figures['failed']}")
        else:
            seconds = "".join(f" {figures[what + '_seconds']:10.4f}" for what in ("setup", "solve", "total"))
            print(f"{name:20} {figures['iterations']:10}{seconds}  {figures['residual']:.1e}", flush=True)


def ratios(records):
    """Returns {library: its best total time over that of merbit-amg, for each system where both converge}."""
    found = {}
    for record in records:
        totals = {name: f["total_seconds"] for name, f in record["programs"].items() if "failed" not in f}
        for library in ("pyamg", "hypre", "scipy"):
            theirs = [total for name, total in totals.items() if name.startswith(library)]
            if theirs and "merbit-amg" in totals:
                found.setdefault(library, []).append(min(theirs) / totals["merbit-amg"])
    return found


def main():
    options = arguments()
    records = []
    print(f"{options.threads} threads, f64, residual {TOLERANCE:g}; medians of {options.rounds} rounds")
    with tempfile.TemporaryDirectory(prefix="preconditioners-") as name:
        folder = pathlib.Path(name)
        found = programs(options, folder)
        for text in options.inputs:
            for system in systems(text, options, folder):
                records.append(dict(input=system.name, method=system.method, rows=system.matrix.shape[0],
                                    nnz=int(system.matrix.nnz), programs=measure(found, system, options)))
                show(records[-1])
    for library, numbers in ratios(records).items():
        print(f"best of {library} over merbit-amg: geometric mean {compare.geometric_mean(numbers):.2f}, worst "
              f"{min(numbers):.2f}, best {max(numbers):.2f}, of {len(numbers)} systems")
    if options.json:
        compare.write_json(options, records)


if __name__ == "__main__":
    main()
