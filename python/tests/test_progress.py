"""Callbacks that watch and cancel solvers, eigenpairs and PageRank; Ctrl-C."""

import signal
import threading
import time

import numpy
import pytest

import merbit
from conftest import laplacian


def test_progress(random):
    S, b = laplacian(500), random.random(500)
    context = merbit.Context("cpu")  # on a GPU the host checks only ten times a second
    A, graph = merbit.csr(S, context=context), merbit.csr(abs(S), context=context)
    for call in (
        lambda **o: merbit.cg(A, b, **o)[1],
        lambda **o: merbit.gmres(A, b, **o)[1],
        lambda **o: merbit.pagerank(graph, **o)[1],
        lambda **o: merbit.eigsh(A, 4, **o)[2],
    ):
        seen = []
        info = call(progress=lambda *what: seen.append(what))
        assert info.converged and seen and all(len(what) == 3 and what[2] >= 0 for what in seen)
        assert [what[0] for what in seen] == sorted(what[0] for what in seen)

        def stop(iteration, change, seconds):
            raise StopIteration

        assert call(progress=stop).stop == "cancelled"

        def fail(iteration, change, seconds):
            raise KeyError("ours")

        with pytest.raises(KeyError, match="ours"):
            call(progress=fail)


@pytest.mark.parametrize(
    "solve, columns, refine",
    [(merbit.cg, 130, False), (merbit.cg, 3, True), (merbit.bicgstab, 3, False), (merbit.gmres, 3, False)],
)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-200])
def test_cancelled_columns(random, solve, columns, refine, tolerance):
    """After StopIteration no other column begins, and the callback is not called again."""
    S = laplacian(300) if tolerance < 1e-6 else laplacian(30)  # the first column is cancelled, or just then converges
    b = random.random((S.shape[0], columns))
    x0 = random.random(b.shape)
    begun = 64 if solve is merbit.cg and not refine else 1  # solved at once
    for start in (None, x0):
        calls = []

        def stop(*numbers):
            calls.append(numbers)
            raise StopIteration

        x, info = solve(merbit.csr(S), b, start, tolerance=tolerance, refine=refine, progress=stop)
        assert len(calls) == 1 and len(info.columns) == columns
        assert tolerance < 1e-6 or refine or info.columns[0].converged
        assert [column.stop for column in info.columns[begun:]] == ["cancelled"] * (columns - begun)
        assert all(column.iterations == 0 for column in info.columns[begun:])
        assert (x[:, begun:] == (0 if start is None else x0[:, begun:])).all()
        residuals = numpy.linalg.norm(b - S @ x, axis=0) / numpy.linalg.norm(b, axis=0)
        found = [column.residual for column in info.columns[begun:]]
        numpy.testing.assert_allclose(found, residuals[begun:], rtol=1e-12)


def test_history_of_very_many_iterations(random):
    try:
        info = merbit.cg(laplacian(50), random.random(50), max_iterations=2**31 - 1)[1]
    except MemoryError:
        pytest.skip("16 GiB of addresses are not to be had")
    assert info.converged and info.history[0] == 1 and 0 < info.history[-1] <= 1e-10


def test_callable_progress_that_can_be_updated():
    class Display(dict):  # a dict has a method update
        calls = 0

        def __call__(self, iteration, residual, seconds):
            self.calls += 1

    display = Display()
    assert merbit.cg(laplacian(50), numpy.ones(50), progress=display)[1].converged and display.calls > 0


@pytest.fixture
def interruptible():
    """Lets SIGINT raise KeyboardInterrupt: in a shell's background job, Python ignores it."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


def test_interrupt(interruptible):
    """Ctrl-C ends a solve at once, and leaves the matrix unchanged."""
    n = 500000
    A, b = merbit.csr(laplacian(n, 0.0), context=merbit.Context("cpu")), numpy.ones(n)  # a GPU may finish too early
    for call in (
        lambda: merbit.cg(A, b, tolerance=1e-14, max_iterations=10**7),
        lambda: merbit.gmres(A, b, tolerance=1e-14, max_iterations=10**7),
    ):
        timer = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
        timer.start()
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            call()
        assert time.monotonic() - begin < 15  # the whole solve takes minutes
        timer.join()
    assert merbit.cg(A, b, max_iterations=5)[1].stop == "cap"


def test_update_during_a_solve():
    S = laplacian(30)
    A, b = merbit.csr(S), numpy.ones(30)
    with pytest.raises(merbit.ArgumentError, match="in a call already"):
        merbit.cg(A, b, progress=lambda *numbers: A.update(2 * S.data))
    x, info = merbit.cg(A, b)
    assert info.converged and abs(S @ x - b).max() < 1e-8


def test_tqdm(random):
    tqdm = pytest.importorskip("tqdm", reason="tqdm is not installed")
    with tqdm.tqdm(disable=False, file=open("/dev/null", "w")) as bar:
        _, info = merbit.cg(laplacian(100), random.random(100), progress=bar)
        assert info.converged and 0 < bar.n <= info.iterations
