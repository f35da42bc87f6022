/* The device profile on the fake GPU: measured once per context, stored on disk, and read back
 * by the next context. If it is damaged, foreign or implausible, or cannot be written, the
 * estimate is used. The simulated GPU has a small L2, so that measuring is quick. */
#define MBI_PROFILE_GATHERS 4096u
#define MBI_MEASURE_ROUNDS 1
#define MBI_MEASURE_BATCH 1
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/support.h"
#include "support/effort.h"

static char directory[64];

static int begin(void **state) {
  (void)state;
  fake_reset();
  cuda->l2_bytes = 65536;
  return fake_cache_make(directory) != NULL ? 0 : -1;
}

static int end(void **state) {
  (void)state;
  (void)chmod(directory, 0700);
  fake_cache_remove(directory);
  fake_expect_clean();
  return 0;
}

static merbit_device_profile told(merbit_context *context) {
  merbit_context_info info;
  assert_int_equal(merbit_context_get_info(context, &info), MERBIT_OK);
  return info.profile;
}

/* Doubles each figure of the estimate. */
static void doubled(const merbit_context *context, double *figures) {
  merbit_device_profile copy = context->device.estimate;
  int i;
  mbi_profile_figures(&copy, figures, 0);
  for (i = 0; i < MBI_PROFILE_FIGURES; i++) {
    figures[i] *= 2;
  }
}

/* Stores `size` bytes of figures as the profile of the context's GPU. */
static void store(merbit_context *context, const double *figures, size_t size) {
  char key[512];
  mbi_profile_key(context, key, sizeof key);
  mbi_cache_store(context, key, strlen(key), figures, size);
}

static void the_estimate_is_told(void **state) {
  merbit_context *context = fake_context(directory);
  const merbit_device_profile p = told(context);
  (void)state;
  assert_int_equal(p.measured, 0);
  assert_true(p.l2_bytes == 65536 && p.launch_seconds == 6e-6);
  assert_true(fabs(p.copy_rate / 4.28e12 - 1) < 0.01);
  assert_int_equal(cuda->launches, 0);
  merbit_context_destroy(context);
}

/* The figures of the fake GPU are times of the CPU; none is plausible. */
static void measuring_gives_every_figure(void **state) {
  merbit_context *context = fake_context(directory);
  double figures[MBI_PROFILE_FIGURES];
  int i;
  (void)state;
  for (i = 0; i < MBI_PROFILE_FIGURES; i++) {
    figures[i] = NAN;
  }
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  assert_int_equal(mbi_profile_measure(context, figures), MERBIT_OK);
  for (i = 0; i < MBI_PROFILE_FIGURES; i++) {
    assert_true(figures[i] == figures[i] && figures[i] != 0);
  }
  assert_ptr_equal(mbi_profile_take(context, 1), &context->device.estimate);
  mbi_device_leave(context);
  assert_int_equal(told(context).measured, 0);
  merbit_context_destroy(context);
}

/* Measures once per context, whatever the result. */
static void measured_once(void **state) {
  merbit_context *context = fake_context(directory);
  long launches;
  (void)state;
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  assert_ptr_equal(mbi_profile_take(context, 0), &context->device.estimate);
  assert_int_equal(cuda->launches, 0); /* not requested */
  (void)mbi_profile_take(context, 1);
  launches = cuda->launches;
  assert_true(launches > 0);
  (void)mbi_profile_take(context, 1);
  assert_int_equal(cuda->launches, launches);
  mbi_device_leave(context);
  merbit_context_destroy(context);
}

static void published_and_read_back(void **state) {
  merbit_context *context = fake_context(directory);
  double figures[MBI_PROFILE_FIGURES];
  const merbit_device_profile *taken;
  int run;
  (void)state;
  doubled(context, figures);
  store(context, figures, sizeof figures);
  assert_int_equal(told(context).measured, 0); /* not requested yet */
  for (run = 0; run < 2; run++) {              /* this context, and a new one */
    taken = mbi_profile_take(context, 0);
    assert_ptr_equal(taken, &context->device.profile);
    assert_int_equal(taken->measured, 1);
    assert_true(taken->copy_rate == 2 * context->device.estimate.copy_rate);
    assert_true(taken->gather_rate_f64[5] == 2 * context->device.estimate.gather_rate_f64[5]);
    assert_true(taken->l2_bytes == 65536);
    assert_true(told(context).copy_rate == taken->copy_rate && told(context).measured == 1);
    figures[0] /= 2; /* a later file does not change what plans read */
    assert_int_equal(mbi_profile_publish(context, figures), 1);
    assert_true(taken->copy_rate == 2 * context->device.estimate.copy_rate);
    assert_int_equal(mbi_device_enter(context), MERBIT_OK);
    assert_ptr_equal(mbi_profile_take(context, 1), taken);
    mbi_device_leave(context);
    assert_int_equal(cuda->launches, 0);
    merbit_context_destroy(context);
    context = run == 0 ? fake_context(directory) : NULL;
  }
}

/* Returns whether a new context accepts the profile on disk. */
static int believed(void) {
  merbit_context *context = fake_context(directory);
  const int measured = mbi_profile_take(context, 0)->measured;
  merbit_context_destroy(context);
  return measured;
}

static void other_gpus_and_drivers(void **state) {
  merbit_context *context = fake_context(directory);
  double figures[MBI_PROFILE_FIGURES];
  (void)state;
  doubled(context, figures);
  store(context, figures, sizeof figures);
  merbit_context_destroy(context);
  assert_true(believed());
  cuda->driver_version++;
  assert_false(believed());
  cuda->driver_version--;
  cuda->multiprocessors++;
  assert_false(believed());
  cuda->multiprocessors--;
  assert_true(believed());
  cuda->memory_width *= 40; /* makes the figures implausible for this GPU */
  assert_false(believed());
}

static void implausible_or_short(void **state) {
  merbit_context *context = fake_context(directory);
  double figures[MBI_PROFILE_FIGURES + 1];
  (void)state;
  assert_false(believed());
  doubled(context, figures);
  figures[MBI_PROFILE_F64] *= 6;
  store(context, figures, MBI_PROFILE_FIGURES * sizeof *figures);
  assert_false(believed());
  figures[MBI_PROFILE_F64] = NAN;
  store(context, figures, MBI_PROFILE_FIGURES * sizeof *figures);
  assert_false(believed());
  doubled(context, figures);
  store(context, figures, (MBI_PROFILE_FIGURES - 1) * sizeof *figures);
  assert_false(believed());
  figures[MBI_PROFILE_FIGURES] = 1;
  store(context, figures, sizeof figures);
  assert_false(believed());
  store(context, figures, MBI_PROFILE_FIGURES * sizeof *figures);
  assert_true(believed());
  merbit_context_destroy(context);
}

/* Truncates the file after each byte, and changes each byte. */
static void damaged_files(void **state) {
  merbit_context *context = fake_context(directory);
  double figures[MBI_PROFILE_FIGURES];
  char path[600], key[512], whole[2048];
  size_t size, i;
  FILE *file;
  (void)state;
  doubled(context, figures);
  store(context, figures, sizeof figures);
  mbi_profile_key(context, key, sizeof key);
  mbi_cache_path(context, key, strlen(key), path, sizeof path);
  merbit_context_destroy(context);
  file = fopen(path, "rb");
  assert_non_null(file);
  size = fread(whole, 1, sizeof whole, file);
  assert_int_equal(fclose(file), 0);
  assert_in_range(size, sizeof figures + 100, sizeof whole - 1);
  for (i = 0; i < 2 * size; i += 7) {
    const int descriptor = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    const size_t length = i < size ? i : size;
    whole[i % size] ^= i < size ? 0 : 1;
    assert_int_equal(write(descriptor, whole, length), length);
    assert_int_equal(close(descriptor), 0);
    whole[i % size] ^= i < size ? 0 : 1;
    assert_false(believed());
  }
}

/* A context whose directory is read-only, or that has none, still measures. */
static void unwritable(void **state) {
  int none;
  (void)state;
  for (none = 0; none < 2; none++) {
    merbit_context *context = fake_context(none ? "" : directory);
    double figures[MBI_PROFILE_FIGURES];
    assert_int_equal(chmod(directory, 0500), 0);
    doubled(context, figures);
    assert_int_equal(mbi_profile_publish(context, figures), 1);
    store(context, figures, sizeof figures);
    assert_true(mbi_profile_take(context, 1)->measured);
    merbit_context_destroy(context);
  }
}

/* Takes the profile while call `at` of a library fails, or an allocation of host memory if
 * `calls` is NULL. Returns whether there were so many calls. */
static int fails(fake_calls *calls, const char *cache_dir, long at, int code, int for_good) {
  merbit_context *context;
  const merbit_device_profile *taken;
  int failed;
  fake_reset();
  cuda->l2_bytes = 65536;
  context = fake_context(cache_dir);
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  if (calls != NULL) {
    calls->made = 0;
    calls->fail_at = at;
    calls->code = code;
    calls->for_good = for_good;
  } else {
    host.made = 0;
    host.fail_at = at;
    host.for_good = for_good;
  }
  taken = mbi_profile_take(context, 1);
  failed = calls != NULL ? calls->failed > 0 : host.made >= at;
  cuda->calls.fail_at = nvrtc->calls.fail_at = host.fail_at = 0;
  assert_ptr_equal(taken, &context->device.estimate);
  assert_int_equal(merbit_last_error(context, NULL, 0), MERBIT_OK);
  mbi_device_leave(context);
  assert_int_equal(mbi_device_enter(context), cuda->dead != 0 ? MERBIT_DEVICE_LOST : MERBIT_OK);
  if (cuda->dead == 0) {
    mbi_device_leave(context);
  }
  merbit_context_destroy(context);
  assert_int_equal(cuda->after_death, 0);
  fake_expect_clean();
  return failed;
}

/* Lets each of the first calls fail, and every `step`-th of the later ones. */
static void fail_each(fake_calls *calls, const char *cache_dir, int code, long step) {
  int for_good;
  for (for_good = 0; for_good <= 1; for_good++) {
    long at = 1, run = 0;
    while (fails(calls, cache_dir, at, code, for_good)) {
      at += run++ < 16 ? 1 : step;
    }
    assert_true(run > 1);
  }
}

/* Whatever fails, plans can use the estimate, no memory is leaked, and a dead device is not
 * called again. */
static void any_call_fails(void **state) {
  static const int codes[] = {1, 2, 700};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    fail_each(&cuda->calls, i == 0 ? directory : "", codes[i], test_effort(41, 1));
  }
  fail_each(&nvrtc->calls, "", 1, 1);
  fail_each(&nvrtc->calls, "", 6, 1);
}

static void any_allocation_fails(void **state) {
  (void)state;
  fail_each(NULL, "", 0, 1);
  fail_each(NULL, directory, 0, 1);
}

/* A plan that measures the GPU takes no more memory than its forecast says. The next one does
 * not measure, and its forecast is smaller. */
static void the_forecast_counts_measuring(void **state) {
  enum { ROWS = 4000, EACH = 5 };
  int32_t *const row_ptr = test_allocate(ROWS + 1, sizeof *row_ptr);
  int32_t *const col_ind = test_allocate(EACH * ROWS, sizeof *col_ind);
  const merbit_view view = merbit_csr(ROWS, ROWS, EACH * ROWS, row_ptr, col_ind, NULL);
  merbit_context *context;
  merbit_plan_desc desc;
  merbit_plan_memory memory[2];
  int i;
  (void)state;
  cuda->l2_bytes = 131072;
  context = fake_context(directory);
  for (i = 0; i < EACH * ROWS; i++) {
    col_ind[i] = i * 7 % ROWS;
    row_ptr[i / EACH + 1] = i + 1;
  }
  row_ptr[0] = 0;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.expected_calls = INT32_MAX;
  for (i = 0; i < 2; i++) {
    const long before = cuda->bytes;
    merbit_plan *plan;
    assert_int_equal(merbit_plan_forecast(context, &view, &desc, &memory[i]), MERBIT_OK);
    cuda->peak = before;
    assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
    assert_int_equal(told(context).measured, context->device.profile_ready);
    assert_int_equal(context->device.profile_tried, 3);
    assert_true(cuda->peak - before <= memory[i].device_peak_bytes);
    merbit_plan_destroy(plan);
  }
  assert_true(memory[1].device_peak_bytes < memory[0].device_peak_bytes);
  merbit_context_destroy(context);
  free(row_ptr);
  free(col_ind);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_estimate_is_told, begin, end),
      cmocka_unit_test_setup_teardown(measuring_gives_every_figure, begin, end),
      cmocka_unit_test_setup_teardown(measured_once, begin, end),
      cmocka_unit_test_setup_teardown(published_and_read_back, begin, end),
      cmocka_unit_test_setup_teardown(other_gpus_and_drivers, begin, end),
      cmocka_unit_test_setup_teardown(implausible_or_short, begin, end),
      cmocka_unit_test_setup_teardown(damaged_files, begin, end),
      cmocka_unit_test_setup_teardown(unwritable, begin, end),
      cmocka_unit_test_setup_teardown(the_forecast_counts_measuring, begin, end),
      cmocka_unit_test_setup_teardown(any_call_fails, begin, end),
      cmocka_unit_test_setup_teardown(any_allocation_fails, begin, end),
  };
  fake_open("new");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
