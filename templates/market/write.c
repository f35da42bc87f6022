#include "core/context.h"
#include "matrix/matrix.h"
#include "market/market.h"

/* Matrix Market: writing a view to a file or a callback. */

#define MBI_MM_OUTPUT 65536 /* bytes of the buffer */
#define MBI_MM_LINE 128     /* longest line: two indices of 19 digits, two parts of 24 */

typedef struct mbi_mm_output {
  merbit_context *context;
  const char *path; /* for messages; NULL if there is none */
  merbit_write_callback write;
  void *user;
  char *buffer;
  size_t used;
} mbi_mm_output;

static merbit_status mbi_mm_flush(mbi_mm_output *out) {
  const size_t size = out->used;
  int result;
  out->used = 0;
  result = size > 0 ? out->write(out->user, out->buffer, size) : 0;
  if (result == 0) {
    return MERBIT_OK;
  }
  if (out->path != NULL) {
    return mbi_fail(out->context, MERBIT_IO_ERROR, "cannot write %.300s: %s", out->path,
                    strerror(errno));
  }
  return mbi_fail(out->context, MERBIT_IO_ERROR, "the write callback returned %d", result);
}

static void mbi_mm_put_text(mbi_mm_output *out, const char *text) {
  const size_t size = strlen(text);
  memcpy(out->buffer + out->used, text, size);
  out->used += size;
}

static void mbi_mm_put_whole(mbi_mm_output *out, int64_t number, char separator) {
  char digits[24];
  size_t first = sizeof digits;
  digits[--first] = separator;
  do {
    digits[--first] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  memcpy(out->buffer + out->used, digits + first, sizeof digits - first);
  out->used += sizeof digits - first;
}

/* Replaces the locale's decimal separator, which may have several bytes, by a point. */
MBI_INTERNAL void mbi_mm_mend_point(char *text) {
  char *to = text;
  for (; *text != '\0'; text++) {
    if (mbi_is_digit(*text) || *text == '-' || *text == '+' || *text == 'e') {
      *to++ = *text;
    } else if (to[-1] != '.') {
      *to++ = '.';
    }
  }
  *to = '\0';
}

/* Returns whether a text is read as the value, bit for bit. Comparing the numbers would not do:
 * the program may have set the processor to take subnormal ones for zero. */
static int mbi_mm_reads_back(const char *text, double value, int single) {
  char line[40];
  mbi_decimal decimal;
  double read = 0;
  float single_read = 0;
  memset(line, '\n', sizeof line);
  memcpy(line, text, strlen(text));
  (void)mbi_decimal_scan(line, &decimal);
  if (single) {
    return mbi_decimal_f32(&decimal, &single_read) && mbi_f32_widen(single_read) == value;
  }
  return mbi_decimal_f64(&decimal, &read) && memcmp(&read, &value, sizeof read) == 0;
}

/* Writes the fewest digits, at least 15 (6 for a float), from which the value can be read back
 * exactly: at most 17 (9), or 19 (11) where the program rounds up, down or towards zero. */
static void mbi_mm_put_value(mbi_mm_output *out, double value, int single) {
  char text[40]; /* at most 24 characters; gcc 11 assumes 33 */
  int digits = single ? 6 : 15;
  const int most = single ? 11 : 19;
  if (isnan(value) || isinf(value)) {
    mbi_mm_put_text(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  do {
    (void)snprintf(text, sizeof text, "%.*g", digits, value);
    mbi_mm_mend_point(text);
  } while (digits++ < most && !mbi_mm_reads_back(text, value, single));
  mbi_mm_put_text(out, text);
}

/* Writes an entry. In symmetric files, which hold lower triangles, an entry above the diagonal
 * is written as its mirror image. */
static void mbi_mm_put_entry(mbi_mm_output *out, const merbit_view *view, int64_t row,
                             int64_t i) {
  const int64_t col = mbi_index_at(view->col_ind, view->index_type, i) - view->base;
  const merbit_type type = mbi_view_type(view);
  const int single = mbi_mm_single(type), parts = mbi_type_complex(type) ? 2 : 1;
  const int mirrored = mbi_view_is_triangle(view) && col > row;
  int part;
  mbi_mm_put_whole(out, (mirrored ? col : row) + 1, ' ');
  mbi_mm_put_whole(out, (mirrored ? row : col) + 1, view->values != NULL ? ' ' : '\n');
  for (part = 0; part < parts && view->values != NULL; part++) {
    const int64_t at = i * parts + part;
    const double value = single ? mbi_f32_widen(((const float *)view->values)[at])
                                : ((const double *)view->values)[at];
    const int negated = mirrored && (view->symmetry == MERBIT_SYMMETRY_SKEW ||
                                     (view->symmetry == MERBIT_SYMMETRY_HERMITIAN && part > 0));
    mbi_mm_put_value(out, negated ? -value : value, single);
    mbi_mm_put_text(out, part + 1 < parts ? " " : "\n");
  }
}

/* Writes the entries in the order of the view's arrays, then the rest of the buffer. */
static merbit_status mbi_mm_write_entries(mbi_mm_output *out, const merbit_view *view) {
  int64_t row = 0, i;
  for (i = 0; i < view->nnz; i++) {
    if (view->format == MERBIT_COO) {
      row = mbi_index_at(view->row_ind, view->index_type, i) - view->base;
    } else {
      while (mbi_row_start(view, row + 1) <= i) {
        row++;
      }
    }
    mbi_mm_put_entry(out, view, row, i);
    if (out->used > MBI_MM_OUTPUT - MBI_MM_LINE) {
      MBI_TRY(mbi_mm_flush(out));
    }
  }
  return mbi_mm_flush(out);
}

/* Returns the banner's word for the symmetry. A Hermitian matrix of real numbers is symmetric,
 * and so is a pattern, which is skew-symmetric only if it has no entries. */
static const char *mbi_mm_symmetry_word(const merbit_view *view) {
  switch (view->symmetry) {
  case MERBIT_SYMMETRY_NONE:
    return "general\n";
  case MERBIT_SYMMETRY_SKEW:
    return view->values != NULL ? "skew-symmetric\n" : "symmetric\n";
  case MERBIT_SYMMETRY_HERMITIAN:
    return view->values != NULL && mbi_type_complex(mbi_view_type(view)) ? "hermitian\n"
                                                                         : "symmetric\n";
  default:
    return "symmetric\n";
  }
}

static merbit_status mbi_mm_write_view(mbi_mm_output *out, const merbit_view *view) {
  void *buffer;
  merbit_status status;
  MBI_TRY(mbi_allocate_array(out->context, MBI_MM_OUTPUT, 1, "the text to write", &buffer));
  out->buffer = (char *)buffer;
  mbi_mm_put_text(out, "%%MatrixMarket matrix coordinate ");
  mbi_mm_put_text(out, view->values == NULL                    ? "pattern "
                       : mbi_type_complex(mbi_view_type(view)) ? "complex "
                                                               : "real ");
  mbi_mm_put_text(out, mbi_mm_symmetry_word(view));
  mbi_mm_put_whole(out, view->rows, ' ');
  mbi_mm_put_whole(out, view->cols, ' ');
  mbi_mm_put_whole(out, view->nnz, '\n');
  status = mbi_mm_write_entries(out, view);
  mbi_release(out->context, buffer);
  return status;
}

MBI_NOINLINE static merbit_status mbi_mm_write(mbi_mm_output *out, const merbit_view *view) {
  merbit_matrix *entries;
  merbit_status status;
  if (view->format != MERBIT_BSR) {
    return mbi_mm_write_view(out, view);
  }
  MBI_TRY(mbi_matrix_from_view(out->context, view, 0, &entries));
  status = mbi_mm_write_view(out, &entries->view);
  merbit_matrix_destroy(entries);
  return status;
}

/* Checks the arguments. `culprit` names an argument that must not be NULL but is; or it is
 * NULL. */
static merbit_status mbi_mm_check_writable(merbit_context *context, const merbit_view *view,
                                           const char *culprit) {
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (culprit != NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the argument `%s` is NULL", culprit);
  }
  if (view != NULL && view->memory == MERBIT_MEMORY_DEVICE) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "view.memory is MERBIT_MEMORY_DEVICE; write a copy in host memory, as "
                    "merbit_matrix_create makes it");
  }
  if (view != NULL && mbi_type_short(view->value_type) && view->values != NULL) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "view.value_type is %s; write a copy whose values are MERBIT_F32",
                    mbi_type_names[view->value_type]);
  }
  return merbit_view_check(context, view);
}

MERBIT_API merbit_status merbit_matrix_write_stream(merbit_context *context,
                                                    const merbit_view *view,
                                                    merbit_write_callback write, void *user) {
  mbi_mm_output out;
  MBI_TRY(mbi_mm_check_writable(context, view, write == NULL ? "write" : NULL));
  memset(&out, 0, sizeof out);
  out.context = context;
  out.write = write;
  out.user = user;
  return mbi_mm_write(&out, view);
}

/* Reports that the file at `path`, or the one beside it, cannot be created. Cuts r->target
 * after its folder. */
static merbit_status mbi_mm_fail_begin(merbit_context *context, mbi_replacement *r,
                                       const char *path, int error) {
  if (error == ENOTSUP) {
    return mbi_fail(context, MERBIT_IO_ERROR,
                    "%.300s is not a regular file; write to it by merbit_matrix_write_stream",
                    path);
  }
  if (error == ENOENT) {
    char *name = strrchr(r->target, '/');
    const char *folder = name == NULL ? "." : name == r->target ? "/" : r->target;
    mbi_directory directory;
    int opened;
    if (name != NULL) {
      *name = '\0';
    }
    opened = mbi_directory_open(&directory, folder);
    if (opened == 0) {
      mbi_directory_close(&directory);
    }
    if (opened == ENOENT) {
      return mbi_fail(context, MERBIT_IO_ERROR,
                      "cannot write %.200s: the folder %.200s does not exist; create it first",
                      path, folder);
    }
  }
  return mbi_fail(context, MERBIT_IO_ERROR, "cannot write %.300s, or a file beside it: %s",
                  path, strerror(error));
}

MERBIT_API merbit_status merbit_matrix_write_file(merbit_context *context,
                                                  const merbit_view *view, const char *path) {
  mbi_mm_output out;
  mbi_replacement replacement;
  int error;
  merbit_status status;
  MBI_TRY(mbi_mm_check_writable(context, view, NULL));
  MBI_TRY(mbi_path_check(context, path));
  error = mbi_replacement_begin(&replacement, path, 0);
  if (error != 0) {
    return mbi_mm_fail_begin(context, &replacement, path, error);
  }
  memset(&out, 0, sizeof out);
  out.context = context;
  out.path = path;
  out.write = mbi_replacement_write;
  out.user = &replacement;
  status = mbi_mm_write(&out, view);
  error = mbi_replacement_end(&replacement, status == MERBIT_OK ? 0 : EIO);
  if (status == MERBIT_OK && error != 0) {
    status = mbi_fail(context, MERBIT_IO_ERROR, "cannot put %.300s in its place: %s", path,
                      strerror(error));
  }
  return status;
}
