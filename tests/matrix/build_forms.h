/* Helpers for the tests of the builders: the entries of a matrix in several orders, and arrays
 * of every width with them. Include merbit.h and cmocka.h first. */
#ifndef TEST_MATRIX_BUILD_FORMS_H
#define TEST_MATRIX_BUILD_FORMS_H
#include "support/cpu.h"

typedef struct entry {
  int64_t row, col, place;
  double value;
} entry;

typedef enum arrangement {
  CSR_AS_IS,
  COO_BY_ROW,
  COO_SHUFFLED,
  COO_BY_COLUMN,
  ARRANGEMENTS
} arrangement;

typedef struct form {
  arrangement order;
  merbit_type type;
  merbit_index_type offset_type, index_type;
  int base, pattern, transpose;
} form;

TEST_UNUSED static int by_column(const void *left, const void *right) {
  const entry *a = (const entry *)left, *b = (const entry *)right;
  return a->col != b->col ? (a->col < b->col ? -1 : 1) : (a->place < b->place ? -1 : 1);
}

/* Returns the entries of `m` in the order in which the arrays will hold them. */
TEST_UNUSED static entry *entries_of(const test_matrix *m, arrangement order) {
  entry *entries = (entry *)test_allocate(m->nnz, sizeof *entries);
  uint64_t random = 3;
  int64_t row, k;
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      entries[k].row = row;
      entries[k].col = m->col_ind[k];
      entries[k].value = m->values[k];
      entries[k].place = k;
    }
  }
  for (k = m->nnz - 1; order == COO_SHUFFLED && k > 0; k--) {
    int64_t other = test_below(&random, k + 1);
    entry moved = entries[k];
    entries[k] = entries[other];
    entries[other] = moved;
  }
  if (order == COO_BY_COLUMN) {
    qsort(entries, (size_t)m->nnz, sizeof *entries, by_column);
  }
  for (k = 0; k < m->nnz; k++) {
    entries[k].place = k;
  }
  return entries;
}

TEST_UNUSED static void *index_array(const entry *entries, const int64_t *offsets,
                                     int64_t count, int of_rows, merbit_index_type type,
                                     int base) {
  void *array = malloc((size_t)count * (type == MERBIT_INDEX_64 ? 8 : 4) + 1);
  int64_t i;
  for (i = 0; i < count; i++) {
    int64_t value = base + (offsets != NULL ? offsets[i]
                            : of_rows       ? entries[i].row
                                            : entries[i].col);
    if (type == MERBIT_INDEX_64) {
      ((int64_t *)array)[i] = value;
    } else {
      ((int32_t *)array)[i] = (int32_t)value;
    }
  }
  return array;
}

typedef struct arrays {
  merbit_view view;
  void *row_ptr, *row_ind, *col_ind, *values;
} arrays;

TEST_UNUSED static void arrays_make(const test_matrix *m, const entry *entries, const form *f,
                                    arrays *a) {
  int64_t i;
  memset(a, 0, sizeof *a);
  if (f->order == CSR_AS_IS) {
    a->row_ptr = index_array(NULL, m->row_ptr, m->rows + 1, 0, f->offset_type, f->base);
  } else {
    a->row_ind = index_array(entries, NULL, m->nnz, 1, f->index_type, f->base);
  }
  a->col_ind = index_array(entries, NULL, m->nnz, 0, f->index_type, f->base);
  a->values = malloc((size_t)m->nnz * 8 + 1);
  for (i = 0; i < m->nnz; i++) {
    if (f->type == MERBIT_F32) {
      ((float *)a->values)[i] = (float)entries[i].value;
    } else {
      ((double *)a->values)[i] = entries[i].value;
    }
  }
  a->view = merbit_csr(m->rows, m->cols, m->nnz, a->row_ptr, a->col_ind,
                       f->pattern ? NULL : a->values);
  a->view.format = f->order == CSR_AS_IS ? MERBIT_CSR : MERBIT_COO;
  a->view.row_ind = a->row_ind;
  a->view.value_type = f->type;
  a->view.offset_type = f->offset_type;
  a->view.index_type = f->index_type;
  a->view.base = f->base;
}

TEST_UNUSED static void arrays_free(arrays *a) {
  free(a->row_ptr);
  free(a->row_ind);
  free(a->col_ind);
  free(a->values);
}

#endif /* TEST_MATRIX_BUILD_FORMS_H */
