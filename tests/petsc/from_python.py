"""petsc4py with the plugin: a matrix from SciPy's kind of arrays, products, new values, a solve.
Usage: from_python.py LIBRARY"""
import sys

import petsc4py

petsc4py.init([sys.argv[0], "-dll_prepend", sys.argv[1], "-mat_type", "aijmerbit", "-merbit_deterministic"])
from petsc4py import PETSc  # noqa: E402: only after init
import numpy  # noqa: E402

n = 200
dense = numpy.diag(numpy.full(n, 4.0)) - numpy.eye(n, k=1) - 2 * numpy.eye(n, k=-1)
rows, columns = numpy.nonzero(dense)

A = PETSc.Mat().create()
A.setSizes((n, n))
A.setFromOptions()
A.setPreallocationNNZ(3)
begin, end = A.getOwnershipRange()
for i, j in zip(rows, columns):
    if begin <= i < end:
        A.setValue(i, j, dense[i, j])
A.assemble()
assert A.getType().endswith("aijmerbit"), A.getType()

PETSc.Log.begin()
x, y = A.createVecs()
x.setArray(numpy.arange(begin, end) % 7 - 3.0)
whole = numpy.arange(n) % 7 - 3.0
for factor in (1, 3):
    for k in range(40):
        A.mult(x, y)
    assert numpy.allclose(y.array, factor * (dense @ whole)[begin:end], rtol=1e-14, atol=1e-13)
    A.multTranspose(x, y)
    assert numpy.allclose(y.array, factor * (dense.T @ whole)[begin:end], rtol=1e-14, atol=1e-13)
    A.scale(3)

solver = PETSc.KSP().create()
solver.setOperators(A)
solver.setType("gmres")
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-12)
solver.solve(x, y)
assert solver.getConvergedReason() > 0
assert numpy.allclose(y.array, numpy.linalg.solve(9 * dense, whole)[begin:end], rtol=1e-9, atol=1e-12)
assert PETSc.Log.Event("MerbitMult").getPerfInfo()["count"] > 80
print("petsc4py: passed")
