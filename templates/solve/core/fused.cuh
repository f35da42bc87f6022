// A fused vector kernel: several steps of a solver in one cooperative launch, so that all its
// blocks are resident. Its stages are the steps (name_stage). A thread has the same rows in
// each stage; only sums pass between blocks. Every block adds up the partial sums of all blocks
// in the same order and runs the scalar part on its own copy of the state, which is faster than
// waiting for one block to do it. After the last sums block 0 writes its copy back; by then all
// other blocks have read the state.
//
// Sums are exchanged without a barrier: each posted word carries a mark that says which
// exchange it belongs to. Source: protocol LL of NCCL (github.com/NVIDIA/nccl,
// src/device/prims_ll.h).

// The stages that follow a stage: one with sums; some without sums, which every block runs with
// its own copy of the state; or none, in which case only block 0 waits for the sums and runs
// the scalar part.
#define MBK_FUSED_SUMS_FOLLOW 0
#define MBK_FUSED_ROWS_FOLLOW 1
#define MBK_FUSED_END 2

// Rounds of the next stage whose rows are prefetched while a block waits for sums.
#define MBK_FUSED_PREFETCH 2

// The arguments that the stages of a fused kernel share. The kernel's arguments, launch and
// shared memory are those of a step; the launch is cooperative.
struct mbk_fused_call {
  const mbi_solve_vectors &v;
  mbk_i64 n;
  mbi_solve_memory *m;
  double *shared;
};

// Returns the block's copy of the state, which follows the memory of reductions.
MBK_DEVICE mbi_solve_state *mbk_fused_state(double *shared) {
  return (mbi_solve_state *)(shared + MBK_STEP_WARPS * MBI_SOLVE_SUMS);
}

// Copies the state. All threads of a block call it.
MBK_DEVICE void mbk_fused_copy(mbi_solve_state *to, const mbi_solve_state *from) {
  for (mbk_u32 i = mbk_thread(); i < sizeof *to / sizeof(mbk_u64); i += mbk_threads()) {
    ((mbk_u64 *)to)[i] = ((const mbk_u64 *)from)[i];
  }
}

// Begins a fused kernel; `shared` is the launch's shared memory. All blocks are resident, so a
// dependent launch may start: its blocks take the place of those that finish, and wait.
MBK_DEVICE mbk_fused_call mbk_fused_begin(const mbi_solve_vectors &v, mbk_i64 n,
                                          mbi_solve_memory *m, double *shared) {
  const mbk_fused_call s = {v, n, m, shared};
  mbi_solve_state *const own = mbk_fused_state(shared);
  mbk_release();
  mbk_fused_copy(own, &m->state);
  mbk_block_sync();
  if (mbk_thread() == 0) {
    own->copied = 1;
  }
  mbk_block_sync();
  return s;
}

// Writes the block's copy of the state back.
MBK_DEVICE void mbk_fused_write_back(mbi_solve_memory *m, const mbi_solve_state *own) {
  mbk_fused_copy(&m->state, own);
  mbk_block_sync(); // another thread writes the word that this one clears
  if (mbk_thread() == 0) {
    m->state.copied = 0;
    m->ring[own->iterations % MBI_SOLVE_RING] = own->rr;
  }
}

// Returns the slots for a stage's partial sums. Two sets alternate, because a block that is
// ahead writes one while others still read the other.
MBK_DEVICE mbk_u64 *mbk_fused_slots(const mbk_fused_call &s, const mbi_solve_state &c) {
  return s.v.posts + (c.turn & 1u) * 2 * MBI_FUSED_SUMS * mbk_grid();
}

// Prefetches the first rows of the next stage to L2 while sums are being exchanged. `slots` has
// a bit for each vector that no stage has read yet. One thread per 32-byte sector prefetches.
MBK_DEVICE void mbk_fused_prefetch(const mbk_fused_call &s, mbk_u32 slots, bool backwards) {
  const mbk_step_share share = mbk_step_shared_out(s.n);
  if (slots == 0 || mbk_thread() % (32 / sizeof(MBK_VECTOR)) != 0) {
    return;
  }
  for (mbk_u32 round = 0; round < MBK_FUSED_PREFETCH && round < share.rounds; round++) {
    const mbk_u32 first = mbk_step_first(share, round, backwards);
    for (mbk_u32 i = first; i < first + MBK_STEP_ROWS * share.stride && i < share.count;
         i += share.stride) {
#pragma unroll
      for (int slot = 0; slot < MBI_SOLVE_VECTORS; slot++) {
        if ((slots >> slot & 1u) != 0) {
          mbk_prefetch((const MBK_VECTOR *)s.v.at[slot] + i);
        }
      }
    }
  }
}

// Posts the block's partial sums. If the block `collects`, it then adds up those of all blocks;
// the sums are complete in thread 0. `ahead` and `backwards` are as in mbk_fused_stage.
template <int ADDS, int MAXES>
MBK_DEVICE void mbk_fused_exchange(const mbk_fused_call &s, const mbi_solve_state &c,
                                   double *sums, bool collects, mbk_u32 ahead, bool backwards) {
  const int COUNT = ADDS + MAXES > 0 ? ADDS + MAXES : 1;
  mbk_u64 *const slots = mbk_fused_slots(s, c);
  mbk_step_reduce<ADDS, MAXES>(sums, s.shared);
  if (mbk_thread() == 0) {
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      mbk_post(slots + 2 * (COUNT * mbk_block() + k), sums[k], c.turn + 1);
    }
  }
  if (!collects) {
    return;
  }
  mbk_fused_prefetch(s, ahead, !backwards);
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    sums[k] = 0;
  }
  for (mbk_u32 b = mbk_thread(); b < mbk_grid(); b += mbk_threads()) {
    double parts[COUNT];
    mbk_collect<COUNT>(slots + 2 * COUNT * b, c.turn + 1, COUNT, parts);
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      sums[k] = k < ADDS ? sums[k] + parts[k] : parts[k] > sums[k] ? parts[k] : sums[k];
    }
  }
  mbk_step_reduce<ADDS, MAXES>(sums, s.shared);
}

// Runs the scalar part in one thread of a block that has collected the sums.
template <void (*AFTER)(mbi_solve_memory *, const mbi_solve_state *, const double *)>
MBK_DEVICE void mbk_fused_after(const mbk_fused_call &s, const mbi_solve_state &c,
                                const double *sums) {
  mbi_solve_state *const own = mbk_fused_state(s.shared);
  if (mbk_thread() == 0) {
    AFTER((mbi_solve_memory *)own, &c, sums);
    own->turn = c.turn + 1;
  }
  mbk_block_sync();
}

// Returns whether the solver has stopped. If so, marks the iteration in which it stopped as
// complete, but writes nothing else, because other blocks may not have read the state yet.
MBK_DEVICE bool mbk_fused_stopped(const mbk_fused_call &s, const mbi_solve_state &c) {
  if (c.stop != MBI_SOLVE_RUNNING && mbk_block() == 0 && mbk_thread() == 0) {
    s.m->state.closed = 1;
  }
  return c.stop != MBI_SOLVE_RUNNING;
}

// Adds up the partial sums of p'A p that the product has left, in place of the stage that
// computes them. Returns whether the solver is still running.
template <void (*AFTER)(mbi_solve_memory *, const mbi_solve_state *, const double *)>
MBK_DEVICE bool mbk_fused_dots(const mbk_fused_call &s, bool backwards, mbk_u32 ahead) {
  const mbi_solve_state c = *mbk_fused_state(s.shared);
  double sum = 0;
  if (mbk_fused_stopped(s, c)) {
    return false;
  }
  for (mbk_i64 i = (mbk_i64)mbk_block() * mbk_threads() + mbk_thread(); i < s.v.dot_count;
       i += (mbk_i64)mbk_grid() * mbk_threads()) {
    sum += mbk_load_fresh(&s.v.dots[i]);
  }
  mbk_fused_exchange<1, 0>(s, c, &sum, true, ahead, backwards);
  mbk_fused_after<AFTER>(s, c, &sum);
  return true;
}

// Runs one stage. Returns whether the step was taken, on which all blocks agree; if not, no
// later stage may run. BEHIND says what follows (MBK_FUSED_*). `backwards` is the direction of
// the rows; the next stage runs in the other direction. `ahead` has a bit for each slot that
// the next stage is the first to read.
template <int (*BEFORE)(mbi_solve_state *),
          void (*ELEMENT)(mbk_i64, const mbi_solve_vectors *, const mbi_solve_state *, double *,
                          mbk_step_row *),
          void (*AFTER)(mbi_solve_memory *, const mbi_solve_state *, const double *), int ADDS,
          int MAXES, int WHEN, int BEHIND>
MBK_DEVICE bool mbk_fused_stage(const mbk_fused_call &s, bool backwards, mbk_u32 ahead) {
  const bool first = mbk_block() == 0 && mbk_thread() == 0;
  mbi_solve_state *const own = mbk_fused_state(s.shared);
  double sums[ADDS + MAXES > 0 ? ADDS + MAXES : 1] = {};
  mbi_solve_state c = *own;
  if (WHEN == MBS_RUNNING && mbk_fused_stopped(s, c)) {
    return false;
  }
  if (WHEN == MBS_UNTIL_CLOSED && c.closed) {
    return false;
  }
  const int wrong = BEFORE(&c);
  if (wrong != 0) {
    if (mbk_block() == 0) {
      mbk_fused_write_back(s.m, own);
    }
    if (first) {
      s.m->state.why = c.why;
      s.m->state.value = c.value;
      s.m->state.closed = 1;
      s.m->state.stop = wrong;
    }
    return false;
  }
  if (s.v.pre == MBI_PRE_NONE) {
    mbk_step_rows<ELEMENT, ADDS, MAXES, MBI_PRE_NONE>(s.v, s.n, c, sums, backwards);
  } else {
    mbk_step_rows<ELEMENT, ADDS, MAXES, MBI_PRE_DIAGONAL>(s.v, s.n, c, sums, backwards);
  }
  if (ADDS + MAXES > 0) {
    const bool collects = BEHIND != MBK_FUSED_END || mbk_block() == 0;
    mbk_fused_exchange<ADDS, MAXES>(s, c, sums, collects, ahead, backwards);
    if (collects) {
      mbk_fused_after<AFTER>(s, c, sums);
    }
    if (BEHIND != MBK_FUSED_SUMS_FOLLOW && mbk_block() == 0) { // all copies are equal
      mbk_fused_write_back(s.m, own);
    }
  }
  return true;
}
