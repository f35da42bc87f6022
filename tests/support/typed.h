/* Products with any types of values, vectors and sums: complex, short, mixed. Every part of y
 * must be within gamma(k + 2), for complex ones gamma(k + 4), of the sums over absolute values,
 * computed in long double from the inputs as stored. Include merbit.h and cmocka.h first. */
#ifndef TEST_SUPPORT_TYPED_H
#define TEST_SUPPORT_TYPED_H
#include "support/matrices.h"

typedef struct typed_kind {
  const char *name;
  merbit_type values, sums;
} typed_kind;

TEST_UNUSED static const typed_kind typed_kinds[] = {{"f16", MERBIT_F16, MERBIT_F32},
                                                     {"bf16", MERBIT_BF16, MERBIT_F32},
                                                     {"f32 in f64", MERBIT_F32, MERBIT_F64},
                                                     {"c64", MERBIT_C64, MERBIT_C64},
                                                     {"c128", MERBIT_C128, MERBIT_C128}};
enum { TYPED_KINDS = sizeof typed_kinds / sizeof typed_kinds[0] };

typedef struct typed_number {
  long double re, im;
} typed_number;

static size_t typed_size(merbit_type type) {
  return type == MERBIT_C128                        ? 16
         : type == MERBIT_C64 || type == MERBIT_F64 ? 8
         : type == MERBIT_F32                       ? 4
                                                    : 2;
}

static int typed_complex(merbit_type type) {
  return type == MERBIT_C64 || type == MERBIT_C128;
}

static int typed_single(merbit_type type) {
  return type == MERBIT_F32 || type == MERBIT_C64;
}

/* Converts a number by the definition of the two formats. */
static long double typed_short(merbit_type type, uint16_t bits) {
  const int digits = type == MERBIT_F16 ? 10 : 7, bias = type == MERBIT_F16 ? 15 : 127;
  const int top = (1 << (15 - digits)) - 1;
  const int exponent = bits >> digits & top, fraction = bits & ((1 << digits) - 1);
  long double size =
      exponent == top ? (fraction != 0 ? (long double)NAN : (long double)INFINITY)
      : exponent == 0
          ? ldexpl((long double)fraction, 1 - bias - digits)
          : ldexpl((long double)(fraction + (1 << digits)), exponent - bias - digits);
  return bits >> 15 ? -size : size;
}

static typed_number typed_load(merbit_type type, const void *array, int64_t i) {
  typed_number number = {0, 0};
  switch (type) {
  case MERBIT_F16:
  case MERBIT_BF16:
    number.re = typed_short(type, ((const uint16_t *)array)[i]);
    break;
  case MERBIT_F32:
    number.re = ((const float *)array)[i];
    break;
  case MERBIT_C64:
    number.re = ((const float *)array)[2 * i];
    number.im = ((const float *)array)[2 * i + 1];
    break;
  case MERBIT_C128:
    number.re = ((const double *)array)[2 * i];
    number.im = ((const double *)array)[2 * i + 1];
    break;
  default:
    number.re = ((const double *)array)[i];
  }
  return number;
}

/* Fills an array; with `wild`, rarely Inf or NaN. Halves have any bits, bfloat16s medium
 * exponents. */
static void typed_fill(merbit_type type, void *array, int64_t count, uint64_t *state,
                       int wild) {
  static const double bad[] = {INFINITY, -INFINITY, NAN};
  const int parts = typed_complex(type) ? 2 : 1;
  int64_t i;
  for (i = 0; i < count * parts; i++) {
    const int odd = wild && test_below(state, 61) == 0;
    const double number = odd ? bad[test_below(state, 3)] : test_uniform(state);
    if (type == MERBIT_F16 || type == MERBIT_BF16) {
      const uint16_t infinite = type == MERBIT_F16 ? 0x7c00 : 0x7f80;
      uint16_t bits = (uint16_t)test_random(state);
      if (type == MERBIT_BF16) {
        bits = (uint16_t)((bits & 0x807f) | (100 + test_below(state, 40)) << 7);
      } else if ((bits & infinite) == infinite) {
        bits &= 0x83ff; /* subnormal */
      }
      ((uint16_t *)array)[i] =
          odd ? (uint16_t)((isnan(number) ? 0x7fff : infinite) | (number < 0 ? 0x8000 : 0))
              : bits;
    } else if (typed_single(type)) {
      ((float *)array)[i] = (float)number;
    } else {
      ((double *)array)[i] = number;
    }
  }
}

static void typed_set(merbit_type type, void *array, int64_t i, double re, double im) {
  const int parts = typed_complex(type) ? 2 : 1;
  if (typed_single(type)) {
    ((float *)array)[i * parts] = (float)re;
    ((float *)array)[i * parts + parts - 1] = (float)(parts == 2 ? im : re);
  } else {
    ((double *)array)[i * parts] = re;
    ((double *)array)[i * parts + parts - 1] = parts == 2 ? im : re;
  }
}

typedef struct typed_product { /* op(A), `rows` x `cols`, in coordinates from 0 */
  const typed_kind *kind;
  int64_t rows, cols, nnz;
  const int64_t *row, *col;
  const void *values; /* NULL: ones */
  int conjugates;
  const void *alpha, *beta, *x, *y0, *y; /* of the sums' type */
} typed_product;

typedef struct typed_sum {
  typed_number sum, size;
  int64_t count;
} typed_sum;

static void typed_add(typed_sum *to, typed_number a, typed_number b, int complex) {
  to->sum.re += complex ? a.re * b.re - a.im * b.im : a.re * b.re;
  to->size.re += fabsl(a.re * b.re) + (complex ? fabsl(a.im * b.im) : 0);
  if (complex) {
    to->sum.im += a.re * b.im + a.im * b.re;
    to->size.im += fabsl(a.re * b.im) + fabsl(a.im * b.re);
  }
}

/* Returns whether a part is right: NaN and Inf must match, else it must be within the bound. */
static int typed_holds(long double y, long double sum, long double allowed) {
  return isnan(sum)   ? isnan(y) != 0
         : isinf(sum) ? y == sum
                      : fabsl(y - sum) <= allowed; /* false for NaN */
}

/* Returns how many elements of y exceed the bound, and prints the first. */
TEST_UNUSED static int typed_wrong(const typed_product *p) {
  const merbit_type type = p->kind->sums;
  const int complex = typed_complex(type), single = typed_single(type);
  const typed_number alpha = typed_load(type, p->alpha, 0), beta = typed_load(type, p->beta, 0);
  const typed_number one = {1, 0};
  const long double u = single ? 0x1p-24L : 0x1p-53L, eta = single ? 0x1p-149L : 0x1p-1074L;
  const long double scale = 1 + fabsl(alpha.re) + fabsl(alpha.im);
  typed_sum *sums = (typed_sum *)test_allocate(p->rows, sizeof *sums);
  int wrong = 0;
  int64_t i;
  for (i = 0; i < p->nnz; i++) {
    typed_number a = p->values != NULL ? typed_load(p->kind->values, p->values, i) : one;
    a.im = p->conjugates ? -a.im : a.im;
    if (alpha.re != 0 || alpha.im != 0) {
      if (p->values == NULL) { /* a pattern adds x unchanged */
        const typed_number x = typed_load(type, p->x, p->col[i]);
        sums[p->row[i]].sum.re += x.re;
        sums[p->row[i]].sum.im += x.im;
        sums[p->row[i]].size.re += fabsl(x.re);
        sums[p->row[i]].size.im += fabsl(x.im);
      } else {
        typed_add(&sums[p->row[i]], a, typed_load(type, p->x, p->col[i]), complex);
      }
    }
    sums[p->row[i]].count++;
  }
  for (i = 0; i < p->rows; i++) {
    const typed_number y = typed_load(type, p->y, i);
    const long double n = (long double)(sums[i].count + (complex ? 4 : 2));
    typed_sum total = {{0, 0}, {0, 0}, 0};
    long double gamma = n * u / (1 - n * u), floor = 2 * n * eta * (complex ? scale : 0.5L);
    if (alpha.re != 0 || alpha.im != 0) {
      typed_add(&total, alpha, sums[i].sum, complex);
      total.size.re = fabsl(alpha.re) * sums[i].size.re + fabsl(alpha.im) * sums[i].size.im;
      total.size.im = fabsl(alpha.re) * sums[i].size.im + fabsl(alpha.im) * sums[i].size.re;
    }
    if (beta.re != 0 || beta.im != 0) {
      typed_add(&total, beta, typed_load(type, p->y0, i), complex);
    }
    if (!typed_holds(y.re, total.sum.re, gamma * total.size.re + floor) ||
        (complex && !typed_holds(y.im, total.sum.im, gamma * total.size.im + floor))) {
      if (wrong++ == 0) {
        (void)fprintf(stderr, "%s: y[%lld] is (%.17Lg, %.17Lg), not (%.17Lg, %.17Lg)\n",
                      p->kind->name, (long long)i, y.re, y.im, total.sum.re, total.sum.im);
      }
    }
  }
  free(sums);
  return wrong;
}

/* ---- With the public interface ----------------------------------------------------------- */

typedef struct typed_form { /* how the matrix and the vectors are passed */
  const typed_kind *kind;
  merbit_format format; /* BSR: blocks of 1 x 1 */
  merbit_index_type offset_type, index_type;
  int base, pattern, wild, device_arrays;
  merbit_plan_desc plan;
} typed_form;

static void *typed_indices(const int64_t *from, int64_t count, merbit_index_type type,
                           int base) {
  void *to = test_allocate(count, 8);
  int64_t i;
  for (i = 0; i < count; i++) {
    if (type == MERBIT_INDEX_64) {
      ((int64_t *)to)[i] = from[i] + base;
    } else {
      ((int32_t *)to)[i] = (int32_t)(from[i] + base);
    }
  }
  return to;
}

/* Moves an array to the device if `device`; else returns `host` itself. */
static const void *typed_move(merbit_context *context, int device, const void *host,
                              size_t bytes, merbit_buffer **buffer) {
  *buffer = NULL;
  if (!device || host == NULL) {
    return host;
  }
  assert_int_equal(merbit_buffer_create(context, bytes, buffer), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(*buffer, 0, host, bytes), MERBIT_OK);
  return merbit_buffer_pointer(*buffer);
}

/* Multiplies with alpha and beta in the plan's types; NULL stands for a default. */
static void typed_multiply(merbit_context *context, merbit_plan *plan, const typed_form *f,
                           typed_product *p, uint64_t *state) {
  static const double scalars[][4] = {
      {1, 0, 0, 0}, {0.5, -2, -1, 0.25}, {0, 0, 1, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}};
  const merbit_type type = p->kind->sums;
  const size_t size = typed_size(type), y_bytes = (size_t)p->rows * size;
  const int device = f->plan.side == MERBIT_SIDE_CUDA;
  const int moves = device && f->plan.vector_memory != MERBIT_MEMORY_HOST;
  const int moves_scalars = f->plan.scalar_memory == MERBIT_MEMORY_DEVICE;
  void *x = test_allocate(p->cols, size), *y0 = test_allocate(p->rows, size);
  void *y = test_allocate(p->rows, size);
  size_t s;
  for (s = 0; s < sizeof scalars / sizeof scalars[0]; s++) {
    double alpha[2], beta[2];
    merbit_buffer *buffers[4];
    const void *at_x, *at_alpha, *at_beta;
    void *at_y;
    int b;
    typed_fill(type, x, p->cols, state, f->wild || s == 2 /* alpha 0 */);
    typed_set(type, alpha, 0, scalars[s][0], scalars[s][1]);
    typed_set(type, beta, 0, scalars[s][2], scalars[s][3]);
    if (scalars[s][2] == 0 && (scalars[s][3] == 0 || !typed_complex(type))) {
      memset(y0, 0xff, y_bytes); /* NaN */
    } else {
      typed_fill(type, y0, p->rows, state, 0);
    }
    memcpy(y, y0, y_bytes);
    at_x = typed_move(context, moves, x, (size_t)p->cols * size, &buffers[0]);
    at_y = (void *)(uintptr_t)typed_move(context, moves, y, y_bytes, &buffers[1]);
    at_alpha = typed_move(context, moves_scalars, alpha, size, &buffers[2]);
    at_beta = typed_move(context, moves_scalars, beta, size, &buffers[3]);
    assert_int_equal(merbit_spmv(plan, NULL, s == 0 ? NULL : at_alpha, at_x,
                                 s == 0 || s == 3 ? NULL : at_beta, at_y, NULL),
                     MERBIT_OK);
    if (moves) {
      assert_int_equal(merbit_buffer_download(buffers[1], 0, y, y_bytes), MERBIT_OK);
    }
    p->alpha = alpha;
    p->beta = beta;
    p->x = x;
    p->y0 = y0;
    p->y = y;
    if (typed_wrong(p) > 0) {
      char line[512];
      (void)merbit_plan_describe(plan, line, sizeof line);
      fail_msg("%s, scalars %d: beyond the bound: %s", p->kind->name, (int)s, line);
    }
    for (b = 0; b < 4; b++) {
      merbit_buffer_destroy(buffers[b]);
    }
  }
  free(x);
  free(y0);
  free(y);
}

/* Checks a plan of the matrix's places with random values, its products, and new values. */
TEST_UNUSED static void typed_check(merbit_context *context, const test_matrix *m,
                                    const typed_form *f, uint64_t seed) {
  const merbit_type type = f->kind->values;
  const size_t size = typed_size(type), index = f->index_type == MERBIT_INDEX_64 ? 8 : 4;
  const size_t offset = f->offset_type == MERBIT_INDEX_64 ? 8 : 4;
  int64_t *rows = (int64_t *)test_allocate(m->nnz, 8),
          *cols = (int64_t *)test_allocate(m->nnz, 8);
  void *values = test_allocate(m->nnz, size), *arrays[3];
  merbit_view view = merbit_csr(m->rows, m->cols, m->nnz, NULL, NULL, NULL);
  merbit_buffer *buffers[4];
  typed_product p;
  merbit_plan_desc desc = f->plan;
  merbit_plan *plan;
  uint64_t state = seed;
  int64_t row, k;
  int update, b;
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      rows[k] = row;
      cols[k] = m->col_ind[k];
    }
  }
  typed_fill(type, values, m->nnz, &state, f->wild);
  arrays[0] = typed_indices(m->row_ptr, m->rows + 1, f->offset_type, f->base);
  arrays[1] = typed_indices(rows, m->nnz, f->index_type, f->base);
  arrays[2] = typed_indices(cols, m->nnz, f->index_type, f->base);
  view.format = f->format;
  view.value_type = type;
  view.offset_type = f->offset_type;
  view.index_type = f->index_type;
  view.base = f->base;
  view.block_rows = view.block_cols = f->format == MERBIT_BSR ? 1 : 0;
  view.memory = f->device_arrays ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
  view.row_ptr = f->format == MERBIT_COO
                     ? NULL
                     : typed_move(context, f->device_arrays, arrays[0],
                                  (size_t)(m->rows + 1) * offset, &buffers[0]);
  buffers[0] = f->format == MERBIT_COO ? NULL : buffers[0];
  view.row_ind = f->format != MERBIT_COO ? NULL
                                         : typed_move(context, f->device_arrays, arrays[1],
                                                      (size_t)m->nnz * index, &buffers[1]);
  buffers[1] = f->format != MERBIT_COO ? NULL : buffers[1];
  view.col_ind =
      typed_move(context, f->device_arrays, arrays[2], (size_t)m->nnz * index, &buffers[2]);
  view.values = typed_move(context, f->device_arrays, f->pattern ? NULL : values,
                           (size_t)m->nnz * size, &buffers[3]);
  desc.vector_type = f->kind->values == MERBIT_F32 ? f->kind->sums : MERBIT_TYPE_DEFAULT;
  if (merbit_plan_create(context, &view, &desc, &plan) != MERBIT_OK) {
    char sentence[MERBIT_MESSAGE_SIZE];
    (void)merbit_last_error(context, sentence, sizeof sentence);
    fail_msg("%s: %s", f->kind->name, sentence);
  }
  memset(&p, 0, sizeof p);
  p.kind = f->kind;
  p.nnz = m->nnz;
  p.values = f->pattern ? NULL : values;
  p.conjugates = desc.operation == MERBIT_OPERATION_H;
  p.rows = desc.operation == MERBIT_OPERATION_N ? m->rows : m->cols;
  p.cols = desc.operation == MERBIT_OPERATION_N ? m->cols : m->rows;
  p.row = desc.operation == MERBIT_OPERATION_N ? rows : cols;
  p.col = desc.operation == MERBIT_OPERATION_N ? cols : rows;
  for (update = 0; update < 2; update++) {
    typed_multiply(context, plan, f, &p, &state);
    if (f->pattern) {
      break;
    }
    typed_fill(type, values, m->nnz, &state, 0);
    assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST), MERBIT_OK);
  }
  merbit_plan_destroy(plan);
  for (b = 0; b < 4; b++) {
    merbit_buffer_destroy(buffers[b]);
  }
  for (b = 0; b < 3; b++) {
    free(arrays[b]);
  }
  free(values);
  free(rows);
  free(cols);
}

/* Returns form number `turn`, chosen so that every pair of properties occurs. */
TEST_UNUSED static typed_form typed_form_of(int turn) {
  typed_form f;
  memset(&f, 0, sizeof f);
  f.kind = &typed_kinds[turn % TYPED_KINDS];
  f.format = turn % 3 == 1 ? MERBIT_COO : turn % 7 == 3 ? MERBIT_BSR : MERBIT_CSR;
  f.offset_type = turn / 5 % 2 != 0 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  f.index_type = turn % 11 < 3 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  f.base = turn / 3 % 2;
  f.pattern = turn % 13 == 5;
  /* Conversions add duplicates, which changes sums with Inf. */
  f.wild = turn % 4 < 2 && f.format == MERBIT_CSR && f.index_type == MERBIT_INDEX_32;
  f.plan.operation = (merbit_operation)(turn / 2 % 3);
  return f;
}

#endif /* TEST_SUPPORT_TYPED_H */
