"""Prints how long A @ x takes on a matrix so small that the call itself is all: python overhead.py

Of that time the call of merbit_spmv is less than 0.1 us, and the result's array 0.2 us (NumPy) or 1 us (PyTorch).
"""

import timeit

import numpy
import scipy.sparse

import merbit

A = merbit.csr(scipy.sparse.csr_array(numpy.eye(3)), context=merbit.Context("cpu"))
cases = {"NumPy": numpy.ones(3)}
try:
    import torch

    cases["PyTorch"] = torch.ones(3, dtype=torch.float64)
except ImportError:
    pass
for name, x in cases.items():
    A @ x
    best = min(timeit.repeat(lambda: A @ x, number=20000, repeat=9)) / 20000
    print(f"{name}: A @ x takes {best * 1e6:.2f} us")
