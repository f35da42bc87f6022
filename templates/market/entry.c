#include "market/market.h"

/* Matrix Market: parsing one line of entries, and explaining what is wrong with it. */

/* ---- Reading a line (NULL after any fault, which a second pass explains) ----------------- */

/* Reads the words for NaN and infinity that C's printf, GraphBLAS and SciPy write. */
static const char *mbi_mm_special(const char *p, double *value) {
  const int negative = *p == '-';
  const char *end;
  p += *p == '-' || *p == '+';
  *value = negative ? -(double)NAN : (double)NAN;
  end = mbi_mm_match(p, "nan");
  if (end == NULL) {
    *value = negative ? -(double)INFINITY : (double)INFINITY;
    end = mbi_mm_match(p, "inf");
  }
  return end != NULL ? end : mbi_mm_match(p, "infinity");
}

MBI_INTERNAL int mbi_mm_single(merbit_type type) {
  return type == MERBIT_F32 || type == MERBIT_C64;
}

/* Converts a decimal in the type's precision. Returns 0 if it is out of range. */
static int mbi_mm_convert(const mbi_decimal *decimal, merbit_type type, double *value) {
  float single;
  int finite;
  if (!mbi_mm_single(type)) {
    return mbi_decimal_f64(decimal, value);
  }
  finite = mbi_decimal_f32(decimal, &single);
  *value = mbi_f32_widen(single);
  return finite;
}

static const char *mbi_mm_value(const mbi_mm_reader *r, const char *p, double *value) {
  mbi_decimal decimal;
  const char *end = mbi_decimal_scan(p, &decimal);
  if (end == NULL) {
    return mbi_mm_special(p, value);
  }
  if ((r->header.field == MBI_MM_INTEGER && !decimal.integer) ||
      !mbi_mm_convert(&decimal, r->type, value)) {
    return NULL;
  }
  return end;
}

/* Reads one number, or two if the field is complex. */
static const char *mbi_mm_number(const mbi_mm_reader *r, const char *p, mbi_mm_entry *entry) {
  p = mbi_mm_value(r, mbi_mm_skip_blanks(p), &entry->value);
  if (p == NULL || r->header.field != MBI_MM_COMPLEX) {
    return p;
  }
  return mbi_mm_is_blank(*p) ? mbi_mm_value(r, mbi_mm_skip_blanks(p), &entry->imaginary) : NULL;
}

/* Returns whether an entry obeys the rule that a Hermitian matrix has a real diagonal. */
static int mbi_mm_suits_diagonal(const mbi_mm_reader *r, const mbi_mm_entry *entry) {
  return r->header.symmetry != MBI_MM_HERMITIAN || entry->row != entry->col ||
         entry->imaginary == 0;
}

/* Returns whether a 1-based entry lies in the same triangle as the first off-diagonal entry, or
 * on the diagonal unless the matrix is skew-symmetric. The format allows only lower triangles,
 * but files with upper ones are common. */
static int mbi_mm_in_triangle(const mbi_mm_reader *r, int64_t row, int64_t col) {
  if (r->header.symmetry == MBI_MM_GENERAL) {
    return 1;
  }
  return row == col ? r->header.symmetry != MBI_MM_SKEW
                    : r->triangle == 0 || (row > col) == (r->triangle > 0);
}

static const char *mbi_mm_line_end(const char *p) {
  if (*p != '\n') {
    p = mbi_mm_skip_blanks(p);
  }
  return *p == '\n' ? p + 1 : NULL;
}

/* Reads a line of a coordinate file. Returns the start of the next line. */
static const char *mbi_mm_coordinates(const mbi_mm_reader *r, const char *p,
                                      mbi_mm_entry *entry) {
  const char *q = mbi_mm_whole(mbi_mm_skip_blanks(p), &entry->row);
  if (q == NULL || !mbi_mm_is_blank(*q)) {
    return NULL;
  }
  q = mbi_mm_whole(mbi_mm_skip_blanks(q), &entry->col);
  if (q == NULL || (uint64_t)entry->row - 1 >= (uint64_t)r->header.rows ||
      (uint64_t)entry->col - 1 >= (uint64_t)r->header.cols ||
      !mbi_mm_in_triangle(r, entry->row, entry->col)) {
    return NULL;
  }
  if (r->header.field != MBI_MM_PATTERN) {
    if (!mbi_mm_is_blank(*q)) {
      return NULL;
    }
    q = mbi_mm_number(r, q, entry);
    q = q != NULL && mbi_mm_suits_diagonal(r, entry) ? q : NULL;
  }
  return q != NULL ? mbi_mm_line_end(q) : NULL;
}

/* Reads the next element of an array file. Elements are listed column by column, without those
 * that follow from the symmetry. Zeros become entries, because 0 * Inf must not be lost. If the
 * line is invalid, *entry stays the previous element, and the line may be read again. */
static const char *mbi_mm_element(const mbi_mm_reader *r, const char *p, mbi_mm_entry *entry) {
  mbi_mm_entry next = *entry;
  p = mbi_mm_number(r, p, &next);
  p = p != NULL ? mbi_mm_line_end(p) : NULL;
  if (++next.row > r->header.rows) {
    next.col++;
    next.row = r->header.symmetry == MBI_MM_GENERAL
                   ? 1
                   : next.col + (r->header.symmetry == MBI_MM_SKEW);
  }
  if (p == NULL || !mbi_mm_suits_diagonal(r, &next)) {
    return NULL;
  }
  *entry = next;
  return p;
}

MBI_INTERNAL const char *mbi_mm_entry_line(const mbi_mm_reader *r, const char *p,
                                           mbi_mm_entry *entry) {
  return r->header.array ? mbi_mm_element(r, p, entry) : mbi_mm_coordinates(r, p, entry);
}

/* ---- Explaining what is wrong ------------------------------------------------------------ */

static merbit_status mbi_mm_explain_index(const mbi_mm_input *in, const char **at,
                                          const char *what, int64_t limit, int64_t *index) {
  const char *p = mbi_mm_skip_blanks(*at);
  char quoted[MBI_MM_QUOTE];
  *at = mbi_mm_whole(p, index);
  if (*p == '\n') {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line, "%s has no %s index",
                       mbi_mm_quote_line(in->next, quoted), what);
  }
  if (*at == NULL || *at != mbi_mm_word_end(p)) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line, "%s is not a %s index",
                       mbi_mm_quote_word(p, quoted), what);
  }
  if (*index == 0) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line, "%s index 0; indices begin with 1",
                       what);
  }
  if (*index > limit) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line,
                       "%s index %.*s exceeds the %" PRId64 " %ss", what,
                       (int)(*at - p < 40 ? *at - p : 40), p, limit, what);
  }
  return MERBIT_OK;
}

/* Explains what is wrong with a value. `what` is "value", or the name of a part of it. */
static merbit_status mbi_mm_explain_value(const mbi_mm_reader *r, const char *what,
                                          const char **at) {
  const mbi_mm_input *in = &r->in;
  const char *p = mbi_mm_skip_blanks(*at);
  char quoted[MBI_MM_QUOTE];
  mbi_decimal decimal;
  double value;
  *at = mbi_decimal_scan(p, &decimal);
  if (*p == '\n') {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line, "%s has no %s",
                       mbi_mm_quote_line(in->next, quoted), what);
  }
  if (*at == NULL && (*at = mbi_mm_special(p, &value)) != NULL) {
    return MERBIT_OK;
  }
  (void)mbi_mm_quote_word(p, quoted);
  if (*at == NULL || *at != mbi_mm_word_end(p)) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line, "%s is not a number", quoted);
  }
  if (r->header.field == MBI_MM_INTEGER && !decimal.integer) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line,
                       "%s is not an integer, as the banner promises", quoted);
  }
  if (!mbi_mm_convert(&decimal, r->type, &value)) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line, "%s is beyond the range of %s",
                       quoted,
                       !mbi_mm_single(r->type)     ? "f64"
                       : mbi_type_complex(r->type) ? "f32; read the file as c128"
                                                   : "f32; read the file as f64");
  }
  return MERBIT_OK;
}

/* Explains why the line at in->next is not a valid entry. Returns the failure. */
MBI_INTERNAL merbit_status mbi_mm_explain(const mbi_mm_reader *r) {
  const mbi_mm_input *in = &r->in;
  const char *p = in->next;
  char quoted[MBI_MM_QUOTE];
  int64_t row, col;
  if (!r->header.array) {
    MBI_TRY(mbi_mm_explain_index(in, &p, "row", r->header.rows, &row));
    MBI_TRY(mbi_mm_explain_index(in, &p, "column", r->header.cols, &col));
    if (!mbi_mm_in_triangle(r, row, col)) {
      return mbi_mm_fail(
          in, MERBIT_INVALID_FILE, in->line, "entry (%" PRId64 ", %" PRId64 ") is %s", row, col,
          row == col  ? "on the diagonal, which skew-symmetric files leave out"
          : row < col ? "above the diagonal and earlier ones below it; files with "
                        "a symmetry have one triangle"
                      : "below the diagonal and earlier ones above it; files with "
                        "a symmetry have one triangle");
    }
  }
  if (r->header.field != MBI_MM_PATTERN) {
    const int two = r->header.field == MBI_MM_COMPLEX;
    MBI_TRY(mbi_mm_explain_value(r, two ? "real part" : "value", &p));
    if (two) {
      MBI_TRY(mbi_mm_explain_value(r, "imaginary part", &p));
    }
  }
  if (r->header.symmetry == MBI_MM_HERMITIAN && r->header.field == MBI_MM_COMPLEX &&
      *mbi_mm_skip_blanks(p) == '\n') {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line,
                       "%s has an imaginary part on the diagonal, which is real in a "
                       "Hermitian matrix",
                       mbi_mm_quote_line(in->next, quoted));
  }
  return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line,
                     "%s follows the entry, which ends its line", mbi_mm_quote_line(p, quoted));
}
