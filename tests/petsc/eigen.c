/* A SLEPc program that does not know merbit: prints the largest and the smallest eigenvalues of
 * the 5-point stencil on 30 x 30 points. Options choose the type of the matrix. */
#include <slepceps.h>

static PetscErrorCode assemble(PetscInt n, Mat *A) {
  PetscInt begin, end, row;
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (row = begin; row < end; row++) {
    PetscCall(MatSetValue(*A, row, row, 4, INSERT_VALUES));
    if (row % n > 0) {
      PetscCall(MatSetValue(*A, row, row - 1, -1, INSERT_VALUES));
    }
    if (row % n < n - 1) {
      PetscCall(MatSetValue(*A, row, row + 1, -1, INSERT_VALUES));
    }
    if (row >= n) {
      PetscCall(MatSetValue(*A, row, row - n, -1, INSERT_VALUES));
    }
    if (row + n < n * n) {
      PetscCall(MatSetValue(*A, row, row + n, -1, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  static const EPSWhich ends[] = {EPS_LARGEST_REAL, EPS_SMALLEST_REAL};
  PetscScalar value;
  PetscInt end, k;
  EPS eps;
  Mat A;
  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, NULL));
  PetscCall(assemble(30, &A));
  for (end = 0; end < 2; end++) {
    PetscCall(EPSCreate(PETSC_COMM_WORLD, &eps));
    PetscCall(EPSSetOperators(eps, A, NULL));
    PetscCall(EPSSetProblemType(eps, EPS_HEP));
    PetscCall(EPSSetWhichEigenpairs(eps, ends[end]));
    PetscCall(EPSSetDimensions(eps, 3, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(EPSSetTolerances(eps, 1e-11, PETSC_DEFAULT));
    PetscCall(EPSSolve(eps));
    for (k = 0; k < 3; k++) {
      PetscCall(EPSGetEigenvalue(eps, k, &value, NULL));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.9f\n", (double)PetscRealPart(value)));
    }
    PetscCall(EPSDestroy(&eps));
  }
  PetscCall(MatDestroy(&A));
  return SlepcFinalize();
}
