#include "matrix/matrix.h"

/* Stable sorts of one row by column. Values of `size` bytes move with the columns; `size` is 0
 * if there are none. */

static void mbi_row_insertion(int32_t *columns, void *values, size_t size, int64_t length) {
  char value[sizeof(mbi_c128)];
  int64_t i, j;
  for (i = 1; i < length; i++) {
    const int32_t column = columns[i];
    mbi_value_copy(value, 0, values, i, size);
    for (j = i; j > 0 && columns[j - 1] > column; j--) {
      columns[j] = columns[j - 1];
      mbi_value_copy(values, j, values, j - 1, size);
    }
    columns[j] = column;
    mbi_value_copy(values, j, value, 0, size);
  }
}

/* Sorts a row with a radix sort, byte by byte from the least significant one. Columns are below
 * `cols`. Each scratch array has space for the row. */
static void mbi_row_radix(int32_t *columns, void *values, size_t size, int64_t length,
                          int64_t cols, int32_t *scratch_columns, void *scratch_values) {
  int32_t *in = columns, *out = scratch_columns, *other;
  void *values_in = values, *values_out = scratch_values, *values_other;
  int64_t starts[256], i;
  int shift, byte;
  for (shift = 0; shift < 32 && (cols - 1) >> shift > 0; shift += 8) {
    int64_t at = 0;
    memset(starts, 0, sizeof starts);
    for (i = 0; i < length; i++) {
      starts[(in[i] >> shift) & 255]++;
    }
    for (byte = 0; byte < 256; byte++) {
      int64_t count = starts[byte];
      starts[byte] = at;
      at += count;
    }
    for (i = 0; i < length; i++) {
      at = starts[(in[i] >> shift) & 255]++;
      out[at] = in[i];
      mbi_value_copy(values_out, at, values_in, i, size);
    }
    other = in;
    in = out;
    out = other;
    values_other = values_in;
    values_in = values_out;
    values_out = values_other;
  }
  if (in != columns) {
    memcpy(columns, in, (size_t)length * sizeof *columns);
    if (size > 0) {
      memcpy(values, values_in, (size_t)length * size);
    }
  }
}

/* Sorts a row. Each scratch array has space for the row, unless it has at most MBI_SHORT_ROW
 * entries; then none is used. */
MBI_INTERNAL void mbi_row_sort(int32_t *columns, void *values, size_t size, int64_t length,
                               int64_t cols, int32_t *scratch_columns, void *scratch_values) {
  if (length <= MBI_SHORT_ROW) {
    mbi_row_insertion(columns, values, size, length);
  } else {
    mbi_row_radix(columns, values, size, length, cols, scratch_columns, scratch_values);
  }
}
