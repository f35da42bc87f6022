/* Reads the matrices of a folder: *.mtx through the library, and *.csr, a raw dump of five
 * little-endian int64 {0x4d425431, rows, cols, nnz, has_values}, int32 row_ptr, int32 col_ind,
 * and float64 values if there are any. */
#ifndef TEST_SUPPORT_DATA_H
#define TEST_SUPPORT_DATA_H
#include <dirent.h>
#include "support/matrices.h"

static int data_is(const char *name, const char *suffix) {
  size_t n = strlen(name), s = strlen(suffix);
  return n > s && strcmp(name + n - s, suffix) == 0;
}

static void data_from_view(const merbit_view *view, test_matrix *m) {
  int64_t i;
  m->rows = view->rows;
  m->cols = view->cols;
  m->nnz = view->nnz;
  m->row_ptr = (int64_t *)test_allocate(view->rows + 1, sizeof(int64_t));
  m->col_ind = (int32_t *)test_allocate(view->nnz, sizeof(int32_t));
  m->values = (double *)test_allocate(view->nnz, sizeof(double));
  for (i = 0; i <= view->rows; i++) {
    m->row_ptr[i] = view->offset_type == MERBIT_INDEX_64 ? ((const int64_t *)view->row_ptr)[i]
                                                         : ((const int32_t *)view->row_ptr)[i];
  }
  for (i = 0; i < view->nnz; i++) {
    m->col_ind[i] = ((const int32_t *)view->col_ind)[i];
    m->values[i] = view->values != NULL ? ((const double *)view->values)[i] : 1.0;
  }
}

static void data_read_dump(const char *path, test_matrix *m) {
  FILE *file = fopen(path, "rb");
  int64_t head[5] = {0, 0, 0, 0, 0}, i;
  int32_t *row_ptr;
  assert_non_null(file);
  assert_int_equal(fread(head, sizeof head[0], 5, file), 5);
  assert_int_equal(head[0], 0x4d425431);
  m->rows = head[1];
  m->cols = head[2];
  m->nnz = head[3];
  row_ptr = (int32_t *)test_allocate(m->rows + 1, sizeof(int32_t));
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof(int64_t));
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof(int32_t));
  m->values = (double *)test_allocate(m->nnz, sizeof(double));
  assert_int_equal(fread(row_ptr, sizeof(int32_t), (size_t)m->rows + 1, file), m->rows + 1);
  assert_int_equal(fread(m->col_ind, sizeof(int32_t), (size_t)m->nnz, file), m->nnz);
  for (i = 0; i <= m->rows; i++) {
    m->row_ptr[i] = row_ptr[i];
  }
  for (i = 0; i < m->nnz; i++) {
    m->values[i] = 1.0;
  }
  if (head[4]) {
    assert_int_equal(fread(m->values, sizeof(double), (size_t)m->nnz, file), m->nnz);
  }
  free(row_ptr);
  (void)fclose(file);
}

/* Calls `visit` for every real matrix in `folder`, and skips complex ones. Returns how many it
 * visited. */
TEST_UNUSED static int data_for_each(merbit_context *context, const char *folder,
                                     void (*visit)(merbit_context *, const test_matrix *)) {
  DIR *directory = opendir(folder);
  struct dirent *entry;
  int count = 0;
  assert_non_null(directory);
  while ((entry = readdir(directory)) != NULL) {
    char path[4096];
    test_matrix m;
    memset(&m, 0, sizeof m);
    (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    (void)snprintf(m.name, sizeof m.name, "%.63s", entry->d_name);
    if (data_is(entry->d_name, ".mtx")) {
      merbit_matrix *matrix;
      merbit_view view;
      merbit_status status = merbit_matrix_read_file(context, path, NULL, &matrix);
      if (status == MERBIT_NOT_SUPPORTED) {
        continue;
      }
      assert_int_equal(status, MERBIT_OK);
      view = merbit_matrix_view(matrix);
      data_from_view(&view, &m);
      merbit_matrix_destroy(matrix);
    } else if (data_is(entry->d_name, ".csr")) {
      data_read_dump(path, &m);
    } else {
      continue;
    }
    visit(context, &m);
    test_matrix_free(&m);
    count++;
  }
  (void)closedir(directory);
  return count;
}

#endif /* TEST_SUPPORT_DATA_H */
