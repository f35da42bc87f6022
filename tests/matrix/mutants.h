/* Small matrices with one to four errors, and a slow independent checker that finds the first.
 * Everything is stored in 64 bits; mutant_arrays makes arrays of the view's widths. Include
 * merbit.h and cmocka.h first. */
#ifndef TEST_MATRIX_MUTANTS_H
#define TEST_MATRIX_MUTANTS_H
#include "support/products.h"

enum { MUTANT_ROOM = 200, MUTANT_BLOCK = 3 }; /* rows and columns of a block, at most */
#define MUTANT_MOST                                                                            \
  (((int64_t)1 << 60) - 2) /* of rows or nnz: arrays of 8-byte elements are still addressable  \
                            */

typedef struct mutant {
  merbit_view view;  /* as claimed; NULL for arrays that are missing */
  int64_t rows, nnz; /* as generated */
  int64_t ptr[MUTANT_ROOM], row[MUTANT_ROOM], col[MUTANT_ROOM];
  double value[MUTANT_ROOM * MUTANT_BLOCK * MUTANT_BLOCK]; /* small integers: exact sums */
} mutant;

/* Returns the number of rows, for BSR of block rows, that the arrays describe. */
static int64_t mutant_rows(const merbit_view *view) {
  const int size = view->format == MERBIT_BSR ? view->block_rows : 1;
  return size < 1 ? view->rows : view->rows / size + (view->rows % size > 0);
}

static int64_t mutant_cols(const merbit_view *view) {
  const int size = view->format == MERBIT_BSR ? view->block_cols : 1;
  return size < 1 ? view->cols : view->cols / size + (view->cols % size > 0);
}

static int64_t mutant_values(const merbit_view *view) { /* values per entry or block */
  return view->format == MERBIT_BSR ? (int64_t)view->block_rows * view->block_cols : 1;
}

static int64_t mutant_add(int64_t value, int64_t more) { /* wraps */
  return (int64_t)((uint64_t)value + (uint64_t)more);
}

static int64_t mutant_narrow(int64_t value, merbit_index_type type) {
  return type == MERBIT_INDEX_64 ? value : (int64_t)(int32_t)(uint32_t)(uint64_t)value;
}

/* ---- A valid matrix ---------------------------------------------------------------------- */

static void mutant_make(uint64_t *random, mutant *m) {
  static const char present; /* stands for an array that does not exist yet */
  merbit_view *view = &m->view;
  int64_t i, k = 0;
  memset(m, 0, sizeof *m);
  view->format = (merbit_format)(test_below(random, 4) % 3);
  view->value_type = test_below(random, 2) ? MERBIT_F32 : MERBIT_TYPE_DEFAULT;
  view->offset_type = test_below(random, 2) ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  view->index_type = test_below(random, 2) ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  view->base = (int)test_below(random, 2);
  view->cols = 1 + test_below(random, 12);
  m->rows = test_below(random, 14);
  for (i = 0; i < m->rows; i++) {
    const int64_t length = test_below(random, 5) * (test_below(random, 12) == 0 ? 10 : 1);
    const int64_t end = k + (k + length < MUTANT_ROOM / 2 ? length : 0);
    m->ptr[i] = k + view->base;
    for (; k < end; k++) {
      m->row[k] = i + view->base;
      m->col[k] = test_below(random, view->cols) + view->base;
    }
  }
  m->ptr[m->rows] = k + view->base;
  m->nnz = k;
  /* Fills the arrays beyond their ends, in case the view claims more. */
  for (i = 0; i < MUTANT_ROOM; i++) {
    m->ptr[i] = i > m->rows ? m->ptr[i - 1] + (test_below(random, 4) == 0) : m->ptr[i];
    m->row[i] = i >= k ? view->base + test_below(random, m->rows + 1) : m->row[i];
    m->col[i] = i >= k ? view->base + test_below(random, view->cols) : m->col[i];
  }
  for (i = 0; i < MUTANT_ROOM * MUTANT_BLOCK * MUTANT_BLOCK; i++) {
    m->value[i] = (double)(1 + test_below(random, 9));
  }
  if (view->format == MERBIT_COO && test_below(random, 2)) { /* rows in any order */
    for (i = k - 1; i > 0; i--) {
      const int64_t j = test_below(random, i + 1), kept = m->row[i];
      m->row[i] = m->row[j];
      m->row[j] = kept;
    }
  }
  view->rows = m->rows;
  view->nnz = m->nnz;
  if (view->format == MERBIT_BSR) {
    view->block_rows = 1 + (int)test_below(random, MUTANT_BLOCK);
    view->block_cols = 1 + (int)test_below(random, MUTANT_BLOCK);
    view->block_order = (merbit_block_order)test_below(random, 2);
    view->rows =
        m->rows == 0 ? 0 : m->rows * view->block_rows - test_below(random, view->block_rows);
    view->cols = view->cols * view->block_cols - test_below(random, view->block_cols);
  }
  view->row_ptr = view->format != MERBIT_COO ? &present : NULL;
  view->row_ind = view->format == MERBIT_COO ? &present : NULL;
  view->col_ind = &present;
  view->values = test_below(random, 3) == 0 ? NULL : &present;
}

/* ---- Mutations --------------------------------------------------------------------------- */

/* Changes one entry of an array of `count`, whose valid values are [base, base + limit). */
static void mutant_spoil_entry(uint64_t *random, int64_t *array, int64_t count, int64_t limit,
                               int base, merbit_index_type type) {
  const int64_t extremes[] = {INT32_MIN,
                              INT32_MAX,
                              INT64_MIN,
                              INT64_MAX,
                              (int64_t)INT32_MAX + 1,
                              (int64_t)INT32_MIN - 1,
                              INT64_MIN + base,
                              INT64_MAX - 1};
  const int64_t at = test_below(random, count), other = test_below(random, count);
  const int64_t old = array[at];
  int64_t i;
  switch (test_below(random, 9)) {
  case 0:
    array[at] = extremes[test_below(random, 8)];
    break;
  case 1: /* the lower half is right */
    array[at] = mutant_add(old, (test_below(random, 3) - 1) * ((int64_t)1 << 32));
    break;
  case 2:
    array[at] = mutant_add(old, test_below(random, 2) ? 1 : -1);
    break;
  case 3:
    array[at] = mutant_add(~old, test_below(random, 2)); /* -old, or one less */
    break;
  case 4:
    array[at] = base - 1 + test_below(random, 2);
    break;
  case 5:
    array[at] = base + limit - test_below(random, 2);
    break;
  case 6:
    array[at] = array[other];
    array[other] = old;
    break;
  case 7:
    array[at] = array[other];
    break;
  default: /* written with another base */
    for (i = test_below(random, 2) ? at : 0; i < count; i++) {
      array[i] = mutant_add(array[i], base == 0 ? 1 : -1);
    }
    break;
  }
  for (i = 0; i < count; i++) {
    array[i] = mutant_narrow(array[i], type);
  }
}

static int64_t mutant_lie(uint64_t *random, int64_t truth) {
  const int64_t lies[] = {truth + 1, truth - 1, truth + 2, truth / 2,      0,
                          -1,        INT64_MIN, INT64_MAX, MUTANT_MOST + 1};
  return lies[test_below(random, 9)];
}

static void mutant_spoil_header(uint64_t *random, mutant *m) {
  merbit_view *view = &m->view;
  switch (test_below(random, 16)) {
  case 0:
  case 1:
    view->rows = mutant_lie(random, view->rows);
    break;
  case 2:
    view->cols =
        test_below(random, 3) == 0 ? (int64_t)INT32_MAX + 1 : mutant_lie(random, view->cols);
    break;
  case 3:
  case 4:
    view->nnz = mutant_lie(random, m->nnz);
    break;
  case 5: /* refused before anything of that length is read */
    if (view->format != MERBIT_COO) {
      view->nnz = ((int64_t)1 << (31 + test_below(random, 28))) + test_below(random, 3) - 1;
    }
    break;
  case 6:
    view->base = 1 - view->base;
    break;
  case 7:
    view->base = (int)(test_below(random, 2) ? 2 : -1);
    break;
  case 8:
    view->format = (merbit_format)(2 + test_below(random, 2));
    break;
  case 9:
    view->value_type = (merbit_type)(7 + test_below(random, 5));
    break;
  case 10:
    view->offset_type = (merbit_index_type)(2 + test_below(random, 2));
    break;
  case 11:
    view->index_type = (merbit_index_type)(2 + test_below(random, 2));
    break;
  case 12:
    view->memory = (merbit_memory)3;
    break;
  case 13: /* no meaning in other formats */
    view->block_order = (merbit_block_order)2;
    break;
  case 14:
    view->block_rows = test_below(random, 2) ? 65 : (int)-test_below(random, 2);
    view->block_cols = test_below(random, 2) ? view->block_cols : (int)test_below(random, 70);
    break;
  default:
    if (test_below(random, 2)) {
      view->col_ind = NULL;
    } else {
      view->row_ptr = view->row_ind = NULL;
    }
    break;
  }
}

static void mutant_spoil(uint64_t *random, mutant *m) {
  const int64_t times = 1 + test_below(random, 4), honest = test_below(random, 5);
  const merbit_view v = m->view; /* the original, whatever the view claims */
  const int64_t cols = mutant_cols(&v);
  int64_t i;
  for (i = 0; i < times; i++) {
    const int64_t part = test_below(random, 4);
    if (i == 0 && honest == 0) {
      mutant_spoil_header(random, m);
    } else if (v.format != MERBIT_COO && (part < 2 || m->nnz == 0)) {
      mutant_spoil_entry(random, m->ptr, m->rows + 1, m->nnz, v.base, v.offset_type);
    } else if (m->nnz > 0 && v.format == MERBIT_COO && part < 2) {
      mutant_spoil_entry(random, m->row, m->nnz, m->rows, v.base, v.index_type);
    } else if (m->nnz > 0) {
      mutant_spoil_entry(random, m->col, m->nnz, cols, v.base, v.index_type);
    }
  }
}

/* ---- Errors ------------------------------------------------------------------------------ */

typedef struct culprits { /* any of these is a right answer; none: the matrix is valid */
  int count;
  merbit_status status[16];
  char piece[16][128]; /* beginnings of the message */
} culprits;

static void culprits_add(culprits *c, merbit_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  c->status[c->count] = status;
  (void)vsnprintf(c->piece[c->count++], sizeof c->piece[0], format, arguments);
  va_end(arguments);
}

static void culprits_of_kinds(const merbit_view *v, culprits *c) {
  const int type = (int)v->value_type;
  if ((int)v->format > 2) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.format is %d", (int)v->format);
  }
  if (v->format == MERBIT_BSR &&
      (v->block_rows < 1 || v->block_rows > 64 || v->block_cols < 1 || v->block_cols > 64)) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.block_rows is %d and block_cols %d",
                 v->block_rows, v->block_cols);
  } else if (v->format == MERBIT_BSR && (int)v->block_order > 1) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.block_order is %d", (int)v->block_order);
  }
  if (type > (int)MERBIT_C128) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.value_type is %d", type);
  }
  if ((int)v->offset_type > 1) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.offset_type is %d", (int)v->offset_type);
  }
  if ((int)v->index_type > 1) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.index_type is %d", (int)v->index_type);
  }
  if ((int)v->memory > 2) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.memory is %d", (int)v->memory);
  }
  if (v->base < 0 || v->base > 1) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.base is %d", v->base);
  }
}

static void culprits_of_sizes(const merbit_view *v, culprits *c) {
  const int64_t sizes[] = {v->rows, v->cols, v->nnz};
  static const char *const names[] = {"rows", "cols", "nnz"};
  int i;
  for (i = 0; i < 3; i++) {
    if (sizes[i] < 0) {
      culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.%s is %" PRId64, names[i], sizes[i]);
    } else if (sizes[i] > (i == 1 ? INT32_MAX : MUTANT_MOST)) {
      culprits_add(c, MERBIT_TOO_LARGE, "view.%s is %" PRId64, names[i], sizes[i]);
    }
  }
  if (v->nnz > 0 && (v->rows == 0 || v->cols == 0)) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.nnz is %" PRId64, v->nnz);
  }
  if (v->format == MERBIT_BSR && mutant_values(v) > 0 &&
      v->nnz > MUTANT_MOST / mutant_values(v)) {
    culprits_add(c, MERBIT_TOO_LARGE, "view.nnz is %" PRId64, v->nnz);
  }
  if (v->format != MERBIT_COO && v->offset_type == MERBIT_INDEX_32 &&
      v->nnz > (int64_t)INT32_MAX - v->base) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.nnz is %" PRId64, v->nnz);
  }
}

static void culprits_of_pointers(const merbit_view *v, culprits *c) {
  if (v->format != MERBIT_COO && v->rows > 0 && v->row_ptr == NULL) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.row_ptr is NULL");
  }
  if (v->format == MERBIT_COO && v->nnz > 0 && v->row_ind == NULL) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.row_ind is NULL");
  }
  if (v->nnz > 0 && v->col_ind == NULL) {
    culprits_add(c, MERBIT_INVALID_ARGUMENT, "view.col_ind is NULL");
  }
}

/* Finds the first bad entry of the first bad array. */
static void culprits_of_arrays(const mutant *m, culprits *c) {
  const merbit_view *v = &m->view;
  const int csr = v->format != MERBIT_COO;
  const char *const block = v->format == MERBIT_BSR ? "block " : "";
  const int64_t end = v->nnz + v->base, rows = mutant_rows(v), cols = mutant_cols(v);
  int64_t i, row = 0;
  for (i = 0; csr && v->row_ptr != NULL && i <= rows; i++) {
    if (i == 0 ? m->ptr[0] != v->base : m->ptr[i] < m->ptr[i - 1] || m->ptr[i] > end) {
      if (i < rows || i == 0 || m->ptr[i] < m->ptr[i - 1]) {
        culprits_add(c, MERBIT_INVALID_MATRIX, "row_ptr[%" PRId64 "] is %" PRId64, i,
                     m->ptr[i]);
        return;
      }
    }
  }
  if (csr && v->row_ptr != NULL && m->ptr[rows] != end) {
    culprits_add(c, MERBIT_INVALID_MATRIX, "row_ptr[%srows] is %" PRId64, block, m->ptr[rows]);
    return;
  }
  for (i = 0; !csr && i < v->nnz; i++) {
    if (m->row[i] < v->base || m->row[i] >= rows + v->base) {
      culprits_add(c, MERBIT_INVALID_MATRIX, "row_ind[%" PRId64 "] is %" PRId64, i, m->row[i]);
      return;
    }
  }
  for (i = 0; i < v->nnz; i++) {
    while (csr && m->ptr[row + 1] - v->base <= i) {
      row++;
    }
    if (m->col[i] < v->base || m->col[i] >= cols + v->base) {
      char place[40] = "";
      if (csr) {
        (void)snprintf(place, sizeof place, " (%srow %" PRId64 ")", block, row);
      }
      culprits_add(c, MERBIT_INVALID_MATRIX, "col_ind[%" PRId64 "]%s is %" PRId64, i, place,
                   m->col[i]);
      return;
    }
  }
}

/* Returns 0 if the view claims more than the mutant has, so that no answer is right. */
static int mutant_culprits(const mutant *m, culprits *c) {
  const merbit_view *v = &m->view;
  c->count = 0;
  culprits_of_kinds(v, c);
  culprits_of_sizes(v, c);
  culprits_of_pointers(v, c);
  if (c->count > 0) {
    return 1;
  }
  if (v->rows >= MUTANT_ROOM || v->cols >= MUTANT_ROOM ||
      (v->nnz >= MUTANT_ROOM &&
       (v->row_ptr == NULL || m->ptr[mutant_rows(v)] == v->nnz + v->base))) {
    return 0;
  }
  culprits_of_arrays(m, c);
  return 1;
}

#endif /* TEST_MATRIX_MUTANTS_H */
