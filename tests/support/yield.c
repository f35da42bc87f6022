/* Preloaded into MPI processes that share cores with other tests. A process that waits for a
 * message calls sched_yield again and again, and each time loses its core to a busy program for
 * a whole time slice. This version sleeps instead, and wakes up quickly. */
#include <time.h>

int sched_yield(void);

int sched_yield(void) {
  const struct timespec pause = {0, 20000}; /* nanoseconds */
  return nanosleep(&pause, NULL);
}
