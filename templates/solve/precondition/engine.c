#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/plan/plan.h"
#include "solve/core/solver.h"
#include "solve/core/cpu_steps.h"
#include "solve/precondition/precondition.h"

/* The engine of a preconditioner: a solver without iterations, which holds the preconditioner's
 * vectors, D^-1 and the plan of A, and runs its steps on either side. */
#define MBS_VECTOR double
#define MBS_NAME(name, part) mbi_##name##part##_f64
#include "solve/precondition/steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME
#define MBS_VECTOR float
#define MBS_NAME(name, part) mbi_##name##part##_f32
#include "solve/precondition/steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME

static const mbi_step mbi_precondition_steps[] = {
    MBI_STEP(solve_residual), MBI_STEP(solve_blocks), MBI_STEP(pre_measure),
    MBI_STEP(pre_in),         MBI_STEP(pre_mean),     MBI_STEP(pre_out),
    MBI_STEP(pre_start),      MBI_STEP(pre_alpha),    MBI_STEP(pre_next),
    MBI_STEP(pre_first),      MBI_STEP(pre_iterate),
};

/* Requests memory for the kind's vectors; the other slots get the addresses of each call. */
static void mbi_precondition_layout(merbit_solver *solver) {
  int k;
  for (k = 0; k <= MBI_AT_W; k++) {
    solver->alias[k] = MBI_SOLVE_NONE;
  }
  for (k = 0; k < solver->kept; k++) {
    solver->alias[MBI_PRE_OWN + k] = MBI_SOLVE_OWN;
  }
  if (solver->kept > 2) { /* the factors of a polynomial */
    solver->alias[MBI_PRE_TABLE] = MBI_SOLVE_OWN;
    solver->bytes_at[MBI_PRE_TABLE] = 2 * (MBI_PRE_DEGREE_MOST + 1) * (int64_t)sizeof(double);
  }
}

static const mbi_solve_method mbi_precondition_engine_method = {
    "preconditioner",
    "solve/precondition/precondition.cu",
    mbi_precondition_steps,
    (int)(sizeof mbi_precondition_steps / sizeof mbi_precondition_steps[0]),
    0,
    0,
    mbi_precondition_layout,
    NULL,
    NULL,
    {NULL, NULL}};

MBI_INTERNAL int mbi_precondition_on_gpu(const merbit_preconditioner *p) {
  return p->side == MERBIT_SIDE_CUDA;
}

/* Makes the CUDA context current if the preconditioner computes there. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_precondition_enter(const merbit_preconditioner *p) {
  return mbi_precondition_on_gpu(p) ? mbi_device_enter(p->context) : MERBIT_OK;
}

/* Undoes mbi_precondition_enter. */
MBI_NOINLINE MBI_INTERNAL void mbi_precondition_leave(const merbit_preconditioner *p) {
  if (mbi_precondition_on_gpu(p)) {
    mbi_device_leave(p->context);
  }
}

/* Makes p->engine with `vectors` vectors; with the inverses of diagonal blocks of `block` rows
 * if block > 0; and with a plan of A if `product`. */
MBI_INTERNAL merbit_status mbi_precondition_engine(merbit_preconditioner *p, int block,
                                                   int product, int vectors) {
  merbit_solver *solver = (merbit_solver *)mbi_allocate(p->context, sizeof *solver);
  if (solver == NULL) {
    return mbi_fail(p->context, MERBIT_OUT_OF_MEMORY,
                    "no memory for a preconditioner's record");
  }
  memset(solver, 0, sizeof *solver);
  mbi_context_retain(p->context);
  mbi_matrix_retain(p->view.owner);
  p->engine = solver;
  solver->context = p->context;
  solver->view = p->view;
  solver->type = p->type;
  solver->n = solver->v.n = p->n;
  solver->method = &mbi_precondition_engine_method;
  solver->desc.side = p->side;
  solver->desc.preconditioner = p->desc.kind;
  solver->desc.deterministic = p->desc.deterministic;
  solver->desc.reorder = -1;
  solver->corrects = 1;
  solver->planless = !product;
  solver->kept = vectors;
  solver->v.block = block;
  if (!product && block > 0) {
    MBI_TRY(merbit_view_check(p->context, &p->view));
  }
  return mbi_solver_build(solver);
}

/* Runs a step of the engine with the caller's r and z. On CUDA enqueues it on `stream`. */
MBI_INTERNAL merbit_status mbi_precondition_step(merbit_preconditioner *p, int step,
                                                 const void *r, void *z, void *stream) {
  merbit_solver *engine = p->engine;
  merbit_status status;
  engine->v.at[MBI_PRE_R] = mbi_device_pointer(mbi_device_address(r));
  engine->v.at[MBI_PRE_Z] = z;
  engine->gpu.stream = stream;
  status = mbi_solve_step(engine, step);
  engine->gpu.stream = NULL; /* it belongs to the caller */
  return status;
}

/* Adds the bytes of an engine or of a plan to *info. */
MBI_NOINLINE MBI_INTERNAL void mbi_precondition_count(const merbit_solver *engine,
                                                      const merbit_plan *plan,
                                                      merbit_preconditioner_info *info) {
  merbit_plan_info of_plan;
  if (engine != NULL) {
    const int64_t single = engine->single_values != NULL || engine->single_there != 0
                               ? mbi_view_values(&engine->view) * (int64_t)sizeof(float)
                               : 0;
    *(mbi_solve_on_gpu(engine) ? &info->device_bytes : &info->host_bytes) +=
        (int64_t)engine->bytes;
    *(engine->single_there != 0 ? &info->device_bytes : &info->host_bytes) += single;
  }
  if (plan != NULL) {
    (void)merbit_plan_get_info(plan, &of_plan);
    info->device_bytes += of_plan.device_bytes;
    info->host_bytes += of_plan.host_bytes;
  }
}
