/* One matrix in one precision on the GPU: cuSPARSE and merbit on the same arrays, verified and
 * timed. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H
#include "back.h"
#include "block_plans.h"
#include "epilogues.h"
#include "histogram.h"
#include "many.h"
#include "semirings.h"
#include "study_plans.h"
#include "summary.h"
#include "types.h"

#define BENCH_BATCH_SECONDS 0.01

/* ---- Arrays ------------------------------------------------------------------------------ */

static int32_t *bench_row_indices(const bench_matrix *m) {
  int32_t *rows = (int32_t *)bench_allocate(m->nnz, sizeof *rows);
  int64_t row;
  BENCH_OMP(parallel for schedule(dynamic, 4096))
  for (row = 0; row < m->rows; row++) {
    int64_t k;
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      rows[k] = (int32_t)row;
    }
  }
  return rows;
}

/* Copies a vector to the GPU, followed by zeros. */
static mbi_devptr bench_gpu_vector(bench_gpu *gpu, const void *source, int64_t count,
                                   size_t size) {
  const mbi_devptr address = bench_gpu_allocate(gpu, count + BENCH_PADDING, size);
  bench_gpu_fill(gpu, address + (uint64_t)count * size, 0, BENCH_PADDING * size);
  bench_gpu_wait(gpu);
  bench_merbit_check(gpu->context,
                     mbi_device_upload(gpu->context, address, source, (size_t)count * size));
  return address;
}

static void bench_arrays_create(bench_arrays *a, bench_gpu *gpu, bench_problem *p) {
  const bench_matrix *m = p->m;
  int32_t *rows = bench_row_indices(m);
  a->problem = p;
  a->row_ptr = bench_gpu_copy_of(gpu, m->row_ptr, m->rows + 1, sizeof *m->row_ptr);
  a->row_ind = bench_gpu_copy_of(gpu, rows, m->nnz, sizeof *rows);
  a->col_ind = bench_gpu_copy_of(gpu, m->col_ind, m->nnz, sizeof *m->col_ind);
  a->values = bench_gpu_copy_of(gpu, p->values, m->nnz, p->size);
  a->x = bench_gpu_vector(gpu, p->x, m->cols, p->size);
  a->y = bench_gpu_vector(gpu, p->y0, m->rows, p->size);
  a->z = bench_gpu_vector(gpu, p->y0, m->rows, p->size);
  a->general = &bench_timed_scalars;
  free(rows);
}

static void bench_arrays_destroy(bench_arrays *a, bench_gpu *gpu) {
  mbi_device_release(gpu->context, a->row_ptr);
  mbi_device_release(gpu->context, a->row_ind);
  mbi_device_release(gpu->context, a->col_ind);
  mbi_device_release(gpu->context, a->values);
  mbi_device_release(gpu->context, a->x);
  mbi_device_release(gpu->context, a->y);
  mbi_device_release(gpu->context, a->z);
  mbi_device_release(gpu->context, a->block_offsets);
  mbi_device_release(gpu->context, a->block_columns);
  mbi_device_release(gpu->context, a->block_values);
}

/* ---- Verification ------------------------------------------------------------------------ */

/* Moves a->y to the order of a reordered plan, or back, by way of a->z. */
static void bench_gpu_move(bench_ours *o, int restore) {
  const bench_arrays *a = o->arrays;
  const size_t bytes = (size_t)a->problem->m->rows * a->problem->size;
  merbit_context *context = o->gpu->context;
  bench_merbit_check(context, mbi_device_copy(context, a->z, a->y, bytes));
  bench_merbit_check(context, (restore ? merbit_plan_restore : merbit_plan_reorder)(
                                  o->plan, mbi_device_pointer(a->z), mbi_device_pointer(a->y),
                                  o->gpu->stream));
  bench_gpu_wait(o->gpu);
}

/* Runs a product once and compares y with the expected result. A dual-buffer product runs three
 * times: the third one finds in y what the second has left there. */
static void bench_verify(bench_bench *b, bench_case *c, void *y) {
  bench_gpu *gpu = &b->lab->gpu;
  bench_arrays *arrays = c->kind == BENCH_TRANSPOSED ? &b->back : &b->arrays;
  bench_problem *p = arrays->problem;
  const size_t bytes = (size_t)p->m->rows * p->size;
  const bench_scalars *scalars =
      c->kind == BENCH_GENERAL ? &bench_general_scalars : &bench_plain_scalars;
  const int dual = c->enqueue == bench_dual_enqueue;
  bench_ours *ours = c->enqueue == bench_ours_enqueue ? (bench_ours *)c->object : NULL;
  const int ordered = ours != NULL && ours->px != 0;
  int i;
  b->arrays.general = &bench_general_scalars;
  c->parity = 0;
  if (c->kind == BENCH_GENERAL) {
    bench_merbit_check(gpu->context, mbi_device_upload(gpu->context, arrays->y, p->y0, bytes));
  } else {
    bench_gpu_fill(gpu, arrays->y, dual ? 0 : 0xff, bytes); /* 0xff...: NaN */
    if (dual) {
      bench_gpu_fill(gpu, arrays->z, 0, bytes);
    }
  }
  bench_gpu_wait(gpu);
  if (ordered) {
    bench_gpu_move(ours, 0);
  }
  for (i = 0; i < (dual ? 3 : 1); i++) {
    c->enqueue(c);
  }
  bench_gpu_wait(gpu);
  if (ordered) {
    bench_gpu_move(ours, 1);
  }
  bench_merbit_check(gpu->context, mbi_device_download(gpu->context, y, arrays->y, bytes));
  if (c->enqueue == bench_semiring_enqueue) {
    bench_semiring_verify(p, c, y);
  } else {
    c->verdict = bench_compare(p, scalars->alpha, scalars->beta, y);
    c->good = bench_verdict_good(p, c->verdict);
  }
  b->arrays.general = &bench_timed_scalars;
}

/* ---- One problem ------------------------------------------------------------------------- */

static void bench_describe_auto(const bench_bench *b) {
  const int chosen = bench_named(b->cases, b->case_count, "auto");
  const int light = bench_named(b->cases, b->case_count, "light");
  if (chosen >= 0) {
    (void)printf("auto: %s\n", b->cases[chosen].about);
  }
  if (chosen >= 0 && light >= 0) {
    const bench_case *a = &b->cases[chosen], *l = &b->cases[light];
    (void)printf("plan and 100 products: %.3f ms auto, %.3f ms light; light plan: %.1f of its "
                 "products\n",
                 1e3 * (a->plan_seconds + 100 * a->median),
                 1e3 * (l->plan_seconds + 100 * l->median), l->plan_seconds / l->median);
  }
}

/* Reports the cost of each reordering in products, and after how many products it has paid off
 * compared with AUTO's plan. */
static void bench_describe_orders(const bench_bench *b) {
  const int chosen = bench_named(b->cases, b->case_count, "auto");
  int i;
  for (i = 0; i < b->case_count; i++) {
    const bench_case *c = &b->cases[i];
    if (c->reorder_seconds > 0 && c->kind == BENCH_PLAIN) {
      const bench_case *a = chosen >= 0 ? &b->cases[chosen] : NULL;
      (void)printf("%s: %s\n%s: reordering took %.1f ms, or %.0f products", c->name, c->about,
                   c->name, 1e3 * c->reorder_seconds, c->reorder_seconds / c->median);
      if (a != NULL && a->median > c->median) {
        (void)printf("; has paid after %.0f",
                     (c->plan_seconds - a->plan_seconds) / (a->median - c->median));
      }
      (void)putchar('\n');
    }
  }
}

static void bench_gpu_problem(bench_lab *lab, bench_problem *p, bench_summary *sum) {
  bench_bench *b = (bench_bench *)calloc(1, sizeof *b);
  bench_several several;
  void *y = bench_allocate(p->m->rows > p->m->cols ? p->m->rows : p->m->cols, p->size);
  int i;
  if (b == NULL) {
    bench_die("no memory for the list of cases");
  }
  b->lab = lab;
  bench_report_head(p, lab->json);
  if (bench_names(lab->options->methods, "cb")) {
    bench_histogram_report(p->m, lab->json);
  }
  bench_arrays_create(&b->arrays, &lab->gpu, p);
  bench_back_create(b);
  bench_json_open(lab->json, "left_out", '[');
  bench_add_rivals(b);
  bench_add_plans(b);
  bench_add_semirings(b);
  bench_add_epilogues(b);
  bench_add_block_plans(b);
  bench_add_block_sweeps(b);
  bench_add_study_plans(b);
  bench_add_several(b, &several);
  bench_json_close(lab->json, ']');
  for (i = 0; i < b->case_count; i++) {
    if (b->cases[i].kind == BENCH_SEVERAL) {
      bench_many_verify(b, &b->cases[i], y);
    } else if (b->cases[i].kind != BENCH_TILE) {
      bench_verify(b, &b->cases[i], y);
    }
  }
  bench_time(b->cases, b->case_count, lab->options->rounds, BENCH_BATCH_SECONDS,
             bench_gpu_watch, &lab->gpu);
  for (i = b->case_count,
      b->case_count = bench_given_add(lab->given, p, 1, b->cases, b->case_count, BENCH_CASES);
       i < b->case_count; i++) {
    b->cases[i].limit = bench_limit(&lab->ceilings, p, b->cases[i].bytes);
  }
  bench_count_flops(b->cases, b->case_count, p, lab->options->vectors);
  bench_report_cases(b->cases, b->case_count, "speedup", lab->json);
  bench_describe_auto(b);
  bench_describe_orders(b);
  bench_describe_back(b);
  bench_describe_several(b);
  bench_json_close(lab->json, '}');
  bench_typed_all(lab, &b->arrays);
  bench_sum_up(sum, p, b->cases, b->case_count);
  (void)fflush(stdout);
  for (i = 0; i < b->our_count; i++) {
    mbi_device_release(lab->gpu.context, b->ours[i].px);
    merbit_plan_destroy(b->ours[i].plan);
  }
  for (i = 0; i < BENCH_RIVALS; i++) {
    bench_rival_destroy(&b->rivals[i]);
  }
  bench_back_destroy(b);
  bench_several_close(b, &several);
  bench_beside_destroy(b);
  bench_arrays_destroy(&b->arrays, &lab->gpu);
  free(b);
  free(y);
}

#endif
