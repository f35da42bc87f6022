/* The status table, and a context's last error and log. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"

static void names_and_texts(void **state) {
  int i, j;
  (void)state;
  assert_string_equal(merbit_status_name(MERBIT_OK), "MERBIT_OK");
  assert_string_equal(merbit_status_name(MERBIT_INVALID_MATRIX), "MERBIT_INVALID_MATRIX");
  assert_string_equal(merbit_status_name(MERBIT_OUT_OF_MEMORY), "MERBIT_OUT_OF_MEMORY");
  assert_string_equal(merbit_status_name(MERBIT_DEVICE_LOST), "MERBIT_DEVICE_LOST");
  assert_string_equal(merbit_status_name(MERBIT_CANCELLED), "MERBIT_CANCELLED");
  assert_string_equal(merbit_status_text(MERBIT_OK), "success");
  for (i = 0; i <= MERBIT_CANCELLED; i++) {
    assert_true(strlen(merbit_status_text((merbit_status)i)) > 5);
    for (j = 0; j < i; j++) {
      assert_string_not_equal(merbit_status_name((merbit_status)i),
                              merbit_status_name((merbit_status)j));
    }
  }
  assert_string_equal(merbit_status_name((merbit_status)(MERBIT_CANCELLED + 1)),
                      "MERBIT_UNKNOWN_STATUS");
  assert_string_equal(merbit_status_name((merbit_status)-1), "MERBIT_UNKNOWN_STATUS");
  assert_string_equal(merbit_status_text((merbit_status)1000), "not a status of this version");
}

static void version(void **state) {
  int major, minor, patch;
  char again[32];
  (void)state;
  assert_int_equal(sscanf(merbit_version(), "%d.%d.%d", &major, &minor, &patch), 3);
  (void)snprintf(again, sizeof again, "%d.%d.%d", major, minor, patch);
  assert_string_equal(again, merbit_version());
}

static void last_error(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  char text[8], sentence[MERBIT_MESSAGE_SIZE];
  (void)state;
  assert_int_equal(merbit_last_error(context, sentence, sizeof sentence), MERBIT_OK);
  assert_string_equal(sentence, "");
  assert_int_equal(mbi_fail(context, MERBIT_IO_ERROR, "file %d of %s", 3, "many"),
                   MERBIT_IO_ERROR);
  assert_int_equal(merbit_last_error(context, sentence, sizeof sentence), MERBIT_IO_ERROR);
  assert_string_equal(sentence, "file 3 of many");
  assert_int_equal(merbit_last_error(context, NULL, 0), MERBIT_IO_ERROR);
  assert_int_equal(merbit_last_error(context, NULL, 9), MERBIT_IO_ERROR);
  memset(text, 'x', sizeof text);
  assert_int_equal(merbit_last_error(context, text, 0), MERBIT_IO_ERROR);
  assert_int_equal(text[0], 'x');
  assert_int_equal(merbit_last_error(context, text, 5), MERBIT_IO_ERROR);
  assert_string_equal(text, "file");
  assert_int_equal(text[5], 'x');
  assert_int_equal(mbi_fail(context, MERBIT_TOO_LARGE, "another"), MERBIT_TOO_LARGE);
  cpu_expect(context, MERBIT_TOO_LARGE, "another");
  assert_int_equal(merbit_last_error(NULL, sentence, sizeof sentence), MERBIT_INVALID_ARGUMENT);
  assert_string_equal(sentence, "the context is NULL");
  assert_int_equal(merbit_last_error(NULL, NULL, 0), MERBIT_INVALID_ARGUMENT);
  merbit_context_destroy(context);
}

static void long_sentences_are_cut(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  char sentence[2 * MERBIT_MESSAGE_SIZE];
  (void)state;
  (void)mbi_fail(context, MERBIT_IO_ERROR, "%0900d", 7);
  assert_int_equal(merbit_last_error(context, sentence, sizeof sentence), MERBIT_IO_ERROR);
  assert_int_equal(strlen(sentence), MERBIT_MESSAGE_SIZE - 1);
  merbit_context_destroy(context);
}

static void keep_line(void *user, const char *line) {
  (void)snprintf((char *)user, 1024, "%s", line);
}

static void log_lines(void **state) {
  char line[1024] = "";
  merbit_context_desc desc = cpu_desc(NULL, 1);
  merbit_context *context;
  (void)state;
  desc.log = keep_line;
  desc.log_user = line;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  mbi_log(context, "%d rows", 5);
  assert_string_equal(line, "5 rows");
  (void)mbi_fail(context, MERBIT_INVALID_FILE, "line %d", 9);
  assert_string_equal(line, "MERBIT_INVALID_FILE: line 9");
  mbi_log(context, "%02000d", 1);
  assert_int_equal(strlen(line), 1023);
  merbit_context_destroy(context);
}

/* A log callback may ask for the error that it reports: no lock is held. */
static void ask_back(void *user, const char *line) {
  char sentence[MERBIT_MESSAGE_SIZE];
  merbit_context **context = (merbit_context **)user;
  (void)line;
  if (*context != NULL) {
    assert_int_equal(merbit_last_error(*context, sentence, sizeof sentence), MERBIT_CANCELLED);
  }
}

static void log_holds_no_lock(void **state) {
  merbit_context_desc desc = cpu_desc(NULL, 1);
  merbit_context *context = NULL;
  (void)state;
  desc.log = ask_back;
  desc.log_user = &context;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  assert_int_equal(mbi_fail(context, MERBIT_CANCELLED, "enough"), MERBIT_CANCELLED);
  merbit_context_destroy(context);
}

enum { FAILING = MBI_FAILURES + 1 };

static struct {
  merbit_context *context;
  pthread_barrier_t turn;
} several;

/* Fails when its turn comes, and reads the last error when all have failed. Returns NULL if it
 * finds its own failure; the first thread, whose failure is the oldest, must find none. */
static void *fail_in_turn(void *number) {
  const int own = *(const int *)number;
  char sentence[MERBIT_MESSAGE_SIZE], expected[32];
  int i;
  for (i = 0; i < FAILING; i++) {
    if (i == own) {
      (void)mbi_fail(several.context, MERBIT_CANCELLED, "the first of %d", own);
      (void)mbi_fail(several.context, MERBIT_IO_ERROR, "thread %d", own);
    }
    (void)pthread_barrier_wait(&several.turn);
  }
  (void)snprintf(expected, sizeof expected, "thread %d", own);
  return merbit_last_error(several.context, sentence, sizeof sentence) ==
                     (own > 0 ? MERBIT_IO_ERROR : MERBIT_OK) &&
                 strcmp(sentence, own > 0 ? expected : "") == 0
             ? NULL
             : number;
}

static void each_thread_has_its_own_error(void **state) {
  pthread_t threads[FAILING];
  int numbers[FAILING], i;
  char reason[32];
  (void)state;
  several.context = cpu_open(NULL, 1);
  (void)mbi_fail(several.context, MERBIT_TOO_LARGE, "made good");
  mbi_error_clear(several.context, reason, sizeof reason);
  assert_string_equal(reason, "made good");
  assert_int_equal(merbit_last_error(several.context, NULL, 0), MERBIT_OK);
  assert_int_equal(pthread_barrier_init(&several.turn, NULL, FAILING), 0);
  for (i = 0; i < FAILING; i++) {
    numbers[i] = i;
    assert_int_equal(pthread_create(&threads[i], NULL, fail_in_turn, &numbers[i]), 0);
  }
  for (i = 0; i < FAILING; i++) {
    void *wrong;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
  assert_int_equal(merbit_last_error(several.context, NULL, 0), MERBIT_OK); /* this one's */
  mbi_error_clear(several.context, reason, sizeof reason);
  assert_string_equal(reason, "");
  assert_int_equal(pthread_barrier_destroy(&several.turn), 0);
  merbit_context_destroy(several.context);
}

static void *fail_often(void *argument) {
  merbit_context *context = (merbit_context *)argument;
  char sentence[MERBIT_MESSAGE_SIZE];
  int i;
  for (i = 0; i < 2000; i++) {
    const merbit_status status = mbi_fail(context, i % 2 ? MERBIT_IO_ERROR : MERBIT_CANCELLED,
                                          i % 2 ? "odd odd" : "even");
    if (merbit_last_error(context, sentence, sizeof sentence) != status ||
        strcmp(sentence, i % 2 ? "odd odd" : "even") != 0) {
      return argument;
    }
  }
  return NULL;
}

/* Status and message always belong together. */
static void errors_from_several_threads(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  pthread_t threads[2];
  int i;
  (void)state;
  for (i = 0; i < 2; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, fail_often, context), 0);
  }
  for (i = 0; i < 2; i++) {
    void *wrong;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_and_texts),
      cmocka_unit_test(version),
      cmocka_unit_test(last_error),
      cmocka_unit_test(long_sentences_are_cut),
      cmocka_unit_test(log_lines),
      cmocka_unit_test(log_holds_no_lock),
      cmocka_unit_test(each_thread_has_its_own_error),
      cmocka_unit_test(errors_from_several_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
