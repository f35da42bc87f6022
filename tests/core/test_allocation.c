/* Every public call with its first, second, ... allocation failing, once and for good, until
 * none fails: the call must return OUT_OF_MEMORY with a message, set no out pointer, leak
 * nothing, leave existing objects unharmed, and succeed when memory is available again. In
 * quick effort the seed chooses between once and for good for each call, except where threads
 * are started. The table below covers every function of merbit.h. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/allocation_calls.h"
#include "core/allocation_solvers.h"
#include "support/effort.h"

/* ---- The table --------------------------------------------------------------------------- */

typedef enum need {
  NOTHING,
  MEMORY,
  THREADS,
  FORM
} need; /* THREADS: also for workers, whose failure is survived; FORM: also for a faster form of
         * the matrix, which a plan can do without */

typedef struct allocation_case {
  const char *functions; /* functions that `call` calls, without "merbit_" */
  need allocates;
  int large; /* enough work for two threads */
  arrangement form;
  void (*prepare)(world *w);
  merbit_status (*call)(world *w);
  void (*intact)(world *w);  /* checks after a failure; may be NULL */
  void (*correct)(world *w); /* checks after success and destroys w->out; may be NULL */
} allocation_case;

static const allocation_case cases[] = {
    {"version status_name status_text stop_name", NOTHING, 0, COO, NULL, names, NULL, NULL},
    {"context_defaults bsr_defaults read_defaults plan_defaults pagerank_defaults "
     "solver_defaults preconditioner_defaults eigen_defaults coo f16_from_f32 bf16_from_f32 "
     "f32_from_f16 f32_from_bf16",
     NOTHING, 0, COO, NULL, plain_values, NULL, NULL},
    {"cache_export cache_import", NOTHING, 0, COO, NULL, no_cubins, NULL, NULL},
    {"context_create", MEMORY, 0, COO, without_context, context_create, NULL, context_made},
    {"context_create", MEMORY, 0, COO, without_context, context_create_auto, NULL,
     context_made},
    {"context_destroy", NOTHING, 0, COO, NULL, context_destroy, NULL, NULL},
    {"context_get_info last_error", NOTHING, 0, COO, NULL, context_tells, NULL, NULL},
    {"buffer_create", MEMORY, 0, COO, with_buffer, buffer_create, NULL, buffer_made},
    {"buffer_upload buffer_download buffer_pointer buffer_destroy", NOTHING, 0, COO,
     with_buffer, buffer_use, NULL, NULL},
    {"csr view_check", NOTHING, 0, PLAIN_CSR, NULL, view_check, NULL, NULL},
    {"csr view_check", NOTHING, 0, COO, NULL, view_check, NULL, NULL},
    {"csr view_check", THREADS, 1, WIDE_CSR, NULL, view_check, NULL, NULL},
    {"matrix_create", MEMORY, 0, PLAIN_CSR, NULL, matrix_create, NULL, matrix_made},
    {"matrix_create", MEMORY, 0, COO, NULL, matrix_create, NULL, matrix_made},
    {"matrix_create", MEMORY, 0, PATTERN_COO, NULL, matrix_create, NULL, matrix_made},
    {"matrix_create", THREADS, 1, COO, NULL, matrix_create, NULL, matrix_made},
    {"matrix_transpose", MEMORY, 0, WIDE_CSR, NULL, matrix_transpose, NULL, transpose_made},
    {"matrix_transpose", MEMORY, 0, PATTERN_COO, NULL, matrix_transpose, NULL, transpose_made},
    {"matrix_transpose", THREADS, 1, PLAIN_CSR, NULL, matrix_transpose, NULL, transpose_made},
    {"bsr view_check", NOTHING, 0, BLOCKS, NULL, view_check, NULL, NULL},
    {"matrix_create", MEMORY, 0, BLOCKS, NULL, matrix_create, NULL, matrix_made},
    {"matrix_transpose", MEMORY, 0, WIDE_BLOCKS, NULL, matrix_transpose, NULL, transpose_made},
    {"matrix_create_bsr", MEMORY, 0, COO, NULL, matrix_create_bsr, NULL, matrix_made},
    {"matrix_create_bsr", MEMORY, 0, BLOCKS, NULL, matrix_create_bsr, NULL, matrix_made},
    {"matrix_create_bsr", THREADS, 1, PATTERN_COO, NULL, matrix_create_bsr, NULL, matrix_made},
    {"view_find_blocks", MEMORY, 0, WIDE_CSR, NULL, view_find_blocks, NULL, NULL},
    {"view_find_blocks", THREADS, 1, BLOCKS, NULL, view_find_blocks, NULL, NULL},
    {"matrix_view matrix_destroy", NOTHING, 0, COO, with_matrix, matrix_use, NULL, NULL},
    {"matrix_read_file", MEMORY, 0, COO, with_file, read_file, NULL, matrix_made},
    {"matrix_read_memory", MEMORY, 0, COO, NULL, read_memory, NULL, matrix_made},
    {"matrix_read_stream", MEMORY, 0, COO, NULL, read_stream, NULL, matrix_made},
    {"matrix_read_stream", THREADS, 1, COO, NULL, read_stream, NULL, matrix_made},
    {"matrix_write_file", MEMORY, 0, COO, with_old_file, write_file, old_file_stands,
     file_written},
    {"matrix_write_stream", MEMORY, 0, WIDE_CSR, NULL, write_stream, NULL, stream_written},
    {"plan_create", MEMORY, 0, PLAIN_CSR, NULL, plan_create, NULL, plan_made},
    {"plan_create", MEMORY, 0, PATTERN_COO, NULL, plan_create, NULL, plan_made},
    {"plan_create", FORM, 1, WIDE_CSR, NULL, plan_create, NULL, plan_made},
    {"plan_create", MEMORY, 0, BLOCKS, NULL, plan_create, NULL, plan_made},
    {"plan_create", MEMORY, 0, WIDE_BLOCKS, NULL, plan_create, NULL, plan_made},
    {"plan_create", MEMORY, 0, PATTERN_COO, NULL, plan_create_blocks, NULL, plan_made},
    {"plan_create", THREADS, 1, PLAIN_CSR, NULL, plan_create_blocks, NULL, plan_made},
    {"plan_create", THREADS, 1, BLOCKS, NULL, plan_create_blocks, NULL, plan_made},
    {"plan_create", MEMORY, 0, PLAIN_CSR, NULL, plan_create_custom, NULL, plan_made},
    {"plan_create", MEMORY, 0, COO, NULL, plan_create_custom, NULL, plan_made},
    {"plan_create", THREADS, 1, COO, NULL, plan_create_custom, NULL, plan_made},
    {"plan_create", MEMORY, 0, PLAIN_CSR, NULL, plan_create_epilogue, NULL, epilogue_made},
    {"plan_update_values", MEMORY, 0, BLOCKS, with_plan, update_values, plan_unharmed,
     values_updated},
    {"plan_update_values", MEMORY, 0, COO, with_plan_of_blocks, update_values, plan_unharmed,
     values_updated},
    {"plan_update_values", MEMORY, 0, PLAIN_CSR, with_plan, update_values, plan_unharmed,
     values_updated},
    {"plan_update_values", MEMORY, 0, COO, with_plan, update_values, plan_unharmed,
     values_updated},
    {"plan_update_values", MEMORY, 0, WIDE_CSR, with_updated_plan, update_values,
     values_updated, values_updated},
    {"plan_update_values", NOTHING, 0, PLAIN_CSR, with_updated_plan, update_values, NULL,
     values_updated},
    {"plan_create", MEMORY, 0, PLAIN_CSR, NULL, plan_create_reordered, NULL, reordered_made},
    {"plan_create", MEMORY, 0, WIDE_CSR, NULL, plan_create_by_degree, NULL, reordered_made},
    {"plan_create", MEMORY, 0, PATTERN_COO, NULL, plan_create_reordered, NULL, reordered_made},
    {"plan_create", FORM, 1, COO, NULL, plan_create_reordered, NULL, reordered_made},
    {"plan_update_values", NOTHING, 0, PLAIN_CSR, with_reordered_plan, update_values, NULL,
     reordered_updated},
    {"plan_update_values", MEMORY, 0, COO, with_reordered_plan, update_values,
     reordered_unharmed, reordered_updated},
    {"plan_create", MEMORY, 0, PLAIN_CSR, NULL, plan_create_transposed, NULL, transposed_made},
    {"plan_create", MEMORY, 0, BLOCKS, NULL, plan_create_transposed, NULL, transposed_made},
    {"plan_create", MEMORY, 0, PATTERN_COO, NULL, plan_create_transposed, NULL,
     transposed_made},
    {"plan_create", FORM, 1, WIDE_CSR, NULL, plan_create_transposed, NULL, transposed_made},
    {"plan_update_values", NOTHING, 0, PLAIN_CSR, with_transposed_plan, update_values, NULL,
     transposed_updated},
    {"plan_update_values", MEMORY, 0, COO, with_transposed_plan, update_values,
     transposed_unharmed, transposed_updated},
    {"plan_reorder plan_restore plan_get_order", NOTHING, 0, PLAIN_CSR, with_reordered_plan,
     vectors_move, NULL, NULL},
    {"workspace_create", MEMORY, 0, PLAIN_CSR, with_plan, workspace_create, plan_unharmed,
     workspace_made},
    {"plan_describe plan_get_info spmv workspace_destroy plan_destroy", NOTHING, 0, WIDE_CSR,
     with_workspace, plan_use, NULL, NULL},
    {"plan_forecast", NOTHING, 0, PLAIN_CSR, NULL, plan_forecast, NULL, NULL},
    {"spmv", THREADS, 1, PLAIN_CSR, with_unchecked_plan, spmv, NULL, NULL},
    {"plan_create", MEMORY, 0, PLAIN_CSR, NULL, plan_create_many, NULL, many_made},
    {"plan_create", MEMORY, 0, BLOCKS, NULL, plan_create_many, NULL, many_made},
    {"spmm", NOTHING, 0, COO, with_many_plan, spmm, NULL, NULL},
    {"spmv_epilogue", NOTHING, 0, PLAIN_CSR, with_epilogue_plan, spmv_epilogue, NULL, NULL},
    {"pagerank", MEMORY, 0, COO, with_ranks, pagerank, no_result, ranks_right},
    {"pagerank", MEMORY, 0, PATTERN_COO, with_ranks, pagerank, no_result, ranks_right},
    {"pagerank", MEMORY, 0, COO, with_distinct_edges, pagerank, no_result, ranks_right},
    {"pagerank", FORM, 1, PLAIN_CSR, with_ranks, pagerank, no_result, ranks_near},
    {"solver_create", MEMORY, 0, PLAIN_CSR, with_path, solver_create_cg, NULL, solver_made},
    {"solver_create", MEMORY, 0, COO, with_path, solver_create_blocks, NULL, solver_made},
    {"solver_create", MEMORY, 0, PLAIN_CSR, with_path, solver_create_gmres, NULL, solver_made},
    {"solver_create", MEMORY, 0, COO, with_path, solver_create_reordered, NULL, solver_made},
    {"solver_create", MEMORY, 0, PLAIN_CSR, with_path, solver_create_refining, NULL,
     solver_made},
    {"solver_create", MEMORY, 0, COO, with_path, solver_create_several, NULL, solver_made},
    {"solver_create", FORM, 1, PLAIN_CSR, with_path, solver_create_cg, NULL, solver_made},
    {"solver_multiply solver_destroy", NOTHING, 0, PLAIN_CSR, with_solver, solver_multiply,
     NULL, NULL},
    {"solver_solve solver_destroy", NOTHING, 0, PLAIN_CSR, with_solver, solver_solve, NULL,
     NULL},
    {"solver_solve solver_destroy", NOTHING, 0, PLAIN_CSR, with_refining_solver, solver_solve,
     NULL, NULL},
    {"solver_solve_many solver_destroy", NOTHING, 0, PLAIN_CSR, with_several_solver,
     solver_solve, NULL, NULL},
    {"solver_update_values", MEMORY, 0, PLAIN_CSR, with_updated_solver, solver_update, NULL,
     solver_updated},
    {"solver_update_values", MEMORY, 0, COO, with_updated_solver, solver_update, NULL,
     solver_updated},
    {"solver_update_values", MEMORY, 0, PLAIN_CSR, with_updated_refining_solver, solver_update,
     NULL, solver_updated},
    {"solver_create", MEMORY, 0, COO, with_path, solver_create_fsai, NULL, solver_made},
    {"preconditioner_create", MEMORY, 0, COO, with_path, preconditioner_create_blocks, NULL,
     preconditioner_made},
    {"preconditioner_create", MEMORY, 0, PLAIN_CSR, with_path, preconditioner_create_chebyshev,
     NULL, preconditioner_made},
    {"preconditioner_create", MEMORY, 0, COO, with_path, preconditioner_create_fsai, NULL,
     preconditioner_made},
    {"preconditioner_create", MEMORY, 0, PLAIN_CSR, with_path,
     preconditioner_create_wrapped_fsai, NULL, preconditioner_made},
    {"preconditioner_apply preconditioner_get_info preconditioner_describe "
     "preconditioner_destroy",
     NOTHING, 0, PLAIN_CSR, with_preconditioner, preconditioner_apply, NULL, NULL},
    {"preconditioner_update_values", MEMORY, 0, PLAIN_CSR, with_updated_preconditioner,
     preconditioner_update, NULL, preconditioner_updated},
    {"eigen", MEMORY, 0, PLAIN_CSR, with_path, eigen, NULL, eigen_right},
    {"eigen", MEMORY, 0, COO, with_path, eigen_power, NULL, eigen_right},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- The sweep --------------------------------------------------------------------------- */

typedef struct totals {
  long allocations, failed, survived;
} totals;

static long alive(const world *w) { /* a started pool stays */
  return w->memory.live - (w->context != NULL && w->context->pool.workers != NULL);
}

static void expect_out_of_memory(world *w, const allocation_case *c, merbit_status status,
                                 long before) {
  assert_int_equal(status, MERBIT_OUT_OF_MEMORY);
  assert_null(w->out);
  assert_int_equal(alive(w), before);
  if (w->context != NULL) {
    cpu_expect(w->context, MERBIT_OUT_OF_MEMORY, "no memory for ");
  } else {
    assert_int_equal(w->error.status, MERBIT_OUT_OF_MEMORY);
    assert_non_null(strstr(w->error.message, "no memory for "));
  }
  if (c->intact != NULL) {
    c->intact(w);
  }
}

/* Returns 0 if the call made fewer than `n` allocations, so that none failed. */
static int attempt(const allocation_case *c, const fixture *f, long n, int for_good,
                   totals *t) {
  world w;
  merbit_status status;
  long before;
  int failed;
  memset(&w, 0, sizeof w);
  world_open(&w, f, c->form);
  if (c->prepare != NULL) {
    c->prepare(&w);
  }
  before = alive(&w);
  w.out = &w;
  w.memory.made = 0;
  w.memory.fail_at = n;
  w.memory.for_good = for_good;
  status = c->call(&w);
  failed = w.memory.made >= n;
  t->allocations = w.memory.made;
  w.memory.fail_at = 0;
  if (failed && status == MERBIT_OK) {
    t->survived++;
  } else if (failed) {
    t->failed++;
    expect_out_of_memory(&w, c, status, before);
    w.out = &w;
    status = c->call(&w);
  }
  if (status != MERBIT_OK) {
    fail_msg("%s: %s without need", c->functions, merbit_status_name(status));
  }
  if (c->correct != NULL) {
    c->correct(&w);
  }
  world_close(&w);
  return failed;
}

static void every_allocation_fails(void **state) {
  fixture small, large;
  totals all = {0, 0, 0};
  const int other = (int)(test_rotating_seed() % 2);
  int i;
  (void)state;
  fixture_make(&small, 60, 400);
  fixture_make(&large, 22000, 70000);
  for (i = 0; i < CASES; i++) {
    const allocation_case *c = &cases[i];
    const int ways = c->allocates == THREADS ? 2 : test_effort(1, 2), first = (other + i) % 2;
    const int once =
        ways == 2 || first == 0; /* single failures, which a form's plan survives */
    totals t = {0, 0, 0};
    int way;
    for (way = 0; way < ways; way++) {
      long n = 1;
      while (attempt(c, c->large ? &large : &small, n, way ^ first, &t)) {
        n++;
      }
    }
    print_message("%2ld allocations, %2ld failures reported, %ld survived: %s\n", t.allocations,
                  t.failed, t.survived, c->functions);
    assert_int_equal(t.allocations > 0, c->allocates != NOTHING);
    assert_true(c->allocates == FORM      ? t.survived >= 6 * once && t.survived <= 8 * once
                : c->allocates == THREADS ? t.survived >= 1 && t.survived <= 2
                                          : t.survived == 0);
    assert_int_equal(t.failed + t.survived, ways * t.allocations);
    all.failed += t.failed;
    all.survived += t.survived;
  }
  print_message("%d calls, %ld failures reported, %ld survived, 0 leaks\n", (int)CASES,
                all.failed, all.survived);
  fixture_free(&small);
  fixture_free(&large);
}

/* ---- Every function of merbit.h is in the table ------------------------------------------ */

static int in_table(const char *name, size_t length) {
  int i;
  for (i = 0; i < CASES; i++) {
    const char *at = cases[i].functions;
    for (; at != NULL; at = strchr(at, ' ')) {
      at += *at == ' ';
      if (strncmp(at, name, length) == 0 && (at[length] == ' ' || at[length] == '\0')) {
        return 1;
      }
    }
  }
  return 0;
}

static void every_function_is_in_the_table(void **state) {
  FILE *file = fopen(TEST_DATA_DIR "/../../templates/api/functions.h", "rb");
  char *text = (char *)test_allocate(1 << 20, 1);
  const char *at;
  int functions = 0;
  (void)state;
  assert_non_null(file);
  assert_true(fread(text, 1, 1 << 20, file) > 1000);
  assert_int_equal(fclose(file), 0);
  for (at = strstr(text, "MERBIT_API"); at != NULL; at = strstr(at, "MERBIT_API")) {
    const char *end, *name;
    at += strlen("MERBIT_API");
    end = strchr(at, '(');
    assert_non_null(end);
    for (name = end; name > at && name[-1] != ' ' && name[-1] != '*'; name--) {
    }
    assert_int_equal(strncmp(name, "merbit_", 7), 0);
    name += 7;
    if (!in_table(name, (size_t)(end - name))) {
      fail_msg("merbit_%.*s has no line in the table of this test", (int)(end - name), name);
    }
    functions++;
  }
  print_message("%d functions of merbit.h, all in the table\n", functions);
  assert_true(functions > 30);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_function_is_in_the_table),
      cmocka_unit_test(every_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
