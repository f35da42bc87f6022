#include "matrix/matrix.h"
#include "market/market.h"

/* The banner and the size line, as defined by R. F. Boisvert, R. Pozo and K. Remington, The
 * Matrix Market Exchange Formats: Initial Design, NISTIR 5935, 1996. There is one exception: a
 * `hermitian` file with real values is read as the symmetric matrix that it is. Comments have
 * no meaning, not even `%%GraphBLAS type`. */

MBI_INTERNAL const merbit_symmetry mbi_mm_symmetries[] = {
    MERBIT_SYMMETRY_NONE, MERBIT_SYMMETRY_SYMMETRIC, MERBIT_SYMMETRY_SKEW,
    MERBIT_SYMMETRY_HERMITIAN};

/* Returns the end of the word at `p` if it is `word`, ignoring case; otherwise NULL. */
MBI_INTERNAL const char *mbi_mm_match(const char *p, const char *word) {
  for (; *word != '\0'; p++, word++) {
    const char c = *p >= 'A' && *p <= 'Z' ? (char)(*p + ('a' - 'A')) : *p;
    if (c != *word) {
      return NULL;
    }
  }
  return mbi_mm_is_blank(*p) || *p == '\n' ? p : NULL;
}

/* Reads the banner's next word, which must be one of `words`, a list that ends with NULL. */
static merbit_status mbi_mm_choose(const mbi_mm_input *in, const char **at, const char *what,
                                   const char *const *words, int *choice) {
  const char *p = mbi_mm_skip_blanks(*at);
  char quoted[MBI_MM_QUOTE], expected[96];
  size_t used = 0;
  int i;
  for (i = 0; words[i] != NULL; i++) {
    const char *end = mbi_mm_match(p, words[i]);
    if (end != NULL) {
      *at = end;
      *choice = i;
      return MERBIT_OK;
    }
    used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s", i > 0 ? ", " : "",
                             words[i]);
  }
  if (*p == '\n') {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, 1,
                       "the banner ends before its %s; expected: %s", what, expected);
  }
  return mbi_mm_fail(in, MERBIT_INVALID_FILE, 1, "the %s is %s; expected: %s", what,
                     mbi_mm_quote_word(p, quoted), expected);
}

/* Rejects combinations that the definition does not allow. */
static merbit_status mbi_mm_check_banner(const mbi_mm_input *in, const mbi_mm_header *header) {
  if (header->field == MBI_MM_PATTERN && header->array) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, 1,
                       "an array file cannot be a pattern, which has no values to list");
  }
  if (header->field == MBI_MM_PATTERN && header->symmetry >= MBI_MM_SKEW) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, 1,
                       "a pattern is general or symmetric; it has no values to negate");
  }
  if (header->field == MBI_MM_COMPLEX && mbi_type_plain(in->desc->value_type)) {
    return mbi_mm_fail(in, MERBIT_NOT_SUPPORTED, 1,
                       "the field is complex, but read_desc.value_type is %s; use "
                       "MERBIT_C64 or MERBIT_C128",
                       mbi_type_names[in->desc->value_type]);
  }
  return MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_mm_read_banner(mbi_mm_input *in, mbi_mm_header *header) {
  static const char *const objects[] = {"matrix", NULL};
  static const char *const formats[] = {"coordinate", "array", NULL};
  static const char *const fields[] = {"real",    "integer",          "pattern",
                                       "complex", "unsigned-integer", NULL};
  static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric",
                                           "hermitian", NULL};
  const char *p = mbi_mm_match(in->next, "%%matrixmarket");
  char quoted[MBI_MM_QUOTE];
  int object;
  if (p == NULL) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, 1,
                       "%s; expected a banner that begins with %%%%MatrixMarket",
                       mbi_mm_quote_line(in->next, quoted));
  }
  MBI_TRY(mbi_mm_choose(in, &p, "object", objects, &object));
  MBI_TRY(mbi_mm_choose(in, &p, "format", formats, &header->array));
  MBI_TRY(mbi_mm_choose(in, &p, "field", fields, &header->field));
  if (header->field > MBI_MM_COMPLEX) { /* SciPy writes 64-bit unsigned integers so */
    header->field = MBI_MM_INTEGER;
  }
  MBI_TRY(mbi_mm_choose(in, &p, "symmetry", symmetries, &header->symmetry));
  p = mbi_mm_skip_blanks(p);
  if (*p != '\n') {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, 1, "%s follows the symmetry",
                       mbi_mm_quote_line(p, quoted));
  }
  in->next = p + 1;
  in->line++;
  return mbi_mm_check_banner(in, header);
}

/* Reads a whole number with an optional '+'. A number of more than 18 digits becomes INT64_MAX.
 * Returns its end, or NULL if there is no number. */
MBI_INTERNAL const char *mbi_mm_whole(const char *p, int64_t *number) {
  uint64_t value = 0;
  const char *first, *end;
  p += *p == '+';
  end = mbi_digits_scan(p, &value);
  if (end == p) {
    return NULL;
  }
  if (end - p > 18) { /* the value may have overflowed, unless there are leading zeros */
    for (first = p; *first == '0'; first++) {
    }
    if (end - first > 18) {
      value = INT64_MAX;
    }
  }
  *number = (int64_t)value;
  return end;
}

static merbit_status mbi_mm_read_size(const mbi_mm_input *in, const char **at, const char *what,
                                      int64_t *size) {
  const char *p = mbi_mm_skip_blanks(*at);
  const char *end = mbi_mm_whole(p, size);
  char quoted[MBI_MM_QUOTE];
  if (*p == '\n') {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line,
                       "the size line %s ends before the number of %s",
                       mbi_mm_quote_line(in->next, quoted), what);
  }
  if (end == NULL || end != mbi_mm_word_end(p)) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line, "%s is not a number of %s",
                       mbi_mm_quote_word(p, quoted), what);
  }
  if (*size == INT64_MAX) {
    return mbi_mm_fail(in, MERBIT_TOO_LARGE, in->line, "%s is too large a number of %s",
                       mbi_mm_quote_word(p, quoted), what);
  }
  *at = end;
  return MERBIT_OK;
}

/* Checks the number of rows against max_rows or the length of the input, so that memory stays
 * proportional to the input. For a stream, that is known and checked only at its end. */
MBI_INTERNAL merbit_status mbi_mm_check_rows(const mbi_mm_input *in,
                                             const mbi_mm_header *header, int64_t bytes) {
  int64_t most = in->desc->max_rows;
  if (most == 0) {
    most = bytes > INT64_MAX / 128 ? INT64_MAX : 1048576 + 64 * bytes;
  }
  if (header->rows <= most) {
    return MERBIT_OK;
  }
  return mbi_mm_fail(in, MERBIT_TOO_LARGE, header->line,
                     "%" PRId64 " rows exceed the limit of %" PRId64
                     "; set max_rows of merbit_read_desc to read such a file",
                     header->rows, most);
}

/* Returns the number of lines that an array file must have: for all entries, for the lower
 * triangle, or for the lower triangle without the diagonal. */
static int64_t mbi_mm_array_entries(const mbi_mm_header *header) {
  const int64_t n = header->rows;
  int64_t half;
  if (header->symmetry == MBI_MM_GENERAL) {
    return header->cols > 0 && n > INT64_MAX / header->cols ? INT64_MAX : n * header->cols;
  }
  half = header->symmetry == MBI_MM_SKEW ? n - 1 : n + 1; /* n is below 2^31 */
  return n * half / 2;
}

static merbit_status mbi_mm_check_sizes(const mbi_mm_input *in, const mbi_mm_header *header) {
  if (header->cols > INT32_MAX) {
    return mbi_mm_fail(in, MERBIT_TOO_LARGE, in->line,
                       "%" PRId64 " columns; this version takes at most 2^31 - 1",
                       header->cols);
  }
  if (header->symmetry != MBI_MM_GENERAL && header->rows != header->cols) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line,
                       "%" PRId64 " rows and %" PRId64
                       " columns; only square matrices have a symmetry",
                       header->rows, header->cols);
  }
  if (in->total > 0 || in->desc->max_rows > 0) {
    return mbi_mm_check_rows(in, header, in->total);
  }
  return MERBIT_OK;
}

/* Fails, before memory is allocated, if the rest of the input is too short for its entries. An
 * entry has a value, in array files, or else at least a row and a column: "1" or "1 1". Those
 * of other fields are longer, but a line that lacks their value shall be reported as such. The
 * last newline may be missing. */
static merbit_status mbi_mm_check_entries(const mbi_mm_input *in, const mbi_mm_header *header) {
  const int64_t shortest = header->array ? 2 : 4;
  const int64_t rest =
      in->total - in->taken + (in->end - in->next) - in->added + (int64_t)in->rest_size;
  const int64_t left = rest > 0 ? rest : 0; /* the size line may lack its newline */
  if (in->total == 0 || header->entries <= (left + 1) / shortest) {
    return MERBIT_OK;
  }
  return mbi_mm_fail(in, MERBIT_INVALID_FILE, header->line,
                     "%" PRId64 " entries of at least %" PRId64
                     " bytes each cannot be in the %" PRId64
                     " bytes that follow; the file ends early",
                     header->entries, shortest, left);
}

MBI_INTERNAL merbit_status mbi_mm_read_sizes(mbi_mm_input *in, mbi_mm_header *header) {
  char quoted[MBI_MM_QUOTE];
  const char *p;
  MBI_TRY(mbi_mm_next_line(in));
  if (in->next == in->end) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line,
                       "the file ends early, before its size line");
  }
  p = in->next;
  MBI_TRY(mbi_mm_read_size(in, &p, "rows", &header->rows));
  MBI_TRY(mbi_mm_read_size(in, &p, "columns", &header->cols));
  if (!header->array) {
    MBI_TRY(mbi_mm_read_size(in, &p, "entries", &header->entries));
  }
  p = mbi_mm_skip_blanks(p);
  if (*p != '\n') {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line, "%s follows the sizes",
                       mbi_mm_quote_line(p, quoted));
  }
  header->line = in->line;
  MBI_TRY(mbi_mm_check_sizes(in, header));
  if (header->array) {
    header->entries = mbi_mm_array_entries(header);
  }
  in->next = p + 1;
  in->line++;
  return mbi_mm_check_entries(in, header);
}
