/* Preloaded into MPI's processes that share cores with other tests: one that waits for a message
 * yields over and over, which leaves its core to a busy program for a whole slice of time each
 * time. Here it sleeps, and is woken at once. */
#include <time.h>

int sched_yield(void);

int sched_yield(void) {
  const struct timespec pause = {0, 20000}; /* nanoseconds */
  return nanosleep(&pause, NULL);
}
