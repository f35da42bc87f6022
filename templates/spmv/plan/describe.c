#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* Returns the bytes that a product moves if it moves everything once: the matrix, x and y. */
static int64_t mbi_plan_product_bytes(const merbit_plan *plan) {
  const int64_t size = (int64_t)mbi_type_size(plan->type);
  const int64_t nnz = plan->csr.nnz, rows = plan->csr.rows, cols = plan->csr.cols;
  const int64_t values = plan->csr.values != NULL ? nnz * size : 0;
  const int64_t vectors = (rows + cols) * (int64_t)mbi_type_size(mbi_plan_accumulator(plan)) *
                              mbi_plan_vectors(plan) +
                          mbi_epilogue_stream_bytes(plan);
  const int64_t columns = nnz * (int64_t)sizeof(int32_t);
  if (plan->side == MERBIT_SIDE_CUDA) {
    return vectors + (int64_t)plan->stream_bytes;
  }
  if (plan->cpu->stream_bytes != NULL) {
    return vectors + plan->cpu->stream_bytes(plan);
  }
  return values + columns + vectors +
         (rows + 1) * (int64_t)mbi_index_bytes(plan->csr.offset_type);
}

/* Returns the bytes in host memory of the arrays of a view that owns them. */
static size_t mbi_view_memory(const merbit_view *view) {
  return mbi_memory_bytes(view->row_ptr) + mbi_memory_bytes(view->col_ind) +
         mbi_memory_bytes(view->values);
}

/* Returns the bytes of a matrix that the plan has made, or 0 for NULL. */
static size_t mbi_matrix_memory(const merbit_matrix *matrix) {
  return matrix == NULL ? 0
                        : mbi_memory_bytes(matrix) + (matrix->memory != NULL
                                                          ? mbi_memory_bytes(matrix->memory)
                                                          : mbi_view_memory(&matrix->view));
}

/* Returns the bytes of host memory that the plan and its own workspace hold. */
static size_t mbi_plan_memory(const merbit_plan *plan) {
  const mbi_sorted *sorted = &plan->sorted;
  const merbit_workspace *w = plan->workspace;
  const void *const held[] = {
      plan,
      plan->operators,
      plan->epilogue,
      plan->state,
      plan->own_values,
      plan->placed_columns,
      plan->reorder.order,
      plan->reorder.places,
      plan->symmetric.places,
      plan->symmetric.parts,
      plan->bsr.memory,
      plan->blocks.chunk_index,
      sorted->shares,
      sorted->windows,
      sorted->runs,
      sorted->row_id,
      sorted->col_ind,
      sorted->values,
      w,
      w->carries,
      w->bounce,
      w->sums,
  };
  size_t sum = mbi_matrix_memory(plan->matrix) + mbi_matrix_memory(plan->transpose.matrix) +
               mbi_view_memory(&plan->symmetric.full);
  size_t i;
  for (i = 0; i < sizeof held / sizeof held[0]; i++) {
    sum += mbi_memory_bytes(held[i]);
  }
  return sum;
}

MBI_NOINLINE MERBIT_API merbit_status merbit_plan_get_info(const merbit_plan *plan,
                                                           merbit_plan_info *info) {
  if (plan == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (info == NULL) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_plan_get_info: `info` is NULL");
  }
  memset(info, 0, sizeof *info);
  info->side = plan->side;
  info->method = plan->method;
  info->bytes_per_product = mbi_plan_product_bytes(plan);
  info->plan_seconds = plan->plan_seconds;
  info->transpose_seconds = plan->transpose.seconds;
  info->reorder_seconds = plan->reorder.seconds;
  info->bandwidth_before = plan->reorder.bandwidth_before;
  info->bandwidth = plan->reorder.bandwidth;
  info->expand_seconds = plan->symmetric.seconds;
  info->vectors = mbi_plan_vectors(plan);
  info->host_bytes = (int64_t)mbi_plan_memory(plan);
  if (plan->side == MERBIT_SIDE_CUDA) {
    uint64_t workspace[5];
    plan->cuda->info(plan, info);
    info->device_bytes =
        (int64_t)(plan->device.bytes + plan->schedule_bytes + plan->nonempty.counts_bytes +
                  plan->nonempty.column_bytes + plan->reorder.bytes +
                  (plan->arena.bytes - plan->arena.used) +
                  mbi_workspace_bytes(plan, workspace) - plan->making.arena_bytes);
    info->cubin_from_cache = plan->program.from_cache;
    info->compile_seconds = plan->times.compile;
    info->load_seconds = plan->times.load;
  }
  return MERBIT_OK;
}

/* ---- The description: what multiplies, and what else the plan does ------------------------ */

/* Writes how a plan on CUDA multiplies. */
static int mbi_describe_cuda(const merbit_plan *plan, char *text, size_t size) {
  const mbi_program_times *times = &plan->times;
  char part[256];
  (void)plan->cuda->describe(plan, part, sizeof part);
  return snprintf(
      text, size,
      "%s on %s (%s), %s%s: %" PRId64 " x %" PRId64 ", %" PRId64
      " nonzeros; %s; %s; cubins %s in %.1f ms; %.3g MB per product%s",
      plan->row->name, plan->context->device.name,
      plan->desc.method != MERBIT_METHOD_AUTO ? "requested"
      : plan->why[0] != '\0'                  ? plan->why
                                              : "for the library's own iterations",
      mbi_plan_type_text(plan), mbi_semiring_label(plan), plan->csr.rows, plan->csr.cols,
      mbi_plan_has_blocks(plan) ? plan->bsr.entries : plan->csr.nnz, part, mbi_value_name(plan),
      times->compile > 0 ? "compiled" : "from the cache",
      1e3 * (times->compile > 0 ? times->compile : times->load),
      1e-6 * (double)mbi_plan_product_bytes(plan),
      plan->desc.vector_memory == MERBIT_MEMORY_HOST ? "; host vectors, staged: slow" : "");
}

/* Writes how a plan on the CPU multiplies. */
static int mbi_describe_cpu(const merbit_plan *plan, char *text, size_t size) {
  const int one = (plan->row->takes & MBI_SEQUENTIAL) != 0;
  const char *reason = plan->reason[0] != '\0' ? plan->reason : plan->context->reason;
  if (plan->cpu->describe != NULL) {
    return plan->cpu->describe(plan, mbi_plan_product_bytes(plan), text, size);
  }
  return snprintf(text, size,
                  "%s on the CPU (%s), %s%s: %" PRId64 " x %" PRId64 ", %" PRId64
                  " nonzeros, %d thread%s; %s, 4-byte columns; %.3g MB per product%s%s%s",
                  plan->row->name,
                  plan->desc.method != MERBIT_METHOD_AUTO ? "requested"
                  : plan->why[0] != '\0'                  ? plan->why
                                                          : "default for symmetric storage",
                  mbi_plan_type_text(plan), mbi_semiring_label(plan), plan->csr.rows,
                  plan->csr.cols, plan->csr.nnz, one ? 1 : plan->tasks,
                  !one && plan->tasks != 1 ? "s" : "", mbi_value_name(plan),
                  1e-6 * (double)mbi_plan_product_bytes(plan),
                  plan->desc.method == MERBIT_METHOD_AUTO || mbi_plan_vectors(plan) > 1 ? ""
                  : one ? "; runner-up merge"
                        : "; runner-up reference",
                  reason[0] != '\0' ? "; not on CUDA: " : "", reason);
}

static int mbi_describe_epilogue(const merbit_plan *plan, char *text, size_t size) {
  const mbi_epilogue *e = plan->epilogue;
  return !mbi_plan_has_epilogue(plan)
             ? 0
             : snprintf(text, size, "; epilogue of %d vector%s and %d scalar%s",
                        e->given.vectors, e->given.vectors == 1 ? "" : "s", e->given.scalars,
                        e->given.scalars == 1 ? "" : "s");
}

/* Writes that the matrix is given by one triangle. */
static int mbi_describe_symmetric(const merbit_plan *plan, char *text, size_t size) {
  const mbi_symmetric *s = &plan->symmetric;
  return !mbi_plan_is_symmetric(plan)
             ? 0
             : snprintf(text, size,
                        "; %s, given by %" PRId64 " entries of its %s triangle, %s in %.1f ms",
                        mbi_symmetry_name(s->view.symmetry), s->view.nnz,
                        s->upper ? "upper" : "lower",
                        !s->direct                ? "expanded"
                        : s->full.row_ptr == NULL ? "checked"
                                                  : "copied in row order",
                        1e3 * s->seconds);
}

/* Writes the number of vectors and their order. */
static int mbi_describe_vectors(const merbit_plan *plan, char *text, size_t size) {
  return mbi_plan_vectors(plan) == 1
             ? 0
             : snprintf(text, size, "; %d vectors, %s-major", plan->desc.vectors,
                        plan->desc.vector_order == MERBIT_VECTORS_ROW_MAJOR ? "row" : "column");
}

/* Writes that the plan transposes. */
static int mbi_describe_transpose(const merbit_plan *plan, char *text, size_t size) {
  const merbit_view *given = &plan->given;
  if (!mbi_plan_transposes(plan)) {
    return 0;
  }
  if (given->format == MERBIT_COO) {
    return snprintf(text, size,
                    "; transposed from %" PRId64 " x %" PRId64 " by swapping indices",
                    given->rows, given->cols);
  }
  return snprintf(text, size,
                  "; transposed from %" PRId64 " x %" PRId64 " on the %s in %.1f ms",
                  given->rows, given->cols, plan->transpose.on_gpu ? "GPU" : "CPU",
                  1e3 * plan->transpose.seconds);
}

static int mbi_describe_numa(const merbit_plan *plan, char *text, size_t size) {
  return plan->desc.numa && plan->side == MERBIT_SIDE_CPU ? mbi_numa_describe(plan, text, size)
                                                          : 0;
}

/* Writes how the matrix was reordered. */
static int mbi_describe_order(const merbit_plan *plan, char *text, size_t size) {
  return !mbi_plan_reorders(plan)
             ? 0
             : snprintf(text, size,
                        "; reordered by %s in %.1f ms, bandwidth %" PRId64 " to %" PRId64,
                        mbi_reordering_name(plan->desc.reordering), 1e3 * plan->reorder.seconds,
                        plan->reorder.bandwidth_before, plan->reorder.bandwidth);
}

/* Returns the length of the description, which may exceed `size`. */
static int mbi_describe_plan(const merbit_plan *plan, char *text, size_t size) {
  static int (*const more[])(const merbit_plan *, char *, size_t) = {
      mbi_describe_epilogue,  mbi_describe_symmetric, mbi_describe_vectors,
      mbi_describe_transpose, mbi_describe_numa,      mbi_describe_order};
  int length = plan->side == MERBIT_SIDE_CUDA ? mbi_describe_cuda(plan, text, size)
                                              : mbi_describe_cpu(plan, text, size);
  size_t i;
  for (i = 0; i < sizeof more / sizeof more[0] && length > 0 && (size_t)length < size; i++) {
    length += more[i](plan, text + length, size - (size_t)length);
  }
  return length;
}

MERBIT_API size_t merbit_plan_describe(const merbit_plan *plan, char *text, size_t size) {
  char line[1024];
  const int length = plan == NULL ? snprintf(line, sizeof line, "no plan")
                                  : mbi_describe_plan(plan, line, sizeof line);
  if (text != NULL && size > 0) {
    (void)snprintf(text, size, "%s", line);
  }
  return length < 0 ? 0 : (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
}
