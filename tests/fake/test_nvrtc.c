/* The NVRTC layer over a library whose calls fail on demand; keys of the cubin cache. No
 * driver. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/support.h"

static const char tiny[] = "#ifndef TINY\n"
                           "#define TINY\n"
                           "#include \"jit/device.cuh\"\n"
                           "MBK_KERNEL mbk_tiny(int *p) { p[mbk_thread()] = 7; }\n"
                           "#endif\n";

static merbit_context *make_context(void) {
  merbit_context *context;
  fake_reset();
  context = cpu_open(&host, 1);
  assert_int_equal(mbi_nvrtc_open(context, NULL), MERBIT_OK);
  nvrtc->calls.made = 0;
  return context;
}

static void destroy_context(merbit_context *context) {
  merbit_context_destroy(context);
  fake_expect_clean();
}

static void set_text(mbi_preamble *preamble, const char *text) {
  memset(preamble, 0, sizeof *preamble);
  preamble->length = strlen(text);
  memcpy(preamble->text, text, preamble->length + 1);
}

static merbit_status compile(merbit_context *context, const char *text, void **image,
                             size_t *size) {
  mbi_preamble preamble;
  mbi_target target;
  *image = NULL;
  *size = 0;
  set_text(&preamble, text);
  MBI_TRY(mbi_target_choose(context, MBI_PREAMBLE_NAME, &preamble, 90, &target));
  return mbi_program_compile(context, MBI_PREAMBLE_NAME, &preamble, &target, image, size);
}

/* The compiler's log is reported line by line, and the message quotes its first error. */
static void errors(void **state) {
  merbit_context *context = make_context();
  void *image;
  size_t size;
  (void)state;
  assert_int_equal(compile(context, "#define A 1\n\n#error no such luck\n", &image, &size),
                   MERBIT_COMPILE_ERROR);
  assert_null(image);
  assert_int_equal(size, 0);
  cpu_expect(context, MERBIT_COMPILE_ERROR, "NVRTC refused " MBI_PREAMBLE_NAME " for sm_90: ");
  cpu_expect(context, MERBIT_COMPILE_ERROR, MBI_PREAMBLE_NAME ":3:2: error");
  cpu_expect(context, MERBIT_COMPILE_ERROR, "no such luck");
  assert_int_equal(compile(context, tiny, &image, &size), MERBIT_OK);
  assert_string_equal(nvrtc->options,
                      " --gpu-architecture=sm_90 --std=c++14 --no-source-include");
  mbi_release(context, image);
  destroy_context(context);
}

/* Each call fails with each result, with and without an error in the text. Calls: two for the
 * architectures, create, compile, log size, log, image size, image, destroy. */
static void every_call_fails(void **state) {
  static const char *const harmless[] = {"nvrtcGetProgramLogSize", "nvrtcGetProgramLog",
                                         "nvrtcDestroyProgram"};
  merbit_context *context = make_context();
  const long before = host.live;
  int code, at, runs = 0;
  (void)state;
  for (code = 1; code <= 12; code++) {
    for (at = 1; at <= 8; at++) {
      merbit_status status, expected = at <= 2     ? MERBIT_NO_COMPILER
                                       : code == 1 ? MERBIT_OUT_OF_MEMORY
                                                   : MERBIT_COMPILE_ERROR;
      void *image;
      size_t size, i;
      fake_nvrtc_clean();
      nvrtc->calls.fail_at = at;
      nvrtc->calls.code = code;
      status = compile(context, tiny, &image, &size);
      assert_int_equal(nvrtc->calls.failed, 1);
      for (i = 0; i < 3; i++) {
        expected = strcmp(nvrtc->calls.first, harmless[i]) == 0 ? MERBIT_OK : expected;
      }
      assert_int_equal(status, expected);
      assert_int_equal(nvrtc->programs, 0);
      assert_true((status == MERBIT_OK) == (image != NULL) && (image != NULL) == (size > 0));
      if (status != MERBIT_OK) {
        cpu_expect(context, status,
                   at <= 2 ? "does not compile for compute capability 9.0" : "NVRTC error ");
      }
      mbi_release(context, image);
      assert_int_equal(host.live, before);
      runs++;
    }
  }
  print_message("%d runs\n", runs);
  destroy_context(context);
}

/* A program is refused and its log cannot be read: no memory is leaked. */
static void the_log_fails(void **state) {
  static const char *const calls[] = {"nvrtcGetProgramLogSize", "nvrtcGetProgramLog"};
  merbit_context *context = make_context();
  const long before = host.live;
  int i;
  (void)state;
  for (i = 0; i < 2; i++) {
    void *image;
    size_t size;
    fake_nvrtc_clean();
    nvrtc->calls.fail_at = 5 + i;
    nvrtc->calls.code = 11;
    assert_int_equal(compile(context, "#error no such luck\n", &image, &size),
                     MERBIT_COMPILE_ERROR);
    assert_string_equal(nvrtc->calls.first, calls[i]);
    cpu_expect(context, MERBIT_COMPILE_ERROR, "failed in nvrtcCompileProgram");
    assert_null(image);
    assert_int_equal(nvrtc->programs, 0);
    assert_int_equal(host.live, before);
  }
  destroy_context(context);
}

/* Every field changes the key. */
static void keys(void **state) {
  merbit_context *context = make_context();
  mbi_preamble one, two;
  mbi_target target;
  char *key[6];
  size_t size[6];
  int i, j;
  (void)state;
  set_text(&one, "#define A 1\n");
  set_text(&two, "#define A 2\n");
  assert_int_equal(mbi_target_choose(context, "m.cu", &one, 90, &target), MERBIT_OK);
  key[0] = mbi_key_create(context, "m.cu", &one, &target, &size[0]);
  key[1] = mbi_key_create(context, "n.cu", &one, &target, &size[1]);
  key[2] = mbi_key_create(context, "m.cu", &two, &target, &size[2]);
  assert_non_null(strstr(key[0], MBI_KERNEL_HASH));
  assert_non_null(strstr(key[0], MERBIT_VERSION_STRING));
  assert_non_null(strstr(key[0], "sm_90"));
  context->device.nvrtc.version = 12090;
  key[3] = mbi_key_create(context, "m.cu", &one, &target, &size[3]);
  context->device.nvrtc.version = 13000;
  assert_int_equal(mbi_target_choose(context, "m.cu", &one, 75, &target), MERBIT_OK);
  key[4] = mbi_key_create(context, "m.cu", &one, &target, &size[4]);
  assert_int_equal(mbi_target_choose(context, "m.cu", &one, 89, &target), MERBIT_OK);
  key[5] = mbi_key_create(context, "m.cu", &one, &target, &size[5]);
  assert_non_null(strstr(key[5], "compute_75"));
  for (i = 0; i < 6; i++) {
    assert_int_equal(strlen(key[i]), size[i]);
    for (j = 0; j < i; j++) {
      assert_string_not_equal(key[i], key[j]);
    }
  }
  for (i = 0; i < 6; i++) {
    mbi_release(context, key[i]);
  }
  destroy_context(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors),
      cmocka_unit_test(every_call_fails),
      cmocka_unit_test(the_log_fails),
      cmocka_unit_test(keys),
  };
  fake_open("new");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
