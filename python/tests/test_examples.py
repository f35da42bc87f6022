"""The examples run and write their pictures and figures."""

import json
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"
COMPARE = pathlib.Path(__file__).resolve().parents[2] / "examples/compare"


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    run = subprocess.run([sys.executable, EXAMPLES / "pictures.py", tmp_path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for name in ("pagerank.png", "membrane.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG") and (tmp_path / name).stat().st_size > 10000
    assert "converged" in run.stdout


def test_compare_preconditioners(tmp_path):
    """A graph, a matrix that is not symmetric and one without a diagonal, each by the solvers that suit it."""
    pytest.importorskip("scipy", reason="SciPy is not installed")
    import scipy.io
    import scipy.sparse

    line = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(15, 15))
    grid = scipy.sparse.kronsum(line, line)
    upwind = scipy.sparse.diags([-1.5, 1.5], [-1, 0], shape=grid.shape)
    edges = scipy.sparse.triu(grid != 0, 1).astype(float)  # each edge in one direction
    matrices = {"wind": grid + upwind, "hollow": scipy.sparse.kron([[0, 1], [1, 0]], grid), "graph": edges}
    for name, matrix in matrices.items():
        scipy.io.mmwrite(tmp_path / f"{name}.mtx", matrix)
    run = subprocess.run(
        [sys.executable, COMPARE / "preconditioners.py", "--rounds", "1", "--only", "merbit-amg,scipy", "--json",
         tmp_path / "figures.json", *(tmp_path / f"{name}.mtx" for name in matrices)],
        capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "best of scipy over merbit-amg" in run.stdout
    records = json.loads((tmp_path / "figures.json").read_text())["results"]
    assert [(record["input"], record["method"], record["rows"]) for record in records] == [
        ("wind", "bicgstab", 225), ("wind", "gmres", 225), ("hollow", "bicgstab", 450), ("hollow", "gmres", 450),
        ("graph, Laplacian", "cg", 225)]
    for record in records:
        programs = record["programs"]
        own = {name for name in programs if name.startswith("merbit")}
        assert own == {"merbit-amg", "merbit-amg-single"}
        assert programs.keys() - own == {"scipy-ilu"} | ({"scipy-ilu-symmetric"} if record["method"] == "cg" else set())
        if record["input"] == "hollow":  # what fails is told, and the others go on
            assert all("no diagonal" in programs.pop(name)["failed"] for name in own)
        for figures in programs.values():
            assert 0 < figures["iterations"] < 100 and figures["residual"] <= 2e-8, record
            assert figures["total_seconds"] >= max(figures["setup_seconds"], figures["solve_seconds"]) > 0
