// The algebra of products over semirings other than plus-times, included by
// spmv/shared/algebra.cuh. MBK_SEMIRING is
//   1  min-plus: the least a + x, starting at Inf;
//   2  max-times: the greatest a * x, starting at 0;
//   3  or-and: 1 if an entry and its x are both nonzero, else 0;
//   4  the user's, checked and translated by spmv/shared/expression.c.
// y = (alpha (x) sum) (+) (beta (x) y). A scalar that was not given is not applied. If beta is
// not given, or is the semiring's zero, y is not read. If alpha is the zero, neither A nor x is
// read, and the first operand of (+) is the zero.
#include "jit/functions.cuh"

#if MBK_SEMIRING == 4
#ifndef MBK_OPERATOR_ZERO
#error "define MBK_OPERATOR_ZERO: the neutral element of MBK_OPERATOR_ADD"
#endif
#ifndef MBK_OPERATOR_ADD
#error "define MBK_OPERATOR_ADD: an expression in in_a and in_b"
#endif
#ifndef MBK_OPERATOR_MULTIPLY
#error "define MBK_OPERATOR_MULTIPLY: an expression in in_a and in_x"
#endif
#endif

#if MBK_SEMIRING == 1
#define MBK_ZERO ((MBK_COMPUTE)mbk_number(0x7ff0000000000000ull))
#elif MBK_SEMIRING == 4
#define MBK_ZERO ((MBK_COMPUTE)MBK_OPERATOR_ZERO)
#else
#define MBK_ZERO ((MBK_COMPUTE)0)
#endif

MBK_DEVICE MBK_COMPUTE mbk_semiring_add(const MBK_COMPUTE in_a, const MBK_COMPUTE in_b) {
#if MBK_SEMIRING == 1
  return mbk_min(in_a, in_b);
#elif MBK_SEMIRING == 4
  return MBK_OPERATOR_ADD;
#else
  return mbk_max(in_a, in_b);
#endif
}

MBK_DEVICE MBK_COMPUTE mbk_semiring_multiply(const MBK_COMPUTE in_a, const MBK_COMPUTE in_x) {
#if MBK_SEMIRING == 1
  return in_a + in_x;
#elif MBK_SEMIRING == 2
  return mbk_multiply(in_a, in_x);
#elif MBK_SEMIRING == 3
  return in_a != (MBK_COMPUTE)0 && in_x != (MBK_COMPUTE)0 ? (MBK_COMPUTE)1 : (MBK_COMPUTE)0;
#else
  return MBK_OPERATOR_MULTIPLY;
#endif
}
#define MBK_ADD(a, b) mbk_semiring_add((a), (b))
#define MBK_MUL(a, x) mbk_semiring_multiply((MBK_COMPUTE)(a), (MBK_COMPUTE)(x))

// A scalar as the host passes it to kernels.
struct mbk_given_scalar {
  MBK_COMPUTE value;
  mbk_u32 given;
};
#define MBK_SCALAR mbk_given_scalar
#define MBK_ABSENT mbk_scalar_of((MBK_COMPUTE)0, 0)
#define MBK_VANISHES(alpha) mbk_scalar_vanishes(alpha)
#define MBK_FORGETS(beta) mbk_scalar_forgets(beta)
#define MBK_SCALAR_AT(address, absent)                                                         \
  ((address) ? mbk_scalar_of(*(address), 1) : mbk_scalar_of((MBK_COMPUTE)0, 0))

MBK_DEVICE mbk_given_scalar mbk_scalar_of(MBK_COMPUTE value, mbk_u32 given) {
  const mbk_given_scalar scalar = {value, given};
  return scalar;
}
MBK_DEVICE bool mbk_scalar_vanishes(const mbk_given_scalar scalar) {
  return scalar.given != 0 && scalar.value == MBK_ZERO;
}
// Returns whether the old y is not read.
MBK_DEVICE bool mbk_scalar_forgets(const mbk_given_scalar beta) {
  return beta.given == 0 || beta.value == MBK_ZERO;
}
MBK_DEVICE MBK_COMPUTE mbk_scaled(const mbk_given_scalar alpha, MBK_COMPUTE sum) {
  return alpha.given == 0             ? sum
         : mbk_scalar_vanishes(alpha) ? MBK_ZERO
                                      : MBK_MUL(alpha.value, sum);
}
// Returns the result with -0 turned into +0: which zero is the least would depend on the order.
MBK_DEVICE MBK_VECTOR mbk_semiring_result(MBK_COMPUTE result) {
#if MBK_SEMIRING < 3
  return (MBK_VECTOR)(result + (MBK_COMPUTE)0);
#else
  return (MBK_VECTOR)result;
#endif
}
// Computes the new y of a row. `old`, a location in memory, is not read if MBK_FORGETS(beta).
#define MBK_RESULT(sum, old)                                                                   \
  mbk_semiring_result(MBK_FORGETS(beta)                                                        \
                          ? mbk_scaled(alpha, sum)                                             \
                          : MBK_ADD(mbk_scaled(alpha, sum), MBK_MUL(beta.value, old)))
