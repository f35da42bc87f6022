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

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "The version of merbit.h."},
    {"statuses", statuses, METH_NOARGS, "A list of (name, value, text), one for each status."},
    {"inspect", inspect, METH_VARARGS,
     "inspect(array, name): its (type, device, shape, strides); errors call it `name`."},
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
                         mpy_plan_init(module) != 0 || mpy_solve_init(module) != 0)) {
    Py_CLEAR(module);
  }
  return module;
}
