/* PageRank of a link graph: pagerank [--picture FILE] [graph.mtx [names.txt]]
 *
 * graph.mtx is a Matrix Market file in which entry (i, j) is a link from i to j; line i of
 * names.txt names vertex i. Without arguments the graph is the packages of Debian 12, which
 * examples/data/unpack.sh unpacks into this program's folder. Runs on the GPU if there is one,
 * else on the CPU's threads. FILE (default: pagerank.svg in this program's folder) gets a plot
 * of the convergence, or its numbers if the name ends in .json. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include "picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TOP = 10, HISTORY = 1000 };

typedef struct job { /* resources that are released at the end */
  merbit_context *context;
  merbit_matrix *matrix;
  double *ranks, *changes;
  FILE *names;
} job;

/* Prints a progress line: over the last one on a terminal, elsewhere once a second. */
static void progress(const char *line) {
  static time_t last;
  const time_t now = time(NULL);
  if (isatty(STDERR_FILENO)) {
    (void)fprintf(stderr, "\r\033[K%s", line);
  } else if (last != 0 && now != last && line[0] != '\0') {
    (void)fprintf(stderr, "%s\n", line);
  }
  last = now;
}

static int read_progress(void *user, int64_t done, int64_t total) {
  char line[64];
  (void)user;
  (void)snprintf(line, sizeof line, "reading: %.0f of %.0f MB", 1e-6 * (double)done,
                 1e-6 * (double)total);
  progress(line);
  return 0; /* nonzero would cancel */
}

static int solve_progress(void *user, int iteration, double change, double seconds) {
  char line[96];
  (void)user;
  (void)snprintf(line, sizeof line, "iteration %d: change %.1e after %.2f s", iteration, change,
                 seconds);
  progress(line);
  return 0;
}

/* Prints the library's error message. */
static int fail(job *j, const char *what) {
  char message[MERBIT_MESSAGE_SIZE];
  progress("");
  (void)merbit_last_error(j->context, message, sizeof message);
  (void)fprintf(stderr, "pagerank: %s: %s\n", what, message);
  return 1;
}

static double seconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Finds the vertices with the highest ranks, best first. Returns how many it found. */
static int find_top(const double *ranks, int64_t n, int64_t *top) {
  int count = 0, at;
  int64_t i;
  for (i = 0; i < n; i++) {
    if (count == TOP && ranks[i] <= ranks[top[TOP - 1]]) {
      continue;
    }
    count = count < TOP ? count + 1 : TOP;
    for (at = count - 1; at > 0 && ranks[top[at - 1]] < ranks[i]; at--) {
      top[at] = top[at - 1];
    }
    top[at] = i;
  }
  return count;
}

static void print_name(FILE *names, int64_t vertex) {
  char line[256];
  int64_t left = vertex;
  int c = 0;
  if (names != NULL) {
    rewind(names);
    while (left > 0 && (c = getc(names)) != EOF) {
      left -= c == '\n';
    }
  }
  if (names != NULL && left == 0 && fgets(line, sizeof line, names) != NULL) {
    printf("%.*s\n", (int)strcspn(line, "\r\n"), line);
  } else {
    printf("vertex %lld\n", (long long)vertex + 1);
  }
}

static void print_result(const merbit_pagerank_result *result, const merbit_context_info *info,
                         double read_seconds) {
  static const char *const stops[] = {"converged",  "capped",    "cancelled",
                                      "not finite", "stagnated", "broken down"};
  printf("iterations: %d, %s, last change %.2e; %lld dangling vertices\n", result->iterations,
         stops[result->stop], result->change, (long long)result->dangling);
  printf("times:      read %.3f s, prepare %.3f s (of it compiling %.3f s), iterate %.3f s\n",
         read_seconds, result->prepare_seconds, result->plan.compile_seconds,
         result->iterate_seconds);
  printf("plan:       %s\n", result->description);
  if (info->side == MERBIT_SIDE_CUDA) {
    printf("GPU:        %.1f MB held, the host waited for it %lld time%s\n",
           1e-6 * (double)result->device_bytes, (long long)result->synchronizations,
           result->synchronizations == 1 ? "" : "s");
    printf("cubins:     %lld from the cache, %lld compiled (%s)\n", (long long)info->cache_hits,
           (long long)info->cache_misses,
           info->cache_dir[0] != '\0' ? info->cache_dir : info->cache_off_reason);
  }
}

/* Plots the change of each iteration on a logarithmic scale. */
static void draw(const char *path, const char *graph_path, const double *changes,
                 const merbit_pagerank_result *result) {
  const char *slash = strrchr(graph_path, '/');
  picture_curve curve = {"L1 change", NULL, NULL, 0};
  picture p = {NULL, "iteration", "L1 change of the ranks", 1e-10};
  char title[256];
  (void)snprintf(title, sizeof title, "PageRank of %.180s, damping 0.85",
                 slash != NULL ? slash + 1 : graph_path);
  p.title = title;
  curve.values = changes;
  curve.count = result->iterations < HISTORY ? result->iterations : HISTORY;
  if (picture_write(path, &p, &curve, 1) == 0) {
    printf("picture:    %s\n", path);
  } else {
    perror(path); /* the ranks are valid all the same */
  }
}

static int run(job *j, const char *graph_path, const char *names_path,
               const char *picture_path) {
  merbit_error error;
  merbit_context_info info;
  merbit_read_desc read;
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  merbit_view graph;
  double start, read_seconds;
  int64_t top[TOP], i, count;
  memset(&read, 0, sizeof read); /* all-zero descriptors mean defaults */
  memset(&desc, 0, sizeof desc);
  if (merbit_context_create(NULL, &j->context, &error) != MERBIT_OK) {
    (void)fprintf(stderr, "pagerank: %s\n", error.message);
    return 1;
  }
  (void)merbit_context_get_info(j->context, &info);
  printf("device:     %s%s%s\n", info.device, info.reason[0] != '\0' ? ", because " : "",
         info.reason);
  start = seconds();
  read.progress = read_progress;
  if (merbit_matrix_read_file(j->context, graph_path, &read, &j->matrix) != MERBIT_OK) {
    return fail(j, "reading the graph");
  }
  progress("");
  read_seconds = seconds() - start;
  graph = merbit_matrix_view(j->matrix);
  printf("graph:      %s: %lld vertices, %lld edges\n", graph_path, (long long)graph.rows,
         (long long)graph.nnz);
  for (i = 0; graph.values != NULL && i < graph.nnz; i++) { /* weights must not be negative */
    desc.unweighted |= ((const double *)graph.values)[i] < 0;
  }
  if (desc.unweighted) {
    printf("weights:    some are negative, so every edge counts one\n");
  }
  desc.progress = solve_progress;
  j->ranks = (double *)calloc((size_t)graph.rows + 1, sizeof *j->ranks);
  j->changes = (double *)calloc(HISTORY, sizeof *j->changes);
  j->names = names_path != NULL ? fopen(names_path, "r") : NULL;
  if (j->ranks == NULL || j->changes == NULL || (names_path != NULL && j->names == NULL)) {
    perror(j->ranks == NULL || j->changes == NULL ? "pagerank" : names_path);
    return 1;
  }
  if (j->names != NULL && getc(j->names) == EOF && ferror(j->names)) { /* a folder opens, too */
    perror(names_path);
    return 1;
  }
  desc.history = j->changes;
  desc.history_size = HISTORY;
  if (merbit_pagerank(j->context, &graph, &desc, j->ranks, &result) != MERBIT_OK) {
    return fail(j, graph_path);
  }
  progress("");
  (void)merbit_context_get_info(j->context, &info);
  count = find_top(j->ranks, graph.rows, top);
  for (i = 0; i < count; i++) {
    printf("  %2d. %7.3f%%  ", (int)i + 1, 100 * j->ranks[top[i]]);
    print_name(j->names, top[i]);
  }
  print_result(&result, &info, read_seconds);
  draw(picture_path, graph_path, j->changes, &result);
  return 0;
}

/* Sets `path` to file `name` in the folder of the program, where unpack.sh puts its files. */
static void beside(const char *program, const char *name, char *path, size_t size) {
  const char *slash = strrchr(program, strchr(program, '/') != NULL ? '/' : '\\');
  (void)snprintf(path, size, "%.*s%s", slash != NULL ? (int)(slash - program) + 1 : 0, program,
                 name);
}

int main(int argc, char **argv) {
  char graph_path[4096], names_path[4096], picture_path[4096];
  job j = {NULL, NULL, NULL, NULL, NULL};
  int code;
  beside(argv[0], "debian12-deps.mtx", graph_path, sizeof graph_path);
  beside(argv[0], "debian12-deps.names.txt", names_path, sizeof names_path);
  beside(argv[0], "pagerank.svg", picture_path, sizeof picture_path);
  if (argc > 2 && strcmp(argv[1], "--picture") == 0) {
    (void)snprintf(picture_path, sizeof picture_path, "%s", argv[2]);
    argc -= 2;
    argv += 2;
  }
  if (argc > 3 || (argc > 1 && argv[1][0] == '-')) {
    (void)fprintf(stderr, "usage: pagerank [--picture FILE] [graph.mtx [names.txt]]\n");
    return 1;
  }
  code = argc > 1 ? run(&j, argv[1], argc > 2 ? argv[2] : NULL, picture_path)
                  : run(&j, graph_path, names_path, picture_path);
  if (j.names != NULL) {
    (void)fclose(j.names);
  }
  free(j.ranks);
  free(j.changes);
  merbit_matrix_destroy(j.matrix);
  merbit_context_destroy(j.context);
  return code;
}
