#include "core/context.h"
#include "market/market.h"
#include "spmv/shared/shared.h"

/* Translates users' expressions into text for a kernel. It accepts only this grammar and writes
 * the text anew from the tokens, so that nothing else reaches the compiler.
 *
 *   choice   = either ["?" choice ":" choice]
 *   either   = both {"||" both}
 *   both     = equality {"&&" equality}
 *   equality = relation [("==" | "!=") relation]
 *   relation = sum [("<" | "<=" | ">" | ">=") sum]
 *   sum      = term {("+" | "-") term}
 *   term     = factor {("*" | "/") factor}
 *   factor   = ("-" | "+" | "!") factor | number | "inf" | name | "(" choice ")"
 *            | call "(" choice {"," choice} ")"
 *
 * Numbers are decimal. The caller supplies the names; mbi_calls lists the functions. A
 * comparison counts as 1 or 0 where a number is needed; a number counts as true unless it is
 * zero. Each operation is rounded separately. */

/* ---- Grammar ----------------------------------------------------------------------------- */

static merbit_status mbi_expression_choice(mbi_expression *e);

/* Enters one more level of nesting. Fails if there are too many. */
static merbit_status mbi_expression_enter(mbi_expression *e) {
  return ++e->depth <= MBI_EXPRESSION_DEPTH ? MERBIT_OK
                                            : mbi_expression_refuse(e, "is nested too deeply");
}

/* Writes a number, rounded to the plan's type, as the bits of a double. */
static merbit_status mbi_expression_number(mbi_expression *e) {
  char text[MBI_EXPRESSION_DIGITS + 16]; /* readable past the number, for mbi_decimal_scan */
  mbi_decimal d;
  double value = (double)INFINITY;
  uint64_t bits;
  if (!mbi_expression_is(e, "inf")) {
    float single;
    int read;
    if (e->length > MBI_EXPRESSION_DIGITS) {
      return mbi_expression_refuse(e, "has too many digits");
    }
    memset(text, 0, sizeof text);
    memcpy(text, e->at, e->length);
    text[e->length] = '\n';
    (void)mbi_decimal_scan(text, &d);
    if (e->type == MERBIT_F32) {
      read = mbi_decimal_f32(&d, &single);
      value = (double)single;
    } else {
      read = mbi_decimal_f64(&d, &value);
    }
    if (!read) {
      return mbi_expression_refuse(e, "is beyond the largest number; use inf");
    }
  }
  memcpy(&bits, &value, sizeof bits);
  (void)snprintf(text, sizeof text, "((%s)mbk_number(0x%016" PRIx64 "ull))", e->number, bits);
  mbi_expression_next(e);
  if (e->length > 0 && (mbi_is_letter(*e->at) || *e->at == '.' || mbi_is_digit(*e->at))) {
    return mbi_expression_refuse(e, "cannot follow a number");
  }
  return mbi_expression_append(e, text);
}

static merbit_status mbi_expression_call(mbi_expression *e, const char *name, int arguments) {
  char text[48];
  int i;
  mbi_expression_next(e);
  if (!mbi_expression_is(e, "(")) {
    return mbi_expression_refuse(e, "stands where a function's \"(\" should be");
  }
  (void)snprintf(text, sizeof text, "mbk_%s(", name);
  MBI_TRY(mbi_expression_append(e, text));
  for (i = 0; i < arguments; i++) {
    const size_t from = e->written;
    mbi_expression_next(e); /* skips the parenthesis or the comma */
    MBI_TRY(mbi_expression_choice(e));
    MBI_TRY(mbi_expression_want(e, from, MBI_OPERAND_NUMBER));
    if (!mbi_expression_is(e, i + 1 < arguments ? "," : ")")) {
      (void)snprintf(text, sizeof text, "is not expected: %s takes %d", name, arguments);
      return mbi_expression_refuse(e, text);
    }
    MBI_TRY(mbi_expression_append(e, i + 1 < arguments ? ", " : ")"));
  }
  mbi_expression_next(e);
  return MERBIT_OK;
}

/* Reads a name, a call or inf. */
static merbit_status mbi_expression_word(mbi_expression *e) {
  char text[48];
  size_t i;
  for (i = 0; e->names[i] != NULL; i++) {
    if (mbi_expression_is(e, e->names[i])) {
      (void)snprintf(text, sizeof text, MBI_EXPRESSION_MARK "%s", e->names[i]);
      mbi_expression_next(e);
      return mbi_expression_append(e, text);
    }
  }
  for (i = 0; i < sizeof mbi_calls / sizeof mbi_calls[0]; i++) {
    if (mbi_expression_is(e, mbi_calls[i].name)) {
      return mbi_expression_call(e, mbi_calls[i].name, mbi_calls[i].arguments);
    }
  }
  return mbi_expression_is(e, "inf") ? mbi_expression_number(e)
                                     : mbi_expression_refuse(e, "is no name known here");
}

static merbit_status mbi_expression_primary(mbi_expression *e) {
  e->operand = MBI_OPERAND_NUMBER;
  if (e->length > 0 && mbi_is_letter(*e->at)) {
    return mbi_expression_word(e);
  }
  if (e->length > 0 && (mbi_is_digit(*e->at) || (*e->at == '.' && e->length > 1))) {
    return mbi_expression_number(e);
  }
  if (!mbi_expression_is(e, "(")) {
    return mbi_expression_refuse(e, "stands where an operand should be");
  }
  mbi_expression_next(e);
  MBI_TRY(mbi_expression_choice(e));
  if (!mbi_expression_is(e, ")")) {
    return mbi_expression_refuse(e, "stands where a \")\" should be");
  }
  mbi_expression_next(e);
  return MERBIT_OK;
}

static merbit_status mbi_expression_factor(mbi_expression *e) {
  const size_t from = e->written;
  const char sign = e->length == 1 ? *e->at : '\0';
  MBI_TRY(mbi_expression_enter(e));
  if (sign != '-' && sign != '+' && sign != '!') {
    MBI_TRY(mbi_expression_primary(e));
  } else {
    mbi_expression_next(e);
    MBI_TRY(mbi_expression_factor(e));
    MBI_TRY(mbi_expression_want(e, from, sign == '!' ? MBI_OPERAND_TRUTH : MBI_OPERAND_NUMBER));
    if (sign != '+') {
      MBI_TRY(mbi_expression_wrap(e, from, sign == '!' ? "(!" : "(-", ")"));
    }
  }
  e->depth--;
  return MERBIT_OK;
}

/* The infix operators: their level of precedence, the kinds of their operands and of the
 * result, and the text before and between the operands. */
typedef struct mbi_infix {
  int level, wanted, gives;
  const char *token, *head, *middle;
} mbi_infix;

#define MBI_INFIX_LEVELS 6

static const mbi_infix mbi_infixes[] = {
    {0, MBI_OPERAND_TRUTH, MBI_OPERAND_TRUTH, "||", "(", " || "},
    {1, MBI_OPERAND_TRUTH, MBI_OPERAND_TRUTH, "&&", "(", " && "},
    {2, MBI_OPERAND_NUMBER, MBI_OPERAND_TRUTH, "==", "(", " == "},
    {2, MBI_OPERAND_NUMBER, MBI_OPERAND_TRUTH, "!=", "(", " != "},
    {3, MBI_OPERAND_NUMBER, MBI_OPERAND_TRUTH, "<", "(", " < "},
    {3, MBI_OPERAND_NUMBER, MBI_OPERAND_TRUTH, "<=", "(", " <= "},
    {3, MBI_OPERAND_NUMBER, MBI_OPERAND_TRUTH, ">", "(", " > "},
    {3, MBI_OPERAND_NUMBER, MBI_OPERAND_TRUTH, ">=", "(", " >= "},
    {4, MBI_OPERAND_NUMBER, MBI_OPERAND_NUMBER, "+", "(", " + "},
    {4, MBI_OPERAND_NUMBER, MBI_OPERAND_NUMBER, "-", "(", " - "},
    /* a call, so that the compiler does not fuse the product with a sum */
    {5, MBI_OPERAND_NUMBER, MBI_OPERAND_NUMBER, "*", "mbk_multiply(", ", "},
    {5, MBI_OPERAND_NUMBER, MBI_OPERAND_NUMBER, "/", "(", " / "},
};

static const mbi_infix *mbi_expression_infix(const mbi_expression *e, int level) {
  size_t i;
  for (i = 0; i < sizeof mbi_infixes / sizeof mbi_infixes[0]; i++) {
    if (mbi_infixes[i].level == level && mbi_expression_is(e, mbi_infixes[i].token)) {
      return &mbi_infixes[i];
    }
  }
  return NULL;
}

/* Reads one level of the grammar, from `either` (0) to `term` (the last). The levels of
 * comparisons accept at most one operator. */
static merbit_status mbi_expression_level(mbi_expression *e, int level) {
  const size_t from = e->written;
  const mbi_infix *infix;
  int terms = 1;
  MBI_TRY(level + 1 < MBI_INFIX_LEVELS ? mbi_expression_level(e, level + 1)
                                       : mbi_expression_factor(e));
  while ((infix = mbi_expression_infix(e, level)) != NULL) {
    size_t second;
    if (++terms > 2 && (level == 2 || level == 3)) {
      return mbi_expression_refuse(e, "follows a comparison; use parentheses");
    }
    MBI_TRY(mbi_expression_want(e, from, infix->wanted));
    MBI_TRY(mbi_expression_wrap(e, from, infix->head, infix->middle));
    second = e->written;
    mbi_expression_next(e);
    MBI_TRY(level + 1 < MBI_INFIX_LEVELS ? mbi_expression_level(e, level + 1)
                                         : mbi_expression_factor(e));
    MBI_TRY(mbi_expression_want(e, second, infix->wanted));
    MBI_TRY(mbi_expression_append(e, ")"));
    e->operand = infix->gives;
  }
  return MERBIT_OK;
}

static merbit_status mbi_expression_choice(mbi_expression *e) {
  const size_t from = e->written;
  int arm;
  MBI_TRY(mbi_expression_enter(e));
  MBI_TRY(mbi_expression_level(e, 0));
  if (mbi_expression_is(e, "?")) {
    MBI_TRY(mbi_expression_want(e, from, MBI_OPERAND_TRUTH));
    MBI_TRY(mbi_expression_insert(e, from, "("));
    for (arm = 0; arm < 2; arm++) {
      size_t second;
      if (arm == 1 && !mbi_expression_is(e, ":")) {
        return mbi_expression_refuse(e, "stands where a \":\" should be");
      }
      MBI_TRY(mbi_expression_append(e, arm == 0 ? " ? " : " : "));
      second = e->written;
      mbi_expression_next(e);
      MBI_TRY(mbi_expression_choice(e));
      MBI_TRY(mbi_expression_want(e, second, MBI_OPERAND_NUMBER));
    }
    MBI_TRY(mbi_expression_append(e, ")"));
  }
  e->depth--;
  return MERBIT_OK;
}

/* Translates the whole source, which must yield a number. */
static merbit_status mbi_expression_whole(mbi_expression *e) {
  mbi_expression_next(e);
  MBI_TRY(mbi_expression_choice(e));
  if (e->length > 0) {
    return mbi_expression_refuse(e, "stands where an operator should be");
  }
  return mbi_expression_want(e, 0, MBI_OPERAND_NUMBER);
}

/* Checks `source` and writes its translation to text[MBI_EXPRESSION_SIZE]. Messages call it
 * `what`. `type` is the type of the numbers, and `number` the name of that type in kernels.
 * `names`, ended by NULL, lists the names that `source` may use; in kernels they have the
 * prefix MBI_EXPRESSION_MARK. On failure the text is empty. */
MBI_INTERNAL merbit_status mbi_expression_write(merbit_context *context, const char *what,
                                                const char *source, const char *const *names,
                                                merbit_type type, const char *number,
                                                char *text) {
  mbi_expression e;
  merbit_status status;
  memset(&e, 0, sizeof e);
  e.context = context;
  e.what = what;
  e.names = names;
  e.type = type;
  e.number = number;
  e.source = e.at = source;
  e.text = text;
  text[0] = '\0';
  if (memchr(source, '\0', MBI_EXPRESSION_TEXT + 1) == NULL) {
    return mbi_fail(context, MERBIT_TOO_LARGE, "%s has more than %d characters", what,
                    MBI_EXPRESSION_TEXT);
  }
  status = mbi_expression_whole(&e);
  if (status != MERBIT_OK) {
    text[0] = '\0';
  }
  return status;
}

/* Calls mbi_expression_write with MBK_COMPUTE as the name of the type. */
MBI_INTERNAL merbit_status mbi_expression_check(merbit_context *context, const char *what,
                                                const char *source, const char *const *names,
                                                merbit_type type, char *text) {
  return mbi_expression_write(context, what, source, names, type, "MBK_COMPUTE", text);
}
