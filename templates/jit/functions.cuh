// Functions for expressions (spmv/shared/expression.c) and semirings, for float and double. All
// operands of a function have the same type.

// Return the lesser (greater) operand, the second if they are equal, and NaN if one is NaN.
template <class T> MBK_DEVICE T mbk_min(T a, T b) {
  return a < b || a != a ? a : b;
}
template <class T> MBK_DEVICE T mbk_max(T a, T b) {
  return a > b || a != a ? a : b;
}

// Defines a function of the C library for both types.
#define MBK_BOTH(name, single, twice)                                                          \
  MBK_DEVICE float name(float a) {                                                             \
    return single(a);                                                                          \
  }                                                                                            \
  MBK_DEVICE double name(double a) {                                                           \
    return twice(a);                                                                           \
  }
MBK_BOTH(mbk_abs, fabsf, fabs)
MBK_BOTH(mbk_sqrt, sqrtf, sqrt)
MBK_BOTH(mbk_exp, expf, exp)
MBK_BOTH(mbk_log, logf, log)
MBK_BOTH(mbk_floor, floorf, floor)
MBK_BOTH(mbk_ceil, ceilf, ceil)
MBK_DEVICE float mbk_pow(float a, float b) {
  return powf(a, b);
}
MBK_DEVICE double mbk_pow(double a, double b) {
  return pow(a, b);
}

// Convert a condition to a number, and a number to a condition.
template <class T> MBK_DEVICE T mbk_number_of(bool truth) {
  return truth ? (T)1 : (T)0;
}
template <class T> MBK_DEVICE bool mbk_truth_of(T number) {
  return number != (T)0;
}

// Returns the double with these bits. Constants are passed so because it is exact and
// independent of the locale.
MBK_DEVICE double mbk_number(mbk_u64 bits) {
  union {
    mbk_u64 bits;
    double value;
  } number;
  number.bits = bits;
  return number.value;
}
