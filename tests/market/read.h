/* Helpers for the tests of the Matrix Market reader: beginnings of files, reading from exact
 * blocks and from streams, comparing matrices and messages. Include merbit.h and cmocka.h
 * first. */
#ifndef TEST_MATRIX_MM_READ_H
#define TEST_MATRIX_MM_READ_H
#include "support/cpu.h"

#define G "%%MatrixMarket matrix coordinate real general\n"
#define P "%%MatrixMarket matrix coordinate pattern general\n"
#define S "%%MatrixMarket matrix coordinate real symmetric\n"
#define K "%%MatrixMarket matrix coordinate real skew-symmetric\n"
#define I "%%MatrixMarket matrix coordinate integer general\n"
#define A "%%MatrixMarket matrix array real general\n"
#define C "%%MatrixMarket matrix coordinate complex general\n"
#define INVALID MERBIT_INVALID_FILE

typedef struct stream {
  const char *text;
  size_t left, step;
} stream;

TEST_UNUSED static int64_t stream_read(void *user, void *data, size_t size) {
  stream *s = (stream *)user;
  size = size < s->step ? size : s->step;
  size = size < s->left ? size : s->left;
  memcpy(data, s->text, size);
  s->text += size;
  s->left -= size;
  return (int64_t)size;
}

TEST_UNUSED static merbit_status read_stream(merbit_context *context, const char *text,
                                             size_t size, size_t step,
                                             const merbit_read_desc *desc, merbit_matrix **m) {
  stream s;
  s.text = text;
  s.left = size;
  s.step = step;
  return merbit_matrix_read_stream(context, stream_read, &s, desc, m);
}

/* Reads from a block of exactly `size` bytes, so that ASan detects a read beyond it. */
TEST_UNUSED static merbit_status read_block(merbit_context *context, const char *text,
                                            size_t size, const merbit_read_desc *desc,
                                            merbit_matrix **m) {
  char *block = (char *)malloc(size);
  merbit_status status;
  memcpy(block, text, size);
  *m = (merbit_matrix *)(void *)block; /* must be overwritten */
  status = merbit_matrix_read_memory(context, block, size, desc, m);
  free(block);
  return status;
}

TEST_UNUSED static void assert_same(const merbit_matrix *a, const merbit_matrix *b) {
  const merbit_view v = merbit_matrix_view(a), w = merbit_matrix_view(b);
  assert_int_equal(v.rows, w.rows);
  assert_int_equal(v.cols, w.cols);
  assert_int_equal(v.nnz, w.nnz);
  assert_int_equal(v.value_type, w.value_type);
  assert_int_equal(v.offset_type, MERBIT_INDEX_32);
  assert_memory_equal(v.row_ptr, w.row_ptr, (size_t)(v.rows + 1) * 4);
  assert_memory_equal(v.col_ind, w.col_ind, (size_t)v.nnz * 4);
  assert_int_equal(v.values != NULL, w.values != NULL);
  if (v.values != NULL) {
    assert_memory_equal(v.values, w.values,
                        (size_t)v.nnz * (v.value_type == MERBIT_F32 ? 4 : 8));
  }
}

TEST_UNUSED static void assert_failed(merbit_context *context, const char *text,
                                      merbit_status status, merbit_status expected,
                                      const char *piece, merbit_matrix **m) {
  char message[MERBIT_MESSAGE_SIZE];
  const merbit_status last = merbit_last_error(context, message, sizeof message);
  if (status != expected || last != expected || strstr(message, piece) == NULL) {
    fail_msg("%.300s\n-> %s: %s\nexpected %s: %s", text, merbit_status_name(status), message,
             merbit_status_name(expected), piece);
  }
  if (m != NULL) {
    assert_null(*m);
  }
}

#endif /* TEST_MATRIX_MM_READ_H */
