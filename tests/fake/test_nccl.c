/* The exchange over NCCL on the fake NCCL and the fake driver: what travels arrives, and
 * whatever fails, dies or hangs ends every rank's call in time with a sentence, and leaks
 * nothing. */
#include "dist/separate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include "fake/support.h"

#define PATIENCE 0.3 /* seconds of an exchange that is to wait in vain */
#define DEADLINE 60  /* seconds after which a rank has hung */
#define PLAIN_END 0
#define PLANNED_DEATH 99

static fake_nccl *nccl;
static void (*fake_nccl_clean)(void);
static char nccl_path[600];

/* ---- Ranks: forked processes ----------------------------------------------------------------- */

/* The work of a rank with the id that all have. */
typedef void (*rank_body)(const merbit_nccl_id *id, int rank, int ranks, const void *argument);

/* A check in a rank, which is no process of cmocka's. */
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

/* Runs `body` on all ranks and expects each to end well, or as planned. */
static void run_ranks(int ranks, rank_body body, const void *argument) {
  pid_t children[4];
  merbit_context *context;
  merbit_nccl_id id;
  int rank, end;
  fake_reset();
  fake_nccl_clean();
  context = fake_context(NULL);
  assert_int_equal(merbit_exchange_nccl_id(context, NULL, &id), MERBIT_OK);
  merbit_context_destroy(context);
  (void)fflush(NULL);
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

/* ---- What travels arrives -------------------------------------------------------------------- */

/* Number of doubles that rank p sends to rank q; some pairs exchange nothing, and rank 3 only
 * receives. */
static int letters(int p, int q) {
  return p == q || p == 3 || (p + 2 * q) % 5 == 0 ? 0 : 1 + 3 * p + q;
}

/* One exchange on `stream`: from each other rank what `letters` says, and a number of its own.
 */
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

static void counts_arrive(const merbit_exchange *e) {
  int64_t to[4], from[4];
  int q;
  for (q = 0; q < e->ranks; q++) {
    to[q] = ((int64_t)1 << 40) * (e->rank + 1) + q;
  }
  CHECK(e->counts(e->user, to, from) == 0);
  for (q = 0; q < e->ranks; q++) {
    CHECK(from[q] == ((int64_t)1 << 40) * (q + 1) + e->rank);
  }
}

static void sums_arrive(merbit_context *context, const merbit_exchange *e, void *stream) {
  double values[3];
  merbit_buffer *buffer;
  int round;
  for (round = 0; round < 4; round++) {
    values[0] = e->rank + 1;
    values[1] = 0.1 * (e->rank + 1);
    values[2] = round;
    buffer = buffer_of(context, values, sizeof values);
    CHECK(e->sum(e->user, (double *)merbit_buffer_pointer(buffer), 3, stream) == 0);
    CHECK(e->wait(e->user, stream) == 0);
    CHECK(merbit_buffer_download(buffer, 0, values, sizeof values) == MERBIT_OK);
    CHECK(values[0] == e->ranks * (e->ranks + 1) / 2);
    CHECK(fabs(values[1] - 0.1 * values[0]) < 1e-14 && values[2] == round * e->ranks);
    merbit_buffer_destroy(buffer);
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

static void exchange_all(const merbit_nccl_id *id, int rank, int ranks, const void *argument) {
  merbit_context *context = fake_context(NULL);
  merbit_exchange *e = connect(context, id, rank, ranks, 0);
  void *stream = stream_make(context);
  mail m;
  int round;
  (void)argument;
  CHECK(e->rank == rank && e->ranks == ranks && e->device_messages);
  CHECK(e->error(e->user) == NULL);
  counts_arrive(e);
  mail_make(&m, context, rank, ranks);
  for (round = 0; round < 3; round++) {
    CHECK(mail_start(&m, e, stream) == 0);
    CHECK(e->wait(e->user, stream) == 0);
    mail_check_and_clear(&m, rank);
  }
  CHECK(e->start(e->user, NULL, 0, NULL, 0, stream) == 0 && e->finish(e->user, stream) == 0);
  sums_arrive(context, e, stream);
  counts_arrive(e);
  mail_free(&m);
  stream_free(context, stream);
  merbit_exchange_nccl_destroy(e);
  CHECK(nccl->destroyed == 1 && nccl->aborted == 0);
  merbit_context_destroy(context);
  clean_rank();
}

static void what_is_sent_arrives(void **state) {
  int ranks;
  (void)state;
  for (ranks = 1; ranks <= 4; ranks++) {
    run_ranks(ranks, exchange_all, NULL);
  }
}

/* Records an exchange and a sum in a graph, and launches it twice. */
static void exchange_in_a_graph(const merbit_nccl_id *id, int rank, int ranks,
                                const void *argument) {
  merbit_context *context = fake_context(NULL);
  const mbi_driver *driver = &context->device.driver;
  merbit_exchange *e = connect(context, id, rank, ranks, 0);
  void *stream = stream_make(context), *graph = NULL, *executable = NULL;
  double one = 1;
  merbit_buffer *sum = buffer_of(context, &one, sizeof one);
  mail m;
  int round;
  (void)argument;
  mail_make(&m, context, rank, ranks);
  CHECK(mbi_device_enter(context) == MERBIT_OK);
  CHECK(driver->stream_begin_capture(stream, 1) == 0);
  CHECK(mail_start(&m, e, stream) == 0);
  CHECK(e->sum(e->user, (double *)merbit_buffer_pointer(sum), 1, stream) == 0);
  CHECK(driver->stream_end_capture(stream, &graph) == 0);
  CHECK(driver->graph_instantiate(&executable, graph, 0) == 0);
  CHECK(driver->graph_destroy(graph) == 0);
  for (round = 0; round < 2; round++) {
    CHECK(driver->graph_launch(executable, stream) == 0);
    CHECK(e->wait(e->user, stream) == 0);
    mail_check_and_clear(&m, rank);
  }
  CHECK(driver->graph_exec_destroy(executable) == 0);
  mbi_device_leave(context);
  CHECK(merbit_buffer_download(sum, 0, &one, sizeof one) == MERBIT_OK && one == ranks * ranks);
  merbit_buffer_destroy(sum);
  mail_free(&m);
  stream_free(context, stream);
  merbit_exchange_nccl_destroy(e);
  merbit_context_destroy(context);
  clean_rank();
}

static void a_graph_repeats_an_exchange(void **state) {
  (void)state;
  run_ranks(3, exchange_in_a_graph, NULL);
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* Does everything once. Returns 0, or 1 after the first failure. */
static int use_all(merbit_context *context, const merbit_exchange *e, void *stream) {
  int64_t to[4] = {0, 0, 0, 0}, from[4];
  double values[3] = {1, 2, 3};
  merbit_buffer *buffer = buffer_of(context, values, sizeof values);
  mail m;
  int failed;
  mail_make(&m, context, e->rank, e->ranks);
  failed = e->counts(e->user, to, from) || mail_start(&m, e, stream) ||
           e->sum(e->user, (double *)merbit_buffer_pointer(buffer), 3, stream) ||
           e->wait(e->user, stream);
  if (failed) { /* whatever was enqueued has ended, or ends now */
    (void)e->wait(e->user, stream);
  }
  mail_free(&m);
  merbit_buffer_destroy(buffer);
  return failed;
}

/* A failing rank's call, and what the sentence says of it. */
typedef struct plan {
  const char *only;
  long fail_at;
} plan;

/* Rank 1 fails; the others wait in vain. */
static void fail_one(const merbit_nccl_id *id, int rank, int ranks, const void *argument) {
  const plan *p = (const plan *)argument;
  merbit_context *context = fake_context(NULL);
  merbit_exchange *e = NULL;
  merbit_nccl_desc desc;
  void *stream = stream_make(context);
  char text[MERBIT_MESSAGE_SIZE];
  merbit_status status;
  memset(&desc, 0, sizeof desc);
  desc.timeout_seconds = PATIENCE;
  nccl->calls.only = p->only;
  nccl->calls.fail_at = rank == 1 ? p->fail_at : 0;
  nccl->calls.code = 2;
  status = merbit_exchange_nccl_create(context, id, rank, ranks, &desc, &e);
  if (status != MERBIT_OK) {
    CHECK(status == MERBIT_IO_ERROR && e == NULL);
    CHECK(strcmp(p->only, "ncclCommInitRank") == 0);
    (void)merbit_last_error(context, text, sizeof text);
    CHECK_TEXT(text, rank == 1 ? "rank 1 of 2: ncclCommInitRank failed: unhandled system error "
                                 "(NCCL error 2): the fake's last words"
                               : "rank 0 of 2: ncclCommInitRank did not return within 0.3 s");
    if (rank == 0) {
      exit(PLAIN_END); /* its guard waits for ever, and keeps what it needs */
    }
  } else {
    const int failed = use_all(context, e, stream);
    const char *sentence = e->error(e->user);
    CHECK(failed);
    if (rank == 1) {
      CHECK_TEXT(sentence, p->only);
      CHECK_TEXT(sentence, "rank 1 of 2: ");
      CHECK_TEXT(sentence,
                 "failed: unhandled system error (NCCL error 2): the fake's last words");
    } else {
      CHECK_TEXT(sentence, "rank 0 of 2: the GPU's work has not ended within 0.3 s");
    }
    CHECK(e->start(e->user, NULL, 0, NULL, 0, stream) != 0);
    CHECK(use_all(context, e, stream) != 0 && e->error(e->user) == sentence);
  }
  CHECK(nccl->calls.failed == (rank == 1));
  stream_free(context, stream);
  merbit_exchange_nccl_destroy(e);
  merbit_context_destroy(context);
  clean_rank();
}

static void each_nccl_call_may_fail(void **state) {
  static const plan plans[] = {
      {"ncclCommInitRank", 1}, {"ncclGroupStart", 1}, {"ncclSend", 1},     {"ncclRecv", 1},
      {"ncclGroupEnd", 1},     {"ncclAllReduce", 1},  {"ncclAllReduce", 2}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof plans / sizeof *plans; i++) {
    run_ranks(2, fail_one, &plans[i]);
  }
}

/* A failed ncclCommDestroy is nobody's concern. */
static void destroy_fails(const merbit_nccl_id *id, int rank, int ranks, const void *argument) {
  merbit_context *context = fake_context(NULL);
  merbit_exchange *e = connect(context, id, rank, ranks, 0);
  void *stream = stream_make(context);
  (void)argument;
  nccl->calls.only = "ncclCommDestroy";
  nccl->calls.made = 0;
  nccl->calls.fail_at = 1;
  nccl->calls.code = 3;
  CHECK(use_all(context, e, stream) == 0);
  stream_free(context, stream);
  merbit_exchange_nccl_destroy(e);
  merbit_context_destroy(context);
  CHECK(nccl->calls.failed == 1);
  clean_rank();
}

static void a_failed_end_leaves_nothing(void **state) {
  (void)state;
  run_ranks(2, destroy_fails, NULL);
}

/* One rank on a driver whose call number *argument fails. */
static void driver_fails(const merbit_nccl_id *id, int rank, int ranks, const void *argument) {
  const long fail_at = *(const long *)argument;
  merbit_context *context = fake_context(NULL);
  merbit_exchange *e = NULL;
  char text[MERBIT_MESSAGE_SIZE];
  merbit_status status;
  int64_t to = 7, from = 0;
  int failed = 0;
  cuda->calls.made = 0;
  cuda->calls.fail_at = fail_at;
  cuda->calls.code = 1;
  status = merbit_exchange_nccl_create(context, id, rank, ranks, NULL, &e);
  if (status == MERBIT_OK) {
    failed = e->counts(e->user, &to, &from);
    CHECK(failed ? e->error(e->user) != NULL : from == 7);
  } else {
    (void)merbit_last_error(context, text, sizeof text);
    CHECK(e == NULL && text[0] != '\0');
  }
  merbit_exchange_nccl_destroy(e);
  merbit_context_destroy(context);
  cuda->calls.fail_at = 0;
  CHECK(cuda->faults == 0 && nccl->faults == 0 && nccl->communicators == 0);
  CHECK(host.live == 0 && cuda->depth == 0);
  exit(cuda->calls.failed > 0 ? PLAIN_END : PLANNED_DEATH);
}

static void each_driver_call_may_fail(void **state) {
  long fail_at;
  int end = PLAIN_END;
  (void)state;
  for (fail_at = 1; end == PLAIN_END; fail_at++) {
    merbit_context *context;
    merbit_nccl_id id;
    pid_t child;
    fake_reset();
    fake_nccl_clean();
    context = fake_context(NULL);
    assert_int_equal(merbit_exchange_nccl_id(context, NULL, &id), MERBIT_OK);
    merbit_context_destroy(context);
    (void)fflush(NULL);
    child = fork();
    if (child == 0) {
      (void)alarm(DEADLINE);
      fake_reset();
      driver_fails(&id, 0, 1, &fail_at);
    }
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_true(WIFEXITED(end));
    end = WEXITSTATUS(end);
    assert_true(end == PLAIN_END || end == PLANNED_DEATH);
  }
  assert_true(fail_at > 10); /* the calls of a whole life */
}

/* Rank 1 dies at the point *argument. */
static void die(const merbit_nccl_id *id, int rank, int ranks, const void *argument) {
  const int point = *(const int *)argument;
  merbit_context *context = fake_context(NULL);
  merbit_exchange *e = connect(context, id, rank, ranks, rank == 1 ? 0 : PATIENCE);
  void *stream = stream_make(context);
  int64_t to[4] = {0, 0, 0, 0}, from[4];
  mail m;
  double began;
  if (rank == 1 && point == 0) {
    _exit(PLANNED_DEATH);
  }
  began = mbi_seconds();
  if (point == 0) {
    CHECK(e->counts(e->user, to, from) != 0);
  } else {
    CHECK(e->counts(e->user, to, from) == 0);
    if (rank == 1) {
      _exit(PLANNED_DEATH);
    }
    mail_make(&m, context, rank, ranks);
    CHECK(mail_start(&m, e, stream) == 0); /* it is only enqueued */
    CHECK(e->wait(e->user, stream) != 0);
    mail_free(&m);
  }
  CHECK(mbi_seconds() - began >= PATIENCE);
  CHECK_TEXT(e->error(e->user),
             "of 3: the GPU's work has not ended within 0.3 s: another rank may "
             "have ended");
  CHECK(nccl->aborted == 1);
  stream_free(context, stream);
  merbit_exchange_nccl_destroy(e);
  CHECK(nccl->destroyed == 0);
  merbit_context_destroy(context);
  clean_rank();
}

static void a_rank_that_dies_ends_the_others(void **state) {
  int point;
  (void)state;
  for (point = 0; point < 2; point++) {
    run_ranks(3, die, &point);
  }
}

/* A call that does not return. */
static void stick(const merbit_nccl_id *id, int rank, int ranks, const void *argument) {
  const char *const call = (const char *)argument;
  merbit_context *context = fake_context(NULL);
  merbit_exchange *e = connect(context, id, rank, ranks, PATIENCE);
  void *stream = stream_make(context);
  char expected[100];
  nccl->stuck = call;
  if (strcmp(call, "ncclCommDestroy") == 0) {
    CHECK(use_all(context, e, stream) == 0);
  } else {
    CHECK(use_all(context, e, stream) != 0);
    (void)snprintf(expected, sizeof expected, "rank %d of 2: %s did not return within 0.3 s",
                   rank, call);
    CHECK_TEXT(e->error(e->user), expected);
    CHECK(nccl->aborted == 1);
  }
  stream_free(context, stream);
  merbit_exchange_nccl_destroy(e); /* comes back too, and leaves its thread alone */
  merbit_context_destroy(context);
  nccl->stuck = NULL; /* which then gives everything back, the context last */
  while (__atomic_load_n(&cuda->retained, __ATOMIC_ACQUIRE) > 0 ||
         __atomic_load_n(&host.live, __ATOMIC_ACQUIRE) > 0) {
    (void)usleep(1000);
  }
  clean_rank();
}

static void a_call_that_hangs_is_left(void **state) {
  (void)state;
  run_ranks(2, stick, "ncclGroupEnd");
  run_ranks(2, stick, "ncclAllReduce");
  run_ranks(2, stick, "ncclCommDestroy");
}

/* The error of another rank, as a network would report it. */
static void hear_of_an_error(const merbit_nccl_id *id, int rank, int ranks,
                             const void *argument) {
  merbit_context *context = fake_context(NULL);
  merbit_exchange *e = connect(context, id, rank, ranks, 20);
  void *stream = stream_make(context);
  mail m;
  (void)argument;
  if (rank == 1) {
    _exit(PLANNED_DEATH);
  }
  mail_make(&m, context, rank, ranks);
  CHECK(mail_start(&m, e, stream) == 0);
  nccl->async_error = 6;
  CHECK(e->wait(e->user, stream) != 0);
  CHECK_TEXT(e->error(e->user),
             "rank 0 of 2: an exchange that was under way failed: injected (NCCL "
             "error 6)");
  mail_free(&m);
  stream_free(context, stream);
  merbit_exchange_nccl_destroy(e);
  merbit_context_destroy(context);
  clean_rank();
}

static void an_error_of_nccl_ends_a_wait(void **state) {
  (void)state;
  run_ranks(2, hear_of_an_error, NULL);
}

static void give_up(const merbit_nccl_id *id, int rank, int ranks, const void *argument) {
  merbit_context *context = fake_context(NULL);
  merbit_exchange *e = connect(context, id, rank, ranks, PATIENCE);
  void *stream = stream_make(context);
  (void)argument;
  if (rank == 1) {
    e->abort(e->user);
    e->abort(e->user);
    CHECK_TEXT(e->error(e->user),
               "rank 1 of 2: this rank left a call after an error of its own");
  }
  CHECK(use_all(context, e, stream) != 0);
  CHECK(nccl->aborted == 1);
  stream_free(context, stream);
  merbit_exchange_nccl_destroy(e);
  merbit_context_destroy(context);
  clean_rank();
}

static void after_abort_nothing_works(void **state) {
  (void)state;
  run_ranks(2, give_up, NULL);
}

/* ---- Libraries and arguments ----------------------------------------------------------------- */

static void expect_refused(merbit_context *context, merbit_status found, merbit_status expected,
                           const char *part) {
  char text[MERBIT_MESSAGE_SIZE];
  (void)merbit_last_error(context, text, sizeof text);
  assert_int_equal(found, expected);
  if (strstr(text, part) == NULL) {
    fail_msg("\"%s\" lacks \"%s\"", text, part);
  }
}

static void a_library_may_be_missing_or_old(void **state) {
  merbit_context *context;
  merbit_exchange *e = (merbit_exchange *)&context;
  merbit_nccl_desc desc;
  merbit_nccl_id id;
  char path[600];
  (void)state;
  fake_reset();
  fake_nccl_clean();
  memset(&desc, 0, sizeof desc);
  memset(&id, 0, sizeof id);
  context = fake_context(NULL);
  desc.library = "/nonexistent/libnccl.so.2";
  expect_refused(context, merbit_exchange_nccl_id(context, &desc, &id), MERBIT_NOT_SUPPORTED,
                 "/nonexistent/libnccl.so.2");
  expect_refused(context, merbit_exchange_nccl_create(context, &id, 0, 1, &desc, &e),
                 MERBIT_NOT_SUPPORTED, "name it in MERBIT_NCCL");
  assert_null(e);
  (void)setenv("MERBIT_NCCL", "/nonexistent/other.so", 1);
  expect_refused(context, merbit_exchange_nccl_id(context, NULL, &id), MERBIT_NOT_SUPPORTED,
                 "/nonexistent/other.so");
  (void)setenv("MERBIT_NCCL", nccl_path, 1);
  (void)snprintf(path, sizeof path, "%s/ancient/libnccl.so.2", FAKE_FOLDER);
  desc.library = path;
  expect_refused(context, merbit_exchange_nccl_id(context, &desc, &id), MERBIT_NOT_SUPPORTED,
                 "lacks ncclSend; install version 2.7 or later");
  (void)snprintf(path, sizeof path, "%s/old/libnccl.so.2", FAKE_FOLDER);
  assert_int_equal(merbit_exchange_nccl_id(context, &desc, &id), MERBIT_OK);
  id.bytes[0] = 'x';
  expect_refused(context, merbit_exchange_nccl_create(context, &id, 0, 1, &desc, &e),
                 MERBIT_IO_ERROR, "ncclCommInitRank failed: injected (NCCL error 4)");
  nccl->calls.only = "ncclGetUniqueId";
  nccl->calls.fail_at = 1;
  nccl->calls.code = 2;
  expect_refused(
      context, merbit_exchange_nccl_id(context, NULL, &id), MERBIT_IO_ERROR,
      "ncclGetUniqueId failed: unhandled system error (NCCL error 2): the fake's last "
      "words");
  merbit_context_destroy(context);
  fake_expect_clean();
}

static void wrong_arguments_are_refused(void **state) {
  merbit_context_desc on_cpu = fake_desc(MERBIT_SIDE_CPU);
  merbit_context *context;
  merbit_exchange *e = (merbit_exchange *)&context;
  merbit_nccl_desc desc;
  merbit_nccl_id id;
  (void)state;
  fake_reset();
  fake_nccl_clean();
  memset(&desc, 0, sizeof desc);
  memset(&id, 0, sizeof id);
  assert_int_equal(merbit_context_create(&on_cpu, &context, NULL), MERBIT_OK);
  expect_refused(context, merbit_exchange_nccl_id(context, NULL, &id), MERBIT_INVALID_ARGUMENT,
                 "this context computes on the CPU");
  merbit_context_destroy(context);
  context = fake_context(NULL);
  assert_int_equal(merbit_exchange_nccl_id(NULL, NULL, &id), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_exchange_nccl_create(NULL, &id, 0, 1, NULL, &e),
                   MERBIT_INVALID_ARGUMENT);
  assert_null(e);
  expect_refused(context, merbit_exchange_nccl_id(context, NULL, NULL), MERBIT_INVALID_ARGUMENT,
                 "`id`");
  expect_refused(context, merbit_exchange_nccl_create(context, NULL, 0, 1, NULL, &e),
                 MERBIT_INVALID_ARGUMENT, "the id is NULL");
  expect_refused(context, merbit_exchange_nccl_create(context, &id, 0, 1, NULL, NULL),
                 MERBIT_INVALID_ARGUMENT, "`exchange`");
  expect_refused(context, merbit_exchange_nccl_create(context, &id, 2, 2, NULL, &e),
                 MERBIT_INVALID_ARGUMENT, "rank 2 of 2");
  expect_refused(context, merbit_exchange_nccl_create(context, &id, -1, 2, NULL, &e),
                 MERBIT_INVALID_ARGUMENT, "rank -1 of 2");
  expect_refused(context, merbit_exchange_nccl_create(context, &id, 0, 0, NULL, &e),
                 MERBIT_INVALID_ARGUMENT, "rank 0 of 0");
  desc.timeout_seconds = -1;
  expect_refused(context, merbit_exchange_nccl_create(context, &id, 0, 1, &desc, &e),
                 MERBIT_INVALID_ARGUMENT, "timeout_seconds is -1");
  desc.timeout_seconds = NAN;
  expect_refused(context, merbit_exchange_nccl_create(context, &id, 0, 1, &desc, &e),
                 MERBIT_INVALID_ARGUMENT, "timeout_seconds is");
  merbit_exchange_nccl_destroy(NULL);
  merbit_context_destroy(context);
  fake_expect_clean();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_sent_arrives),
                                     cmocka_unit_test(a_graph_repeats_an_exchange),
                                     cmocka_unit_test(each_nccl_call_may_fail),
                                     cmocka_unit_test(a_failed_end_leaves_nothing),
                                     cmocka_unit_test(each_driver_call_may_fail),
                                     cmocka_unit_test(a_rank_that_dies_ends_the_others),
                                     cmocka_unit_test(a_call_that_hangs_is_left),
                                     cmocka_unit_test(an_error_of_nccl_ends_a_wait),
                                     cmocka_unit_test(after_abort_nothing_works),
                                     cmocka_unit_test(a_library_may_be_missing_or_old),
                                     cmocka_unit_test(wrong_arguments_are_refused)};
  void *library, *symbol;
  fake_nccl_getter get;
  fake_open("new");
  (void)snprintf(nccl_path, sizeof nccl_path, "%s/new/libnccl.so.2", FAKE_FOLDER);
  (void)setenv("MERBIT_NCCL", nccl_path, 1);
  library = dlopen(nccl_path, RTLD_NOW | RTLD_LOCAL); /* before ranks are forked */
  symbol = fake_symbol(library, "fake_nccl_reset");
  memcpy(&fake_nccl_clean, &symbol, sizeof symbol);
  symbol = fake_symbol(library, "fake_nccl_state");
  memcpy(&get, &symbol, sizeof symbol);
  nccl = get();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
