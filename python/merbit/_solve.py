"""Linear systems, eigenpairs and PageRank."""

from __future__ import annotations

import contextlib
import dataclasses
import operator
import threading
from typing import Any, Callable, Mapping, Optional, Union

import numpy

from . import _core
from ._context import Context
from ._errors import bad_argument, bad_type, check_name, check_sizes, not_supported
from ._libraries import F32, F64, HOST, NAMES, NUMPY, Library, library_of, refuse_gradient
from ._plans import MOST_VECTORS, Source
from ._precondition import KINDS, Preconditioner, matrix_of, near_nullspace_of

STOPS = ("converged", "cap", "cancelled", "not_finite", "stagnated", "breakdown")
SOLVERS = {"cg": 1, "bicgstab": 2, "gmres": 3}
PRECONDITIONERS: dict[Optional[str], int] = {None: 0, **KINDS}
CALLBACK = 3
OPTIONS = ("block_size", "degree", "near_nullspace", "single", "singular")  # of named preconditioners
SIZES = ("max_iterations", "restart", "block_size", "degree", "reorder")
WHICH = {"LM": 0, "LA": 1, "SA": 2, "BE": 3}
EIGEN_METHODS = {"lanczos": 0, "power": 1}
Progress = Union[None, Callable[[int, float, float], object], Any]


@dataclasses.dataclass(frozen=True)
class _Info:
    stop: str  # "converged", "cap", "cancelled", "not_finite", "stagnated" or "breakdown"
    iterations: int
    prepare_seconds: float
    iterate_seconds: float
    synchronizations: int
    device_bytes: int
    plan_description: str

    @property
    def converged(self) -> bool:
        return self.stop == "converged"


@dataclasses.dataclass(frozen=True)
class SolveInfo(_Info):
    """The outcome of a solve: fields of merbit_solver_result."""

    restarts: int
    residual: float  # ||b - A x|| / ||b||, recomputed from x
    estimated_residual: float
    backward_error: float
    recorded: int
    description: str
    history: numpy.ndarray = dataclasses.field(repr=False)  # the estimated residual after 0, 1, ... iterations;
    # empty for several right-hand sides
    columns: tuple[SolveInfo, ...] = ()  # one for each of several right-hand sides; all other fields are the worst of them


@dataclasses.dataclass(frozen=True)
class PageRankInfo(_Info):
    """The outcome of pagerank: fields of merbit_pagerank_result."""

    change: float
    dangling: int
    recorded: int
    history: numpy.ndarray = dataclasses.field(repr=False)  # the change in each iteration


@dataclasses.dataclass(frozen=True)
class EigenInfo(_Info):
    """The outcome of eigsh: fields of merbit_eigen_result."""

    restarts: int
    converged_pairs: int
    residuals: tuple[float, ...]  # one per pair, in the order of the eigenvalues
    description: str


def _named(result: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**result, **more, "stop": STOPS[result["stop"]]}


def _callback(progress: Progress) -> Optional[Callable[[int, float, float], object]]:
    """Returns a callable itself, or one that moves a tqdm bar to the number of iterations."""
    if hasattr(progress, "update") and hasattr(progress, "n"):
        return lambda iteration, change, seconds: progress.update(iteration - progress.n)
    if progress is None or callable(progress):
        return progress
    raise bad_type(f"progress is {progress!r}; it must be a function of (iteration, change, seconds) or a tqdm bar")


# ---- Linear systems ----


def _callback_of(M: Any, source: Source, library: Library, device: int) -> Any:
    """Returns what merbit applies for M: its own preconditioner, or a function that calls M with arrays."""
    if isinstance(M, Preconditioner):
        if M.shape != source.parts.shape or M.dtype != numpy.dtype(NAMES[source.value_type]):
            raise bad_argument(f"M is of {M.shape} and {M.dtype}, the matrix of {source.parts.shape} and {NAMES[source.value_type]}")
        if M.context.device != source.context.device:
            raise bad_argument("M and the matrix compute on different devices; make both with one context")
        return M._core
    apply = M.matvec if hasattr(M, "matvec") else M
    if not callable(apply):
        raise bad_type(
            f"M is of type {type(M).__name__}; it must be a merbit.Preconditioner, a function of r, or an object with "
            "matvec: scipy.sparse.linalg.aslinearoperator makes one of a matrix, and preconditioner= takes names"
        )
    if device == HOST and source.context.device is not None:
        raise not_supported(
            "M is a function of Python's, which gets vectors where the solver computes, on the GPU, but b is in host memory; "
            'pass b of CuPy or PyTorch, use a merbit.Preconditioner, or make the matrix with context=merbit.Context("cpu")'
        )

    def call(r: int, z: int, n: int, stream: int) -> None:
        with library.in_stream(stream, device):
            # A copy of r, because M may keep it for longer than the solver lives, or change it.
            answer = apply(library.copy(library.borrowed(r, n, source.value_type, device)))
            if numpy.ndim(answer) == 0:
                raise bad_type(f"M returned {answer!r}; it must return z, an array like r")
            if isinstance(answer, numpy.ma.MaskedArray):
                raise bad_type("M returned a numpy.ma.MaskedArray, whose mask merbit does not know; return array.filled(0)")
            if "complex" in str(getattr(answer, "dtype", "")):  # NumPy would drop the imaginary part
                raise bad_type(f"M returned an array of {answer.dtype}; r and z are of {NAMES[source.value_type]}")
            if tuple(numpy.shape(answer)) != (n,):  # NumPy would repeat a single number
                raise bad_argument(f"M returned an array of shape {tuple(numpy.shape(answer))}; r and z have shape ({n},)")
            library.borrowed(z, n, source.value_type, device)[...] = answer

    return call


def _solver(
    source: Source, method: int, options: dict[str, Any], M: Any, library: Library, device: int
) -> tuple[threading.Lock, _core.Solver]:
    """Returns the solver that the matrix keeps, locked, if it fits; else a new one."""
    # M and the near-null-space are kept with the solver, so that no other object can have their identity.
    given = options["near_nullspace"]
    named = {**options, "near_nullspace": id(given)}
    key = (method, device, tuple(named.items()), None if M is None else id(M), library.name)
    with source.lock:
        if source.solver is not None and source.solver[0] == key and source.solver[1].acquire(blocking=False):
            return source.solver[1], source.solver[2]
        preconditioner = options["preconditioner"]
        if preconditioner not in list(PRECONDITIONERS):
            raise bad_argument(
                f"preconditioner is {preconditioner!r}; it must be one of {list(PRECONDITIONERS)}; functions and objects "
                "are given as M"
            )
        for name in OPTIONS if preconditioner is None else ():
            if given is not None if name == "near_nullspace" else options[name]:
                raise bad_argument(
                    f"{name} is an option of preconditioners with a name, but preconditioner is None; name one, for "
                    f'example "amg", or leave {name} out'
                )
        if M is not None and preconditioner is not None:
            raise bad_argument(f"both preconditioner={preconditioner!r} and M are given; give one of them")
        near = near_nullspace_of(given, source.parts.shape[0])
        solver = _core.Solver(
            source.context._core,
            source.view,
            method,
            **{
                **options,
                "host_vectors": device == HOST,
                "preconditioner": PRECONDITIONERS[preconditioner] if M is None else CALLBACK,
                "apply": None if M is None else _callback_of(M, source, library, device),
                "near_nullspace": 0 if near is None else near.ctypes.data,
                "near_nullspace_count": 0 if near is None else len(near),
            },
        )
        lock = threading.Lock()
        lock.acquire()
        source.solver = (key, lock, solver, given, M)
        return lock, solver


def _solve(method: str, A: Any, b: Any, x0: Any, M: Any, progress: Progress, **options: Any) -> tuple[Any, SolveInfo]:
    check_sizes(**{name: options[name] for name in SIZES if name in options})
    matrix = matrix_of(A)
    source = matrix._source
    _real(source)
    library = library_of(b)
    if library is None:
        raise bad_type(f"b is of type {type(b).__name__}; merbit takes arrays of NumPy, CuPy and PyTorch")
    refuse_gradient(b, "b")
    b = library.plain(b)
    kind, device, shape, _ = _core.inspect(b, "b")
    rows = source.parts.shape[0]
    if len(shape) not in (1, 2) or shape[0] != rows:
        raise bad_argument(f"b has shape {shape}; the matrix needs ({rows},) or ({rows}, k)")
    if kind != NAMES[source.value_type]:
        raise bad_type(
            f"b has type {kind}, the matrix {NAMES[source.value_type]}: convert b with astype (PyTorch: b.to)"
        )
    if device != HOST:
        matrix._check_device(device)
        source.libraries.add(library)
    several = len(shape) == 2
    if several:  # merbit expects one vector after the other
        b = library.adjacent(b.T)
        if method == "cg" and not options["refine"] and options["reorder"] <= 0:
            options["vectors"] = min(shape[1], MOST_VECTORS)
    x = library.empty(shape[::-1], source.value_type, device)
    if x0 is not None:
        start = _start_of(x0, library, kind, shape, device)
        x[...] = start.T if several else start
    report = _callback(progress)
    lock, solver = _solver(source, SOLVERS[method], options, M, library, device)
    try:
        with M._lock if isinstance(M, Preconditioner) else contextlib.nullcontext():
            library.wait(device)  # the solver uses its own streams
            if several:
                results = solver.solve_many(b, x, shape[1], x0 is not None, report)
                return x.T, _info_of(results)
            history = numpy.zeros((max(options["max_iterations"], 0) or 20000) + 1)  # takes memory where it is written
            result = solver.solve(b, x, x0 is not None, history, report)
    finally:
        lock.release()
    return x, SolveInfo(**_named(result, history=history[: result["iterations"] + 1].copy()))


def _start_of(x0: Any, library: Library, kind: str, shape: tuple[int, ...], device: int) -> Any:
    """Returns x0, which must be like b: nothing is broadcast or converted."""
    if library_of(x0) is not library:
        raise bad_type(f"x0 is of type {type(x0).__name__}; give an array of {library.name}, like b")
    refuse_gradient(x0, "x0")
    start = library.plain(x0)
    found, place, own, _ = _core.inspect(start, "x0")
    if own != shape:
        raise bad_argument(f"x0 has shape {own}; it must have that of b, {shape}")
    if found != kind:
        raise bad_type(f"x0 has type {found}, b {kind}: convert x0 with astype (PyTorch: x0.to)")
    if place != device:
        raise bad_argument("x0 and b are on different devices; give both on one")
    return start


def _info_of(results: list[dict[str, Any]]) -> SolveInfo:
    """Summarises several right-hand sides: the fields of the worst column, and the most iterations."""
    columns = tuple(SolveInfo(**_named(result, history=numpy.empty(0))) for result in results)
    worst = max(columns, key=lambda info: (not info.converged, info.residual != info.residual, info.residual))
    return dataclasses.replace(worst, iterations=max(info.iterations for info in columns), columns=columns)


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    M: Any = None,
    tolerance: float = 0.0,
    max_iterations: int = 0,
    preconditioner: Optional[str] = None,
    block_size: int = 0,
    degree: int = 0,
    near_nullspace: Any = None,
    single: bool = False,
    singular: bool = False,
    refine: bool = False,
    deterministic: bool = False,
    reorder: int = 0,
    expected_solves: int = 0,
    progress: Progress = None,
) -> tuple[Any, SolveInfo]:
    """Solves A x = b by conjugate gradients, for symmetric positive definite A. Returns x and a SolveInfo.

    A: a merbit.Matrix, or anything that merbit.csr accepts; float64 or float32. b: a NumPy, CuPy or PyTorch vector of
    A's type, or several as columns of a two-dimensional array, which share their products; x has the same shape, and
    info.columns then has one entry per column. x0: the first guess, of the same shape and type; None: zero. tolerance:
    for ||b - A x|| / ||b||; 0: 1e-10, in float32 1e-5. max_iterations: 0: 20000. preconditioner: None, "jacobi",
    "block_jacobi" (block_size rows; 0: 4), "chebyshev" (a polynomial of degree; 0: 4), "fsai" or "amg" (block_size
    unknowns per node). near_nullspace: for "amg", vectors v with A v nearly 0, as columns of a NumPy array, for example
    the rigid body modes of elasticity; read when the solver is made. M: your own preconditioner instead: a
    merbit.Preconditioner, a function z = M(r), or an object with matvec such as a SciPy LinearOperator. single: the
    preconditioner computes in float32 inside float64. singular: A maps the constant vector to 0, as a Laplacian does;
    the mean of b and x is removed. refine: iterate in float32, correct in float64. deterministic: equal bits in every
    run. reorder: 1 always, -1 never, 0 if it pays for expected_solves. progress: called with (iteration, residual,
    seconds), about ten times a second on the GPU and after each check on the CPU; or a tqdm bar. It stops the solve by
    raising StopIteration, and is then not called again: columns of b that have not begun keep x0, or x = 0. Ctrl-C ends
    the solve with KeyboardInterrupt. The matrix keeps the solver, so that further solves need no preparation.
    """
    return _solve(
        "cg",
        A,
        b,
        x0,
        M,
        progress,
        tolerance=tolerance,
        max_iterations=max_iterations,
        preconditioner=preconditioner,
        block_size=block_size,
        degree=degree,
        near_nullspace=near_nullspace,
        single=single,
        singular=singular,
        refine=refine,
        deterministic=deterministic,
        reorder=reorder,
        expected_solves=expected_solves,
    )


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    M: Any = None,
    tolerance: float = 0.0,
    max_iterations: int = 0,
    preconditioner: Optional[str] = None,
    block_size: int = 0,
    degree: int = 0,
    near_nullspace: Any = None,
    single: bool = False,
    singular: bool = False,
    refine: bool = False,
    deterministic: bool = False,
    reorder: int = 0,
    expected_solves: int = 0,
    progress: Progress = None,
) -> tuple[Any, SolveInfo]:
    """Solves A x = b by BiCGSTAB, for any square A. The arguments are those of cg."""
    return _solve(
        "bicgstab",
        A,
        b,
        x0,
        M,
        progress,
        tolerance=tolerance,
        max_iterations=max_iterations,
        preconditioner=preconditioner,
        block_size=block_size,
        degree=degree,
        near_nullspace=near_nullspace,
        single=single,
        singular=singular,
        refine=refine,
        deterministic=deterministic,
        reorder=reorder,
        expected_solves=expected_solves,
    )


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    M: Any = None,
    restart: int = 0,
    tolerance: float = 0.0,
    max_iterations: int = 0,
    preconditioner: Optional[str] = None,
    block_size: int = 0,
    degree: int = 0,
    near_nullspace: Any = None,
    single: bool = False,
    singular: bool = False,
    refine: bool = False,
    deterministic: bool = False,
    reorder: int = 0,
    expected_solves: int = 0,
    progress: Progress = None,
) -> tuple[Any, SolveInfo]:
    """Solves A x = b by GMRES, for any square A. restart: iterations per cycle, up to 512; 0: 30. max_iterations counts
    single iterations. The other arguments are those of cg."""
    return _solve(
        "gmres",
        A,
        b,
        x0,
        M,
        progress,
        restart=restart,
        tolerance=tolerance,
        max_iterations=max_iterations,
        preconditioner=preconditioner,
        block_size=block_size,
        degree=degree,
        near_nullspace=near_nullspace,
        single=single,
        singular=singular,
        refine=refine,
        deterministic=deterministic,
        reorder=reorder,
        expected_solves=expected_solves,
    )


# ---- Eigenpairs, PageRank ----


def eigsh(
    A: Any,
    k: int = 6,
    *,
    which: str = "LM",
    method: str = "lanczos",
    basis: int = 0,
    tolerance: float = 0.0,
    max_iterations: int = 0,
    seed: int = 0,
    deterministic: bool = False,
    progress: Progress = None,
) -> tuple[numpy.ndarray, numpy.ndarray, EigenInfo]:
    """Finds k eigenvalues (at most 32) at the ends of the spectrum of a symmetric matrix. Returns the eigenvalues in the
    order of `which`, the vectors as columns, and the outcome; all in host memory.

    A: a merbit.Matrix, or anything that merbit.csr accepts. which: "LM" (largest absolute value first), "LA" (largest),
    "SA" (smallest), or "BE" (both ends in turn). method: "lanczos", or "power" for the one eigenvalue of largest
    absolute value of any real matrix. basis: number of vectors kept; 0: 2 k + 16. tolerance: for the residual over the
    largest |eigenvalue|; 0: 1e-10, in float32 1e-5. max_iterations: most products; 0: 10000. Pairs that were not found
    are NaN. progress: as for cg.
    """
    for name, value, known in (("which", which, WHICH), ("method", method, EIGEN_METHODS)):
        check_name(name, value, known)
    check_sizes(basis=basis, max_iterations=max_iterations)
    source = matrix_of(A)._source
    if not 1 <= k <= 32:
        raise bad_argument(f"k is {k}; merbit finds 1 to 32 eigenpairs")
    if not 0 <= seed < 2**64:
        raise bad_argument(f"seed is {seed}; it must be 0 to 2^64 - 1")
    values = numpy.empty(k)
    vectors = numpy.empty((k, source.parts.shape[0]), NAMES[_real(source)])
    result = _core.eigen(
        source.context._core,
        source.view,
        values,
        vectors,
        EIGEN_METHODS[method],
        WHICH[which],
        basis,
        tolerance,
        max_iterations,
        operator.index(seed),
        deterministic,
        _callback(progress),
    )
    return values, vectors.T, EigenInfo(**_named(result))


def _real(source: Source) -> int:
    if source.value_type not in (F64, F32):
        raise not_supported(f"the matrix has values of {NAMES[source.value_type]}; this takes float64 and float32")
    return source.value_type


def pagerank(
    graph: Any,
    *,
    personalisation: Union[None, Mapping[int, float], Any] = None,
    start: Any = None,
    damping: float = 0.85,
    tolerance: float = 0.0,
    max_iterations: int = 0,
    unweighted: bool = False,
    unaccelerated: bool = False,
    progress: Progress = None,
    context: Optional[Context] = None,
) -> tuple[numpy.ndarray, PageRankInfo]:
    """Computes the PageRank of a link graph: entry (i, j) is an edge from i to j, its value the weight. Returns ranks that
    add up to 1, in host memory, and the outcome.

    graph: a merbit.Matrix, or anything that merbit.csr accepts. personalisation: where teleports go: a weight for each
    vertex, or {vertex: weight}; None: all equal. start: the first ranks, for example earlier ones. damping: the
    probability of following a link; 0: 0.85. tolerance: for the L1 norm of the change; 0: 1e-10, in float32 2^-22.
    max_iterations: 0: 1000. unweighted: all edges have weight 1. unaccelerated: the plain power method. progress:
    called with (iteration, change, seconds), as for cg. context: where to compute, for a graph that is no
    merbit.Matrix.
    """
    check_sizes(max_iterations=max_iterations)
    source = matrix_of(graph, context)._source
    name, rows = NAMES[_real(source)], source.parts.shape[0]
    if isinstance(personalisation, Mapping):
        seeds, personalisation = personalisation, numpy.zeros(rows, name)
        for vertex, weight in seeds.items():
            if not hasattr(vertex, "__index__"):
                raise bad_type(f"personalisation names vertex {vertex!r}; vertices are integers")
            if not 0 <= vertex < rows:
                raise bad_argument(f"personalisation names vertex {vertex} of {rows}")
            personalisation[vertex] = weight
    ranks = numpy.empty(rows, name)
    history = numpy.zeros(max(max_iterations, 0) or 1000)
    result = _core.pagerank(
        source.context._core,
        source.view,
        ranks,
        _host(personalisation),
        _host(start),
        history,
        damping,
        tolerance,
        max_iterations,
        unweighted,
        unaccelerated,
        _callback(progress),
    )
    return ranks, PageRankInfo(**_named(result, history=history[: result["iterations"]].copy()))


def _host(array: Any) -> Any:
    library = library_of(array)
    return array if array is None or library is None else library.plain(array)
