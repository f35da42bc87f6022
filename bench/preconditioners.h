/* bench --solve LIST --preconditioner LIST: solvers with each kind of preconditioner, for
 * systems from partial differential equations and graphs, on the CPU or the GPU. A and the
 * vectors are in the memory of that side. */
#ifndef BENCH_PRECONDITIONERS_H
#define BENCH_PRECONDITIONERS_H
#include "gpu.h"
#include "inputs.h"
#include "loop_amg.h"
#include "pde.h"
#include "systems.h"
#include <time.h>

static const char *const bench_precondition_usual[] = {
    "pde:poisson2d:1000", "pde:poisson3d:128", "pde:poisson27:100", "pde:weak2d:1000",
    "pde:weak3d:128",     "pde:weak3d2:128",   "pde:cells:128",     "pde:random2d:1000",
    "pde:random3d:128",   "pde:elastic:40",    "pde:streets:1000",  "gen:rmat:5M",
    "gen:kmer:5M"};

/* ---- Runs -------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  merbit_preconditioner_kind kind;
  int single;
} bench_preconditioner_list[] = {{"none", MERBIT_PRECONDITIONER_NONE, 0},
                                 {"jacobi", MERBIT_PRECONDITIONER_JACOBI, 0},
                                 {"block-jacobi", MERBIT_PRECONDITIONER_BLOCK_JACOBI, 0},
                                 {"chebyshev", MERBIT_PRECONDITIONER_CHEBYSHEV, 0},
                                 {"fsai", MERBIT_PRECONDITIONER_FSAI, 0},
                                 {"amg", MERBIT_PRECONDITIONER_AMG, 0},
                                 {"amg-single", MERBIT_PRECONDITIONER_AMG, 1}};
#define BENCH_PRECONDITIONERS                                                                  \
  ((int)(sizeof bench_preconditioner_list / sizeof bench_preconditioner_list[0]))
static const struct {
  const char *name;
  merbit_solver_method method;
} bench_preconditioned[] = {{"cg", MERBIT_SOLVER_CG},
                            {"bicgstab", MERBIT_SOLVER_BICGSTAB},
                            {"gmres", MERBIT_SOLVER_GMRES}};
#define BENCH_PRECONDITIONED                                                                   \
  ((int)(sizeof bench_preconditioned / sizeof bench_preconditioned[0]))

/* A x = b in the memory where the solver computes: the host's arrays, or copies on the GPU. */
typedef struct bench_equations {
  merbit_memory memory;
  merbit_view view;
  const void *b;
  void *x;
} bench_equations;

static const void *bench_equations_array(merbit_context *context, int cuda, const void *source,
                                         int64_t count, size_t size) {
  bench_gpu gpu;
  gpu.context = context;
  return cuda ? mbi_device_pointer(bench_gpu_copy_of(&gpu, source, count, size)) : source;
}

static void bench_equations_create(bench_equations *e, merbit_context *context, int cuda,
                                   const bench_matrix *a, const double *b, double *x) {
  e->memory = cuda ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
  if (cuda) {
    bench_merbit_check(context, mbi_device_enter(context));
  }
  e->view = merbit_csr(
      a->rows, a->cols, a->nnz,
      bench_equations_array(context, cuda, a->row_ptr, a->rows + 1, sizeof *a->row_ptr),
      bench_equations_array(context, cuda, a->col_ind, a->nnz, sizeof *a->col_ind),
      bench_equations_array(context, cuda, a->values, a->nnz, sizeof *a->values));
  e->view.memory = e->memory;
  e->b = bench_equations_array(context, cuda, b, a->rows, sizeof *b);
  e->x = (void *)bench_equations_array(context, cuda, x, a->rows, sizeof *x);
  if (cuda) {
    mbi_device_leave(context);
  }
}

/* Copies the solution to the host's x. */
static void bench_equations_answer(const bench_equations *e, merbit_context *context,
                                   double *x) {
  if (e->memory == MERBIT_MEMORY_DEVICE) {
    bench_merbit_check(context, mbi_device_enter(context));
    bench_merbit_check(context, mbi_device_download(context, x, mbi_device_address(e->x),
                                                    (size_t)e->view.rows * sizeof *x));
    mbi_device_leave(context);
  }
}

static void bench_equations_destroy(bench_equations *e, merbit_context *context) {
  if (e->memory == MERBIT_MEMORY_DEVICE && mbi_device_enter(context) == MERBIT_OK) {
    mbi_device_release(context, mbi_device_address(e->view.row_ptr));
    mbi_device_release(context, mbi_device_address(e->view.col_ind));
    mbi_device_release(context, mbi_device_address(e->view.values));
    mbi_device_release(context, mbi_device_address(e->b));
    mbi_device_release(context, mbi_device_address(e->x));
    mbi_device_leave(context);
  }
}

typedef struct bench_precondition_seconds {
  double setup, solve;
  double update;    /* NAN: unknown */
  double processor; /* of all threads in set-up and solve; other programs disturb it less */
} bench_precondition_seconds;

static double bench_precondition_tolerance(const bench_options *o) {
  return o->tolerance > 0 ? o->tolerance : 1e-8;
}

static int bench_precondition_cap(const bench_options *o) {
  return o->max_iterations > 0 ? o->max_iterations : 20000;
}

/* Tells AMG the block size and near-null-space of a system, if they are known. */
static void bench_precondition_near(const double *near, merbit_preconditioner_desc *desc) {
  if (near != NULL) {
    desc->block_size = 3;
    desc->near_nullspace = near;
    desc->near_nullspace_count = 6;
  }
}

/* Solves once, then updates the solver with the same values. Returns 0 if either failed. */
static int bench_precondition_run(merbit_context *context, const bench_options *o,
                                  const bench_equations *e, const double *near,
                                  merbit_solver_method method, int listed,
                                  bench_precondition_seconds *seconds,
                                  merbit_solver_result *result, char *about, size_t size) {
  const merbit_preconditioner_kind kind = bench_preconditioner_list[listed].kind;
  merbit_preconditioner_desc options;
  merbit_solver_desc desc;
  merbit_solver *solver = NULL;
  merbit_status status;
  const clock_t processor = clock();
  double start = mbi_seconds();
  memset(&options, 0, sizeof options);
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  desc.tolerance = bench_precondition_tolerance(o);
  desc.max_iterations = bench_precondition_cap(o);
  desc.preconditioner = kind;
  desc.precondition = kind != MERBIT_PRECONDITIONER_NONE ? &options : NULL;
  options.single = bench_preconditioner_list[listed].single;
  if (kind == MERBIT_PRECONDITIONER_AMG) {
    bench_precondition_near(near, &options);
  }
  status = merbit_solver_create(context, &e->view, &desc, &solver);
  seconds->setup = mbi_seconds() - start;
  start = mbi_seconds();
  if (status == MERBIT_OK) {
    status = merbit_solver_solve(solver, e->b, e->x, 0, NULL, 0, result);
  }
  seconds->solve = mbi_seconds() - start;
  seconds->processor = (double)(clock() - processor) / (double)CLOCKS_PER_SEC;
  start = mbi_seconds();
  if (status == MERBIT_OK) {
    status = merbit_solver_update_values(solver, e->view.values, e->memory);
  }
  seconds->update = mbi_seconds() - start;
  if (status != MERBIT_OK) {
    (void)merbit_last_error(context, about, size);
  } else {
    (void)snprintf(about, size, "%s", result->description);
  }
  merbit_solver_destroy(solver);
  return status == MERBIT_OK;
}

/* The rival: cuSPARSE and kernels for AMG's cycle. */
typedef struct bench_precondition_rival {
  bench_lab lab;
  bench_loop_program program;
} bench_precondition_rival;
#define BENCH_PRECONDITION_RIVAL "cusparse-amg"

/* Opens the rival. Returns 0 if GPU or cuSPARSE are missing or --preconditioner lacks it. */
static int bench_precondition_rival_open(bench_precondition_rival *r, merbit_context *context,
                                         int cuda, const bench_options *o, bench_json *json) {
  memset(r, 0, sizeof *r);
  if (!cuda || !bench_chosen(o->preconditioner, BENCH_PRECONDITION_RIVAL)) {
    return 0;
  }
  bench_gpu_open(&r->lab.gpu, context);
  bench_cusparse_open(&r->lab.cusparse, &r->lab.gpu);
  bench_cusparse_describe(&r->lab.cusparse, json);
  if (r->lab.cusparse.handle == NULL) {
    bench_gpu_close(&r->lab.gpu);
    return 0;
  }
  bench_merbit_check(context, bench_loop_load(context, 0, &r->program));
  return 1;
}

static void bench_precondition_rival_close(bench_precondition_rival *r) {
  (void)r->lab.gpu.context->device.driver.module_unload(r->program.module);
  bench_cusparse_close(&r->lab.cusparse);
  bench_gpu_close(&r->lab.gpu);
}

/* Solves with an opened loop. x is on the host. */
static void bench_precondition_rival_solve(bench_amg *s, const bench_options *o,
                                           bench_precondition_seconds *seconds,
                                           merbit_solver_result *result, double *x) {
  const double start = mbi_seconds();
  bench_loop_state state;
  memset(&state, 0, sizeof state);
  state.tolerance = bench_precondition_tolerance(o);
  state.cap = bench_precondition_cap(o);
  bench_loop_run(&s->loop, &state, result->iterations);
  seconds->solve = mbi_seconds() - start;
  result->iterations = state.iterations;
  result->stop = (merbit_stop)state.stop;
  bench_merbit_check(s->loop.gpu->context,
                     mbi_device_download(s->loop.gpu->context, x, s->loop.v.x,
                                         (size_t)s->loop.v.n * sizeof *x));
}

/* Lets merbit set up AMG, then solves once over cuSPARSE. result->iterations is what an earlier
 * run took, or 0. The set-up time includes cuSPARSE's preparations, but not the choice of its
 * algorithms. Returns 0 after a failure. */
static int bench_precondition_rival_run(bench_precondition_rival *r, const bench_options *o,
                                        const bench_equations *e, const bench_matrix *a,
                                        const double *b, const double *near,
                                        bench_precondition_seconds *seconds,
                                        merbit_solver_result *result, double *x, char *about,
                                        size_t size) {
  bench_gpu *gpu = &r->lab.gpu;
  bench_amg *s = (bench_amg *)bench_allocate(1, sizeof *s);
  const mbi_devptr padded = bench_gpu_vector(gpu, b, a->rows, sizeof *b);
  const clock_t processor = clock();
  const double start = mbi_seconds();
  merbit_preconditioner_desc desc;
  merbit_preconditioner *p = NULL;
  bench_problem problem;
  bench_arrays arrays;
  int good = 0;
  memset(&desc, 0, sizeof desc);
  memset(&problem, 0, sizeof problem);
  memset(&arrays, 0, sizeof arrays);
  problem.m = a;
  problem.size = sizeof(double);
  arrays.problem = &problem;
  arrays.row_ptr = mbi_device_address(e->view.row_ptr);
  arrays.col_ind = mbi_device_address(e->view.col_ind);
  arrays.values = mbi_device_address(e->view.values);
  desc.kind = MERBIT_PRECONDITIONER_AMG;
  bench_precondition_near(near, &desc);
  if (merbit_preconditioner_create(gpu->context, &e->view, &desc, &p) != MERBIT_OK) {
    (void)merbit_last_error(gpu->context, about, size);
  } else if (((const mbi_amg *)p->state)->gpu == NULL) {
    (void)snprintf(about, size, "the hierarchy is not in GPU memory");
  } else {
    good = bench_amg_open(s, &r->lab, &r->program, &arrays, p, padded);
    seconds->setup = mbi_seconds() - start - s->trial_seconds;
    if (good) {
      bench_precondition_rival_solve(s, o, seconds, result, x);
      good = !s->loop.failed;
    }
    if (good) {
      (void)snprintf(about, size, "%d level%s, %s; %d products by CSR's second algorithm",
                     s->count, s->count == 1 ? "" : "s",
                     s->loop.graphs[0] != NULL ? "recorded" : "launched plainly", s->second);
    } else {
      (void)snprintf(about, size, "%s",
                     s->loop.failed ? "a product failed" : s->loop.rival.failure);
    }
    bench_amg_close(s);
  }
  seconds->processor = (double)(clock() - processor) / (double)CLOCKS_PER_SEC;
  seconds->update = NAN;
  merbit_preconditioner_destroy(p);
  mbi_device_release(gpu->context, padded);
  free(s);
  return good;
}

static int bench_precondition_by_seconds(const void *a, const void *b) {
  const bench_precondition_seconds *l = (const bench_precondition_seconds *)a;
  const bench_precondition_seconds *r = (const bench_precondition_seconds *)b;
  const double left = l->setup + l->solve, right = r->setup + r->solve;
  return (left > right) - (left < right);
}

/* Writes a line of the table, and to the JSON file. `median` has the median seconds. */
static void bench_precondition_report(const bench_matrix *a, const char *solver, int cuda,
                                      const char *name,
                                      const bench_precondition_seconds *median,
                                      const merbit_solver_result *result, double residual,
                                      const char *about, bench_json *json) {
  char update[24] = "-";
  if (isfinite(median->update)) {
    (void)snprintf(update, sizeof update, "%.4f", median->update);
  }
  (void)printf("%-14s %10d %10.4f %10.4f %10.4f %10s %11.3f  %.1e%s\n", name,
               result->iterations, median->setup, median->solve, median->setup + median->solve,
               update, median->processor, residual,
               result->stop == MERBIT_STOP_CONVERGED ? "" : ", not converged");
  (void)fflush(stdout);
  bench_json_open(json, NULL, '{');
  bench_json_text(json, "task", "preconditioners");
  bench_json_text(json, "input", a->name);
  bench_json_text(json, "precision", "f64");
  bench_json_integer(json, "rows", a->rows);
  bench_json_integer(json, "nnz", a->nnz);
  bench_json_text(json, "solver", solver);
  bench_json_text(json, "preconditioner", name);
  bench_json_integer(json, "iterations", result->iterations);
  bench_json_integer(json, "stop", (int)result->stop);
  bench_json_text(json, "memory", cuda ? "device" : "host");
  bench_json_number(json, "setup_seconds", median->setup);
  bench_json_number(json, "solve_seconds", median->solve);
  bench_json_number(json, "update_seconds", median->update);
  bench_json_number(json, "processor_seconds", median->processor);
  bench_json_number(json, "residual", residual);
  bench_json_text(json, "about", about);
  bench_json_close(json, '}');
}

/* Solves one system with each kind of preconditioner, and with the rival unless that is NULL.
 * Returns the number of wrong answers. */
static int bench_precondition_system(merbit_context *context, int cuda, const bench_options *o,
                                     const bench_matrix *a, const double *near, int solver,
                                     bench_precondition_rival *rival, bench_json *json) {
  const int kinds = BENCH_PRECONDITIONERS;
  const char *solver_name = bench_preconditioned[solver].name;
  double *answer = (double *)bench_random_vector(a->rows, 0, bench_key(1, 20));
  double *b = (double *)bench_allocate(a->rows, sizeof *b);
  double *x = (double *)bench_allocate(a->rows, sizeof *x);
  bench_equations e;
  int kind, i, wrong = 0;
  bench_host_product(a, answer, b);
  bench_equations_create(&e, context, cuda, a, b, x);
  (void)printf("\n%s by %s: %lld unknowns, %lld nonzeros\n", a->name, solver_name,
               (long long)a->rows, (long long)a->nnz);
  (void)printf("%-14s %10s %10s %10s %10s %10s %11s  %s\n", "", "iterations", "set-up s",
               "solve s", "total s", "update s", "processor s", "||b - A x|| / ||b||");
  for (kind = 0; kind < kinds + (rival != NULL); kind++) {
    const char *name =
        kind < kinds ? bench_preconditioner_list[kind].name : BENCH_PRECONDITION_RIVAL;
    bench_precondition_seconds seconds[BENCH_MOST_ROUNDS];
    double residual;
    merbit_solver_result result;
    char about[MERBIT_MESSAGE_SIZE] = "";
    int good = 1;
    if (kind < kinds && !bench_chosen(o->preconditioner, name)) {
      continue;
    }
    memset(&result, 0, sizeof result);
    for (i = 0; i < o->rounds && good; i++) {
      good = kind == kinds ? bench_precondition_rival_run(rival, o, &e, a, b, near, &seconds[i],
                                                          &result, x, about, sizeof about)
                           : bench_precondition_run(context, o, &e, near,
                                                    bench_preconditioned[solver].method, kind,
                                                    &seconds[i], &result, about, sizeof about);
    }
    if (!good) {
      (void)printf("%-14s %s\n", name, about);
      continue;
    }
    qsort(seconds, (size_t)o->rounds, sizeof seconds[0], bench_precondition_by_seconds);
    if (kind < kinds) {
      bench_equations_answer(&e, context, x);
    }
    residual = bench_true_residual(a, b, x);
    wrong += result.stop == MERBIT_STOP_CONVERGED && !(residual < 1e-6);
    bench_precondition_report(a, solver_name, cuda, name, &seconds[o->rounds / 2], &result,
                              residual, about, json);
  }
  bench_equations_destroy(&e, context);
  free(answer);
  free(b);
  free(x);
  return wrong;
}

/* Makes an input's system. A file's matrix is used as it is, unless --system says otherwise. A
 * generated graph becomes an SPD system for CG, otherwise one of convection and diffusion. */
static void bench_precondition_input(merbit_context *context, const bench_options *o,
                                     const char *spec, int solver, bench_matrix *m,
                                     double **near) {
  int system = strncmp(spec, "gen:", 4) != 0                             ? BENCH_SYSTEM_GIVEN
               : bench_preconditioned[solver].method == MERBIT_SOLVER_CG ? BENCH_SYSTEM_SPD
                                                                         : BENCH_SYSTEM_FLOW;
  bench_matrix a;
  if (bench_pde_find(spec, m, near)) {
    return;
  }
  if (o->system != NULL) {
    system = BENCH_SYSTEMS;
    while (system > 0 && strcmp(o->system, bench_system_names[system - 1]) != 0) {
      system--;
    }
    if (system-- == 0) {
      bench_die("--system %s: with --preconditioner give one of spd, ones, flow, given",
                o->system);
    }
  }
  bench_load(context, spec, BENCH_VALUES_GENERAL, &a);
  if (a.rows != a.cols) {
    bench_die("%s is %lld x %lld; --solve takes square matrices", spec, (long long)a.rows,
              (long long)a.cols);
  }
  bench_system_make(&a, (bench_system)system, o->values == BENCH_VALUES_EQUAL, m);
  bench_matrix_free(&a);
}

/* Runs all solvers with all kinds on all systems. Returns the number of wrong answers. */
static int bench_precondition_inputs(merbit_context *context, int cuda, const bench_options *o,
                                     bench_json *json) {
  bench_precondition_rival rival;
  const int rivals = bench_precondition_rival_open(&rival, context, cuda, o, json);
  int i, solver, wrong = 0;
  bench_json_open(json, "results", '[');
  for (i = 0; i < o->input_count; i++) {
    for (solver = 0; solver < BENCH_PRECONDITIONED; solver++) {
      bench_matrix m;
      double *near;
      if (!bench_chosen(o->solve, bench_preconditioned[solver].name)) {
        continue;
      }
      bench_precondition_input(context, o, o->inputs[i], solver, &m, &near);
      wrong += bench_precondition_system(
          context, cuda, o, &m, near, solver,
          rivals && bench_preconditioned[solver].method == MERBIT_SOLVER_CG ? &rival : NULL,
          json);
      bench_matrix_free(&m);
      free(near);
    }
    bench_check_names("--solve", o->solve);
    bench_check_names("--preconditioner", o->preconditioner);
  }
  bench_json_close(json, ']');
  if (rivals) {
    bench_precondition_rival_close(&rival);
  }
  return wrong;
}

/* Writes the first input, or the system that --system makes of it, as a Matrix Market file for
 * other programs. */
static void bench_write(merbit_context *context, const bench_options *o) {
  bench_matrix m;
  merbit_view view;
  char message[MERBIT_MESSAGE_SIZE];
  double *near;
  if (o->system != NULL) {
    bench_precondition_input(context, o, o->inputs[0], 0, &m, &near);
  } else if (!bench_pde_find(o->inputs[0], &m, &near)) {
    bench_load(context, o->inputs[0], BENCH_VALUES_GENERAL, &m);
  }
  view = merbit_csr(m.rows, m.cols, m.nnz, m.row_ptr, m.col_ind, m.values);
  if (merbit_matrix_write_file(context, &view, o->write) != MERBIT_OK) {
    (void)merbit_last_error(context, message, sizeof message);
    bench_die("%s", message);
  }
  bench_matrix_free(&m);
  free(near);
}

#endif
