#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* Multigrid: aggregates. Their roots are a maximal independent set of distance 2, found in
 * rounds with hashed priorities: Bell, Dalton, Olson, SIAM J. Sci. Comput. 34, 2012, section 3;
 * new priorities in every round are from Kelley, Rajamanickam, Parallel, portable algorithms
 * for distance-2 maximal independent set and graph coarsening, 2022. */

#define MBI_AMG_ROOT UINT64_MAX /* the key of a root; that of a node near one is 0 */

typedef struct mbi_aggregate {
  const mbi_amg_csr *strong;
  uint64_t *keys, *around; /* of nodes; the largest key within distance 1 */
  int32_t *aggregate, *before;
  const int32_t *strongest;
  int tasks, round;
  int64_t open[MBI_MAX_THREADS]; /* per task: nodes that are still undecided */
  int32_t roots[MBI_MAX_THREADS + 1];
} mbi_aggregate;

/* Declares what the tasks of aggregation begin with: `g` is their argument; `node` is the first
 * of a task's nodes, `last` the one behind them. */
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

/* Returns the priority of an undecided node: a hash of round and node, and the node, so that no
 * two are equal. */
static uint64_t mbi_aggregate_key(int round, int64_t node) {
  return UINT64_C(1) << 62 |
         (mbi_amg_hash((uint64_t)round << 32 | (uint64_t)node) >> 34) << 31 | (uint64_t)node;
}

/* Gives every undecided node a new priority. */
static void mbi_aggregate_mix(void *argument, int task) {
  MBI_AGGREGATE_NODES(g, node, last);
  for (; node < last; node++) {
    if (g->keys[node] != MBI_AMG_ROOT && g->keys[node] != 0) {
      g->keys[node] = mbi_aggregate_key(g->round, node);
    }
  }
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

static void mbi_aggregate_near(void *argument, int task) {
  MBI_AGGREGATE_NODES(g, node, last);
  for (; node < last; node++) {
    if (g->around[node] != MBI_AMG_ROOT) {
      g->around[node] = mbi_aggregate_most(g, g->keys, node);
    }
  }
}

/* Makes undecided nodes roots that are the largest within distance 2, and decides those that
 * have a root there. */
static void mbi_aggregate_decide(void *argument, int task) {
  MBI_AGGREGATE_NODES(g, node, last);
  g->open[task] = 0;
  for (; node < last; node++) {
    if (g->keys[node] != MBI_AMG_ROOT && g->keys[node] != 0) {
      const uint64_t most = mbi_aggregate_most(g, g->around, node);
      g->open[task] += most != MBI_AMG_ROOT && most != g->keys[node];
      g->keys[node] = most == MBI_AMG_ROOT ? 0 : most == g->keys[node] ? MBI_AMG_ROOT : most;
      if (g->keys[node] != 0 && g->keys[node] != MBI_AMG_ROOT) {
        g->keys[node] = 1; /* undecided: it gets a priority in the next round */
      }
    }
  }
}

/* Marks the nodes that can become roots: those that have strong neighbours. */
static void mbi_aggregate_free(void *argument, int task) {
  MBI_AGGREGATE_NODES(g, node, last);
  for (; node < last; node++) {
    const int32_t *row_ptr = g->strong->row_ptr + node;
    g->keys[node] = row_ptr[1] > row_ptr[0];
    g->around[node] = 0;
  }
}

static void mbi_aggregate_count(void *argument, int task) {
  MBI_AGGREGATE_NODES(g, node, last);
  int32_t count = 0;
  for (; node < last; node++) {
    count += g->keys[node] == MBI_AMG_ROOT;
  }
  g->roots[task + 1] = count;
}

/* Numbers the roots in the order of nodes. */
static void mbi_aggregate_number(void *argument, int task) {
  MBI_AGGREGATE_NODES(g, node, last);
  int32_t next = g->roots[task];
  for (; node < last; node++) {
    if (g->keys[node] == MBI_AMG_ROOT) {
      g->aggregate[node] = next++;
    }
  }
}

/* Gives nodes the aggregate of a root beside them. Reads only the aggregates of roots, which
 * do not change here. */
static void mbi_aggregate_join(void *argument, int task) {
  MBI_AGGREGATE_NODES(g, node, last);
  int64_t k;
  for (; node < last; node++) {
    if (g->aggregate[node] >= 0) {
      continue;
    }
    for (k = g->strong->row_ptr[node]; k < g->strong->row_ptr[node + 1]; k++) {
      if (g->keys[g->strong->col_ind[k]] == MBI_AMG_ROOT) {
        g->aggregate[node] = g->aggregate[g->strong->col_ind[k]];
        break;
      }
    }
  }
}

/* Gives each node that is left over the aggregate of most of its strong neighbours; of several,
 * the lowest. Reads `before` and writes `aggregate`. */
static void mbi_aggregate_rest(void *argument, int task) {
  MBI_AGGREGATE_NODES(g, node, last);
  int64_t k, j;
  for (; node < last; node++) {
    const int64_t from = g->strong->row_ptr[node], to = g->strong->row_ptr[node + 1];
    int64_t most = 0;
    if (g->before[node] >= 0) {
      continue;
    }
    for (k = from; k < to; k++) {
      const int32_t candidate = g->before[g->strong->col_ind[k]];
      int64_t count = 0;
      for (j = from; candidate >= 0 && j < to && j < from + MBI_AMG_NEIGHBOURS; j++) {
        count += g->before[g->strong->col_ind[j]] == candidate;
      }
      if (count > most || (count == most && count > 0 && candidate < g->aggregate[node])) {
        most = count;
        g->aggregate[node] = candidate;
      }
    }
  }
}

/* Gives each node that is still left over the aggregate of the first node that has one on the
 * way over strongest neighbours. Reads `before` and writes `aggregate`. */
static void mbi_aggregate_follow(void *argument, int task) {
  MBI_AGGREGATE_NODES(g, node, last);
  for (; node < last; node++) {
    int32_t at = (int32_t)node;
    int hops;
    for (hops = 0; hops < MBI_AMG_HOPS && at >= 0 && g->before[at] < 0; hops++) {
      at = g->strongest[at];
    }
    g->aggregate[node] = at >= 0 ? g->before[at] : -1;
  }
}

/* Finds the roots, numbers them, and gives the nodes beside them their aggregates. */
static void mbi_aggregate_find(merbit_context *context, mbi_aggregate *g) {
  int64_t open = 1;
  int task;
  mbi_parallel(context, g->tasks, mbi_aggregate_free, g);
  while (open > 0) {
    g->round++;
    mbi_parallel(context, g->tasks, mbi_aggregate_mix, g);
    mbi_parallel(context, g->tasks, mbi_aggregate_near, g);
    mbi_parallel(context, g->tasks, mbi_aggregate_decide, g);
    for (open = 0, task = 0; task < g->tasks; task++) {
      open += g->open[task];
    }
  }
  mbi_parallel(context, g->tasks, mbi_aggregate_count, g);
  for (task = 0; task < g->tasks; task++) {
    g->roots[task + 1] += g->roots[task];
  }
  mbi_parallel(context, g->tasks, mbi_aggregate_number, g);
  mbi_parallel(context, g->tasks, mbi_aggregate_join, g);
}

MBI_INTERNAL merbit_status mbi_amg_aggregate(merbit_context *context, mbi_amg_level *level) {
  const int64_t nodes = level->strong.rows;
  const size_t bytes = (size_t)nodes * sizeof *level->aggregate;
  mbi_aggregate g;
  void *keys;
  memset(&g, 0, sizeof g);
  g.strong = &level->strong;
  g.strongest = level->strongest;
  g.tasks = mbi_share_tasks(context, nodes + g.strong->nnz);
  MBI_TRY(mbi_allocate_array(context, nodes, sizeof *level->aggregate,
                             "the aggregates of nodes", (void **)&level->aggregate));
  MBI_TRY(
      mbi_allocate_array(context, 2 * nodes, sizeof(uint64_t), "priorities of nodes", &keys));
  g.aggregate = level->aggregate;
  g.keys = (uint64_t *)keys;
  g.around = g.keys + nodes;
  g.before = (int32_t *)g.around; /* once the roots are known */
  memset(g.aggregate, -1, bytes);
  mbi_aggregate_find(context, &g);
  memcpy(g.before, g.aggregate, bytes);
  mbi_parallel(context, g.tasks, mbi_aggregate_rest, &g);
  memcpy(g.before, g.aggregate, bytes);
  mbi_parallel(context, g.tasks, mbi_aggregate_follow, &g);
  level->aggregates = g.roots[g.tasks];
  mbi_release(context, keys);
  return MERBIT_OK;
}
