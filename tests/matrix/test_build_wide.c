/* The sort by rows with 64-bit cursors, needed from 2^31 entries on, here on small matrices and
 * compared with 32-bit cursors. Also big integers of unequal length, which real input rarely
 * produces. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/products.h"

/* Does what mbi_build_bucket does, with cursors of either width and a given number of tasks. */
static void bucket(mbi_build *build, int wide, int tasks) {
  build->tasks = tasks;
  build->cursor_type = wide ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  assert_int_equal(mbi_allocate_array(build->context, build->to.rows * tasks, wide ? 8 : 4,
                                      "cursors", &build->cursors),
                   MERBIT_OK);
  mbi_parallel(build->context, tasks, mbi_build_count_task, build);
  mbi_build_place(build);
  mbi_parallel(build->context, tasks, mbi_build_scatter_task, build);
  mbi_release(build->context, build->cursors);
}

static void release(mbi_build *build) {
  mbi_release(build->context, build->row_ptr);
  mbi_release(build->context, build->col_ind);
  mbi_release(build->context, build->values);
}

static void both_widths_agree(void **state) {
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 3);
  int i, form_bits, tasks;
  (void)state;
  for (i = 0; i < test_matrix_count(); i += 3) {
    test_matrix m;
    test_matrix_make(i, 8, &m);
    for (form_bits = 0; form_bits < 8; form_bits++) {
      products_form form;
      products_arrays a;
      memset(&form, 0, sizeof form);
      form.type = form_bits & 1 ? MERBIT_F32 : MERBIT_F64;
      form.base = form_bits >> 1 & 1;
      form.index_type = form.base ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
      form.format = form_bits & 4 ? MERBIT_COO : MERBIT_CSR;
      products_arrays_make(context, &m, &form, &a);
      for (tasks = 1; tasks <= 5; tasks += 2) {
        mbi_build narrow, wide;
        mbi_build_describe(&narrow, context, &a.view, 1);
        mbi_build_describe(&wide, context, &a.view, 1);
        assert_int_equal(mbi_build_allocate(&narrow), MERBIT_OK);
        assert_int_equal(mbi_build_allocate(&wide), MERBIT_OK);
        bucket(&narrow, 0, tasks);
        bucket(&wide, 1, tasks);
        assert_memory_equal(narrow.row_ptr, wide.row_ptr, (size_t)(m.cols + 1) * 8);
        assert_memory_equal(narrow.col_ind, wide.col_ind, (size_t)m.nnz * 4);
        assert_memory_equal(narrow.values, wide.values, (size_t)m.nnz * mbi_type_size(form.type));
        release(&narrow);
        release(&wide);
      }
      products_arrays_free(&a);
    }
    test_matrix_free(&m);
  }
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

static void big_numbers_compare(void **state) {
  mbi_big a, b;
  (void)state;
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  a.count = b.count = 2;
  a.limb[1] = b.limb[1] = 7;
  a.limb[0] = 1;
  b.limb[0] = 2;
  assert_int_equal(mbi_big_compare(&a, &b), -1);
  assert_int_equal(mbi_big_compare(&b, &a), 1);
  assert_int_equal(mbi_big_compare(&a, &a), 0);
  b.count = 1; /* a leading zero limb is not counted */
  b.limb[1] = 0;
  assert_int_equal(mbi_big_compare(&a, &b), 1);
  assert_int_equal(mbi_big_compare(&b, &a), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_widths_agree),
      cmocka_unit_test(big_numbers_compare),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
