"""The interface to the libraries whose arrays merbit uses: NumPy, CuPy and PyTorch. Only NumPy is imported here."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import operator
import sys
from typing import Any, Callable, ContextManager, Optional

import numpy

from . import _core
from ._errors import bad_argument, bad_type, not_supported

HOST = -1  # the device number of host memory
NAMES = ["", "float64", "float32", "float16", "bfloat16", "complex64", "complex128"]  # by merbit_type
TYPES = {name: number for number, name in enumerate(NAMES) if name}
F64, F32, F16, BF16, C64, C128 = range(1, 7)
COMPLEX = (C64, C128)


class Library:
    """NumPy; base class of the others, which override what differs."""

    name = "NumPy"
    address: Optional[Callable[[Any], int]] = None  # returns an array's address, faster than borrowing it
    facts: Optional[Callable[[Any], Any]] = None  # returns a vector's other properties for a product

    def array_type(self) -> type:
        return numpy.ndarray

    def empty(self, shape: tuple[int, ...], kind: int, device: int, column_major: bool = False) -> Any:
        return numpy.empty(shape, NAMES[kind], order="F" if column_major else "C")

    def maker(self, length: int, kind: int, device: int) -> Callable[[], Any]:
        """Returns a fast callable that makes arrays of one dimension."""
        empty, dtype = numpy.empty, numpy.dtype(NAMES[kind])
        return lambda: empty(length, dtype)

    def doubles(self, numbers: Any, device: int) -> Any:
        """Returns an array of float64 with these numbers."""
        return numpy.array(numbers, numpy.float64)

    def places(self, like: Any) -> Any:
        """Returns 0, 1, 2, ..., as many as `like` has elements, of a type that the library's sparse matrices can hold."""
        return numpy.arange(like.size, dtype=numpy.float64)

    def plain(self, array: Any) -> Any:
        """Returns the array without features of its library that merbit does not know (gradients, pending conjugates)."""
        if isinstance(array, numpy.ma.MaskedArray):
            raise bad_type("merbit does not know the masks of a numpy.ma.MaskedArray; give array.filled(0) or array.data")
        return array

    def target(self, out: Any) -> Any:
        """Returns `out`, an array to write, without such features and over the same memory."""
        return self.plain(out)

    def copy(self, array: Any) -> Any:
        return array.copy()

    def adjacent(self, array: Any) -> Any:
        """Returns the array itself if its elements are adjacent, else a copy."""
        return numpy.ascontiguousarray(self.plain(array))

    def stream_getter(self, device: int) -> Optional[Callable[[], int]]:
        """Returns a callable for the address of the caller's current stream; None for host memory."""
        return None

    def synchronize(self, device: int) -> None:
        """Waits for all work of the GPU."""

    def wait(self, device: int) -> None:
        """Waits for the caller's current stream."""

    def borrowed(self, address: int, length: int, kind: int, device: int) -> Any:
        """Returns an array over memory that belongs to merbit."""
        size = numpy.dtype(NAMES[kind]).itemsize
        return numpy.frombuffer(memoryview((ctypes.c_char * (length * size)).from_address(address)), NAMES[kind])

    def in_stream(self, stream: int, device: int) -> ContextManager[Any]:
        """Makes `stream` the current one."""
        return contextlib.nullcontext()


class _DeviceMemory:
    """GPU memory of merbit, for libraries that accept __cuda_array_interface__."""

    def __init__(self, address: int, length: int, kind: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (length,),
            "typestr": numpy.dtype(NAMES[kind]).str,
            "data": (address, False),
            "version": 3,
            "strides": None,
        }


class _Stream:
    """A stream of the caller, for libraries that accept __cuda_stream__."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.address)


class CuPy(Library):
    name = "CuPy"
    address = operator.attrgetter("data.ptr")
    facts = operator.attrgetter("dtype", "shape", "strides", "data.device_id")

    def __init__(self) -> None:
        self.cupy: Any = sys.modules["cupy"]
        _core.register_exporter(self.cupy.ndarray, lambda array: array.__dlpack__(stream=-1), None)

    def array_type(self) -> type:
        return self.cupy.ndarray

    def empty(self, shape: tuple[int, ...], kind: int, device: int, column_major: bool = False) -> Any:
        with self.cupy.cuda.Device(device):
            return self.cupy.empty(shape, NAMES[kind], order="F" if column_major else "C")

    def maker(self, length: int, kind: int, device: int) -> Callable[[], Any]:
        empty, dtype, current = self.cupy.ndarray, numpy.dtype(NAMES[kind]), self.cupy.cuda.runtime.getDevice

        def make() -> Any:
            return empty(length, dtype) if current() == device else self.empty((length,), kind, device)

        return make

    def doubles(self, numbers: Any, device: int) -> Any:
        with self.cupy.cuda.Device(device):
            return self.cupy.array(numbers, "float64")

    def places(self, like: Any) -> Any:
        with like.device:
            return self.cupy.arange(like.size, dtype="float64")

    def home_of(self, array: Any) -> ContextManager[Any]:
        """Makes the array's device the current one, on which CuPy makes copies."""
        return self.cupy.cuda.Device(array.data.device_id)

    def copy(self, array: Any) -> Any:
        with self.home_of(array):
            return array.copy()

    def adjacent(self, array: Any) -> Any:
        with self.home_of(array):
            return self.cupy.ascontiguousarray(array)

    def stream_getter(self, device: int) -> Optional[Callable[[], int]]:
        current = self.cupy.cuda.get_current_stream
        return lambda: current(device).ptr

    def synchronize(self, device: int) -> None:
        self.cupy.cuda.Device(device).synchronize()

    def wait(self, device: int) -> None:
        self.cupy.cuda.get_current_stream(device).synchronize()

    def borrowed(self, address: int, length: int, kind: int, device: int) -> Any:
        return self.cupy.asarray(_DeviceMemory(address, length, kind))

    def in_stream(self, stream: int, device: int) -> ContextManager[Any]:
        if hasattr(self.cupy.cuda.Stream, "from_external"):  # CuPy 14 and later
            return self.cupy.cuda.Stream.from_external(_Stream(stream))
        return self.cupy.cuda.ExternalStream(stream, device)


class Torch(Library):
    name = "PyTorch"

    def __init__(self) -> None:
        self.torch: Any = sys.modules["torch"]
        self.address = self.torch.Tensor.data_ptr

        def check(tensor: Any) -> None:
            if tensor.requires_grad or tensor.is_neg() or (tensor.dtype.is_complex and tensor.is_conj()):
                raise BufferError("it requires a gradient, or its conjugate is pending: pass x.detach().resolve_conj()")

        _core.register_exporter(self.torch.Tensor, self.torch.utils.dlpack.to_dlpack, check)

    def array_type(self) -> type:
        return self.torch.Tensor

    def place(self, device: int) -> Any:
        return self.torch.device("cpu") if device == HOST else self.torch.device("cuda", device)

    def empty(self, shape: tuple[int, ...], kind: int, device: int, column_major: bool = False) -> Any:
        shape = shape[::-1] if column_major else shape
        array = self.torch.empty(shape, dtype=getattr(self.torch, NAMES[kind]), device=self.place(device))
        return array.T if column_major else array

    def maker(self, length: int, kind: int, device: int) -> Callable[[], Any]:
        # An empty tensor gives type and device: PyTorch is slow to read keywords.
        return functools.partial(self.empty((0,), kind, device).new_empty, length)

    def doubles(self, numbers: Any, device: int) -> Any:
        return self.torch.tensor(numbers, dtype=self.torch.float64, device=self.place(device))

    def places(self, like: Any) -> Any:
        return self.torch.arange(like.numel(), device=like.device)

    def plain(self, array: Any) -> Any:
        if array.layout != self.torch.strided:
            raise bad_type("a sparse tensor stands where a dense one is needed: x, out, b or an array of a matrix")
        array = array.detach()
        return array.resolve_conj().resolve_neg().as_subclass(self.torch.Tensor)

    def target(self, out: Any) -> Any:
        if out.is_conj() or out.is_neg():  # plain would return a copy
            raise bad_argument("out has a pending conjugate or negation; give out.resolve_conj().resolve_neg()")
        return self.plain(out)

    def copy(self, array: Any) -> Any:
        return array.clone()

    def adjacent(self, array: Any) -> Any:
        return array.contiguous()

    def stream_getter(self, device: int) -> Optional[Callable[[], int]]:
        if device == HOST:
            return None
        address = getattr(self.torch._C, "_cuda_getCurrentRawStream", None)  # avoids an object per call
        if address is not None:
            return functools.partial(address, device)
        current = self.torch.cuda.current_stream
        return lambda: current(device).cuda_stream

    def synchronize(self, device: int) -> None:
        if device != HOST:
            self.torch.cuda.synchronize(device)

    def wait(self, device: int) -> None:
        if device != HOST:
            self.torch.cuda.current_stream(device).synchronize()

    def borrowed(self, address: int, length: int, kind: int, device: int) -> Any:
        if device == HOST:
            return self.torch.from_numpy(super().borrowed(address, length, kind, device))
        return self.torch.as_tensor(_DeviceMemory(address, length, kind), device=self.place(device))

    def in_stream(self, stream: int, device: int) -> ContextManager[Any]:
        if device == HOST:
            return contextlib.nullcontext()
        return self.torch.cuda.stream(self.torch.cuda.ExternalStream(stream, device=device))


NUMPY = Library()
_others: dict[str, Library] = {}


def type_of(module: str, name: str) -> Optional[type]:
    """Returns a type of a module, or None: the program may not have imported it, or not completely, or have a stub."""
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) else None


def numpy_of(array: Any) -> numpy.ndarray:
    """Returns an array of another library in host memory as one of NumPy, without a copy."""
    if hasattr(array, "__dlpack__") and not hasattr(array, "__array__"):
        return numpy.from_dlpack(array)
    return numpy.asarray(array)


def library_of(array: Any) -> Optional[Library]:
    """Returns the library of an array, or None if it is not NumPy, CuPy or PyTorch."""
    if isinstance(array, numpy.ndarray):
        return NUMPY
    for module, name, kind in (("torch", "Tensor", Torch), ("cupy", "ndarray", CuPy)):
        arrays = type_of(module, name)
        if arrays is not None and isinstance(array, arrays):
            if module not in _others:
                _others[module] = kind()
            return _others[module]
    return None


def wait_for(array: Any, device: int) -> None:
    """Waits for the work that may still write an array of a matrix; merbit reads it in the default stream."""
    library = library_of(array)
    if library is not None and device != HOST:
        library.wait(device)


def wants_gradient(array: Any) -> bool:
    """Returns whether PyTorch must record operations on the array."""
    torch = sys.modules.get("torch")
    return torch is not None and getattr(array, "requires_grad", False) and torch.is_grad_enabled()


def refuse_gradient(array: Any, name: str) -> None:
    if wants_gradient(array):
        raise not_supported(f"{name} requires a gradient, which merbit records only for x of A @ x; give {name}.detach()")
