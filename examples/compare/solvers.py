#!/usr/bin/env python3
"""Compare the iterations of merbit's CG, BiCGSTAB and GMRES with SciPy's, to the same residual.

Outside CI. Needs numpy and scipy. Files are Matrix Market or the binary CSR of compare.py (also .xz). Each square real
matrix is a system as it is (CG where it is symmetric with a positive diagonal) and, by its structure, one with random
values and a dominant diagonal (`spd`); b = A x for a random x. A pattern is taken as `spd` alone. Counts agree where they
differ by at most max(2, 10%); where one does not converge within the cap, neither must the other come closer than that.
BiCGSTAB wanders: where its path is longer than 100 iterations, rounding alone changes the count, which `~` marks.
"""
import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import scipy.io
import scipy.sparse
import scipy.sparse.linalg as sla

import compare

HERE = pathlib.Path(__file__).resolve().parent
METHODS = {"cg": 1, "bicgstab": 2, "gmres": 3}
RESTART = 30


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--tolerance", type=float, default=1e-10)
    parser.add_argument("--cap", type=int, default=2000)
    parser.add_argument("--methods", default="cg,bicgstab,gmres")
    parser.add_argument("--most", type=int, default=3_000_000, help="nonzeros; larger files are left out")
    parser.add_argument("--json", help="write iterations and residuals of every case here")
    parser.set_defaults(threads=os.cpu_count())
    return parser.parse_args()


def build():
    library = pathlib.Path(tempfile.mkdtemp(prefix="solvers-")) / "solvers.so"
    subprocess.run(["cc", "-O3", "-shared", "-fPIC", "-w", "-I", str(HERE.parent.parent), str(HERE / "solvers.c"), "-o",
                    str(library), "-ldl", "-lm", "-lpthread"], check=True)
    return ctypes.CDLL(str(library))


def ours(library, a, b, method, jacobi, options):
    x, found, text = np.zeros(a.shape[0]), np.zeros(4), ctypes.create_string_buffer(600)
    status = library.solvers_run(ctypes.c_int64(a.shape[0]), ctypes.c_int64(a.nnz), compare.address(a.indptr),
                                 compare.address(a.indices), compare.address(a.data), compare.address(b),
                                 compare.address(x), METHODS[method], int(jacobi), ctypes.c_double(options.tolerance),
                                 options.cap, RESTART, compare.address(found), text, ctypes.c_size_t(600))
    if status != 0:
        return None, None, text.value.decode()
    return int(found[0]), residual(a, b, x), text.value.decode()


def residual(a, b, x):
    return float(np.linalg.norm(b - a @ x) / np.linalg.norm(b))


def scipys(a, b, method, jacobi, options):
    count = [0]

    def step(_):
        count[0] += 1
    inverse = 1 / a.diagonal() if jacobi else None
    m = sla.LinearOperator(a.shape, lambda r: inverse * r.ravel()) if jacobi else None
    common = dict(rtol=options.tolerance, atol=0.0, M=m, callback=step)
    with np.errstate(all="ignore"):
        if method == "gmres":
            x, _ = sla.gmres(a, b, restart=RESTART, maxiter=max(1, options.cap // RESTART), callback_type="pr_norm", **common)
        else:
            x, _ = getattr(sla, method)(a, b, maxiter=options.cap, **common)
    return count[0], residual(a, b, x)


def dominant(a):
    """Returns a symmetric, diagonally dominant matrix with the structure of `a` and random values."""
    pattern = scipy.sparse.triu(abs(a) + abs(a).T, 1).tocsr()
    pattern.data = -np.random.default_rng(1).uniform(0.5, 1.5, pattern.nnz)
    whole = (pattern + pattern.T).tocsr()
    sums = -np.asarray(whole.sum(axis=1)).ravel()
    return finished(whole + scipy.sparse.diags(sums + 0.01))


def finished(a):
    a = scipy.sparse.csr_matrix(a)
    a.sum_duplicates()
    a.sort_indices()
    return scipy.sparse.csr_matrix((a.data.astype(np.float64), a.indices.astype(np.int32), a.indptr.astype(np.int32)),
                                   shape=a.shape)


def systems(path, options):
    """Yields (name, matrix, whether it is symmetric and may be definite)."""
    try:
        if str(path).endswith(".mtx") and scipy.io.mminfo(path)[4] == "complex":
            return
        a = compare.read(path)
    except (ValueError, OverflowError) as error:
        print(f"{path}: left out: {error}", file=sys.stderr)
        return
    if a.shape[0] != a.shape[1] or a.shape[0] < 2 or a.nnz > options.most or a.nnz == 0:
        return
    a = finished(a)
    if not np.all(a.data == 1):
        even = abs(a - a.T).max() == 0 and np.all(a.diagonal() > 0)
        yield "given", a, even
    yield "spd", dominant(a), True


def agree(mine, theirs, tolerance, reached, reached_theirs):
    done, done_theirs = reached <= 1.01 * tolerance, reached_theirs <= 1.01 * tolerance
    if not done and not done_theirs:
        return True
    if not done_theirs:
        return True  # only merbit converges
    return done and abs(mine - theirs) <= max(2, 0.1 * theirs)


def main():
    options, library = arguments(), build()
    np.seterr(all="ignore")
    counts, records = {}, []
    print(f"tolerance {options.tolerance:g}, at most {options.cap} iterations; residuals ||b - A x|| / ||b|| recomputed")
    print(f"{'matrix':20} {'system':6} {'method':9} {'precond':8} {'merbit':>7} {'scipy':>7} {'residual':>9} {'scipy':>9}")
    for path in options.files:
        name = pathlib.Path(path).name.split(".")[0]
        for kind, a, definite in systems(path, options):
            b = a @ np.random.default_rng(2).uniform(-1, 1, a.shape[0])
            if not np.linalg.norm(b) > 0:
                continue
            for method in options.methods.split(","):
                if method == "cg" and not definite:
                    continue
                for jacobi in (False, True):
                    if jacobi and not np.all(a.diagonal() != 0):
                        continue
                    mine, reached, text = ours(library, a, b, method, jacobi, options)
                    if mine is None:
                        print(f"{name:20.20} {kind:6} {method:9} refused: {text}")
                        continue
                    if "not symmetric positive definite" in text:
                        print(f"{name:20.20} {kind:6} {method:9} not definite, as it says")
                        continue
                    theirs, reached_theirs = scipys(a, b, method, jacobi, options)
                    good = agree(mine, theirs, options.tolerance, reached, reached_theirs)
                    long = not good and method == "bicgstab" and theirs > 100
                    tally = counts.setdefault(method, [0, 0, 0])
                    tally[0 if good else 2 if long else 1] += 1
                    records.append(dict(file=pathlib.Path(path).name, system=kind, method=method,
                                        preconditioner="jacobi" if jacobi else "none",
                                        iterations=dict(merbit=mine, scipy=theirs),
                                        residuals=dict(merbit=reached, scipy=reached_theirs), agrees=good))
                    print(f"{name:20.20} {kind:6} {method:9} {'jacobi' if jacobi else 'none':8} {mine:7} {theirs:7} "
                          f"{reached:9.1e} {reached_theirs:9.1e}{'' if good else '  ~' if long else '  DIFFERS: ' + text}",
                          flush=True)
    for method, (good, bad, long) in counts.items():
        print(f"{method}: {good} agree, {bad} differ, {long} long and wandering")
    if options.json:
        compare.write_json(options, records)
    return any(bad for _, bad, _ in counts.values())


if __name__ == "__main__":
    sys.exit(main())
