#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* Reorders a plan, which then multiplies P A P' instead of A. The CPU computes the order. This
 * file also permutes new values for every plan that stores values in another order than the
 * user's. */

/* Returns the name of the order for merbit_plan_describe. */
MBI_INTERNAL const char *mbi_reordering_name(merbit_reordering reordering) {
  return reordering == MERBIT_REORDERING_RCM ? "reverse Cuthill-McKee" : "falling degree";
}

MBI_INTERNAL merbit_status mbi_reorder_check(merbit_context *context, const merbit_view *view,
                                             const mbi_method *method,
                                             const merbit_plan_desc *desc) {
  if (desc->reordering == MERBIT_REORDERING_NONE) {
    return MERBIT_OK;
  }
  if (desc->reordering < MERBIT_REORDERING_NONE || desc->reordering > MERBIT_REORDERING_RCM) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.reordering is %d; use MERBIT_REORDERING_NONE or another "
                    "merbit_reordering",
                    (int)desc->reordering);
  }
  if (view->format == MERBIT_BSR || (method->takes & MBI_TAKES_REORDERING) == 0) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "plan_desc.reordering moves single rows and columns, which would break %s "
                    "apart; use a CSR or COO view and a method of single entries",
                    view->format == MERBIT_BSR ? "the view's blocks" : "the method's blocks");
  }
  if (view->rows != view->cols) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.reordering takes square matrices, but view.rows is %" PRId64
                    " and view.cols %" PRId64,
                    view->rows, view->cols);
  }
  return MERBIT_OK;
}

/* Composes two permutations: places[k] = earlier[places[k]]. */
static void mbi_reorder_follow(void *places, const void *earlier, merbit_index_type type,
                               int64_t count) {
  int64_t k;
  for (k = 0; k < count; k++) {
    mbi_index_set(places, type, k, mbi_index_at(earlier, type, mbi_index_at(places, type, k)));
  }
}

/* Reorders the checked host CSR `from`: sets plan->csr and plan->matrix. `from` may be the
 * matrix in plan->matrix. */
static merbit_status mbi_reorder_take(merbit_plan *plan, const merbit_view *from) {
  mbi_reorder *r = &plan->reorder;
  merbit_context *context = plan->context;
  const double start = mbi_seconds();
  merbit_matrix *made = NULL;
  void *places = NULL;
  MBI_TRY(mbi_order_create(context, from, plan->desc.reordering, &r->order));
  MBI_TRY(mbi_matrix_permute(context, from, r->order, &made, &places));
  r->bandwidth_before = mbi_bandwidth(context, from);
  r->bandwidth = mbi_bandwidth(context, &made->view);
  if (r->places != NULL) { /* the permutation of a transpose */
    mbi_reorder_follow(places, r->places, made->view.offset_type, made->view.nnz);
    mbi_release(context, r->places);
  }
  r->places = places;
  r->place_type = made->view.offset_type;
  merbit_matrix_destroy(plan->matrix);
  plan->matrix = made;
  plan->csr = made->view;
  r->seconds = mbi_seconds() - start;
  return MERBIT_OK;
}

/* Reorders plan->csr if the plan asks for it. */
MBI_INTERNAL merbit_status mbi_reorder_make(merbit_plan *plan) {
  merbit_context *context = plan->context;
  merbit_view host;
  merbit_status status;
  if (!mbi_plan_reorders(plan)) {
    return MERBIT_OK;
  }
  if (plan->matrix != NULL || plan->view.memory != MERBIT_MEMORY_DEVICE) {
    return mbi_reorder_take(plan, &plan->csr);
  }
  status = mbi_view_download(context, &plan->view, &host);
  if (status == MERBIT_OK) {
    status = mbi_plan_check_arrays(plan, &host);
  }
  if (status == MERBIT_OK) {
    status = mbi_reorder_take(plan, &host);
  }
  mbi_host_view_release(context, &host);
  return status;
}

/* ---- In GPU memory ----------------------------------------------------------------------- */

static const char *const mbi_reorder_kernels[3] = {"mbk_reorder_gather", "mbk_reorder_scatter",
                                                   "mbk_reorder_values"};

MBI_INTERNAL void mbi_reorder_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_VECTOR", mbi_type_device(mbi_plan_accumulator(plan)));
  mbi_preamble_define(preamble, "MBK_VALUE", mbi_type_device(plan->type));
  mbi_preamble_define(preamble, "MBK_PLACE",
                      plan->reorder.place_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
}

MBI_INTERNAL merbit_status mbi_reorder_specialise(merbit_plan *plan) {
  mbi_reorder *r = &plan->reorder;
  mbi_preamble preamble;
  int i;
  mbi_reorder_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/stages/reorder.cu", &preamble, 1, &r->program));
  for (i = 0; i < 3; i++) {
    MBI_TRY(
        mbi_program_kernel(plan->context, &r->program, mbi_reorder_kernels[i], &r->kernels[i]));
  }
  return MERBIT_OK;
}

static merbit_status mbi_reorder_upload_one(merbit_plan *plan, const void *source,
                                            uint64_t bytes, const char *what,
                                            mbi_devptr *target) {
  MBI_TRY(mbi_plan_allocate(plan, bytes, what, target));
  plan->reorder.bytes += bytes;
  return mbi_device_upload(plan->context, *target, source, (size_t)bytes);
}

/* Returns 1 if the CPU permutes new values, or entries of blocks. */
MBI_INTERNAL int mbi_reorder_on_cpu(const merbit_plan *plan) {
  return plan->transpose.matrix != NULL &&
         (mbi_plan_takes_blocks(plan) || plan->view.format == MERBIT_BSR);
}

/* Returns 1 if the GPU permutes vectors or values. */
MBI_INTERNAL int mbi_reorder_on_gpu(const merbit_plan *plan) {
  return mbi_plan_reorders(plan) || plan->reorder.device_places != 0 ||
         (plan->reorder.places != NULL && !mbi_reorder_on_cpu(plan));
}

/* Uploads the order and the original places of the values. The CUDA context must be current. On
 * failure the caller runs mbi_reorder_release_cuda. */
MBI_INTERNAL merbit_status mbi_reorder_upload(merbit_plan *plan) {
  mbi_reorder *r = &plan->reorder;
  const double start = mbi_seconds();
  MBI_TRY(r->kernels[0] != NULL ? MERBIT_OK : mbi_reorder_specialise(plan));
  if (r->order != NULL) {
    MBI_TRY(mbi_reorder_upload_one(plan, r->order, (uint64_t)plan->csr.rows * sizeof(int32_t),
                                   "an order of rows", &r->device_order));
  }
  if (r->places != NULL) {
    MBI_TRY(mbi_reorder_upload_one(plan, r->places,
                                   (uint64_t)plan->csr.nnz * mbi_index_bytes(r->place_type),
                                   "the places of values", &r->device_places));
  }
  *(mbi_plan_reorders(plan) ? &r->seconds : &plan->transpose.seconds) += mbi_seconds() - start;
  return MERBIT_OK;
}

/* Releases the places in host memory, which a finished plan on CUDA does not need. */
MBI_INTERNAL void mbi_reorder_release_sources(merbit_plan *plan) {
  if (!mbi_reorder_on_cpu(plan)) {
    mbi_release(plan->context, plan->reorder.places);
    plan->reorder.places = NULL;
  }
}

MBI_INTERNAL void mbi_reorder_release_cuda(merbit_plan *plan) {
  mbi_reorder *r = &plan->reorder;
  mbi_plan_release(plan, r->device_order);
  mbi_plan_release(plan, r->device_places);
  mbi_program_destroy(plan->context, &r->program);
  memset(r->kernels, 0, sizeof r->kernels);
  r->device_order = r->device_places = 0;
  r->bytes = 0;
}

MBI_INTERNAL void mbi_reorder_destroy(merbit_plan *plan) {
  mbi_release(plan->context, plan->reorder.order);
  mbi_release(plan->context, plan->reorder.places);
}

/* ---- Vectors and values by a kernel ------------------------------------------------------ */

/* Launches kernels[kernel] on a stream. `index` is the order of rows or the places of
 * values. */
MBI_INTERNAL merbit_status mbi_reorder_launch(merbit_plan *plan, int kernel, mbi_devptr index,
                                              mbi_devptr from, mbi_devptr to, int64_t count,
                                              void *stream) {
  mbk_reorder_gather_arguments arguments;
  arguments.order = index;
  arguments.from = from;
  arguments.to = to;
  arguments.count = (uint64_t)count;
  return mbi_device_launch(plan->context, plan->reorder.kernels[kernel],
                           mbi_reorder_kernels[kernel], mbi_arrays_blocks(count),
                           MBI_ARRAYS_THREADS, 0, stream, &arguments);
}

/* Permutes the user's values at `from` into the order of the plan's nonzeros, at `to`, and
 * waits. */
MBI_INTERNAL merbit_status mbi_reorder_values_cuda(merbit_plan *plan, mbi_devptr from,
                                                   mbi_devptr to) {
  MBI_TRY(
      mbi_reorder_launch(plan, 2, plan->reorder.device_places, from, to, plan->csr.nnz, NULL));
  return mbi_device_synchronize(plan->context, NULL);
}

/* ---- On CPU threads ---------------------------------------------------------------------- */

static void mbi_reorder_task(void *argument, int task) {
  const mbi_reorder_call *c = (const mbi_reorder_call *)argument;
  c->move(c->type, c->to, c->from, c->places, c->place_type,
          mbi_share(c->count, c->tasks, task), mbi_share(c->count, c->tasks, task + 1));
}

MBI_INTERNAL void mbi_reorder_run(merbit_plan *plan, mbi_reorder_call *call) {
  call->tasks = mbi_share_tasks(plan->context, call->count);
  mbi_parallel(plan->context, call->tasks, mbi_reorder_task, call);
}

/* Permutes new values into the order of plan->csr. On CUDA the GPU does it later
 * (mbi_reorder_values_cuda). */
MBI_INTERNAL merbit_status mbi_reorder_map_values(merbit_plan *plan, mbi_new_values *fresh) {
  mbi_reorder_call call;
  if (plan->side == MERBIT_SIDE_CUDA || plan->reorder.places == NULL ||
      mbi_reorder_on_cpu(plan)) {
    return MERBIT_OK;
  }
  call.move = mbi_gather;
  call.type = plan->type;
  call.from = fresh->values;
  call.to = (void *)(uintptr_t)plan->csr.values;
  call.places = plan->reorder.places;
  call.place_type = plan->reorder.place_type;
  call.count = plan->csr.nnz;
  mbi_reorder_run(plan, &call);
  fresh->values = plan->csr.values;
  return MERBIT_OK;
}
