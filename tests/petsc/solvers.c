/* -ksp_type merbit and -pc_type merbit: solutions, numbers of iterations beside PETSc's own
 * methods, monitors, new values and structures, and the sentence of each refusal. */
#include "kinds.h"
#include <math.h>
#include <string.h>

#define TRY(call) PetscCall(call)

/* ---- Errors ------------------------------------------------------------------------------- */

static char raised[2048]; /* the first sentence of the last error */

static PetscErrorCode keep_sentence(MPI_Comm comm, int line, const char *function,
                                    const char *file, PetscErrorCode code, PetscErrorType type,
                                    const char *message, void *context) {
  (void)comm;
  (void)line;
  (void)function;
  (void)file;
  (void)context;
  if (type == PETSC_ERROR_INITIAL) {
    (void)snprintf(raised, sizeof raised, "%s", message);
  }
  return code;
}

#define FAILS_WITH(call, text)                                                                 \
  do {                                                                                         \
    PetscErrorCode code_;                                                                      \
    raised[0] = '\0';                                                                          \
    PetscCall(PetscPushErrorHandler(keep_sentence, NULL));                                     \
    code_ = (call);                                                                            \
    PetscCall(PetscPopErrorHandler());                                                         \
    PetscCheck(code_ != 0 && strstr(raised, text), PETSC_COMM_SELF, PETSC_ERR_PLIB,            \
               "line %d: no error \"%s\", but %d \"%s\"", __LINE__, text, (int)code_, raised); \
  } while (0)

/* ---- Solves ------------------------------------------------------------------------------- */

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
/* Makes a KSP that takes the options of `prefix`. */
static PetscErrorCode make_ksp(Mat A, const char *prefix, KSP *ksp) {
  PetscFunctionBegin;
  TRY(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  TRY(KSPSetOptionsPrefix(*ksp, prefix));
  TRY(KSPSetOperators(*ksp, A, A));
  TRY(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

/* Solves A x = b and checks that the residual is what the tolerance allows. */
static PetscErrorCode solve(KSP ksp, PetscReal tolerance, PetscInt *iterations) {
  PetscReal of_b, of_r, told;
  PetscBool ours;
  Vec x, b, r;
  Mat A;
  PetscFunctionBegin;
  TRY(KSPGetOperators(ksp, &A, NULL));
  TRY(MatCreateVecs(A, &x, &b));
  TRY(VecDuplicate(b, &r));
  TRY(fill(b, 3));
  TRY(KSPSolve(ksp, b, x));
  TRY(MatMult(A, x, r));
  TRY(VecAXPY(r, -1, b));
  TRY(VecNorm(b, NORM_2, &of_b));
  TRY(VecNorm(r, NORM_2, &of_r));
  PetscCheck(of_r <= tolerance * of_b, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "The residual is %g of b, more than %g", (double)(of_r / of_b), (double)tolerance);
  TRY(PetscObjectTypeCompare((PetscObject)ksp, "merbit", &ours));
  TRY(KSPGetResidualNorm(ksp, &told));
  PetscCheck(!ours || (told > 0.9 * of_r && told < 1.1 * of_r), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "KSPGetResidualNorm tells %g of %g", (double)told, (double)of_r);
  TRY(KSPGetIterationNumber(ksp, iterations));
  TRY(VecDestroy(&x));
  TRY(VecDestroy(&b));
  TRY(VecDestroy(&r));
  PetscFunctionReturn(0);
}

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

/* Multiplies each third row and column of A by `factor`. */
static PetscErrorCode rescale(Mat A, PetscScalar factor) {
  PetscInt rows, i;
  Vec d;
  PetscFunctionBegin;
  TRY(MatCreateVecs(A, &d, NULL));
  TRY(VecSet(d, 1));
  TRY(VecGetSize(d, &rows));
  for (i = 0; i < rows; i += 3) {
    TRY(VecSetValue(d, i, factor, INSERT_VALUES));
  }
  TRY(VecAssemblyBegin(d));
  TRY(VecAssemblyEnd(d));
  TRY(MatDiagonalScale(A, d, d));
  TRY(VecDestroy(&d));
  PetscFunctionReturn(0);
}

/* Solves by a method of merbit's and of PETSc's; their iterations must be as many, or nearly.
 */
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
  /* New values, for which an old diagonal is a bad preconditioner; then a new structure. */
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

/* Stops at the cap of iterations, and starts from a guess. */
static PetscErrorCode stops(Mat A) {
  KSPConvergedReason reason;
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

/* Solves by a PC alone, by one within FGMRES, and where the PC fails. */
static PetscErrorCode as_preconditioner(Mat A) {
  KSPConvergedReason reason;
  PetscInt iterations;
  KSP ksp;
  Vec x, b;
  PetscFunctionBegin;
  TRY(PetscOptionsSetValue(NULL, "-c_ksp_type", "preonly"));
  TRY(PetscOptionsSetValue(NULL, "-c_pc_type", "merbit"));
  TRY(PetscOptionsSetValue(NULL, "-c_pc_merbit_method", "cg"));
  TRY(PetscOptionsSetValue(NULL, "-c_pc_merbit_preconditioner", "block_jacobi"));
  TRY(PetscOptionsSetValue(NULL, "-c_pc_merbit_rtol", "1e-10"));
  TRY(make_ksp(A, "c_", &ksp));
  TRY(solve(ksp, 1e-10, &iterations));
  TRY(MatCreateVecs(A, &x, &b));
  TRY(VecSet(b, (PetscScalar)NAN));
  TRY(KSPSolve(ksp, b, x));
  TRY(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "NaN in b for the PC: %s",
             KSPConvergedReasons[reason]);
  TRY(KSPDestroy(&ksp));
  TRY(PetscOptionsSetValue(NULL, "-c_ksp_type", "fgmres"));
  TRY(MatScale(A, -1)); /* CG breaks down */
  TRY(make_ksp(A, "c_", &ksp));
  TRY(fill(b, 3));
  TRY(KSPSolve(ksp, b, x));
  TRY(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason == KSP_DIVERGED_PC_FAILED, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "CG of a negative definite matrix: %s", KSPConvergedReasons[reason]);
  TRY(KSPDestroy(&ksp));
  TRY(MatScale(A, -1));
  TRY(VecDestroy(&x));
  TRY(VecDestroy(&b));
  TRY(PetscOptionsSetValue(NULL, "-c_ksp_rtol", "1e-10"));
  TRY(PetscOptionsSetValue(NULL, "-c_pc_merbit_method", "bicgstab"));
  TRY(PetscOptionsSetValue(NULL, "-c_pc_merbit_preconditioner", "jacobi"));
  TRY(PetscOptionsSetValue(NULL, "-c_pc_merbit_rtol", "1e-2"));
  TRY(PetscOptionsSetValue(NULL, "-c_pc_merbit_max_it", "100"));
  TRY(make_ksp(A, "c_", &ksp));
  TRY(solve(ksp, 2e-10, &iterations));
  PetscCheck(iterations >= 2 && iterations <= 10, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "FGMRES with solves to 1e-2 takes %" PetscInt_FMT " iterations", iterations);
  TRY(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

#endif

/* ---- Refusals ----------------------------------------------------------------------------- */

/* Checks that -ksp_type merbit refuses A, the matrix P for the preconditioner and a type of it.
 */
static PetscErrorCode refused(Mat A, Mat P, PCType type, PetscBool transposed,
                              const char *text) {
  Vec x, b;
  KSP ksp;
  PC pc;
  PetscFunctionBegin;
  TRY(MatCreateVecs(A, &x, &b));
  TRY(fill(b, 3));
  TRY(KSPCreate(PetscObjectComm((PetscObject)A),
                &ksp)); /* PETSc's counts are off after an error */
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
static PetscErrorCode refuses(Mat A) {
  MatNullSpace kernel;
  Mat B;
  PetscFunctionBegin;
  TRY(refused(A, A, PCILU, PETSC_FALSE, "the preconditioner is ilu"));
  TRY(refused(A, A, PCJACOBI, PETSC_TRUE, "has no KSPSolveTranspose"));
  TRY(MatDuplicate(A, MAT_COPY_VALUES, &B));
  TRY(refused(A, B, PCJACOBI, PETSC_FALSE, "KSPSetOperators gave another one"));
  TRY(MatSetValue(B, 7, 7, 0, INSERT_VALUES));
  TRY(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  TRY(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  TRY(refused(B, B, PCJACOBI, PETSC_FALSE, "A(7, 7)")); /* merbit's own sentence */
  TRY(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_TRUE, 0, NULL, &kernel));
  TRY(MatSetNullSpace(B, kernel));
  TRY(MatNullSpaceDestroy(&kernel));
  TRY(refused(B, B, PCNONE, PETSC_FALSE, "does not remove a null space"));
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
    TRY(refused(A, A, PCNONE, PETSC_FALSE, "merbit solves within one process"));
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
