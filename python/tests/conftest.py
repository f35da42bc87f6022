"""Shared by the tests: random matrices, and their seed."""

import os
import time

import numpy
import pytest
import scipy.sparse

SEED = int(os.environ.get("MERBIT_TEST_SEED", time.time()))


def pytest_report_header(config):
    return f"MERBIT_TEST_SEED={SEED} repeats this run's random numbers"


@pytest.fixture
def random():
    return numpy.random.default_rng(SEED)


@pytest.fixture
def sparse(random):
    """Makes a random CSR matrix; some rows are empty, columns are not sorted."""

    def make(rows, cols, dtype="float64", density=0.2):
        chosen = random.random((rows, cols)) < density
        chosen[random.random(rows) < 0.2] = False
        row, col = numpy.nonzero(chosen)
        order = random.permutation(len(row))
        matrix = scipy.sparse.csr_array(
            (numbers(random, len(row), dtype), (row[order], col[order])), shape=(rows, cols)
        )
        matrix.has_sorted_indices = False
        return matrix

    return make


def numbers(random, shape, dtype):
    """Returns random numbers of a type, none of them close to zero."""
    found = random.uniform(0.5, 2, shape)
    if numpy.dtype(dtype).kind == "c":
        found = found + 1j * random.uniform(-2, 2, shape)
    return found.astype(dtype)


def laplacian(n, shift=0.01):
    """Returns a symmetric positive definite tridiagonal matrix."""
    return scipy.sparse.diags_array([-1.0, 2.0 + shift, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
