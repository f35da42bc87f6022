/* Failures of the exchange over NCCL on the fake NCCL and the fake driver: whatever fails, dies
 * or hangs ends the calls of all ranks in time with a message, and leaks nothing. */
#include "dist/separate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "fake/nccl_bed.h"

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
  if (failed) { /* all enqueued work has ended, or ends now */
    (void)e->wait(e->user, stream);
  }
  mail_free(&m);
  merbit_buffer_destroy(buffer);
  return failed;
}

/* A failing rank's call, and a part of the message. */
typedef struct plan {
  const char *only;
  long fail_at;
} plan;

/* Rank 1 fails; the others wait until they time out. */
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
      exit(PLAIN_END); /* its guard waits for ever and keeps its resources */
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

/* A failed ncclCommDestroy is ignored. */
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

/* Runs one rank on a driver whose call number *argument fails. */
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
    const merbit_nccl_id id = fresh_id();
    const pid_t child = fork();
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

/* Lets rank 1 die at the point *argument. */
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
    CHECK(mail_start(&m, e, stream) == 0); /* only enqueued */
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

/* Tests a call that does not return. */
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
  merbit_exchange_nccl_destroy(e); /* returns, too, and leaves its thread running */
  merbit_context_destroy(context);
  nccl->stuck = NULL; /* it then releases everything, the context last */
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

/* Reports the error of another rank, as a network would. */
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_nccl_call_may_fail),
                                     cmocka_unit_test(a_failed_end_leaves_nothing),
                                     cmocka_unit_test(each_driver_call_may_fail),
                                     cmocka_unit_test(a_rank_that_dies_ends_the_others),
                                     cmocka_unit_test(a_call_that_hangs_is_left),
                                     cmocka_unit_test(an_error_of_nccl_ends_a_wait),
                                     cmocka_unit_test(after_abort_nothing_works)};
  nccl_open();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
