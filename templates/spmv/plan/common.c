#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/study/study.h"
#include "spmv/plan/plan.h"

/* What methods and stages ask of a plan. */

/* Whether products start only when all before them is done. Then x is read as data that nobody
 * writes, which most methods gain more by than by an early start; SLICED loses nothing without.
 */
MBI_INTERNAL int mbi_plan_launches_plainly(const merbit_plan *plan) {
  return plan->making.interleaved && plan->method != MERBIT_METHOD_SLICED;
}

/* A MBI_START of a kernel of a product. A fix-up `behind` the product of the same call is early
 * in calm plans too: it reads the carries as data that others write. */
MBI_INTERNAL int mbi_plan_start(const merbit_plan *plan, int behind) {
  return mbi_plan_launches_plainly(plan) && !behind ? MBI_LAUNCH_PLAIN : MBI_LAUNCH_DEPENDENT;
}

/* A kernel of a product with nothing of the same call before it that it could be `behind`. */
MBI_INTERNAL merbit_status mbi_plan_launch(merbit_plan *plan, void *function, const char *name,
                                           int64_t grid, int threads, unsigned shared_bytes,
                                           void *stream, const void *arguments) {
  return mbi_device_launch_some(plan->context, function, name, grid, threads, shared_bytes,
                                stream, arguments, mbi_plan_start(plan, 0));
}

/* That a product reads of each nonzero's value. */
MBI_INTERNAL size_t mbi_value_bytes(const merbit_plan *plan) {
  const mbi_device_csr *csr = &plan->device;
  switch (csr->form) {
  case MBI_VALUES_GENERAL:
    return csr->values == 0 ? 0 : mbi_type_size(plan->type);
  case MBI_VALUES_SINGLE:
    return sizeof(float);
  case MBI_VALUES_HALF:
    return sizeof(uint16_t);
  case MBI_VALUES_TABLE:
    return 1;
  default:
    return 0;
  }
}

/* That a product moves for values beside. */
MBI_INTERNAL uint64_t mbi_value_bytes_once(const merbit_plan *plan) {
  const mbi_device_csr *csr = &plan->device;
  const uint64_t size = mbi_type_size(plan->type);
  return csr->form == MBI_VALUES_EQUAL    ? size
         : csr->form == MBI_VALUES_TABLE  ? MBI_VALUES_MOST * size
         : csr->form == MBI_VALUES_ROW    ? csr->rows * size
         : csr->form == MBI_VALUES_COLUMN ? 3 * csr->cols * size
                                          : 0;
}

/* Of shared memory that each block of a product keeps for a table. */
MBI_INTERNAL unsigned mbi_value_shared(const merbit_plan *plan) {
  return plan->device.form == MBI_VALUES_TABLE
             ? (unsigned)(MBI_VALUES_MOST * mbi_type_size(plan->type))
             : 0;
}

/* For merbit_plan_describe. */
MBI_INTERNAL const char *mbi_value_name(const merbit_plan *plan) {
  static const char *const names[] = {"general values",
                                      "values all equal",
                                      "values exact in f32",
                                      "values exact in f16",
                                      "values from a table, by bytes",
                                      "values equal in each row",
                                      "values equal in each column"};
  return plan->csr.values == NULL ? "values all one"
         : plan->sorted.shares != NULL && plan->sorted.values == NULL
             ? names[MBI_VALUES_EQUAL]
             : names[plan->device.form];
}

/* Whether plan->bsr is what is multiplied. */
MBI_INTERNAL int mbi_plan_has_blocks(const merbit_plan *plan) {
  return plan->bsr.view.block_rows > 0;
}

MBI_INTERNAL const char *mbi_method_name(merbit_method method) {
  static const char *const names[] = {"auto", "reference", "merge",  "merbit",   "scan",
                                      "rows", "sliced",    "binned", "bsr",      "cb",
                                      "hubs", "sorted",    "many",   "symmetric"};
#ifdef MERBIT_STUDY_METHODS
  if (method >= MERBIT_METHOD_BSR_ROWS) {
    return mbi_study_name(method);
  }
#endif
  return names[method];
}

/* Returns the name that users write; of methods for comparison, that of mbi_method_name. */
MBI_INTERNAL const char *mbi_method_identifier(merbit_method method) {
  static const char *const names[] = {
      "MERBIT_METHOD_AUTO",   "MERBIT_METHOD_REFERENCE", "MERBIT_METHOD_MERGE",
      "MERBIT_METHOD_MERBIT", "MERBIT_METHOD_SCAN",      "MERBIT_METHOD_ROWS",
      "MERBIT_METHOD_SLICED", "MERBIT_METHOD_BINNED",    "MERBIT_METHOD_BSR",
      "MERBIT_METHOD_CB",     "MERBIT_METHOD_HUBS",      "MERBIT_METHOD_SORTED",
      "MERBIT_METHOD_MANY",   "MERBIT_METHOD_SYMMETRIC"};
#ifdef MERBIT_STUDY_METHODS
  if (method >= MERBIT_METHOD_BSR_ROWS) {
    return mbi_study_name(method);
  }
#endif
  return names[method];
}

MBI_INTERNAL int mbi_plan_transposes(const merbit_plan *plan) {
  return plan->desc.operation != MERBIT_OPERATION_N;
}

/* The transpose of a COO, as it lies. */
MBI_INTERNAL void mbi_view_swap(merbit_view *coo) {
  const void *rows = coo->row_ind;
  const int64_t count = coo->rows;
  coo->row_ind = coo->col_ind;
  coo->col_ind = rows;
  coo->rows = coo->cols;
  coo->cols = count;
}

/* Check the arrays of plan->view, which are on the host, by the names under which they came. */
MBI_INTERNAL merbit_status mbi_plan_check_arrays(const merbit_plan *plan,
                                                 const merbit_view *host) {
  merbit_view given = *host;
  if (plan->desc.unchecked) {
    return MERBIT_OK;
  }
  if (mbi_plan_transposes(plan) && host->format == MERBIT_COO) {
    mbi_view_swap(&given);
  }
  return mbi_view_check_arrays(plan->context, &given);
}
