"""Compare merbit on the CPU with SciPy, Eigen, librsb, SuiteSparse:GraphBLAS and MKL.

    apt-get install libeigen3-dev librsb-dev libgraphblas-dev
    pip install scipy; pip install --no-deps mkl
    nice -n -20 python3 examples/compare/compare.py [--threads 2] [--rounds 9] FILE...

A file is Matrix Market (.mtx) or the binary CSR of --help, perhaps compressed by xz. All
products run in one process on the same arrays, round by round in random order, for other work on the machine
then slows all of them alike; a figure is the median over the rounds. Each y is compared with SciPy's.
"""

import argparse
import ctypes
import importlib.metadata
import io
import json
import lzma
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

# Set before any library starts its threads: one OpenMP runtime for all, pinned threads, and no
# thread that spins while another product needs its core.
THREADS = sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv else "2"
os.environ.setdefault("OMP_NUM_THREADS", THREADS)
os.environ.setdefault("OMP_PROC_BIND", "true")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("MKL_THREADING_LAYER", "GNU")

import numpy as np
import scipy.io
import scipy.sparse
from scipy.sparse._sparsetools import csr_matvec  # what A @ x calls, without a new y

HERE = pathlib.Path(__file__).resolve().parent
MAGIC = 0x4D425431
RIVALS = ("scipy", "eigen", "librsb", "graphblas", "mkl")
METHODS = {"auto": 0, "reference": 1, "merge": 2, "bsr": 8, "sorted": 11}


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="binary CSR, little-endian: int64 {0x4d425431, rows, cols, nnz, has_values}, "
               "int32 row_ptr[rows + 1], int32 col_ind[nnz], float64 values[nnz] if has_values")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--threads", type=int, default=int(THREADS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batch", type=float, default=0.03, help="seconds per turn")
    parser.add_argument("--precision", choices=("f32", "f64"), default="f64")
    parser.add_argument("--values", choices=("both", "given", "random"), default="both",
                        help="given: as in the file, ones for a pattern")
    parser.add_argument("--methods", default="auto", help="of merbit: " + ", ".join(METHODS))
    parser.add_argument("--rivals", default=",".join(RIVALS))
    parser.add_argument("--flags", default="-O3 -march=native", help="of the compiler")
    parser.add_argument("--json", help="write every time of every round here")
    return parser.parse_args()


def build(flags):
    library = os.path.join(tempfile.mkdtemp(prefix="compare-"), "rivals.so")
    subprocess.run(["g++", "-std=c++14", *flags.split(), "-fopenmp", "-DEIGEN_DONT_ALIGN_STATICALLY",
                    "-shared", "-fPIC", "-w", "-I", str(HERE.parent.parent), "-I/usr/include/eigen3",
                    "-I/usr/include/suitesparse", str(HERE / "rivals.cpp"), "-o", library, "-lrsb",
                    "-lgraphblas", "-ldl", "-lm", "-lpthread"], check=True)
    loaded = ctypes.CDLL(library)
    loaded.rival_open.restype = ctypes.c_void_p
    loaded.rival_time.restype = loaded.stream_triad.restype = ctypes.c_double
    return loaded


def mkl_path():
    try:
        files = importlib.metadata.files("mkl") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [str(f.locate()) for f in files if f.name.startswith("libmkl_rt.so")]
    return found[0] if found else None


def read(path):
    """Returns a SciPy CSR with 32-bit indices."""
    data = pathlib.Path(path).read_bytes()
    data = lzma.decompress(data) if path.endswith(".xz") else data
    if int.from_bytes(data[:8], "little") != MAGIC:
        matrix = scipy.sparse.csr_matrix(scipy.io.mmread(io.BytesIO(data)))
        matrix.sort_indices()
        return matrix.astype(np.float64)
    rows, cols, nnz, has_values = np.frombuffer(data, "<i8", 4, 8)
    row_ptr = np.frombuffer(data, "<i4", rows + 1, 40)
    col_ind = np.frombuffer(data, "<i4", nnz, 40 + 4 * (rows + 1))
    values = (np.frombuffer(data, "<f8", nnz, 40 + 4 * (rows + 1 + nnz)) if has_values
              else np.ones(nnz))
    return scipy.sparse.csr_matrix((values, col_ind, row_ptr), shape=(rows, cols))


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


class Product:
    """One matrix's product by one program: the compiled library or SciPy."""

    def __init__(self, library, name, method, matrix, options, mkl):
        self.library, self.matrix, self.name = library, matrix, name
        self.handle, self.times = None, []
        if name != "scipy":
            self.handle = ctypes.c_void_p(library.rival_open(
                name.split(":")[0].encode(), *matrix.shape, matrix.nnz, address(matrix.indptr),
                address(matrix.indices), address(matrix.data), int(options.precision == "f32"),
                options.threads, METHODS[method], (mkl or "").encode()))

    def run(self, x, y, count):
        """Returns the seconds per product."""
        if self.handle is None:
            start = time.perf_counter()
            for _ in range(count):
                y[:] = 0
                csr_matvec(*self.matrix.shape, self.matrix.indptr, self.matrix.indices,
                           self.matrix.data, x, y)
            return (time.perf_counter() - start) / count
        return self.library.rival_time(self.handle, address(x), address(y), count)

    def note(self):
        text = ctypes.create_string_buffer(1024)
        if self.handle is not None:
            self.library.rival_note(self.handle, text, ctypes.c_size_t(1024))
        return text.value.decode()

    def close(self):
        if self.handle is not None:
            self.library.rival_close(self.handle)


def products(library, matrix, options, mkl):
    for method in options.methods.split(","):
        yield Product(library, "merbit:" + method, method, matrix, options, mkl)
    for name in options.rivals.split(","):
        if name != "mkl" or mkl is not None:
            yield Product(library, name, "auto", matrix, options, mkl)


def verify(found, x, y, matrix):
    """Drops the programs whose product fails or is wrong."""
    right = matrix @ x
    bound = abs(matrix) @ abs(x)
    kept = []
    for product in found:
        y[:] = np.nan
        took = product.run(x, y, 1)
        error = np.max(np.abs(y - right) - 1000 * np.finfo(x.dtype).eps * bound, initial=-1)
        if took < 0 or not error <= 0:
            print(f"  {product.name} is wrong or failed: left out", file=sys.stderr)
            product.close()
        else:
            kept.append(product)
    return kept


def measure(found, x, y, options):
    counts = {p: max(1, int(options.batch / max(p.run(x, y, 2), 1e-7))) for p in found}
    for turn in range(options.rounds):
        for product in random.Random(turn).sample(found, len(found)):
            product.run(x, y, 1 + counts[product] // 8)
            product.times.append(product.run(x, y, counts[product]))


def triad(library, options):
    a, b, c = (np.ones(1 << 24) for _ in range(3))
    rates = [library.stream_triad(address(a), address(b), address(c), ctypes.c_int64(a.size),
                                  options.threads) for _ in range(7)]
    return statistics.median(rates)


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def compare(library, path, kind, options, mkl):
    matrix = read(path)
    if kind == "random":
        matrix.data = np.random.default_rng(1).uniform(0.5, 1.5, matrix.nnz)
    matrix = matrix.astype(np.float32 if options.precision == "f32" else np.float64)
    x = np.random.default_rng(2).uniform(-1, 1, matrix.shape[1]).astype(matrix.dtype)
    y = np.zeros(matrix.shape[0], matrix.dtype)
    found = verify(list(products(library, matrix, options, mkl)), x, y, matrix)
    measure(found, x, y, options)
    medians = {p.name: statistics.median(p.times) for p in found}
    best = min((t, n) for n, t in medians.items() if not n.startswith("merbit"))
    ours = {n: t for n, t in medians.items() if n.startswith("merbit")}
    first = next(iter(ours))
    least = {p.name: min(p.times) for p in found}
    least_best = min(t for n, t in least.items() if not n.startswith("merbit"))
    stored = (matrix.nnz * (4 + matrix.data.itemsize) + 4 * matrix.shape[0] +
              sum(matrix.shape) * matrix.data.itemsize)
    record = dict(file=os.path.basename(path), values=kind, nnz=int(matrix.nnz), medians=medians,
                  least=least, best=best[1], ratio=best[0] / ours[first],
                  least_ratio=least_best / least[first], rate=stored / ours[first],
                  times={p.name: p.times for p in found}, note=found[0].note())
    for product in found:
        product.close()
    return record


def show(record, names):
    times = " ".join(f"{1e6 * record['medians'][n]:10.0f}" if n in record["medians"] else " " * 10
                     for n in names)
    print(f"{record['file'].split('.')[0]:24.24} {record['values']:6} {times} {record['ratio']:6.2f} "
          f"{record['best']:9} {1e-9 * record['rate']:6.1f}", flush=True)


def processor():
    found = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    return found[1] if found else "unknown CPU"


def write_json(options, records):
    """Writes what was measured, where and when, and the records, for docs/tables.py."""
    run = dict(program=os.path.basename(sys.argv[0]), date=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
               device=f"{processor()}, {options.threads} threads", cpu_threads=options.threads,
               precision=getattr(options, "precision", "f64"), command=" ".join(["python3", *sys.argv]), results=records)
    pathlib.Path(options.json).write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


def main():
    options = arguments()
    library, mkl = build(options.flags), mkl_path()
    names = ["merbit:" + m for m in options.methods.split(",")]
    names += [r for r in options.rivals.split(",") if r != "mkl" or mkl is not None]
    kinds = ("random", "given") if options.values == "both" else (options.values,)
    print(f"{options.threads} threads, {options.precision}, STREAM triad "
          f"{1e-9 * triad(library, options):.1f} GB/s; microseconds, medians of {options.rounds} rounds; "
          "ratio: the best rival's time over merbit's; GB/s: bytes of the plain CSR and vectors")
    print(f"{'matrix':24} {'values':6} " + " ".join(f"{n[-10:]:>10}" for n in names) +
          f" {'ratio':>6} {'best':9} {'GB/s':>6}")
    records = []
    for path in options.files:
        for kind in kinds:
            records.append(compare(library, path, kind, options, mkl))
            show(records[-1], names)
    for kind in kinds:
        ratios = [r["ratio"] for r in records if r["values"] == kind]
        least = [r["least_ratio"] for r in records if r["values"] == kind]
        print(f"{kind}: geometric mean {geometric_mean(ratios):.2f}, worst {min(ratios):.2f}, "
              f"best {max(ratios):.2f}; of the least times instead of medians "
              f"{geometric_mean(least):.2f}, {min(least):.2f}, {max(least):.2f}")
    print(f"STREAM triad again {1e-9 * triad(library, options):.1f} GB/s")
    if options.json:
        write_json(options, records)


if __name__ == "__main__":
    main()
