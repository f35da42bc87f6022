/* Helpers for the tests of the Matrix Market writer: a callback that keeps the text, and one
 * matrix with its text. Include merbit.h and cmocka.h first. */
#ifndef TEST_MATRIX_MM_WRITE_H
#define TEST_MATRIX_MM_WRITE_H
#include "support/cpu.h"

typedef struct text { /* grows with what is written; call number fail_at fails */
  char *data;
  size_t size;
  int calls, fail_at;
} text;

TEST_UNUSED static int text_write(void *user, const void *data, size_t size) {
  text *t = (text *)user;
  if (++t->calls == t->fail_at) {
    return 7;
  }
  t->data = (char *)realloc(t->data, t->size + size + 1);
  memcpy(t->data + t->size, data, size);
  t->size += size;
  t->data[t->size] = '\0';
  return 0;
}

TEST_UNUSED static void assert_failed(merbit_context *context, merbit_status status,
                                      merbit_status expected, const char *piece) {
  char message[MERBIT_MESSAGE_SIZE];
  assert_int_equal(merbit_last_error(context, message, sizeof message), expected);
  if (status != expected || strstr(message, piece) == NULL) {
    fail_msg("%s: %s\nexpected %s", merbit_status_name(status), message, piece);
  }
}

TEST_UNUSED static const int32_t csr_row_ptr[] = {0, 2, 2, 3};
TEST_UNUSED static const int32_t csr_col_ind[] = {3, 0, 1};
TEST_UNUSED static const double csr_values[] = {0.1, -2.0, 1e300};
TEST_UNUSED static const char csr_text[] =
    "%%MatrixMarket matrix coordinate real general\n3 4 3\n"
    "1 4 0.1\n1 1 -2\n3 2 1e+300\n";

#endif /* TEST_MATRIX_MM_WRITE_H */
