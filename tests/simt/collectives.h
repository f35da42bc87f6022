// Warp operations as rendezvous on (warp, operation, mask), the block's barrier, and waits for
// other blocks. Part of simt.h.
#ifndef SIMT_COLLECTIVES_H
#define SIMT_COLLECTIVES_H
#include "fibres.h"
#include "races.h"

SIMT_INLINE bool simt_same(const simt_operation &a, const simt_operation &b) {
  return a.state == b.state && a.mask == b.mask && a.width == b.width && a.bytes == b.bytes &&
         a.site.line == b.site.line &&
         (a.site.file == b.site.file || strcmp(a.site.file, b.site.file) == 0);
}

SIMT_INLINE void simt_release(unsigned thread) {
  simt.threads[thread].operation.state = SIMT_RUNS;
  simt_push(thread);
}

// Returns the lane that `lane` reads, by the rules of the PTX instruction shfl.sync.
SIMT_PLAIN SIMT_FUNCTION unsigned simt_source(const simt_operation &operation, unsigned lane,
                                              int argument) {
  const unsigned width = (unsigned)operation.width, inside = lane & (width - 1u);
  const unsigned delta = (unsigned)argument;
  switch (operation.state) {
  case SIMT_SHUFFLE:
    return lane - inside + (delta & (width - 1u));
  case SIMT_SHUFFLE_UP:
    return inside < delta ? lane : lane - delta;
  case SIMT_SHUFFLE_XOR: // may reach an earlier group, but not a later one
    return (lane ^ delta) > (lane | (width - 1u)) ? lane : lane ^ delta;
  default:
    return inside + delta >= width ? lane : lane + delta;
  }
}

// Returns what a lane gets from a shuffle, once all lanes of the mask have arrived.
SIMT_PLAIN SIMT_FUNCTION simt_word simt_shuffled(unsigned first,
                                                 const simt_operation &operation,
                                                 unsigned lane) {
  const simt_thread *const threads = simt.threads + first;
  const unsigned source = simt_source(operation, lane, threads[lane].argument);
  if (!simt_in(operation.mask, source)) {
    SIMT_FAIL("%s reads lane %u, which the mask lacks, in %s", simt_name(first + lane).text,
              source, simt_describe(operation).text);
  }
  return threads[source].in;
}

// Returns the mask of the lanes whose value equals that of `lane`.
SIMT_PLAIN SIMT_FUNCTION uint32_t simt_equal(unsigned first, uint32_t mask, unsigned lane) {
  const simt_thread *const threads = simt.threads + first;
  const simt_word &mine = threads[lane].in;
  uint32_t equal = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const unsigned other = (unsigned)__builtin_ctz(left);
    const simt_word &in = threads[other].in;
    equal |= (uint32_t)(in.half[0] == mine.half[0] && in.half[1] == mine.half[1]) << other;
  }
  return equal;
}

// Returns the result of a vote or a sum, the same for all lanes.
SIMT_PLAIN SIMT_FUNCTION uint32_t simt_common(unsigned first, const simt_operation &operation) {
  const simt_thread *const threads = simt.threads + first;
  uint32_t votes = 0, sum = 0;
  for (uint32_t left = operation.mask; left != 0; left &= left - 1) {
    const unsigned other = (unsigned)__builtin_ctz(left);
    votes |= (uint32_t)(threads[other].argument != 0) << other;
    sum += (uint32_t)threads[other].in.half[0];
  }
  switch (operation.state) {
  case SIMT_BALLOT:
    return votes;
  case SIMT_ANY:
    return votes != 0;
  case SIMT_ALL:
    return votes == operation.mask;
  default:
    return sum;
  }
}

// Exchanges the values once all lanes of the mask have arrived, and releases the lanes.
SIMT_PLAIN SIMT_FUNCTION void simt_complete(unsigned first, const simt_operation &operation) {
  const bool one = operation.state < SIMT_SHUFFLE && operation.state != SIMT_WARP_SYNC &&
                   operation.state != SIMT_MATCH_ANY;
  const uint32_t common = one ? simt_common(first, operation) : 0;
  simt.report.collectives++;
  for (uint32_t left = operation.mask; left != 0; left &= left - 1) {
    const unsigned lane = (unsigned)__builtin_ctz(left);
    if (operation.state >= SIMT_SHUFFLE) {
      simt.threads[first + lane].out = simt_shuffled(first, operation, lane);
    } else if (operation.state == SIMT_MATCH_ANY) {
      simt.threads[first + lane].out = {{simt_equal(first, operation.mask, lane), 0}};
    } else if (one) {
      simt.threads[first + lane].out = {{common, 0}};
    }
    simt_release(first + lane);
  }
  if (operation.state == SIMT_WARP_SYNC) { // votes and shuffles order no memory
    simt_races_meet(first, operation.mask);
  }
}

[[noreturn]] SIMT_FUNCTION void simt_never_meets(unsigned me, const simt_operation &mine,
                                                 unsigned t, const char *kind) {
  const simt_operation &other = simt.threads[t].operation;
  SIMT_FAIL("%s waits in %s for %s, which %s%s (%s)", simt_name(me).text,
            simt_describe(mine).text, simt_name(t).text,
            other.state == SIMT_EXITED ? "" : "is in ", simt_describe(other).text, kind);
}

// Opens a rendezvous for its first lane: no lane of its mask may have exited or wait for this
// lane elsewhere.
SIMT_PLAIN SIMT_FUNCTION void simt_open(unsigned me, const simt_operation &mine) {
  for (uint32_t left = mine.mask & ~(1u << me % 32); left != 0; left &= left - 1) {
    const unsigned t = me / 32 * 32 + (unsigned)__builtin_ctz(left);
    const simt_operation &other = simt.threads[t].operation;
    if (other.state == SIMT_EXITED || other.state == SIMT_BLOCK_SYNC ||
        (other.state >= SIMT_WARP_SYNC && simt_in(other.mask, me % 32))) {
      simt_never_meets(me, mine, t, "divergent collective");
    }
  }
}

// Checks the arguments that all lanes of an operation share.
SIMT_PLAIN SIMT_FUNCTION void simt_check_operation(unsigned me, const simt_operation &mine) {
  const unsigned lanes = simt.block_threads - me / 32 * 32;
  if (lanes < 32 && mine.mask >> lanes != 0) {
    SIMT_FAIL("%s names lanes beyond the block's %u threads in %s", simt_name(me).text,
              simt.block_threads, simt_describe(mine).text);
  }
  if (mine.width < 1 || mine.width > 32 || (mine.width & (mine.width - 1)) != 0) {
    SIMT_FAIL("%s gives a width that is not a power of two up to 32 in %s", simt_name(me).text,
              simt_describe(mine).text);
  }
}

// Checks the arguments of one lane.
SIMT_INLINE void simt_check_call(unsigned me, const simt_operation &mine, int argument) {
  if (!simt_in(mine.mask, me % 32)) {
    SIMT_FAIL("%s is not in its own mask in %s", simt_name(me).text, simt_describe(mine).text);
  }
  if (mine.state > SIMT_SHUFFLE && (argument < 0 || argument > 31)) {
    SIMT_FAIL("%s gives delta %d, not 0 to 31, in %s", simt_name(me).text, argument,
              simt_describe(mine).text);
  }
}

// Performs one warp operation of the current thread: value in, result out.
SIMT_PLAIN SIMT_FUNCTION simt_word simt_collective(const simt_operation &mine, int argument,
                                                   simt_word value) {
  const unsigned me = simt.current;
  simt_thread &thread = simt.threads[me];
  simt_warp &warp = simt.warps[me / 32];
  unsigned i = 0;
  simt_check_call(me, mine, argument);
  while (i < warp.open && !simt_same(warp.rendezvous[i].operation, mine)) {
    i++;
  }
  if (i == warp.open) {
    simt_check_operation(me, mine);
    simt_open(me, mine);
    warp.rendezvous[i].operation = mine;
    warp.rendezvous[i].arrived = 0;
    warp.open++;
  }
  thread.operation.state = mine.state; // field by field, as they were stored
  thread.operation.mask = mine.mask;
  thread.operation.width = mine.width;
  thread.operation.bytes = mine.bytes;
  thread.operation.site.file = mine.site.file;
  thread.operation.site.line = mine.site.line;
  thread.argument = argument;
  thread.in = value;
  warp.rendezvous[i].arrived |= 1u << me % 32;
  if (warp.rendezvous[i].arrived == mine.mask) {
    warp.rendezvous[i] = warp.rendezvous[--warp.open];
    simt_complete(me / 32 * 32, mine);
  }
  simt_next();
  return thread.out;
}

// Returns what a shuffle gives the current lane. Programs compiled without optimisation take it
// from apart.cpp or the fake's run.cpp; in others a local copy is faster.
template <class T>
SIMT_PLAIN T simt_exchange(simt_state state, uint32_t mask, T value, int argument, int width,
                           simt_site site) {
  static_assert(sizeof(T) <= sizeof(simt_word), "a shuffle moves up to 16 bytes");
  simt_word word = {};
  memcpy(&word, &value, sizeof value);
  word = simt_collective({state, mask, width, sizeof value, site}, argument, word);
  memcpy(&value, &word, sizeof value);
  return value;
}
#if defined(SIMT_HERE)
#define SIMT_EXCHANGE template
#elif defined(SIMT_APART) && !defined(__OPTIMIZE__)
#define SIMT_EXCHANGE extern template
#endif
#ifdef SIMT_EXCHANGE
SIMT_EXCHANGE float simt_exchange(simt_state, uint32_t, float, int, int, simt_site);
SIMT_EXCHANGE double simt_exchange(simt_state, uint32_t, double, int, int, simt_site);
SIMT_EXCHANGE int simt_exchange(simt_state, uint32_t, int, int, int, simt_site);
SIMT_EXCHANGE unsigned simt_exchange(simt_state, uint32_t, unsigned, int, int, simt_site);
#endif

SIMT_PLAIN SIMT_FUNCTION void simt_block_sync(simt_site site) {
  const unsigned me = simt.current, waiting = simt_waits_for(me);
  const simt_operation mine = {SIMT_BLOCK_SYNC, 0, 1, 0, site};
  if (waiting != me) {
    simt_never_meets(me, mine, waiting, "divergent collective");
  }
  if (simt.exited > 0) {
    simt_never_meets(me, mine, simt_find(SIMT_EXITED), "missing barrier");
  }
  if (simt.at_barrier > 0 && !simt_same(mine, simt.barrier)) {
    simt_never_meets(me, mine, simt_find(SIMT_BLOCK_SYNC), "missing barrier");
  }
  simt.threads[me].operation = simt.barrier = mine;
  if (++simt.at_barrier == simt.block_threads) {
    simt.report.collectives++;
    simt.at_barrier = 0;
    simt_races_barrier();
    for (unsigned t = 0; t < simt.block_threads; t++) {
      simt_release(t);
    }
  }
  simt_next();
}

// Stores a word for other blocks and records the block that stores it.
SIMT_FUNCTION void simt_post(unsigned long long *word, unsigned long long value) {
  *word = value;
  simt.posted[word] = simt.block;
}

// Waits until another block has stored a word whose lower half is `wanted`. In a launch that is
// not cooperative, it must be a block of a lower number.
SIMT_FUNCTION void simt_wait_mark(const unsigned long long *word, uint32_t wanted,
                                  simt_site site) {
  const unsigned me = simt.current;
  const simt_operation mine = {SIMT_COLLECT, 0, 1, 0, site};
  while ((uint32_t) * (const volatile unsigned long long *)word != wanted) {
    simt_thread &thread = simt.threads[me];
    thread.operation = mine;
    thread.word = word;
    thread.wanted = wanted;
    simt.waiting++;
    simt_next();
  }
  if (!simt.cooperative && simt.posted[word] > simt.block) {
    SIMT_FAIL("%s waits in %s for block %u, which may start later in a launch that is not "
              "cooperative",
              simt_name(me).text, simt_describe(mine).text, simt.posted[word]);
  }
}
#endif // SIMT_COLLECTIVES_H
