// Steps with many sums on the GPU; solve/core/wide_steps.cuh says how to write them. The sums
// are deterministic, as in solve/core/step.cuh, and are computed and reduced in groups.
// partials: (blocks + 1) doubles per sum.
#include "solve/core/step.cuh"

#define MBS_CALLED MBK_CALLED
#define MBS_WIDE_COUNT(name) MBK_DEVICE int name##_count(const mbi_solve_state *c)
#define MBS_WIDE_ELEMENT(name)                                                                 \
  MBK_DEVICE void name##_element(MBS_INDEX i, const mbi_solve_vectors *v,                      \
                                 const mbi_solve_state *c, int first, double *sums)
#define MBS_WIDE_AFTER(name)                                                                   \
  MBK_DEVICE void name##_after(mbi_solve_memory *m, const mbi_solve_vectors *v,                \
                               const double *sums)
#define MBS_WIDE_STEP(name)                                                                    \
  MBK_DEVICE void name##_step(const mbi_solve_vectors &v, mbk_i64 n, mbi_solve_memory *m,      \
                              double *partials, double *shared) {                              \
    mbk_wide_step<name##_count, name##_element, name##_after>(v, n, m, partials, shared);      \
  }

// Returns whether this block is the last to finish. If so, the partial sums of all other blocks
// are visible. The answer lies after the memory of a reduction, because the next reduction may
// begin while a thread still reads it.
MBK_DEVICE bool mbk_wide_last(mbi_solve_memory *m, double *shared) {
  mbk_u32 *const last = (mbk_u32 *)(shared + MBK_STEP_WARPS * MBI_WIDE_GROUP);
  if (mbk_thread() == 0) {
    mbk_fence();
    *last = mbk_atomic_add(&m->state.ticket, 1u) == mbk_grid() - 1;
  }
  mbk_block_sync();
  const bool answer = *last != 0;
  mbk_fence();
  return answer;
}

// Adds up the blocks' partial sums of a group of sums into `totals`, in the last block.
MBK_DEVICE void mbk_wide_total(int count, int first, const double *partials, double *totals,
                               double *shared) {
  double sums[MBI_WIDE_GROUP] = {};
#pragma unroll
  for (int k = 0; k < MBI_WIDE_GROUP; k++) {
    for (mbk_u32 b = mbk_thread(); b < mbk_grid() && first + k < count; b += mbk_threads()) {
      sums[k] += mbk_load_fresh(&partials[(mbk_i64)(first + k) * mbk_grid() + b]);
    }
  }
  mbk_step_reduce<MBI_WIDE_GROUP, 0>(sums, shared);
  if (mbk_thread() == 0) {
#pragma unroll
    for (int k = 0; k < MBI_WIDE_GROUP; k++) {
      if (first + k < count) {
        totals[first + k] = sums[k];
      }
    }
  }
}

// Runs a step with many sums.
template <int (*COUNT)(const mbi_solve_state *),
          void (*ELEMENT)(mbk_i64, const mbi_solve_vectors *, const mbi_solve_state *, int,
                          double *),
          void (*AFTER)(mbi_solve_memory *, const mbi_solve_vectors *, const double *)>
MBK_DEVICE void mbk_wide_step(const mbi_solve_vectors &v, mbk_i64 n, mbi_solve_memory *m,
                              double *partials, double *shared) {
  const mbi_solve_state c = m->state;
  if (c.stop != MBI_SOLVE_RUNNING) {
    if (mbk_block() == 0 && mbk_thread() == 0) {
      m->state.closed = 1;
    }
    return;
  }
  const int count = COUNT(&c);
  for (int first = 0; first < count; first += MBI_WIDE_GROUP) {
    double sums[MBI_WIDE_GROUP] = {};
    for (mbk_i64 i = (mbk_i64)mbk_block() * mbk_threads() + mbk_thread(); i < n;
         i += (mbk_i64)mbk_grid() * mbk_threads()) {
      ELEMENT(i, &v, &c, first, sums);
    }
    mbk_step_reduce<MBI_WIDE_GROUP, 0>(sums, shared);
    if (mbk_thread() == 0) {
#pragma unroll
      for (int k = 0; k < MBI_WIDE_GROUP; k++) {
        if (first + k < count) {
          partials[(mbk_i64)(first + k) * mbk_grid() + mbk_block()] = sums[k];
        }
      }
    }
  }
  if (!mbk_wide_last(m, shared)) {
    return;
  }
  double *const totals = partials + (mbk_i64)count * mbk_grid();
  for (int first = 0; first < count; first += MBI_WIDE_GROUP) {
    mbk_wide_total(count, first, partials, totals, shared);
  }
  if (mbk_thread() == 0) {
    AFTER(m, &v, totals);
    m->state.ticket = 0;
  }
}
