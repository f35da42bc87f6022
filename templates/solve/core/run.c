#include "core/context.h"
#include "jit/jit.h"
#include "spmv/plan/plan.h"
#include "solve/core/solver.h"
#include "solve/precondition/precondition.h"

/* Steps, products and preconditioners of a solver. The GPU's are enqueued, the CPU's run at
 * once. */

/* Runs the step at `index` of the method's table, for all right-hand sides of solver->many. */
MBI_INTERNAL merbit_status mbi_solve_step(merbit_solver *solver, int index) {
  const mbi_step *step = &solver->method->steps[index];
  const int columns = mbi_solve_columns(solver);
  int64_t n = solver->n;
  mbk_solve_step_arguments arguments;
  if (!mbi_solve_on_gpu(solver)) {
    const merbit_solver *of = solver->count > 0 ? solver->columns : solver;
    int c;
    for (c = 0; c < columns; c++) {
      mbi_step_run(solver->context, step->code[solver->type == MERBIT_F32], &of[c].v, n,
                   of[c].memory, of[c].partials);
    }
    return MERBIT_OK;
  }
  arguments.v = solver->v;
  arguments.n = n;
  arguments.m = mbi_device_address(solver->memory);
  arguments.partials = mbi_device_address(solver->partials);
  return mbi_device_launch(solver->context, solver->gpu.kernels[index], step->kernel,
                           (int64_t)mbi_solve_blocks(solver) * columns,
                           mbi_solve_threads(solver), MBI_STEP_SHARED, solver->gpu.stream,
                           &arguments);
}

/* Launches the fused vector kernel at `index` of the method's list: the sums of the previous
 * product and all steps up to the next one. solver->gpu.fused_blocks must be positive. */
MBI_INTERNAL merbit_status mbi_solve_fused(merbit_solver *solver, int index) {
  mbk_solve_step_arguments arguments;
  arguments.v = solver->v;
  arguments.n = solver->n;
  arguments.m = mbi_device_address(solver->memory);
  arguments.partials = mbi_device_address(solver->partials);
  return mbi_device_launch_some(solver->context, solver->gpu.fused[index],
                                solver->method->fused[index], solver->gpu.fused_blocks,
                                mbi_solve_threads(solver), MBI_STEP_SHARED, solver->gpu.stream,
                                &arguments, 0, MBI_LAUNCH_COOPERATIVE);
}

/* Multiplies with the plan's epilogue. `sums` and `skip` may be NULL. */
MBI_NOINLINE static merbit_status mbi_solve_multiply(merbit_solver *solver, int from, int to,
                                                     int with, double *sums, const int *skip) {
  const void *vectors[1];
  vectors[0] = solver->v.at[with];
  return mbi_spmv_epilogue(solver->plan, NULL, solver->v.at[from], solver->v.at[to], vectors,
                           NULL, sums, skip, solver->gpu.stream);
}

/* Computes v[to] = A v[from], even if the solver has stopped. */
MBI_INTERNAL merbit_status mbi_solve_product(merbit_solver *solver, int from, int to) {
  return solver->method->sums == 0 ? merbit_spmv(solver->plan, NULL, NULL, solver->v.at[from],
                                                 NULL, solver->v.at[to], solver->gpu.stream)
                                   : mbi_solve_multiply(solver, from, to, from, NULL, NULL);
}

/* Computes v[to] = A v[from] for a fused kernel, or nothing once the solver has stopped.
 * method->sums must be positive. */
MBI_INTERNAL merbit_status mbi_solve_product_unless_stopped(merbit_solver *solver, int from,
                                                            int to) {
  return mbi_solve_multiply(solver, from, to, from, NULL, &solver->memory->state.stop);
}

/* Computes v[to] = A v[from] and state.product_sums: v[with]'v[to], and ||v[to]||^2 if
 * method->sums is 2. Does nothing once the solver has stopped. */
MBI_INTERNAL merbit_status mbi_solve_product_sums(merbit_solver *solver, int from, int to,
                                                  int with) {
  mbi_solve_state *state = &solver->memory->state;
  return mbi_solve_multiply(solver, from, to, with, state->product_sums, &state->stop);
}

/* Prepares a round of `span` iterations by running mbi_solve_open on the solver's side. `how`
 * is an MBI_OPEN value. */
MBI_INTERNAL merbit_status mbi_solve_prepare_round(merbit_solver *solver, int how, int span) {
  double tolerance = solver->desc.tolerance;
  double epsilon = solver->type == MERBIT_F32 ? FLT_EPSILON : DBL_EPSILON;
  int cap = solver->desc.max_iterations;
  mbk_solve_open_arguments arguments;
  if (!mbi_solve_on_gpu(solver)) {
    mbi_solve_open(solver->memory, how, span, cap, tolerance, solver->shrink, epsilon);
    return MERBIT_OK;
  }
  arguments.m = mbi_device_address(solver->memory);
  arguments.how = how;
  arguments.span = span;
  arguments.cap = cap;
  arguments.tolerance = tolerance;
  arguments.shrink = solver->shrink;
  arguments.epsilon = epsilon;
  return mbi_device_launch(solver->context, solver->gpu.open, "mbk_solve_open", 1, 1, 0,
                           solver->gpu.stream, &arguments);
}

/* Computes b - A x into MBI_AT_W, and the norms for a convergence check. `x_zero` says that x
 * is zero, so that A x need not be computed. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_solve_residual(merbit_solver *solver, int x_zero) {
  MBI_TRY(x_zero ? mbi_solve_zero(solver, solver->v.at[MBI_AT_W], mbi_solve_bytes(solver))
                 : mbi_solve_product(solver, MBI_AT_X, MBI_AT_W));
  return mbi_solve_step(solver, MBI_STEP_RESIDUAL);
}

/* ---- The GPU's program ------------------------------------------------------------------- */

/* Sets the macros that the kernels of a solver need. */
MBI_INTERNAL void mbi_solve_preamble(merbit_type type, mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_VECTOR", type == MERBIT_F32 ? "float" : "double");
}

/* Loads the fused kernels and sets gpu.fused_blocks. They are used only if the driver confirms
 * that all their blocks can be resident at once, and if the preconditioner needs no step of its
 * own. */
static merbit_status mbi_solve_find_fused(merbit_solver *solver) {
  merbit_context *context = solver->context;
  const mbi_device *device = &context->device;
  const int blocks = mbi_solve_blocks(solver);
  int fits = 1, i;
  if (solver->method->fused[0] == NULL || solver->v.pre == MBI_PRE_SEPARATE || blocks == 0 ||
      !device->cooperative) {
    return MERBIT_OK;
  }
  for (i = 0; i < MBI_SOLVE_FUSED_KERNELS && solver->method->fused[i] != NULL; i++) {
    const char *name = solver->method->fused[i];
    void **kernel = &solver->gpu.fused[i];
    int resident = 0;
    mbi_curesult result;
    MBI_TRY(mbi_program_kernel(context, &solver->gpu.program, name, kernel));
    result = device->driver.occupancy(&resident, *kernel, MBI_STEP_THREADS, MBI_STEP_SHARED);
    if (mbi_device_mark_lost(context, result)) {
      return mbi_device_alive(context);
    }
    fits = fits && result == 0 && (int64_t)resident * device->multiprocessors >= blocks;
  }
  solver->gpu.fused_blocks = fits ? blocks : 0;
  return MERBIT_OK;
}

/* Compiles the method's program and loads its kernels. */
MBI_INTERNAL merbit_status mbi_solve_specialise(merbit_solver *solver) {
  merbit_context *context = solver->context;
  const mbi_solve_method *method = solver->method;
  mbi_preamble preamble;
  int i;
  mbi_solve_preamble(solver->type, &preamble);
  if (solver->count > 0) {
    mbi_preamble_define_int(&preamble, "MBK_STEP_COLUMNS", solver->count);
  }
  MBI_TRY(mbi_program_create(context, method->file, &preamble, &solver->gpu.program));
  for (i = 0; i < method->step_count; i++) {
    MBI_TRY(mbi_program_kernel(context, &solver->gpu.program, method->steps[i].kernel,
                               &solver->gpu.kernels[i]));
  }
  MBI_TRY(
      mbi_program_kernel(context, &solver->gpu.program, "mbk_solve_open", &solver->gpu.open));
  return mbi_solve_find_fused(solver);
}

/* Applies the preconditioner as a step of its own: v[z] = M^-1 v[r]. v.pre must be
 * MBI_PRE_SEPARATE. */
MBI_INTERNAL merbit_status mbi_solve_apply(merbit_solver *solver, int r, int z) {
  const merbit_solver_desc *desc = &solver->desc;
  if (solver->precondition != NULL) {
    return solver->precondition->method->apply(solver->precondition, solver->v.at[r],
                                               solver->v.at[z], solver->gpu.stream);
  }
  if (desc->preconditioner != MERBIT_PRECONDITIONER_CALLBACK) {
    solver->v.from = r;
    solver->v.to = z;
    return mbi_solve_step(solver, MBI_STEP_BLOCKS);
  }
  return desc->apply(desc->apply_user, solver->v.at[r], solver->v.at[z], solver->n,
                     solver->gpu.stream) == 0
             ? MERBIT_OK
             : mbi_fail(solver->context, MERBIT_CANCELLED,
                        "solver_desc.apply, the preconditioner, asked to stop");
}

/* Returns whether the preconditioner is a step of its own: neither NONE nor part of others. */
MBI_INTERNAL int mbi_solve_separate_preconditioner(const merbit_solver *solver) {
  return solver->v.pre == MBI_PRE_SEPARATE;
}

/* Returns `advice`, which is to set preconditioner_desc.singular, or "" if that is set. */
MBI_INTERNAL const char *mbi_solve_unless_singular(const merbit_solver *solver,
                                                   const char *advice) {
  return solver->precondition != NULL && solver->precondition->desc.singular ? "" : advice;
}
