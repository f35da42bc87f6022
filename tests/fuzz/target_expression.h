/* Any text as a user's expression: refused with a message, or rewritten in tokens that are all
 * on the list below, with balanced parentheses. The result depends only on the tokens, not on
 * the spaces between them. The first byte selects the type. */
#ifndef TEST_FUZZ_TARGET_EXPRESSION_H
#define TEST_FUZZ_TARGET_EXPRESSION_H
#include "fuzz/fuzz.h"

static int is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns the end of a token that kernels may contain, or NULL. */
static const char *known_token(const char *p) {
  static const char *const words[] = {
      "in_a",         "in_x",    "MBK_COMPUTE", "mbk_multiply", "mbk_number_of<MBK_COMPUTE>",
      "mbk_truth_of", "mbk_min", "mbk_max",     "mbk_abs",      "mbk_sqrt",
      "mbk_exp",      "mbk_log", "mbk_pow",     "mbk_floor",    "mbk_ceil"};
  static const char *const signs[] = {" + ",  " - ",  " / ",  " < ",  " <= ", " > ",
                                      " >= ", " == ", " != ", " && ", " || ", " ? ",
                                      " : ",  ", ",   "(",    ")",    "-",    "!"};
  static const char number[] = "mbk_number(0x";
  size_t i;
  int digits;
  if (strncmp(p, number, sizeof number - 1) == 0) {
    p += sizeof number - 1;
    for (digits = 0; digits < 16; digits++) {
      if (strchr("0123456789abcdef", *p) == NULL || *p == '\0') {
        return NULL;
      }
      p++;
    }
    return strncmp(p, "ull)", 4) == 0 ? p + 4 : NULL;
  }
  for (i = 0; i < sizeof words / sizeof words[0]; i++) {
    const size_t length = strlen(words[i]);
    if (strncmp(p, words[i], length) == 0 && !is_word(p[length])) {
      return p + length;
    }
  }
  for (i = 0; i < sizeof signs / sizeof signs[0]; i++) {
    if (strncmp(p, signs[i], strlen(signs[i])) == 0) {
      return p + strlen(signs[i]);
    }
  }
  return NULL;
}

static void require_known(const char *text) {
  int depth = 0;
  while (*text != '\0') {
    const char *end = known_token(text);
    REQUIRE(end != NULL);
    REQUIRE(!(text[0] == '-' && text[1] == '-') && !(text[0] == '(' && text[1] == ')'));
    if (end - text == 1) {
      depth += *text == '(' ? 1 : *text == ')' ? -1 : 0;
    }
    REQUIRE(depth >= 0);
    text = end;
  }
  REQUIRE(depth == 0);
}

static void fuzz_expression(const uint8_t *data, size_t size) {
  static const char *const names[] = {"a", "x", NULL};
  merbit_context *context = fuzz_context();
  const merbit_type type = size > 0 && data[0] & 1 ? MERBIT_F32 : MERBIT_F64;
  char text[MBI_EXPRESSION_SIZE], again[MBI_EXPRESSION_SIZE], message[MERBIT_MESSAGE_SIZE];
  char *source = (char *)malloc(size + 1), *spaced = (char *)malloc(3 * size + 8);
  merbit_status status;
  REQUIRE(source != NULL && spaced != NULL);
  memcpy(source, data + (size > 0), size - (size > 0));
  source[size - (size > 0)] = '\0'; /* an earlier zero ends it sooner */
  memset(text, 1, sizeof text);
  status = mbi_expression_check(context, "it", source, names, type, text);
  if (status == MERBIT_OK) {
    REQUIRE(text[0] != '\0' && strlen(text) < sizeof text);
    require_known(text);
    if (strlen(source) < MBI_EXPRESSION_TEXT - 4) {
      (void)snprintf(spaced, 3 * size + 8, " (\t%s )", source);
      if (mbi_expression_check(context, "it", spaced, names, type, again) == MERBIT_OK) {
        REQUIRE(strcmp(text, again) == 0);
      } else { /* one pair too many */
        (void)merbit_last_error(context, message, sizeof message);
        REQUIRE(strstr(message, "nested too deeply") != NULL);
      }
    }
  } else {
    REQUIRE(status == MERBIT_INVALID_ARGUMENT || status == MERBIT_TOO_LARGE);
    REQUIRE(merbit_last_error(context, message, sizeof message) == status);
    REQUIRE(strncmp(message, "it", 2) == 0 && strlen(message) > 20);
    REQUIRE(text[0] == '\0');
  }
  free(source);
  free(spaced);
}

#endif /* TEST_FUZZ_TARGET_EXPRESSION_H */
