// Types for the declarations of kernel arguments, for host and device.
#ifndef MBK_TYPES_CUH
#define MBK_TYPES_CUH
typedef int mbk_i32;
typedef unsigned mbk_u32;
typedef long long mbk_i64;
typedef unsigned long long mbk_u64;

typedef struct mbk_scalar { // alpha or beta: a number, or a device pointer to one
  mbk_u64 words[2];
} mbk_scalar;
#endif
