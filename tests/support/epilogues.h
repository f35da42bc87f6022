/* Checks products with epilogues through the public interface on either side: every row is
 * taken once, the result has the bits computed from the plan's own row of op(A) x, which meets
 * the bound, and sums meet theirs and are the same in every run. Include merbit.h and cmocka.h
 * first. */
#ifndef TEST_SUPPORT_EPILOGUES_H
#define TEST_SUPPORT_EPILOGUES_H
#include "support/products.h"

/* The epilogues: one that counts rows, a dot product, PageRank's, one with all features, one
 * without sums, one with only the second sum. */
enum {
  EPILOGUES_COUNT,
  EPILOGUES_DOT,
  EPILOGUES_RANK,
  EPILOGUES_ALL,
  EPILOGUES_NONE,
  EPILOGUES_SECOND,
  EPILOGUES_KINDS
};

static const merbit_epilogue epilogues_table[EPILOGUES_KINDS] = {
    {NULL, {"1", "row"}, 0, 0, NULL, NULL},
    {NULL, {"v0 * ax", NULL}, 1, 0, NULL, NULL},
    {"(s0 * ax + s1) / v1", {"abs(y - v0 * v1)", "v2 > 0 ? y : 0"}, 3, 2, NULL, NULL},
    {"ax * s7 - v5 + v4 * s6 - v3 * s5",
     {"v0 * v1 + s0", "max(v2, y) - s1 * s2"},
     6,
     8,
     NULL,
     NULL},
    {"max(ax, v0) + s0", {NULL, NULL}, 1, 1, NULL, NULL},
    {"v1 - ax", {NULL, "y * y"}, 2, 0, NULL, NULL},
};

/* The result and the terms of the sums of one row, in each type as in C without contraction. */
#define EPILOGUES_OF(T, suffix)                                                                \
  static T epilogues_result_##suffix(int kind, T ax, const T *v, const double *s) {            \
    T a, b, c;                                                                                 \
    switch (kind) {                                                                            \
    case EPILOGUES_RANK:                                                                       \
      a = (T)s[0] * ax;                                                                        \
      a = a + (T)s[1];                                                                         \
      return a / v[1];                                                                         \
    case EPILOGUES_ALL:                                                                        \
      a = ax * (T)s[7];                                                                        \
      b = v[4] * (T)s[6];                                                                      \
      c = v[3] * (T)s[5];                                                                      \
      a = a - v[5];                                                                            \
      a = a + b;                                                                               \
      return a - c;                                                                            \
    case EPILOGUES_NONE:                                                                       \
      a = (isnan(ax) || ax > v[0]) ? ax : v[0];                                                \
      return a + (T)s[0];                                                                      \
    case EPILOGUES_SECOND:                                                                     \
      return v[1] - ax;                                                                        \
    default:                                                                                   \
      return ax;                                                                               \
    }                                                                                          \
  }
EPILOGUES_OF(double, f64)
EPILOGUES_OF(float, f32)

static void epilogues_terms(int kind, int64_t row, double ax, double y, const double *v,
                            const double *s, double terms[2]) {
  double a, b;
  terms[0] = terms[1] = 0;
  switch (kind) {
  case EPILOGUES_COUNT:
    terms[0] = 1;
    terms[1] = (double)row;
    break;
  case EPILOGUES_DOT:
    terms[0] = v[0] * ax;
    break;
  case EPILOGUES_RANK:
    a = v[0] * v[1];
    terms[0] = fabs(y - a);
    terms[1] = v[2] > 0 ? y : 0;
    break;
  case EPILOGUES_ALL:
    a = v[0] * v[1];
    b = s[1] * s[2];
    terms[0] = a + s[0];
    terms[1] = (isnan(y) || v[2] <= y ? y : v[2]) - b;
    break;
  case EPILOGUES_SECOND:
    terms[1] = y * y;
    break;
  default:
    break;
  }
}

/* The epilogue's function for the CPU; `user` points to this struct. */
typedef struct epilogues_user {
  int kind, single;
  long rows; /* rows seen so far */
} epilogues_user;

static void epilogues_row(int kind, int single, int64_t row, void *y,
                          const void *const *vectors, const double *scalars, double terms[2]) {
  const int count = epilogues_table[kind].vectors;
  double v[6] = {0, 0, 0, 0, 0, 0}, ax;
  int i;
  if (single) {
    float w[6] = {0, 0, 0, 0, 0, 0}, *at = (float *)y + row;
    for (i = 0; i < count; i++) {
      w[i] = ((const float *)vectors[i])[row];
      v[i] = (double)w[i];
    }
    ax = (double)*at;
    *at = epilogues_result_f32(kind, *at, w, scalars);
    epilogues_terms(kind, row, ax, (double)*at, v, scalars, terms);
  } else {
    double *at = (double *)y + row;
    for (i = 0; i < count; i++) {
      v[i] = ((const double *)vectors[i])[row];
    }
    ax = *at;
    *at = epilogues_result_f64(kind, *at, v, scalars);
    epilogues_terms(kind, row, ax, *at, v, scalars, terms);
  }
}

static void epilogues_cpu(void *user, int64_t begin, int64_t end, void *y,
                          const void *const *vectors, const double *scalars, double sums[2]) {
  epilogues_user *u = (epilogues_user *)user;
  int64_t row;
  for (row = begin; row < end; row++) {
    double terms[2];
    epilogues_row(u->kind, u->single, row, y, vectors, scalars, terms);
    sums[0] += terms[0];
    sums[1] += terms[1];
  }
  (void)__atomic_add_fetch(&u->rows, (long)(end - begin), __ATOMIC_SEQ_CST);
}

/* ---- One plan, one product --------------------------------------------------------------- */

typedef struct epilogues_bed {
  merbit_context *context;
  products_form form;
  int64_t rows, cols; /* of op(A) */
  void *vectors[6], *x;
  double scalars[8];
  size_t shift; /* bytes before y in its buffer */
  merbit_buffer *on[6], *on_x, *on_y, *on_scalars, *on_sums, *on_skip;
} epilogues_bed;

static merbit_buffer *epilogues_buffer(merbit_context *context, const void *host,
                                       size_t bytes) {
  merbit_buffer *buffer;
  products_done(context, merbit_buffer_create(context, bytes, &buffer), "a buffer");
  products_done(context, merbit_buffer_upload(buffer, 0, host, bytes), "a buffer");
  return buffer;
}

static void epilogues_bed_make(epilogues_bed *b, merbit_context *context,
                               const products_form *form, int64_t rows, int64_t cols) {
  const size_t size = products_size(form->type);
  uint64_t random = 23;
  const double none[2] = {0, 0};
  int i;
  int64_t k;
  memset(b, 0, sizeof *b);
  b->context = context;
  b->form = *form;
  b->rows = rows;
  b->cols = cols;
  b->x = products_exact(cols, size);
  for (k = 0; k < cols; k++) {
    products_set(b->x, k, test_uniform(&random), form->type);
  }
  b->on_x = epilogues_buffer(context, b->x, (size_t)cols * size);
  for (i = 0; i < 6; i++) {
    b->vectors[i] = products_exact(rows, size);
    for (k = 0; k < rows; k++) {
      const double number = test_uniform(&random);
      products_set(b->vectors[i], k, i == 1 ? 1.5 + number : number, form->type);
    }
    b->on[i] = epilogues_buffer(context, b->vectors[i], (size_t)rows * size);
  }
  for (i = 0; i < 8; i++) {
    b->scalars[i] = test_uniform(&random);
  }
  b->on_scalars = epilogues_buffer(context, b->scalars, sizeof b->scalars);
  b->on_sums = epilogues_buffer(context, none, sizeof none);
  b->on_skip = epilogues_buffer(context, none, sizeof(int));
  products_done(context, merbit_buffer_create(context, (size_t)(rows + 1) * size, &b->on_y),
                "y");
}

static void epilogues_bed_free(epilogues_bed *b) {
  int i;
  for (i = 0; i < 6; i++) {
    free(b->vectors[i]);
    merbit_buffer_destroy(b->on[i]);
  }
  free(b->x);
  merbit_buffer_destroy(b->on_x);
  merbit_buffer_destroy(b->on_y);
  merbit_buffer_destroy(b->on_scalars);
  merbit_buffer_destroy(b->on_sums);
  merbit_buffer_destroy(b->on_skip);
}

/* Computes one product into y and sums, which hold NaN before. skip < 0: no flag. */
static void epilogues_product(epilogues_bed *b, merbit_plan *plan, merbit_workspace *workspace,
                              int skip, void *y, double sums[2]) {
  const size_t bytes = (size_t)b->rows * products_size(b->form.type);
  const void *vectors[6];
  int i;
  memset(y, 0xff, bytes);
  sums[0] = sums[1] = (double)NAN;
  products_done(b->context, merbit_buffer_upload(b->on_y, b->shift, y, bytes), "y");
  products_done(b->context, merbit_buffer_upload(b->on_sums, 0, sums, 16), "sums");
  products_done(b->context, merbit_buffer_upload(b->on_skip, 0, &skip, sizeof skip), "skip");
  for (i = 0; i < 6; i++) {
    vectors[i] = merbit_buffer_pointer(b->on[i]);
  }
  products_done(b->context,
                merbit_spmv_epilogue(
                    plan, workspace, merbit_buffer_pointer(b->on_x),
                    (char *)merbit_buffer_pointer(b->on_y) + b->shift, vectors,
                    (const double *)merbit_buffer_pointer(b->on_scalars),
                    (double *)merbit_buffer_pointer(b->on_sums),
                    skip < 0 ? NULL : (const int *)merbit_buffer_pointer(b->on_skip), NULL),
                "a product with an epilogue");
  products_done(b->context, merbit_buffer_download(b->on_y, b->shift, y, bytes), "y");
  products_done(b->context, merbit_buffer_download(b->on_sums, 0, sums, 16), "sums");
}

static merbit_plan *epilogues_plan(epilogues_bed *b, const merbit_view *view, int kind,
                                   epilogues_user *user) {
  merbit_epilogue epilogue = epilogues_table[kind];
  merbit_plan_desc desc = b->form.plan;
  merbit_plan *plan;
  user->kind = kind;
  user->single = b->form.type == MERBIT_F32;
  user->rows = 0;
  epilogue.cpu = epilogues_cpu;
  epilogue.cpu_user = user;
  desc.epilogue = &epilogue;
  products_done(b->context, merbit_plan_create(b->context, view, &desc, &plan), "a plan");
  return plan;
}

static double epilogues_at(const void *array, int64_t i, merbit_type type) {
  return type == MERBIT_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

/* Checks a sum of n terms added in any order: gamma(n) times the sum of absolute values. Terms
 * have the same roundings on both sides. */
static void epilogues_check_sum(const char *where, int kind, int k, double got,
                                long double want, long double size, int64_t n) {
  const long double allowed = (long double)n * 0x1p-53L * size * (1 + 0x1p-20L) + 0x1p-1074L;
  if (!(fabsl((long double)got - want) <= allowed) && !(isnan(got) && isnan((double)want))) {
    fail_msg("%s, epilogue %d: sums[%d] is %.17g, not %.17Lg (allowed %.3Lg)", where, kind, k,
             got, want, allowed);
  }
}

/* Compares y and the sums of `kind` with the rows of op(A) x in `ax`. */
static void epilogues_compare(const epilogues_bed *b, const char *where, int kind,
                              const void *ax, const void *y, const double sums[2]) {
  const size_t size = products_size(b->form.type);
  void *want = products_exact(b->rows, size);
  long double sum[2] = {0, 0}, sizes[2] = {0, 0};
  int64_t row;
  int k;
  memcpy(want, ax, (size_t)b->rows * size);
  for (row = 0; row < b->rows; row++) {
    double terms[2];
    epilogues_row(kind, b->form.type == MERBIT_F32, row, want, (const void *const *)b->vectors,
                  b->scalars, terms);
    if (memcmp((const char *)want + row * (int64_t)size, (const char *)y + row * (int64_t)size,
               size) != 0 &&
        !(isnan(epilogues_at(want, row, b->form.type)) &&
          isnan(epilogues_at(y, row, b->form.type)))) {
      fail_msg("%s, epilogue %d: y[%lld] is %.17g, not %.17g, of ax %.17g", where, kind,
               (long long)row, epilogues_at(y, row, b->form.type),
               epilogues_at(want, row, b->form.type), epilogues_at(ax, row, b->form.type));
    }
    for (k = 0; k < 2; k++) {
      sum[k] += (long double)terms[k];
      sizes[k] += fabsl((long double)terms[k]);
    }
  }
  for (k = 0; k < 2; k++) {
    if (kind == EPILOGUES_COUNT) { /* exact in any order */
      assert_true(sums[k] == (double)sum[k]);
    }
    epilogues_check_sum(where, kind, k, sums[k], sum[k], sizes[k], b->rows);
  }
  free(want);
}

/* Checks each epilogue in the bit set `kinds`, and always EPILOGUES_COUNT, which gives the rows
 * of op(A) x. Returns the number of products checked. */
TEST_UNUSED static int epilogues_check(merbit_context *context, const test_matrix *m,
                                       const products_form *form, unsigned kinds) {
  const size_t size = products_size(form->type);
  const int flipped = form->plan.operation != MERBIT_OPERATION_N;
  epilogues_bed b;
  products_arrays a;
  void *ax, *y, *again;
  double sums[2], twice[2];
  char line[512], where[640];
  int kind, products = 0;
  products_arrays_make(context, m, form, &a);
  epilogues_bed_make(&b, context, form, flipped ? m->cols : m->rows,
                     flipped ? m->rows : m->cols);
  ax = products_exact(b.rows, size);
  y = products_exact(b.rows, size);
  again = products_exact(b.rows, size);
  for (kind = 0; kind < EPILOGUES_KINDS; kind++) {
    epilogues_user user;
    merbit_plan *plan;
    int64_t i;
    if (kind != EPILOGUES_COUNT && !(kinds >> kind & 1)) {
      continue;
    }
    plan = epilogues_plan(&b, &a.view, kind, &user);
    (void)merbit_plan_describe(plan, line, sizeof line);
    (void)snprintf(where, sizeof where, "%s by %.400s", m->name, line);
    epilogues_product(&b, plan, NULL, products % 2 == 0 ? -1 : 0, y, sums);
    if (kind == EPILOGUES_COUNT) {
      memcpy(ax, y, (size_t)b.rows * size);
      if (!flipped) {
        assert_int_equal(
            form->type == MERBIT_F32
                ? bound_rows_wrong_f32(m, 1, (const float *)b.x, 0, NULL, (const float *)ax)
                : bound_rows_wrong_f64(m, 1, (const double *)b.x, 0, NULL, (const double *)ax),
            0);
      }
    }
    epilogues_compare(&b, where, kind, ax, y, sums);
    b.shift = b.rows > 0 ? size : 0;                    /* misaligned for packs of rows */
    epilogues_product(&b, plan, NULL, 0, again, twice); /* tickets are unchanged */
    b.shift = 0;
    if (memcmp(y, again, (size_t)b.rows * size) != 0 || memcmp(sums, twice, sizeof sums) != 0) {
      fail_msg("%s: epilogue %d gives other bits again", where, kind);
    }
    epilogues_product(&b, plan, NULL, 7, again, twice); /* skipped */
    assert_true(isnan(twice[0]) && isnan(twice[1]));
    if (epilogues_table[kind].result == NULL && plan->side == MERBIT_SIDE_CUDA) {
      assert_memory_equal(y, again, (size_t)b.rows * size); /* the product */
    } else {
      for (i = 0; i < b.rows; i++) {
        assert_true(isnan(epilogues_at(again, i, form->type)));
      }
    }
    if (plan->side == MERBIT_SIDE_CPU) {
      assert_int_equal(user.rows, 2 * b.rows);
    }
    merbit_plan_destroy(plan);
    products += 2;
  }
  free(ax);
  free(y);
  free(again);
  epilogues_bed_free(&b);
  products_arrays_free(&a);
  return products;
}
#endif /* TEST_SUPPORT_EPILOGUES_H */
