/* The Matrix Market writer: what it writes reads back bit for bit, and failures leave nothing
 * behind. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dirent.h>
#include <locale.h>
#include <sys/resource.h>
#include <signal.h>
#include "support/matrices.h"

/* ---- Support ----------------------------------------------------------------------------- */

static merbit_context *make_context(void) {
  merbit_context_desc desc;
  merbit_context *context;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.threads = 1;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  return context;
}

typedef struct text { /* grows by what is written; fails on the call number fail_at */
  char *data;
  size_t size;
  int calls, fail_at;
} text;

static int text_write(void *user, const void *data, size_t size) {
  text *t = (text *)user;
  if (++t->calls == t->fail_at) {
    return 7;
  }
  t->data = (char *)realloc(t->data, t->size + size + 1);
  memcpy(t->data + t->size, data, size);
  t->size += size;
  t->data[t->size] = '\0';
  return 0;
}

static void assert_failed(merbit_context *context, merbit_status status, merbit_status expected,
                          const char *piece) {
  char message[MERBIT_MESSAGE_SIZE];
  assert_int_equal(merbit_last_error(context, message, sizeof message), expected);
  if (status != expected || strstr(message, piece) == NULL) {
    fail_msg("%s: %s\nexpected %s", merbit_status_name(status), message, piece);
  }
}

static void assert_written(merbit_context *context, const merbit_view *view,
                           const char *expected) {
  text t = {NULL, 0, 0, 0};
  assert_int_equal(merbit_matrix_write_stream(context, view, text_write, &t), MERBIT_OK);
  assert_string_equal(t.data, expected);
  free(t.data);
}

/* Entries of a folder other than . and .. */
static int entries_of(const char *folder) {
  DIR *directory = opendir(folder);
  int count = 0;
  assert_non_null(directory);
  while (readdir(directory) != NULL) {
    count++;
  }
  (void)closedir(directory);
  return count - 2;
}

static char *slurp(const char *path) {
  FILE *file = fopen(path, "rb");
  char *data = (char *)calloc(1, 4096);
  assert_non_null(file);
  (void)fread(data, 1, 4095, file);
  (void)fclose(file);
  return data;
}

/* ---- Text -------------------------------------------------------------------------------- */

static const int32_t csr_row_ptr[] = {0, 2, 2, 3};
static const int32_t csr_col_ind[] = {3, 0, 1};
static const double csr_values[] = {0.1, -2.0, 1e300};
static const char csr_text[] = "%%MatrixMarket matrix coordinate real general\n3 4 3\n"
                               "1 4 0.1\n1 1 -2\n3 2 1e+300\n";

static void test_csr(void **state) {
  merbit_context *context = make_context();
  merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  (void)state;
  assert_written(context, &view, csr_text);
  view.values = NULL;
  assert_written(context, &view,
                 "%%MatrixMarket matrix coordinate pattern general\n3 4 3\n1 4\n1 1\n3 2\n");
  merbit_context_destroy(context);
}

static void test_kinds_of_views(void **state) {
  static const int64_t rows64[] = {3, 1, 1}, cols64[] = {1, 2, 2};
  static const int32_t rows32[] = {2, 0, 0}, cols32[] = {0, 1, 1};
  static const int64_t row_ptr64[] = {1, 3, 3, 4}, cols_csr[] = {2, 2, 1};
  static const float floats[] = {0.1f, 16777216.0f, -1e-45f},
                     in_rows[] = {16777216.0f, -1e-45f, 0.1f};
  static const char coo[] = "%%MatrixMarket matrix coordinate real general\n3 2 3\n3 1 0.1\n"
                            "1 2 16777216\n1 2 -1.4013e-45\n",
                    csr[] =
                        "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 2 16777216\n"
                        "1 2 -1.4013e-45\n3 1 0.1\n";
  merbit_context *context = make_context();
  merbit_view view;
  (void)state;
  memset(&view, 0, sizeof view);
  view.format = MERBIT_COO;
  view.value_type = MERBIT_F32;
  view.rows = 3;
  view.cols = 2;
  view.nnz = 3;
  view.row_ind = rows32;
  view.col_ind = cols32;
  view.values = floats;
  assert_written(context, &view, coo);
  view.base = 1;
  view.index_type = MERBIT_INDEX_64;
  view.row_ind = rows64;
  view.col_ind = cols64;
  assert_written(context, &view, coo);
  view.format = MERBIT_CSR;
  view.offset_type = MERBIT_INDEX_64;
  view.row_ptr = row_ptr64;
  view.col_ind = cols_csr;
  view.values = in_rows;
  assert_written(context, &view, csr);
  merbit_context_destroy(context);
}

static void test_empty(void **state) {
  static const int32_t row_ptr[] = {0, 0};
  merbit_context *context = make_context();
  merbit_view view = merbit_csr(1, 0, 0, row_ptr, NULL, NULL);
  (void)state;
  assert_written(context, &view, "%%MatrixMarket matrix coordinate pattern general\n1 0 0\n");
  view.rows = 0;
  assert_written(context, &view, "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n");
  merbit_context_destroy(context);
}

/* Values of any bits, through the text and back. */
static void round_trip(merbit_context *context, merbit_type type, const void *values,
                       int count) {
  const size_t size = type == MERBIT_F32 ? 4 : 8;
  int32_t row_ptr[2] = {0, 0}, *col_ind = (int32_t *)malloc((size_t)count * sizeof *col_ind);
  text t = {NULL, 0, 0, 0};
  merbit_read_desc desc;
  merbit_matrix *m;
  merbit_view view;
  int i;
  for (i = 0; i < count; i++) {
    col_ind[i] = i;
  }
  row_ptr[1] = count;
  view = merbit_csr(1, count, count, row_ptr, col_ind, values);
  view.value_type = type;
  assert_int_equal(merbit_matrix_write_stream(context, &view, text_write, &t), MERBIT_OK);
  assert_true(t.calls > 1);
  memset(&desc, 0, sizeof desc);
  desc.value_type = type;
  assert_int_equal(merbit_matrix_read_memory(context, t.data, t.size, &desc, &m), MERBIT_OK);
  assert_int_equal(merbit_matrix_view(m).nnz, count);
  assert_memory_equal(merbit_matrix_view(m).values, values, (size_t)count * size);
  merbit_matrix_destroy(m);
  free(t.data);
  free(col_ind);
}

static void test_round_trip(void **state) {
  enum { COUNT = 20000 };
  merbit_context *context = make_context();
  double *doubles = (double *)malloc(COUNT * sizeof *doubles);
  float *floats = (float *)malloc(COUNT * sizeof *floats);
  uint64_t seed = 6;
  int i;
  (void)state;
  for (i = 0; i < COUNT; i++) {
    const uint64_t bits = test_random(&seed);
    const uint32_t bits32 = (uint32_t)(bits >> 7);
    memcpy(&doubles[i], &bits, 8);
    memcpy(&floats[i], &bits32, 4);
    if (isnan(doubles[i]) || i % 4 == 0) {
      doubles[i] = (double)(bits >> 40) / 1000;
    }
    if (isnan(floats[i]) || i % 4 == 0) {
      floats[i] = (float)(bits >> 50) / 10;
    }
  }
  doubles[0] = -0.0;
  doubles[1] = (double)INFINITY;
  doubles[2] = -(double)INFINITY;
  doubles[3] = 0x1p-1074;
  doubles[4] = DBL_MAX;
  floats[0] = -0.0f;
  floats[1] = FLT_MAX;
  round_trip(context, MERBIT_F64, doubles, COUNT);
  round_trip(context, MERBIT_F32, floats, COUNT);
  free(doubles);
  free(floats);
  merbit_context_destroy(context);
}

static void test_nan(void **state) {
  static const int32_t row_ptr[] = {0, 1}, col_ind[] = {0};
  const double nan_value = (double)NAN;
  merbit_context *context = make_context();
  merbit_view view = merbit_csr(1, 1, 1, row_ptr, col_ind, &nan_value);
  (void)state;
  assert_written(context, &view,
                 "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 nan\n");
  merbit_context_destroy(context);
}

/* What printf makes of 1.5 in locales with a comma, or with U+066B. */
static void test_locale(void **state) {
  static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.utf8",
                                        "ps_AF.UTF-8"};
  char comma[32] = "-1,5e+10",
       arabic[32] = "1\xd9\xab"
                    "5e-10",
       plain[32] = "15";
  size_t i;
  (void)state;
  mbi_mm_mend_point(comma);
  assert_string_equal(comma, "-1.5e+10");
  mbi_mm_mend_point(arabic);
  assert_string_equal(arabic, "1.5e-10");
  mbi_mm_mend_point(plain);
  assert_string_equal(plain, "15");
  for (i = 0; i < sizeof locales / sizeof locales[0]; i++) {
    if (setlocale(LC_ALL, locales[i]) != NULL &&
        strcmp(localeconv()->decimal_point, ".") != 0) {
      test_csr(NULL);
      (void)setlocale(LC_ALL, "C");
      return;
    }
  }
  print_message(
      "no locale with another decimal separator on this machine: that part is skipped\n");
}

/* ---- Files ------------------------------------------------------------------------------- */

static char folder[64], target[96], link_path[96];

static int make_folder(void **state) {
  (void)state;
  (void)snprintf(folder, sizeof folder, "/tmp/merbit-test-write-XXXXXX");
  if (mkdtemp(folder) == NULL) {
    return -1;
  }
  (void)snprintf(target, sizeof target, "%s/a.mtx", folder);
  (void)snprintf(link_path, sizeof link_path, "%s/link.mtx", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  (void)unlink(target);
  (void)unlink(link_path);
  return rmdir(folder); /* fails where a temporary was left */
}

static void assert_file(const char *path, const char *expected) {
  char *data = slurp(path);
  assert_string_equal(data, expected);
  free(data);
}

static void test_file(void **state) {
  merbit_context *context = make_context();
  const merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  struct stat facts;
  merbit_matrix *m;
  mode_t mask = umask(027);
  (void)state;
  assert_int_equal(merbit_matrix_write_file(context, &view, target), MERBIT_OK);
  (void)umask(mask);
  assert_file(target, csr_text);
  assert_int_equal(stat(target, &facts), 0);
  assert_int_equal(facts.st_mode & 0777, 0640);
  assert_int_equal(chmod(target, 0604), 0);
  assert_int_equal(symlink("a.mtx", link_path), 0);
  assert_int_equal(merbit_matrix_write_file(context, &view, link_path), MERBIT_OK);
  assert_int_equal(lstat(link_path, &facts), 0);
  assert_true(S_ISLNK(facts.st_mode));
  assert_int_equal(stat(target, &facts), 0);
  assert_int_equal(facts.st_mode & 0777, 0604);
  assert_int_equal(entries_of(folder), 2);
  assert_int_equal(merbit_matrix_read_file(context, link_path, NULL, &m), MERBIT_OK);
  assert_int_equal(merbit_matrix_view(m).nnz, 3);
  merbit_matrix_destroy(m);
  merbit_context_destroy(context);
}

/* The disk is full, as it were: the old file stays, and nothing else. */
static void test_failure_leaves_the_old_file(void **state) {
  enum { COUNT = 20000 };
  merbit_context *context = make_context();
  const merbit_view small = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  int32_t row_ptr[2] = {0, COUNT}, *col_ind = (int32_t *)malloc(COUNT * sizeof *col_ind);
  merbit_view large;
  struct rlimit limit, old;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  merbit_status status;
  int i;
  (void)state;
  for (i = 0; i < COUNT; i++) {
    col_ind[i] = i;
  }
  large = merbit_csr(1, COUNT, COUNT, row_ptr, col_ind, NULL);
  assert_int_equal(merbit_matrix_write_file(context, &small, target), MERBIT_OK);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  limit = old;
  limit.rlim_cur = 70000;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  status = merbit_matrix_write_file(context, &large, target);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  (void)signal(SIGXFSZ, handler);
  assert_failed(context, status, MERBIT_IO_ERROR, "a.mtx: File too large");
  assert_file(target, csr_text);
  assert_int_equal(entries_of(folder), 1);
  free(col_ind);
  merbit_context_destroy(context);
}

static void test_targets(void **state) {
  merbit_context *context = make_context();
  const merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  char *path = (char *)malloc(5001);
  (void)state;
  assert_failed(context, merbit_matrix_write_file(context, &view, "/nonexistent/a.mtx"),
                MERBIT_IO_ERROR,
                "cannot create a file beside /nonexistent/a.mtx: No such file");
  assert_failed(context, merbit_matrix_write_file(context, &view, folder), MERBIT_IO_ERROR,
                "Is a directory");
  assert_failed(context, merbit_matrix_write_file(context, &view, "/dev/null"), MERBIT_IO_ERROR,
                "/dev/null is no regular file");
  assert_failed(context, merbit_matrix_write_file(context, &view, ""), MERBIT_IO_ERROR,
                "No such file");
  memset(path, 'a', 5000);
  path[5000] = '\0';
  assert_failed(context, merbit_matrix_write_file(context, &view, path), MERBIT_IO_ERROR,
                "File name too long");
  free(path);
  merbit_context_destroy(context);
}

static void test_arguments(void **state) {
  static const int32_t wrong[] = {3, 0, 4};
  merbit_context *context = make_context();
  merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  text t = {NULL, 0, 0, 1};
  (void)state;
  assert_int_equal(merbit_matrix_write_file(NULL, &view, target), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_matrix_write_stream(NULL, &view, text_write, &t),
                   MERBIT_INVALID_ARGUMENT);
  assert_failed(context, merbit_matrix_write_file(context, &view, NULL),
                MERBIT_INVALID_ARGUMENT, "`path` is NULL");
  assert_failed(context, merbit_matrix_write_stream(context, &view, NULL, NULL),
                MERBIT_INVALID_ARGUMENT, "`write` is NULL");
  assert_failed(context, merbit_matrix_write_stream(context, NULL, text_write, &t),
                MERBIT_INVALID_ARGUMENT, "view");
  assert_failed(context, merbit_matrix_write_stream(context, &view, text_write, &t),
                MERBIT_IO_ERROR, "the write callback returned 7");
  view.memory = MERBIT_MEMORY_DEVICE;
  assert_failed(context, merbit_matrix_write_stream(context, &view, text_write, &t),
                MERBIT_NOT_SUPPORTED, "write a copy in host memory");
  view.memory = MERBIT_MEMORY_HOST;
  view.col_ind = wrong;
  assert_failed(context, merbit_matrix_write_file(context, &view, target),
                MERBIT_INVALID_MATRIX, "");
  assert_int_equal(access(target, F_OK), -1);
  assert_int_equal(t.calls, 1);
  merbit_context_destroy(context);
}

static int64_t allocations, refused;

static void *counting_allocate(void *user, size_t bytes) {
  (void)user;
  return allocations++ == refused ? NULL : malloc(bytes);
}

static void counting_release(void *user, void *memory) {
  (void)user;
  free(memory);
}

static void test_memory_runs_out(void **state) {
  const merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  merbit_context_desc desc;
  merbit_context *context;
  merbit_status status = MERBIT_OUT_OF_MEMORY;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.allocator.allocate = counting_allocate;
  desc.allocator.release = counting_release;
  refused = -1;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  for (refused = 0; status != MERBIT_OK; refused++) {
    allocations = 0;
    status = merbit_matrix_write_file(context, &view, target);
    if (status != MERBIT_OK) {
      assert_failed(context, status, MERBIT_OUT_OF_MEMORY, "no memory for");
      assert_int_equal(entries_of(folder), 0);
    }
  }
  assert_true(refused > 1);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_csr),
      cmocka_unit_test(test_kinds_of_views),
      cmocka_unit_test(test_empty),
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_nan),
      cmocka_unit_test(test_locale),
      cmocka_unit_test_setup_teardown(test_file, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_failure_leaves_the_old_file, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(test_targets, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_arguments, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_memory_runs_out, make_folder, remove_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
