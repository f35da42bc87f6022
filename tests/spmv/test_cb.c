/* CB-SpMV's storage, made on the CPU: decoded again and compared with the CSR, entry by entry;
 * which form, which columns, which warp; the same bytes for any number of threads. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/products.h"
#include "support/blocks.h"
#include "support/cpu.h"

static merbit_context *one, *three;
static long decoded[MBI_CB_FORMS], widths[4], split, aggregated, crowded;

typedef struct entry {
  int64_t row, column;
  double value;
} entry;

typedef struct bed { /* a matrix, its format, and what has been decoded of it */
  const test_matrix *m;
  const mbi_cb_options *options;
  const mbi_cb_format *f;
  size_t size; /* of a value */
  entry *entries;
  int64_t count;
  uint64_t offset; /* where the next block's data begin */
} bed;

static int compare(const void *a, const void *b) {
  const entry *x = (const entry *)a, *y = (const entry *)b;
  return x->row != y->row         ? (x->row > y->row) - (x->row < y->row)
         : x->column != y->column ? (x->column > y->column) - (x->column < y->column)
                                  : memcmp(&x->value, &y->value, sizeof x->value);
}

/* The columns of a block whose data begin at `*at`, which moves behind them. */
static void take_columns(const bed *b, uint64_t block, const unsigned char **at,
                         int64_t columns[16]) {
  const unsigned width = b->f->words[block] >> 20 & 3;
  uint16_t narrow;
  uint32_t wide;
  int i;
  assert_true(width == 0 || b->f->aggregated);
  widths[width]++;
  for (i = 0; i < 16; i++) {
    columns[i] = b->f->first[block];
    if (width == 0) {
      columns[i] += i;
    } else if (width == 1) {
      columns[i] += *(*at)++;
    } else if (width == 2) {
      memcpy(&narrow, *at, 2);
      columns[i] += narrow;
      *at += 2;
    } else {
      memcpy(&wide, *at, 4);
      columns[i] += wide;
      *at += 4;
    }
    assert_true(i == 0 || columns[i] >= columns[i - 1]);
  }
  if (!b->f->aggregated) {
    assert_true(columns[0] % 16 == 0);
  } else { /* no wider than it must be */
    const int64_t span = columns[15] - columns[0];
    assert_true(columns[15] < b->m->cols || width == 0);
    assert_true(width < 2 || (width == 2 && span > 255) || span > 65535);
  }
}

static void take(bed *b, uint64_t strip, const int64_t columns[16], unsigned byte,
                 const unsigned char *at, unsigned row_counts[16]) {
  entry *e = &b->entries[b->count++];
  float single = 0;
  assert_true(b->count <= b->m->nnz);
  row_counts[byte & 15]++;
  e->row = (int64_t)(strip * 16 + (byte & 15));
  e->column = columns[byte >> 4];
  e->value = 1;
  if (b->size == 4) {
    memcpy(&single, at, 4);
    e->value = (double)single;
  } else if (b->size == 8) {
    memcpy(&e->value, at, 8);
  }
}

/* One block: its entries, and that every byte of it is what it must be. */
static void decode(bed *b, uint64_t strip, uint64_t block) {
  const mbi_cb_format *f = b->f;
  const uint64_t word = f->words[block], count = word & 511, form = word >> 9 & 3;
  const uint64_t steps = word >> 11 & 255;
  const unsigned char *data = f->data + (word >> 22) * 8, *at = data;
  int64_t columns[16];
  unsigned counts[16] = {0}, longest = 0, i, row_before = 0;
  const uint64_t size = b->size > 0 ? b->size : 1;
  uint64_t k;
  assert_true((word >> 22) * 8 == b->offset);
  if (count == 0) {
    assert_true((word & ~MBI_CB_END & 0x3fffff) == 0 && b->f->words[block | 1] >> 19 & 1);
    return;
  }
  decoded[form]++;
  take_columns(b, block, &data, columns);
  assert_true(count <= 256);
  if (form == MBI_CB_DENSE) {
    const unsigned char *value = data + 32;
    for (i = 0; i < 256; i++) {
      if (data[i / 8] >> i % 8 & 1) { /* column i / 16, row i % 16 */
        take(b, strip, columns, i % 16 | i / 16 << 4, value, counts);
        value += b->size;
      }
    }
    at = value;
    k = 0;
    for (i = 0; i < 16; i++) {
      k += counts[i];
    }
    assert_true(k == count && steps == 0);
  } else {
    const unsigned char *index = data + (form == MBI_CB_CSR ? 16 : 0), *value;
    const uint64_t padding = (size - count % size) % size;
    value = index + count + padding;
    for (k = 0; k < padding; k++) {
      assert_int_equal(index[count + k], 0);
    }
    for (k = 0; k < count; k++) {
      assert_true((index[k] & 15u) >= row_before);
      row_before = index[k] & 15u;
      if (form == MBI_CB_CSR) {
        assert_true(data[row_before] <= k && (row_before == 15 || data[row_before + 1] > k));
      }
      take(b, strip, columns, index[k], value + k * b->size, counts);
    }
    at = value + count * b->size;
    for (i = 0; i < 16; i++) {
      longest = counts[i] > longest ? counts[i] : longest;
    }
    if (form == MBI_CB_CSR) {
      assert_true(steps == longest);
    } else {
      longest = longest > 16 ? 16 : longest;
      assert_true(1u << steps >= longest && (steps == 0 || 1u << (steps - 1) < longest));
    }
  }
  for (; (at - f->data) % 8 != 0; at++) {
    assert_int_equal(*at, 0);
  }
  b->offset = (uint64_t)(at - f->data);
}

/* Whether the entries that were decoded since `from` share a place. */
static int shared_place(const bed *b, int64_t from) {
  int64_t i, j;
  for (i = from; i < b->count; i++) {
    for (j = from; j < i; j++) {
      if (b->entries[i].row == b->entries[j].row &&
          b->entries[i].column == b->entries[j].column) {
        return 1;
      }
    }
  }
  return 0;
}

/* The form that a block's entries ask for; the group's others may share a place with them. */
static void check_form(const bed *b, uint64_t block, int64_t from) {
  const uint64_t count = b->f->words[block] & 511;
  const int form = (int)(b->f->words[block] >> 9 & 3);
  const int shared = shared_place(b, from);
  if (count == 0) {
    return;
  }
  crowded += shared;
  if (count < b->options->coo_max) {
    assert_int_equal(form, MBI_CB_COO);
  } else if (count <= b->options->csr_max || shared) {
    assert_int_equal(form, MBI_CB_CSR);
  } else if (form != MBI_CB_DENSE) { /* only where the group goes on in a neighbour */
    assert_true((block > 0 && b->f->first[block - 1] == b->f->first[block]) ||
                b->f->first[block + 1] == b->f->first[block]);
  }
}

/* Tasks cover all blocks in order; strips follow each other; nobody has more than the limit. */
static void decode_all(bed *b) {
  const mbi_cb_format *f = b->f;
  uint64_t task, strip = 0, part = 0, splits = 0, before = 0;
  assert_true(f->task_block[0] == 0 && f->task_block[f->tasks] == f->blocks);
  for (task = 0; task < f->tasks; task++) {
    const uint32_t target = f->task_target[task];
    const uint64_t end = f->task_block[task + 1];
    uint64_t block, steps = 0, pair = 0;
    assert_true(f->task_block[task] % 2 == 0);
    if (target & MBI_CB_PART) {
      assert_true((target & ~MBI_CB_PART) == part);
      if (f->split_part[splits] == part) {
        assert_true(f->split_strip[splits] == strip);
      }
    } else {
      assert_true(target == strip);
    }
    assert_true(f->task_block[task] < end);
    for (block = f->task_block[task]; block < end; block++) {
      const int64_t from = b->count;
      decode(b, strip, block);
      check_form(b, block, from);
      pair = block % 2 == 0 ? f->words[block] & 511 : pair + (f->words[block] & 511);
      steps += block % 2 == 0 ? 2 : (pair + 31) / 32;
      assert_true(block % 2 != 0 || !(f->words[block] & MBI_CB_END));
      if (!(target & MBI_CB_PART) && (f->words[block] & MBI_CB_END)) {
        strip++;
        steps++;
      }
      assert_true(block + 1 < end || (f->words[block] & MBI_CB_END));
      assert_true(!(target & MBI_CB_PART) || block + 1 == end ||
                  !(f->words[block] & MBI_CB_END));
    }
    assert_true(steps <= (target & MBI_CB_PART || strip == target + 1 ? f->cut : f->limit));
    assert_true(task == 0 || (target & MBI_CB_PART) || before + steps > f->limit);
    before = target & MBI_CB_PART ? f->cut : steps;
    if (target & MBI_CB_PART) {
      part++;
      if (f->split_part[splits + 1] == part) {
        splits++;
        strip++;
      }
    }
  }
  assert_true(strip == ((uint64_t)b->m->rows + 15) / 16);
  assert_true(part == f->parts && splits == f->splits && f->split_part[splits] == part);
  assert_true(b->offset == f->data_bytes);
  for (task = 0; task < 4; task++) {
    assert_true(f->words[f->blocks + task] == 0 && f->first[f->blocks + task] == 0);
  }
  split += f->splits > 0;
}

/* The choice of section 3.3.1, from the CSR alone. */
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
      for (c = *count; c > 0; c -= 255) { /* crowded ones are cut */
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
         memcmp(a->words, b->words, (a->blocks + 4) * 8) == 0 &&
         memcmp(a->first, b->first, (a->blocks + 4) * 4) == 0 &&

         memcmp(a->data, b->data, a->data_bytes) == 0 &&
         memcmp(a->task_block, b->task_block, (a->tasks + 1) * 8) == 0 &&
         memcmp(a->task_target, b->task_target, a->tasks * 4) == 0 &&
         memcmp(a->split_strip, b->split_strip, a->splits * 4) == 0 &&
         memcmp(a->split_part, b->split_part, (a->splits + 1) * 4) == 0;
}

/* A block of COO, CSR or dense for every count, and those that no default makes. */
static const mbi_cb_options choices[] = {{0.15, 32, 128, 0, 132}, {1, 32, 128, 0, 1},
                                         {1e-9, 32, 128, 20, 1},  {1e-9, 1, 1, 0, 132},
                                         {1, 1, 1, 20, 132},      {1e-9, 257, 256, 20, 1},
                                         {1e-9, 1, 256, 40, 1},   {1, 1, 256, 0, 1},
                                         {0.5, 20, 60, 0, 132},   {1e-9, 9, 8, 0, 1}};

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
  for (i = 0; i < test_matrix_count() + blocks_count(); i++) {
    test_matrix m;
    if (i < test_matrix_count()) {
      test_matrix_make(i, 31, &m);
    } else {
      blocks_make(i - test_matrix_count(), 31, &m);
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
      "%d formats: %ld COO, %ld CSR, %ld dense blocks, %ld with entries of one place; "
      "columns in 0, 1, 2 and 4 bytes: %ld, %ld, %ld, %ld; %ld formats aggregated, %ld "
      "with strips in parts\n",
      made, decoded[0], decoded[1], decoded[2], crowded, widths[0], widths[1], widths[2],
      widths[3], aggregated, split);
  assert_true(decoded[0] > 1000 && decoded[1] > 1000 && decoded[2] > 1000 && crowded > 100);
  assert_true(widths[0] > 1000 && widths[1] > 1000 && widths[2] > 1000 && widths[3] > 500);
  assert_true(aggregated > 100 && aggregated < made - 100 && split > 20);
}

/* Aggregated blocks of a strip follow its columns: 16 each but for the last, none empty. */
static void aggregated_blocks_are_dense_in_columns(void **state) {
  const mbi_cb_options options = {1e-9, 257, 256, 65536, 1};
  test_matrix m;
  products_form form;
  products_arrays a;
  mbi_cb_format f;
  uint64_t block;
  (void)state;
  test_matrix_make(test_matrix_count() - 4, 5, &m); /* large random */
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

static void sizes_are_checked(void **state) {
  static const int64_t far[] = {0, (int64_t)1 << 29};
  const merbit_view long_row = {MERBIT_CSR,
                                MERBIT_F64,
                                MERBIT_INDEX_64,
                                MERBIT_INDEX_32,
                                MERBIT_MEMORY_HOST,
                                0,
                                1,
                                9,
                                (int64_t)1 << 29,
                                far,
                                NULL,
                                NULL,
                                NULL};
  mbi_cb_build b;
  (void)state;
  memset(&b, 0, sizeof b);
  b.from = &long_row;
  b.strips = 1;
  assert_int_equal(mbi_cb_check_sizes(one, &b), MERBIT_TOO_LARGE);
  cpu_expect(one, MERBIT_TOO_LARGE, "not 1 and 536870912");
}

static void allocations_fail(void **state) {
  const mbi_cb_options options = {0.15, 32, 128, 20, 1};
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  test_matrix m;
  products_form form;
  products_arrays a;
  long at = 1, live;
  merbit_status status;
  (void)state;
  blocks_make(blocks_count() - 1, 1, &m);
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
  assert_int_equal(at, 11); /* once for each array, not for each block */
  products_arrays_free(&a);
  test_matrix_free(&m);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formats_decode_to_the_matrix),
      cmocka_unit_test(aggregated_blocks_are_dense_in_columns),
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
