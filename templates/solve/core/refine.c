#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/stages/stages.h"
#include "solve/core/solver.h"
#include "solve/core/cpu_steps.h"

/* Refinement: residuals in f64, corrections by a solver of the same method in f32, whose
 * products and vectors move half the bytes. */
#define MBI_REFINE_TOLERANCE                                                                   \
  1e-4 /* of a correction: f32 gets there for all but wild matrices */

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
enum {
  MBI_REFINE_RESIDUAL_STEP = 0,
  MBI_REFINE_BLOCKS_STEP,
  MBI_REFINE_DOWN,
  MBI_REFINE_UP
};

/* The values of a host view in f32, in host memory. */
static merbit_status mbi_refine_round_host(merbit_solver *solver, const void *values) {
  const double *from = (const double *)values;
  const int64_t count = mbi_view_values(&solver->view);
  void *memory = solver->single_values;
  merbit_status status = MERBIT_OK;
  int64_t k;
  if (memory == NULL) {
    status =
        mbi_allocate_array(solver->context, count, sizeof(float), "values in f32", &memory);
    solver->single_values = memory;
  }
  for (k = 0; k < count && status == MERBIT_OK; k++) {
    ((float *)memory)[k] = (float)from[k];
    if (fabs(from[k]) > FLT_MAX) {
      return mbi_fail(solver->context, MERBIT_NOT_SUPPORTED,
                      "values[%" PRId64
                      "] is %g, which f32 does not hold; set solver_desc.refine to 0",
                      k, from[k]);
    }
  }
  return status;
}

/* Values in GPU memory in f32, there; in an entered context. What f32 does not hold becomes
 * infinite: mbi_refine_holds. */
static merbit_status mbi_refine_round_there(merbit_solver *solver, mbi_devptr values) {
  merbit_context *context = solver->context;
  const merbit_view *view = &solver->view;
  uint64_t count = (uint64_t)mbi_view_values(view);
  uint32_t wide = 1, half = 0;
  void *kernel = NULL, *arguments[5];
  mbi_program program;
  merbit_status status = MERBIT_OK;
  if (solver->single_there == 0) {
    status = mbi_device_allocate(context, count * sizeof(float), "values in f32",
                                 &solver->single_there);
  }
  if (status == MERBIT_OK) {
    status =
        mbi_arrays_program(context, view->offset_type, view->index_type, view->base, &program);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  arguments[0] = &values;
  arguments[1] = &count;
  arguments[2] = &wide;
  arguments[3] = &half;
  arguments[4] = &solver->single_there;
  status = mbi_program_kernel(context, &program, "mbk_forms_shorten", &kernel);
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, kernel, "mbk_forms_shorten", mbi_values_blocks(count),
                               256, 0, NULL, arguments);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_synchronize(context, NULL);
  }
  mbi_program_destroy(context, &program);
  return status;
}

/* The values, where `memory` says they are (DEFAULT: where the matrix is), in f32; *rounded
 * stays NULL for a pattern. */
MBI_INTERNAL merbit_status mbi_refine_round(merbit_solver *solver, const void *values,
                                            merbit_memory memory, const void **rounded) {
  const int there =
      memory == MERBIT_MEMORY_DEVICE ||
      (memory == MERBIT_MEMORY_DEFAULT && solver->view.memory == MERBIT_MEMORY_DEVICE);
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
  status = mbi_device_enter(solver->context);
  if (status == MERBIT_OK) {
    status = mbi_refine_round_there(solver, mbi_device_address(values));
    mbi_device_leave(solver->context);
  }
  *rounded = mbi_device_pointer(solver->single_there);
  return status;
}

/* Whether f32 has room for the values that the GPU has rounded. */
MBI_INTERNAL merbit_status mbi_refine_holds(merbit_solver *solver) {
  const double norm = solver->inner->norm;
  return norm - norm == 0 ? MERBIT_OK
                          : mbi_fail(solver->context, MERBIT_NOT_SUPPORTED,
                                     "the matrix has a value that f32 does not hold, or that "
                                     "is not finite; set solver_desc.refine to 0");
}

/* Sets what the solver of corrections is made from, on the side of `solver`. */
MBI_INTERNAL merbit_status mbi_refine_describe(merbit_solver *solver, merbit_view *view,
                                               merbit_solver_desc *desc) {
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

static void mbi_refine_layout(merbit_solver *solver) {
  solver->v.at[MBI_REFINE_B] = solver->inner->v.at[MBI_AT_B];
  solver->v.at[MBI_REFINE_X] = solver->inner->v.at[MBI_AT_X];
}

/* b - A x, and what the host wants to know of it. */
static merbit_status mbi_refine_residual(merbit_solver *solver, int x_zero) {
  const merbit_status status = mbi_solve_residual(solver, x_zero);
  if (status != MERBIT_OK || !mbi_solve_on_gpu(solver)) {
    return status;
  }
  solver->synchronizations++;
  return mbi_solve_download(solver, &solver->seen, solver->memory, sizeof solver->seen);
}

/* As mbi_solve_decide; `last`: ||b - A x||^2 before the last correction, or 0. */
static int mbi_refine_decide(merbit_solver *solver, double last) {
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  const double goal = solver->desc.tolerance * solver->desc.tolerance * state->bb;
  if (!(state->ww - state->ww == 0) || !(state->bb - state->bb == 0)) {
    return MERBIT_STOP_NOT_FINITE;
  }
  if (state->bb == 0 || state->ww <= goal) {
    return MERBIT_STOP_CONVERGED;
  }
  if (last > 0 && state->ww > 0.25 * last) {
    return MERBIT_STOP_STAGNATED;
  }
  return solver->inner_iterations >= solver->desc.max_iterations ? MERBIT_STOP_CAP
                                                                 : MBI_SOLVE_ON;
}

/* One correction of x; *stop where there can be none. */
static merbit_status mbi_refine_correct(merbit_solver *solver, int *stop) {
  merbit_solver *inner = solver->inner;
  const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
  const double ratio = mbi_solve_ratio(state, state->ww);
  const double left = 0.5 * solver->desc.tolerance / ratio;
  const int first = solver->inner_iterations;
  const int room = solver->history_size > first ? solver->history_size - first : 0;
  int ended = MBI_SOLVE_ON, done, k;
  merbit_status status = mbi_solve_step(solver, MBI_REFINE_DOWN);
  mbi_solver_reset(inner, room > 0 ? solver->history + first : NULL, room);
  inner->desc.tolerance = left > MBI_REFINE_TOLERANCE ? left : MBI_REFINE_TOLERANCE;
  inner->desc.max_iterations = solver->desc.max_iterations - first;
  if (status == MERBIT_OK) {
    status = mbi_solve_zero(inner, inner->v.at[MBI_AT_X], mbi_solve_bytes(inner));
  }
  if (status == MERBIT_OK) {
    status = mbi_solve_loop(inner, 1, &ended);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  done = mbi_solve_checked(inner)->state.iterations;
  for (k = 0; k <= done && k < room; k++) {
    solver->history[first + k] *= ratio;
  }
  solver->inner_iterations += done;
  solver->synchronizations += inner->synchronizations;
  if (ended == MERBIT_STOP_NOT_FINITE || (ended == MERBIT_STOP_BREAKDOWN && done == 0)) {
    *stop = ended;
    return MERBIT_OK;
  }
  return mbi_solve_step(solver, MBI_REFINE_UP);
}

/* mbi_solve_loop for a solver that refines. */
MBI_INTERNAL merbit_status mbi_refine_loop(merbit_solver *solver, int x_zero, int *stop) {
  const merbit_solver_desc *desc = &solver->desc;
  double last = 0;
  merbit_status status = mbi_solve_prepare_round(solver, MBI_OPEN_BEGIN, 0);
  solver->inner_iterations = 0;
  *stop = MBI_SOLVE_ON;
  if (status == MERBIT_OK) {
    status = mbi_refine_residual(solver, x_zero);
  }
  while (status == MERBIT_OK) {
    const mbi_solve_state *state = &mbi_solve_checked(solver)->state;
    if (mbi_scale_rhs_needed(solver, state)) {
      *stop = MBI_SOLVE_SCALE_RHS;
      break;
    }
    *stop = mbi_refine_decide(solver, last);
    if (desc->progress != NULL &&
        desc->progress(desc->progress_user, solver->inner_iterations,
                       mbi_solve_ratio(state, state->ww),
                       mbi_seconds() - solver->started) != 0 &&
        *stop == MBI_SOLVE_ON) {
      *stop = MERBIT_STOP_CANCELLED;
    }
    if (*stop != MBI_SOLVE_ON) {
      break;
    }
    solver->restarts += last > 0;
    last = state->ww;
    status = mbi_refine_correct(solver, stop);
    if (status == MERBIT_OK) {
      const int ended = *stop;
      status = mbi_refine_residual(solver, 0);
      if (ended != MBI_SOLVE_ON) {
        break;
      }
    }
  }
  return status;
}

/* What is between corrections in f32: it has no iterations of its own. */
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
