// A sweep is several steps of a solver in one launch. Its blocks, which are all resident
// because the launch is cooperative, hand each other their sums between its stages, the steps
// (name_stage); a thread has the same rows in each, so that nothing else passes between blocks
// and what they store need not have arrived. Every block adds up the parts of all, in the same
// order, and runs the scalar part on a copy of the state: that is sooner than to wait until one
// has done it for all. Behind the last sums one copy is given back, when all others have long
// read what was there.
//
// Source of the exchange, numbers that travel with a mark in each word instead of a barrier:
// protocol LL of NCCL (github.com/NVIDIA/nccl, src/device/prims_ll.h).

// What is behind a stage: another one with sums; ones without, which every block takes with its
// own copy; or nothing, and then the first block waits for the others and runs the scalar part
// for all.
#define MBK_FUSED_SUMS_FOLLOW 0
#define MBK_FUSED_ROWS_FOLLOW 1
#define MBK_FUSED_END 2

// Rounds of the next stage whose rows are asked for while its sums are waited for.
#define MBK_FUSED_PREFETCH 2

// Of every kernel of a sweep. Launch: as of a step's, cooperative; arguments and shared memory
// too.
struct mbk_fused {
  const mbi_solve_vectors &v;
  mbk_i64 n;
  mbi_solve_memory *m;
  double *shared;
};

// The block's copy of the state, behind what reductions use.
MBK_DEVICE mbi_solve_state *mbk_fused_state(double *shared) {
  return (mbi_solve_state *)(shared + MBK_STEP_WARPS * MBI_SOLVE_SUMS);
}

// Copies the state. All threads of a block call it at once; the smallest block is a warp.
MBK_DEVICE void mbk_fused_copy(mbi_solve_state *to, const mbi_solve_state *from) {
  for (mbk_u32 i = mbk_thread(); i < sizeof *to / sizeof(mbk_u64); i += mbk_threads()) {
    ((mbk_u64 *)to)[i] = ((const mbk_u64 *)from)[i];
  }
}

// Before the first stage; `shared` is that of the launch. All blocks are here at once: what
// comes next, where it is launched early, takes the room that they leave and waits.
MBK_DEVICE mbk_fused mbk_fused_begin(const mbi_solve_vectors &v, mbk_i64 n, mbi_solve_memory *m,
                                     double *shared) {
  const mbk_fused s = {v, n, m, shared};
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

// What the block has made of the state, to all.
MBK_DEVICE void mbk_fused_write_back(mbi_solve_memory *m, const mbi_solve_state *own) {
  mbk_fused_copy(&m->state, own);
  mbk_block_sync(); // global memory: another thread copies the word that this one clears
  if (mbk_thread() == 0) {
    m->state.copied = 0;
    m->ring[own->iterations % MBI_SOLVE_RING] = own->rr;
  }
}

// Where a stage's parts go. By turns: who is ahead writes while others still read those of the
// stage before.
MBK_DEVICE mbk_u64 *mbk_fused_slots(const mbk_fused &s, const mbi_solve_state &c) {
  return s.v.posts + (c.turn & 1u) * 2 * MBI_FUSED_SUMS * mbk_grid();
}

// To L2 what the next stage reads first and none before has read, the vectors in `slots`, a bit
// for each: while sums are on their way memory has nothing else to do. A thread for each
// sector.
MBK_DEVICE void mbk_fused_prefetch(const mbk_fused &s, mbk_u32 slots, bool backwards) {
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

// The block's parts for all, and from all of them the sums, complete in thread 0, of who
// `collects`; `ahead` and `backwards` as for mbk_fused_stage.
template <int ADDS, int MAXES>
MBK_DEVICE void mbk_fused_exchange(const mbk_fused &s, const mbi_solve_state &c, double *sums,
                                   bool collects, mbk_u32 ahead, bool backwards) {
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
    mbk_collect<COUNT>(slots + 2 * COUNT * b, c.turn + 1, parts);
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      sums[k] = k < ADDS ? sums[k] + parts[k] : parts[k] > sums[k] ? parts[k] : sums[k];
    }
  }
  mbk_step_reduce<ADDS, MAXES>(sums, s.shared);
}

// The scalar part, by one thread of a block that has collected.
template <void (*AFTER)(mbi_solve_memory *, const mbi_solve_state *, const double *)>
MBK_DEVICE void mbk_fused_after(const mbk_fused &s, const mbi_solve_state &c,
                                const double *sums) {
  mbi_solve_state *const own = mbk_fused_state(s.shared);
  if (mbk_thread() == 0) {
    AFTER((mbi_solve_memory *)own, &c, sums);
    own->turn = c.turn + 1;
  }
  mbk_block_sync();
}

// Whether the solver had stopped; then the iteration in which it did is complete. Nothing else
// is written here, for other blocks may not have read it.
MBK_DEVICE bool mbk_fused_stopped(const mbk_fused &s, const mbi_solve_state &c) {
  if (c.stop != MBI_SOLVE_RUNNING && mbk_block() == 0 && mbk_thread() == 0) {
    s.m->state.closed = 1;
  }
  return c.stop != MBI_SOLVE_RUNNING;
}

// In place of a stage that adds up a product's sum, where that has left its parts: whether the
// solver runs.
template <void (*AFTER)(mbi_solve_memory *, const mbi_solve_state *, const double *)>
MBK_DEVICE bool mbk_fused_dots(const mbk_fused &s, bool backwards, mbk_u32 ahead) {
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

// Whether the step was taken, which all blocks agree on: if not, no later one is. BEHIND: what
// follows, of the above. Rows go `backwards` or forwards, those of the next stage the other
// way; `ahead`: slots, a bit for each, that it reads and none before has, where sums follow.
template <int (*BEFORE)(mbi_solve_state *),
          void (*ELEMENT)(mbk_i64, const mbi_solve_vectors *, const mbi_solve_state *, double *,
                          mbk_step_row *),
          void (*AFTER)(mbi_solve_memory *, const mbi_solve_state *, const double *), int ADDS,
          int MAXES, int WHEN, int BEHIND>
MBK_DEVICE bool mbk_fused_stage(const mbk_fused &s, bool backwards, mbk_u32 ahead) {
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
    if (BEHIND != MBK_FUSED_SUMS_FOLLOW && mbk_block() == 0) { // others' copies are as its own
      mbk_fused_write_back(s.m, own);
    }
  }
  return true;
}
