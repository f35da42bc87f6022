/* The declarations that the files of the extension module merbit._core share. The module uses
 * CPython's limited API of 3.9, so that one build serves all later versions. */
#ifndef MERBIT_PYTHON_BINDING_H
#define MERBIT_PYTHON_BINDING_H
#define _GNU_SOURCE 1
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include "merbit.h"

#define MPY_DIMENSIONS 3 /* the most dimensions of an array: blocks, rows, columns */
#define MPY_HOST (-1)    /* a device number that means host memory */
#define MPY_CUDA (-2)    /* a device number that means GPU memory of an unnamed device */

/* Py_buffer as CPython has it since 3.3. It joined the stable ABI in 3.11, unchanged. */
typedef struct mpy_buffer {
  void *buf;
  PyObject *obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char *format;
  Py_ssize_t *shape;
  Py_ssize_t *strides;
  Py_ssize_t *suboffsets;
  void *internal;
} mpy_buffer;

/* The type of an array's elements. */
typedef struct mpy_type {
  char kind; /* 'f' float, 'b' bfloat16, 'c' complex, 'i' signed, 'u' unsigned, '?' bool,
              * 'O' object, '>' big-endian */
  int bits;  /* of one element */
} mpy_type;

/* An array borrowed from a Python object, until mpy_return. */
typedef struct mpy_array {
  void *data;
  int device; /* CUDA ordinal, MPY_HOST or MPY_CUDA */
  mpy_type type;
  int ndim;
  int64_t shape[MPY_DIMENSIONS];
  int64_t strides[MPY_DIMENSIONS]; /* in bytes */
  void *stream;                    /* stream that orders the lender's work; NULL: unknown */
  PyObject *lender;                /* the object, or the capsule that it made; NULL: `buffer` */
  mpy_buffer buffer;               /* its field obj is NULL if the array came another way */
} mpy_array;

/* ---- errors.c ---------------------------------------------------------------------------- */

/* Raises the exception of a status (merbit._errors.error_of) with a printf-like sentence;
 * returns NULL. */
PyObject *mpy_raise(merbit_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for an argument of the wrong type. */
PyObject *mpy_raise_type(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns 1 if the current exception must reach the caller as it is: Ctrl-C, an exit, or a lack
 * of memory. */
int mpy_must_pass(void);
/* Returns a string of text of merbit.h, in which paths may stand that are not UTF-8. */
PyObject *mpy_text(const char *text);
/* Raises what the calling thread's last failure on `context` says; returns NULL. */
PyObject *mpy_raise_last(merbit_context *context, merbit_status status);

/* ---- arrays.c ---------------------------------------------------------------------------- */

/* Borrows the array of `object`: by the buffer protocol, by an exporter of its type, by
 * __cuda_array_interface__ or by __dlpack__. `name` is for errors. Returns 0, or -1 with an
 * exception. */
int mpy_lend(PyObject *object, const char *name, int writable, mpy_array *array);
/* The same for reading during one call, which is faster with some types. */
int mpy_lend_briefly(PyObject *object, const char *name, mpy_array *array);
/* Returns the array. Keeps an exception that is set. Does nothing if all bytes are zero. */
void mpy_return(mpy_array *array);
/* Visits what the array refers to, for the garbage collector. */
int mpy_visit(mpy_array *array, visitproc visit, void *arg);
/* Returns 1 if a product on `device` (CUDA ordinal or MPY_HOST) accepts the array. */
int mpy_is_on(const mpy_array *array, int device);
/* Returns the number of elements. */
int64_t mpy_count(const mpy_array *array);
/* Returns 1 if the elements are adjacent in C order. */
int mpy_contiguous(const mpy_array *array);
/* Refuses an array with gaps. Returns 0 or -1. */
int mpy_check_adjacent(const mpy_array *array, const char *name);
/* Returns the merbit_type of elements, or MERBIT_TYPE_DEFAULT if merbit has no such type. */
merbit_type mpy_merbit_type(mpy_type type);
/* Returns a NumPy-like name, for example "float64", for errors; in static storage. */
const char *mpy_type_name(mpy_type type);
const char *mpy_merbit_type_name(merbit_type type);
/* Writes "in host memory" or "on CUDA device 0" to `text` and returns it. */
const char *mpy_place(int device, char text[32]);
/* register_exporter(type, exporter, check): `exporter` makes a DLPack capsule of an object of
 * exactly this type; `check`, or None, raises an exception if it must not be exported. */
PyObject *mpy_register_exporter(PyObject *module, PyObject *arguments);
int mpy_arrays_init(void);

/* ---- objects.c: contexts and views ------------------------------------------------------- */

typedef struct mpy_context {
  PyObject_HEAD merbit_context *context;
  int device; /* CUDA ordinal, or MPY_HOST if it computes on the CPU */
} mpy_context;

typedef struct mpy_view {
  PyObject_HEAD merbit_view view;
  int device;        /* where the arrays are */
  mpy_array rows;    /* row_ptr or row_ind */
  mpy_array columns; /* col_ind */
  mpy_array values;  /* all zero for a pattern */
} mpy_view;

extern PyTypeObject *mpy_context_type, *mpy_view_type;
int mpy_objects_init(PyObject *module);
/* Makes the type of `spec`, adds it to the module, and stores it in *type. Returns 0 or -1. */
int mpy_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type);
/* Frees the memory of an object of a type made from a spec. */
void mpy_free(PyObject *self);
/* Returns the type of a view's values. */
merbit_type mpy_value_type(const merbit_view *view);
/* Borrows `vectors` vectors, one after the other: view.rows adjacent elements each, of the
 * matrix's type, on `device`. vectors 0: the array has one dimension. Returns 0 or -1. */
int mpy_lend_vectors(const merbit_view *view, int device, PyObject *object, const char *name,
                     int writable, int64_t vectors, mpy_array *array);
/* Returns a dictionary of a merbit_plan_info. */
PyObject *mpy_plan_info(const merbit_plan_info *info);

/* ---- precondition.c ---------------------------------------------------------------------- */

typedef struct mpy_preconditioner {
  PyObject_HEAD merbit_preconditioner *preconditioner;
  mpy_context *context;
  mpy_view *view;
  merbit_buffer *staged_r, *staged_z; /* on the GPU, for host vectors; NULL before them */
} mpy_preconditioner;

extern PyTypeObject *mpy_preconditioner_type;
int mpy_precondition_init(PyObject *module);

/* ---- plan.c ------------------------------------------------------------------------------ */

/* Scratch memory for one product at a time, in one stream. */
typedef struct mpy_slot {
  merbit_workspace *workspace; /* NULL: the plan's own */
  void *stream;
  int busy; /* a thread is using it */
} mpy_slot;

typedef struct mpy_plan {
  PyObject_HEAD merbit_plan *plan;
  mpy_context *context;
  mpy_view *view;
  PyObject *keep;          /* owner of the functions of operators and epilogues */
  int device;              /* where x and y are: CUDA ordinal or MPY_HOST */
  int asynchronous;        /* products are enqueued in a stream */
  int updating;            /* a thread is changing the values */
  merbit_type vector_type; /* of x and y */
  int64_t in, out;         /* number of elements of x and of y */
  int vectors;
  merbit_vector_order order;
  int epilogue_vectors, epilogue_scalars; /* -1: no epilogue */
  mpy_slot *slots;
  int slot_count;
} mpy_plan;

enum { MPY_EPILOGUE_VECTORS = 6 }; /* the limit of a plan */

/* A product's arguments, checked. */
typedef struct mpy_operands {
  mpy_array x, y;
  int64_t ldx, ldy;
  void *stream;
  const void *vectors[MPY_EPILOGUE_VECTORS]; /* of an epilogue */
  const double *scalars;
  double *sums; /* NULL: a product without an epilogue */
} mpy_operands;

extern PyTypeObject *mpy_plan_type;
int mpy_plan_init(PyObject *module);
/* Runs y = alpha A x + beta y, or the plan's product with an epilogue, without the GIL. Returns
 * 0, or -1 with an exception. */
int mpy_plan_run(mpy_plan *self, const mpy_operands *o, const void *alpha, const void *beta);

/* ---- product.c, solve.c ------------------------------------------------------------------ */

int mpy_product_init(PyObject *module);
int mpy_solve_init(PyObject *module);
PyObject *mpy_forecast(PyObject *module, PyObject *arguments, PyObject *keywords);
PyObject *mpy_import_cubins(PyObject *module, PyObject *arguments);
PyObject *mpy_pagerank(PyObject *module, PyObject *arguments, PyObject *keywords);
PyObject *mpy_eigen(PyObject *module, PyObject *arguments, PyObject *keywords);

#endif
