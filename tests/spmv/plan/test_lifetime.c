/* Plans and solvers made from the view of a merbit_matrix outlive the matrix, with every method
 * of the CPU. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/lifetime.h"

static void plans_keep_the_matrix(void **state) {
  static const merbit_method methods[] = {MERBIT_METHOD_AUTO,   MERBIT_METHOD_REFERENCE,
                                          MERBIT_METHOD_MERGE,  MERBIT_METHOD_SORTED,
                                          MERBIT_METHOD_BSR,    MERBIT_METHOD_SYMMETRIC};
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 2);
  size_t method;
  int kind, form, own;
  (void)state;
  for (kind = LIFE_CSR; kind <= LIFE_HALF; kind++) {
    for (method = 0; method < sizeof methods / sizeof methods[0]; method++) {
      for (form = 0; form < 4; form++) { /* with a transpose, a reordering */
        merbit_plan_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.method = methods[method];
        desc.operation = form % 2 != 0 ? MERBIT_OPERATION_T : MERBIT_OPERATION_N;
        desc.reordering = form / 2 != 0 ? MERBIT_REORDERING_RCM : MERBIT_REORDERING_NONE;
        if ((form / 2 != 0 && (kind == LIFE_BSR || methods[method] == MERBIT_METHOD_BSR ||
                               methods[method] == MERBIT_METHOD_SYMMETRIC)) ||
            (kind != LIFE_HALF && methods[method] == MERBIT_METHOD_SYMMETRIC)) {
          continue; /* cannot be combined */
        }
        for (own = 0; own < 2; own++) {
          assert_true(life_of_plan(context, &memory, kind, &desc, own));
        }
      }
    }
  }
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

static void solvers_keep_the_matrix(void **state) {
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 2);
  int kind, m, refine;
  (void)state;
  for (kind = LIFE_CSR; kind <= LIFE_HALF; kind++) {
    for (m = MERBIT_PRECONDITIONER_NONE; m <= MERBIT_PRECONDITIONER_BLOCK_JACOBI; m++) {
      for (refine = 0; refine < 2; refine++) {
        merbit_solver_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.method = MERBIT_SOLVER_CG;
        desc.preconditioner = (merbit_preconditioner_kind)m;
        desc.refine = refine;
        life_of_solver(context, kind, &desc);
      }
    }
  }
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

/* Two plans from copies of one view: the last one frees the matrix, and with it the context. */
static void the_last_owner_frees(void **state) {
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 2);
  merbit_matrix *matrix = life_matrix(context, LIFE_CSR);
  const merbit_view view = merbit_matrix_view(matrix), copy = view;
  merbit_plan *first, *second;
  merbit_workspace *workspace;
  double y[LIFE_N];
  (void)state;
  assert_null(merbit_matrix_view(NULL).owner);
  assert_int_equal(merbit_plan_create(context, &view, NULL, &first), MERBIT_OK);
  assert_int_equal(merbit_plan_create(context, &copy, NULL, &second), MERBIT_OK);
  merbit_matrix_destroy(matrix);
  assert_int_equal(merbit_workspace_create(second, &workspace), MERBIT_OK);
  merbit_plan_destroy(first);
  merbit_context_destroy(context);
  assert_int_equal(merbit_spmv(second, workspace, NULL, life_x, NULL, y, NULL), MERBIT_OK);
  life_expect(y, life_x, 1);
  merbit_plan_destroy(second);
  assert_true(memory.live > 0);
  merbit_workspace_destroy(workspace);
  assert_int_equal(memory.live, 0);
}

/* A plan that cannot be made leaves the matrix unchanged. */
static void failures_let_go(void **state) {
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  merbit_matrix *matrix = life_matrix(context, LIFE_CSR);
  const merbit_view view = merbit_matrix_view(matrix);
  merbit_plan *plan;
  (void)state;
  memory.fail_at = memory.made + 2; /* after the plan's record */
  assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OUT_OF_MEMORY);
  merbit_matrix_destroy(matrix);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_keep_the_matrix),
      cmocka_unit_test(solvers_keep_the_matrix),
      cmocka_unit_test(the_last_owner_frees),
      cmocka_unit_test(failures_let_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
