// A block's shared memory, asynchronous copies to it, and atomics. Part of simt.h.
#ifndef SIMT_MEMORY_H
#define SIMT_MEMORY_H
#include "races.h"

SIMT_FUNCTION void simt_pack_check(const void *address, size_t bytes) {
  if ((uintptr_t)address % bytes != 0) {
    SIMT_FAIL("%s moves %zu bytes at once at %p, which is misaligned",
              simt_name(simt.current).text, bytes, address);
  }
}

// ---- Asynchronous copies --------------------------------------------------------------------

SIMT_FUNCTION void simt_copy_words(void *to, const void *from, unsigned bytes) {
  for (unsigned i = 0; i < bytes / 4; i++) {
    ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
  }
}

// Begins a copy, which arrives at once or not before the thread waits for it.
SIMT_FUNCTION void simt_copy_begin(void *to, const void *from, unsigned bytes) {
  if ((uintptr_t)to % bytes != 0 || (uintptr_t)from % bytes != 0) {
    SIMT_FAIL("%s copies %u bytes from %p to %p, which are not both aligned",
              simt_name(simt.current).text, bytes, from, to);
  }
  if (simt_random() % 2 == 0) {
    simt_copy_words(to, from, bytes);
  } else {
    simt_copy *&last = simt.threads[simt.current].copies;
    last = new simt_copy{to, from, bytes, last};
  }
}

// Removes a thread's copies from its list; `arrive` completes them first, else they are
// dropped.
SIMT_FUNCTION void simt_copy_end(unsigned thread, bool arrive) {
  simt_copy *&last = simt.threads[thread].copies;
  while (last != nullptr) {
    simt_copy *const copy = last;
    if (arrive) {
      simt_copy_words(copy->to, copy->from, copy->bytes);
    }
    last = copy->before;
    delete copy;
  }
}

SIMT_FUNCTION void simt_shared_poison() {
  memset(simt.shared, 0xff, simt.shared_bytes);
}

SIMT_PLAIN SIMT_FUNCTION void simt_shared_check() {
#ifndef SIMT_ASAN
  for (unsigned i = simt.shared_bytes; i < simt.shared_bytes + SIMT_CANARY; i++) {
    if (simt.shared[i] != 0xa5 && simt.error[0] == 0) {
      simt_note("writes byte %u of %u bytes of shared memory", i, simt.shared_bytes);
    }
  }
#endif
}

// Perhaps lets other threads run before an atomic.
SIMT_PLAIN SIMT_FUNCTION void simt_hesitate() {
  if (simt_random() % 8 == 0) {
    simt_push(simt.current);
    simt_next();
  }
}

// Sets *address to change(*address) and returns the old value.
template <class T, class F>
__attribute__((no_sanitize("thread"))) inline T simt_atomic(T *address, F change) {
  simt_hesitate();
  if ((uintptr_t)address % sizeof(T) != 0) {
    SIMT_FAIL("%s gives a misaligned address %p to an atomic of %zu bytes",
              simt_name(simt.current).text, (void *)address, sizeof(T));
  }
  simt_races_access(address, sizeof(T), SIMT_ATOMIC);
  const T old = *address;
  *address = change(old);
  return old;
}
#endif // SIMT_MEMORY_H
