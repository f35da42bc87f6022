// A step of a solver on the GPU: elementwise work on vectors, deterministic sums, and the
// scalar part after them, in one launch. Steps are written in files named *steps.cuh, which the
// CPU compiles too; solve/core/step_text.cuh says how.
//
// Each block adds up its rows in a tree of fixed shape. The last block to finish adds up the
// partial sums of all blocks in their order and runs the scalar part. The grid depends only on
// n and the GPU, so that runs agree bit for bit, and all its blocks are resident at once. A
// thread processes MBK_STEP_ROWS rows at a time and stores their results only after it has
// issued the loads of all of them; the compiler could not reorder loads and stores itself,
// because pointers may alias.
//
// A fused vector kernel is several steps in one launch: solve/core/fused.cuh.
#ifndef MBK_VECTOR
#error "define MBK_VECTOR: the type of vectors in memory"
#endif
#ifndef MBK_STEP_ROWS
#error "define MBK_STEP_ROWS: the rows that a thread processes at a time"
#endif
#ifndef MBK_STEP_COLUMNS
#define MBK_STEP_COLUMNS 1 // right-hand sides of a launch, each with its own thread blocks
#endif
#include "jit/device.cuh"

#define MBS_FUNCTION MBK_DEVICE
#include "solve/core/state.cuh"

#define MBK_STEP_THREADS 768
#define MBK_STEP_WARPS (MBK_STEP_THREADS / 32) // the most warps of a block
#define MBK_STEP_RESIDENT 1                    // blocks per multiprocessor
#define MBK_STEP_FULL 0xffffffffu

#define MBS_VECTOR MBK_VECTOR
#define MBS_INDEX mbk_i64
#define MBS_ALWAYS 0
#define MBS_RUNNING 1
#define MBS_UNTIL_CLOSED 2

#define MBS_BEFORE(name) MBK_DEVICE int name##_before(mbi_solve_state *c)
#define MBS_ELEMENT(name)                                                                      \
  MBK_DEVICE void name##_element(MBS_INDEX i, const mbi_solve_vectors *v,                      \
                                 const mbi_solve_state *c, double *sums,                       \
                                 __attribute__((unused)) mbk_step_row *held)
#define MBS_STORE(slot, value)                                                                 \
  (held->at[slot] = (MBS_VECTOR)(value), held->slots |= 1u << (slot))
#define MBS_AFTER(name)                                                                        \
  MBK_DEVICE void name##_after(mbi_solve_memory *m, const mbi_solve_state *c,                  \
                               const double *sums)
#define MBS_STEP(name, adds, maxes, when)                                                      \
  MBK_DEVICE void name##_step(const mbi_solve_vectors &v, mbk_i64 n, mbi_solve_memory *m,      \
                              double *partials, double *shared) {                              \
    mbk_step<name##_before, name##_element, name##_after, adds, maxes, when>(                  \
        v, n, m, partials, shared);                                                            \
  }                                                                                            \
  template <int BEHIND>                                                                        \
  MBK_DEVICE bool name##_stage(const mbk_fused_call &s, bool backwards, mbk_u32 ahead) {       \
    return mbk_fused_stage<name##_before, name##_element, name##_after, adds, maxes, when,     \
                           BEHIND>(s, backwards, ahead);                                       \
  }

// Launch of every step's kernel: blocks of MBK_STEP_THREADS threads, or as many whole warps as
// n rows need if that is less; at most MBK_STEP_RESIDENT blocks per multiprocessor, all
// resident. The grid depends only on n and the GPU. Shared: MBI_STEP_SHARED bytes. partials:
// MBI_SOLVE_SUMS doubles per block.

// Returns the number of thread blocks per right-hand side.
MBK_DEVICE mbk_u32 mbk_step_grid() {
  return mbk_grid() / MBK_STEP_COLUMNS;
}
// Returns the index of this block among those of its right-hand side.
MBK_DEVICE mbk_u32 mbk_step_block() {
  return MBK_STEP_COLUMNS == 1 ? mbk_block() : mbk_block() % mbk_step_grid();
}

struct mbk_step_row { // the results of a row before they are stored
  MBK_VECTOR at[MBI_SOLVE_VECTORS];
  mbk_u32 slots; // a bit for each slot whose result is held
};

// Reduces sums and maxima over the warp; the result is in lane 0. Maxima are not negative.
template <int ADDS, int MAXES> MBK_DEVICE void mbk_step_lanes(double *sums) {
#pragma unroll
  for (int k = 0; k < ADDS + MAXES; k++) {
    for (int delta = 16; delta > 0; delta /= 2) {
      const double other = mbk_shuffle_down(MBK_STEP_FULL, sums[k], delta, 32);
      sums[k] = k < ADDS ? sums[k] + other : other > sums[k] ? other : sums[k];
    }
  }
}

// Reduces sums and maxima over the block; the result is in thread 0.
template <int ADDS, int MAXES> MBK_DEVICE void mbk_step_reduce(double *sums, double *shared) {
  const int COUNT = ADDS + MAXES;
  const mbk_u32 warp = mbk_thread() / 32;
  mbk_step_lanes<ADDS, MAXES>(sums);
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    if (mbk_lane() == 0) {
      shared[warp * COUNT + k] = sums[k];
    }
  }
  mbk_block_sync();
  if (warp == 0) {
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      sums[k] = mbk_lane() < mbk_threads() / 32 ? shared[mbk_lane() * COUNT + k] : 0;
    }
    mbk_step_lanes<ADDS, MAXES>(sums);
  }
  mbk_block_sync();
}

// Stores this block's partial sums and returns whether it is the last block to finish. If so,
// the partial sums of all other blocks are visible.
template <int COUNT>
MBK_DEVICE bool mbk_step_last(mbi_solve_memory *m, const double *sums, double *partials,
                              double *shared) {
  mbk_u32 *const last = (mbk_u32 *)(shared + MBK_STEP_WARPS * COUNT);
  if (mbk_thread() == 0) {
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      partials[COUNT * mbk_step_block() + k] = sums[k];
    }
    mbk_fence();
    *last = mbk_atomic_add(&m->state.ticket, 1u) == mbk_step_grid() - 1;
  }
  mbk_block_sync();
  const bool answer = *last != 0;
  mbk_fence();
  return answer;
}

// Adds up this thread's share of the blocks' partial sums, which must be visible.
template <int ADDS, int MAXES>
MBK_DEVICE void mbk_step_total(const double *partials, double *sums) {
  const int COUNT = ADDS + MAXES;
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    sums[k] = 0;
    for (mbk_u32 b = mbk_thread(); b < mbk_step_grid(); b += mbk_threads()) {
      const double part = mbk_load_fresh(&partials[COUNT * b + k]);
      sums[k] = k < ADDS ? sums[k] + part : part > sums[k] ? part : sums[k];
    }
  }
}

// The rows of a thread: MBK_STEP_ROWS rows, `stride` apart, in each of `rounds` rounds.
struct mbk_step_share {
  mbk_u32 count, stride, own, rounds;
};

MBK_DEVICE mbk_step_share mbk_step_shared_out(mbk_i64 n) {
  const mbk_u32 count = (mbk_u32)n; // a matrix has fewer than 2^31 rows
  const mbk_u32 stride = mbk_step_grid() * mbk_threads();
  const mbk_u32 own = mbk_step_block() * mbk_threads() + mbk_thread();
  const mbk_u32 rounds = own < count ? (count - 1 - own) / (stride * MBK_STEP_ROWS) + 1 : 0;
  const mbk_step_share share = {count, stride, own, rounds};
  return share;
}

// Returns the thread's first row of a round. `backwards` counts rounds from the last one.
MBK_DEVICE mbk_u32 mbk_step_first(const mbk_step_share &share, mbk_u32 round, bool backwards) {
  const mbk_u32 at = backwards ? share.rounds - 1 - round : round;
  return share.own + at * share.stride * MBK_STEP_ROWS;
}

// Runs a step on the rows of this thread, from the first to the last or `backwards`. Stages of
// a fused kernel alternate the direction, so that each begins with rows that the previous stage
// has left in the cache. If fewer than MBK_STEP_ROWS rows are left, the first one is computed
// again in place of the missing ones and its result is dropped. PRE is v.pre as a constant, so
// that no branch separates the loads, or -1.
template <void (*ELEMENT)(mbk_i64, const mbi_solve_vectors *, const mbi_solve_state *, double *,
                          mbk_step_row *),
          int ADDS, int MAXES, int PRE>
MBK_DEVICE void mbk_step_rows(const mbi_solve_vectors &given, mbk_i64 n,
                              const mbi_solve_state &c, double *sums, bool backwards) {
  const int COUNT = ADDS + MAXES > 0 ? ADDS + MAXES : 1;
  const mbk_step_share share = mbk_step_shared_out(n);
  const mbk_u32 count = share.count, stride = share.stride;
  mbi_solve_vectors v = given;
  v.pre = PRE >= 0 ? PRE : given.pre;
  for (mbk_u32 round = 0; round < share.rounds; round++) {
    const mbk_u32 first = mbk_step_first(share, round, backwards);
    mbk_step_row rows[MBK_STEP_ROWS];
    double parts[MBK_STEP_ROWS][COUNT];
#pragma unroll
    for (int u = 0; u < MBK_STEP_ROWS; u++) {
      const mbk_u32 i = first + u * stride < count ? first + u * stride : first;
      rows[u].slots = 0;
#pragma unroll
      for (int k = 0; k < COUNT; k++) {
        parts[u][k] = 0;
      }
      ELEMENT(i, &v, &c, parts[u], &rows[u]);
    }
#pragma unroll
    for (int u = 0; u < MBK_STEP_ROWS; u++) {
      const mbk_u32 i = first + u * stride;
      if (i < count) {
#pragma unroll
        for (int slot = 0; slot < MBI_SOLVE_VECTORS; slot++) {
          if ((rows[u].slots >> slot & 1u) != 0) {
            ((MBK_VECTOR *)v.at[slot])[i] = rows[u].at[slot];
          }
        }
#pragma unroll
        for (int k = 0; k < ADDS + MAXES; k++) {
          const double part = parts[u][k];
          sums[k] = k < ADDS ? sums[k] + part : part > sums[k] ? part : sums[k];
        }
      }
    }
  }
}

// Runs a step: its rows, the sums, and in the last block the scalar part.
template <int (*BEFORE)(mbi_solve_state *),
          void (*ELEMENT)(mbk_i64, const mbi_solve_vectors *, const mbi_solve_state *, double *,
                          mbk_step_row *),
          void (*AFTER)(mbi_solve_memory *, const mbi_solve_state *, const double *), int ADDS,
          int MAXES, int WHEN>
MBK_DEVICE void mbk_step(const mbi_solve_vectors &v, mbk_i64 n, mbi_solve_memory *m,
                         double *partials, double *shared) {
  const int COUNT = ADDS + MAXES;
  const bool first = mbk_step_block() == 0 && mbk_thread() == 0;
  double sums[COUNT > 0 ? COUNT : 1] = {};
  mbi_solve_state c = m->state;
  if (WHEN == MBS_RUNNING && c.stop != MBI_SOLVE_RUNNING) {
    if (first) {
      m->state.closed = 1;
    }
    return;
  }
  if (WHEN == MBS_UNTIL_CLOSED && c.closed) {
    return;
  }
  const int wrong = BEFORE(&c);
  if (wrong != 0) { // the same in every block
    if (first) {
      m->state.why = c.why;
      m->state.value = c.value;
      m->state.closed = 1;
      m->state.stop = wrong;
    }
    return;
  }
  mbk_step_rows<ELEMENT, ADDS, MAXES, -1>(v, n, c, sums, false);
  if (COUNT == 0) {
    return;
  }
  mbk_step_reduce<ADDS, MAXES>(sums, shared);
  if (mbk_step_grid() > 1) {
    if (!mbk_step_last<COUNT>(m, sums, partials, shared)) {
      return;
    }
    mbk_step_total<ADDS, MAXES>(partials, sums);
    mbk_step_reduce<ADDS, MAXES>(sums, shared);
  }
  if (mbk_thread() == 0) {
    AFTER(m, &c, sums);
    m->state.ticket = 0;
  }
}

#include "solve/core/step_arguments.cuh"

// Prepares a round of iterations by mbi_solve_open. Launch: one thread.
MBK_KERNEL mbk_solve_open(MBK_GRID_CONSTANT mbk_solve_open_arguments a) {
  mbi_solve_open(a.m, a.how, a.span, a.cap, a.tolerance, a.shrink, a.epsilon);
}

#include "solve/core/step_text.cuh"

#include "solve/core/fused.cuh"
