"""A small stand-in for CuPy over the CUDA driver, with the parts that merbit and tests/test_cupy.py use. For machines
without CuPy, with a driver or the fake one of tests/fake. Arithmetic is done by NumPy."""

import ctypes
import types

import numpy

driver = ctypes.CDLL("libcuda.so.1")
Address = ctypes.c_uint64


def call(name, *arguments):
    result = getattr(driver, name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name} answers {result}")


call("cuInit", 0)
context = ctypes.c_void_p()
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxPushCurrent_v2", context)


class Memory:
    def __init__(self, size):
        address = Address()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        self.address = address.value

    def __del__(self):
        driver.cuMemFree_v2(Address(self.address))


class Tensor(ctypes.Structure):
    """DLPack's DLManagedTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]  # fmt: skip


exported = {}  # address of a capsule -> objects it needs
Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
forget = Destructor(lambda capsule: exported.pop(capsule, None) and None)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, Destructor]
CODES = {"i": 0, "u": 1, "f": 2, "c": 5}


class ndarray:
    def __init__(self, shape, dtype="float64", strides=None, memory=None, address=None):
        """Makes a new array, or one over given memory, in C order or with given strides."""
        model = numpy.lib.stride_tricks.as_strided(numpy.empty(shape, dtype), strides=strides)
        self.shape, self.dtype, self.strides = model.shape, model.dtype, model.strides
        self.memory = Memory(model.nbytes) if memory is None else memory
        self.address = self.memory.address if address is None else address
        self.data = types.SimpleNamespace(ptr=self.address, device_id=0)
        self.ndim, self.size = model.ndim, model.size

    def __dlpack__(self, stream=None):
        assert stream == -1, "merbit asks for no synchronisation"
        sizes = (ctypes.c_int64 * (2 * self.ndim))(*self.shape, *(s // self.dtype.itemsize for s in self.strides))
        place = ctypes.addressof(sizes)
        tensor = Tensor(self.address if self.size else None, 2, 0, self.ndim, CODES[self.dtype.kind], self.dtype.itemsize * 8, 1,
                        place, place + 8 * self.ndim)  # fmt: skip
        capsule = new_capsule(ctypes.addressof(tensor), b"dltensor", forget)
        exported[id(capsule)] = (sizes, tensor, self)
        return capsule

    def get(self):
        call("cuStreamSynchronize", None)
        extent = sum((n - 1) * s for n, s in zip(self.shape, self.strides)) + self.dtype.itemsize if self.size else 0
        data = numpy.empty(extent, "u1")
        call("cuMemcpyDtoH_v2", data.ctypes.data_as(ctypes.c_void_p), Address(self.address), ctypes.c_size_t(extent))
        return numpy.lib.stride_tricks.as_strided(data[: self.dtype.itemsize].view(self.dtype), self.shape, self.strides).copy() \
            if self.size else numpy.empty(self.shape, self.dtype)  # fmt: skip

    def copy(self):
        return asarray(self.get())

    def astype(self, dtype):
        return asarray(self.get().astype(dtype))

    @property
    def T(self):
        return ndarray(self.shape[::-1], self.dtype, self.strides[::-1], self.memory, self.address)

    def __getitem__(self, key):
        pretended = numpy.lib.stride_tricks.as_strided(numpy.empty(1, self.dtype), self.shape, self.strides)
        part = pretended[key]
        offset = part.__array_interface__["data"][0] - pretended.__array_interface__["data"][0]
        return ndarray(part.shape, self.dtype, part.strides, self.memory, self.address + offset)

    def __setitem__(self, key, value):
        assert key is Ellipsis and self.strides == empty(self.shape, self.dtype).strides
        value = value.get() if isinstance(value, ndarray) else value
        data = numpy.ascontiguousarray(numpy.broadcast_to(value, self.shape), self.dtype)
        call(
            "cuMemcpyHtoD_v2", Address(self.address), data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes)
        )

    def __mul__(self, number):
        return asarray(self.get() * number)

    def __truediv__(self, number):
        return asarray(self.get() / number)

    __array_ufunc__ = None


def empty(shape, dtype="float64", order="C"):
    return ndarray(shape, dtype, numpy.empty(shape, dtype, order).strides)


def asarray(values):
    interface = getattr(values, "__cuda_array_interface__", None)
    if interface is not None:
        dtype = numpy.dtype(interface["typestr"])
        strides = numpy.empty(interface["shape"], dtype).strides
        return ndarray(interface["shape"], dtype, strides, values, interface["data"][0])
    values = numpy.asarray(values)
    order = "F" if values.flags.f_contiguous and not values.flags.c_contiguous else "C"
    made, data = empty(values.shape, values.dtype, order), numpy.asarray(values, order=order)
    call("cuMemcpyHtoD_v2", Address(made.address), data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes))
    return made


def array(values, dtype):
    return asarray(numpy.array(values, dtype))


def ones(shape):
    return asarray(numpy.ones(shape))


def ascontiguousarray(values):
    return values if values.strides == empty(values.shape, values.dtype).strides else asarray(values.get())


def asfortranarray(values):
    return asarray(numpy.asfortranarray(values.get()))


class Device:
    def __init__(self, number):
        assert number == 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def synchronize(self):
        call("cuStreamSynchronize", None)


class Stream:
    current = []

    def __init__(self, non_blocking=False):
        handle = ctypes.c_void_p()
        call("cuStreamCreate", ctypes.byref(handle), int(non_blocking))
        self.ptr = handle.value

    def synchronize(self):
        call("cuStreamSynchronize", ctypes.c_void_p(self.ptr))

    def __enter__(self):
        Stream.current.append(self)
        return self

    def __exit__(self, *error):
        Stream.current.pop()


class ExternalStream(Stream):
    def __init__(self, ptr, device=-1):
        self.ptr = ptr


cuda = types.SimpleNamespace(
    Device=Device, Stream=Stream, ExternalStream=ExternalStream,
    get_current_stream=lambda device=-1: Stream.current[-1] if Stream.current else ExternalStream(0),
    runtime=types.SimpleNamespace(getDevice=lambda: 0, getDeviceCount=lambda: 1),
)  # fmt: skip
