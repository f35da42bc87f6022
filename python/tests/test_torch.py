"""PyTorch tensors: products, solvers and gradients; also on the GPU if there is one."""

import numpy
import pytest
import scipy.sparse

import merbit
from conftest import laplacian, numbers

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")


def usable(device):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU")
    return device


@pytest.fixture(params=["cpu", "cuda"])
def place(request):
    return usable(request.param)


def tensor_of(S, device="cpu"):
    arrays = (torch.tensor(a, device=device) for a in (S.indptr, S.indices, S.data))
    return torch.sparse_csr_tensor(*arrays, size=S.shape)


@pytest.mark.parametrize("layout", ["csr", "coo", "csc", "bsr"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
def test_layouts(sparse, random, place, layout, dtype):
    S = sparse(30, 24, dtype)
    T = tensor_of(S, place)
    if layout == "bsr":
        T = T.to_sparse_bsr((3, 4))
    elif layout != "csr":
        T = getattr(T, f"to_sparse_{layout}")()
    A = merbit.csr(T)
    x, z, X = (torch.tensor(numbers(random, shape, dtype), device=place) for shape in (24, 30, (24, 5)))
    for _ in range(2):
        for y, expected in (
            (A @ x, S @ x.cpu().numpy()),
            (A.T @ z, S.T @ z.cpu().numpy()),
            (A.H @ z, S.conj().T @ z.cpu().numpy()),
            (A @ X, S @ X.cpu().numpy()),
            (A @ X.T.contiguous().T, S @ X.cpu().numpy()),
            (x @ A.T, S @ x.cpu().numpy()),
        ):
            assert isinstance(y, torch.Tensor) and y.device.type == place and str(y.dtype) == f"torch.{dtype}"
            numpy.testing.assert_allclose(y.cpu().numpy(), expected, rtol=1e-4)


def test_host_matrix_multiplies_both(sparse, random, place):
    S = sparse(30, 24)
    A, x = merbit.csr(S), random.random(24)
    for _ in range(2):
        numpy.testing.assert_allclose((A @ torch.tensor(x, device=place)).cpu().numpy(), S @ x, rtol=1e-12)
        numpy.testing.assert_allclose(A @ x, S @ x, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_values(sparse, random, place, dtype):
    T = tensor_of(sparse(30, 24, "float32"))
    values = T.values().to(getattr(torch, dtype)).to(place)
    A = merbit.csr((values, T.col_indices().to(place), T.crow_indices().to(place)), (30, 24))
    x = torch.tensor(random.random(24).astype("float32"), device=place)
    wide = torch.sparse_csr_tensor(T.crow_indices(), T.col_indices(), values.cpu().float(), size=T.shape)
    torch.testing.assert_close((A @ x).cpu(), wide @ x.cpu())
    with pytest.raises(TypeError, match=r"x.to"):
        A @ x.half()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients(sparse, random, place, dtype):
    S = sparse(8, 6, dtype)
    A = merbit.csr(tensor_of(S, place))
    x, z = (torch.tensor(numbers(random, n, dtype), device=place, requires_grad=True) for n in (6, 8))
    X = torch.tensor(numbers(random, (6, 3), dtype), device=place, requires_grad=True)
    for call, argument in ((lambda v: A @ v, x), (lambda v: A.T @ v, z), (lambda v: A.H @ v, z), (lambda v: A @ v, X)):
        with torch.no_grad():
            assert not call(argument).requires_grad
        assert torch.autograd.gradcheck(call, (argument,))
        assert torch.autograd.gradgradcheck(lambda v: call(v) ** 2, (argument,))
    A @ x.detach()  # the fast path exists, and must not lose the gradient
    (A @ x).real.sum().backward()
    numpy.testing.assert_allclose(x.grad.cpu().numpy(), S.conj().T @ numpy.ones(8), rtol=1e-12)


def test_gradient_needs_plus_times(sparse):
    A = merbit.csr(tensor_of(abs(sparse(8, 6))), semiring="min_plus")
    with pytest.raises(merbit.NotSupportedError, match="gradient"):
        A @ torch.ones(6, dtype=torch.float64, requires_grad=True)


def test_gradients_are_not_lost():
    """Only x of A @ x may require a gradient; other arguments need .detach() or no_grad."""
    T, S = tensor_of(laplacian(6)), laplacian(6)
    A, b = merbit.csr(S, context=merbit.Context("cpu")), torch.ones(6, dtype=torch.float64)
    M, E = merbit.Preconditioner(A), A.epilogue("v0 - ax", "y * y", vectors=1)
    arrays = (torch.tensor(S.data, requires_grad=True), T.col_indices(), T.crow_indices())
    calls = {
        "b": lambda v: merbit.cg(A, v),
        "x0": lambda v: merbit.cg(A, b, v),
        "r": lambda v: M @ v,
        "x": lambda v: E(v, b),
        "v0": lambda v: E(b, v),
        "values": lambda v: (merbit.csr(arrays, S.shape), A.update(arrays[0])),
        "matrix": lambda v: merbit.csr(T.clone().requires_grad_()),
    }
    for name, call in calls.items():
        v = b.clone().requires_grad_()
        with pytest.raises(merbit.NotSupportedError, match=rf"{name} requires a gradient.*{name}.detach\(\)"):
            call(v)
        with torch.no_grad():
            call(v)
        A.matvec(v.expand(2, 6).T).sum().backward()  # copies its argument first


def test_negative_views_and_inference(sparse, random):
    """The fast path, created in inference mode, makes ordinary tensors; it refuses a tensor with a pending negation."""
    S, v = sparse(8, 6), torch.tensor(random.random(6))
    A = merbit.csr(tensor_of(S))
    with torch.inference_mode():
        A @ v
    for _ in range(2):
        assert not (A @ v).is_inference()
        numpy.testing.assert_allclose((A @ torch._neg_view(v)).numpy(), -(S @ v.numpy()), rtol=1e-12)


def test_parameters_and_conjugates(sparse, random):
    S = sparse(8, 6, "complex128")
    A = merbit.csr(tensor_of(S))
    x = torch.tensor(numbers(random, 6, "complex128"))
    A @ x
    numpy.testing.assert_allclose((A @ x.conj()).numpy(), S @ x.numpy().conj(), rtol=1e-12)
    numpy.testing.assert_allclose((A @ torch.nn.Parameter(x)).detach().numpy(), S @ x.numpy(), rtol=1e-12)


def test_wrong_tensors(sparse, place):
    T = tensor_of(sparse(8, 6), place)
    A = merbit.csr(T)
    x = torch.ones(6, dtype=torch.float64, device=place)
    A @ x
    freed = torch.ones(6, dtype=torch.float64, device=place)
    freed.untyped_storage().resize_(0)
    for wrong, kind, words in (
        (x.float(), TypeError, "float32"),
        (x[:5], ValueError, "shape"),
        (torch.ones(12, dtype=torch.float64, device=place)[::2], ValueError, "gaps"),
        (torch.ones((), dtype=torch.float64, device=place).expand(6), ValueError, "gaps"),
        (freed, ValueError, "freed"),
        (T, (TypeError, ValueError), "x"),
        (torch.ones(6, dtype=torch.float64, device="meta"), ValueError, "x"),
    ):
        with pytest.raises(kind, match=words):
            A @ wrong
    with pytest.raises(ValueError, match="gradient"):
        A.multiply(x, torch.ones(8, dtype=torch.float64, device=place, requires_grad=True))
    for out in (torch._neg_view(torch.ones(8, dtype=torch.float64, device=place)),
                torch.ones(8, dtype=torch.complex128, device=place).conj()):  # fmt: skip
        with pytest.raises(ValueError, match="out has a pending conjugate or negation"):
            A.multiply(x, out)
    with pytest.raises(TypeError, match="dense"):
        merbit.csr(torch.eye(3))
    with pytest.raises(ValueError, match="is no matrix"):
        merbit.csr(torch.ones(2, 2, 2).to_sparse())


def test_solve(random, place):
    S = laplacian(100)
    A = merbit.csr(tensor_of(S, place), context=merbit.Context(place))  # a function as M needs A and b on the same side
    b = torch.tensor(random.random(100), device=place)
    for method in (merbit.cg, merbit.bicgstab, merbit.gmres):
        for options in ({}, {"preconditioner": "jacobi"}, {"M": lambda r: r / 2.01}, {"M": merbit.Preconditioner(A, "fsai")}):
            x, info = method(A, b, **options)
            assert info.converged and isinstance(x, torch.Tensor) and x.device == b.device
            numpy.testing.assert_allclose(S @ x.cpu().numpy(), b.cpu().numpy(), rtol=1e-6, atol=1e-6)
    again, more = merbit.cg(A, b, x)
    assert more.iterations < info.iterations
    B = torch.tensor(random.random((100, 2)), device=place)
    X, info = merbit.cg(A, B)
    assert info.converged and X.shape == B.shape and X.device == B.device
    numpy.testing.assert_allclose(S @ X.cpu().numpy(), B.cpu().numpy(), rtol=1e-6, atol=1e-6)


def test_epilogue(sparse, random, place):
    S = sparse(30, 24)
    A = merbit.csr(tensor_of(S, place), context=merbit.Context(place))  # an epilogue does not move vectors
    x, b = (torch.tensor(random.random(n), device=place) for n in (24, 30))
    r, sums = A.epilogue("v0 - ax", "y * y", vectors=1)(x, b)
    torch.testing.assert_close(r.cpu(), b.cpu() - torch.tensor(S @ x.cpu().numpy()))
    torch.testing.assert_close(sums[0], (r * r).sum())


def test_current_stream(sparse, random):
    """A product waits for the caller's work in the current stream, and for nothing else."""
    place = usable("cuda")
    S = sparse(3000, 2400)
    A, x = merbit.csr(tensor_of(S, place)), torch.tensor(random.random(2400), device=place)
    A @ x
    for _ in range(3):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(100_000_000)
            late = x * 2
            y = A @ late
        assert not stream.query()  # the product has not waited for the stream
        stream.synchronize()
        numpy.testing.assert_allclose(y.cpu().numpy(), 2 * (S @ x.cpu().numpy()), rtol=1e-12)


def test_update_of_csc(sparse, random, place):
    """New values come in the order of the CSC, although merbit keeps a CSR."""
    S = sparse(30, 24)
    T = tensor_of(S, place).to_sparse_csc()
    A, x = merbit.csr(T), torch.tensor(random.random(24), device=place)
    new = scipy.sparse.csc_array(S)
    new.data = random.random(S.nnz)
    numpy.testing.assert_array_equal(new.indices, T.row_indices().cpu().numpy())
    A.update(torch.tensor(new.data, device=place))
    numpy.testing.assert_allclose((A @ x).cpu().numpy(), new @ x.cpu().numpy(), rtol=1e-12)
    with pytest.raises(ValueError, match="there are values"):
        A.update(torch.ones(S.nnz + 1, dtype=torch.float64, device=place))
    with pytest.raises(TypeError, match="arrays of PyTorch"):
        A.update(new.data)


def test_update_on_the_gpu(sparse, random):
    place = usable("cuda")
    S = sparse(30, 24)
    A, x = merbit.csr(tensor_of(S, place)), torch.tensor(random.random(24), device=place)
    A @ x
    A.update(torch.tensor(3 * S.data, device=place))
    numpy.testing.assert_allclose((A @ x).cpu().numpy(), 3 * (S @ x.cpu().numpy()), rtol=1e-12)
    with pytest.raises(ValueError, match="together"):
        A.update(S.data)
