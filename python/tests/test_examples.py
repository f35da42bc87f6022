"""The examples run and write their pictures and figures."""

import json
import os
import pathlib
import subprocess
import sys
import time
import types

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"
COMPARE = pathlib.Path(__file__).resolve().parents[2] / "examples/compare"
PLOTS = pathlib.Path(__file__).resolve().parents[2] / "examples/plots"
needs_clone = pytest.mark.skipif(not COMPARE.exists(), reason="examples/ is not here: this is no clone of the repository")


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    run = subprocess.run([sys.executable, EXAMPLES / "pictures.py", tmp_path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for name in ("pagerank.png", "membrane.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG") and (tmp_path / name).stat().st_size > 10000
    assert "converged" in run.stdout


@needs_clone
def test_curves_without_positive_values(tmp_path):
    """A solve may have no iteration, or end with the residual 0 in its first one."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    curves = [{"name": "none", "points": []}, {"name": "zero", "points": [[1, None]]}]
    run = {"title": "CG", "x_label": "iteration", "y_label": "residual", "target": 1e-10, "curves": curves}
    (tmp_path / "run.json").write_text(json.dumps(run))
    subprocess.run([sys.executable, PLOTS / "convergence.py", "--output", tmp_path / "run.svg", tmp_path / "run.json"], check=True)
    text = (tmp_path / "run.svg").read_text()
    assert "none: 0 iterations" in text and "zero: 1 iterations" in text


@needs_clone
def test_compare_preconditioners(tmp_path):
    """A graph, a nonsymmetric matrix and one without a diagonal, each solved by the suitable solvers."""
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
        if record["input"] == "hollow":  # a failure is reported, and the others go on
            assert all("no diagonal" in programs.pop(name)["failed"] for name in own)
        for figures in programs.values():
            assert 0 < figures["iterations"] < 100 and figures["residual"] <= 2e-8, record
            assert figures["total_seconds"] >= max(figures["setup_seconds"], figures["solve_seconds"]) > 0


@needs_clone
def test_compare_preconditioners_verifies(monkeypatch):
    """A wrong result, a crash, an exception and an endless solve are distinguished; none of them is compared."""
    pytest.importorskip("scipy", reason="SciPy is not installed")
    import numpy

    monkeypatch.syspath_prepend(COMPARE)
    import preconditioners

    system = preconditioners.small_system("cg")
    right = numpy.linalg.solve(system.matrix.toarray(), system.b)
    options = types.SimpleNamespace(limit=0.5)
    attempt = preconditioners.attempt

    def solved(x, seconds=0.1):
        return lambda tried, _: (x, 3, seconds, 0.1)

    assert attempt(solved(right), system, options)[:3] == (3, 0.1, 0.1)
    assert attempt(solved(right * (1 + 1e-7)), system, options) == "residual 1.0e-07 after 3 iterations"
    assert attempt(solved(right * numpy.nan), system, options) == "residual nan after 3 iterations"
    assert attempt(solved(right, 0.5), system, options) == "took more than 0.5 s"
    assert attempt(lambda tried, _: os._exit(1), system, options) == "crashed"
    assert attempt(lambda tried, _: 1 // 0, system, options).startswith("ZeroDivisionError")
    monkeypatch.setattr(preconditioners, "GRACE", 0.1)
    assert attempt(lambda tried, _: time.sleep(60), system, options) == "took more than 0.5 s"
    assert preconditioners.measure({"wrong": solved(right * 2)}, system, types.SimpleNamespace(limit=1, rounds=2)) == {
        "wrong": {"failed": "residual 1.0e+00 after 3 iterations"}}


@needs_clone
def test_compare_preconditioners_systems(monkeypatch):
    """The Laplacian of a graph given in one direction, with a self-loop; rigid body modes stretch no edge of the bar."""
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    import numpy

    monkeypatch.syspath_prepend(COMPARE)
    import preconditioners

    graph = sparse.csr_matrix(numpy.array([[1.0, 1, 1], [0, 0, 0], [1, 0, 0]]))  # 0 - 1, 0 - 2, and 0 - 0
    expected = numpy.array([[2.0, -1, -1], [-1, 1, 0], [-1, 0, 1]]) + 1e-6 * numpy.eye(3)
    assert abs(preconditioners.laplacian(graph).toarray() - expected).max() < 1e-12
    side = 2  # nodes x = 1 ... 4, y and z = 0 ... 2, x the fastest
    at = numpy.array([(x, y, z) for z in range(side + 1) for y in range(side + 1) for x in range(1, 2 * side + 1)])
    modes = preconditioners.rigid_body_modes(side).reshape(len(at), 3, 6)
    away, moved = at[:, None] - at[None, :], modes[:, None] - modes[None, :]
    assert abs(numpy.einsum("pqa,pqam->pqm", away, moved)).max() == 0
    assert numpy.linalg.matrix_rank(modes.reshape(-1, 6)) == 6
