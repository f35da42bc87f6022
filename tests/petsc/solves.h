/* Helpers for the tests of solvers and preconditioners: expected errors, and solves whose
 * residual is checked. */
#ifndef TESTS_PETSC_SOLVES_H
#define TESTS_PETSC_SOLVES_H
#include "kinds.h"
#include <math.h>
#include <string.h>

#define TRY(call) PetscCall(call)

/* ---- Errors ------------------------------------------------------------------------------- */

static char raised[2048]; /* first sentence of the last error */

PETSC_UNUSED static PetscErrorCode keep_sentence(MPI_Comm comm, int line, const char *function,
                                                 const char *file, PetscErrorCode code,
                                                 PetscErrorType type, const char *message,
                                                 void *context) {
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

#if !defined(PETSC_USE_COMPLEX)
/* Makes a KSP with the options of `prefix`. */
static PetscErrorCode make_ksp(Mat A, const char *prefix, KSP *ksp) {
  PetscFunctionBegin;
  TRY(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  TRY(KSPSetOptionsPrefix(*ksp, prefix));
  TRY(KSPSetOperators(*ksp, A, A));
  TRY(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

/* Solves A x = b and checks the residual against the tolerance. */
PETSC_UNUSED static PetscErrorCode solve(KSP ksp, PetscReal tolerance, PetscInt *iterations) {
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

/* Multiplies each third row and column of A by `factor`. */
PETSC_UNUSED static PetscErrorCode rescale(Mat A, PetscScalar factor) {
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
#endif

#endif
