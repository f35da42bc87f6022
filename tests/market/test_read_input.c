/* The Matrix Market reader on large inputs, pipes and streams that lie; lack of memory. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "market/read.h"

/* Makes several windows of text, comments longer than one, and values that can be verified. */
static char *make_large(int entries, size_t comment, size_t *size) {
  char *text = (char *)malloc((size_t)entries * 40 + 2 * comment + 1000);
  size_t at = strlen(G);
  int i;
  memcpy(text, G, at);
  text[at++] = '%';
  memset(text + at, 'c', comment);
  at += comment;
  at += (size_t)sprintf(text + at, "\n%d 9 %d\n", entries, entries);
  for (i = 0; i < entries; i++) {
    at += (size_t)sprintf(text + at, "%d %d %.17g\n", i + 1, i % 9 + 1, i / 7.0);
    if (i == entries / 2) {
      text[at++] = '%';
      memset(text + at, 'x', comment);
      at += comment;
      text[at++] = '\n';
    }
  }
  *size = at - 1; /* without the last newline */
  return text;
}

static void test_large(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  const size_t comments[] = {10, MBI_MM_WINDOW - 60, MBI_MM_WINDOW, 3 * MBI_MM_WINDOW + 17};
  size_t k, size;
  (void)state;
  for (k = 0; k < sizeof comments / sizeof comments[0]; k++) {
    const int entries = 60000;
    char *text = make_large(entries, comments[k], &size);
    merbit_matrix *m, *other;
    int i;
    assert_int_equal(read_block(context, text, size, NULL, &m), MERBIT_OK);
    assert_int_equal(merbit_matrix_view(m).nnz, entries);
    for (i = 0; i < entries; i++) {
      assert_true(((const double *)merbit_matrix_view(m).values)[i] == i / 7.0);
      assert_true(((const int32_t *)merbit_matrix_view(m).col_ind)[i] == i % 9);
    }
    assert_int_equal(read_stream(context, text, size, 65521, NULL, &other), MERBIT_OK);
    assert_same(m, other);
    merbit_matrix_destroy(other);
    merbit_matrix_destroy(m);
    text[size - 1] = 'x'; /* the line number is right after windows and long comments */
    assert_failed(context, "large", read_block(context, text, size, NULL, &m), INVALID,
                  "line 60004: ", &m);
    assert_failed(context, "large", read_stream(context, text, size, 4096, NULL, &m), INVALID,
                  "line 60004: ", &m);
    free(text);
  }
  merbit_context_destroy(context);
}

static void test_long_lines(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  const size_t size = 2 * MBI_MM_WINDOW;
  char *text = (char *)malloc(size + 64);
  merbit_matrix *m;
  (void)state;
  memset(text, '0', size + 64);
  memcpy(text, G "1 1 1\n1 1 ", strlen(G) + 10);
  assert_failed(context, "zeros", read_block(context, text, size, NULL, &m), INVALID,
                "line 3: longer than 262144 bytes", &m);
  assert_failed(context, "zeros", read_stream(context, text, size, 1000, NULL, &m), INVALID,
                "line 3: longer than 262144 bytes", &m);
  memset(text, '%', size);
  assert_failed(context, "banner", read_block(context, text, size, NULL, &m), INVALID,
                "line 1: longer than 262144 bytes", &m);
  /* a line may hold a number of 200,000 digits: 0.000...1 with an exponent that makes it 1 */
  memset(text, '0', size);
  memcpy(text, G "1 1 1\n1 1 .", strlen(G) + 11);
  memcpy(text + strlen(G) + 11 + 199999, "1e200000", 8);
  assert_int_equal(read_block(context, text, strlen(G) + 11 + 199999 + 8, NULL, &m), MERBIT_OK);
  assert_true(*(const double *)merbit_matrix_view(m).values == 1.0);
  merbit_matrix_destroy(m);
  free(text);
  merbit_context_destroy(context);
}

/* A stream whose header claims a huge matrix costs memory for what it delivers: no block is
 * larger than the window. */
static void test_memory_follows_the_input(void **state) {
  static const char *const texts[] = {
      G "1000 1000 900000000000000000\n1 1 1\n", S "1000 1000 900000000000000000\n1 1 1\n",
      A "1000 2000000000\n1\n",
      "%%MatrixMarket matrix array real symmetric\n2000000000 2000000000\n1\n",
      G "900000000000000000 1000 1\n1 1 1\n"};
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  const long live = memory.live;
  size_t i;
  (void)state;
  memory.limit = MBI_MM_WINDOW + 2 * MBI_MM_PAD + 16; /* 16: the size before a block */
  for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    merbit_matrix *matrix;
    const merbit_status status =
        read_stream(context, texts[i], strlen(texts[i]), 64, NULL, &matrix);
    assert_failed(context, texts[i], status, i == 4 ? MERBIT_TOO_LARGE : INVALID, "line ",
                  &matrix);
    assert_int_equal(memory.live, live);
  }
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

static void test_memory_runs_out(void **state) {
  static const char text[] = S "3 3 4\n1 1 1.25e1\n2 1 -7\n3 2 0.125\n3 3 12\n";
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  const long live = memory.live;
  int streamed;
  (void)state;
  for (streamed = 0; streamed < 2; streamed++) {
    merbit_matrix *matrix = NULL;
    long n;
    for (n = 1; matrix == NULL; n++) {
      merbit_status status;
      memory.made = 0;
      memory.fail_at = n;
      status = streamed ? read_stream(context, text, sizeof text - 1, 9, NULL, &matrix)
                        : read_block(context, text, sizeof text - 1, NULL, &matrix);
      if (status != MERBIT_OK) {
        assert_failed(context, text, status, MERBIT_OUT_OF_MEMORY, "no memory for", &matrix);
        assert_int_equal(memory.live, live);
      }
    }
    assert_true(n > 7);
    merbit_matrix_destroy(matrix);
    assert_int_equal(memory.live, live);
  }
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

typedef struct reports {
  int calls, cancel_at;
  int64_t done, total;
} reports;

static int report(void *user, int64_t done, int64_t total) {
  reports *r = (reports *)user;
  assert_true(done >= r->done);
  r->done = done;
  r->total = total;
  return ++r->calls == r->cancel_at;
}

static void test_progress(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_read_desc desc;
  size_t size;
  char *text = make_large(1000, 20 * 1024 * 1024, &size);
  int cancel, streamed;
  (void)state;
  for (cancel = 0; cancel < 4; cancel++) {
    for (streamed = 0; streamed < 2; streamed++) {
      reports r = {0, 0, 0, 0};
      merbit_matrix *m;
      merbit_status status;
      memset(&desc, 0, sizeof desc);
      r.cancel_at = cancel;
      desc.progress = report;
      desc.progress_user = &r;
      status = streamed ? read_stream(context, text, size, size, &desc, &m)
                        : merbit_matrix_read_memory(context, text, size, &desc, &m);
      assert_int_equal(r.total, streamed ? 0 : (int64_t)size);
      if (cancel == 0) {
        assert_int_equal(status, MERBIT_OK);
        assert_int_equal(r.calls, 3); /* 40 MiB: twice on the way, once at the end */
        assert_int_equal(r.done, size);
        merbit_matrix_destroy(m);
      } else {
        assert_int_equal(r.calls, cancel);
        assert_failed(context, "large", status, MERBIT_CANCELLED, "cancelled the read after",
                      &m);
      }
    }
  }
  free(text);
  merbit_context_destroy(context);
}

static void test_pipe(void **state) {
  static const char text[] = S "3 3 4\n1 1 1.25e1\n2 1 -7\n3 2 0.125\n3 3 12\n";
  merbit_context *context = cpu_open(NULL, 1);
  merbit_matrix *m, *other;
  char path[64];
  int ends[2];
  (void)state;
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], text, sizeof text - 1), sizeof text - 1);
  assert_int_equal(close(ends[1]), 0);
  (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  assert_int_equal(merbit_matrix_read_file(context, path, NULL, &m), MERBIT_OK);
  assert_int_equal(close(ends[0]), 0);
  assert_int_equal(read_block(context, text, sizeof text - 1, NULL, &other), MERBIT_OK);
  assert_same(m, other);
  merbit_matrix_destroy(m);
  merbit_matrix_destroy(other);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_large),
      cmocka_unit_test(test_long_lines),
      cmocka_unit_test(test_memory_follows_the_input),
      cmocka_unit_test(test_memory_runs_out),
      cmocka_unit_test(test_progress),
      cmocka_unit_test(test_pipe),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
