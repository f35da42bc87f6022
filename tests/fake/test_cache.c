/* The cubin cache through the public functions: plans and products on the fake GPU, whose
 * cached programs are damaged, truncated and swapped. Each plan compiles again, stores the
 * program, and multiplies correctly; the next one finds the entry. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/support.h"
#include "support/effort.h"

#define MOST 4096 /* largest size of a fake entry in bytes */

static char directory[64];

static const int32_t row_ptr[] = {0, 2, 2, 5, 6};
static const int32_t col_ind[] = {0, 3, 1, 2, 0, 2};
static const double values[] = {1, 2, 3, 4, 5, 6};
static const double x[] = {1, 10, 100, 1000};
static const double product[] = {2001, 0, 435, 600};

static merbit_status make(merbit_context *context, int threads, merbit_plan **plan) {
  merbit_view view;
  merbit_plan_desc desc;
  memset(&view, 0, sizeof view);
  view.rows = view.cols = 4;
  view.nnz = 6;
  view.row_ptr = row_ptr;
  view.col_ind = col_ind;
  view.values = values;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_ROWS;
  desc.changing_values = 1;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.block_threads = threads;
  return merbit_plan_create(context, &view, &desc, plan);
}

/* Makes a plan and a product in a new context. Returns whether the program came from the
 * cache. There is only one program: ROWS has one part, and values that will change are not
 * inspected. */
static int multiply(int threads) {
  merbit_context *context = fake_context(directory);
  merbit_plan_info info;
  merbit_plan *plan;
  double y[] = {-1, -1, -1, -1};
  assert_int_equal(make(context, threads, &plan), MERBIT_OK);
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
  assert_memory_equal(y, product, sizeof y);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
  fake_expect_clean();
  return info.cubin_from_cache;
}

/* Finds the path of the only entry. */
static void find_entry(char path[600]) {
  const struct dirent *entry;
  DIR *open = opendir(directory);
  int count = 0;
  assert_non_null(open);
  while ((entry = readdir(open)) != NULL) {
    if (strstr(entry->d_name, MBI_CACHE_SUFFIX) != NULL) {
      (void)snprintf(path, 600, "%s/%s", directory, entry->d_name);
      count++;
    }
  }
  (void)closedir(open);
  assert_int_equal(count, 1);
}

static size_t read_entry(const char *path, char data[MOST]) {
  FILE *file = fopen(path, "rb");
  size_t size;
  assert_non_null(file);
  size = fread(data, 1, MOST, file);
  (void)fclose(file);
  assert_in_range(size, sizeof(mbi_cache_head) + 100, MOST - 1);
  return size;
}

static void write_entry(const char *path, const char *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static int begin(void **state) {
  (void)state;
  fake_reset();
  return fake_cache_make(directory) != NULL ? 0 : -1;
}

static int end(void **state) {
  (void)state;
  fake_cache_remove(directory);
  return 0;
}

static void damaged(void **state) {
  const size_t step = (size_t)test_effort(23, 1);
  uint64_t seed = test_rotating_seed();
  char path[600], whole[MOST], data[MOST], again[MOST];
  size_t size, i;
  int flips = 0, lengths = 0;
  (void)state;
  assert_int_equal(multiply(64), 0);
  assert_int_equal(multiply(64), 1);
  find_entry(path);
  size = read_entry(path, whole);
  memcpy(data, whole, size);
  for (i = 0; i < size; i += step) {
    data[i] = (char)(data[i] ^ (1 << (test_random(&seed) % 8)));
    write_entry(path, data, size);
    assert_int_equal(multiply(64), 0);
    data[i] = whole[i];
    flips++;
  }
  for (i = 0; i < size; i += step) {
    write_entry(path, data, i);
    assert_int_equal(multiply(64), 0);
    lengths++;
  }
  assert_int_equal(multiply(64), 1);
  assert_int_equal(read_entry(path, again), size);
  assert_int_equal(nvrtc->compiled, 1 + flips + lengths);
  print_message("an entry of %zu bytes: %d flips, %d lengths, each compiled anew and right\n",
                size, flips, lengths);
}

static void swapped(void **state) {
  char one[600], other[600], first[MOST], second[MOST];
  size_t first_size, second_size;
  (void)state;
  assert_int_equal(multiply(64), 0);
  find_entry(one);
  first_size = read_entry(one, first);
  assert_int_equal(unlink(one), 0);
  assert_int_equal(multiply(128), 0);
  find_entry(other);
  second_size = read_entry(other, second);
  assert_string_not_equal(one, other);
  write_entry(one, second, second_size);
  write_entry(other, first, first_size);
  assert_int_equal(multiply(64), 0);
  assert_int_equal(multiply(128), 0);
  assert_int_equal(multiply(64), 1);
  assert_int_equal(multiply(128), 1);
}

/* Another NVRTC or another GPU has its own programs. */
static void another_machine(void **state) {
  (void)state;
  assert_int_equal(multiply(64), 0);
  nvrtc->minor++;
  assert_int_equal(multiply(64), 0);
  nvrtc->minor--;
  assert_int_equal(multiply(64), 1);
  cuda->capability = cuda->capability == 90 ? 80 : 90;
  assert_int_equal(multiply(64), 0);
  assert_int_equal(multiply(64), 1);
}

/* If the device dies while it loads a cached program, the program is not compiled again. */
static void dead_device(void **state) {
  merbit_context *context;
  merbit_plan *plan;
  (void)state;
  assert_int_equal(multiply(64), 0);
  context = fake_context(directory);
  cuda->calls.only = "cuModuleLoadData";
  cuda->calls.made = 0;
  cuda->calls.code = 719;
  cuda->calls.fail_at = 1;
  assert_int_equal(make(context, 64, &plan), MERBIT_DEVICE_LOST);
  assert_int_equal(nvrtc->compiled, 1);
  assert_int_equal(cuda->after_death, 0);
  merbit_context_destroy(context);
  fake_expect_clean();
  fake_reset();
  assert_int_equal(multiply(64), 1); /* its entry is kept */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(damaged, begin, end),
      cmocka_unit_test_setup_teardown(swapped, begin, end),
      cmocka_unit_test_setup_teardown(another_machine, begin, end),
      cmocka_unit_test_setup_teardown(dead_device, begin, end),
  };
  fake_open("new");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
