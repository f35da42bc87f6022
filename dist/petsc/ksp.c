/* -ksp_type merbit: a whole solve by merbit's CG, BiCGSTAB or GMRES. Its preconditioner is the
 * PC of the KSP, which must be one that merbit also has. With a GPU the whole solve runs there:
 * b is copied in and x out, unless they are CUDA vectors. */
#include "merbit_petsc.h"
#include <petsc/private/kspimpl.h> /* a KSP type fills the record of the KSP */

#define SOLVES_EXPECTED 10 /* expected solves of one KSP with the same structure */

typedef struct {
  merbit_solver_desc desc;    /* from the options */
  merbit_petsc_recipe recipe; /* of the preconditioner */
  merbit_solver *solver;      /* NULL before the first solve */
  merbit_solver_desc made;    /* from which the solver was made, with the recipe below */
  merbit_petsc_recipe made_with;
  merbit_petsc_stamp stamp;
  merbit_solver_result result; /* of the last solve */
  double *history;             /* its residuals */
} ksp_merbit;

static PetscErrorCode set_from_options(KSP ksp, merbit_petsc_options PetscOptionsObject) {
  static const char *const methods[] = {"cg", "bicgstab",
                                        "gmres"}; /* from MERBIT_SOLVER_CG on */
  merbit_solver_desc *desc = &((ksp_merbit *)ksp->data)->desc;
  PetscInt number = (PetscInt)desc->method - MERBIT_SOLVER_CG, cycle = desc->restart;
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "merbit's solvers");
  PetscCall(PetscOptionsEList("-ksp_merbit_method", "Method of the solve", "docs/petsc.md",
                              methods, 3, methods[number], &number, NULL));
  PetscCall(PetscOptionsRangeInt("-ksp_merbit_restart", "Iterations of a cycle of GMRES",
                                 "docs/petsc.md", cycle, &cycle, NULL, 1, 512));
  PetscOptionsHeadEnd();
  desc->method = (merbit_solver_method)(MERBIT_SOLVER_CG + number);
  desc->restart = (int)cycle;
  PetscFunctionReturn(0);
}

/* ---- The preconditioner ------------------------------------------------------------------- */

/* Writes to *desc what the PC stands for. */
static PetscErrorCode read_pc(PC pc, merbit_preconditioner_desc *desc) {
  PCJacobiType diagonal = PC_JACOBI_DIAGONAL;
  PetscBool none, jacobi, blocks, ours, absolute = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(PetscMemzero(desc, sizeof *desc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCNONE, &none));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCJACOBI, &jacobi));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCPBJACOBI, &blocks));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, "merbit", &ours));
  if (jacobi) {
    PetscCall(PCJacobiGetType(pc, &diagonal));
    PetscCall(PCJacobiGetUseAbs(pc, &absolute));
  }
  PetscCheck((none || jacobi || blocks || ours) && diagonal == PC_JACOBI_DIAGONAL && !absolute,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "-ksp_type merbit solves with -pc_type merbit, none, jacobi (the plain diagonal) "
             "or pbjacobi, but the preconditioner is %s; choose one of these, or PETSc's KSP",
             ((PetscObject)pc)->type_name);
  if (ours) {
    PetscCall(merbit_petsc_lend_pc(pc, desc));
  } else {
    desc->kind = blocks   ? MERBIT_PRECONDITIONER_BLOCK_JACOBI
                 : jacobi ? MERBIT_PRECONDITIONER_JACOBI
                          : MERBIT_PRECONDITIONER_NONE;
  }
  PetscFunctionReturn(0);
}

/* Writes to k->recipe the preconditioner that the PC of the KSP stands for. */
static PetscErrorCode take_preconditioner(KSP ksp, Mat A, Mat P) {
  merbit_petsc_recipe *recipe = &((ksp_merbit *)ksp->data)->recipe;
  const MPI_Comm comm = PetscObjectComm((PetscObject)ksp);
  merbit_preconditioner_desc desc;
  MatNullSpace kernel;
  PetscFunctionBegin;
  PetscCall(read_pc(ksp->pc, &desc));
  PetscCheck(desc.kind == MERBIT_PRECONDITIONER_NONE || A == P, comm, PETSC_ERR_SUP,
             "-ksp_type merbit makes its preconditioner from the matrix of the system, but "
             "KSPSetOperators gave another one for it; give the same matrix twice");
  PetscCall(merbit_petsc_recipe_for(A, &desc, recipe));
  PetscCall(MatGetNullSpace(A, &kernel));
  PetscCheck(!kernel || (recipe->desc.singular && desc.kind != MERBIT_PRECONDITIONER_NONE),
             comm, PETSC_ERR_SUP,
             "The matrix has a null space attached; -ksp_type merbit removes the constant "
             "vector alone, and with a preconditioner only. Use PETSc's KSP, or for the "
             "constant vector -pc_type jacobi");
  PetscFunctionReturn(0);
}

/* Sets up the KSP before its PC, so that -pc_type merbit makes no preconditioner of its own. */
static PetscErrorCode set_up(KSP ksp) {
  merbit_preconditioner_desc desc;
  PetscBool ours;
  Mat A;
  PC pc;
  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(merbit_petsc_check_matrix((PetscObject)ksp, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, "merbit", &ours));
  if (ours) {
    PetscCall(merbit_petsc_lend_pc(pc, &desc));
  }
  PetscFunctionReturn(0);
}

/* ---- Solves ------------------------------------------------------------------------------- */

/* Makes the solver of the matrix that the view shows. */
static PetscErrorCode make(ksp_merbit *k, Mat A, const merbit_solver_desc *desc,
                           const merbit_view *view) {
  merbit_petsc_recipe whole = k->recipe;
  merbit_solver_desc with = *desc;
  merbit_status status;
  double *vectors;
  PetscFunctionBegin;
  merbit_solver_destroy(k->solver);
  k->solver = NULL;
  k->made = *desc;
  k->made_with = k->recipe;
  PetscCall(merbit_petsc_recipe_open(A, &whole, &vectors));
  with.preconditioner = whole.desc.kind;
  with.precondition = whole.desc.kind == MERBIT_PRECONDITIONER_NONE ? NULL : &whole.desc;
  status = merbit_solver_create(merbit_petsc.solvers, view, &with, &k->solver);
  PetscCall(PetscFree(vectors));
  MERBIT_PETSC_CALL(merbit_petsc.solvers, status);
  PetscFunctionReturn(0);
}

static PetscErrorCode update(ksp_merbit *k, const merbit_view *view) {
  PetscFunctionBegin;
  if (view->nnz > 0) { /* else `values` may be NULL */
    MERBIT_PETSC_CALL(merbit_petsc.solvers,
                      merbit_solver_update_values(k->solver, view->values, MERBIT_MEMORY_HOST));
  }
  PetscFunctionReturn(0);
}

/* Makes the solver fit the description, and the values and structure that A has now. */
static PetscErrorCode refresh(ksp_merbit *k, Mat A, const merbit_solver_desc *desc) {
  merbit_petsc_change change;
  merbit_view view;
  PetscErrorCode code = 0;
  PetscBool same, same_recipe;
  PetscFunctionBegin;
  PetscCall(merbit_petsc_open_solvers());
  PetscCall(merbit_petsc_open_csr(A, &k->stamp, &view, &change));
  PetscCall(PetscMemcmp(&k->made, desc, sizeof *desc, &same));
  PetscCall(PetscMemcmp(&k->made_with, &k->recipe, sizeof k->recipe, &same_recipe));
  if (!k->solver || !same || !same_recipe || change == CHANGED_STRUCTURE) {
    code = make(k, A, desc, &view);
  } else if (change == CHANGED_VALUES) {
    code = update(k, &view);
  }
  PetscCall(merbit_petsc_close_csr(A, &view));
  if (code) { /* it may have some of the new values */
    merbit_solver_destroy(k->solver);
    k->solver = NULL;
  }
  PetscCall(code);
  PetscFunctionReturn(0);
}

/* Solves A x = b from x, or from 0 if the guess of the KSP is zero. */
static PetscErrorCode solve_system(KSP ksp, Mat A, Vec b, Vec x) {
  ksp_merbit *k = (ksp_merbit *)ksp->data;
  merbit_solver_desc desc = k->desc;
  merbit_petsc_vectors v = {b, x, PETSC_TRUE, PETSC_FALSE, NULL, NULL, NULL};
  merbit_status status;
  MatInfo info;
  PetscFunctionBegin;
  desc.tolerance = (double)ksp->rtol;
  desc.max_iterations = (int)ksp->max_it;
  PetscCall(merbit_petsc_vectors_on_gpu(b, x, &v.on_gpu));
  desc.vector_memory = v.on_gpu ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
  if (v.on_gpu) {
    PetscCall(merbit_petsc_stream(&desc.stream));
  }
  desc.deterministic = merbit_petsc.deterministic;
  desc.expected_solves = SOLVES_EXPECTED;
  PetscCall(PetscLogEventBegin(merbit_petsc.solve, A, b, x, 0));
  PetscCall(refresh(k, A, &desc));
  PetscCall(merbit_petsc_vectors_open(&v));
  status = merbit_solver_solve(k->solver, v.from, v.to, ksp->guess_zero ? 0 : 1, k->history,
                               (int)ksp->max_it + 1, &k->result);
  PetscCall(merbit_petsc_vectors_close(&v));
  MERBIT_PETSC_CALL(merbit_petsc.solvers, status);
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info)); /* flops of the products only */
  PetscCall(PetscLogFlops((desc.method == MERBIT_SOLVER_BICGSTAB ? 4 : 2) * info.nz_used *
                          k->result.iterations));
  PetscCall(PetscLogEventEnd(merbit_petsc.solve, A, b, x, 0));
  PetscCall(
      PetscInfo(A, "merbit: %s; %s\n", k->result.description, k->result.plan_description));
  PetscFunctionReturn(0);
}

/* Computes the residual of the guess, for a solve that may not iterate: for merbit 0 iterations
 * mean its default. */
static PetscErrorCode judge_guess(KSP ksp, Mat A, PetscReal norm_of_b) {
  ksp_merbit *k = (ksp_merbit *)ksp->data;
  PetscReal norm;
  Vec r;
  PetscFunctionBegin;
  PetscCall(VecDuplicate(ksp->vec_rhs, &r));
  PetscCall(MatMult(A, ksp->vec_sol, r));
  PetscCall(VecAYPX(r, -1, ksp->vec_rhs));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, 0, norm));
  PetscCall(PetscMemzero(&k->result, sizeof k->result));
  PetscCall(PetscSNPrintf(k->result.description, sizeof k->result.description,
                          "-ksp_max_it is 0: the residual of the guess was computed"));
  ksp->its = 0;
  ksp->rnorm = norm;
  ksp->reason = PetscIsInfOrNanReal(norm)       ? KSP_DIVERGED_NANORINF
                : norm <= ksp->rtol * norm_of_b ? KSP_CONVERGED_RTOL
                                                : KSP_DIVERGED_ITS;
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
  const merbit_solver_result *result = &k->result;
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
  PetscCheck(ksp->rtol > 0, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_OUTOFRANGE,
             "-ksp_rtol is 0, which -ksp_type merbit does not take: it iterates until "
             "||b - A x|| <= rtol ||b||; give a number above 0, for example 1e-12");
  PetscCall(KSPGetOperators(ksp, &A, &P));
  PetscCall(take_preconditioner(ksp, A, P));
  PetscCall(VecNorm(ksp->vec_rhs, NORM_2, &norm));
  if (ksp->max_it == 0) {
    PetscCall(judge_guess(ksp, A, norm));
    PetscFunctionReturn(0);
  }
  PetscCall(PetscFree(k->history));
  PetscCall(PetscCalloc1(ksp->max_it + 1, &k->history));
  PetscCall(solve_system(ksp, A, ksp->vec_rhs, ksp->vec_sol));
  for (i = 0; i <= (PetscInt)result->iterations && i <= ksp->max_it; i++) {
    PetscCall(KSPLogResidualHistory(ksp, norm * (PetscReal)k->history[i]));
    PetscCall(KSPMonitor(ksp, i, norm * (PetscReal)k->history[i]));
  }
  ksp->its = (PetscInt)result->iterations;
  ksp->rnorm = norm * (PetscReal)result->residual;
  ksp->reason = reason_of(result->stop);
  PetscFunctionReturn(0);
}

/* Prints how the last solve ended, and the plan's description. */
static PetscErrorCode view(KSP ksp, PetscViewer viewer) {
  static const char *const names[] = {"not chosen", "CG", "BiCGSTAB", "GMRES"};
  const ksp_merbit *k = (const ksp_merbit *)ksp->data;
  PetscBool ascii;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii && k->solver) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  merbit's %s: %s\n", names[k->desc.method],
                                     k->result.description));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  products: %s\n", k->result.plan_description));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode reset(KSP ksp) {
  ksp_merbit *k = (ksp_merbit *)ksp->data;
  PetscFunctionBegin;
  merbit_solver_destroy(k->solver);
  k->solver = NULL;
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
  k->desc.method = MERBIT_SOLVER_GMRES; /* suits any matrix, and is PETSc's default */
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
