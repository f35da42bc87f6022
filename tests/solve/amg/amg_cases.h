/* The multigrid preconditioner on both sides: M equals a reference of the cycle, is symmetric,
 * solves every kind of system in few iterations, and accepts new values. Include after
 * amg_bed.h; `context` is the test's. */
#ifndef TEST_AMG_CASES_H
#define TEST_AMG_CASES_H
#include "solve/amg/amg_bed.h"
#include "support/gpu_context.h"

static merbit_context *context;

static merbit_preconditioner_desc amg_desc(void) {
  merbit_preconditioner_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.kind = MERBIT_PRECONDITIONER_AMG;
  desc.side = context->side;
  return desc;
}

static merbit_preconditioner *amg_make(const mbi_amg_csr *a,
                                       const merbit_preconditioner_desc *desc) {
  const merbit_view view = mbi_amg_view(a);
  merbit_preconditioner *p;
  char message[MERBIT_MESSAGE_SIZE];
  if (merbit_preconditioner_create(context, &view, desc, &p) != MERBIT_OK) {
    (void)merbit_last_error(context, message, sizeof message);
    fail_msg("%s", message);
  }
  return p;
}

/* Applies M^-1 to a host vector of the object's type. */
static void amg_apply(merbit_preconditioner *p, const void *r, void *z) {
  const size_t bytes = (size_t)p->n * mbi_type_size(p->type);
  merbit_buffer *buffers[2];
  if (p->side == MERBIT_SIDE_CPU) {
    assert_int_equal(merbit_preconditioner_apply(p, r, z, NULL), MERBIT_OK);
    return;
  }
  assert_int_equal(merbit_buffer_create(context, bytes, &buffers[0]), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, bytes, &buffers[1]), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(buffers[0], 0, r, bytes), MERBIT_OK);
  assert_int_equal(merbit_preconditioner_apply(p, merbit_buffer_pointer(buffers[0]),
                                               merbit_buffer_pointer(buffers[1]), NULL),
                   MERBIT_OK);
  assert_int_equal(merbit_buffer_download(buffers[1], 0, z, bytes), MERBIT_OK);
  merbit_buffer_destroy(buffers[0]);
  merbit_buffer_destroy(buffers[1]);
}

#include "solve/amg/amg_cycle.h"

/* ---- Solves ------------------------------------------------------------------------------ */

/* Solves A x = b to 1e-8, where b is A times numbers that are not smooth. If a solve in f64
 * converged, its true residual in long double meets the tolerance. */
static merbit_solver_result amg_solve_by(merbit_solver_method method, const mbi_amg_csr *a,
                                         const merbit_preconditioner_desc *options,
                                         merbit_type type) {
  merbit_view view = mbi_amg_view(a);
  merbit_solver_desc desc;
  merbit_solver_result result;
  merbit_solver *solver;
  float *single = (float *)malloc((size_t)a->nnz * sizeof *single + 1);
  float *b_single = (float *)malloc((size_t)a->rows * 2 * sizeof *single);
  double *b = (double *)calloc((size_t)a->rows * 2, sizeof *b);
  const int f32 = type == MERBIT_F32;
  int64_t i, k;
  for (i = 0; i < a->rows; i++) {
    for (k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
      b[i] += a->values[k] * (bed_random((uint64_t)a->col_ind[k]) - 0.5);
      single[k] = (float)a->values[k];
    }
    b_single[i] = (float)b[i];
  }
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  desc.side = context->side;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.tolerance = f32 ? 1e-4 : 1e-8;
  desc.max_iterations = 300;
  desc.preconditioner = MERBIT_PRECONDITIONER_AMG;
  desc.precondition = options;
  if (f32) {
    view.value_type = MERBIT_F32;
    view.values = single;
  }
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(
      merbit_solver_solve(solver, f32 ? (void *)b_single : (void *)b,
                          f32 ? (void *)(b_single + a->rows) : (void *)(b + a->rows), 0, NULL,
                          0, &result),
      MERBIT_OK);
  if (!f32 && result.stop == MERBIT_STOP_CONVERGED) {
    long double left = 0, size = 0, mean = 0;
    for (i = 0; options->singular && i < a->rows; i++) {
      mean += b[i] / (long double)a->rows;
    }
    for (i = 0; i < a->rows; i++) {
      long double sum = b[i] - mean;
      size += sum * sum;
      for (k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        sum -= (long double)a->values[k] * b[a->rows + a->col_ind[k]];
      }
      left += sum * sum;
    }
    assert_true(sqrtl(left) <= 1.0001e-8L * sqrtl(size));
  }
  merbit_solver_destroy(solver);
  free(b);
  free(single);
  free(b_single);
  return result;
}

static merbit_solver_result
amg_solve(const mbi_amg_csr *a, const merbit_preconditioner_desc *options, merbit_type type) {
  return amg_solve_by(MERBIT_SOLVER_CG, a, options, type);
}

/* Convection and diffusion: iterations hardly grow with the size, and not with the wind. */
static void test_convection(void **state) {
  static const struct {
    int side, single, block, most[2]; /* most: iterations of BiCGSTAB and GMRES */
    double peclet;
  } systems[] = {
      {64, 0, 1, {7, 12}, 10},   {64, 1, 1, {7, 12}, 10},  {128, 0, 1, {8, 13}, 10},
      {128, 0, 1, {8, 14}, 1e4}, {48, 0, 3, {28, 48}, 10},
  };
  const size_t count = context->side == MERBIT_SIDE_CUDA ? 1 : sizeof systems / sizeof *systems;
  size_t i;
  int gmres;
  (void)state;
  for (i = 0; i < count; i++) {
    mbi_amg_csr nodes = bed_wind(context, systems[i].side, systems[i].peclet);
    mbi_amg_csr blocks = bed_blocks(context, &nodes);
    merbit_preconditioner_desc desc = amg_desc();
    desc.single = systems[i].single;
    desc.block_size = systems[i].block;
    for (gmres = 0; gmres < 2; gmres++) {
      const merbit_solver_result r =
          amg_solve_by(gmres ? MERBIT_SOLVER_GMRES : MERBIT_SOLVER_BICGSTAB,
                       desc.block_size > 1 ? &blocks : &nodes, &desc, MERBIT_F64);
      if (r.stop != MERBIT_STOP_CONVERGED || r.iterations > systems[i].most[gmres]) {
        fail_msg("system %d: %d iterations, %s", (int)i, r.iterations, r.description);
      }
    }
    mbi_amg_csr_release(context, &blocks);
    mbi_amg_csr_release(context, &nodes);
  }
}

static void test_solves(void **state) {
  static const struct {
    bed_grid grid;
    int most; /* iterations */
  } systems[] = {
      {{18, 0, 1, 1, 1, 0, 1}, 12},      {{40, 1, 1, 1, 1, 0, 1}, 13},
      {{18, 0, 1, 0.001, 1, 0, 1}, 14},  {{40, 1, 1, 0.001, 1, 0, 1}, 18},
      {{18, 0, 1, 1, 1e6, 0, 1}, 32},    {{40, 1, 0, 1, 1, 1e-6, 0.9}, 18},
      {{40, 1, 0, 1, 1, 1e-6, 0.5}, 18}, /* many components */
      {{20, 1, 0, 1, 1, 1, 0}, 12},      /* a diagonal matrix */
      {{16, 1, 1, 1, 1, 0, 1}, 1},       /* solved by the coarsest level alone */
      {{1, 1, 1, 1, 1, 0, 1}, 1},
  };
  merbit_preconditioner_desc desc = amg_desc();
  const size_t count = context->side == MERBIT_SIDE_CUDA ? 2 : sizeof systems / sizeof *systems;
  size_t i;
  (void)state;
  for (i = 0; i < count; i++) {
    mbi_amg_csr a = bed_laplacian(context, &systems[i].grid);
    merbit_solver_result result;
    desc.single = 0;
    result = amg_solve(&a, &desc, MERBIT_F64);
    if (result.stop != MERBIT_STOP_CONVERGED || result.iterations > systems[i].most) {
      fail_msg("system %d: %d iterations, %s", (int)i, result.iterations, result.description);
    }
    if (i % 2 == 0) {
      desc.single = 1;
      result = amg_solve(&a, &desc, MERBIT_F64);
      assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
      assert_in_range(result.iterations, 0, systems[i].most + 3);
      desc.single = 0;
      result = amg_solve(&a, &desc, MERBIT_F32);
      assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
      assert_in_range(result.iterations, 0, systems[i].most);
    }
    mbi_amg_csr_release(context, &a);
  }
}

/* Graphs of many components whose condition exceeds 1e9, and which rounding to f32 makes
 * indefinite: a cycle in f32 is as good as one in f64, because its levels are made before their
 * values are rounded. The second system has three unknowns per node; with a stride among
 * matrices, the seed chooses one of the two. */
static void test_condition(void **state) {
  merbit_preconditioner_desc desc = amg_desc();
  const int only = gpu_stride() > 1;
  int i;
  (void)state;
  for (i = only ? gpu_first_of(2) : 0; i < (only ? gpu_first_of(2) + 1 : 2); i++) {
    const bed_grid g = {40, 1, 0, 1, 10, 2e-8, 0.5};
    mbi_amg_csr scalar = bed_laplacian(context, &g), blocks = bed_blocks(context, &scalar);
    const mbi_amg_csr *a = i == 0 ? &scalar : &blocks;
    merbit_solver_result wanted, r;
    desc.block_size = i == 0 ? 1 : 3;
    desc.single = 0;
    wanted = amg_solve(a, &desc, MERBIT_F64);
    assert_int_equal(wanted.stop, MERBIT_STOP_CONVERGED);
    desc.single = 1;
    r = amg_solve(a, &desc, MERBIT_F64);
    if (r.stop != MERBIT_STOP_CONVERGED || r.iterations > wanted.iterations + 2) {
      fail_msg("system %d: %d iterations, in f64 %d: %s", i, r.iterations, wanted.iterations,
               r.description);
    }
    mbi_amg_csr_release(context, &blocks);
    mbi_amg_csr_release(context, &scalar);
  }
}

/* The Laplacian of a graph whose null space is the constant vector (`singular`). */
static void test_singular(void **state) {
  const bed_grid g = {24, 1, 0, 1, 100, 0, 1};
  mbi_amg_csr a = bed_laplacian(context, &g);
  merbit_preconditioner_desc desc = amg_desc();
  merbit_solver_result result;
  (void)state;
  desc.singular = 1;
  result = amg_solve(&a, &desc, MERBIT_F64);
  assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
  assert_in_range(result.iterations, 3, 20);
  mbi_amg_csr_release(context, &a);
}

/* A negative definite matrix is solved as its negative is. */
static void test_negative(void **state) {
  const bed_grid g = {24, 1, 1, 0.1, 10, 0, 1};
  const merbit_solver_method methods[] = {MERBIT_SOLVER_BICGSTAB, MERBIT_SOLVER_GMRES};
  const int only = gpu_stride() > 1, first = only ? gpu_first_of(2) : 0;
  mbi_amg_csr scalar = bed_laplacian(context, &g), a = bed_blocks(context, &scalar);
  const merbit_preconditioner_desc desc = amg_desc();
  merbit_solver_result wanted[2], result;
  int64_t k;
  int m;
  (void)state;
  for (m = first; m < (only ? first + 1 : 2); m++) {
    wanted[m] = amg_solve_by(methods[m], &a, &desc, MERBIT_F64);
    assert_int_equal(wanted[m].stop, MERBIT_STOP_CONVERGED);
  }
  for (k = 0; k < a.nnz; k++) {
    a.values[k] = -a.values[k];
  }
  for (m = first; m < (only ? first + 1 : 2); m++) {
    result = amg_solve_by(methods[m], &a, &desc, MERBIT_F64);
    if (result.stop != MERBIT_STOP_CONVERGED || result.iterations != wanted[m].iterations) {
      fail_msg("method %d: %d iterations, %d wanted, %s", (int)methods[m], result.iterations,
               wanted[m].iterations, result.description);
    }
  }
  mbi_amg_csr_release(context, &a);
  mbi_amg_csr_release(context, &scalar);
}

/* ---- New values -------------------------------------------------------------------------- */

/* Values multiplied by one number have the same strong connections: an update then equals a new
 * set-up bit for bit. The last two matrices are nonsymmetric. */
static void test_update(void **state) {
  const bed_grid g = {20, 1, 1, 1, 10, 0, 1};
  int which;
  (void)state;
  for (which = 0; which < 6; which++) {
    const int single = which == 1 || which == 5, block = which == 2 || which == 3 ? 3 : 1;
    mbi_amg_csr nodes = bed_laplacian(context, &g);
    mbi_amg_csr a = block > 1   ? bed_blocks(context, &nodes)
                    : which > 3 ? bed_wind(context, 60, 10)
                                : bed_laplacian(context, &g);
    mbi_amg_csr b = block > 1   ? bed_blocks(context, &nodes)
                    : which > 3 ? bed_wind(context, 60, 10)
                                : bed_laplacian(context, &g);
    merbit_preconditioner_desc desc = amg_desc();
    merbit_preconditioner *old, *fresh;
    double *v = (double *)malloc((size_t)a.rows * 4 * sizeof *v);
    double *near = (double *)malloc((size_t)a.rows * 6 * sizeof *near);
    int64_t i, n = a.rows;
    desc.single = single;
    desc.block_size = block;
    for (i = 0; i < 6 * n; i++) { /* six vectors: the constants and random ones */
      near[i] = i < 3 * n ? i % 3 == i / n : bed_random((uint64_t)i) - 0.5;
    }
    if (which == 3) {
      desc.near_nullspace = near;
      desc.near_nullspace_count = 6;
    }
    for (i = 0; i < n; i++) {
      v[i] = bed_random((uint64_t)i) - 0.5;
    }
    for (i = 0; i < b.nnz; i++) {
      b.values[i] *= 0.375;
    }
    old = amg_make(&a, &desc);
    fresh = amg_make(&b, &desc);
    amg_apply(old, v, v + n);
    assert_int_equal(merbit_preconditioner_update_values(old, b.values, MERBIT_MEMORY_HOST),
                     MERBIT_OK);
    amg_apply(old, v, v + 2 * n);
    amg_apply(fresh, v, v + 3 * n);
    assert_memory_equal(v + 2 * n, v + 3 * n, (size_t)n * sizeof *v);
    assert_memory_not_equal(v + n, v + 2 * n, (size_t)n * sizeof *v);
    b.values[0] = NAN; /* refused; the old values remain */
    assert_int_equal(merbit_preconditioner_update_values(old, b.values, MERBIT_MEMORY_HOST),
                     MERBIT_INVALID_MATRIX);
    if (!single) { /* its finest values have been rounded in place */
      amg_apply(old, v, v + n);
      assert_memory_equal(v + n, v + 3 * n, (size_t)n * sizeof *v);
    }
    merbit_preconditioner_destroy(old);
    merbit_preconditioner_destroy(fresh);
    mbi_amg_csr_release(context, &nodes);
    mbi_amg_csr_release(context, &a);
    mbi_amg_csr_release(context, &b);
    free(near);
    free(v);
  }
}

/* ---- Descriptions ------------------------------------------------------------------------ */

static void test_info(void **state) {
  mbi_amg_csr a = bed_poisson(context, 20, 1);
  merbit_preconditioner_desc desc = amg_desc();
  merbit_preconditioner *p = amg_make(&a, &desc);
  merbit_preconditioner_info info;
  char text[512], piece[64];
  double sum = 0;
  int l;
  (void)state;
  assert_int_equal(merbit_preconditioner_get_info(p, &info), MERBIT_OK);
  assert_int_equal(info.kind, MERBIT_PRECONDITIONER_AMG);
  assert_int_equal(info.levels, 2);
  assert_int_equal(info.rows[0], 400);
  assert_int_equal(info.nonzeros[0], a.nnz);
  assert_in_range(info.rows[1], 20, 100);
  for (l = 0; l < info.levels; l++) {
    sum += (double)info.nonzeros[l] / (double)a.nnz;
  }
  assert_true(fabs(info.operator_complexity - sum) < 1e-12);
  assert_true(info.host_bytes > 0);
  assert_int_equal(info.device_bytes > 0, context->side == MERBIT_SIDE_CUDA);
  (void)merbit_preconditioner_describe(p, text, sizeof text);
  (void)snprintf(piece, sizeof piece, "(2 levels: 400 %d rows; operator complexity",
                 (int)info.rows[1]);
  assert_non_null(strstr(text, "AMG by smoothed aggregation"));
  assert_non_null(strstr(text, piece));
  assert_non_null(strstr(text, "1 near-null-space vector;"));
  merbit_preconditioner_destroy(p);
  mbi_amg_csr_release(context, &a);
}

/* New values do not change the choices made for the first ones. */
static void test_kept_choice(void **state) {
  mbi_amg_csr wind = bed_wind(context, 24, 10), calm = bed_wind(context, 24, 0);
  merbit_preconditioner_desc desc = amg_desc();
  int i;
  (void)state;
  assert_int_equal(wind.nnz, calm.nnz);
  for (i = 0; i < 2; i++) {
    merbit_preconditioner *p = amg_make(i == 0 ? &wind : &calm, &desc);
    int updated;
    for (updated = 0; updated < 2; updated++) {
      char text[512];
      (void)merbit_preconditioner_describe(p, text, sizeof text);
      assert_non_null(
          strstr(text, i > 0 ? "AMG by smoothed" : "AMG by reduction (2 levels: 576"));
      assert_int_equal(merbit_preconditioner_update_values(p, (i == 0 ? calm : wind).values,
                                                           MERBIT_MEMORY_HOST),
                       MERBIT_OK);
    }
    merbit_preconditioner_destroy(p);
  }
  mbi_amg_csr_release(context, &wind);
  mbi_amg_csr_release(context, &calm);
}

#include "solve/amg/amg_zero_coarsest.h"

#define AMG_CASES                                                                              \
  cmocka_unit_test(test_cycle), cmocka_unit_test(test_rounded),                                \
      cmocka_unit_test(test_symmetric), cmocka_unit_test(test_solves),                         \
      cmocka_unit_test(test_singular), cmocka_unit_test(test_update),                          \
      cmocka_unit_test(test_info), cmocka_unit_test(test_condition),                           \
      cmocka_unit_test(test_convection), cmocka_unit_test(test_kept_choice),                   \
      cmocka_unit_test(test_negative), cmocka_unit_test(test_zero_coarsest)
#endif
