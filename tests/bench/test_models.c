/* The benchmark's later matrices have the shapes that their comments promise, its slices and
 * blocks hold the CSR's entries, and its systems have the properties that solvers are told. */
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
#include "../../bench/formats.h"
#include "../../bench/systems.h"

typedef struct shape {
  int64_t longest, longest_column, empty, near, unpaired;
} shape;

static int by_number(const void *a, const void *b) {
  return (*(const int32_t *)a > *(const int32_t *)b) -
         (*(const int32_t *)a < *(const int32_t *)b);
}

/* near: entries within 2048 places of the diagonal; unpaired: without a mirror image */
static shape shape_of(const bench_matrix *m) {
  int32_t *columns = (int32_t *)calloc((size_t)m->cols, sizeof *columns);
  shape s = {0, 0, 0, 0, 0};
  int64_t row, k;
  assert_non_null(columns);
  s.longest = bench_longest_row(m);
  for (row = 0; row < m->rows; row++) {
    s.empty += m->row_ptr[row] == m->row_ptr[row + 1];
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      const int64_t column = m->col_ind[k];
      const int32_t key = (int32_t)row;
      s.near += llabs(column - row) <= 2048;
      columns[column]++;
      s.unpaired +=
          m->rows == m->cols && bsearch(&key, m->col_ind + m->row_ptr[column],
                                        (size_t)(m->row_ptr[column + 1] - m->row_ptr[column]),
                                        sizeof key, by_number) == NULL;
    }
  }
  for (k = 0; k < m->cols; k++) {
    s.longest_column = columns[k] > s.longest_column ? columns[k] : s.longest_column;
  }
  free(columns);
  return s;
}

static shape make(bench_matrix *m, const char *spec) {
  bench_generate(spec, m);
  return shape_of(m);
}

static double share(int64_t part, int64_t whole) {
  return (double)part / (double)whole;
}

/* ---- Generators -------------------------------------------------------------------------- */

static void kmer_is_shuffled_paths(void **state) {
  bench_matrix m;
  const shape s = make(&m, "gen:kmer:400k");
  (void)state;
  assert_int_equal(s.unpaired, 0);
  assert_int_equal(s.longest, 3);
  assert_true(share(m.nnz, m.rows) > 2.03 && share(m.nnz, m.rows) < 2.09);
  assert_true(share(s.near, m.nnz) < 0.05); /* 2.1% by chance: no locality left */
  bench_matrix_free(&m);
}

static void permuted_rmat_is_the_same_graph(void **state) {
  bench_matrix natural, permuted;
  const shape s = make(&natural, "gen:rmat:200k"),
              t = make(&permuted, "gen:rmat-permuted:200k");
  uint64_t key = bench_key(1, 12);
  int64_t row;
  (void)state;
  assert_int_equal(natural.nnz, permuted.nnz);
  assert_int_equal(s.longest, t.longest);
  assert_int_equal(s.longest_column, t.longest_column);
  for (row = 0; row < natural.rows; row++) {
    const int64_t other = (int64_t)bench_permute(key, 14, (uint64_t)row);
    assert_int_equal(natural.row_ptr[row + 1] - natural.row_ptr[row],
                     permuted.row_ptr[other + 1] - permuted.row_ptr[other]);
  }
  bench_matrix_free(&natural);
  bench_matrix_free(&permuted);
}

static void web_keeps_to_its_hosts(void **state) {
  bench_matrix m;
  const shape s = make(&m, "gen:web:900k");
  (void)state;
  assert_true(fabs(share(s.empty, m.rows) - 0.1) < 0.001);
  assert_true(s.longest > 300 && s.longest <= BENCH_ROW_MOST);
  assert_true(s.longest_column > 3 * s.longest); /* a popular page */
  assert_true(share(s.near, m.nnz) > 0.8);
  assert_true(share(s.near, m.nnz) < 0.95);
  bench_matrix_free(&m);
}

static void fem_is_a_local_mesh(void **state) {
  bench_matrix m;
  const shape s = make(&m, "gen:fem:900k");
  int64_t row;
  (void)state;
  assert_int_equal(s.unpaired, 0);
  assert_true(share(m.nnz, m.rows) > 15 && share(m.nnz, m.rows) < 20);
  assert_true(s.longest > 22 && s.longest <= 33);
  assert_true(share(s.near, m.nnz) > 0.5);
  for (row = 1; row < m.rows && m.row_ptr[row + 1] - m.row_ptr[row] == m.row_ptr[1]; row++) {
  }
  assert_true(row < 20); /* irregular */
  bench_matrix_free(&m);
}

static void band5_is_full_blocks(void **state) {
  bench_matrix m;
  const shape s = make(&m, "gen:band5:400k");
  double found = 0;
  (void)state;
  assert_true(bench_block_share(&m, 5) == 1.0);
  assert_int_equal(bench_block_choose(&m, sizeof(float), &found), 5);
  assert_true(found == 1.0);
  assert_true(s.longest <= 80);
  assert_true(share(s.near, m.nnz) > 0.85);
  bench_matrix_free(&m);
}

static void circuit_has_dense_rows_and_columns(void **state) {
  bench_matrix m;
  const shape s = make(&m, "gen:circuit:500k");
  int64_t row, dense = 0;
  (void)state;
  assert_int_equal(s.unpaired, 0);
  assert_int_equal(s.longest, s.longest_column);
  assert_true(fabs(share(s.longest, m.rows) - 0.05) < 0.005);
  for (row = 0; row < m.rows; row++) {
    const int64_t length = m.row_ptr[row + 1] - m.row_ptr[row];
    dense += length > m.rows / 150;
    assert_true(length <= 32 || length > m.rows / 150);
  }
  assert_int_equal(dense, CIRCUIT_NETS);
  assert_true(fabs(share(m.nnz, m.rows) - 5.0) < 0.05);
  bench_matrix_free(&m);
}

static void lp_is_uneven_and_has_a_dual(void **state) {
  bench_matrix m, dual;
  const shape s = make(&m, "gen:lp:500k"), t = make(&dual, "gen:lp-transposed:500k");
  (void)state;
  assert_int_equal((m.cols + 4) / 5, m.rows);
  assert_int_equal(dual.rows, m.cols);
  assert_int_equal(dual.cols, m.rows);
  assert_int_equal(dual.nnz, m.nnz);
  assert_int_equal(s.longest, t.longest_column);
  assert_int_equal(s.longest_column, t.longest);
  assert_true(share(s.longest, m.cols) > 0.01);
  assert_true(s.longest_column > 7 && s.longest_column < 30);
  bench_matrix_free(&m);
  bench_matrix_free(&dual);
}

/* ---- Formats ----------------------------------------------------------------------------- */

/* Multiplies by a layout; `times` counts how often each value of the CSR occurs. */
static void multiply(const bench_problem *p, const bench_layout *l, double *y) {
  const int64_t slices = (l->rows + BENCH_SLICE - 1) / BENCH_SLICE;
  int64_t place, k, i;
  for (place = 0; place < (l->block > 0 ? l->rows : slices); place++) {
    for (k = l->offsets[place]; k < l->offsets[place + 1]; k++) {
      const int64_t area = l->block > 0 ? (int64_t)l->block * l->block : 1;
      for (i = 0; i < area; i++) {
        const double value = bench_element(l->values, k * area + i, p->single);
        const int64_t row = l->block > 0 ? place * l->block + i / l->block
                                         : place * BENCH_SLICE + (k - l->offsets[place]) % 32;
        const int64_t column =
            l->block > 0 ? (int64_t)l->columns[k] * l->block + i % l->block : l->columns[k];
        if (l->block == 0 && column < 0) {
          assert_true(value == 0);
        } else if (row < p->m->rows && column < p->m->cols) {
          y[row] += value * bench_element(p->x, column, p->single);
        } else {
          assert_true(l->block > 0 && value == 0);
        }
      }
    }
  }
}

static void check_layout(const bench_problem *p, bench_layout *l) {
  double *y = (double *)calloc((size_t)p->m->rows, sizeof *y);
  int64_t row;
  assert_non_null(y);
  multiply(p, l, y);
  for (row = 0; row < p->m->rows; row++) {
    assert_true(fabs(y[row] - (double)p->sum[row]) <= 1e-9 * (1 + p->magnitude[row]));
  }
  free(y);
  bench_layout_free(l);
}

static void formats_hold_the_matrix(void **state) {
  static const char *const specs[] = {"gen:band5:3k", "gen:circuit:3001",
                                      "gen:lp:2k",    "gen:lp-transposed:2k",
                                      "gen:web:4k",   "gen:uniform:1"};
  static const int blocks[] = {2, 3, 5, 8, 16};
  size_t i, k;
  (void)state;
  for (i = 0; i < sizeof specs / sizeof specs[0]; i++) {
    bench_matrix m;
    bench_problem p;
    bench_layout l;
    bench_generate(specs[i], &m);
    bench_problem_create(&p, &m, (int)(i % 2));
    bench_sliced_create(&p, &l);
    assert_int_equal(l.stored, bench_sliced_size(&m));
    check_layout(&p, &l);
    for (k = 0; k < sizeof blocks / sizeof blocks[0]; k++) {
      bench_blocks_create(&p, blocks[k], blocks[k], &l);
      assert_true(l.entries * blocks[k] * blocks[k] == l.stored && l.stored >= m.nnz);
      check_layout(&p, &l);
    }
    bench_problem_free(&p);
    bench_matrix_free(&m);
  }
}

static void no_blocks_where_there_are_none(void **state) {
  bench_matrix m;
  double found = 0;
  (void)state;
  bench_generate("gen:uniform:50k", &m);
  assert_int_equal(bench_block_choose(&m, sizeof(double), &found), 0);
  assert_true(found > 0.2 && found < 0.3); /* 2 x 2 blocks with one value */
  bench_matrix_free(&m);
}

static double entry(const bench_matrix *a, int64_t row, int64_t column) {
  const int32_t key = (int32_t)column;
  const int32_t *found = (const int32_t *)bsearch(
      &key, a->col_ind + a->row_ptr[row], (size_t)(a->row_ptr[row + 1] - a->row_ptr[row]),
      sizeof key, by_number);
  return found != NULL ? a->values[found - a->col_ind] : 0;
}

/* Rows are diagonally dominant; matrices are symmetric except flow, which is stronger against
 * the current. */
static void systems_are_dominant(void **state) {
  const bench_system kinds[] = {BENCH_SYSTEM_SPD, BENCH_SYSTEM_FLOW, BENCH_SYSTEM_ONES};
  bench_matrix m, a;
  int i, equal;
  (void)state;
  bench_generate("gen:rmat:20k", &m);
  for (i = 0; i < 3; i++) {
    for (equal = 0; equal < 2; equal++) {
      int64_t row, k, off = 0, covered = 0;
      bench_system_make(&m, kinds[i], equal, &a);
      for (row = 0; row < a.rows; row++) {
        double sum = 0;
        for (k = a.row_ptr[row]; k < a.row_ptr[row + 1]; k++) {
          const double mirror = entry(&a, a.col_ind[k], row);
          const double ratio = a.col_ind[k] > row ? mirror / a.values[k] : 1;
          sum += a.col_ind[k] != row ? fabs(a.values[k]) : 0;
          off += fabs(ratio - (kinds[i] == BENCH_SYSTEM_FLOW && a.col_ind[k] > row ? 3 : 1)) >
                 1e-12;
          off += kinds[i] == BENCH_SYSTEM_ONES && a.values[k] != 1;
          off +=
              kinds[i] == BENCH_SYSTEM_SPD && equal && a.col_ind[k] != row && a.values[k] != -1;
        }
        off += kinds[i] != BENCH_SYSTEM_ONES &&
               fabs(entry(&a, row, row) - sum - BENCH_SHIFT) > 1e-9;
        for (k = m.row_ptr[row]; k < m.row_ptr[row + 1]; k++) {
          covered += entry(&a, row, m.col_ind[k]) != 0 && entry(&a, m.col_ind[k], row) != 0;
        }
      }
      assert_int_equal(off, 0);
      assert_int_equal(covered, m.nnz);
      bench_matrix_free(&a);
    }
  }
  bench_matrix_free(&m);
}

/* In P^T the columns of vertices with edges add up to 1. The loop converges to the same ranks
 * from any start, and errors are detected. */
static void ranks_stand_still(void **state) {
  bench_matrix m, p;
  bench_rank_error error;
  double *x, *y, *sums;
  unsigned char *marks;
  int64_t dangling, i;
  (void)state;
  bench_generate("gen:web:20k", &m);
  m.row_ptr[m.rows] = m.row_ptr[m.rows - 1]; /* the last vertex dangles */
  m.nnz = m.row_ptr[m.rows];
  marks = (unsigned char *)malloc((size_t)m.rows);
  x = (double *)malloc((size_t)m.rows * sizeof *x);
  y = (double *)malloc((size_t)m.rows * sizeof *y);
  sums = (double *)calloc((size_t)m.rows, sizeof *sums);
  assert_true(marks != NULL && x != NULL && y != NULL && sums != NULL);
  dangling = bench_transition(&m, &p, marks);
  assert_true(dangling >= 1 && marks[m.rows - 1] == 1);
  for (i = 0; i < p.nnz; i++) {
    sums[p.col_ind[i]] += p.values[i];
  }
  for (i = 0; i < m.rows; i++) {
    assert_true(fabs(sums[i] - !marks[i]) < 1e-12);
    x[i] = 1.0 / (double)m.rows;
    y[i] = i == 0;
  }
  bench_rank_reference(&p, marks, 0.85, x);
  bench_rank_reference(&p, marks, 0.85, y);
  error = bench_rank_compare(x, y, 0, m.rows);
  assert_true(error.relative < 1e-11 && error.sum < 1e-12);
  y[7] *= 1 + 1e-6;
  error = bench_rank_compare(x, y, 0, m.rows);
  assert_true(fabs(error.relative - 1e-6) < 1e-10);
  for (sums[0] = 0, i = 0; i < m.rows; i++) {
    sums[0] += x[i];
  }
  assert_true(fabs(sums[0] - 1) < 1e-12);
  free(marks);
  free(x);
  free(y);
  free(sums);
  bench_matrix_free(&p);
  bench_matrix_free(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(systems_are_dominant),
      cmocka_unit_test(ranks_stand_still),
      cmocka_unit_test(kmer_is_shuffled_paths),
      cmocka_unit_test(permuted_rmat_is_the_same_graph),
      cmocka_unit_test(web_keeps_to_its_hosts),
      cmocka_unit_test(fem_is_a_local_mesh),
      cmocka_unit_test(band5_is_full_blocks),
      cmocka_unit_test(circuit_has_dense_rows_and_columns),
      cmocka_unit_test(lp_is_uneven_and_has_a_dual),
      cmocka_unit_test(formats_hold_the_matrix),
      cmocka_unit_test(no_blocks_where_there_are_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
