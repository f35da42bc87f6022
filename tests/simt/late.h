// Detects accesses to memory that a kernel launched early may not touch before mbk_await
// because earlier work in the stream may still use it. The memory is poisoned for
// AddressSanitizer from the start of each block until a thread of it awaits. Part of simt.h.
#ifndef SIMT_LATE_H
#define SIMT_LATE_H
#include "fibres.h"
#include "machine.h"
#ifdef SIMT_ASAN
#include <sanitizer/asan_interface.h>
#endif

struct simt_span { // `bytes` bytes from `address`
  const void *address;
  size_t bytes;
};
inline simt_span simt_late[64];
inline size_t simt_late_count;
inline bool simt_awaited = true;

SIMT_FUNCTION void simt_late_add(const void *address, size_t bytes) {
  if (simt_late_count == sizeof simt_late / sizeof simt_late[0]) {
    abort();
  }
  simt_late[simt_late_count++] = {address, bytes};
}

// Forbids the late memory when a block starts.
SIMT_FUNCTION void simt_late_begin() {
  simt_awaited = simt_late_count == 0;
#ifdef SIMT_ASAN
  for (size_t i = 0; i < simt_late_count; i++) {
    __asan_poison_memory_region(simt_late[i].address, simt_late[i].bytes);
  }
#endif
}

// Allows the late memory when a thread awaits, or at the end of the block.
SIMT_FUNCTION void simt_late_end() {
  if (!simt_awaited) {
    simt_awaited = true;
#ifdef SIMT_ASAN
    for (size_t i = 0; i < simt_late_count; i++) {
      __asan_unpoison_memory_region(simt_late[i].address, simt_late[i].bytes);
    }
#endif
  }
}

// Fails if a read-only load (ld.global.nc) reads late memory: a GPU may execute such a load
// before the wait.
SIMT_PLAIN SIMT_FUNCTION void simt_read_only_check(const void *at) {
  for (size_t i = 0; i < simt_late_count; i++) {
    if ((uintptr_t)at - (uintptr_t)simt_late[i].address < simt_late[i].bytes) {
      SIMT_FAIL("%s loads %p as data that nobody writes", simt_name(simt.current).text, at);
    }
  }
}
#endif // SIMT_LATE_H
