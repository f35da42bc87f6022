#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/cpu/cpu.h"
#include "spmv/plan/plan.h"
#include "solve/core/solver.h"
#include "solve/precondition/precondition.h"

/* Creation, update and destruction of solvers: the parts that all solves share. */

/* Returns whether to multiply in reverse Cuthill-McKee order; vectors are then permuted once
 * per solve. Finding the order takes as long as some thousands of products, so it pays only for
 * many solves, and only if x is too large for the caches. Blocks and callbacks need the
 * caller's order. */
static int mbi_solver_reorders(const merbit_solver *solver) {
  const merbit_solver_desc *desc = &solver->desc;
  if (desc->reorder == 0) {
    return solver->n >= MBI_SOLVER_REORDER_ROWS && desc->vectors <= 1 &&
           desc->expected_solves >= MBI_SOLVER_REORDER_SOLVES &&
           solver->view.format != MERBIT_BSR && solver->v.pre != MBI_PRE_SEPARATE;
  }
  return desc->reorder > 0;
}

/* Returns whether this solver itself runs CG, not refinement or Lanczos. */
static int mbi_solver_is_cg(const merbit_solver *solver) {
  return solver->method == mbi_solve_method_of(MERBIT_SOLVER_CG);
}

/* Returns the number of products that the plan should expect. */
static int mbi_solver_products(const merbit_solver *solver) {
  const int64_t solves = solver->desc.expected_solves != 0 ? solver->desc.expected_solves : 1;
  return solves <= INT32_MAX / MBI_SOLVER_PRODUCTS ? (int)solves * MBI_SOLVER_PRODUCTS
                                                   : INT32_MAX;
}

/* Creates the plan of the products. */
static merbit_status mbi_solver_make_plan(merbit_solver *solver) {
  merbit_plan_desc desc;
  mbi_plan_making making;
  merbit_epilogue sums;
  memset(&making, 0, sizeof making);
  making.dots = making.stops = mbi_solver_is_cg(solver);
  making.unsynchronised = making.interleaved = 1;
  making.checked = mbi_setup_on_gpu(solver, &solver->view) ? mbi_setup_when_checked : NULL;
  making.maker = solver;
  making.arena = &solver->gpu.arena;
  memset(&desc, 0, sizeof desc);
  memset(&sums, 0, sizeof sums);
  sums.sums[0] = "v0 * ax";
  sums.sums[1] = solver->method->sums > 1 ? "ax * ax" : NULL;
  sums.vectors = 1;
  desc.epilogue = solver->method->sums > 0 ? &sums : NULL;
  desc.side = solver->side;
#ifdef MERBIT_STUDY_METHODS
  desc.method = solver->desc.product;
#endif
  desc.deterministic = solver->desc.deterministic;
  desc.reordering =
      mbi_solver_reorders(solver) ? MERBIT_REORDERING_RCM : MERBIT_REORDERING_NONE;
  desc.expected_calls = mbi_solver_products(solver);
  return mbi_plan_create(solver->context, &solver->view, &desc, &making, &solver->plan);
}

/* Releases everything that mbi_solver_make has made, so that it can be called again. */
static void mbi_solver_release_parts(merbit_solver *solver) {
  merbit_context *context = solver->context;
  merbit_preconditioner_destroy(solver->precondition);
  solver->precondition = NULL;
  if (solver->inner != NULL) { /* both share its stream, which is idle by now */
    merbit_solver_destroy(solver->inner);
    solver->inner = NULL;
    solver->gpu.stream = NULL;
  }
  if (mbi_solve_on_gpu(solver) && mbi_device_enter_alive(context)) {
    mbi_setup_release(solver);
    mbi_recorded_destroy(solver);
    mbi_program_destroy(context, &solver->gpu.program);
    mbi_device_leave(context);
  }
  if (solver->many != NULL) {
    mbi_release(context, solver->many->columns);
    solver->many->gpu.stream = NULL; /* the solver's stream, idle by now */
    merbit_solver_destroy(solver->many);
    solver->many = NULL;
  }
  merbit_plan_destroy(solver->plan); /* the plan has arrays in the arena */
  solver->plan = NULL;
  if (!mbi_solve_on_gpu(solver)) {
    mbi_solve_release_memory(solver);
  }
  if ((mbi_solve_on_gpu(solver) || solver->single_there != 0) &&
      mbi_device_enter_alive(context)) {
    if (mbi_solve_on_gpu(solver)) {
      mbi_solve_release_memory(solver);
    }
    mbi_device_release(context, solver->single_there);
    mbi_device_leave(context);
  }
  solver->single_there = 0;
  memset(&solver->gpu, 0, sizeof solver->gpu);
  mbi_release(context, solver->single_values);
  solver->single_values = NULL;
}

/* Makes the CUDA context current if the solver computes there. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_solver_enter(merbit_solver *solver) {
  return mbi_solve_on_gpu(solver) ? mbi_device_enter(solver->context) : MERBIT_OK;
}

/* Undoes mbi_solver_enter. */
MBI_NOINLINE MBI_INTERNAL void mbi_solver_leave(merbit_solver *solver) {
  if (mbi_solve_on_gpu(solver)) {
    mbi_device_leave(solver->context);
  }
}

/* Makes the parts of a solver that precede its plan: stream, program, vectors, arena. */
static merbit_status mbi_solver_make_space(merbit_solver *solver) {
  merbit_status status = MERBIT_OK;
  MBI_TRY(mbi_solver_enter(solver));
  if (mbi_solve_on_gpu(solver)) {
    solver->gpu.loop_calls = mbi_solver_makes_object(&solver->desc) ? 1
                             : mbi_solver_is_cg(solver)             ? MBI_CG_LOOP_ITERATIONS
                                                                    : 0;
    if (solver->inner == NULL && solver->method->iterate != NULL) {
      mbi_recorded_stream(solver);
    }
    status = mbi_solve_specialise(solver);
  }
  if (status == MERBIT_OK) {
    status = mbi_solve_allocate_memory(solver);
  }
  mbi_solver_leave(solver);
  return status;
}

static merbit_status mbi_solver_create(merbit_context *context, const merbit_view *view,
                                       const merbit_solver_desc *desc, int corrects,
                                       merbit_solver **solver);

/* Creates solver->inner, which finds the corrections for iterative refinement. */
static merbit_status mbi_solver_make_inner(merbit_solver *solver) {
  merbit_solver_desc desc;
  merbit_view view;
  MBI_TRY(mbi_refine_describe(solver, &view, &desc));
  MBI_TRY(mbi_solver_create(solver->context, &view, &desc, 1, &solver->inner));
  solver->gpu.stream = solver->inner->gpu.stream;
  return mbi_refine_holds(solver);
}

/* Makes the plan, the kernels and the vectors of solver->many. */
static merbit_status mbi_solver_fill_many(merbit_solver *many) {
  merbit_plan_desc desc;
  merbit_status status = MERBIT_OK;
  void *columns = NULL;
  MBI_TRY(mbi_allocate_array(many->context, many->count, sizeof *many->columns,
                             "a solver's right-hand sides", &columns));
  many->columns = (merbit_solver *)columns;
  memset(&desc, 0, sizeof desc);
  desc.side = many->side;
  desc.vectors = many->count;
  desc.deterministic = many->desc.deterministic;
  desc.expected_calls = mbi_solver_products(many);
  MBI_TRY(merbit_plan_create(many->context, &many->view, &desc, &many->plan));
  MBI_TRY(mbi_solver_enter(many));
  if (mbi_solve_on_gpu(many)) {
    status = mbi_solve_specialise(many);
  }
  if (status == MERBIT_OK) {
    status = mbi_solve_allocate_memory(many);
  }
  mbi_solver_leave(many);
  return status;
}

/* Creates solver->many, which iterates for several right-hand sides. It shares the solver's
 * stream and D^-1. The distance between its vectors is an odd multiple of 32 elements, so that
 * vectors of power-of-two length do not map to the same cache sets. */
static merbit_status mbi_solver_make_many(merbit_solver *solver) {
  merbit_solver *many = (merbit_solver *)mbi_allocate(solver->context, sizeof *many);
  if (many == NULL) {
    return mbi_fail(solver->context, MERBIT_OUT_OF_MEMORY, "no memory for a solver's record");
  }
  memset(many, 0, sizeof *many);
  mbi_context_retain(solver->context);
  mbi_matrix_retain(solver->view.owner);
  solver->many = many;
  many->context = solver->context;
  many->desc = solver->desc;
  many->method = &mbi_cg_many_method;
  many->view = solver->view;
  many->type = solver->type;
  many->n = solver->n;
  many->side = solver->side;
  many->planless = 1; /* its plan takes no memory of its arena */
  many->count = solver->desc.vectors;
  many->gpu.stream = solver->gpu.stream;
  many->gpu.loop_calls = 1;
  many->v.n = solver->n;
  many->v.pre = solver->v.pre;
  many->v.block = solver->v.block;
  many->v.stride = ((solver->n / 32 + 1) | 1) * 32;
  many->v.at[MBI_AT_INVERSE] = solver->v.at[MBI_AT_INVERSE];
  return mbi_solver_fill_many(many);
}

/* Makes the solver on solver->side. On failure the caller runs mbi_solver_release_parts. */
static merbit_status mbi_solver_make(merbit_solver *solver) {
  merbit_status status;
  if (solver->desc.refine) {
    MBI_TRY(mbi_solver_make_inner(solver));
  }
  MBI_TRY(mbi_solver_make_space(solver));
  if (!solver->planless) {
    MBI_TRY(mbi_solver_make_plan(solver));
  }
  solver->gpu.arena.open = 0;
  MBI_TRY(mbi_solver_enter(solver));
  solver->bytes -= solver->gpu.arena.used; /* the plan counts these bytes */
  status = solver->planless && solver->v.block == 0 ? MERBIT_OK
                                                    : mbi_solver_setup(solver, &solver->view);
  mbi_solver_leave(solver);
  if (status == MERBIT_OK && solver->method->iterate != NULL &&
      mbi_solver_makes_object(&solver->desc)) {
    const merbit_preconditioner_desc own = mbi_solver_object(&solver->desc, solver->side);
    status = mbi_precondition_create(solver->context, &solver->view, &own, NULL,
                                     &solver->precondition);
  }
  return status == MERBIT_OK && solver->desc.vectors > 1 && solver->n > 0
             ? mbi_solver_make_many(solver)
             : status;
}

/* Makes the solver. If the values are too far from 1, makes it again with scaled values. */
static merbit_status mbi_solver_make_scaled(merbit_solver *solver) {
  const merbit_status made = mbi_solver_make(solver);
  const void *scaled = NULL;
  char reason[2];
  merbit_status status;
  if (!mbi_scale_matrix_needed(solver, made)) {
    return made;
  }
  MBI_TRY(made == MERBIT_OK ? MERBIT_OK : mbi_view_check_count(solver->context, &solver->view));
  MBI_TRY(mbi_solver_enter(solver));
  status = mbi_scale_values(solver, solver->view.values, MERBIT_MEMORY_DEFAULT, &scaled);
  mbi_solver_leave(solver);
  if (status != MERBIT_OK || scaled == NULL) {
    return status == MERBIT_OK ? made : status;
  }
  mbi_solver_release_parts(solver);
  if (made != MERBIT_OK) {
    mbi_error_clear(solver->context, reason, sizeof reason);
  }
  solver->view.values = scaled;
  return mbi_scale_made(solver, mbi_solver_make(solver));
}

/* Chooses the side and makes the solver. If the GPU fails, MERBIT_SIDE_AUTO falls back to the
 * CPU for host arrays. */
MBI_INTERNAL merbit_status mbi_solver_build(merbit_solver *solver) {
  merbit_context *context = solver->context;
  const merbit_solver_desc *desc = &solver->desc;
  merbit_status status;
  solver->side = desc->side != MERBIT_SIDE_AUTO ? desc->side : context->side;
  if (solver->side == MERBIT_SIDE_CUDA && context->side != MERBIT_SIDE_CUDA) {
    solver->side = MERBIT_SIDE_CPU; /* releasing on the CPU side needs no device */
    return mbi_fail(
        context, MERBIT_NO_DEVICE,
        "solver_desc.side is MERBIT_SIDE_CUDA, but the context computes on the CPU%s%s",
        context->reason[0] != '\0' ? ": " : "; make one with MERBIT_SIDE_CUDA",
        context->reason);
  }
  if (solver->side == MERBIT_SIDE_CPU && desc->vector_memory == MERBIT_MEMORY_DEVICE) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "solver_desc.vector_memory is MERBIT_MEMORY_DEVICE, but the solver "
                    "computes on the CPU; use MERBIT_MEMORY_HOST");
  }
  status = mbi_solver_make_scaled(solver);
  if (status == MERBIT_OK || solver->side == MERBIT_SIDE_CPU ||
      desc->side != MERBIT_SIDE_AUTO || solver->view.memory == MERBIT_MEMORY_DEVICE ||
      desc->vector_memory != MERBIT_MEMORY_HOST || status == MERBIT_OUT_OF_MEMORY ||
      status == MERBIT_INVALID_ARGUMENT || status == MERBIT_INVALID_MATRIX) {
    return status;
  }
  mbi_solver_release_parts(solver);
  mbi_error_clear(context, solver->reason, sizeof solver->reason);
  mbi_log(context, "this solver computes on the CPU: %s", solver->reason);
  solver->side = MERBIT_SIDE_CPU;
  return mbi_solver_make_scaled(solver);
}

/* Returns the bytes of GPU memory of the solver and its plan, without its inner solver. */
MBI_INTERNAL int64_t mbi_solver_device_bytes(const merbit_solver *solver,
                                             const merbit_plan_info *plan) {
  const int64_t values = solver->scaled_there != 0 ? mbi_view_values(&solver->view) : 0;
  int64_t many = 0;
  if (solver->many != NULL) {
    merbit_plan_info of_many;
    (void)merbit_plan_get_info(solver->many->plan, &of_many);
    many = (int64_t)solver->many->bytes + of_many.device_bytes;
  }
  return mbi_solve_on_gpu(solver) ? (int64_t)solver->bytes + plan->device_bytes + many +
                                        values * (int64_t)mbi_type_size(solver->type)
                                  : 0;
}

/* Releases a solver, complete or not. */
MBI_INTERNAL void mbi_solver_free(merbit_solver *solver) {
  merbit_context *context = solver->context;
  mbi_solver_release_parts(solver);
  mbi_release(context, solver->scaled);
  if (solver->scaled_there != 0 && mbi_device_enter_alive(context)) {
    mbi_device_release(context, solver->scaled_there);
    mbi_device_leave(context);
  }
  merbit_matrix_destroy(solver->view.owner);
  mbi_release(context, solver);
  mbi_context_unref(context);
}

/* Copies the description, fills in defaults and sets the method and where M is applied. */
static void mbi_solver_fill_desc(merbit_solver *solver, const merbit_solver_desc *desc) {
  merbit_solver_desc *own = &solver->desc;
  *own = *desc;
  if (own->tolerance == 0) {
    own->tolerance = solver->type == MERBIT_F32 ? 1e-5 : 1e-10;
  }
  own->max_iterations = own->max_iterations != 0 ? own->max_iterations : 20000;
  solver->method = mbi_solve_method_of(own->method);
  if (own->preconditioner == MERBIT_PRECONDITIONER_JACOBI) {
    solver->v.pre = MBI_PRE_DIAGONAL;
    solver->v.block = 1;
  } else if (own->preconditioner == MERBIT_PRECONDITIONER_BLOCK_JACOBI) {
    const int block = mbi_solver_object(own, own->side).block_size;
    solver->v.pre = MBI_PRE_SEPARATE;
    solver->v.block = block > 0 ? block : 4;
  } else if (own->preconditioner == MERBIT_PRECONDITIONER_CALLBACK) {
    solver->v.pre = MBI_PRE_SEPARATE;
  }
  if (mbi_solver_makes_object(own)) {
    solver->v.pre = MBI_PRE_SEPARATE;
    solver->v.block = 0;
  }
  solver->v.n = solver->n;
  if (own->refine) {
    solver->method = &mbi_refine_method;
    solver->v.pre = MBI_PRE_NONE;
    solver->v.block = 0;
    own->reorder = -1;
  }
}

/* Creates a solver. `corrects` is 1 if it is the inner solver of another one. */
static merbit_status mbi_solver_create(merbit_context *context, const merbit_view *view,
                                       const merbit_solver_desc *desc, int corrects,
                                       merbit_solver **solver) {
  const double start = mbi_seconds();
  merbit_solver_desc none;
  merbit_solver *made;
  merbit_status status;
  if (solver != NULL) {
    *solver = NULL;
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (solver == NULL || view == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "merbit_solver_create: `%s` is NULL",
                    solver == NULL ? "solver" : "view");
  }
  memset(&none, 0, sizeof none);
  desc = desc != NULL ? desc : &none;
  MBI_TRY(mbi_solver_check(context, view, desc));
  made = (merbit_solver *)mbi_allocate(context, sizeof *made);
  if (made == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a solver's record");
  }
  memset(made, 0, sizeof *made);
  mbi_context_retain(context);
  made->context = context;
  made->view = *view;
  mbi_matrix_retain(view->owner);
  made->type = mbi_view_type(view);
  made->n = view->rows;
  made->corrects = corrects;
  mbi_solver_fill_desc(made, desc);
  status = mbi_solver_build(made);
  if (status != MERBIT_OK) {
    mbi_solver_free(made);
    return status;
  }
  made->prepare_seconds = mbi_seconds() - start;
  made->desc.precondition = NULL; /* it was borrowed */
  *solver = made;
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_solver_create(merbit_context *context, const merbit_view *view,
                                              const merbit_solver_desc *desc,
                                              merbit_solver **solver) {
  return mbi_solver_create(context, view, desc, 0, solver);
}

MERBIT_API void merbit_solver_destroy(merbit_solver *solver) {
  if (solver != NULL) {
    mbi_solver_free(solver);
  }
}

/* Passes new values, which are not scaled here, to the plans and the inner solver, then
 * computes the norm and the preconditioner again. */
static merbit_status mbi_solver_set_values(merbit_solver *solver, const void *values,
                                           merbit_memory memory) {
  merbit_view view;
  void *own;
  merbit_status status;
  MBI_TRY(mbi_solver_enter(solver));
  if (mbi_solve_on_gpu(solver)) {
    mbi_recorded_release(solver); /* the graph reads arrays of the plan, which may move */
    if (solver->many != NULL) {
      mbi_recorded_release(solver->many);
    }
  }
  mbi_solver_leave(solver);
  if (!solver->planless) {
    MBI_TRY(merbit_plan_update_values(solver->plan, values, memory));
  }
  if (solver->many != NULL) {
    MBI_TRY(merbit_plan_update_values(solver->many->plan, values, memory));
  }
  if (solver->inner != NULL) {
    const void *rounded;
    MBI_TRY(mbi_refine_round(solver, values, memory, &rounded));
    MBI_TRY(merbit_solver_update_values(solver->inner, rounded, memory));
    MBI_TRY(mbi_refine_holds(solver));
  }
  MBI_TRY(mbi_solver_enter(solver));
  view = solver->view;
  view.values = values;
  status = mbi_setup_move_values(solver->context, memory, &view, &own);
  if (status == MERBIT_OK) {
    status = mbi_solver_setup(solver, &view);
  }
  if (status == MERBIT_OK && solver->precondition != NULL) {
    status = mbi_precondition_renew(solver->precondition, &view);
  }
  mbi_setup_release_values(solver->context, &view, own);
  mbi_solver_leave(solver);
  return status;
}

MERBIT_API merbit_status merbit_solver_update_values(merbit_solver *solver, const void *values,
                                                     merbit_memory memory) {
  const void *scaled = NULL;
  char reason[2];
  merbit_status renewed, status;
  if (solver == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (!solver->planless) { /* a preconditioner has checked what its engine gets */
    MBI_TRY(mbi_plan_check_values(solver->plan, values, memory));
  }
  solver->scale = 0;
  renewed = mbi_solver_set_values(solver, values, memory);
  if (!mbi_scale_matrix_needed(solver, renewed)) {
    return renewed;
  }
  MBI_TRY(mbi_solver_enter(solver));
  status = mbi_scale_values(solver, values, memory, &scaled);
  mbi_solver_leave(solver);
  if (status != MERBIT_OK || scaled == NULL) {
    return status == MERBIT_OK ? renewed : status;
  }
  if (renewed != MERBIT_OK) {
    mbi_error_clear(solver->context, reason, sizeof reason);
  }
  return mbi_scale_made(solver, mbi_solver_set_values(solver, scaled, memory));
}
