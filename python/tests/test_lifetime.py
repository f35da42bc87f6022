"""Lifetimes: arrays stay alive while something uses them, and nothing stays longer."""

import copy
import ctypes
import gc
import os
import pickle
import signal
import sys
import tracemalloc
import weakref

import numpy
import pytest
import scipy.sparse

import merbit
from conftest import laplacian


class Array(numpy.ndarray):
    """An array that can be weakly referenced."""


def watched(values):
    array = numpy.asarray(values).view(Array)
    return array, weakref.ref(array)


def test_arrays_live_as_long_as_the_matrix():
    arrays, watches = zip(*(watched(a) for a in ([1.0, 2, 3], [0, 2, 1], [0, 2, 3])))
    A = merbit.csr(tuple(arrays), (2, 3))
    del arrays
    gc.collect()
    assert all(watch() is not None for watch in watches)
    B = A.T
    del A
    gc.collect()
    assert (B @ numpy.ones(2)).tolist() == [1, 3, 2] and all(watch() is not None for watch in watches)
    del B
    gc.collect()
    assert all(watch() is None for watch in watches)


def test_a_buffer_is_locked_while_it_is_lent():
    import array

    values = array.array("d", [1, 2, 3])
    A = merbit.csr((values, array.array("i", [0, 2, 1]), array.array("i", [0, 2, 3])), (2, 3))
    with pytest.raises(BufferError):
        values.append(4.0)
    del A
    gc.collect()
    values.append(4.0)


def test_vectors_are_given_back():
    A = merbit.csr(laplacian(10))
    for product in (lambda x: A @ x, lambda x: A.multiply(x), lambda x: A.multiply(x, numpy.empty(10))):
        x, watch = watched(numpy.ones(10))
        before = sys.getrefcount(x)
        y = product(x)
        assert sys.getrefcount(x) == before and sys.getrefcount(y) == 2
        del x
        assert watch() is None
        plain = numpy.ones(10)
        product(plain)
        before = sys.getrefcount(plain)
        product(plain)  # the fast path, for plain arrays
        assert sys.getrefcount(plain) == before
    for wrong in (numpy.ones(11), numpy.ones(10, "f4"), numpy.ones(20)[::2], numpy.ones((10, 1, 1, 1))):
        before = sys.getrefcount(wrong)
        with pytest.raises(merbit.Error):
            A @ wrong
        assert sys.getrefcount(wrong) == before


def test_lenders_are_given_back():
    class Lender:
        """An array with only DLPack, of a library that merbit does not know."""

        def __init__(self):
            self.array = numpy.ones(10)

        def __dlpack__(self):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    lender, A = Lender(), merbit.csr(laplacian(10))
    watch = weakref.ref(lender)
    numpy.testing.assert_allclose(A @ lender, laplacian(10) @ numpy.ones(10))
    del lender
    assert watch() is None


def test_a_matrix_in_a_cycle_is_collected():
    class Mine:
        def matvec(self, r):
            return r

    mine = Mine()
    mine.matrix = merbit.csr(laplacian(10), context=merbit.Context("cpu"))
    merbit.cg(mine.matrix, numpy.ones(10), M=mine)  # the matrix keeps the solver, and that `mine`
    watch = weakref.ref(mine)
    del mine
    gc.collect()
    assert watch() is None


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_nothing_leaks():
    S, b = laplacian(2000), numpy.ones(2000)
    context = merbit.Context("cpu", threads=1)

    def everything():
        A = merbit.csr(S, context=context)
        A @ b, A.T @ b, A @ numpy.ones((2000, 3)), A.describe(), A.info, repr(A)
        A.update(S.data)
        A.epilogue("v0 - ax", "y * y", vectors=1)(b, b)
        merbit.cg(A, b, max_iterations=5, M=lambda r: r)
        merbit.pagerank(abs(S), max_iterations=3, context=context, personalisation=b, progress=lambda *a: None)
        merbit.eigsh(A, 1, max_iterations=20)
        context.info
        for wrong in (b[:-1], "x", b[::2], b.astype("f4")):
            with pytest.raises(merbit.Error):
                A @ wrong
            with pytest.raises(merbit.Error):
                A.update(wrong)
            with pytest.raises((merbit.Error, ValueError)):
                merbit.csr((b, wrong, wrong), (3, 3))

    tracemalloc.start()
    for _ in range(150):  # until NumPy's and Python's own caches are full
        everything()
    gc.collect()
    grown = []
    for _ in range(3):  # a leak shows each time, caches of Python or NumPy rarely
        before = (tracemalloc.get_traced_memory()[0], len(gc.get_objects()), resident())
        for _ in range(50):
            everything()
        gc.collect()
        after = (tracemalloc.get_traced_memory()[0], len(gc.get_objects()), resident())
        grown.append([b - a for a, b in zip(before, after)])
    tracemalloc.stop()
    traced, objects, memory = (min(column) for column in zip(*grown))
    assert traced < 50 * 40 and objects < 50
    assert memory < 50 * 10000  # an array of S has 16 kB or more


def test_references_of_types_and_constants():
    """Reference counts of shared objects do not drift."""
    A, x = merbit.csr(laplacian(10)), numpy.ones(10)
    A @ x
    core = merbit._core
    shared = [type(A), core.View, core.Plan, core.Product, core.Context]
    if sys.version_info < (3, 12):  # in later versions they are immortal
        shared += [None, True]
    gc.collect()
    counts = [sys.getrefcount(what) for what in shared]
    for _ in range(1000):
        A @ x
        A.multiply(x)
        merbit._core.inspect(x, "x")
    for _ in range(200):
        merbit.csr(laplacian(10)) @ x
    gc.collect()
    assert all(abs(sys.getrefcount(what) - count) < 100 for what, count in zip(shared, counts))


def test_plans_for_many_widths_do_not_pile_up():
    A = merbit.csr(laplacian(10))
    for k in range(2, 40):
        A @ numpy.ones((10, k))
    assert len(A._source.plans) < 12
    assert numpy.allclose(A @ numpy.ones((10, 2)), laplacian(10) @ numpy.ones((10, 2)))


def test_plans_of_epilogues_go_with_them():
    class Function:
        """A C function that can be weakly referenced."""

        def __init__(self):
            kind = ctypes.CFUNCTYPE(None, *7 * [ctypes.c_void_p])
            self.function = kind(lambda *arguments: None)
            self.address = ctypes.cast(self.function, ctypes.c_void_p).value

    S, x = laplacian(10), numpy.ones(10)
    A = merbit.csr(S, context=merbit.Context("cpu"))
    watches = []
    for _ in range(20):
        function = Function()
        watches.append(weakref.ref(function))
        A.epilogue("2 * ax", function=function)
    del function
    A @ x  # the matrix keeps the plan that was used last, for describe
    gc.collect()
    assert not any(watch() for watch in watches)
    first, second = (A.epilogue("v0 - ax", "y * y", vectors=1) for _ in range(2))
    assert len(A._source.epilogues) == 1  # both share a plan
    del first
    gc.collect()
    A.update(3 * S.data)
    numpy.testing.assert_allclose(second(x, x)[0], x - 3 * (S @ x))


def test_fork():
    """A child process computes with its own contexts."""
    S = laplacian(10)
    A = merbit.csr(S)
    A @ numpy.ones(10)
    child = os.fork()
    if child == 0:
        fine = (
            numpy.allclose(merbit.csr(S) @ numpy.ones(10), S @ numpy.ones(10))
            and merbit.csr(S).context is not A.context
        )
        os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_fork_while_a_context_is_made():
    """A thread of the parent may hold the lock of the contexts when another forks."""
    with merbit._context._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            merbit.csr(laplacian(10)) @ numpy.ones(10)
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_copies():
    """A copy shares everything; a pickle, as multiprocessing makes, is refused with advice."""
    A = merbit.csr(laplacian(10))
    for thing in A, A.T, A.context, merbit.Preconditioner(A), A.epilogue("v0 - ax", "y * y", vectors=1):
        for call in pickle.dumps, copy.deepcopy:
            with pytest.raises(merbit.ArgumentTypeError, match=r"merbit.\w+ cannot be pickled.*make it there"):
                call(thing)
        copy.copy(thing)
    assert ((copy.copy(A) @ numpy.ones(10)) == A @ numpy.ones(10)).all()


def test_scipy_matrix_may_go():
    S = scipy.sparse.csr_array(numpy.eye(3))
    A = merbit.csr(S)
    del S
    gc.collect()
    assert (A @ numpy.ones(3)).tolist() == [1, 1, 1]
