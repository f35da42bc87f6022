/* Arrays of other libraries, used in place: NumPy and everything else with the buffer protocol,
 * PyTorch, CuPy, and objects with DLPack or __cuda_array_interface__. */
#include "binding.h"

#include <limits.h>
#include <stdio.h>

/* The buffer protocol, which the limited API of 3.9 does not declare. */
extern int PyObject_CheckBuffer(PyObject *object);
extern int PyObject_GetBuffer(PyObject *object, mpy_buffer *buffer, int flags);
extern void PyBuffer_Release(mpy_buffer *buffer);
#define MPY_BUFFER_WRITABLE 0x0001
#define MPY_BUFFER_LAYOUT 0x001c /* PyBUF_FORMAT and PyBUF_STRIDES */

/* DLPack's structs (dmlc/dlpack, version 0.8), which a capsule named "dltensor" holds. */
typedef struct dl_tensor {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t type_code, type_bits;
  uint16_t type_lanes;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: C order */
  uint64_t byte_offset;
} dl_tensor;

/* The head of DLPack's DLPackExchangeAPI (version 1.3), which a capsule in the attribute
 * __dlpack_c_exchange_api__ of a type holds. */
typedef struct dl_exchange {
  uint32_t major, minor;
  void *previous;
  void *other_functions[3];
  int (*view)(PyObject *object, dl_tensor *tensor); /* or NULL; -1 with an exception */
} dl_exchange;

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };

/* Maps a type to (callable that makes its capsule, callable that raises if it may not be
 * exported or None, capsule of a dl_exchange or None). */
static PyObject *exporters;
/* Interned names. */
static PyObject *name_dlpack, *name_dlpack_device, *name_cuda_interface, *name_exchange;

int mpy_arrays_init(void) {
  exporters = PyDict_New();
  name_dlpack = PyUnicode_InternFromString("__dlpack__");
  name_dlpack_device = PyUnicode_InternFromString("__dlpack_device__");
  name_cuda_interface = PyUnicode_InternFromString("__cuda_array_interface__");
  name_exchange = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  return exporters && name_dlpack && name_dlpack_device && name_cuda_interface && name_exchange
             ? 0
             : -1;
}

/* Returns an attribute, or NULL; sets no exception if the object has none of that name. */
static PyObject *attribute_or_null(PyObject *object, PyObject *name) {
  PyObject *found = PyObject_GetAttr(object, name);
  if (found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
  }
  return found;
}

/* Returns the functions that a capsule holds, or NULL if it is None or of another version. */
static const dl_exchange *exchange_of(PyObject *capsule) {
  const dl_exchange *exchange = NULL;
  if (PyCapsule_IsValid(capsule, "dlpack_exchange_api")) {
    exchange = (const dl_exchange *)PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  }
  return exchange != NULL && exchange->major == 1 && exchange->view != NULL ? exchange : NULL;
}

PyObject *mpy_register_exporter(PyObject *module, PyObject *arguments) {
  PyObject *type, *exporter, *check, *capsule, *entry;
  int failed;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "OOO:register_exporter", &type, &exporter, &check)) {
    return NULL;
  }
  capsule = attribute_or_null(type, name_exchange);
  entry = PyErr_Occurred()
              ? NULL
              : PyTuple_Pack(3, exporter, check, capsule != NULL ? capsule : Py_None);
  failed = entry == NULL || PyDict_SetItem(exporters, type, entry) != 0;
  Py_XDECREF(capsule);
  Py_XDECREF(entry);
  if (failed) {
    return NULL;
  }
  Py_RETURN_NONE;
}

/* ---- Types ------------------------------------------------------------------------------- */

merbit_type mpy_merbit_type(mpy_type type) {
  switch (type.kind) {
  case 'f':
    return type.bits == 64   ? MERBIT_F64
           : type.bits == 32 ? MERBIT_F32
           : type.bits == 16 ? MERBIT_F16
                             : MERBIT_TYPE_DEFAULT;
  case 'b':
    return type.bits == 16 ? MERBIT_BF16 : MERBIT_TYPE_DEFAULT;
  case 'c':
    return type.bits == 128 ? MERBIT_C128 : type.bits == 64 ? MERBIT_C64 : MERBIT_TYPE_DEFAULT;
  default:
    return MERBIT_TYPE_DEFAULT;
  }
}

const char *mpy_type_name(mpy_type type) {
  static const struct {
    char kind;
    int bits;
    const char *name;
  } names[] = {{'f', 64, "float64"},     {'f', 32, "float32"},   {'f', 16, "float16"},
               {'b', 16, "bfloat16"},    {'c', 64, "complex64"}, {'c', 128, "complex128"},
               {'i', 8, "int8"},         {'i', 16, "int16"},     {'i', 32, "int32"},
               {'i', 64, "int64"},       {'u', 8, "uint8"},      {'u', 16, "uint16"},
               {'u', 32, "uint32"},      {'u', 64, "uint64"},    {'?', 8, "bool"},
               {'f', 128, "longdouble"}, {'O', 64, "object"}};
  size_t i;
  if (type.kind == '>') {
    return "big-endian";
  }
  for (i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (names[i].kind == type.kind && names[i].bits == type.bits) {
      return names[i].name;
    }
  }
  return "unknown to merbit";
}

const char *mpy_merbit_type_name(merbit_type type) {
  static const char *const names[] = {"default",  "float64",   "float32",   "float16",
                                      "bfloat16", "complex64", "complex128"};
  return (unsigned)type < sizeof names / sizeof names[0] ? names[type] : "unknown";
}

const char *mpy_place(int device, char text[32]) {
  if (device == MPY_HOST) {
    (void)snprintf(text, 32, "in host memory");
  } else if (device == MPY_CUDA) {
    (void)snprintf(text, 32, "in GPU memory");
  } else {
    (void)snprintf(text, 32, "on CUDA device %d", device);
  }
  return text;
}

/* Reads a format of the struct module, as NumPy writes it. */
static mpy_type type_of_format(const char *format, Py_ssize_t bytes) {
  mpy_type type = {0, (int)bytes * 8};
  if (format == NULL) {
    format = "B";
  }
  if (*format == '@' || *format == '=' || *format == '<') { /* the hosts are little-endian */
    format++;
  }
  if (*format == '>' || *format == '!') {
    type.kind = '>';
  } else if (*format == 'Z' && format[1] != '\0' && strchr("fd", format[1]) != NULL &&
             format[2] == '\0') {
    type.kind = 'c';
  } else if (*format != '\0' && format[1] == '\0') {
    type.kind = strchr("efdg", *format) != NULL     ? 'f'
                : strchr("bhilqn", *format) != NULL ? 'i'
                : strchr("BHILQN", *format) != NULL ? 'u'
                : strchr("?O", *format) != NULL     ? *format
                                                    : '\0';
  }
  return type;
}

/* ---- Ways to borrow ---------------------------------------------------------------------- */

/* Replaces the current exception by one that names the argument, unless it must pass; returns
 * -1. */
static int refuse(const char *name) {
  PyObject *type, *value, *trace, *text = NULL, *bytes = NULL;
  if (mpy_must_pass()) {
    return -1;
  }
  PyErr_Fetch(&type, &value, &trace);
  text = value != NULL ? PyObject_Str(value) : NULL;
  bytes = text != NULL ? PyUnicode_AsUTF8String(text) : NULL;
  PyErr_Clear();
  mpy_raise(MERBIT_INVALID_ARGUMENT, "%s cannot be used: %s", name,
            bytes != NULL ? PyBytes_AsString(bytes) : "its library gave no reason");
  Py_XDECREF(bytes);
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return -1;
}

static int refuse_dimensions(const char *name, int64_t ndim) {
  mpy_raise(MERBIT_INVALID_ARGUMENT, "%s has %lld dimensions; merbit takes at most %d", name,
            (long long)ndim, MPY_DIMENSIONS);
  return -1;
}

/* Raises the exception for an object that is no array; returns -1. */
static int refuse_type(PyObject *object, const char *name) {
  PyObject *text = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
  PyObject *bytes = text != NULL ? PyUnicode_AsUTF8String(text) : NULL;
  if (bytes != NULL) {
    mpy_raise_type(
        "%s is no array, but of type %.200s, which has neither the buffer protocol nor "
        "__dlpack__ nor __cuda_array_interface__; numpy.asarray makes an array of "
        "lists and of columns of pandas, S.toarray() of a sparse matrix S",
        name, PyBytes_AsString(bytes));
  }
  Py_XDECREF(bytes);
  Py_XDECREF(text);
  return -1;
}

/* Sets the strides of C order. */
static void order_c(mpy_array *array) {
  int64_t stride = array->type.bits / 8;
  int i;
  for (i = array->ndim - 1; i >= 0; i--) {
    array->strides[i] = stride;
    stride *= array->shape[i];
  }
}

static int lend_buffer(PyObject *object, const char *name, int writable, mpy_array *array) {
  const mpy_buffer *buffer = &array->buffer;
  int i;
  if (PyObject_GetBuffer(object, &array->buffer,
                         MPY_BUFFER_LAYOUT | (writable ? MPY_BUFFER_WRITABLE : 0)) != 0) {
    array->buffer.obj = NULL;
    return refuse(name);
  }
  if (buffer->ndim > MPY_DIMENSIONS) {
    return refuse_dimensions(name, buffer->ndim);
  }
  array->data = buffer->buf;
  array->device = MPY_HOST;
  array->type = type_of_format(buffer->format, buffer->itemsize);
  array->ndim = buffer->ndim;
  for (i = 0; i < buffer->ndim; i++) {
    array->shape[i] = buffer->shape[i];
  }
  order_c(array);
  for (i = 0; i < buffer->ndim && buffer->strides != NULL; i++) { /* ctypes gives NULL */
    array->strides[i] = buffer->strides[i];
  }
  return 0;
}

/* Borrows the array of a DLPack tensor. */
static int lend_tensor(const dl_tensor *tensor, const char *name, mpy_array *array) {
  static const char kinds[] = {'i', 'u', 'f', 0, 'b', 'c', '?'};
  int i;
  if (tensor->ndim > MPY_DIMENSIONS) {
    return refuse_dimensions(name, tensor->ndim);
  }
  switch (tensor->device_type) {
  case DL_CPU:
  case DL_CUDA_HOST:
    array->device = MPY_HOST;
    break;
  case DL_CUDA:
  case DL_CUDA_MANAGED:
    array->device = tensor->device_id;
    break;
  default:
    mpy_raise(MERBIT_INVALID_ARGUMENT,
              "%s is on a device of DLPack type %d; merbit takes CPU and CUDA arrays", name,
              (int)tensor->device_type);
    return -1;
  }
  array->data = tensor->data == NULL ? NULL : (char *)tensor->data + tensor->byte_offset;
  array->type.kind = tensor->type_lanes == 1 && tensor->type_code < sizeof kinds
                         ? kinds[tensor->type_code]
                         : 0;
  array->type.bits = tensor->type_bits;
  array->ndim = tensor->ndim;
  for (i = 0; i < tensor->ndim; i++) {
    array->shape[i] = tensor->shape[i];
  }
  order_c(array);
  for (i = 0; i < tensor->ndim && tensor->strides != NULL; i++) {
    array->strides[i] = tensor->strides[i] * (tensor->type_bits / 8);
  }
  return 0;
}

/* Borrows the array of a DLPack capsule, which stays with the array; steals the reference. */
static int lend_capsule(PyObject *capsule, const char *name, mpy_array *array) {
  array->lender = capsule;
  if (capsule == NULL || !PyCapsule_IsValid(capsule, "dltensor")) {
    if (capsule != NULL) {
      PyErr_SetString(PyExc_TypeError, "its __dlpack__ gave no capsule named dltensor");
    }
    return refuse(name);
  }
  return lend_tensor((const dl_tensor *)PyCapsule_GetPointer(capsule, "dltensor"), name, array);
}

/* Borrows the array of an object whose type is in `exporters`, with this entry. briefly: keeps
 * the object alive, but not its memory if the object is given other memory. */
static int lend_registered(PyObject *object, PyObject *entry, const char *name, int briefly,
                           mpy_array *array) {
  PyObject *check = PyTuple_GetItem(entry, 1);
  const dl_exchange *exchange = briefly ? exchange_of(PyTuple_GetItem(entry, 2)) : NULL;
  dl_tensor tensor;
  if (check != Py_None) {
    PyObject *answer = PyObject_CallFunctionObjArgs(check, object, NULL);
    if (answer == NULL) {
      return refuse(name);
    }
    Py_DECREF(answer);
  }
  if (exchange == NULL) {
    return lend_capsule(PyObject_CallFunctionObjArgs(PyTuple_GetItem(entry, 0), object, NULL),
                        name, array);
  }
  if (exchange->view(object, &tensor) != 0) {
    return refuse(name);
  }
  array->lender = object;
  Py_INCREF(object);
  return lend_tensor(&tensor, name, array);
}

/* Calls __dlpack__. A GPU library is told that the array will be used in the default stream. */
static int lend_dlpack(PyObject *object, PyObject *method, const char *name, mpy_array *array) {
  PyObject *device = PyObject_CallMethodObjArgs(object, name_dlpack_device, NULL);
  PyObject *none = PyTuple_New(0), *stream = PyDict_New(), *one = PyLong_FromLong(1);
  PyObject *capsule = NULL, *kind = NULL;
  if (device != NULL && none != NULL && stream != NULL && one != NULL &&
      PyDict_SetItemString(stream, "stream", one) == 0 &&
      (kind = PySequence_GetItem(device, 0)) != NULL) {
    const long type = PyLong_AsLong(kind);
    if (type != -1 || !PyErr_Occurred()) {
      capsule = PyObject_Call(method, none,
                              type == DL_CUDA || type == DL_CUDA_MANAGED ? stream : NULL);
    }
  }
  Py_XDECREF(kind);
  Py_XDECREF(device);
  Py_XDECREF(none);
  Py_XDECREF(stream);
  Py_XDECREF(one);
  if (capsule == NULL) {
    return refuse(name);
  }
  return lend_capsule(capsule, name, array);
}

/* Reads up to MPY_DIMENSIONS integers of a tuple; returns how many, or -1 with an exception. */
static int read_sizes(PyObject *tuple, int64_t sizes[MPY_DIMENSIONS], const char *name) {
  const Py_ssize_t count = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
  Py_ssize_t i;
  if (count < 0) {
    PyErr_SetString(PyExc_TypeError, "its __cuda_array_interface__ has a shape or strides that "
                                     "are no tuple");
    return refuse(name);
  }
  if (count > MPY_DIMENSIONS) {
    return refuse_dimensions(name, count);
  }
  for (i = 0; i < count; i++) {
    sizes[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    if (sizes[i] == -1 && PyErr_Occurred()) {
      return refuse(name);
    }
  }
  return (int)count;
}

/* Reads a typestr such as "<f8". */
static mpy_type type_of_typestr(PyObject *text) {
  mpy_type type = {0, 0};
  PyObject *bytes = PyUnicode_Check(text) ? PyUnicode_AsUTF8String(text) : NULL;
  const char *s = bytes != NULL ? PyBytes_AsString(bytes) : "";
  if ((s[0] == '<' || s[0] == '|' || s[0] == '=') && s[1] != '\0') {
    type.kind = s[1] == 'b' ? '?' : strchr("fciu", s[1]) != NULL ? s[1] : '\0';
    type.bits = atoi(s + 2) * 8;
  } else if (s[0] == '>') {
    type.kind = '>';
  }
  Py_XDECREF(bytes);
  PyErr_Clear();
  return type;
}

/* Borrows the array of the dictionary of __cuda_array_interface__ (Numba's specification,
 * version 3). */
static int lend_cuda(PyObject *object, PyObject *dict, const char *name, int writable,
                     mpy_array *array) {
  PyObject *shape, *typestr, *data, *strides, *stream;
  if (!PyDict_Check(dict) || (shape = PyDict_GetItemString(dict, "shape")) == NULL ||
      (typestr = PyDict_GetItemString(dict, "typestr")) == NULL ||
      (data = PyDict_GetItemString(dict, "data")) == NULL || !PyTuple_Check(data) ||
      PyTuple_Size(data) != 2) {
    PyErr_SetString(
        PyExc_TypeError,
        "its __cuda_array_interface__ lacks shape, typestr or data = (pointer, flag)");
    return refuse(name);
  }
  strides = PyDict_GetItemString(dict, "strides");
  stream = PyDict_GetItemString(dict, "stream");
  array->lender = object;
  Py_INCREF(object);
  array->device = MPY_CUDA;
  array->type = type_of_typestr(typestr);
  array->ndim = read_sizes(shape, array->shape, name);
  if (array->ndim < 0) {
    return -1;
  }
  order_c(array);
  if (strides != NULL && strides != Py_None &&
      read_sizes(strides, array->strides, name) != array->ndim) {
    return PyErr_Occurred()
               ? -1
               : (mpy_raise(MERBIT_INVALID_ARGUMENT,
                            "%s cannot be used: its __cuda_array_interface__ has strides of "
                            "another length than shape",
                            name),
                  -1);
  }
  array->data = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
  if (stream != NULL && stream != Py_None) {
    array->stream = PyLong_AsVoidPtr(stream);
  }
  if (PyErr_Occurred()) {
    return refuse(name);
  }
  if (writable && PyObject_IsTrue(PyTuple_GetItem(data, 1)) != 0) {
    mpy_raise(MERBIT_INVALID_ARGUMENT, "%s cannot be used: it is read-only", name);
    return -1;
  }
  return 0;
}

static int lend(PyObject *object, const char *name, int writable, int briefly,
                mpy_array *array) {
  PyObject *found = PyDict_GetItemWithError(exporters, (PyObject *)Py_TYPE(object));
  int result;
  if (found != NULL) {
    return lend_registered(object, found, name, briefly, array);
  }
  if (PyErr_Occurred()) {
    return -1;
  }
  if (PyObject_CheckBuffer(object)) {
    return lend_buffer(object, name, writable, array);
  }
  found = attribute_or_null(object, name_cuda_interface);
  if (found != NULL) {
    result = lend_cuda(object, found, name, writable, array);
    Py_DECREF(found);
    return result;
  }
  if (PyErr_Occurred()) {
    return refuse(name);
  }
  found = attribute_or_null(object, name_dlpack);
  if (found != NULL) {
    result = lend_dlpack(object, found, name, array);
    Py_DECREF(found);
    return result;
  }
  if (PyErr_Occurred()) {
    return refuse(name);
  }
  return refuse_type(object, name);
}

/* Borrows and checks the array. */
static int lend_checked(PyObject *object, const char *name, int writable, int briefly,
                        mpy_array *array) {
  int i;
  memset(array, 0, sizeof *array);
  if (lend(object, name, writable, briefly, array) != 0) {
    mpy_return(array);
    return -1;
  }
  for (i = 0; i < array->ndim; i++) {
    if (array->shape[i] < 0) {
      mpy_raise(MERBIT_INVALID_ARGUMENT, "%s has the negative length %lld", name,
                (long long)array->shape[i]);
      mpy_return(array);
      return -1;
    }
  }
  if (array->data == NULL && mpy_count(array) > 0) {
    mpy_raise(MERBIT_INVALID_ARGUMENT, "%s has no memory: its address is NULL; was it freed?",
              name);
    mpy_return(array);
    return -1;
  }
  return 0;
}

int mpy_lend(PyObject *object, const char *name, int writable, mpy_array *array) {
  return lend_checked(object, name, writable, 0, array);
}

int mpy_lend_briefly(PyObject *object, const char *name, mpy_array *array) {
  return lend_checked(object, name, 0, 1, array);
}

void mpy_return(mpy_array *array) {
  PyObject *type, *value, *trace;
  if (array->buffer.obj == NULL && array->lender == NULL) {
    return;
  }
  PyErr_Fetch(&type, &value, &trace);
  if (array->buffer.obj != NULL) {
    PyBuffer_Release(&array->buffer);
  }
  Py_XDECREF(array->lender);
  memset(array, 0, sizeof *array);
  PyErr_Restore(type, value, trace);
}

int mpy_visit(mpy_array *array, visitproc visit, void *arg) {
  Py_VISIT(array->lender);
  Py_VISIT(array->buffer.obj);
  return 0;
}

int mpy_is_on(const mpy_array *array, int device) {
  return array->device == device || (array->device == MPY_CUDA && device >= 0);
}

int64_t mpy_count(const mpy_array *array) {
  int64_t count = 1;
  int i;
  for (i = 0; i < array->ndim; i++) {
    count *= array->shape[i];
  }
  return count;
}

int mpy_contiguous(const mpy_array *array) {
  int64_t stride = array->type.bits / 8;
  int i;
  for (i = array->ndim - 1; i >= 0; i--) {
    if (array->shape[i] > 1 && array->strides[i] != stride) {
      return mpy_count(array) == 0;
    }
    stride *= array->shape[i];
  }
  return 1;
}

int mpy_check_adjacent(const mpy_array *array, const char *name) {
  if (mpy_contiguous(array)) {
    return 0;
  }
  mpy_raise(
      MERBIT_INVALID_ARGUMENT,
      "%s has gaps between its elements (stride %lld bytes); merbit copies nothing: pass a "
      "contiguous array, for example numpy.ascontiguousarray(%s)",
      name, (long long)array->strides[0], name);
  return -1;
}
