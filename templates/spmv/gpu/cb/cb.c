#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/cb/cb.h"
#include "spmv/plan/plan.h"

/* CB-SpMV on the host: options, encoding on the CPU, upload, launches. spmv/gpu/cb/cb.cu
 * describes the method. */

/* Returns the state of a plan that uses this method. */
MBI_INTERNAL mbi_cb *mbi_cb_of(const merbit_plan *plan) {
  return (mbi_cb *)plan->state;
}

#define MBI_CB_AHEAD 2048

/* ---- Encode: on the CPU, from the plan's CSR --------------------------------------------- */

MBI_INTERNAL merbit_status mbi_cb_options_take(merbit_plan *plan, mbi_cb_options *options) {
  const double aggregate = plan->tuning[MBI_KNOB_CB_AGGREGATE];
  const int coo_max = mbi_knob(plan, MBI_KNOB_CB_COO_MAX);
  const int csr_max = mbi_knob(plan, MBI_KNOB_CB_CSR_MAX);
  const int steps = mbi_knob(plan, MBI_KNOB_CB_STEPS);
  merbit_context *context = plan->context;
  mbi_cb *cb = mbi_cb_of(plan);
  if (aggregate < 0.0 || aggregate > 1.0 || coo_max < 0 || coo_max > 257 || csr_max < 0 ||
      csr_max > 256) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.tuning: aggregate is %g, coo_max %d and csr_max %d; use up to "
                    "1, 257 and 256, or 0 for 0.15, 32 and 128",
                    aggregate, coo_max, csr_max);
  }
  cb->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads : 128;
  if (cb->threads < 32 || cb->threads > 512 || cb->threads % 32 != 0 ||
      (steps != 0 && (steps < MBI_CB_LEAST_LIMIT || steps > 65536))) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.tuning: steps is %d and plan_desc.block_threads %d; use %d to "
                    "65536, and a multiple of 32 up to 512",
                    steps, cb->threads, MBI_CB_LEAST_LIMIT);
  }
  options->aggregate = aggregate > 0.0 ? aggregate : 0.15;
  options->coo_max = coo_max > 0 ? (uint64_t)coo_max : MBI_CB_SPARSE;
  options->weighed = coo_max == 0;
  options->csr_max = csr_max > 0 ? (uint64_t)csr_max : 128;
  options->steps = (uint64_t)steps;
  options->processors = context->device.multiprocessors;
#ifdef MERBIT_STUDY_METHODS
  options->warps = mbi_knob(plan, MBI_KNOB_CB_BALANCE) != 0 ? cb->threads / 32 : 0;
#endif
  return MERBIT_OK;
}

/* Returns 1 if the host arrays of the plan's CSR can be read. That is so only while the plan is
 * made for the first time, because the user's arrays may be gone later. */
static int mbi_cb_reads_csr(const merbit_plan *plan) {
  return plan->csr.memory != MERBIT_MEMORY_DEVICE && plan->workspace == NULL;
}

/* Gets the plan's CSR on the host, with values as the plan stores them: the plan's own arrays
 * if they can be read, else copies. The caller runs mbi_cb_host_release afterwards, on failure
 * too. */
static merbit_status mbi_cb_host_take(const merbit_plan *plan, merbit_view *host) {
  const mbi_device_csr *csr = &plan->device;
  merbit_context *context = plan->context;
  const int there = mbi_cb_reads_csr(plan);
  *host = plan->csr;
  host->memory = MERBIT_MEMORY_HOST;
  host->index_type = MERBIT_INDEX_32;
  host->values = NULL;
  if (!there) {
    host->row_ptr = host->col_ind = NULL;
    MBI_TRY(mbi_array_download(context, mbi_device_pointer(csr->row_ptr),
                               (int64_t)csr->rows + 1, mbi_index_bytes(csr->offset_type),
                               &host->row_ptr));
    MBI_TRY(mbi_array_download(context, mbi_device_pointer(csr->col_ind), (int64_t)csr->nnz,
                               sizeof(int32_t), &host->col_ind));
  }
  if (mbi_value_bytes(plan) > 0) {
    if (there && csr->form == MBI_VALUES_GENERAL) {
      host->values = plan->csr.values;
    } else {
      MBI_TRY(mbi_array_download(context, mbi_device_pointer(csr->values), (int64_t)csr->nnz,
                                 mbi_value_bytes(plan), &host->values));
    }
  }
  return MERBIT_OK;
}

static void mbi_cb_host_release(const merbit_plan *plan, merbit_view *host) {
  const int there = mbi_cb_reads_csr(plan);
  if (!there) {
    mbi_release(plan->context, (void *)(uintptr_t)host->row_ptr);
    mbi_release(plan->context, (void *)(uintptr_t)host->col_ind);
  }
  if (!there || host->values != plan->csr.values) {
    mbi_release(plan->context, (void *)(uintptr_t)host->values);
  }
}

/* Encodes the plan's CSR. The caller releases `format`, on failure too. */
static merbit_status mbi_cb_encode(merbit_plan *plan, mbi_cb_format *format) {
  mbi_cb_options options;
  merbit_view host;
  merbit_status status;
  memset(format, 0, sizeof *format);
  MBI_TRY(mbi_cb_options_take(plan, &options));
  if (plan->device.rows == 0) {
    return MERBIT_OK;
  }
  status = mbi_cb_host_take(plan, &host);
  if (status == MERBIT_OK) {
    status = mbi_cb_create_format(plan->context, &host, host.values, mbi_value_bytes(plan),
                                  &options, format);
  }
  mbi_cb_host_release(plan, &host);
  return status;
}

/* Uploads an array of the format and counts it in plan->schedule_bytes. The data are followed
 * by padding that the kernel prefetches. */
MBI_NOINLINE static merbit_status mbi_cb_upload(merbit_plan *plan, const void *source,
                                                uint64_t bytes, const char *what,
                                                mbi_devptr *target) {
  const uint64_t padded = bytes + (target == &mbi_cb_of(plan)->data ? MBI_CB_AHEAD : 0);
  MBI_TRY(mbi_plan_allocate(plan, padded, what, target));
  plan->schedule_bytes += padded;
  return mbi_device_upload(plan->context, *target, source, (size_t)bytes);
}

static merbit_status mbi_cb_upload_all(merbit_plan *plan, const mbi_cb_format *f) {
  mbi_cb *cb = mbi_cb_of(plan);
  const uint64_t blocks = f->blocks + MBI_CB_SPARE;
  MBI_TRY(mbi_cb_upload(plan, f->words, blocks * 8, "blocks", &cb->words));
  MBI_TRY(mbi_cb_upload(plan, f->first, blocks * 4, "columns of blocks", &cb->first));
  MBI_TRY(mbi_cb_upload(plan, f->data, f->data_bytes, "data of blocks", &cb->data));
  MBI_TRY(mbi_cb_upload(plan, f->task_block, (f->tasks + 1) * 8, "tasks", &cb->task_block));
  MBI_TRY(
      mbi_cb_upload(plan, f->task_target, f->tasks * 4, "targets of tasks", &cb->task_target));
  plan->stream_bytes =
      plan->schedule_bytes + 2 * f->parts * MBI_CB_SIDE * (uint64_t)mbi_type_size(plan->type);
  if (f->splits > 0) {
    MBI_TRY(mbi_cb_upload(plan, f->split_strip, f->splits * 4, "strips in parts",
                          &cb->split_strip));
    MBI_TRY(mbi_cb_upload(plan, f->split_part, (f->splits + 1) * 4, "parts of strips",
                          &cb->split_part));
  }
  cb->aggregated = f->aggregated;
  cb->limit = f->limit;
  cb->block_count = f->blocks;
  cb->tasks = f->tasks;
  cb->parts = f->parts;
  cb->splits = f->splits;
  cb->data_bytes = f->data_bytes;
  memcpy(cb->forms, f->forms, sizeof cb->forms);
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

/* Returns the number of resident blocks per multiprocessor that leaves enough registers.
 * Addresses take more of them from compute capability 10.0 on. */
static int mbi_cb_resident(const merbit_plan *plan) {
  const int capability = plan->context->device.compute_capability;
  const int threads = capability >= 100                              ? 768
                      : capability == 90 && plan->type == MERBIT_F32 ? 1280
                                                                     : 1024;
  const int blocks = threads / mbi_cb_of(plan)->threads;
  return blocks > 16 ? 16 : blocks;
}

MBI_INTERNAL void mbi_cb_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_AGGREGATED", mbi_cb_of(plan)->aggregated);
  mbi_preamble_define_int(preamble, "MBK_STREAMING", plan->streaming);
  mbi_preamble_define_int(preamble, "MBK_THREADS", mbi_cb_of(plan)->threads);
  mbi_preamble_define_int(preamble, "MBK_BLOCKS", mbi_cb_resident(plan));
}

static merbit_status mbi_cb_specialise(merbit_plan *plan) {
  mbi_cb *cb = mbi_cb_of(plan);
  mbi_preamble preamble;
  mbi_cb_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/gpu/cb/cb.cu", &preamble, 1, &plan->program));
  MBI_TRY(mbi_program_kernel(plan->context, &plan->program, "mbk_cb_product", &cb->product));
  MBI_TRY(mbi_program_kernel(plan->context, &plan->program, "mbk_cb_fixup", &cb->fixup));
  return MERBIT_OK;
}

static merbit_status mbi_cb_create(merbit_plan *plan) {
  mbi_cb_format format;
  merbit_status status = mbi_cb_encode(plan, &format);
  if (status == MERBIT_OK && plan->device.rows > 0) {
    status = mbi_cb_upload_all(plan, &format);
    if (status == MERBIT_OK) {
      status = mbi_cb_specialise(plan);
    }
  }
  mbi_cb_format_free(plan->context, &format);
  return status;
}

/* Encodes the same blocks again on the CPU for new values, and uploads the data, the only part
 * that differs. A map of each value's place would cost as much memory as the columns of a
 * CSR. */
static merbit_status mbi_cb_refresh(merbit_plan *plan) {
  mbi_cb_format format;
  merbit_status status = mbi_cb_encode(plan, &format);
  if (status == MERBIT_OK) {
    status = mbi_device_upload(plan->context, mbi_cb_of(plan)->data, format.data,
                               (size_t)format.data_bytes);
  }
  mbi_cb_format_free(plan->context, &format);
  return status;
}

static void mbi_cb_destroy(merbit_plan *plan) {
  mbi_cb *cb = mbi_cb_of(plan);
  mbi_plan_release(plan, cb->words);
  mbi_plan_release(plan, cb->first);
  mbi_plan_release(plan, cb->data);
  mbi_plan_release(plan, cb->task_block);
  mbi_plan_release(plan, cb->task_target);
  mbi_plan_release(plan, cb->split_strip);
  mbi_plan_release(plan, cb->split_part);
  mbi_program_destroy(plan->context, &plan->program);
}

/* ---- Launch ------------------------------------------------------------------------------ */

/* Returns the bytes of scratch for one product: the sums of the parts of strips. */
static uint64_t mbi_cb_carry_bytes(const merbit_plan *plan) {
  return mbi_cb_of(plan)->parts * MBI_CB_SIDE * mbi_type_size(plan->type);
}

static merbit_status mbi_cb_launch_fixup(merbit_plan *plan, mbi_devptr carries,
                                         const void *alpha, const void *beta, mbi_devptr y,
                                         void *stream) {
  mbi_cb *cb = mbi_cb_of(plan);
  mbk_cb_fixup_arguments arguments;
  arguments.split_strip = cb->split_strip;
  arguments.split_part = cb->split_part;
  arguments.carries = carries;
  arguments.y = y;
  arguments.rows = plan->device.rows;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_device_launch_some(plan->context, cb->fixup, "mbk_cb_fixup", (int64_t)cb->splits,
                                MBI_CB_FIXUP_THREADS,
                                (unsigned)(MBI_CB_FIXUP_THREADS * mbi_type_size(plan->type)),
                                stream, &arguments, 0, mbi_plan_start(plan, 1));
}

static merbit_status mbi_cb_multiply(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                                     mbi_devptr x, const void *beta, mbi_devptr y,
                                     void *stream) {
  mbi_cb *cb = mbi_cb_of(plan);
  const uint64_t warps = (uint64_t)cb->threads / 32;
  mbk_cb_product_arguments arguments;
  arguments.task_block = cb->task_block;
  arguments.task_target = cb->task_target;
  arguments.words = cb->words;
  arguments.first = cb->first;
  arguments.data = cb->data;
  arguments.one = plan->device.values;
  arguments.x = x;
  arguments.y = y;
  arguments.carries = carries;
  arguments.rows = plan->device.rows;
  arguments.cols = plan->device.cols;
  arguments.tasks = cb->tasks;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  MBI_TRY(mbi_plan_launch(plan, cb->product, "mbk_cb_product",
                          (int64_t)((cb->tasks + warps - 1) / warps), cb->threads,
                          (unsigned)((unsigned)cb->threads * mbi_type_size(plan->type)), stream,
                          &arguments, sizeof arguments));
  return cb->splits > 0 ? mbi_cb_launch_fixup(plan, carries, alpha, beta, y, stream)
                        : MERBIT_OK;
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_cb_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->block_threads = mbi_cb_of(plan)->threads;
  info->tiles = (int64_t)mbi_cb_of(plan)->block_count;
}

static int mbi_cb_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_cb *cb = mbi_cb_of(plan);
  const double csr =
      (double)(mbi_device_csr_stream_bytes(plan) +
               (plan->device.rows + 1) * (uint64_t)mbi_index_bytes(plan->device.offset_type));
  return snprintf(text, size,
                  "%" PRIu64 " COO, %" PRIu64 " CSR and %" PRIu64 " dense blocks of 16 x 16, "
                  "columns %s, %.3g times the bytes of CSR, %" PRIu64 " warps of up to %" PRIu64
                  " steps, %" PRIu64 " parts of %" PRIu64 " block rows, %d threads",
                  cb->forms[MBI_CB_COO], cb->forms[MBI_CB_CSR], cb->forms[MBI_CB_DENSE],
                  cb->aggregated ? "aggregated" : "not aggregated",
                  (double)plan->schedule_bytes / csr, cb->tasks, cb->limit, cb->parts,
                  cb->splits, cb->threads);
}

MBI_INTERNAL const mbi_cuda_method mbi_cb_method = {
    sizeof(mbi_cb),                     /* state_bytes */
    mbi_cb_create,                      /* create */
    mbi_cb_destroy,                     /* destroy */
    mbi_cb_carry_bytes,                 /* carry_bytes */
    mbi_cb_multiply,                    /* multiply */
    mbi_cb_info,                        /* info */
    mbi_cb_describe,                    /* describe */
    mbi_cb_refresh,                     /* refresh */
    MBI_FORMS_CHEAP,                    /* forms */
    NULL,                               /* cost */
    NULL,                               /* bound */
    0,                                  /* making */
    NULL,                               /* trusted */
    "steps aggregate. coo_max csr_max", /* knobs */
};
