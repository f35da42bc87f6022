// PageRank between two products: new ranks, their L1 change and the mass of dangling vertices.
// Source: the power method of Zhang, Yao, Jiang, Zhang, "MERBIT: A GPU-Based SpMV Method for
// Iterative Workloads", section 5.5.1.
//
// The host enqueues iterations ahead of the answer. Once mbk_pagerank_finish has set `stop`,
// later updates leave ranks and state alone, so that both are those of the iteration that
// stopped.
#ifndef MBK_VECTOR
#error "define MBK_VECTOR: the type of ranks in memory"
#endif
#include "jit/device.cuh"

#define MBK_PAGERANK_THREADS 256
#define MBK_RUNNING (-1)
#define MBK_STOP_CONVERGED 0 // as merbit_stop
#define MBK_STOP_NOT_FINITE 3

struct mbk_pagerank_state { // mbi_pagerank_state of the host
  double base;              // what every vertex receives in the next iteration
  double change;            // L1, of the last iteration
  mbk_i32 iterations;
  mbk_i32 stop;
};

// The sums of `change` and `mass` over the block, complete in thread 0: a tree of fixed shape.
MBK_DEVICE void mbk_pagerank_sum(double *shared, double &change, double &mass) {
  double *const changes = shared, *const masses = shared + MBK_PAGERANK_THREADS;
  const mbk_u32 thread = mbk_thread();
  changes[thread] = change;
  masses[thread] = mass;
  mbk_block_sync();
  for (mbk_u32 half = MBK_PAGERANK_THREADS / 2; half > 0; half /= 2) {
    if (thread < half) {
      changes[thread] += changes[thread + half];
      masses[thread] += masses[thread + half];
    }
    mbk_block_sync();
  }
  change = changes[0];
  mass = masses[0];
}

// x = damping * y + base. Block b leaves its parts of the change and of the dangling mass in
// partials[2 b] and partials[2 b + 1].
// Launch: a grid that depends on n alone, MBK_PAGERANK_THREADS threads.
// Shared: double[2 * MBK_PAGERANK_THREADS].
MBK_KERNEL MBK_BOUNDS(MBK_PAGERANK_THREADS)
    mbk_pagerank_update(MBK_VECTOR *x, const MBK_VECTOR *y, const unsigned char *dangling,
                        mbk_u64 n, double damping, const mbk_pagerank_state *state,
                        double *partials) {
  MBK_SHARED_MEMORY(shared);
  if (state->stop != MBK_RUNNING) {
    return;
  }
  const double base = state->base;
  double change = 0, mass = 0;
  for (mbk_u64 i = (mbk_u64)mbk_block() * MBK_PAGERANK_THREADS + mbk_thread(); i < n;
       i += (mbk_u64)mbk_grid() * MBK_PAGERANK_THREADS) {
    const MBK_VECTOR rank = (MBK_VECTOR)(damping * (double)y[i] + base);
    const double difference = (double)rank - (double)x[i];
    change += difference < 0 ? -difference : difference;
    mass += dangling[i] ? (double)rank : 0.0;
    x[i] = rank;
  }
  mbk_pagerank_sum((double *)shared, change, mass);
  if (mbk_thread() == 0) {
    partials[2 * mbk_block()] = change;
    partials[2 * mbk_block() + 1] = mass;
  }
}

// Adds up the parts of `blocks` blocks in a fixed order and decides.
// Launch: one block of MBK_PAGERANK_THREADS threads. Shared: double[2 * MBK_PAGERANK_THREADS].
MBK_KERNEL MBK_BOUNDS(MBK_PAGERANK_THREADS)
    mbk_pagerank_finish(const double *partials, mbk_u32 blocks, mbk_u64 n, double damping,
                        double tolerance, mbk_pagerank_state *state) {
  MBK_SHARED_MEMORY(shared);
  if (state->stop != MBK_RUNNING) {
    return;
  }
  double change = 0, mass = 0;
  for (mbk_u32 b = mbk_thread(); b < blocks; b += MBK_PAGERANK_THREADS) {
    change += partials[2 * b];
    mass += partials[2 * b + 1];
  }
  mbk_pagerank_sum((double *)shared, change,
                   mass); // ends behind a barrier: all have read `stop`
  if (mbk_thread() == 0) {
    state->base = (1.0 - damping + damping * mass) / (double)n;
    state->change = change;
    state->iterations++;
    if (change - change != 0) { // NaN or Inf
      state->stop = MBK_STOP_NOT_FINITE;
    } else if (change < tolerance) {
      state->stop = MBK_STOP_CONVERGED;
    }
  }
}
