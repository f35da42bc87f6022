/* The matrix of a combination: its arrays, the plan's view, and its entries for the reference.
 * Include merbit.h and cmocka.h first. */
#ifndef TEST_SWEEP_PROBLEM_H
#define TEST_SWEEP_PROBLEM_H
#include "support/symmetric.h"
#include "support/semirings.h"
#include "support/squares.h"
#include "support/typed.h"
#include "sweep/bed.h"
#include "sweep/factors.h"

typedef struct entries { /* of the whole matrix, in coordinates from 0 */
  int64_t rows, cols, count;
  int64_t *row, *col;
  char *values; /* NULL: a pattern */
  int repeated; /* whether a place occurs twice */
} entries;

typedef struct problem {
  const combination *c;
  merbit_context *context;
  uint64_t random;
  typed_kind kind;
  int64_t *row, *col; /* of each stored value, or of its block */
  int64_t stored, block_rows;
  void *arrays[4];
  merbit_matrix *matrix;
  merbit_view host, view; /* in host memory; the plan's view */
  entries e;
} problem;

static void entries_free(entries *e) {
  free(e->row);
  free(e->col);
  free(e->values);
  memset(e, 0, sizeof *e);
}

/* Converts a value to that of the other triangle. */
static void entries_mirror(const merbit_view *view, char *value) {
  const merbit_type type = view->value_type;
  const size_t size = typed_size(type);
  const size_t part = typed_complex(type) ? size / 2 : size;
  if (view->symmetry == MERBIT_SYMMETRY_SKEW) {
    size_t end;
    for (end = part; end <= size; end += part) {
      value[end - 1] = (char)(value[end - 1] ^ 0x80);
    }
  }
  if (view->symmetry == MERBIT_SYMMETRY_HERMITIAN && typed_complex(type)) {
    value[size - 1] = (char)(value[size - 1] ^ 0x80);
  }
}

static void entries_add(entries *e, const merbit_view *view, int64_t row, int64_t col,
                        int64_t k) {
  const size_t size = typed_size(view->value_type);
  int mirror;
  if (row >= view->rows || col >= view->cols) {
    return; /* padding of a block */
  }
  for (mirror = 0; mirror <= (view->symmetry != MERBIT_SYMMETRY_NONE && row != col); mirror++) {
    char *value = e->values + (size_t)e->count * size;
    e->row[e->count] = mirror ? col : row;
    e->col[e->count++] = mirror ? row : col;
    if (view->values != NULL) {
      memcpy(value, (const char *)view->values + (size_t)k * size, size);
      if (mirror) {
        entries_mirror(view, value);
      }
    }
  }
}

typedef struct entry_key {
  int64_t row, col, k;
} entry_key;

static int entry_compare(const void *a, const void *b) {
  const entry_key *x = (const entry_key *)a, *y = (const entry_key *)b;
  return x->row != y->row   ? (x->row < y->row ? -1 : 1)
         : x->col != y->col ? (x->col < y->col ? -1 : 1)
                            : (x->k > y->k) - (x->k < y->k);
}

/* Returns the entries sorted by rows and columns. */
static entry_key *entries_sorted(const entries *e) {
  entry_key *keys = (entry_key *)test_allocate(e->count, sizeof *keys);
  int64_t k;
  for (k = 0; k < e->count; k++) {
    keys[k].row = e->row[k];
    keys[k].col = e->col[k];
    keys[k].k = k;
  }
  qsort(keys, (size_t)e->count, sizeof *keys, entry_compare);
  return keys;
}

/* Reads a view in host memory by its definition. */
static void entries_of_view(const merbit_view *view, entries *e) {
  const int height = view->format == MERBIT_BSR ? view->block_rows : 1;
  const int width = view->format == MERBIT_BSR ? view->block_cols : 1;
  const int64_t most = 2 * view->nnz * height * width;
  int64_t row = -1, k;
  entry_key *keys;
  int i, j;
  memset(e, 0, sizeof *e);
  e->rows = view->rows;
  e->cols = view->cols;
  e->row = (int64_t *)test_allocate(most, sizeof *e->row);
  e->col = (int64_t *)test_allocate(most, sizeof *e->col);
  e->values = (char *)test_allocate(most, typed_size(view->value_type));
  for (k = 0; k < view->nnz; k++) {
    const int64_t col = mbi_index_at(view->col_ind, view->index_type, k) - view->base;
    if (view->format == MERBIT_COO) {
      row = mbi_index_at(view->row_ind, view->index_type, k) - view->base;
    } else {
      while (row < 0 ||
             mbi_index_at(view->row_ptr, view->offset_type, row + 1) - view->base <= k) {
        row++;
      }
    }
    for (i = 0; i < height; i++) {
      for (j = 0; j < width; j++) {
        const int within =
            view->block_order == MERBIT_BLOCK_COLUMN_MAJOR ? j * height + i : i * width + j;
        entries_add(e, view, row * height + i, col * width + j, k * height * width + within);
      }
    }
  }
  if (view->values == NULL) {
    free(e->values);
    e->values = NULL;
  }
  keys = entries_sorted(e);
  for (k = 1; k < e->count; k++) {
    e->repeated |= keys[k].row == keys[k - 1].row && keys[k].col == keys[k - 1].col;
  }
  free(keys);
}

/* Adds up part `im` of the entries from keys[*k] on that are at one place. */
static long double entries_sum(const problem *p, const entries *e, const entry_key *keys,
                               int64_t *k, int im, long double *size) {
  const entry_key *first = &keys[*k];
  long double sum = 0;
  for (*size = 0; *k < e->count && keys[*k].row == first->row && keys[*k].col == first->col;
       (*k)++) {
    const typed_number one = {1, 0};
    const typed_number a =
        e->values != NULL ? typed_load(p->kind.values, e->values, keys[*k].k) : one;
    const long double part = im ? a.im : a.re;
    sum += part;
    *size += fabsl(part);
  }
  return sum;
}

/* Checks that a matrix made from another one holds its entries, with duplicates added up, and
 * zeros. */
static void entries_compare(const problem *p, entries *made, entries *from) {
  const merbit_type type = p->kind.values;
  const long double u = type == MERBIT_F16    ? 0x1p-11L
                        : type == MERBIT_BF16 ? 0x1p-8L
                        : typed_single(type)  ? 0x1p-24L
                                              : 0x1p-53L;
  entry_key *a = entries_sorted(made), *b = entries_sorted(from);
  int64_t i = 0, j = 0;
  int im;
  while (i < made->count) {
    const int64_t at_i = i, at_j = j;
    const int both = j < from->count && a[i].row == b[j].row && a[i].col == b[j].col;
    for (im = 0; im <= typed_complex(type); im++) {
      long double size = 0, unused, got, want;
      i = at_i;
      j = at_j;
      got = entries_sum(p, made, a, &i, im, &unused);
      want = both ? entries_sum(p, from, b, &j, im, &size) : 0;
      if (i != at_i + 1 || !(fabsl(got - want) <= (long double)(j - at_j) * u * size)) {
        sweep_fail("a matrix was made whose entry (%lld, %lld) is %Lg, %d times, not %Lg",
                   (long long)a[at_i].row, (long long)a[at_i].col, got, (int)(i - at_i), want);
      }
    }
  }
  if (j != from->count || made->rows != from->rows || made->cols != from->cols) {
    sweep_fail("a matrix was made without entry (%lld, %lld)", (long long)b[j].row,
               (long long)b[j].col);
  }
  free(a);
  free(b);
}

/* ---- Arrays ------------------------------------------------------------------------------ */

/* Fills the stored values of p->host with values of a kind. */
static void problem_values(problem *p, int kind, void *values) {
  const merbit_type type = p->kind.values;
  const size_t size = typed_size(type);
  const int semiring = p->c->at[SEMIRING] != 0 && p->c->at[KIND] <= 1;
  const int64_t per = p->stored > 0 && p->host.format == MERBIT_BSR
                          ? p->host.block_rows * p->host.block_cols
                          : 1;
  double *numbers = (double *)test_allocate(p->stored * per + 8, sizeof *numbers);
  char pool[8 * 16];
  int64_t k;
  int i;
  typed_fill(type, values, p->stored * per, &p->random, 0);
  typed_fill(type, pool, 8, &p->random, 0);
  if (semiring) {
    semirings_fill(numbers, p->stored * per + 8, 0, &p->random);
    for (k = 0; k < p->stored * per; k++) {
      typed_set(type, values, k, numbers[k], 0);
    }
  }
  for (i = 0; i < 8 && type != MERBIT_F16 && type != MERBIT_BF16 && (semiring || kind == 6);
       i++) {
    typed_set(type, pool, i, semiring ? numbers[p->stored * per + i] : (i - 3) / 8.0,
              0.125 * i);
  }
  for (k = 0; kind >= 2 && k < p->stored * per; k++) {
    const int64_t from = kind == 2   ? 0
                         : kind == 3 ? p->col[k / per] % 8
                         : kind == 4 ? p->row[k / per] % 8
                                     : test_below(&p->random, 8);
    memcpy((char *)values + (size_t)k * size, pool + (size_t)from * size, size);
  }
  for (k = 0;
       p->host.symmetry == MERBIT_SYMMETRY_HERMITIAN && typed_complex(type) && k < p->stored;
       k++) {
    if (p->row[k] == p->col[k]) { /* real on the diagonal */
      memset((char *)values + (size_t)k * size + size / 2, 0, size / 2);
    }
  }
  free(numbers);
}

/* Lists the places of the entries, in storage order. */
static void problem_places(problem *p, test_matrix *m) {
  const int symmetry = p->c->at[SYMMETRY];
  int64_t row, k;
  int index = 0;
  while (strcmp(test_specs[index].name, factors[SHAPE].levels[p->c->at[SHAPE]]) != 0) {
    index++;
  }
  if (p->c->at[ORDER] != 0) {
    square_make(index, p->random, m);
  } else {
    test_matrix_make(index, p->random, m);
  }
  if (symmetry != 0) {
    test_matrix half;
    symmetric_fold(
        m, symmetry == 3 || symmetry == 4 ? MERBIT_SYMMETRY_SKEW : MERBIT_SYMMETRY_SYMMETRIC,
        symmetry == 2 || symmetry == 4, &half);
    test_matrix_free(m);
    *m = half;
  }
  p->stored = m->nnz;
  p->block_rows = m->rows;
  p->row = (int64_t *)test_allocate(m->nnz, sizeof *p->row);
  p->col = (int64_t *)test_allocate(m->nnz, sizeof *p->col);
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      p->row[k] = row;
      p->col[k] = m->col_ind[k];
    }
  }
  for (k = 0; p->c->at[FORMAT] == 1 && k < m->nnz; k++) { /* COO in any order */
    const int64_t other = test_below(&p->random, k + 1), r = p->row[k], c = p->col[k];
    p->row[k] = p->row[other];
    p->col[k] = p->col[other];
    p->row[other] = r;
    p->col[other] = c;
  }
}

/* Makes the arrays of p->host as the combination says. */
static void problem_arrays(problem *p) {
  static const merbit_symmetry symmetries[] = {
      MERBIT_SYMMETRY_NONE, MERBIT_SYMMETRY_SYMMETRIC, MERBIT_SYMMETRY_SYMMETRIC,
      MERBIT_SYMMETRY_SKEW, MERBIT_SYMMETRY_SKEW,      MERBIT_SYMMETRY_HERMITIAN};
  const int *at = p->c->at, format = at[FORMAT];
  const int height = format == 2 ? 2 : format == 3 ? 4 : 1, width = format == 2 ? 3 : 1;
  merbit_view *v = &p->host;
  test_matrix m;
  problem_places(p, &m);
  *v = merbit_csr(m.rows, m.cols, m.nnz, NULL, NULL, NULL);
  v->value_type = p->kind.values;
  v->offset_type = at[OFFSETS] ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  v->index_type = at[INDICES] ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  v->base = at[BASE];
  v->symmetry = symmetries[at[SYMMETRY]];
  v->format = format == 0 ? MERBIT_CSR : format == 1 ? MERBIT_COO : MERBIT_BSR;
  if (format >= 2) {
    v->block_rows = height;
    v->block_cols = width;
    v->block_order = format == 3 ? MERBIT_BLOCK_COLUMN_MAJOR : MERBIT_BLOCK_ROW_MAJOR;
    v->rows = m.rows > 0 ? m.rows * height - 1 : 0;
    v->cols = m.cols > 0 ? m.cols * width - (width > 1) : 0;
  }
  if (format == 1) {
    v->row_ind = p->arrays[0] = products_indices(p->row, NULL, m.nnz, v->index_type, v->base);
  } else {
    v->row_ptr = p->arrays[1] =
        products_indices(m.row_ptr, NULL, m.rows + 1, v->offset_type, v->base);
  }
  v->col_ind = p->arrays[2] = products_indices(p->col, NULL, m.nnz, v->index_type, v->base);
  if (at[VALUES] != 1) {
    p->arrays[3] = products_exact(m.nnz * height * width, typed_size(p->kind.values));
    problem_values(p, at[VALUES], p->arrays[3]);
    v->values = p->arrays[3];
  }
  test_matrix_free(&m);
}

/* Finds the places of the values of a matrix that was made from p->host. */
static void problem_adopt(problem *p) {
  const merbit_view *v = &p->host;
  int64_t row = 0, k;
  free(p->row);
  free(p->col);
  p->stored = v->nnz;
  p->row = (int64_t *)test_allocate(v->nnz, sizeof *p->row);
  p->col = (int64_t *)test_allocate(v->nnz, sizeof *p->col);
  for (k = 0; k < v->nnz; k++) {
    while (mbi_index_at(v->row_ptr, v->offset_type, row + 1) - v->base <= k) {
      row++;
    }
    p->row[k] = row;
    p->col[k] = mbi_index_at(v->col_ind, v->index_type, k) - v->base;
  }
}

/* Makes p->view: p->host's arrays in device memory. */
static void problem_upload(problem *p) {
  const size_t offset = p->host.offset_type == MERBIT_INDEX_64 ? 8 : 4;
  const size_t index = p->host.index_type == MERBIT_INDEX_64 ? 8 : 4;
  merbit_view *v = &p->view;
  v->memory = MERBIT_MEMORY_DEVICE;
  if (v->row_ptr != NULL) {
    v->row_ptr = place_put(1, v->row_ptr, (size_t)(p->block_rows + 1) * offset);
  } else {
    v->row_ind = place_put(1, v->row_ind, (size_t)v->nnz * index);
  }
  v->col_ind = place_put(1, v->col_ind, (size_t)v->nnz * index);
  if (v->values != NULL) {
    v->values = place_put(1, v->values, (size_t)mbi_view_values(v) * typed_size(v->value_type));
  }
}

/* ---- Conversions ------------------------------------------------------------------------- */

typedef struct text { /* a file in memory */
  char *data;
  size_t size;
} text;

static int text_take(void *user, const void *data, size_t size) {
  text *t = (text *)user;
  t->data = (char *)realloc(t->data, t->size + size + 1);
  if (t->data == NULL) {
    return 1;
  }
  memcpy(t->data + t->size, data, size);
  t->size += size;
  return 0;
}

/* Makes p->matrix as the factor "source" says. Returns the status. */
static merbit_status problem_convert(problem *p) {
  const int source = p->c->at[SOURCE];
  merbit_context *context = p->context;
  merbit_read_desc desc;
  merbit_status status;
  char path[96];
  text t = {NULL, 0};
  memset(&desc, 0, sizeof desc);
  desc.value_type = p->kind.values;
  desc.keep_half = 1;
  switch (source) {
  case 3:
    return merbit_matrix_create_bsr(context, &p->view, NULL, &p->matrix);
  case 4:
    (void)snprintf(path, sizeof path, "%s/sweep.mtx", gpu_cache());
    status = merbit_matrix_write_file(context, &p->view, path);
    return status == MERBIT_OK ? merbit_matrix_read_file(context, path, &desc, &p->matrix)
                               : status;
  case 5:
    status = merbit_matrix_write_stream(context, &p->view, text_take, &t);
    if (status == MERBIT_OK) {
      status = merbit_matrix_read_memory(context, t.data, t.size, &desc, &p->matrix);
    }
    free(t.data);
    return status;
  case 6:
    return merbit_matrix_transpose(context, &p->view, &p->matrix);
  default:
    return merbit_matrix_create(context, &p->view, &p->matrix);
  }
}

static void entries_transpose(entries *e) {
  int64_t *row = e->row, rows = e->rows;
  e->row = e->col;
  e->col = row;
  e->rows = e->cols;
  e->cols = rows;
}

/* Makes a whole problem. Returns whether it was accepted. */
static int problem_make(problem *p, int taken) {
  static const typed_kind kinds[] = {
      {"f64", MERBIT_F64, MERBIT_F64},        {"f32", MERBIT_F32, MERBIT_F32},
      {"f32 in f64", MERBIT_F32, MERBIT_F64}, {"f16", MERBIT_F16, MERBIT_F32},
      {"bf16", MERBIT_BF16, MERBIT_F32},      {"c64", MERBIT_C64, MERBIT_C64},
      {"c128", MERBIT_C128, MERBIT_C128}};
  const int source = p->c->at[SOURCE];
  merbit_status status;
  entries made;
  p->kind = kinds[p->c->at[KIND]];
  problem_arrays(p);
  p->view = p->host;
  if (!(p->c->at[VALUES] == 1 && p->host.symmetry == MERBIT_SYMMETRY_SKEW)) {
    entries_of_view(&p->host, &p->e);
  }
  if (source == 1 || source == 7) {
    problem_upload(p);
  }
  if (source <= 1) {
    return 1;
  }
  status = problem_convert(p);
  if (status == MERBIT_NOT_SUPPORTED && taken && p->e.repeated &&
      (p->c->at[KIND] == 3 || p->c->at[KIND] == 4)) {
    sweep_refused(p->context, status, "duplicates of short values");
    return 0;
  }
  if (status != MERBIT_OK) {
    if (taken) {
      sweep_done(p->context, status, "the matrix");
    }
    sweep_refused(p->context, status, "the matrix");
    return 0;
  }
  p->view = p->host = merbit_matrix_view(p->matrix);
  problem_adopt(p);
  entries_of_view(&p->host, &made);
  if (source == 6) {
    entries_transpose(&p->e);
  }
  entries_compare(p, &made, &p->e);
  entries_free(&p->e);
  p->e = made;
  return 1;
}

static void problem_free(problem *p) {
  int i;
  for (i = 0; i < 4; i++) {
    free(p->arrays[i]);
  }
  merbit_matrix_destroy(p->matrix);
  entries_free(&p->e);
  free(p->row);
  free(p->col);
}

#endif /* TEST_SWEEP_PROBLEM_H */
