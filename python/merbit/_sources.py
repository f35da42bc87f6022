"""Matrices of other libraries, as the views that the extension module borrows."""

from __future__ import annotations

import sys
from typing import Any, Optional

import numpy

from . import _core
from ._errors import ArgumentTypeError, bad_argument, bad_type, check_name
from ._libraries import HOST, NAMES, NUMPY, TYPES, Library, library_of, numpy_of, refuse_gradient, type_of

CSR, COO, BSR = 0, 1, 2
SYMMETRIES = {None: 0, "symmetric": 1, "skew": 2, "hermitian": 3}
FORMS = "a SciPy, CuPy or PyTorch sparse matrix (CSR, CSC, COO or BSR), or (values, col_ind, row_ptr) and a shape"


class Parts:
    """The arrays of a matrix, and how to make a view of them. `kind` is the merbit_type that dtype= names, or 0: that of a
    pattern, of 16-bit patterns, or of the values. `order` is for values in the order of a CSC: the place of
    each value of the CSR; else None."""

    def __init__(
        self,
        form: int,
        shape: tuple[int, int],
        rows: Any,
        columns: Any,
        values: Any,
        kind: int = 0,
        base: int = 0,
        block: tuple[int, int] = (0, 0),
        symmetry: int = 0,
        order: Any = None,
    ) -> None:
        self.form, self.shape, self.rows, self.columns = form, shape, rows, columns
        self.kind, self.base, self.block, self.symmetry = kind, base, block, symmetry
        self.values, self.order = values, order

    def view(self, values: Any) -> _core.View:
        refuse_gradient(values, "values")
        values, kind = _named_bits(values, self.kind)
        if self.order is not None:
            values = _sorted(values, self.order)
        return _core.View(
            self.form, *self.shape, self.rows, self.columns, values, kind, self.base, *self.block, 0, self.symmetry
        )


def _named_bits(values: Any, kind: int) -> tuple[Any, int]:
    """Returns NumPy's bfloat16 arrays (ml_dtypes), which have no buffer, as 16-bit patterns."""
    if isinstance(values, numpy.ndarray) and values.dtype.name == "bfloat16":
        if kind not in (0, TYPES["bfloat16"]):
            raise bad_type(f"values have type bfloat16, but dtype is {NAMES[kind]}; leave dtype out")
        return values.view(numpy.uint16), TYPES["bfloat16"]
    library = library_of(values)
    return (values if library is None else library.plain(values)), kind


def _sorted(values: Any, order: Any) -> Any:
    """Returns values in the order of a CSC in that of the CSR into which the matrix was converted."""
    found, needed = library_of(values), library_of(order)
    if found is None and _core.inspect(values, "values")[1] == HOST:
        found, values = NUMPY, numpy_of(values)
    if found is not needed and needed is not None:
        raise bad_type(
            f"the new values are of {type(values).__name__}; the matrix was converted from a CSC of {needed.name}, so "
            f"that its values must be arrays of {needed.name}"
        )
    if tuple(values.shape) != tuple(order.shape):
        raise bad_argument(f"there are values of shape {tuple(values.shape)}; the CSC has {order.shape[0]} entries")
    return values[order]


def _wrong(matrix: Any) -> ArgumentTypeError:
    if library_of(matrix) is not None:
        what = f"{type(matrix).__name__} is a dense array; scipy.sparse.csr_array(S) makes it sparse, but merbit"
    else:
        what = f"{type(matrix).__name__} is no matrix that merbit knows; it"
    return bad_type(f"{what} takes {FORMS}")


def _library(array: Any) -> Library:
    return library_of(array) or NUMPY


def _pair(shape: Any) -> tuple[int, int]:
    try:
        rows, cols = shape
        whole = int(rows), int(cols)
        if whole == (rows, cols) and max(map(abs, whole)) < 2**63:
            return whole
    except (TypeError, ValueError, OverflowError):
        pass
    raise bad_argument(f"shape is {shape!r}; it must be (rows, columns)")


def _of_tuple(arrays: tuple[Any, ...], shape: Any, kind: int, base: int, symmetry: int) -> Parts:
    if shape is None:
        raise bad_argument("arrays need a shape: merbit.csr((values, col_ind, row_ptr), shape)")
    if len(arrays) == 2 and isinstance(arrays[1], (tuple, list)) and len(arrays[1]) == 2:
        values, (rows, columns) = arrays
        return Parts(COO, _pair(shape), rows, columns, values, kind, base, symmetry=symmetry)
    if len(arrays) != 3:
        raise bad_argument(
            f"a tuple of {len(arrays)}; merbit takes (values, col_ind, row_ptr) or (values, (row_ind, col_ind))"
        )
    values, columns, rows = arrays
    dimensions: tuple[int, ...] = tuple(getattr(values, "shape", ()))
    if len(dimensions) == 3:
        return Parts(BSR, _pair(shape), rows, columns, values, kind, base, (dimensions[1], dimensions[2]), symmetry)
    return Parts(CSR, _pair(shape), rows, columns, values, kind, base, symmetry=symmetry)


def _of_torch(torch: Any, tensor: Any, symmetry: int) -> Parts:
    refuse_gradient(tensor, "matrix")
    tensor = tensor.detach()
    if tensor.layout == torch.sparse_csc and tensor.ndim == 2 and tensor.dense_dim() == 0:
        values, size = tensor.values(), (tensor.shape[0], tensor.shape[1])
        columns = tensor.ccol_indices(), tensor.row_indices()
        places = torch.sparse_csc_tensor(*columns, _library(values).places(values), size=size).to_sparse_csr()
        rows = places.crow_indices(), places.col_indices()
        return Parts(CSR, size, *rows, values, symmetry=symmetry, order=places.values())
    if tensor.ndim != 2 or (tensor.layout == torch.sparse_coo and tensor.dense_dim() != 0):
        raise bad_argument(f"a tensor of shape {tuple(tensor.shape)} is no matrix of numbers")
    shape = (tensor.shape[0], tensor.shape[1])
    if tensor.layout == torch.sparse_coo:
        indices = tensor._indices()
        return Parts(COO, shape, indices[0].contiguous(), indices[1].contiguous(), tensor._values(), symmetry=symmetry)
    if tensor.layout not in (torch.sparse_csr, torch.sparse_bsr):
        raise _wrong(tensor)
    values = tensor.values()
    arrays = tensor.crow_indices(), tensor.col_indices(), values
    if tensor.layout == torch.sparse_bsr:
        return Parts(BSR, shape, *arrays, block=(values.shape[1], values.shape[2]), symmetry=symmetry)
    return Parts(CSR, shape, *arrays, symmetry=symmetry)


def _used(matrix: Any) -> tuple[Any, Any]:
    """Returns indices and values of a CSR or BSR without the spare room that SciPy's arrays may have at their end."""
    indices, values = matrix.indices, matrix.data
    if isinstance(matrix.indptr, numpy.ndarray) and 0 <= matrix.indptr[-1] < len(indices):
        return indices[: matrix.indptr[-1]], values[: matrix.indptr[-1]]
    return indices, values


def _of_scipy(matrix: Any, symmetry: int) -> Parts:
    """Reads the attributes that SciPy's and CuPy's matrices share."""
    shape = _pair(matrix.shape)
    if matrix.format == "csc":
        arrays = (_library(matrix.data).places(matrix.indices), matrix.indices, matrix.indptr)
        places = type(matrix)(arrays, shape=shape).tocsr()
        order = places.data.astype("int64")
        values = matrix.data[: len(order)]  # a CSC may have room for more
        return Parts(CSR, shape, places.indptr, places.indices, values, symmetry=symmetry, order=order)
    if matrix.format == "csr":
        return Parts(CSR, shape, matrix.indptr, *_used(matrix), symmetry=symmetry)
    if matrix.format == "bsr":
        return Parts(BSR, shape, matrix.indptr, *_used(matrix), block=matrix.blocksize, symmetry=symmetry)
    if matrix.format == "coo":
        return Parts(COO, shape, matrix.row, matrix.col, matrix.data, symmetry=symmetry)
    raise bad_type(f"the format {matrix.format} is none that merbit multiplies; convert the matrix with S.tocsr()")


def parts_of(matrix: Any, shape: Any, dtype: Optional[str], base: int, symmetry: Optional[str]) -> Parts:
    """Returns the arrays of any object that describes a matrix."""
    check_name("symmetry", symmetry, SYMMETRIES)
    number = SYMMETRIES[symmetry]
    if dtype is not None:
        check_name("dtype", dtype, TYPES)
    if isinstance(matrix, (tuple, list)):
        return _of_tuple(tuple(matrix), shape, TYPES[dtype] if dtype else 0, base, number)
    if base != 0 or dtype is not None:
        raise bad_argument("base and dtype are for matrices given as a tuple of arrays")
    tensors = type_of("torch", "Tensor")
    if tensors is not None and isinstance(matrix, tensors):
        found = _of_torch(sys.modules["torch"], matrix, number)
    elif isinstance(getattr(matrix, "format", None), str) and hasattr(matrix, "tocsr"):
        found = _of_scipy(matrix, number)
    else:
        raise _wrong(matrix)
    if shape is not None and _pair(shape) != found.shape:
        raise bad_argument(f"shape is {shape}, the matrix's own {found.shape}; leave it out")
    return found
