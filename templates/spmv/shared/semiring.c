#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"

/* Products over semirings other than plus-times: checks, and macros for kernels. The algebra of
 * the kernels is in spmv/shared/semiring.cuh, that of the CPU in spmv/cpu/semirings.c. */

MBI_INTERNAL int mbi_plan_has_semiring(const merbit_plan *plan) {
  return plan->desc.semiring != MERBIT_SEMIRING_PLUS_TIMES;
}

static const char *mbi_semiring_name(merbit_semiring semiring) {
  static const char *const names[] = {"MERBIT_SEMIRING_PLUS_TIMES", "MERBIT_SEMIRING_MIN_PLUS",
                                      "MERBIT_SEMIRING_MAX_TIMES", "MERBIT_SEMIRING_OR_AND",
                                      "MERBIT_SEMIRING_CUSTOM"};
  return names[semiring];
}

/* Returns the flags for converting a view to CSR. Duplicates are added up only in plus-times,
 * and only if products are summed in the type of the values: in a wider type, adding them up
 * first would round their sum. */
MBI_INTERNAL int mbi_plan_build_flags(const merbit_plan *plan) {
  return mbi_plan_has_semiring(plan) || plan->type != mbi_plan_accumulator(plan)
             ? MBI_BUILD_KEEP
             : 0;
}

/* Returns the name of the semiring for merbit_plan_describe, where it follows the type. */
MBI_INTERNAL const char *mbi_semiring_label(const merbit_plan *plan) {
  static const char *const labels[] = {"", " min-plus", " max-times", " or-and", " custom"};
  return labels[plan->desc.semiring];
}

/* ---- Checks ------------------------------------------------------------------------------ */

/* Checks the semiring of a plan for `method`. Type and method must have been checked. */
MBI_INTERNAL merbit_status mbi_semiring_check(merbit_context *context, const merbit_view *view,
                                              const mbi_method *method,
                                              const merbit_plan_desc *desc) {
  const merbit_semiring semiring = desc->semiring;
  if (semiring < MERBIT_SEMIRING_PLUS_TIMES || semiring > MERBIT_SEMIRING_CUSTOM) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.semiring is %d; use MERBIT_SEMIRING_PLUS_TIMES or another "
                    "merbit_semiring",
                    (int)semiring);
  }
  if ((semiring == MERBIT_SEMIRING_CUSTOM) != (desc->operators != NULL)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.semiring is %s, but operators is %s; the two go together",
                    mbi_semiring_name(semiring), desc->operators != NULL ? "set" : "NULL");
  }
  if (semiring == MERBIT_SEMIRING_PLUS_TIMES) {
    return MERBIT_OK;
  }
  if ((method->takes & MBI_TAKES_SEMIRINGS) == 0) {
    return mbi_fail(
        context, MERBIT_NOT_SUPPORTED,
        "plan_desc.method %s does not take plan_desc.semiring %s; use MERBIT_METHOD_AUTO or "
        "MERBIT_METHOD_MERGE, on CUDA also MERBIT_METHOD_SCAN or MERBIT_METHOD_ROWS, on the "
        "CPU "
        "MERBIT_METHOD_REFERENCE",
        method->identifier, mbi_semiring_name(semiring));
  }
  if (!mbi_type_plain(mbi_view_type(view)) || desc->vector_type != mbi_view_type(view)) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "plan_desc.semiring %s is for matrices and vectors of MERBIT_F64 or of "
                    "MERBIT_F32, not for %s; convert the values",
                    mbi_semiring_name(semiring),
                    mbi_type_text(mbi_view_type(view), desc->vector_type));
  }
  if (view->format == MERBIT_BSR) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "plan_desc.semiring %s takes views of MERBIT_CSR and MERBIT_COO: the zeros "
                    "that fill blocks of MERBIT_BSR would be entries",
                    mbi_semiring_name(semiring));
  }
  return MERBIT_OK;
}

/* Returns 1 if the user gave the operators that the side needs. */
MBI_INTERNAL int mbi_semiring_runs(const merbit_plan *plan, merbit_side side) {
  const mbi_operators *o = plan->operators;
  return o == NULL                  ? 1
         : side == MERBIT_SIDE_CUDA ? o->add[0] != '\0' && o->multiply[0] != '\0'
         : plan->type == MERBIT_F32 ? o->given.add_f32 != NULL && o->given.multiply_f32 != NULL
                                    : o->given.add_f64 != NULL && o->given.multiply_f64 != NULL;
}

/* Checks that the user's zero is representable in the plan's type. */
static merbit_status mbi_semiring_check_zero(const merbit_plan *plan) {
  const double zero = plan->operators->given.zero, most = (double)FLT_MAX;
  const int finite = zero >= -DBL_MAX && zero <= DBL_MAX;
  if (zero == zero && (plan->type != MERBIT_F32 || !finite ||
                       (zero >= -most && zero <= most && (double)(float)zero == zero))) {
    return MERBIT_OK;
  }
  return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                  "operators.zero is %g, which is not an %s number; use one, or an infinity",
                  zero, mbi_plan_type_text(plan));
}

/* Copies the user's operators to plan->operators and checks them. mbi_plan_free releases the
 * copy. */
MBI_INTERNAL merbit_status mbi_semiring_take(merbit_plan *plan) {
  static const char *const sums[] = {"a", "b", NULL}, *const products[] = {"a", "x", NULL};
  const merbit_operators *given = plan->desc.operators;
  merbit_context *context = plan->context;
  mbi_operators *o;
  plan->desc.operators = NULL; /* the user's memory is not used from here on */
  if (given == NULL) {
    return MERBIT_OK;
  }
  o = (mbi_operators *)mbi_allocate(context, sizeof *o);
  if (o == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a plan's operators");
  }
  memset(o, 0, sizeof *o);
  plan->operators = o;
  o->given = *given;
  o->given.add = o->given.multiply = NULL;
  MBI_TRY(mbi_semiring_check_zero(plan));
  if (given->add != NULL) {
    MBI_TRY(
        mbi_expression_check(context, "operators.add", given->add, sums, plan->type, o->add));
  }
  if (given->multiply != NULL) {
    MBI_TRY(mbi_expression_check(context, "operators.multiply", given->multiply, products,
                                 plan->type, o->multiply));
  }
  if (!mbi_semiring_runs(plan, plan->side)) {
    return plan->side == MERBIT_SIDE_CUDA
               ? mbi_fail(context, MERBIT_NOT_SUPPORTED,
                          "the plan is for CUDA, which needs both expressions of "
                          "plan_desc.operators, "
                          "add and multiply; give them, or use MERBIT_SIDE_CPU")
               : mbi_fail(context, MERBIT_NOT_SUPPORTED,
                          "the plan is for the CPU, which needs both functions of "
                          "plan_desc.operators, add_%s and multiply_%s; give them",
                          mbi_plan_type_text(plan), mbi_plan_type_text(plan));
  }
  return MERBIT_OK;
}

/* ---- Arguments of kernels ---------------------------------------------------------------- */

MBI_INTERNAL void mbi_semiring_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  mbi_preamble_define_int(preamble, "MBK_SEMIRING", (int)plan->desc.semiring);
  if (plan->operators != NULL) {
    char zero[48];
    uint64_t bits;
    memcpy(&bits, &plan->operators->given.zero, sizeof bits);
    (void)snprintf(zero, sizeof zero, "mbk_number(0x%016" PRIx64 "ull)", bits);
    mbi_preamble_define(preamble, "MBK_OPERATOR_ZERO", zero);
    mbi_preamble_define(preamble, "MBK_OPERATOR_ADD", plan->operators->add);
    mbi_preamble_define(preamble, "MBK_OPERATOR_MULTIPLY", plan->operators->multiply);
  }
}

MBI_INTERNAL double mbi_semiring_zero(const merbit_plan *plan) {
  return plan->operators != NULL                           ? plan->operators->given.zero
         : plan->desc.semiring == MERBIT_SEMIRING_MIN_PLUS ? (double)INFINITY
                                                           : 0.0;
}

/* Returns the kernel argument for a scalar in host memory, which may be NULL. */
MBI_INTERNAL mbi_scalar mbi_semiring_scalar(const merbit_plan *plan, const void *scalar) {
  mbi_scalar made;
  memset(&made, 0, sizeof made);
  if (plan->type == MERBIT_F32) {
    made.f32.given = scalar != NULL;
    made.f32.value = scalar != NULL ? *(const float *)scalar : 0.0f;
  } else {
    made.f64.given = scalar != NULL;
    made.f64.value = scalar != NULL ? *(const double *)scalar : 0.0;
  }
  return made;
}

/* Returns 1 if the product may read the old y, as far as the host knows beta. */
MBI_INTERNAL int mbi_semiring_adds(const merbit_plan *plan, const void *beta) {
  const mbi_scalar *scalar = (const mbi_scalar *)beta;
  if (plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE) {
    return *(const void *const *)beta != NULL;
  }
  return plan->type == MERBIT_F32
             ? scalar->f32.given != 0 && (double)scalar->f32.value != mbi_semiring_zero(plan)
             : scalar->f64.given != 0 && scalar->f64.value != mbi_semiring_zero(plan);
}

/* Returns 1 if the product may read the old y, as far as the host knows beta. */
MBI_INTERNAL int mbi_plan_adds(const merbit_plan *plan, const void *beta) {
  if (mbi_plan_has_semiring(plan)) {
    return mbi_semiring_adds(plan, beta);
  }
  return plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE
             ? *(const void *const *)beta != NULL
             : !mbi_scalar_zero(mbi_plan_accumulator(plan), beta);
}
