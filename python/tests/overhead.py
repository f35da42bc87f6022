"""Prints the time of A @ x on a tiny matrix, which is the overhead of the call, and of merbit_spmv in C: python overhead.py

On the CPU, and on the GPU where there is one: there until the call returns, the product being enqueued. Needs a C compiler.
"""

import ctypes
import os
import pathlib
import subprocess
import tempfile
import time

import numpy
import scipy.sparse

import merbit

CALLS, BATCHES = 300, 60  # few enough calls to fit in the GPU's queue
HERE = pathlib.Path(__file__).resolve().parent


def build(folder):
    """Compiles overhead.c as a library."""
    path = os.path.join(folder, "overhead.so")
    command = [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-pthread", f"-I{HERE.parent.parent}"]
    subprocess.run([*command, str(HERE / "overhead.c"), "-o", path, "-lm", "-ldl"], check=True)
    function = ctypes.CDLL(path).seconds_of_merbit_spmv
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    return function


def least(call, wait):
    """Returns the least seconds per call."""
    found = []
    for _ in range(BATCHES):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        found.append((time.perf_counter() - start) / CALLS)
        wait()
    return min(found)


def arrays(side):
    """Returns {library: (x, function that waits)}."""
    found = {}
    if side == "cpu":
        found["NumPy"] = (numpy.ones(3), lambda: None)
    try:
        import torch

        place = side if side == "cpu" else "cuda"
        wait = torch.cuda.synchronize if side == "cuda" else lambda: None
        if side == "cpu" or torch.cuda.is_available():
            found["PyTorch"] = (torch.ones(3, dtype=torch.float64, device=place), wait)
    except ImportError:
        pass
    try:
        import cupy

        if side == "cuda":
            found["CuPy"] = (cupy.ones(3), cupy.cuda.Device(0).synchronize)
    except ImportError:
        pass
    return found


with tempfile.TemporaryDirectory() as folder:
    seconds_in_c = build(folder)
    for side in ("cpu", "cuda"):
        try:
            context = merbit.Context(side)
        except merbit.Error as error:
            print(f"{side}: {error}")
            continue
        A = merbit.csr(scipy.sparse.csr_array(numpy.eye(3)), context=context)
        in_c = seconds_in_c(side == "cuda", context.info.nvrtc.encode() or None, CALLS, BATCHES)
        if in_c < 0:
            raise SystemExit(f"{side}: overhead.c failed")
        print(f"{side}: merbit_spmv in C takes {in_c * 1e6:.2f} us")
        for name, (x, wait) in arrays(side).items():
            A @ x
            seconds = least(lambda: A @ x, wait)  # noqa: B023: called in this round
            print(f"{side}: A @ x with {name} takes {seconds * 1e6:.2f} us, {(seconds - in_c) * 1e6:.2f} us over C")
