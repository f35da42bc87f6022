#include "core/context.h"

/* The assignment of tasks to threads, and of threads to processors and memory nodes. */

/* Returns the first task of a thread. Memory pages are placed by the same rule. A thread's
 * tasks end where the next thread's begin, so a thread may have none. */
MBI_INTERNAL int mbi_first_task(int tasks, int threads, int thread) {
  return (int)(((int64_t)thread * tasks + threads - 1) / threads);
}

/* Returns the thread that owns the task. */
MBI_INTERNAL int mbi_task_thread(int tasks, int threads, int task) {
  return (int)((int64_t)task * threads / tasks);
}

/* Returns the index of a thread's processor in numa->cpu. Consecutive threads share a node. */
MBI_INTERNAL int mbi_numa_slot(const mbi_numa *numa, int threads, int thread) {
  return (int)((int64_t)thread % threads * numa->count / threads);
}

MBI_INTERNAL int mbi_numa_node(const mbi_numa *numa, int threads, int thread) {
  return numa->count > 0 ? numa->node[mbi_numa_slot(numa, threads, thread)] : 0;
}

/* Binds the calling thread to its processor. If the system refuses, the thread stays
 * unbound. */
MBI_INTERNAL void mbi_numa_bind(const mbi_numa *numa, int threads, int thread) {
  if (numa->count > 0) {
    mbi_processor_bind(numa->cpu[mbi_numa_slot(numa, threads, thread)]);
  }
}
