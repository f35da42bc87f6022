/* Random graphs of many families, on which PageRank's iterations behave differently: their
 * second eigenvalues are real or complex, large or small, or do not exist. Include after
 * solve/pagerank/pagerank_reference.h. */
#ifndef TEST_SOLVE_PAGERANK_GRAPHS_H
#define TEST_SOLVE_PAGERANK_GRAPHS_H

enum { GRAPH_FAMILIES = 24 };

typedef struct graph_maker { /* edges so far, and the state of the random numbers */
  uint64_t random;
  int64_t n, count, room;
  int64_t *from, *to;
} graph_maker;

/* Returns a number in [0, below). */
TEST_UNUSED static int64_t graph_random(graph_maker *g, int64_t below) {
  g->random = g->random * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((g->random >> 33) % (uint64_t)below);
}

TEST_UNUSED static void graph_edge(graph_maker *g, int64_t from, int64_t to) {
  if (g->count == g->room) {
    g->room = 2 * g->room + 64;
    g->from = (int64_t *)realloc(g->from, (size_t)g->room * sizeof *g->from);
    g->to = (int64_t *)realloc(g->to, (size_t)g->room * sizeof *g->to);
    assert_true(g->from != NULL && g->to != NULL);
  }
  g->from[g->count] = from;
  g->to[g->count++] = to;
}

TEST_UNUSED static void graph_pair(graph_maker *g, int64_t one, int64_t other) {
  graph_edge(g, one, other);
  graph_edge(g, other, one);
}

/* Returns a vertex; the larger `skew`, the more frequent are low numbers (0: uniform). */
TEST_UNUSED static int64_t graph_vertex(graph_maker *g, int skew) {
  int64_t vertex = graph_random(g, g->n);
  for (; skew > 0; skew--) {
    vertex = graph_random(g, vertex + 1);
  }
  return vertex;
}

/* Links every vertex to `degree` others, of which `both` in 8 link back. */
TEST_UNUSED static void graph_scatter(graph_maker *g, int degree, int skew, int both) {
  int64_t i;
  int k;
  for (i = 0; i < g->n; i++) {
    for (k = 0; k < degree; k++) {
      const int64_t other = graph_vertex(g, skew);
      graph_edge(g, i, other);
      if (graph_random(g, 8) < both) {
        graph_edge(g, other, i);
      }
    }
  }
}

/* Makes `layers` of vertices. Each vertex links to `degree` of the next layer, and `back` in 64
 * of the last layer's vertices to the first. */
TEST_UNUSED static void graph_layers(graph_maker *g, int layers, int degree, int back) {
  const int64_t size = g->n / layers;
  int64_t i;
  int k;
  for (i = 0; i < size * layers; i++) {
    const int64_t next = i / size + 1;
    for (k = 0; k < degree; k++) {
      if (next < layers) {
        graph_edge(g, i, next * size + graph_random(g, size));
      } else if (graph_random(g, 64) < back) {
        graph_edge(g, i, graph_random(g, size));
      }
    }
  }
}

/* Makes directed circles of `length` vertices, and `chords` additional links in all. */
TEST_UNUSED static void graph_circles(graph_maker *g, int64_t length, int64_t chords) {
  int64_t i;
  for (i = 0; i < g->n; i++) {
    const int64_t first = i / length * length;
    const int64_t size = first + length <= g->n ? length : g->n - first;
    graph_edge(g, i, first + (i - first + 1) % size);
  }
  for (i = 0; i < chords; i++) {
    const int64_t from = graph_random(g, g->n);
    graph_edge(g, from, graph_random(g, g->n));
  }
}

/* Makes a grid of `width` columns. `ways` 1: links to the right and down, closed to a torus; 2:
 * both directions, not closed. */
TEST_UNUSED static void graph_grid(graph_maker *g, int64_t width, int ways) {
  const int64_t height = g->n / width;
  int64_t i;
  for (i = 0; i < width * height; i++) {
    const int64_t right = i % width + 1 < width ? i + 1 : i + 1 - width;
    const int64_t down = i + width < width * height ? i + width : i % width;
    if (ways == 1) {
      graph_edge(g, i, right);
      graph_edge(g, i, down);
    } else {
      if (right > i) {
        graph_pair(g, i, right);
      }
      if (down > i) {
        graph_pair(g, i, down);
      }
    }
  }
}

/* Makes a tree in which the parent of vertex i is one of the `spread` vertices before it. */
TEST_UNUSED static void graph_tree(graph_maker *g, int64_t spread, int up, int down) {
  int64_t i;
  for (i = 1; i < g->n; i++) {
    const int64_t parent = i - 1 - graph_random(g, i < spread ? i : spread);
    if (up) {
      graph_edge(g, i, parent);
    }
    if (down) {
      graph_edge(g, parent, i);
    }
  }
}

/* Makes forward links only, over at most `reach` vertices. */
TEST_UNUSED static void graph_forward(graph_maker *g, int degree, int64_t reach) {
  int64_t i;
  int k;
  for (i = 0; i + 1 < g->n; i++) {
    const int64_t left = g->n - 1 - i;
    for (k = 0; k < degree; k++) {
      graph_edge(g, i, i + 1 + graph_random(g, left < reach ? left : reach));
    }
  }
}

/* Makes groups of `size` vertices with links inside and few between: slow convergence. */
TEST_UNUSED static void graph_groups(graph_maker *g, int64_t size, int both) {
  int64_t i;
  int k;
  for (i = 0; i < g->n; i++) {
    const int64_t first = i / size * size;
    const int64_t here = first + size <= g->n ? size : g->n - first;
    for (k = 0; k < 3; k++) {
      const int64_t other = first + graph_random(g, here);
      graph_edge(g, i, other);
      if (both) {
        graph_edge(g, other, i);
      }
    }
    if (graph_random(g, 16) == 0) {
      const int64_t other = graph_random(g, g->n);
      graph_edge(g, i, other);
      if (both) {
        graph_edge(g, other, i);
      }
    }
  }
}

/* Returns one graph of a family in [0, GRAPH_FAMILIES), given by the seed; free with
 * edges_free. */
TEST_UNUSED static edges graph_of_family(int family, uint64_t seed) {
  graph_maker maker, *g = &maker;
  int few, most;
  memset(g, 0, sizeof *g);
  g->random = seed * 0x9e3779b97f4a7c15u + (uint64_t)family;
  (void)graph_random(g, 2);
  few = 1 + (int)graph_random(g, 4);
  most = 3 + (int)graph_random(g, 10);
  g->n = 20 + graph_random(g, graph_random(g, 4) == 0 ? 1500 : 300);
  switch (family) {
  case 0: graph_scatter(g, most, 0, 0); break;
  case 1: graph_scatter(g, few, 0, 0); break;
  case 2: graph_scatter(g, most, few, 0); break;
  case 3: graph_scatter(g, few, few, 0); break;
  case 4: graph_scatter(g, few, 0, 8); break;
  case 5: graph_scatter(g, most, 2, 8); break;
  case 6: graph_scatter(g, few, 2, (int)graph_random(g, 8)); break;
  case 7: graph_scatter(g, most, 0, (int)graph_random(g, 8)); break;
  case 8: graph_layers(g, 2 + few, most, 0); break;
  case 9: graph_layers(g, 2 + most, few, 1 + 16 * few); break;
  case 10: graph_layers(g, 1 + few, few, 64); break;
  case 11: graph_circles(g, g->n, few * g->n / 10 + few); break;
  case 12: graph_circles(g, 3 + most, few); break;
  case 13: graph_circles(g, 2 + few, g->n / (most * most)); break;
  case 14: graph_grid(g, 2 + most, 1); break;
  case 15: graph_grid(g, 1 + most, 2); break;
  case 16: graph_tree(g, 1 << most, 1, few > 2); break;
  case 17: graph_tree(g, few, few > 2, 1); break;
  case 18: graph_forward(g, few, g->n); break;
  case 19: graph_forward(g, most, 2 * most); break;
  case 20: graph_groups(g, 4 * most, 1); break;
  case 21: graph_groups(g, 4 * most, 0); break;
  case 22: graph_grid(g, 1 + most, 2), graph_forward(g, few, g->n); break;
  default: graph_tree(g, few, 1, 1), graph_scatter(g, 1, most, 0); break;
  }
  return edges_of(g->n, g->count, g->from, g->to, NULL);
}

#endif /* TEST_SOLVE_PAGERANK_GRAPHS_H */
