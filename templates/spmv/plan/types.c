#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"

/* The types of a plan. plan->type is the type of the stored values. Vectors, sums, alpha and
 * beta share one type, which may be wider. */

/* Returns the type of vectors and sums if the plan does not name one. */
static merbit_type mbi_type_accumulator(merbit_type type) {
  return mbi_type_short(type) ? MERBIT_F32 : type;
}

/* Returns the type of x, y, sums, alpha and beta. */
MBI_NOINLINE MBI_INTERNAL merbit_type mbi_plan_accumulator(const merbit_plan *plan) {
  return plan->desc.vector_type != MERBIT_TYPE_DEFAULT ? plan->desc.vector_type
                                                       : mbi_type_accumulator(plan->type);
}

/* Returns alpha or beta as the plan's kernels take it: a number of the accumulator's type, for
 * semirings with a flag whether it is given; or an address in device memory. If the plan's
 * products can be stopped, it is the address of the skip flag. */
MBI_INTERNAL mbk_scalar mbi_plan_scalar(const merbit_plan *plan, const void *scalar) {
  mbk_scalar made = {{0, 0}};
  const size_t bytes = plan->stops || plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE
                           ? sizeof(mbi_devptr)
                       : plan->desc.semiring == MERBIT_SEMIRING_PLUS_TIMES
                           ? mbi_type_size(mbi_plan_accumulator(plan))
                       : plan->type == MERBIT_F32 ? sizeof(((const mbi_scalar *)scalar)->f32)
                                                  : sizeof(((const mbi_scalar *)scalar)->f64);
  memcpy(&made, scalar, bytes);
  return made;
}

/* Returns whether the host knows that alpha is zero. */
MBI_INTERNAL int mbi_alpha_zero(const merbit_plan *plan, const void *alpha) {
  return plan->desc.scalar_memory != MERBIT_MEMORY_DEVICE && !plan->stops &&
         mbi_scalar_zero(mbi_plan_accumulator(plan), alpha);
}

/* Returns the number of vectors that a product multiplies. */
MBI_INTERNAL int mbi_plan_vectors(const merbit_plan *plan) {
  return plan->desc.vectors > 1 ? plan->desc.vectors : 1;
}

/* Returns whether values, vectors and sums are all f64 or all f32. Every method and every
 * shorter form of the values supports these types. */
MBI_NOINLINE MBI_INTERNAL int mbi_plan_plain(const merbit_plan *plan) {
  return mbi_type_plain(plan->type) && mbi_plan_accumulator(plan) == plan->type;
}

/* Returns the name of a type in kernels. Kernels receive a 16-bit value as its bits. */
MBI_INTERNAL const char *mbi_type_device(merbit_type type) {
  static const char *const names[] = {"double",  "double",  "float",   "mbk_u16",
                                      "mbk_u16", "mbk_c64", "mbk_c128"};
  return names[type];
}

/* Returns whether the values are conjugated before they are multiplied. */
MBI_INTERNAL int mbi_plan_conjugates(const merbit_plan *plan) {
  return plan->desc.operation == MERBIT_OPERATION_H && mbi_type_complex(plan->type);
}

/* Returns the MBK_STORED of spmv/shared/values.cuh: the form of the values, or how values of
 * the plan's type are converted to numbers. */
MBI_INTERNAL int mbi_plan_stored(const merbit_plan *plan) {
  return plan->device.form != MBI_VALUES_GENERAL ? (int)plan->device.form
         : mbi_plan_conjugates(plan)             ? 8
         : plan->type == MERBIT_F16              ? MBI_VALUES_HALF
         : plan->type == MERBIT_BF16             ? 7
                                                 : MBI_VALUES_GENERAL;
}

/* Returns the description of the types for merbit_plan_describe. */
MBI_NOINLINE MBI_INTERNAL const char *mbi_type_text(merbit_type values, merbit_type sums) {
  switch (values) {
  case MERBIT_F16:
    return "f16 values with f32 vectors";
  case MERBIT_BF16:
    return "bf16 values with f32 vectors";
  case MERBIT_F32:
    return sums == MERBIT_F64 ? "f32 values with f64 vectors" : "f32";
  case MERBIT_C64:
    return "c64";
  case MERBIT_C128:
    return "c128";
  default:
    return "f64";
  }
}

MBI_INTERNAL const char *mbi_plan_type_text(const merbit_plan *plan) {
  return mbi_type_text(plan->type, mbi_plan_accumulator(plan));
}

/* Fills in desc->vector_type, the type of vectors and sums, if the user did not set it. Fails
 * if the types cannot be combined. */
MBI_INTERNAL merbit_status mbi_types_choose(merbit_context *context, merbit_type type,
                                            merbit_plan_desc *desc) {
  const merbit_type vector = desc->vector_type;
  if (!mbi_type_known(vector)) {
    char name[MBI_TYPE_NAME];
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.vector_type is %s; use MERBIT_TYPE_DEFAULT or another merbit_type",
        mbi_type_name(vector, name));
  }
  if (vector == MERBIT_TYPE_DEFAULT) {
    desc->vector_type = mbi_type_accumulator(type);
  } else if (vector != mbi_type_accumulator(type) &&
             !(type == MERBIT_F32 && vector == MERBIT_F64)) {
    return mbi_fail(
        context, MERBIT_NOT_SUPPORTED,
        "a matrix of %s values with vectors of %s is not supported: vectors and sums have one "
        "type: MERBIT_F32 for values of MERBIT_F16 and MERBIT_BF16, MERBIT_F32 or MERBIT_F64 "
        "for MERBIT_F32, else that of the values",
        mbi_type_names[type], mbi_type_names[vector]);
  }
  return MERBIT_OK;
}

/* Checks that a plan's method supports its types. */
MBI_INTERNAL merbit_status mbi_types_check_method(merbit_context *context, merbit_type type,
                                                  const mbi_method *method,
                                                  const merbit_plan_desc *desc) {
  if (mbi_type_plain(type) && desc->vector_type == type) {
    return MERBIT_OK;
  }
  if ((method->takes & MBI_TAKES_TYPES) != 0) {
    return MERBIT_OK;
  }
  return mbi_fail(
      context, MERBIT_NOT_SUPPORTED,
      "plan_desc.method is %s, which does not take %s; use MERBIT_METHOD_MERGE, on CUDA also "
      "MERBIT_METHOD_SCAN or MERBIT_METHOD_ROWS, on the CPU MERBIT_METHOD_REFERENCE",
      method->identifier, mbi_type_text(type, desc->vector_type));
}

/* Checks that the address of an array on CUDA is a multiple of its elements' size. */
MBI_INTERNAL merbit_status mbi_size_check_address(merbit_context *context, const char *what,
                                                  size_t size, const void *address) {
  return (uintptr_t)address % size == 0
             ? MERBIT_OK
             : mbi_fail(
                   context, MERBIT_INVALID_ARGUMENT,
                   "%s at %p does not begin at a multiple of %zu bytes, its elements' size",
                   what, address, size);
}

/* Checks the same of an array whose elements have a type. */
MBI_INTERNAL merbit_status mbi_types_check_address(merbit_context *context, const char *what,
                                                   merbit_type type, const void *address) {
  return mbi_size_check_address(context, what, mbi_type_size(type), address);
}

/* Checks that values which should be in GPU memory are there, and their address. They are those
 * of a view, or if `is_new` those of an update. The CUDA context must be current. */
MBI_INTERNAL merbit_status mbi_types_check_there(merbit_context *context, int is_new,
                                                 merbit_type type, const void *values) {
  MBI_TRY(mbi_device_check_owned(
      context,
      is_new ? "`memory` says that the new values are in device memory" : MBI_VIEW_CLAIM,
      values));
  return mbi_types_check_address(context, is_new ? "the new values" : "view.values", type,
                                 values);
}
