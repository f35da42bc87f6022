// Error messages of the shim: kernel, block, thread, operation, mask, source location. They use
// no heap, because the frames of a failed launch are dropped without unwinding. Part of simt.h.
#ifndef SIMT_SENTENCES_H
#define SIMT_SENTENCES_H
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#ifdef SIMT_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

struct simt_text {
  char text[256];
};

SIMT_FUNCTION simt_text simt_describe(const simt_operation &operation) {
  static const char *const names[] = {
      "runs",        "has exited",     "mbk_block_sync",   "mbk_collect",    "mbk_warp_sync",
      "mbk_ballot",  "mbk_any",        "mbk_all",          "mbk_match_any",  "mbk_reduce_add",
      "mbk_shuffle", "mbk_shuffle_up", "mbk_shuffle_down", "mbk_shuffle_xor"};
  simt_text text;
  char form[64] = "";
  if (operation.state < SIMT_BLOCK_SYNC) {
    snprintf(text.text, sizeof text.text, "%s", names[operation.state]);
    return text;
  }
  if (operation.state >= SIMT_SHUFFLE) {
    snprintf(form, sizeof form, " (mask 0x%08x, width %d, %zu bytes)", operation.mask,
             operation.width, operation.bytes);
  } else if (operation.state >= SIMT_WARP_SYNC) {
    snprintf(form, sizeof form, " (mask 0x%08x)", operation.mask);
  }
  const char *slash = strrchr(operation.site.file, '/');
  snprintf(text.text, sizeof text.text, "%s%s at %.80s:%d", names[operation.state], form,
           slash ? slash + 1 : operation.site.file, operation.site.line);
  return text;
}

SIMT_FUNCTION simt_text simt_name(unsigned thread) {
  simt_text text;
  snprintf(text.text, sizeof text.text, "thread %u (warp %u, lane %u)", thread, thread / 32,
           thread % 32);
  return text;
}

// Records an error, which simt_launch throws.
__attribute__((format(printf, 1, 2))) SIMT_FUNCTION void simt_note(const char *format, ...) {
  const size_t size = sizeof simt.error;
  const int used =
      snprintf(simt.error, size, "kernel %.200s, block %u: ", simt.kernel, simt.block);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(simt.error + used, size - (size_t)used, format, arguments);
  va_end(arguments);
}

// Writes to stderr which thread ran when the process ends during a launch; uses system calls
// only.
SIMT_FUNCTION void simt_tell_who(const char *what) {
  char text[512];
  const int length = snprintf(text, sizeof text, "simt: kernel %.200s, block %u, %s%s\n",
                              simt.kernel, simt.block, simt_name(simt.current).text, what);
  if (simt.body != nullptr && write(2, text, (size_t)length) != length) {
    _exit(2);
  }
}

SIMT_FUNCTION void simt_too_long(int) {
  static_assert(SIMT_SECONDS == 100, "the sentence names it");
  simt_tell_who(" still runs after 100 seconds: an endless loop?");
  _exit(1);
}

// Makes sanitizers add to their report which thread made the access.
SIMT_FUNCTION void simt_name_the_dead() {
#ifdef SIMT_ASAN
  static bool once = false;
  if (!once) {
    __sanitizer_set_death_callback([] { simt_tell_who(" made the access reported above"); });
    once = true;
  }
#endif
}
#endif // SIMT_SENTENCES_H
