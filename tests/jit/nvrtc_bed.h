/* Tools that the tests of NVRTC share: contexts whose log and memory the tests check. Include
 * merbit.h and cmocka.h first. */
#ifndef TEST_JIT_NVRTC_BED_H
#define TEST_JIT_NVRTC_BED_H
#include "support/cpu.h"

static char log_text[16384];
static cpu_memory memory;

static void keep_line(void *user, const char *line) {
  const size_t length = strlen(log_text);
  (void)user;
  (void)snprintf(log_text + length, sizeof log_text - length, "%s\n", line);
}

static merbit_context *make_context(void) {
  merbit_context_desc desc = cpu_desc(&memory, 1);
  merbit_context *context;
  desc.log = keep_line;
  log_text[0] = '\0';
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  return context;
}

static merbit_context *make_or_skip(void) {
  merbit_context *context = make_context();
  if (mbi_nvrtc_open(context, NULL) != MERBIT_OK) {
    char sentence[MERBIT_MESSAGE_SIZE];
    (void)merbit_last_error(context, sentence, sizeof sentence);
    print_message("skipped: %s\n", sentence);
    merbit_context_destroy(context);
    skip();
  }
  return context;
}

#endif /* TEST_JIT_NVRTC_BED_H */
