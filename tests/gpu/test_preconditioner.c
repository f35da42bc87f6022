/* Preconditioners on the GPU: solve/precondition/preconditioner_cases.h, and matrices in GPU
 * memory. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/cpu.h"
#include "support/gpu.h"
#include "solve/precondition/preconditioner_cases.h"

static void *place(const void *from, size_t bytes, merbit_buffer **buffer) {
  assert_int_equal(merbit_buffer_create(context, bytes, buffer), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(*buffer, 0, from, bytes), MERBIT_OK);
  return merbit_buffer_pointer(*buffer);
}

/* A matrix in GPU memory gives the same preconditioner as in host memory, also with new values;
 * errors name the entry. */
static void test_matrix_in_gpu_memory(void **state) {
  static sparse a, b;
  static typed t;
  double r[SPARSE_ROWS], z[SPARSE_ROWS], wanted[SPARSE_ROWS];
  const int apart = gpu_stride() > 1 ? 2 : 1;
  uint64_t seed = 4;
  int form, wrapped, i;
  (void)state;
  a = sparse_mesh(5, 5, 5, 0.3);
  b = sparse_mesh(5, 5, 5, 0.8);
  for (i = 0; i < a.n; i++) {
    r[i] = test_uniform(&seed);
  }
  for (form = 0; form < FORMS; form++) {
    for (wrapped = (gpu_first_of(apart) + form) % apart; wrapped <= 1; wrapped += apart) {
      merbit_preconditioner_desc desc = form_desc(form);
      merbit_buffer *arrays[4];
      merbit_view there;
      merbit_preconditioner *p, *q;
      void *values;
      desc.single = desc.singular = wrapped;
      q = make(typed_view(&t, &b, MERBIT_F64), &desc);
      there = *typed_view(&t, &a, MERBIT_F64);
      there.memory = MERBIT_MEMORY_DEVICE;
      there.row_ptr = place(a.row_ptr, (size_t)(a.n + 1) * 4, &arrays[0]);
      there.col_ind = place(a.col_ind, (size_t)a.nnz * 4, &arrays[1]);
      there.values = place(a.values, (size_t)a.nnz * 8, &arrays[2]);
      values = place(b.values, (size_t)b.nnz * 8, &arrays[3]);
      p = make(&there, &desc);
      assert_int_equal(merbit_preconditioner_update_values(p, values, MERBIT_MEMORY_DEVICE),
                       MERBIT_OK);
      apply(p, a.n, MERBIT_F64, r, z);
      apply(q, a.n, MERBIT_F64, r, wanted);
      expect_equal(z, wanted, a.n, wrapped ? MERBIT_F32 : MERBIT_F64);
      b.values[0] = -7;
      assert_int_equal(merbit_buffer_upload(arrays[3], 0, b.values, 8), MERBIT_OK);
      if (desc.kind >= MERBIT_PRECONDITIONER_CHEBYSHEV) {
        assert_int_equal(merbit_preconditioner_update_values(p, values, MERBIT_MEMORY_DEVICE),
                         MERBIT_INVALID_MATRIX);
        cpu_expect(context, MERBIT_INVALID_MATRIX, "A(0, 0), counted from 0, is -7");
      }
      b = sparse_mesh(5, 5, 5, 0.8);
      merbit_preconditioner_destroy(p);
      merbit_preconditioner_destroy(q);
      for (i = 0; i < 4; i++) {
        merbit_buffer_destroy(arrays[i]);
      }
    }
  }
}

/* Host vectors, and misaligned ones, which would end the CUDA context, are refused. */
static void test_wrong_vectors(void **state) {
  static sparse a;
  static typed t;
  double r[SPARSE_ROWS] = {0}, z[SPARSE_ROWS];
  merbit_preconditioner_desc desc = form_desc(0);
  merbit_preconditioner *p;
  merbit_buffer *there;
  char *begin;
  (void)state;
  a = sparse_mesh(3, 3, 3, 0);
  p = make(typed_view(&t, &a, MERBIT_F64), &desc);
  assert_int_equal(merbit_preconditioner_apply(p, r, z, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "use a merbit_buffer");
  assert_int_equal(merbit_buffer_create(context, 2 * sizeof r + 8, &there), MERBIT_OK);
  begin = (char *)merbit_buffer_pointer(there);
  assert_int_equal(merbit_preconditioner_apply(p, begin + 4, begin + sizeof r + 8, NULL),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_preconditioner_apply: r at ");
  assert_int_equal(merbit_preconditioner_apply(p, begin, begin + sizeof r + 4, NULL),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_preconditioner_apply: z at ");
  assert_int_equal(merbit_preconditioner_update_values(p, a.values, MERBIT_MEMORY_DEVICE),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "says that the new values are in device memory");
  assert_int_equal(merbit_preconditioner_update_values(p, begin + 4, MERBIT_MEMORY_DEVICE),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "does not begin at a multiple of 8 bytes");
  merbit_buffer_destroy(there);
  merbit_preconditioner_destroy(p);
}

int main(void) {
  const struct CMUnitTest own[] = {cmocka_unit_test(test_matrix_in_gpu_memory),
                                   cmocka_unit_test(test_wrong_vectors)};
  int failed;
  context = gpu_context();
  failed = cmocka_run_group_tests(preconditioner_cases, NULL, NULL);
  failed += cmocka_run_group_tests(own, NULL, NULL);
  merbit_context_destroy(context);
  gpu_clean();
  return failed;
}
