/* Orders of a graph computed from an n x n table, for comparison in test_order.c. Include
 * merbit.h and cmocka.h first. */
#ifndef TEST_MATRIX_ORDER_NAIVE_H
#define TEST_MATRIX_ORDER_NAIVE_H
#include "support/squares.h"

typedef struct naive {
  int64_t n;
  char *edge; /* n x n */
  int32_t *degree, *order;
  int *level; /* -1: not visited */
} naive;

static int naive_edge(const naive *g, int64_t i, int64_t j) {
  return g->edge[i * g->n + j];
}

static void naive_make(const test_matrix *m, naive *g) {
  int64_t i, j, k;
  g->n = m->rows;
  g->edge = (char *)test_allocate(g->n * g->n, 1);
  g->degree = (int32_t *)test_allocate(g->n, 4);
  g->order = (int32_t *)test_allocate(g->n, 4);
  g->level = (int *)test_allocate(g->n, sizeof(int));
  for (i = 0; i < g->n; i++) {
    for (k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
      g->edge[i * g->n + m->col_ind[k]] = g->edge[m->col_ind[k] * g->n + i] = 1;
    }
  }
  for (i = 0; i < g->n; i++) {
    g->edge[i * g->n + i] = 0;
    for (j = 0; j < g->n; j++) {
      g->degree[i] += naive_edge(g, i, j);
    }
  }
}

static void naive_free(naive *g) {
  free(g->edge);
  free(g->degree);
  free(g->order);
  free(g->level);
}

static void naive_degree(naive *g) {
  int64_t done = 0, i;
  int32_t d;
  for (d = (int32_t)g->n; d >= 0; d--) {
    for (i = 0; i < g->n; i++) {
      if (g->degree[i] == d) {
        g->order[done++] = (int32_t)i;
      }
    }
  }
}

/* Computes a Cuthill-McKee order from `root` by repeated selection. Returns the number of the
 * component's vertices. */
static int64_t naive_search(naive *g, int32_t root, int32_t *order) {
  int64_t head, done = 1, j;
  for (j = 0; j < g->n; j++) {
    g->level[j] = -1;
  }
  order[0] = root;
  g->level[root] = 0;
  for (head = 0; head < done; head++) {
    int32_t next;
    do {
      next = -1;
      for (j = 0; j < g->n; j++) {
        if (g->level[j] < 0 && naive_edge(g, order[head], j) &&
            (next < 0 || g->degree[j] < g->degree[next])) {
          next = (int32_t)j;
        }
      }
      if (next >= 0) {
        g->level[next] = g->level[order[head]] + 1;
        order[done++] = next;
      }
    } while (next >= 0);
  }
  return done;
}

/* Returns the first vertex of least degree in the deepest level. */
static int32_t naive_furthest(const naive *g, const int32_t *order, int64_t count) {
  int32_t best = -1;
  int64_t i;
  for (i = 0; i < count; i++) {
    if (g->level[order[i]] == g->level[order[count - 1]] &&
        (best < 0 || g->degree[order[i]] < g->degree[best])) {
      best = order[i];
    }
  }
  return best;
}

/* Computes reverse Cuthill-McKee from pseudo-peripheral vertices. */
static void naive_rcm(naive *g) {
  char *placed = (char *)test_allocate(g->n, 1);
  int64_t done = 0, v, i;
  for (v = 0; v < g->n; v++) {
    int32_t *order = g->order + done;
    int64_t count;
    int depth = -1, searches = 1;
    if (placed[v]) {
      continue;
    }
    count = naive_search(g, (int32_t)v, order);
    while (searches < MBI_ORDER_SEARCHES && g->level[order[count - 1]] > depth) {
      depth = g->level[order[count - 1]];
      (void)naive_search(g, naive_furthest(g, order, count), order);
      searches++;
    }
    for (i = 0; i < count; i++) {
      placed[order[i]] = 1;
    }
    done += count;
  }
  for (v = 0; v < g->n / 2; v++) {
    const int32_t other = g->order[v];
    g->order[v] = g->order[g->n - 1 - v];
    g->order[g->n - 1 - v] = other;
  }
  free(placed);
}

#endif /* TEST_MATRIX_ORDER_NAIVE_H */
