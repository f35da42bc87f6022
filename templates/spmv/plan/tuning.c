#include "core/context.h"
#include "market/market.h"
#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"
#include "spmv/study/study.h"

/* plan_desc.tuning: "name=value name=value", where the names are the knobs of plan_desc.method.
 * Also checks sigma and omega, which belong to MERBIT. */

#define MBI_KNOB_LIST 96   /* capacity for the names of a method */
#define MBI_KNOB_DIGITS 32 /* the most characters of a number */

/* One "name=value" of plan_desc.tuning. */
typedef struct mbi_setting {
  const char *text; /* name=value, `length` characters */
  int length, name_length;
} mbi_setting;

/* Returns the names that plan_desc.tuning may set, or NULL. */
static const char *mbi_tuning_knobs(const merbit_plan *plan) {
#ifdef MERBIT_STUDY_METHODS
  if (mbi_study_knobs(plan) != NULL) {
    return mbi_study_knobs(plan);
  }
#endif
  return plan->side == MERBIT_SIDE_CUDA && plan->row->cuda != NULL ? plan->row->cuda->knobs
                                                                   : NULL;
}

/* Writes the names for a message: separated by commas, without the points that mark
 * fractions. */
static void mbi_knobs_list(const char *knobs, char list[MBI_KNOB_LIST]) {
  size_t length = 0;
  for (; *knobs != '\0' && length + 3 < MBI_KNOB_LIST; knobs++) {
    if (*knobs == ' ') {
      list[length++] = ',';
    }
    if (*knobs != '.') {
      list[length++] = *knobs;
    }
  }
  list[length] = '\0';
}

/* Returns the index of a name among the knobs, or -1. Sets *fractions to whether its number may
 * have a fraction. */
static int mbi_knob_find(const char *knobs, const mbi_setting *setting, int *fractions) {
  int place = 0;
  while (*knobs != '\0') {
    const size_t length = strcspn(knobs, " .");
    if (length == (size_t)setting->name_length && memcmp(knobs, setting->text, length) == 0) {
      *fractions = knobs[length] == '.';
      return place;
    }
    knobs += strcspn(knobs, " ");
    knobs += *knobs == ' ';
    place++;
  }
  return -1;
}

/* Reads the number of a setting. Returns 0 if it is missing, does not fit in an int, or has a
 * fraction where none is allowed. */
static int mbi_setting_number(const mbi_setting *setting, int fractions, double *value) {
  char text[MBI_KNOB_DIGITS + 16]; /* zeros follow the number, since the scan reads past it */
  const int length = setting->length - setting->name_length - 1;
  mbi_decimal d;
  if (length < 1 || length > MBI_KNOB_DIGITS) {
    return 0;
  }
  memset(text, 0, sizeof text);
  memcpy(text, setting->text + setting->name_length + 1, (size_t)length);
  text[length] = '\n';
  return mbi_decimal_scan(text, &d) == text + length && mbi_decimal_f64(&d, value) &&
         *value >= -(double)INT32_MAX && *value <= (double)INT32_MAX &&
         (fractions || *value == (double)(int)*value);
}

/* Stores one setting in plan->tuning. `seen` has a bit for each knob that is already set. */
static merbit_status mbi_tuning_set(merbit_plan *plan, const char *knobs,
                                    const mbi_setting *setting, unsigned *seen) {
  merbit_context *context = plan->context;
  int fractions = 0;
  const int place = mbi_knob_find(knobs, setting, &fractions);
  if (place < 0) {
    char list[MBI_KNOB_LIST];
    mbi_knobs_list(knobs, list);
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.tuning has \"%.*s\", but the names of %s are %s",
                    setting->length < 60 ? setting->length : 60, setting->text,
                    plan->row->identifier, list);
  }
  if (!mbi_setting_number(setting, fractions, &plan->tuning[place])) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.tuning has \"%.*s\"; write %.*s=NUMBER with a%s number",
                    setting->length < 60 ? setting->length : 60, setting->text,
                    setting->name_length, setting->text, fractions ? "" : " whole");
  }
  if ((*seen >> place & 1) != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.tuning sets %.*s twice; set it once", setting->name_length,
                    setting->text);
  }
  *seen |= 1u << place;
  return MERBIT_OK;
}

/* Refuses plan_desc.sigma and plan_desc.omega unless the method is MERBIT. */
static merbit_status mbi_tuning_check_sigma(const merbit_plan *plan) {
  const merbit_plan_desc *desc = &plan->desc;
  const char *knobs = mbi_tuning_knobs(plan);
  char list[MBI_KNOB_LIST] = "";
  if (plan->method == MERBIT_METHOD_MERBIT || (desc->sigma == 0 && desc->omega == 0)) {
    return MERBIT_OK;
  }
  if (knobs != NULL) {
    mbi_knobs_list(knobs, list);
  }
  return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                  "plan_desc.%s is %d, which MERBIT_METHOD_MERBIT alone takes, but "
                  "plan_desc.method is %s; %s%s",
                  desc->sigma != 0 ? "sigma" : "omega",
                  desc->sigma != 0 ? desc->sigma : desc->omega, plan->row->identifier,
                  knobs != NULL ? "use plan_desc.tuning with its names: " : "leave it 0", list);
}

/* Parses plan_desc.tuning into plan->tuning, and checks that sigma and omega are set only for
 * MERBIT. The user's string is not read later. */
MBI_INTERNAL merbit_status mbi_tuning_take(merbit_plan *plan) {
  const char *tuning = plan->desc.tuning, *at = tuning;
  const char *knobs = mbi_tuning_knobs(plan);
  unsigned seen = 0;
  plan->desc.tuning = NULL;
  MBI_TRY(mbi_tuning_check_sigma(plan));
  if (at == NULL) {
    return MERBIT_OK;
  }
  at += strspn(at, " ");
  if (*at == '\0') {
    return MERBIT_OK;
  }
  if (knobs == NULL) {
    return mbi_fail(
        plan->context, MERBIT_INVALID_ARGUMENT, "plan_desc.tuning is \"%.60s\", but %s%s",
        tuning, plan->method == MERBIT_METHOD_AUTO ? "plan_desc.method is " : "",
        plan->method == MERBIT_METHOD_AUTO ? "MERBIT_METHOD_AUTO; name the method to tune"
        : plan->side == MERBIT_SIDE_CPU    ? "the plan is for the CPU, whose methods "
                                             "have nothing to tune; leave it NULL"
                                           : "MERBIT_METHOD_MERBIT is tuned by "
                                             "plan_desc.sigma and plan_desc.omega");
  }
  while (*at != '\0') {
    mbi_setting setting;
    setting.text = at;
    setting.length = (int)strcspn(at, " ");
    setting.name_length = (int)strcspn(at, " =");
    MBI_TRY(mbi_tuning_set(plan, knobs, &setting, &seen));
    at += setting.length;
    at += strspn(at, " ");
  }
  return MERBIT_OK;
}
