"""Preconditioners as objects."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any, Optional

import numpy

from . import _core
from ._context import Context
from ._errors import InThisProcess, bad_argument, bad_type, check_name, check_sizes, not_supported
from ._libraries import F32, F64, HOST, NAMES, NUMPY, library_of, refuse_gradient, wait_for
from ._matrix import Matrix, csr
from ._plans import SEMIRINGS

KINDS: dict[Optional[str], int] = {"jacobi": 1, "block_jacobi": 2, "chebyshev": 4, "fsai": 5, "amg": 6}


@dataclasses.dataclass(frozen=True)
class PreconditionerInfo:
    """Facts about a preconditioner and its cost: fields of merbit_preconditioner_info."""

    side: str  # "cpu" or "cuda"
    levels: int
    rows: tuple[int, ...]  # of each level's matrix, A first
    nonzeros: tuple[int, ...]
    operator_complexity: float
    host_bytes: int
    device_bytes: int
    setup_seconds: float


def matrix_of(A: Any, context: Optional[Context] = None) -> Matrix:
    """Returns a merbit.Matrix itself, or anything else through merbit.csr."""
    if not isinstance(A, Matrix):
        return csr(A, context=context)
    if A._operation != "N":
        raise not_supported(
            "this computes with a matrix, not with its transpose A.T; make "
            "merbit.csr of the transposed arrays, for example merbit.csr(S.T)"
        )
    semiring = A._source.options["semiring"]
    if semiring != SEMIRINGS["plus_times"]:
        raise not_supported(
            f"the matrix has semiring={list(SEMIRINGS)[semiring]!r}; this computes with plus_times: make merbit.csr of the "
            "arrays without a semiring"
        )
    return A


def near_nullspace_of(vectors: Any, rows: int) -> Optional[numpy.ndarray]:
    """Returns the near-null-space in merbit's layout: one row per vector."""
    if vectors is None:
        return None
    near = numpy.asarray(NUMPY.plain(vectors), dtype=numpy.float64)
    if near.ndim != 2 or near.shape[0] != rows:
        raise bad_argument(f"near_nullspace has shape {near.shape}; give the vectors as columns of a ({rows}, k) array")
    return numpy.ascontiguousarray(near.T)


class Preconditioner(InThisProcess):
    """A preconditioner M, an approximation of a square matrix A: M @ r is z = M^-1 r. One call runs at a time; others wait.

    merbit.cg, bicgstab and gmres accept it as M, also when they compute on a GPU. So do SciPy's and CuPy's solvers,
    except for bicg and qmr, which also need the transpose of M.

    A: a merbit.Matrix, or anything that merbit.csr accepts; float64 or float32. kind: "jacobi", "block_jacobi"
    (block_size rows per block; 0: 4), "chebyshev" (degree; 0: 4), "fsai" or "amg" (block_size unknowns per node; 0: 1).
    near_nullspace: for "amg", vectors v with A v nearly 0, as columns of float64. single: compute in float32 inside
    float64. singular: A maps the constant vector to 0; the mean of r and z is removed. deterministic: equal bits in
    every run.
    """

    __slots__ = ("_source", "_core", "_lock", "__weakref__")
    __array_ufunc__ = None
    ndim = 2

    def __init__(
        self,
        A: Any,
        kind: str = "amg",
        *,
        block_size: int = 0,
        degree: int = 0,
        near_nullspace: Any = None,
        single: bool = False,
        singular: bool = False,
        deterministic: bool = False,
    ) -> None:
        check_name("kind", kind, KINDS)
        check_sizes(block_size=block_size, degree=degree)
        self._source = source = matrix_of(A)._source
        if source.value_type not in (F64, F32):
            raise not_supported(f"the matrix has values of {NAMES[source.value_type]}; this takes float64 and float32")
        self._core = _core.Preconditioner(
            source.context._core,
            source.view,
            KINDS[kind],
            block_size=block_size,
            degree=degree,
            near_nullspace=near_nullspace_of(near_nullspace, source.parts.shape[0]),
            single=single,
            singular=singular,
            deterministic=deterministic,
        )
        self._lock = threading.RLock()

    @property
    def shape(self) -> tuple[int, int]:
        return self._source.parts.shape

    @property
    def dtype(self) -> numpy.dtype:
        return numpy.dtype(NAMES[self._source.value_type])

    @property
    def context(self) -> Context:
        return self._source.context

    def describe(self) -> str:
        """Returns one line that describes the preconditioner and its cost."""
        return self._core.describe()

    @property
    def info(self) -> PreconditionerInfo:
        return PreconditionerInfo(**self._core.info())

    def __repr__(self) -> str:
        return f"<merbit.Preconditioner: {self.describe()}>"

    def apply(self, r: Any, out: Any = None, *, stream: Optional[int] = None) -> Any:
        """Computes z = M^-1 r in `out` if it is given, else in a new array of r's library and device; r is one vector.
        On a GPU the work is enqueued in `stream`, the address of a CUDA stream; None: the current one of r's library. If M
        computes there and r is in host memory, r is copied there and z back, in the default stream, which takes time."""
        library = library_of(r)
        if library is None:
            raise bad_type(f"r is of type {type(r).__name__}; merbit takes arrays of NumPy, CuPy and PyTorch")
        refuse_gradient(r, "r")
        r = library.plain(r)
        place = self._place(r)
        if out is None:
            out = library.empty((self.shape[0],), self._source.value_type, place)
        z = library.target(out) if library_of(out) is library else out
        getter = library.stream_getter(place)
        if stream is None and getter is not None:
            stream = getter()
        if place != HOST:
            self._source.libraries.add(library)
        with self._lock:
            self._core.apply(library.adjacent(r), z, place == HOST, stream)
        return out

    def _place(self, r: Any) -> int:
        """Returns where r and z are: in host memory, or on the GPU, where M then computes, too."""
        if _core.inspect(r, "r")[1] == HOST:
            return HOST
        if self.context.device is None:
            raise bad_argument("r is in GPU memory, but M computes on the CPU")
        return self.context.device

    def __matmul__(self, r: Any) -> Any:
        """Returns M^-1 r, for one vector or for each column of r."""
        library = library_of(r)
        shape: tuple[int, ...] = tuple(getattr(r, "shape", ()))
        if len(shape) == 1 or library is None:
            return self.apply(r)
        if len(shape) != 2 or shape[0] != self.shape[0]:
            rows = self.shape[0]
            raise bad_argument(f"r has shape {shape}; M has {rows} rows, so r must have shape ({rows},) or ({rows}, k)")
        place = self._place(library.plain(r))
        z = library.empty((self.shape[0], shape[1]), self._source.value_type, place, column_major=True)
        for column in range(shape[1]):
            self.apply(r[:, column], z[:, column])
        return z

    def matvec(self, r: Any) -> Any:
        return self @ r

    def matmat(self, r: Any) -> Any:
        return self @ r

    def dot(self, r: Any) -> Any:
        return self @ r

    def __call__(self, r: Any) -> Any:
        return self @ r

    def update(self, values: Any) -> None:
        """Recomputes M from new values for the same structure: as many as the matrix has, in the same order and type. They
        are read until the call returns. If this fails, M may have some of them: update it again."""
        source = self._source
        if source.parts.values is None:
            raise bad_argument("the matrix is a pattern: it has no values to replace")
        if values is None:
            raise bad_type("values is None; give as many values as the matrix has")
        view = source.parts.view(values)
        if view.value_type != source.view.value_type:
            raise bad_type(
                f"the new values have type {NAMES[view.value_type]}, the matrix {NAMES[source.view.value_type]}"
            )
        wait_for(values, view.device)
        with self._lock:
            for library in source.libraries:
                library.synchronize(self.context.device or 0)
            self._core.update(view)
