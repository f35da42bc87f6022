// Kernels of PageRank besides its products: weights of vertices, first ranks, the scalar part
// of an iteration, final ranks. Source: the power method of Zhang, Yao, Jiang, Zhang, "MERBIT:
// A GPU-Based SpMV Method for Iterative Workloads", section 5.5.1, on z = rank / W. W is the
// sum of the weights of all edges that leave a vertex, or -1 if there are none. The epilogue of
// the product computes the new z, its L1 change and the mass of dangling vertices, and then the
// scalars (solve/pagerank/after.cuh). After a product of method MERBIT with its two buffers,
// mbk_pagerank_update and mbk_pagerank_finish do that instead.
//
// The host enqueues iterations ahead of their results. Once state.closed is set, later
// iterations change neither ranks nor state, so that both are those of the iteration that
// stopped.
#ifndef MBK_VECTOR
#error "define MBK_VECTOR: the type of ranks in memory"
#endif
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of the graph's row_ptr"
#endif
#include "jit/device.cuh"

#define MBS_FUNCTION MBK_DEVICE
#define MBS_CALLED MBK_DEVICE
#include "solve/core/state.cuh"

#include "solve/pagerank/steps.cuh"

#define MBK_PAGERANK_THREADS 256

// Returns the first vertex of this thread.
MBK_DEVICE mbk_u64 mbk_pagerank_place() {
  return (mbk_u64)mbk_block() * MBK_PAGERANK_THREADS + mbk_thread();
}

// Returns the distance to the thread's next vertex.
MBK_DEVICE mbk_u64 mbk_pagerank_stride() {
  return (mbk_u64)mbk_grid() * MBK_PAGERANK_THREADS;
}

// Adds up two sums over the block in a tree of fixed shape; the result is in thread 0.
MBK_DEVICE void mbk_pagerank_sum(double *shared, double &first, double &second) {
  double *const firsts = shared, *const seconds = shared + MBK_PAGERANK_THREADS;
  const mbk_u32 thread = mbk_thread();
  firsts[thread] = first;
  seconds[thread] = second;
  mbk_block_sync();
  for (mbk_u32 half = MBK_PAGERANK_THREADS / 2; half > 0; half /= 2) {
    if (thread < half) {
      firsts[thread] += firsts[thread + half];
      seconds[thread] += seconds[thread + half];
    }
    mbk_block_sync();
  }
  first = firsts[0];
  second = seconds[0];
}

// Writes the partial sums of block b to partials[2 b] and partials[2 b + 1].
MBK_DEVICE void mbk_pagerank_leave(double *shared, double first, double second,
                                   double *partials) {
  mbk_pagerank_sum(shared, first, second);
  if (mbk_thread() == 0) {
    partials[2 * mbk_block()] = first;
    partials[2 * mbk_block() + 1] = second;
  }
}

// Adds up the partial sums of `blocks` blocks in a fixed order; the result is in thread 0.
MBK_DEVICE void mbk_pagerank_gather(double *shared, const double *partials, mbk_u32 blocks,
                                    double &first, double &second) {
  first = second = 0;
  for (mbk_u32 b = mbk_thread(); b < blocks; b += MBK_PAGERANK_THREADS) {
    first += partials[2 * b];
    second += partials[2 * b + 1];
  }
  mbk_pagerank_sum(shared, first, second);
}

#include "solve/pagerank/pagerank_arguments.cuh"

// Computes W of a pattern: the length of each row, or -1 for an empty row. Launch: any grid of
// MBK_PAGERANK_THREADS threads. Shared: none.
MBK_KERNEL MBK_BOUNDS(MBK_PAGERANK_THREADS)
    mbk_pagerank_weigh(MBK_GRID_CONSTANT mbk_pagerank_weigh_arguments a) {
  for (mbk_u64 i = mbk_pagerank_place(); i < a.n; i += mbk_pagerank_stride()) {
    const MBK_ROW_PTR length = a.row_ptr[i + 1] - a.row_ptr[i];
    a.weights[i] = length > 0 ? (MBK_VECTOR)length : (MBK_VECTOR)-1;
  }
}

// Computes z = rank / W. If `given`, z holds the ranks on entry; otherwise they are 1 / n.
// Sums: the number of dangling vertices, and their mass. Launch: a grid that depends on n
// alone, MBK_PAGERANK_THREADS threads. Shared: double[2 * MBK_PAGERANK_THREADS].
MBK_KERNEL MBK_BOUNDS(MBK_PAGERANK_THREADS)
    mbk_pagerank_begin(MBK_GRID_CONSTANT mbk_pagerank_begin_arguments a) {
  MBK_SHARED_MEMORY(shared);
  double count = 0, mass = 0;
  for (mbk_u64 i = mbk_pagerank_place(); i < a.n; i += mbk_pagerank_stride()) {
    const double weight = (double)a.weights[i];
    const MBK_VECTOR rank = a.given ? a.z[i] : (MBK_VECTOR)(1.0 / (double)a.n);
    const MBK_VECTOR share = (MBK_VECTOR)((double)rank / (weight < 0 ? 1.0 : weight));
    count += weight < 0 ? 1.0 : 0.0;
    mass += weight < 0 ? (double)share : 0.0;
    a.z[i] = share;
  }
  mbk_pagerank_leave((double *)shared, count, mass, a.partials);
}

// Computes the scalars from which the first iteration starts. Launch: one block of
// MBK_PAGERANK_THREADS threads. Shared: double[2 * MBK_PAGERANK_THREADS].
MBK_KERNEL MBK_BOUNDS(MBK_PAGERANK_THREADS)
    mbk_pagerank_first(MBK_GRID_CONSTANT mbk_pagerank_first_arguments a) {
  MBK_SHARED_MEMORY(shared);
  double count, mass;
  mbk_pagerank_gather((double *)shared, a.partials, a.blocks, count, mass);
  if (mbk_thread() == 0) {
    a.m->state.scalar[MBI_PAGERANK_DANGLING] = count;
    mbi_pagerank_spread(&a.m->state, mass);
  }
}

// Computes z = (damping * y + base * teleport) / W; a null teleport means all ones. Sums: the
// change, and the mass of dangling vertices. Launch and shared memory: as mbk_pagerank_begin.
MBK_KERNEL MBK_BOUNDS(MBK_PAGERANK_THREADS)
    mbk_pagerank_update(MBK_GRID_CONSTANT mbk_pagerank_update_arguments a) {
  MBK_SHARED_MEMORY(shared);
  if (a.m->state.closed) {
    return;
  }
  const double damping = a.m->state.scalar[MBI_PAGERANK_DAMPING];
  const double base = a.m->state.scalar[MBI_PAGERANK_BASE];
  double change = 0, mass = 0;
  for (mbk_u64 i = mbk_pagerank_place(); i < a.n; i += mbk_pagerank_stride()) {
    const double given = (double)a.weights[i], weight = given < 0 ? 1.0 : given;
    const double share = a.teleport != nullptr ? base * (double)a.teleport[i] : base;
    const MBK_VECTOR next = (MBK_VECTOR)((damping * (double)a.y[i] + share) / weight);
    const double difference = ((double)next - (double)a.z[i]) * weight;
    change += difference < 0 ? -difference : difference;
    mass += given < 0 ? (double)next : 0.0;
    a.z[i] = next;
  }
  mbk_pagerank_leave((double *)shared, change, mass, a.partials);
}

// Adds up the sums of mbk_pagerank_update and ends the iteration. Launch: one block of
// MBK_PAGERANK_THREADS threads. Shared: double[2 * MBK_PAGERANK_THREADS].
MBK_KERNEL MBK_BOUNDS(MBK_PAGERANK_THREADS)
    mbk_pagerank_finish(MBK_GRID_CONSTANT mbk_pagerank_first_arguments a) {
  MBK_SHARED_MEMORY(shared);
  if (a.m->state.closed) {
    return;
  }
  double change, mass;
  mbk_pagerank_gather((double *)shared, a.partials, a.blocks, change, mass);
  if (mbk_thread() == 0) { // after a barrier: all threads have read `closed`
    mbi_pagerank_decide(a.m, change, mass);
  }
}

// Converts z to ranks. Launch: any grid of MBK_PAGERANK_THREADS threads. Shared: none.
MBK_KERNEL MBK_BOUNDS(MBK_PAGERANK_THREADS)
    mbk_pagerank_end(MBK_GRID_CONSTANT mbk_pagerank_end_arguments a) {
  for (mbk_u64 i = mbk_pagerank_place(); i < a.n; i += mbk_pagerank_stride()) {
    const MBK_VECTOR rank = a.weights[i] < 0 ? a.z[i] : a.z[i] * a.weights[i];
    a.z[i] = rank < 0 ? (MBK_VECTOR)0 : rank;
  }
}
