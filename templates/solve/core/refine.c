#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"
#include "solve/core/solver.h"
#include "solve/core/cpu_steps.h"

/* Iterative refinement: residuals are computed in f64. The inner solver, of the same method in
 * f32, finds the corrections; its products and vectors move half the bytes. */

/* The tolerance of a correction. f32 reaches it unless A is very ill-conditioned. */
#define MBI_REFINE_TOLERANCE 1e-4

#define MBS_VECTOR double
#define MBS_NAME(name, part) mbi_##name##part##_f64
#include "solve/core/refine_steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME
#define MBS_VECTOR float
#define MBS_NAME(name, part) mbi_##name##part##_f32
#include "solve/core/refine_steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME

static const mbi_step mbi_refine_steps[] = {
    MBI_STEP(solve_residual),
    MBI_STEP(solve_blocks),
    MBI_STEP(refine_down),
    MBI_STEP(refine_up),
};
enum { MBI_REFINE_RESIDUAL_STEP = 0, MBI_REFINE_BLOCKS_STEP, MBI_REFINE_DOWN, MBI_REFINE_UP };

/* Rounds values in host memory to f32, into solver->single_values. Inf and NaN stay, and end
 * the solve or the making of a preconditioner. So does a value that f32 cannot represent if the
 * blocks are in GPU memory, because the CPU cannot see there whether it is padding. */
static merbit_status mbi_refine_round_host(merbit_solver *solver, const void *values) {
  const double *from = (const double *)values;
  const merbit_view *view = &solver->view;
  const int64_t count = mbi_view_values(view);
  const int unseen = view->format == MERBIT_BSR && view->memory == MERBIT_MEMORY_DEVICE;
  int64_t k;
  if (solver->single_values == NULL) {
    MBI_TRY(mbi_allocate_array(solver->context, count, sizeof(float), "values in f32",
                               &solver->single_values));
  }
  for (k = 0; k < count; k++) {
    ((float *)solver->single_values)[k] = (float)from[k];
    if (fabs(from[k]) > FLT_MAX && fabs(from[k]) <= DBL_MAX && !unseen &&
        !mbi_value_is_padding(view, k)) {
      return mbi_fail(
          solver->context, MERBIT_NOT_SUPPORTED,
          "values[%" PRId64 "] is %g, which f32 cannot represent; set %s to 0", k, from[k],
          solver->desc.refine ? "solver_desc.refine" : "preconditioner_desc.single");
    }
  }
  return MERBIT_OK;
}

/* Rounds `count` values in GPU memory to solver->single_there, and waits. */
static merbit_status mbi_refine_shorten(merbit_solver *solver, const mbi_program *program,
                                        mbi_devptr values, uint64_t count) {
  merbit_context *context = solver->context;
  void *kernel = NULL;
  mbk_forms_shorten_arguments arguments;
  MBI_TRY(mbi_program_kernel(context, program, "mbk_forms_shorten", &kernel));
  arguments.values = values;
  arguments.nnz = count;
  arguments.wide = 1;
  arguments.half = 0;
  arguments.shorter = solver->single_there;
  MBI_TRY(mbi_device_launch(context, kernel, "mbk_forms_shorten", mbi_values_blocks(count), 256,
                            0, NULL, &arguments));
  return mbi_device_synchronize(context, NULL);
}

/* Rounds values in GPU memory to f32, into solver->single_there. The CUDA context must be
 * current. A value that f32 cannot represent becomes infinite; mbi_refine_holds finds it. */
static merbit_status mbi_refine_round_there(merbit_solver *solver, mbi_devptr values) {
  merbit_context *context = solver->context;
  const merbit_view *view = &solver->view;
  const uint64_t count = (uint64_t)mbi_view_values(view);
  mbi_preamble none;
  mbi_program program;
  merbit_status status;
  MBI_TRY(mbi_types_check_there(context, 0, MERBIT_F64, mbi_device_pointer(values)));
  if (solver->single_there == 0) {
    MBI_TRY(mbi_device_allocate(context, count * sizeof(float), "values in f32",
                                &solver->single_there));
  }
  memset(&none, 0, sizeof none);
  MBI_TRY(mbi_program_create(context, "spmv/stages/value_check.cu", &none, &program));
  status = mbi_refine_shorten(solver, &program, values, count);
  mbi_program_destroy(context, &program);
  return status;
}

/* Rounds the values to f32. `memory` says where they are; DEFAULT means where the matrix is.
 * *rounded points to the solver's own array in the same memory, and is NULL for a pattern. */
MBI_INTERNAL merbit_status mbi_refine_round(merbit_solver *solver, const void *values,
                                            merbit_memory memory, const void **rounded) {
  const int there = mbi_view_values_there(&solver->view, memory);
  merbit_status status;
  *rounded = NULL;
  if (values == NULL) {
    return MERBIT_OK;
  }
  if (!there) {
    status = mbi_refine_round_host(solver, values);
    *rounded = solver->single_values;
    return status;
  }
  MBI_TRY(mbi_device_enter(solver->context));
  status = mbi_refine_round_there(solver, mbi_device_address(values));
  mbi_device_leave(solver->context);
  *rounded = mbi_device_pointer(solver->single_there);
  return status;
}

/* Fails if the GPU has rounded a value that f32 cannot represent: the inner solver's norm is
 * then not finite. */
MBI_INTERNAL merbit_status mbi_refine_holds(merbit_solver *solver) {
  const double norm = solver->inner->norm;
  return norm - norm == 0
             ? MERBIT_OK
             : mbi_fail(solver->context, MERBIT_NOT_SUPPORTED,
                        "the matrix has a value that f32 cannot represent, or that "
                        "is not finite; set solver_desc.refine to 0");
}

/* Sets the matrix and the description of the inner solver, on the side of `solver`. */
MBI_INTERNAL merbit_status mbi_refine_describe(merbit_solver *solver, merbit_view *view,
                                               merbit_solver_desc *desc) {
  MBI_TRY(mbi_view_check_count(solver->context, &solver->view));
  *desc = solver->desc;
  *view = solver->view;
  view->value_type = MERBIT_F32;
  desc->refine = 0;
  desc->side = solver->side;
  desc->reorder = -1;
  desc->progress = NULL;
  desc->tolerance = MBI_REFINE_TOLERANCE;
  return mbi_refine_round(solver, solver->view.values, view->memory, &view->values);
}

/* Gives the steps of refinement access to b and x of the inner solver. */
static void mbi_refine_layout(merbit_solver *solver) {
  solver->v.at[MBI_REFINE_B] = solver->inner->v.at[MBI_AT_B];
  solver->v.at[MBI_REFINE_X] = solver->inner->v.at[MBI_AT_X];
}

/* Returns the merbit_stop, or MBI_SOLVE_ON if another correction follows. `last` is ||b - A
 * x||^2 before the last correction, or 0. */
static int mbi_refine_decide(merbit_solver *solver, double last) {
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  const double goal = solver->desc.tolerance * solver->desc.tolerance * state->bb;
  if (state->bb != 0 && (!(state->ww - state->ww == 0) || !(state->bb - state->bb == 0))) {
    return MERBIT_STOP_NOT_FINITE;
  }
  if (state->bb == 0 || state->ww <= goal) {
    return MERBIT_STOP_CONVERGED;
  }
  return solver->inner_iterations >= solver->desc.max_iterations ? MERBIT_STOP_CAP
         : last > 0 && state->ww > 0.25 * last                   ? MERBIT_STOP_STAGNATED
                                                                 : MBI_SOLVE_ON;
}

/* Tells the callback of the solver `user` of an iteration of a correction. Its residual,
 * relative to the correction's right-hand side, becomes relative to b. */
static int mbi_refine_progress(void *user, int iteration, double residual, double seconds) {
  merbit_solver *solver = (merbit_solver *)user;
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  (void)seconds; /* since the correction began */
  solver->cancelled |=
      solver->desc.progress(solver->desc.progress_user, solver->inner_iterations + iteration,
                            residual * mbi_solve_ratio(state, state->ww),
                            mbi_seconds() - solver->started) != 0;
  return solver->cancelled;
}

/* Computes one correction, or a part of it if the user cancels, and adds it to x. If there is
 * none, sets *stop. */
static merbit_status mbi_refine_correct(merbit_solver *solver, int *stop) {
  merbit_solver *inner = solver->inner;
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  const double ratio = mbi_solve_ratio(state, state->ww);
  const double left = 0.5 * solver->desc.tolerance / ratio;
  const int first = solver->inner_iterations;
  const int entries = solver->history_size > first ? solver->history_size - first : 0;
  const mbi_solve_state *iterated = &mbi_solve_checked(inner)->state;
  int ended = MBI_SOLVE_ON, done, k;
  MBI_TRY(mbi_solve_step(solver, MBI_REFINE_DOWN));
  mbi_solver_reset(inner, entries > 0 ? solver->history + first : NULL, entries);
  inner->desc.tolerance = left > MBI_REFINE_TOLERANCE ? left : MBI_REFINE_TOLERANCE;
  inner->desc.max_iterations = solver->desc.max_iterations - first;
  inner->desc.progress = solver->desc.progress != NULL ? mbi_refine_progress : NULL;
  inner->desc.progress_user = solver;
  MBI_TRY(mbi_solve_zero(inner, inner->v.at[MBI_AT_X], mbi_solve_bytes(inner)));
  MBI_TRY(mbi_solve_loop(inner, 1, &ended));
  done = iterated->iterations;
  for (k = 0; k <= done && k < entries; k++) {
    solver->history[first + k] *= ratio;
  }
  solver->inner_iterations += done;
  solver->restarts += inner->restarts + mbi_gmres_restarts(inner, iterated);
  solver->synchronizations += inner->synchronizations;
  if (ended == MERBIT_STOP_NOT_FINITE || (ended == MERBIT_STOP_BREAKDOWN && done == 0)) {
    *stop = ended;
    return MERBIT_OK;
  }
  return mbi_solve_step(solver, MBI_REFINE_UP);
}

/* Corrects x until the solve ends, and sets *stop as mbi_solve_loop does. */
MBI_INTERNAL merbit_status mbi_refine_loop(merbit_solver *solver, int x_zero, int *stop) {
  double last = 0;
  solver->inner_iterations = 0;
  *stop = MBI_SOLVE_ON;
  MBI_TRY(mbi_solve_prepare_round(solver, MBI_OPEN_BEGIN, 0));
  MBI_TRY(mbi_solve_read_residual(solver, x_zero));
  for (;;) {
    const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
    if (mbi_scale_rhs_needed(solver, state)) {
      *stop = MBI_SOLVE_SCALE_RHS;
      return MERBIT_OK;
    }
    if (solver->inner_iterations < solver->history_size) {
      solver->history[solver->inner_iterations] = mbi_solve_ratio(state, state->ww);
    }
    *stop =
        mbi_refine_decide(solver, solver->cancelled ? 0 : last); /* a part may gain little */
    if (solver->desc.progress != NULL && !solver->cancelled) {
      (void)mbi_refine_progress(solver, 0, 1, 0);
    }
    if (solver->cancelled && *stop == MBI_SOLVE_ON) {
      *stop = MERBIT_STOP_CANCELLED;
    }
    if (*stop != MBI_SOLVE_ON) {
      return MERBIT_OK;
    }
    solver->restarts += last > 0;
    last = state->ww;
    MBI_TRY(mbi_refine_correct(solver, stop));
    MBI_TRY(mbi_solve_read_residual(solver, 0));
    if (*stop != MBI_SOLVE_ON) {
      return MERBIT_OK;
    }
  }
}

/* The steps between two corrections, as a method without iterations of its own. */
MBI_INTERNAL const mbi_solve_method mbi_refine_method = {
    "refinement",
    "solve/core/refine.cu",
    mbi_refine_steps,
    (int)(sizeof mbi_refine_steps / sizeof mbi_refine_steps[0]),
    0,
    0,
    mbi_refine_layout,
    NULL,
    NULL,
    {NULL, NULL}};
