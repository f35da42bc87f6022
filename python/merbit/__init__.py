"""Sparse matrix-vector products and solvers on NVIDIA GPUs and CPU threads.

>>> A = merbit.csr(S)       # SciPy, CuPy or PyTorch sparse, or (values, col_ind, row_ptr) and a shape
>>> y = A @ x               # NumPy, CuPy or PyTorch, in place: the result is of x's library
>>> x, info = merbit.cg(A, b)
"""

import importlib.util as _util

if _util.find_spec("merbit._core") is None:
    raise ImportError(
        f"{__path__[0]} is merbit's source folder, without the compiled module merbit._core; install merbit by pip, and "
        "run Python in another folder"
    )

from ._context import Context, ContextInfo, DeviceProfile, import_cubins
from ._errors import (
    ArgumentError,
    ArgumentTypeError,
    CancelledError,
    CompileError,
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    Error,
    FileFormatError,
    HostMemoryError,
    InputOutputError,
    MatrixError,
    NoCompilerError,
    NoDeviceError,
    NotSupportedError,
    Status,
    TooLargeError,
)
from ._matrix import Epilogue, Matrix, Operators, PlanInfo, PlanMemory, csr
from ._precondition import Preconditioner, PreconditionerInfo
from ._solve import EigenInfo, PageRankInfo, SolveInfo, bicgstab, cg, eigsh, gmres, pagerank
from ._core import version

__version__: str = version()
__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CancelledError",
    "CompileError",
    "Context",
    "ContextInfo",
    "DeviceError",
    "DeviceLostError",
    "DeviceMemoryError",
    "DeviceProfile",
    "EigenInfo",
    "Epilogue",
    "Error",
    "FileFormatError",
    "HostMemoryError",
    "InputOutputError",
    "Matrix",
    "MatrixError",
    "NoCompilerError",
    "NoDeviceError",
    "NotSupportedError",
    "Operators",
    "PageRankInfo",
    "PlanInfo",
    "PlanMemory",
    "Preconditioner",
    "PreconditionerInfo",
    "SolveInfo",
    "Status",
    "TooLargeError",
    "bicgstab",
    "cg",
    "csr",
    "eigsh",
    "gmres",
    "import_cubins",
    "pagerank",
]
