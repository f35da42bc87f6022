// One fibre for each CUDA thread of a block, and the choice of the one that runs next. Part of
// simt.h.
#ifndef SIMT_FIBRES_H
#define SIMT_FIBRES_H
#include <stdlib.h>

#include "sentences.h"
#ifdef SIMT_ASAN
#include <sanitizer/asan_interface.h>
#endif

// ---- Switching ------------------------------------------------------------------------------

#ifdef SIMT_FAST
extern "C" void simt_swap(void **save, void *load);
__asm__(".text\n"
        ".weak simt_swap\n"
        ".type simt_swap,@function\n"
        "simt_swap:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp,(%rdi)\n"
        "  movq %rsi,%rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size simt_swap,.-simt_swap\n");
#endif

// Tells AddressSanitizer of a switch between main and a block. All threads of a block count as
// one stack, because to report each switch would take longer than the kernels themselves; this
// needs detect_stack_use_after_return=0.
SIMT_INLINE void simt_depart(const simt_context *from, const simt_context *to) {
#ifdef SIMT_ASAN
  simt.crosses = from == &simt.main || to == &simt.main;
  if (from == &simt.main) {
    __sanitizer_start_switch_fiber(&simt.fake_stack, simt.stacks,
                                   simt.stack_count * (size_t)(SIMT_STACK + SIMT_GUARD));
  } else if (simt.crosses) {
    __sanitizer_start_switch_fiber(nullptr, simt.main_stack, simt.main_bytes);
  }
#else
  (void)from;
  (void)to;
#endif
}

SIMT_INLINE void simt_arrive(const simt_context *here) {
#ifdef SIMT_ASAN
  if (simt.crosses && here == &simt.main) {
    __sanitizer_finish_switch_fiber(simt.fake_stack, nullptr, nullptr);
  } else if (simt.crosses) {
    __sanitizer_finish_switch_fiber(nullptr, &simt.main_stack, &simt.main_bytes);
  }
  simt.crosses = false;
#else
  (void)here;
#endif
}

SIMT_INLINE void simt_switch(simt_context *from, simt_context *to) {
  simt.report.switches++;
  simt_depart(from, to);
#ifdef SIMT_FAST
  simt_swap(&from->stack_pointer, to->stack_pointer);
#else
  swapcontext(&from->ucontext, &to->ucontext);
#endif
  simt_arrive(from);
}

// Leaves the launch for good.
[[noreturn]] SIMT_FUNCTION void simt_leave() {
  simt_switch(&simt.threads[simt.current].context, &simt.main);
  abort(); // no one switches back to this thread
}

#define SIMT_FAIL(...) (simt_note(__VA_ARGS__), simt_leave())

// ---- Schedule -------------------------------------------------------------------------------

SIMT_INLINE void simt_push(unsigned thread) {
  simt.warps[thread / 32].runnable |= 1u << thread % 32;
  simt.runnable |= 1u << thread / 32;
}

// Returns the index of a bit set in `bits`, which is not 0: the first one upwards or downwards
// from a random place. `random` has six random bits. No loop or branch depends on them.
SIMT_INLINE unsigned simt_bit(uint32_t bits, uint64_t random) {
  const unsigned turn = (unsigned)random & 31;
  const uint32_t turned = bits >> turn | bits << (-turn & 31);
  const unsigned up = (unsigned)__builtin_ctz(turned);
  const unsigned down = 31 - (unsigned)__builtin_clz(turned);
  return (turn + ((random & 32) != 0 ? up : down)) & 31;
}

// Picks a random runnable thread, mostly of the warp that ran last, whose stacks are in the
// caches. In a skewed block some warps run well ahead of others.
SIMT_INLINE unsigned simt_pick() {
  const uint64_t random = simt_random();
  unsigned warp = simt.current / 32;
  if (simt.warps[warp].runnable == 0 || (random >> 6) % SIMT_STAY == 0) {
    warp = simt_bit(simt.runnable, random >> 12);
    if (simt.skewed) {
      const unsigned other = simt_bit(simt.runnable, random >> 18);
      warp = simt.warps[other].rank < simt.warps[warp].rank ? other : warp;
    }
  }
  const unsigned lane = simt_bit(simt.warps[warp].runnable, random);
  simt.warps[warp].runnable &= ~(1u << lane);
  if (simt.warps[warp].runnable == 0) {
    simt.runnable &= ~(1u << warp);
  }
  return 32 * warp + lane;
}

[[noreturn]] SIMT_FUNCTION void simt_deadlock() {
  simt_note("deadlock:");
  unsigned told = 0;
  for (unsigned t = 0; t < simt.block_threads; t++) {
    const simt_operation &operation = simt.threads[t].operation;
    if (operation.state != SIMT_EXITED && told++ < 8) {
      const size_t used = strlen(simt.error);
      snprintf(simt.error + used, sizeof simt.error - used, "%s %s waits in %s",
               told > 1 ? ";" : "", simt_name(t).text, simt_describe(operation).text);
    }
  }
  simt_leave();
}

// Switches to a random runnable thread, perhaps the current one. If all wait for other blocks,
// switches to main, which runs those.
SIMT_PLAIN SIMT_FUNCTION void simt_next() {
  const unsigned from = simt.current;
  if (simt.runnable == 0) {
    if (simt.waiting == 0) {
      simt_deadlock();
    }
    simt_switch(&simt.threads[from].context, &simt.main); // puts the block aside
    return;
  }
  const unsigned to = simt_pick();
  if (to != from) {
    simt.current = to;
    simt_switch(&simt.threads[from].context, &simt.threads[to].context);
  }
}

SIMT_INLINE bool simt_in(uint32_t mask, unsigned lane) {
  return mask >> lane & 1u;
}

// Returns a thread of the same warp that waits for `me` in a warp operation, or `me` itself.
SIMT_PLAIN SIMT_FUNCTION unsigned simt_waits_for(unsigned me) {
  const simt_warp &warp = simt.warps[me / 32];
  for (unsigned i = 0; i < warp.open; i++) {
    if (simt_in(warp.rendezvous[i].operation.mask, me % 32)) {
      return me / 32 * 32 + (unsigned)__builtin_ctz(warp.rendezvous[i].arrived);
    }
  }
  return me;
}

// Returns a thread in `state`.
SIMT_FUNCTION unsigned simt_find(simt_state state) {
  unsigned t = 0;
  while (simt.threads[t].operation.state != state) {
    t++;
  }
  return t;
}

SIMT_PLAIN SIMT_FUNCTION void simt_exit() {
  const unsigned me = simt.current, waiting = simt_waits_for(me);
  simt.threads[me].operation.state = SIMT_EXITED;
  simt.exited++;
  if (waiting != me) {
    SIMT_FAIL("%s exits while %s waits for it in %s (divergent collective)", simt_name(me).text,
              simt_name(waiting).text, simt_describe(simt.threads[waiting].operation).text);
  }
  if (simt.at_barrier > 0) {
    const unsigned t = simt_find(SIMT_BLOCK_SYNC);
    SIMT_FAIL("%s exits while %s waits for it in %s (missing barrier)", simt_name(me).text,
              simt_name(t).text, simt_describe(simt.threads[t].operation).text);
  }
  if (simt.exited == simt.block_threads) {
    simt_switch(&simt.threads[me].context, &simt.main);
  }
  simt_next();
}
#endif // SIMT_FIBRES_H
