"""Finds NVRTC in the wheels that the extras cuda12 and cuda13 install."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pathlib
import re


def driver_major() -> int:
    """Returns the driver's CUDA version, for example 13; 0 without a driver."""
    try:
        version = ctypes.c_int(0)
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
        return version.value // 1000
    except (OSError, AttributeError):
        return 0


def installed() -> list[tuple[int, str]]:
    """Returns (major version, path) of each NVRTC in the NVIDIA wheels of this interpreter."""
    spec = importlib.util.find_spec("nvidia")
    found = []
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        for path in sorted(pathlib.Path(folder).glob("*/lib/libnvrtc.so.*")):
            version = re.fullmatch(r"libnvrtc\.so\.(\d+)(\.\d+)*", path.name)
            if version:
                found.append((int(version[1]), str(path)))
    return found


def candidates() -> list[str]:
    """Returns paths of NVRTC to try, best first: the driver's own version, older ones, then newer ones."""
    if os.environ.get("MERBIT_NVRTC"):
        return []  # the library reads it and tries no other
    driver = driver_major()
    return [path for _, path in sorted(installed(), key=lambda row: (row[0] > driver, abs(row[0] - driver)))]
