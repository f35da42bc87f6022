"""Compares the time of A @ x with that of the arrays' own libraries: python products.py [--device cpu] [--json FILE]

On a GPU: merbit on CuPy arrays beside cupyx.scipy.sparse, and on PyTorch tensors beside torch.sparse, by CUDA events in
the current stream. On the CPU: beside SciPy and torch.sparse. Each time is that of one call, its new array for y included:
the median of rounds in which the libraries take turns. Every result is compared with SciPy's first. Libraries that are
not there are left out.
"""

import argparse
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import numpy
import scipy.sparse

import merbit

PAIRS = {"cupy": "cupyx", "torch": "torch.sparse", "numpy": "scipy"}  # library of the arrays -> merbit's rival
ROUNDS = 9
LEAST = 2e-3  # seconds of calls between two clock readings


def assemble(rows, cols, row, col, random):
    """Returns a CSR matrix of random values at the given places; duplicates become one entry."""
    S = scipy.sparse.coo_array((numpy.ones(len(row), "f4"), (row, col)), shape=(rows, cols)).tocsr()
    S.sum_duplicates()
    return scipy.sparse.csr_array((random.uniform(0.5, 1.5, S.nnz), S.indices, S.indptr), shape=S.shape)


def matrices(size, random):
    """Yields (name, matrix in float64): about 12 million entries each at size 1, except two that fit in the L2 cache."""
    n = int(1_000_000 * size)

    def grid(*lengths):
        """Returns the 5-point or 7-point mesh."""
        S = scipy.sparse.csr_array((1, 1))
        for length in lengths:
            line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(length, length))
            S = scipy.sparse.kronsum(S, line, format="csr")
        return scipy.sparse.csr_array(S)

    edge = max(int((1.7 * n) ** (1 / 3)), 2)
    yield "mesh of 7 points", grid(edge, edge, edge)
    yield "mesh of 5 points, small", grid(max(int(0.1 * n**0.5 * 3), 2), max(int(0.1 * n**0.5 * 3), 2))
    offsets = sorted({-n // 9, -n // 90, -30, -2, -1, 0, 1, 2, 30, n // 90, n // 9})
    yield "banded", scipy.sparse.diags_array([1.0 + k / 7 for k in range(len(offsets))], offsets=offsets, shape=(n, n)).tocsr()
    row = numpy.repeat(numpy.arange(n), 12)
    yield "random, 12 a row", assemble(n, n, row, random.integers(0, n, len(row)), random)
    row = numpy.repeat(numpy.arange(n // 50), 12)
    yield "random, small", assemble(n // 50, n // 50, row, random.integers(0, n // 50, len(row)), random)
    near = numpy.repeat(numpy.arange(n), 12)
    yield "random near the diagonal", assemble(
        n, n, near, numpy.clip(near + random.integers(-n // 100 - 1, n // 100 + 2, len(near)), 0, n - 1), random
    )
    power = (n * random.random((2, 14 * n)) ** 4).astype(numpy.int64)
    names = random.permutation(n)
    yield "power law", assemble(n, n, names[power[0]], names[power[1]], random)
    counts = numpy.where(random.random(n) < 0.001, 3000, 8)
    row = numpy.repeat(numpy.arange(n), numpy.minimum(counts, n))
    yield "few long rows", assemble(n, n, row, random.integers(0, n, len(row)), random)
    block = max(n // 4, 4)
    node = numpy.repeat(numpy.arange(block), 6)
    other = numpy.clip(node + random.integers(-200, 201, len(node)), 0, block - 1)
    nodes = assemble(block, block, node, other, random)
    yield "blocks of 3", scipy.sparse.csr_array(scipy.sparse.kron(nodes, random.uniform(0.5, 1.5, (3, 3)), format="csr"))
    row = numpy.repeat(numpy.arange(max(n // 50, 1)), 600)
    yield "short and wide", assemble(max(n // 50, 1), n, row, random.integers(0, n, len(row)), random)


def libraries(device):
    """Returns {library: (moves a NumPy array there, makes the rival's matrix from SciPy's, moves back to NumPy)}."""
    found = {}
    if device == "cpu":
        found["numpy"] = (lambda a: a, lambda S: S, lambda y: y)
    else:
        try:
            import cupy
            import cupyx.scipy.sparse

            def matrix(S):
                arrays = tuple(cupy.asarray(a) for a in (S.data, S.indices, S.indptr))
                return cupyx.scipy.sparse.csr_matrix(arrays, shape=S.shape)

            found["cupy"] = (cupy.asarray, matrix, lambda y: y.get())
        except ImportError as error:
            print(f"CuPy is left out: {error}")
    try:
        import torch

        def tensor(S):
            arrays = (torch.from_numpy(a).to(device) for a in (S.indptr, S.indices, S.data))
            return torch.sparse_csr_tensor(*arrays, size=S.shape)

        found["torch"] = (lambda a: torch.from_numpy(a).to(device), tensor, lambda y: y.cpu().numpy())
    except ImportError as error:
        print(f"PyTorch is left out: {error}")
    return found


def clock(library, device):
    """Returns a function that times a number of calls of another one, in seconds."""
    if device == "cpu":

        def seconds(call, calls):
            start = time.perf_counter()
            for _ in range(calls):
                call()
            return time.perf_counter() - start

        return seconds
    module = sys.modules[library]
    event = (lambda: module.cuda.Event()) if library == "cupy" else lambda: module.cuda.Event(enable_timing=True)

    def seconds(call, calls):
        start, end = event(), event()
        start.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        milliseconds = module.cuda.get_elapsed_time(start, end) if library == "cupy" else start.elapsed_time(end)
        return milliseconds / 1e3

    return seconds


def measure(S, device, context, found):
    """Returns medians in seconds by library, and merbit's time from the matrix to the first result."""
    x = numpy.random.default_rng(2).uniform(-1, 1, S.shape[1]).astype(S.dtype)
    expected = S.astype("float64") @ x.astype("float64")
    limit = abs(S) @ abs(x) * 64 * numpy.finfo(S.dtype).eps * math.log2(2 + numpy.diff(S.indptr).max())
    calls, record = {}, {"first_seconds": {}, "methods": {}}
    for library, (put, make, get) in found.items():
        theirs, v = make(S), put(x)
        start = time.perf_counter()
        A = merbit.csr(theirs if device != "cpu" or library == "torch" else S, context=context)
        get(A @ v)
        record["first_seconds"][library] = time.perf_counter() - start
        record["methods"][library] = A.info.method
        for name, matrix in ((f"merbit on {library}", A), (PAIRS[library], theirs)):
            call = (lambda M, v: lambda: M @ v)(matrix, v)
            wrong = abs(get(call()) - expected) > limit + numpy.finfo(S.dtype).tiny
            if wrong.any():
                raise SystemExit(f"{name}: y[{int(wrong.argmax())}] is wrong")
            seconds = clock(library, device)
            seconds(call, 2)
            often = max(1, min(1000, math.ceil(LEAST / max(seconds(call, 2) / 2, 1e-7))))
            calls[name] = (seconds, call, often)
    times = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, (seconds, call, often) in calls.items():
            times[name].append(seconds(call, often) / often)
    record["medians"] = {name: statistics.median(values) for name, values in times.items()}
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--size", type=float, default=1, help="of the matrices")
    parser.add_argument("--json", help="the file to write")
    parser.add_argument("--commit", help="what was measured; asked of git unless given")
    options = parser.parse_args()
    found = libraries(options.device)
    context = merbit.Context(options.device)
    random = numpy.random.default_rng(1)
    records = []
    for name, S in matrices(options.size, random):
        S.sort_indices()
        S.indices, S.indptr = S.indices.astype("int32"), S.indptr.astype("int32")
        for dtype in ("float32", "float64"):
            record = measure(S.astype(dtype), options.device, context, found)
            record = {"matrix": name, "rows": S.shape[0], "cols": S.shape[1], "nnz": int(S.nnz), "dtype": dtype, **record}
            records.append(record)
            texts = [f"{who} {1e6 * t:.1f}" for who, t in record["medians"].items()]
            print(f"{name:24} {dtype} {S.nnz / 1e6:5.1f}M us: {', '.join(texts)}  {record['methods']}", flush=True)
    means = {}
    for library in found:
        for dtype in ("float32", "float64"):
            ratios = [r["medians"][PAIRS[library]] / r["medians"][f"merbit on {library}"] for r in records if r["dtype"] == dtype]
            mean = statistics.geometric_mean(ratios)
            means[f"{PAIRS[library]} {dtype}"] = mean
            print(f"merbit on {library}, {dtype}: {mean:.2f} times as fast as {PAIRS[library]} in geometric mean, "
                  f"{min(ratios):.2f} to {max(ratios):.2f}")  # fmt: skip
    if options.json:
        git = ["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse", "--short=8", "HEAD"]
        commit = options.commit or subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
        command = " ".join(["python3", *map(os.path.basename, sys.argv)])
        modules = {name: sys.modules[name].__version__ for name in ("numpy", "scipy", "cupy", "torch") if name in sys.modules}
        run = {
            "program": "products.py", "merbit": merbit.__version__, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "commit": commit or "unknown", "command": command, "device": context.info.device,
            "cpu_threads": context.info.threads, "driver": context.info.driver_version, "python": platform.python_version(),
            "versions": modules, "geometric_means": means, "results": records,
        }  # fmt: skip
        pathlib.Path(options.json).write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
