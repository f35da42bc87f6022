/* Orders of a graph as a table of n x n says them: what test_order.c compares with. Include
 * merbit.h and cmocka.h first. */
#ifndef TEST_MATRIX_ORDER_NAIVE_H
#define TEST_MATRIX_ORDER_NAIVE_H
#include "support/squares.h"

typedef struct naive {
  int64_t n;
  char *edge; /* n x n */
  int32_t *degree, *order;
  int *level; /* -1: not met */
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

/* Levels from `root`; the first vertex of least degree in the deepest, in the order in which a
 * search meets them. */
static int naive_levels(naive *g, int32_t root, int32_t *best) {
  int32_t *queue = (int32_t *)test_allocate(g->n, 4);
  int64_t head, tail = 1, j, i;
  int depth;
  for (i = 0; i < g->n; i++) {
    g->level[i] = -1;
  }
  queue[0] = root;
  g->level[root] = 0;
  for (head = 0; head < tail; head++) {
    for (j = 0; j < g->n; j++) {
      if (naive_edge(g, queue[head], j) && g->level[j] < 0) {
        g->level[j] = g->level[queue[head]] + 1;
        queue[tail++] = (int32_t)j;
      }
    }
  }
  depth = g->level[queue[tail - 1]];
  *best = -1;
  for (i = 0; i < tail; i++) {
    if (g->level[queue[i]] == depth && (*best < 0 || g->degree[queue[i]] < g->degree[*best])) {
      *best = queue[i];
    }
  }
  free(queue);
  return depth;
}

static int32_t naive_end(naive *g, int32_t root) {
  int32_t next;
  int depth = naive_levels(g, root, &next), searches;
  for (searches = 1; searches < MBI_ORDER_SEARCHES; searches++) {
    const int32_t tried = next;
    const int deeper = naive_levels(g, tried, &next);
    if (deeper <= depth) {
      return tried;
    }
    depth = deeper;
  }
  return next;
}

/* Reverse Cuthill-McKee: by selection, one neighbour after the other. */
static void naive_rcm(naive *g) {
  char *placed = (char *)test_allocate(g->n, 1);
  int64_t done = 0, head = 0, v, j;
  for (v = 0; v < g->n; v++) {
    if (placed[v]) {
      continue;
    }
    g->order[done] = naive_end(g, (int32_t)v);
    placed[g->order[done++]] = 1;
    for (; head < done; head++) {
      int32_t next;
      do {
        next = -1;
        for (j = 0; j < g->n; j++) {
          if (!placed[j] && naive_edge(g, g->order[head], j) &&
              (next < 0 || g->degree[j] < g->degree[next])) {
            next = (int32_t)j;
          }
        }
        if (next >= 0) {
          placed[next] = 1;
          g->order[done++] = next;
        }
      } while (next >= 0);
    }
  }
  for (v = 0; v < g->n / 2; v++) {
    const int32_t other = g->order[v];
    g->order[v] = g->order[g->n - 1 - v];
    g->order[g->n - 1 - v] = other;
  }
  free(placed);
}

#endif /* TEST_MATRIX_ORDER_NAIVE_H */
