/* Aggregates: disjoint sets that cover the nodes with strong neighbours, around roots that are
 * a maximal independent set of distance 2, for any number of threads. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_bed.h"

/* Returns whether j is a strong neighbour of i, or of one of i's strong neighbours. */
static int within(const mbi_amg_csr *strong, int64_t i, int64_t j) {
  int64_t k, l;
  for (k = strong->row_ptr[i]; k < strong->row_ptr[i + 1]; k++) {
    const int32_t between = strong->col_ind[k];
    if (between == j) {
      return 1;
    }
    for (l = strong->row_ptr[between]; l < strong->row_ptr[between + 1]; l++) {
      if (strong->col_ind[l] == j) {
        return 1;
      }
    }
  }
  return 0;
}

/* Returns whether every strong neighbour of i is in i's aggregate: a root takes all of them. */
static int takes_all(const mbi_amg_csr *strong, const int32_t *aggregate, int64_t i) {
  int64_t k;
  for (k = strong->row_ptr[i]; k < strong->row_ptr[i + 1]; k++) {
    if (aggregate[strong->col_ind[k]] != aggregate[i]) {
      return 0;
    }
  }
  return strong->row_ptr[i + 1] > strong->row_ptr[i];
}

/* Checks that every aggregate has a node that takes all its neighbours, and that every node is
 * within distance 2 of such a node of its aggregate. Roots of two aggregates are farther apart,
 * because otherwise both would own the node between them. A node without strong neighbours is
 * in the aggregate of its strongest neighbour. */
static void check(const mbi_amg_level *level) {
  const mbi_amg_csr *strong = &level->strong;
  const int32_t *aggregate = level->aggregate, count = level->aggregates;
  int64_t i, j;
  char *rooted = (char *)calloc((size_t)count + 1, 1);
  for (i = 0; i < strong->rows; i++) {
    const int isolated = strong->row_ptr[i + 1] == strong->row_ptr[i];
    int held = isolated;
    if (isolated) {
      const int32_t to = level->strongest[i];
      assert_int_equal(aggregate[i], to < 0 ? -1 : aggregate[to]);
    } else {
      assert_in_range(aggregate[i], 0, count - 1);
    }
    for (j = 0; j < strong->rows && !held; j++) {
      held = aggregate[j] == aggregate[i] && takes_all(strong, aggregate, j) &&
             (i == j || within(strong, i, j));
    }
    assert_true(held);
    if (!isolated && takes_all(strong, aggregate, i)) {
      rooted[aggregate[i]] = 1;
    }
  }
  for (i = 0; i < count; i++) {
    assert_true(rooted[i]);
  }
  free(rooted);
}

static void test_cover(void **state) {
  const bed_grid grids[] = {{8, 0, 1, 1, 1, 0, 1},      {20, 1, 1, 0.001, 1, 0, 1},
                            {20, 1, 0, 1, 1e4, 1, 0.6}, {20, 1, 0, 1, 1, 1, 0.3},
                            {3, 1, 0, 1, 1, 1, 0},      {1, 1, 1, 1, 1, 0, 1}};
  merbit_context *context = cpu_open(NULL, 2);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof grids / sizeof grids[0]; i++) {
    mbi_amg_level level;
    bed_level(context, bed_laplacian(context, &grids[i]), 1, 1, 0.25, &level);
    check(&level);
    assert_true(i < 4 ? level.aggregates > 0 && 2 * level.aggregates < level.a.rows
                      : level.aggregates == 0);
    mbi_amg_level_release(context, &level);
  }
  merbit_context_destroy(context);
}

/* On a ring the roots are three to five nodes apart. */
static void test_ring(void **state) {
  enum { NODES = 300 };
  merbit_context *context = cpu_open(NULL, 1);
  bed_entry entries[3 * NODES];
  mbi_amg_level level;
  int i;
  (void)state;
  for (i = 0; i < NODES; i++) {
    const bed_entry three[] = {
        {i, i, 2}, {i, (i + 1) % NODES, -1}, {i, (i + NODES - 1) % NODES, -1}};
    memcpy(entries + 3 * i, three, sizeof three);
  }
  bed_level(context, bed_csr(context, NODES, NODES, entries, 3 * NODES), 1, 1, 0.25, &level);
  check(&level);
  assert_in_range(level.aggregates, NODES / 5, NODES / 3);
  mbi_amg_level_release(context, &level);
  merbit_context_destroy(context);
}

/* A node that is strong for others but has no strong neighbour itself; a nonsymmetric matrix:
 * the rounds end, and a node with strong neighbours gets an aggregate unless none is within
 * reach. */
static void test_unsymmetric(void **state) {
  enum { NODES = 400 };
  merbit_context *context = cpu_open(NULL, 1);
  bed_entry entries[4 * NODES];
  mbi_amg_level level;
  int32_t i;
  (void)state;
  for (i = 0; i < 4 * NODES; i++) {
    entries[i].row = i / 4;
    entries[i].column = i % 4 == 0 ? i / 4 : (int32_t)(mbi_amg_hash((uint64_t)i) % NODES);
    entries[i].value = 1;
    if (i / 4 % 50 == 0) { /* an empty row of the graph */
      entries[i].column = i / 4;
    }
  }
  bed_level(context, bed_csr(context, NODES, NODES, entries, 4 * NODES), 1, 1, 0.25, &level);
  assert_int_equal(level.strong.row_ptr[1], 0);
  assert_true(level.aggregates > 0 && level.aggregates < NODES);
  for (i = 0; i < NODES; i++) {
    assert_in_range(level.aggregate[i] + 1, 0, level.aggregates);
  }
  mbi_amg_level_release(context, &level);
  merbit_context_destroy(context);
}

/* Adds an edge to `entries`, and its weight to the diagonal. */
static int edge(bed_entry *entries, int count, int i, int j, double weight) {
  const bed_entry four[] = {{i, i, weight}, {j, j, weight}, {i, j, -weight}, {j, i, -weight}};
  memcpy(entries + count, four, sizeof four);
  return count + 4;
}

/* Returns the priority of a node in the first round. */
static uint64_t priority(int node) {
  return (mbi_amg_hash(UINT64_C(1) << 32 | (uint64_t)node) >> 34) << 31 | (uint64_t)node;
}

/* A node between two stars whose centres are roots, because they have the largest priorities
 * within distance 2. It joins the aggregate of most of its neighbours, in a tie the lower one,
 * whichever comes first among the neighbours. */
static void test_left_over(void **state) {
  enum { STARS = 600, SIZE = 7, NODES = STARS * SIZE };
  merbit_context *context = cpu_open(NULL, 2);
  bed_entry *entries = (bed_entry *)malloc(28 * STARS * sizeof *entries);
  int *number = (int *)malloc(NODES * sizeof *number);
  int count = 0, most = 0, ties[2] = {0, 0}, i, s;
  mbi_amg_level level;
  (void)state;
  for (i = 0; i < NODES; i++) { /* a shuffle: node i gets a number */
    const int j = (int)(mbi_amg_hash((uint64_t)i + 5) % ((uint64_t)i + 1));
    number[i] = number[j];
    number[j] = i;
  }
  for (s = 0; s < STARS;
       s++) { /* centres 0 and 3, their neighbours 1, 2 and 4, 5; 6 is between */
    const int *n = number + s * SIZE;
    count = edge(entries, count, n[0], n[1], 1);
    count = edge(entries, count, n[0], n[2], 1);
    count = edge(entries, count, n[3], n[4], 1);
    count = edge(entries, count, n[3], n[5], 1);
    count = edge(entries, count, n[6], n[1], 1);
    count = edge(entries, count, n[6], n[4], 1);
    count = s % 2 == 0 ? edge(entries, count, n[6], n[5], 1) : count;
  }
  bed_level(context, bed_csr(context, NODES, NODES, entries, count), 1, 1, 0.5, &level);
  for (s = 0; s < STARS; s++) {
    const int *n = number + s * SIZE;
    const int32_t first = level.aggregate[n[0]], second = level.aggregate[n[3]];
    int roots = 1;
    for (i = 0; i < SIZE; i++) {
      roots = roots && (i == 0 || i == 3 || priority(n[i]) < priority(n[i < 3 ? 0 : 3]));
    }
    if (!roots || priority(n[6]) > priority(n[0])) {
      continue;
    }
    assert_true(first != second);
    if (s % 2 == 0) {
      assert_int_equal(level.aggregate[n[6]], second);
      most++;
    } else {
      assert_int_equal(level.aggregate[n[6]], first < second ? first : second);
      ties[(n[1] < n[4]) == (first < second)]++;
    }
  }
  assert_true(most > 5 && ties[0] > 5 && ties[1] > 5);
  mbi_amg_level_release(context, &level);
  free(number);
  free(entries);
  merbit_context_destroy(context);
}

/* Coefficients that fall by a factor of 100 from node to node: only the first two nodes have a
 * strong neighbour, and all are in their aggregate. The last node has no neighbour. */
static void test_falling(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  bed_entry entries[21];
  mbi_amg_level level;
  int i, count = 0;
  (void)state;
  for (i = 0; i < 5; i++) {
    count = edge(entries, count, i, i + 1, pow(100, 5 - i));
  }
  entries[count].row = entries[count].column = 6;
  entries[count++].value = 1;
  bed_level(context, bed_csr(context, 7, 7, entries, count), 1, 1, 0.5, &level);
  assert_int_equal(level.strong.nnz, 2);
  assert_int_equal(level.aggregates, 1);
  for (i = 0; i < 7; i++) {
    assert_int_equal(level.aggregate[i], i < 6 ? 0 : -1);
  }
  mbi_amg_level_release(context, &level);
  merbit_context_destroy(context);
}

/* A hub with 3,000 neighbours: one aggregate. */
static void test_hub(void **state) {
  enum { NODES = 3000 };
  merbit_context *context = cpu_open(NULL, 1);
  bed_entry *entries = (bed_entry *)malloc(3 * NODES * sizeof *entries);
  mbi_amg_level level;
  int32_t i;
  (void)state;
  for (i = 0; i < NODES; i++) {
    const bed_entry three[] = {{i, i, NODES}, {i, 0, -1}, {0, i, -1}};
    memcpy(entries + 3 * i, three, sizeof three);
  }
  bed_level(context, bed_csr(context, NODES, NODES, entries, 3 * NODES), 1, 1, 0.25, &level);
  assert_int_equal(level.aggregates, 1);
  for (i = 0; i < NODES; i++) {
    assert_int_equal(level.aggregate[i], 0);
  }
  mbi_amg_level_release(context, &level);
  free(entries);
  merbit_context_destroy(context);
}

static void test_threads(void **state) {
  merbit_context *one = cpu_open(NULL, 1), *four = cpu_open(NULL, 4);
  const bed_grid g = {30, 0, 0, 0.5, 100, 1, 0.9};
  mbi_amg_level first, second;
  (void)state;
  bed_level(one, bed_laplacian(one, &g), 1, 1, 0.25, &first);
  bed_level(four, bed_laplacian(four, &g), 1, 1, 0.25, &second);
  assert_int_equal(first.aggregates, second.aggregates);
  assert_memory_equal(first.aggregate, second.aggregate,
                      (size_t)first.a.rows * sizeof *first.aggregate);
  mbi_amg_level_release(one, &first);
  mbi_amg_level_release(four, &second);
  merbit_context_destroy(one);
  merbit_context_destroy(four);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cover),       cmocka_unit_test(test_ring),
      cmocka_unit_test(test_unsymmetric), cmocka_unit_test(test_left_over),
      cmocka_unit_test(test_falling),     cmocka_unit_test(test_hub),
      cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
