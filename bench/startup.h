/* Measures the first product with an empty and with a warm cubin cache, in this process and in
 * a fresh one. Also tests that a product can be captured in a CUDA graph. */
#ifndef BENCH_STARTUP_H
#define BENCH_STARTUP_H
#include "directory.h"
#include "gpu.h"
#include <sys/wait.h>

#define BENCH_STARTUP_INPUT "gen:uniform:1M"

typedef struct bench_start {
  double context, first, plan, compile, load; /* seconds; first: plan and first product */
  int cached, good;
} bench_start;

/* Measures a new context with the cache in `directory`, a plan of host arrays, and one product
 * whose result is copied to the host. */
static bench_start bench_start_once(bench_problem *p, const char *directory) {
  const bench_matrix *m = p->m;
  const size_t x_bytes = (size_t)m->cols * p->size, y_bytes = (size_t)m->rows * p->size;
  merbit_view view = merbit_csr(m->rows, m->cols, m->nnz, m->row_ptr, m->col_ind, p->values);
  merbit_context_desc desc;
  merbit_context *context = NULL;
  merbit_buffer *x = NULL, *y = NULL;
  merbit_plan *plan = NULL;
  merbit_plan_info info;
  merbit_error error;
  bench_start start;
  void *result = bench_allocate(m->rows, p->size);
  double begin = mbi_seconds();
  memset(&start, 0, sizeof start);
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.cache_dir = directory;
  view.value_type = p->single ? MERBIT_F32 : MERBIT_F64;
  if (merbit_context_create(&desc, &context, &error) != MERBIT_OK) {
    bench_die("%s", error.message);
  }
  start.context = mbi_seconds() - begin;
  bench_merbit_check(context, merbit_buffer_create(context, x_bytes, &x));
  bench_merbit_check(context, merbit_buffer_create(context, y_bytes, &y));
  bench_merbit_check(context, merbit_buffer_upload(x, 0, p->x, x_bytes));
  begin = mbi_seconds();
  bench_merbit_check(context, merbit_plan_create(context, &view, NULL, &plan));
  bench_merbit_check(context, merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(x), NULL,
                                          merbit_buffer_pointer(y), NULL));
  bench_merbit_check(context, merbit_buffer_download(y, 0, result, y_bytes));
  start.first = mbi_seconds() - begin;
  bench_merbit_check(context, merbit_plan_get_info(plan, &info));
  start.plan = info.plan_seconds;
  start.compile = info.compile_seconds;
  start.load = info.load_seconds;
  start.cached = info.cubin_from_cache;
  start.good = bench_verdict_good(p, bench_compare(p, 1.0, 0.0, result));
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(x);
  merbit_buffer_destroy(y);
  merbit_context_destroy(context);
  free(result);
  return start;
}

static void bench_startup_problem(bench_matrix *m, bench_problem *p) {
  bench_generate(BENCH_STARTUP_INPUT, m);
  bench_problem_create(p, m, 1);
}

/* Runs the hidden option --startup DIR: prints a line of numbers. */
static int bench_startup_child(const char *directory) {
  bench_matrix m;
  bench_problem p;
  bench_start s;
  bench_startup_problem(&m, &p);
  s = bench_start_once(&p, directory);
  (void)printf("%.9g %.9g %.9g %.9g %.9g %d %d\n", s.context, s.first, s.plan, s.compile,
               s.load, s.cached, s.good);
  bench_problem_free(&p);
  bench_matrix_free(&m);
  return 0;
}

/* Measures in a new process of this program, which has not loaded anything yet. */
static bench_start bench_start_process(const char *directory) {
  bench_start s;
  char line[512] = "";
  int ends[2], status = 0, read_ok;
  pid_t child;
  FILE *answer;
  memset(&s, 0, sizeof s);
  if (pipe(ends) != 0 || (child = fork()) < 0) {
    bench_die("no child process can be started: %s", strerror(errno));
  }
  if (child == 0) {
    if (dup2(ends[1], STDOUT_FILENO) >= 0) {
      (void)close(ends[0]);
      (void)close(ends[1]);
      (void)execl("/proc/self/exe", "bench", "--startup", directory, (char *)NULL);
    }
    _exit(127);
  }
  (void)close(ends[1]);
  answer = fdopen(ends[0], "r");
  read_ok = answer != NULL && fgets(line, sizeof line, answer) != NULL;
  if (answer != NULL) {
    (void)fclose(answer);
  }
  (void)waitpid(child, &status, 0);
  if (!read_ok || status != 0 ||
      sscanf(line, "%lf %lf %lf %lf %lf %d %d", &s.context, &s.first, &s.plan, &s.compile,
             &s.load, &s.cached, &s.good) != 7) {
    bench_die("the child process of the start-up measurement failed (status %d)", status);
  }
  return s;
}

/* ---- CUDA graphs ------------------------------------------------------------------------- */

/* Replays a captured product with ten vectors. Returns what went wrong, or NULL. */
static const char *bench_graph_replay(bench_gpu *gpu, bench_arrays *a, void *graph_exec) {
  bench_problem *p = a->problem;
  const size_t x_bytes = (size_t)p->m->cols * p->size, y_bytes = (size_t)p->m->rows * p->size;
  void *y = bench_allocate(p->m->rows, p->size);
  const char *failure = NULL;
  uint64_t replay;
  for (replay = 0; replay < 10 && failure == NULL; replay++) {
    free(p->x);
    p->x = bench_random_vector(p->m->cols, p->single, bench_key(replay, 22));
    bench_reference(p);
    bench_merbit_check(gpu->context, mbi_device_upload(gpu->context, a->x, p->x, x_bytes));
    bench_gpu_fill(gpu, a->y, 0xff, y_bytes);
    if (gpu->driver.graph_launch(graph_exec, gpu->stream) != 0) {
      failure = "cuGraphLaunch failed";
    } else {
      bench_gpu_wait(gpu);
      bench_merbit_check(gpu->context, mbi_device_download(gpu->context, y, a->y, y_bytes));
      failure =
          bench_verdict_good(p, bench_compare(p, 1.0, 0.0, y)) ? NULL : "a replay is wrong";
    }
  }
  free(y);
  return failure;
}

/* Captures a product before the plan has ever multiplied, so that no earlier call can have
 * prepared anything. Returns what went wrong, or NULL. */
static const char *bench_graph_capture(bench_gpu *gpu, bench_arrays *a, merbit_plan *plan) {
  merbit_workspace *workspace = NULL;
  void *graph = NULL, *graph_exec = NULL;
  const char *failure = NULL;
  merbit_status status;
  bench_merbit_check(gpu->context, merbit_workspace_create(plan, &workspace));
  bench_gpu_check(gpu, gpu->driver.begin_capture(gpu->stream, BENCH_CAPTURE_GLOBAL),
                  "cuStreamBeginCapture");
  status = merbit_spmv(plan, workspace, NULL, mbi_device_pointer(a->x), NULL,
                       mbi_device_pointer(a->y), gpu->stream);
  if (gpu->driver.end_capture(gpu->stream, &graph) != 0 || graph == NULL) {
    failure = "cuStreamEndCapture failed: the product did what a capture forbids";
  } else if (status != MERBIT_OK) {
    failure = "merbit_spmv failed while it was captured";
  } else if (gpu->driver.graph_instantiate(&graph_exec, graph, 0) != 0) {
    failure = "cuGraphInstantiate failed";
  } else {
    failure = bench_graph_replay(gpu, a, graph_exec);
  }
  if (graph_exec != NULL) {
    (void)gpu->driver.graph_exec_destroy(graph_exec);
  }
  if (graph != NULL) {
    (void)gpu->driver.graph_destroy(graph);
  }
  merbit_workspace_destroy(workspace);
  return failure;
}

static int bench_graph(bench_gpu *gpu, bench_problem *p, bench_json *json) {
  bench_arrays a;
  merbit_plan *plan = NULL;
  merbit_view view;
  const char *failure;
  bench_arrays_create(&a, gpu, p);
  view = bench_device_view(&a);
  bench_merbit_check(gpu->context, merbit_plan_create(gpu->context, &view, NULL, &plan));
  failure = bench_graph_capture(gpu, &a, plan);
  (void)printf("graph capture: %s\n", failure != NULL ? failure : "ok");
  bench_json_text(json, "graph_capture", failure != NULL ? failure : "ok");
  merbit_plan_destroy(plan);
  bench_arrays_destroy(&a, gpu);
  return failure == NULL;
}

/* ---- The report -------------------------------------------------------------------------- */

static int bench_start_report(const char *name, bench_start s, int cached, bench_json *json) {
  const int good = s.good && s.cached == cached;
  (void)printf("%-36s %9.1f %9.1f %9.1f %9.1f %9.2f  %s\n", name, 1e3 * s.context,
               1e3 * s.first, 1e3 * s.plan, 1e3 * s.compile, 1e3 * s.load,
               !s.good              ? "WRONG RESULT"
               : s.cached != cached ? "NOT FROM THE CACHE AS EXPECTED"
                                    : "ok");
  bench_json_open(json, NULL, '{');
  bench_json_text(json, "name", name);
  bench_json_number(json, "context_seconds", s.context);
  bench_json_number(json, "first_product_seconds", s.first);
  bench_json_number(json, "plan_seconds", s.plan);
  bench_json_number(json, "compile_seconds", s.compile);
  bench_json_number(json, "load_seconds", s.load);
  bench_json_integer(json, "from_cache", s.cached);
  bench_json_integer(json, "verified", s.good);
  bench_json_close(json, '}');
  return good;
}

/* Measures the start-up. Returns 0 if a result was wrong or a cache did not serve. */
static int bench_startup(bench_gpu *gpu, bench_json *json) {
  const char *here = bench_directory(), *there = bench_directory();
  bench_matrix m;
  bench_problem p;
  int good = 1;
  bench_startup_problem(&m, &p);
  (void)printf(
      "\nstart-up, %s, f32, from host arrays; ms. first: from merbit_plan_create to the first "
      "result on the host\n%-36s %9s %9s %9s %9s %9s\n",
      m.name, "", "context", "first", "plan", "compile", "load");
  bench_json_open(json, "startup", '[');
  good &= bench_start_report("fresh process, empty cache", bench_start_process(there), 0, json);
  good &= bench_start_report("fresh process, warm cache", bench_start_process(there), 1, json);
  good &= bench_start_report("this process, empty cache", bench_start_once(&p, here), 0, json);
  good &= bench_start_report("this process, warm cache", bench_start_once(&p, here), 1, json);
  bench_json_close(json, ']');
  good &= bench_graph(gpu, &p, json);
  bench_problem_free(&p);
  bench_matrix_free(&m);
  return good;
}

#endif
