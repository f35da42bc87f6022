/* Ranks on the fake NCCL and the fake driver: forked processes that exchange messages. Include
 * dist/separate.h and cmocka.h first. */
#ifndef FAKE_NCCL_BED_H
#define FAKE_NCCL_BED_H
#include <signal.h>
#include <sys/wait.h>
#include "fake/support.h"

#define PATIENCE 0.3 /* seconds for an exchange that is to time out */
#define DEADLINE 60  /* seconds after which a rank counts as hung */
#define PLAIN_END 0
#define PLANNED_DEATH 99

static fake_nccl *nccl;
static void (*fake_nccl_clean)(void);
static char nccl_path[600];

/* ---- Ranks: forked processes ----------------------------------------------------------------- */

/* The work of one rank, given the id that all share. */
typedef void (*rank_body)(const merbit_nccl_id *id, int rank, int ranks, const void *argument);

/* A check in a rank, which is not a process of cmocka. */
#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      (void)fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);      \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)
#define CHECK_TEXT(text, part)                                                                 \
  do {                                                                                         \
    if (strstr(text, part) == NULL) {                                                          \
      (void)fprintf(stderr, "%s:%d: \"%s\" lacks \"%s\"\n", __FILE__, __LINE__, text, part);   \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)

static void clean_rank(void) {
  if (nccl->faults != 0) {
    (void)fprintf(stderr, "%s\n", nccl->fault);
  }
  if (cuda->faults != 0) {
    (void)fprintf(stderr, "%s\n", cuda->fault);
  }
  CHECK(nccl->faults == 0 && cuda->faults == 0);
  CHECK(nccl->communicators == 0 && nccl->depth == 0);
  CHECK(host.live == 0 && cuda->depth == 0 && cuda->retained == 0);
  CHECK(cuda->dead != 0 || (cuda->blocks == 0 && cuda->streams == 0));
}

/* Resets the fakes before ranks are forked. Returns the id of their communicator. */
static merbit_nccl_id fresh_id(void) {
  merbit_context *context;
  merbit_nccl_id id;
  fake_reset();
  fake_nccl_clean();
  context = fake_context(NULL);
  assert_int_equal(merbit_exchange_nccl_id(context, NULL, &id), MERBIT_OK);
  merbit_context_destroy(context);
  (void)fflush(NULL);
  return id;
}

/* Runs `body` on all ranks and expects each to end well or as planned. */
static void run_ranks(int ranks, rank_body body, const void *argument) {
  pid_t children[4];
  const merbit_nccl_id id = fresh_id();
  int rank, end;
  for (rank = 0; rank < ranks; rank++) {
    children[rank] = fork();
    assert_true(children[rank] >= 0);
    if (children[rank] == 0) {
      (void)alarm(DEADLINE);
      fake_reset();
      fake_nccl_clean();
      body(&id, rank, ranks, argument);
      exit(PLAIN_END);
    }
  }
  for (rank = 0; rank < ranks; rank++) {
    assert_int_equal(waitpid(children[rank], &end, 0), children[rank]);
    if (!WIFEXITED(end) ||
        (WEXITSTATUS(end) != PLAIN_END && WEXITSTATUS(end) != PLANNED_DEATH)) {
      fail_msg("rank %d of %d ended with %d", rank, ranks, end);
    }
  }
}

static merbit_exchange *connect(merbit_context *context, const merbit_nccl_id *id, int rank,
                                int ranks, double patience) {
  merbit_nccl_desc desc;
  merbit_exchange *exchange;
  memset(&desc, 0, sizeof desc);
  desc.timeout_seconds = patience;
  if (merbit_exchange_nccl_create(context, id, rank, ranks, &desc, &exchange) != MERBIT_OK) {
    char text[MERBIT_MESSAGE_SIZE];
    (void)merbit_last_error(context, text, sizeof text);
    (void)fprintf(stderr, "%s\n", text);
    exit(1);
  }
  return exchange;
}

static merbit_buffer *buffer_of(merbit_context *context, const void *data, size_t bytes) {
  merbit_buffer *buffer;
  CHECK(merbit_buffer_create(context, bytes, &buffer) == MERBIT_OK);
  CHECK(merbit_buffer_upload(buffer, 0, data, bytes) == MERBIT_OK);
  return buffer;
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Returns the number of doubles that rank p sends to rank q; some pairs exchange nothing, and
 * rank 3 only receives. */
static int letters(int p, int q) {
  return p == q || p == 3 || (p + 2 * q) % 5 == 0 ? 0 : 1 + 3 * p + q;
}

/* One exchange: letters(p, q) numbers from each rank p to each other rank q. */
typedef struct mail {
  merbit_message sends[4], receives[4];
  merbit_buffer *out[4], *in[4];
  int send_count, receive_count;
} mail;

static void mail_make(mail *m, merbit_context *context, int rank, int ranks) {
  double data[32];
  int q, i;
  memset(m, 0, sizeof *m);
  for (q = 0; q < ranks; q++) {
    for (i = 0; i < 32; i++) {
      data[i] = 1000 * rank + 100 * q + i;
    }
    if (letters(rank, q) > 0) {
      merbit_message *to = &m->sends[m->send_count];
      m->out[m->send_count] = buffer_of(context, data, 8 * (size_t)letters(rank, q));
      to->rank = q;
      to->bytes = 8 * (size_t)letters(rank, q);
      to->data = merbit_buffer_pointer(m->out[m->send_count++]);
    }
    if (letters(q, rank) > 0) {
      merbit_message *from = &m->receives[m->receive_count];
      memset(data, 0, sizeof data);
      m->in[m->receive_count] = buffer_of(context, data, 8 * (size_t)letters(q, rank));
      from->rank = q;
      from->bytes = 8 * (size_t)letters(q, rank);
      from->data = merbit_buffer_pointer(m->in[m->receive_count++]);
    }
  }
}

static int mail_start(const mail *m, const merbit_exchange *e, void *stream) {
  return e->start(e->user, m->sends, m->send_count, m->receives, m->receive_count, stream) ||
         e->finish(e->user, stream);
}

static void mail_check_and_clear(const mail *m, int rank) {
  double data[32];
  int i, k;
  for (i = 0; i < m->receive_count; i++) {
    const int from = m->receives[i].rank;
    CHECK(merbit_buffer_download(m->in[i], 0, data, m->receives[i].bytes) == MERBIT_OK);
    for (k = 0; k < letters(from, rank); k++) {
      CHECK(data[k] == 1000 * from + 100 * rank + k);
    }
    memset(data, 0, sizeof data);
    CHECK(merbit_buffer_upload(m->in[i], 0, data, m->receives[i].bytes) == MERBIT_OK);
  }
}

static void mail_free(mail *m) {
  int i;
  for (i = 0; i < 4; i++) {
    merbit_buffer_destroy(m->out[i]);
    merbit_buffer_destroy(m->in[i]);
  }
}

static void *stream_make(merbit_context *context) {
  void *stream = NULL;
  CHECK(mbi_device_enter(context) == MERBIT_OK);
  CHECK(context->device.driver.stream_create(&stream, 1) == 0);
  mbi_device_leave(context);
  return stream;
}

static void stream_free(merbit_context *context, void *stream) {
  CHECK(mbi_device_enter(context) == MERBIT_OK);
  CHECK(context->device.driver.stream_destroy(stream) == 0);
  mbi_device_leave(context);
}

/* Opens the fakes before ranks are forked. */
static void nccl_open(void) {
  void *library;
  fake_nccl_getter get;
  fake_open("new");
  (void)snprintf(nccl_path, sizeof nccl_path, "%s/new/libnccl.so.2", FAKE_FOLDER);
  (void)setenv("MERBIT_NCCL", nccl_path, 1);
  library = dlopen(nccl_path, RTLD_NOW | RTLD_LOCAL);
  fake_symbol(library, "fake_nccl_reset", &fake_nccl_clean);
  fake_symbol(library, "fake_nccl_state", &get);
  nccl = get();
}

#endif
