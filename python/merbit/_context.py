"""Contexts: a GPU or the CPU. The context of a device is created when it is first needed."""

from __future__ import annotations

import dataclasses
import os
import threading
from typing import Optional, Union

from . import _core, _nvrtc
from ._errors import InThisProcess, NoCompilerError, check_name, check_sizes

Path = Union[str, bytes, os.PathLike[str]]
SIDES = {"auto": 0, "cpu": 1, "cuda": 2}


@dataclasses.dataclass(frozen=True)
class DeviceProfile:
    """The speed of a GPU's caches and memory, on which forecasts are based: the fields of merbit_device_profile."""

    measured: bool  # False: estimated from the GPU's clocks and bus widths
    l2_bytes: float
    copy_rate: float  # bytes per second, read plus written
    launch_seconds: float  # time of the shortest product
    l2_load_seconds: float
    memory_load_seconds: float
    gather_bytes: tuple[float, ...]  # sizes of x, ascending
    gather_rate_f32: tuple[float, ...]  # gathers per second at these sizes
    gather_rate_f64: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class ContextInfo:
    """Facts about a context: the fields of merbit_context_info."""

    side: str  # "cpu" or "cuda"
    device: str  # the GPU's name, or "CPU"
    reason: str  # why "auto" chose the CPU; else empty
    nvrtc: str  # path of NVRTC; empty without one
    cache_dir: str  # directory of compiled kernels; empty without one
    cache_off_reason: str
    threads: int
    compute_capability: int  # 90 for 9.0; 0 on the CPU
    driver_version: int
    nvrtc_version: int
    cache_hits: int
    cache_misses: int
    cache_errors: int
    profile: DeviceProfile  # zeros on the CPU


class Context(InThisProcess):
    """A GPU, or the CPU with some threads. Python threads may share a context.

    side: "auto" (the GPU if driver, device and NVRTC are available, else the CPU), "cpu", or "cuda" (the GPU or an
    exception). device: the CUDA ordinal. threads: CPU threads; 0: one per processor that the process may use.
    cache_dir: the directory of compiled kernels; None: that of MERBIT_CACHE_DIR, else ~/.cache/merbit; "": no disk cache.
    nvrtc: path of libnvrtc; None: that of MERBIT_NVRTC, else of NVIDIA's wheels, else of the CUDA toolkit.
    bind_threads: bind each CPU thread to one processor.
    """

    __slots__ = ("_core", "__weakref__")

    def __init__(
        self,
        side: str = "auto",
        *,
        device: int = 0,
        threads: int = 0,
        cache_dir: Optional[Path] = None,
        nvrtc: Optional[Path] = None,
        bind_threads: bool = False,
    ) -> None:
        check_name("side", side, SIDES)
        check_sizes(device=device, threads=threads)
        self._core = _open(SIDES[side], device, threads, cache_dir, nvrtc, bind_threads)

    @property
    def info(self) -> ContextInfo:
        info = self._core.info()
        return ContextInfo(**{**info, "profile": DeviceProfile(**info["profile"])})

    @property
    def device(self) -> Optional[int]:
        """The CUDA ordinal, or None for a context on the CPU."""
        return self._core.device

    def export_cubins(self, path: Path) -> None:
        """Writes the compiled kernels of this context's cache to a file, for import_cubins on a machine without NVRTC."""
        self._core.export_cubins(path)

    def __repr__(self) -> str:
        info = self.info
        return (
            f"<merbit.Context on {info.device}>"
            if info.side == "cuda"
            else f"<merbit.Context on the CPU, {info.threads} threads>"
        )


def import_cubins(path: Path, cache_dir: Optional[Path] = None) -> None:
    """Imports the kernels of a file of Context.export_cubins into the cache, so that later contexts need no NVRTC.

    Import only files that you exported: the kernels run as merbit's own. The file must belong to you, and no one else
    may be able to write to it. cache_dir: as for Context.
    """
    _core.import_cubins(path, cache_dir)


def _open(
    side: int, device: int, threads: int, cache_dir: Optional[Path], nvrtc: Optional[Path], bind_threads: bool
) -> _core.Context:
    """Opens a context with the first NVRTC that works: those of wheels, then those that the library finds."""
    paths: list[Optional[Path]] = [nvrtc]
    if nvrtc is None and side != SIDES["cpu"]:
        paths = [*_nvrtc.candidates(), None]
    for path in paths[:-1]:
        try:
            context = _core.Context(side, device, threads, cache_dir, path, bind_threads)
        except NoCompilerError:
            continue
        if context.device is not None and context.info()["nvrtc"]:  # imported kernels only if no NVRTC is left to try
            return context
    return _core.Context(side, device, threads, cache_dir, paths[-1], bind_threads)


_contexts: dict[Optional[int], Context] = {}  # by CUDA ordinal; None: for arrays in host memory
_lock = threading.Lock()


def _begin_child() -> None:
    """Forgets the contexts of the parent process, whose GPUs a child cannot use, and a lock that its threads may hold."""
    global _lock
    _lock = threading.Lock()
    _contexts.clear()


os.register_at_fork(after_in_child=_begin_child)


def default_context(device: Optional[int]) -> Context:
    """Returns the shared context for matrices in host memory (None) or in a GPU's memory."""
    with _lock:
        if device not in _contexts:
            first = _contexts.get(None)
            if device is None and 0 in _contexts:
                _contexts[None] = _contexts[0]
            elif device is not None and first is not None and first.device == device:
                _contexts[device] = first
            else:
                _contexts[device] = Context() if device is None else Context("cuda", device=device)
        return _contexts[device]
