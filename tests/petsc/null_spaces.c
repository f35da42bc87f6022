/* -pc_type merbit and -ksp_type merbit with singular matrices: the constant vector is removed,
 * and other null spaces are left to PETSc or refused. */
#include "grids.h"

#if !defined(PETSC_USE_COMPLEX)
/* Solves a singular system by CG; x must have mean 0. */
static PetscErrorCode solve_singular(Mat A, const char *ksp_type, const char *pc_type,
                                     const char *kind) {
  KSPConvergedReason reason;
  PetscReal of_b, of_r;
  PetscScalar sum;
  Vec x, b, r;
  KSP ksp;
  PetscFunctionBegin;
  TRY(PetscOptionsSetValue(NULL, "-k_ksp_type", ksp_type));
  TRY(PetscOptionsSetValue(NULL, "-k_ksp_merbit_method", "cg"));
  TRY(PetscOptionsSetValue(NULL, "-k_ksp_norm_type", "unpreconditioned"));
  TRY(PetscOptionsSetValue(NULL, "-k_ksp_rtol", "1e-9"));
  TRY(PetscOptionsSetValue(NULL, "-k_pc_type", pc_type));
  TRY(PetscOptionsSetValue(NULL, "-k_pc_merbit_type", kind));
  TRY(make_ksp(A, "k_", &ksp));
  TRY(MatCreateVecs(A, &x, &b));
  TRY(VecDuplicate(b, &r));
  TRY(fill(x, 3));
  TRY(MatMult(A, x, b));
  TRY(VecSet(x, 0));
  TRY(KSPSolve(ksp, b, x));
  TRY(KSPGetConvergedReason(ksp, &reason));
  TRY(MatMult(A, x, r));
  TRY(VecAXPY(r, -1, b));
  TRY(VecNorm(b, NORM_2, &of_b));
  TRY(VecNorm(r, NORM_2, &of_r));
  TRY(VecSum(x, &sum));
  PetscCheck(reason > 0 && of_r <= 2e-9 * of_b && PetscAbsScalar(sum) < 1e-8, PETSC_COMM_SELF,
             PETSC_ERR_PLIB, "%s, %s %s: %s, residual %g, sum %g", ksp_type, pc_type, kind,
             KSPConvergedReasons[reason], (double)(of_r / of_b), (double)PetscAbsScalar(sum));
  TRY(KSPDestroy(&ksp));
  TRY(VecDestroy(&x));
  TRY(VecDestroy(&b));
  TRY(VecDestroy(&r));
  PetscFunctionReturn(0);
}

static PetscErrorCode null_spaces(void) {
  MatNullSpace kernel;
  PetscScalar mean;
  PetscReal norm;
  KSP ksp;
  Mat A;
  Vec v, b;
  PC pc;
  int k;
  PetscFunctionBegin;
  TRY(make_grid(20, 1, 0, &A));
  TRY(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_TRUE, 0, NULL, &kernel));
  TRY(MatSetNullSpace(A, kernel));
  TRY(MatNullSpaceDestroy(&kernel));
  for (k = 0; k < KINDS_OF_PC; k++) {
    TRY(make_pc(A, names[k], &pc));
    TRY(PCSetUp(pc));
    TRY(shows(pc, "without the mean", PETSC_TRUE));
    TRY(PCDestroy(&pc));
    TRY(solve_singular(A, "cg", "merbit", names[k]));
    TRY(solve_singular(A, "merbit", "merbit", names[k]));
  }
  TRY(solve_singular(A, "merbit", "jacobi", "amg"));
  TRY(PetscOptionsSetValue(NULL, "-k_pc_type", "none"));
  TRY(make_ksp(A, "k_", &ksp));
  TRY(MatCreateVecs(A, &v, NULL));
  TRY(fill(v, 3));
  TRY(VecDuplicate(v, &b)); /* a failing solve leaves v locked */
  FAILS_WITH(KSPSolve(ksp, b, b),
             "removes the constant vector alone, and with a preconditioner");
  TRY(VecDestroy(&b));
  TRY(KSPDestroy(&ksp));
  /* Other null spaces are left to PETSc. */
  TRY(VecSum(v, &mean));
  TRY(VecShift(v, -mean / 400));
  TRY(VecNormalize(v, &norm));
  TRY(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_TRUE, 1, &v, &kernel));
  TRY(MatSetNullSpace(A, kernel));
  TRY(MatNullSpaceDestroy(&kernel));
  TRY(make_pc(A, "jacobi", &pc));
  TRY(PCSetUp(pc));
  TRY(shows(pc, "without the mean", PETSC_FALSE));
  TRY(PCDestroy(&pc));
  TRY(PetscOptionsSetValue(NULL, "-k_pc_type", "merbit"));
  TRY(make_ksp(A, "k_", &ksp));
  FAILS_WITH(KSPSolve(ksp, v, v),
             "removes the constant vector alone, and with a preconditioner");
  TRY(KSPDestroy(&ksp));
  TRY(VecDestroy(&v));
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}
#endif

int main(int argc, char **argv) {
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
#if !defined(PETSC_USE_COMPLEX)
  TRY(choose_kind(AIJ));
  TRY(null_spaces());
#endif
  TRY(PetscPrintf(PETSC_COMM_WORLD, "null spaces: passed\n"));
  return PetscFinalize();
}
