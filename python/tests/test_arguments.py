"""Bad input of every kind is refused with an exception that names it."""

import ctypes
import os
import pickle
import sys

import numpy
import pytest
import scipy.sparse

import merbit

VALUES, COLUMNS, POINTERS = numpy.array([1.0, 2, 3, 4, 5]), numpy.array([0, 2, 1, 0, 2]), numpy.array([0, 2, 3, 5])
SHAPE = (3, 3)


@pytest.fixture
def A():
    return merbit.csr((VALUES, COLUMNS, POINTERS), SHAPE)


class Odd:
    """A non-array argument."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def interface(**changes):
    return Odd(
        __cuda_array_interface__={"shape": (3,), "typestr": "<f8", "data": (4096, False), "version": 3, **changes}
    )


released = memoryview(bytearray(24))
released.release()
BAD_X = {
    "float32": (numpy.ones(3, "float32"), TypeError, "float32"),
    "int64": (numpy.ones(3, "int64"), TypeError, "int64"),
    "complex": (numpy.ones(3, "complex128"), TypeError, "complex128"),
    "big-endian": (numpy.ones(3, ">f8"), TypeError, "x has type big-endian"),
    "long double": (numpy.ones(3, "longdouble"), TypeError, "x has type longdouble"),
    "records": (numpy.ones(3, "f8,f8"), TypeError, "x has type unknown to merbit; this matrix multiplies"),
    "letters": (numpy.array(["a", "b", "c"]), TypeError, "x has type unknown to merbit; this matrix multiplies"),
    "date": (numpy.ones(3, "M8[s]"), ValueError, "x cannot be used"),
    "objects": (numpy.ones(3, object), TypeError, "x has type object"),
    "text": ("abc", TypeError, "x is no array"),
    "list": ([1.0, 2.0, 3.0], TypeError, "numpy.asarray makes an array of lists and of columns of pandas"),
    "None": (None, TypeError, "x is no array"),
    "number": (3.0, TypeError, "x is no array"),
    "sparse": (scipy.sparse.csr_array(numpy.ones((3, 1))), TypeError, r"x is .* csr_array.* S.toarray\(\)"),
    "too short": (numpy.ones(2), ValueError, r"shape \(2,\)"),
    "too long": (numpy.ones(4), ValueError, r"shape \(4,\)"),
    "scalar": (numpy.array(1.0), ValueError, r"shape \(\)"),
    "three dimensions": (numpy.ones((3, 1, 1)), ValueError, r"shape \(3, 1, 1\)"),
    "four dimensions": (numpy.ones((3, 1, 1, 1)), ValueError, "4 dimensions"),
    "wrong rows": (numpy.ones((4, 2)), ValueError, r"shape \(4, 2\)"),
    "gaps": (numpy.ones(6)[::2], ValueError, "stride 16"),
    "backwards": (numpy.ones(3)[::-1], ValueError, "stride -8"),
    "masked": (numpy.ma.masked_less(numpy.arange(3.0), 1), TypeError, r"masks .*; give array.filled\(0\) or array.data"),
    "repeated": (numpy.broadcast_to(numpy.float64(1), 3), ValueError, "stride 0"),
    "repeated columns": (numpy.broadcast_to(numpy.ones((3, 1)), (3, 2)), ValueError, "adjacent"),
    "gaps between columns": (numpy.ones((6, 4))[::2, ::2], ValueError, "adjacent: .*ascontiguousarray"),
    "released": (released, ValueError, "released"),
    "interface without data": (Odd(__cuda_array_interface__={"shape": (3,)}), ValueError, "data"),
    "interface that is none": (Odd(__cuda_array_interface__=3), ValueError, "x cannot be used"),
    "interface of strings": (interface(shape=("a",)), ValueError, "x cannot be used"),
    "interface of strides": (interface(strides=(8, 8)), ValueError, "strides"),
    "interface of a list": (interface(shape=[3]), ValueError, "tuple"),
    "big-endian interface": (interface(typestr=">f8"), TypeError, "x has type big-endian"),
    "interface of no memory": (interface(data=(0, False)), ValueError, "freed"),
    "interface of negative length": (interface(shape=(-3,)), ValueError, "negative"),
    "GPU memory": (interface(), ValueError, "CPU"),
    "DLPack that is none": (Odd(__dlpack__=lambda: 3, __dlpack_device__=lambda: (1, 0)), ValueError, "capsule"),
    "DLPack without device": (Odd(__dlpack__=lambda: 3), ValueError, "__dlpack_device__"),
}


@pytest.mark.parametrize("name", BAD_X)
def test_vectors(A, name):
    x, kind, words = BAD_X[name]
    if name == "GPU memory":
        A = merbit.csr((VALUES, COLUMNS, POINTERS), SHAPE, context=merbit.Context("cpu"))
    A @ numpy.ones(3)  # so that the fast path exists and must refuse it
    with pytest.raises(kind, match=words) as caught:
        A @ x
    assert isinstance(caught.value, merbit.Error) and caught.value.status == merbit.Status.INVALID_ARGUMENT
    assert (A @ numpy.ones(3)).tolist() == [3, 3, 9]


def test_out(A):
    x = numpy.ones(3)
    fixed = numpy.ones(3)
    fixed.flags.writeable = False
    for out, kind, words in (
        (numpy.ones(4), ValueError, "out has"),
        (numpy.ones(3, "f4"), TypeError, "out has type float32"),
        (fixed, ValueError, "read-only"),
        (numpy.ma.ones(3), TypeError, "masks"),
        (numpy.ones(6)[::2], ValueError, "gaps"),
        (x, ValueError, "overlap"),
        (numpy.ones((3, 1, 1, 1)), ValueError, "out has 4"),
        (numpy.ones((3, 2)), ValueError, r"out has shape \(3, 2\)"),
        (interface(), ValueError, "out is in GPU memory; this product takes arrays in host memory"),
        (interface(data=(4096, True)), ValueError, "read-only"),
        ([1, 2, 3], TypeError, "out is no array"),
    ):
        with pytest.raises(kind, match=words):
            A.multiply(x, out)
    with pytest.raises(ValueError, match="beta needs out"):
        A.multiply(x, beta=1)
    with pytest.raises(TypeError, match="alpha and beta"):
        A.multiply(x, alpha="two")
    with pytest.raises(ValueError, match="row-major"):
        A.multiply(numpy.ones((3, 2)), numpy.ones((3, 2), order="F"))
    with pytest.raises(TypeError):
        A @ A
    with pytest.raises(TypeError):
        A.multiply(x, stream="main")


BAD_MATRICES = {
    "dense": (numpy.eye(3), None, TypeError, "dense"),
    "text": ("abc", None, TypeError, "no matrix that merbit knows"),
    "DIA": (scipy.sparse.eye_array(3), None, TypeError, "tocsr"),
    "no shape": ((VALUES, COLUMNS, POINTERS), None, ValueError, "arrays need a shape"),
    "bad shape": ((VALUES, COLUMNS, POINTERS), 3, ValueError, "shape is 3"),
    "text as shape": ((VALUES, COLUMNS, POINTERS), "33", ValueError, "shape is '33'"),
    "half a row": ((VALUES, COLUMNS, POINTERS), (3.5, 3), ValueError, r"shape is \(3.5, 3\)"),
    "infinite shape": ((VALUES, COLUMNS, POINTERS), (numpy.inf, 3), ValueError, "shape is"),
    "shape beyond 64 bits": ((VALUES, COLUMNS, POINTERS), (3, 10**30), ValueError, "shape is"),
    "negative shape": ((VALUES, COLUMNS, POINTERS), (3, -3), ValueError, "no matrix"),
    "huge shape": ((VALUES, COLUMNS, POINTERS), (2**63 - 1, 3), ValueError, "no matrix"),
    "one array": ((VALUES,), SHAPE, ValueError, "tuple of 1"),
    "few pointers": ((VALUES, COLUMNS, POINTERS[:-1]), SHAPE, ValueError, "row_ptr has 3"),
    "many pointers": ((VALUES, COLUMNS, POINTERS), (2, 3), ValueError, "row_ptr has 4"),
    "few values": ((VALUES[:-1], COLUMNS, POINTERS), SHAPE, ValueError, "4 values for 5"),
    "integers": ((VALUES.astype(int), COLUMNS, POINTERS), SHAPE, TypeError, "values have type int64"),
    "Booleans": ((VALUES > 0, COLUMNS, POINTERS), SHAPE, TypeError, "values have type bool"),
    "floats as columns": ((VALUES, COLUMNS.astype(float), POINTERS), SHAPE, TypeError, "col_ind has type float64"),
    "big-endian columns": ((VALUES, COLUMNS.astype(">i4"), POINTERS), SHAPE, TypeError, "col_ind has type big-endian"),
    "short columns": ((VALUES, COLUMNS.astype("int16"), POINTERS), SHAPE, TypeError, "int16"),
    "unsigned pointers": ((VALUES, COLUMNS, POINTERS.astype("uint32")), SHAPE, TypeError, "row_ptr has type uint32"),
    "a list": ((VALUES, COLUMNS.tolist(), POINTERS), SHAPE, TypeError, "col_ind is no array"),
    "gaps in columns": ((VALUES, numpy.repeat(COLUMNS, 2)[::2], POINTERS), SHAPE, ValueError, "col_ind must"),
    "masked values": ((numpy.ma.masked_less(VALUES, 2), COLUMNS, POINTERS), SHAPE, TypeError, "masks"),
    "gaps in values": ((numpy.repeat(VALUES, 2)[::2], COLUMNS, POINTERS), SHAPE, ValueError, "values have gaps"),
    "two dimensions": ((VALUES, COLUMNS[None], POINTERS), SHAPE, ValueError, "col_ind must"),
    "column outside": ((VALUES, numpy.array([0, 2, 3, 0, 2]), POINTERS), SHAPE, ValueError, "3"),
    "negative column": ((VALUES, numpy.array([0, 2, -1, 0, 2]), POINTERS), SHAPE, ValueError, "-1"),
    "falling pointers": ((VALUES, COLUMNS, numpy.array([0, 3, 2, 5])), SHAPE, ValueError, "row_ptr"),
    "pointers beyond": ((VALUES, COLUMNS, numpy.array([0, 2, 3, 9])), SHAPE, ValueError, "row_ptr"),
    "rows of a COO": ((VALUES, (COLUMNS[:4], COLUMNS)), SHAPE, ValueError, "row_ind has 4"),
    "widths of a COO": ((VALUES, (COLUMNS.astype("int32"), COLUMNS)), SHAPE, TypeError, "same"),
    "row outside": ((VALUES, (COLUMNS + 1, COLUMNS)), SHAPE, ValueError, "3"),
    "own shape": (scipy.sparse.csr_array(numpy.eye(3)), (4, 4), ValueError, "leave it out"),
    "blocks": ((numpy.ones((1, 70, 2)), numpy.array([0]), numpy.array([0, 1])), (70, 2), ValueError, "70"),
    "flat blocks": ((numpy.ones((1, 0, 2)), numpy.array([0]), numpy.array([0, 1])), (3, 2), ValueError, "at least 1"),
    "GPU indices": (
        (VALUES, Odd(__cuda_array_interface__={"shape": (5,), "typestr": "<i4", "data": (4096, False)}), POINTERS),
        SHAPE,
        ValueError,
        "together",
    ),
}


@pytest.mark.parametrize("name", BAD_MATRICES)
def test_matrices(name):
    matrix, shape, kind, words = BAD_MATRICES[name]
    with pytest.raises(kind, match=words) as caught:
        merbit.csr(matrix, shape)
    assert isinstance(caught.value, merbit.Error) and caught.value.status != merbit.Status.OK


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "complex64", "complex128"])
def test_dtype_of_other_values(dtype):
    """dtype names the type of a pattern and of 16-bit patterns; it converts nothing."""
    arrays = COLUMNS, POINTERS
    for kind in "float64", "float32", "float16", "complex64", "complex128", "uint16", "int16", "int64":
        if kind == dtype or (kind == "uint16" and dtype in ("float16", "bfloat16")):
            merbit.csr((VALUES.astype(kind), *arrays), SHAPE, dtype=dtype)
            continue
        with pytest.raises(merbit.ArgumentTypeError, match=f"values have type {kind}"):
            merbit.csr((VALUES.astype(kind), *arrays), SHAPE, dtype=dtype)
    A = merbit.csr((VALUES, *arrays), SHAPE, dtype="float64")
    with pytest.raises(merbit.ArgumentTypeError, match="float32"):
        A.update(VALUES.astype("float32"))


def test_options(A):
    arrays = (VALUES, COLUMNS, POINTERS)
    for options, words in (
        ({"semiring": "plus"}, "semiring is 'plus'"),
        ({"method": "quick"}, "method is 'quick'"),
        ({"symmetry": "yes"}, "symmetry is 'yes'"),
        ({"dtype": "int8"}, "dtype is 'int8'"),
        ({"base": 2}, "base"),
        ({"semiring": "custom"}, "operators"),
        ({"semiring": "custom", "operators": merbit.Operators(0, "a + ", "a * x")}, "operators"),
    ):
        with pytest.raises(ValueError, match=words):
            merbit.csr(arrays, SHAPE, context=merbit.Context("cpu"), **options)
    for options in {"context": "cpu"}, {"context": 0}, {"operators": 3}:
        with pytest.raises(merbit.ArgumentTypeError, match="".join(options) + " is"):
            merbit.csr(arrays, SHAPE, **options)
    for name in "semiring", "method", "symmetry", "dtype":
        with pytest.raises(merbit.ArgumentError, match=rf"{name} is \[\]; it must be one of"):
            merbit.csr(arrays, SHAPE, **{name: []})
    with pytest.raises(TypeError, match="already"):
        merbit.csr(A)
    with pytest.raises(TypeError, match="no C function"):
        A.epilogue("ax", function="f")
    with pytest.raises(ValueError, match="at most 2"):
        A.epilogue(sums=("ax", "ax", "ax"))
    with pytest.raises(ValueError, match="side is 'gpu'"):
        merbit.Context("gpu")
    for options in {"base": 1}, {"dtype": "float64"}:
        with pytest.raises(merbit.ArgumentError, match="for matrices given as a tuple"):
            merbit.csr(scipy.sparse.eye_array(3, format="csr"), **options)


def test_calls_of_epilogues():
    A = merbit.csr((VALUES, COLUMNS, POINTERS), SHAPE, context=merbit.Context("cpu"))
    residual, x = A.epilogue("v0 - ax", "y * y", vectors=1), numpy.ones(3)
    for arguments, scalars, words in (
        ((x,), (), "0 vectors and 0 scalars; this epilogue takes 1 and 0"),
        ((x, x, x), (), "2 vectors"),
        ((x, x), (1.0,), "1 scalars"),
    ):
        with pytest.raises(merbit.ArgumentError, match=words):
            residual(*arguments, scalars=scalars)
    with pytest.raises(merbit.ArgumentTypeError, match="x is of type list; an epilogue takes arrays"):
        residual([1.0, 1.0, 1.0], x)


@pytest.mark.parametrize("numbers", [(0.0,), (2.0, 3.0)])
def test_scalars_of_epilogues_may_be_an_array(A, numbers):
    given = []

    def read(user, begin, end, y, vectors, scalars, sums):
        given.append(scalars[: len(numbers)])

    rows = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
    function = ctypes.CFUNCTYPE(None, *rows, ctypes.POINTER(ctypes.c_double), ctypes.c_void_p)(read)
    epilogue = A.epilogue("s0 * ax", scalars=len(numbers), function=function)
    epilogue(numpy.ones(3), scalars=numpy.array(numbers))
    assert given and all(found == list(numbers) for found in given)


def test_preconditioner_of_a_pattern():
    diagonal = numpy.arange(3), numpy.arange(4)
    pattern = merbit.csr((None, *diagonal), SHAPE, context=merbit.Context("cpu"))
    M = merbit.Preconditioner(pattern, "jacobi")
    with pytest.raises(merbit.ArgumentError, match="no values to replace"):
        M.update(numpy.ones(3))


def test_cubins_of_no_gpu(tmp_path):
    with pytest.raises(merbit.NoDeviceError, match="computes on the CPU"):
        merbit.Context("cpu").export_cubins(tmp_path / "file")
    with pytest.raises(merbit.InputOutputError, match="missing: No such file"):
        merbit.import_cubins(tmp_path / "missing", str(tmp_path / "cache"))
    (tmp_path / "other").write_bytes(b"%%MatrixMarket")
    with pytest.raises(merbit.FileFormatError, match="was not written by merbit_cache_export"):
        merbit.import_cubins(tmp_path / "other", str(tmp_path / "cache"))
    with pytest.raises(merbit.NotSupportedError, match="cache_dir is empty"):
        merbit.import_cubins(str(tmp_path / "other"), "")
    with pytest.raises(merbit.InputOutputError, match="caf\ufffd: No such file"):
        merbit.import_cubins(os.fsdecode(b"/caf\xe9"))
    with pytest.raises(merbit.FileFormatError):
        merbit.import_cubins(bytes(tmp_path / "other"), tmp_path / "cache")
    with pytest.raises((merbit.NoDeviceError, merbit.NoCompilerError)):
        merbit.Context("cuda", cache_dir=tmp_path / "cache", nvrtc=tmp_path / "missing")
    for wrong in (None, 7, b"\0"):
        with pytest.raises((TypeError, ValueError)):
            merbit.import_cubins(wrong)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), MemoryError("full"), ValueError("no")])
def test_exceptions_of_lenders(A, error):
    """Ctrl-C, an exit and a lack of memory reach the caller; other exceptions are told in the name of the argument."""

    class Array:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self):
            raise error

    def check(array):
        raise error

    expected = merbit.ArgumentError if isinstance(error, ValueError) else type(error)
    with pytest.raises(expected) as caught:
        A.multiply(Array(), numpy.empty(3))
    assert type(caught.value) is expected
    merbit._core.register_exporter(Array, Array.__dlpack__, check)
    make = merbit._libraries.NUMPY.maker(3, merbit._libraries.F64, merbit._libraries.HOST)
    product = merbit._core.Product(A._source.home_plan(), make, None, None, None, None)
    if expected is merbit.ArgumentError:
        assert product.multiply(Array()) is None  # the general path then gives the reason
    else:
        with pytest.raises(expected):
            product.multiply(Array())


def test_exchange_of_another_version(A):
    """DLPack's C functions are called only in the version that merbit knows; a type's check gives the error message."""
    words = (ctypes.c_uint64 * 7)()  # version, previous, five functions, none of them callable
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    place, name = ctypes.addressof(words), ctypes.create_string_buffer(b"dlpack_exchange_api")
    make = merbit._libraries.NUMPY.maker(3, merbit._libraries.F64, merbit._libraries.HOST)
    A @ numpy.ones(3)
    for version, view in ((2, 1), (1, 0)):  # unknown version; missing function

        class Array:
            __dlpack_c_exchange_api__ = new_capsule(place, ctypes.cast(name, ctypes.c_char_p), None)

        def check(array):
            if array.numbers[0] == 7:
                raise BufferError("seven")

        words[0], words[5] = version, view
        merbit._core.register_exporter(Array, lambda array: array.numbers.__dlpack__(), check)
        product, x = merbit._core.Product(A._source.home_plan(), make, None, None, None, None), Array()
        x.numbers = numpy.arange(3.0)
        numpy.testing.assert_array_equal(product.multiply(x), A @ x.numbers)
        x.numbers[0] = 7
        assert product.multiply(x) is None
        with pytest.raises(ValueError, match="x cannot be used: seven"):
            A.multiply(x, numpy.empty(3))


def test_not_a_number(A):
    assert numpy.isnan(A @ numpy.array([1, numpy.nan, 1])).tolist() == [False, True, False]


def test_transposes_of_complex():
    A = merbit.csr((VALUES.astype("complex128"), COLUMNS, POINTERS), SHAPE)
    for wrong in (lambda: A.H.T, lambda: A.T.H):
        with pytest.raises(merbit.NotSupportedError, match="conjugate"):
            wrong()


def test_exceptions():
    from merbit import _core, _errors

    listed = {name.removeprefix("MERBIT_"): number for name, number, _ in _core.statuses()}
    assert listed == {status.name: status.value for status in merbit.Status}
    assert set(_errors.CLASSES) == set(merbit.Status) - {merbit.Status.OK}
    for status in _errors.CLASSES:
        error = _errors.error_of(status, "what is wrong")
        assert error.status == status and str(error) == "what is wrong"
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and again.status == status and str(again) == str(error)
    assert issubclass(merbit.HostMemoryError, MemoryError) and issubclass(merbit.MatrixError, ValueError)


class Tensor:
    """A stand-in for torch.Tensor, with what merbit asks of an array that it writes."""

    requires_grad, layout, dtype = False, "strided", Odd(is_complex=True)

    def __init__(self, data, conjugate=False, negative=False):
        self.data, self.is_conj, self.is_neg = data, lambda: conjugate, lambda: negative

    def resolve_conj(self):
        return Tensor(self.data.copy()) if self.is_conj() or self.is_neg() else self

    resolve_neg = detach = contiguous = lambda self: self
    as_subclass = lambda self, kind: self
    data_ptr = None


def test_pending_conjugates(monkeypatch):
    """An out whose elements are not what its memory holds is refused: a product would only change a copy."""
    utils = Odd(dlpack=Odd(to_dlpack=lambda tensor: tensor.data.__dlpack__()))
    monkeypatch.setitem(sys.modules, "torch", Odd(Tensor=Tensor, strided="strided", utils=utils, _C=None))
    monkeypatch.setattr(merbit._libraries, "_others", {})
    S = scipy.sparse.diags_array([2.0, 4.0, 8.0]).tocsr()
    A, M, x = merbit.csr(S.astype(complex)), merbit.Preconditioner(S, "jacobi"), numpy.ones(3, complex)
    for pending in {"conjugate": True}, {"negative": True}:
        with pytest.raises(ValueError, match=r"out has a pending conjugate or negation; give out.resolve_conj\(\)"):
            A.multiply(x, Tensor(numpy.zeros(3, complex), **pending))
        with pytest.raises(ValueError, match="out has a pending conjugate or negation"):
            M.apply(Tensor(numpy.ones(3)), Tensor(numpy.zeros(3), **pending))
    y, z = Tensor(numpy.zeros(3, complex)), Tensor(numpy.zeros(3))
    A.multiply(x, y)
    M.apply(Tensor(numpy.ones(3)), z)
    assert y.data.tolist() == [2, 4, 8] and z.data.tolist() == [0.5, 0.25, 0.125]


@pytest.mark.parametrize("module", [None, Odd(), Odd(Tensor=len, ndarray=len), Odd(Tensor=Odd, ndarray=Odd)])
def test_stubs_of_other_libraries(monkeypatch, module):
    """Programs of NumPy alone run beside a stub of another library, and beside one whose import has failed or not ended."""
    for name in "torch", "cupy":
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(merbit._libraries, "_others", {})
    S, x = scipy.sparse.diags_array([2.0, 4.0, 8.0]).tocsr(), numpy.ones(3)
    A = merbit.csr(S)
    assert (A @ x).tolist() == [2, 4, 8] and merbit.cg(A, x, x)[1].converged
    assert merbit.Preconditioner(S, "jacobi").apply(x).tolist() == [0.5, 0.25, 0.125]
    with pytest.raises(TypeError, match="no matrix"):
        merbit.csr(3)
