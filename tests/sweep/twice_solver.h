/* A solver used repeatedly, compared with a new one. Include merbit.h and cmocka.h first. */
#ifndef TEST_SWEEP_TWICE_SOLVER_H
#define TEST_SWEEP_TWICE_SOLVER_H
#include "solve/core/solver_reference.h"
#include "sweep/provoke.h"

enum { HISTORY = 2000, MOST_UNKNOWNS = 200 };

typedef struct system_of { /* a grid's equations, scaled; arrays in the view's memory */
  linear grid;
  int single, device, symmetric;
  double *scaled; /* the current values */
  merbit_view view;
  merbit_buffer *buffers[3];
} system_of;

typedef struct answer {
  double x[MOST_UNKNOWNS], history[HISTORY]; /* x of either type */
  merbit_solver_result result;
} answer;

/* Copies numbers in the system's type. */
static void system_store(const system_of *s, const double *from, void *to, int64_t count) {
  int64_t i;
  for (i = 0; i < count; i++) {
    products_set(to, i, from[i], s->single ? MERBIT_F32 : MERBIT_F64);
  }
}

/* Makes new values with the same structure: rows and columns scaled alike. */
static void system_scale(system_of *s, uint64_t *random) {
  double scale[MOST_UNKNOWNS];
  int32_t row, k;
  for (row = 0; row < s->grid.n; row++) {
    scale[row] = 1.5 + 0.5 * test_uniform(random);
  }
  for (row = 0; row < s->grid.n; row++) {
    for (k = s->grid.row_ptr[row]; k < s->grid.row_ptr[row + 1]; k++) {
      s->scaled[k] = s->grid.values[k] * scale[row] * scale[s->grid.col_ind[k]];
    }
  }
}

static void system_make(system_of *s, merbit_context *context, double wind, uint64_t *random) {
  const size_t size = (s->single = (int)test_below(random, 3) == 0) ? 4 : 8;
  void *values;
  memset(s->buffers, 0, sizeof s->buffers);
  s->symmetric = wind == 0;
  s->grid = linear_grid((int32_t)(3 + test_below(random, 8)), wind, 1.2, 0);
  s->scaled = (double *)test_allocate(s->grid.nnz, sizeof(double));
  system_scale(s, random);
  values = test_allocate(s->grid.nnz, size);
  system_store(s, s->scaled, values, s->grid.nnz);
  s->view =
      merbit_csr(s->grid.n, s->grid.n, s->grid.nnz, s->grid.row_ptr, s->grid.col_ind, values);
  s->view.value_type = s->single ? MERBIT_F32 : MERBIT_F64;
  s->device = sweep.cuda && test_below(random, 2);
  if (s->device) {
    s->view.row_ptr =
        products_move(context, s->view.row_ptr, (size_t)(s->grid.n + 1) * 4, &s->buffers[0]);
    s->view.col_ind =
        products_move(context, s->view.col_ind, (size_t)s->grid.nnz * 4, &s->buffers[1]);
    s->view.values = products_move(context, values, (size_t)s->grid.nnz * size, &s->buffers[2]);
    s->view.memory = MERBIT_MEMORY_DEVICE;
    free(values);
  }
}

static void system_free(system_of *s) {
  int i;
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(s->buffers[i]);
  }
  if (!s->device) {
    free((void *)(uintptr_t)s->view.values);
  }
  free(s->scaled);
  linear_free(&s->grid);
}

static int apply_half(void *user, const void *r, void *z, int64_t n, void *stream) {
  int64_t i;
  (void)stream;
  for (i = 0; i < n; i++) {
    if (*(const int *)user) {
      ((float *)z)[i] = 0.5f * ((const float *)r)[i];
    } else {
      ((double *)z)[i] = 0.5 * ((const double *)r)[i];
    }
  }
  return 0;
}

static int cancel_at; /* of the progress callback: calls before it cancels; -1: never */

static int cancel(void *user, int iteration, double change, double seconds) {
  (void)user;
  (void)iteration;
  (void)change;
  (void)seconds;
  return cancel_at >= 0 && cancel_at-- == 0;
}

/* Makes a descriptor. Multigrid is left out: a used one keeps the aggregates of its first
 * values. */
static void solver_desc_make(merbit_solver_desc *d, system_of *s, uint64_t *random) {
  static const merbit_preconditioner_kind kinds[] = {
      MERBIT_PRECONDITIONER_NONE,         MERBIT_PRECONDITIONER_JACOBI,
      MERBIT_PRECONDITIONER_BLOCK_JACOBI, MERBIT_PRECONDITIONER_CHEBYSHEV,
      MERBIT_PRECONDITIONER_FSAI,         MERBIT_PRECONDITIONER_CALLBACK};
  int kind = (int)test_below(random, sweep.cuda ? 5 : 6);
  kind = kind == 3 || kind == 4 ? (s->symmetric ? kind : 1) : kind;
  memset(d, 0, sizeof *d);
  d->method = (merbit_solver_method)(1 + test_below(random, 3));
  d->vector_memory = MERBIT_MEMORY_HOST;
  d->preconditioner = kinds[kind];
  d->apply = d->preconditioner == MERBIT_PRECONDITIONER_CALLBACK ? apply_half : NULL;
  d->apply_user = &s->single;
  d->block_size =
      d->preconditioner == MERBIT_PRECONDITIONER_BLOCK_JACOBI ? (int)test_below(random, 6) : 0;
  d->tolerance = s->single ? 1e-4 : test_below(random, 2) ? 1e-6 : 1e-10;
  d->max_iterations = test_below(random, 4) == 0 ? 5 : 0;
  d->restart = d->method == MERBIT_SOLVER_GMRES ? (int)test_below(random, 3) * 7 : 0;
  d->refine = !s->single && d->preconditioner != MERBIT_PRECONDITIONER_CALLBACK &&
              test_below(random, 3) == 0;
  d->deterministic = 1;
  d->reorder =
      (int)test_below(random,
                      d->preconditioner <= MERBIT_PRECONDITIONER_JACOBI && !d->refine ? 3 : 2) -
      1;
  d->expected_solves = test_below(random, 2) ? 1 : 10;
  d->progress = cancel;
}

/* Does a solve. Returns its status. */
static merbit_status solver_once(const system_of *s, merbit_solver *solver, uint64_t seed,
                                 int start, answer *a) {
  double b[MOST_UNKNOWNS], x[MOST_UNKNOWNS], stored[MOST_UNKNOWNS];
  int i;
  memset(a, 0, sizeof *a);
  for (i = 0; i < s->grid.n; i++) {
    b[i] = seed % 7 == 3 ? 0 : test_uniform(&seed);
    x[i] = test_uniform(&seed);
  }
  b[0] = seed % 11 == 5 ? (double)NAN : b[0];
  system_store(s, b, stored, s->grid.n);
  system_store(s, x, a->x, s->grid.n);
  return merbit_solver_solve(solver, stored, a->x, start, a->history, HISTORY, &a->result);
}

static merbit_status solver_new_values(system_of *s, merbit_context *context,
                                       merbit_solver *solver, uint64_t *random) {
  const size_t bytes = (size_t)s->grid.nnz * (s->single ? 4 : 8);
  const int device = sweep.cuda && test_below(random, 2);
  void *values = test_allocate((int64_t)bytes, 1);
  const void *from = values;
  merbit_buffer *buffer = NULL;
  merbit_status status;
  system_store(s, s->scaled, values, s->grid.nnz);
  if (device) {
    status = merbit_buffer_create(context, bytes, &buffer);
    status = status == MERBIT_OK ? merbit_buffer_upload(buffer, 0, values, bytes) : status;
    from = status == MERBIT_OK ? merbit_buffer_pointer(buffer) : NULL;
  }
  status = from != NULL ? merbit_solver_update_values(
                              solver, from, device ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST)
                        : status;
  memset(values, 0xff, bytes); /* copied */
  if (buffer != NULL && from != NULL) {
    (void)merbit_buffer_upload(buffer, 0, values, bytes);
  }
  merbit_buffer_destroy(buffer);
  free(values);
  return status;
}

/* Returns whether a failed driver call makes a solver launch its steps in another way, which
 * adds in another order. */
static int solver_gave_way(const merbit_solver *used, const merbit_solver *fresh) {
  const merbit_solver *a = used->inner != NULL ? used->inner : used;
  const merbit_solver *b = fresh->inner != NULL ? fresh->inner : fresh;
  return a->gpu.loops != b->gpu.loops || a->gpu.fused_blocks != b->gpu.fused_blocks;
}

static void solver_compare(const answer *used, const answer *fresh, size_t bytes) {
  const merbit_solver_result *a = &used->result, *b = &fresh->result;
  if (a->stop != b->stop || a->iterations != b->iterations || a->restarts != b->restarts) {
    sweep_fail("a used solver stopped with %d after %d iterations and %d restarts, a fresh one "
               "with %d after %d and %d",
               (int)a->stop, a->iterations, a->restarts, (int)b->stop, b->iterations,
               b->restarts);
  }
  if (memcmp(used->x, fresh->x, bytes) != 0 ||
      memcmp(used->history, fresh->history, sizeof used->history) != 0 ||
      memcmp(&a->residual, &b->residual, 8) != 0 ||
      memcmp(&a->backward_error, &b->backward_error, 8) != 0) {
    sweep_fail("a used solver's x, history or residual (%g, recorded %d: %s) are not a fresh "
               "one's (%g, recorded %d: %s)",
               a->residual, a->recorded, a->plan_description, b->residual, b->recorded,
               b->plan_description);
  }
  if (a->device_bytes != b->device_bytes) {
    sweep_fail("a used solver holds %lld bytes of the device, a fresh one %lld",
               (long long)a->device_bytes, (long long)b->device_bytes);
  }
}

/* Does one step in the life of a solver. */
static void solver_step(system_of *s, merbit_context *context, merbit_solver *solver,
                        uint64_t *random) {
  const int what = (int)test_below(random, 6);
  static const char *const names[] = {"new values",      "new values, provoked",
                                      "solve, provoked", "solve, cancelled",
                                      "solve from x",    "solve"};
  answer a;
  merbit_status status;
  cancel_at = -1;
  sweep_note(names[what]);
  switch (what) {
  case 0:
    system_scale(s, random);
    sweep_done(context, solver_new_values(s, context, solver, random),
               "merbit_solver_update_values");
    break;
  case 1:
    provoke(random);
    status = solver_new_values(s, context, solver, random);
    provoke_no_more();
    provoke_expect(context, status, "merbit_solver_update_values");
    sweep_note(status == MERBIT_OK ? "went" : sweep_sentence(context));
    sweep_done(context, solver_new_values(s, context, solver, random),
               "merbit_solver_update_values");
    break;
  case 2:
    provoke(random);
    status = solver_once(s, solver, test_random(random), 0, &a);
    provoke_no_more();
    provoke_expect(context, status, "merbit_solver_solve");
    sweep_note(status == MERBIT_OK ? "went" : sweep_sentence(context));
    break;
  case 3:
    cancel_at = (int)test_below(random, 3);
    sweep_done(context, solver_once(s, solver, test_random(random), 0, &a),
               "merbit_solver_solve, cancelled");
    cancel_at = -1;
    break;
  default:
    sweep_done(context, solver_once(s, solver, test_random(random), what == 4, &a),
               "merbit_solver_solve");
  }
}

static void twice_solver(uint64_t seed) {
  uint64_t random = seed, last;
  merbit_context *context = sweep_context(1 + (int)test_below(&random, 3), 0);
  merbit_solver_desc desc;
  merbit_solver *solver, *other;
  static answer used, fresh;
  system_of s;
  void *values;
  int steps, start;
  system_make(&s, context, test_below(&random, 2) ? 0.3 : 0, &random);
  solver_desc_make(&desc, &s, &random);
  (void)snprintf(sweep.what, sizeof sweep.what,
                 "solver seed %llu: method %d, preconditioner %d, block %d, %s, n %d, refine "
                 "%d, cap %d, reorder %d, device %d",
                 (unsigned long long)seed, (int)desc.method, (int)desc.preconditioner,
                 desc.block_size, s.single ? "f32" : "f64", s.grid.n, desc.refine,
                 desc.max_iterations, desc.reorder, s.device);
  sweep_done(context, merbit_solver_create(context, &s.view, &desc, &solver),
             "merbit_solver_create");
  for (steps = 1 + (int)test_below(&random, 4); steps > 0; steps--) {
    solver_step(&s, context, solver, &random);
  }
  last = test_random(&random);
  start = (int)test_below(&random, 2);
  sweep_done(context, solver_once(&s, solver, last, start, &used), "merbit_solver_solve");
  values = test_allocate(s.grid.nnz, 8);
  system_store(&s, s.scaled, values, s.grid.nnz);
  if (s.device) {
    sweep_done(
        context,
        merbit_buffer_upload(s.buffers[2], 0, values, (size_t)s.grid.nnz * (s.single ? 4 : 8)),
        "merbit_buffer_upload");
  } else {
    memcpy((void *)(uintptr_t)s.view.values, values, (size_t)s.grid.nnz * (s.single ? 4 : 8));
  }
  free(values);
  sweep_done(context, merbit_solver_create(context, &s.view, &desc, &other),
             "merbit_solver_create");
  sweep_done(context, solver_once(&s, other, last, start, &fresh), "merbit_solver_solve");
  if (s.device || desc.refine) { /* the used one may have values of its own */
    fresh.result.device_bytes = used.result.device_bytes;
  }
  if (!solver_gave_way(solver, other)) {
    solver_compare(&used, &fresh, (size_t)s.grid.n * (s.single ? 4 : 8));
  }
  merbit_solver_destroy(other);
  merbit_solver_destroy(solver);
  system_free(&s);
  sweep_close(context);
}

#endif /* TEST_SWEEP_TWICE_SOLVER_H */
