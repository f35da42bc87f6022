// Device memory of the fake libcuda: stretches of the address space that can be touched only
// from the first kernel or copy of a driver call until the call returns. What no block holds
// there is poisoned, released blocks included; without AddressSanitizer it is filled with a
// pattern, which is looked at around each block. One call shows or hides a stretch: for many
// small mappings the kernel takes long. A stretch goes when its last block does. An address is
// given again only when nothing was left, and after a gigabyte of others.
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
  enum : size_t { SPAN = 1 << 20 }; // of a stretch that blocks are added to
#ifdef FAKE_ASAN
  enum : size_t { FENCE = 2048 }; // as far as 256 threads with 8 bytes each reach
#else
  enum : size_t { FENCE = 256 }; // each byte is looked at after each launch
#endif
  enum { PATTERN = 0xc5 };

  struct stretch {
    uint64_t used, top; // where the last fence ends, and its page
    size_t blocks;
  };

  // The largest block that there is room for.
  const size_t most = getenv("FAKE_BYTES") != nullptr
                          ? (size_t)strtoull(getenv("FAKE_BYTES"), nullptr, 10)
                          : (size_t)1 << 30;
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t region = 0, unused = 0;       // unused: from here on
  std::map<uint64_t, stretch> stretches; // by the first address, with a page between them
  std::map<uint64_t, size_t> blocks;     // bytes by address
  long total = 0;                        // of these bytes
  bool shown = false;                    // whether the stretches can be touched

  std::map<uint64_t, size_t>::const_iterator find(uint64_t address) const {
    const auto next = blocks.upper_bound(address);
    return next == blocks.begin() ? blocks.end() : std::prev(next);
  }

  // Gives back the pages that lie in [from, to) whole.
  void forget(uint64_t from, uint64_t to) const {
    from = (from + page - 1) / page * page;
    to = to / page * page;
    if (from < to) {
      (void)madvise((void *)from, to - from, MADV_DONTNEED);
    }
  }

  // The stretch that the next block is added to: the last one, if nothing came behind it.
  std::pair<const uint64_t, stretch> &open() {
    if (!stretches.empty()) {
      auto &last = *stretches.rbegin();
      if (last.second.top + page == unused && last.second.top - last.first < SPAN) {
        return last;
      }
    }
    return *stretches.insert({unused, {unused, unused, 0}}).first;
  }

  // Whole pages up to `end`, all of them a fence for now. A mapping that differs from those
  // around it in another way than its protection is not merged with them each time that it is
  // hidden, and split off when it is shown.
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

  static void fence(uint64_t from, uint64_t to) { // where it is not poisoned
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
    (void)from; // AddressSanitizer has looked at every access
    return false;
#endif
  }

public:
  // 0 where there is no room. The contents are 0xff: NaN, and indices far out of range.
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
        s.used == from ? from + FENCE : s.used; // one before the first block
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

  bool release(uint64_t address) { // false: no block begins there
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

  // Returns whether any of it lies in the region, where no host memory is.
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

  // Returns the address of a block beyond which somebody wrote, or 0. All must be shown.
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
