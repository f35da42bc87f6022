/* Does on a device what core/test_allocation.c does on the CPU: every allocation of host memory
 * in a user's work fails in turn, once and for good. The work must return OUT_OF_MEMORY with a
 * message, leak nothing on either side, and give correct results when memory is available
 * again. */
#define MBI_CHOOSE_SMALL 0u  /* AUTO treats even tiny matrices as large */
#define MBI_CHOOSE_HELD 0.0  /* and their x misses L1 */
#define MBI_VALUES_LAUNCH 0u /* x may be multiplied by the values of columns */
#define MBI_MEASURE_ROUNDS 1 /* and measurements are as short as possible */
#define MBI_MEASURE_BATCH 1
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/scenarios.h"
#include "support/effort.h"

static long runs, told;
static long turn; /* selects the failing allocations in quick effort */

static void check_answer(merbit_status status, const char *sentence) {
  if (status != MERBIT_OK) { /* unless only the log's text could not be allocated */
    assert_int_equal(status, MERBIT_OUT_OF_MEMORY);
    assert_non_null(strstr(sentence, "memory"));
    told++;
  }
}

/* Runs the work with allocation `at` failing. Returns the number of allocations it made. */
static long run(size_t which, const char *cache_dir, long at, int for_good) {
  merbit_context_desc desc;
  merbit_context *context;
  merbit_error error;
  merbit_status status;
  char sentence[MERBIT_MESSAGE_SIZE];
  long made;
  fake_reset();
  desc = fake_desc(work[which].side);
  desc.cache_dir = cache_dir;
  host.fail_at = at;
  host.for_good = for_good;
  wished = work[which].side;
  status = merbit_context_create(&desc, &context, &error);
  if (status != MERBIT_OK) {
    assert_null(context);
    made = host.made;
    check_answer(status, error.message);
  } else {
    status = work[which].scenario(context);
    made = host.made;
    assert_int_equal(merbit_last_error(context, sentence, sizeof sentence), status);
    check_answer(status, sentence);
    host.fail_at = 0;
    assert_int_equal(work[which].scenario(context), MERBIT_OK);
    merbit_context_destroy(context);
  }
  fake_expect_clean();
  runs++;
  return made;
}

/* In quick effort every `quick`-th allocation fails, once and for good in turn; other seeds
 * select the others. Of the work from `first` on, only every `apart`-th. */
static void fail_every_allocation(const char *cache_dir, int quick, size_t first,
                                  size_t apart) {
  const long step = test_effort(quick, 1);
  const int passes = test_effort(1, 2);
  size_t i;
  for (i = first; i < sizeof work / sizeof work[0]; i += apart) {
    const long before = told;
    int pass;
    long at = 0, made = 0;
    for (pass = 0; pass < passes; pass++) {
      at = 1 + (turn + (long)i) % step;
      for (; (made = run(i, cache_dir, at, (int)((at + turn / step + pass) % 2))) >= at;
           at += step) {
      }
    }
    assert_true(told > before);
    print_message("%-20s %3ld allocations\n", work[i].name, made);
  }
}

static void without_a_cache(void **state) {
  (void)state;
  fail_every_allocation("", 197, 0, 1);
}

/* A cache adds a few dozen allocations, the same for all work: quick effort tests an
 * eighth of them, chosen by the seed. */
static void with_a_cache(void **state) {
  const size_t apart = (size_t)test_effort(8, 1);
  char name[64];
  (void)state;
  fail_every_allocation(fake_cache_make(name), 3, (size_t)turn % apart, apart);
  fake_cache_remove(name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_a_cache),
      cmocka_unit_test(with_a_cache),
  };
  int failed;
  turn = (long)(test_rotating_seed() % 1000000);
  fake_open("plain");
  scenarios_prepare();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  print_message("%ld runs, %ld of them answered with an error\n", runs, told);
  return failed;
}
