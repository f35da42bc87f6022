/* Exceptions. merbit/_errors.py defines their classes. */
#include "binding.h"

#include <stdarg.h>
#include <stdio.h>

PyObject *mpy_text(const char *text) {
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* Raises merbit._errors.error_of(status, sentence), or bad_type(sentence) if status is OK. */
static PyObject *raise_sentence(merbit_status status, const char *sentence) {
  PyObject *module = PyImport_ImportModule("merbit._errors"), *error = NULL, *text = NULL;
  if (module != NULL) {
    text = mpy_text(sentence);
  }
  if (text != NULL) {
    error = status == MERBIT_OK
                ? PyObject_CallMethod(module, "bad_type", "O", text)
                : PyObject_CallMethod(module, "error_of", "iO", (int)status, text);
  }
  if (error != NULL) {
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
  }
  Py_XDECREF(error);
  Py_XDECREF(text);
  Py_XDECREF(module);
  return NULL;
}

PyObject *mpy_raise(merbit_status status, const char *format, ...) {
  char sentence[MERBIT_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return raise_sentence(status, sentence);
}

PyObject *mpy_raise_type(const char *format, ...) {
  char sentence[MERBIT_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return raise_sentence(MERBIT_OK, sentence);
}

int mpy_must_pass(void) {
  return PyErr_Occurred() != NULL && (!PyErr_ExceptionMatches(PyExc_Exception) ||
                                      PyErr_ExceptionMatches(PyExc_MemoryError));
}

PyObject *mpy_raise_last(merbit_context *context, merbit_status status) {
  char sentence[MERBIT_MESSAGE_SIZE];
  if (merbit_last_error(context, sentence, sizeof sentence) != status || sentence[0] == '\0') {
    (void)snprintf(sentence, sizeof sentence, "%s", merbit_status_text(status));
  }
  return raise_sentence(status, sentence);
}
