/* Solvers of A x = b, PageRank and eigenpairs, with callbacks into Python. */
#include "binding.h"

#include <limits.h>

/* The state that the callbacks of one call share. */
typedef struct mpy_watch {
  PyObject *progress; /* called with (iteration, change, seconds); NULL: nothing to call */
  PyObject *apply;    /* the preconditioner, called with (r, z, n, stream); NULL: none */
  PyObject *type, *value, *trace; /* the exception that ended the call */
} mpy_watch;

/* Asks whether to continue: checks signals (Ctrl-C), then calls the user's callback, which
 * stops the iteration by raising StopIteration. Any other exception also stops it, and is
 * raised after it has ended. */
static int on_progress(void *user, int iteration, double change, double seconds) {
  mpy_watch *watch = (mpy_watch *)user;
  const PyGILState_STATE state = PyGILState_Ensure();
  int stop = watch->type != NULL;
  if (!stop && PyErr_CheckSignals() == 0 && watch->progress != NULL) {
    PyObject *answer =
        PyObject_CallFunction(watch->progress, "idd", iteration, change, seconds);
    Py_XDECREF(answer);
    if (answer == NULL && PyErr_ExceptionMatches(PyExc_StopIteration)) {
      PyErr_Clear();
      stop = 1;
    }
  }
  if (PyErr_Occurred()) {
    PyErr_Fetch(&watch->type, &watch->value, &watch->trace);
    stop = 1;
  }
  PyGILState_Release(state);
  return stop;
}

static int on_apply(void *user, const void *r, void *z, int64_t n, void *stream) {
  mpy_watch *watch = (mpy_watch *)user;
  const PyGILState_STATE state = PyGILState_Ensure();
  if (watch->type == NULL) {
    PyObject *source = PyLong_FromVoidPtr((void *)(uintptr_t)r),
             *target = PyLong_FromVoidPtr(z);
    PyObject *queue = PyLong_FromVoidPtr(stream), *answer = NULL;
    if (source != NULL && target != NULL && queue != NULL) {
      answer = PyObject_CallFunction(watch->apply, "OOLO", source, target, (long long)n, queue);
    }
    if (answer == NULL) {
      PyErr_Fetch(&watch->type, &watch->value, &watch->trace);
    }
    Py_XDECREF(answer);
    Py_XDECREF(source);
    Py_XDECREF(target);
    Py_XDECREF(queue);
  }
  PyGILState_Release(state);
  return watch->type != NULL;
}

/* Raises the exception of a callback, or the failure of the call. Returns 0 if there is
 * neither. */
static int raise_outcome(mpy_watch *watch, merbit_context *context, merbit_status status) {
  if (watch->type != NULL) {
    PyErr_Restore(watch->type, watch->value, watch->trace);
    watch->type = watch->value = watch->trace = NULL;
    return -1;
  }
  if (status != MERBIT_OK) {
    mpy_raise_last(context, status);
    return -1;
  }
  return 0;
}

static PyObject *or_null(PyObject *object) {
  return object == Py_None ? NULL : object;
}

/* Borrows a contiguous host array of `count` elements of `type`; None leaves it empty. */
static int lend_host(PyObject *object, const char *name, int writable, merbit_type type,
                     int64_t count, mpy_array *array) {
  memset(array, 0, sizeof *array);
  if (object == Py_None) {
    return 0;
  }
  if (mpy_lend(object, name, writable, array) != 0) {
    return -1;
  }
  if (mpy_merbit_type(array->type) != type) {
    mpy_raise_type("%s has type %s; %s is needed", name, mpy_type_name(array->type),
                   mpy_merbit_type_name(type));
    return -1;
  }
  if (array->device != MPY_HOST || mpy_count(array) != count) {
    char place[32];
    mpy_raise(MERBIT_INVALID_ARGUMENT,
              "%s has %lld elements %s; %lld in host memory are needed", name,
              (long long)mpy_count(array), mpy_place(array->device, place), (long long)count);
    return -1;
  }
  return mpy_check_adjacent(array, name);
}

/* A merbit_precondition_callback: applies a merbit_preconditioner. */
static int on_apply_object(void *user, const void *r, void *z, int64_t n, void *stream) {
  (void)n;
  return merbit_preconditioner_apply((merbit_preconditioner *)user, r, z, stream) != MERBIT_OK;
}

/* ---- Solver ------------------------------------------------------------------------------ */

typedef struct mpy_solver {
  PyObject_HEAD merbit_solver *solver;
  mpy_context *context;
  mpy_view *view;
  mpy_watch watch;
  int device; /* where b and x are: CUDA ordinal or MPY_HOST */
  int busy;
} mpy_solver;

static PyTypeObject *solver_type;

static PyObject *solver_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"context",
                          "view",
                          "method",
                          "host_vectors",
                          "tolerance",
                          "max_iterations",
                          "restart",
                          "preconditioner",
                          "block_size",
                          "apply",
                          "refine",
                          "deterministic",
                          "reorder",
                          "expected_solves",
                          "single",
                          "singular",
                          "degree",
                          "near_nullspace",
                          "near_nullspace_count",
                          "vectors",
                          NULL};
  PyObject *context, *view, *apply = Py_None;
  int method, host_vectors = 0, preconditioner = 0;
  long long expected = 0;
  unsigned long long near = 0; /* the address of the near-null-space */
  merbit_solver_desc desc;
  merbit_preconditioner_desc options;
  merbit_status status;
  merbit_context *c;
  const merbit_view *v;
  mpy_solver *self;
  memset(&desc, 0, sizeof desc);
  memset(&options, 0, sizeof options);
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!O!i|idiiiiOppiLppiKii:Solver", names,
                                   mpy_context_type, &context, mpy_view_type, &view, &method,
                                   &host_vectors, &desc.tolerance, &desc.max_iterations,
                                   &desc.restart, &preconditioner, &options.block_size, &apply,
                                   &desc.refine, &desc.deterministic, &desc.reorder, &expected,
                                   &options.single, &options.singular, &options.degree, &near,
                                   &options.near_nullspace_count, &desc.vectors)) {
    return NULL;
  }
  self = (mpy_solver *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->context = (mpy_context *)context;
  self->view = (mpy_view *)view;
  self->watch.apply = or_null(apply);
  Py_INCREF(context);
  Py_INCREF(view);
  Py_XINCREF(self->watch.apply);
  self->device = host_vectors ? MPY_HOST : self->context->device;
  desc.method = (merbit_solver_method)method;
  desc.side = self->context->device == MPY_HOST ? MERBIT_SIDE_CPU : MERBIT_SIDE_CUDA;
  desc.vector_memory = host_vectors ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEFAULT;
  desc.preconditioner = (merbit_preconditioner_kind)preconditioner;
  options.near_nullspace = (const double *)(uintptr_t)near;
  if (preconditioner != MERBIT_PRECONDITIONER_NONE &&
      preconditioner != MERBIT_PRECONDITIONER_CALLBACK) {
    desc.precondition = &options;
  }
  desc.expected_solves = expected;
  if (Py_TYPE(apply) == mpy_preconditioner_type) {
    desc.apply = on_apply_object;
    desc.apply_user = ((mpy_preconditioner *)apply)->preconditioner;
  } else if (self->watch.apply != NULL) {
    desc.apply = on_apply;
    desc.apply_user = &self->watch;
  }
  desc.progress = on_progress;
  desc.progress_user = &self->watch;
  c = self->context->context;
  v = &self->view->view;
  Py_BEGIN_ALLOW_THREADS
  status = merbit_solver_create(c, v, &desc, &self->solver);
  Py_END_ALLOW_THREADS
  if (raise_outcome(&self->watch, c, status) != 0) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

static int solver_traverse(PyObject *object, visitproc visit, void *arg) {
  mpy_solver *self = (mpy_solver *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->context);
  Py_VISIT(self->view);
  Py_VISIT(self->watch.apply);
  return 0;
}

static void solver_dealloc(PyObject *object) {
  mpy_solver *self = (mpy_solver *)object;
  PyObject_GC_UnTrack(object);
  merbit_solver_destroy(self->solver);
  Py_XDECREF(self->context);
  Py_XDECREF(self->view);
  Py_XDECREF(self->watch.apply);
  mpy_free(object);
}

/* Builds a dictionary of a merbit_solver_result. */
static PyObject *build_solve_result(const merbit_solver_result *r) {
  return Py_BuildValue("{s:i,s:i,s:i,s:d,s:d,s:d,s:d,s:d,s:i,s:i,s:L,s:N,s:N}", "stop",
                       (int)r->stop, "iterations", r->iterations, "restarts", r->restarts,
                       "residual", r->residual, "estimated_residual", r->estimated_residual,
                       "backward_error", r->backward_error, "prepare_seconds",
                       r->prepare_seconds, "iterate_seconds", r->iterate_seconds,
                       "synchronizations", r->synchronizations, "recorded", r->recorded,
                       "device_bytes", (long long)r->device_bytes, "plan_description",
                       mpy_text(r->plan_description), "description", mpy_text(r->description));
}

/* solve(b, x, start_from_x, history, progress): a dictionary of merbit_solver_result. */
static PyObject *solver_solve(PyObject *object, PyObject *arguments) {
  mpy_solver *self = (mpy_solver *)object;
  PyObject *b_object, *x_object, *history_object, *progress, *answer = NULL;
  mpy_array b, x, history;
  merbit_solver_result result;
  int start;
  if (!PyArg_ParseTuple(arguments, "OOiOO:solve", &b_object, &x_object, &start, &history_object,
                        &progress)) {
    return NULL;
  }
  if (self->busy) {
    return mpy_raise(MERBIT_INVALID_ARGUMENT, "this solver is in a call already");
  }
  memset(&b, 0, sizeof b);
  memset(&x, 0, sizeof x);
  memset(&history, 0, sizeof history);
  if (mpy_lend_vectors(&self->view->view, self->device, b_object, "b", 0, 0, &b) == 0 &&
      mpy_lend_vectors(&self->view->view, self->device, x_object, "x", 1, 0, &x) == 0 &&
      mpy_lend(history_object, "history", 1, &history) == 0) {
    merbit_status status;
    self->busy = 1;
    self->watch.progress = or_null(progress);
    Py_BEGIN_ALLOW_THREADS
    status = merbit_solver_solve(self->solver, b.data, x.data, start, (double *)history.data,
                                 history.shape[0] < INT_MAX ? (int)history.shape[0] : INT_MAX,
                                 &result);
    Py_END_ALLOW_THREADS
    self->watch.progress = NULL;
    self->busy = 0;
    if (raise_outcome(&self->watch, self->context->context, status) == 0) {
      answer = build_solve_result(&result);
    }
  }
  mpy_return(&b);
  mpy_return(&x);
  mpy_return(&history);
  return answer;
}

/* solve_many(b, x, count, start_from_x, progress): a list of dictionaries. b and x have a
 * vector in each of their `count` rows. */
static PyObject *solver_solve_many(PyObject *object, PyObject *arguments) {
  mpy_solver *self = (mpy_solver *)object;
  const merbit_view *view = &self->view->view;
  PyObject *b_object, *x_object, *progress, *answer = NULL;
  merbit_solver_result *results;
  mpy_array b, x;
  int count, start, i;
  if (!PyArg_ParseTuple(arguments, "OOiiO:solve_many", &b_object, &x_object, &count, &start,
                        &progress)) {
    return NULL;
  }
  if (self->busy || count < 1) {
    return mpy_raise(MERBIT_INVALID_ARGUMENT, self->busy
                                                  ? "this solver is in a call already"
                                                  : "b has no columns; give at least one");
  }
  results = (merbit_solver_result *)PyMem_Malloc((size_t)count * sizeof *results);
  if (results == NULL) {
    return PyErr_NoMemory();
  }
  memset(&b, 0, sizeof b);
  memset(&x, 0, sizeof x);
  if (mpy_lend_vectors(view, self->device, b_object, "b", 0, count, &b) == 0 &&
      mpy_lend_vectors(view, self->device, x_object, "x", 1, count, &x) == 0) {
    const int64_t rows = view->rows;
    merbit_status status;
    self->busy = 1;
    self->watch.progress = or_null(progress);
    Py_BEGIN_ALLOW_THREADS
    status = merbit_solver_solve_many(self->solver, count, b.data, rows, x.data, rows, start,
                                      results);
    Py_END_ALLOW_THREADS
    self->watch.progress = NULL;
    self->busy = 0;
    if (raise_outcome(&self->watch, self->context->context, status) == 0) {
      answer = PyList_New(count);
    }
    for (i = 0; answer != NULL && i < count; i++) {
      PyObject *result = build_solve_result(&results[i]);
      if (result == NULL || PyList_SetItem(answer, i, result) != 0) {
        Py_CLEAR(answer);
      }
    }
  }
  PyMem_Free(results);
  mpy_return(&b);
  mpy_return(&x);
  return answer;
}

/* update(view): takes the values of another view of the same structure. */
static PyObject *solver_update(PyObject *object, PyObject *view) {
  mpy_solver *self = (mpy_solver *)object;
  const merbit_view *new_view;
  merbit_status status;
  if (Py_TYPE(view) != mpy_view_type) {
    return mpy_raise_type("view is no merbit._core.View");
  }
  if (self->busy) {
    return mpy_raise(MERBIT_INVALID_ARGUMENT, "this solver is in a call already");
  }
  new_view = &((mpy_view *)view)->view;
  self->busy = 1;
  Py_BEGIN_ALLOW_THREADS
  status = merbit_solver_update_values(self->solver, new_view->values, new_view->memory);
  Py_END_ALLOW_THREADS
  self->busy = 0;
  if (raise_outcome(&self->watch, self->context->context, status) != 0) {
    return NULL;
  }
  Py_RETURN_NONE;
}

/* ---- PageRank and eigenpairs ------------------------------------------------------------- */

PyObject *mpy_pagerank(PyObject *module, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {
      "context",       "view",     "ranks",     "personalisation", "start",
      "history",       "damping",  "tolerance", "max_iterations",  "unweighted",
      "unaccelerated", "progress", NULL};
  PyObject *context, *view, *objects[4], *progress, *answer = NULL;
  mpy_watch watch = {NULL, NULL, NULL, NULL, NULL};
  mpy_array ranks, weights, start, history;
  merbit_pagerank_desc desc;
  merbit_pagerank_result r;
  (void)module;
  memset(&desc, 0, sizeof desc);
  memset(&weights, 0, sizeof weights);
  memset(&start, 0, sizeof start);
  memset(&history, 0, sizeof history);
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!O!OOOOddippO:pagerank", names,
                                   mpy_context_type, &context, mpy_view_type, &view,
                                   &objects[0], &objects[1], &objects[2], &objects[3],
                                   &desc.damping, &desc.tolerance, &desc.max_iterations,
                                   &desc.unweighted, &desc.unaccelerated, &progress)) {
    return NULL;
  }
  const merbit_view *graph = &((mpy_view *)view)->view;
  const merbit_type type = mpy_value_type(graph);
  if (lend_host(objects[0], "ranks", 1, type, graph->rows, &ranks) == 0 &&
      lend_host(objects[1], "personalisation", 0, type, graph->rows, &weights) == 0 &&
      lend_host(objects[2], "start", 0, type, graph->rows, &start) == 0 &&
      mpy_lend(objects[3], "history", 1, &history) == 0) {
    merbit_context *c = ((mpy_context *)context)->context;
    merbit_status status;
    watch.progress = or_null(progress);
    desc.side =
        ((mpy_context *)context)->device == MPY_HOST ? MERBIT_SIDE_CPU : MERBIT_SIDE_CUDA;
    desc.personalisation = weights.data;
    desc.start = start.data;
    desc.history = (double *)history.data;
    desc.history_size = (int)history.shape[0];
    desc.progress = on_progress;
    desc.progress_user = &watch;
    Py_BEGIN_ALLOW_THREADS
    status = merbit_pagerank(c, graph, &desc, ranks.data, &r);
    Py_END_ALLOW_THREADS
    if (raise_outcome(&watch, c, status) == 0) {
      answer =
          Py_BuildValue("{s:i,s:i,s:d,s:L,s:d,s:d,s:L,s:i,s:L,s:N}", "stop", (int)r.stop,
                        "iterations", r.iterations, "change", r.change, "dangling",
                        (long long)r.dangling, "prepare_seconds", r.prepare_seconds,
                        "iterate_seconds", r.iterate_seconds, "synchronizations",
                        (long long)r.synchronizations, "recorded", r.recorded, "device_bytes",
                        (long long)r.device_bytes, "plan_description", mpy_text(r.description));
    }
  }
  mpy_return(&ranks);
  mpy_return(&weights);
  mpy_return(&start);
  mpy_return(&history);
  return answer;
}

/* Returns the result of merbit_eigen for `count` pairs as a dictionary. */
static PyObject *build_eigen_result(const merbit_eigen_result *r, int64_t count) {
  PyObject *residuals = PyTuple_New((Py_ssize_t)count);
  Py_ssize_t i;
  for (i = 0; residuals != NULL && i < count; i++) {
    PyObject *number = PyFloat_FromDouble(r->residuals[i]);
    if (number == NULL || PyTuple_SetItem(residuals, i, number) != 0) {
      Py_CLEAR(residuals);
    }
  }
  if (residuals == NULL) {
    return NULL;
  }
  return Py_BuildValue("{s:i,s:i,s:i,s:i,s:N,s:d,s:d,s:i,s:L,s:N,s:N}", "stop", (int)r->stop,
                       "iterations", r->iterations, "restarts", r->restarts, "converged_pairs",
                       r->converged, "residuals", residuals, "prepare_seconds",
                       r->prepare_seconds, "iterate_seconds", r->iterate_seconds,
                       "synchronizations", r->synchronizations, "device_bytes",
                       (long long)r->device_bytes, "plan_description",
                       mpy_text(r->plan_description), "description", mpy_text(r->description));
}

PyObject *mpy_eigen(PyObject *module, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"context",       "view",     "values",    "vectors",        "method",
                          "which",         "basis",    "tolerance", "max_iterations", "seed",
                          "deterministic", "progress", NULL};
  PyObject *context, *view, *values_object, *vectors_object, *progress, *answer = NULL;
  mpy_watch watch = {NULL, NULL, NULL, NULL, NULL};
  mpy_array values, vectors;
  merbit_eigen_desc desc;
  merbit_eigen_result result;
  unsigned long long seed;
  int method, which;
  (void)module;
  memset(&desc, 0, sizeof desc);
  memset(&vectors, 0, sizeof vectors);
  if (!PyArg_ParseTupleAndKeywords(
          arguments, keywords, "O!O!OOiiidiKpO:eigen", names, mpy_context_type, &context,
          mpy_view_type, &view, &values_object, &vectors_object, &method, &which, &desc.basis,
          &desc.tolerance, &desc.max_iterations, &seed, &desc.deterministic, &progress)) {
    return NULL;
  }
  const merbit_view *matrix = &((mpy_view *)view)->view;
  if (mpy_lend(values_object, "values", 1, &values) == 0) {
    const int64_t count = values.shape[0];
    if (count < 1 || count > MERBIT_EIGEN_MOST) {
      mpy_raise(MERBIT_INVALID_ARGUMENT, "k is %lld; merbit finds 1 to %d eigenpairs",
                (long long)count, MERBIT_EIGEN_MOST);
    } else if (lend_host(vectors_object, "vectors", 1, mpy_value_type(matrix),
                         count * matrix->rows, &vectors) == 0) {
      merbit_context *c = ((mpy_context *)context)->context;
      merbit_status status;
      watch.progress = or_null(progress);
      desc.method = (merbit_eigen_method)method;
      desc.which = (merbit_eigen_which)which;
      desc.count = (int)count;
      desc.seed = seed;
      desc.side =
          ((mpy_context *)context)->device == MPY_HOST ? MERBIT_SIDE_CPU : MERBIT_SIDE_CUDA;
      desc.progress = on_progress;
      desc.progress_user = &watch;
      Py_BEGIN_ALLOW_THREADS
      status = merbit_eigen(c, matrix, &desc, (double *)values.data, vectors.data, &result);
      Py_END_ALLOW_THREADS
      if (raise_outcome(&watch, c, status) == 0) {
        answer = build_eigen_result(&result, count);
      }
    }
  }
  mpy_return(&values);
  mpy_return(&vectors);
  return answer;
}

int mpy_solve_init(PyObject *module) {
  static PyMethodDef methods[] = {
      {"solve", solver_solve, METH_VARARGS, "solve(b, x, start_from_x, history, progress)"},
      {"solve_many", solver_solve_many, METH_VARARGS,
       "solve_many(b, x, count, start_from_x, progress)"},
      {"update", solver_update, METH_O, "update(view)"},
      {NULL, NULL, 0, NULL}};
  static PyType_Slot slots[] = {{Py_tp_new, (void *)solver_new},
                                {Py_tp_dealloc, (void *)solver_dealloc},
                                {Py_tp_traverse, (void *)solver_traverse},
                                {Py_tp_methods, methods},
                                {0, NULL}};
  static PyType_Spec spec = {"merbit._core.Solver", sizeof(mpy_solver), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  return mpy_add_type(module, &spec, &solver_type);
}
