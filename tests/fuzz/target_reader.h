/* Any text: memory and streams give the same matrix or none, and a written matrix reads back
 * the same. The first two bytes select the value type, the most rows and the stream's
 * chunks. */
#ifndef TEST_FUZZ_TARGET_READER_H
#define TEST_FUZZ_TARGET_READER_H
#include "fuzz/fuzz.h"

typedef struct text {
  const uint8_t *data;
  size_t size, at, step;
} text;

static int64_t text_read(void *user, void *data, size_t size) {
  text *t = (text *)user;
  size = size < t->step ? size : t->step;
  size = size < t->size - t->at ? size : t->size - t->at;
  if (size > 0) {
    memcpy(data, t->data + t->at, size);
  }
  t->at += size;
  return (int64_t)size;
}

typedef struct written {
  char *data;
  size_t size;
} written;

static int written_write(void *user, const void *data, size_t size) {
  written *w = (written *)user;
  w->data = (char *)realloc(w->data, w->size + size);
  REQUIRE(w->data != NULL);
  memcpy(w->data + w->size, data, size);
  w->size += size;
  return 0;
}

static int is_complex(const merbit_view *view) {
  return view->value_type == MERBIT_C64 || view->value_type == MERBIT_C128;
}

/* Returns number i of the values; a complex value is two numbers. */
static double value_at(const merbit_view *view, int64_t i) {
  return view->value_type == MERBIT_F32 || view->value_type == MERBIT_C64
             ? (double)((const float *)view->values)[i]
             : ((const double *)view->values)[i];
}

/* All NaNs are equal. */
static void require_same(const merbit_matrix *left, const merbit_matrix *right) {
  const merbit_view a = merbit_matrix_view(left), b = merbit_matrix_view(right);
  int64_t i;
  REQUIRE(a.rows == b.rows && a.cols == b.cols && a.nnz == b.nnz);
  REQUIRE(a.value_type == b.value_type && (a.values == NULL) == (b.values == NULL));
  for (i = 0; i <= a.rows; i++) {
    REQUIRE(mbi_index_at(a.row_ptr, a.offset_type, i) ==
            mbi_index_at(b.row_ptr, b.offset_type, i));
  }
  for (i = 0; i < a.nnz; i++) {
    REQUIRE(mbi_index_at(a.col_ind, a.index_type, i) ==
            mbi_index_at(b.col_ind, b.index_type, i));
  }
  for (i = 0; a.values != NULL && i < (is_complex(&a) ? 2 : 1) * a.nnz; i++) {
    const double x = value_at(&a, i), y = value_at(&b, i);
    REQUIRE((isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0);
  }
}

static void require_round_trip(merbit_context *context, const merbit_matrix *matrix,
                               const merbit_read_desc *desc) {
  const merbit_view view = merbit_matrix_view(matrix);
  merbit_read_desc again = *desc;
  written w = {NULL, 0};
  merbit_matrix *copy;
  again.max_rows = view.rows;
  REQUIRE(merbit_view_check(context, &view) == MERBIT_OK);
  REQUIRE(merbit_matrix_write_stream(context, &view, written_write, &w) == MERBIT_OK);
  REQUIRE(merbit_matrix_read_memory(context, w.data, w.size, &again, &copy) == MERBIT_OK);
  require_same(matrix, copy);
  merbit_matrix_destroy(copy);
  free(w.data);
}

static void fuzz_reader(const uint8_t *data, size_t size) {
  merbit_context *context = fuzz_context();
  merbit_read_desc desc;
  merbit_matrix *matrix, *streamed;
  merbit_status status;
  uint8_t *block;
  text t;
  if (size < 2) {
    return;
  }
  memset(&desc, 0, sizeof desc);
  desc.value_type = data[0] & 2 ? (data[0] & 1 ? MERBIT_C64 : MERBIT_C128)
                                : (data[0] & 1 ? MERBIT_F32 : MERBIT_F64);
  desc.max_rows = data[0] & 0xE0 ? 20000 : 0; /* millions of empty rows take time */
  t.step = 1 + data[1];
  t.data = data + 2;
  t.size = size - 2;
  t.at = 0;
  block = (uint8_t *)malloc(t.size); /* exact size, for AddressSanitizer */
  if (t.size > 0) {
    memcpy(block, t.data, t.size);
  }
  status = merbit_matrix_read_memory(context, block, t.size, &desc, &matrix);
  free(block);
  REQUIRE((status == MERBIT_OK) == (matrix != NULL));
  status = merbit_matrix_read_stream(context, text_read, &t, &desc, &streamed);
  REQUIRE((status == MERBIT_OK) == (streamed != NULL));
  REQUIRE((matrix == NULL) == (streamed == NULL));
  if (matrix != NULL) {
    require_same(matrix, streamed);
    require_round_trip(context, matrix, &desc);
  } else {
    char sentence[MERBIT_MESSAGE_SIZE];
    (void)merbit_last_error(context, sentence, sizeof sentence);
    REQUIRE(strncmp(sentence, "line ", 5) == 0);
  }
  merbit_matrix_destroy(matrix);
  merbit_matrix_destroy(streamed);
}

#endif /* TEST_FUZZ_TARGET_READER_H */
