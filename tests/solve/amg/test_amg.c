/* The multigrid preconditioner on the CPU: amg_cases.h, and features that only one side has. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_cases.h"

/* M has the same bits in every run with the same number of threads; with another number
 * products round differently. */
static void test_threads(void **state) {
  const bed_grid g = {30, 0, 0, 0.5, 100, 0.1, 0.9};
  const int threads[] = {1, 4, 4};
  merbit_context *kept = context;
  double *v = NULL;
  int i;
  (void)state;
  for (i = 0; i < 3; i++) {
    merbit_preconditioner_desc desc;
    merbit_preconditioner *p;
    mbi_amg_csr a;
    int64_t k;
    context = cpu_open(NULL, threads[i]);
    desc = amg_desc();
    a = bed_laplacian(context, &g);
    if (v == NULL) {
      v = (double *)malloc((size_t)a.rows * 3 * sizeof *v);
      for (k = 0; k < a.rows; k++) {
        v[k] = bed_random((uint64_t)k) - 0.5;
      }
    }
    p = amg_make(&a, &desc);
    amg_apply(p, v, v + (i == 0 ? 1 : 2) * a.rows);
    for (k = 0; i == 1 && k < a.rows; k++) {
      assert_true(fabs(v[a.rows + k] - v[2 * a.rows + k]) < 1e-12 * (1 + fabs(v[a.rows + k])));
      v[a.rows + k] = v[2 * a.rows + k];
    }
    if (i == 2) {
      assert_memory_equal(v + a.rows, v + 2 * a.rows, (size_t)a.rows * sizeof *v);
    }
    merbit_preconditioner_destroy(p);
    mbi_amg_csr_release(context, &a);
    merbit_context_destroy(context);
  }
  free(v);
  context = kept;
}

/* The same M from every form of the matrix: one triangle, COO, base 1, wide indices, f32,
 * unsorted. */
static void test_forms(void **state) {
  mbi_amg_csr a = bed_poisson(context, 20, 1);
  merbit_preconditioner_desc desc = amg_desc();
  merbit_preconditioner *p = amg_make(&a, &desc), *q;
  const int64_t n = a.rows;
  double *v = (double *)malloc((size_t)n * 3 * sizeof *v);
  int64_t *rows = (int64_t *)malloc((size_t)a.nnz * 2 * sizeof *rows), *cols = rows + a.nnz;
  double *values = (double *)malloc((size_t)a.nnz * sizeof *values);
  merbit_view view;
  int64_t i, k, count;
  int form;
  (void)state;
  for (i = 0; i < n; i++) {
    v[i] = bed_random((uint64_t)i) - 0.5;
  }
  amg_apply(p, v, v + n);
  for (form = 0; form < 2;
       form++) { /* COO from the last entry to the first; a lower triangle */
    for (count = 0, i = n - 1; i >= 0; i--) {
      for (k = a.row_ptr[i + 1] - 1; k >= a.row_ptr[i]; k--) {
        if (form == 0 || a.col_ind[k] <= i) {
          rows[count] = i + 1;
          cols[count] = a.col_ind[k] + 1;
          values[count++] = a.values[k];
        }
      }
    }
    view = merbit_coo(n, n, count, rows, cols, values);
    view.base = 1;
    view.offset_type = view.index_type = MERBIT_INDEX_64;
    view.symmetry = form == 1 ? MERBIT_SYMMETRY_SYMMETRIC : MERBIT_SYMMETRY_NONE;
    assert_int_equal(merbit_preconditioner_create(context, &view, &desc, &q), MERBIT_OK);
    amg_apply(q, v, v + 2 * n);
    for (i = 0; i < n; i++) {
      assert_true(fabs(v[n + i] - v[2 * n + i]) < 1e-12);
    }
    merbit_preconditioner_destroy(q);
  }
  merbit_preconditioner_destroy(p);
  mbi_amg_csr_release(context, &a);
  free(v);
  free(rows);
  free(values);
}

static void refuse(mbi_amg_csr *a, const merbit_preconditioner_desc *desc, merbit_status status,
                   const char *piece) {
  const merbit_view view = mbi_amg_view(a);
  merbit_preconditioner *p = (merbit_preconditioner *)1;
  assert_int_equal(merbit_preconditioner_create(context, &view, desc, &p), status);
  assert_null(p);
  cpu_expect(context, status, piece);
  mbi_amg_csr_release(context, a);
}

static void test_refusals(void **state) {
  merbit_preconditioner_desc desc = amg_desc();
  bed_entry zero[] = {{0, 0, 1}, {1, 1, 0}, {1, 0, 1}, {2, 2, 1}};
  bed_entry none[] = {{0, 0, 1}, {1, 0, 1}, {2, 2, 1}};
  bed_entry inf[] = {{0, 0, 1}, {1, 1, INFINITY}}, small[] = {{0, 0, 1}, {1, 1, 2.9e-39}};
  double modes[9] = {1, 1, 1, 0, 0, NAN, 1, 1, 1};
  mbi_amg_csr a = bed_csr(context, 3, 3, zero, 4);
  (void)state;
  refuse(&a, &desc, MERBIT_INVALID_MATRIX, "row 1, counted from 0, has no diagonal entry");
  a = bed_csr(context, 3, 3, none, 3);
  refuse(&a, &desc, MERBIT_INVALID_MATRIX, "row 1, counted from 0, has no diagonal entry");
  a = bed_csr(context, 2, 2, inf, 2);
  refuse(&a, &desc, MERBIT_INVALID_MATRIX, "row 1, counted from 0, of the matrix of 2 rows");
  desc.single = 1; /* 1 / 2.9e-39 overflows in f32 */
  a = bed_csr(context, 2, 2, small, 2);
  refuse(
      &a, &desc, MERBIT_INVALID_MATRIX,
      "in f32, for preconditioner_desc.single: row 1, counted from 0, has no diagonal entry");
  desc.single = 0;
  a = bed_csr(context, 2, 2, small, 2);
  merbit_preconditioner_destroy(amg_make(&a, &desc));
  mbi_amg_csr_release(context, &a);
  a = bed_csr(context, 3, 3, zero, 4);
  a.values[2] = 1;
  desc.near_nullspace = modes;
  desc.near_nullspace_count = 3;
  refuse(&a, &desc, MERBIT_INVALID_ARGUMENT, "element 2 of column 1");
  modes[5] = 0; /* 1 1 1, 0 0 0, 1 1 1 */
  a = bed_csr(context, 3, 3, zero, 4);
  a.values[2] = 1;
  refuse(&a, &desc, MERBIT_INVALID_ARGUMENT,
         "column 1 of preconditioner_desc.near_nullspace is zero");
  modes[5] = 1e-101; /* its square vanishes in sums */
  a = bed_csr(context, 3, 3, zero, 4);
  a.values[2] = 1;
  refuse(&a, &desc, MERBIT_INVALID_ARGUMENT, "magnitude in column 1 of preconditioner_desc");
  modes[5] = 1;
  modes[7] = -1e160; /* its square overflows */
  a = bed_csr(context, 3, 3, zero, 4);
  a.values[2] = 1;
  refuse(&a, &desc, MERBIT_INVALID_ARGUMENT,
         "is 1e+160; scale it to between 1e-100 and 1e+100");
}

/* An indefinite matrix: CG reports it, and does not claim to have converged. */
static void test_indefinite(void **state) {
  const bed_grid g = {40, 1, 1, 1, 1, -0.5, 1};
  mbi_amg_csr a = bed_laplacian(context, &g);
  merbit_preconditioner_desc desc = amg_desc();
  const merbit_solver_result result = amg_solve(&a, &desc, MERBIT_F64);
  (void)state;
  assert_int_equal(result.stop, MERBIT_STOP_BREAKDOWN);
  assert_non_null(strstr(result.description, "not symmetric positive definite"));
  mbi_amg_csr_release(context, &a);
}

/* Matrices without rows, and with one row. */
static void test_tiny(void **state) {
  bed_entry entries[] = {{0, 0, 4}};
  merbit_preconditioner_desc desc = amg_desc();
  mbi_amg_csr a = bed_csr(context, 0, 0, entries, 0);
  merbit_preconditioner *p = amg_make(&a, &desc);
  double r = 6, z = 0;
  (void)state;
  assert_int_equal(merbit_preconditioner_apply(p, NULL, NULL, NULL), MERBIT_OK);
  merbit_preconditioner_destroy(p);
  mbi_amg_csr_release(context, &a);
  a = bed_csr(context, 1, 1, entries, 1);
  p = amg_make(&a, &desc);
  amg_apply(p, &r, &z);
  assert_true(z == 1.5);
  merbit_preconditioner_destroy(p);
  mbi_amg_csr_release(context, &a);
}

/* A dense row and column of 4,000. */
static void test_arrow(void **state) {
  enum { ROWS = 4000 };
  bed_entry *entries = (bed_entry *)malloc(5 * ROWS * sizeof *entries);
  merbit_preconditioner_desc desc = amg_desc();
  merbit_solver_result result;
  mbi_amg_csr a;
  int i;
  (void)state;
  for (i = 0; i < ROWS; i++) {
    const bed_entry five[] = {{i, i, i == 0 ? 2.0 * ROWS : 4},
                              {i, 0, -1},
                              {0, i, -1},
                              {i, (i + 1) % ROWS, -0.5},
                              {(i + 1) % ROWS, i, -0.5}};
    memcpy(entries + 5 * i, five, sizeof five);
  }
  a = bed_csr(context, ROWS, ROWS, entries, 5 * ROWS);
  result = amg_solve(&a, &desc, MERBIT_F64);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  assert_in_range(result.iterations, 1, 30);
  mbi_amg_csr_release(context, &a);
  free(entries);
}

/* Three unknowns per node: the constants given as near-null-space vectors give the same M as
 * the default, in every precision; with random vectors solves need many more iterations. */
static void test_vectors(void **state) {
  const bed_grid g = {10, 0, 1, 1, 1, 0, 1};
  mbi_amg_csr scalar = bed_laplacian(context, &g), a = bed_blocks(context, &scalar);
  merbit_preconditioner_desc desc = amg_desc();
  double *modes = (double *)calloc((size_t)a.rows * 3, sizeof *modes);
  merbit_solver_result constants, given;
  int64_t i;
  (void)state;
  desc.block_size = 3;
  constants = amg_solve(&a, &desc, MERBIT_F64);
  assert_int_equal(constants.stop, MERBIT_STOP_CONVERGED);
  for (i = 0; i < a.rows; i++) {
    modes[i + i % 3 * a.rows] = 1;
  }
  desc.near_nullspace = modes;
  desc.near_nullspace_count = 3;
  given = amg_solve(&a, &desc, MERBIT_F64);
  assert_int_equal(given.iterations, constants.iterations);
  assert_true(given.residual == constants.residual);
  desc.single = 1; /* the vectors are still f64 */
  given = amg_solve(&a, &desc, MERBIT_F64);
  assert_in_range(given.iterations, constants.iterations, constants.iterations + 1);
  desc.single = 0;
  given = amg_solve(&a, &desc, MERBIT_F32);
  assert_int_equal(given.stop, MERBIT_STOP_CONVERGED);
  assert_in_range(given.iterations, 1, constants.iterations);
  for (i = 0; i < 2 * a.rows; i++) { /* wrong vectors: many more iterations */
    modes[i] = bed_random((uint64_t)i) - 0.5;
  }
  desc.near_nullspace_count = 1;
  given = amg_solve(&a, &desc, MERBIT_F64);
  assert_true(given.iterations > constants.iterations + 5);
  free(modes);
  mbi_amg_csr_release(context, &scalar);
  mbi_amg_csr_release(context, &a);
}

/* Neither D^-1 in f64 nor values that plans have copied are kept, and an update keeps no
 * additional memory. */
static void check_memory(const mbi_amg_csr *a, int reduced) {
  int single, update, l, k;
  for (single = 0; single < 2; single++) {
    merbit_preconditioner_desc desc = amg_desc();
    merbit_preconditioner *p, *inner;
    merbit_preconditioner_info before, after;
    desc.single = single;
    p = amg_make(a, &desc);
    inner = single ? p->inner : p;
    (void)merbit_preconditioner_get_info(p, &before);
    for (update = 0; update < 2; update++) {
      const mbi_amg *amg = (const mbi_amg *)inner->state;
      int copied = 0;
      assert_int_equal(amg->reduced, reduced);
      for (l = 0; l + 1 < amg->count; l++) {
        const mbi_amg_level *level = &amg->levels[l];
        const mbi_amg_grid *g = &amg->grids[l];
        const double *const values[] = {reduced ? level->halves[0].values : level->a.values,
                                        level->p.values, level->r.values,
                                        level->halves[1].values};
        assert_null(level->inverse);
        assert_null(level->ap.values);
        assert_true(!reduced || (level->a.values == NULL && level->aggregate == NULL));
        for (k = 0; k < (reduced ? 4 : 3); k++) {
          const int copies = mbi_plan_copies_values(g->plans[k]);
          copied += copies;
          assert_int_equal(values[k] != NULL, !copies && !single && l + k + reduced > 0);
          assert_int_equal(g->single[k] != NULL, !copies && single && l + k + reduced > 0);
        }
      }
      assert_true(copied > 2);
      assert_true(!single || p->engine->single_values == NULL);
      assert_int_equal(merbit_preconditioner_update_values(p, a->values, MERBIT_MEMORY_HOST),
                       MERBIT_OK);
    }
    (void)merbit_preconditioner_get_info(p, &after);
    assert_int_equal(after.host_bytes, before.host_bytes);
    merbit_preconditioner_destroy(p);
  }
}

static void test_memory(void **state) {
  mbi_amg_csr a = bed_poisson(context, 40, 0), wind = bed_wind(context, 120, 10);
  (void)state;
  check_memory(&a, 0);
  check_memory(&wind, 1);
  mbi_amg_csr_release(context, &a);
  mbi_amg_csr_release(context, &wind);
}

/* Each allocation fails once: a clean error, and no leak. */
static void test_allocations(void **state) {
  const bed_grid g = {24, 1, 1, 1, 1, 0, 1};
  merbit_context *kept = context;
  mbi_amg_csr a = bed_laplacian(kept, &g), blocks = bed_blocks(kept, &a);
  mbi_amg_csr wind = bed_wind(kept, 40, 10);
  int form;
  (void)state;
  for (form = 0; form < 3; form++) { /* 0 to 2: smoothed, of blocks, by reduction */
    const mbi_amg_csr *m = form == 0 ? &a : form == 1 ? &blocks : &wind;
    merbit_view view = mbi_amg_view(m);
    long at, failed = 0;
    int done = 0;
    for (at = 1; !done; at++) {
      cpu_memory memory;
      merbit_preconditioner_desc desc;
      merbit_preconditioner *p;
      merbit_status status;
      context = cpu_open(&memory, 1);
      desc = amg_desc();
      desc.block_size = form == 1 ? 3 : 1;
      desc.single = form == 1;
      memory.fail_at = memory.made + at;
      status = merbit_preconditioner_create(context, &view, &desc, &p);
      if (status == MERBIT_OK) {
        status = merbit_preconditioner_update_values(p, m->values, MERBIT_MEMORY_HOST);
      }
      done = memory.made < memory.fail_at;
      if (status != MERBIT_OK) {
        assert_int_equal(status, MERBIT_OUT_OF_MEMORY);
        cpu_expect(context, MERBIT_OUT_OF_MEMORY, "memory");
        failed++;
      }
      merbit_preconditioner_destroy(p);
      merbit_context_destroy(context);
      assert_int_equal(memory.live, 0);
    }
    assert_true(failed > 40);
  }
  context = kept;
  mbi_amg_csr_release(context, &a);
  mbi_amg_csr_release(context, &blocks);
  mbi_amg_csr_release(context, &wind);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      AMG_CASES,
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_forms),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_indefinite),
      cmocka_unit_test(test_tiny),
      cmocka_unit_test(test_arrow),
      cmocka_unit_test(test_vectors),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_allocations),
  };
  int failed;
  context = cpu_open(NULL, 2);
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(context);
  return failed;
}
