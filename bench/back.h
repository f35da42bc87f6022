/* Products with the transpose of a problem's matrix. The GPU is given the matrix itself; the
 * expected results are computed from an explicit transpose. */
#ifndef BENCH_BACK_H
#define BENCH_BACK_H
#include "cases.h"

static void bench_matrix_transpose(const bench_matrix *m, bench_matrix *t) {
  int64_t row, k;
  *t = *m;
  t->rows = m->cols;
  t->cols = m->rows;
  t->row_ptr = (int32_t *)bench_allocate(t->rows + 2, sizeof *t->row_ptr);
  t->col_ind = (int32_t *)bench_allocate(t->nnz, sizeof *t->col_ind);
  t->values = (double *)bench_allocate(t->nnz, sizeof *t->values);
  memset(t->row_ptr, 0, (size_t)(t->rows + 2) * sizeof *t->row_ptr);
  for (k = 0; k < m->nnz; k++) {
    t->row_ptr[m->col_ind[k] + 2]++;
  }
  for (row = 0; row < t->rows; row++) {
    t->row_ptr[row + 2] += t->row_ptr[row + 1];
  }
  for (row = 0; row < m->rows; row++) { /* row_ptr[r + 1] is where row r continues */
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      const int32_t at = t->row_ptr[m->col_ind[k] + 1]++;
      t->col_ind[at] = (int32_t)row;
      t->values[at] = m->values[k];
    }
  }
}

static void bench_back_create(bench_bench *b) {
  const char *methods = b->lab->options->methods;
  const bench_problem *p = b->arrays.problem;
  bench_matrix *m;
  bench_problem *back;
  bench_gpu *gpu = &b->lab->gpu;
  if (strcmp(methods, "all") == 0 || !bench_chosen(methods, "transpose")) {
    return;
  }
  m = (bench_matrix *)bench_allocate(1, sizeof *m);
  back = (bench_problem *)bench_allocate(1, sizeof *back);
  bench_matrix_transpose(p->m, m);
  bench_problem_create(back, m, p->single);
  b->back.problem = back;
  b->back.x = bench_gpu_copy_of(gpu, back->x, m->cols, back->size);
  b->back.y = bench_gpu_copy_of(gpu, back->y0, m->rows, back->size);
  b->back.general = &bench_timed_scalars;
}

static void bench_back_destroy(bench_bench *b) {
  bench_problem *back = b->back.problem;
  if (back != NULL) {
    bench_matrix *m = (bench_matrix *)(uintptr_t)back->m;
    mbi_device_release(b->lab->gpu.context, b->back.x);
    mbi_device_release(b->lab->gpu.context, b->back.y);
    bench_problem_free(back);
    bench_matrix_free(m);
    free(m);
    free(back);
  }
}

/* Prints how the product with the transpose compares with the forward product. */
static void bench_describe_back(const bench_bench *b) {
  const int back = bench_named(b->cases, b->case_count, "transpose");
  const int forward = bench_named(b->cases, b->case_count, "auto");
  if (back >= 0) {
    (void)printf("transpose: %s\n", b->cases[back].about);
  }
  if (back >= 0 && forward >= 0) {
    (void)printf(
        "transpose: %.2f times auto's forward product; plan %.2f ms, forward %.2f ms\n",
        b->cases[back].median / b->cases[forward].median, 1e3 * b->cases[back].plan_seconds,
        1e3 * b->cases[forward].plan_seconds);
  }
}

#endif
