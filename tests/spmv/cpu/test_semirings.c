/* Semirings on the CPU: products bit for bit, duplicates, refusals, and the expressions that
 * kernels get. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <locale.h>
#include "support/cpu.h"
#include "support/semirings.h"
#include "support/squares.h"
#include "support/unknown.h"

/* Every kind with every matrix, in changing forms and pairs of scalars. */
static void every_matrix(void **state) {
  static const int threads[] = {1, 2, 7};
  uint64_t random = 5;
  int index, kind, i, products = 0;
  merbit_context *contexts[3];
  (void)state;
  for (i = 0; i < 3; i++) {
    contexts[i] = cpu_open(NULL, threads[i]);
  }
  for (index = 0; index < test_matrix_count(); index++) {
    for (kind = 1; kind <= SEMIRINGS_KINDS; kind++) {
      products_form form = products_form_of((int)test_below(&random, 64));
      test_matrix m;
      form.plan.method = index % 4 == 3 ? MERBIT_METHOD_REFERENCE : MERBIT_METHOD_AUTO;
      form.plan.operation =
          test_below(&random, 4) == 0 ? MERBIT_OPERATION_T : MERBIT_OPERATION_N;
      test_matrix_make(index, 5, &m);
      products += semirings_check(contexts[(index + kind) % 3], &m, &form, kind,
                                  (int)test_below(&random, 23), 2);
      test_matrix_free(&m);
    }
  }
  print_message("%d products\n", products);
  for (i = 0; i < 3; i++) {
    merbit_context_destroy(contexts[i]);
  }
}

/* Makes short rows, and two that several tasks share. */
static void long_rows(test_matrix *m) {
  uint64_t random = 9;
  int64_t row, k;
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "two long rows");
  m->rows = m->cols = 200;
  m->nnz = 60000;
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *m->col_ind);
  m->values = (double *)test_allocate(m->nnz, sizeof *m->values);
  for (row = 0; row < m->rows; row++) {
    m->row_ptr[row + 1] = m->row_ptr[row] + (row == 70 ? 40000 : row == 199 ? 0 : row % 4);
  }
  m->row_ptr[m->rows] = m->nnz;
  for (k = 0; k < m->nnz; k++) {
    m->col_ind[k] = (int32_t)test_below(&random, m->cols);
  }
}

/* All 25 pairs of scalars; rows that tasks share, and a reordered plan. */
static void every_scalar(void **state) {
  merbit_context *context = cpu_open(NULL, 7);
  int kind, i;
  (void)state;
  for (kind = 1; kind <= SEMIRINGS_KINDS; kind++) {
    for (i = 0; i < 2; i++) {
      products_form form = products_form_of(kind % 2);
      test_matrix m;
      form.plan.reordering = i == 1 ? MERBIT_REORDERING_RCM : MERBIT_REORDERING_NONE;
      if (i == 1) {
        square_grid(9, 13, 8, 5, &m);
      } else {
        long_rows(&m);
      }
      (void)semirings_check(context, &m, &form, kind, 0, 25);
      test_matrix_free(&m);
    }
  }
  merbit_context_destroy(context);
}

static double one_row(merbit_context *context, const merbit_view *view,
                      merbit_semiring semiring, const double *x) {
  merbit_plan_desc desc;
  merbit_plan *plan;
  double y = 9;
  memset(&desc, 0, sizeof desc);
  desc.semiring = semiring;
  assert_int_equal(merbit_plan_create(context, view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, &y, NULL), MERBIT_OK);
  merbit_plan_destroy(plan);
  return y;
}

/* The manual's special numbers, one by one, without a naive loop. */
static void what_the_manual_says(void **state) {
  static const int32_t row_ptr[] = {0, 2}, col_ind[] = {0, 1}, none[] = {0, 0};
  static const double values[] = {-1, 2}, twice[] = {3, 1};
  static const int32_t same_row[] = {0, 0}, same_col[] = {1, 1};
  const double inf = (double)INFINITY, nan = (double)NAN;
  const double ones[] = {1, 1}, unreached[] = {inf, inf}, bad[] = {nan, 1}, off[] = {inf, -2},
               zeros[] = {0, -0.0};
  merbit_context *context = cpu_open(NULL, 2);
  merbit_view view = merbit_csr(1, 2, 2, row_ptr, col_ind, values), empty = view;
  (void)state;
  empty.nnz = 0;
  empty.row_ptr = none;
  assert_true(one_row(context, &empty, MERBIT_SEMIRING_MIN_PLUS, bad) == inf);
  assert_true(one_row(context, &empty, MERBIT_SEMIRING_MAX_TIMES, bad) == 0);
  assert_true(one_row(context, &empty, MERBIT_SEMIRING_OR_AND, bad) == 0);
  assert_true(one_row(context, &view, MERBIT_SEMIRING_MIN_PLUS, ones) == 0);
  assert_true(one_row(context, &view, MERBIT_SEMIRING_MIN_PLUS, unreached) == inf);
  assert_true(isnan(one_row(context, &view, MERBIT_SEMIRING_MIN_PLUS, bad)));
  assert_true(isnan(one_row(context, &view, MERBIT_SEMIRING_MAX_TIMES, bad)));
  assert_true(one_row(context, &view, MERBIT_SEMIRING_OR_AND, bad) == 1); /* NaN is not zero */
  assert_true(one_row(context, &view, MERBIT_SEMIRING_OR_AND, zeros) == 0);
  assert_true(one_row(context, &view, MERBIT_SEMIRING_MIN_PLUS, off) == 0);
  assert_true(!signbit(one_row(context, &view, MERBIT_SEMIRING_MAX_TIMES, zeros)));
  view.values = NULL; /* a pattern: the number 1 */
  assert_true(one_row(context, &view, MERBIT_SEMIRING_MIN_PLUS, off) == -1);
  assert_true(one_row(context, &view, MERBIT_SEMIRING_MAX_TIMES, ones) == 1);
  view.values = twice; /* duplicates of a COO are not added up */
  view.format = MERBIT_COO;
  view.row_ptr = NULL;
  view.row_ind = same_row;
  view.col_ind = same_col;
  assert_true(one_row(context, &view, MERBIT_SEMIRING_PLUS_TIMES, ones) == 4);
  assert_true(one_row(context, &view, MERBIT_SEMIRING_MIN_PLUS, ones) == 2);
  assert_true(one_row(context, &view, MERBIT_SEMIRING_MAX_TIMES, ones) == 3);
  merbit_context_destroy(context);
}

/* ---- Refusals ---------------------------------------------------------------------------- */

static void refusals(void **state) {
  static const int32_t row_ptr[] = {0, 1}, col_ind[] = {0};
  static const double values[] = {2};
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 2);
  merbit_view view = merbit_csr(1, 1, 1, row_ptr, col_ind, values);
  merbit_view blocks = merbit_bsr(1, 1, 1, 1, 1, row_ptr, col_ind, values);
  merbit_operators good = semirings_operators(SEMIRINGS_DIFFERENCE), o = good;
  merbit_plan_desc desc;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.semiring = unknown_semiring();
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT,
                   unknown_words("semiring", (int)unknown_semiring()));
  desc.semiring = (merbit_semiring)-1;
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "semiring is -1");
  desc.semiring = MERBIT_SEMIRING_CUSTOM;
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT,
                   "CUSTOM, but operators is NULL");
  desc.operators = &o;
  desc.semiring = MERBIT_SEMIRING_PLUS_TIMES;
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT,
                   "MERBIT_SEMIRING_PLUS_TIMES, but operators is set");
  desc.semiring = MERBIT_SEMIRING_CUSTOM;
  cpu_refuses_plan(context, &blocks, &desc, MERBIT_NOT_SUPPORTED,
                   "MERBIT_SEMIRING_CUSTOM takes views of");
  blocks = view;
  blocks.value_type = MERBIT_C128;
  cpu_refuses_plan(context, &blocks, &desc, MERBIT_NOT_SUPPORTED,
                   "MERBIT_F64 or of MERBIT_F32, not for c128");
  blocks.value_type = MERBIT_F32;
  desc.vector_type = MERBIT_F64;
  cpu_refuses_plan(context, &blocks, &desc, MERBIT_NOT_SUPPORTED,
                   "not for f32 values with f64 vectors");
  desc.vector_type = MERBIT_TYPE_DEFAULT;
  desc.method = MERBIT_METHOD_BSR;
  cpu_refuses_plan(context, &view, &desc, MERBIT_NOT_SUPPORTED,
                   "MERBIT_METHOD_BSR does not take");
  desc.method = MERBIT_METHOD_SLICED;
  cpu_refuses_plan(context, &view, &desc, MERBIT_NOT_SUPPORTED,
                   "MERBIT_METHOD_SLICED does not take");
  desc.method = MERBIT_METHOD_SCAN; /* CUDA only */
  cpu_refuses_plan(context, &view, &desc, MERBIT_NO_DEVICE,
                   "MERBIT_METHOD_SCAN, which runs on CUDA");
  desc.method = MERBIT_METHOD_AUTO;
  o.add_f64 = NULL;
  cpu_refuses_plan(context, &view, &desc, MERBIT_NOT_SUPPORTED, "add_f64 and multiply_f64");
  o = good;
  o.multiply_f64 = NULL;
  cpu_refuses_plan(context, &view, &desc, MERBIT_NOT_SUPPORTED, "add_f64 and multiply_f64");
  o = good;
  o.zero = (double)NAN;
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT, "operators.zero is nan");
  o = good;
  o.add = "a + c";
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT,
                   "operators.add: \"c\" at position 5 is no name known here");
  o = good;
  o.multiply = "a * b"; /* b belongs to add */
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT,
                   "operators.multiply: \"b\" at position 5");
  view.value_type = MERBIT_F32;
  o = good;
  o.multiply_f32 = NULL;
  cpu_refuses_plan(context, &view, &desc, MERBIT_NOT_SUPPORTED, "add_f32 and multiply_f32");
  o = good;
  o.zero = 1e300;
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT,
                   "which is not an f32 number");
  o.zero = 0.1;
  cpu_refuses_plan(context, &view, &desc, MERBIT_INVALID_ARGUMENT,
                   "which is not an f32 number");
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

/* ---- Expressions ------------------------------------------------------------------------- */

static const char *const names[] = {"a", "x", NULL};
#define NUMBER(bits) "((MBK_COMPUTE)mbk_number(0x" bits "ull))"

static void sound_expressions(void **state) {
  static const char *const table[][2] = {
      {"a", "in_a"},
      {"\t( a )  ", "in_a"},
      {"a+x-a", "((in_a + in_x) - in_a)"},
      {"a - -x", "(in_a - (-in_x))"},
      {"a++x", "(in_a + in_x)"},
      {"a*x/a", "(mbk_multiply(in_a, in_x) / in_a)"},
      {"a+x*a", "(in_a + mbk_multiply(in_x, in_a))"},
      {"-a*x", "mbk_multiply((-in_a), in_x)"},
      {"min(a,max(x,a))", "mbk_min(in_a, mbk_max(in_x, in_a))"},
      {"a<x?a:x", "((in_a < in_x) ? in_a : in_x)"},
      {"a?x:a?a:x", "(mbk_truth_of(in_a) ? in_x : (mbk_truth_of(in_a) ? in_a : in_x))"},
      {"a||x&&a", "mbk_number_of<MBK_COMPUTE>((mbk_truth_of(in_a) || (mbk_truth_of(in_x) && "
                  "mbk_truth_of(in_a))))"},
      {"!(a>=x)*2", "mbk_multiply(mbk_number_of<MBK_COMPUTE>((!(in_a >= in_x))), " NUMBER(
                        "4000000000000000") ")"},
      {"(a<=x)==(a!=x)",
       "mbk_number_of<MBK_COMPUTE>((mbk_number_of<MBK_COMPUTE>((in_a <= in_x)) "
       "== mbk_number_of<MBK_COMPUTE>((in_a != in_x))))"},
      {"0.1", NUMBER("3fb999999999999a")},
      {".5e+1", NUMBER("4014000000000000")},
      {"5.", NUMBER("4014000000000000")},
      {"inf", NUMBER("7ff0000000000000")},
      {"4.9e-324", NUMBER("0000000000000001")},
      {"9007199254740993", NUMBER("4340000000000000")},
      {"sqrt(abs(a))+exp(x)+log(a)+pow(a,x)+floor(a)+ceil(x)",
       "(((((mbk_sqrt(mbk_abs(in_a)) + mbk_exp(in_x)) + mbk_log(in_a)) + mbk_pow(in_a, in_x)) "
       "+ "
       "mbk_floor(in_a)) + mbk_ceil(in_x))"},
  };
  merbit_context *context = cpu_open(NULL, 1);
  char text[MBI_EXPRESSION_SIZE];
  size_t i;
  (void)state;
  (void)setlocale(LC_ALL, "de_DE.UTF-8"); /* if it exists, the decimal separator is a comma */
  for (i = 0; i < sizeof table / sizeof table[0]; i++) {
    assert_int_equal(mbi_expression_check(context, "it", table[i][0], names, MERBIT_F64, text),
                     MERBIT_OK);
    assert_string_equal(text, table[i][1]);
  }
  assert_int_equal(mbi_expression_check(context, "it", "0.1", names, MERBIT_F32, text),
                   MERBIT_OK);
  assert_string_equal(text, NUMBER("3fb99999a0000000")); /* the nearest float */
  (void)setlocale(LC_ALL, "C");
  merbit_context_destroy(context);
}

static void hostile_expressions(void **state) {
  static const char *const table[][2] = {
      {"", "its end at position 1"},
      {" \t", "its end at position 3"},
      {"a;", "\";\" at position 2"},
      {"a; __trap()", "\";\" at position 2"},
      {"a}", "\"}\" at position 2"},
      {"{a}", "\"{\" at position 1"},
      {"a)", "\")\" at position 2"},
      {"(a", "its end at position 3"},
      {"a\n#include \"/etc/passwd\"", "character 10 at position 2"},
      {"#define a", "\"#\" at position 1"},
      {"a \\", "\"\\\" at position 3"},
      {"\"a\"", "\"\"\" at position 1"},
      {"'a'", "\"'\" at position 1"},
      {"a/*x*/", "\"*\" at position 3"},
      {"a//x", "\"/\" at position 3"},
      {"a = x", "\"=\" at position 3"},
      {"a += x", "\"=\" at position 4"},
      {"a, x", "\",\" at position 2"},
      {"a[0]", "\"[\" at position 2"},
      {"*a", "\"*\" at position 1"},
      {"&a", "\"&\" at position 1"},
      {"a & x", "\"&\" at position 3"},
      {"a << 2", "\"<\" at position 4"},
      {"a % x", "\"%\" at position 3"},
      {"a->x", "\">\" at position 3"},
      {"a.x", "\".\" at position 2"},
      {"a::x", "\":\" at position 2"},
      {"a ? x", "its end at position 6"},
      {"a ? x : ", "its end at position 9"},
      {"a ? : x", "\":\" at position 5"},
      {"a < x < a", "follows a comparison"},
      {"a == x != a", "follows a comparison"},
      {"a x", "\"x\" at position 3"},
      {"2a", "\"a\" at position 2 cannot follow a number"},
      {"1.5.2", "\".2\" at position 4 cannot follow a number"},
      {"0x10", "\"x10\" at position 2 cannot follow a number"},
      {"1e", "\"e\" at position 2 cannot follow a number"},
      {"1d5", "\"d5\" at position 2 cannot follow a number"},
      {"1.f", "\"f\" at position 3 cannot follow a number"},
      {".", "\".\" at position 1"},
      {"1e309", "beyond the largest number"},
      {"1111111111111111111111111111111111111111111111111111111111111111111",
       "too many digits"},
      {"y", "\"y\" at position 1 is no name known here"},
      {"in_a", "is no name known here"},
      {"MBK_ZERO", "is no name known here"},
      {"mbk_min(a, x)", "is no name known here"},
      {"__syncthreads()", "is no name known here"},
      {"sizeof(a)", "is no name known here"},
      {"a1", "is no name known here"},
      {"infinity", "is no name known here"},
      {"min", "its end at position 4"},
      {"min a", "\"a\" at position 5"},
      {"min()", "\")\" at position 5"},
      {"min(a)", "min takes 2"},
      {"min(a, x, a)", "min takes 2"},
      {"abs(a, x)", "abs takes 1"},
      {"a(x)", "\"(\" at position 2"},
      {"a\x80", "character 128 at position 2"},
      {"\xc3\xa9", "character 195 at position 1"},
      {"a\x01", "character 1 at position 2"},
      {"a\r", "character 13 at position 2"},
      {"a\v", "character 11 at position 2"},
      {"a\?\?/", "\"?\" at position 3"},
      {"a@x", "\"@\" at position 2"},
      {"`a`", "\"`\" at position 1"},
      {"a$", "\"$\" at position 2"},
  };
  merbit_context *context = cpu_open(NULL, 1);
  char text[MBI_EXPRESSION_SIZE], source[MBI_EXPRESSION_TEXT + 2];
  size_t i;
  (void)state;
  for (i = 0; i < sizeof table / sizeof table[0]; i++) {
    assert_int_equal(mbi_expression_check(context, "it", table[i][0], names, MERBIT_F64, text),
                     MERBIT_INVALID_ARGUMENT);
    cpu_expect(context, MERBIT_INVALID_ARGUMENT, table[i][1]);
    assert_string_equal(text, "");
  }
  /* Too long, too deep, too long once written. */
  memset(source, ' ', sizeof source);
  source[MBI_EXPRESSION_TEXT + 1] = '\0';
  source[0] = 'a';
  assert_int_equal(mbi_expression_check(context, "it", source, names, MERBIT_F64, text),
                   MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "it has more than 512 characters");
  source[MBI_EXPRESSION_TEXT] = '\0';
  assert_int_equal(mbi_expression_check(context, "it", source, names, MERBIT_F64, text),
                   MERBIT_OK);
  memset(source, '(', MBI_EXPRESSION_TEXT);
  assert_int_equal(mbi_expression_check(context, "it", source, names, MERBIT_F64, text),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "nested too deeply");
  memset(source, '-', MBI_EXPRESSION_TEXT);
  assert_int_equal(mbi_expression_check(context, "it", source, names, MERBIT_F64, text),
                   MERBIT_INVALID_ARGUMENT);
  for (i = 0; i < MBI_EXPRESSION_TEXT; i++) {
    source[i] = "a*"[i % 2];
  }
  source[MBI_EXPRESSION_TEXT - 1] = '\0';
  assert_int_equal(mbi_expression_check(context, "it", source, names, MERBIT_F64, text),
                   MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "too long once it is written out");
  assert_string_equal(text, "");
  /* 26 numbers and their sum fit, as the manual says, and 21 and their product; 27 do not. */
  for (i = 0; i < 41; i++) {
    source[i] = "1*"[i % 2];
  }
  source[41] = '\0';
  assert_int_equal(mbi_expression_check(context, "it", source, names, MERBIT_F64, text),
                   MERBIT_OK);
  for (i = 0; i < 53; i++) {
    source[i] = "1+"[i % 2];
  }
  source[51] = '\0';
  assert_int_equal(mbi_expression_check(context, "it", source, names, MERBIT_F64, text),
                   MERBIT_OK);
  assert_int_equal(strlen(text), 26 * MBI_EXPRESSION_NUMBER + 25 * strlen("( + )"));
  source[51] = '+';
  source[53] = '\0';
  assert_int_equal(mbi_expression_check(context, "it", source, names, MERBIT_F64, text),
                   MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE,
             "more than 1399 characters, of which a number takes 48; use fewer numbers");
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_matrix),         cmocka_unit_test(every_scalar),
      cmocka_unit_test(what_the_manual_says), cmocka_unit_test(refusals),
      cmocka_unit_test(sound_expressions),    cmocka_unit_test(hostile_expressions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
