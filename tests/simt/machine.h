// The shim's state: one machine, which consists of the running block with its threads, warps
// and barrier. Part of simt.h.
#ifndef SIMT_MACHINE_H
#define SIMT_MACHINE_H
#include <stdint.h>
#include <ucontext.h>

#include <map>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#endif

// Exempts the shim's own bookkeeping from the sanitizers: it is not under test, and
// instrumented it would take most of the time.
#define SIMT_PLAIN __attribute__((no_sanitize("address", "undefined", "thread")))

// swapcontext makes a system call per switch, which costs 20 times the switch itself.
#if defined(__x86_64__) && !defined(SIMT_UCONTEXT)
#define SIMT_FAST 1
#endif

struct simt_report {
  uint64_t blocks, collectives, switches;
};

enum simt_state { // shuffles last, those with a delta behind the one without
  SIMT_RUNS,
  SIMT_EXITED,
  SIMT_BLOCK_SYNC,
  SIMT_COLLECT,
  SIMT_WARP_SYNC,
  SIMT_BALLOT,
  SIMT_ANY,
  SIMT_ALL,
  SIMT_MATCH_ANY,
  SIMT_REDUCE_ADD,
  SIMT_SHUFFLE,
  SIMT_SHUFFLE_UP,
  SIMT_SHUFFLE_DOWN,
  SIMT_SHUFFLE_XOR
};

struct simt_site { // source location of a kernel's call
  const char *file;
  int line;
};

// A thread's state and the operation in which it waits. The fields are padded: a compiler loads
// two adjacent fields at once, which stalls a processor if they were stored separately.
struct simt_operation {
  simt_state state;
  alignas(8) uint32_t mask;
  alignas(8) int width;
  size_t bytes;
  simt_site site;
};

struct simt_context {
#ifdef SIMT_FAST
  void *stack_pointer;
#else
  ucontext_t ucontext;
#endif
};

struct simt_word { // value that a lane passes or gets
  uint64_t half[2];
};

struct simt_copy { // an asynchronous copy to shared memory
  void *to;
  const void *from;
  unsigned bytes;
  simt_copy *before;
};

struct simt_thread {
  simt_context context;
  simt_operation operation;
  int argument; // lane or delta of a shuffle, predicate of a vote
  simt_word in, out;
  simt_copy *copies;                       // not waited for yet, the latest first
  const volatile unsigned long long *word; // SIMT_COLLECT: until its lower half is `wanted`
  uint32_t wanted;
};

struct simt_rendezvous { // a warp operation that some lanes of its mask have reached
  simt_operation operation;
  uint32_t arrived;
};

struct simt_warp {
  unsigned rank;     // priority in a skewed block
  uint32_t runnable; // lanes, without the current one
  unsigned open;
  simt_rendezvous rendezvous[32]; // the first `open` are in use; a lane waits in at most one
};

enum {
  SIMT_STACK = 128 << 10,
  SIMT_COLOUR =
      17 * 64, // by which each stack begins lower than the one before it, up to a quarter
  SIMT_GUARD = 64 << 10, // a multiple of every page size
  SIMT_CANARY = 64,
  SIMT_SECONDS = 100,
  SIMT_STAY = 64, // mean number of switches before another warp may run
  SIMT_THREADS_MAX = 1024,
  SIMT_SPARE_STACKS = 4096, // besides one block's; each takes two of 64 K mappings
  SIMT_SHARED_MAX = 227 << 10
};

struct simt_rooms {               // memory of a block while it runs
  simt_thread *threads = nullptr; // SIMT_THREADS_MAX of them
  unsigned char *stacks = nullptr;
  unsigned stack_count = 0;
  unsigned char *shared = nullptr;
};

struct simt_block : simt_rooms {
  unsigned block = 0;
  unsigned current = 0; // current thread
  simt_warp warps[SIMT_THREADS_MAX / 32];
  uint32_t runnable = 0; // warps with runnable lanes
  bool skewed = false;
  unsigned at_barrier = 0, exited = 0;
  unsigned waiting = 0;        // threads that wait for other blocks
  simt_operation barrier = {}; // operation of the first thread that reached it
};

struct simt_machine : simt_block {
  const char *kernel = "";
  unsigned grid = 0, block_threads = 0, shared_bytes = 0;
  bool cooperative = false; // blocks may wait for each other, not only for earlier ones
  std::map<const void *, unsigned> posted; // the block that stored a word (simt_post)
  const void *body = nullptr;              // a std::function<void()>; null between launches
  uint64_t random = 0;
  simt_context main = {};
  bool crosses = false;             // the current switch is between main and a block
  const void *main_stack = nullptr; // lowest address
  size_t main_bytes = 0;
  void *fake_stack = nullptr; // AddressSanitizer's fake stack of main
  char error[4096] = "";
  simt_report report = {};
  std::vector<const void *> *prefetched = nullptr; // records prefetches if a test wants them
};

// The shim's own functions take a large share of the time. With SIMT_APART the program takes
// them and the state from an object that is compiled once, with optimisation, from a source
// that defines SIMT_HERE.
#if defined(SIMT_APART)
#define SIMT_FUNCTION extern inline __attribute__((gnu_inline))
extern simt_machine simt;
#elif defined(SIMT_HERE)
#define SIMT_FUNCTION inline __attribute__((used))
inline simt_machine simt;
#else
#define SIMT_FUNCTION inline
inline simt_machine simt;
#endif

// For what every switch of threads does.
#define SIMT_INLINE SIMT_PLAIN inline __attribute__((always_inline))

SIMT_INLINE uint64_t simt_random() { // xorshift64*, Vigna 2016
  simt.random ^= simt.random >> 12;
  simt.random ^= simt.random << 25;
  simt.random ^= simt.random >> 27;
  return simt.random * UINT64_C(0x2545f4914f6cdd1d) >> 32;
}
#endif // SIMT_MACHINE_H
