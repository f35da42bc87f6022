#include "core/context.h"
#include "matrix/matrix.h"

/* Transposition of a CSR or BSR that keeps duplicates and records the original position of each
 * entry, so that new values can be moved later. (merbit_matrix_transpose sorts and adds up
 * duplicates instead.) */

typedef struct mbi_transpose_map {
  const merbit_view *from;
  merbit_view *to;
  const void *places;
  size_t unit; /* bytes of the values of a block */
  int tasks;
} mbi_transpose_map;

/* Moves a task's entries or blocks. Blocks stay as they are, because a row-major block is its
 * transpose in column-major order. */
static void mbi_transpose_map_blocks_task(void *argument, int task) {
  const mbi_transpose_map *f = (const mbi_transpose_map *)argument;
  const char *from = (const char *)f->from->values;
  char *to = (char *)(uintptr_t)f->to->values;
  int64_t k = mbi_share(f->to->nnz, f->tasks, task);
  const int64_t last = mbi_share(f->to->nnz, f->tasks, task + 1);
  for (; k < last; k++) {
    memcpy(to + (size_t)k * f->unit,
           from + (size_t)mbi_index_at(f->places, f->to->offset_type, k) * f->unit, f->unit);
  }
}

/* Writes values, given in the original matrix's order of entries or blocks, to the transpose
 * `to`. */
MBI_INTERNAL void mbi_transpose_map_into(merbit_context *context, const void *values,
                                         const void *places, merbit_view *to) {
  merbit_view from = *to;
  mbi_transpose_map f;
  from.values = values;
  f.from = &from;
  f.to = to;
  f.places = places;
  f.unit = mbi_type_size(mbi_view_type(to)) *
           (to->format == MERBIT_BSR ? (size_t)to->block_rows * (size_t)to->block_cols : 1);
  f.tasks = mbi_share_tasks(context, mbi_view_values(to));
  mbi_parallel(context, f.tasks, mbi_transpose_map_blocks_task, &f);
}

/* Builds the transpose in build->to. On failure the caller releases build's arrays. */
static merbit_status mbi_transpose_map_run(mbi_build *build, const merbit_view *from) {
  merbit_context *context = build->context;
  build->place_type = from->nnz <= INT32_MAX ? MERBIT_INDEX_32 : MERBIT_INDEX_64;
  MBI_TRY(mbi_build_allocate(build));
  if (from->values != NULL) {
    MBI_TRY(mbi_allocate_array(context, from->nnz, mbi_index_bytes(build->place_type),
                               "the places of values in a matrix", &build->places));
  }
  MBI_TRY(mbi_build_group(build));
  MBI_TRY(mbi_build_narrow(build));
  if (from->format == MERBIT_BSR && from->values != NULL) {
    MBI_TRY(mbi_allocate_array(context, mbi_view_values(from),
                               mbi_type_size(mbi_view_type(from)), "the values of a matrix",
                               &build->values));
  }
  return MERBIT_OK;
}

/* Makes *matrix, the transpose of the checked host view `from`: a BSR, or a CSR with 32-bit
 * columns and base 0. `from` has at most 2^31 - 1 rows. Sets *places to an array with the
 * original position of each entry or block, in the matrix's offset_type, or to NULL for a
 * pattern. The caller releases both. */
MBI_INTERNAL merbit_status mbi_matrix_transpose_map(merbit_context *context,
                                                    const merbit_view *from,
                                                    merbit_matrix **matrix, void **places) {
  const int blocks = from->format == MERBIT_BSR;
  const merbit_view frame = blocks ? mbi_block_frame(from) : *from;
  merbit_view made;
  mbi_build build;
  merbit_status status;
  *matrix = NULL;
  *places = NULL;
  mbi_build_describe(&build, context, &frame, MBI_BUILD_TRANSPOSE);
  status = mbi_transpose_map_run(&build, from);
  if (status == MERBIT_OK) {
    made = build.to;
    made.col_ind = build.col_ind;
    made.values = build.values;
    if (blocks) {
      made.format = MERBIT_BSR;
      made.rows = from->cols;
      made.cols = from->rows;
      made.block_rows = from->block_cols;
      made.block_cols = from->block_rows;
      made.block_order = from->block_order == MERBIT_BLOCK_ROW_MAJOR ? MERBIT_BLOCK_COLUMN_MAJOR
                                                                     : MERBIT_BLOCK_ROW_MAJOR;
    }
    if (blocks && made.values != NULL) {
      mbi_transpose_map_into(context, from->values, build.places, &made);
    }
    status = mbi_matrix_record(context, &made, NULL, matrix);
  }
  if (status != MERBIT_OK) {
    mbi_release(context, build.row_ptr);
    mbi_release(context, build.narrow_row_ptr);
    mbi_release(context, build.col_ind);
    mbi_release(context, build.values);
    mbi_release(context, build.places);
    return status;
  }
  *places = build.places;
  return MERBIT_OK;
}
