"""The package itself: its lists equal those of merbit.h, it finds NVRTC, and its README's programs print what it shows."""

import pathlib
import re
import shutil
import subprocess
import sys
import types

import pytest

import merbit
from merbit import _libraries, _nvrtc, _plans, _solve, _sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / "python"
header = ROOT / "merbit.h"
needs_header = pytest.mark.skipif(
    not header.exists(), reason="merbit.h is not here: this is no clone of the repository"
)


@needs_header
def test_lists_are_those_of_the_header():
    text = header.read_text(encoding="utf-8")

    def enumeration(prefix):
        return {
            name.lower(): int(value) for name, value in re.findall(rf"^  MERBIT_{prefix}_(\w+) = (\d+)", text, re.M)
        }

    methods = enumeration("METHOD")
    del methods["many"]  # chosen by AUTO for several vectors, not for one
    assert _plans.METHODS == methods
    assert _plans.SEMIRINGS == enumeration("SEMIRING")
    assert _context_sides() == enumeration("SIDE")
    assert {name or "none": value for name, value in _sources.SYMMETRIES.items()} == enumeration("SYMMETRY")
    assert {name: value for value, name in enumerate(_solve.STOPS)} == enumeration("STOP")
    assert _solve.SOLVERS == enumeration("SOLVER")
    preconditioners = {name or "none": value for name, value in _solve.PRECONDITIONERS.items()}
    assert {**preconditioners, "callback": _solve.CALLBACK} == enumeration("PRECONDITIONER")
    names = {
        "f64": "float64",
        "f32": "float32",
        "f16": "float16",
        "bf16": "bfloat16",
        "c64": "complex64",
        "c128": "complex128",
    }
    types_ = {name: int(value) for name, value in re.findall(r"^  MERBIT_([A-Z]+\d+) += (\d+)", text, re.M)}
    assert {names[name.lower()]: value for name, value in types_.items()} == _libraries.TYPES
    assert merbit.__version__ == re.search(r'^#define MERBIT_VERSION_STRING "(.*)"', text, re.M)[1]


def _context_sides():
    from merbit import _context

    return _context.SIDES


def test_stubs_name_what_the_module_has():
    text = pathlib.Path(merbit.__file__).with_name("_core.pyi").read_text(encoding="utf-8")
    assert pathlib.Path(merbit.__file__).with_name("py.typed").exists()
    listed = set(re.findall(r"^(?:def|class) (\w+)", text, re.M))
    assert listed == {name for name in dir(merbit._core) if not name.startswith("_")}
    for kind, body in re.findall(r"^class (\w+):\n((?:    .*\n|\n)+)", text, re.M):
        found = {name for name in vars(getattr(merbit._core, kind)) if not name.startswith("_")}
        assert set(re.findall(r"^    def ([a-z]\w*)", body, re.M)) == found, kind


def test_annotations_are_sound():
    pytest.importorskip("mypy.api", reason="mypy is not installed")
    command = [sys.executable, "-m", "mypy", "--cache-dir", "/dev/null", "--python-version", "3.10", "-p", "merbit"]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def test_import_from_the_source_folder(tmp_path):
    shutil.copytree(pathlib.Path(merbit.__file__).parent, tmp_path / "merbit", ignore=shutil.ignore_patterns("_core*"))
    found = subprocess.run([sys.executable, "-c", "import merbit"], cwd=tmp_path, capture_output=True, text=True)
    assert "merbit is merbit's source folder, without the compiled module" in found.stderr


def test_nvrtc_in_wheels(tmp_path, monkeypatch):
    for place, name in (("cu13", "libnvrtc.so.13"), ("cuda_nvrtc", "libnvrtc.so.12"), ("cuda_nvrtc", "libnvrtc.alt.so.12"),
                        ("cuda_nvrtc", "libnvrtc-builtins.so.12.9")):  # fmt: skip
        folder = tmp_path / "nvidia" / place / "lib"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    spec = types.SimpleNamespace(submodule_search_locations=[str(tmp_path / "nvidia")])
    monkeypatch.setattr(_nvrtc.importlib.util, "find_spec", lambda name: spec)
    monkeypatch.delenv("MERBIT_NVRTC", raising=False)
    for driver, order in ((13, [13, 12]), (12, [12, 13]), (14, [13, 12])):
        monkeypatch.setattr(_nvrtc, "driver_major", lambda: driver)
        assert [int(path.rpartition(".")[2]) for path in _nvrtc.candidates()] == order
    monkeypatch.setenv("MERBIT_NVRTC", "/elsewhere")
    assert _nvrtc.candidates() == []
    monkeypatch.setattr(_nvrtc.importlib.util, "find_spec", lambda name: None)
    assert _nvrtc.installed() == []


def test_contexts(monkeypatch):
    from merbit import _context

    context = merbit.Context("cpu", threads=2, cache_dir="")
    assert context.info.threads == 2 and context.info.side == "cpu" and "2 threads" in repr(context)
    assert context.info.profile == merbit.DeviceProfile(False, 0, 0, 0, 0, 0, *[(0,) * 6] * 3)
    if merbit.Context().device is None:
        assert merbit.Context().info.reason
        with pytest.raises((merbit.NoDeviceError, merbit.NoCompilerError)):
            merbit.Context("cuda")
    assert _context.default_context(None) is _context.default_context(None)


@needs_header
def test_programs_of_the_texts():
    """Each program of README.md prints the block of text that follows it."""
    blocks = re.compile(r"^```python\n(.*?)^```\n\n?^```text\n(.*?)^```\n", re.M | re.S)
    count = 0
    for page in (PYTHON / "README.md", ROOT / "docs" / "guide.md"):
        for program, shown in blocks.findall(page.read_text(encoding="utf-8")):
            run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            assert run.returncode == 0, run.stderr
            assert run.stdout == shown, page.name
            count += 1
    assert count >= 2
