/* Every driver and NVRTC call in a user's work fails in turn, once and for good, with many
 * results. The work must return a clean status and a message, leak nothing, launch nothing on a
 * dead device, and give the CPU's result where AUTO may fall back. */
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

/* Out of memory comes first, because it often has a fallback. */
static const int driver_codes[] = {2,   1,   4,   200, 214, 700, 719, 999, 3,
                                   100, 209, 218, 222, 300, 400, 701, 702, 704};
static const int nvrtc_codes[] = {1, 3, 4, 5, 6, 7, 8, 11, 2, 9, 10};

/* In quick effort every 97th call fails, once and for good in turn, with one result each; other
 * seeds select other calls. The slow sanitizers look for leaks after a failing call, which
 * hardly depend on the result. */
enum { APART = 97 };
static long first; /* first failing call, from 0 */
static long way;   /* whether one call or the next one fails for good */
static long turn;  /* index of its result in quick_code, which each failing call increments */

typedef struct failure {
  const char *name;
  merbit_status (*scenario)(merbit_context *context);
  merbit_side side;
  const char *cache_dir;
  fake_calls *calls; /* the library that fails */
  int code, for_good;
  long at;
} failure;

static long answered, runs;

static int one_of(const char *name, const char *const *list) {
  while (*list != NULL && strcmp(*list, name) != 0) {
    list++;
  }
  return *list != NULL;
}

static int in_context; /* the failing call created a context, which was created all the same */

/* Returns whether the driver refuses a cached program, which is then compiled anew. */
static int compiled_anew(const failure *f) {
  return f->cache_dir[0] != '\0' && strcmp(f->calls->first, "cuModuleLoadData") == 0 &&
         (f->code == 200 || f->code == 209 || f->code == 218 || f->code == 222 ||
          f->code == 300);
}

/* Returns whether a call's failure need not be reported: it releases something, its answer is
 * only informative, or there is a fallback. */
static int harmless(const failure *f) {
  static const char *const names[] = {"cuMemFree_v2",
                                      "cuModuleUnload",
                                      "cuCtxPopCurrent_v2",
                                      "cuDevicePrimaryCtxRelease_v2",
                                      "cuCtxPushCurrent_v2",
                                      "cuPointerGetAttributes",
                                      "nvrtcGetProgramLogSize",
                                      "nvrtcGetProgramLog",
                                      "nvrtcDestroyProgram",
                                      "cuStreamCreate",
                                      "cuStreamDestroy_v2",
                                      "cuGraphDestroy",
                                      "cuGraphExecDestroy",
                                      "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                                      NULL};
  return one_of(f->calls->first, names) || in_context || untold || compiled_anew(f);
}

/* Returns the status that the caller should get. */
static merbit_status expected(const failure *f) {
  static const char *const opening[] = {"nvrtcVersion", "nvrtcGetNumSupportedArchs",
                                        "nvrtcGetSupportedArchs", NULL};
  if (f->calls == &nvrtc->calls) {
    return one_of(f->calls->first, opening) ? MERBIT_NO_COMPILER
           : f->code == 1                   ? MERBIT_OUT_OF_MEMORY
                                            : MERBIT_COMPILE_ERROR;
  }
  return strcmp(f->calls->first, "cuInit") == 0 ? MERBIT_NO_DEVICE
         : mbi_device_fatal(f->code)            ? MERBIT_DEVICE_LOST
         : f->code == 2                         ? MERBIT_DEVICE_OUT_OF_MEMORY
                                                : MERBIT_DEVICE_ERROR;
}

/* Returns whether it is too late for AUTO to fall back to the CPU, which it may do only while a
 * plan is made; the iterations of PageRank come later. */
static int too_late(const failure *f) {
  static const char *const iterating[] = {
      "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",  "cuLaunchKernel",
      "cuMemcpyDtoH_v2",     "cuMemcpyHtoD_v2",     "cuGraphLaunch",
      "cuLaunchKernelEx",    "cuStreamSynchronize", NULL};
  /* PageRank records its iterations while the first ones run. If recording fails it continues
   * without, unless the GPU is dead or all later calls fail. */
  const int recording = (f->for_good || mbi_device_fatal(f->code)) &&
                        (strncmp(f->calls->first, "cuGraph", 7) == 0 ||
                         strncmp(f->calls->first, "cuStream", 8) == 0 ||
                         strncmp(f->calls->first, "cuModule", 8) == 0);
  return plan_made ||
         (f->scenario == ranks && (recording || one_of(f->calls->first, iterating)));
}

/* Returns whether a plan does without something that there is no memory for: slices, hubs,
 * counts of columns, shorter values, a method to measure, a sort by columns. MERBIT needs none
 * of these. */
static int gives_way(const failure *f) {
  if (went_without) { /* a solver or PageRank launched iterations instead of recording them */
    return 1;
  }
  if (f->scenario == many_products && expected(f) == MERBIT_NO_COMPILER) {
    return 1; /* a method that cannot be compiled is not measured */
  }
  return f->scenario != merbit_products && f->calls == &cuda->calls && f->code == 2;
}

/* Returns whether a call that did without the program that failed first may fail at another
 * one: if NVRTC fails for good, it does not even tell the architectures. */
static int told_later(const failure *f, merbit_status status) {
  return f->for_good && f->calls == &nvrtc->calls && status == MERBIT_NO_COMPILER;
}

static void check_answer(const failure *f, merbit_status status, const char *sentence) {
  const int other_call = f->for_good && harmless(f); /* failed after the first one */
  const int falls_back = f->side == MERBIT_SIDE_AUTO && expected(f) != MERBIT_OUT_OF_MEMORY;
  if (status == MERBIT_OK) {
    if (f->calls->failed > 0 && !harmless(f) && !falls_back && !gives_way(f)) {
      fail_msg("%s: %s, call %ld, failing with %d%s is not told", f->name, f->calls->first,
               f->at, f->code, f->for_good ? " for good" : "");
    }
    return;
  }
  assert_true(f->calls->failed > 0);
  if (status != expected(f) && !other_call && !told_later(f, status)) {
    fail_msg("%s: %s failing with %d gives %s: %s", f->name, f->calls->first, f->code,
             merbit_status_name(status), sentence);
  }
  assert_true(strlen(sentence) > 20);
  if (falls_back && !other_call && !too_late(f)) {
    fail_msg("%s: %s failing with %d: no CPU in spite of AUTO: %s", f->name, f->calls->first,
             f->code, sentence);
  }
  answered++;
}

/* Checks that a dead device is not called again, and that another one works as if nothing had
 * happened. */
static void check_afterwards(const failure *f, merbit_context *context) {
  const long made = cuda->calls.made, launches = cuda->launches;
  f->calls->fail_at = 0;
  if (context->side == MERBIT_SIDE_CUDA && cuda->dead != 0) {
    const merbit_status again = f->scenario(context);
    assert_true(again == MERBIT_DEVICE_LOST || f->side == MERBIT_SIDE_AUTO);
    assert_int_equal(cuda->calls.made, made);
    assert_int_equal(cuda->launches, launches);
  } else {
    assert_int_equal(f->scenario(context), MERBIT_OK);
  }
}

/* Runs a scenario with a failing call. Returns whether there was such a call. */
static int run(const failure *f) {
  merbit_context_desc desc;
  merbit_context *context;
  merbit_error error;
  merbit_status status;
  char sentence[MERBIT_MESSAGE_SIZE];
  int failed;
  fake_reset();
  f->calls->fail_at = f->at;
  f->calls->code = f->code;
  f->calls->for_good = f->for_good;
  desc = fake_desc(f->side);
  desc.cache_dir = f->cache_dir;
  wished = f->side;
  plan_made = went_without = untold = 0;
  status = merbit_context_create(&desc, &context, &error);
  in_context = status == MERBIT_OK && context->side == MERBIT_SIDE_CUDA && f->calls->failed > 0;
  if (status != MERBIT_OK) {
    assert_null(context);
    assert_int_equal(error.status, status);
    check_answer(f, status, error.message);
  } else {
    status = f->scenario(context);
    assert_int_equal(merbit_last_error(context, sentence, sizeof sentence),
                     f->calls->failed > 0 && harmless(f) && status == MERBIT_OK
                         ? merbit_last_error(context, NULL, 0)
                         : status);
    check_answer(f, status, sentence);
    check_afterwards(f, context);
    merbit_context_destroy(context);
  }
  assert_int_equal(cuda->after_death, 0);
  failed = f->calls->failed > 0;
  fake_expect_clean();
  runs++;
  return failed;
}

/* Returns the result of the next failing call in quick effort: out of memory every other
 * time. */
static int quick_code(const int *codes, int count) {
  const long n = turn++;
  return n % 2 == 0 ? codes[0] : codes[1 + n / 2 % (count - 1)];
}

static void fail_every_call(failure f, const int *codes, int count) {
  const long before = runs, step = test_effort(APART, 1);
  const int passes = test_effort(1, count), ways = test_effort(1, 2);
  long calls = 0;
  int c, w;
  for (c = 0; c < passes; c++) {
    for (w = 0; w < ways; w++) {
      for (f.at = 1 + first % step;; f.at += step) {
        f.for_good = (int)((f.at + way + w) % 2);
        f.code = passes > 1 ? codes[c] : quick_code(codes, count);
        if (!run(&f)) {
          break;
        }
        calls = f.at > calls ? f.at : calls;
      }
    }
  }
  first++; /* other calls for other work */
  assert_true(calls + step > 4);
  print_message("%-28s %3ld calls x %2d results: %5ld runs\n", f.name, calls, passes,
                runs - before);
}

static void fail_all_work(fake_calls *calls, const int *codes, int count) {
  size_t i;
  for (i = 0; i < sizeof work / sizeof work[0]; i++) {
    failure f;
    memset(&f, 0, sizeof f);
    f.name = work[i].name;
    f.scenario = work[i].scenario;
    f.side = work[i].side;
    f.cache_dir = "";
    f.calls = calls;
    fail_every_call(f, codes, count);
  }
}

static void every_driver_call_fails(void **state) {
  (void)state;
  fail_all_work(&cuda->calls, driver_codes,
                (int)(sizeof driver_codes / sizeof driver_codes[0]));
}

static void every_nvrtc_call_fails(void **state) {
  (void)state;
  fail_all_work(&nvrtc->calls, nvrtc_codes, (int)(sizeof nvrtc_codes / sizeof nvrtc_codes[0]));
}

/* With a warm cache the driver may also refuse a cached image. */
static void every_call_fails_with_a_cache(void **state) {
  char name[64];
  failure f;
  (void)state;
  memset(&f, 0, sizeof f);
  f.name = "products, warm cache";
  f.scenario = products;
  f.side = MERBIT_SIDE_CUDA;
  f.cache_dir = fake_cache_make(name);
  f.calls = &cuda->calls;
  fail_every_call(f, driver_codes, (int)(sizeof driver_codes / sizeof driver_codes[0]));
  fake_cache_remove(name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_driver_call_fails),
      cmocka_unit_test(every_nvrtc_call_fails),
      cmocka_unit_test(every_call_fails_with_a_cache),
  };
  int failed;
  first = (long)(test_rotating_seed() % APART);
  turn = (long)(test_rotating_seed() / APART % 1000);
  way = turn % 2;
  fake_open("plain");
  scenarios_prepare();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  print_message("%ld runs, %ld of them answered with an error\n", runs, answered);
  return failed;
}
