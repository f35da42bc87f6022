import os
from typing import Any, Callable, Optional, Union

Path = Union[str, bytes, os.PathLike[str]]

def version() -> str: ...
def statuses() -> list[tuple[str, int, str]]: ...
def inspect(array: Any, name: str, /) -> tuple[str, int, tuple[int, ...], tuple[int, ...]]: ...
def overlap(x: Any, out: Any, /) -> bool: ...
def import_cubins(path: Path, cache_dir: Optional[Path], /) -> None: ...
def register_exporter(
    kind: type, exporter: Callable[[Any], Any], check: Optional[Callable[[Any], None]], /
) -> None: ...
def forecast(context: Context, view: View, **plan: Any) -> dict[str, Any]: ...
def pagerank(
    context: Context,
    view: View,
    ranks: Any,
    personalisation: Any,
    start: Any,
    history: Any,
    damping: float,
    tolerance: float,
    max_iterations: int,
    unweighted: bool,
    unaccelerated: bool,
    progress: Optional[Callable[[int, float, float], object]],
) -> dict[str, Any]: ...
def eigen(
    context: Context,
    view: View,
    values: Any,
    vectors: Any,
    method: int,
    which: int,
    basis: int,
    tolerance: float,
    max_iterations: int,
    seed: int,
    deterministic: bool,
    progress: Optional[Callable[[int, float, float], object]],
) -> dict[str, Any]: ...

class Context:
    def __init__(
        self,
        side: int = 0,
        device: int = 0,
        threads: int = 0,
        cache_dir: Optional[Path] = None,
        nvrtc_path: Optional[Path] = None,
        bind_threads: bool = False,
    ) -> None: ...
    def info(self) -> dict[str, Any]: ...
    def export_cubins(self, path: Path) -> None: ...
    @property
    def device(self) -> Optional[int]: ...

class View:
    def __init__(
        self,
        format: int,
        rows: int,
        cols: int,
        row_array: Any,
        col_ind: Any,
        values: Any,
        value_type: int = 0,
        base: int = 0,
        block_rows: int = 0,
        block_cols: int = 0,
        block_order: int = 0,
        symmetry: int = 0,
    ) -> None: ...
    def check(self, context: Context, /) -> None: ...
    @property
    def device(self) -> int: ...
    @property
    def nnz(self) -> int: ...
    @property
    def value_type(self) -> int: ...

class Plan:
    def __init__(
        self,
        context: Context,
        view: View,
        operation: int = 0,
        method: int = 0,
        vector_type: int = 0,
        host_vectors: bool = False,
        expected_calls: int = 0,
        changing_values: bool = False,
        deterministic: bool = False,
        semiring: int = 0,
        operators: Optional[tuple[Optional[str], Optional[str], float, int, int]] = None,
        vectors: int = 0,
        vector_order: int = 0,
        epilogue: Optional[tuple[Optional[str], Optional[str], Optional[str], int, int, int]] = None,
        keep: Any = None,
    ) -> None: ...
    def multiply(self, x: Any, y: Any, alpha: Any, beta: Any, stream: Optional[int], /) -> None: ...
    def epilogue(
        self, x: Any, y: Any, vectors: tuple[Any, ...], scalars: Any, sums: Any, stream: Optional[int], /
    ) -> None: ...
    def update(self, view: View, /) -> None: ...
    def describe(self) -> str: ...
    def info(self) -> dict[str, Any]: ...
    @property
    def vector_type(self) -> int: ...

class Product:
    def __init__(
        self,
        plan: Plan,
        empty: Callable[[], Any],
        stream: Optional[Callable[[], int]],
        address: Optional[Callable[[Any], int]],
        facts: Optional[Callable[[Any], Any]],
        expected: Any,
        /,
    ) -> None: ...
    def multiply(self, x: Any, /) -> Any: ...

class Solver:
    def __init__(
        self,
        context: Context,
        view: View,
        method: int,
        host_vectors: bool = False,
        tolerance: float = 0,
        max_iterations: int = 0,
        restart: int = 0,
        preconditioner: int = 0,
        block_size: int = 0,
        apply: Union[None, Preconditioner, Callable[[int, int, int, int], object]] = None,
        refine: bool = False,
        deterministic: bool = False,
        reorder: int = 0,
        expected_solves: int = 0,
        single: bool = False,
        singular: bool = False,
        vectors: int = 0,
    ) -> None: ...
    def solve(
        self,
        b: Any,
        x: Any,
        start_from_x: bool,
        history: Any,
        progress: Optional[Callable[[int, float, float], object]],
        /,
    ) -> dict[str, Any]: ...
    def solve_many(
        self,
        b: Any,
        x: Any,
        count: int,
        start_from_x: bool,
        progress: Optional[Callable[[int, float, float], object]],
        /,
    ) -> list[dict[str, Any]]: ...
    def update(self, view: View, /) -> None: ...

class Preconditioner:
    def __init__(
        self,
        context: Context,
        view: View,
        kind: int,
        block_size: int = 0,
        degree: int = 0,
        near_nullspace: Any = None,
        single: bool = False,
        singular: bool = False,
        deterministic: bool = False,
    ) -> None: ...
    def apply(self, r: Any, z: Any, host: bool, stream: Optional[int], /) -> None: ...
    def update(self, view: View, /) -> None: ...
    def describe(self) -> str: ...
    def info(self) -> dict[str, Any]: ...
