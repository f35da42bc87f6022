/* AUTO's choice for every class of matrix that the benchmark generates, and for its transpose,
 * on several GPUs: no row that one lane or team walks alone takes longer than SCAN, the safe
 * choice, and no forecast exceeds SCAN's. The host counts two small matrices of each class as
 * the GPU would; larger ones, up to 200 million nonzeros, are extrapolated by power laws. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/plan_sizes.h"

#include "../../../bench/catalogue.h"

/* ---- Counts ------------------------------------------------------------------------------ */

typedef struct counts {
  double rows, cols, nnz, nonempty, slots, sorted, longest, typical;
  int block_rows, block_cols;
  double sectors[2], abreast[2], lines[2], lines_abreast[2]; /* in f32 and in f64 */
  double narrow;
  double part_sectors[2][MBI_NONEMPTY_PARTS], part_rows[MBI_NONEMPTY_PARTS]; /* share of rows */
  uint32_t bins[4096]; /* of mbi_nonempty_take_hubs */
} counts;

/* Counts rows like mbk_nonempty_count. */
static void count_rows(const bench_matrix *m, counts *c) {
  int64_t row, width = 0;
  for (row = 0; row < m->rows; row++) {
    const int64_t length = m->row_ptr[row + 1] - m->row_ptr[row];
    width = row % 32 == 0 || length > width ? length : width;
    c->slots += row % 32 == 31 || row == m->rows - 1 ? 32.0 * (double)width : 0;
    c->longest = (double)length > c->longest ? (double)length : c->longest;
    c->nonempty += length > 0;
    c->typical += (double)length * (double)length / (double)m->nnz;
  }
}

static int by_length(const void *a, const void *b) {
  const int32_t one = *(const int32_t *)a, other = *(const int32_t *)b;
  return one < other ? 1 : one > other ? -1 : 0;
}

/* Counts the slots of rows sorted within windows of 1,024, as mbk_nonempty_count does up to a
 * sixteenth. */
static void count_sorted(const bench_matrix *m, counts *c) {
  int64_t from, row;
  for (from = 0; from < m->rows; from += 1024) {
    const int64_t rows = m->rows - from < 1024 ? m->rows - from : 1024;
    int32_t lengths[1024];
    for (row = 0; row < rows; row++) {
      lengths[row] = m->row_ptr[from + row + 1] - m->row_ptr[from + row];
    }
    qsort(lengths, (size_t)rows, sizeof *lengths, by_length);
    for (row = 0; row < rows; row += 32) {
      c->sorted += 32.0 * (double)lengths[row];
    }
  }
}

/* Returns the sizes from 2 to 16 of which `place` is not a multiple. */
static uint32_t inside(int64_t place) {
  uint32_t sizes = 0;
  int n;
  for (n = 2; n <= 16; n++) {
    sizes |= place % n != 0 ? 1u << n : 0;
  }
  return sizes;
}

/* Finds full blocks like mbk_csr_blocks and mbi_nonempty_blocks. */
static void count_blocks(const bench_matrix *m, counts *c) {
  uint32_t high = inside(m->rows), wide = 0;
  int64_t row, k;
  int n;
  for (row = 0; row < m->rows && ((high & wide) >> 2 & 0x7fff) != 0x7fff; row++) {
    const int32_t *columns = m->col_ind + m->row_ptr[row];
    const int64_t length = m->row_ptr[row + 1] - m->row_ptr[row];
    if (row + 1 < m->rows && (m->row_ptr[row + 2] - m->row_ptr[row + 1] != length ||
                              memcmp(columns, columns + length, (size_t)length * 4) != 0)) {
      high |= inside(row + 1);
    }
    for (k = 0; k < length; k++) {
      wide |= k + 1 == length || columns[k + 1] != columns[k] + 1 ? inside(k + 1) : 0;
      wide |= inside(columns[k]) & ~inside(k);
    }
  }
  c->block_rows = c->block_cols = 1;
  for (n = 2; n <= 16; n++) {
    c->block_rows = high >> n & 1 ? c->block_rows : n;
    c->block_cols = wide >> n & 1 ? c->block_cols : n;
  }
}

/* Returns the number of different column >> shift; marks them with `mark`. */
static int64_t distinct(const int32_t *columns, int64_t count, int shift, int32_t *marks,
                        int32_t mark) {
  int64_t k, found = 0;
  for (k = 0; k < count; k++) {
    found += marks[columns[k] >> shift] != mark;
    marks[columns[k] >> shift] = mark;
  }
  return found;
}

/* Samples like mbk_sample_abreast. Returns the sectors per nonzero, and sets *lines to the
 * lines per nonzero. */
static double sample_abreast(const bench_matrix *m, int64_t samples, int shift, int64_t apart,
                             int32_t *marks, int32_t *mark, double *lines) {
  int64_t i, row, k, found = 0, touched = 0, nonzeros = 0;
  const int64_t span = 32 * apart;
  for (i = 0; i < samples; i++) {
    const int64_t first = m->rows > span ? (m->rows - span) / samples * i : 0;
    ++*mark;
    for (row = first; row < first + span && row < m->rows; row += apart) {
      const int64_t length = m->row_ptr[row + 1] - m->row_ptr[row];
      const int64_t count = length < 256 ? length : 256;
      found += distinct(m->col_ind + m->row_ptr[row] + (length - count) / samples * i, count,
                        shift, marks, *mark);
      nonzeros += count;
    }
    for (k = 0; k < 256; k++) {
      ++*mark;
      for (row = first; row < first + span && row < m->rows; row += apart) {
        const int64_t length = m->row_ptr[row + 1] - m->row_ptr[row];
        const int64_t skipped = length > 256 ? (length - 256) / samples * i : 0;
        touched += k < length ? distinct(m->col_ind + m->row_ptr[row] + skipped + k, 1,
                                         shift + 2, marks, *mark)
                              : 0;
      }
    }
  }
  *lines = nonzeros > 0 ? (double)touched / (double)nonzeros : 0;
  return nonzeros > 0 ? (double)found / (double)nonzeros : 0;
}

/* Samples like mbi_nonempty_sample: windows of 8,192 nonzeros, and 8 slices for each. */
static void sample_columns(const bench_matrix *m, counts *c) {
  const int64_t window = m->nnz < 8192 ? m->nnz : 8192, slices = (m->rows + 31) / 32;
  const int64_t samples = m->nnz / 8192 + 1 < 128 ? m->nnz / 8192 + 1 : 128;
  int32_t *marks = (int32_t *)calloc((size_t)m->cols, sizeof *marks), mark = 0;
  int64_t i, k, row = 0;
  int type;
  assert_non_null(marks);
  for (type = 0; type < 2; type++) {
    for (i = 0; i < samples; i++) {
      const int32_t *columns = m->col_ind + (m->nnz - window) / samples * i;
      const double found = (double)distinct(columns, window, 3 - type, marks, ++mark);
      const int64_t part = MBI_NONEMPTY_PARTS * i / samples;
      c->sectors[type] += found;
      c->part_sectors[type][part] += MBI_NONEMPTY_PARTS * found / (double)(window * samples);
      for (k = 0; k < window; k += 32) {
        const int64_t count = window - k < 32 ? window - k : 32;
        c->lines[type] += (double)distinct(columns + k, count, 5 - type, marks, ++mark);
      }
    }
    c->sectors[type] /= (double)(window * samples);
    c->lines[type] /= (double)(window * samples);
    c->abreast[type] =
        sample_abreast(m, samples, 3 - type, c->slots > c->nnz + c->nnz / 32 ? 16 : 1, marks,
                       &mark, &c->lines_abreast[type]);
    if (m->nnz < 256 * (int64_t)c->nonempty) {
      c->abreast[type] = 0;
    }
  }
  for (i = 0; i < MBI_NONEMPTY_PARTS; i++) {
    const int64_t before = row;
    const int64_t next = (samples * (i + 1) + MBI_NONEMPTY_PARTS - 1) / MBI_NONEMPTY_PARTS;
    while (row < m->rows &&
           (next == samples || m->row_ptr[row + 1] <= (m->nnz - window) / samples * next)) {
      row++;
    }
    c->part_rows[i] = (double)(row - before) / (double)m->rows;
  }
  for (i = 0; i < 8 * samples; i++) {
    const int64_t row = slices * i / (8 * samples) * 32;
    const int64_t end = row + 32 < m->rows ? row + 32 : m->rows, first = m->row_ptr[row];
    c->narrow += distinct(m->col_ind + first, m->row_ptr[end] - first, 11, marks, ++mark) <= 32;
  }
  c->narrow /= 8.0 * (double)samples;
  free(marks);
}

/* Counts columns by their nonzeros like mbk_columns_bins. */
static void count_columns(const bench_matrix *m, counts *c) {
  uint32_t *columns = (uint32_t *)calloc((size_t)m->cols, sizeof *columns);
  int64_t k;
  assert_non_null(columns);
  for (k = 0; k < m->nnz; k++) {
    columns[m->col_ind[k]]++;
  }
  for (k = 0; k < m->cols; k++) {
    c->bins[columns[k] < 4096 ? columns[k] : 4095] += columns[k] > 0;
  }
  free(columns);
}

static void count(const bench_matrix *m, counts *c) {
  memset(c, 0, sizeof *c);
  c->rows = (double)m->rows;
  c->cols = (double)m->cols;
  c->nnz = (double)m->nnz;
  count_rows(m, c);
  count_sorted(m, c);
  count_blocks(m, c);
  sample_columns(m, c);
  count_columns(m, c);
}

/* Replaces m by its transpose. */
static void transpose(bench_matrix *m) {
  bench_matrix t = *m;
  int64_t row, k;
  t.rows = m->cols;
  t.cols = m->rows;
  t.row_ptr = (int32_t *)calloc((size_t)t.rows + 2, sizeof *t.row_ptr);
  t.col_ind = (int32_t *)malloc((size_t)m->nnz * sizeof *t.col_ind + 1);
  assert_true(t.row_ptr != NULL && t.col_ind != NULL);
  for (k = 0; k < m->nnz; k++) {
    t.row_ptr[m->col_ind[k] + 2]++;
  }
  for (row = 0; row < t.rows; row++) {
    t.row_ptr[row + 2] += t.row_ptr[row + 1];
  }
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      t.col_ind[t.row_ptr[m->col_ind[k] + 1]++] = (int32_t)row;
    }
  }
  free(m->row_ptr);
  free(m->col_ind);
  *m = t;
}

/* ---- Larger matrices --------------------------------------------------------------------- */

/* Extrapolates a count from those of two matrices. Counts are proportional to a power of the
 * nonzeros; the larger matrix is `steps` times as far from `large` as that is from `small`. */
static double grown(double small, double large, double steps) {
  return large > 0 && small > 0 ? large * pow(large / small, steps) : large;
}

/* Sets *c to the counts of a matrix with `nnz` nonzeros. Samples are those of `large`. */
static void grow(const counts *small, const counts *large, double nnz, counts *c) {
  const double steps = log(nnz / large->nnz) / log(large->nnz / small->nnz);
  *c = *large;
  c->nnz = nnz;
  c->rows = grown(small->rows, large->rows, steps);
  c->cols = grown(small->cols, large->cols, steps);
  c->nonempty = grown(small->nonempty, large->nonempty, steps);
  c->nonempty = c->nonempty < c->rows ? c->nonempty : c->rows;
  c->longest = grown(small->longest, large->longest, steps);
  c->longest = c->longest < c->cols ? c->longest : c->cols;
  c->longest = c->longest > nnz / c->rows ? c->longest : nnz / c->rows;
  c->typical = grown(small->typical, large->typical, steps);
  c->slots = nnz * grown(small->slots / small->nnz, large->slots / large->nnz, steps);
  c->slots = c->slots > nnz ? c->slots : nnz;
  c->sorted = nnz * grown(small->sorted / small->nnz, large->sorted / large->nnz, steps);
  c->sorted = c->sorted < nnz ? nnz : c->sorted < c->slots ? c->sorted : c->slots;
}

/* ---- Choices ----------------------------------------------------------------------------- */

enum { CLASSES = BENCH_GENERATORS + 4, LARGEST = 400000 };

static const char *class_name(int number) {
  static const char *const blocks[] = {"mesh3x3", "mesh4x4", "blocks2x2", "loose6x6"};
  return number < BENCH_GENERATORS ? bench_generators[number].name
                                   : blocks[number - BENCH_GENERATORS];
}

/* The counts of each class and of its transpose, with a sixteenth, a quarter and all of LARGEST
 * nonzeros. */
static counts counted[CLASSES][2][3];

static int count_classes(void **state) {
  int number, size;
  for (number = 0; number < CLASSES; number++) {
    for (size = 0; size < 3; size++) {
      char spec[128];
      bench_matrix m;
      (void)snprintf(spec, sizeof spec, "gen:%s:%d", class_name(number),
                     LARGEST >> (4 - 2 * size));
      bench_generate(spec, &m);
      count(&m, &counted[number][0][size]);
      transpose(&m);
      count(&m, &counted[number][1][size]);
      bench_matrix_free(&m);
    }
  }
  return set_up(state);
}

/* Fills a plan with these counts. Hubs are counted if mbi_choose_sample counts them, in
 * proportion to the columns of the counted matrix. */
static void plan_of_counts(merbit_plan *plan, merbit_type type, const counts *c,
                           double measured_cols) {
  const double cols = c->cols * (double)mbi_type_size(type);
  double gathers;
  int p;
  plan_of(plan, type, (uint64_t)c->rows, (uint64_t)c->nnz);
  plan->device.cols = (uint64_t)c->cols;
  plan->device.values = 16;
  plan->nonempty.row_start = 256; /* counted */
  plan->nonempty.count = (uint64_t)c->nonempty;
  plan->nonempty.slots = (uint64_t)c->slots;
  plan->nonempty.sorted_slots = (uint64_t)c->sorted;
  plan->nonempty.longest = (uint32_t)c->longest;
  plan->nonempty.typical = c->typical;
  plan->nonempty.block_rows = c->block_rows;
  plan->nonempty.block_cols = c->block_cols;
  if (mbi_choose_small(plan)) {
    return;
  }
  plan->nonempty.sectors = c->sectors[type == MERBIT_F64];
  plan->nonempty.abreast = c->abreast[type == MERBIT_F64];
  plan->nonempty.lines = c->lines[type == MERBIT_F64];
  plan->nonempty.lines_abreast = c->lines_abreast[type == MERBIT_F64];
  plan->nonempty.narrow = c->narrow;
  plan->nonempty.sampled_parts = 1;
  for (p = 0; p < MBI_NONEMPTY_PARTS; p++) {
    plan->nonempty.parts[p].rows = c->part_rows[p] * c->rows + 1;
    plan->nonempty.parts[p].sectors = c->part_sectors[type == MERBIT_F64][p];
  }
  gathers = c->nnz * plan->nonempty.sectors * mbi_choose_gather(plan, cols);
  if (plan->nonempty.sectors > 0.5 && plan->nonempty.sectors < 0.98 &&
      3 * gathers > mbi_scan_cost(plan)) {
    uint64_t sampled = 0;
    int n;
    for (n = 0; n < 4096; n++) {
      sampled += (uint64_t)n * c->bins[n];
    }
    mbi_nonempty_take_hubs(
        &plan->nonempty, c->bins, sampled, 2,
        (uint64_t)((double)mbi_hubs_capacity(plan) * measured_cols / c->cols));
  }
}

/* Returns the seconds that the method's longest row takes alone, if it is not divided. */
static double walk_of(const merbit_plan *plan, merbit_method method) {
  return method == MERBIT_METHOD_ROWS     ? mbi_rows_walk(plan)
         : method == MERBIT_METHOD_SLICED ? mbi_sliced_walk(plan)
                                          : 0;
}

static int failures, walks_seen, methods_seen[64];

static void hold(const merbit_plan *plan, const char *what, const char *name, double seconds) {
  const double scan = mbi_scan_cost(plan);
  if (seconds > scan && failures++ < 20) {
    print_error("%s, %s, %.0f nonzeros, longest row %u: %s of %s takes %.0f us, scan %.0f\n",
                name, plan->type == MERBIT_F64 ? "f64" : "f32", (double)plan->device.nnz,
                plan->nonempty.longest, what, mbi_method_name(plan->method), 1e6 * seconds,
                1e6 * scan);
  }
}

/* Checks the choices for plus-times and for a semiring. */
static void choose(merbit_plan *plan, const char *name) {
  merbit_method method = mbi_choose_method(plan);
  methods_seen[method]++;
  walks_seen += mbi_sliced_trusted(plan) && mbi_sliced_walk(plan) > mbi_scan_cost(plan);
  mbi_method_take(plan, method);
  hold(plan, "the longest row", name, walk_of(plan, method));
  if (!mbi_choose_small(plan)) { /* forecasts omit launches, which decide in L2 */
    hold(plan, "a product", name, plan->row->cuda->cost(plan));
  }
  assert_int_equal(mbi_choose_semiring(plan), MERBIT_OK);
  hold(plan, "the longest row in a semiring", name, walk_of(plan, plan->method));
}

/* The smallest size fits in an H200's L2; 3.4 million doubles and 5.1 million floats just
 * exceed it. */
static void no_choice_is_behind_scan(void **state) {
  static const double sizes[] = {LARGEST, 3e6, 3.4e6, 5.1e6, 20e6, 60e6, 200e6};
  static const int calls[] = {2, 20, 100, 1000};
  static counts c;
  int number, form;
  size_t g;
  (void)state;
  for (g = 0; g < GPUS; g++) {
    context->device.multiprocessors = gpus[g].multiprocessors;
    context->device.lanes = gpus[g].lanes;
    context->device.shared_bytes_per_block = gpus[g].shared_bytes;
    mbi_profile_estimate(gpus[g].multiprocessors, &gpus[g].facts, &context->device.estimate);
    for (number = 0; number < CLASSES; number++) {
      for (form = 0; form < 2; form++) {
        const counts *known = counted[number][form];
        char name[64];
        size_t i;
        (void)snprintf(name, sizeof name, "%s: %s%s", gpus[g].name, class_name(number),
                       form ? ", transposed" : "");
        for (i = 0; i < 4 * 4 * sizeof sizes / sizeof sizes[0]; i++) {
          merbit_plan plan;
          grow(&known[1], &known[2], sizes[i / 16], &c);
          plan_of_counts(&plan, i % 2 ? MERBIT_F64 : MERBIT_F32, &c, known[2].cols);
          plan.device.values = i / 2 % 2 ? 0 : 16; /* a pattern, or general values */
          plan.desc.expected_calls = calls[i / 4 % 4];
          choose(&plan, name);
        }
      }
    }
  }
  assert_int_equal(failures, 0);
  assert_true(walks_seen > 100); /* rows that padding does not reveal */
  assert_true(methods_seen[MERBIT_METHOD_SCAN] > 0 && methods_seen[MERBIT_METHOD_ROWS] > 0);
  assert_true(methods_seen[MERBIT_METHOD_SLICED] > 0 && methods_seen[MERBIT_METHOD_BSR] > 0);
  assert_true(methods_seen[MERBIT_METHOD_BINNED] > 0);
}

static void close_to(const char *name, const char *what, double grown, double found,
                     double factor) {
  if (grown > found * factor || grown < found / factor) {
    print_error("%s: %.0f %s by the law, %.0f counted\n", name, grown, what, found);
    failures++;
  }
}

/* A matrix with four times the nonzeros has the counts that the power law predicts. */
static void classes_grow_by_powers(void **state) {
  static counts c;
  int number, form;
  (void)state;
  failures = 0;
  for (number = 0; number < CLASSES; number++) {
    for (form = 0; form < 2; form++) {
      const counts *known = counted[number][form];
      const char *name = class_name(number);
      grow(&known[0], &known[1], known[2].nnz, &c);
      close_to(name, "rows", c.rows, known[2].rows, 1.3);
      close_to(name, "columns", c.cols, known[2].cols, 1.3);
      close_to(name, "nonempty rows", c.nonempty, known[2].nonempty, 1.3);
      close_to(name, "in the longest row", c.longest, known[2].longest, 2.5);
      close_to(name, "slots", c.slots, known[2].slots, 1.5);
      close_to(name, "sorted slots", c.sorted, known[2].sorted, 1.5);
      assert_true(c.block_rows == known[2].block_rows && c.block_cols == known[2].block_cols);
    }
  }
  assert_int_equal(failures, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_choice_is_behind_scan),
      cmocka_unit_test(classes_grow_by_powers),
  };
  return cmocka_run_group_tests(tests, count_classes, tear_down);
}
