"""Source: the arrays of a matrix, and the plans for its products."""

from __future__ import annotations

import ctypes
import dataclasses
import threading
import weakref
from typing import Any, Optional, Union

from . import _core
from ._context import Context, default_context
from ._errors import bad_argument, bad_type
from ._libraries import BF16, COMPLEX, F16, F32, F64, HOST, NAMES, Library, library_of, numpy_of, wait_for
from ._sources import Parts

METHODS = {
    "auto": 0,
    "reference": 1,
    "merge": 2,
    "merbit": 3,
    "scan": 4,
    "rows": 5,
    "sliced": 6,
    "binned": 7,
    "bsr": 8,
    "cb": 9,
    "hubs": 10,
    "sorted": 11,
    "symmetric": 13,
    "diagonals": 14,
}
SEMIRINGS = {"plus_times": 0, "min_plus": 1, "max_times": 2, "or_and": 3, "custom": 4}
OPERATIONS = {"N": 0, "T": 1, "H": 2}
ROW_MAJOR, COLUMN_MAJOR = 1, 0
MOST_VECTORS = 64  # in one product
KEPT_PLANS = 8  # for several vectors: a plan for each number of vectors

CFunction: Any = ctypes.CFUNCTYPE(None).__mro__[1]  # the class of all ctypes functions
Function = Union[None, int, Any]  # an address, a ctypes function, or an object with .address (Numba's cfunc)


def address_of(function: Function) -> int:
    """Returns the address of a C function; 0 for None."""
    if function is None:
        return 0
    if isinstance(function, int):
        return function
    if isinstance(getattr(function, "address", None), int):
        return function.address
    if isinstance(function, CFunction):
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    raise bad_type(f"{function!r} is no C function; merbit takes an address, a ctypes function or a Numba cfunc")


@dataclasses.dataclass(frozen=True)
class Operators:
    """User-defined operators for semiring="custom": expressions in a, b and x for the GPU, C functions for the CPU.

    add must be associative and commutative, and add(zero, b) must be b. A CPU function is
    `double f(void *, double, double)`, with float for float32 matrices.
    """

    zero: float
    add: Optional[str] = None  # for example "min(a, b)"
    multiply: Optional[str] = None  # for example "a + x"
    add_function: Function = None
    multiply_function: Function = None


@dataclasses.dataclass(frozen=True)
class PlanInfo:
    """Facts about a matrix prepared for products: fields of merbit_plan_info."""

    side: str  # "cpu" or "cuda"
    method: str  # for example "merge"
    sigma: int
    omega: int
    block_threads: int
    descriptor_bits: int
    tiles: int
    bytes_per_product: int
    device_bytes: int
    cubin_from_cache: bool
    plan_seconds: float
    compile_seconds: float
    load_seconds: float
    transpose_seconds: float
    reorder_seconds: float
    expand_seconds: float
    bandwidth_before: int
    bandwidth: int
    vectors: int
    host_bytes: int  # without the matrix's own arrays


@dataclasses.dataclass(frozen=True)
class PlanMemory:
    """The most memory that a plan will take: fields of merbit_plan_memory."""

    device_bytes: int  # GPU memory that it keeps
    device_peak_bytes: int  # GPU memory while it is made
    host_bytes: int  # without the matrix's own arrays
    workspace_bytes: int  # extra for each concurrent product
    method: str  # the candidate that takes the most


class KeptEpilogue:
    """An epilogue and its plan, which live as long as the Epilogue objects that use them."""

    __slots__ = ("operation", "epilogue", "function", "plan", "__weakref__")

    def __init__(self, operation: str, epilogue: tuple[Any, ...], function: Function) -> None:
        self.operation, self.epilogue, self.function = operation, epilogue, function
        self.plan: Optional[_core.Plan] = None


class Source:
    """The arrays, plans and solvers that a matrix and its transposes share."""

    def __init__(self, parts: Parts, context: Optional[Context], options: dict[str, Any]) -> None:
        self.parts, self.options = parts, options
        self.view = parts.view(parts.values)
        self.context = context or default_context(None if self.view.device == HOST else max(self.view.device, 0))
        wait_for(parts.columns, self.view.device)
        self.value_type = self.view.value_type or F64
        self.vector_type = F32 if self.value_type in (F16, BF16) else self.value_type
        self.plans: dict[Any, _core.Plan] = {}
        self.epilogues: weakref.WeakValueDictionary[Any, KeptEpilogue] = weakref.WeakValueDictionary()
        self.recent: Optional[_core.Plan] = None
        self.products: dict[str, dict[type, Any]] = {operation: {} for operation in OPERATIONS}
        self.solver: Optional[tuple[Any, threading.Lock, _core.Solver, Any, Any]] = None
        self.libraries: set[Library] = set()  # those whose GPU arrays have been multiplied
        self.lock = threading.RLock()

    def plan(self, operation: str, vector_type: int, host: bool, vectors: int = 1, order: int = 0) -> _core.Plan:
        """Returns the plan for such vectors, which is made when it is first needed."""
        key = (operation, vector_type, host, vectors, order)
        with self.lock:
            plan = self.plans.pop(key, None)
            if plan is None:
                plan = _core.Plan(self.context._core, self.view, keep=self.options["operators"], **self.wish(*key))
                several = [k for k in self.plans if k[3] > 1]
                if vectors > 1 and len(several) >= KEPT_PLANS:
                    del self.plans[several[0]]  # the least recently used
            self.plans[key] = plan
            self.recent = plan
            return plan

    def keep_epilogue(self, operation: str, epilogue: tuple[Any, ...], function: Function) -> KeptEpilogue:
        """Returns the object that all Epilogues of these expressions share."""
        key = (operation, epilogue)
        with self.lock:
            kept = self.epilogues.get(key)
            if kept is None:
                self.epilogues[key] = kept = KeptEpilogue(operation, epilogue, function)
            return kept

    def epilogue_plan(self, kept: KeptEpilogue) -> _core.Plan:
        """Returns the plan with the epilogue, which is made when it is first needed and after a failed update."""
        with self.lock:
            if kept.plan is None:
                kept.plan = _core.Plan(
                    self.context._core,
                    self.view,
                    epilogue=kept.epilogue,
                    keep=(kept.function, self.options["operators"]),
                    **self.wish(kept.operation, self.vector_type, False, 1, COLUMN_MAJOR),
                )
            self.recent = kept.plan
            return kept.plan

    def wish(self, operation: str, vector_type: int, host: bool, vectors: int, order: int) -> dict[str, Any]:
        """Returns the arguments of a plan for such vectors, without an epilogue."""
        return {
            **self.options,
            "operators": self.operators(),
            "operation": OPERATIONS[operation],
            "vector_type": vector_type,
            "host_vectors": host,
            "vectors": vectors,
            "vector_order": order,
        }

    def operators(self) -> Optional[tuple[Any, ...]]:
        given: Optional[Operators] = self.options["operators"]
        if given is None:
            return None
        return (
            given.add,
            given.multiply,
            given.zero,
            address_of(given.add_function),
            address_of(given.multiply_function),
        )

    def takes_several(self, vector_type: int) -> bool:
        """Returns whether one product can multiply several vectors."""
        plain = self.options["semiring"] == SEMIRINGS["plus_times"] and self.options["method"] == METHODS["auto"]
        return plain and vector_type == self.value_type and vector_type not in COMPLEX

    def home_plan(self) -> _core.Plan:
        """Returns the plan used last, or the one for vectors in the memory of the matrix's arrays."""
        return self.recent or self.plan("N", self.vector_type, self.view.device == HOST)

    def update(self, values: Any) -> None:
        library = library_of(values)
        if self.parts.values is None:
            raise bad_argument("the matrix is a pattern: it has no values to replace")
        with self.lock:
            if library is not None:
                values = library.copy(values)
            elif _core.inspect(values, "values")[1] == HOST:
                values = numpy_of(values).copy()
            view = self.parts.view(values)
            if view.value_type != self.view.value_type:
                raise bad_type(
                    f"the new values have type {NAMES[view.value_type]}, the matrix {NAMES[self.view.value_type]}"
                )
            wait_for(values, view.device)
            for other in self.libraries:
                other.synchronize(self.context.device or 0)
            try:
                if self.solver is not None:
                    self.solver[2].update(view)
                for plan in self.plans.values():
                    plan.update(view)
                for kept in list(self.epilogues.values()):
                    if kept.plan is not None:
                        kept.plan.update(view)
            except BaseException:
                # Some plans may have the new values already: remake them with the old ones.
                self.forget()
                raise
            self.view = view

    def forget(self) -> None:
        self.solver = self.recent = None
        self.plans.clear()
        for kept in list(self.epilogues.values()):
            kept.plan = None
        for products in self.products.values():
            products.clear()
