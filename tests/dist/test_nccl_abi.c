/* merbit_dist.h declares NCCL's functions and numbers without nccl.h. If that header is
 * installed, both are compared when this file is compiled; running it does little more. */
#include "dist/separate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#ifdef TEST_NCCL_HEADER
#include <nccl.h>

#define EXPECT(name, condition) typedef char name[(condition) ? 1 : -1];
#define SAME(a, b) __builtin_types_compatible_p(__typeof__(a), b)

/* Compares merbit's pointer type with NCCL's function type. They may differ only where an enum
 * or an opaque pointer corresponds to an int or a void *, as the lines below list. */
#define FUNCTION(field, ours, function, theirs)                                                \
  EXPECT(field##_is_ours, SAME(((mbi_nccl_calls *)0)->field, ours))                            \
  EXPECT(field##_is_theirs, SAME(&function, theirs))

EXPECT(an_id_has_the_same_bytes, sizeof(merbit_nccl_id) == sizeof(ncclUniqueId) &&
                                     sizeof(ncclUniqueId) == NCCL_UNIQUE_ID_BYTES)
EXPECT(a_result_is_an_int, sizeof(ncclResult_t) == sizeof(int))
EXPECT(a_type_is_an_int, sizeof(ncclDataType_t) == sizeof(int))
EXPECT(an_operation_is_an_int, sizeof(ncclRedOp_t) == sizeof(int))
EXPECT(a_communicator_is_a_pointer, sizeof(ncclComm_t) == sizeof(void *))
EXPECT(a_stream_is_a_pointer, sizeof(cudaStream_t) == sizeof(void *))

EXPECT(cuda_error, MBI_NCCL_CUDA_ERROR == (int)ncclUnhandledCudaError)
EXPECT(in_progress, MBI_NCCL_IN_PROGRESS == (int)ncclInProgress)
EXPECT(int8, MBI_NCCL_INT8 == (int)ncclInt8)
EXPECT(int64, MBI_NCCL_INT64 == (int)ncclInt64)
EXPECT(f64, MBI_NCCL_F64 == (int)ncclFloat64)
EXPECT(sum, MBI_NCCL_SUM == (int)ncclSum)

FUNCTION(get_version, int (*)(int *), ncclGetVersion, ncclResult_t (*)(int *))
FUNCTION(get_unique_id, int (*)(merbit_nccl_id *), ncclGetUniqueId,
         ncclResult_t (*)(ncclUniqueId *))
FUNCTION(init_rank, int (*)(void **, int, merbit_nccl_id, int), ncclCommInitRank,
         ncclResult_t (*)(ncclComm_t *, int, ncclUniqueId, int))
FUNCTION(destroy, int (*)(void *), ncclCommDestroy, ncclResult_t (*)(ncclComm_t))
FUNCTION(abort, int (*)(void *), ncclCommAbort, ncclResult_t (*)(ncclComm_t))
FUNCTION(async_error, int (*)(void *, int *), ncclCommGetAsyncError,
         ncclResult_t (*)(ncclComm_t, ncclResult_t *))
FUNCTION(group_start, int (*)(void), ncclGroupStart, ncclResult_t (*)(void))
FUNCTION(group_end, int (*)(void), ncclGroupEnd, ncclResult_t (*)(void))
FUNCTION(send, int (*)(const void *, size_t, int, int, void *, void *), ncclSend,
         ncclResult_t (*)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t))
FUNCTION(recv, int (*)(void *, size_t, int, int, void *, void *), ncclRecv,
         ncclResult_t (*)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t))
FUNCTION(all_reduce, int (*)(const void *, void *, size_t, int, int, void *, void *),
         ncclAllReduce,
         ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                          cudaStream_t))
FUNCTION(error_string, const char *(*)(int), ncclGetErrorString, const char *(*)(ncclResult_t))
FUNCTION(last_error, const char *(*)(void *), ncclGetLastError, const char *(*)(ncclComm_t))
#endif

/* Checks that each pointer has its symbol name, once. */
static void every_pointer_has_its_symbol(void **state) {
  const size_t count = sizeof mbi_nccl_symbols / sizeof *mbi_nccl_symbols;
  const size_t driver = sizeof mbi_nccl_driver_symbols / sizeof *mbi_nccl_driver_symbols;
  size_t i;
  (void)state;
  assert_int_equal((count + driver) * sizeof(void *), sizeof(mbi_nccl_calls));
  for (i = 0; i < count; i++) {
    assert_int_equal(mbi_nccl_symbols[i].at, i * sizeof(void *));
  }
  for (i = 0; i < driver; i++) {
    assert_int_equal(mbi_nccl_driver_symbols[i].at, (count + i) * sizeof(void *));
  }
#ifndef TEST_NCCL_HEADER
  (void)puts("nccl.h was not found: the prototypes were not compared");
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_pointer_has_its_symbol)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
