#ifndef MBI_CORE_H
#define MBI_CORE_H
/* What every source begins with: system headers, linkage, threads. */
#include "api/features.h"
#include "merbit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#if defined(__GNUC__)
#define MBI_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define MBI_PRINTF(at, first)
#endif

/* The linkage of what another source uses: in merbit.h, which is one translation unit, static. */
#ifdef MBI_SEPARATE
#define MBI_INTERNAL
#else
#define MBI_INTERNAL static
#endif

#define MBI_MAX_THREADS 1024

#define MBI_NUMA_CPUS 1024

typedef struct mbi_numa { /* core/numa.c: processors, those of a node together */
  int nodes, count;       /* nodes that have some */
  int16_t cpu[MBI_NUMA_CPUS], node[MBI_NUMA_CPUS];
} mbi_numa;

typedef pthread_mutex_t mbi_mutex;
typedef void (*mbi_task)(void *argument, int index);

static void mbi_mutex_lock(mbi_mutex *mutex) {
  (void)pthread_mutex_lock(mutex);
}

static void mbi_mutex_unlock(mbi_mutex *mutex) {
  (void)pthread_mutex_unlock(mutex);
}

#ifndef _OPENMP
#define MBI_POOL_CLAIMS 8192 /* tasks that bound threads tell apart */

typedef struct mbi_pool { /* core/threads.c */
  mbi_mutex caller;       /* held by the thread whose call is running */
  mbi_mutex lock;         /* guards the rest */
  pthread_cond_t wake, idle;
  pthread_t *workers;
  int count, started, stop; /* started is the caller's */
  int open, active;       /* a call may be joined; workers that have joined */
  unsigned generation;    /* counts calls */
  mbi_task task;
  void *argument;
  int tasks, next;
  const mbi_numa *bound; /* threads to processors; NULL: they are not */
  int threads, named;    /* the caller's too; workers that have a number */
  uint64_t claims[MBI_POOL_CLAIMS / 64]; /* tasks taken, where threads are bound */
} mbi_pool;

static void mbi_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
#endif
#endif
