/* The type Product: a fast path to y = A x for the arrays of one library. */
#include "binding.h"

typedef struct mpy_product {
  PyObject_HEAD mpy_plan *plan;
  PyObject *empty;    /* called without arguments: returns a new array for y */
  PyObject *stream;   /* called without arguments: returns the stream; NULL: not needed */
  PyObject *address;  /* called with an array: returns its address; NULL: arrays are borrowed */
  PyObject *facts;    /* called with x: returns its other properties; NULL: x is borrowed */
  PyObject *expected; /* the properties of an x that fits */
} mpy_product;

static PyTypeObject *product_type;

static PyObject *new_reference_or_null(PyObject *object) {
  if (object == Py_None) {
    return NULL;
  }
  Py_INCREF(object);
  return object;
}

static PyObject *product_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  PyObject *plan, *empty, *stream, *address, *facts, *expected;
  mpy_product *self;
  (void)keywords;
  if (!PyArg_ParseTuple(arguments, "O!OOOOO:Product", mpy_plan_type, &plan, &empty, &stream,
                        &address, &facts, &expected)) {
    return NULL;
  }
  self = (mpy_product *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->plan = (mpy_plan *)plan;
  self->empty = empty;
  self->stream = new_reference_or_null(stream);
  self->address = new_reference_or_null(address);
  self->facts = new_reference_or_null(facts);
  self->expected = expected;
  Py_INCREF(plan);
  Py_INCREF(empty);
  Py_INCREF(expected);
  return (PyObject *)self;
}

static int product_traverse(PyObject *object, visitproc visit, void *arg) {
  mpy_product *self = (mpy_product *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->plan);
  Py_VISIT(self->empty);
  Py_VISIT(self->stream);
  Py_VISIT(self->address);
  Py_VISIT(self->facts);
  Py_VISIT(self->expected);
  return 0;
}

static void product_dealloc(PyObject *object) {
  mpy_product *self = (mpy_product *)object;
  PyObject_GC_UnTrack(object);
  Py_XDECREF(self->plan);
  Py_XDECREF(self->empty);
  Py_XDECREF(self->stream);
  Py_XDECREF(self->address);
  Py_XDECREF(self->facts);
  Py_XDECREF(self->expected);
  mpy_free(object);
}

/* Stores the address that `callable` returns; calls it with `argument`, or without arguments if
 * that is NULL. Returns 0, or -1 with an exception. */
static int ask_address(PyObject *callable, PyObject *argument, void **address) {
  PyObject *number = PyObject_CallFunctionObjArgs(callable, argument, NULL);
  if (number != NULL) {
    *address = PyLong_AsVoidPtr(number);
    Py_DECREF(number);
  }
  return PyErr_Occurred() ? -1 : 0;
}

/* Returns 1 if x is one vector that the plan multiplies as it is. */
static int fits(const mpy_plan *plan, const mpy_array *x) {
  return x->ndim == 1 && x->shape[0] == plan->in &&
         mpy_merbit_type(x->type) == plan->vector_type && mpy_contiguous(x) &&
         mpy_is_on(x, plan->device);
}

/* Borrows x. Returns 1 if the plan can multiply it, 0 if not, -1 with an exception. */
static int borrow_x(const mpy_product *self, PyObject *x, mpy_array *array) {
  PyObject *found;
  int same;
  if (self->facts == NULL) {
    return mpy_lend_briefly(x, "x", array) != 0 ? -1 : fits(self->plan, array);
  }
  found = PyObject_CallFunctionObjArgs(self->facts, x, NULL);
  if (found == NULL) {
    return -1;
  }
  same = PyObject_RichCompareBool(found, self->expected, Py_EQ);
  Py_DECREF(found);
  return same == 1 && ask_address(self->address, x, &array->data) != 0 ? -1 : same;
}

/* Borrows y, a new array that fits. Returns 0, or -1 with an exception. */
static int borrow_y(const mpy_product *self, PyObject *y, mpy_array *array) {
  return self->address == NULL ? mpy_lend(y, "y", 1, array)
                               : ask_address(self->address, y, &array->data);
}

/* Returns y = A x in a new array, or None if x does not fit the plan exactly; the caller then
 * finds out why. */
static PyObject *product_multiply(PyObject *object, PyObject *x) {
  mpy_product *self = (mpy_product *)object;
  PyObject *y;
  mpy_operands o;
  memset(&o, 0, sizeof o);
  if (borrow_x(self, x, &o.x) != 1) {
    mpy_return(&o.x);
    if (mpy_must_pass()) {
      return NULL;
    }
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  y = PyObject_CallFunctionObjArgs(self->empty, NULL);
  if (y != NULL && (borrow_y(self, y, &o.y) != 0 ||
                    (self->stream != NULL && ask_address(self->stream, NULL, &o.stream) != 0) ||
                    mpy_plan_run(self->plan, &o, NULL, NULL) != 0)) {
    Py_DECREF(y);
    y = NULL;
  }
  mpy_return(&o.x);
  mpy_return(&o.y);
  return y;
}

int mpy_product_init(PyObject *module) {
  static PyMethodDef methods[] = {
      {"multiply", product_multiply, METH_O, "multiply(x): A x in a new array, or None"},
      {NULL, NULL, 0, NULL}};
  static PyType_Slot slots[] = {{Py_tp_new, (void *)product_new},
                                {Py_tp_dealloc, (void *)product_dealloc},
                                {Py_tp_traverse, (void *)product_traverse},
                                {Py_tp_methods, methods},
                                {0, NULL}};
  static PyType_Spec spec = {"merbit._core.Product", sizeof(mpy_product), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  return mpy_add_type(module, &spec, &product_type);
}
