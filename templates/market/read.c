#include "core/context.h"
#include "matrix/matrix.h"
#include "market/market.h"

/* Matrix Market: reading the entries and making the matrix. */

/* Replaces *array by an array of `capacity` elements and copies its first `count` elements. */
static merbit_status mbi_mm_grow_array(merbit_context *context, void **array, int64_t count,
                                       int64_t capacity, size_t size, const char *what) {
  void *grown;
  MBI_TRY(mbi_allocate_array(context, capacity, size, what, &grown));
  if (count > 0) {
    memcpy(grown, *array, (size_t)count * size);
  }
  mbi_release(context, *array);
  *array = grown;
  return MERBIT_OK;
}

/* Grows the arrays. If the length of the input is known, it bounds the number of entries in the
 * header, so space for all is allocated at once. A stream's arrays grow as entries arrive. */
static merbit_status mbi_mm_grow(mbi_mm_reader *r) {
  merbit_context *context = r->in.context;
  const int64_t most = r->each * r->header.entries; /* with mirror images; below 2^62 */
  const size_t index_size = r->wide ? sizeof(int64_t) : sizeof(int32_t);
  int64_t capacity = r->in.total > 0 ? most : 2 * r->capacity + 1024;
  capacity = capacity < most ? capacity : most;
  MBI_TRY(mbi_mm_grow_array(context, &r->row_ind, r->count, capacity, index_size,
                            "the rows of a file's entries"));
  MBI_TRY(mbi_mm_grow_array(context, &r->col_ind, r->count, capacity, index_size,
                            "the columns of a file's entries"));
  if (r->header.field != MBI_MM_PATTERN) {
    MBI_TRY(mbi_mm_grow_array(context, &r->values, r->count, capacity, mbi_type_size(r->type),
                              "the values of a file's entries"));
  }
  r->capacity = capacity;
  return MERBIT_OK;
}

static void mbi_mm_put(mbi_mm_reader *r, int64_t row, int64_t col, double value,
                       double imaginary) {
  const int64_t at = r->count++;
  if (r->wide) {
    ((int64_t *)r->row_ind)[at] = row - 1;
    ((int64_t *)r->col_ind)[at] = col - 1;
  } else {
    ((int32_t *)r->row_ind)[at] = (int32_t)(row - 1);
    ((int32_t *)r->col_ind)[at] = (int32_t)(col - 1);
  }
  if (r->header.field != MBI_MM_PATTERN) {
    if (r->type == MERBIT_F64) {
      ((double *)r->values)[at] = value;
    } else if (r->type == MERBIT_F32) {
      ((float *)r->values)[at] = mbi_f32_narrow(value);
    } else if (r->type == MERBIT_C64) {
      ((mbi_c64 *)r->values)[at].re = mbi_f32_narrow(value);
      ((mbi_c64 *)r->values)[at].im = mbi_f32_narrow(imaginary);
    } else {
      ((mbi_c128 *)r->values)[at].re = value;
      ((mbi_c128 *)r->values)[at].im = imaginary;
    }
  }
}

/* Stores an entry and, if the symmetry has one, its mirror image. */
static void mbi_mm_put_both(mbi_mm_reader *r, const mbi_mm_entry *entry) {
  const int symmetry = r->header.symmetry;
  mbi_mm_put(r, entry->row, entry->col, entry->value, entry->imaginary);
  if (r->each == 2 && entry->row != entry->col) {
    mbi_mm_put(r, entry->col, entry->row,
               symmetry == MBI_MM_SKEW ? -entry->value : entry->value,
               symmetry >= MBI_MM_SKEW ? -entry->imaginary : entry->imaginary);
  }
}

/* Counts integers from 2^24 (f32) or 2^53 (f64) on, not all of which the type can represent. */
static void mbi_mm_count_large(mbi_mm_reader *r, const mbi_mm_entry *entry, int64_t line) {
  const double least = mbi_mm_single(r->type) ? 16777216.0 : 9007199254740992.0;
  if (fabs(entry->value) >= least && fabs(entry->value) < (double)INFINITY) {
    r->large_line = r->large++ == 0 ? line : r->large_line;
  }
}

static void mbi_mm_tell_large(const mbi_mm_reader *r) {
  const int single = mbi_mm_single(r->type);
  if (r->large > 0) {
    mbi_log(r->in.context,
            "%.300s: line %" PRId64
            ": integers of 2^%d and more become the nearest %s; %" PRId64 " in all",
            r->in.path != NULL ? r->in.path : "a Matrix Market file", r->large_line,
            single ? 24 : 53, single ? "f32" : "f64", r->large);
  }
}

/* Reads entries from in->next until a line is invalid or the arrays are full. Returns the
 * number of entries read. */
static int64_t mbi_mm_read_run(mbi_mm_reader *r, mbi_mm_entry *entry, int64_t most) {
  const char *p = r->in.next, *end = r->in.end;
  int64_t done;
  for (done = 0; done < most && p < end && r->count + r->each <= r->capacity; done++) {
    const char *q = mbi_mm_entry_line(r, p, entry);
    if (q == NULL) {
      break;
    }
    mbi_mm_put_both(r, entry);
    if (r->triangle == 0) {
      r->triangle = (entry->row > entry->col) - (entry->row < entry->col);
    }
    if (r->header.field == MBI_MM_INTEGER) {
      mbi_mm_count_large(r, entry, r->in.line + done);
    }
    p = q;
  }
  r->in.next = p;
  r->in.line += done;
  return done;
}

/* Returns whether the line at in->next is the last one and lacks its newline. */
static int mbi_mm_cut(const mbi_mm_input *in) {
  return in->added &&
         (const char *)memchr(in->next, '\n', (size_t)(in->end - in->next)) + 1 == in->end;
}

static merbit_status mbi_mm_explain_cut(const mbi_mm_reader *r, int64_t done) {
  char quoted[MBI_MM_QUOTE];
  return mbi_mm_fail(&r->in, MERBIT_INVALID_FILE, r->in.line,
                     "the file ends early, with %s after %" PRId64 " of %" PRId64 " entries",
                     mbi_mm_quote_line(r->in.next, quoted), done, r->header.entries);
}

static merbit_status mbi_mm_read_entries(mbi_mm_reader *r) {
  mbi_mm_entry entry = {0, 1, 0, 0};
  int64_t done = 0;
  MBI_TRY(mbi_mm_grow(r));
  if (r->header.symmetry == MBI_MM_SKEW) {
    entry.row = 1; /* the first column of a skew-symmetric array begins below the diagonal */
  }
  while (done < r->header.entries) {
    int64_t run;
    MBI_TRY(mbi_mm_next_line(&r->in));
    if (r->in.next == r->in.end) {
      return mbi_mm_fail(&r->in, MERBIT_INVALID_FILE, r->in.line,
                         "the file ends early, after %" PRId64 " of %" PRId64 " entries", done,
                         r->header.entries);
    }
    if (r->count + r->each > r->capacity) {
      MBI_TRY(mbi_mm_grow(r));
    }
    run = mbi_mm_read_run(r, &entry, r->header.entries - done);
    done += run;
    if (run == 0) {
      const int early = mbi_mm_cut(&r->in) && done + 1 < r->header.entries;
      MBI_TRY(early ? mbi_mm_explain_cut(r, done) : mbi_mm_explain(r));
    }
  }
  return MERBIT_OK;
}

/* Checks that only blank lines and comments follow the last entry. */
static merbit_status mbi_mm_read_end(mbi_mm_reader *r) {
  mbi_mm_input *in = &r->in;
  char quoted[MBI_MM_QUOTE];
  MBI_TRY(mbi_mm_next_line(in));
  if (in->next != in->end) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line,
                       "%s follows the last of %" PRId64 " entries",
                       mbi_mm_quote_line(in->next, quoted), r->header.entries);
  }
  MBI_TRY(mbi_mm_check_rows(in, &r->header, in->taken));
  return mbi_mm_report(in, 0);
}

/* Makes the matrix, adding up duplicates. */
static merbit_status mbi_mm_build(mbi_mm_reader *r, merbit_matrix **matrix) {
  merbit_view view;
  memset(&view, 0, sizeof view);
  view.format = MERBIT_COO;
  view.value_type = r->type;
  view.index_type = r->wide ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  view.rows = r->header.rows;
  view.cols = r->header.cols;
  view.nnz = r->count;
  view.row_ind = r->row_ind;
  view.col_ind = r->col_ind;
  view.values = r->values;
  MBI_TRY(mbi_matrix_from_view(r->in.context, &view, 0, matrix));
  if (r->in.desc->keep_half) {
    (*matrix)->view.symmetry = mbi_mm_symmetries[r->header.symmetry];
  }
  return MERBIT_OK;
}

/* Reads the whole input: banner, sizes and entries. */
static merbit_status mbi_mm_read_text(mbi_mm_reader *r) {
  MBI_TRY(mbi_mm_start(&r->in));
  MBI_TRY(mbi_mm_read_banner(&r->in, &r->header));
  MBI_TRY(mbi_mm_read_sizes(&r->in, &r->header));
  if (r->type == MERBIT_TYPE_DEFAULT) {
    r->type = r->header.field == MBI_MM_COMPLEX ? MERBIT_C128 : MERBIT_F64;
  }
  r->wide = r->header.rows > INT32_MAX;
  r->each = r->header.symmetry == MBI_MM_GENERAL || r->in.desc->keep_half ? 1 : 2;
  MBI_TRY(mbi_mm_read_entries(r));
  return mbi_mm_read_end(r);
}

static merbit_status mbi_mm_read(mbi_mm_reader *r, merbit_matrix **matrix) {
  merbit_context *context = r->in.context;
  merbit_status status;
  void *buffer;
  MBI_TRY(
      mbi_allocate_array(context, MBI_MM_WINDOW + 2 * MBI_MM_PAD, 1, "a file's text", &buffer));
  r->in.buffer = (char *)buffer;
  status = mbi_mm_read_text(r);
  mbi_release(context, buffer);
  if (status == MERBIT_OK) {
    mbi_mm_tell_large(r);
    status = mbi_mm_build(r, matrix);
  }
  mbi_release(context, r->row_ind);
  mbi_release(context, r->col_ind);
  mbi_release(context, r->values);
  return status;
}

/* ---- Kinds of input ---------------------------------------------------------------------- */

/* Checks the arguments and initialises the reader. `culprit` names an argument that must not be
 * NULL but is; or it is NULL. */
static merbit_status mbi_mm_reader_create(mbi_mm_reader *r, merbit_context *context,
                                          const merbit_read_desc *desc, merbit_matrix **matrix,
                                          const char *culprit) {
  static const merbit_read_desc defaults = {MERBIT_TYPE_DEFAULT, 0, NULL, NULL, 0};
  if (matrix != NULL) {
    *matrix = NULL;
  } else {
    culprit = "matrix";
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  memset(r, 0, sizeof *r);
  r->in.context = context;
  r->in.desc = desc != NULL ? desc : &defaults;
  r->type = r->in.desc->value_type;
  if (culprit != NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the argument `%s` is NULL", culprit);
  }
  if (r->in.desc->max_rows < 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "read_desc.max_rows is %" PRId64 "; use 0 for the default",
                    r->in.desc->max_rows);
  }
  if (r->type != MERBIT_TYPE_DEFAULT && !mbi_type_plain(r->type) &&
      !mbi_type_complex(r->type)) {
    char name[MBI_TYPE_NAME];
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "read_desc.value_type is %s; use MERBIT_F64, MERBIT_F32, MERBIT_C64 or "
                    "MERBIT_C128",
                    mbi_type_name(r->type, name));
  }
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_matrix_read_file(merbit_context *context, const char *path,
                                                 const merbit_read_desc *desc,
                                                 merbit_matrix **matrix) {
  mbi_mm_reader reader;
  int file, error;
  merbit_status status;
  MBI_TRY(mbi_mm_reader_create(&reader, context, desc, matrix, NULL));
  MBI_TRY(mbi_path_check(context, path));
  error = mbi_file_open(path, &file, &reader.in.total);
  if (error != 0) {
    return mbi_fail(context, MERBIT_IO_ERROR, "cannot open %.300s: %s", path, strerror(error));
  }
  reader.in.path = path;
  reader.in.read = mbi_file_read;
  reader.in.user = &file;
  status = mbi_mm_read(&reader, matrix);
  mbi_file_close(file);
  return status;
}

MERBIT_API merbit_status merbit_matrix_read_memory(merbit_context *context, const void *data,
                                                   size_t size, const merbit_read_desc *desc,
                                                   merbit_matrix **matrix) {
  mbi_mm_reader reader;
  MBI_TRY(mbi_mm_reader_create(&reader, context, desc, matrix,
                               data == NULL && size > 0 ? "data" : NULL));
  reader.in.block = (const char *)data;
  reader.in.block_size = size;
  reader.in.total = (int64_t)size;
  reader.in.read = mbi_mm_read_block;
  reader.in.user = &reader.in;
  return mbi_mm_read(&reader, matrix);
}

MERBIT_API merbit_status merbit_matrix_read_stream(merbit_context *context,
                                                   merbit_read_callback read, void *user,
                                                   const merbit_read_desc *desc,
                                                   merbit_matrix **matrix) {
  mbi_mm_reader reader;
  MBI_TRY(mbi_mm_reader_create(&reader, context, desc, matrix, read == NULL ? "read" : NULL));
  reader.in.read = read;
  reader.in.user = user;
  return mbi_mm_read(&reader, matrix);
}
