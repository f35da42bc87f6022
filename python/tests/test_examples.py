"""The examples run and write their pictures."""

import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    run = subprocess.run([sys.executable, EXAMPLES / "pictures.py", tmp_path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for name in ("pagerank.png", "membrane.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG") and (tmp_path / name).stat().st_size > 10000
    assert "converged" in run.stdout
