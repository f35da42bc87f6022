/* A PETSc program that knows nothing of merbit: solves Poisson's equation on a cube by finite
 * differences, and writes the residual of each iteration. All choices are options:
 *
 *     mpirun -n 4 ./laplace -n 40 -residuals aij.txt -ksp_type cg
 *     mpirun -n 4 ./laplace -n 40 -residuals merbit.txt -ksp_type cg \
 *       -dll_prepend $PWD/libmerbit_petsc.so -mat_type aijmerbit -log_view */
#include <petscksp.h>

/* Assembles the 7-point stencil of n x n x n points, the rows of this process. */
static PetscErrorCode assemble(PetscInt n, Mat *A) {
  PetscInt begin, end, row, k;
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n * n, n * n * n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 7, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 7, NULL, 6, NULL));
  PetscCall(MatSetUp(*A)); /* other types */
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (row = begin; row < end; row++) {
    const PetscInt place[] = {row % n, row / n % n, row / (n * n)}, step[] = {1, n, n * n};
    PetscCall(MatSetValue(*A, row, row, 6, INSERT_VALUES));
    for (k = 0; k < 3; k++) {
      if (place[k] > 0) {
        PetscCall(MatSetValue(*A, row, row - step[k], -1, INSERT_VALUES));
      }
      if (place[k] < n - 1) {
        PetscCall(MatSetValue(*A, row, row + step[k], -1, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Writes the norms of the residuals, one per line. */
static PetscErrorCode write_residuals(KSP ksp, const char *name) {
  const PetscReal *norms;
  PetscViewer viewer;
  PetscInt count, k;
  PetscFunctionBeginUser;
  PetscCall(KSPGetResidualHistory(ksp, &norms, &count));
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, name, &viewer));
  for (k = 0; k < count; k++) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "%.16e\n", (double)norms[k]));
  }
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  char name[PETSC_MAX_PATH_LEN] = "";
  PetscInt n = 30, iterations;
  KSPConvergedReason reason;
  PetscBool write;
  Vec x, b;
  KSP ksp;
  Mat A;
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-residuals", name, sizeof name, &write));
  PetscCall(assemble(n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetResidualHistory(ksp, NULL, PETSC_DECIDE, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " iterations, %s\n", iterations,
                        KSPConvergedReasons[reason]));
  if (write) {
    PetscCall(write_residuals(ksp, name));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return reason > 0 ? 0 : 1;
}
