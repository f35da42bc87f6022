"""Products with NumPy arrays against SciPy's."""

import threading
import time
import types

import numpy
import pytest
import scipy.sparse

import merbit
from conftest import numbers

TOLERANCE = {"float64": 1e-13, "float32": 1e-5, "complex128": 1e-13, "complex64": 1e-5}


def close(found, expected, dtype):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    numpy.testing.assert_allclose(found, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("form", ["csr", "coo", "csc", "bsr"])
def test_formats_and_types(sparse, random, form, dtype):
    S = sparse(30, 24, dtype).asformat(form)
    A = merbit.csr(S)
    x, z = numbers(random, 24, dtype), numbers(random, 30, dtype)
    assert A.shape == (30, 24) and A.dtype == dtype
    for _ in range(2):  # the second takes the fast path
        close(A @ x, S @ x, dtype)
        close(A.T @ z, S.T @ z, dtype)
        close(A.H @ z, S.conj().T @ z, dtype)
        close(z @ A, z @ S, dtype)
    assert A.T.T.shape == A.shape and A.T.shape == (24, 30)
    assert A.nnz == S.nnz


def test_old_matrix_classes(sparse, random):
    S = scipy.sparse.csr_matrix(sparse(9, 7))
    x = random.random(7)
    close(merbit.csr(S) @ x, S @ x, "float64")


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
def test_spare_room_of_scipy(sparse, random, form):
    """SciPy's arrays may be longer than the last offset says."""
    S, x = sparse(10, 8).asformat(form), random.random(8)
    expected = S @ x
    S.indices = numpy.concatenate([S.indices, numpy.full(3, -1, S.indices.dtype)])
    S.data = numpy.concatenate([S.data, numpy.ones((3, *S.data.shape[1:]))])
    close(merbit.csr(S) @ x, expected, "float64")


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("base", [0, 1])
def test_arrays(sparse, random, index, base):
    S = sparse(20, 15)
    x = random.random(15)
    A = merbit.csr((S.data, (S.indices + base).astype(index), (S.indptr + base).astype("int64")), S.shape, base=base)
    close(A @ x, S @ x, "float64")
    C = S.tocoo()
    B = merbit.csr((C.data, ((C.row + base).astype(index), (C.col + base).astype(index))), C.shape, base=base)
    close(B @ x, S @ x, "float64")


def test_other_buffers():
    import array

    A = merbit.csr((array.array("d", [1, 2, 3]), array.array("i", [0, 2, 1]), array.array("i", [0, 2, 3])), (2, 3))
    y = A.multiply(array.array("d", [1, 10, 100]))
    assert isinstance(y, numpy.ndarray) and y.tolist() == [201, 30]


def test_arrays_of_ctypes():
    """Their buffers have no strides, which means C order."""
    import ctypes

    def array(kind, *numbers):
        return (kind * len(numbers))(*numbers)

    arrays = (array(ctypes.c_double, 1, 2, 3), array(ctypes.c_int, 0, 2, 1), array(ctypes.c_int, 0, 2, 3))
    A, out = merbit.csr(arrays, (2, 3)), array(ctypes.c_double, 0, 0)
    assert A.multiply(array(ctypes.c_double, 1, 10, 100)).tolist() == [201, 30]
    A.multiply(array(ctypes.c_double, 1, 10, 100), out)
    assert list(out) == [201, 30]
    rows = (array(ctypes.c_double, 1, 2), array(ctypes.c_double, 10, 20), array(ctypes.c_double, 100, 200))
    assert A.multiply((ctypes.c_double * 2 * 3)(*rows)).tolist() == [[201, 402], [30, 60]]


class OnlyDLPack:
    """An array of a library that merbit does not know, and that NumPy cannot convert by __array__."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_arrays_with_only_dlpack(sparse, random, form):
    S, x, X = sparse(9, 7).asformat(form), random.random(7), random.random((7, 130))
    A = merbit.csr(S)
    for vectors in x, X, X[:, :3]:
        close(A @ OnlyDLPack(vectors), S @ vectors, "float64")
    with pytest.raises(TypeError, match="x has type int64"):
        A @ OnlyDLPack(numpy.ones(7, int))
    A.update(OnlyDLPack(2 * S.data))
    close(A @ x, 2 * (S @ x), "float64")


def test_pattern_and_narrow_values(sparse, random):
    S = sparse(20, 15)
    x = random.random(15)
    ones = scipy.sparse.csr_array((numpy.ones(S.nnz), S.indices, S.indptr), S.shape)
    close(merbit.csr((None, S.indices, S.indptr), S.shape) @ x, ones @ x, "float64")
    A = merbit.csr((None, S.indices, S.indptr), S.shape, dtype="float32")
    close(A @ x.astype("float32"), ones.astype("float32") @ x.astype("float32"), "float32")
    halves = S.data.astype("float16")
    wide = scipy.sparse.csr_array((halves.astype("float32"), S.indices, S.indptr), S.shape)
    close(
        merbit.csr((halves, S.indices, S.indptr), S.shape) @ x.astype("float32"), wide @ x.astype("float32"), "float32"
    )
    bits = (S.data.astype("float32").view("uint32") >> 16).astype("uint16")
    wide = scipy.sparse.csr_array(((bits.astype("uint32") << 16).view("float32"), S.indices, S.indptr), S.shape)
    B = merbit.csr((bits, S.indices, S.indptr), S.shape, dtype="bfloat16")
    close(B @ x.astype("float32"), wide @ x.astype("float32"), "float32")


def test_memory(sparse):
    """The memory of a matrix: hardly any with MERGE, which reads the arrays, and a copy of them with SORTED."""
    S, cpu = sparse(200, 150), merbit.Context("cpu")
    x = numpy.ones(150)
    held = {}
    for method in ("merge", "sorted"):
        A = merbit.csr(S, method=method, context=cpu)
        A @ x
        assert A.info.device_bytes == 0
        held[method] = A.info.host_bytes
    assert 0 < held["merge"] < S.nnz * 12 + held["merge"] <= held["sorted"]


def test_float32_matrix_takes_float64_vectors(sparse, random):
    S = sparse(20, 15, "float32")
    A, x = merbit.csr(S), random.random(15)
    close(A @ x, S.astype("float64") @ x, "float64")
    close(A @ x.astype("float32"), S @ x.astype("float32"), "float32")


@pytest.mark.parametrize("k", [0, 1, 2, 7, 64, 65, 130])
@pytest.mark.parametrize("order", ["C", "F"])
def test_several_vectors(sparse, random, k, order):
    S = sparse(30, 24)
    A, X, Z = merbit.csr(S), numpy.asarray(random.random((24, k)), order=order), random.random((k, 30))
    close(A @ X, S @ X, "float64")
    close(Z @ A, Z @ S, "float64")
    wide = numpy.zeros((24, k + 3))[:, :k] if k > 1 else X
    wide[...] = X
    close(A @ wide, S @ X, "float64")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("columns, k", [(0, 3), (1, 3), (1, 65)])
def test_out_in_its_own_order(sparse, random, columns, k, order):
    """An x of one row or none is in both orders, so that out may be in either."""
    S, X = sparse(30, columns), random.random((columns, k))
    for own in "CF":
        close(merbit.csr(S).multiply(X.copy(own), numpy.empty((30, k), order=order)), S @ X, "float64")


@pytest.mark.parametrize("order", ["C", "F"])
def test_several_vectors_one_by_one(sparse, random, order):
    """merbit.h multiplies several vectors only in one type and over plus-times."""
    S = sparse(30, 24, "complex128")
    X = numpy.asarray(numbers(random, (24, 3), "complex128"), order=order)
    Y = numpy.asarray(numbers(random, (30, 3), "complex128"), order=order)
    close(merbit.csr(S) @ X, S @ X, "complex128")
    for other in "CF":  # the order of the result is its own
        close(merbit.csr(S).multiply(X, Y.copy(other), alpha=2, beta=1j), 2 * (S @ X) + 1j * Y, "complex128")
    for shape in (30, 4), (31, 3), (30, 3, 1), (30,):
        with pytest.raises(ValueError, match="out has"):
            merbit.csr(S).multiply(X, numpy.zeros(shape, "complex128"))
    narrow, X = sparse(30, 24, "float32"), numpy.asarray(random.random((24, 3)), order=order)
    close(merbit.csr(narrow) @ X, narrow.astype("float64") @ X, "float64")
    A = merbit.csr(narrow.astype("float64"), semiring="max_times")
    close(A @ X, numpy.stack([A @ x.copy() for x in X.T], axis=1), "float64")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype, k", [("float64", 100), ("float64", 0), ("complex128", 2), ("float32", 2)])
def test_out_of_products_in_parts(sparse, random, dtype, k, order):
    """Products of more than 64 vectors, and those of one vector at a time, check x and out as a whole."""
    A = merbit.csr(sparse(30, 30, dtype))
    kind = "float64" if dtype == "float32" else dtype  # float32 values with float64 vectors
    both = numpy.asarray(numbers(random, (30, 2 * k + 5), kind), order=order)
    before = both.copy()
    if k:
        for first in 0, 1, k - 1:
            with pytest.raises(ValueError, match="overlap"):
                A.multiply(both[:, :k], both[:, first : first + k])
    for shape in (30, k + 1), (30, k + 3), (31, k), (30,):
        with pytest.raises(ValueError, match="out has shape"):
            A.multiply(both[:, :k].copy(order), numpy.zeros(shape, kind, order))
    fixed = numpy.zeros((30, k), kind, order)
    fixed.flags.writeable = False
    with pytest.raises(merbit.ArgumentError, match="read-only"):
        A.multiply(both[:, :k].copy(order), fixed)
    numpy.testing.assert_array_equal(both, before)


def test_alpha_beta_out(sparse, random):
    S = sparse(30, 24)
    A, x, y = merbit.csr(S), random.random(24), random.random(30)
    expected = 2 * (S @ x) - 0.5 * y
    assert A.multiply(x, y, alpha=2, beta=-0.5) is y
    close(y, expected, "float64")
    y[:] = numpy.nan
    close(A.multiply(x, y), S @ x, "float64")
    X, Y = random.random((24, 80)), random.random((30, 80))
    expected = 3 * (S @ X) + Y
    close(A.multiply(X, Y, alpha=3.0, beta=1), expected, "float64")
    C = merbit.csr(S.astype("complex128"))
    close(C.multiply(x.astype("complex128"), alpha=2j), 2j * (S @ x), "complex128")


def test_symmetry(sparse, random):
    S = sparse(25, 25)
    x = random.random(25)
    lower = scipy.sparse.tril(S, format="csr")
    both = lower + scipy.sparse.tril(S, -1).T
    close(merbit.csr(lower, symmetry="symmetric") @ x, both @ x, "float64")
    strict = scipy.sparse.tril(S, -1, format="csr")
    close(merbit.csr(strict, symmetry="skew") @ x, (strict - strict.T) @ x, "float64")
    with pytest.raises(merbit.MatrixError):
        merbit.csr(S + S.T, symmetry="symmetric")


def test_semirings(random):
    lengths = scipy.sparse.csr_array(([4.0, 9.0, 3.0], ([0, 0, 1], [1, 2, 2])), shape=(3, 3))
    A = merbit.csr(lengths, semiring="min_plus")
    far = numpy.array([0, numpy.inf, numpy.inf])
    near = A.T.multiply(far, far.copy(), beta=0)
    assert near.tolist() == [0, 4, 9] and A.T.multiply(near, near.copy(), beta=0).tolist() == [0, 4, 7]
    assert (merbit.csr(lengths, semiring="or_and") @ numpy.array([0.0, 0, 1])).tolist() == [1, 1, 0]


def test_custom_semiring():
    import ctypes

    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double, ctypes.c_double)
    operators = merbit.Operators(
        zero=-1.0,
        add="max(a, b)",
        multiply="min(a, x)",
        add_function=kind(lambda _, a, b: max(a, b)),
        multiply_function=kind(lambda _, a, x: min(a, x)),
    )
    S = scipy.sparse.csr_array(([4.0, 9.0, 3.0], ([0, 0, 1], [1, 2, 2])), shape=(3, 3))
    A = merbit.csr(S, semiring="custom", operators=operators, context=merbit.Context("cpu"))
    del operators  # the matrix keeps the functions
    assert (A @ numpy.array([0.0, 5, 6])).tolist() == [6, 3, -1]


def test_epilogue(sparse, random):
    S = sparse(30, 24)
    A, x, b = merbit.csr(S, context=merbit.Context("cpu")), random.random(24), random.random(30)
    residual = A.epilogue("v0 - ax", "y * y", vectors=1)
    r, sums = residual(x, b)
    close(r, b - S @ x, "float64")
    numpy.testing.assert_allclose(sums, [numpy.sum((b - S @ x) ** 2)])
    ax, sums = A.epilogue(sums=("v0 * ax", "ax * ax"), vectors=1)(x, b)
    numpy.testing.assert_allclose(sums, [b @ (S @ x), (S @ x) @ (S @ x)])
    with pytest.raises(merbit.ArgumentError, match="0 vectors"):
        residual(x)
    with pytest.raises(merbit.ArgumentError, match="v0"):
        residual(x, b[:-1])
    with pytest.raises(merbit.Error, match="expression|position|ax"):
        A.epilogue("ax + nonsense")


def test_update(sparse, random):
    S = sparse(30, 24)
    A, x, z = merbit.csr(S), random.random(24), random.random(30)
    for step in range(3):
        new = scipy.sparse.csr_array((numbers(random, S.nnz, "float64"), S.indices, S.indptr), S.shape)
        values = new.data.copy()
        A.update(values)
        values[:] = numpy.nan  # they were copied
        close(A @ x, new @ x, "float64")
        close(A.T @ z, new.T @ z, "float64")
        X = random.random((24, step + 2))
        close(A @ X, new @ X, "float64")
    with pytest.raises(merbit.ArgumentError, match="values for"):
        A.update(values[:-1])
    with pytest.raises(merbit.ArgumentTypeError, match="float32"):
        A.update(values.astype("float32"))
    close(A @ x, new @ x, "float64")
    with pytest.raises(merbit.ArgumentError, match="pattern"):
        merbit.csr((None, S.indices, S.indptr), S.shape).update(values)


@pytest.mark.parametrize("form", ["csr", "coo", "csc", "bsr"])
def test_update_of_formats(sparse, random, form):
    """New values come in the order of the matrix that was given, also if merbit keeps another one."""
    S = (sparse(40, 40) + 50 * scipy.sparse.eye_array(40)).asformat(form)
    before = S.copy()
    A, x = merbit.csr(S), random.random(40)
    M = merbit.Preconditioner(A, "jacobi")
    close(A @ x, S @ x, "float64")
    merbit.bicgstab(A, x)
    S.data *= random.uniform(0.5, 1.5, S.data.shape)
    A.update(S.data)
    M.update(S.data)
    close(A @ x, S @ x, "float64")
    close(A.T @ x, S.T @ x, "float64")
    close(M @ x, x / S.tocsr().diagonal(), "float64")
    numpy.testing.assert_allclose(S @ merbit.bicgstab(A, x)[0], x, atol=1e-8)
    for wrong in S.data[:-1], numpy.concatenate([S.data, S.data]):
        with pytest.raises(merbit.ArgumentError, match="there are"):
            A.update(wrong)
    A.update(memoryview(before.data).cast("B").cast("d"))
    close(A @ x, before @ x, "float64")


def test_empty():
    for rows, cols in ((0, 0), (0, 4), (4, 0), (3, 5)):
        A = merbit.csr(scipy.sparse.csr_array((rows, cols)))
        assert (A @ numpy.ones(cols)).tolist() == [0.0] * rows
        assert (A.T @ numpy.ones(rows)).tolist() == [0.0] * cols


def test_threads(sparse, random):
    """Concurrent products of one matrix have their own scratch memory."""
    S = sparse(20000, 500, density=0.02)
    A = merbit.csr(S, context=merbit.Context("cpu", threads=2))
    xs = [random.random(500) for _ in range(4)]
    failures = []

    def work(x):
        expected = S @ x
        for _ in range(50):
            if not numpy.allclose(A @ x, expected, rtol=1e-12):
                failures.append("another thread's product")

    workers = [threading.Thread(target=work, args=(x,)) for x in xs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def test_gil_is_released(sparse, random):
    """Other threads run while one multiplies."""
    S = sparse(400000, 50, density=0.1)
    A, X = merbit.csr(S, context=merbit.Context("cpu", threads=1)), random.random((50, 64))
    A @ X
    span, ticks = [], []

    def multiply():
        span.append(time.perf_counter())
        A @ X
        span.append(time.perf_counter())

    worker = threading.Thread(target=multiply)
    worker.start()
    while len(span) < 2:
        ticks.append(time.perf_counter())
    worker.join()
    begin, end = span
    assert any(begin + 0.3 * (end - begin) < tick < begin + 0.7 * (end - begin) for tick in ticks)


def test_failed_update_changes_nothing(sparse, random):
    """If one of several plans refuses the new values, all have the old ones again."""
    S = sparse(30, 24)
    A, x, z = merbit.csr(S), random.random(24), random.random(30)
    A @ x, A.T @ z

    def refuse(view):
        raise MemoryError("no room")

    A._source.plans["the last"] = types.SimpleNamespace(update=refuse)
    with pytest.raises(MemoryError):
        A.update(2 * S.data)
    close(A @ x, S @ x, "float64")
    close(A.T @ z, S.T @ z, "float64")


def test_facts(sparse):
    A = merbit.csr(sparse(30, 24), context=merbit.Context("cpu"))
    assert "30 x 24" in A.describe()
    assert A.info.side == "cpu" and A.info.method == A.describe().split()[0]
    assert repr(A).startswith("<merbit.Matrix of 30 x 24 with ") and "CPU" in repr(A)
    assert A.context.info.side == "cpu" and A.context.device is None


def test_methods(sparse, random):
    S, x = sparse(30, 24), random.random(24)
    context = merbit.Context("cpu")
    for method in ("reference", "merge", "sorted"):
        A = merbit.csr(S, method=method, context=context, deterministic=True, changing_values=True, expected_calls=5)
        close(A @ x, S @ x, "float64")
        assert A.info.method == method
    with pytest.raises(merbit.NoDeviceError, match="MERBIT_METHOD_SCAN"):
        merbit.csr(S, method="scan", context=context)


@pytest.mark.parametrize("method", ["auto", "merge", "sorted"])
@pytest.mark.parametrize("vectors", [1, 3])
def test_forecast(sparse, method, vectors):
    """A plan takes no more memory than the forecast."""
    if method == "sorted" and vectors > 1:
        pytest.skip("SORTED multiplies one vector")
    A = merbit.csr(sparse(300, 200), method=method, context=merbit.Context("cpu"))
    memory = A.forecast(vectors, column_major=True)
    A @ (numpy.ones(200) if vectors == 1 else numpy.ones((200, vectors), order="F"))
    assert 0 < A.info.host_bytes <= memory.host_bytes and memory.workspace_bytes > 0
    assert memory.device_bytes == memory.device_peak_bytes == 0
    assert method in ("auto", memory.method)
    with pytest.raises(ValueError, match="65"):
        A.forecast(65)
