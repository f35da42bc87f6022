/* -ksp_type merbit: solutions, numbers of iterations compared with PETSc's methods, monitors,
 * new values and structures, and the message of each refusal. */
#include "solves.h"

/* Adds A^T to A, whose diagonal is heavy: the sum is positive definite. */
static PetscErrorCode make_definite(Mat *A) {
  Mat B;
  PetscFunctionBegin;
  TRY(make_matrix(600, 600, 11, 0, A));
  TRY(MatTranspose(*A, MAT_INITIAL_MATRIX, &B));
  TRY(MatAXPY(*A, 1, B, DIFFERENT_NONZERO_PATTERN));
  TRY(MatDestroy(&B));
  PetscFunctionReturn(0);
}

#if !defined(PETSC_USE_COMPLEX)
/* ---- Solves ------------------------------------------------------------------------------- */

static PetscErrorCode count_residuals(KSP ksp, PetscInt iteration, PetscReal norm,
                                      void *count) {
  (void)ksp;
  (void)norm;
  PetscCheck(iteration == *(PetscInt *)count, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "A monitor sees iteration %" PetscInt_FMT " after %" PetscInt_FMT, iteration,
             *(PetscInt *)count - 1);
  ++*(PetscInt *)count;
  return 0;
}

/* Solves by a method of merbit and of PETSc; their numbers of iterations must be equal, or
 * nearly so. */
static PetscErrorCode compare(Mat A, const char *method, const char *theirs, const char *pc) {
  PetscInt iterations, expected, monitored = 0, recorded;
  KSP ksp, theirs_again;
  PetscFunctionBegin;
  TRY(PetscOptionsSetValue(NULL, "-a_ksp_type", "merbit"));
  TRY(PetscOptionsSetValue(NULL, "-a_ksp_merbit_method", method));
  TRY(PetscOptionsSetValue(NULL, "-a_pc_type", pc));
  TRY(PetscOptionsSetValue(NULL, "-a_ksp_rtol", "1e-9"));
  TRY(PetscOptionsSetValue(NULL, "-b_ksp_type", theirs));
  TRY(PetscOptionsSetValue(NULL, "-b_pc_type", pc));
  TRY(PetscOptionsSetValue(NULL, "-b_ksp_rtol", "1e-9"));
  TRY(PetscOptionsSetValue(NULL, "-b_ksp_norm_type", "unpreconditioned"));
  TRY(PetscOptionsSetValue(NULL, "-b_ksp_pc_side", strcmp(method, "cg") ? "right" : "left"));
  TRY(make_ksp(A, "b_", &ksp));
  TRY(solve(ksp, 2e-9, &expected));
  TRY(KSPDestroy(&ksp));
  TRY(make_ksp(A, "a_", &ksp));
  TRY(KSPMonitorSet(ksp, count_residuals, &monitored, NULL));
  TRY(KSPSetResidualHistory(ksp, NULL, 1000, PETSC_TRUE));
  TRY(solve(ksp, 1e-9, &iterations));
  TRY(KSPGetResidualHistory(ksp, NULL, &recorded));
  PetscCheck(monitored == iterations + 1 && recorded == iterations + 1, PETSC_COMM_SELF,
             PETSC_ERR_PLIB, "%" PetscInt_FMT " iterations, but %" PetscInt_FMT " monitored",
             iterations, monitored);
  PetscCheck(PetscAbsInt(iterations - expected) <= 2, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s with %s takes %" PetscInt_FMT " iterations, PETSc's %" PetscInt_FMT, method,
             pc, iterations, expected);
  TRY(PetscPrintf(PETSC_COMM_WORLD,
                  "%s, %s: %" PetscInt_FMT " iterations for %" PetscInt_FMT "\n", method, pc,
                  iterations, expected));
  /* New values, for which the old diagonal is a bad preconditioner; then a new structure. */
  TRY(rescale(A, strcmp(pc, "none") ? 30 : 1));
  TRY(make_ksp(A, "b_", &theirs_again));
  TRY(solve(theirs_again, 2e-9, &expected));
  TRY(KSPDestroy(&theirs_again));
  monitored = 0;
  TRY(solve(ksp, 1e-9, &iterations));
  PetscCheck(PetscAbsInt(iterations - expected) <= 2, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s with %s and new values takes %" PetscInt_FMT
             " iterations, PETSc's %" PetscInt_FMT,
             method, pc, iterations, expected);
  TRY(rescale(A, strcmp(pc, "none") ? (PetscScalar)1 / 30 : 1));
  TRY(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  TRY(MatSetValue(A, 0, 200, 1, INSERT_VALUES));
  TRY(MatSetValue(A, 200, 0, 1, INSERT_VALUES));
  TRY(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  TRY(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  monitored = 0;
  TRY(solve(ksp, 1e-9, &iterations));
  TRY(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

/* Stops at the iteration limit, and starts from a guess. */
static PetscErrorCode stops(Mat A) {
  KSPConvergedReason reason;
  PetscReal told, of_b, of_x;
  PetscInt iterations, again;
  Vec x, b;
  KSP ksp;
  PetscFunctionBegin;
  TRY(make_ksp(A, "a_", &ksp));
  TRY(MatCreateVecs(A, &x, &b));
  TRY(fill(b, 3));
  TRY(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 3));
  TRY(KSPSolve(ksp, b, x));
  TRY(KSPGetConvergedReason(ksp, &reason));
  TRY(KSPGetIterationNumber(ksp, &iterations));
  PetscCheck(reason == KSP_DIVERGED_ITS && iterations == 3, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "A cap of 3: %s after %" PetscInt_FMT, KSPConvergedReasons[reason], iterations);
  TRY(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  TRY(KSPSolve(ksp, b, x));
  TRY(KSPGetIterationNumber(ksp, &iterations));
  TRY(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  TRY(KSPSolve(ksp, b, x));
  TRY(KSPGetIterationNumber(ksp, &again));
  PetscCheck(again == 0 && iterations > 3, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "From the solution, %" PetscInt_FMT " iterations after %" PetscInt_FMT, again,
             iterations);
  TRY(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 0));
  TRY(KSPSolve(ksp, b, x)); /* no iteration: the guess is judged */
  TRY(KSPGetConvergedReason(ksp, &reason));
  TRY(KSPGetIterationNumber(ksp, &again));
  PetscCheck(reason == KSP_CONVERGED_RTOL && again == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "A cap of 0, from the solution: %s after %" PetscInt_FMT,
             KSPConvergedReasons[reason], again);
  TRY(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
  TRY(KSPSolve(ksp, b, x));
  TRY(KSPGetConvergedReason(ksp, &reason));
  TRY(KSPGetIterationNumber(ksp, &again));
  TRY(KSPGetResidualNorm(ksp, &told));
  TRY(VecNorm(b, NORM_2, &of_b));
  TRY(VecNorm(x, NORM_2, &of_x));
  PetscCheck(reason == KSP_DIVERGED_ITS && again == 0 && told == of_b && of_x == 0,
             PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "A cap of 0: %s after %" PetscInt_FMT ", residual %g of %g, ||x|| %g",
             KSPConvergedReasons[reason], again, (double)told, (double)of_b, (double)of_x);
  TRY(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  TRY(VecSet(b, (PetscScalar)NAN));
  TRY(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
  TRY(KSPSolve(ksp, b, x));
  TRY(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason == KSP_DIVERGED_NANORINF, PETSC_COMM_SELF, PETSC_ERR_PLIB, "NaN in b: %s",
             KSPConvergedReasons[reason]);
  TRY(KSPDestroy(&ksp));
  TRY(VecDestroy(&x));
  TRY(VecDestroy(&b));
  PetscFunctionReturn(0);
}

/* Solves and preconditions with a matrix without rows, whose values may be NULL, before and
 * after new values. */
static PetscErrorCode without_entries(const char *type, const char *pc) {
  PetscInt turn;
  Vec x, b;
  KSP ksp;
  Mat A;
  PetscFunctionBegin;
  TRY(PetscOptionsSetValue(NULL, "-e_ksp_type", type));
  TRY(PetscOptionsSetValue(NULL, "-e_pc_type", pc));
  TRY(PetscOptionsSetValue(NULL, "-e_pc_merbit_type", "jacobi"));
  TRY(MatCreate(PETSC_COMM_SELF, &A));
  TRY(MatSetSizes(A, 0, 0, 0, 0));
  TRY(MatSetType(A, "aijmerbit"));
  TRY(MatSetUp(A));
  TRY(MatCreateVecs(A, &x, &b));
  TRY(make_ksp(A, "e_", &ksp));
  for (turn = 0; turn < 2; turn++) {
    TRY(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    TRY(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    TRY(MatScale(A, 2));
    TRY(KSPSolve(ksp, b, x));
  }
  TRY(KSPDestroy(&ksp));
  TRY(VecDestroy(&x));
  TRY(VecDestroy(&b));
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Uses a solve as the preconditioner of a flexible method of PETSc. */
static PetscErrorCode as_preconditioner(Mat A) {
  PetscInt iterations;
  KSP ksp;
  PetscFunctionBegin;
  TRY(PetscOptionsSetValue(NULL, "-c_ksp_type", "fgmres"));
  TRY(PetscOptionsSetValue(NULL, "-c_ksp_rtol", "1e-10"));
  TRY(PetscOptionsSetValue(NULL, "-c_pc_type", "ksp"));
  TRY(PetscOptionsSetValue(NULL, "-c_ksp_ksp_type", "merbit"));
  TRY(PetscOptionsSetValue(NULL, "-c_ksp_ksp_merbit_method", "bicgstab"));
  TRY(PetscOptionsSetValue(NULL, "-c_ksp_ksp_rtol", "1e-2"));
  TRY(PetscOptionsSetValue(NULL, "-c_ksp_pc_type", "jacobi"));
  TRY(make_ksp(A, "c_", &ksp));
  TRY(solve(ksp, 2e-10, &iterations));
  PetscCheck(iterations >= 2 && iterations <= 10, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "FGMRES with solves to 1e-2 takes %" PetscInt_FMT " iterations", iterations);
  TRY(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}
#endif

/* ---- Refusals ----------------------------------------------------------------------------- */

/* Checks that -ksp_type merbit refuses A, the preconditioner's matrix P and its type. */
static PetscErrorCode refused(Mat A, Mat P, PCType type, PetscBool transposed,
                              const char *text) {
  Vec x, b;
  KSP ksp;
  PC pc;
  PetscFunctionBegin;
  TRY(MatCreateVecs(A, &x, &b));
  TRY(fill(b, 3));
  TRY(KSPCreate(PetscObjectComm((PetscObject)A),
                &ksp)); /* PETSc's counts are wrong after an error */
  TRY(KSPSetOperators(ksp, A, P));
  TRY(KSPSetType(ksp, "merbit"));
  TRY(KSPGetPC(ksp, &pc));
  TRY(PCSetType(pc, type));
  if (transposed) {
    FAILS_WITH(KSPSolveTranspose(ksp, b, x), text);
  } else {
    FAILS_WITH(KSPSolve(ksp, b, x), text);
  }
  TRY(KSPDestroy(&ksp));
  TRY(VecDestroy(&x));
  TRY(VecDestroy(&b));
  PetscFunctionReturn(0);
}

#if !defined(PETSC_USE_COMPLEX)
/* Checks that a tolerance of 0, merbit's default tolerance, is refused. */
static PetscErrorCode refuses_no_tolerance(Mat A) {
  Vec x, b;
  KSP ksp;
  PetscFunctionBegin;
  TRY(MatCreateVecs(A, &x, &b));
  TRY(fill(b, 3));
  TRY(make_ksp(A, "a_", &ksp));
  TRY(KSPSetTolerances(ksp, 0, PETSC_DEFAULT, PETSC_DEFAULT, 5));
  FAILS_WITH(KSPSolve(ksp, b, x), "-ksp_rtol is 0");
  TRY(KSPDestroy(&ksp));
  TRY(VecDestroy(&x));
  TRY(VecDestroy(&b));
  PetscFunctionReturn(0);
}

static PetscErrorCode refuses(Mat A) {
  MatNullSpace kernel;
  Mat B;
  PetscFunctionBegin;
  TRY(refuses_no_tolerance(A));
  TRY(refused(A, A, PCILU, PETSC_FALSE, "the preconditioner is ilu"));
  TRY(refused(A, A, PCJACOBI, PETSC_TRUE, "has no KSPSolveTranspose"));
  TRY(MatDuplicate(A, MAT_COPY_VALUES, &B));
  TRY(refused(A, B, PCJACOBI, PETSC_FALSE, "KSPSetOperators gave another one"));
  TRY(MatSetValue(B, 7, 7, 0, INSERT_VALUES));
  TRY(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  TRY(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  TRY(refused(B, B, PCJACOBI, PETSC_FALSE, "A(7, 7)")); /* merbit's own message */
  TRY(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_TRUE, 0, NULL, &kernel));
  TRY(MatSetNullSpace(B, kernel));
  TRY(MatNullSpaceDestroy(&kernel));
  TRY(refused(B, B, PCNONE, PETSC_FALSE, "removes the constant vector alone"));
  TRY(MatDestroy(&B));
  TRY(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &B));
  TRY(refused(B, B, PCNONE, PETSC_FALSE, "this one is seqdense"));
  TRY(MatDestroy(&B));
  TRY(MatCreateSeqAIJ(PETSC_COMM_SELF, 66, 66, 1, NULL, &B));
  TRY(MatSetBlockSize(B, 33));
  TRY(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  TRY(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  TRY(MatShift(B, 1));
  TRY(refused(B, B, PCPBJACOBI, PETSC_FALSE, "up to 32 rows"));
  TRY(MatDestroy(&B));
  PetscFunctionReturn(0);
}

/* On several processes merbit solves the local blocks. */
static PetscErrorCode local_blocks(Mat A) {
  PetscInt iterations;
  KSP ksp;
  PetscFunctionBegin;
  TRY(PetscOptionsSetValue(NULL, "-d_ksp_type", "fgmres"));
  TRY(PetscOptionsSetValue(NULL, "-d_ksp_rtol", "1e-9"));
  TRY(PetscOptionsSetValue(NULL, "-d_pc_type", "bjacobi"));
  TRY(PetscOptionsSetValue(NULL, "-d_sub_ksp_type", "merbit"));
  TRY(PetscOptionsSetValue(NULL, "-d_sub_ksp_merbit_method", "cg"));
  TRY(PetscOptionsSetValue(NULL, "-d_sub_pc_type", "jacobi"));
  TRY(make_ksp(A, "d_", &ksp));
  TRY(solve(ksp, 2e-9, &iterations));
  TRY(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

/* On one process merbit solves real systems. */
static PetscErrorCode sequential(Mat A) {
  static const char *const rows[][3] = {
      {"cg", "cg", "none"},         {"cg", "cg", "jacobi"},         {"cg", "cg", "pbjacobi"},
      {"bicgstab", "bcgs", "none"}, {"bicgstab", "bcgs", "jacobi"}, {"gmres", "gmres", "none"},
      {"gmres", "gmres", "jacobi"}};
  size_t k;
  PetscFunctionBegin;
  for (k = 0; k < sizeof rows / sizeof *rows; k++) {
    TRY(compare(A, rows[k][0], rows[k][1], rows[k][2]));
  }
  TRY(stops(A));
  TRY(as_preconditioner(A));
  TRY(without_entries("merbit", "none"));
  TRY(without_entries("cg", "merbit"));
  PetscFunctionReturn(0);
}
#endif

int main(int argc, char **argv) {
  PetscMPIInt size;
  Mat A;
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  TRY(choose_kind(AIJMERBIT));
  TRY(make_definite(&A));
  if (size > 1) {
    TRY(refused(A, A, PCNONE, PETSC_FALSE,
                "merbit solves and preconditions within one process"));
  }
#if defined(PETSC_USE_COMPLEX)
  if (size == 1) {
    TRY(refused(A, A, PCNONE, PETSC_FALSE, "F64"));
  }
#else
  if (size > 1) {
    TRY(local_blocks(A));
  } else {
    TRY(sequential(A));
    TRY(refuses(A));
  }
#endif
  TRY(MatDestroy(&A));
  TRY(PetscPrintf(PETSC_COMM_WORLD, "solvers: passed\n"));
  return PetscFinalize();
}
