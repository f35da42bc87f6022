// Device memory of the fake libcuda: stretches of the address space that can be accessed only
// from the first kernel or copy of a driver call until the call returns. Bytes there outside
// any block, including released blocks, are poisoned; without AddressSanitizer they hold a
// pattern, which is checked around each block. A stretch is shown or hidden by one system call,
// because the operating system is slow with many small mappings. It is freed with its last
// block. An address is reused only when no block was left and after a gigabyte of other
// addresses.
#ifndef FAKE_MEMORY_H
#define FAKE_MEMORY_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FAKE_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define FAKE_ASAN 1
#endif
#ifdef FAKE_ASAN
#include <sanitizer/asan_interface.h>
#endif

class device_memory {
  enum : size_t { REGION = (size_t)1 << 36, AGAIN = (size_t)1 << 30, ALIGN = 256 };
  enum : size_t { SPAN = 1 << 20 }; // of a stretch that more blocks are added to
#ifdef FAKE_ASAN
  enum : size_t { FENCE = 2048 }; // the reach of 256 threads with 8 bytes each
#else
  enum : size_t { FENCE = 256 }; // every byte is checked after each launch
#endif
  enum { PATTERN = 0xc5 };

  struct stretch {
    uint64_t used, top; // end of the last fence, and of its page
    size_t blocks;
  };

  // The largest block that can be allocated.
  const size_t most = getenv("FAKE_BYTES") != nullptr
                          ? (size_t)strtoull(getenv("FAKE_BYTES"), nullptr, 10)
                          : (size_t)1 << 30;
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t region = 0, unused = 0;       // unused: first address that was never used
  std::map<uint64_t, stretch> stretches; // by first address, with a page in between
  std::map<uint64_t, size_t> blocks;     // size by address
  long total = 0;                        // sum of these sizes
  bool shown = false;                    // whether the stretches are accessible

  std::map<uint64_t, size_t>::const_iterator find(uint64_t address) const {
    const auto next = blocks.upper_bound(address);
    return next == blocks.begin() ? blocks.end() : std::prev(next);
  }

  // Returns the whole pages in [from, to) to the system.
  void forget(uint64_t from, uint64_t to) const {
    from = (from + page - 1) / page * page;
    to = to / page * page;
    if (from < to) {
      (void)madvise((void *)from, to - from, MADV_DONTNEED);
    }
  }

  // Returns the stretch that the next block is added to: the last one, if nothing follows it.
  std::pair<const uint64_t, stretch> &open() {
    if (!stretches.empty()) {
      auto &last = *stretches.rbegin();
      if (last.second.top + page == unused && last.second.top - last.first < SPAN) {
        return last;
      }
    }
    return *stretches.insert({unused, {unused, unused, 0}}).first;
  }

  // Extends a stretch by whole pages up to `end`, which are fence at first. The mapping also
  // differs from its neighbours in something other than its protection, so that the system does
  // not merge and split mappings each time it is hidden and shown.
  void extend(stretch &s, uint64_t end) {
    const uint64_t from = s.top;
    if (end > from) {
      s.top = (end + page - 1) / page * page;
      unused = s.top + page;
      (void)madvise((void *)from, s.top - from, MADV_DONTDUMP);
#ifdef FAKE_ASAN
      __asan_poison_memory_region((void *)from, s.top - from);
#endif
    }
  }

  static void protect(uint64_t from, uint64_t to, int protection) {
    if (mprotect((void *)from, to - from, protection) != 0) {
      perror("the fake's device memory, which may be too many mappings");
      abort();
    }
  }

  void protect(int protection) const {
    for (const auto &[from, s] : stretches) {
      protect(from, s.top, protection);
    }
  }

  static void fence(uint64_t from, uint64_t to) { // used where nothing is poisoned
#ifndef FAKE_ASAN
    memset((void *)from, PATTERN, to - from);
#else
    (void)from;
    (void)to;
#endif
  }

  static bool fence_broken(uint64_t from) {
#ifndef FAKE_ASAN
    const unsigned char *const bytes = (const unsigned char *)from;
    return bytes[0] != PATTERN || memcmp(bytes, bytes + 1, FENCE - 1) != 0;
#else
    (void)from; // AddressSanitizer has checked every access
    return false;
#endif
  }

public:
  // Returns the address of a block, or 0 if there is no room. Its bytes are 0xff: NaN, and
  // indices out of range.
  uint64_t allocate(size_t bytes) {
    hide();
    if (region == 0) {
      void *reserved =
          mmap(nullptr, REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      region = unused = reserved == MAP_FAILED ? 0 : (uint64_t)reserved;
    }
    if (region == 0 || bytes > most || unused + bytes + SPAN > region + REGION) {
      return 0;
    }
    auto &[from, s] = open();
    const uint64_t before =
        s.used == from ? from + FENCE : s.used; // with a fence before the first block
    const uint64_t address = (before + ALIGN - 1) / ALIGN * ALIGN;
    const uint64_t end = address + bytes + FENCE;
    extend(s, end);
    protect(from, s.top, PROT_READ | PROT_WRITE);
#ifdef FAKE_ASAN
    __asan_unpoison_memory_region((void *)address, bytes);
#endif
    fence(s.used, address);
    memset((void *)address, 0xff, bytes);
    fence(address + bytes, end);
    protect(from, s.top, PROT_NONE);
    s.used = end;
    s.blocks++;
    blocks[address] = bytes;
    total += (long)bytes;
    return address;
  }

  bool release(uint64_t address) { // Returns false if no block begins there.
    const auto at = blocks.find(address);
    if (at == blocks.end()) {
      return false;
    }
    const auto in = std::prev(stretches.upper_bound(address));
    hide();
    total -= (long)at->second;
#ifdef FAKE_ASAN
    __asan_poison_memory_region((void *)address, at->second);
#endif
    if (--in->second.blocks > 0) {
      forget(address, address + at->second);
    } else {
      forget(in->first, in->second.top);
      (void)madvise((void *)in->first, in->second.top - in->first, MADV_DODUMP);
      stretches.erase(in);
      unused = stretches.empty() && unused > region + AGAIN ? region : unused;
    }
    blocks.erase(at);
    return true;
  }

  void release_all() {
    while (!blocks.empty()) {
      release(blocks.begin()->first);
    }
  }

  long bytes() const {
    return total;
  }

  size_t count() const {
    return blocks.size();
  }

  // Returns whether all of [address, address + bytes) lies in one block.
  bool holds(uint64_t address, size_t bytes) const {
    const auto at = find(address);
    return at != blocks.end() && address - at->first < at->second &&
           bytes <= at->second - (address - at->first);
  }

  // Returns whether any of it lies in the region, which holds no host memory.
  bool touches(uint64_t address, size_t bytes) const {
    return region != 0 && address < region + REGION && address + bytes > region;
  }

  void show() {
    if (!shown) {
      protect(PROT_READ | PROT_WRITE);
      shown = true;
    }
  }

  void hide() {
    if (shown) {
      protect(PROT_NONE);
      shown = false;
    }
  }

  // Returns the address of a block beyond which something was written, or 0. All stretches must
  // be shown.
  uint64_t broken() const {
    for (const auto &[address, bytes] : blocks) {
      if (fence_broken(address - FENCE) || fence_broken(address + bytes)) {
        return address;
      }
    }
    return 0;
  }
};
#endif // FAKE_MEMORY_H
