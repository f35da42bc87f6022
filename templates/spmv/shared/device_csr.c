#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"

/* A plan's CSR in GPU memory. Host arrays are checked and converted to 32-bit columns on the
 * CPU, and then uploaded. Device CSR arrays are used in place. They are checked, and 64-bit
 * columns are converted, by spmv/shared/csr_check.cu. */

MBI_INTERNAL int64_t mbi_arrays_blocks(int64_t count) {
  const int64_t blocks = count / MBI_ARRAYS_THREADS + 1;
  return blocks < MBI_ARRAYS_GRID ? blocks : MBI_ARRAYS_GRID;
}

MBI_INTERNAL uint64_t mbi_nonempty_blocks_of(int64_t rows) {
  return ((uint64_t)rows + MBI_NONEMPTY_PER_BLOCK - 1) / MBI_NONEMPTY_PER_BLOCK;
}

/* Returns the bytes of nonempty->counts: sums, and the offset of each block. */
MBI_INTERNAL uint64_t mbi_nonempty_bytes(int64_t rows) {
  return (MBI_NONEMPTY_SUMS + mbi_nonempty_blocks_of(rows)) * sizeof(uint32_t);
}

/* Fails with a message about the first bad entry, after a kernel has found one in device
 * arrays. */
static merbit_status mbi_device_csr_explain(merbit_context *context, const merbit_view *view) {
  merbit_view host;
  merbit_status status = mbi_view_download(context, view, &host);
  if (status == MERBIT_OK) {
    status = mbi_view_check_arrays(context, &host);
  }
  mbi_host_view_release(context, &host);
  MBI_TRY(status);
  return mbi_fail(context, MERBIT_INVALID_MATRIX,
                  "the device arrays changed while they were checked; keep them "
                  "unchanged until the plan is destroyed");
}

/* Checks device arrays on the GPU. If they are malformed, the host's check names the first bad
 * entry. The memory of the answer stays in csr->scratch, to be reused for the counts of
 * non-empty rows; it is large enough for those of a transpose. */
static merbit_status mbi_device_csr_check(merbit_plan *plan, const merbit_view *view,
                                          const mbi_program *program, mbi_device_csr *csr) {
  merbit_context *context = plan->context;
  void *function = NULL;
  uint32_t found = 0;
  int64_t rows = view->rows, nnz = view->nnz;
  mbk_csr_check_arguments arguments;
  MBI_TRY(mbi_program_kernel(context, program, "mbk_csr_check", &function));
  csr->scratch_bytes = mbi_nonempty_bytes(view->rows > view->cols ? view->rows : view->cols);
  MBI_TRY(mbi_plan_allocate(plan, csr->scratch_bytes, "the result of a check", &csr->scratch));
  MBI_TRY(mbi_device_zero(context, csr->scratch, sizeof found, NULL));
  arguments.row_ptr = mbi_device_address(view->row_ptr);
  arguments.col_ind = mbi_device_address(view->col_ind);
  arguments.rows = rows;
  arguments.cols = view->cols;
  arguments.nnz = nnz;
  arguments.bad = csr->scratch;
  MBI_TRY(mbi_device_launch(context, function, "mbk_csr_check",
                            mbi_arrays_blocks(nnz > rows ? nnz : rows), MBI_ARRAYS_THREADS, 0,
                            NULL, &arguments));
  MBI_TRY(mbi_device_download(context, &found, csr->scratch, sizeof found));
  return found != 0 ? mbi_device_csr_explain(context, view) : MERBIT_OK;
}

static merbit_status mbi_device_csr_narrow(merbit_plan *plan, const merbit_view *view,
                                           const mbi_program *program, mbi_device_csr *csr) {
  merbit_context *context = plan->context;
  void *function = NULL;
  int64_t nnz = view->nnz;
  mbk_csr_narrow_arguments arguments;
  MBI_TRY(mbi_program_kernel(context, program, "mbk_csr_narrow", &function));
  MBI_TRY(mbi_plan_allocate(plan, (uint64_t)nnz * sizeof(int32_t), "32-bit columns",
                            &csr->col_ind));
  csr->owns_col_ind = 1;
  csr->bytes += (uint64_t)nnz * sizeof(int32_t);
  arguments.wide = mbi_device_address(view->col_ind);
  arguments.nnz = nnz;
  arguments.narrow = csr->col_ind;
  return mbi_device_launch(context, function, "mbk_csr_narrow", mbi_arrays_blocks(nnz),
                           MBI_ARRAYS_THREADS, 0, NULL, &arguments);
}

MBI_NOINLINE MBI_INTERNAL merbit_status mbi_array_upload(merbit_plan *plan, const void *source,
                                                         uint64_t bytes, const char *what,
                                                         mbi_device_csr *csr,
                                                         mbi_devptr *target, int *owns) {
  MBI_TRY(mbi_plan_allocate(plan, bytes, what, target));
  *owns = 1;
  csr->bytes += bytes;
  return bytes > 0 ? mbi_device_upload(plan->context, *target, source, (size_t)bytes)
                   : MERBIT_OK;
}

/* Uploads `view`, a checked host CSR with 32-bit columns. */
static merbit_status mbi_device_csr_upload(merbit_plan *plan, const merbit_view *view,
                                           mbi_device_csr *csr) {
  const uint64_t nnz = (uint64_t)view->nnz;
  MBI_TRY(mbi_array_upload(plan, view->row_ptr,
                           ((uint64_t)view->rows + 1) * mbi_index_bytes(view->offset_type),
                           "row_ptr", csr, &csr->row_ptr, &csr->owns_row_ptr));
  MBI_TRY(mbi_array_upload(plan, view->col_ind, nnz * sizeof(int32_t), "col_ind", csr,
                           &csr->col_ind, &csr->owns_col_ind));
  if (view->values != NULL) {
    MBI_TRY(mbi_array_upload(plan, view->values, nnz * mbi_type_size(view->value_type),
                             "values", csr, &csr->values, &csr->owns_values));
  }
  return MERBIT_OK;
}

/* Takes over the addresses of `view`, a device CSR whose header has been checked. */
static merbit_status mbi_device_csr_borrow(merbit_plan *plan, const merbit_view *view,
                                           mbi_device_csr *csr) {
  merbit_context *context = plan->context;
  const void *arrays[3];
  int i;
  arrays[0] = view->row_ptr;
  arrays[1] = view->col_ind;
  arrays[2] = view->values;
  for (i = 0; i < 3; i++) {
    if (arrays[i] != NULL) {
      MBI_TRY(mbi_device_check_owned(context, MBI_VIEW_CLAIM, arrays[i]));
    }
  }
  MBI_TRY(mbi_size_check_address(context, "view.row_ptr", mbi_index_bytes(view->offset_type),
                                 view->row_ptr));
  MBI_TRY(mbi_size_check_address(context, "view.col_ind", mbi_index_bytes(view->index_type),
                                 view->col_ind));
  MBI_TRY(mbi_types_check_address(context, "view.values", view->value_type, view->values));
  csr->row_ptr = mbi_device_address(view->row_ptr);
  csr->col_ind = mbi_device_address(view->col_ind);
  csr->values = mbi_device_address(view->values);
  return MERBIT_OK;
}

/* Makes the device CSR of a view, to be completed by mbi_device_csr_prepare. The CUDA context
 * must be current. On failure the caller runs mbi_device_csr_destroy. */
MBI_INTERNAL merbit_status mbi_device_csr_create(merbit_plan *plan, const merbit_view *view,
                                                 mbi_device_csr *csr) {
  memset(csr, 0, sizeof *csr);
  csr->offset_type = view->offset_type;
  csr->base = view->base;
  csr->rows = (uint64_t)view->rows;
  csr->cols = (uint64_t)view->cols;
  csr->nnz = (uint64_t)view->nnz;
  return view->memory == MERBIT_MEMORY_DEVICE ? mbi_device_csr_borrow(plan, view, csr)
                                              : mbi_device_csr_upload(plan, view, csr);
}

/* Checks the user's device arrays unless the plan is unchecked, converts 64-bit columns to 32
 * bits, and waits. Its kernels are compiled together with the programs in `inspecting`, bits of
 * mbi_csr_file. The caller runs mbi_csr_programs_destroy afterwards, on failure too. */
MBI_INTERNAL merbit_status mbi_device_csr_prepare(merbit_plan *plan, const merbit_view *view,
                                                  uint32_t inspecting,
                                                  mbi_csr_programs *programs,
                                                  mbi_device_csr *csr) {
  const int given = view->memory == MERBIT_MEMORY_DEVICE;
  const int check = given && !plan->desc.unchecked && view->row_ptr != NULL; /* else no rows */
  const int narrow = given && view->index_type == MERBIT_INDEX_64;
  mbi_csr_types types;
  types.offset_type = view->offset_type;
  types.index_type = view->index_type;
  types.base = view->base;
  inspecting |= check || narrow ? 1u << MBI_CSR_CHECK : 0;
  MBI_TRY(mbi_csr_programs_create(plan->context, &types, inspecting, programs, &plan->times));
  if (check) {
    MBI_TRY(mbi_device_csr_check(plan, view, &programs->of[MBI_CSR_CHECK], csr));
  }
  if (narrow) {
    MBI_TRY(mbi_device_csr_narrow(plan, view, &programs->of[MBI_CSR_CHECK], csr));
  }
  return check || narrow ? mbi_device_synchronize(plan->context, NULL) : MERBIT_OK;
}

MBI_INTERNAL void mbi_device_csr_destroy(merbit_plan *plan, mbi_device_csr *csr) {
  if (csr->owns_row_ptr) {
    mbi_plan_release(plan, csr->row_ptr);
  }
  if (csr->owns_col_ind) {
    mbi_plan_release(plan, csr->col_ind);
  }
  if (csr->owns_values) {
    mbi_plan_release(plan, csr->values);
  }
  mbi_plan_release(plan, csr->table);
  mbi_plan_release(plan, csr->scratch);
}

/* Returns the bytes of the columns and values of a CSR, as a product reads them. */
MBI_INTERNAL uint64_t mbi_device_csr_stream_bytes(const merbit_plan *plan) {
  return plan->device.nnz * (sizeof(int32_t) + mbi_value_bytes(plan)) +
         mbi_value_bytes_once(plan);
}

/* Defines the macros that a plan passes to every product kernel. */
MBI_INTERNAL void mbi_plan_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const char *sums = mbi_type_device(mbi_plan_accumulator(plan));
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_VALUE",
                      plan->device.form == MBI_VALUES_SINGLE  ? "float"
                      : plan->device.form == MBI_VALUES_HALF  ? "mbk_u16"
                      : plan->device.form == MBI_VALUES_TABLE ? "mbk_u8"
                                                              : mbi_type_device(plan->type));
  mbi_preamble_define(preamble, "MBK_VECTOR", sums);
  mbi_preamble_define(preamble, "MBK_COMPUTE", sums);
  mbi_preamble_define_int(preamble, "MBK_PATTERN", mbi_value_bytes(plan) == 0);
  mbi_preamble_define_int(preamble, "MBK_STORED", mbi_plan_stored(plan));
  mbi_preamble_define(preamble, "MBK_ROW_PTR",
                      plan->device.offset_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define_int(preamble, "MBK_BASE", plan->device.base);
  mbi_semiring_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_SCALARS_DEVICE",
                          plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE);
  if (plan->stops) {
    mbi_preamble_define_int(preamble, "MBK_STOPS", 1);
  }
  if (mbi_plan_launches_plainly(plan)) {
    mbi_preamble_define_int(preamble, "MBK_PLAIN_LAUNCH", 1);
  }
}
