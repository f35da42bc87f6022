/* Ranks as forked processes that exchange through shared memory: an exchange for tests without
 * MPI. A function that waits for a lost rank gives up after `patience` seconds. Any function of
 * any rank can be made to fail, and any rank to die in it. The parent gets each rank's status
 * and message. Include cmocka.h first. */
#ifndef TEST_DIST_RANKS_H
#define TEST_DIST_RANKS_H
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "support/matrices.h"

enum { RANKS_MOST = 8, RANKS_BOX = 1 << 20, RANKS_RESULTS = 1 << 22 };

typedef enum ranks_function {
  RANKS_NONE,
  RANKS_COUNTS,
  RANKS_START,
  RANKS_FINISH,
  RANKS_SUM
} ranks_function;

/* A function's call that fails, counted from 1. */
typedef struct ranks_fault {
  int rank;
  ranks_function function;
  long call;
  int dies; /* 1: the process ends there; 0: the function fails */
} ranks_fault;

typedef struct ranks_box { /* a pending message */
  int full;
  size_t bytes;
  char data[RANKS_BOX];
} ranks_box;

/* Shared by all processes. */
typedef struct ranks_world {
  int ranks, patience, aborted;
  int devices; /* ranks exchange over NCCL, rank q on GPU q % devices; 0: as below */
  int id_made; /* 1: the id for NCCL is ready */
  merbit_nccl_id id;
  ranks_fault fault;
  int arrived;                           /* in the present round of counts */
  int round;                             /* finished rounds */
  int64_t table[RANKS_MOST][RANKS_MOST]; /* [from][to] */
  int status[RANKS_MOST];
  char sentence[RANKS_MOST][MERBIT_MESSAGE_SIZE];
  long calls[RANKS_MOST][RANKS_SUM + 1];
  char results[RANKS_RESULTS];           /* for the test */
  ranks_box box[RANKS_MOST][RANKS_MOST]; /* [from][to] */
} ranks_world;

typedef struct ranks_user { /* of one process */
  ranks_world *world;
  int rank;
  const merbit_message *receives;
  int receive_count;
  const char *error;
} ranks_user;

TEST_UNUSED static double ranks_now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waits until *word is `value`. Returns 0, or 1 if the time is up or the world is aborted. It
 * sleeps after a while, so that a rank that waits in vain leaves its core to other tests. */
static int ranks_wait(ranks_user *u, const int *word, int value) {
  const struct timespec nap = {0, 20000};
  const double begin = ranks_now();
  int turns = 0;
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
    if (__atomic_load_n(&u->world->aborted, __ATOMIC_ACQUIRE)) {
      u->error = "another rank has given up";
      return 1;
    }
    if (ranks_now() - begin > u->world->patience) {
      u->error = "no answer in time";
      return 1;
    }
    (void)(turns++ < 100 ? sched_yield() : nanosleep(&nap, NULL));
  }
  return 0;
}

/* Counts a call. Returns 1 if it must fail. */
static int ranks_faulty(ranks_user *u, ranks_function function) {
  const ranks_fault *fault = &u->world->fault;
  const long call = ++u->world->calls[u->rank][function];
  if (fault->function != function || fault->rank != u->rank || fault->call != call) {
    return 0;
  }
  if (fault->dies) {
    _exit(99);
  }
  u->error = "planned";
  return 1;
}

static int ranks_counts(void *user, const int64_t *to, int64_t *from) {
  ranks_user *u = (ranks_user *)user;
  ranks_world *w = u->world;
  int round, q, pass;
  if (ranks_faulty(u, RANKS_COUNTS)) {
    return 1;
  }
  for (q = 0; q < w->ranks; q++) {
    w->table[u->rank][q] = to[q];
  }
  for (pass = 0; pass < 2; pass++) { /* all have written; all have read */
    round = __atomic_load_n(&w->round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&w->arrived, 1, __ATOMIC_ACQ_REL) == w->ranks) {
      __atomic_store_n(&w->arrived, 0, __ATOMIC_RELEASE);
      __atomic_store_n(&w->round, round + 1, __ATOMIC_RELEASE);
    } else if (ranks_wait(u, &w->round, round + 1)) {
      return 1;
    }
    for (q = 0; pass == 0 && q < w->ranks; q++) {
      from[q] = w->table[q][u->rank];
    }
  }
  return 0;
}

static int ranks_start(void *user, const merbit_message *sends, int send_count,
                       const merbit_message *receives, int receive_count, void *stream) {
  ranks_user *u = (ranks_user *)user;
  int i;
  if (ranks_faulty(u, RANKS_START) || stream != NULL) {
    return 1;
  }
  for (i = 0; i < send_count; i++) {
    ranks_box *box = &u->world->box[u->rank][sends[i].rank];
    if (sends[i].bytes > RANKS_BOX || sends[i].rank == u->rank ||
        ranks_wait(u, &box->full, 0)) {
      return 1;
    }
    memcpy(box->data, sends[i].data, sends[i].bytes);
    box->bytes = sends[i].bytes;
    __atomic_store_n(&box->full, 1, __ATOMIC_RELEASE);
  }
  u->receives = receives;
  u->receive_count = receive_count;
  return 0;
}

static int ranks_finish(void *user, void *stream) {
  ranks_user *u = (ranks_user *)user;
  int i;
  if (ranks_faulty(u, RANKS_FINISH) || stream != NULL) {
    return 1;
  }
  for (i = 0; i < u->receive_count; i++) {
    ranks_box *box = &u->world->box[u->receives[i].rank][u->rank];
    if (ranks_wait(u, &box->full, 1)) {
      return 1;
    }
    if (box->bytes != u->receives[i].bytes) {
      u->error = "a message of another size";
      return 1;
    }
    memcpy(u->receives[i].data, box->data, box->bytes);
    __atomic_store_n(&box->full, 0, __ATOMIC_RELEASE);
  }
  return 0;
}

/* Adds in rank order, using counts. */
static int ranks_sum(void *user, double *values, int count, void *stream) {
  ranks_user *u = (ranks_user *)user;
  int64_t to[RANKS_MOST], from[RANKS_MOST];
  int k, q;
  if (ranks_faulty(u, RANKS_SUM) || stream != NULL) {
    return 1;
  }
  for (k = 0; k < count; k++) {
    for (q = 0; q < u->world->ranks; q++) {
      memcpy(&to[q], &values[k], sizeof to[q]);
    }
    u->world->calls[u->rank][RANKS_COUNTS]--; /* not a call of the operator */
    if (ranks_counts(user, to, from)) {
      return 1;
    }
    values[k] = 0;
    for (q = 0; q < u->world->ranks; q++) {
      double part;
      memcpy(&part, &from[q], sizeof part);
      values[k] += part;
    }
  }
  return 0;
}

static void ranks_abort(void *user) {
  __atomic_store_n(&((ranks_user *)user)->world->aborted, 1, __ATOMIC_RELEASE);
}

static const char *ranks_error(void *user) {
  return ((ranks_user *)user)->error;
}

/* Runs as a rank. Returns the rank's final status. */
typedef merbit_status (*ranks_body)(merbit_context *context, const merbit_exchange *exchange,
                                    ranks_world *world, void *argument);

TEST_UNUSED static ranks_world *ranks_world_make(int ranks) {
  ranks_world *w = (ranks_world *)mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert_true(w != (ranks_world *)MAP_FAILED);
  w->ranks = ranks;
  w->patience = 60;
  return w;
}

TEST_UNUSED static void ranks_world_free(ranks_world *w) {
  (void)munmap(w, sizeof *w);
}

/* Makes an exchange over NCCL. The first rank makes the id. */
static merbit_exchange *ranks_over_nccl(ranks_user *u, merbit_context *context) {
  ranks_world *w = u->world;
  merbit_nccl_desc desc;
  merbit_exchange *exchange = NULL;
  char sentence[MERBIT_MESSAGE_SIZE];
  memset(&desc, 0, sizeof desc);
  desc.timeout_seconds = w->patience;
  if (u->rank == 0) {
    w->status[0] = (int)merbit_exchange_nccl_id(context, &desc, &w->id);
    __atomic_store_n(&w->id_made, 1, __ATOMIC_RELEASE);
  }
  if (ranks_wait(u, &w->id_made, 1) ||
      merbit_exchange_nccl_create(context, &w->id, u->rank, w->ranks, &desc, &exchange) !=
          MERBIT_OK) {
    (void)merbit_last_error(context, sentence, sizeof sentence);
    (void)fprintf(stderr, "rank %d: no exchange over NCCL: %s\n", u->rank, sentence);
    exit(97);
  }
  return exchange;
}

/* Runs one process. A failed check in a rank prints its line and ends the process with 98. */
TEST_UNUSED static void ranks_be(ranks_world *w, int rank, const merbit_context_desc *desc,
                                 int with_sum, ranks_body body, void *argument) {
  ranks_user user;
  merbit_exchange exchange, *over_nccl = NULL;
  merbit_context_desc mine = *desc;
  merbit_context *context = NULL;
  merbit_error error;
  memset(&user, 0, sizeof user);
  memset(&exchange, 0, sizeof exchange);
  user.world = w;
  user.rank = rank;
  exchange.rank = rank;
  exchange.ranks = w->ranks;
  exchange.counts = ranks_counts;
  exchange.start = ranks_start;
  exchange.finish = ranks_finish;
  exchange.sum = with_sum ? ranks_sum : NULL;
  exchange.abort = ranks_abort;
  exchange.error = ranks_error;
  exchange.user = &user;
  mine.device = w->devices > 0 ? rank % w->devices : 0;
  if (merbit_context_create(&mine, &context, &error) != MERBIT_OK) {
    (void)fprintf(stderr, "rank %d: %s\n", rank, error.message);
    _exit(97);
  }
  over_nccl = w->devices > 0 ? ranks_over_nccl(&user, context) : NULL;
  w->status[rank] = (int)body(context, over_nccl != NULL ? over_nccl : &exchange, w, argument);
  (void)merbit_last_error(context, w->sentence[rank], MERBIT_MESSAGE_SIZE);
  merbit_exchange_nccl_destroy(over_nccl);
  merbit_context_destroy(context);
}

#define RANKS_CHECK(condition)                                                                 \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      (void)fprintf(stderr, "%s:%d: rank %d: %s does not hold\n", __FILE__, __LINE__,          \
                    exchange->rank, #condition);                                               \
      exit(98);                                                                                \
    }                                                                                          \
  } while (0)

/* Runs `body` on all ranks. Returns the number of ranks that died as planned; any other death
 * fails the test. The children exit normally, so that leaks are detected. */
TEST_UNUSED static int ranks_run(ranks_world *w, const merbit_context_desc *desc, int with_sum,
                                 ranks_body body, void *argument) {
  pid_t children[RANKS_MOST];
  int rank, dead = 0;
  (void)fflush(NULL);
  w->aborted = w->arrived = w->round = w->id_made = 0;
  memset(w->calls, 0, sizeof w->calls);
  memset(w->sentence, 0, sizeof w->sentence);
  for (rank = 0; rank < RANKS_MOST * RANKS_MOST; rank++) {
    w->box[rank / RANKS_MOST][rank % RANKS_MOST].full = 0;
  }
  for (rank = 0; rank < w->ranks; rank++) {
    w->status[rank] = -1;
    children[rank] = fork();
    assert_true(children[rank] >= 0);
    if (children[rank] == 0) {
      ranks_be(w, rank, desc, with_sum, body, argument);
      exit(0);
    }
  }
  for (rank = 0; rank < w->ranks; rank++) {
    int end = 0;
    assert_int_equal(waitpid(children[rank], &end, 0), children[rank]);
    assert_true(WIFEXITED(end));
    if (WEXITSTATUS(end) == 99) {
      dead++;
    } else {
      assert_int_equal(WEXITSTATUS(end), 0);
    }
  }
  return dead;
}

/* A rank's part of a matrix: rows first to end, with 64-bit or 32-bit columns. */
typedef struct ranks_part {
  int64_t first, end;
  int64_t *row_ptr;
  void *col_ind, *values;
  merbit_view view;
} ranks_part;

/* Returns a rank's first row if `rows` are divided evenly; rank `without` gets none (-1: all
 * get a share). */
TEST_UNUSED static int64_t ranks_first(int64_t rows, int ranks, int rank, int without) {
  const int shares = without >= 0 && ranks > 1 ? ranks - 1 : ranks;
  const int before = without >= 0 && ranks > 1 && rank > without ? rank - 1 : rank;
  return rows * before / shares;
}

TEST_UNUSED static ranks_part ranks_part_make(const test_matrix *m, int64_t first, int64_t end,
                                              int single, int narrow, int base) {
  const int64_t start = m->row_ptr[first], nnz = m->row_ptr[end] - start;
  ranks_part p;
  int64_t i, k;
  memset(&p, 0, sizeof p);
  p.first = first;
  p.end = end;
  p.row_ptr = (int64_t *)test_allocate(end - first + 1, sizeof *p.row_ptr);
  p.col_ind = test_allocate(nnz, sizeof(int64_t));
  p.values = test_allocate(nnz, sizeof(double));
  for (i = 0; i <= end - first; i++) {
    p.row_ptr[i] = m->row_ptr[first + i] - start + base;
  }
  for (k = 0; k < nnz; k++) {
    if (narrow) {
      ((int32_t *)p.col_ind)[k] = m->col_ind[start + k] + base;
    } else {
      ((int64_t *)p.col_ind)[k] = m->col_ind[start + k] + base;
    }
    if (single) {
      ((float *)p.values)[k] = (float)m->values[start + k];
    } else {
      ((double *)p.values)[k] = m->values[start + k];
    }
  }
  p.view.value_type = single ? MERBIT_F32 : MERBIT_F64;
  p.view.offset_type = MERBIT_INDEX_64;
  p.view.index_type = narrow ? MERBIT_INDEX_32 : MERBIT_INDEX_64;
  p.view.base = base;
  p.view.rows = end - first;
  p.view.cols = m->cols;
  p.view.nnz = nnz;
  p.view.row_ptr = p.row_ptr;
  p.view.col_ind = p.col_ind;
  p.view.values = p.values;
  return p;
}

TEST_UNUSED static void ranks_part_free(ranks_part *p) {
  free(p->row_ptr);
  free(p->col_ind);
  free(p->values);
}

#endif /* TEST_DIST_RANKS_H */
