/* Preconditioners. */
#include "binding.h"

PyTypeObject *mpy_preconditioner_type;

static PyObject *preconditioner_new(PyTypeObject *type, PyObject *arguments,
                                    PyObject *keywords) {
  static char *names[] = {"context",        "view",   "kind",     "block_size",    "degree",
                          "near_nullspace", "single", "singular", "deterministic", NULL};
  PyObject *context, *view, *near_object = Py_None;
  merbit_preconditioner_desc desc;
  merbit_status status;
  merbit_context *c;
  const merbit_view *v;
  mpy_preconditioner *self;
  mpy_array near;
  int kind;
  memset(&desc, 0, sizeof desc);
  memset(&near, 0, sizeof near);
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!O!i|iiOppp:Preconditioner", names,
                                   mpy_context_type, &context, mpy_view_type, &view, &kind,
                                   &desc.block_size, &desc.degree, &near_object, &desc.single,
                                   &desc.singular, &desc.deterministic)) {
    return NULL;
  }
  if (near_object != Py_None && mpy_lend(near_object, "near_nullspace", 0, &near) != 0) {
    return NULL;
  }
  self = (mpy_preconditioner *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) {
    mpy_return(&near);
    return NULL;
  }
  self->context = (mpy_context *)context;
  self->view = (mpy_view *)view;
  Py_INCREF(context);
  Py_INCREF(view);
  desc.kind = (merbit_preconditioner_kind)kind;
  desc.side = self->context->device == MPY_HOST ? MERBIT_SIDE_CPU : MERBIT_SIDE_CUDA;
  desc.near_nullspace = (const double *)near.data;
  desc.near_nullspace_count = near_object != Py_None ? (int)near.shape[0] : 0;
  c = self->context->context;
  v = &self->view->view;
  Py_BEGIN_ALLOW_THREADS
  status = merbit_preconditioner_create(c, v, &desc, &self->preconditioner);
  Py_END_ALLOW_THREADS
  mpy_return(&near);
  if (status != MERBIT_OK) {
    mpy_raise_last(c, status);
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

static int preconditioner_traverse(PyObject *object, visitproc visit, void *arg) {
  mpy_preconditioner *self = (mpy_preconditioner *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->context);
  Py_VISIT(self->view);
  return 0;
}

static void preconditioner_dealloc(PyObject *object) {
  mpy_preconditioner *self = (mpy_preconditioner *)object;
  PyObject_GC_UnTrack(object);
  merbit_preconditioner_destroy(self->preconditioner);
  merbit_buffer_destroy(self->staged_r);
  merbit_buffer_destroy(self->staged_z);
  Py_XDECREF(self->context);
  Py_XDECREF(self->view);
  mpy_free(object);
}

/* Applies M on the GPU to host vectors of `bytes` bytes: copies r there and z back, in the
 * default stream. */
static merbit_status apply_staged(mpy_preconditioner *self, const mpy_array *r, mpy_array *z,
                                  size_t bytes) {
  merbit_buffer **buffers[] = {&self->staged_r, &self->staged_z};
  merbit_status status = MERBIT_OK;
  int i;
  for (i = 0; i < 2 && status == MERBIT_OK; i++) {
    if (*buffers[i] == NULL) {
      status = merbit_buffer_create(self->context->context, bytes, buffers[i]);
    }
  }
  if (status == MERBIT_OK) {
    status = merbit_buffer_upload(self->staged_r, 0, r->data, bytes);
  }
  if (status == MERBIT_OK) {
    status =
        merbit_preconditioner_apply(self->preconditioner, merbit_buffer_pointer(self->staged_r),
                                    merbit_buffer_pointer(self->staged_z), NULL);
  }
  return status == MERBIT_OK ? merbit_buffer_download(self->staged_z, 0, z->data, bytes)
                             : status;
}

/* apply(r, z, host, stream): z = M^-1 r. host: r and z are in host memory, wherever M is. */
static PyObject *preconditioner_apply(PyObject *object, PyObject *arguments) {
  mpy_preconditioner *self = (mpy_preconditioner *)object;
  const merbit_view *view = &self->view->view;
  PyObject *r_object, *z_object, *stream_object;
  mpy_array r, z;
  void *stream = NULL;
  int done = 0, host, device;
  if (!PyArg_ParseTuple(arguments, "OOpO:apply", &r_object, &z_object, &host, &stream_object)) {
    return NULL;
  }
  if (stream_object != Py_None) {
    stream = PyLong_AsVoidPtr(stream_object);
    if (PyErr_Occurred()) {
      return NULL;
    }
  }
  device = host ? MPY_HOST : self->context->device;
  memset(&r, 0, sizeof r);
  memset(&z, 0, sizeof z);
  if (mpy_lend_vectors(view, device, r_object, "r", 0, 0, &r) == 0 &&
      mpy_lend_vectors(view, device, z_object, "out", 1, 0, &z) == 0) {
    merbit_status status;
    Py_BEGIN_ALLOW_THREADS
    status = device == self->context->device
                 ? merbit_preconditioner_apply(self->preconditioner, r.data, z.data, stream)
                 : apply_staged(self, &r, &z, (size_t)view->rows * (size_t)(r.type.bits / 8));
    Py_END_ALLOW_THREADS
    done = status == MERBIT_OK;
    if (!done) {
      mpy_raise_last(self->context->context, status);
    }
  }
  mpy_return(&r);
  mpy_return(&z);
  if (!done) {
    return NULL;
  }
  Py_RETURN_NONE;
}

/* update(view): takes the values of another view of the same structure. */
static PyObject *preconditioner_update(PyObject *object, PyObject *view) {
  mpy_preconditioner *self = (mpy_preconditioner *)object;
  const merbit_view *new_view;
  merbit_status status;
  if (Py_TYPE(view) != mpy_view_type) {
    return mpy_raise_type("view is no merbit._core.View");
  }
  new_view = &((mpy_view *)view)->view;
  Py_BEGIN_ALLOW_THREADS
  status = merbit_preconditioner_update_values(self->preconditioner, new_view->values,
                                               new_view->memory);
  Py_END_ALLOW_THREADS
  if (status != MERBIT_OK) {
    return mpy_raise_last(self->context->context, status);
  }
  Py_RETURN_NONE;
}

static PyObject *preconditioner_describe(PyObject *object, PyObject *none) {
  char line[1024];
  (void)none;
  (void)merbit_preconditioner_describe(((mpy_preconditioner *)object)->preconditioner, line,
                                       sizeof line);
  return mpy_text(line);
}

/* Returns a tuple of `count` numbers. */
static PyObject *tuple_of(const int64_t *numbers, int count) {
  PyObject *tuple = PyTuple_New(count);
  int i;
  for (i = 0; tuple != NULL && i < count; i++) {
    PyObject *number = PyLong_FromLongLong(numbers[i]);
    if (number == NULL || PyTuple_SetItem(tuple, i, number) != 0) {
      Py_CLEAR(tuple);
    }
  }
  return tuple;
}

/* info(): a dictionary of merbit_preconditioner_info. */
static PyObject *preconditioner_info(PyObject *object, PyObject *none) {
  merbit_preconditioner_info info;
  PyObject *rows, *nonzeros;
  (void)none;
  (void)merbit_preconditioner_get_info(((mpy_preconditioner *)object)->preconditioner, &info);
  rows = tuple_of(info.rows, info.levels);
  nonzeros = rows != NULL ? tuple_of(info.nonzeros, info.levels) : NULL;
  if (nonzeros == NULL) {
    Py_XDECREF(rows);
    return NULL;
  }
  return Py_BuildValue("{s:s,s:i,s:N,s:N,s:d,s:L,s:L,s:d}", "side",
                       info.side == MERBIT_SIDE_CUDA ? "cuda" : "cpu", "levels", info.levels,
                       "rows", rows, "nonzeros", nonzeros, "operator_complexity",
                       info.operator_complexity, "host_bytes", (long long)info.host_bytes,
                       "device_bytes", (long long)info.device_bytes, "setup_seconds",
                       info.setup_seconds);
}

int mpy_precondition_init(PyObject *module) {
  static PyMethodDef methods[] = {
      {"apply", preconditioner_apply, METH_VARARGS, "apply(r, z, host, stream)"},
      {"update", preconditioner_update, METH_O, "update(view)"},
      {"describe", preconditioner_describe, METH_NOARGS, "merbit_preconditioner_describe."},
      {"info", preconditioner_info, METH_NOARGS, "The fields of merbit_preconditioner_info."},
      {NULL, NULL, 0, NULL}};
  static PyType_Slot slots[] = {{Py_tp_new, (void *)preconditioner_new},
                                {Py_tp_dealloc, (void *)preconditioner_dealloc},
                                {Py_tp_traverse, (void *)preconditioner_traverse},
                                {Py_tp_methods, methods},
                                {0, NULL}};
  static PyType_Spec spec = {"merbit._core.Preconditioner", sizeof(mpy_preconditioner), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  return mpy_add_type(module, &spec, &mpy_preconditioner_type);
}
