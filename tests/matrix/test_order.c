/* Orders of a graph, against orders made by hand and naive ones from an n x n table; and
 * matrices permuted by them. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "matrix/order_naive.h"
#include "support/cpu.h"
#include "support/effort.h"
#include "support/products.h"

static const merbit_reordering both[] = {MERBIT_REORDERING_DEGREE, MERBIT_REORDERING_RCM};

/* Makes arrays by bits: 64-bit offsets, base 1, a pattern. */
static void arrays_of(const test_matrix *m, int bits, products_arrays *a) {
  products_form form;
  memset(&form, 0, sizeof form);
  form.type = bits & 1 ? MERBIT_F32 : MERBIT_F64;
  form.offset_type = bits & 1 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  form.base = bits >> 1 & 1;
  form.pattern = bits >> 2 & 1;
  products_arrays_make(NULL, m, &form, a);
}

static int32_t *order_of(merbit_context *context, const merbit_view *view,
                         merbit_reordering reordering) {
  int32_t *order;
  assert_int_equal(mbi_order_create(context, view, reordering, &order), MERBIT_OK);
  return order;
}

/* Makes a graph of n vertices from the edges in `text`, such as "0-1 1-2". */
static void graph_of(int64_t n, const char *text, test_matrix *m) {
  int32_t first[64], second[64];
  int64_t count = 0;
  int a, b, length;
  while (sscanf(text, "%d-%d%n", &a, &b, &length) == 2) {
    first[count] = a;
    second[count++] = b;
    text += length;
  }
  square_of_edges(n, count, first, second, 0, m);
}

/* Computed by hand. */
static void small_graphs(void **state) {
  static const struct {
    int64_t n;
    const char *edges;
    int32_t degree[8], rcm[8];
    int64_t bandwidth; /* after RCM */
  } graphs[] = {
      {1, "", {0}, {0}, 0},
      {3, "", {0, 1, 2}, {2, 1, 0}, 0},
      {2, "0-1", {0, 1}, {0, 1}, 1},
      /* a path: the end farthest from 0 is 3, the one farthest from 3 is 2, where it begins */
      {5, "3-1 1-4 4-0 0-2", {0, 1, 4, 2, 3}, {3, 1, 4, 0, 2}, 1},
      /* a star around 2: a search from 0 finds 1 */
      {5, "2-0 2-1 2-3 2-4", {2, 0, 1, 3, 4}, {4, 3, 0, 2, 1}, 3},
      /* two components and an isolated vertex between them */
      {6, "0-4 4-2 1-5", {4, 0, 1, 2, 5, 3}, {3, 1, 5, 0, 4, 2}, 1},
      /* a triangle with a tail: from 0 to 4, which is farther from 1; of 1's neighbours 2 has
       * the lower degree */
      {5, "0-1 1-2 2-0 0-3 3-4", {0, 1, 2, 3, 4}, {4, 3, 0, 2, 1}, 2},
  };
  merbit_context *context = cpu_open(NULL, 1);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof graphs / sizeof graphs[0]; i++) {
    int bits;
    for (bits = 0; bits < 4; bits++) {
      test_matrix m;
      products_arrays a;
      merbit_matrix *moved;
      int32_t *degree, *rcm;
      void *places;
      graph_of(graphs[i].n, graphs[i].edges, &m);
      arrays_of(&m, bits, &a);
      degree = order_of(context, &a.view, MERBIT_REORDERING_DEGREE);
      rcm = order_of(context, &a.view, MERBIT_REORDERING_RCM);
      assert_memory_equal(degree, graphs[i].degree, (size_t)graphs[i].n * 4);
      assert_memory_equal(rcm, graphs[i].rcm, (size_t)graphs[i].n * 4);
      assert_int_equal(mbi_matrix_permute(context, &a.view, rcm, &moved, &places), MERBIT_OK);
      assert_int_equal(mbi_bandwidth(context, &moved->view), graphs[i].bandwidth);
      merbit_matrix_destroy(moved);
      mbi_release(context, places);
      mbi_release(context, degree);
      mbi_release(context, rcm);
      products_arrays_free(&a);
      test_matrix_free(&m);
    }
  }
  merbit_context_destroy(context);
}

/* Expects that entry (i, j) of the permuted matrix is (order[i], order[j]) of the original:
 * columns ascend, and entries of the same column keep their order. */
static void expect_moved(merbit_context *context, const test_matrix *m, const merbit_view *from,
                         const int32_t *order) {
  merbit_matrix *moved;
  void *places;
  const int32_t *row_ptr, *col_ind;
  int64_t i, k, widest = 0, before = 0;
  assert_int_equal(mbi_matrix_permute(context, from, order, &moved, &places), MERBIT_OK);
  assert_true(moved->view.rows == m->rows && moved->view.cols == m->rows);
  assert_true(moved->view.nnz == m->nnz && moved->view.offset_type == MERBIT_INDEX_32);
  assert_int_equal(places == NULL, from->values == NULL);
  row_ptr = (const int32_t *)moved->view.row_ptr;
  col_ind = (const int32_t *)moved->view.col_ind;
  assert_int_equal(row_ptr[0], 0);
  for (i = 0; i < m->rows; i++) {
    const int64_t start = m->row_ptr[order[i]], end = m->row_ptr[order[i] + 1];
    assert_true(row_ptr[i + 1] - row_ptr[i] == end - start);
    for (k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
      const int64_t off = col_ind[k] > i ? col_ind[k] - i : i - col_ind[k];
      const int64_t place = places != NULL ? ((const int32_t *)places)[k] : -1;
      widest = off > widest ? off : widest;
      assert_true(k == row_ptr[i] || col_ind[k] >= col_ind[k - 1]);
      if (places != NULL) {
        assert_true(place >= start && place < end);
        assert_true(m->col_ind[place] == order[col_ind[k]]);
        assert_true(k == row_ptr[i] || col_ind[k] > col_ind[k - 1] ||
                    place > ((const int32_t *)places)[k - 1]);
        assert_true(from->value_type == MERBIT_F32
                        ? ((const float *)moved->view.values)[k] == (float)m->values[place]
                        : ((const double *)moved->view.values)[k] == m->values[place]);
      }
    }
    for (k = start; k < end; k++) {
      const int64_t off = m->col_ind[k] - (int64_t)order[i];
      before = off > before ? off : -off > before ? -off : before;
    }
  }
  assert_int_equal(mbi_bandwidth(context, &moved->view), widest);
  assert_int_equal(mbi_bandwidth(context, from), before);
  merbit_matrix_destroy(moved);
  mbi_release(context, places);
}

/* Each generated matrix, nonsymmetric, unsorted, with duplicates. */
static void generated_matrices(void **state) {
  const int64_t most = test_effort(700, 3000);
  const uint64_t seed = test_rotating_seed();
  merbit_context *context = cpu_open(NULL, 3);
  int index, checked = 0;
  size_t r;
  (void)state;
  for (index = 0; index < test_matrix_count(); index++) {
    test_matrix m;
    products_arrays a;
    naive g;
    square_make(index, seed, &m);
    if (m.rows <= most) {
      arrays_of(&m, index % 8, &a);
      naive_make(&m, &g);
      for (r = 0; r < 2; r++) {
        int32_t *order = order_of(context, &a.view, both[r]);
        if (both[r] == MERBIT_REORDERING_RCM) {
          naive_rcm(&g);
        } else {
          naive_degree(&g);
        }
        if (memcmp(order, g.order, (size_t)m.rows * 4) != 0) {
          fail_msg("%s: another order than the naive one's", m.name);
        }
        expect_moved(context, &m, &a.view, order);
        mbi_release(context, order);
      }
      naive_free(&g);
      products_arrays_free(&a);
      checked++;
    }
    test_matrix_free(&m);
  }
  assert_true(checked > 60);
  print_message("%d matrices\n", checked);
  merbit_context_destroy(context);
}

/* The order of a large graph does not depend on the threads, nor on the form of the matrix: A
 * unsorted and with one of the two mirror entries, or A + A' sorted. */
static void large_graphs(void **state) {
  static const int threads[] = {1, 2, 5};
  uint64_t random = test_rotating_seed();
  const int64_t n = 9000, nnz = 200000;
  test_matrix m, whole;
  products_arrays a;
  merbit_context *context[3];
  merbit_matrix *sorted;
  int64_t k;
  size_t r, t;
  int32_t *first = (int32_t *)test_allocate(nnz, 4), *second = (int32_t *)test_allocate(nnz, 4);
  (void)state;
  for (k = 0; k < nnz; k++) {
    first[k] = (int32_t)(k % 9 == 0 ? 17 : test_below(&random, n - 20));
    second[k] = (int32_t)(k % 3 == 0 ? test_below(&random, n - 20)
                                     : (first[k] + test_below(&random, 40)) % (n - 20));
  }
  square_of_edges(n, nnz, first, second, 0, &whole);
  m = whole; /* and one way only: rows as in `whole`, but for the entries below the diagonal */
  m.row_ptr = (int64_t *)test_allocate(n + 1, 8);
  m.col_ind = (int32_t *)test_allocate(whole.nnz, 4);
  m.nnz = 0;
  for (r = 0; r < (size_t)n; r++) {
    for (k = whole.row_ptr[r]; k < whole.row_ptr[r + 1]; k++) {
      if (whole.col_ind[k] >= (int32_t)r || (k & 7) == 0) {
        m.col_ind[m.nnz++] = whole.col_ind[k];
      }
    }
    m.row_ptr[r + 1] = m.nnz;
  }
  for (t = 0; t < 3; t++) {
    context[t] = cpu_open(NULL, threads[t]);
  }
  arrays_of(&whole, 4, &a);
  assert_int_equal(merbit_matrix_create(context[0], &a.view, &sorted), MERBIT_OK);
  products_arrays_free(&a);
  arrays_of(&m, 2, &a);
  for (r = 0; r < 2; r++) {
    int32_t *right = order_of(context[0], &sorted->view, both[r]);
    for (t = 0; t < 3; t++) {
      int32_t *order = order_of(context[t], &a.view, both[r]);
      assert_memory_equal(order, right, (size_t)n * 4);
      expect_moved(context[t], &m, &a.view, order);
      mbi_release(context[t], order);
      order = order_of(context[t], &sorted->view, both[r]);
      assert_memory_equal(order, right, (size_t)n * 4);
      mbi_release(context[t], order);
    }
    mbi_release(context[0], right);
  }
  products_arrays_free(&a);
  merbit_matrix_destroy(sorted);
  for (t = 0; t < 3; t++) {
    merbit_context_destroy(context[t]);
  }
  free(m.row_ptr);
  free(m.col_ind);
  test_matrix_free(&whole);
  free(first);
  free(second);
}

/* A graph that needs no changes is not copied: symmetric pattern, strictly ascending rows. */
static void own_graphs(void **state) {
  static const struct {
    int32_t row_ptr[4], col_ind[6];
    int own;
  } list[] = {{{0, 1, 2, 2}, {1, 0}, 1},       {{0, 2, 3, 4}, {0, 1, 0, 2}, 1},
              {{0, 1, 2, 2}, {1, 2}, 0},       {{0, 1, 1, 1}, {2}, 0},
              {{0, 0, 0, 1}, {0}, 0},          {{0, 2, 3, 4}, {2, 1, 0, 0}, 0},
              {{0, 2, 4, 4}, {1, 1, 0, 0}, 0}, {{0, 2, 4, 5}, {1, 2, 0, 2, 0}, 0},
              {{0, 0, 0, 0}, {0}, 1},          {{0, 2, 4, 6}, {1, 2, 0, 2, 0, 1}, 1}};
  merbit_context *context = cpu_open(NULL, 1);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    const merbit_view view =
        merbit_csr(3, 3, list[i].row_ptr[3], list[i].row_ptr, list[i].col_ind, NULL);
    mbi_graph graph;
    assert_int_equal(mbi_graph_create(context, &view, &graph), MERBIT_OK);
    assert_int_equal(graph.starts == NULL, list[i].own);
    mbi_graph_release(context, &graph);
  }
  merbit_context_destroy(context);
}

/* Shuffled grids get a bandwidth of about their short side, and paths 1. */
static void meshes(void **state) {
  static const struct {
    int64_t width, height, most;
    int joined;
  } list[] = {{1, 1000, 1, 4}, {2, 200, 3, 4},  {10, 10, 11, 4}, {10, 60, 11, 4},
              {30, 40, 31, 4}, {10, 10, 21, 8}, {20, 50, 41, 8}, {100, 100, 101, 4}};
  merbit_context *context = cpu_open(NULL, 2);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    int seed;
    for (seed = 1; seed <= 4; seed++) {
      test_matrix m;
      products_arrays a;
      merbit_matrix *moved;
      void *places;
      int32_t *order;
      int64_t bandwidth;
      square_grid(list[i].width, list[i].height, list[i].joined, (uint64_t)seed, &m);
      arrays_of(&m, 0, &a);
      order = order_of(context, &a.view, MERBIT_REORDERING_RCM);
      assert_int_equal(mbi_matrix_permute(context, &a.view, order, &moved, &places), MERBIT_OK);
      bandwidth = mbi_bandwidth(context, &moved->view);
      if (bandwidth > list[i].most || bandwidth > mbi_bandwidth(context, &a.view)) {
        fail_msg("%d x %d: bandwidth %d", (int)list[i].width, (int)list[i].height,
                 (int)bandwidth);
      }
      merbit_matrix_destroy(moved);
      mbi_release(context, places);
      mbi_release(context, order);
      products_arrays_free(&a);
      test_matrix_free(&m);
    }
  }
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_graphs), cmocka_unit_test(generated_matrices),
      cmocka_unit_test(large_graphs), cmocka_unit_test(own_graphs),
      cmocka_unit_test(meshes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
