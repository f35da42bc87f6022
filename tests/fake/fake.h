/* The interface of tests to the fake libcuda and the fake libnvrtc: what a test sets and reads.
 * A test finds fake_cuda_state and fake_nvrtc_state with dlsym. */
#ifndef FAKE_H
#define FAKE_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The calls of one library, and which of them fails. */
typedef struct fake_calls {
  long made;        /* calls that count */
  long fail_at;     /* number of the failing call, from 1; 0: none */
  int code;         /* its result */
  int for_good;     /* all later calls fail, too */
  const char *only; /* counts only calls of this function; NULL: all */
  long failed;      /* number of calls made to fail */
  char first[64];   /* name of the first of them */
} fake_calls;

/* Counts of live objects are zero when all have been released. A fault is something that a
 * program must never do to a driver: pass a host pointer for device memory, launch on a dead
 * device, run a kernel that fails. */
typedef struct fake_cuda {
  fake_calls calls;
  int devices, driver_version, capability, multiprocessors, shared_bytes; /* simulated */
  int resident_threads; /* of a multiprocessor */
  int clock, memory_clock, memory_width, l2_bytes; /* kHz, bits */
  int cooperative;      /* whether cooperative launches are allowed */
  uint64_t seed;        /* of the launches' schedules */
  long blocks, modules, retained, depth, streams; /* alive; depth: contexts pushed */
  long bytes;                                     /* of these blocks */
  long peak;                                      /* the largest value since a test set it */
  long graphs;                                    /* including executable ones */
  long events, pinned;                            /* pinned: page-locked allocations */
  long launches, graph_launches;                  /* so far */
  long together; /* cooperative launches */
  long waits;    /* calls in which the host waits for the device */
  long early;    /* launches that may overlap the end of the work before */
  long unwaited; /* jobs on the default stream since the host last waited */
  long refused_pushes; /* failed entries: what should have been released there cannot be */
  int dead;            /* result that killed the device */
  long after_death;    /* calls in a dead context */
  long faults;
  char fault[600]; /* the first fault */
} fake_cuda;

typedef struct fake_nvrtc {
  fake_calls calls;
  int major, minor, architectures[4]; /* the simulated NVRTC; 0 ends the list */
  long programs;                      /* alive */
  long compiled;                      /* compilations requested */
  long built;        /* done by the host compiler; the others came from the cache */
  char options[256]; /* of the last compilation, each after a space */
} fake_nvrtc;

/* Copies from or to device memory. */
typedef void (*fake_copy)(void *to, const void *from, size_t bytes);

/* Work of the fake NCCL on a stream: see fake_cuda_enqueue. */
typedef struct fake_work {
  void *(*begin)(void *argument);
  int (*advance)(void *run, fake_copy copy);
  void *argument; /* never freed: a graph may repeat the work */
  int count;
  uint64_t addresses[64];
  size_t bytes[64];
} fake_work;

/* The state of one rank's NCCL. Its calls are those of this process; the ranks are processes
 * forked after the library was opened. */
typedef struct fake_nccl {
  fake_calls calls; /* a failing call returns `code`; a waiting one does so at once */
  int version;
  long communicators, aborted, destroyed; /* alive; ended in either way */
  long depth;                             /* open groups */
  long messages, sums;                    /* enqueued */
  int async_error;                        /* result of ncclCommGetAsyncError */
  const char *stuck; /* a function that hangs until the communicator is aborted, or for ever */
  long faults;
  char fault[300]; /* the first fault */
} fake_nccl;

typedef fake_nccl *(*fake_nccl_getter)(void);
fake_nccl *fake_nccl_state(void);
void fake_nccl_reset(void); /* resets the state; call it in one process, before it forks */
int fake_cuda_enqueue(void *stream, const char *name, const fake_work *work);

typedef fake_cuda *(*fake_cuda_getter)(void);
typedef fake_nvrtc *(*fake_nvrtc_getter)(void);
fake_cuda *fake_cuda_state(void);
fake_nvrtc *fake_nvrtc_state(void);
void fake_cuda_reset(void); /* resets the state, memory included */
void fake_nvrtc_reset(void);

/* Returns the result of this call of `function`: 0, or the planned code. */
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

/* Returns whether the driver still holds something, and then writes what to `text`. Nothing can
 * be released on a device that is dead or cannot be entered: there the answer is 0. */
static inline int fake_left(const fake_cuda *d, char text[200]) {
  if (d->dead != 0 || d->refused_pushes != 0) {
    return 0;
  }
  (void)snprintf(text, 200,
                 "the driver is left with %ld blocks, %ld modules, %ld streams, %ld graphs, "
                 "%ld retained, depth %ld",
                 d->blocks, d->modules, d->streams, d->graphs, d->retained, d->depth);
  return d->blocks != 0 || d->modules != 0 || d->streams != 0 || d->graphs != 0 ||
         d->retained != 0 || d->depth != 0;
}

#ifdef __cplusplus
}
#endif
#endif /* FAKE_H */
