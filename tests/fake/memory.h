// Device memory of the fake libcuda: a region of the address space that can be touched only
// while a kernel or a copy runs. Each block ends where its pages end, but for the alignment;
// what is left of its pages is poisoned or, without AddressSanitizer, filled with a pattern;
// the pages around it are never given away, nor is an address given twice.
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
  enum : size_t { REGION = (size_t)1 << 36, ALIGN = 256, PATTERN = 0xc5 };

  struct block {
    size_t bytes;
    uint64_t begin, end; // of its pages
  };

  // The largest block that there is room for.
  const size_t most = getenv("FAKE_BYTES") != nullptr
                          ? (size_t)strtoull(getenv("FAKE_BYTES"), nullptr, 10)
                          : (size_t)1 << 30;
  uint64_t region = 0, top = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
  std::map<uint64_t, block> blocks; // by address

  std::map<uint64_t, block>::iterator find(uint64_t address) {
    auto next = blocks.upper_bound(address);
    return next == blocks.begin() ? blocks.end() : std::prev(next);
  }

  static void show(const block &b, int protection) {
    if (mprotect((void *)b.begin, b.end - b.begin, protection) != 0) {
      perror("the fake's device memory, which may be too many mappings");
      abort();
    }
  }

  static void fence(uint64_t from, uint64_t to) {
#ifdef FAKE_ASAN
    __asan_poison_memory_region((void *)from, to - from);
#else
    memset((void *)from, PATTERN, to - from);
#endif
  }

  static bool fence_broken(uint64_t from, uint64_t to) {
#ifdef FAKE_ASAN
    (void)from; // AddressSanitizer has looked at every access
    (void)to;
#else
    const unsigned char *const bytes = (const unsigned char *)from;
    if (from < to && (bytes[0] != PATTERN || memcmp(bytes, bytes + 1, to - from - 1) != 0)) {
      return true;
    }
#endif
    return false;
  }

public:
  // 0 where there is no room. The contents are 0xff: NaN, and indices far out of range.
  uint64_t allocate(size_t bytes) {
    const uint64_t pages = (bytes + ALIGN + page - 1) / page * page;
    if (region == 0) {
      void *reserved =
          mmap(nullptr, REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      region = top = reserved == MAP_FAILED ? 0 : (uint64_t)reserved;
    }
    if (region == 0 || bytes > most || top + pages + 2 * page > region + REGION) {
      return 0;
    }
    const block b = {bytes, top + page, top + page + pages};
    const uint64_t address = (b.end - bytes) / ALIGN * ALIGN;
    top = b.end;
    blocks[address] = b;
    show(b, PROT_READ | PROT_WRITE);
    // A mapping that differs from those around it in another way too is not merged with them
    // each time that it is hidden, and split off when it is shown, which takes the kernel long.
    (void)madvise((void *)b.begin, b.end - b.begin, MADV_DONTDUMP);
    memset((void *)address, 0xff, bytes);
    fence(b.begin, address);
    fence(address + bytes, b.end);
    show(b, PROT_NONE);
    return address;
  }

  bool release(uint64_t address) { // false: no block begins there
    const auto at = blocks.find(address);
    if (at == blocks.end()) {
      return false;
    }
#ifdef FAKE_ASAN
    __asan_unpoison_memory_region((void *)at->second.begin, at->second.end - at->second.begin);
#endif
    madvise((void *)at->second.begin, at->second.end - at->second.begin, MADV_DONTNEED);
    madvise((void *)at->second.begin, at->second.end - at->second.begin, MADV_DODUMP);
    blocks.erase(at);
    return true;
  }

  void release_all() {
    while (!blocks.empty()) {
      release(blocks.begin()->first);
    }
  }

  long bytes() const {
    long sum = 0;
    for (const auto &b : blocks) {
      sum += (long)b.second.bytes;
    }
    return sum;
  }

  size_t count() const {
    return blocks.size();
  }

  // Returns whether all of [address, address + bytes) lies in one block.
  bool holds(uint64_t address, size_t bytes) {
    const auto at = find(address);
    return at != blocks.end() && address - at->first < at->second.bytes &&
           bytes <= at->second.bytes - (address - at->first);
  }

  // Returns whether any of it lies in the region, where no host memory is.
  bool touches(uint64_t address, size_t bytes) const {
    return region != 0 && address < region + REGION && address + bytes > region;
  }

  // For a copy: one block, by an address within.
  void show(uint64_t address, bool visible) {
    show(find(address)->second, visible ? PROT_READ | PROT_WRITE : PROT_NONE);
  }

  void show_all() {
    for (const auto &b : blocks) {
      show(b.second, PROT_READ | PROT_WRITE);
    }
  }

  // Hide it again; the address of a block beyond which somebody wrote, or 0.
  uint64_t hide_all() {
    uint64_t broken = 0;
    for (const auto &b : blocks) {
      if (fence_broken(b.second.begin, b.first) ||
          fence_broken(b.first + b.second.bytes, b.second.end)) {
        broken = b.first;
      }
      show(b.second, PROT_NONE);
    }
    return broken;
  }
};
#endif // FAKE_MEMORY_H
