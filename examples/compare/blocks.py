"""SciPy's BSR and NumPy's dense product on the block band of Chirila's report, for bench --rivals.

    pip install scipy
    python3 examples/compare/blocks.py gen:bsrband:2M >rivals.tsv
    bench --side cpu --methods bsr-rows,bsr-preprocessed --rivals rivals.tsv gen:bsrband:2M

Builds the same blocks as bench does, with other values, in f64, and writes a line for each program: the median of
the rounds. SciPy multiplies on one thread; NumPy's BLAS takes OMP_NUM_THREADS or all. NumPy is left out if the dense
matrix, 20 times as large, has more than --dense-gigabytes.
"""

import argparse
import math
import re
import statistics
import sys
import time

import numpy as np
import scipy.sparse

SIDE, DENSITY = 5, 0.05
SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "": 1}


def band(name):
    """Returns a SciPy BSR of 5 x 5 blocks, with the half bandwidth of bench/block_matrices.h."""
    match = re.fullmatch(r"gen:bsrband:([\d.]+)([kKMG]?)", name)
    if match is None:
        sys.exit(f"{name} is no block band; write gen:bsrband:NNZ, such as gen:bsrband:2M")
    places = max(1, int(math.sqrt(float(match[1]) * SCALES[match[2]] / DENSITY) / SIDE + 0.5))
    width = max(1, int(0.5 * DENSITY * places / (1 - 0.25 * DENSITY)))
    first = np.maximum(np.arange(places) - width, 0)
    last = np.minimum(np.arange(places) + width + 1, places)
    offsets = np.concatenate(([0], np.cumsum(last - first))).astype(np.int32)
    columns = np.concatenate([np.arange(a, b) for a, b in zip(first, last)]).astype(np.int32)
    values = np.random.default_rng(1).uniform(0.5, 1.5, (columns.size, SIDE, SIDE))
    return scipy.sparse.bsr_matrix((values, columns, offsets), shape=(places * SIDE, places * SIDE))


def median(product, rounds):
    """Returns the seconds of a product: the median of `rounds` batches of at least 50 ms."""
    product()
    start = time.perf_counter()
    product()
    count = max(1, int(0.05 / max(time.perf_counter() - start, 1e-9)))
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            product()
        times.append((time.perf_counter() - start) / count)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrix", help="gen:bsrband:NNZ, as bench takes it")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dense-gigabytes", type=float, default=16)
    options = parser.parse_args()
    matrix = band(options.matrix)
    x = np.random.default_rng(2).uniform(-1, 1, matrix.shape[1])
    found = {"scipy-bsr": median(lambda: matrix @ x, options.rounds)}
    if 8e-9 * math.prod(matrix.shape) <= options.dense_gigabytes:
        dense = matrix.toarray()
        if not np.allclose(dense @ x, matrix @ x):
            sys.exit("SciPy and NumPy disagree")
        found["numpy-dense"] = median(lambda: dense @ x, options.rounds)
    print(f"# SciPy {scipy.__version__}, NumPy {np.__version__}: {matrix.nnz} nonzeros")
    for name, seconds in found.items():
        print(f"{options.matrix} seed 1\tf64\tplain\t{name}\t{1e6 * seconds:.3f}")


if __name__ == "__main__":
    main()
