/* The type Plan: a matrix prepared for products. */
#include "binding.h"

PyTypeObject *mpy_plan_type;

/* The addresses of x and y if they are empty and their library gives NULL. */
static double nothing[2];

/* ---- Making a plan ----------------------------------------------------------------------- */

/* Returns the default type of vectors of a plan for `view`. */
static merbit_type default_vector_type(merbit_type values) {
  switch (values) {
  case MERBIT_F16:
  case MERBIT_BF16:
    return MERBIT_F32;
  case MERBIT_TYPE_DEFAULT:
    return MERBIT_F64;
  default:
    return values;
  }
}

/* Reads (add, multiply, zero, address of add, address of multiply). */
static int read_operators(PyObject *tuple, merbit_type type, merbit_operators *operators) {
  PyObject *add = NULL, *multiply = NULL;
  void *functions[2];
  memset(operators, 0, sizeof *operators);
  if (!PyArg_ParseTuple(tuple, "zzdOO:operators", &operators->add, &operators->multiply,
                        &operators->zero, &add, &multiply)) {
    return -1;
  }
  functions[0] = PyLong_AsVoidPtr(add);
  functions[1] = PyLong_AsVoidPtr(multiply);
  if (PyErr_Occurred()) {
    return -1;
  }
  if (type == MERBIT_F32) {
    memcpy(&operators->add_f32, &functions[0], sizeof functions[0]);
    memcpy(&operators->multiply_f32, &functions[1], sizeof functions[1]);
  } else {
    memcpy(&operators->add_f64, &functions[0], sizeof functions[0]);
    memcpy(&operators->multiply_f64, &functions[1], sizeof functions[1]);
  }
  return 0;
}

/* Reads (result, first sum, second sum, vectors, scalars, address of the function). */
static int read_epilogue(PyObject *tuple, merbit_epilogue *epilogue) {
  PyObject *address = NULL;
  void *function;
  memset(epilogue, 0, sizeof *epilogue);
  if (!PyArg_ParseTuple(tuple, "zzziiO:epilogue", &epilogue->result, &epilogue->sums[0],
                        &epilogue->sums[1], &epilogue->vectors, &epilogue->scalars, &address)) {
    return -1;
  }
  function = PyLong_AsVoidPtr(address);
  if (PyErr_Occurred()) {
    return -1;
  }
  memcpy(&epilogue->cpu, &function, sizeof function);
  return 0;
}

/* The arguments of Plan and of forecast. */
typedef struct mpy_wish {
  PyObject *context, *view, *keep; /* borrowed */
  int host_vectors;
  merbit_operators operators;
  merbit_epilogue epilogue;
  merbit_plan_desc desc;
} mpy_wish;

/* Reads the arguments of Plan and of forecast. */
static int read_wish(PyObject *arguments, PyObject *keywords, mpy_wish *wish) {
  static char *names[] = {"context",       "view",         "operation",      "method",
                          "vector_type",   "host_vectors", "expected_calls", "changing_values",
                          "deterministic", "semiring",     "operators",      "vectors",
                          "vector_order",  "epilogue",     "keep",           NULL};
  PyObject *operators = Py_None, *epilogue = Py_None;
  merbit_plan_desc *desc = &wish->desc;
  int operation = 0, method = 0, vector_type = 0, semiring = 0, order = 0;
  memset(wish, 0, sizeof *wish);
  wish->keep = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!O!|iiiiippiOiiOO:Plan", names,
                                   mpy_context_type, &wish->context, mpy_view_type, &wish->view,
                                   &operation, &method, &vector_type, &wish->host_vectors,
                                   &desc->expected_calls, &desc->changing_values,
                                   &desc->deterministic, &semiring, &operators, &desc->vectors,
                                   &order, &epilogue, &wish->keep)) {
    return -1;
  }
  desc->operation = (merbit_operation)operation;
  desc->method = (merbit_method)method;
  desc->vector_type = (merbit_type)vector_type;
  desc->semiring = (merbit_semiring)semiring;
  desc->vector_order = (merbit_vector_order)order;
  desc->vector_memory = wish->host_vectors ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEFAULT;
  desc->side =
      ((mpy_context *)wish->context)->device == MPY_HOST ? MERBIT_SIDE_CPU : MERBIT_SIDE_CUDA;
  if (operators != Py_None) {
    if (read_operators(operators, ((mpy_view *)wish->view)->view.value_type,
                       &wish->operators) != 0) {
      return -1;
    }
    desc->operators = &wish->operators;
  }
  if (epilogue != Py_None) {
    if (read_epilogue(epilogue, &wish->epilogue) != 0) {
      return -1;
    }
    desc->epilogue = &wish->epilogue;
  }
  return 0;
}

/* forecast(...), with the arguments of Plan: a dictionary of merbit_plan_memory. */
PyObject *mpy_forecast(PyObject *module, PyObject *arguments, PyObject *keywords) {
  merbit_plan_memory memory;
  merbit_status status;
  merbit_context *c;
  mpy_wish wish;
  (void)module;
  if (read_wish(arguments, keywords, &wish) != 0) {
    return NULL;
  }
  c = ((mpy_context *)wish.context)->context;
  status = merbit_plan_forecast(c, &((mpy_view *)wish.view)->view, &wish.desc, &memory);
  if (status != MERBIT_OK) {
    return mpy_raise_last(c, status);
  }
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:i}", "device_bytes", (long long)memory.device_bytes,
                       "device_peak_bytes", (long long)memory.device_peak_bytes, "host_bytes",
                       (long long)memory.host_bytes, "workspace_bytes",
                       (long long)memory.workspace_bytes, "method", (int)memory.method);
}

static PyObject *plan_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  merbit_plan_desc *desc;
  merbit_status status;
  merbit_context *c;
  const merbit_view *v;
  mpy_plan *self;
  mpy_wish wish;
  if (read_wish(arguments, keywords, &wish) != 0) {
    return NULL;
  }
  desc = &wish.desc;
  v = &((mpy_view *)wish.view)->view;
  self = (mpy_plan *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->context = (mpy_context *)wish.context;
  self->view = (mpy_view *)wish.view;
  self->keep = wish.keep;
  Py_INCREF(wish.context);
  Py_INCREF(wish.view);
  Py_INCREF(wish.keep);
  self->device = wish.host_vectors ? MPY_HOST : self->context->device;
  self->asynchronous = self->device != MPY_HOST;
  self->vector_type = desc->vector_type != MERBIT_TYPE_DEFAULT
                          ? desc->vector_type
                          : default_vector_type(v->value_type);
  self->in = desc->operation == MERBIT_OPERATION_N ? v->cols : v->rows;
  self->out = desc->operation == MERBIT_OPERATION_N ? v->rows : v->cols;
  self->vectors = desc->vectors > 1 ? desc->vectors : 1;
  self->order = desc->vector_order;
  self->epilogue_vectors = desc->epilogue != NULL ? wish.epilogue.vectors : -1;
  self->epilogue_scalars = desc->epilogue != NULL ? wish.epilogue.scalars : -1;
  c = self->context->context;
  Py_BEGIN_ALLOW_THREADS
  status = merbit_plan_create(c, v, desc, &self->plan);
  Py_END_ALLOW_THREADS
  if (status != MERBIT_OK) {
    mpy_raise_last(c, status);
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

static int plan_traverse(PyObject *object, visitproc visit, void *arg) {
  mpy_plan *self = (mpy_plan *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->context);
  Py_VISIT(self->view);
  Py_VISIT(self->keep);
  return 0;
}

static void plan_dealloc(PyObject *object) {
  mpy_plan *self = (mpy_plan *)object;
  int i;
  PyObject_GC_UnTrack(object);
  for (i = 0; i < self->slot_count; i++) {
    merbit_workspace_destroy(self->slots[i].workspace);
  }
  PyMem_Free(self->slots);
  merbit_plan_destroy(self->plan);
  Py_XDECREF(self->context);
  Py_XDECREF(self->view);
  Py_XDECREF(self->keep);
  mpy_free(object);
}

/* ---- Scratch memory ---------------------------------------------------------------------- */

/* Returns a slot marked as busy that no other thread uses and that, on CUDA, belongs to
 * `stream`; makes one if necessary. Returns -1 with an exception. */
static int take_slot(mpy_plan *self, void *stream) {
  merbit_workspace *workspace = NULL;
  mpy_slot *slots;
  int i;
  if (self->updating) {
    mpy_raise(MERBIT_INVALID_ARGUMENT, "another thread is changing this matrix's values: let "
                                       "update return before you multiply");
    return -1;
  }
  for (i = 0; i < self->slot_count; i++) {
    if (!self->slots[i].busy && (!self->asynchronous || self->slots[i].stream == stream)) {
      self->slots[i].busy = 1;
      return i;
    }
  }
  if (self->slot_count > 0) {
    const merbit_status status = merbit_workspace_create(self->plan, &workspace);
    if (status != MERBIT_OK) {
      mpy_raise_last(self->context->context, status);
      return -1;
    }
  }
  slots = (mpy_slot *)PyMem_Realloc(self->slots,
                                    (size_t)(self->slot_count + 1) * sizeof *self->slots);
  if (slots == NULL) {
    merbit_workspace_destroy(workspace);
    PyErr_NoMemory();
    return -1;
  }
  self->slots = slots;
  i = self->slot_count++;
  slots[i].workspace = workspace;
  slots[i].stream = stream;
  slots[i].busy = 1;
  return i;
}

/* ---- Products ---------------------------------------------------------------------------- */

int mpy_plan_run(mpy_plan *self, const mpy_operands *o, const void *alpha, const void *beta) {
  const int slot = take_slot(self, o->stream);
  const void *x = o->x.data != NULL ? o->x.data : nothing;
  void *y = o->y.data != NULL ? o->y.data : nothing + 1;
  merbit_workspace *workspace;
  merbit_status status;
  if (slot < 0) {
    return -1;
  }
  workspace = self->slots[slot].workspace;
  Py_BEGIN_ALLOW_THREADS
  if (o->sums != NULL) {
    status = merbit_spmv_epilogue(self->plan, workspace, x, y, o->vectors, o->scalars, o->sums,
                                  NULL, o->stream);
  } else if (self->vectors == 1) {
    status = merbit_spmv(self->plan, workspace, alpha, x, beta, y, o->stream);
  } else {
    status = merbit_spmm(self->plan, workspace, alpha, x, o->ldx, beta, y, o->ldy, o->stream);
  }
  Py_END_ALLOW_THREADS
  self->slots[slot].busy = 0;
  if (status != MERBIT_OK) {
    mpy_raise_last(self->context->context, status);
    return -1;
  }
  return 0;
}

/* Checks the array's type and location. */
static int check_kind(const mpy_plan *self, const mpy_array *array, const char *name) {
  char first[32], second[32];
  if (mpy_merbit_type(array->type) != self->vector_type) {
    const char *needed = mpy_merbit_type_name(self->vector_type);
    mpy_raise_type("%s has type %s; this product takes %s: convert it with astype or .to", name,
                   mpy_type_name(array->type), needed);
    return -1;
  }
  if (!mpy_is_on(array, self->device)) {
    mpy_raise(MERBIT_INVALID_ARGUMENT, "%s is %s; this product takes arrays %s", name,
              mpy_place(array->device, first), mpy_place(self->device, second));
    return -1;
  }
  return 0;
}

/* Checks one or several vectors of `count` elements; sets the leading dimension *ld. */
static int check_vectors(const mpy_plan *self, const mpy_array *array, int64_t count,
                         const char *name, int64_t *ld) {
  const int64_t item = array->type.bits / 8, k = self->vectors;
  const int rows = self->order == MERBIT_VECTORS_ROW_MAJOR;
  int64_t inner, outer, most, least;
  if (check_kind(self, array, name) != 0) {
    return -1;
  }
  if (array->ndim < 1 || array->ndim > 2 || array->shape[0] != count ||
      (array->ndim == 2 ? array->shape[1] : 1) != k) {
    if (array->ndim == 2) {
      mpy_raise(MERBIT_INVALID_ARGUMENT,
                "%s has shape (%lld, %lld); this product takes (%lld, %lld)", name,
                (long long)array->shape[0], (long long)array->shape[1], (long long)count,
                (long long)k);
    } else {
      mpy_raise(MERBIT_INVALID_ARGUMENT,
                "%s has %d dimensions and length %lld; this product takes length %lld", name,
                array->ndim, array->ndim > 0 ? (long long)array->shape[0] : 0LL,
                (long long)count);
    }
    return -1;
  }
  *ld = rows ? k : count;
  if (mpy_count(array) == 0) {
    return 0;
  }
  if (k == 1) {
    return mpy_check_adjacent(array, name);
  }
  inner = rows ? array->strides[1] : array->strides[0];
  outer = rows ? array->strides[0] : array->strides[1];
  least = rows ? k : count; /* the length of the contiguous part */
  most = rows ? count : k;
  if ((least > 1 && inner != item) ||
      (most > 1 && (outer % item != 0 || outer < least * item))) {
    mpy_raise(MERBIT_INVALID_ARGUMENT,
              "%s has strides (%lld, %lld) bytes; this product takes %s-major arrays with the "
              "elements of a %s adjacent: pass a contiguous array, for example "
              "numpy.ascontiguousarray(x), and out in the order of x",
              name, (long long)array->strides[0], (long long)array->strides[1],
              rows ? "row" : "column", rows ? "row" : "column");
    return -1;
  }
  if (most > 1) {
    *ld = outer / item;
  }
  return 0;
}

/* Sets the stream to `object` unless it is None, else to that of the arrays. */
static int choose_stream(PyObject *object, mpy_operands *o) {
  if (object != Py_None) {
    o->stream = PyLong_AsVoidPtr(object);
    return PyErr_Occurred() ? -1 : 0;
  }
  if (o->x.stream != NULL && o->y.stream != NULL && o->x.stream != o->y.stream) {
    mpy_raise(MERBIT_INVALID_ARGUMENT, "x and out are used in different CUDA streams; name the "
                                       "stream of the product with stream=");
    return -1;
  }
  o->stream = o->x.stream != NULL ? o->x.stream : o->y.stream;
  return 0;
}

/* Converts a number to the plan's vector type. Returns its address in `room`, or NULL for
 * None. */
static const void *scalar(const mpy_plan *self, PyObject *number, double room[2]) {
  const merbit_type type = self->vector_type;
  float narrow[2];
  if (number == Py_None) {
    return NULL;
  }
  room[0] = PyComplex_RealAsDouble(number);
  room[1] = PyComplex_ImagAsDouble(number);
  if (type == MERBIT_F32 || type == MERBIT_C64) {
    narrow[0] = (float)room[0];
    narrow[1] = (float)room[1];
    memcpy(room, narrow, sizeof narrow);
  }
  return room;
}

/* Borrows and checks x and y, and sets the stream. The caller returns the arrays, also after a
 * failure. */
static int lend_xy(const mpy_plan *self, PyObject *x, PyObject *y, PyObject *stream,
                   mpy_operands *o) {
  return mpy_lend(x, "x", 0, &o->x) != 0 ||
                 check_vectors(self, &o->x, self->in, "x", &o->ldx) != 0 ||
                 mpy_lend(y, "out", 1, &o->y) != 0 ||
                 check_vectors(self, &o->y, self->out, "out", &o->ldy) != 0 ||
                 choose_stream(stream, o) != 0
             ? -1
             : 0;
}

/* multiply(x, y, alpha, beta, stream): y = alpha A x + beta y, with every argument checked. */
static PyObject *plan_multiply(PyObject *object, PyObject *arguments) {
  mpy_plan *self = (mpy_plan *)object;
  PyObject *x, *y, *alpha, *beta, *stream;
  double rooms[2][2];
  mpy_operands o;
  int failed;
  if (!PyArg_ParseTuple(arguments, "OOOOO:multiply", &x, &y, &alpha, &beta, &stream)) {
    return NULL;
  }
  memset(&o, 0, sizeof o);
  failed = lend_xy(self, x, y, stream, &o) != 0;
  if (!failed) {
    const void *a = scalar(self, alpha, rooms[0]), *b = scalar(self, beta, rooms[1]);
    failed = PyErr_Occurred() || mpy_plan_run(self, &o, a, b) != 0;
  }
  mpy_return(&o.x);
  mpy_return(&o.y);
  if (failed) {
    return NULL;
  }
  Py_RETURN_NONE;
}

/* ---- Epilogues --------------------------------------------------------------------------- */

/* Borrows a contiguous array of `count` float64 where the plan computes. */
static int lend_doubles(const mpy_plan *self, PyObject *object, const char *name, int writable,
                        int64_t count, mpy_array *array) {
  if (mpy_lend(object, name, writable, array) != 0) {
    return -1;
  }
  if (array->type.kind != 'f' || array->type.bits != 64 || mpy_count(array) != count ||
      !mpy_contiguous(array)) {
    mpy_raise(MERBIT_INVALID_ARGUMENT, "%s must be %lld adjacent float64", name,
              (long long)count);
    return -1;
  }
  if (!mpy_is_on(array, self->device)) {
    char first[32], second[32];
    mpy_raise(MERBIT_INVALID_ARGUMENT, "%s is %s; this product takes arrays %s", name,
              mpy_place(array->device, first), mpy_place(self->device, second));
    return -1;
  }
  return 0;
}

/* Borrows and checks the epilogue's vectors; `tuple` has as many as it needs. */
static int lend_operands(const mpy_plan *self, PyObject *tuple,
                         mpy_array arrays[MPY_EPILOGUE_VECTORS],
                         const void *addresses[MPY_EPILOGUE_VECTORS]) {
  const Py_ssize_t count = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
  Py_ssize_t i;
  if (count != self->epilogue_vectors || count > MPY_EPILOGUE_VECTORS) {
    mpy_raise(MERBIT_INVALID_ARGUMENT, "%lld vectors for an epilogue of %d", (long long)count,
              self->epilogue_vectors);
    return -1;
  }
  for (i = 0; i < count; i++) {
    const char name[] = {'v', (char)('0' + i), '\0'};
    int64_t ld;
    if (mpy_lend(PyTuple_GetItem(tuple, i), name, 0, &arrays[i]) != 0 ||
        check_vectors(self, &arrays[i], self->out, name, &ld) != 0) {
      return -1;
    }
    addresses[i] = arrays[i].data != NULL ? arrays[i].data : nothing;
  }
  return 0;
}

/* epilogue(x, y, vectors, scalars, sums, stream): the product of a plan with an epilogue. */
static PyObject *plan_epilogue(PyObject *object, PyObject *arguments) {
  mpy_plan *self = (mpy_plan *)object;
  PyObject *x, *y, *vectors, *scalars, *sums, *stream;
  mpy_array operands[MPY_EPILOGUE_VECTORS], numbers, results;
  mpy_operands o;
  int failed, i;
  if (!PyArg_ParseTuple(arguments, "OOOOOO:epilogue", &x, &y, &vectors, &scalars, &sums,
                        &stream)) {
    return NULL;
  }
  memset(&o, 0, sizeof o);
  memset(operands, 0, sizeof operands);
  memset(&numbers, 0, sizeof numbers);
  memset(&results, 0, sizeof results);
  failed = lend_xy(self, x, y, stream, &o) != 0 ||
           lend_operands(self, vectors, operands, o.vectors) != 0 ||
           (self->epilogue_scalars > 0 &&
            lend_doubles(self, scalars, "scalars", 0, self->epilogue_scalars, &numbers) != 0) ||
           lend_doubles(self, sums, "sums", 1, 2, &results) != 0;
  if (!failed) {
    o.scalars = (const double *)numbers.data;
    o.sums = (double *)results.data;
    failed = mpy_plan_run(self, &o, NULL, NULL) != 0;
  }
  for (i = 0; i < MPY_EPILOGUE_VECTORS; i++) {
    mpy_return(&operands[i]);
  }
  mpy_return(&numbers);
  mpy_return(&results);
  mpy_return(&o.x);
  mpy_return(&o.y);
  if (failed) {
    return NULL;
  }
  Py_RETURN_NONE;
}

/* ---- New values, facts ------------------------------------------------------------------- */

/* update(view): takes the values of another view of the same structure. */
static PyObject *plan_update(PyObject *object, PyObject *view) {
  mpy_plan *self = (mpy_plan *)object;
  const merbit_view *new_view;
  merbit_status status;
  int i;
  if (Py_TYPE(view) != mpy_view_type) {
    return mpy_raise_type("view is no merbit._core.View");
  }
  for (i = 0; i < self->slot_count || self->updating; i++) {
    if (self->updating || self->slots[i].busy) {
      return mpy_raise(
          MERBIT_INVALID_ARGUMENT,
          "another thread is using this matrix: let its calls return before update");
    }
  }
  new_view = &((mpy_view *)view)->view;
  self->updating = 1;
  Py_BEGIN_ALLOW_THREADS
  status = merbit_plan_update_values(self->plan, new_view->values, new_view->memory);
  Py_END_ALLOW_THREADS
  self->updating = 0;
  if (status != MERBIT_OK) {
    return mpy_raise_last(self->context->context, status);
  }
  Py_RETURN_NONE;
}

static PyObject *plan_describe(PyObject *object, PyObject *none) {
  char text[2048];
  (void)none;
  merbit_plan_describe(((mpy_plan *)object)->plan, text, sizeof text);
  return mpy_text(text);
}

static PyObject *plan_info(PyObject *object, PyObject *none) {
  merbit_plan_info info;
  const merbit_status status = merbit_plan_get_info(((mpy_plan *)object)->plan, &info);
  (void)none;
  return status == MERBIT_OK ? mpy_plan_info(&info)
                             : mpy_raise_last(((mpy_plan *)object)->context->context, status);
}

static PyObject *plan_vector_type(PyObject *object, void *closure) {
  (void)closure;
  return PyLong_FromLong(((mpy_plan *)object)->vector_type);
}

int mpy_plan_init(PyObject *module) {
  static PyMethodDef plan_methods[] = {
      {"multiply", plan_multiply, METH_VARARGS, "multiply(x, y, alpha, beta, stream)"},
      {"epilogue", plan_epilogue, METH_VARARGS,
       "epilogue(x, y, vectors, scalars, sums, stream)"},
      {"update", plan_update, METH_O, "update(view)"},
      {"describe", plan_describe, METH_NOARGS, "The line of merbit_plan_describe."},
      {"info", plan_info, METH_NOARGS, "The fields of merbit_plan_info."},
      {NULL, NULL, 0, NULL}};
  static PyGetSetDef plan_getters[] = {
      {"vector_type", plan_vector_type, NULL, "The merbit_type of x and y.", NULL},
      {NULL, NULL, NULL, NULL, NULL}};
  static PyType_Slot plan_slots[] = {{Py_tp_new, (void *)plan_new},
                                     {Py_tp_dealloc, (void *)plan_dealloc},
                                     {Py_tp_traverse, (void *)plan_traverse},
                                     {Py_tp_methods, plan_methods},
                                     {Py_tp_getset, plan_getters},
                                     {0, NULL}};
  static PyType_Spec plan_spec = {"merbit._core.Plan", sizeof(mpy_plan), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, plan_slots};
  return mpy_add_type(module, &plan_spec, &mpy_plan_type);
}
