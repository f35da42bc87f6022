// Forbids memory that a kernel launched early may not touch before mbk_await, because earlier
// work in the stream may still use it. AddressSanitizer notices accesses, in every block: the
// first thread of a block to run meets the ban. Part of simt.h.
#ifndef SIMT_LATE_H
#define SIMT_LATE_H
#include <utility>
#include <vector>

#include "fibres.h"
#include "machine.h"
#ifdef SIMT_ASAN
#include <sanitizer/asan_interface.h>
#endif

inline std::vector<std::pair<const void *, size_t>> simt_late; // bytes from an address on
inline bool simt_awaited = true;

// A block starts.
inline void simt_late_begin() {
  simt_awaited = simt_late.empty();
#ifdef SIMT_ASAN
  for (const auto &[address, bytes] : simt_late) {
    __asan_poison_memory_region(address, bytes);
  }
#endif
}

// A thread of it awaits, or it ends.
inline void simt_late_end() {
  if (!simt_awaited) {
    simt_awaited = true;
#ifdef SIMT_ASAN
    for (const auto &[address, bytes] : simt_late) {
      __asan_unpoison_memory_region(address, bytes);
    }
#endif
  }
}

// Nor may it ever be loaded as data that nobody writes: on a GPU such a load passes the wait.
inline void simt_read_only_check(const void *at) {
  for (const auto &[address, bytes] : simt_late) {
    if (at >= address && at < (const char *)address + bytes) {
      SIMT_FAIL("%s loads %p as data that nobody writes", simt_name(simt.current).text, at);
    }
  }
}
#endif // SIMT_LATE_H
