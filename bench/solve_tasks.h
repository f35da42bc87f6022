/* Runs --solve on each input: makes the systems, copies them to the GPU, lets every solver
 * solve them, and writes the results. */
#ifndef BENCH_SOLVE_TASKS_H
#define BENCH_SOLVE_TASKS_H
#include "solve_tables.h"

/* ---- The system on the GPU --------------------------------------------------------------- */

static void bench_solve_problem(bench_problem *p, const bench_matrix *m, int single) {
  int64_t k;
  memset(p, 0, sizeof *p);
  p->m = m;
  p->single = single;
  p->size = single ? sizeof(float) : sizeof(double);
  p->values = bench_allocate(m->nnz, p->size);
  BENCH_OMP(parallel for schedule(static))
  for (k = 0; k < m->nnz; k++) {
    bench_element_set(p->values, k, single, m->values[k]);
  }
}

static void bench_solve_arrays(bench_arrays *a, bench_gpu *gpu, bench_problem *p, int rows) {
  const bench_matrix *m = p->m;
  memset(a, 0, sizeof *a);
  a->problem = p;
  a->row_ptr = bench_gpu_copy_of(gpu, m->row_ptr, m->rows + 1, sizeof *m->row_ptr);
  a->col_ind = bench_gpu_copy_of(gpu, m->col_ind, m->nnz, sizeof *m->col_ind);
  a->values = bench_gpu_copy_of(gpu, p->values, m->nnz, p->size);
  if (rows) {
    int32_t *row_ind = bench_row_indices(m);
    a->row_ind = bench_gpu_copy_of(gpu, row_ind, m->nnz, sizeof *row_ind);
    free(row_ind);
  }
}

/* ---- Transposing a graph with cuSPARSE --------------------------------------------------- */

typedef struct bench_csr2csc { /* the functions of cuSPARSE */
  int (*buffer_size)(void *handle, int rows, int cols, int nnz, const void *values,
                     const void *row_ptr, const void *col_ind, void *csc_values, void *col_ptr,
                     void *row_ind, int type, int action, int base, int algorithm,
                     size_t *bytes);
  int (*convert)(void *handle, int rows, int cols, int nnz, const void *values,
                 const void *row_ptr, const void *col_ind, void *csc_values, void *col_ptr,
                 void *row_ind, int type, int action, int base, int algorithm, void *buffer);
} bench_csr2csc;

/* Returns the seconds of the second of two transpositions, or 0 if this cuSPARSE has none.
 * Leaves out scaling by out-degrees, to the rival's advantage. */
static double bench_transpose_time(bench_solve *s) {
  bench_cusparse *c = &s->lab->cusparse;
  bench_gpu *gpu = &s->lab->gpu;
  const bench_arrays *a = &s->graph;
  const bench_matrix *m = s->graph_problem.m;
  const int n = (int)m->rows, nnz = (int)m->nnz, type = s->problem.single ? 0 : 1;
  bench_csr2csc f;
  mbi_devptr values, pointers, indices;
  double seconds = 0;
  int i, good = 1;
  if (!mbi_library_function(c->library, "cusparseCsr2cscEx2_bufferSize", &f.buffer_size,
                            sizeof f.buffer_size) ||
      !mbi_library_function(c->library, "cusparseCsr2cscEx2", &f.convert, sizeof f.convert)) {
    return 0;
  }
  values = bench_gpu_allocate(gpu, m->nnz, s->problem.size);
  pointers = bench_gpu_allocate(gpu, m->rows + 1, sizeof(int32_t));
  indices = bench_gpu_allocate(gpu, m->nnz, sizeof(int32_t));
  for (i = 0; i < 2 && good; i++) {
    const double start = mbi_seconds();
    size_t bytes = 0;
    mbi_devptr buffer;
    good = f.buffer_size(c->handle, n, n, nnz, mbi_device_pointer(a->values),
                         mbi_device_pointer(a->row_ptr), mbi_device_pointer(a->col_ind),
                         mbi_device_pointer(values), mbi_device_pointer(pointers),
                         mbi_device_pointer(indices), type, 0, 0, 1, &bytes) == 0;
    buffer = bench_gpu_allocate(gpu, (int64_t)bytes, 1);
    good = good && f.convert(c->handle, n, n, nnz, mbi_device_pointer(a->values),
                             mbi_device_pointer(a->row_ptr), mbi_device_pointer(a->col_ind),
                             mbi_device_pointer(values), mbi_device_pointer(pointers),
                             mbi_device_pointer(indices), type, 0, 0, 1,
                             mbi_device_pointer(buffer)) == 0;
    bench_gpu_wait(gpu);
    mbi_device_release(gpu->context, buffer);
    seconds = mbi_seconds() - start;
  }
  mbi_device_release(gpu->context, values);
  mbi_device_release(gpu->context, pointers);
  mbi_device_release(gpu->context, indices);
  return good ? seconds : 0;
}

/* ---- When ranks have converged ----------------------------------------------------------- */

/* Opens the first rival that works. Returns 0 if none does. */
static int bench_solve_probe(bench_solve *s, bench_loop *l) {
  int algorithm;
  for (algorithm = 0; algorithm < 4; algorithm++) {
    bench_loop_create(l, s->lab, s->program, s->task, algorithm, &s->arrays);
    l->v.b = s->b;
    l->v.dangling = s->dangling_count > 0 ? s->dangling : 0;
    if (bench_loop_open(l)) {
      return 1;
    }
    bench_loop_close(l);
  }
  return 0;
}

/* Runs at most `cap` iterations. Returns ERR and stores the last change in *change. */
static double bench_rank_after(bench_solve *s, bench_loop *l, int cap, void *ranks,
                               double *change) {
  bench_loop_state state;
  s->cap = cap;
  s->tolerance = 0;
  bench_run_loop(s, l, cap, &state);
  bench_loop_fetch(s, l, ranks);
  *change = state.change;
  return bench_rank_compare(s->reference, ranks, s->problem.single, s->problem.m->rows)
      .relative;
}

/* Computes the reference and the tolerance. With --iterations, the reference is the ranks after
 * that many iterations, and there is no tolerance. Otherwise the host computes the reference,
 * starting from the ranks after 210 iterations. In f64, the tolerance then lies between the
 * changes of the first iteration after which ERR is small enough and of the one before. */
static void bench_rank_tolerance(bench_solve *s) {
  const int64_t n = s->problem.m->rows;
  void *ranks = bench_allocate(n, s->problem.size);
  double change = 0, before = 0;
  bench_loop l;
  const int fixed = s->fixed;
  const int probed = s->lab->cusparse.handle != NULL && bench_solve_probe(s, &l);
  int low = 0, high = BENCH_ERR_MOST; /* too few, enough */
  int64_t i;
  for (i = 0; i < n; i++) {
    s->reference[i] = 1.0 / (double)n;
  }
  if (probed) {
    (void)bench_rank_after(s, &l, fixed > 0 ? fixed : BENCH_ERR_MOST, ranks, &change);
    for (i = 0; i < n; i++) {
      s->reference[i] = bench_element(ranks, i, s->problem.single);
    }
  }
  if (fixed > 0) {
    if (probed) {
      bench_loop_close(&l);
    } else {
      bench_rank_steps(s->problem.m, s->marks, BENCH_DAMPING, fixed, s->reference);
    }
    s->tolerance = 0;
    free(ranks);
    return;
  }
  bench_rank_reference(s->problem.m, s->marks, BENCH_DAMPING, s->reference);
  while (probed && !s->problem.single && high - low > 1) {
    const int middle = (low + high) / 2;
    if (bench_rank_after(s, &l, middle, ranks, &change) < BENCH_ERR) {
      high = middle;
    } else {
      low = middle;
    }
  }
  s->tolerance = s->problem.single ? BENCH_RANKS_SINGLE : 1e-12;
  if (probed && !s->problem.single && low > 0) {
    (void)bench_rank_after(s, &l, low, ranks, &before);
    (void)bench_rank_after(s, &l, high, ranks, &change);
    s->tolerance = sqrt(before * change);
  }
  if (probed) {
    bench_loop_close(&l);
  }
  free(ranks);
}

/* ---- Products ---------------------------------------------------------------------------- */

/* Returns the method with this name in plans' descriptions, which must take a CSR on CUDA. */
static merbit_method bench_product_method(const char *name) {
  size_t i;
  for (i = 0; mbi_method_row(i) != NULL; i++) {
    const mbi_method *row = mbi_method_row(i);
    if (strcmp(row->name, name) == 0 && mbi_method_runs(row->number, 1) &&
        (row->takes & MBI_OF_BLOCKS) == 0 && row->number != MERBIT_METHOD_MANY) {
      return row->number;
    }
  }
  bench_die("--product: there is no method %s on CUDA that multiplies a CSR by a vector", name);
}

/* Measures merbit with each method of --product. */
static void bench_solve_products(bench_solve *s, int rounds) {
  const char *list = s->lab->options->product;
  while (*list != '\0') {
    const size_t length = strcspn(list, ",");
    char name[48], title[64];
    merbit_method method;
    (void)snprintf(name, sizeof name, "%.*s", (int)(length < 40 ? length : 40), list);
    method = bench_product_method(name);
    (void)snprintf(title, sizeof title, "by-%s", name);
    bench_solve_ours(s, rounds, method == MERBIT_METHOD_AUTO ? "merbit" : title, 0, method);
    list += length;
    list += *list == ',';
  }
}

/* ---- Tasks ------------------------------------------------------------------------------- */

/* Returns how often each system is solved: once per number in --iterations, or once. */
static int bench_solve_turns(const bench_options *o) {
  return o->iteration_counts > 0 ? o->iteration_counts : 1;
}

static void bench_solve_all(bench_solve *s, const char *title, bench_solve_sum *sum) {
  const int rounds = s->lab->options->rounds;
  const char *methods = s->lab->options->methods;
  bench_json *json = s->lab->json;
  int algorithm;
  s->count = 0;
  (void)printf("\n%s: %s, tolerance %.3g, at most %d iterations\n", title,
               s->problem.single ? "f32" : "f64", s->tolerance, s->cap);
  (void)bench_chosen(methods, "auto"); /* always measured, so it may be named */
  bench_solve_products(s, rounds);
  if (s->task != BENCH_PAGERANK && !s->problem.single && s->fixed == 0 &&
      bench_chosen(methods, "refine")) {
    bench_solve_ours(s, rounds, "merbit-refine", 1, MERBIT_METHOD_AUTO);
  }
  for (algorithm = 0; algorithm < 4 && s->lab->cusparse.handle != NULL; algorithm++) {
    if (strstr(methods, "cusparse") == NULL ||
        bench_chosen(methods, bench_cusparse_algorithms[algorithm].name)) {
      bench_solve_rival(s, algorithm, rounds);
    }
  }
  bench_json_open(json, NULL, '{');
  bench_json_text(json, "task", bench_task_names[s->task]);
  bench_json_text(json, "input", s->problem.m->name);
  bench_json_text(json, "precision", s->problem.single ? "f32" : "f64");
  bench_json_integer(json, "rows", s->problem.m->rows);
  bench_json_integer(json, "nnz", s->problem.m->nnz);
  bench_json_number(json, "tolerance", s->tolerance);
  if (s->task == BENCH_PAGERANK) {
    bench_json_number(json, "own_tolerance", s->own_tolerance);
  }
  bench_json_integer(json, "max_iterations", s->cap);
  bench_json_integer(json, "fixed_iterations", s->fixed);
  bench_json_number(json, "transpose_seconds", s->transpose_seconds);
  bench_solve_report(s);
  bench_json_close(json, '}');
  bench_solve_tally_up(s, sum);
  (void)fflush(stdout);
}

static void bench_solve_free(bench_solve *s) {
  bench_gpu *gpu = &s->lab->gpu;
  bench_arrays_destroy(&s->arrays, gpu);
  bench_arrays_destroy(&s->graph, gpu);
  mbi_device_release(gpu->context, s->b);
  mbi_device_release(gpu->context, s->dangling);
  mbi_device_release(gpu->context, s->first);
  bench_problem_free(&s->problem);
  bench_problem_free(&s->graph_problem);
  free(s->marks);
  free(s->reference);
  free(s->b_host);
}

static void bench_solve_ranks(bench_solve *s, const bench_matrix *m, int single,
                              bench_solve_sum *sum) {
  bench_gpu *gpu = &s->lab->gpu;
  const int64_t n = m->rows;
  const bench_options *o = s->lab->options;
  bench_matrix transition;
  char title[400];
  double start = mbi_seconds();
  void *first;
  int64_t i;
  s->marks = (unsigned char *)bench_allocate(n, 1);
  s->dangling_count = bench_transition(m, &transition, s->marks);
  s->reference = (double *)bench_allocate(n, sizeof *s->reference);
  bench_solve_problem(&s->problem, &transition, single);
  bench_solve_problem(&s->graph_problem, m, single);
  bench_solve_arrays(&s->arrays, gpu, &s->problem, 1);
  bench_solve_arrays(&s->graph, gpu, &s->graph_problem, 0);
  s->dangling = bench_gpu_vector(gpu, s->marks, n, 1);
  first = bench_gpu_host(gpu, n, s->problem.size);
  for (i = 0; i < n; i++) {
    bench_element_set(first, i, single, 1.0 / (double)n);
  }
  s->first = bench_gpu_vector(gpu, first, n, s->problem.size);
  for (i = 0; i < 3; i++) { /* the last one counts */
    start = mbi_seconds();
    bench_merbit_check(gpu->context, mbi_device_download(gpu->context, first, s->first,
                                                         (size_t)n * s->problem.size));
    s->fetch_seconds = mbi_seconds() - start;
  }
  bench_gpu_check(gpu, gpu->driver.host_free(first), "cuMemFreeHost");
  s->transpose_seconds = s->lab->cusparse.handle != NULL ? bench_transpose_time(s) : 0;
  (void)snprintf(title, sizeof title, "PageRank of %.300s, %lld vertices, %lld edges", m->name,
                 (long long)n, (long long)m->nnz);
  for (i = 0; i < bench_solve_turns(o); i++) {
    s->fixed = o->iterations[i];
    bench_rank_tolerance(s);
    s->cap = s->fixed > 0 ? s->fixed : o->max_iterations > 0 ? o->max_iterations : 1000;
    bench_solve_all(s, title, sum);
  }
  (void)printf(
      "whole: with the transpose, cuSPARSE's %.2f ms; ranks' way to the host, %.2f ms, "
      "is in no figure\n",
      1e3 * s->transpose_seconds, 1e3 * s->fetch_seconds);
  bench_solve_free(s);
  bench_matrix_free(&transition);
}

static void bench_solve_system(bench_solve *s, const bench_matrix *a, int single,
                               bench_solve_sum *sum) {
  bench_gpu *gpu = &s->lab->gpu;
  const bench_options *o = s->lab->options;
  double *x = (double *)bench_random_vector(a->rows, 0, bench_key(1, 20));
  void *b = bench_allocate(a->rows, single ? sizeof(float) : sizeof(double));
  char title[400];
  int64_t i;
  bench_solve_problem(&s->problem, a, single);
  bench_solve_arrays(&s->arrays, gpu, &s->problem, 1);
  s->b_host = (double *)bench_allocate(a->rows, sizeof *s->b_host);
  bench_host_product(a, x, s->b_host);
  for (i = 0; i < a->rows; i++) {
    bench_element_set(b, i, single, s->b_host[i]);
    s->b_host[i] = bench_element(b, i, single);
  }
  s->b = bench_gpu_vector(gpu, b, a->rows, s->problem.size);
  free(x);
  free(b);
  (void)snprintf(title, sizeof title, "%s on %.300s, %lld unknowns, %lld nonzeros",
                 s->task == BENCH_CG ? "CG" : "BiCGSTAB", a->name, (long long)a->rows,
                 (long long)a->nnz);
  for (i = 0; i < bench_solve_turns(o); i++) {
    s->fixed = o->iterations[i];
    s->tolerance = s->fixed > 0 ? 0 : o->tolerance > 0 ? o->tolerance : single ? 1e-5 : 1e-10;
    s->cap = s->fixed > 0 ? s->fixed : o->max_iterations > 0 ? o->max_iterations : 2000;
    bench_solve_all(s, title, sum);
  }
  bench_solve_free(s);
}

/* Runs each task on each kind of system that the options name. By default, CG gets the SPD
 * system, and BiCGSTAB ones and flow. */
static void bench_solve_input(bench_lab *lab, bench_loop_program *programs, const char *input,
                              bench_solve_sum *sum) {
  const bench_options *o = lab->options;
  const double start = mbi_seconds();
  bench_solve *s = (bench_solve *)calloc(1, sizeof *s);
  bench_matrix m;
  int task, kind, single;
  if (s == NULL) {
    bench_die("no memory for a list of solvers");
  }
  bench_load(lab->gpu.context, input, BENCH_VALUES_GENERAL, &m);
  (void)printf("\n%s: made or read in %.1f s\n", m.name, mbi_seconds() - start);
  if (m.rows != m.cols) {
    bench_die("%s is %lld x %lld; --solve takes square matrices", input, (long long)m.rows,
              (long long)m.cols);
  }
  for (task = 0; task < BENCH_TASKS; task++) {
    for (kind = 0; kind < BENCH_SYSTEMS && bench_chosen(o->solve, bench_task_names[task]);
         kind++) {
      const char *usual = task == BENCH_PAGERANK ? "spd"
                          : task == BENCH_CG     ? "spd"
                                                 : "ones,flow";
      const char *kinds = o->system != NULL && task != BENCH_PAGERANK ? o->system : usual;
      bench_matrix a;
      if (!bench_chosen(kinds, bench_system_names[kind])) {
        continue;
      }
      if (task != BENCH_PAGERANK) {
        bench_system_make(&m, (bench_system)kind, o->values == BENCH_VALUES_EQUAL, &a);
      }
      for (single = 1; single >= 0; single--) {
        if (single ? o->single : o->full) {
          memset(s, 0, sizeof *s);
          s->lab = lab;
          s->program = &programs[single];
          s->task = (bench_task)task;
          if (task == BENCH_PAGERANK) {
            bench_solve_ranks(s, &m, single, sum);
          } else {
            bench_solve_system(s, &a, single, sum);
          }
        }
      }
      if (task != BENCH_PAGERANK) {
        bench_matrix_free(&a);
      }
    }
  }
  bench_matrix_free(&m);
  free(s);
}

/* Solves the systems of all inputs. Returns the number of our runs that were wrong. */
static int bench_solve_inputs(bench_lab *lab) {
  const bench_options *o = lab->options;
  bench_loop_program programs[2];
  bench_solve_sum sum;
  int i, single, wrong;
  memset(&sum, 0, sizeof sum);
  memset(programs, 0, sizeof programs);
  for (single = 0; single < 2; single++) {
    if ((single ? o->single : o->full) && lab->cusparse.handle != NULL) {
      bench_merbit_check(lab->gpu.context,
                         bench_loop_load(lab->gpu.context, single, &programs[single]));
    }
  }
  bench_json_open(lab->json, "results", '[');
  for (i = 0; i < o->input_count; i++) {
    bench_solve_input(lab, programs, o->inputs[i], &sum);
    bench_check_names("--solve", o->solve);
    bench_check_methods(o->methods);
  }
  bench_json_close(lab->json, ']');
  wrong = bench_solve_summary(&sum, lab->json);
  for (single = 0; single < 2; single++) {
    if (programs[single].module != NULL) {
      (void)lab->gpu.context->device.driver.module_unload(programs[single].module);
    }
  }
  return wrong;
}

#endif
