/* The module merbit._core: the functions and types that the Python files of merbit build on. */
#include "binding.h"

static PyObject *version(PyObject *module, PyObject *none) {
  (void)module;
  (void)none;
  return PyUnicode_FromString(merbit_version());
}

/* Returns (name, value, text) of every status. */
static PyObject *statuses(PyObject *module, PyObject *none) {
  PyObject *list = PyList_New(0);
  int i;
  (void)module;
  (void)none;
  for (i = 0; list != NULL &&
              strcmp(merbit_status_name((merbit_status)i), "MERBIT_UNKNOWN_STATUS") != 0;
       i++) {
    PyObject *row = Py_BuildValue("sis", merbit_status_name((merbit_status)i), i,
                                  merbit_status_text((merbit_status)i));
    if (row == NULL || PyList_Append(list, row) != 0) {
      Py_CLEAR(list);
    }
    Py_XDECREF(row);
  }
  return list;
}

/* Returns (type, device, shape, strides in bytes) of an array, as merbit sees it. */
static PyObject *inspect(PyObject *module, PyObject *arguments) {
  mpy_array array;
  const char *name;
  PyObject *object;
  PyObject *shape, *strides, *result = NULL;
  Py_ssize_t i;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "Os:inspect", &object, &name) ||
      mpy_lend(object, name, 0, &array) != 0) {
    return NULL;
  }
  shape = PyTuple_New(array.ndim);
  strides = PyTuple_New(array.ndim);
  for (i = 0; shape != NULL && strides != NULL && i < array.ndim; i++) {
    PyTuple_SetItem(shape, i, PyLong_FromLongLong(array.shape[i]));
    PyTuple_SetItem(strides, i, PyLong_FromLongLong(array.strides[i]));
  }
  if (shape != NULL && strides != NULL && !PyErr_Occurred()) {
    result = Py_BuildValue("siOO", mpy_type_name(array.type), array.device, shape, strides);
  }
  Py_XDECREF(shape);
  Py_XDECREF(strides);
  mpy_return(&array);
  return result;
}

/* Sets [*first, *end) to the addresses that an array spans, gaps included. */
static void span(const mpy_array *array, uintptr_t *first, uintptr_t *end) {
  int i;
  *first = *end = (uintptr_t)array->data;
  if (mpy_count(array) == 0) {
    return;
  }
  *end += (uintptr_t)array->type.bits / 8;
  for (i = 0; i < array->ndim; i++) {
    const int64_t last = (array->shape[i] - 1) * array->strides[i];
    *first += last < 0 ? (uintptr_t)last : 0;
    *end += last > 0 ? (uintptr_t)last : 0;
  }
}

/* Returns whether the memory from the first to the last element of x has some of that of out.
 */
static PyObject *overlap(PyObject *module, PyObject *arguments) {
  uintptr_t first[2], end[2];
  PyObject *x, *out, *result = NULL;
  mpy_array arrays[2];
  (void)module;
  memset(arrays, 0, sizeof arrays);
  if (!PyArg_ParseTuple(arguments, "OO:overlap", &x, &out)) {
    return NULL;
  }
  if (mpy_lend(x, "x", 0, &arrays[0]) == 0 && mpy_lend(out, "out", 1, &arrays[1]) == 0) {
    span(&arrays[0], &first[0], &end[0]);
    span(&arrays[1], &first[1], &end[1]);
    result = PyBool_FromLong(first[0] < end[1] && first[1] < end[0]);
  }
  mpy_return(&arrays[0]);
  mpy_return(&arrays[1]);
  return result;
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "The version of merbit.h."},
    {"statuses", statuses, METH_NOARGS, "A list of (name, value, text), one for each status."},
    {"inspect", inspect, METH_VARARGS,
     "inspect(array, name): its (type, device, shape, strides); errors call it `name`."},
    {"overlap", overlap, METH_VARARGS,
     "overlap(x, out): whether they share memory between their first and last elements."},
    {"register_exporter", mpy_register_exporter, METH_VARARGS,
     "register_exporter(type, exporter, check): how to make DLPack capsules of a type."},
    {"pagerank", (PyCFunction)(void (*)(void))mpy_pagerank, METH_VARARGS | METH_KEYWORDS,
     "merbit_pagerank."},
    {"eigen", (PyCFunction)(void (*)(void))mpy_eigen, METH_VARARGS | METH_KEYWORDS,
     "merbit_eigen."},
    {"forecast", (PyCFunction)(void (*)(void))mpy_forecast, METH_VARARGS | METH_KEYWORDS,
     "merbit_plan_forecast; the arguments are those of Plan."},
    {"import_cubins", mpy_import_cubins, METH_VARARGS,
     "import_cubins(path, cache_dir): merbit_cache_import."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "merbit._core",
                                        "The C side of merbit.",
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__core(void) {
  PyObject *module = PyModule_Create(&definition);
  if (module != NULL && (mpy_arrays_init() != 0 || mpy_objects_init(module) != 0 ||
                         mpy_plan_init(module) != 0 || mpy_product_init(module) != 0 ||
                         mpy_precondition_init(module) != 0 || mpy_solve_init(module) != 0)) {
    Py_CLEAR(module);
  }
  return module;
}
