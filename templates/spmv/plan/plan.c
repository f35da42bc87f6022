#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/stages/stages.h"
#include "spmv/study/study.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* ---- Checks ------------------------------------------------------------------------------ */

static merbit_status mbi_plan_check_desc(merbit_context *context,
                                         const merbit_plan_desc *desc) {
  if (desc->side < MERBIT_SIDE_AUTO || desc->side > MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.side is %d; use MERBIT_SIDE_AUTO, MERBIT_SIDE_CPU or "
                    "MERBIT_SIDE_CUDA",
                    (int)desc->side);
  }
  if (desc->side == MERBIT_SIDE_CUDA && context->side != MERBIT_SIDE_CUDA) {
    return mbi_fail(
        context, MERBIT_NO_DEVICE,
        "plan_desc.side is MERBIT_SIDE_CUDA, but the context computes on the CPU%s%s",
        context->reason[0] != '\0' ? ": " : "; make one with MERBIT_SIDE_CUDA",
        context->reason);
  }
  if (!mbi_method_known(desc->method)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.method is %d; use MERBIT_METHOD_AUTO or another merbit_method",
                    (int)desc->method);
  }
  if (desc->vector_memory < MERBIT_MEMORY_DEFAULT ||
      desc->vector_memory > MERBIT_MEMORY_DEVICE ||
      desc->scalar_memory < MERBIT_MEMORY_DEFAULT ||
      desc->scalar_memory > MERBIT_MEMORY_DEVICE) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.vector_memory is %d and scalar_memory %d; use "
                    "MERBIT_MEMORY_DEFAULT, MERBIT_MEMORY_HOST or MERBIT_MEMORY_DEVICE",
                    (int)desc->vector_memory, (int)desc->scalar_memory);
  }
  if (desc->block_rows != 0 || desc->block_cols != 0) {
    MBI_TRY(mbi_block_check(context, "plan_desc", desc->block_rows, desc->block_cols,
                            MERBIT_BLOCK_ROW_MAJOR));
  }
  if (desc->expected_calls < 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.expected_calls is %d; use 0 for the default",
                    desc->expected_calls);
  }
  return MERBIT_OK;
}

/* Returns the side of a plan before anything is built. AUTO takes the context's side, or the
 * CPU if the method runs only there. */
MBI_INTERNAL merbit_side mbi_plan_side(const merbit_context *context,
                                       const merbit_plan_desc *desc) {
  if (desc->side != MERBIT_SIDE_AUTO) {
    return desc->side;
  }
  return mbi_method_runs(desc->method, 1) ? context->side : MERBIT_SIDE_CPU;
}

/* Checks the description of a plan of several vectors. */
static merbit_status mbi_many_check(merbit_context *context, merbit_type type,
                                    const merbit_plan_desc *desc) {
  const merbit_method method = desc->method;
  int takes;
  if (desc->vectors < 0 || desc->vectors > MBI_MANY_MOST) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.vectors is %d; use 1 to %d, or 0 for one", desc->vectors,
                    MBI_MANY_MOST);
  }
  if (desc->vector_order < MERBIT_VECTORS_COLUMN_MAJOR ||
      desc->vector_order > MERBIT_VECTORS_ROW_MAJOR) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.vector_order is %d; use MERBIT_VECTORS_COLUMN_MAJOR or "
                    "MERBIT_VECTORS_ROW_MAJOR",
                    (int)desc->vector_order);
  }
  if (desc->vectors <= 1) {
    return method != MERBIT_METHOD_MANY
               ? MERBIT_OK
               : mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                          "plan_desc.method is MERBIT_METHOD_MANY, but plan_desc.vectors is "
                          "%d; set it to 2 or more, or use MERBIT_METHOD_AUTO",
                          desc->vectors);
  }
  if (!mbi_type_plain(type) || desc->vector_type != type) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "plan_desc.vectors is %d, but several vectors are multiplied in f64 or f32 "
                    "throughout, not with %s; make a plan for one vector",
                    desc->vectors, mbi_type_text(type, desc->vector_type));
  }
  if (desc->semiring != MERBIT_SEMIRING_PLUS_TIMES) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "plan_desc.vectors is %d, but several vectors are multiplied by plus-times "
                    "only; set plan_desc.vectors to 1 and call merbit_spmv for each vector",
                    desc->vectors);
  }
  takes = mbi_plan_side(context, desc) == MERBIT_SIDE_CPU ? MBI_TAKES_VECTORS_CPU
                                                          : MBI_TAKES_VECTORS_CUDA;
  if ((mbi_method_find(method)->takes & takes) == 0) {
    return mbi_fail(
        context, MERBIT_NOT_SUPPORTED,
        "plan_desc.method is %s, which does not take %d vectors; use MERBIT_METHOD_AUTO, on "
        "CUDA MERBIT_METHOD_MANY, on the CPU MERBIT_METHOD_MERGE",
        mbi_method_identifier(method), desc->vectors);
  }
  return MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_plan_check_side(const merbit_plan *plan) {
  merbit_context *context = plan->context;
  const merbit_plan_desc *desc = &plan->desc;
  const int cuda = plan->side == MERBIT_SIDE_CUDA;
  if (!mbi_method_runs(desc->method, cuda)) {
    return mbi_fail(context, cuda ? MERBIT_INVALID_ARGUMENT : MERBIT_NO_DEVICE,
                    "plan_desc.method is %s, which runs on %s, but the plan is for %s%s%s%s; "
                    "use MERBIT_METHOD_AUTO",
                    mbi_method_identifier(desc->method), cuda ? "the CPU" : "CUDA",
                    cuda ? "CUDA" : "the CPU", context->reason[0] != '\0' ? " (" : "",
                    context->reason, context->reason[0] != '\0' ? ")" : "");
  }
  if (!cuda && (plan->view.memory == MERBIT_MEMORY_DEVICE ||
                desc->vector_memory == MERBIT_MEMORY_DEVICE ||
                desc->scalar_memory == MERBIT_MEMORY_DEVICE)) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "view.memory, plan_desc.vector_memory or plan_desc.scalar_memory is "
        "MERBIT_MEMORY_DEVICE, but the plan is for the CPU; use MERBIT_MEMORY_HOST");
  }
  return MERBIT_OK;
}

/* ---- Create and destroy ------------------------------------------------------------------ */

static void mbi_plan_release_cuda(merbit_plan *plan) {
  if (mbi_device_enter_alive(plan->context)) {
    mbi_method_destroy(plan);
    mbi_nonempty_destroy(plan, &plan->nonempty);
    mbi_device_csr_destroy(plan, &plan->device);
    mbi_reorder_release_cuda(plan);
    mbi_epilogue_release_cuda(plan);
    mbi_device_release(plan->context, plan->arena.at);
    mbi_device_leave(plan->context);
  }
  /* Forget also what is on a lost device, which has not been released. */
  memset(&plan->arena, 0, sizeof plan->arena);
  mbi_method_forget(plan);
  memset(&plan->nonempty, 0, sizeof plan->nonempty);
  if (plan->extracted.csr.rows > 0) {
    memset(&plan->bsr, 0, sizeof plan->bsr);
    memset(&plan->extracted, 0, sizeof plan->extracted);
  }
  plan->cuda = NULL;
  memset(&plan->device, 0, sizeof plan->device);
}

static void mbi_plan_free(merbit_plan *plan) {
  merbit_context *context = plan->context;
  if (plan->workspace != NULL) {
    mbi_workspace_free(plan->workspace);
  }
  if (plan->side == MERBIT_SIDE_CUDA) {
    mbi_plan_release_cuda(plan);
  }
  merbit_matrix_destroy(plan->matrix);
  if (plan->cpu != NULL && plan->cpu->destroy != NULL) {
    plan->cpu->destroy(plan);
  }
  mbi_bsr_release(context, &plan->bsr);
  mbi_release(context, plan->placed_columns);
  mbi_reorder_destroy(plan);
  mbi_symmetric_destroy(plan);
  merbit_matrix_destroy(plan->transpose.matrix);
  merbit_matrix_destroy(plan->owner);
  mbi_release(context, plan->own_values);
  mbi_release(context, plan->operators);
  mbi_release(context, plan->epilogue);
  mbi_release(context, plan);
  mbi_context_unref(context);
}

MBI_NOINLINE MBI_INTERNAL void mbi_plan_unref(merbit_plan *plan) {
  int64_t left;
  mbi_mutex_lock(&plan->context->lock);
  left = --plan->references;
  mbi_mutex_unlock(&plan->context->lock);
  if (left == 0) {
    mbi_plan_free(plan);
  }
}

/* Puts the matrix in GPU memory and builds the method's form of it. The CUDA context must be
 * current. */
static merbit_status mbi_plan_fill_cuda(merbit_plan *plan) {
  const merbit_view frame =
      mbi_plan_has_blocks(plan) ? mbi_block_frame(&plan->bsr.view) : plan->csr;
  merbit_status status;
  if (!plan->transpose.on_gpu) {
    MBI_TRY(mbi_device_csr_create(plan, &frame, &plan->device));
  }
  MBI_TRY(mbi_device_csr_prepare(plan, &frame, mbi_choose_inspects(plan),
                                 &plan->nonempty.programs, &plan->device));
  if (plan->making.checked != NULL) {
    MBI_TRY(plan->making.checked(plan->making.maker));
  }
  status = mbi_choose(plan);
  mbi_plan_release(plan, plan->device.scratch); /* still there if non-empty rows were not
                                                 * counted */
  plan->device.scratch = 0;
  MBI_TRY(status);
  if (mbi_plan_has_epilogue(plan)) {
    MBI_TRY(mbi_epilogue_specialise(plan));
  }
  return mbi_reorder_on_gpu(plan) ? mbi_reorder_upload(plan) : MERBIT_OK;
}

static merbit_status mbi_plan_build_cuda(merbit_plan *plan) {
  merbit_status status;
  MBI_TRY(mbi_device_enter(plan->context));
  status = mbi_plan_fill_cuda(plan);
  mbi_device_leave(plan->context);
  MBI_TRY(status);
  MBI_TRY(mbi_workspace_make(plan, &plan->workspace));
  if (plan->making.unsynchronised) {
    return MERBIT_OK;
  }
  status = mbi_plan_wait(plan);
  /* AUTO may now build the plan on the CPU, with another workspace. */
  if (status != MERBIT_OK) {
    mbi_workspace_free(plan->workspace);
    plan->workspace = NULL;
  }
  return status;
}

static merbit_status mbi_plan_build_cpu(merbit_plan *plan) {
  MBI_TRY(mbi_choose_cpu(plan));
  if (!mbi_plan_takes_blocks(plan) && !plan->symmetric.direct) {
    MBI_TRY(mbi_numa_plan(plan));
  }
  return mbi_workspace_make(plan, &plan->workspace);
}

/* Turns a plan for the GPU whose stages have run into a plan for the CPU. */
static merbit_status mbi_plan_move_to_cpu(merbit_plan *plan) {
  mbi_plan_release_cuda(plan);
  mbi_error_clear(plan->context, plan->reason, sizeof plan->reason);
  mbi_log(plan->context, "this plan computes on the CPU: %s", plan->reason);
  plan->side = MERBIT_SIDE_CPU;
  plan->why[0] = '\0';
  if (plan->transpose.on_gpu) {
    return mbi_stages_make(plan, MBI_STAGE_TRANSPOSE);
  }
  if (!mbi_plan_takes_blocks(plan)) {
    return MERBIT_OK;
  }
  merbit_matrix_destroy(plan->matrix);
  plan->matrix = NULL;
  return mbi_stages_make(plan, MBI_STAGE_FORMAT);
}

/* Builds a plan on its side, or on the CPU if CUDA fails and AUTO may fall back. */
static merbit_status mbi_plan_build(merbit_plan *plan) {
  MBI_TRY(mbi_plan_check_side(plan));
  MBI_TRY(mbi_tuning_take(plan));
  MBI_TRY(mbi_semiring_take(plan));
  MBI_TRY(mbi_epilogue_take(plan, plan->making.after));
  MBI_TRY(mbi_stages_make(plan, MBI_STAGE_SYMMETRIC));
  if (plan->side == MERBIT_SIDE_CUDA) {
    const merbit_status status = mbi_plan_build_cuda(plan);
    if (status == MERBIT_OK || !mbi_plan_may_fall_back(plan, status)) {
      mbi_reorder_release_sources(plan);
      return status;
    }
    MBI_TRY(mbi_plan_move_to_cpu(plan));
  }
  return mbi_plan_build_cpu(plan);
}

/* Checks a view and a description, and copies the description to *taken with its types filled
 * in. */
MBI_INTERNAL merbit_status mbi_plan_check(merbit_context *context, const merbit_view *view,
                                          const merbit_plan_desc *desc,
                                          merbit_plan_desc *taken) {
  const mbi_method *asked;
  merbit_type type;
  MBI_TRY(mbi_view_check_header(context, view));
  MBI_TRY(mbi_plan_check_desc(context, desc));
  asked = mbi_method_find(desc->method);
  type = mbi_view_type(view);
  *taken = *desc;
  MBI_TRY(mbi_types_choose(context, type, taken));
  MBI_TRY(mbi_types_check_method(context, type, asked, taken));
  MBI_TRY(mbi_semiring_check(context, view, asked, taken));
  MBI_TRY(mbi_transpose_check(context, view, desc));
  MBI_TRY(mbi_many_check(context, type, taken));
  MBI_TRY(mbi_epilogue_check(context, taken));
  MBI_TRY(mbi_symmetric_check(context, view, desc));
  return mbi_reorder_check(context, view, asked, desc);
}

/* Creates a plan. `how` holds the requests of the library's own iterations; NULL for a user's
 * plan. */
MBI_INTERNAL merbit_status mbi_plan_create(merbit_context *context, const merbit_view *view,
                                           const merbit_plan_desc *desc,
                                           const mbi_plan_making *how, merbit_plan **plan) {
  const double start = mbi_seconds();
  merbit_plan_desc defaults, taken;
  merbit_plan *made;
  merbit_status status;
  *plan = NULL;
  memset(&defaults, 0, sizeof defaults);
  if (desc == NULL) {
    desc = &defaults;
  }
  MBI_TRY(mbi_plan_check(context, view, desc, &taken));
  made = (merbit_plan *)mbi_allocate(context, sizeof *made);
  if (made == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a plan's record");
  }
  memset(made, 0, sizeof *made);
  mbi_context_retain(context);
  made->context = context;
  made->references = 1;
  made->given = made->view = *view;
  made->owner = view->owner;
  mbi_matrix_retain(made->owner);
  made->desc = taken;
  made->desc.expected_calls = desc->expected_calls != 0 ? desc->expected_calls : 100;
  made->type = mbi_view_type(view);
  made->side = mbi_plan_side(context, desc);
  made->profile = &context->device.estimate;
  if (how != NULL) {
    made->making = *how;
  }
  made->asked = mbi_method_find(desc->method);
  mbi_method_take(made, made->making.dual ? MERBIT_METHOD_MERBIT : desc->method);
  status = mbi_plan_build(made);
  made->arena.open = 0;
  if (status != MERBIT_OK) {
    mbi_plan_free(made);
    return status;
  }
  /* All arrays are in GPU memory, so the user's matrix is no longer needed. */
  if (made->side == MERBIT_SIDE_CUDA && !mbi_format_converts(made)) {
    merbit_matrix_destroy(made->owner);
    made->owner = NULL;
  }
  made->plan_seconds = mbi_seconds() - start;
  *plan = made;
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_plan_create(merbit_context *context, const merbit_view *view,
                                            const merbit_plan_desc *desc, merbit_plan **plan) {
  if (plan != NULL) {
    *plan = NULL;
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (plan == NULL || view == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "merbit_plan_create: `%s` is NULL",
                    plan == NULL ? "plan" : "view");
  }
  return mbi_plan_create(context, view, desc, NULL, plan);
}

MERBIT_API void merbit_plan_destroy(merbit_plan *plan) {
  if (plan != NULL) {
    mbi_plan_unref(plan);
  }
}

/* ---- The user's workspaces --------------------------------------------------------------- */

MERBIT_API merbit_status merbit_workspace_create(merbit_plan *plan,
                                                 merbit_workspace **workspace) {
  merbit_status status;
  if (workspace != NULL) {
    *workspace = NULL;
  }
  if (plan == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (workspace == NULL) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "the out pointer `workspace` is NULL");
  }
  MBI_TRY(mbi_workspace_make(plan, workspace));
  status = plan->side == MERBIT_SIDE_CUDA ? mbi_plan_wait(plan) : MERBIT_OK;
  if (status != MERBIT_OK) {
    mbi_workspace_free(*workspace);
    *workspace = NULL;
    return status;
  }
  mbi_mutex_lock(&plan->context->lock);
  plan->references++;
  mbi_mutex_unlock(&plan->context->lock);
  return MERBIT_OK;
}

MERBIT_API void merbit_workspace_destroy(merbit_workspace *workspace) {
  if (workspace != NULL) {
    merbit_plan *plan = workspace->plan;
    mbi_workspace_free(workspace);
    mbi_plan_unref(plan);
  }
}
