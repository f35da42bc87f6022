#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/core/solver.h"
#include "solve/precondition/precondition.h"

/* Checks of solver_desc. */

static merbit_status mbi_solver_check_numbers(merbit_context *context,
                                              const merbit_solver_desc *desc) {
  if (desc->tolerance != 0 && !(desc->tolerance > 0 && desc->tolerance < 1)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.tolerance is %g; use a number between 0 and 1, or 0 for the "
                    "default",
                    desc->tolerance);
  }
  if (desc->max_iterations < 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.max_iterations is %d; use 0 for the default",
                    desc->max_iterations);
  }
  if (desc->expected_solves < 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.expected_solves is %" PRId64 "; use 0 for one",
                    desc->expected_solves);
  }
  if (desc->vectors < 0 || desc->vectors > MBI_MANY_MOST) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.vectors is %d; use 1 to %d, or 0 for one", desc->vectors,
                    MBI_MANY_MOST);
  }
  if (desc->reorder < -1 || desc->reorder > 1) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.reorder is %d; use 1 for always, -1 for never, or 0 for if it "
                    "pays",
                    desc->reorder);
  }
  if (desc->vectors > 1 &&
      (desc->method != MERBIT_SOLVER_CG || desc->refine || desc->reorder > 0)) {
    return mbi_fail(
        context, MERBIT_NOT_SUPPORTED,
        "solver_desc.vectors is %d, which takes MERBIT_SOLVER_CG without refine and "
        "without reorder; set it to 0, and merbit_solver_solve_many solves for one "
        "right-hand side after the other",
        desc->vectors);
  }
  if ((int)desc->side < MERBIT_SIDE_AUTO || (int)desc->side > MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.side is %d; use MERBIT_SIDE_AUTO, MERBIT_SIDE_CPU or "
                    "MERBIT_SIDE_CUDA",
                    (int)desc->side);
  }
  if ((int)desc->vector_memory < MERBIT_MEMORY_DEFAULT ||
      (int)desc->vector_memory > MERBIT_MEMORY_DEVICE) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.vector_memory is %d; use MERBIT_MEMORY_DEFAULT, "
                    "MERBIT_MEMORY_HOST or MERBIT_MEMORY_DEVICE",
                    (int)desc->vector_memory);
  }
  return MERBIT_OK;
}

static merbit_status mbi_solver_check_method(merbit_context *context,
                                             const merbit_solver_desc *desc) {
  if (mbi_solve_method_of(desc->method) == NULL) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "solver_desc.method is %d; choose MERBIT_SOLVER_CG for a symmetric positive "
        "definite matrix, else MERBIT_SOLVER_BICGSTAB or MERBIT_SOLVER_GMRES",
        (int)desc->method);
  }
  if ((int)desc->preconditioner < MERBIT_PRECONDITIONER_NONE ||
      (int)desc->preconditioner > MERBIT_PRECONDITIONER_AMG) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.preconditioner is %d; use MERBIT_PRECONDITIONER_NONE or "
                    "another merbit_preconditioner_kind",
                    (int)desc->preconditioner);
  }
  if (desc->preconditioner == MERBIT_PRECONDITIONER_CALLBACK && desc->apply == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.preconditioner is MERBIT_PRECONDITIONER_CALLBACK, but "
                    "solver_desc.apply is NULL; give the function");
  }
  if (desc->preconditioner != MERBIT_PRECONDITIONER_CALLBACK && desc->apply != NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.apply is given, but solver_desc.preconditioner is %s; use "
                    "MERBIT_PRECONDITIONER_CALLBACK, or set apply to NULL",
                    mbi_precondition_name(desc->preconditioner));
  }
  if (desc->block_size < 0 || desc->block_size > MBI_SOLVE_BLOCK_MOST) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.block_size is %d; use 1 to %d, or 0 for 4", desc->block_size,
                    MBI_SOLVE_BLOCK_MOST);
  }
  if (desc->preconditioner != MERBIT_PRECONDITIONER_BLOCK_JACOBI && desc->block_size > 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.block_size is %d, but solver_desc.preconditioner is %s; use "
                    "MERBIT_PRECONDITIONER_BLOCK_JACOBI, or set block_size to 0",
                    desc->block_size, mbi_precondition_name(desc->preconditioner));
  }
  if (desc->refine &&
      (desc->preconditioner == MERBIT_PRECONDITIONER_CALLBACK || desc->reorder > 0)) {
    return mbi_fail(
        context, MERBIT_NOT_SUPPORTED,
        "solver_desc.refine is set together with %s, which it does not support; set "
        "refine to 0",
        desc->reorder > 0 ? "solver_desc.reorder 1" : "MERBIT_PRECONDITIONER_CALLBACK");
  }
  return mbi_gmres_check(context, desc);
}

/* Returns whether the preconditioner is an object, and not part of the solver's steps. */
MBI_INTERNAL int mbi_solver_makes_object(const merbit_solver_desc *desc) {
  const merbit_preconditioner_desc *own = desc->precondition;
  return desc->preconditioner > MERBIT_PRECONDITIONER_CALLBACK ||
         (own != NULL && (own->single || own->singular));
}

/* Returns the options of a preconditioner object, with the solver's kind and side. */
MBI_INTERNAL merbit_preconditioner_desc mbi_solver_object(const merbit_solver_desc *desc,
                                                          merbit_side side) {
  merbit_preconditioner_desc own;
  memset(&own, 0, sizeof own);
  if (desc->precondition != NULL) {
    own = *desc->precondition;
  }
  own.kind = desc->preconditioner;
  own.side = side;
  own.block_size = desc->block_size > 0 ? desc->block_size : own.block_size;
  own.deterministic = own.deterministic || desc->deterministic;
  return own;
}

/* Checks solver_desc.precondition, and the options of a preconditioner that is an object. */
static merbit_status mbi_solver_check_object(merbit_context *context, const merbit_view *view,
                                             const merbit_solver_desc *desc) {
  const merbit_preconditioner_kind kind = desc->preconditioner;
  const merbit_preconditioner_desc *given = desc->precondition;
  merbit_preconditioner_desc own;
  if (given != NULL &&
      (kind == MERBIT_PRECONDITIONER_NONE || kind == MERBIT_PRECONDITIONER_CALLBACK)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.precondition is given, but solver_desc.preconditioner is %s, "
                    "which has no options; set the kind there, or precondition to NULL",
                    mbi_precondition_name(kind));
  }
  if (given != NULL && given->kind != MERBIT_PRECONDITIONER_NONE && given->kind != kind) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.precondition is of kind %d, but solver_desc.preconditioner is "
                    "%s, %d; make them equal, or set the kind of precondition to 0",
                    (int)given->kind, mbi_precondition_name(kind), (int)kind);
  }
  if (given != NULL && given->block_size > 0 && desc->block_size > 0 &&
      given->block_size != desc->block_size) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.block_size is %d, but its precondition's is %d; set one to 0",
                    desc->block_size, given->block_size);
  }
  if (desc->reorder > 0 &&
      (kind > MERBIT_PRECONDITIONER_JACOBI || mbi_solver_makes_object(desc))) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "solver_desc.reorder moves rows, which preconditioners know by their "
                    "numbers; set it to -1, or use MERBIT_PRECONDITIONER_JACOBI without "
                    "solver_desc.precondition");
  }
  if (desc->reorder > 0 && view->format == MERBIT_BSR) {
    return mbi_fail(
        context, MERBIT_NOT_SUPPORTED,
        "solver_desc.reorder moves single rows, which would break the view's blocks "
        "apart; set it to -1, or use a CSR or COO view");
  }
  own = mbi_solver_object(desc, MERBIT_SIDE_AUTO);
  if (own.singular && desc->refine) {
    return mbi_fail(
        context, MERBIT_NOT_SUPPORTED,
        "solver_desc.refine is set together with preconditioner_desc.singular, which "
        "it does not support; set refine to 0");
  }
  return given != NULL || mbi_solver_makes_object(desc)
             ? mbi_precondition_check(context, view, &own)
             : MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_solver_check(merbit_context *context, const merbit_view *view,
                                            const merbit_solver_desc *desc) {
  MBI_TRY(mbi_view_check_header(context, view));
  if (!mbi_type_plain(mbi_view_type(view))) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "the matrix's value_type is %s; solvers take MERBIT_F64 and MERBIT_F32",
                    mbi_type_names[mbi_view_type(view)]);
  }
  if (view->rows != view->cols) {
    return mbi_fail(context, MERBIT_INVALID_MATRIX,
                    "the matrix is %" PRId64 " x %" PRId64 "; a solver takes square ones",
                    view->rows, view->cols);
  }
  if (desc->refine && mbi_view_type(view) != MERBIT_F64) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "solver_desc.refine is set, but the matrix's value_type is MERBIT_F32; "
                    "refine needs MERBIT_F64, or set it to 0");
  }
  MBI_TRY(mbi_solver_check_method(context, desc));
  MBI_TRY(mbi_solver_check_object(context, view, desc));
  return mbi_solver_check_numbers(context, desc);
}
