"""The exceptions of merbit: one class per status, derived also from the built-in class that a caller expects."""

from __future__ import annotations

import enum
import operator
from collections.abc import Iterable


class Status(enum.IntEnum):
    """The statuses of merbit.h."""

    OK = 0
    INVALID_ARGUMENT = 1
    INVALID_MATRIX = 2
    INVALID_FILE = 3
    IO_ERROR = 4
    OUT_OF_MEMORY = 5
    DEVICE_OUT_OF_MEMORY = 6
    TOO_LARGE = 7
    NOT_SUPPORTED = 8
    NO_DEVICE = 9
    NO_COMPILER = 10
    COMPILE_ERROR = 11
    DEVICE_ERROR = 12
    DEVICE_LOST = 13
    CANCELLED = 14


class Error(Exception):
    """An error of merbit. `status` tells its kind; str(error) names the value at fault."""

    status: Status

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = Status(status)

    def __reduce__(self) -> tuple[type, tuple[int, str]]:
        return type(self), (int(self.status), str(self))


class ArgumentError(Error, ValueError):
    """An argument is missing, out of range or contradicts another."""


class ArgumentTypeError(Error, TypeError):
    """An argument has the wrong type; its status is INVALID_ARGUMENT."""


class MatrixError(Error, ValueError):
    """An array of a matrix has an invalid entry."""


class FileFormatError(Error, ValueError):
    """A file does not follow its format."""


class InputOutputError(Error, OSError):
    """A file or stream could not be opened, read or written."""


class HostMemoryError(Error, MemoryError):
    """The host is out of memory."""


class DeviceMemoryError(Error, MemoryError):
    """The GPU is out of memory."""


class TooLargeError(Error, OverflowError):
    """A size exceeds the limits of this version."""


class NotSupportedError(Error, NotImplementedError):
    """This version does not support the request."""


class NoDeviceError(Error, RuntimeError):
    """There is no usable NVIDIA driver or GPU."""


class NoCompilerError(Error, RuntimeError):
    """There is no usable NVRTC."""


class CompileError(Error, RuntimeError):
    """NVRTC refused a kernel."""


class DeviceError(Error, RuntimeError):
    """A CUDA driver call failed."""


class DeviceLostError(Error, RuntimeError):
    """The CUDA context is dead."""


class CancelledError(Error, RuntimeError):
    """A callback stopped the call."""


CLASSES: dict[int, type[Error]] = {
    Status.INVALID_ARGUMENT: ArgumentError,
    Status.INVALID_MATRIX: MatrixError,
    Status.INVALID_FILE: FileFormatError,
    Status.IO_ERROR: InputOutputError,
    Status.OUT_OF_MEMORY: HostMemoryError,
    Status.DEVICE_OUT_OF_MEMORY: DeviceMemoryError,
    Status.TOO_LARGE: TooLargeError,
    Status.NOT_SUPPORTED: NotSupportedError,
    Status.NO_DEVICE: NoDeviceError,
    Status.NO_COMPILER: NoCompilerError,
    Status.COMPILE_ERROR: CompileError,
    Status.DEVICE_ERROR: DeviceError,
    Status.DEVICE_LOST: DeviceLostError,
    Status.CANCELLED: CancelledError,
}


def error_of(status: int, sentence: str) -> Error:
    """Returns the exception for a status; the extension module calls it by name."""
    return CLASSES[status](status, sentence)


def bad_type(sentence: str) -> ArgumentTypeError:
    """Returns the exception for an argument of the wrong type; the extension module calls it by name."""
    return ArgumentTypeError(Status.INVALID_ARGUMENT, sentence)


def bad_argument(sentence: str) -> ArgumentError:
    return ArgumentError(Status.INVALID_ARGUMENT, sentence)


def not_supported(sentence: str) -> NotSupportedError:
    return NotSupportedError(Status.NOT_SUPPORTED, sentence)


def check_name(name: str, value: object, known: Iterable[object]) -> None:
    """Refuses an option that is not one of `known`."""
    names = list(known)  # which, unlike a dictionary, may be searched for a value without a hash
    if value not in names:
        raise bad_argument(f"{name} is {value!r}; it must be one of {names}")


def check_sizes(**sizes: object) -> None:
    """Refuses integers that the C side cannot hold; other objects are left to it."""
    for name, size in sizes.items():
        if hasattr(size, "__index__") and not -(2**31) <= operator.index(size) < 2**31:
            raise bad_argument(f"{name} is {size}; its absolute value must be below 2^31")


class InThisProcess:
    """Base class of objects that hold memory of this process, and perhaps of a GPU."""

    __slots__ = ()

    def __copy__(self) -> object:
        return self

    def __reduce__(self) -> str:
        raise bad_type(
            f"a merbit.{type(self).__name__} cannot be pickled or copied deeply, as for another process; send the arrays "
            "and make it there"
        )
