/* BSR from every kind of view, entry by entry: exactly the blocks that hold an entry, sorted,
 * with zeros elsewhere; masks that mark entries; and the conversion back to CSR. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/blocks.h"
#include "support/cpu.h"

static merbit_context *contexts[2]; /* of 1 and 4 threads */

static int set_up(void **state) {
  (void)state;
  contexts[0] = cpu_open(NULL, 1);
  contexts[1] = cpu_open(NULL, 4);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  merbit_context_destroy(contexts[0]);
  merbit_context_destroy(contexts[1]);
  return 0;
}

static double value_at(const merbit_view *view, int64_t k) {
  return view->values == NULL             ? 1
         : view->value_type == MERBIT_F32 ? (double)((const float *)view->values)[k]
                                          : ((const double *)view->values)[k];
}

static int64_t offset_at(const merbit_view *view, int64_t row) {
  return view->offset_type == MERBIT_INDEX_64 ? ((const int64_t *)view->row_ptr)[row]
                                              : ((const int32_t *)view->row_ptr)[row];
}

/* Returns the sorted CSR of the same view, which has its own tests. */
static merbit_matrix *sorted(merbit_context *context, const merbit_view *view) {
  merbit_matrix *matrix;
  products_done(context, merbit_matrix_create(context, view, &matrix), "a matrix");
  return matrix;
}

/* Looks up each value of the blocks of `bsr` in `csr`: an entry has its bits, everything else
 * is +0, and every entry is found. */
static void same_entries(const merbit_view *csr, const merbit_view *bsr,
                         const mbi_bsr *masked) {
  const int rows = bsr->block_rows, cols = bsr->block_cols;
  const int32_t *block_column = (const int32_t *)bsr->col_ind;
  const int32_t *column = (const int32_t *)csr->col_ind;
  int64_t block_row, block, found = 0, r, c;
  assert_int_equal(offset_at(bsr, 0), 0);
  for (block_row = 0; block_row < blocks_count(csr->rows, rows); block_row++) {
    int64_t before = -1;
    for (block = offset_at(bsr, block_row); block < offset_at(bsr, block_row + 1); block++) {
      int64_t entries = found;
      assert_true(block_column[block] > before);
      before = block_column[block];
      for (r = 0; r < rows; r++) {
        const int64_t row = block_row * rows + r;
        int64_t k = row < csr->rows ? offset_at(csr, row) : 0;
        const int64_t end = row < csr->rows ? offset_at(csr, row + 1) : 0;
        while (k < end && column[k] < before * cols) {
          k++;
        }
        for (c = 0; c < cols; c++) {
          const int64_t in_block =
              bsr->block_order == MERBIT_BLOCK_ROW_MAJOR ? r * cols + c : c * rows + r;
          const double value = value_at(bsr, block * rows * cols + in_block);
          const int entry = k < end && column[k] == before * cols + c;
          const double right = entry ? value_at(csr, k) : 0;
          if (bsr->values != NULL || row < csr->rows) {
            assert_true(bsr->values == NULL ? entry || before * cols + c >= csr->cols
                                            : memcmp(&value, &right, sizeof value) == 0);
          }
          if (masked != NULL && masked->masks != NULL) {
            const uint64_t word =
                masked->masks[block * masked->mask_words + in_block / 64] >> in_block % 64;
            assert_int_equal(word & 1, entry);
          }
          found += entry;
          k += entry;
        }
      }
      assert_true(found > entries); /* no empty block */
    }
  }
  assert_int_equal(found, csr->nnz);
  assert_int_equal(block_row == 0 ? 0 : offset_at(bsr, block_row), bsr->nnz);
}

static void check_view(merbit_context *context, const merbit_view *view,
                       const merbit_bsr_desc *desc) {
  merbit_matrix *right = sorted(context, view), *made, *back;
  const merbit_view csr = merbit_matrix_view(right);
  merbit_view bsr, again;
  merbit_block_info info;
  mbi_bsr masked;
  products_done(context, merbit_matrix_create_bsr(context, view, desc, &made), "blocks");
  bsr = merbit_matrix_view(made);
  assert_int_equal(bsr.format, MERBIT_BSR);
  assert_int_equal(bsr.rows, view->rows);
  assert_int_equal(bsr.cols, view->cols);
  assert_int_equal(bsr.block_order, desc->block_order);
  assert_true(desc->block_rows == 0 ||
              (bsr.block_rows == desc->block_rows && bsr.block_cols == desc->block_cols));
  assert_int_equal(bsr.offset_type, MERBIT_INDEX_32);
  assert_int_equal(bsr.index_type, MERBIT_INDEX_32);
  assert_int_equal((uintptr_t)bsr.values % 64, 0);
  assert_int_equal(merbit_view_check(context, &bsr), MERBIT_OK);
  same_entries(&csr, &bsr, NULL);
  products_done(context, merbit_view_find_blocks(context, view, desc, &info), "a shape");
  assert_int_equal(info.block_rows, bsr.block_rows);
  assert_int_equal(info.block_cols, bsr.block_cols);
  assert_int_equal(info.blocks, bsr.nnz);
  assert_true(info.fill ==
              (bsr.nnz == 0 ? 1 : (double)csr.nnz / (double)mbi_view_values(&bsr)));
  assert_int_equal(info.bytes, bsr.nnz * 4 +
                                   (bsr.values != NULL ? mbi_view_values(&bsr) : 0) *
                                       (int64_t)products_size(csr.value_type) +
                                   4 * (blocks_count(bsr.rows, bsr.block_rows) + 1));
  assert_int_equal(info.csr_bytes, csr.nnz * 4 +
                                       (csr.values != NULL ? csr.nnz : 0) *
                                           (int64_t)products_size(csr.value_type) +
                                       4 * (csr.rows + 1));
  /* Back to CSR: the zeros have become entries. */
  products_done(context, merbit_matrix_create(context, &bsr, &back), "a matrix from blocks");
  again = merbit_matrix_view(back);
  assert_true(again.nnz >= csr.nnz && again.nnz <= mbi_view_values(&bsr));
  merbit_matrix_destroy(back);
  merbit_matrix_destroy(made);
  products_done(context, mbi_bsr_from_view(context, view, desc, MBI_MASKS_ASIDE, &masked),
                "blocks with masks");
  assert_int_equal(masked.entries, csr.nnz);
  same_entries(&csr, &masked.view, &masked);
  mbi_bsr_release(context, &masked);
  merbit_matrix_destroy(right);
}

/* Some generated matrices have unsorted and duplicate columns. */
static void every_matrix_in_blocks(void **state) {
  unsigned turn = 0;
  int i, run;
  (void)state;
  for (i = 0; i < test_matrix_count(); i++) {
    for (run = 0; run < (i < 100 ? 4 : 1); run++, turn++) { /* the last ones are large */
      products_form form = blocks_form(turn * 13);
      merbit_bsr_desc desc;
      blocks_shape s;
      products_arrays a;
      test_matrix m;
      form.format = turn % 3 == 0 ? MERBIT_COO : MERBIT_CSR;
      test_matrix_make(i, 8, &m);
      products_arrays_make(NULL, &m, &form, &a);
      blocks_shape_of((int)(turn * 7 % (unsigned)(BLOCKS_SHAPES - 1)), &s);
      desc.block_rows = run == 3 ? 0 : s.block_rows;
      desc.block_cols = run == 3 ? 0 : s.block_cols;
      desc.block_order = (merbit_block_order)(turn % 2);
      check_view(contexts[turn / 3 % 2], &a.view, &desc);
      products_arrays_free(&a);
      test_matrix_free(&m);
    }
  }
}

static void blocks_in_other_blocks(void **state) {
  unsigned turn;
  (void)state;
  for (turn = 0; turn < 200; turn++) {
    const products_form form = blocks_form(turn);
    merbit_bsr_desc desc;
    blocks_shape s, to;
    products_case c;
    memset(&s, 0, sizeof s);
    blocks_shape_of((int)turn % (BLOCKS_SHAPES - 1), &s);
    blocks_shape_of((int)(turn * 5 % (unsigned)(BLOCKS_SHAPES - 1)), &to);
    s.order = (merbit_block_order)(turn / 2 % 2);
    s.rows = 20 + turn % 50;
    s.cols = 1 + turn % 60;
    s.longest = 4;
    blocks_case_make(&s, &form, turn, &c);
    desc.block_rows = to.block_rows;
    desc.block_cols = to.block_cols;
    desc.block_order = (merbit_block_order)(turn % 2);
    check_view(contexts[turn % 2], &c.a.view, &desc);
    blocks_case_free(&c);
  }
}

/* Zeros of either sign are ordinary entries, also in the sum of duplicates. */
static void zeros_keep_their_sign(void **state) {
  static const int32_t row_ptr[] = {0, 3, 5}, col_ind[] = {1, 0, 1, 1, 0};
  static const double values[] = {-0.0, -0.0, 0.0, -0.0, 7};
  static const double right[] = {-0.0, 0.0, 7, -0.0};
  const merbit_view view = merbit_csr(2, 2, 5, row_ptr, col_ind, values);
  merbit_bsr_desc desc = {2, 2, MERBIT_BLOCK_ROW_MAJOR};
  merbit_matrix *made;
  (void)state;
  assert_int_equal(merbit_matrix_create_bsr(contexts[0], &view, &desc, &made), MERBIT_OK);
  assert_memory_equal(merbit_matrix_view(made).values, right, sizeof right);
  merbit_matrix_destroy(made);
}

/* Blocks are counted with 64-bit offsets, as from 2^31 blocks on. */
static void wide_offsets(void **state) {
  products_form form = blocks_form(0);
  const merbit_bsr_desc shape = {2, 3, MERBIT_BLOCK_COLUMN_MAJOR};
  mbi_bsr narrow, wide;
  mbi_blocking b;
  merbit_view csr;
  merbit_matrix *source;
  products_case c;
  test_matrix m;
  int64_t row;
  (void)state;
  form.format = MERBIT_CSR;
  test_matrix_make(60, 5, &m);
  products_case_make(NULL, &m, &form, &c);
  source = sorted(contexts[0], &c.a.view);
  csr = merbit_matrix_view(source);
  products_done(contexts[0],
                mbi_blocks_make(contexts[0], &csr, &shape, MBI_MASKS_NONE, &narrow), "blocks");
  mbi_blocks_describe(&csr, &shape, &wide);
  b.csr = &csr;
  b.bsr = &wide;
  (void)mbi_blocking_count(contexts[0], &b);
  wide.view.offset_type = MERBIT_INDEX_64;
  products_done(contexts[0], mbi_blocks_allocate(contexts[0], &wide, 1), "wide blocks");
  mbi_parallel(contexts[0], b.tasks, mbi_blocking_fill_task, &b);
  mbi_blocking_put_offset(&wide.view, blocks_count(csr.rows, 2), wide.view.nnz);
  for (row = 0; row <= blocks_count(csr.rows, 2); row++) {
    assert_int_equal(offset_at(&wide.view, row), offset_at(&narrow.view, row));
  }
  same_entries(&csr, &wide.view, NULL);
  assert_int_equal(merbit_view_check(contexts[0], &wide.view), MERBIT_OK);
  mbi_bsr_release(contexts[0], &narrow);
  mbi_bsr_release(contexts[0], &wide);
  merbit_matrix_destroy(source);
  products_case_free(&c);
  test_matrix_free(&m);
}

static void full_patterns_stay_patterns(void **state) {
  static const int32_t row_ptr[] = {0, 2, 4, 5}, col_ind[] = {0, 1, 0, 1, 2};
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, NULL);
  merbit_bsr_desc desc = {2, 2, MERBIT_BLOCK_ROW_MAJOR};
  merbit_matrix *made;
  (void)state;
  assert_int_equal(merbit_matrix_create_bsr(contexts[0], &view, &desc, &made), MERBIT_OK);
  assert_int_equal(merbit_matrix_view(made).nnz, 2); /* the second reaches beyond */
  assert_null(merbit_matrix_view(made).values);
  merbit_matrix_destroy(made);
  desc.block_cols = 3;
  assert_int_equal(merbit_matrix_create_bsr(contexts[0], &view, &desc, &made), MERBIT_OK);
  assert_non_null(merbit_matrix_view(made).values);
  merbit_matrix_destroy(made);
}

static void refused(const merbit_view *view, const merbit_bsr_desc *desc, merbit_status status,
                    const char *piece) {
  merbit_matrix *made = (merbit_matrix *)contexts[0];
  merbit_block_info info;
  assert_int_equal(merbit_matrix_create_bsr(contexts[0], view, desc, &made), status);
  assert_null(made);
  cpu_expect(contexts[0], status, piece);
  assert_int_equal(merbit_view_find_blocks(contexts[0], view, desc, &info), status);
  cpu_expect(contexts[0], status, piece);
}

static void errors_are_named(void **state) {
  static const int32_t row_ptr[] = {0, 1, 2}, col_ind[] = {0, 2};
  merbit_view view = merbit_csr(2, 3, 2, row_ptr, col_ind, NULL);
  merbit_bsr_desc desc = {0, 2, MERBIT_BLOCK_ROW_MAJOR};
  merbit_matrix *made;
  merbit_block_info info;
  (void)state;
  assert_int_equal(merbit_matrix_create_bsr(NULL, &view, &desc, &made),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_matrix_create_bsr(contexts[0], &view, &desc, NULL),
                   MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_view_find_blocks(NULL, &view, &desc, &info), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_view_find_blocks(contexts[0], &view, &desc, NULL),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(contexts[0], MERBIT_INVALID_ARGUMENT, "`info` is NULL");
  refused(NULL, NULL, MERBIT_INVALID_ARGUMENT, "the view is NULL");
  refused(&view, &desc, MERBIT_INVALID_ARGUMENT, "bsr_desc.block_rows is 0 and block_cols 2");
  desc.block_rows = 65;
  refused(&view, &desc, MERBIT_INVALID_ARGUMENT, "bsr_desc.block_rows is 65");
  desc.block_rows = 1;
  desc.block_order = (merbit_block_order)2;
  refused(&view, &desc, MERBIT_INVALID_ARGUMENT, "bsr_desc.block_order is 2");
  desc.block_order = MERBIT_BLOCK_ROW_MAJOR;
  view.cols = 2;
  refused(&view, &desc, MERBIT_INVALID_MATRIX, "col_ind[1] (row 1) is 2");
  view.cols = 3;
  view.memory = MERBIT_MEMORY_DEVICE;
  refused(&view, &desc, MERBIT_INVALID_ARGUMENT, "MERBIT_MEMORY_DEVICE");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_matrix_in_blocks),      cmocka_unit_test(blocks_in_other_blocks),
      cmocka_unit_test(zeros_keep_their_sign),       cmocka_unit_test(wide_offsets),
      cmocka_unit_test(full_patterns_stay_patterns), cmocka_unit_test(errors_are_named),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
