"""Matrix: products y = A x that use NumPy, CuPy and PyTorch arrays in place."""

from __future__ import annotations

import sys
from typing import Any, Iterator, Optional, Sequence, Union

import numpy

from . import _core
from ._context import Context
from ._errors import InThisProcess, bad_argument, bad_type, check_name, check_sizes, not_supported
from ._libraries import (
    COMPLEX,
    F32,
    F64,
    HOST,
    NAMES,
    NUMPY,
    TYPES,
    library_of,
    numpy_of,
    refuse_gradient,
    wants_gradient,
)
from ._plans import (
    COLUMN_MAJOR,
    METHODS,
    MOST_VECTORS,
    ROW_MAJOR,
    SEMIRINGS,
    Function,
    Operators,
    PlanInfo,
    PlanMemory,
    Source,
    address_of,
)
from ._sources import FORMS, parts_of


class Operand:
    """An array and its properties as merbit sees them."""

    def __init__(self, array: Any) -> None:
        self.library = library_of(array)
        self.array = array if self.library is None else self.library.plain(array)
        self.kind, self.device, self.shape, self.strides = _core.inspect(self.array, "x")
        self.vectors = self.shape[1] if len(self.shape) == 2 else 1
        if self.library is None and self.device == HOST:
            self.library = NUMPY
            self.array = numpy_of(array) if self.kind in TYPES and self.kind != "bfloat16" else array


class Matrix(InThisProcess):
    """A sparse matrix for many products; make one with merbit.csr. Threads may share it.

    It has the methods of a LinearOperator, so that SciPy's and CuPy's iterative solvers take it, and so do SciPy's eigsh
    and svds; all vectors, b included, must have its type. Functions that add and scale operators, such as SciPy's
    expm_multiply, take scipy.sparse.linalg.aslinearoperator(A).
    """

    __slots__ = ("_source", "_operation", "_products", "__weakref__")
    __array_ufunc__ = None  # x @ A calls __rmatmul__, not NumPy
    ndim = 2

    def __init__(self, source: Source, operation: str = "N") -> None:
        self._source = source
        self._operation = operation
        self._products = source.products[operation]

    # ---- Facts ----

    @property
    def shape(self) -> tuple[int, int]:
        rows, cols = self._source.parts.shape
        return (rows, cols) if self._operation == "N" else (cols, rows)

    @property
    def dtype(self) -> numpy.dtype:
        """The type of x and y. A float32 matrix also multiplies float64 vectors."""
        return numpy.dtype(NAMES[self._source.vector_type])

    @property
    def nnz(self) -> int:
        """The number of stored entries; those of one triangle if only that is stored."""
        rows, cols = self._source.parts.block
        return self._source.view.nnz * (rows * cols or 1)

    @property
    def context(self) -> Context:
        return self._source.context

    def describe(self) -> str:
        """One line that says how the matrix is multiplied, and why."""
        return self._source.home_plan().describe()

    @property
    def info(self) -> PlanInfo:
        """The numbers behind describe()."""
        plan = self._source.home_plan()
        return PlanInfo(**{**plan.info(), "method": plan.describe().split()[0]})

    def forecast(self, vectors: int = 1, *, host: bool = False, column_major: bool = False) -> PlanMemory:
        """Returns the most memory that the plan for products with this many vectors will take. Makes and compiles nothing.
        host: the vectors are in host memory, and the matrix multiplies on a GPU."""
        check_sizes(vectors=vectors)
        source = self._source
        order = COLUMN_MAJOR if column_major or vectors <= 1 else ROW_MAJOR
        memory = _core.forecast(
            source.context._core, source.view, **source.wish(self._operation, source.vector_type, host, vectors, order)
        )
        names = {number: name for name, number in METHODS.items()}
        return PlanMemory(**{**memory, "method": names.get(memory["method"], "many")})

    def __repr__(self) -> str:
        rows, cols = self.shape
        where = "the CPU" if self.context.device is None else f"CUDA device {self.context.device}"
        name = NAMES[self._source.value_type]
        return f"<merbit.Matrix of {rows} x {cols} with {self.nnz} entries of {name}, on {where}>"

    # ---- Products ----

    def __matmul__(self, x: Any) -> Any:
        product = self._products.get(type(x))
        if product is not None:
            y = product(x)
            if y is not None:
                return y
        if isinstance(x, Matrix):
            return NotImplemented
        return self.multiply(x)

    def __rmatmul__(self, x: Any) -> Any:
        if getattr(x, "ndim", 1) == 1:
            return self.T @ x
        return (self.T @ x.T).T

    def multiply(
        self, x: Any, out: Any = None, *, alpha: Any = None, beta: Any = None, stream: Optional[int] = None
    ) -> Any:
        """Computes alpha A x + beta out, in `out` if it is given, else in a new array of x's library.

        x is one vector of shape (columns,), or several of shape (columns, k), row by row or column by column. alpha
        None is 1, beta None is 0. out must not overlap x. stream: the address of a CUDA stream; None: the current one of
        x's library, or the one that x names in __cuda_array_interface__. If A and x are on a GPU, the call returns when
        the product is enqueued.
        """
        if wants_gradient(x):
            if out is not None or alpha is not None or beta is not None:
                raise bad_argument(
                    "x requires a gradient, which A @ x records, but not a product with out, alpha or beta"
                )
            return _differentiable(self, x)
        operand = Operand(x)
        vector_type = self._check(operand)
        place = HOST if operand.device == HOST else self.context.device or 0
        column_major = operand.vectors > 1 and operand.strides[1] != numpy.dtype(operand.kind).itemsize
        y = self._result(operand, out, beta, vector_type, place, column_major)
        if out is not None and operand.vectors > 1 and not column_major and operand.shape[0] <= 1:
            strides = _core.inspect(y, "out")[3]  # such an x is in either order: out tells which
            column_major = len(strides) == 2 and strides[1] != numpy.dtype(operand.kind).itemsize
        getter = operand.library.stream_getter(place) if operand.library is not None else None
        if stream is None and getter is not None:
            stream = getter()
        for xs, ys, count in self._shares(operand, y, vector_type):
            order = ROW_MAJOR if count > 1 and not column_major else COLUMN_MAJOR
            plan = self._source.plan(self._operation, vector_type, operand.device == HOST, count, order)
            plan.multiply(xs, ys, self._scalar(alpha), self._scalar(beta), stream)
        library = operand.library
        if len(operand.shape) == 1 and library is not None and type(x) is library.array_type():
            make = library.maker(self.shape[0], vector_type, place)
            expected = library.facts(x) if library.facts is not None else None
            product = _core.Product(plan, make, getter, library.address, library.facts, expected)
            self._products[type(x)] = product.multiply
        return y if out is None else out

    def _check(self, x: Operand) -> int:
        """Refuses an x of the wrong shape, type or place. Returns the merbit_type of the product's vectors."""
        source, cols = self._source, self.shape[1]
        if len(x.shape) not in (1, 2) or x.shape[0] != cols:
            raise bad_argument(
                f"x has shape {x.shape}; the matrix has {cols} columns, so x must have shape ({cols},) or ({cols}, k)"
            )
        vector_type = F64 if source.value_type == F32 and x.kind == "float64" else source.vector_type
        if x.kind != NAMES[vector_type]:
            raise bad_type(
                f"x has type {x.kind}; this matrix multiplies vectors of {NAMES[vector_type]}: convert x with astype "
                "(PyTorch: x.to)"
            )
        if x.device != HOST:
            self._check_device(x.device)
            if x.library is not None:
                source.libraries.add(x.library)
        return vector_type

    def _result(self, x: Operand, out: Any, beta: Any, vector_type: int, place: int, column_major: bool) -> Any:
        """Returns the array to write: a new one, or `out` without features that merbit does not know."""
        if out is None:
            if beta is not None:
                raise bad_argument("beta needs out, the array that it multiplies")
            if x.library is None:
                name = type(x.array).__name__
                raise bad_argument(f"merbit cannot make arrays of {name}; give the result too: A.multiply(x, out=y)")
            return x.library.empty((self.shape[0], *x.shape[1:]), vector_type, place, column_major)
        if wants_gradient(out):
            raise bad_argument("out requires a gradient; give out.detach()")
        library = library_of(out)
        return out if library is None else library.target(out)

    def _shares(self, x: Operand, y: Any, vector_type: int) -> Iterator[tuple[Any, Any, int]]:
        """Cuts x and y into parts for one product each: (part of x, part of y, number of vectors)."""
        most = MOST_VECTORS if self._source.takes_several(vector_type) else 1
        parts = -(-x.vectors // most)
        if parts == 1:  # the product checks x and y itself
            yield x.array, y, x.vectors
            return
        _, _, shape, strides = _core.inspect(y, "out")
        if shape != (self.shape[0], x.vectors):
            raise bad_argument(f"out has shape {shape}; for this x it must have shape {(self.shape[0], x.vectors)}")
        if _core.overlap(x.array, y):
            raise bad_argument("x and out overlap, and a part of the result would change x; use two arrays")
        if most > 1:
            for part in range(parts):  # of nearly equal sizes: a single column of a row-major array has gaps
                columns = slice(x.vectors * part // parts, x.vectors * (part + 1) // parts)
                yield x.array[:, columns], y[:, columns], columns.stop - columns.start
        else:
            for column in range(parts):
                part = _adjacent(y[:, column])
                yield _adjacent(x.array[:, column]), part, 1
                if strides[0] != numpy.dtype(NAMES[vector_type]).itemsize:
                    y[:, column] = part

    def _check_device(self, device: int) -> None:
        if self.context.device is None:
            raise bad_argument(
                "x is in GPU memory, and this matrix computes on the CPU: "
                f"{self.context.info.reason or 'its context asks for it'}"
            )
        if device >= 0 and device != self.context.device:
            raise bad_argument(f"x is on CUDA device {device}, the matrix on device {self.context.device}")

    def _scalar(self, number: Any) -> Any:
        if number is None:
            return None
        try:
            return complex(number) if self._source.vector_type in COMPLEX else float(number)
        except (TypeError, ValueError):
            raise bad_type(f"alpha and beta must be numbers of type {self.dtype}; one is {number!r}") from None

    # ---- Transposes and the protocol of a LinearOperator ----

    @property
    def T(self) -> Matrix:
        """Returns the transpose, which shares the arrays. Its first product prepares it."""
        if self._operation == "H":
            raise not_supported(
                "A.H.T is the conjugate of A, which merbit does not multiply; use (A @ x.conj()).conj()"
            )
        return Matrix(self._source, "T" if self._operation == "N" else "N")

    @property
    def H(self) -> Matrix:
        """Returns the conjugate transpose."""
        if self._source.vector_type not in COMPLEX:
            return self.T
        if self._operation == "T":
            raise not_supported(
                "A.T.H is the conjugate of A, which merbit does not multiply; use (A @ x.conj()).conj()"
            )
        return Matrix(self._source, "H" if self._operation == "N" else "N")

    def transpose(self) -> Matrix:
        return self.T

    def adjoint(self) -> Matrix:
        return self.H

    def matvec(self, x: Any) -> Any:
        """Returns A @ x. Copies x first if its elements are not adjacent, because solvers pass columns of arrays."""
        return self @ _adjacent(x)

    def rmatvec(self, x: Any) -> Any:
        return self.H @ _adjacent(x)

    def matmat(self, x: Any) -> Any:
        return self @ _adjacent(x)

    def rmatmat(self, x: Any) -> Any:
        return self.H @ _adjacent(x)

    def dot(self, x: Any) -> Any:
        return self @ x

    # ---- New values, epilogues ----

    def update(self, values: Any) -> None:
        """Copies new values for the same structure: as many as the matrix has, in the same order and type. If this
        fails, the matrix keeps its old values. No other thread may be multiplying."""
        self._source.update(values)

    def epilogue(
        self,
        result: Optional[str] = None,
        sums: Union[str, Sequence[str]] = (),
        *,
        vectors: int = 0,
        scalars: int = 0,
        function: Function = None,
    ) -> Epilogue:
        """Makes a product that applies an expression to each row of A x, and computes up to two sums over all rows.

        result: y in ax, row, v0, ..., s0, ...; None: ax. sums: expressions in the same names and y. EPILOGUES and
        EXPRESSIONS in merbit.h have the rules. On the CPU all but the expressions of solvers and PageRank need
        `function`, a C function merbit_epilogue_rows.
        """
        return Epilogue(self, result, (sums,) if isinstance(sums, str) else tuple(sums), vectors, scalars, function)


class Epilogue:
    """A product with an epilogue: y, sums = E(x, v0, v1, ..., scalars=(s0, ...))."""

    def __init__(
        self,
        matrix: Matrix,
        result: Optional[str],
        sums: tuple[str, ...],
        vectors: int,
        scalars: int,
        function: Function,
    ) -> None:
        if len(sums) > 2:
            raise bad_argument(f"{len(sums)} sums; an epilogue has at most 2")
        check_sizes(vectors=vectors, scalars=scalars)
        self._matrix, self._sums, self._vectors, self._scalars = matrix, len(sums), vectors, scalars
        first, second = (*sums, None, None)[:2]
        epilogue = (result, first, second, vectors, scalars, address_of(function))
        self._kept = matrix._source.keep_epilogue(matrix._operation, epilogue, function)
        matrix._source.epilogue_plan(self._kept)  # checks the expressions

    def __call__(self, x: Any, *vectors: Any, scalars: Sequence[float] = (), out: Any = None) -> tuple[Any, Any]:
        """Returns y and an array of the sums, both arrays of x's library, where the matrix computes."""
        library = library_of(x)
        if library is None:
            raise bad_type(f"x is of type {type(x).__name__}; an epilogue takes arrays of NumPy, CuPy and PyTorch")
        if len(scalars) != self._scalars or len(vectors) != self._vectors:
            raise bad_argument(
                f"{len(vectors)} vectors and {len(scalars)} scalars; this epilogue "
                f"takes {self._vectors} and {self._scalars}"
            )
        for name, array in (("x", x), *((f"v{i}", v) for i, v in enumerate(vectors))):
            refuse_gradient(array, name)
        matrix, source = self._matrix, self._matrix._source
        x = library.plain(x)
        _, device, _, _ = _core.inspect(x, "x")
        if device != HOST:
            matrix._check_device(device)
            source.libraries.add(library)
        if out is None:
            out = library.empty((matrix.shape[0],), source.vector_type, device)
        sums = library.doubles([0.0, 0.0], device)
        numbers = library.doubles([float(s) for s in scalars], device) if len(scalars) > 0 else None
        getter = library.stream_getter(device)
        source.epilogue_plan(self._kept).epilogue(
            x,
            out,
            tuple(library.plain(v) if library_of(v) is library else v for v in vectors),
            numbers,
            sums,
            getter() if getter is not None else None,
        )
        return out, sums[: self._sums]


def csr(
    matrix: Any,
    shape: Optional[tuple[int, int]] = None,
    *,
    dtype: Optional[str] = None,
    base: int = 0,
    symmetry: Optional[str] = None,
    semiring: str = "plus_times",
    operators: Optional[Operators] = None,
    method: str = "auto",
    expected_calls: int = 0,
    changing_values: bool = False,
    deterministic: bool = False,
    context: Optional[Context] = None,
) -> Matrix:
    """Prepares a sparse matrix for many products.

    matrix: a SciPy, CuPy or PyTorch sparse matrix in CSR, COO or BSR; or the arrays (values, col_ind, row_ptr) of a CSR
    (of a BSR if values has three dimensions), or (values, (row_ind, col_ind)) of a COO, with their shape. CSC is
    converted, and A.update takes new values in its order. Values are float64, float32, float16, bfloat16, complex64 or
    complex128; None is a pattern of ones of type `dtype`, and uint16 the bits of a `dtype` of float16 or bfloat16.
    Indices are int32 or int64. The arrays are borrowed, not copied: they stay alive with the matrix, and must not
    change; A.update gives new values.

    base: the first index, 0 or 1. symmetry: "symmetric", "skew" or "hermitian" if the arrays have one triangle.
    semiring: "plus_times", "min_plus", "max_times", "or_and", or "custom" with `operators`. method: "auto" or one of
    merbit_method. expected_calls: the number of products to come, 100 if 0. changing_values: update will come often.
    deterministic: equal bits in every run. context: where to compute; None: where the arrays are, and for arrays in
    host memory on the GPU, else the CPU.
    """
    if isinstance(matrix, Matrix):
        raise bad_type(f"the matrix is a merbit.Matrix already; csr takes {FORMS}")
    for name, value, known in (("semiring", semiring, SEMIRINGS), ("method", method, METHODS)):
        check_name(name, value, known)
    if context is not None and not isinstance(context, Context):
        raise bad_type(f'context is {context!r}; it must be a merbit.Context, for example merbit.Context("cpu")')
    if operators is not None and not isinstance(operators, Operators):
        raise bad_type(f"operators is {operators!r}; it must be a merbit.Operators")
    check_sizes(base=base, expected_calls=expected_calls)
    parts = parts_of(matrix, shape, dtype, base, symmetry)
    options = {
        "semiring": SEMIRINGS[semiring],
        "operators": operators,
        "method": METHODS[method],
        "expected_calls": expected_calls,
        "changing_values": changing_values,
        "deterministic": deterministic,
    }
    source = Source(parts, context, options)
    if source.view.device == HOST and source.context.device is not None:
        source.view.check(source.context._core)  # the first product decides where vectors are
    else:
        source.home_plan()
    return Matrix(source)


def _adjacent(x: Any) -> Any:
    """Returns x itself, or a copy if a product does not take its strides."""
    library = library_of(x)
    if library is None or (getattr(x, "ndim", 1) == 2 and _one_after_another(library.plain(x))):
        return x
    return library.adjacent(x)


def _one_after_another(x: Any) -> bool:
    """Returns whether the elements of each row of x are adjacent, or those of each column."""
    kind, _, (rows, cols), (down, right) = _core.inspect(x, "x")
    if kind not in TYPES or kind == "bfloat16" or rows < 2 or cols < 2:
        return False
    size = numpy.dtype(kind).itemsize
    whole = down % size == 0 and right % size == 0
    return whole and ((right == size and down >= cols * size) or (down == size and right >= rows * size))


_function: Any = None  # a class, made by _differentiable on first use


def _differentiable(matrix: Matrix, x: Any) -> Any:
    """Returns A @ x for torch.autograd: the gradient of x is the conjugate transpose times that of y."""
    global _function
    if matrix._source.options["semiring"] != SEMIRINGS["plus_times"]:
        raise not_supported("x requires a gradient, which products over plus_times alone have; pass x.detach()")
    if _function is None:
        torch: Any = sys.modules["torch"]

        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, matrix: Matrix, x: Any) -> Any:
                ctx.matrix = matrix
                return matrix.multiply(x.detach())

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                return None, _adjoint(ctx.matrix, gradients[0].contiguous())

        _function = Product
    return _function.apply(matrix, x)


def _adjoint(matrix: Matrix, gradient: Any) -> Any:
    """Returns the conjugate transpose of the matrix times a tensor."""
    if matrix._operation == "T" and matrix._source.vector_type in COMPLEX:
        return (matrix.T @ gradient.conj().resolve_conj()).conj().resolve_conj()
    return matrix.H @ gradient
