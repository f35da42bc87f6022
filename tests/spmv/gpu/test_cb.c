/* CB-SpMV's storage, made on the CPU: decoded and compared with the CSR entry by entry; the
 * formats, columns and warps; the same bytes for any number of threads. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "spmv/gpu/cb_decode.h"
#include "support/products.h"
#include "support/stretched.h"
#include "support/cpu.h"

static merbit_context *one, *three;
static long aggregated;

/* Makes the choice of the paper's section 3.3.1, from the CSR alone. */
static int wants_aggregation(const test_matrix *m, double share) {
  const int64_t columns = (m->cols + 15) / 16;
  int64_t *counts = (int64_t *)test_allocate(columns, sizeof *counts);
  int64_t strip, k, blocks = 0, sparse = 0, c;
  for (strip = 0; strip * 16 < m->rows; strip++) {
    const int64_t end = strip * 16 + 16 < m->rows ? strip * 16 + 16 : m->rows;
    for (k = m->row_ptr[strip * 16]; k < m->row_ptr[end]; k++) {
      counts[m->col_ind[k] / 16]++;
    }
    for (k = m->row_ptr[strip * 16]; k < m->row_ptr[end]; k++) {
      int64_t *count = &counts[m->col_ind[k] / 16];
      for (c = *count; c > 0; c -= 255) { /* crowded places are divided */
        const int64_t part = *count > 256 && c > 255 ? 255 : c;
        blocks++;
        sparse += part < 32;
        if (*count <= 256) {
          break;
        }
      }
      *count = 0;
    }
  }
  free(counts);
  return (double)sparse > share * (double)blocks;
}

static int same(const mbi_cb_format *a, const mbi_cb_format *b) {
  return a->aggregated == b->aggregated && a->blocks == b->blocks && a->cut == b->cut &&
         a->data_bytes == b->data_bytes && a->tasks == b->tasks && a->parts == b->parts &&
         a->splits == b->splits && a->limit == b->limit &&
         memcmp(a->forms, b->forms, sizeof a->forms) == 0 &&
         memcmp(a->words, b->words, (a->blocks + MBI_CB_SPARE) * 8) == 0 &&
         memcmp(a->first, b->first, (a->blocks + MBI_CB_SPARE) * 4) == 0 &&

         memcmp(a->data, b->data, a->data_bytes) == 0 &&
         memcmp(a->task_block, b->task_block, (a->tasks + 1) * 8) == 0 &&
         memcmp(a->task_target, b->task_target, a->tasks * 4) == 0 &&
         memcmp(a->split_strip, b->split_strip, a->splits * 4) == 0 &&
         memcmp(a->split_part, b->split_part, (a->splits + 1) * 4) == 0;
}

/* A block of COO, CSR or dense for every count, also where no default chooses it. */
static const mbi_cb_options choices[] = {
    {0.15, 32, 128, 0, 132, 1, 0}, {1, 32, 128, 0, 1, 0, 0},
    {1e-9, 32, 128, 20, 1, 1, 0},  {1e-9, 1, 1, 0, 132, 0, 0},
    {1, 1, 1, 20, 132, 0, 0},      {1e-9, 257, 256, 20, 1, 0, 0},
    {1e-9, 1, 256, 40, 1, 0, 0},   {1, 1, 256, 0, 1, 0, 0},
    {0.5, 20, 60, 0, 132, 0, 0},   {1e-9, 9, 8, 0, 1, 0, 0},
    {1e-9, 257, 256, 20, 1, 1, 0}, {0.15, 32, 128, 0, 132, 0, 0}};

static void check(test_matrix *m, const mbi_cb_options *options, int bits) {
  products_form form;
  products_arrays a;
  mbi_cb_format f, other;
  entry *want = (entry *)test_allocate(m->nnz, sizeof *want);
  int64_t row, k;
  bed b;
  memset(&form, 0, sizeof form);
  form.type = bits & 1 ? MERBIT_F32 : MERBIT_F64;
  form.offset_type = bits & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  form.base = bits >> 2 & 1;
  products_arrays_make(NULL, m, &form, &a);
  memset(&b, 0, sizeof b);
  b.m = m;
  b.options = options;
  b.f = &f;
  b.size = bits & 8 ? 0 : bits & 1 ? 4 : 8;
  b.entries = (entry *)test_allocate(m->nnz, sizeof *b.entries);
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      want[k].row = row;
      want[k].column = m->col_ind[k];
      want[k].value = b.size == 0   ? 1
                      : b.size == 4 ? (double)(float)m->values[k]
                                    : m->values[k];
    }
  }
  assert_int_equal(mbi_cb_create_format(one, &a.view, a.values, b.size, options, &f),
                   MERBIT_OK);
  assert_int_equal(mbi_cb_create_format(three, &a.view, a.values, b.size, options, &other),
                   MERBIT_OK);
  if (!same(&f, &other)) {
    fail_msg("%s: threads change the format", m->name);
  }
  mbi_cb_format_free(three, &other);
  decode_all(&b);
  assert_int_equal(b.count, m->nnz);
  qsort(want, (size_t)m->nnz, sizeof *want, compare);
  qsort(b.entries, (size_t)m->nnz, sizeof *b.entries, compare);
  for (k = 0; k < m->nnz; k++) {
    if (compare(&want[k], &b.entries[k]) != 0) {
      fail_msg("%s: entry %lld is (%lld, %lld) %g, not (%lld, %lld) %g", m->name, (long long)k,
               (long long)b.entries[k].row, (long long)b.entries[k].column, b.entries[k].value,
               (long long)want[k].row, (long long)want[k].column, want[k].value);
    }
  }
  assert_int_equal(f.aggregated, wants_aggregation(m, options->aggregate));
  aggregated += f.aggregated;
  mbi_cb_format_free(one, &f);
  products_arrays_free(&a);
  free(b.entries);
  free(want);
}

static void formats_decode_to_the_matrix(void **state) {
  const int choice_count = (int)(sizeof choices / sizeof choices[0]);
  int i, k, made = 0;
  (void)state;
  for (i = 0; i < test_matrix_count() + stretched_count(); i++) {
    test_matrix m;
    if (i < test_matrix_count()) {
      test_matrix_make(i, 31, &m);
    } else {
      stretched_make(i - test_matrix_count(), 31, &m);
    }
    for (k = 0; k < choice_count; k++) {
      if (m.rows > 0 && (m.nnz < 5000 || (i + k) % 5 == 0 || i >= test_matrix_count())) {
        check(&m, &choices[k], (i + k) % 16);
        made++;
        if (k == choice_count / 2) {
          test_matrix_stretch(&m);
        }
      }
    }
    test_matrix_free(&m);
  }
  print_message(
      "%d formats: %ld COO, %ld CSR (%ld for their rows), %ld dense blocks, %ld with entries "
      "of one place; "
      "columns in 0, 1, 2 and 4 bytes: %ld, %ld, %ld, %ld; %ld formats aggregated, %ld "
      "with strips in parts\n",
      made, decoded[0], decoded[1], evened, decoded[2], crowded, widths[0], widths[1],
      widths[2], widths[3], aggregated, split);
  assert_true(evened > 1000 && decoded[0] > 1000 && decoded[1] > 1000 && decoded[2] > 1000 &&
              crowded > 100);
  assert_true(widths[0] > 1000 && widths[1] > 1000 && widths[2] > 1000 && widths[3] > 500);
  assert_true(aggregated > 100 && aggregated < made - 100 && split > 20);
}

/* Aggregated blocks of a strip follow its columns: 16 each except the last, none empty. */
static void aggregated_blocks_are_dense_in_columns(void **state) {
  const mbi_cb_options options = {1e-9, 257, 256, 65536, 1, 0, 0};
  test_matrix m;
  products_form form;
  products_arrays a;
  mbi_cb_format f;
  uint64_t block;
  (void)state;
  test_matrix_make(test_matrix_count() - 4, 5, &m); /* a large random matrix */
  memset(&form, 0, sizeof form);
  form.type = MERBIT_F64;
  products_arrays_make(NULL, &m, &form, &a);
  assert_int_equal(mbi_cb_create_format(three, &a.view, a.values, 8, &options, &f), MERBIT_OK);
  for (block = 0; block < f.blocks; block++) {
    const uint64_t count = f.words[block] & 511, width = f.words[block] >> 20 & 3;
    const int last = (f.words[block] & MBI_CB_END) || (f.words[block + 1] & 511) == 0;
    const unsigned char *data = f.data + (f.words[block] >> 22) * 8 + width * 16;
    unsigned used = 0, i;
    assert_true(width < 3);
    for (i = 0; i < count; i++) {
      used |= 1u << (data[i] >> 4);
    }
    if (!last && count > 0) {
      assert_int_equal(used, 0xffff);
      assert_true(f.first[block + 1] > f.first[block] && count >= 16);
    }
  }
  mbi_cb_format_free(three, &f);
  products_arrays_free(&a);
  test_matrix_free(&m);
}

/* One row with two columns, this far apart. */
static void far_columns_take_more_bytes(void **state) {
  static const struct {
    int32_t span;
    unsigned width;
  } cases[] = {{1, 0},     {2, 1},     {15, 1},    {255, 1},          {256, 2},
               {65535, 2}, {65536, 3}, {65537, 3}, {INT32_MAX - 9, 3}};
  const mbi_cb_options options = {-1, 32, 128, 0, 1, 0, 0};
  static const int32_t row_ptr[] = {0, 2};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const int32_t col_ind[] = {cases[i].span + 7, 7};
    const merbit_view view = merbit_csr(1, INT32_MAX, 2, row_ptr, col_ind, NULL);
    mbi_cb_format f;
    int64_t columns[16];
    const unsigned char *at;
    bed b;
    test_matrix m;
    assert_int_equal(mbi_cb_create_format(one, &view, NULL, 0, &options, &f), MERBIT_OK);
    memset(&b, 0, sizeof b);
    memset(&m, 0, sizeof m);
    m.cols = INT32_MAX;
    b.f = &f;
    b.m = &m;
    at = f.data;
    take_columns(&b, 0, &at, columns);
    assert_int_equal(f.words[0] >> 20 & 3, cases[i].width);
    assert_true(columns[0] == 7 &&
                columns[at[0] >> 4] + columns[at[1] >> 4] == (int64_t)cases[i].span + 14);
    mbi_cb_format_free(one, &f);
  }
}

static void sizes_are_checked(void **state) {
  static const int64_t far[] = {0, (int64_t)1 << 29};
  merbit_view long_row = merbit_csr(1, 9, (int64_t)1 << 29, far, NULL, NULL);
  mbi_cb_build b;
  (void)state;
  long_row.offset_type = MERBIT_INDEX_64;
  memset(&b, 0, sizeof b);
  b.from = &long_row;
  b.strips = 1;
  assert_int_equal(mbi_cb_check_sizes(one, &b), MERBIT_TOO_LARGE);
  cpu_expect(one, MERBIT_TOO_LARGE, "not 1 and 536870912");
}

static void allocations_fail(void **state) {
  const mbi_cb_options options = {0.15, 32, 128, 20, 1, 1, 0};
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  test_matrix m;
  products_form form;
  products_arrays a;
  long at = 1, live;
  merbit_status status;
  (void)state;
  stretched_make(stretched_count() - 1, 1, &m);
  memset(&form, 0, sizeof form);
  form.type = MERBIT_F64;
  products_arrays_make(NULL, &m, &form, &a);
  live = memory.live;
  do {
    mbi_cb_format f;
    memory.fail_at = memory.made + at;
    status = mbi_cb_create_format(context, &a.view, a.values, 8, &options, &f);
    mbi_cb_format_free(context, &f);
    assert_int_equal(memory.live, live);
    if (status != MERBIT_OK) {
      cpu_expect(context, MERBIT_OUT_OF_MEMORY, "no memory for ");
      at++;
    }
  } while (status != MERBIT_OK);
  assert_int_equal(at, 11); /* one allocation per array, not per block */
  products_arrays_free(&a);
  test_matrix_free(&m);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formats_decode_to_the_matrix),
      cmocka_unit_test(aggregated_blocks_are_dense_in_columns),
      cmocka_unit_test(far_columns_take_more_bytes),
      cmocka_unit_test(sizes_are_checked),
      cmocka_unit_test(allocations_fail),
  };
  int failed;
  one = cpu_open(NULL, 1);
  three = cpu_open(NULL, 3);
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(one);
  merbit_context_destroy(three);
  return failed;
}
