#include "core/context.h"
#include "matrix/matrix.h"

/* Orders of the vertices of a square matrix's graph. An entry (i, j) joins i and j in both
 * directions; the diagonal and duplicates do not count. There are two: by degree, and reverse
 * Cuthill-McKee (E. Cuthill, J. McKee, 1969), which starts at a vertex found as in A. George,
 * J. W. H. Liu, An Implementation of a Pseudoperipheral Node Finder, ACM TOMS 5, 1979. */

/* ---- Sorting 64-bit keys by their upper halves ------------------------------------------- */

static void mbi_keys_insertion(uint64_t *keys, int64_t count) {
  int64_t i, j;
  for (i = 1; i < count; i++) {
    const uint64_t key = keys[i];
    for (j = i; j > 0 && keys[j - 1] > key; j--) {
      keys[j] = keys[j - 1];
    }
    keys[j] = key;
  }
}

/* Sorts keys by their upper halves, which are at most `most`. Keys with equal upper halves must
 * already be in ascending order. For more than MBI_SHORT_ROW keys, `scratch` must have space
 * for `count` keys. Returns the sorted array: `keys` or `scratch`. */
MBI_NOINLINE MBI_INTERNAL uint64_t *mbi_keys_sort(uint64_t *keys, uint64_t *scratch,
                                                  int64_t count, uint32_t most) {
  int64_t starts[256], i;
  int shift, byte;
  if (count <= MBI_SHORT_ROW) {
    mbi_keys_insertion(keys, count);
    return keys;
  }
  for (shift = 32; shift < 64 && (uint64_t)most >> (shift - 32) > 0; shift += 8) {
    uint64_t *other = keys;
    int64_t at = 0;
    memset(starts, 0, sizeof starts);
    for (i = 0; i < count; i++) {
      starts[keys[i] >> shift & 255]++;
    }
    for (byte = 0; byte < 256; byte++) {
      const int64_t here = starts[byte];
      starts[byte] = at;
      at += here;
    }
    for (i = 0; i < count; i++) {
      scratch[starts[keys[i] >> shift & 255]++] = keys[i];
    }
    keys = scratch;
    scratch = other;
  }
  return keys;
}

/* ---- Breadth-first searches -------------------------------------------------------------- */

typedef struct mbi_order_walk {
  const mbi_graph *graph;
  unsigned char *stamp; /* per vertex: number of the last search that visited it; 0: none */
  uint64_t *keys;       /* two keys for each of `most` neighbours */
  int32_t most;         /* the largest number of neighbours of a vertex */
} mbi_order_walk;

typedef struct mbi_levels {
  int64_t depth; /* number of levels below the root */
  int64_t last;  /* where the deepest level begins in the queue */
  int64_t size;  /* number of vertices in the component */
} mbi_levels;

/* Appends the unvisited neighbours of v to the queue, by ascending degree and then by number.
 * Returns the queue's new end. */
static int64_t mbi_order_follow(const mbi_order_walk *walk, int32_t v, int number,
                                int32_t *queue, int64_t tail) {
  const mbi_graph *graph = walk->graph;
  const uint64_t *sorted;
  int64_t count = 0, length, k;
  const int32_t *row = mbi_graph_row(graph, v, &length);
  for (k = 0; k < length; k++) {
    const int32_t next = row[k] - graph->base;
    if (walk->stamp[next] < number) {
      walk->stamp[next] = (unsigned char)number;
      walk->keys[count++] = (uint64_t)graph->degree[next] << 32 | (uint32_t)next;
    }
  }
  sorted = mbi_keys_sort(walk->keys, walk->keys + walk->most, count, (uint32_t)walk->most);
  for (k = 0; k < count; k++) {
    queue[tail++] = (int32_t)(uint32_t)sorted[k];
  }
  return tail;
}

/* Searches a component breadth first from `root`. Vertices whose stamps are below `number` have
 * not been visited. Leaves the component in the queue in Cuthill and McKee's order. */
static mbi_levels mbi_order_search(const mbi_order_walk *walk, int32_t root, int number,
                                   int32_t *queue) {
  int64_t head = 0, tail = 1;
  mbi_levels found;
  found.depth = -1;
  found.last = 0;
  queue[0] = root;
  walk->stamp[root] = (unsigned char)number;
  while (head < tail) {
    const int64_t end = tail;
    found.depth++;
    found.last = head;
    for (; head < end; head++) {
      tail = mbi_order_follow(walk, queue[head], number, queue, tail);
    }
  }
  found.size = tail;
  return found;
}

/* Orders a component. Searches it from any vertex, then repeatedly from a vertex of least
 * degree in the deepest level, until the depth no longer grows. The last search leaves its
 * order in the queue. Returns the number of vertices. */
static int64_t mbi_order_component(const mbi_order_walk *walk, int32_t root, int32_t *queue) {
  const int32_t *degree = walk->graph->degree;
  mbi_levels found = mbi_order_search(walk, root, 1, queue);
  int64_t deepest = -1, i;
  int number;
  for (number = 2; number <= MBI_ORDER_SEARCHES && found.depth > deepest; number++) {
    deepest = found.depth;
    root = queue[found.last];
    for (i = found.last + 1; i < found.size; i++) {
      if (degree[queue[i]] < degree[root]) {
        root = queue[i];
      }
    }
    found = mbi_order_search(walk, root, number, queue);
  }
  return found.size;
}

static void mbi_order_reverse(int32_t *order, int64_t count) {
  int64_t i;
  for (i = 0; i < count / 2; i++) {
    const int32_t other = order[i];
    order[i] = order[count - 1 - i];
    order[count - 1 - i] = other;
  }
}

static void mbi_order_components(const mbi_order_walk *walk, int32_t *order) {
  const mbi_graph *graph = walk->graph;
  int64_t done = 0, v;
  for (v = 0; v < graph->rows; v++) {
    if (walk->stamp[v] == 0) {
      done += mbi_order_component(walk, (int32_t)v, order + done);
    }
  }
  mbi_order_reverse(order, graph->rows);
}

static merbit_status mbi_order_rcm(merbit_context *context, const mbi_graph *graph,
                                   int32_t *order) {
  mbi_order_walk walk;
  void *memory;
  int64_t v;
  merbit_status status;
  walk.graph = graph;
  walk.most = 0;
  for (v = 0; v < graph->rows; v++) {
    walk.most = graph->degree[v] > walk.most ? graph->degree[v] : walk.most;
  }
  MBI_TRY(mbi_allocate_array(context, walk.most, 2 * sizeof(uint64_t),
                             "the neighbours of a vertex", &memory));
  walk.keys = (uint64_t *)memory;
  status = mbi_allocate_array(context, graph->rows, 1, "the marks of vertices", &memory);
  if (status == MERBIT_OK) {
    walk.stamp = (unsigned char *)memory;
    memset(memory, 0, (size_t)graph->rows);
    mbi_order_components(&walk, order);
    mbi_release(context, memory);
  }
  mbi_release(context, walk.keys);
  return status;
}

/* ---- By degree --------------------------------------------------------------------------- */

/* Sorts the vertices by descending degree and then by number, with a counting sort. */
static merbit_status mbi_order_degree(merbit_context *context, const mbi_graph *graph,
                                      int32_t *order) {
  int32_t *starts, at = 0;
  int64_t v, d;
  void *memory;
  MBI_TRY(mbi_allocate_array(context, graph->rows, sizeof(int32_t), "the counts of degrees",
                             &memory));
  starts = (int32_t *)memory;
  memset(starts, 0, (size_t)graph->rows * sizeof *starts);
  for (v = 0; v < graph->rows; v++) {
    starts[graph->degree[v]]++;
  }
  for (d = graph->rows - 1; d >= 0; d--) {
    const int32_t here = starts[d];
    starts[d] = at;
    at += here;
  }
  for (v = 0; v < graph->rows; v++) {
    order[starts[graph->degree[v]]++] = (int32_t)v;
  }
  mbi_release(context, memory);
  return MERBIT_OK;
}

/* Allocates *order, in which order[new] is the old row. `csr` is a checked square host CSR with
 * 32-bit columns. The caller releases *order. */
MBI_INTERNAL merbit_status mbi_order_create(merbit_context *context, const merbit_view *csr,
                                            merbit_reordering reordering, int32_t **order) {
  mbi_graph graph;
  void *memory;
  merbit_status status;
  *order = NULL;
  MBI_TRY(mbi_allocate_array(context, csr->rows, sizeof(int32_t), "an order of rows", &memory));
  status = mbi_graph_create(context, csr, &graph);
  if (status == MERBIT_OK) {
    status = reordering == MERBIT_REORDERING_RCM
                 ? mbi_order_rcm(context, &graph, (int32_t *)memory)
                 : mbi_order_degree(context, &graph, (int32_t *)memory);
  }
  mbi_graph_release(context, &graph);
  if (status != MERBIT_OK) {
    mbi_release(context, memory);
    return status;
  }
  *order = (int32_t *)memory;
  return MERBIT_OK;
}
