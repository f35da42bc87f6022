/* The types Context and View of the module: a GPU or the CPU, and a matrix in borrowed arrays.
 */
#include "binding.h"

PyTypeObject *mpy_context_type, *mpy_view_type;

int mpy_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type) {
  *type = (PyTypeObject *)PyType_FromSpec(spec);
  if (*type == NULL) {
    return -1;
  }
  Py_INCREF(*type); /* the module's reference; the other is the variable's */
  if (PyModule_AddObject(module, strrchr(spec->name, '.') + 1, (PyObject *)*type) != 0) {
    Py_DECREF(*type);
    return -1;
  }
  return 0;
}

void mpy_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

/* ---- Context ----------------------------------------------------------------------------- */

/* A converter of PyArg_Parse: stores a path as bytes, or NULL for None. */
static int convert_path(PyObject *object, void *bytes) {
  if (object == Py_None) {
    *(PyObject **)bytes = NULL;
    return 1;
  }
  return PyUnicode_FSConverter(object, bytes);
}

static const char *path_of(PyObject *bytes) {
  return bytes != NULL ? PyBytes_AsString(bytes) : NULL;
}

static PyObject *context_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"side",       "device",       "threads", "cache_dir",
                          "nvrtc_path", "bind_threads", NULL};
  merbit_context_desc desc;
  merbit_context_info info;
  merbit_error error;
  merbit_status status;
  mpy_context *self;
  PyObject *cache_dir = NULL, *nvrtc_path = NULL;
  int side = 0;
  memset(&desc, 0, sizeof desc);
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|iiiO&O&p:Context", names, &side,
                                   &desc.device, &desc.threads, convert_path, &cache_dir,
                                   convert_path, &nvrtc_path, &desc.bind_threads)) {
    return NULL;
  }
  desc.side = (merbit_side)side;
  desc.cache_dir = path_of(cache_dir);
  desc.nvrtc_path = path_of(nvrtc_path);
  self = (mpy_context *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) {
    Py_XDECREF(cache_dir);
    Py_XDECREF(nvrtc_path);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  status = merbit_context_create(&desc, &self->context, &error);
  Py_END_ALLOW_THREADS
  Py_XDECREF(cache_dir);
  Py_XDECREF(nvrtc_path);
  if (status != MERBIT_OK) {
    mpy_raise(status, "%s", error.message);
    Py_DECREF(self);
    return NULL;
  }
  self->device = merbit_context_get_info(self->context, &info) == MERBIT_OK &&
                         info.side == MERBIT_SIDE_CUDA
                     ? desc.device
                     : MPY_HOST;
  return (PyObject *)self;
}

static void context_dealloc(PyObject *object) {
  merbit_context_destroy(((mpy_context *)object)->context);
  mpy_free(object);
}

static PyObject *profile_numbers(const double *numbers) {
  PyObject *tuple = PyTuple_New(MERBIT_PROFILE_SIZES);
  int i;
  for (i = 0; tuple != NULL && i < MERBIT_PROFILE_SIZES; i++) {
    PyObject *number = PyFloat_FromDouble(numbers[i]);
    if (number == NULL || PyTuple_SetItem(tuple, i, number) != 0) {
      Py_CLEAR(tuple);
    }
  }
  return tuple;
}

static PyObject *context_profile(const merbit_device_profile *profile) {
  return Py_BuildValue("{s:N,s:d,s:d,s:d,s:d,s:d,s:N,s:N,s:N}", "measured",
                       PyBool_FromLong(profile->measured), "l2_bytes", profile->l2_bytes,
                       "copy_rate", profile->copy_rate, "launch_seconds",
                       profile->launch_seconds, "l2_load_seconds", profile->l2_load_seconds,
                       "memory_load_seconds", profile->memory_load_seconds, "gather_bytes",
                       profile_numbers(profile->gather_bytes), "gather_rate_f32",
                       profile_numbers(profile->gather_rate_f32), "gather_rate_f64",
                       profile_numbers(profile->gather_rate_f64));
}

static PyObject *context_info(PyObject *object, PyObject *none) {
  merbit_context_info info;
  const merbit_status status = merbit_context_get_info(((mpy_context *)object)->context, &info);
  (void)none;
  if (status != MERBIT_OK) {
    return mpy_raise_last(((mpy_context *)object)->context, status);
  }
  return Py_BuildValue(
      "{s:s,s:N,s:N,s:N,s:N,s:N,s:i,s:i,s:i,s:i,s:L,s:L,s:L,s:N}", "side",
      info.side == MERBIT_SIDE_CUDA ? "cuda" : "cpu", "device", mpy_text(info.device), "reason",
      mpy_text(info.reason), "nvrtc", PyUnicode_DecodeFSDefault(info.nvrtc), "cache_dir",
      PyUnicode_DecodeFSDefault(info.cache_dir), "cache_off_reason",
      mpy_text(info.cache_off_reason), "threads", info.threads, "compute_capability",
      info.compute_capability, "driver_version", info.driver_version, "nvrtc_version",
      info.nvrtc_version, "cache_hits", (long long)info.cache_hits, "cache_misses",
      (long long)info.cache_misses, "cache_errors", (long long)info.cache_errors, "profile",
      context_profile(&info.profile));
}

static PyObject *context_export(PyObject *object, PyObject *arguments) {
  merbit_context *context = ((mpy_context *)object)->context;
  PyObject *path = NULL;
  const char *name;
  merbit_status status;
  if (!PyArg_ParseTuple(arguments, "O&:export_cubins", PyUnicode_FSConverter, &path)) {
    return NULL;
  }
  name = path_of(path);
  Py_BEGIN_ALLOW_THREADS
  status = merbit_cache_export(context, name);
  Py_END_ALLOW_THREADS
  Py_DECREF(path);
  if (status != MERBIT_OK) {
    return mpy_raise_last(context, status);
  }
  Py_RETURN_NONE;
}

PyObject *mpy_import_cubins(PyObject *module, PyObject *arguments) {
  merbit_context_desc desc = merbit_context_defaults();
  PyObject *path = NULL, *cache_dir = NULL;
  const char *name;
  merbit_error error;
  merbit_status status;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "O&O&:import_cubins", PyUnicode_FSConverter, &path,
                        convert_path, &cache_dir)) {
    return NULL;
  }
  name = path_of(path);
  desc.cache_dir = path_of(cache_dir);
  Py_BEGIN_ALLOW_THREADS
  status = merbit_cache_import(&desc, name, &error);
  Py_END_ALLOW_THREADS
  Py_DECREF(path);
  Py_XDECREF(cache_dir);
  if (status != MERBIT_OK) {
    return mpy_raise(status, "%s", error.message);
  }
  Py_RETURN_NONE;
}

static PyObject *context_device(PyObject *object, void *closure) {
  const int device = ((mpy_context *)object)->device;
  (void)closure;
  if (device == MPY_HOST) {
    Py_RETURN_NONE;
  }
  return PyLong_FromLong(device);
}

/* ---- View -------------------------------------------------------------------------------- */

/* Borrows an array of offsets or indices and sets its width. */
static int lend_indices(PyObject *object, const char *name, mpy_array *array,
                        merbit_index_type *width) {
  if (mpy_lend(object, name, 0, array) != 0) {
    return -1;
  }
  if (array->type.kind != 'i' || (array->type.bits != 32 && array->type.bits != 64)) {
    mpy_raise_type("%s has type %s; merbit takes int32 and int64", name,
                   mpy_type_name(array->type));
    return -1;
  }
  if (array->ndim != 1 || !mpy_contiguous(array)) {
    mpy_raise(MERBIT_INVALID_ARGUMENT,
              "%s must have one dimension and adjacent elements; it has %d dimensions%s", name,
              array->ndim, array->ndim == 1 ? " and gaps: make it contiguous" : "");
    return -1;
  }
  *width = array->type.bits == 64 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  return 0;
}

/* Borrows the values. `value_type` is the type of a pattern, or which one 16-bit patterns are
 * of; otherwise it must be that of the values, or 0. */
static int lend_values(mpy_view *self, PyObject *object, int value_type) {
  mpy_array *values = &self->values;
  int64_t needed = self->view.nnz;
  if (object == Py_None) {
    self->view.value_type = (merbit_type)value_type;
    return 0;
  }
  if (mpy_lend(object, "values", 0, values) != 0) {
    return -1;
  }
  if ((value_type == MERBIT_F16 || value_type == MERBIT_BF16) && values->type.kind == 'u' &&
      values->type.bits == 16) {
    values->type.kind = value_type == MERBIT_BF16 ? 'b' : 'f'; /* passed as 16-bit patterns */
  }
  self->view.value_type = mpy_merbit_type(values->type);
  if (self->view.value_type == MERBIT_TYPE_DEFAULT) {
    mpy_raise_type("values have type %s; merbit takes float64, float32, float16, bfloat16, "
                   "complex64 and complex128: convert them with astype",
                   mpy_type_name(values->type));
    return -1;
  }
  if (value_type != 0 && self->view.value_type != (merbit_type)value_type) {
    mpy_raise_type("values have type %s, but dtype is %s; convert them with astype, or leave "
                   "dtype out",
                   mpy_type_name(values->type), mpy_merbit_type_name((merbit_type)value_type));
    return -1;
  }
  if (!mpy_contiguous(values)) {
    mpy_raise(MERBIT_INVALID_ARGUMENT, "values have gaps: make the array contiguous");
    return -1;
  }
  if (self->view.format == MERBIT_BSR) {
    needed *= (int64_t)self->view.block_rows * self->view.block_cols;
  }
  if (mpy_count(values) != needed) {
    mpy_raise(MERBIT_INVALID_ARGUMENT, "there are %lld values for %lld %s; %lld are needed",
              (long long)mpy_count(values), (long long)self->view.nnz,
              self->view.format == MERBIT_BSR ? "blocks" : "entries", (long long)needed);
    return -1;
  }
  if (self->view.memory == MERBIT_MEMORY_DEVICE && values->device >= 0 && self->device >= 0 &&
      values->device != self->device) {
    mpy_raise(MERBIT_INVALID_ARGUMENT, "values are on CUDA device %d, indices on device %d",
              values->device, self->device);
    return -1;
  }
  if ((values->device == MPY_HOST) != (self->device == MPY_HOST)) {
    char first[32], second[32];
    mpy_raise(MERBIT_INVALID_ARGUMENT, "values are %s, indices %s; all arrays must be together",
              mpy_place(values->device, first), mpy_place(self->device, second));
    return -1;
  }
  self->view.values = values->data;
  return 0;
}

static int view_fill(mpy_view *self, PyObject *rows, PyObject *columns, PyObject *values,
                     int value_type) {
  merbit_view *view = &self->view;
  const char *name = view->format == MERBIT_COO ? "row_ind" : "row_ptr";
  merbit_index_type width = MERBIT_INDEX_32;
  int64_t needed = view->rows + 1;
  if (lend_indices(columns, "col_ind", &self->columns, &view->index_type) != 0 ||
      lend_indices(rows, name, &self->rows, &width) != 0) {
    return -1;
  }
  self->device = self->columns.device == MPY_CUDA ? self->rows.device : self->columns.device;
  if ((self->rows.device == MPY_HOST) != (self->columns.device == MPY_HOST) ||
      (self->rows.device >= 0 && self->columns.device >= 0 &&
       self->rows.device != self->columns.device)) {
    char first[32], second[32];
    mpy_raise(MERBIT_INVALID_ARGUMENT, "%s is %s, col_ind %s; all arrays must be together",
              name, mpy_place(self->rows.device, first),
              mpy_place(self->columns.device, second));
    return -1;
  }
  view->memory = self->device == MPY_HOST ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEVICE;
  view->nnz = self->columns.shape[0];
  view->col_ind = self->columns.data;
  if (view->format == MERBIT_COO) {
    needed = view->nnz;
    view->row_ind = self->rows.data;
    if (width != view->index_type) {
      mpy_raise_type("row_ind has type %s and col_ind %s; both must have the same",
                     mpy_type_name(self->rows.type), mpy_type_name(self->columns.type));
      return -1;
    }
  } else {
    view->row_ptr = self->rows.data;
    view->offset_type = width;
    if (view->format == MERBIT_BSR) {
      if (view->block_rows < 1 || view->block_cols < 1) {
        mpy_raise(MERBIT_INVALID_ARGUMENT, "blocks of %d x %d: both sides must be at least 1",
                  view->block_rows, view->block_cols);
        return -1;
      }
      needed = view->rows / view->block_rows + (view->rows % view->block_rows != 0) + 1;
    }
  }
  if (self->rows.shape[0] != needed) {
    mpy_raise(MERBIT_INVALID_ARGUMENT,
              "%s has %lld elements; a matrix of this shape needs %lld", name,
              (long long)self->rows.shape[0], (long long)needed);
    return -1;
  }
  return lend_values(self, values, value_type);
}

static PyObject *view_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"format",      "rows",       "cols", "row_array",  "col_ind",
                          "values",      "value_type", "base", "block_rows", "block_cols",
                          "block_order", "symmetry",   NULL};
  PyObject *rows_array, *columns, *values;
  mpy_view *self;
  merbit_view view;
  int format, value_type = 0, block_order = 0, symmetry = 0;
  long long rows, cols;
  memset(&view, 0, sizeof view);
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "iLLOOO|iiiiii:View", names, &format,
                                   &rows, &cols, &rows_array, &columns, &values, &value_type,
                                   &view.base, &view.block_rows, &view.block_cols, &block_order,
                                   &symmetry)) {
    return NULL;
  }
  if (rows < 0 || cols < 0 || rows == INT64_MAX) {
    return mpy_raise(MERBIT_INVALID_ARGUMENT, "the shape (%lld, %lld) is no matrix's", rows,
                     cols);
  }
  self = (mpy_view *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) {
    return NULL;
  }
  view.format = (merbit_format)format;
  view.rows = rows;
  view.cols = cols;
  view.block_order = (merbit_block_order)block_order;
  view.symmetry = (merbit_symmetry)symmetry;
  self->view = view;
  if (view_fill(self, rows_array, columns, values, value_type) != 0) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

static int view_traverse(PyObject *object, visitproc visit, void *arg) {
  mpy_view *self = (mpy_view *)object;
  int stop = mpy_visit(&self->rows, visit, arg);
  stop = stop != 0 ? stop : mpy_visit(&self->columns, visit, arg);
  stop = stop != 0 ? stop : mpy_visit(&self->values, visit, arg);
  if (stop == 0) {
    Py_VISIT(Py_TYPE(object));
  }
  return stop;
}

static void view_dealloc(PyObject *object) {
  mpy_view *self = (mpy_view *)object;
  PyObject_GC_UnTrack(object);
  mpy_return(&self->rows);
  mpy_return(&self->columns);
  mpy_return(&self->values);
  mpy_free(object);
}

static PyObject *view_check(PyObject *object, PyObject *context) {
  merbit_context *c;
  merbit_status status;
  if (Py_TYPE(context) != mpy_context_type) {
    return mpy_raise_type("context is no merbit._core.Context");
  }
  c = ((mpy_context *)context)->context;
  Py_BEGIN_ALLOW_THREADS
  status = merbit_view_check(c, &((mpy_view *)object)->view);
  Py_END_ALLOW_THREADS
  if (status != MERBIT_OK) {
    return mpy_raise_last(c, status);
  }
  Py_RETURN_NONE;
}

static PyObject *view_get(PyObject *object, void *closure) {
  const mpy_view *self = (const mpy_view *)object;
  switch (*(const char *)closure) {
  case 'd':
    return PyLong_FromLong(self->device);
  case 'n':
    return PyLong_FromLongLong(self->view.nnz);
  default:
    return PyLong_FromLong(self->view.value_type);
  }
}

/* ---- Vectors for the matrix of a view ----------------------------------------------------- */

merbit_type mpy_value_type(const merbit_view *view) {
  return view->value_type == MERBIT_TYPE_DEFAULT ? MERBIT_F64 : view->value_type;
}

int mpy_lend_vectors(const merbit_view *view, int device, PyObject *object, const char *name,
                     int writable, int64_t vectors, mpy_array *array) {
  const merbit_type type = mpy_value_type(view);
  char first[32], second[32];
  if (mpy_lend(object, name, writable, array) != 0) {
    return -1;
  }
  if (mpy_merbit_type(array->type) != type) {
    mpy_raise_type("%s has type %s; the matrix has %s: convert it with astype or .to", name,
                   mpy_type_name(array->type), mpy_merbit_type_name(type));
    return -1;
  }
  if (!mpy_is_on(array, device)) {
    mpy_raise(MERBIT_INVALID_ARGUMENT, "%s is %s; vectors %s are needed", name,
              mpy_place(array->device, first), mpy_place(device, second));
    return -1;
  }
  if (mpy_count(array) != view->rows * (vectors > 0 ? vectors : 1) ||
      (vectors > 0 && (array->ndim != 2 || array->shape[0] != vectors))) {
    mpy_raise(MERBIT_INVALID_ARGUMENT, "%s has %lld elements; %lld are needed", name,
              (long long)mpy_count(array),
              (long long)(view->rows * (vectors > 0 ? vectors : 1)));
    return -1;
  }
  return mpy_check_adjacent(array, name);
}

/* ---- Plan info, init --------------------------------------------------------------------- */

PyObject *mpy_plan_info(const merbit_plan_info *info) {
  return Py_BuildValue(
      "{s:s,s:i,s:i,s:i,s:i,s:i,s:L,s:L,s:L,s:N,s:d,s:d,s:d,s:d,s:d,s:d,s:L,s:L,s:i,s:L}",
      "side", info->side == MERBIT_SIDE_CUDA ? "cuda" : "cpu", "method", (int)info->method,
      "sigma", info->sigma, "omega", info->omega, "block_threads", info->block_threads,
      "descriptor_bits", info->descriptor_bits, "tiles", (long long)info->tiles,
      "bytes_per_product", (long long)info->bytes_per_product, "device_bytes",
      (long long)info->device_bytes, "cubin_from_cache",
      PyBool_FromLong(info->cubin_from_cache), "plan_seconds", info->plan_seconds,
      "compile_seconds", info->compile_seconds, "load_seconds", info->load_seconds,
      "transpose_seconds", info->transpose_seconds, "reorder_seconds", info->reorder_seconds,
      "expand_seconds", info->expand_seconds, "bandwidth_before",
      (long long)info->bandwidth_before, "bandwidth", (long long)info->bandwidth, "vectors",
      info->vectors, "host_bytes", (long long)info->host_bytes);
}

int mpy_objects_init(PyObject *module) {
  static PyMethodDef context_methods[] = {
      {"info", context_info, METH_NOARGS, "The fields of merbit_context_info."},
      {"export_cubins", context_export, METH_VARARGS, "merbit_cache_export."},
      {NULL, NULL, 0, NULL}};
  static PyGetSetDef context_getters[] = {
      {"device", context_device, NULL, "The CUDA ordinal, or None on the CPU.", NULL},
      {NULL, NULL, NULL, NULL, NULL}};
  static PyType_Slot context_slots[] = {{Py_tp_new, (void *)context_new},
                                        {Py_tp_dealloc, (void *)context_dealloc},
                                        {Py_tp_methods, context_methods},
                                        {Py_tp_getset, context_getters},
                                        {0, NULL}};
  static PyType_Spec context_spec = {"merbit._core.Context", sizeof(mpy_context), 0,
                                     Py_TPFLAGS_DEFAULT, context_slots};
  static PyMethodDef view_methods[] = {
      {"check", view_check, METH_O, "Check every array: merbit_view_check(context, view)."},
      {NULL, NULL, 0, NULL}};
  static PyGetSetDef view_getters[] = {
      {"device", view_get, NULL, "Where the arrays are: -1 host, -2 a GPU, or a CUDA ordinal.",
       "d"},
      {"nnz", view_get, NULL, "The number of entries or blocks.", "n"},
      {"value_type", view_get, NULL, "The merbit_type of the values.", "v"},
      {NULL, NULL, NULL, NULL, NULL}};
  static PyType_Slot view_slots[] = {{Py_tp_new, (void *)view_new},
                                     {Py_tp_dealloc, (void *)view_dealloc},
                                     {Py_tp_traverse, (void *)view_traverse},
                                     {Py_tp_methods, view_methods},
                                     {Py_tp_getset, view_getters},
                                     {0, NULL}};
  static PyType_Spec view_spec = {"merbit._core.View", sizeof(mpy_view), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, view_slots};
  return mpy_add_type(module, &context_spec, &mpy_context_type) != 0 ||
                 mpy_add_type(module, &view_spec, &mpy_view_type) != 0
             ? -1
             : 0;
}
