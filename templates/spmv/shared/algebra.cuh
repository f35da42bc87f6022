// The macros that a plan defines for every product kernel, the algebra of a product, and the
// one function that writes a finished row of y.
#ifndef MBK_VALUE
#error "define MBK_VALUE: the type of the matrix's values in memory"
#endif
#ifndef MBK_PATTERN
#error "define MBK_PATTERN: 1 if no nonzero has a stored value of its own"
#endif
#ifndef MBK_ROW_PTR
#error "define MBK_ROW_PTR: the type of the offsets of rows, mbk_i32 or mbk_i64"
#endif
#ifndef MBK_BASE
#error "define MBK_BASE: the first index of the matrix's arrays, 0 or 1"
#endif
#ifndef MBK_COMPUTE
#error "define MBK_COMPUTE: the type of sums, alpha and beta"
#endif
#ifndef MBK_VECTOR
#error "define MBK_VECTOR: the type of x and y in memory"
#endif
#ifndef MBK_STORED
#error "define MBK_STORED: how values are stored, a number of spmv/shared/values.cuh"
#endif
#ifndef MBK_SCALARS_DEVICE
#error                                                                                         \
    "define MBK_SCALARS_DEVICE: 1 if alpha and beta are read through device pointers, 0 if by value"
#endif

#ifndef MBK_SEMIRING
#error "define MBK_SEMIRING: 0 for plus-times, else a number of spmv/shared/semiring.cuh"
#endif

// MBK_SCALAR is the type of alpha and beta inside a kernel. MBK_ABSENT is a beta that was not
// given. If MBK_VANISHES(alpha), the kernel reads neither the matrix nor x. If
// MBK_FORGETS(beta), it does not read the old y.
#if MBK_SEMIRING
#include "spmv/shared/semiring.cuh"
#else
// Plus-times. Every sum starts at MBK_ZERO, so that a zero sum is +0 whatever the order.
#define MBK_SCALAR MBK_COMPUTE
#define MBK_ABSENT ((MBK_COMPUTE)0)
#define MBK_VANISHES(alpha) ((alpha) == (MBK_COMPUTE)0)
#define MBK_SCALAR_AT(address, absent) ((address) ? *(address) : (MBK_COMPUTE)(absent))
#define MBK_ZERO ((MBK_COMPUTE)0)
#define MBK_ADD(a, b) ((a) + (b))
#define MBK_MUL(a, x) mbk_multiply((MBK_COMPUTE)(a), (MBK_COMPUTE)(x))
#define MBK_FORGETS(beta) ((beta) == (MBK_COMPUTE)0)
// Returns the new y of a row from its final sum. If alpha is 0, the sum is zero because nothing
// was read. If beta is 0, `old`, a location in memory, is not read.
#define MBK_RESULT(sum, old)                                                                   \
  ((MBK_VECTOR)(MBK_FORGETS(beta) ? MBK_MUL(alpha, sum)                                        \
                                  : MBK_ADD(MBK_MUL(alpha, sum), MBK_MUL(beta, old))))
#endif

#ifndef MBK_STOPS
#define MBK_STOPS 0 // 1: products take no scalars, but a flag that stops them
#endif

// alpha and beta as parameters and arguments of device functions. A kernel takes them from its
// struct with MBK_SCALARS_OF. A null device pointer stands for the default. Put
// MBK_SCALARS_LOAD just before the commits: scalars loaded when a kernel starts would occupy
// registers. MBK_STOP_HERE returns from a kernel if its stop flag is set, and leaves its
// outputs unchanged. It waits first, as every kernel must (mbk_await).
#define MBK_STOP_HERE
#if MBK_STOPS
#undef MBK_STOP_HERE
#define MBK_STOP_HERE                                                                          \
  if (stop != (const mbk_i32 *)0 && mbk_load_after_wait(stop) != 0) {                          \
    mbk_await();                                                                               \
    return;                                                                                    \
  }
#define MBK_SCALAR_PARAMETERS const mbk_i32 *stop, const MBK_SCALAR none
#define MBK_SCALAR_ARGUMENTS stop, none
#define MBK_SCALARS_OF(a)                                                                      \
  const mbk_i32 *const stop = mbk_scalar_as<const mbk_i32 *>((a).alpha);                       \
  const MBK_SCALAR none = MBK_ABSENT;                                                          \
  (void)stop, (void)none
#define MBK_ALPHA ((MBK_SCALAR)1)
#define MBK_SCALARS_LOAD const MBK_SCALAR alpha = MBK_ALPHA, beta = MBK_ABSENT
#elif MBK_SCALARS_DEVICE
#define MBK_SCALAR_PARAMETERS const MBK_COMPUTE *alpha_at, const MBK_COMPUTE *beta_at
#define MBK_SCALAR_ARGUMENTS alpha_at, beta_at
#define MBK_SCALARS_OF(a)                                                                      \
  const MBK_COMPUTE *const alpha_at = mbk_scalar_as<const MBK_COMPUTE *>((a).alpha);           \
  const MBK_COMPUTE *const beta_at = mbk_scalar_as<const MBK_COMPUTE *>((a).beta);             \
  (void)alpha_at, (void)beta_at
#define MBK_ALPHA (mbk_await(), MBK_SCALAR_AT(alpha_at, 1))
#define MBK_SCALARS_LOAD                                                                       \
  const MBK_SCALAR alpha = MBK_ALPHA;                                                          \
  const MBK_SCALAR beta = MBK_SCALAR_AT(beta_at, 0)
#else
#define MBK_SCALAR_PARAMETERS const MBK_SCALAR alpha, const MBK_SCALAR beta
#define MBK_SCALAR_ARGUMENTS alpha, beta
#define MBK_SCALARS_OF(a)                                                                      \
  const MBK_SCALAR alpha = mbk_scalar_as<MBK_SCALAR>((a).alpha);                               \
  const MBK_SCALAR beta = mbk_scalar_as<MBK_SCALAR>((a).beta);                                 \
  (void)alpha, (void)beta
#define MBK_ALPHA alpha
#define MBK_SCALARS_LOAD
#endif

// Writes a row of y. Every row is written exactly once, here or through MBK_RESULT.
MBK_DEVICE void mbk_commit(MBK_VECTOR *y, mbk_u64 row, MBK_COMPUTE sum, MBK_SCALAR alpha,
                           MBK_SCALAR beta) {
  y[row] = MBK_RESULT(sum, y[row]);
}
#define MBK_COMMIT(row, sum) mbk_commit(y, (row), (sum), alpha, beta)

#include "spmv/shared/values.cuh"
