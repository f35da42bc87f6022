/* The CPU's methods against an OpenMP loop over rows with schedule(static). */
#ifndef BENCH_CPU_H
#define BENCH_CPU_H
#include "report.h"
/* merbit.h with its implementation is included by bench.c */

#define BENCH_CPU_SECONDS 0.05

typedef struct bench_cpu { /* one case */
  bench_problem *problem;
  merbit_context *context;
  merbit_plan *plan; /* NULL: the row loop */
  int threads;
  void *y;
} bench_cpu;

/* The inner loop of merbit's methods, alpha and beta included. */
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
    if (merbit_spmv(c->plan, NULL, NULL, c->problem->x, NULL, c->y, NULL) != MERBIT_OK) {
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

static void bench_cpu_plan(bench_cpu *c, merbit_method method, bench_case *entry) {
  const bench_problem *p = c->problem;
  merbit_view view =
      merbit_csr(p->m->rows, p->m->cols, p->m->nnz, p->m->row_ptr, p->m->col_ind, p->values);
  merbit_plan_desc desc;
  merbit_plan_info info;
  char message[MERBIT_MESSAGE_SIZE];
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.method = method;
  desc.unchecked = 1;
  view.value_type = p->single ? MERBIT_F32 : MERBIT_F64;
  if (merbit_plan_create(c->context, &view, &desc, &c->plan) != MERBIT_OK) {
    (void)merbit_last_error(c->context, message, sizeof message);
    bench_die("%s", message);
  }
  (void)merbit_plan_get_info(c->plan, &info);
  entry->has_plan = 1;
  entry->plan_seconds = info.plan_seconds;
}

static void bench_cpu_verify(bench_case *c) {
  const bench_cpu *object = (const bench_cpu *)c->object;
  bench_problem *p = object->problem;
  memset(object->y, 0xff, (size_t)p->m->rows * p->size);
  c->enqueue(c);
  c->verdict = bench_compare(p, 1.0, 0.0, object->y);
  c->good = bench_verdict_good(p, c->verdict);
}

/* Returns how many results were wrong. */
static int bench_cpu_problem(merbit_context *context, const char *methods, int rounds,
                             bench_problem *p, bench_json *json) {
  static const struct {
    const char *name;
    merbit_method method; /* AUTO: none of ours */
  } list[3] = {{"merge", MERBIT_METHOD_MERGE},
               {"static", MERBIT_METHOD_AUTO},
               {"reference", MERBIT_METHOD_REFERENCE}};
  bench_case cases[3];
  bench_cpu objects[3];
  merbit_context_info info;
  void *y = bench_allocate(p->m->rows, p->size);
  int count = 0, wrong = 0, i;
  memset(cases, 0, sizeof cases);
  memset(objects, 0, sizeof objects);
  (void)merbit_context_get_info(context, &info);
  bench_report_head(p, json);
  for (i = 0; i < 3; i++) {
    bench_case *c = &cases[count];
    if (bench_chosen(methods, list[i].name)) {
      objects[count].problem = p;
      objects[count].context = context;
      objects[count].threads = info.threads;
      objects[count].y = y;
      (void)snprintf(c->name, sizeof c->name, "%s", list[i].name);
      c->enqueue = bench_cpu_enqueue;
      c->object = &objects[count];
      c->rival = list[i].method == MERBIT_METHOD_AUTO;
      c->bytes = (double)p->m->nnz * (4.0 + (double)p->size) + 4.0 * (double)(p->m->rows + 1) +
                 (double)p->size * (double)(p->m->rows + p->m->cols);
      if (!c->rival) {
        bench_cpu_plan(&objects[count], list[i].method, c);
      }
      bench_cpu_verify(c);
      wrong += !c->good;
      count++;
    }
  }
  bench_time(cases, count, rounds, BENCH_CPU_SECONDS, bench_cpu_watch, NULL);
  bench_report_cases(cases, count, "/static", 0, json);
  if (count >= 2 && !cases[0].rival && cases[1].rival) {
    const double ratio = cases[1].median / cases[0].median;
    const double paired = bench_paired_ratio(&cases[1], &cases[0]);
    (void)printf("static over merge: %.3f of the medians, %.3f the median of the rounds\n",
                 ratio, paired);
    bench_json_number(json, "static_over_merge", ratio);
    bench_json_number(json, "static_over_merge_paired", paired);
  }
  bench_json_close(json, '}');
  (void)fflush(stdout);
  for (i = 0; i < count; i++) {
    merbit_plan_destroy(objects[i].plan);
  }
  free(y);
  return wrong;
}

#endif
