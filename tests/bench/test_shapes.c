/* Each generated matrix of bench/shapes.h, neighbours.h, random_rows.h, linear_programs.h and
 * stencils.h has the requested size and the property that its name promises, from 10 thousand
 * to 100 thousand, or to a million in full effort. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-function" /* the benchmark uses them all */
#include "../../bench/catalogue.h"

#include "matrices.h"
#include "support/effort.h"

/* ---- Optimisation ------------------------------------------------------------------------ */

static void check_block_angular(const bench_matrix *m, double nnz) {
  const int64_t linking = (int64_t)(sqrt(nnz / 1000) + 0.5), inner = m->rows - linking;
  int64_t row;
  assert_int_equal(rows_of_length(m, 8, 8), inner);
  assert_near((double)bench_longest_row(m), nnz / 5 / (double)linking, 0.01);
  for (row = 0; row < inner; row++) {
    assert_true(first_of(m, row) >= row / 5000 * 7000 &&
                last_of(m, row) < row / 5000 * 7000 + 7000);
  }
  for (; row < m->rows; row++) {
    assert_int_equal(length_of(m, row), bench_longest_row(m));
    assert_true(last_of(m, row) - first_of(m, row) > m->cols * 9 / 10);
  }
}

static void check_wide_lp(const bench_matrix *m, double nnz) {
  assert_int_equal(m->rows, 36);
  assert_near((double)m->cols, nnz / 636666 * 87482, 0.01);
  assert_near((double)bench_longest_row(m), 0.4 * (double)m->cols, 0.01);
  assert_true(rows_of_length(m, 0, bench_longest_row(m) / 35) == 1);
}

static void check_assignment(const bench_matrix *m, double nnz) {
  int64_t most, c, n = m->rows / 2;
  int32_t *counts = columns_of(m, &most);
  (void)nnz;
  assert_int_equal(m->rows, 2 * n);
  assert_int_equal(m->cols, n * n);
  assert_int_equal(rows_of_length(m, n, n), m->rows);
  for (c = 0; c < m->cols; c++) {
    assert_int_equal(counts[c], 2);
    assert_true(holds(m, c / n, c) && holds(m, n + c % n, c));
  }
  free(counts);
}

static void check_incidence(const bench_matrix *m, double nnz) {
  int64_t most, c;
  int32_t *counts = columns_of(m, &most);
  assert_int_equal(m->cols, nnz / 2);
  assert_near((double)m->rows, nnz / 16, 0.02);
  for (c = 0; c < m->cols; c++) {
    assert_int_equal(counts[c], 2);
  }
  free(counts);
}

static void check_kkt(const bench_matrix *m, double nnz) {
  const int64_t variables = m->rows / 3 * 2 + m->rows % 3;
  int64_t row;
  (void)nnz;
  assert_true(symmetric(m));
  for (row = 0; row < m->rows; row++) {
    assert_int_equal(holds(m, row, row), row < variables); /* no diagonal in the last block */
    assert_true(row < variables || (length_of(m, row) == 4 && last_of(m, row) < variables));
  }
}

/* ---- Grids ------------------------------------------------------------------------------- */

static void check_stencil7(const bench_matrix *m, double nnz) {
  (void)nnz;
  assert_true(symmetric(m));
  assert_int_equal(rows_of_length(m, 4, 4), 8); /* the corners */
  assert_int_equal(rows_of_length(m, 4, 7), m->rows);
  assert_true(rows_of_length(m, 7, 7) > m->rows / 2);
}

static void check_stencil7_plain(const bench_matrix *m, double nnz) {
  int64_t row, side = last_of(m, 0);
  check_stencil7(m, nnz);
  side = (int64_t)(sqrt((double)side) + 0.5);
  for (row = 0; row < m->rows; row++) {
    assert_true(last_of(m, row) - row <= side * side);
    assert_true(row - first_of(m, row) <= side * side);
  }
}

/* Few neighbours remain adjacent, and none is farther away than the windows allow. */
static void check_stencil7_scrambled(const bench_matrix *m, double nnz) {
  int64_t row, beside = 0;
  bench_matrix plain;
  char spec[64];
  (void)snprintf(spec, sizeof spec, "gen:stencil7:%.0f", nnz);
  bench_generate(spec, &plain);
  check_stencil7(m, nnz);
  assert_int_equal(m->rows, plain.rows);
  assert_int_equal(m->nnz, plain.nnz);
  for (row = 0; row < m->rows; row++) {
    const int64_t reach = last_of(&plain, 0) / 65536 + 1;
    beside += row > 0 && holds(m, row, row - 1);
    assert_true(last_of(m, row) / 65536 <= row / 65536 + reach);
    assert_true(first_of(m, row) / 65536 >= row / 65536 - reach);
  }
  assert_true(beside < m->rows / 100);
  bench_matrix_free(&plain);
}

static void check_tridiagonal(const bench_matrix *m, double nnz) {
  int64_t row;
  (void)nnz;
  assert_int_equal(m->nnz, 3 * m->rows - 2);
  assert_int_equal(m->cols, m->rows);
  for (row = 0; row < m->rows; row++) {
    assert_true(last_of(m, row) - row <= 1 && row - first_of(m, row) <= 1);
  }
}

static void check_prolongation(const bench_matrix *m, double nnz) {
  (void)nnz;
  assert_true(m->rows > 5 * m->cols && m->rows < 8 * m->cols);
  assert_int_equal(rows_of_length(m, 1, 1), m->cols); /* the coarse points themselves */
  assert_int_equal(rows_of_length(m, 1, 2) + rows_of_length(m, 4, 4) + rows_of_length(m, 8, 8),
                   m->rows);
  assert_true(rows_of_length(m, 8, 8) > m->cols / 2);
}

static void check_spins(const bench_matrix *m, double nnz) {
  int64_t row, k;
  (void)nnz;
  assert_true(symmetric(m));
  for (row = 0; row < m->rows; row++) {
    assert_true(holds(m, row, row));
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      assert_true(__builtin_popcountll((unsigned long long)(row ^ m->col_ind[k])) <= 1);
    }
  }
  assert_true(bench_longest_row(m) == bench_bits(m->rows) + 1);
}

static void check_mesh3x3(const bench_matrix *m, double nnz) {
  int64_t row, k;
  (void)nnz;
  assert_true(symmetric(m));
  assert_true(m->block_rows == 3 && m->block_cols == 3 && m->rows % 3 == 0);
  assert_int_equal(bench_longest_row(m), 81);
  assert_int_equal(rows_of_length(m, 24, 24), 24); /* three unknowns in each of 8 corners */
  for (row = 0; row < m->rows; row++) {
    for (k = 0; k < length_of(m, row); k++) {
      const int32_t *columns = m->col_ind + m->row_ptr[row], *first = m->col_ind;
      assert_true(columns[k] % 3 == k % 3);
      assert_true(columns[k] == first[m->row_ptr[row / 3 * 3] + k]);
    }
  }
}

/* ---- Shapes ------------------------------------------------------------------------------ */

static void check_random_band(const bench_matrix *m, double nnz) {
  int64_t row, length;
  assert_near((double)m->rows, nnz / 24, 0.01);
  assert_int_equal(m->cols, m->rows);
  assert_int_equal(rows_of_length(m, 1, 47), m->rows);
  for (length = 1; length <= 47 && nnz >= 1e5; length++) { /* each about equally often */
    const double mean = (double)m->rows / 47;
    assert_near((double)rows_of_length(m, length, length), mean, 5 / sqrt(mean));
  }
  for (row = 0; row < m->rows; row++) {
    assert_true(last_of(m, row) - first_of(m, row) < 2000);
    assert_true(m->rows <= 2000 || row < 1000 || row > m->rows - 1000 ||
                (last_of(m, row) - row < 1000 && row - first_of(m, row) <= 1000));
  }
}

static void check_near_dense(const bench_matrix *m, double nnz) {
  assert_near((double)m->rows, sqrt(nnz), 0.03);
  assert_int_equal(m->cols, m->rows);
  assert_near((double)m->nnz / (double)m->rows / (double)m->cols, 0.97, 0.01);
  assert_true(rows_of_length(m, m->cols, m->cols) < m->rows / 4); /* nor are rows alike */
}

static void check_hypersparse(const bench_matrix *m, double nnz) {
  assert_near((double)m->rows, 4 * nnz, 0.01);
  assert_int_equal(m->cols, m->rows);
  assert_int_equal(rows_of_length(m, 0, 0), m->rows / 20 * 19);
  assert_int_equal(rows_of_length(m, 1, 9), m->rows / 20);
}

static void check_alternating(const bench_matrix *m, double nnz) {
  int64_t row;
  assert_near((double)m->rows, nnz / 500.5, 0.01);
  assert_int_equal(m->cols, 60000);
  for (row = 0; row < m->rows; row++) {
    assert_int_equal(length_of(m, row), row % 2 == 0 ? 1 : 1000);
  }
}

/* A matrix of 50 million nonzeros has 4,000 rows of 12,500 over 6.2 million columns. */
static void check_long_rows(const bench_matrix *m, double nnz) {
  const double scale = sqrt(nnz / 50e6);
  assert_near((double)m->rows, 4000 * scale, 0.01);
  assert_near((double)m->cols, 6.2e6 * scale, 0.01);
  assert_int_equal(rows_of_length(m, m->nnz / m->rows, m->nnz / m->rows), m->rows);
  assert_near((double)bench_longest_row(m), 12500 * scale, 0.02);
}

static void check_features(const bench_matrix *m, double nnz) {
  assert_near((double)m->rows, 60000 * sqrt(nnz / 30e6), 0.01);
  assert_near((double)m->cols, 2 * (double)m->rows, 0.01);
  assert_int_equal(rows_of_length(m, m->nnz / m->rows, m->nnz / m->rows), m->rows);
}

static void check_tall(const bench_matrix *m, double nnz) {
  assert_near((double)m->rows, nnz / 10, 0.001);
  assert_near((double)m->cols, sqrt((double)m->rows), 0.02);
  assert_int_equal(rows_of_length(m, 10, 10), m->rows);
}

static void check_wide(const bench_matrix *m, double nnz) {
  assert_near((double)m->cols, nnz / 10, 0.001);
  assert_near((double)m->rows, sqrt((double)m->cols), 0.02);
  assert_int_equal(rows_of_length(m, m->nnz / m->rows, m->nnz / m->rows), m->rows);
}

static void check_pruned(const bench_matrix *m, double nnz) {
  (void)nnz;
  assert_near((double)m->rows, 4 * (double)m->cols, 0.01);
  assert_near((double)m->nnz / (double)m->rows / (double)m->cols, 0.1, 0.02);
  assert_int_equal(rows_of_length(m, m->cols / 20, 3 * m->cols / 20 + 1), m->rows);
  assert_true(rows_of_length(m, 0, 7 * m->cols / 100) > m->rows / 10);
  assert_true(rows_of_length(m, 13 * m->cols / 100, m->cols) > m->rows / 10);
}

static void check_arrow(const bench_matrix *m, double nnz) {
  int64_t row, last = m->rows - 1;
  (void)nnz;
  assert_true(symmetric(m));
  assert_int_equal(m->nnz, 3 * m->rows - 2);
  assert_int_equal(length_of(m, last), m->rows);
  for (row = 0; row < last; row++) {
    assert_true(length_of(m, row) == 2 && first_of(m, row) == row && last_of(m, row) == last);
  }
}

/* The proportions are those of 52,643 users, 91,599 items and 603,378 ratings. By Zipf's law
 * each octave of the items' ranks has the same share of the nonzeros. */
static void check_user_item(const bench_matrix *m, double nnz) {
  assert_near((double)m->rows, 52643 * nnz / 603378, 0.01);
  assert_near((double)m->cols, 91599 * nnz / 603378, 0.01);
  assert_true(bench_longest_row(m) > 10 * m->nnz / m->rows);
  assert_int_equal(rows_of_length(m, 0, 0), 0);
  if (nnz >= 1e5) {
    const double octave = share_of_fullest(m, 511) - share_of_fullest(m, 255);
    assert_near(share_of_fullest(m, 255) - share_of_fullest(m, 127), octave, 0.25);
    assert_near(share_of_fullest(m, 1023) - share_of_fullest(m, 511), octave, 0.25);
    assert_near(octave, 1.0 / bench_bits(m->cols), 0.5);
  }
}

/* Degrees of preferential attachment: about n k (k + 1) / (d (d + 1)) of n vertices have d or
 * more edges, and the oldest have about k sqrt(n). */
static void check_preferential(const bench_matrix *m, double nnz) {
  const double n = (double)m->rows;
  assert_near(n, nnz / 16, 0.01);
  assert_true(symmetric(m));
  assert_true((double)bench_longest_row(m) > 4 * sqrt(n));
  assert_true((double)bench_longest_row(m) < 50 * sqrt(n));
  if (nnz >= 1e5) {
    assert_near((double)rows_of_length(m, 16, m->cols), n * 72 / 272, 0.1);
    assert_near((double)rows_of_length(m, 32, m->cols), n * 72 / 1056, 0.15);
    assert_near((double)rows_of_length(m, 64, m->cols), n * 72 / 4160, 0.25);
  }
}

/* ---- Rows that read a part of x with their neighbours ------------------------------------ */

/* Columns lie within half of `width`, but for the first and the last rows. */
static void assert_near_diagonal(const bench_matrix *m, int64_t width) {
  int64_t row;
  for (row = 0; row < m->rows; row++) {
    if (length_of(m, row) > 0) {
      assert_true(last_of(m, row) - first_of(m, row) < width);
      assert_true(last_of(m, row) <= row + width && first_of(m, row) >= row - width);
    }
  }
}

static void check_growing(const bench_matrix *m, double nnz) {
  int64_t row;
  (void)nnz;
  for (row = 1; row < m->rows; row++) {
    assert_true(length_of(m, row) >= length_of(m, row - 1));
  }
  assert_true(length_of(m, 0) == 0 && bench_longest_row(m) == 99);
  assert_near_diagonal(m, 20000);
}

static void check_log_normal(const bench_matrix *m, double nnz) {
  double sum = 0, squares = 0, count = 0;
  int64_t row;
  for (row = 0; row < m->rows; row++) {
    if (length_of(m, row) > 0) {
      const double l = log((double)length_of(m, row));
      sum += l;
      squares += l * l;
      count++;
    }
  }
  assert_near(sum / count, log(25) - 0.245, 0.05);
  assert_near(squares / count - sum / count * (sum / count), 0.49, nnz > 1e5 ? 0.06 : 0.25);
  assert_near_diagonal(m, 5000);
}

static void check_small_world(const bench_matrix *m, double nnz) {
  int64_t row, k, elsewhere = 0;
  (void)nnz;
  assert_true(bench_longest_row(m) == 10);
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      const int64_t step = (m->col_ind[k] - row + m->rows) % m->rows;
      elsewhere += step > 5 && step < m->rows - 5;
    }
  }
  assert_near((double)elsewhere / (double)m->nnz, 0.05, 0.2);
}

static void check_runs(const bench_matrix *m, double nnz) {
  int64_t row, k, runs = 0;
  (void)nnz;
  for (row = 0; row < m->rows; row++) {
    assert_true(length_of(m, row) >= 4 && length_of(m, row) <= 36);
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      runs += k == m->row_ptr[row] || m->col_ind[k] > m->col_ind[k - 1] + 1;
    }
  }
  assert_true((double)m->nnz >= 4 * (double)runs && (double)m->nnz < 4.4 * (double)runs);
  assert_near_diagonal(m, 20000);
}

static void check_diagonal_blocks(const bench_matrix *m, double nnz) {
  int64_t row, blocks = 0;
  for (row = 0; row < m->rows; row++) { /* a block's rows are equal, without gaps */
    const int begins = first_of(m, row) == row;
    assert_true(last_of(m, row) - first_of(m, row) + 1 == length_of(m, row));
    assert_true(last_of(m, row) >= row && length_of(m, row) <= 30);
    assert_true(begins || (first_of(m, row) == first_of(m, row - 1) &&
                           last_of(m, row) == last_of(m, row - 1)));
    blocks += begins;
  }
  assert_near((double)m->rows / (double)blocks, 17.5, nnz > 1e5 ? 0.02 : 0.05);
}

static void check_holes(const bench_matrix *m, double nnz) {
  int64_t row, k, offsets = 0;
  char *seen = (char *)calloc((size_t)(2 * m->rows), 1);
  (void)nnz;
  assert_non_null(seen);
  assert_true(bench_longest_row(m) <= 12);
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      seen[m->col_ind[k] - row + m->rows] = 1;
    }
  }
  for (k = 0; k < 2 * m->rows; k++) {
    offsets += seen[k];
  }
  free(seen);
  assert_int_equal(offsets, 12);
}

/* ---- Random rows ------------------------------------------------------------------------- */

/* The variance of a Poisson law is its mean; a hundredth of the columns has a hundredth of the
 * nonzeros. */
static void check_poisson(const bench_matrix *m, double mean) {
  double squares = 0;
  int64_t row, k, low = 0;
  for (row = 0; row < m->rows; row++) {
    squares += ((double)length_of(m, row) - mean) * ((double)length_of(m, row) - mean);
  }
  for (k = 0; k < m->nnz; k++) {
    low += m->col_ind[k] < m->cols / 100;
  }
  assert_near(squares / (double)m->rows, mean, m->rows > 10000 ? 0.05 : 0.35);
  assert_near((double)low / (double)m->nnz, 0.01, m->nnz > 50000 ? 0.1 : 0.5);
}

static void check_random4(const bench_matrix *m, double nnz) {
  (void)nnz;
  check_poisson(m, 4);
}

static void check_random60(const bench_matrix *m, double nnz) {
  (void)nnz;
  check_poisson(m, 60);
}

static void check_phases(const bench_matrix *m, double nnz) {
  int64_t row;
  (void)nnz;
  for (row = 0; row < m->rows; row++) {
    const int64_t wish = row < m->rows / 2 ? 5 : row < m->rows / 10 * 9 ? 20 : 150;
    assert_true(length_of(m, row) == wish);
    assert_true(wish > 20 || last_of(m, row) - first_of(m, row) < (wish == 5 ? 5 : 1000));
    assert_true(wish <= 20 || last_of(m, row) - first_of(m, row) > m->cols / 10 * 9);
  }
}

/* ---- All of them ------------------------------------------------------------------------- */

static const struct {
  const char *name;
  void (*check)(const bench_matrix *m, double nnz);
  int seeded; /* depends on the seed */
} shapes[] = {
    {"block-angular", check_block_angular, 1},
    {"wide-lp", check_wide_lp, 1},
    {"assignment", check_assignment, 0},
    {"incidence", check_incidence, 1},
    {"kkt", check_kkt, 1},
    {"stencil7", check_stencil7_plain, 0},
    {"stencil7-scrambled", check_stencil7_scrambled, 1},
    {"tridiagonal", check_tridiagonal, 0},
    {"prolongation", check_prolongation, 0},
    {"spins", check_spins, 0},
    {"mesh3x3", check_mesh3x3, 0},
    {"random-band", check_random_band, 1},
    {"near-dense", check_near_dense, 1},
    {"hypersparse", check_hypersparse, 1},
    {"alternating", check_alternating, 1},
    {"long-rows", check_long_rows, 1},
    {"features", check_features, 1},
    {"tall", check_tall, 1},
    {"wide", check_wide, 1},
    {"pruned", check_pruned, 1},
    {"arrow", check_arrow, 0},
    {"user-item", check_user_item, 1},
    {"preferential", check_preferential, 1},
    {"growing", check_growing, 1},
    {"log-normal", check_log_normal, 1},
    {"small-world", check_small_world, 1},
    {"runs", check_runs, 1},
    {"diagonal-blocks", check_diagonal_blocks, 1},
    {"holes", check_holes, 1},
    {"random4", check_random4, 1},
    {"random60", check_random60, 1},
    {"phases", check_phases, 1},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void make(bench_matrix *m, const char *name, const char *size_and_seed) {
  char spec[128];
  (void)snprintf(spec, sizeof spec, "gen:%s:%s", name, size_and_seed);
  bench_generate(spec, m);
}

/* Rows ascend and have no duplicates. */
static void assert_valid(const bench_matrix *m) {
  int64_t row, k;
  assert_true(m->rows > 0 && m->cols > 0);
  assert_true(m->row_ptr[0] == 0 && m->row_ptr[m->rows] == m->nnz);
  for (row = 0; row < m->rows; row++) {
    assert_true(length_of(m, row) >= 0);
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      assert_true(m->col_ind[k] >= 0 && m->col_ind[k] < m->cols);
      assert_true(k == m->row_ptr[row] || m->col_ind[k - 1] < m->col_ind[k]);
    }
  }
}

static void keep_their_promise(void **state) {
  static const struct {
    const char *text;
    double nnz, slack;
  } sizes[] = {{"10k", 1e4, 0.11}, {"100k", 1e5, 0.045}, {"1M", 1e6, 0.035}};
  const int count = test_effort(2, 3);
  size_t i;
  int s;
  (void)state;
  for (i = 0; i < SHAPES; i++) {
    for (s = 0; s < count; s++) {
      bench_matrix m;
      make(&m, shapes[i].name, sizes[s].text);
      print_message("%s\n", m.name); /* names the matrix if a check fails */
      assert_valid(&m);
      assert_near((double)m.nnz, sizes[s].nnz, sizes[s].slack);
      shapes[i].check(&m, sizes[s].nnz);
      bench_matrix_free(&m);
    }
  }
}

static int same(const bench_matrix *a, const bench_matrix *b) {
  return a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz &&
         memcmp(a->row_ptr, b->row_ptr, (size_t)(a->rows + 1) * sizeof *a->row_ptr) == 0 &&
         memcmp(a->col_ind, b->col_ind, (size_t)a->nnz * sizeof *a->col_ind) == 0;
}

static void depend_on_their_seed(void **state) {
  size_t i;
  (void)state;
  for (i = 0; i < SHAPES; i++) {
    bench_matrix first, again, other;
    make(&first, shapes[i].name, "100k:5");
    make(&again, shapes[i].name, "100k:5");
    make(&other, shapes[i].name, "100k:6");
    assert_true(same(&first, &again));
    assert_memory_equal(first.values, again.values, (size_t)first.nnz * sizeof(double));
    if (same(&first, &other) == shapes[i].seeded) {
      fail_msg("%s and another seed", first.name);
    }
    bench_matrix_free(&first);
    bench_matrix_free(&again);
    bench_matrix_free(&other);
  }
}

/* Every generator is tested here or, for the first 15, in the other two files. */
static void none_is_missing(void **state) {
  int i, found = 0;
  size_t k;
  (void)state;
  for (i = 0; i < BENCH_GENERATORS; i++) {
    for (k = 0; k < SHAPES; k++) {
      found += strcmp(bench_generators[i].name, shapes[k].name) == 0;
    }
  }
  assert_int_equal(found, BENCH_GENERATORS - 15);
  assert_int_equal(found, SHAPES - 1); /* mesh3x3 is one of meshBxB */
}

static void meshes_of_other_blocks(void **state) {
  static const char *const names[] = {"mesh1x1", "mesh2x2", "mesh5x5", "mesh16x16"};
  bench_matrix m, plain;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof names / sizeof names[0]; i++) {
    make(&m, names[i], "500k");
    assert_valid(&m);
    assert_near((double)m.nnz, 5e5, i < 3 ? 0.06 : 0.3);
    assert_int_equal(bench_longest_row(&m), 27 * m.block_rows * (m.rows > 8 * m.block_rows));
    bench_matrix_free(&m);
  }
  make(&m, "mesh1x1", "389017"); /* a cube of 25 */
  make(&plain, "stencil27", "389017");
  assert_true(same(&m, &plain));
  bench_matrix_free(&m);
  bench_matrix_free(&plain);
  assert_int_equal(bench_generate_mesh("mesh2x3", &m, 1000, 1), 0);
  assert_int_equal(bench_generate_mesh("mesh17x17", &m, 1000, 1), 0);
  assert_int_equal(bench_generate_mesh("mesh0x0", &m, 1000, 1), 0);
  assert_int_equal(bench_generate_mesh("mesh3x3x3", &m, 1000, 1), 0);
}

/* Columns of the longest rows and of the largest bounds neither repeat nor leave their
 * range. */
static void rows_are_spread(void **state) {
  int32_t columns[1000];
  int64_t i, row;
  (void)state;
  for (row = 0; row < 100; row++) { /* the last part ends at the bound */
    bench_spread(bench_key(1, 2), row, 1000, 7, 7 + 1000 + row, columns);
    for (i = 0; i < 1000; i++) {
      assert_true(columns[i] >= 7 && columns[i] < 1007 + row);
      assert_true(i == 0 || columns[i] > columns[i - 1]);
    }
  }
  bench_spread(bench_key(1, 2), 3, 1000, 0, INT32_MAX, columns);
  assert_true(columns[999] > 2145000000 && columns[0] >= 0 && columns[0] < 2147484);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keep_their_promise), cmocka_unit_test(depend_on_their_seed),
      cmocka_unit_test(none_is_missing),    cmocka_unit_test(meshes_of_other_blocks),
      cmocka_unit_test(rows_are_spread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
