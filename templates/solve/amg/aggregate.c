#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* Aggregation for multigrid. The roots of the aggregates are a maximal independent set of
 * distance 2, found in rounds with hashed priorities: Bell, Dalton, Olson, SIAM J. Sci. Comput.
 * 34, 2012, section 3. New priorities in every round are from Kelley, Rajamanickam, "Parallel,
 * portable algorithms for distance-2 maximal independent set and graph coarsening", 2022. */

#define MBI_AMG_ROOT UINT64_MAX /* the key of a root; a node ruled out as a root has key 0 */

typedef struct mbi_aggregate {
  const mbi_amg_csr *strong;
  uint64_t *keys, *around; /* per node: its key, and the largest key within distance 1 */
  int32_t *aggregate, *found;
  const int32_t *strongest;
  int32_t *open, *beside; /* lists of nodes: the undecided ones, later those that are left over;
                           * and those that may have undecided neighbours. A task's list begins
                           * at its first node */
  int tasks, round;
  int32_t open_count[MBI_MAX_THREADS],
      beside_count[MBI_MAX_THREADS]; /* per task: lengths of lists */
  int32_t roots[MBI_MAX_THREADS + 1];
} mbi_aggregate;

/* Declares what the tasks of aggregation begin with: their argument `g`, the task's first node
 * `node`, and the end `last` of its nodes. */
#define MBI_AGGREGATE_NODES(g, node, last)                                                     \
  mbi_aggregate *g = (mbi_aggregate *)argument;                                                \
  const int64_t last = mbi_amg_share(g->strong, g->tasks, task + 1);                           \
  int64_t node = mbi_amg_share(g->strong, g->tasks, task)

/* Returns a hash of 64 bits: the finisher of MurmurHash3 (Appleby). */
MBI_INTERNAL uint64_t mbi_amg_hash(uint64_t number) {
  uint64_t h = number + UINT64_C(0x9e3779b97f4a7c15);
  h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
  h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
  return h ^ h >> 33;
}

/* Returns the priority of an undecided node: a hash of round and node, followed by the node, so
 * that no two are equal. */
static uint64_t mbi_aggregate_key(int round, int64_t node) {
  return UINT64_C(1) << 62 |
         (mbi_amg_hash((uint64_t)round << 32 | (uint64_t)node) >> 34) << 31 | (uint64_t)node;
}

/* Returns the largest of `keys` among a node and its strong neighbours. */
static uint64_t mbi_aggregate_most(const mbi_aggregate *g, const uint64_t *keys, int64_t node) {
  const int32_t *col_ind = g->strong->col_ind;
  int64_t k;
  uint64_t most = keys[node];
  for (k = g->strong->row_ptr[node]; k < g->strong->row_ptr[node + 1]; k++) {
    most = keys[col_ind[k]] > most ? keys[col_ind[k]] : most;
  }
  return most;
}

/* Computes the largest key within distance 1 of the listed nodes. Nodes that have a root there,
 * or nothing undecided, leave the list. */
static void mbi_aggregate_near(void *argument, int task) {
  mbi_aggregate *g = (mbi_aggregate *)argument;
  int32_t *list = g->beside + mbi_amg_share(g->strong, g->tasks, task);
  int32_t i, left = 0;
  for (i = 0; i < g->beside_count[task]; i++) {
    const int32_t node = list[i];
    const uint64_t most = mbi_aggregate_most(g, g->keys, node);
    g->around[node] = most;
    list[left] = node;
    left += most != MBI_AMG_ROOT && most != 0;
  }
  g->beside_count[task] = left;
}

/* Makes an undecided node a root if its key is the largest within distance 2, and rules it out
 * if there already is a root within that distance. The others get keys for the next round. */
static void mbi_aggregate_decide(void *argument, int task) {
  mbi_aggregate *g = (mbi_aggregate *)argument;
  int32_t *list = g->open + mbi_amg_share(g->strong, g->tasks, task);
  int32_t i, left = 0;
  for (i = 0; i < g->open_count[task]; i++) {
    const int32_t node = list[i];
    const uint64_t most = mbi_aggregate_most(g, g->around, node);
    if (most == MBI_AMG_ROOT) {
      g->keys[node] = 0;
    } else if (most == g->keys[node]) {
      g->keys[node] = MBI_AMG_ROOT;
      g->roots[task + 1]++;
    } else {
      g->keys[node] = mbi_aggregate_key(g->round + 1, node);
      list[left++] = node;
    }
  }
  g->open_count[task] = left;
}

/* Initialises the nodes and lists those that can become roots: nodes with strong neighbours. */
static void mbi_aggregate_free(void *argument, int task) {
  MBI_AGGREGATE_NODES(g, node, last);
  const int64_t first = node;
  int32_t count = 0;
  for (; node < last; node++) {
    const int32_t *row_ptr = g->strong->row_ptr + node;
    const int free = row_ptr[1] > row_ptr[0];
    g->keys[node] = free ? mbi_aggregate_key(1, node) : 0;
    g->around[node] = 0;
    g->aggregate[node] = -1;
    if (free) {
      g->open[first + count] = g->beside[first + count] = (int32_t)node;
      count++;
    }
  }
  g->open_count[task] = g->beside_count[task] = count;
}

/* Numbers the roots in the order of the nodes. */
static void mbi_aggregate_number(void *argument, int task) {
  MBI_AGGREGATE_NODES(g, node, last);
  int32_t next = g->roots[task];
  for (; node < last; node++) {
    if (g->keys[node] == MBI_AMG_ROOT) {
      g->aggregate[node] = next++;
    }
  }
}

/* Puts each node that has a root as a neighbour into the root's aggregate, and lists the
 * others. Reads only the aggregates of roots, which do not change here. */
static void mbi_aggregate_join(void *argument, int task) {
  MBI_AGGREGATE_NODES(g, node, last);
  const int32_t *col_ind = g->strong->col_ind;
  int32_t *list = g->open + node, count = 0;
  int64_t k;
  for (; node < last; node++) {
    const int64_t end = g->strong->row_ptr[node + 1];
    if (g->keys[node] == MBI_AMG_ROOT) {
      continue;
    }
    for (k = g->strong->row_ptr[node]; k < end && g->keys[col_ind[k]] != MBI_AMG_ROOT; k++) {
    }
    if (k < end) {
      g->aggregate[node] = g->aggregate[col_ind[k]];
    } else {
      list[count++] = (int32_t)node;
    }
  }
  g->open_count[task] = count;
}

/* Returns the aggregate that most of a node's strong neighbours belong to; ties go to the
 * lowest. -1 if none of them has one. */
static int32_t mbi_aggregate_vote(const mbi_aggregate *g, int64_t node) {
  const int64_t from = g->strong->row_ptr[node], to = g->strong->row_ptr[node + 1];
  int32_t votes[MBI_AMG_NEIGHBOURS], best = -1;
  int count = 0, most = 0, i, j;
  int64_t k;
  for (k = from; k < to && k < from + MBI_AMG_NEIGHBOURS; k++) {
    const int32_t aggregate = g->aggregate[g->strong->col_ind[k]];
    if (aggregate >= 0) {
      votes[count++] = aggregate;
    }
  }
  for (i = 0; i < count; i++) {
    int same = 0;
    for (j = 0; j < count; j++) {
      same += votes[j] == votes[i];
    }
    if (same > most || (same == most && votes[i] < best)) {
      most = same;
      best = votes[i];
    }
  }
  return best;
}

/* Finds aggregates for the nodes that are left over by a vote of their neighbours. Reads
 * `aggregate` and writes `found`. */
static void mbi_aggregate_rest(void *argument, int task) {
  mbi_aggregate *g = (mbi_aggregate *)argument;
  const int64_t first = mbi_amg_share(g->strong, g->tasks, task);
  int64_t i;
  for (i = first; i < first + g->open_count[task]; i++) {
    g->found[i] = mbi_aggregate_vote(g, g->open[i]);
  }
}

/* Puts the listed nodes into the aggregates found for them. The others stay in the list. */
static void mbi_aggregate_take(void *argument, int task) {
  mbi_aggregate *g = (mbi_aggregate *)argument;
  const int64_t first = mbi_amg_share(g->strong, g->tasks, task);
  int64_t i, left = first;
  for (i = first; i < first + g->open_count[task]; i++) {
    const int32_t node = g->open[i];
    g->aggregate[node] = g->found[i];
    if (g->found[i] < 0) {
      g->open[left++] = node;
    }
  }
  g->open_count[task] = (int32_t)(left - first);
}

/* Finds an aggregate for each node that is still left over: follows strongest neighbours until
 * one has an aggregate. Reads `aggregate` and writes `found`. */
static void mbi_aggregate_follow(void *argument, int task) {
  mbi_aggregate *g = (mbi_aggregate *)argument;
  const int64_t first = mbi_amg_share(g->strong, g->tasks, task);
  int64_t i;
  for (i = first; i < first + g->open_count[task]; i++) {
    int32_t at = g->open[i];
    int hops;
    for (hops = 0; hops < MBI_AMG_HOPS && at >= 0 && g->aggregate[at] < 0; hops++) {
      at = g->strongest[at];
    }
    g->found[i] = at >= 0 ? g->aggregate[at] : -1;
  }
}

/* Finds and numbers the roots, and puts their neighbours into their aggregates. */
static void mbi_aggregate_find(merbit_context *context, mbi_aggregate *g) {
  int64_t open = 1;
  int task;
  mbi_parallel(context, g->tasks, mbi_aggregate_free, g);
  while (open > 0) {
    g->round++;
    mbi_parallel(context, g->tasks, mbi_aggregate_near, g);
    mbi_parallel(context, g->tasks, mbi_aggregate_decide, g);
    for (open = 0, task = 0; task < g->tasks; task++) {
      open += g->open_count[task];
    }
  }
  for (task = 0; task < g->tasks; task++) {
    g->roots[task + 1] += g->roots[task];
  }
  mbi_parallel(context, g->tasks, mbi_aggregate_number, g);
  mbi_parallel(context, g->tasks, mbi_aggregate_join, g);
}

MBI_INTERNAL merbit_status mbi_amg_aggregate(merbit_context *context, mbi_amg_level *level) {
  const int64_t nodes = level->strong.rows;
  mbi_aggregate g;
  void *keys;
  memset(&g, 0, sizeof g);
  g.strong = &level->strong;
  g.strongest = level->strongest;
  g.tasks = mbi_share_tasks(context, nodes + g.strong->nnz);
  MBI_TRY(mbi_allocate_array(context, nodes, sizeof *level->aggregate,
                             "the aggregates of nodes", (void **)&level->aggregate));
  MBI_TRY(
      mbi_allocate_array(context, 3 * nodes, sizeof(uint64_t), "priorities of nodes", &keys));
  g.aggregate = level->aggregate;
  g.keys = (uint64_t *)keys;
  g.around = g.keys + nodes;
  g.open = (int32_t *)(void *)(g.around + nodes);
  g.beside = g.open + nodes;
  g.found = g.beside; /* free once the roots are known */
  mbi_aggregate_find(context, &g);
  mbi_parallel(context, g.tasks, mbi_aggregate_rest, &g);
  mbi_parallel(context, g.tasks, mbi_aggregate_take, &g);
  mbi_parallel(context, g.tasks, mbi_aggregate_follow, &g);
  mbi_parallel(context, g.tasks, mbi_aggregate_take, &g);
  level->aggregates = g.roots[g.tasks];
  mbi_release(context, keys);
  return MERBIT_OK;
}
