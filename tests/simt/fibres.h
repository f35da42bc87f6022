// One fibre for each CUDA thread of a block, and who of them runs next. Part of simt.h.
#ifndef SIMT_FIBRES_H
#define SIMT_FIBRES_H
#include <stdlib.h>
#include <sys/mman.h>

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

// On arrival in a context: `fake_stack` as it was left, null the first time.
SIMT_PLAIN inline void simt_arrive(void *fake_stack) {
#ifdef SIMT_ASAN
  const void *stack;
  size_t bytes;
  __sanitizer_finish_switch_fiber(fake_stack, &stack, &bytes);
  if (simt.main.stack == nullptr) { // the first switch of a launch leaves main
    simt.main.stack = stack;
    simt.main.stack_bytes = bytes;
  }
#else
  (void)fake_stack;
#endif
}

SIMT_PLAIN inline void simt_switch(simt_context *from, simt_context *to, bool for_good) {
  simt.report.switches++;
#ifdef SIMT_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from->fake_stack, to->stack,
                                 to->stack_bytes);
#else
  (void)for_good;
#endif
#ifdef SIMT_FAST
  simt_swap(&from->stack_pointer, to->stack_pointer);
#else
  swapcontext(&from->ucontext, &to->ucontext);
#endif
  simt_arrive(from->fake_stack);
}

// Leave the launch for good.
[[noreturn]] inline void simt_leave() {
  simt_switch(&simt.threads[simt.current].context, &simt.main, true);
  abort(); // nobody comes back here
}

#define SIMT_FAIL(...) (simt_note(__VA_ARGS__), simt_leave())

// ---- Schedule -------------------------------------------------------------------------------

SIMT_PLAIN inline void simt_push(unsigned thread) {
  simt.runnable[simt.runnable_count++] = thread;
}

// A random runnable thread. In a skewed block some warps run far ahead of others.
SIMT_PLAIN inline unsigned simt_pick() {
  unsigned position = (unsigned)(simt_random() % simt.runnable_count);
  if (simt.skewed) {
    const unsigned other = (unsigned)(simt_random() % simt.runnable_count);
    if (simt.warps[simt.runnable[other] / 32].rank <
        simt.warps[simt.runnable[position] / 32].rank) {
      position = other;
    }
  }
  const unsigned thread = simt.runnable[position];
  simt.runnable[position] = simt.runnable[--simt.runnable_count];
  return thread;
}

[[noreturn]] inline void simt_deadlock() {
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

// Go on with a random runnable thread, perhaps with this one; where there is none because of
// other blocks, with those.
SIMT_PLAIN inline void simt_next(bool for_good) {
  const unsigned from = simt.current;
  if (simt.runnable_count == 0) {
    if (simt.waiting == 0) {
      simt_deadlock();
    }
    simt_switch(&simt.threads[from].context, &simt.main, for_good); // the block is put aside
    return;
  }
  const unsigned to = simt_pick();
  if (to != from) {
    simt.current = to;
    simt_switch(&simt.threads[from].context, &simt.threads[to].context, for_good);
  }
}

SIMT_PLAIN inline bool simt_in(uint32_t mask, unsigned lane) {
  return mask >> lane & 1u;
}

// A thread of the same warp that waits for `me` in a warp operation, or `me` itself.
SIMT_PLAIN inline unsigned simt_waits_for(unsigned me) {
  const simt_warp &warp = simt.warps[me / 32];
  for (unsigned i = 0; i < warp.open; i++) {
    if (simt_in(warp.rendezvous[i].operation.mask, me % 32)) {
      return me / 32 * 32 + (unsigned)__builtin_ctz(warp.rendezvous[i].arrived);
    }
  }
  return me;
}

// A thread in `state`.
inline unsigned simt_find(simt_state state) {
  unsigned t = 0;
  while (simt.threads[t].operation.state != state) {
    t++;
  }
  return t;
}

SIMT_PLAIN inline void simt_exit() {
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
    simt_switch(&simt.threads[me].context, &simt.main, true);
  }
  simt_next(true);
}

inline void simt_entry() {
  simt_arrive(nullptr);
  (*simt.body)();
  simt_exit();
}

SIMT_PLAIN inline void simt_prepare(unsigned t) {
  unsigned char *stack = simt.stacks + (size_t)t * (SIMT_STACK + SIMT_GUARD) + SIMT_GUARD;
  simt_thread &thread = simt.threads[t];
  thread.operation = {SIMT_RUNS, 0, 0, 0, {"", 0}};
  thread.context.fake_stack = nullptr;
  thread.context.stack = stack;
  thread.context.stack_bytes = SIMT_STACK;
#ifdef SIMT_ASAN
  // Frames that a thread leaves behind when it exits. All of 1024 stacks is too much for each
  // block: after an error, which leaves more, they are released.
  __asan_unpoison_memory_region(stack + SIMT_STACK - SIMT_LEFT, SIMT_LEFT);
#endif
#ifdef SIMT_FAST
  void **top = (void **)(stack + SIMT_STACK);
  memset(top - 8, 0, 8 * sizeof *top);
  top[-2] = (void *)simt_entry; // above it a null return address, below it six registers
  thread.context.stack_pointer = top - 8;
#else
  getcontext(&thread.context.ucontext);
  thread.context.ucontext.uc_stack.ss_sp = stack;
  thread.context.ucontext.uc_stack.ss_size = SIMT_STACK;
  thread.context.ucontext.uc_link = nullptr;
  makecontext(&thread.context.ucontext, simt_entry, 0);
#endif
}

// A block's threads and their stacks. A process has only so many mappings, and each stack is
// two.
inline void simt_stacks_release() {
  const size_t bytes = simt.stack_count * (size_t)(SIMT_STACK + SIMT_GUARD);
  if (simt.stacks != nullptr) {
#ifdef SIMT_ASAN
    // A program that is mapped there next is not a stack.
    __asan_unpoison_memory_region(simt.stacks, bytes);
#endif
    munmap(simt.stacks, bytes);
  }
  delete[] simt.threads;
  simt.threads = nullptr;
  simt.stacks = nullptr;
  simt.stack_count = 0;
}

inline void simt_stacks(unsigned count) {
  const size_t each = SIMT_STACK + SIMT_GUARD;
  if (count <= simt.stack_count) {
    return;
  }
  simt_stacks_release();
  void *memory = mmap(nullptr, count * each, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw simt_error("simt: no memory for the fibres' stacks");
  }
  simt.threads = new simt_thread[SIMT_THREADS_MAX]();
  simt.stacks = (unsigned char *)memory;
  simt.stack_count = count;
  for (unsigned t = 0; t < count; t++) {
    mprotect(simt.stacks + t * each, SIMT_GUARD, PROT_NONE);
  }
}
#endif // SIMT_FIBRES_H
