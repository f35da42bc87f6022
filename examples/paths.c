/* Shortest paths and breadth-first search as products: paths [graph.mtx [source]]
 *
 * graph.mtx is a Matrix Market file in which entry (i, j) is an edge from i to j, with its
 * length as value (1 if the file has no values); source is a vertex, counted from 1. Lengths
 * may be negative, but a cycle that can be reached must not have a negative sum. Without
 * arguments the graph is a set of roads between towns. Runs on the GPU if there is one, else on
 * the CPU's threads.
 *
 * Over min-plus, y = A' x (+) y extends every known path by one edge: x and y hold the
 * distances before. Over or-and the same product finds the vertices that one more edge
 * reaches. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOWNS = 11, ROADS = 15, SHOWN = 12, ENDLESS = -2 };

static const char *const towns[TOWNS] = {"Amsterdam", "Berlin", "Brussels", "Cologne",
                                         "Frankfurt", "Geneva", "Hamburg",  "Lyon",
                                         "Munich",    "Paris",  "Zurich"};
/* each road goes both ways; kilometres */
static const struct {
  int from, to, length;
} roads[ROADS] = {
    {0, 2, 210},  {2, 9, 315}, {9, 7, 465},  {7, 5, 150}, {5, 10, 280},
    {10, 8, 315}, {8, 1, 585}, {1, 6, 290},  {6, 0, 465}, {2, 3, 210},
    {3, 4, 190},  {4, 8, 395}, {4, 10, 405}, {3, 0, 265}, {1, 4, 550},
};

typedef struct job { /* resources that are released at the end */
  merbit_context *context;
  merbit_matrix *matrix;
  merbit_plan *plan;
  merbit_buffer *vectors[2];
  double *distances, *levels, *now, *before;
} job;

/* Prints the library's error message. */
static int fail(job *j, const char *what) {
  char message[MERBIT_MESSAGE_SIZE];
  (void)merbit_last_error(j->context, message, sizeof message);
  (void)fprintf(stderr, "paths: %s: %s\n", what, message);
  return 1;
}

static merbit_status read_towns(job *j) {
  int32_t from[2 * ROADS], to[2 * ROADS];
  double lengths[2 * ROADS];
  merbit_view view;
  int i;
  for (i = 0; i < ROADS; i++) {
    from[2 * i] = to[2 * i + 1] = roads[i].from;
    to[2 * i] = from[2 * i + 1] = roads[i].to;
    lengths[2 * i] = lengths[2 * i + 1] = roads[i].length;
  }
  view = merbit_coo(TOWNS, TOWNS, 2 * ROADS, from, to, lengths);
  return merbit_matrix_create(j->context, &view, &j->matrix);
}

/* Repeats the product until nothing changes. Sets result[i] to the final value of vertex i and,
 * if rounds is not NULL, rounds[i] to the first round in which it was not `none`. Two vectors
 * take turns as x and y; y then holds values two rounds old, which is harmless because values
 * only improve. Returns the number of products; -1 if the library fails; ENDLESS if values
 * still change after as many products as there are vertices. */
static int64_t iterate(job *j, const merbit_view *graph, merbit_semiring semiring,
                       int64_t source, double none, double start, double *result,
                       double *rounds) {
  const size_t bytes = (size_t)graph->rows * sizeof(double);
  merbit_plan_desc desc;
  char text[512];
  const double one = semiring == MERBIT_SEMIRING_MIN_PLUS ? 0 : 1; /* neutral: leaves y
                                                                    * unchanged */
  int64_t round, i, changed = 1;
  memset(&desc, 0, sizeof desc);
  desc.semiring = semiring;
  desc.operation = MERBIT_OPERATION_T;
  if (merbit_plan_create(j->context, graph, &desc, &j->plan) != MERBIT_OK) {
    return -1;
  }
  (void)merbit_plan_describe(j->plan, text, sizeof text);
  printf("%s\n", text);
  for (i = 0; i < graph->rows; i++) {
    j->before[i] = i == source ? start : none;
    if (rounds != NULL) {
      rounds[i] = i == source ? 0 : -1;
    }
  }
  for (i = 0; i < 2; i++) {
    if (merbit_buffer_upload(j->vectors[i], 0, j->before, bytes) != MERBIT_OK) {
      return -1;
    }
  }
  for (round = 1; changed > 0 && round <= graph->rows + 1; round++) {
    merbit_buffer *const x = j->vectors[(round + 1) % 2], *const y = j->vectors[round % 2];
    if (merbit_spmv(j->plan, NULL, NULL, merbit_buffer_pointer(x), &one,
                    merbit_buffer_pointer(y), NULL) != MERBIT_OK ||
        merbit_buffer_download(y, 0, j->now, bytes) != MERBIT_OK) {
      return -1;
    }
    for (i = 0, changed = 0; i < graph->rows; i++) {
      changed += j->now[i] != j->before[i];
      if (rounds != NULL && rounds[i] < 0 && j->now[i] != none) {
        rounds[i] = (double)round;
      }
    }
    memcpy(j->before, j->now, bytes);
  }
  memcpy(result, j->now, bytes);
  merbit_plan_destroy(j->plan);
  j->plan = NULL;
  return changed > 0 ? ENDLESS : round - 1;
}

/* Returns the first edge whose length is not finite, or -1. */
static int64_t bad_length(const merbit_view *graph) {
  const double *lengths = (const double *)graph->values;
  int64_t k;
  for (k = 0; lengths != NULL && graph->value_type <= MERBIT_F64 && k < graph->nnz; k++) {
    if (!isfinite(lengths[k])) {
      return k;
    }
  }
  return -1;
}

static void report(const job *j, const merbit_view *graph, int64_t source, int named) {
  int64_t reached = 0, shown = 0, i;
  double deepest = 0, farthest = 0;
  for (i = 0; i < graph->rows; i++) {
    reached += j->levels[i] >= 0;
    deepest = fmax(deepest, j->levels[i]);
    farthest = j->levels[i] >= 0 ? fmax(farthest, j->distances[i]) : farthest;
  }
  printf("from vertex %lld: %lld of %lld reached, at most %g edges and a distance of %g away\n",
         (long long)source + 1, (long long)reached, (long long)graph->rows, deepest, farthest);
  for (i = 0; i < graph->rows && shown < SHOWN; i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "vertex %lld", (long long)i + 1);
    if (j->levels[i] >= 0) {
      printf("%8g  by %3g edges  %s\n", j->distances[i], j->levels[i], named ? towns[i] : name);
      shown++;
    }
  }
}

/* Runs both searches from the vertex `source`, counted from 1. */
static int run(job *j, const char *path, int64_t source) {
  merbit_view graph, links;
  merbit_status status = merbit_context_create(NULL, &j->context, NULL);
  int64_t steps, hops, bad;
  size_t bytes;
  int i;
  if (status == MERBIT_OK) {
    status = path == NULL ? read_towns(j)
                          : merbit_matrix_read_file(j->context, path, NULL, &j->matrix);
  }
  if (status != MERBIT_OK) {
    return fail(j, path != NULL ? "reading the graph" : "the towns");
  }
  graph = links = merbit_matrix_view(j->matrix);
  links.values = NULL; /* an entry is an edge whatever its length */
  if (graph.rows != graph.cols || source < 1 || source > graph.rows) {
    (void)fprintf(stderr,
                  "paths: a graph has as many rows as columns, and source is one of them\n");
    return 1;
  }
  source--;
  bad = bad_length(&graph);
  if (bad >= 0) {
    (void)fprintf(stderr,
                  "paths: the length of the edge to vertex %lld is %g; lengths are finite\n",
                  (long long)((const int32_t *)graph.col_ind)[bad] + 1,
                  ((const double *)graph.values)[bad]);
    return 1;
  }
  bytes = (size_t)graph.rows * sizeof(double);
  j->distances = (double *)malloc(4 * bytes);
  for (i = 0; i < 2; i++) {
    if (j->distances == NULL ||
        merbit_buffer_create(j->context, bytes, &j->vectors[i]) != MERBIT_OK) {
      return fail(j, "vectors");
    }
  }
  j->levels = j->distances + graph.rows;
  j->now = j->levels + graph.rows;
  j->before = j->now + graph.rows;
  hops = iterate(j, &links, MERBIT_SEMIRING_OR_AND, source, 0, 1, j->distances, j->levels);
  steps = hops < 0 ? -1
                   : iterate(j, &graph, MERBIT_SEMIRING_MIN_PLUS, source, (double)INFINITY, 0,
                             j->distances, NULL);
  if (steps == ENDLESS) {
    (void)fprintf(stderr, "paths: a cycle of negative length can be reached: there are no "
                          "shortest paths\n");
    return 1;
  }
  if (steps < 0) {
    return fail(j, "products");
  }
  printf("%lld products over or-and, %lld over min-plus\n", (long long)hops, (long long)steps);
  report(j, &graph, source, path == NULL);
  return 0;
}

int main(int argc, char **argv) {
  job j;
  int result;
  char *rest = NULL;
  const int64_t source = argc > 2 ? strtoll(argv[2], &rest, 10) : 1;
  if (argc > 3 || (argc > 1 && argv[1][0] == '-') || (rest != NULL && *rest != '\0')) {
    (void)fprintf(stderr, "usage: paths [graph.mtx [source]]\n");
    return 2;
  }
  memset(&j, 0, sizeof j);
  result = run(&j, argc > 1 ? argv[1] : NULL, source);
  free(j.distances);
  merbit_buffer_destroy(j.vectors[0]);
  merbit_buffer_destroy(j.vectors[1]);
  merbit_plan_destroy(j.plan);
  merbit_matrix_destroy(j.matrix);
  merbit_context_destroy(j.context);
  return result;
}
