/* The processes of a run: forked before any of them touches CUDA, with memory that all share.
 */
#ifndef DIST_BENCH_CREW_H
#define DIST_BENCH_CREW_H
#include "matrix.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CREW_MOST 64
#define CREW_LIMIT 120.0           /* seconds for which a rank waits for the others */
#define CREW_BOX ((size_t)1 << 30) /* bytes of address space for one rank's messages */
#define CREW_COLUMNS                                                                           \
  ((size_t)1 << 34) /* and for numbers of columns; only touched pages use memory */

typedef struct crew_shared {
  int arrived, turn, stop;
  double value[CREW_MOST];
  int64_t number[CREW_MOST * CREW_MOST];
  size_t place[CREW_MOST * CREW_MOST]; /* in the boxes, of p to q at p * ranks + q */
  char id[128];                        /* of NCCL */
} crew_shared;

typedef struct crew {
  int rank, ranks;
  crew_shared *shared;
  char *boxes;     /* CREW_BOX bytes of each rank */
  double *columns; /* one number per column of a matrix */
} crew;

static void *crew_map(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    bench_die("%zu bytes of shared memory: %s", bytes, strerror(errno));
  }
  return memory;
}

static double crew_seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Waits until all ranks have called it. */
static void crew_meet(crew *c) {
  crew_shared *s = c->shared;
  const int turn = __atomic_load_n(&s->turn, __ATOMIC_ACQUIRE);
  const double began = crew_seconds();
  if (__atomic_add_fetch(&s->arrived, 1, __ATOMIC_ACQ_REL) == c->ranks) {
    __atomic_store_n(&s->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->turn, turn + 1, __ATOMIC_RELEASE);
    return;
  }
  while (__atomic_load_n(&s->turn, __ATOMIC_ACQUIRE) == turn) {
    if (crew_seconds() - began > CREW_LIMIT) {
      bench_die("rank %d waits for the others for more than %g s", c->rank, CREW_LIMIT);
    }
    (void)sched_yield();
  }
}

/* Returns the largest of a number over all ranks; below, the sum. */
static double crew_largest(crew *c, double value) {
  double largest;
  int q;
  c->shared->value[c->rank] = value;
  crew_meet(c);
  largest = c->shared->value[0];
  for (q = 1; q < c->ranks; q++) {
    largest = c->shared->value[q] > largest ? c->shared->value[q] : largest;
  }
  crew_meet(c);
  return largest;
}

static double crew_sum(crew *c, double value) {
  double sum = 0;
  int q;
  c->shared->value[c->rank] = value;
  crew_meet(c);
  for (q = 0; q < c->ranks; q++) {
    sum += c->shared->value[q];
  }
  crew_meet(c);
  return sum;
}

/* ---- An exchange through shared memory, for ranks without NCCL ------------------------------- */

static int crew_counts(void *user, const int64_t *to, int64_t *from) {
  crew *c = (crew *)user;
  int q;
  memcpy(c->shared->number + (size_t)c->rank * (size_t)c->ranks, to,
         (size_t)c->ranks * sizeof *to);
  crew_meet(c);
  for (q = 0; q < c->ranks; q++) {
    from[q] = c->shared->number[q * c->ranks + c->rank];
  }
  crew_meet(c);
  return 0;
}

typedef struct crew_post { /* passed from `start` to `finish` */
  crew *members;
  const merbit_message *receives;
  int count;
} crew_post;

static int crew_start(void *user, const merbit_message *sends, int send_count,
                      const merbit_message *receives, int receive_count, void *stream) {
  crew_post *post = (crew_post *)user;
  crew *c = post->members;
  char *box = c->boxes + (size_t)c->rank * CREW_BOX;
  size_t used = 0;
  int i;
  (void)stream;
  for (i = 0; i < send_count; i++) {
    if (used + sends[i].bytes > CREW_BOX) {
      return 1;
    }
    memcpy(box + used, sends[i].data, sends[i].bytes);
    c->shared->place[c->rank * c->ranks + sends[i].rank] = used;
    used += sends[i].bytes;
  }
  post->receives = receives;
  post->count = receive_count;
  return 0;
}

static int crew_finish(void *user, void *stream) {
  crew_post *post = (crew_post *)user;
  crew *c = post->members;
  int i;
  (void)stream;
  crew_meet(c);
  for (i = 0; i < post->count; i++) {
    const int q = post->receives[i].rank;
    memcpy(post->receives[i].data,
           c->boxes + (size_t)q * CREW_BOX + c->shared->place[q * c->ranks + c->rank],
           post->receives[i].bytes);
  }
  crew_meet(c);
  return 0;
}

static int crew_post_counts(void *user, const int64_t *to, int64_t *from) {
  return crew_counts(((crew_post *)user)->members, to, from);
}

/* `post` must live as long as the exchange is used. */
static merbit_exchange crew_exchange(crew *c, crew_post *post) {
  merbit_exchange exchange;
  memset(&exchange, 0, sizeof exchange);
  memset(post, 0, sizeof *post);
  post->members = c;
  exchange.rank = c->rank;
  exchange.ranks = c->ranks;
  exchange.counts = crew_post_counts;
  exchange.start = crew_start;
  exchange.finish = crew_finish;
  exchange.user = post;
  return exchange;
}

/* ---- Life ------------------------------------------------------------------------------------ */

typedef void (*crew_work)(crew *c, void *argument);

static void crew_open(crew *c) {
  memset(c, 0, sizeof *c);
  c->shared = (crew_shared *)crew_map(sizeof *c->shared);
  c->boxes = (char *)crew_map(CREW_MOST * CREW_BOX);
  c->columns = (double *)crew_map(CREW_COLUMNS);
}

/* Ends the ranks that still run. */
static void crew_kill(const pid_t *ranks, int count) {
  int i;
  for (i = 0; i < count; i++) {
    if (ranks[i] > 0) {
      (void)kill(ranks[i], SIGKILL);
    }
  }
}

/* Runs `work` in `ranks` processes. If one of them fails, or after `limit` seconds, ends the
 * others. Returns 0 if all ended well. */
static int crew_run(crew *c, int ranks, crew_work work, void *argument, double limit) {
  const double began = crew_seconds();
  const pid_t parent = getpid();
  pid_t pids[CREW_MOST];
  int left = ranks, failed = 0, i, status;
  memset(c->shared, 0, sizeof *c->shared);
  (void)fflush(NULL);
  for (i = 0; i < ranks; i++) {
    pids[i] = fork();
    if (pids[i] == 0) {
      (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) {
        _exit(1);
      }
      c->rank = i;
      c->ranks = ranks;
      work(c, argument);
      (void)fflush(NULL);
      _exit(0);
    }
    if (pids[i] < 0) {
      crew_kill(pids, i);
      bench_die("rank %d cannot be forked: %s", i, strerror(errno));
    }
  }
  while (left > 0) {
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    for (i = 0; i < ranks && ended > 0; i++) {
      if (pids[i] == ended) {
        pids[i] = 0;
        left--;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
          (void)fprintf(stderr, "bench: rank %d of %d ended with status %d\n", i, ranks,
                        status);
          failed++;
        }
      }
    }
    if (failed > 0 || crew_seconds() - began > limit) {
      if (failed++ == 0) {
        (void)fprintf(stderr, "bench: %d ranks have not ended within %.0f s\n", left,
                      limit > 0 ? limit : 0);
      }
      (void)usleep(300000); /* time for the others' messages */
      crew_kill(pids, ranks);
    }
    if (ended <= 0) {
      (void)usleep(2000);
    }
  }
  return failed;
}

#endif
