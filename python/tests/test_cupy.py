"""CuPy arrays on a GPU: products and solvers in place. With tests/standin on PYTHONPATH a stand-in replaces CuPy."""

import ctypes
import os

import numpy
import pytest
import scipy.sparse.linalg

import merbit
from conftest import laplacian, numbers

cupy = pytest.importorskip("cupy", reason="CuPy is not installed", exc_type=ImportError)
try:
    cupy.cuda.runtime.getDeviceCount()
except Exception as error:  # CuPy's own class, which depends on its version
    pytest.skip(f"CuPy finds no GPU: {error}", allow_module_level=True)


@pytest.fixture
def cupyx():
    return pytest.importorskip("cupyx.scipy.sparse.linalg", reason="this is the stand-in for CuPy")


def test_arrays(sparse, random):
    """A matrix in GPU memory, and one in host memory, with vectors in GPU memory."""
    S = sparse(30, 24)
    arrays = tuple(cupy.asarray(a) for a in (S.data, S.indices, S.indptr))
    A = merbit.csr(arrays, S.shape)
    assert A.context.device == 0 and A.context.info.side == "cuda"
    profile = A.context.info.profile
    assert profile.copy_rate > 1e9 and 0 < profile.l2_load_seconds < profile.memory_load_seconds < profile.launch_seconds
    assert 0 < profile.gather_bytes[0] < profile.gather_bytes[5] and profile.gather_rate_f32[0] > profile.gather_rate_f32[5]
    x, z, X = (cupy.asarray(random.random(shape)) for shape in (24, 30, (24, 5)))
    for B in (A, merbit.csr(S, context=A.context)):
        for _ in range(2):
            for y, expected in (
                (B @ x, S @ x.get()),
                (B.T @ z, S.T @ z.get()),
                (B @ X, S @ X.get()),
                (B @ cupy.asfortranarray(X), S @ X.get()),
                (x @ B.T, S @ x.get()),
                (B.multiply(x, cupy.asarray(z.get()), alpha=2, beta=1), 2 * (S @ x.get()) + z.get()),
            ):
                assert isinstance(y, cupy.ndarray)
                numpy.testing.assert_allclose(y.get(), expected, rtol=1e-12)
        numpy.testing.assert_allclose(B @ x.get(), S @ x.get(), rtol=1e-12)
    assert A.info.side == "cuda" and "host vectors" in merbit.csr(S, context=A.context).describe()
    A.update(cupy.asarray(3 * S.data))
    numpy.testing.assert_allclose((A @ x).get(), 3 * (S @ x.get()), rtol=1e-12)
    with pytest.raises(ValueError, match="together"):
        A.update(S.data)
    with pytest.raises(ValueError, match="together"):
        merbit.csr((S.data, *arrays[1:]), S.shape)


def test_interface_without_a_library(sparse, random):
    """Arrays with only __cuda_array_interface__: the result must be given, and they may name a stream."""

    class Bare:
        def __init__(self, array, stream=None, readonly=False):
            self.array = array  # keeps the memory alive
            data, shape = array.__dlpack__(stream=-1), array.shape
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            address = ctypes.c_void_p.from_address(pointer(data, b"dltensor")).value
            self.__cuda_array_interface__ = {
                "shape": shape, "typestr": "<f8", "data": (address, readonly), "version": 3, "stream": stream
            }  # fmt: skip

    S = sparse(30, 24)
    A, x, y = (
        merbit.csr(S, context=merbit.Context("cuda")),
        cupy.asarray(random.random(24)),
        cupy.asarray(random.random(30)),
    )
    A.multiply(Bare(x), Bare(y))
    numpy.testing.assert_allclose(y.get(), S @ x.get(), rtol=1e-12)
    stream = cupy.cuda.Stream()
    A.multiply(Bare(x, stream.ptr), Bare(y), alpha=2)
    stream.synchronize()
    numpy.testing.assert_allclose(y.get(), 2 * (S @ x.get()), rtol=1e-12)
    with pytest.raises(ValueError, match="give the result too"):
        A @ Bare(x)
    with pytest.raises(ValueError, match="read-only"):
        A.multiply(Bare(x), Bare(y, readonly=True))
    with pytest.raises(ValueError, match="stream="):
        A.multiply(Bare(x, stream.ptr), Bare(y, 1))
    with pytest.raises(ValueError, match="CPU"):
        merbit.csr(S, context=merbit.Context("cpu")).multiply(Bare(x), Bare(y))


@pytest.mark.parametrize("form", ["csr", "coo", "csc"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
def test_formats(cupyx, sparse, random, form, dtype):
    S = sparse(30, 24, dtype)
    sparse_type = pytest.importorskip("cupyx.scipy.sparse").csr_matrix
    G = sparse_type((cupy.asarray(S.data), cupy.asarray(S.indices), cupy.asarray(S.indptr)), shape=S.shape)
    G = G.asformat(form)
    A = merbit.csr(G)
    assert A.context.device == 0
    x, z, X = (cupy.asarray(numbers(random, shape, dtype)) for shape in (24, 30, (24, 5)))
    for _ in range(2):
        for y, expected in (
            (A @ x, S @ x.get()),
            (A.T @ z, S.T @ z.get()),
            (A.H @ z, S.conj().T @ z.get()),
            (A @ X, S @ X.get()),
            (A @ cupy.asfortranarray(X), S @ X.get()),
            (x @ A.T, S @ x.get()),
        ):
            assert isinstance(y, cupy.ndarray) and y.dtype == dtype
            numpy.testing.assert_allclose(y.get(), expected, rtol=1e-4)
    values = G.data * cupy.asarray(random.uniform(1, 2, S.nnz).astype(G.data.real.dtype))  # A still has the old ones
    A.update(values)
    G.data = values
    numpy.testing.assert_allclose((A @ x).get(), (G @ x).get(), rtol=1e-4)


def test_current_stream(sparse, random):
    S = sparse(3000, 2400)
    A, x = merbit.csr(S, context=merbit.Context("cuda")), cupy.asarray(random.random(2400))
    A @ x
    for _ in range(3):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            late = x * 2
            y = A @ late
            stream.synchronize()
        numpy.testing.assert_allclose(y.get(), 2 * (S @ x.get()), rtol=1e-12)


def test_wrong_arrays(sparse):
    A, x = merbit.csr(sparse(30, 24)), cupy.ones(24)
    A @ x
    for wrong, kind, words in (
        (x.astype("f4"), TypeError, "float32"),
        (x.astype("i8"), TypeError, "int64"),
        (x[:5], ValueError, "shape"),
        (cupy.ones(48)[::2], ValueError, "gaps"),
    ):
        with pytest.raises(kind, match=words):
            A @ wrong
    with pytest.raises(ValueError, match="CPU"):
        merbit.csr(sparse(30, 24), context=merbit.Context("cpu")) @ x
    with pytest.raises(ValueError, match="in host memory"):
        A.multiply(x, numpy.empty(30))


def test_solvers(random):
    S, b = laplacian(100), random.random(100)
    A, g = merbit.csr(S, context=merbit.Context("cuda")), cupy.asarray(b)
    for method in (merbit.cg, merbit.bicgstab, merbit.gmres):
        for options in ({}, {"preconditioner": "jacobi"}, {"M": lambda r: r / 2.01}):
            x, info = method(A, g, **options)
            assert info.converged and isinstance(x, cupy.ndarray)
            numpy.testing.assert_allclose(S @ x.get(), b, rtol=1e-6, atol=1e-6)
    with pytest.raises(merbit.NotSupportedError, match="host memory"):
        merbit.cg(A, b, M=lambda r: r)
    A.update(cupy.asarray(S.data).get() * 2)
    numpy.testing.assert_allclose(2 * (S @ merbit.cg(A, g)[0].get()), b, rtol=1e-6, atol=1e-6)


def test_preconditioner(random):
    """M on the GPU, for b there and in host memory; several right-hand sides."""
    S, b = laplacian(100), random.random(100)
    A, g = merbit.csr(S, context=merbit.Context("cuda")), cupy.asarray(b)
    M = merbit.Preconditioner(A, "chebyshev")
    z = M @ g
    assert isinstance(z, cupy.ndarray) and M.info.side == "cuda" and M.info.device_bytes > 0
    for right in (b, g):
        x, info = merbit.cg(A, right, M=M)
        named = merbit.cg(A, right, preconditioner="chebyshev")[1]
        assert info.converged and abs(info.iterations - named.iterations) <= 1
    for r, expected in ((b, z.get()), (numpy.stack([b, 2 * b], axis=1), numpy.stack([z.get(), 2 * z.get()], axis=1))):
        found = M @ r  # host vectors, which are copied to the GPU and back
        assert isinstance(found, numpy.ndarray)
        numpy.testing.assert_allclose(found, expected, rtol=1e-12)
    out = numpy.empty(100)
    assert M.apply(b[::-1][::-1], out) is out
    numpy.testing.assert_allclose(out, z.get(), rtol=1e-12)
    x, failed = scipy.sparse.linalg.cg(S, b, rtol=1e-8, M=M)
    assert not failed and numpy.linalg.norm(b - S @ x) <= 1.01e-8 * numpy.linalg.norm(b)
    with pytest.raises(merbit.ArgumentError, match="out is on CUDA device 0"):
        M.apply(b, cupy.empty(100))
    with pytest.raises(merbit.ArgumentError, match="out is in host memory"):
        M.apply(g, out)
    with pytest.raises(merbit.ArgumentError, match="M computes on the CPU"):
        merbit.Preconditioner(merbit.csr(S, context=merbit.Context("cpu")), "jacobi") @ g
    with pytest.raises(merbit.ArgumentError, match="different devices"):
        merbit.cg(merbit.csr(S, context=merbit.Context("cpu")), b, M=M)
    M.update(2 * S.data)
    numpy.testing.assert_allclose(2 * (M @ g).get(), z.get(), rtol=1e-6)
    B = random.random((100, 3))
    X, info = merbit.cg(A, cupy.asarray(B), preconditioner="jacobi")
    assert info.converged and len(info.columns) == 3 and isinstance(X, cupy.ndarray)
    numpy.testing.assert_allclose(S @ X.get(), B, rtol=1e-6, atol=1e-6)
    X, info = merbit.cg(A, B, M=M)
    numpy.testing.assert_allclose(S @ X, B, rtol=1e-6, atol=1e-6)
    assert A.forecast().device_bytes >= A.info.device_bytes


def test_cupyx_solvers_take_a_matrix(cupyx, random):
    S, b = laplacian(100), cupy.asarray(random.random(100))
    for method in (cupyx.cg, cupyx.gmres):
        x, _ = method(merbit.csr(S), b)
        numpy.testing.assert_allclose(S @ x.get(), b.get(), rtol=1e-3, atol=1e-3)


def test_device_of_an_array(monkeypatch):
    """Copies and streams are those of the array's device, although another one may be current."""
    S, b = laplacian(20), cupy.asarray(numpy.ones(20))
    A, values, gaps = merbit.csr(S, context=merbit.Context("cuda")), cupy.asarray(S.data), cupy.asarray(numpy.ones(40))[::2]
    asked, stream, device = [], cupy.cuda.get_current_stream, cupy.cuda.Device
    monkeypatch.setattr(cupy.cuda, "get_current_stream", lambda *number: asked.append(number) or stream(*number))
    monkeypatch.setattr(cupy.cuda, "Device", lambda *number: asked.append(number) or device(*number))
    library = merbit._libraries.library_of(b)
    for work in lambda: library.copy(values), lambda: library.adjacent(gaps), lambda: merbit.cg(A, b):
        del asked[:]
        work()
        assert asked and set(asked) == {(0,)}


def test_arrays_of_a_matrix_are_awaited(monkeypatch):
    """They may still be computed in the current stream, while merbit reads them in the default stream."""
    S, asked, stream = laplacian(20), [], cupy.cuda.get_current_stream
    arrays = tuple(cupy.asarray(a) for a in (S.data, S.indices, S.indptr))
    monkeypatch.setattr(cupy.cuda, "get_current_stream", lambda *number: asked.append(number) or stream(*number))
    A = merbit.csr(arrays, S.shape)
    M = merbit.Preconditioner(A, "jacobi")
    for work in lambda: merbit.csr(arrays, S.shape), lambda: A.update(arrays[0]), lambda: M.update(arrays[0]):
        del asked[:]
        work()
        assert asked


def test_paths_that_are_not_utf8(tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    context = merbit.Context("cuda", cache_dir=folder)
    merbit.csr(laplacian(10), context=context) @ numpy.ones(10)
    context.export_cubins(folder + "/file")
    assert context.info.cache_dir == folder and os.path.exists(folder + "/file")
    cpu = merbit.Context(nvrtc=folder + "/libnvrtc.so")
    _, info = merbit.cg(merbit.csr(laplacian(10), context=cpu), numpy.ones(10))
    assert "caf\ufffd" in info.plan_description and "caf\ufffd" in cpu.info.reason


def test_epilogue(sparse, random):
    S, x, b = sparse(30, 24), cupy.asarray(random.random(24)), cupy.asarray(random.random(30))
    r, sums = merbit.csr(S).epilogue("s0 * v0 - ax", ("y * y", "ax"), vectors=1, scalars=1)(x, b, scalars=(2.0,))
    expected = 2 * b.get() - S @ x.get()
    numpy.testing.assert_allclose(r.get(), expected, rtol=1e-12)
    numpy.testing.assert_allclose(sums.get(), [expected @ expected, (S @ x.get()).sum()], rtol=1e-12)


def test_cubins(sparse, random, tmp_path):
    S, x = sparse(30, 24), random.random(24)
    first = merbit.Context("cuda", cache_dir=str(tmp_path / "first"))
    (merbit.csr(S, context=first) @ cupy.asarray(x)).get()
    first.export_cubins(tmp_path / "file")
    merbit.import_cubins(tmp_path / "file", str(tmp_path / "second"))
    second = merbit.Context("cuda", cache_dir=str(tmp_path / "second"))
    y = merbit.csr(S, context=second) @ cupy.asarray(x)
    numpy.testing.assert_allclose(y.get(), S @ x, rtol=1e-12)
    assert second.info.cache_hits > 0 and second.info.cache_misses == 0
