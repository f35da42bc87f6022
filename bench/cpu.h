/* The CPU's methods, compared with an OpenMP loop over rows with schedule(static). */
#ifndef BENCH_CPU_H
#define BENCH_CPU_H
#include "formats.h"
#include "given.h"
#include "half.h"
#include "options.h"
#include "report.h"
#include "summary.h"
/* merbit.h with its implementation is included by bench.c */

#define BENCH_CPU_SECONDS 0.05
#define BENCH_CPU_CASES 15

typedef struct bench_cpu { /* one case */
  bench_problem *problem;
  merbit_context *context;
  merbit_plan *plan; /* NULL: the loop over rows */
  int threads;
  void *y;
  void *px; /* x in the order of a reordered plan; otherwise NULL */
  bench_half half;
  const bench_layout *blocks; /* the matrix as blocks, if this case takes them; NULL: the CSR */
} bench_cpu;

#define BENCH_READ_NUMBERS ((int64_t)1 << 26) /* 512 MB, more than caches hold */

/* Returns the bytes per second of a plain sum over a long vector with `threads` threads, the
 * best of five. No product with a matrix larger than the caches can be faster. */
static double bench_read_rate(int threads) {
  double *numbers = (double *)bench_allocate(BENCH_READ_NUMBERS, sizeof *numbers);
  double best = 0, sum = 0;
  int64_t i;
  int round;
  (void)threads;
  BENCH_OMP(parallel for schedule(static) num_threads(threads))
  for (i = 0; i < BENCH_READ_NUMBERS; i++) {
    numbers[i] = 1;
  }
  for (round = 0; round < 5; round++) {
    const double start = mbi_seconds();
    double parts[8] = {0}, rate;
    BENCH_OMP(parallel for schedule(static) num_threads(threads) reduction(+ : parts[:8]))
    for (i = 0; i < BENCH_READ_NUMBERS; i += 8) {
      int j;
      for (j = 0; j < 8; j++) {
        parts[j] += numbers[i + j];
      }
    }
    rate = (double)BENCH_READ_NUMBERS * sizeof *numbers / (mbi_seconds() - start);
    best = rate > best ? rate : best;
    sum += parts[0];
  }
  free(numbers);
  return sum > 0 ? best : 0; /* using the sum keeps the compiler from dropping the loop */
}

/* The same inner loop as in merbit's methods, with alpha and beta. */
#define BENCH_STATIC_LOOP(name, type)                                                          \
  static void name(const bench_problem *p, int threads, type alpha, type beta, type *y) {      \
    const int32_t *row_ptr = p->m->row_ptr, *col_ind = p->m->col_ind;                          \
    const type *values = (const type *)p->values, *x = (const type *)p->x;                     \
    const int64_t rows = p->m->rows;                                                           \
    int64_t row;                                                                               \
    (void)threads;                                                                             \
    BENCH_OMP(parallel for schedule(static) num_threads(threads))                              \
    for (row = 0; row < rows; row++) {                                                         \
      type sum = 0;                                                                            \
      int32_t k;                                                                               \
      for (k = row_ptr[row]; k < row_ptr[row + 1]; k++) {                                      \
        sum += values[k] * x[col_ind[k]];                                                      \
      }                                                                                        \
      y[row] = beta == 0 ? alpha * sum : alpha * sum + beta * y[row];                          \
    }                                                                                          \
  }
BENCH_STATIC_LOOP(bench_static_f32, float)
BENCH_STATIC_LOOP(bench_static_f64, double)

static void bench_cpu_enqueue(bench_case *self) {
  bench_cpu *c = (bench_cpu *)self->object;
  char message[MERBIT_MESSAGE_SIZE];
  if (c->plan != NULL) {
    const void *x = c->px != NULL ? c->px : c->problem->x;
    if (merbit_spmv(c->plan, NULL, NULL, x, NULL, c->y, NULL) != MERBIT_OK) {
      (void)merbit_last_error(c->context, message, sizeof message);
      bench_die("%s", message);
    }
  } else if (c->problem->single) {
    bench_static_f32(c->problem, c->threads, 1.0f, 0.0f, (float *)c->y);
  } else {
    bench_static_f64(c->problem, c->threads, 1.0, 0.0, (double *)c->y);
  }
}

static double bench_cpu_watch(void *clock, bench_case *c, int count) {
  const double start = mbi_seconds();
  int i;
  (void)clock;
  for (i = 0; i < count; i++) {
    c->enqueue(c);
  }
  return mbi_seconds() - start;
}

/* Makes the plan of a case. If that is impossible, says why and returns 0. */
static int bench_cpu_plan(bench_cpu *c, const bench_options *o, merbit_method method,
                          merbit_reordering reordering, bench_case *entry) {
  const bench_problem *p = c->problem;
  merbit_view view =
      merbit_csr(p->m->rows, p->m->cols, p->m->nnz, p->m->row_ptr, p->m->col_ind, p->values);
  merbit_plan_desc desc;
  merbit_plan_info info;
  char message[MERBIT_MESSAGE_SIZE];
  if (method == MERBIT_METHOD_SYMMETRIC) {
    view = bench_half_view(p, &c->half);
    if (view.rows == 0) {
      (void)printf("%s is left out: the matrix is not symmetric\n", entry->name);
      return 0;
    }
  }
  memset(&desc, 0, sizeof desc);
  if (c->blocks != NULL) {
    view =
        merbit_bsr(p->m->rows, p->m->cols, c->blocks->entries, c->blocks->block,
                   c->blocks->width, c->blocks->offsets, c->blocks->columns, c->blocks->values);
    desc.tuning = o->tuning;
  }
  desc.side = MERBIT_SIDE_CPU;
  desc.method = method;
  desc.numa = o->numa;
  desc.reordering = reordering;
  desc.unchecked = 1;
  view.value_type = p->single ? MERBIT_F32 : MERBIT_F64;
  if (merbit_plan_create(c->context, &view, &desc, &c->plan) != MERBIT_OK) {
    (void)merbit_last_error(c->context, message, sizeof message);
    if (reordering == MERBIT_REORDERING_NONE && c->blocks == NULL) {
      bench_die("%s", message);
    }
    (void)printf("%s is left out: %s\n", entry->name, message);
    return 0;
  }
  (void)merbit_plan_get_info(c->plan, &info);
  entry->has_plan = 1;
  entry->plan_seconds = info.plan_seconds;
  entry->reorder_seconds = info.reorder_seconds;
  (void)merbit_plan_describe(c->plan, entry->about, sizeof entry->about);
  if (reordering != MERBIT_REORDERING_NONE) {
    c->px = bench_allocate(p->m->cols, p->size);
    (void)merbit_plan_reorder(c->plan, p->x, c->px, NULL);
    (void)printf("%s: %s\n", entry->name, entry->about);
  }
  return 1;
}

static void bench_cpu_verify(bench_case *c) {
  const bench_cpu *object = (const bench_cpu *)c->object;
  bench_problem *p = object->problem;
  memset(object->y, 0xff, (size_t)p->m->rows * p->size);
  c->enqueue(c);
  if (object->px != NULL) {
    void *y = bench_allocate(p->m->rows, p->size);
    (void)merbit_plan_restore(object->plan, object->y, y, NULL);
    memcpy(object->y, y, (size_t)p->m->rows * p->size);
    free(y);
  }
  c->verdict = bench_compare(p, 1.0, 0.0, object->y);
  c->good = bench_verdict_good(p, c->verdict);
}

static int bench_cpu_add(bench_cpu *object, const bench_options *o, bench_case *c,
                         const char *name, int rival, merbit_method method,
                         merbit_reordering reordering) {
  (void)snprintf(c->name, sizeof c->name, "%s", name);
  c->kind = BENCH_PLAIN;
  c->enqueue = bench_cpu_enqueue;
  c->object = object;
  c->rival = rival;
  c->bytes = bench_csr_bytes(object->problem, BENCH_PLAIN);
  if (!rival && !bench_cpu_plan(object, o, method, reordering, c)) {
    return 0;
  }
  bench_cpu_verify(c);
  return 1;
}

/* Makes the matrix as blocks of its own shape, or as square ones that are at least half full.
 * Returns 0 if it has neither. */
static int bench_cpu_blocks(const bench_problem *p, bench_layout *blocks) {
  double share;
  const int side = p->m->block_rows > 0 ? 0 : bench_block_choose(p->m, p->size, &share);
  const int rows = p->m->block_rows > 0 ? p->m->block_rows : side;
  const int cols = p->m->block_rows > 0 ? p->m->block_cols : side;
  if (rows > 0 && blocks->block == 0) {
    bench_blocks_create(p, rows, cols, blocks);
  }
  return rows > 0;
}

/* Measures the methods that --methods names and what they are compared with. The limit follows
 * from `read_rate`. */
static void bench_cpu_problem(merbit_context *context, const bench_options *o, double read_rate,
                              bench_problem *p, bench_given_list *given, bench_json *json,
                              bench_summary *sum) {
  static const struct {
    const char *name;
    int rival;
    merbit_method method;
    int named; /* 1: only if --methods is not "all"; 2: only by its full name, on blocks */
    merbit_reordering reordering;
  } list[BENCH_CPU_CASES] = {
      {"auto", 0, MERBIT_METHOD_AUTO, 0, MERBIT_REORDERING_NONE},
      {"merge", 0, MERBIT_METHOD_MERGE, 0, MERBIT_REORDERING_NONE},
      {"sorted", 0, MERBIT_METHOD_SORTED, 0, MERBIT_REORDERING_NONE},
      {"symmetric", 0, MERBIT_METHOD_SYMMETRIC, 1, MERBIT_REORDERING_NONE},
      {"bsr", 0, MERBIT_METHOD_BSR, 0, MERBIT_REORDERING_NONE},
      {"bsr-rows", 0, MERBIT_METHOD_BSR_ROWS, 2, MERBIT_REORDERING_NONE},
      {"bsr-naive", 0, MERBIT_METHOD_BSR_NAIVE, 2, MERBIT_REORDERING_NONE},
      {"bsr-split", 0, MERBIT_METHOD_BSR_SPLIT, 2, MERBIT_REORDERING_NONE},
      {"bsr-maximum", 0, MERBIT_METHOD_BSR_MAXIMUM, 2, MERBIT_REORDERING_NONE},
      {"bsr-fixed", 0, MERBIT_METHOD_BSR_FIXED, 2, MERBIT_REORDERING_NONE},
      {"bsr-preprocessed", 0, MERBIT_METHOD_BSR, 2, MERBIT_REORDERING_NONE},
      {"static", 1, MERBIT_METHOD_AUTO, 0, MERBIT_REORDERING_NONE},
      {"reference", 0, MERBIT_METHOD_REFERENCE, 0, MERBIT_REORDERING_NONE},
      {"rcm", 0, MERBIT_METHOD_AUTO, 1, MERBIT_REORDERING_RCM},
      {"degree", 0, MERBIT_METHOD_AUTO, 1, MERBIT_REORDERING_DEGREE}};
  const char *methods = o->methods;
  bench_layout blocks;
  bench_case cases[BENCH_CPU_CASES + BENCH_GIVEN_MOST];
  bench_cpu objects[BENCH_CPU_CASES];
  merbit_context_info info;
  void *y = bench_allocate(p->m->rows, p->size);
  int count = 0, all, i;
  memset(cases, 0, sizeof cases);
  memset(objects, 0, sizeof objects);
  memset(&blocks, 0, sizeof blocks);
  (void)merbit_context_get_info(context, &info);
  bench_report_head(p, json);
  for (i = 0; i < BENCH_CPU_CASES; i++) {
    const int named =
        list[i].named == 0 || (list[i].named == 1 ? strcmp(methods, "all") != 0
                                                  : strstr(methods, list[i].name) != NULL);
    if ((bench_chosen(methods, list[i].name) && named) || list[i].rival) {
      objects[count].problem = p;
      objects[count].context = context;
      objects[count].threads = info.threads;
      objects[count].y = y;
      objects[count].blocks = list[i].named == 2 ? &blocks : NULL;
      if (list[i].named == 2 && !bench_cpu_blocks(p, &blocks)) {
        (void)printf("%s is left out: no blocks are half full\n", list[i].name);
        continue;
      }
      count += bench_cpu_add(&objects[count], o, &cases[count], list[i].name, list[i].rival,
                             list[i].method, list[i].reordering);
    }
  }
  bench_time(cases, count, o->rounds, BENCH_CPU_SECONDS, bench_cpu_watch, NULL);
  all = bench_given_add(given, p, 0, cases, count, BENCH_CPU_CASES + BENCH_GIVEN_MOST);
  for (i = 0; i < all; i++) {
    cases[i].limit = cases[i].bytes / read_rate;
  }
  bench_count_flops(cases, all, p, 1);
  bench_report_cases(cases, all, "speedup", json);
  bench_json_close(json, '}');
  bench_sum_up(sum, p, cases, all);
  (void)fflush(stdout);
  for (i = 0; i < count; i++) {
    free(objects[i].px);
    bench_half_free(&objects[i].half);
    merbit_plan_destroy(objects[i].plan);
  }
  bench_layout_free(&blocks);
  free(y);
}

#endif
