/* Products with epilogues: on the CPU, and on the GPU by every method. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "gpu/shapes.h"
#include "support/cpu.h"
#include "support/epilogues.h"
#include "support/gpu.h"

static merbit_context *cpu, *gpu;

static void on_the_cpu(void **state) {
  int index, products = 0;
  (void)state;
  for (index = 0; index < test_matrix_count(); index++) {
    static const merbit_method methods[] = {MERBIT_METHOD_AUTO, MERBIT_METHOD_MERGE,
                                            MERBIT_METHOD_REFERENCE, MERBIT_METHOD_SORTED,
                                            MERBIT_METHOD_BSR};
    products_form form = products_form_of(index % 4);
    test_matrix m;
    test_matrix_make(index, 5, &m);
    form.plan.method = methods[index % 5];
    form.plan.operation = index % 7 == 3 ? MERBIT_OPERATION_T : MERBIT_OPERATION_N;
    products += epilogues_check(cpu, &m, &form, index % 2 ? 0x1a : 0x24);
    test_matrix_free(&m);
  }
  print_message("%d products\n", products);
}

static const shape shapes[] = {
    {MERBIT_METHOD_SCAN, 4, 1, 32},    {MERBIT_METHOD_ROWS, 0, 8, 32},
    {MERBIT_METHOD_SCAN, 4, 2, 64},    {MERBIT_METHOD_SLICED, 0, 0, 32},
    {MERBIT_METHOD_HUBS, 4, 1, 64},    {MERBIT_METHOD_BINNED, 0, 0, 0},
    {MERBIT_METHOD_BSR, 0, 0, 0},      {MERBIT_METHOD_MERGE, 0, 0, 0},
    {MERBIT_METHOD_SCAN, 0, 0, 0},     {MERBIT_METHOD_MERBIT, 0, 0, 0},
    {MERBIT_METHOD_ROWS, 0, 0, 0},     {MERBIT_METHOD_AUTO, 0, 0, 0},
    {MERBIT_METHOD_SLICED, 0, 1, 256}, {MERBIT_METHOD_CB, 0, 0, 0},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0], FEW = 7 };

/* If compilation is slow each shape has one type and, besides the epilogue that counts rows,
 * one other. */
static void on_the_gpu(void **state) {
  const int slow = gpu_stride() > 1, few = slow ? FEW : SHAPES;
  int index, products = 0;
  (void)state;
  for (index = gpu_first(); index < test_matrix_count(); index += gpu_stride()) {
    const int at = index % few;
    const shape *s = &shapes[at];
    const unsigned kinds = slow ? 1u << (1 + at % 5) : index % 2 ? 0x1a : 0x24;
    products_form form = products_form_of(slow ? at / 2 % 2 : index % 8);
    test_matrix m;
    test_matrix_make(index, 5, &m);
    shape_take(s, &form);
    form.plan.operation = index % 11 == 3 ? MERBIT_OPERATION_T : MERBIT_OPERATION_N;
    products += epilogues_check(gpu, &m, &form, kinds);
    test_matrix_free(&m);
  }
  print_message("%d products\n", products);
}

/* A product whose flag is set ends before it reads or writes anything: PageRank and CG may
 * launch iterations after the last one. A product without a flag is computed. */
static void products_end_where_they_are_told(void **state) {
  static const merbit_epilogue ranks = {
      "s0 * ax", {"abs(ax - v0 * v1)", "v2 < 0 ? y : 0"}, 3, 4, NULL, NULL};
  enum { N = 16 };
  int row_ptr[N + 1], col_ind[4 * N], turn, i;
  double values[4 * N], x[N], y[N];
  (void)state;
  for (i = 0; i < 4 * N; i++) {
    row_ptr[i / 4] = i / 4 * 4;
    col_ind[i] = (i / 4 + i % 4 * 3) % N;
    values[i] = i + 0.5;
  }
  row_ptr[N] = 4 * N;
  for (turn = 0; turn < 3 * FEW; turn++) {
    const merbit_view view = merbit_csr(N, N, 4 * N, row_ptr, col_ind, values);
    const int wanted = turn % 3 > 0;
    const int skip = !wanted;
    products_form form = products_form_of(0);
    merbit_buffer *in, *out, *flag;
    mbi_plan_making making;
    merbit_plan *plan;
    mbi_devptr stop;
    shape_take(&shapes[turn / 3], &form);
    form.plan.epilogue = &ranks;
    memset(&making, 0, sizeof making);
    making.after = "\"solve/pagerank/after.cuh\"";
    making.stops = 1;
    assert_int_equal(mbi_plan_create(gpu, &view, &form.plan, &making, &plan), MERBIT_OK);
    for (i = 0; i < N; i++) {
      x[i] = i + 1;
      y[i] = -7;
    }
    assert_int_equal(merbit_buffer_create(gpu, sizeof x, &in), MERBIT_OK);
    assert_int_equal(merbit_buffer_create(gpu, sizeof y, &out), MERBIT_OK);
    assert_int_equal(merbit_buffer_create(gpu, sizeof skip, &flag), MERBIT_OK);
    assert_int_equal(merbit_buffer_upload(in, 0, x, sizeof x), MERBIT_OK);
    assert_int_equal(merbit_buffer_upload(out, 0, y, sizeof y), MERBIT_OK);
    assert_int_equal(merbit_buffer_upload(flag, 0, &skip, sizeof skip), MERBIT_OK);
    stop = turn % 3 == 2 ? 0 : mbi_device_address(merbit_buffer_pointer(flag));
    assert_int_equal(mbi_device_enter(gpu), MERBIT_OK);
    assert_int_equal(mbi_method_multiply(plan, plan->workspace->device_carries, &stop,
                                         mbi_device_address(merbit_buffer_pointer(in)),
                                         mbi_epilogue_factor(plan, 0),
                                         mbi_device_address(merbit_buffer_pointer(out)), NULL),
                     MERBIT_OK);
    mbi_device_leave(gpu);
    assert_int_equal(merbit_buffer_download(out, 0, y, sizeof y), MERBIT_OK);
    for (i = 0; i < N; i++) {
      double sum = 0; /* small multiples of 1/2, so exact */
      int k;
      for (k = 4 * i; k < 4 * i + 4; k++) {
        sum += values[k] * x[col_ind[k]];
      }
      assert_true(y[i] == (wanted ? sum : -7));
    }
    merbit_buffer_destroy(in);
    merbit_buffer_destroy(out);
    merbit_buffer_destroy(flag);
    merbit_plan_destroy(plan);
  }
}

static void refuse_plans(merbit_context *context, merbit_side side) {
  static const int32_t row_ptr[] = {0, 1}, col_ind[] = {0};
  static const double values[] = {2, 0};
  const merbit_view view = merbit_csr(1, 1, 1, row_ptr, col_ind, values);
  merbit_view complex_view = view;
  merbit_epilogue e;
  merbit_plan_desc desc;
  memset(&e, 0, sizeof e);
  memset(&desc, 0, sizeof desc);
  e.cpu = epilogues_cpu;
  desc.side = side;
  desc.epilogue = &e;
  e.vectors = 7;
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "epilogue.vectors is 7");
  e.vectors = -1;
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "epilogue.vectors is -1");
  e.vectors = 1;
  e.scalars = 9;
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "scalars 9");
  e.scalars = 1;
  e.result = "v1 * ax";
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT,
                   "epilogue.result: \"v1\" at position 1 is no name");
  e.result = "y + s0";
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "\"y\" at position 1");
  e.result = "v0 + s0";
  e.sums[0] = "y + s1";
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT,
                   "epilogue.sums[0]: \"s1\" at position 5");
  e.sums[0] = "y + s0";
  e.sums[1] = "y; s0";
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "epilogue.sums[1]: \";\"");
  e.sums[1] = NULL;
  desc.semiring = MERBIT_SEMIRING_MIN_PLUS;
  cpu_refuses_plan(context, &view, &desc, MERBIT_NOT_SUPPORTED,
                   "for MERBIT_SEMIRING_PLUS_TIMES");
  desc.semiring = MERBIT_SEMIRING_PLUS_TIMES;
  desc.vectors = 2;
  cpu_refuses_plan(context, &view, &desc, MERBIT_NOT_SUPPORTED, "for one vector");
  desc.vectors = 0;
  complex_view.value_type = MERBIT_C64;
  cpu_refuses_plan(context, &complex_view, &desc, MERBIT_NOT_SUPPORTED,
                   "of MERBIT_F64 or MERBIT_F32");
  if (side == MERBIT_SIDE_CPU) {
    e.cpu = NULL;
    cpu_refuses_plan(context, &view, &desc, MERBIT_NOT_SUPPORTED,
                     "needs the function epilogue.cpu");
  } else {
    desc.vector_memory = MERBIT_MEMORY_HOST;
    cpu_refuses_plan(context, &view, &desc, MERBIT_NOT_SUPPORTED, "in GPU memory");
  }
}

static void refuse(merbit_context *context, merbit_status status, const char *piece) {
  assert_int_equal(status, MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, piece);
}

static void refuse_products(merbit_context *context, merbit_side side) {
  products_form form = products_form_of(0);
  test_matrix m;
  products_arrays a;
  epilogues_bed b;
  epilogues_user user;
  merbit_plan *plan, *plain;
  const void *vectors[6];
  const double *scalars;
  double *sums, here = 0;
  void *x, *y;
  int i, none = 0;
  test_matrix_make(20, 5, &m);
  form.plan.side = side;
  products_arrays_make(context, &m, &form, &a);
  epilogues_bed_make(&b, context, &form, m.rows, m.cols);
  plan = epilogues_plan(&b, &a.view, EPILOGUES_RANK, &user);
  products_done(context, merbit_plan_create(context, &a.view, &form.plan, &plain), "a plan");
  for (i = 0; i < 6; i++) {
    vectors[i] = merbit_buffer_pointer(b.on[i]);
  }
  x = merbit_buffer_pointer(b.on_x);
  y = merbit_buffer_pointer(b.on_y);
  scalars = (const double *)merbit_buffer_pointer(b.on_scalars);
  sums = (double *)merbit_buffer_pointer(b.on_sums);
  assert_int_equal(merbit_spmv_epilogue(NULL, NULL, x, y, vectors, scalars, sums, NULL, NULL),
                   MERBIT_INVALID_ARGUMENT);
  refuse(context, merbit_spmv_epilogue(plain, NULL, x, y, vectors, scalars, sums, NULL, NULL),
         "the plan has no epilogue");
  refuse(context, merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), "has an epilogue");
  refuse(context,
         merbit_spmv_epilogue(plan, plain->workspace, x, y, vectors, scalars, sums, NULL, NULL),
         "another plan");
  refuse(context, merbit_spmv_epilogue(plan, NULL, NULL, y, vectors, scalars, sums, NULL, NULL),
         "`x` is NULL");
  refuse(context, merbit_spmv_epilogue(plan, NULL, x, y, NULL, scalars, sums, NULL, NULL),
         "`vectors` is NULL");
  refuse(context, merbit_spmv_epilogue(plan, NULL, x, y, vectors, NULL, sums, NULL, NULL),
         "`scalars` is NULL");
  vectors[1] = y;
  refuse(context, merbit_spmv_epilogue(plan, NULL, x, y, vectors, scalars, sums, NULL, NULL),
         "vectors[1] at");
  vectors[1] = NULL;
  refuse(context, merbit_spmv_epilogue(plan, NULL, x, y, vectors, scalars, sums, NULL, NULL),
         "vectors[1] is NULL");
  vectors[1] = merbit_buffer_pointer(b.on[1]);
  if (side == MERBIT_SIDE_CUDA) {
    refuse(context, merbit_spmv_epilogue(plan, NULL, x, y, vectors, scalars, &here, NULL, NULL),
           "sums at");
    refuse(context, merbit_spmv_epilogue(plan, NULL, x, y, vectors, scalars, sums, &none, NULL),
           "skip at");
    refuse(context, merbit_spmv_epilogue(plan, NULL, x, y, vectors, &here, sums, NULL, NULL),
           "scalars at");
    refuse(context,
           merbit_spmv_epilogue(plan, NULL, x, y, vectors, scalars,
                                (double *)(void *)((char *)sums + 4), NULL, NULL),
           "multiple of 8 bytes");
    vectors[2] = b.vectors[2];
    refuse(context, merbit_spmv_epilogue(plan, NULL, x, y, vectors, scalars, sums, NULL, NULL),
           "a vector at");
    vectors[2] = merbit_buffer_pointer(b.on[2]);
  }
  /* Sums may be omitted. */
  products_done(context,
                merbit_spmv_epilogue(plan, NULL, x, y, vectors, scalars, NULL, NULL, NULL),
                "a product without sums");
  merbit_plan_destroy(plan);
  merbit_plan_destroy(plain);
  epilogues_bed_free(&b);
  products_arrays_free(&a);
  test_matrix_free(&m);
}

static void refusals_on_the_cpu(void **state) {
  (void)state;
  refuse_plans(cpu, MERBIT_SIDE_CPU);
  refuse_products(cpu, MERBIT_SIDE_CPU);
}

static void refusals_on_the_gpu(void **state) {
  (void)state;
  refuse_plans(gpu, MERBIT_SIDE_CUDA);
  refuse_products(gpu, MERBIT_SIDE_CUDA);
}

/* The expressions that the CPU knows without a function, with random spaces, against a
 * function. */
static void known_on_the_cpu(void **state) {
  static const merbit_epilogue known[] = {
      {NULL, {" v0*ax", NULL}, 1, 0, NULL, NULL},
      {NULL, {"v0 * ax", "ax  *ax "}, 1, 0, NULL, NULL},
      {"v0-ax", {"y * y", NULL}, 1, 0, NULL, NULL},
      {"(s0 * ax + s1) / abs(v1)",
       {"abs(s0 * ax + s1 - v0 * abs(v1))", "v1 < 0 ? y : 0"},
       2,
       2,
       NULL,
       NULL}};
  int k, single;
  (void)state;
  for (k = 0; k < 8; k++) {
    products_form form = products_form_of(k % 2);
    const merbit_epilogue *e = &known[k / 2];
    merbit_plan_desc desc;
    merbit_plan *plan;
    test_matrix m;
    products_arrays a;
    epilogues_bed b;
    double sums[2], want[2] = {0, 0}, size = 1;
    void *ax, *y;
    epilogues_user user;
    int64_t i;
    single = k % 2;
    test_matrix_make(30 + k, 5, &m);
    products_arrays_make(cpu, &m, &form, &a);
    epilogues_bed_make(&b, cpu, &form, m.rows, m.cols);
    ax = products_exact(m.rows, 8);
    y = products_exact(m.rows, 8);
    plan = epilogues_plan(&b, &a.view, EPILOGUES_COUNT, &user);
    epilogues_product(&b, plan, NULL, -1, ax, sums);
    merbit_plan_destroy(plan);
    memset(&desc, 0, sizeof desc);
    desc.epilogue = e;
    products_done(cpu, merbit_plan_create(cpu, &a.view, &desc, &plan), "a known epilogue");
    epilogues_product(&b, plan, NULL, -1, y, sums);
    for (i = 0; i < m.rows; i++) {
      const merbit_type type = form.type;
      const double t = epilogues_at(ax, i, type), v0 = epilogues_at(b.vectors[0], i, type);
      const double v1 = epilogues_at(b.vectors[1], i, type), r = epilogues_at(y, i, type);
      const double s0 = b.scalars[0], s1 = b.scalars[1];
      const double result = k / 2 == 2 ? v0 - t : k / 2 == 3 ? (s0 * t + s1) / fabs(v1) : t;
      assert_true(fabs(r - result) <=
                  (single ? 0x1p-21 : 0x1p-50) * (fabs(v0) + fabs(t) + fabs(result) + 2));
      want[0] += k / 2 < 2 ? v0 * t : k / 2 == 2 ? r * r : fabs(s0 * t + s1 - v0 * fabs(v1));
      want[1] += k / 2 == 1 ? t * t : k / 2 == 3 && v1 < 0 ? r : 0;
      size += fabs(t) + t * t + r * r + fabs(r) + 3;
    }
    assert_true(fabs(sums[0] - want[0]) <= 1e-12 * size);
    assert_true(fabs(sums[1] - want[1]) <= 1e-12 * size);
    merbit_plan_destroy(plan);
    epilogues_bed_free(&b);
    products_arrays_free(&a);
    test_matrix_free(&m);
    free(ax);
    free(y);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest before[] = {cmocka_unit_test(on_the_cpu),
                                      cmocka_unit_test(refusals_on_the_cpu),
                                      cmocka_unit_test(known_on_the_cpu)};
  const struct CMUnitTest tests[] = {cmocka_unit_test(refusals_on_the_gpu),
                                     cmocka_unit_test(products_end_where_they_are_told),
                                     cmocka_unit_test(on_the_gpu)};
  int failed;
  if (argc > 1) {
    cmocka_set_test_filter(argv[1]);
  }
  cpu = cpu_open(NULL, 2);
  failed = cmocka_run_group_tests(before, NULL, NULL);
  merbit_context_destroy(cpu);
  if (failed != 0) {
    return failed;
  }
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
