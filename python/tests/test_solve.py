"""Solvers, eigenpairs and PageRank against SciPy; kept solvers."""

import gc
import threading
import weakref

import numpy
import pytest
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

import merbit
from conftest import laplacian

METHODS = [merbit.cg, merbit.bicgstab, merbit.gmres]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_solvers(random, method, dtype):
    S = laplacian(150, 0.1).astype(dtype)
    b = random.random(150).astype(dtype)
    expected = scipy.sparse.linalg.spsolve(S.tocsc().astype("float64"), b)
    for matrix in (merbit.csr(S), S):
        x, info = method(matrix, b)
        assert info.converged and info.stop == "converged" and x.dtype == dtype
        numpy.testing.assert_allclose(x, expected, rtol=1e-3 if dtype == "float32" else 1e-7)
        assert len(info.history) == info.iterations + 1 and info.residual <= (1e-5 if dtype == "float32" else 1e-10)
        assert numpy.isfinite(info.history).all() and "||b - A x||" in info.description
    again, more = method(matrix, b, x)
    assert more.iterations < info.iterations
    x, info = method(S, b, max_iterations=2)
    assert info.stop == "cap" and info.iterations == 2 and not info.converged


def test_forgotten_preconditioners(random):
    """The matrix keeps M with the solver that applies it, so that no later M can be taken for it."""
    S, b = laplacian(400), random.random(400)
    A = merbit.csr(S, context=merbit.Context("cpu"))
    steps, M = {}, None
    for kind in ["jacobi", "fsai", "chebyshev"] * 3:
        last, M = M, merbit.Preconditioner(A, kind)
        found = merbit.cg(A, b, M=M)[1].iterations
        assert steps.setdefault(kind, found) == found and (last is None or last() is None)
        M = weakref.ref(M)
        assert M() is not None
    assert len(set(steps.values())) == 3


def test_options_of_solvers(random):
    S, b = laplacian(150), random.random(150)
    A = merbit.csr(S, context=merbit.Context("cpu"))
    expected = scipy.sparse.linalg.spsolve(S.tocsc(), b)
    inverse = scipy.sparse.diags_array(1 / S.diagonal())
    for options in (
        {"preconditioner": "jacobi"},
        {"preconditioner": "block_jacobi"},
        {"M": lambda r: r / 2.01},
        {"M": scipy.sparse.linalg.aslinearoperator(inverse)},
        {"M": merbit.csr(inverse.tocsr(), context=A.context)},
        {"M": merbit.Preconditioner(A, "chebyshev")},
    ):
        x, info = merbit.gmres(A, b, restart=50, **options)
        numpy.testing.assert_allclose(x, expected, rtol=1e-6)
    x, info = merbit.cg(A, b, refine=True, deterministic=True, reorder=-1, expected_solves=3)
    numpy.testing.assert_allclose(x, expected, rtol=1e-6)
    few = merbit.cg(A, b, preconditioner="block_jacobi", block_size=30)[1].iterations
    assert few < merbit.cg(A, b)[1].iterations
    assert merbit.cg(A, b, tolerance=1e-2)[1].iterations < merbit.cg(A, b)[1].iterations


def test_matrix_keeps_its_solver(random):
    S, b = laplacian(150), random.random(150)
    A = merbit.csr(S)
    merbit.cg(A, b)
    kept = A._source.solver[2]
    merbit.cg(A, b)
    assert A._source.solver[2] is kept
    A.update(2 * S.data)
    x, _ = merbit.cg(A, b)
    assert A._source.solver[2] is kept
    numpy.testing.assert_allclose(2 * S @ x, b, rtol=1e-6, atol=1e-6)
    merbit.cg(A, b, tolerance=1e-3)
    assert A._source.solver[2] is not kept


def test_solves_of_several_threads(random):
    S = laplacian(3000)
    A, b = merbit.csr(S), random.random(3000)
    expected, results = merbit.cg(A, b)[0], []
    workers = [threading.Thread(target=lambda: results.append(merbit.cg(A, b)[0])) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 4 and all(numpy.allclose(x, expected) for x in results)


def test_options_of_numpy():
    """Booleans and integers of NumPy are options like Python's."""
    S, yes, three = laplacian(10), numpy.True_, numpy.int64(3)
    A = merbit.csr(S, expected_calls=three, changing_values=yes, deterministic=yes)
    for options in {"refine": yes}, {"deterministic": yes}, {"preconditioner": "jacobi", "singular": yes, "single": yes}:
        merbit.cg(A, numpy.ones(10), max_iterations=three, **options)
    merbit.eigsh(A, three, seed=three, deterministic=yes)
    merbit.pagerank(abs(S), unweighted=yes, unaccelerated=yes, max_iterations=three)


def test_sizes_beyond_32_bits():
    A, b, huge = merbit.csr(laplacian(10)), numpy.ones(10), numpy.int64(2**31)
    for name, call in (
        ("max_iterations", lambda: merbit.cg(A, b, max_iterations=10**12)),
        ("restart", lambda: merbit.gmres(A, b, restart=huge)),
        ("max_iterations", lambda: merbit.pagerank(A, max_iterations=10**12)),
        ("basis", lambda: merbit.eigsh(A, basis=-huge - 1)),
        ("degree", lambda: merbit.Preconditioner(A, degree=huge)),
        ("expected_calls", lambda: merbit.csr(laplacian(10), expected_calls=huge)),
        ("threads", lambda: merbit.Context("cpu", threads=huge)),
        ("vectors", lambda: A.forecast(huge)),
        ("scalars", lambda: A.epilogue(scalars=huge)),
    ):
        with pytest.raises(ValueError, match=f"{name} is .*below 2"):
            call()


def test_wrong_arguments():
    S, b = laplacian(10), numpy.ones(10)
    A, shortest = merbit.csr(S), merbit.csr(abs(S), semiring="min_plus")
    for wrong, kind, words in (
        (lambda: merbit.cg(A, b[:-1]), ValueError, "b has shape"),
        (lambda: merbit.cg(A, b.astype("f4")), TypeError, "b has type float32, the matrix float64: convert b"),
        (lambda: merbit.cg(A, list(b)), TypeError, "list"),
        (lambda: merbit.cg(A, numpy.ma.masked_less(b, 2)), TypeError, "masks"),
        (lambda: merbit.cg(A, b, x0=numpy.ma.ones(10)), TypeError, "masks"),
        (lambda: merbit.cg(A, b, preconditioner="amg", near_nullspace=numpy.ma.ones((10, 1))), TypeError, "masks"),
        (lambda: A.matvec(numpy.ma.ones(20)[::2]), TypeError, "masks"),
        (lambda: merbit.cg(A.T, b), NotImplementedError, "transpose"),
        (lambda: merbit.cg(A, numpy.ones(20)[::2]), ValueError, r"b has gaps .*pass .*ascontiguousarray\(b\)"),
        (lambda: merbit.cg("A", b), TypeError, "no matrix"),
        (lambda: merbit.cg(S.astype(complex), b), NotImplementedError, "takes float64 and float32"),
        (lambda: merbit.gmres(S.astype(complex), b.astype(complex)), NotImplementedError, "values of complex128"),
        (lambda: merbit.cg(A, b, preconditioner="ilu"), ValueError, "ilu"),
        (lambda: merbit.cg(A, b, M=3), TypeError, "M is of type int"),
        (lambda: merbit.cg(A, b, M="amg"), TypeError, "M is of type str.* preconditioner= takes names"),
        (lambda: merbit.cg(A, b, M=S), TypeError, "M is of type csr_.*: scipy.sparse.linalg.aslinearoperator"),
        (lambda: merbit.cg(A, b, preconditioner=lambda r: r), ValueError, "given as M"),
        (lambda: merbit.cg(A, b, M=lambda r: r, preconditioner="jacobi"), ValueError, "both"),
        (lambda: merbit.cg(A, b, M=merbit.Preconditioner(laplacian(11))), ValueError, r"\(11, 11\)"),
        (lambda: merbit.cg(A, numpy.ones((10, 0))), ValueError, "no columns"),
        (lambda: merbit.cg(A, numpy.ones((9, 2))), ValueError, r"\(9, 2\)"),
        (lambda: merbit.cg(A, numpy.ones((10, 2, 1))), ValueError, r"\(10, 2, 1\)"),
        (lambda: merbit.cg(A, b, tolerance=-1.0), ValueError, "tolerance"),
        (lambda: merbit.cg(A, b, progress=3), TypeError, "progress"),
        (lambda: merbit.cg(A, b, max_iterations=-5), ValueError, "max_iterations"),
        (lambda: merbit.cg(merbit.csr(S[:5]), b[:5]), ValueError, "square"),
        (lambda: merbit.cg(A, b, x0=numpy.ones(3)), ValueError, r"x0 has shape \(3,\)"),
        (lambda: merbit.cg(A, b, x0=numpy.ones(1)), ValueError, r"x0 has shape \(1,\)"),
        (lambda: merbit.cg(A, b, x0=numpy.ones((10, 1))), ValueError, r"x0 has shape \(10, 1\)"),
        (lambda: merbit.cg(A, numpy.ones((10, 2)), x0=b), ValueError, r"x0 has shape \(10,\)"),
        (lambda: merbit.cg(A, b, x0=b.astype("f4")), TypeError, "x0 has type float32, b float64: convert x0"),
        (lambda: merbit.cg(A, b, x0=b.astype(complex)), TypeError, "type complex128"),
        (lambda: merbit.cg(A, b, x0=1.0), TypeError, "x0 is of type float"),
        (lambda: merbit.cg(A, b, x0=list(b)), TypeError, "x0 is of type list"),
        (lambda: merbit.eigsh(A, -1), ValueError, "k is -1"),
        (lambda: merbit.eigsh(A, 0), ValueError, "k is 0"),
        (lambda: merbit.eigsh(A, 33), ValueError, "k is 33"),
        (lambda: merbit.eigsh(A, seed=-1), ValueError, "seed is -1"),
        (lambda: merbit.eigsh(A, seed=2**64), ValueError, "seed is 18446744073709551616"),
        (lambda: merbit.eigsh(A, which="SM"), ValueError, "SM"),
        (lambda: merbit.eigsh(A, method="qr"), ValueError, "qr"),
        (lambda: merbit.eigsh(S.astype(complex)), NotImplementedError, "complex128"),
        (lambda: merbit.pagerank(S), ValueError, "negative|-1"),
        (lambda: merbit.pagerank(abs(S), damping=2.0), ValueError, "damping"),
        (lambda: merbit.pagerank(abs(S), personalisation=numpy.ones(3)), ValueError, "personalisation"),
        (lambda: merbit.pagerank(abs(S), personalisation=numpy.ones(10, "f4")), TypeError, "float32"),
        (lambda: merbit.pagerank(abs(S), personalisation={10: 1.0}), ValueError, "vertex 10"),
        (lambda: merbit.pagerank(abs(S), personalisation=numpy.ones(20)[::2]), ValueError, r"gaps .*pass .*array\(personalisation\)"),
        (lambda: merbit.pagerank(abs(S), personalisation={1.5: 1.0}), TypeError, "vertex 1.5"),
        (lambda: merbit.pagerank(abs(S), max_iterations=-1), ValueError, "max_iterations"),
        (lambda: merbit.cg(shortest, b), NotImplementedError, "semiring='min_plus'; this computes with plus_times"),
        (lambda: merbit.eigsh(shortest, 1), NotImplementedError, "min_plus"),
        (lambda: merbit.pagerank(shortest), NotImplementedError, "min_plus"),
        (lambda: merbit.Preconditioner(shortest), NotImplementedError, "min_plus"),
        (lambda: merbit.Preconditioner(A).update(None), TypeError, "values is None"),
        (lambda: merbit.Preconditioner(A).apply(b, numpy.ones(9)), ValueError, "out has 9 elements"),
    ):
        with pytest.raises(kind, match=words):
            wrong()


@pytest.mark.parametrize("name", ["cg", "gmres", "bicgstab", "minres", "lsqr"])
def test_scipy_solvers_take_a_matrix(random, name):
    S, b = laplacian(60, 0.5), random.random(60)
    x = getattr(scipy.sparse.linalg, name)(merbit.csr(S), b)[0]
    numpy.testing.assert_allclose(S @ x, b, rtol=1e-3, atol=1e-3)


def test_scipy_linear_operators(random):
    S = laplacian(60)
    A = merbit.csr(S)
    operator = scipy.sparse.linalg.aslinearoperator(A)
    assert operator.shape == A.shape and operator.dtype == A.dtype
    numpy.testing.assert_allclose((2 * operator + operator.H) @ numpy.ones(60), 3 * (S @ numpy.ones(60)))
    numpy.testing.assert_allclose(scipy.sparse.linalg.eigsh(A, 3)[0], scipy.sparse.linalg.eigsh(S, 3)[0])
    exponential = scipy.sparse.linalg.expm_multiply(operator, numpy.ones(60), traceA=S.trace())
    numpy.testing.assert_allclose(exponential, scipy.sparse.linalg.expm_multiply(S, numpy.ones(60)), rtol=1e-8)
    M = merbit.Preconditioner(A, "jacobi")
    for name in "cg", "gmres", "bicgstab", "minres", "lgmres", "tfqmr", "gcrotmk":
        assert getattr(scipy.sparse.linalg, name)(A, numpy.ones(60), M=M)[1] == 0
    R = S[:40]
    numpy.testing.assert_allclose(scipy.sparse.linalg.svds(merbit.csr(R), 3)[1], scipy.sparse.linalg.svds(R, 3)[1])


def test_linear_operators_copy_vectors_with_gaps(random):
    """Solvers pass parts of their own arrays; those without gaps are not copied."""
    S, both = laplacian(60)[:40], random.random((120, 8))
    A = merbit.csr(S)
    for X in both[:60, ::2], both[::2, :3], both[60:, :3][::-1], both[:60].T.copy()[::2].T, both[:60, 1:2], both[:60, :0]:
        numpy.testing.assert_allclose(A.matmat(X), S @ X)
        numpy.testing.assert_allclose(A.rmatmat(X[:40]), S.T @ X[:40])
    for X in both[:60], both[:60, :3], numpy.asfortranarray(both[:60, :3]), both.T[:, :60].copy().T:
        assert merbit._matrix._adjacent(X) is X
        numpy.testing.assert_allclose(A.matmat(X), S @ X)


def test_eigsh():
    S = laplacian(100)
    for which in ("LM", "LA", "SA"):
        w, v, info = merbit.eigsh(S, 3, which=which)
        expected = scipy.sparse.linalg.eigsh(S, 3, which=which)[0]
        numpy.testing.assert_allclose(sorted(w), sorted(expected), rtol=1e-8)
        assert info.converged and info.converged_pairs == 3 and len(info.residuals) == 3 and v.shape == (100, 3)
        numpy.testing.assert_allclose(S @ v, v * w, atol=1e-8)
    w, v, info = merbit.eigsh(laplacian(100).astype("float32"), 1, method="power", max_iterations=3)
    assert v.dtype == "float32" and info.stop == "cap" and info.iterations == 3


def reference_pagerank(S, teleport, damping=0.85):
    weight = S.sum(axis=1)
    dangling = weight == 0
    P = scipy.sparse.diags_array(1 / numpy.where(dangling, 1, weight)) @ S
    x = teleport
    for _ in range(500):
        x = damping * (P.T @ x + x[dangling].sum() * teleport) + (1 - damping) * teleport
    return x


def test_pagerank(sparse, random):
    S = sparse(80, 80)
    even, seeds = numpy.full(80, 1 / 80), random.random(80)
    for graph in (S, merbit.csr(S), S.tocoo()):
        ranks, info = merbit.pagerank(graph)
        assert info.converged and len(info.history) == info.iterations and info.history[-1] == info.change
        numpy.testing.assert_allclose(ranks, reference_pagerank(S, even), atol=1e-9)
    ranks, _ = merbit.pagerank(S, personalisation=seeds, damping=0.7)
    numpy.testing.assert_allclose(ranks, reference_pagerank(S, seeds / seeds.sum(), 0.7), atol=1e-9)
    ones = scipy.sparse.csr_array((numpy.ones(S.nnz), S.indices, S.indptr), S.shape)
    ranks, _ = merbit.pagerank(S, personalisation={5: 2.0, 7: 2.0}, unweighted=True)
    numpy.testing.assert_allclose(ranks, reference_pagerank(ones, numpy.eye(80)[[5, 7]].mean(axis=0)), atol=1e-9)
    again, more = merbit.pagerank(S, start=merbit.pagerank(S)[0], unaccelerated=True)
    assert more.iterations < info.iterations
    assert merbit.pagerank(S, max_iterations=3)[1].stop == "cap"


@pytest.mark.parametrize("kind", ["chebyshev", "fsai", "amg"])
@pytest.mark.parametrize("single", [False, True])
def test_preconditioner_kinds(kind, single):
    """Preconditioners need fewer iterations than Jacobi, also in float32; a Laplacian is solved up to a constant."""
    n = 400
    path = scipy.sparse.diags([-numpy.ones(n - 1), numpy.full(n, 2.001), -numpy.ones(n - 1)], [-1, 0, 1]).tocsr()
    b = numpy.ones(n)
    jacobi = merbit.cg(path, b, preconditioner="jacobi", tolerance=1e-8)[1]
    x, info = merbit.cg(path, b, preconditioner=kind, single=single, tolerance=1e-8)
    assert info.stop == "converged" and info.iterations < jacobi.iterations
    assert numpy.linalg.norm(b - path @ x) <= 1.001e-8 * numpy.linalg.norm(b)
    graph = scipy.sparse.csgraph.laplacian(abs(path)).tocsr()
    b = numpy.arange(n) % 5.0
    x, info = merbit.cg(graph, b, preconditioner=kind, single=single, singular=True, tolerance=1e-8)
    left = b - b.mean()
    assert info.stop == "converged" and abs(x.mean()) <= 1e-9 * abs(x).max()
    assert numpy.linalg.norm(left - graph @ x) <= 1.001e-8 * numpy.linalg.norm(left)


def test_preconditioner_options():
    """Each option reaches the preconditioner, which then needs fewer iterations."""
    n = 30
    path = scipy.sparse.diags([-numpy.ones(n - 1), numpy.full(n, 2.0), -numpy.ones(n - 1)], [-1, 0, 1])
    grid = scipy.sparse.kronsum(path, path).tocsr()
    nodes = scipy.sparse.kron(grid, [[2.0, 1.0], [1.0, 2.0]]).tocsr()
    scales = 1.0 + numpy.arange(n * n) % 7
    uneven = (scipy.sparse.diags(1 / scales) @ grid @ scipy.sparse.diags(1 / scales)).tocsr()

    def iterations(S, **options):
        x, info = merbit.cg(S, S @ (numpy.arange(S.shape[0]) % 5.0), tolerance=1e-8, **options)
        assert info.converged
        return info.iterations

    assert iterations(nodes, preconditioner="amg", block_size=2) < iterations(nodes, preconditioner="amg")
    assert iterations(grid, preconditioner="chebyshev", degree=8) < iterations(grid, preconditioner="chebyshev")
    near = scales[:, None]
    assert iterations(uneven, preconditioner="amg", near_nullspace=near) < iterations(uneven, preconditioner="amg")
    # A matrix reuses its solver only for the same options.
    A, b = merbit.csr(uneven), uneven @ numpy.ones(n * n)
    kept = [merbit.cg(A, b, preconditioner="amg", near_nullspace=v, tolerance=1e-8)[1].iterations for v in (None, near, near)]
    assert kept[0] > kept[1] == kept[2]


def test_option_refusals():
    S, b = scipy.sparse.eye(6).tocsr(), numpy.ones(6)
    for options, sentence in [
        ({"single": True}, "single is an option of preconditioners with a name, but preconditioner is None"),
        ({"M": lambda r: r, "degree": 2}, "degree is an option"),
        ({"near_nullspace": numpy.ones((6, 1))}, "near_nullspace is an option"),
        ({"preconditioner": "amg", "near_nullspace": numpy.ones(6)}, r"near_nullspace has shape \(6,\).*\(6, k\)"),
        ({"preconditioner": "amg", "near_nullspace": numpy.ones((1, 6))}, "near_nullspace has shape"),
        ({"preconditioner": "amg", "near_nullspace": numpy.full((6, 1), numpy.nan)}, "give finite numbers"),
        ({"preconditioner": "amg", "block_size": 4}, "does not divide the 6 rows"),
        ({"preconditioner": "jacobi", "block_size": 2}, "MERBIT_PRECONDITIONER_JACOBI does not take it"),
        ({"preconditioner": "fsai", "degree": 2}, "MERBIT_PRECONDITIONER_FSAI does not take it"),
    ]:
        with pytest.raises(merbit.ArgumentError, match=sentence):
            merbit.cg(S, b, **options)


@pytest.mark.parametrize("kind", ["jacobi", "block_jacobi", "chebyshev", "fsai", "amg"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_preconditioner_object(random, kind, dtype):
    """M is linear and symmetric, works in merbit's solvers like the named one, and in SciPy's; it follows new values."""
    n = 600
    S, b = laplacian(n, 0.05).astype(dtype), random.random(n).astype(dtype)
    A = merbit.csr(S, context=merbit.Context("cpu"))
    M = merbit.Preconditioner(A, kind)
    r, s = random.random((2, n)).astype(dtype)
    accuracy = 1e-10 if dtype == "float64" else 2e-3
    z = M @ r
    assert z.dtype == M.dtype == dtype and M.shape == (n, n)
    numpy.testing.assert_allclose(M @ (2 * r + s), 2 * z + M @ s, rtol=accuracy, atol=accuracy * abs(z).max())
    assert abs(s @ z - r @ (M @ s)) <= 10 * accuracy * abs(s @ z)
    if kind == "jacobi":
        numpy.testing.assert_allclose(z, r / S.diagonal(), rtol=accuracy)
    both = M @ numpy.stack([r, s], axis=1)
    numpy.testing.assert_array_equal(both[:, 0], z)
    numpy.testing.assert_array_equal(both[:, 1], M.apply(numpy.repeat(s, 2)[::2]))
    out = numpy.empty(n, dtype)
    assert M.apply(r, out) is out and M(r).tolist() == M.matvec(r).tolist() == out.tolist() == z.tolist()
    x, info = merbit.cg(A, b, M=M)
    x_named, named = merbit.cg(A, b, preconditioner=kind)
    rounded = 1 if dtype == "float64" else 1 + named.iterations // 8  # by which roundings may change the iterations
    assert info.converged and abs(info.iterations - named.iterations) <= rounded
    numpy.testing.assert_allclose(x, x_named, rtol=1e-6 if dtype == "float64" else 2e-2)
    if dtype == "float64":
        counts = {}
        for name, inverse in (("none", None), ("M", M)):
            calls = []
            x, failed = scipy.sparse.linalg.cg(S, b, rtol=1e-8, M=inverse, callback=calls.append)
            assert not failed and numpy.linalg.norm(b - S @ x) <= 1.01e-8 * numpy.linalg.norm(b)
            counts[name] = len(calls)
        assert counts["M"] <= counts["none"] if kind.endswith("jacobi") else counts["M"] < 0.6 * counts["none"]
    M.update(2 * S.data)
    numpy.testing.assert_allclose(2 * (M @ r), z, rtol=accuracy, atol=accuracy * abs(z).max())
    assert M.info.side == "cpu" and M.info.rows[0] == n and len(M.info.nonzeros) == M.info.levels
    assert M.describe() in repr(M) and f"{n} rows" in M.describe()


def test_preconditioner_object_options(random):
    n = 400
    path = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tolil()
    path[0, 0] = path[n - 1, n - 1] = 1
    path = path.tocsr()
    M = merbit.Preconditioner(path, "amg", singular=True, single=True, near_nullspace=numpy.ones((n, 1)))
    z = M @ random.random(n)
    assert abs(z.mean()) <= 1e-6 * abs(z).max() and "f32 inside f64" in M.describe()
    assert M.info.levels > 1 and M.info.operator_complexity >= 1
    with pytest.raises(ValueError, match="kind is 'ilu'"):
        merbit.Preconditioner(path, "ilu")
    with pytest.raises(ValueError, match="near_nullspace has shape"):
        merbit.Preconditioner(path, near_nullspace=numpy.ones((n + 1, 1)))
    with pytest.raises(ValueError, match="degree is 3"):
        merbit.Preconditioner(path, "jacobi", degree=3)
    with pytest.raises(NotImplementedError, match="complex128"):
        merbit.Preconditioner(path.astype(complex))
    with pytest.raises(TypeError, match="float32"):
        M @ numpy.ones(n, "float32")
    with pytest.raises(TypeError, match="float32"):
        M.update(path.data.astype("float32"))
    with pytest.raises(ValueError, match="elements"):
        M @ numpy.ones(n + 1)
    with pytest.raises(ValueError, match="has shape"):
        M @ numpy.ones((n, 1, 1))
    with pytest.raises(TypeError, match="list"):
        M @ [1.0] * n


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("options", [{}, {"preconditioner": "jacobi"}, {"preconditioner": "amg"}, {"refine": True}])
def test_several_right_hand_sides(random, order, options):
    """Each column is solved as if alone."""
    S = laplacian(300)
    A, B = merbit.csr(S), numpy.array(random.random((300, 5)), order=order)
    B[:, 2] = 0
    X, info = merbit.cg(A, B, **options)
    assert X.shape == B.shape and info.converged and len(info.columns) == 5
    for column in range(5):
        x, alone = merbit.cg(A, B[:, column].copy(), **options)
        found = info.columns[column]
        assert found.stop == alone.stop and abs(found.iterations - alone.iterations) <= 1
        numpy.testing.assert_allclose(X[:, column], x, rtol=1e-6, atol=1e-9)
        assert found.residual <= info.residual
    assert info.iterations == max(found.iterations for found in info.columns) and info.columns[2].iterations == 0
    again, more = merbit.cg(A, B, X, **options)
    assert more.iterations == 0
    numpy.testing.assert_array_equal(again, X)


def test_several_right_hand_sides_of_others(random):
    """Other methods, functions as M, more columns than are solved at once; one does not converge."""
    S = laplacian(200)
    A, B = merbit.csr(S, context=merbit.Context("cpu")), random.random((200, 3))
    for method in (merbit.bicgstab, merbit.gmres):
        X, info = method(A, B, preconditioner="jacobi")
        assert info.converged and info.history.size == 0
        numpy.testing.assert_allclose(S @ X, B, rtol=1e-6, atol=1e-8)
    X, info = merbit.cg(A, B, M=lambda r: r / 2)
    numpy.testing.assert_allclose(S @ X, B, rtol=1e-6, atol=1e-8)
    X, info = merbit.cg(A, B, M=merbit.Preconditioner(A))
    numpy.testing.assert_allclose(S @ X, B, rtol=1e-6, atol=1e-8)
    B = random.random((200, 70))
    X, info = merbit.cg(A, B)
    assert len(info.columns) == 70
    numpy.testing.assert_allclose(S @ X, B, rtol=1e-6, atol=1e-8)
    B[7, 1] = numpy.nan
    X, info = merbit.cg(A, B)
    assert info.stop == "not_finite" and not info.converged
    assert info.columns[0].converged and not info.columns[1].converged
    X, info = merbit.cg(A, B, max_iterations=1)
    assert info.columns[0].stop == "cap" and info.stop == "not_finite" and numpy.isnan(info.residual)


def test_preconditioner_refusals():
    S = scipy.sparse.csr_matrix(numpy.diag([1.0, -2.0, 3.0]))
    with pytest.raises(merbit.MatrixError, match=r"A\(1, 1\), counted from 0, is -2"):
        merbit.cg(S, numpy.ones(3), preconditioner="fsai")
    M = merbit.Preconditioner(S, "jacobi")
    for shape in (), (4, 0), (4, 2), (3, 1, 1):
        with pytest.raises(merbit.ArgumentError, match=r"so r must have shape \(3,\) or \(3, k\)"):
            M @ numpy.ones(shape)
    assert (M @ numpy.ones((3, 0))).shape == (3, 0)


def test_failing_preconditioner(random):
    A, b = merbit.csr(laplacian(100), context=merbit.Context("cpu")), random.random(100)

    def fail(r):
        raise KeyError("ours")

    for _ in range(2):
        with pytest.raises(KeyError, match="ours"):
            merbit.cg(A, b, M=fail)
    for answer, words in (
        (lambda r: r[:5], r"shape \(5,\); r and z have shape \(100,\)"),
        (lambda r: r[:1], r"shape \(1,\)"),
        (lambda r: r[:, None], r"shape \(100, 1\)"),
        (lambda r: r.reshape(10, 10), r"shape \(10, 10\)"),
        (lambda r: r.astype(complex), "complex128; r and z are of float64"),
    ):
        with pytest.raises(merbit.Error, match="M returned an array of " + words):
            merbit.cg(A, b, M=answer)
    with pytest.raises(merbit.ArgumentTypeError, match="M returned a numpy.ma.MaskedArray"):
        merbit.cg(A, b, M=numpy.ma.asarray)
    assert merbit.cg(A, b)[1].converged


@pytest.mark.parametrize("answer", [None, 1.0, numpy.float64(1)])
def test_preconditioner_without_answer(answer):
    A = merbit.csr(laplacian(10), context=merbit.Context("cpu"))
    with pytest.raises(TypeError, match="M returned .*; it must return z"):
        merbit.cg(A, numpy.ones(10), M=lambda r: answer)


def test_preconditioner_that_keeps_and_changes_r(random):
    """M gets a copy of r, which it may keep for longer than the solver lives, and change."""
    A, b, kept = merbit.csr(laplacian(10**5, 1), context=merbit.Context("cpu")), random.random(10**5), []

    def halve(r):
        kept.append(r)
        r *= 0.5
        return r

    plain = merbit.cg(A, b)[1].iterations
    assert merbit.cg(A, b, M=halve)[1].iterations == plain
    del A
    gc.collect()
    numpy.testing.assert_allclose(kept[0], b / 2)


def test_solve_within_a_solve(random):
    A, b = merbit.csr(laplacian(60), context=merbit.Context("cpu")), random.random(60)
    x, info = merbit.gmres(A, b, M=lambda r: merbit.cg(A, r.copy(), tolerance=1e-2)[0])
    numpy.testing.assert_allclose(laplacian(60) @ x, b, rtol=1e-6, atol=1e-6)
