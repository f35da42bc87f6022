/* Programs that several threads compile together: each part has its own kernels, the caller
 * gets a failure of any thread, and a plan's times are those of all its programs. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/scenarios.h"

enum { WISHES = 4, THREADS = 3 };

/* Writes a program that consists of its preamble, with one kernel in each part. */
static void write_preamble(int number, const char *rest, mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  preamble->length = (size_t)snprintf(preamble->text, sizeof preamble->text,
                                      "#ifndef TEST\n#define TEST %d\n%s"
                                      "#include \"jit/device.cuh\"\n"
                                      "MBK_KERNEL mbk_main(int *p) { *p = 10 * TEST; }\n"
                                      "MBK_KERNEL_1 mbk_one(int *p) { *p = 10 * TEST + 1; }\n"
                                      "MBK_KERNEL_2 mbk_two(int *p) { *p = 10 * TEST + 2; }\n"
                                      "#endif\n",
                                      number, rest);
}

typedef struct bed {
  merbit_context *context;
  mbi_preamble preambles[WISHES];
  mbi_program programs[WISHES];
  mbi_program_wish wishes[WISHES];
  mbi_program_times times;
} bed;

/* Makes four requests, of one part and of three in turn, in a current context. `rest` is added
 * to the third one's text. */
static void open_bed(bed *b, int threads, const char *rest) {
  merbit_context_desc desc = fake_desc(MERBIT_SIDE_CUDA);
  merbit_error error;
  int i;
  fake_reset();
  memset(b, 0, sizeof *b);
  desc.threads = threads;
  if (merbit_context_create(&desc, &b->context, &error) != MERBIT_OK) {
    fail_msg("%s", error.message);
  }
  for (i = 0; i < WISHES; i++) {
    write_preamble(i + 1, i == 2 ? rest : "", &b->preambles[i]);
    b->wishes[i].file = MBI_PREAMBLE_NAME;
    b->wishes[i].preamble = &b->preambles[i];
    b->wishes[i].parts = i % 2 == 0 ? 1 : MBI_PARTS;
    b->wishes[i].program = &b->programs[i];
  }
  assert_int_equal(mbi_device_enter(b->context), MERBIT_OK);
  nvrtc->compiled = 0;
}

static void close_bed(bed *b) {
  mbi_device_leave(b->context);
  merbit_context_destroy(b->context);
  fake_expect_clean();
}

/* Expects that the part has the kernel of this name, with the right answer, or with `there` 0
 * that it lacks it. */
static void expect_kernel(bed *b, int i, int part, const char *name, int there, int answer) {
  void *function;
  mbi_devptr address = 0;
  int found = -1;
  const merbit_status status =
      mbi_program_part_kernel(b->context, &b->programs[i], part, name, &function);
  assert_int_equal(status, there ? MERBIT_OK : MERBIT_DEVICE_ERROR);
  assert_int_equal(function != NULL, there);
  if (there) {
    assert_int_equal(mbi_device_allocate(b->context, sizeof found, "a number", &address),
                     MERBIT_OK);
    assert_int_equal(mbi_device_launch(b->context, function, name, 1, 1, 0, NULL, &address),
                     MERBIT_OK);
    assert_int_equal(mbi_device_download(b->context, &found, address, sizeof found), MERBIT_OK);
    mbi_device_release(b->context, address);
    assert_int_equal(found, answer);
  }
}

static void parts(void **state) {
  static const char *const names[MBI_PARTS] = {"mbk_main", "mbk_one", "mbk_two"};
  int threads, i, part, kernel;
  (void)state;
  for (threads = 1; threads <= THREADS; threads += THREADS - 1) {
    bed b;
    open_bed(&b, threads, "");
    assert_int_equal(mbi_programs_create(b.context, b.wishes, WISHES, &b.times), MERBIT_OK);
    assert_int_equal(nvrtc->compiled, 2 + 2 * MBI_PARTS);
    assert_int_equal(cuda->modules, 2 + 2 * MBI_PARTS);
    assert_true(b.times.compile > 0 && b.times.load > 0);
    for (i = 0; i < WISHES; i++) {
      assert_false(b.programs[i].from_cache);
      for (part = 0; part < b.wishes[i].parts; part++) {
        for (kernel = 0; kernel < MBI_PARTS; kernel++) {
          expect_kernel(&b, i, part, names[kernel], b.wishes[i].parts == 1 || kernel == part,
                        10 * (i + 1) + kernel);
        }
      }
      mbi_program_destroy(b.context, &b.programs[i]);
    }
    memset(&b.times, 0, sizeof b.times); /* now all are loaded */
    assert_int_equal(mbi_programs_create(b.context, b.wishes, WISHES, &b.times), MERBIT_OK);
    assert_int_equal(nvrtc->compiled, 2 + 2 * MBI_PARTS);
    assert_true(b.times.compile == 0 && b.times.load > 0);
    for (i = 0; i < WISHES; i++) {
      assert_true(b.programs[i].from_cache);
      mbi_program_destroy(b.context, &b.programs[i]);
    }
    close_bed(&b);
  }
}

/* One text of four is refused: the calling thread gets the compiler's message, whichever thread
 * compiled it, and no program is left. The next attempt compiles only that text. */
static void one_is_refused(void **state) {
  int threads, i;
  (void)state;
  for (threads = 1; threads <= THREADS; threads += THREADS - 1) {
    bed b;
    open_bed(&b, threads, "#error no such luck\n");
    assert_int_equal(mbi_programs_create(b.context, b.wishes, WISHES, &b.times),
                     MERBIT_COMPILE_ERROR);
    cpu_expect(b.context, MERBIT_COMPILE_ERROR, "NVRTC refused " MBI_PREAMBLE_NAME);
    cpu_expect(b.context, MERBIT_COMPILE_ERROR, "no such luck");
    for (i = 0; i < WISHES; i++) {
      assert_null(b.programs[i].parts[0].module);
    }
    assert_int_equal(cuda->modules, 0);
    write_preamble(3, "", &b.preambles[2]);
    assert_int_equal(mbi_programs_create(b.context, b.wishes, WISHES, &b.times), MERBIT_OK);
    for (i = 0; i < WISHES; i++) {
      mbi_program_destroy(b.context, &b.programs[i]);
    }
    close_bed(&b);
  }
}

/* NVRTC's calls and allocations fail in turn while several threads make them. */
static void calls_fail(void **state) {
  long at;
  int failed = 1, errors = 0, i;
  (void)state;
  for (at = 1; failed; at++) {
    bed b;
    merbit_status status;
    open_bed(&b, THREADS, "");
    nvrtc->calls.made = host.made = 0;
    nvrtc->calls.fail_at = at;
    nvrtc->calls.code = 11;
    host.fail_at = at % 3 == 0 ? at : 0;
    status = mbi_programs_create(b.context, b.wishes, WISHES, &b.times);
    failed = nvrtc->calls.failed > 0;
    nvrtc->calls.fail_at = host.fail_at = 0;
    assert_true(status == MERBIT_OK || status == MERBIT_OUT_OF_MEMORY ||
                status == MERBIT_COMPILE_ERROR || status == MERBIT_NO_COMPILER);
    assert_int_equal(merbit_last_error(b.context, NULL, 0), status);
    errors += status != MERBIT_OK;
    for (i = 0; i < WISHES; i++) {
      assert_int_equal(b.programs[i].parts[0].module != NULL, status == MERBIT_OK);
      mbi_program_destroy(b.context, &b.programs[i]);
    }
    close_bed(&b);
  }
  assert_true(errors > 20);
  print_message("%d of %ld runs failed\n", errors, at - 1);
}

/* The driver refuses the first of the compiled parts, or a later one: none stays loaded. */
static void loading_fails(void **state) {
  int at, i;
  (void)state;
  for (at = 1; at <= 2 + 2 * MBI_PARTS; at++) {
    bed b;
    open_bed(&b, 1, "");
    cuda->calls.only = "cuModuleLoadData";
    cuda->calls.made = 0;
    cuda->calls.code = 200;
    cuda->calls.fail_at = at;
    assert_int_equal(mbi_programs_create(b.context, b.wishes, WISHES, &b.times),
                     MERBIT_DEVICE_ERROR);
    cpu_expect(b.context, MERBIT_DEVICE_ERROR, "cuModuleLoadData");
    for (i = 0; i < WISHES; i++) {
      assert_null(b.programs[i].parts[0].module);
    }
    close_bed(&b);
  }
}

/* A plan whose method's programs are loaded, but not its epilogue's, reports time for NVRTC; a
 * third plan does not. */
static void a_plan_counts_all(void **state) {
  static const merbit_epilogue epilogue = {NULL, {"ax * ax", "1"}, 0, 0, NULL, NULL};
  const merbit_view view =
      merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, data.values);
  merbit_context *context;
  int run;
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  for (run = 0; run < 3; run++) {
    merbit_plan_desc desc;
    merbit_plan_info info;
    merbit_plan *plan = NULL;
    char line[1024];
    memset(&desc, 0, sizeof desc);
    desc.method = MERBIT_METHOD_SCAN;
    desc.epilogue = run > 0 ? &epilogue : NULL;
    assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
    assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
    assert_int_equal(info.cubin_from_cache, run > 0);
    assert_int_equal(info.compile_seconds > 0, run < 2);
    assert_true(info.load_seconds > 0);
    assert_true(info.compile_seconds + info.load_seconds <= info.plan_seconds);
    (void)merbit_plan_describe(plan, line, sizeof line);
    assert_non_null(
        strstr(line, run < 2 ? "; cubins compiled in " : "; cubins from the cache"));
    merbit_plan_destroy(plan);
  }
  merbit_context_destroy(context);
  fake_expect_clean();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts),
      cmocka_unit_test(one_is_refused),
      cmocka_unit_test(calls_fail),
      cmocka_unit_test(loading_fails),
      cmocka_unit_test(a_plan_counts_all),
  };
  fake_open("new");
  scenarios_prepare();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
