#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/study/study.h"
#include "spmv/plan/plan.h"

/* Queries about a plan that methods and stages share, GPU memory for it, and launches. */

/* Returns the whole number that plan_desc.tuning sets for a knob, or 0 if it sets none. `knob`
 * is the knob's index among those of the method: MBI_KNOB_... in the method's header. */
MBI_INTERNAL int mbi_knob(const merbit_plan *plan, int knob) {
  return (int)plan->tuning[knob];
}

/* ---- GPU memory -------------------------------------------------------------------------- */

/* Returns the arena from which the plan's arrays are allocated. */
static mbi_arena *mbi_plan_arena(merbit_plan *plan) {
  return plan->making.arena != NULL ? plan->making.arena : &plan->arena;
}

/* Allocates an array of the plan. It comes from the arena while the plan is being made, if the
 * arena has enough space. */
MBI_INTERNAL merbit_status mbi_plan_allocate(merbit_plan *plan, uint64_t bytes,
                                             const char *what, mbi_devptr *address) {
  return mbi_arena_allocate(plan->context, mbi_plan_arena(plan), bytes, what, address);
}

/* Allocates several arrays of the plan in one piece, as mbi_arena_allocate_parts does. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_plan_allocate_parts(merbit_plan *plan,
                                                                const char *what, int count,
                                                                mbi_devptr *const *parts,
                                                                const uint64_t *bytes) {
  return mbi_arena_allocate_parts(plan->context, mbi_plan_arena(plan), what, count, parts,
                                  bytes);
}

/* Releases an array of the plan. */
MBI_NOINLINE MBI_INTERNAL void mbi_plan_release(merbit_plan *plan, mbi_devptr address) {
  mbi_arena_release(plan->context, mbi_plan_arena(plan), address);
}

/* ---- Programs ---------------------------------------------------------------------------- */

/* Makes a program of `parts` parts for the plan, and adds the time to plan->times. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_plan_program(merbit_plan *plan, const char *file,
                                                         const mbi_preamble *preamble,
                                                         int parts, mbi_program *program) {
  const mbi_program_wish wish = {file, preamble, parts, program};
  return mbi_programs_create(plan->context, &wish, 1, &plan->times);
}

/* ---- Launches and values ----------------------------------------------------------------- */

/* Returns whether a plan of a matrix in host memory has copied the values. It then no longer
 * reads the array from which it was made, nor one that an update passed to it. */
MBI_INTERNAL int mbi_plan_copies_values(const merbit_plan *plan) {
  return plan->side == MERBIT_SIDE_CUDA || plan->sorted.shares != NULL;
}

/* Returns whether products start only when all earlier work is done. They can then read x as
 * read-only data, from which most methods gain more than from a dependent launch. */
MBI_INTERNAL int mbi_plan_launches_plainly(const merbit_plan *plan) {
  return plan->making.interleaved && (plan->row->takes & MBI_ALWAYS_DEPENDENT) == 0;
}

/* Returns how a kernel of a product is launched. A fix-up, which runs `behind` the product of
 * the same call, is always a dependent launch: it does not read the carries as read-only
 * data. */
MBI_INTERNAL int mbi_plan_start(const merbit_plan *plan, int behind) {
  return mbi_plan_launches_plainly(plan) && !behind ? MBI_LAUNCH_PLAIN : MBI_LAUNCH_DEPENDENT;
}

/* Launches the first kernel of a product. `bytes` is the size of its struct of arguments if the
 * kernel is declared with MBK_BY_FIELD, otherwise 0. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_plan_launch(merbit_plan *plan, void *function,
                                                        const char *name, int64_t grid,
                                                        int threads, unsigned shared_bytes,
                                                        void *stream, const void *arguments,
                                                        size_t bytes) {
  return mbi_device_launch_some(plan->context, function, name, grid, threads, shared_bytes,
                                stream, arguments, bytes, mbi_plan_start(plan, 0));
}

/* Returns the bytes per nonzero that a product reads of the values. */
MBI_NOINLINE MBI_INTERNAL size_t mbi_value_bytes(const merbit_plan *plan) {
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

/* Returns the bytes of values that do not grow with the nonzeros: a single value, a table, or
 * the values of the rows or columns. */
MBI_INTERNAL uint64_t mbi_value_bytes_once(const merbit_plan *plan) {
  const mbi_device_csr *csr = &plan->device;
  const uint64_t size = mbi_type_size(plan->type);
  return csr->form == MBI_VALUES_EQUAL    ? size
         : csr->form == MBI_VALUES_TABLE  ? MBI_VALUES_MOST * size
         : csr->form == MBI_VALUES_ROW    ? csr->rows * size
         : csr->form == MBI_VALUES_COLUMN ? 3 * csr->cols * size
                                          : 0;
}

/* Returns the bytes of shared memory per block that a product uses for a table of values. */
MBI_INTERNAL unsigned mbi_value_shared(const merbit_plan *plan) {
  return plan->device.form == MBI_VALUES_TABLE
             ? (unsigned)(MBI_VALUES_MOST * mbi_type_size(plan->type))
             : 0;
}

/* Returns the name of the form of the values for merbit_plan_describe. */
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

/* Returns whether the plan multiplies plan->bsr. */
MBI_INTERNAL int mbi_plan_has_blocks(const merbit_plan *plan) {
  return plan->bsr.view.block_rows > 0;
}

/* Returns whether the plan multiplies a reordered matrix. */
MBI_INTERNAL int mbi_plan_reorders(const merbit_plan *plan) {
  return plan->desc.reordering != MERBIT_REORDERING_NONE;
}

/* Returns whether the plan multiplies by a transpose. */
MBI_INTERNAL int mbi_plan_transposes(const merbit_plan *plan) {
  return plan->desc.operation != MERBIT_OPERATION_N;
}

/* Transposes a COO view in place: swaps its index arrays and sizes. */
MBI_INTERNAL void mbi_view_swap(merbit_view *coo) {
  const void *rows = coo->row_ind;
  const int64_t count = coo->rows;
  coo->row_ind = coo->col_ind;
  coo->col_ind = rows;
  coo->rows = coo->cols;
  coo->cols = count;
}

/* Checks the arrays of plan->view, which are in host memory. Messages name the user's
 * arrays. */
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
