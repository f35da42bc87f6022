/* The side door of the fake libcuda and the fake libnvrtc: what a test sets and reads. A test
 * finds fake_cuda_state and fake_nvrtc_state with dlsym. */
#ifndef FAKE_H
#define FAKE_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls of one library, and which of them fails. */
typedef struct fake_calls {
  long made;        /* of those that count */
  long fail_at;     /* this one fails, counted from 1; 0: none does */
  int code;         /* with this result */
  int for_good;     /* and so do all after it */
  const char *only; /* a function's name: only its calls count; NULL: all do */
  long failed;      /* how many were made to fail */
  char first[64];   /* the first of them */
} fake_calls;

/* Counts of what is alive are zero when all has been given back. A fault is something that a
 * program must never do to a driver: a host pointer where device memory belongs, a launch on a
 * dead device, a kernel that goes wrong. */
typedef struct fake_cuda {
  fake_calls calls;
  int devices, driver_version, capability, multiprocessors, shared_bytes; /* what is played */
  int resident_threads; /* of a multiprocessor */
  int clock, memory_clock, memory_width, l2_bytes; /* kHz, bits */
  int cooperative;      /* whether blocks of a launch may wait for each other */
  uint64_t seed;        /* of the schedules of launches */
  long blocks, modules, retained, depth, streams; /* alive; depth: contexts pushed */
  long bytes;                                     /* of these blocks */
  long peak;                                      /* the most of them since a test set it */
  long graphs;                                    /* and executable ones */
  long events, pinned;                            /* pinned: pieces of page-locked memory */
  long launches, graph_launches;                  /* made */
  long together; /* of them, whose blocks may wait for each other */
  long waits;    /* of the host for the device: calls that may only return when work is done */
  long early;    /* of them, that may overlap with the end of what is before */
  long unwaited; /* pieces of work on the default stream since the host last waited for it */
  long refused_pushes; /* contexts not entered: what was to be released there cannot be */
  int dead;            /* the result that killed the device */
  long after_death;    /* calls of a dead context */
  long faults;
  char fault[600]; /* the first */
} fake_cuda;

typedef struct fake_nvrtc {
  fake_calls calls;
  int major, minor, architectures[4]; /* what is played; 0 ends the list */
  long programs;                      /* alive */
  long compiled;                      /* asked for */
  long built;        /* by the host compiler: the others came from its own cache */
  char options[256]; /* of the last one, each behind a space */
} fake_nvrtc;

/* Copies from or to device memory. */
typedef void (*fake_copy)(void *to, const void *from, size_t bytes);

/* Work of the fake NCCL on a stream: see fake_cuda_enqueue. */
typedef struct fake_work {
  void *(*begin)(void *argument);
  int (*advance)(void *run, fake_copy copy);
  void *argument; /* stays for ever: a graph may repeat the work */
  int count;
  uint64_t addresses[64];
  size_t bytes[64];
} fake_work;

/* NCCL of one rank. Its calls are of this process alone; the ranks are processes that were forked
 * after the library was opened. */
typedef struct fake_nccl {
  fake_calls calls; /* a failing call answers `code`; one that waits does so at once */
  int version;
  long communicators, aborted, destroyed; /* alive; ended in either way */
  long depth;                             /* of groups that are open */
  long messages, sums;                    /* enqueued */
  int async_error;                        /* what ncclCommGetAsyncError tells */
  const char *stuck; /* a function that waits until the communicator is aborted; or for ever */
  long faults;
  char fault[300]; /* the first */
} fake_nccl;

typedef fake_nccl *(*fake_nccl_getter)(void);
fake_nccl *fake_nccl_state(void);
void fake_nccl_reset(void); /* as at the start; in one process, before it forks */
int fake_cuda_enqueue(void *stream, const char *name, const fake_work *work);

typedef fake_cuda *(*fake_cuda_getter)(void);
typedef fake_nvrtc *(*fake_nvrtc_getter)(void);
fake_cuda *fake_cuda_state(void);
fake_nvrtc *fake_nvrtc_state(void);
void fake_cuda_reset(void); /* as at the start, memory included */
void fake_nvrtc_reset(void);

/* Returns the answer of this call of `function`: 0, or the chosen code. */
static inline int fake_answer(fake_calls *calls, const char *function) {
  if (calls->only != NULL && strcmp(calls->only, function) != 0) {
    return 0;
  }
  calls->made++;
  if (calls->fail_at == 0 || calls->made < calls->fail_at ||
      (calls->made > calls->fail_at && !calls->for_good)) {
    return 0;
  }
  if (calls->failed++ == 0) {
    strncpy(calls->first, function, sizeof calls->first - 1);
  }
  return calls->code;
}

#ifdef __cplusplus
}
#endif
#endif /* FAKE_H */
