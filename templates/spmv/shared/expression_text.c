#include "market/market.h"
#include "spmv/shared/shared.h"

/* Splits a user's expression into tokens, and builds the text that a kernel gets instead.
 * spmv/shared/expression.c has the grammar. */

MBI_INTERNAL const mbi_call mbi_calls[MBI_CALLS] = {
    {"min", 2}, {"max", 2}, {"abs", 1},   {"sqrt", 1}, {"exp", 1},
    {"log", 1}, {"pow", 2}, {"floor", 1}, {"ceil", 1},
};

/* ---- Tokens ------------------------------------------------------------------------------ */

/* Returns 1 for an ASCII letter or an underscore, in every locale. */
MBI_INTERNAL int mbi_is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Fails with a message that names the current token. Characters outside ASCII appear as
 * numbers. */
MBI_INTERNAL merbit_status mbi_expression_refuse(mbi_expression *e, const char *why) {
  char token[48];
  if (e->length == 0) {
    (void)snprintf(token, sizeof token, "its end");
  } else if (*e->at < ' ' || *e->at > '~') {
    (void)snprintf(token, sizeof token, "character %d", (int)(unsigned char)*e->at);
  } else {
    (void)snprintf(token, sizeof token, "\"%.*s\"", (int)(e->length < 32 ? e->length : 32),
                   e->at);
  }
  return mbi_fail(e->context, MERBIT_INVALID_ARGUMENT, "%s: %s at position %zu %s", e->what,
                  token, (size_t)(e->at - e->source) + 1, why);
}

MBI_NOINLINE MBI_INTERNAL int mbi_expression_is(const mbi_expression *e, const char *token) {
  return strlen(token) == e->length && memcmp(e->at, token, e->length) == 0;
}

/* Returns a pointer past a decimal number: [digits] [. [digits]] [e [+-] digits]. */
static const char *mbi_expression_decimal(const char *p) {
  const char *exponent;
  while (mbi_is_digit(*p)) {
    p++;
  }
  p += *p == '.' ? 1 : 0;
  while (mbi_is_digit(*p)) {
    p++;
  }
  if (*p != 'e' && *p != 'E') {
    return p;
  }
  exponent = p[1] == '+' || p[1] == '-' ? p + 2 : p + 1;
  if (!mbi_is_digit(*exponent)) {
    return p;
  }
  while (mbi_is_digit(*exponent)) {
    exponent++;
  }
  return exponent;
}

/* Reads the next token. An unknown character becomes a token of its own, which no rule
 * accepts. */
MBI_INTERNAL void mbi_expression_next(mbi_expression *e) {
  static const char *const pairs[] = {"<=", ">=", "==", "!=", "&&", "||"};
  const char *p;
  size_t i;
  e->at += e->length;
  while (*e->at == ' ' || *e->at == '\t') {
    e->at++;
  }
  p = e->at;
  if (mbi_is_letter(*p)) {
    while (mbi_is_letter(*p) || mbi_is_digit(*p)) {
      p++;
    }
  } else if (mbi_is_digit(*p) || (*p == '.' && mbi_is_digit(p[1]))) {
    p = mbi_expression_decimal(p);
  } else if (*p != '\0') {
    for (i = 0; i < sizeof pairs / sizeof pairs[0] && p == e->at; i++) {
      p += strncmp(p, pairs[i], 2) == 0 ? 2 : 0;
    }
    p += p == e->at ? 1 : 0;
  }
  e->length = (size_t)(p - e->at);
}

/* ---- The translated text ----------------------------------------------------------------- */

MBI_INTERNAL merbit_status mbi_expression_insert(mbi_expression *e, size_t at,
                                                 const char *text) {
  const size_t length = strlen(text);
  if (e->written + length >= MBI_EXPRESSION_SIZE) {
    return mbi_fail(
        e->context, MERBIT_TOO_LARGE,
        "%s is too long once it is written out for a kernel: by position %zu it has "
        "more than %d characters, of which a number takes %d; use fewer numbers",
        e->what, (size_t)(e->at - e->source) + 1, MBI_EXPRESSION_SIZE - 1,
        MBI_EXPRESSION_NUMBER);
  }
  memmove(e->text + at + length, e->text + at, e->written - at + 1);
  memcpy(e->text + at, text, length);
  e->written += length;
  return MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_expression_append(mbi_expression *e, const char *text) {
  return mbi_expression_insert(e, e->written, text);
}

/* Puts `head` before and `tail` after the text that starts at `from`. */
MBI_INTERNAL merbit_status mbi_expression_wrap(mbi_expression *e, size_t from, const char *head,
                                               const char *tail) {
  MBI_TRY(mbi_expression_insert(e, from, head));
  return mbi_expression_append(e, tail);
}

/* Converts the operand that starts at `from` to a number or a truth value, as `wanted` says. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_expression_want(mbi_expression *e, size_t from,
                                                            int wanted) {
  const int have = e->operand;
  char head[48];
  e->operand = wanted;
  if (have == wanted) {
    return MERBIT_OK;
  }
  (void)snprintf(head, sizeof head, "mbk_number_of<%s>(", e->number);
  return mbi_expression_wrap(e, from, wanted == MBI_OPERAND_TRUTH ? "mbk_truth_of(" : head,
                             ")");
}
