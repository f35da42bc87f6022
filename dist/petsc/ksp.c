/* -ksp_type merbit: a whole solve by merbit's CG, BiCGSTAB or GMRES. Its preconditioner is the
 * PC of the KSP, which must be one that merbit has as well. */
#include "merbit_petsc.h"
#include <petsc/private/kspimpl.h> /* a KSP type fills the record of the KSP */

typedef struct {
  merbit_solver_desc desc; /* what the options say */
  merbit_petsc_solver solver;
  double *history; /* the residuals of the last solve */
} ksp_merbit;

static PetscErrorCode set_from_options(KSP ksp, PetscOptionItems *PetscOptionsObject) {
  ksp_merbit *k = (ksp_merbit *)ksp->data;
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "merbit's solvers");
  PetscCall(merbit_petsc_solver_options(PetscOptionsObject, "-ksp_merbit_method",
                                        "-ksp_merbit_restart", &k->desc));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(0);
}

/* Writes to desc the preconditioner that the PC of the KSP stands for. */
static PetscErrorCode take_preconditioner(KSP ksp, Mat A, Mat P, merbit_solver_desc *desc) {
  PCJacobiType diagonal = PC_JACOBI_DIAGONAL;
  PetscBool none, jacobi, blocks, absolute = PETSC_FALSE;
  PetscInt size = 0;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCNONE, &none));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCJACOBI, &jacobi));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCPBJACOBI, &blocks));
  if (jacobi) {
    PetscCall(PCJacobiGetType(ksp->pc, &diagonal));
    PetscCall(PCJacobiGetUseAbs(ksp->pc, &absolute));
  }
  PetscCheck(
      (none || jacobi || blocks) && diagonal == PC_JACOBI_DIAGONAL && !absolute,
      PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
      "-ksp_type merbit solves with -pc_type none, jacobi (the plain diagonal) or pbjacobi, "
      "but the preconditioner is %s; choose one of these, or PETSc's KSP",
      ((PetscObject)ksp->pc)->type_name);
  PetscCheck(none || A == P, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "-ksp_type merbit makes its preconditioner from the matrix of the system, but "
             "KSPSetOperators gave another one for it; give the same matrix twice");
  if (blocks) {
    PetscCall(MatGetBlockSize(A, &size));
    PetscCheck(
        size <= 32, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
        "merbit has blocks of up to 32 rows for pbjacobi, but the block size of the matrix "
        "is %" PetscInt_FMT,
        size);
  }
  desc->preconditioner = blocks   ? MERBIT_PRECONDITIONER_BLOCK_JACOBI
                         : jacobi ? MERBIT_PRECONDITIONER_JACOBI
                                  : MERBIT_PRECONDITIONER_NONE;
  desc->block_size = (int)size;
  PetscFunctionReturn(0);
}

static PetscErrorCode set_up(KSP ksp) {
  MatNullSpace kernel;
  Mat A;
  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(merbit_petsc_solver_check((PetscObject)ksp, A));
  PetscCall(MatGetNullSpace(A, &kernel));
  PetscCheck(
      !kernel, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
      "-ksp_type merbit does not remove a null space, but the matrix has one attached; use "
      "PETSc's KSP");
  PetscFunctionReturn(0);
}

static KSPConvergedReason reason_of(merbit_stop stop) {
  return stop == MERBIT_STOP_CONVERGED    ? KSP_CONVERGED_RTOL
         : stop == MERBIT_STOP_CAP        ? KSP_DIVERGED_ITS
         : stop == MERBIT_STOP_NOT_FINITE ? KSP_DIVERGED_NANORINF
                                          : KSP_DIVERGED_BREAKDOWN;
}

static PetscErrorCode solve(KSP ksp) {
  ksp_merbit *k = (ksp_merbit *)ksp->data;
  const merbit_solver_result *result = &k->solver.result;
  PetscReal norm;
  PetscInt i;
  Mat A, P;
  PetscFunctionBegin;
  PetscCheck(
      !ksp->transpose_solve, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
      "-ksp_type merbit has no KSPSolveTranspose; use PETSc's KSP, or give the transpose");
  PetscCheck(ksp->max_it < PETSC_MPI_INT_MAX, PetscObjectComm((PetscObject)ksp),
             PETSC_ERR_ARG_OUTOFRANGE, "-ksp_max_it %" PetscInt_FMT " is too large for merbit",
             ksp->max_it);
  PetscCall(KSPGetOperators(ksp, &A, &P));
  PetscCall(take_preconditioner(ksp, A, P, &k->desc));
  k->desc.tolerance = (double)ksp->rtol;
  k->desc.max_iterations = (int)ksp->max_it;
  PetscCall(PetscFree(k->history));
  PetscCall(PetscMalloc1(ksp->max_it + 1, &k->history));
  PetscCall(VecNorm(ksp->vec_rhs, NORM_2, &norm));
  PetscCall(merbit_petsc_solver_solve(&k->solver, A, &k->desc, ksp->vec_rhs, ksp->vec_sol,
                                      PetscNot(ksp->guess_zero), k->history,
                                      (int)ksp->max_it + 1));
  for (i = 0; i <= (PetscInt)result->iterations; i++) {
    PetscCall(KSPLogResidualHistory(ksp, norm * (PetscReal)k->history[i]));
    PetscCall(KSPMonitor(ksp, i, norm * (PetscReal)k->history[i]));
  }
  ksp->its = (PetscInt)result->iterations;
  ksp->rnorm = norm * (PetscReal)result->residual;
  ksp->reason = reason_of(result->stop);
  PetscFunctionReturn(0);
}

static PetscErrorCode view(KSP ksp, PetscViewer viewer) {
  PetscFunctionBegin;
  PetscCall(merbit_petsc_solver_view(&((ksp_merbit *)ksp->data)->solver, viewer));
  PetscFunctionReturn(0);
}

static PetscErrorCode reset(KSP ksp) {
  ksp_merbit *k = (ksp_merbit *)ksp->data;
  PetscFunctionBegin;
  PetscCall(merbit_petsc_solver_reset(&k->solver));
  PetscCall(PetscFree(k->history));
  PetscFunctionReturn(0);
}

static PetscErrorCode destroy(KSP ksp) {
  PetscFunctionBegin;
  PetscCall(reset(ksp));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(0);
}

/* Makes a KSP of the type. */
PetscErrorCode merbit_petsc_create_ksp(KSP ksp) {
  ksp_merbit *k;
  PetscFunctionBegin;
  PetscCall(PetscNew(&k));
  k->desc.method = MERBIT_SOLVER_GMRES; /* as PETSc's default, it takes any matrix */
  k->desc.restart = 30;
  ksp->data = k;
  ksp->ops->setfromoptions = set_from_options;
  ksp->ops->setup = set_up;
  ksp->ops->solve = solve;
  ksp->ops->view = view;
  ksp->ops->reset = reset;
  ksp->ops->destroy = destroy;
  ksp->ops->buildsolution = KSPBuildSolutionDefault;
  ksp->ops->buildresidual = KSPBuildResidualDefault;
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 2));
  PetscFunctionReturn(0);
}
