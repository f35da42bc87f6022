/* The exchange over NCCL on the fake NCCL and the fake driver: data arrive, and missing or old
 * libraries and wrong arguments are refused. */
#include "dist/separate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "fake/nccl_bed.h"

/* ---- Data arrive ----------------------------------------------------------------------------- */

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
                                     cmocka_unit_test(a_library_may_be_missing_or_old),
                                     cmocka_unit_test(wrong_arguments_are_refused)};
  nccl_open();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
