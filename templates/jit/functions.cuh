// What expressions (jit/expression.c) and semirings call, for float and double: with operands
// of one type.

// NaN where an operand is NaN; of two equal ones the second.
template <class T> MBK_DEVICE T mbk_min(T a, T b) {
  return a < b || a != a ? a : b;
}
template <class T> MBK_DEVICE T mbk_max(T a, T b) {
  return a > b || a != a ? a : b;
}

MBK_DEVICE float mbk_abs(float a) {
  return fabsf(a);
}
MBK_DEVICE double mbk_abs(double a) {
  return fabs(a);
}
MBK_DEVICE float mbk_sqrt(float a) {
  return sqrtf(a);
}
MBK_DEVICE double mbk_sqrt(double a) {
  return sqrt(a);
}
MBK_DEVICE float mbk_exp(float a) {
  return expf(a);
}
MBK_DEVICE double mbk_exp(double a) {
  return exp(a);
}
MBK_DEVICE float mbk_log(float a) {
  return logf(a);
}
MBK_DEVICE double mbk_log(double a) {
  return log(a);
}
MBK_DEVICE float mbk_pow(float a, float b) {
  return powf(a, b);
}
MBK_DEVICE double mbk_pow(double a, double b) {
  return pow(a, b);
}
MBK_DEVICE float mbk_floor(float a) {
  return floorf(a);
}
MBK_DEVICE double mbk_floor(double a) {
  return floor(a);
}
MBK_DEVICE float mbk_ceil(float a) {
  return ceilf(a);
}
MBK_DEVICE double mbk_ceil(double a) {
  return ceil(a);
}

// A comparison as a number, and a number as a condition.
template <class T> MBK_DEVICE T mbk_number_of(bool truth) {
  return truth ? (T)1 : (T)0;
}
template <class T> MBK_DEVICE bool mbk_truth_of(T number) {
  return number != (T)0;
}

// The number whose bits as a double these are: exact, and the same in any locale.
MBK_DEVICE double mbk_number(mbk_u64 bits) {
  union {
    mbk_u64 bits;
    double value;
  } number;
  number.bits = bits;
  return number.value;
}
