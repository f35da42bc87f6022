/* NUMA nodes: processors and nodes read from folders like the kernel's, threads bound to
 * processors, parts of a matrix moved or copied. Most machines have one node: maps with more
 * are made up, and so is the function that moves pages. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/products.h"

/* ---- Maps -------------------------------------------------------------------------------- */

static void write_file(const char *root, const char *name, const char *text) {
  char path[300];
  FILE *file;
  (void)snprintf(path, sizeof path, "%s/%s", root, name);
  file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* Makes a folder of nodes 0 to count - 1 with these lists of processors, and reads it. */
static void read_map(const char *online, const char *const *lists, int count,
                     const cpu_set_t *allowed, mbi_numa *numa) {
  char root[] = "/tmp/merbit-nodes-XXXXXX", path[300];
  int node;
  assert_non_null(mkdtemp(root));
  write_file(root, "online", online);
  for (node = 0; node < count; node++) {
    (void)snprintf(path, sizeof path, "%s/node%d", root, node);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(path, "cpulist", lists[node]);
  }
  mbi_numa_read(root, allowed, numa);
  for (node = 0; node < count; node++) {
    (void)snprintf(path, sizeof path, "%s/node%d/cpulist", root, node);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof path, "%s/node%d", root, node);
    assert_int_equal(rmdir(path), 0);
  }
  (void)snprintf(path, sizeof path, "%s/online", root);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(root), 0);
}

static void allow(cpu_set_t *set, int first, int last) {
  CPU_ZERO(set);
  for (; first <= last; first++) {
    CPU_SET((size_t)first, set);
  }
}

static void processors_come_node_by_node(void **state) {
  static const char *const lists[] = {"0-1,4\n", "2,3,5-6\n"};
  static const int16_t cpus[] = {0, 1, 4, 2, 3, 5, 6};
  cpu_set_t allowed;
  mbi_numa numa;
  int i;
  (void)state;
  allow(&allowed, 0, 63);
  read_map("0-1\n", lists, 2, &allowed, &numa);
  assert_int_equal(numa.nodes, 2);
  assert_int_equal(numa.count, 7);
  for (i = 0; i < 7; i++) {
    assert_int_equal(numa.cpu[i], cpus[i]);
    assert_int_equal(numa.node[i], i >= 3);
  }
  for (i = 0; i < 4; i++) { /* of 4 threads, 2 on each node */
    assert_int_equal(mbi_numa_node(&numa, 4, i), i / 2);
  }
  assert_int_equal(mbi_numa_slot(&numa, 14, 13), 6); /* more threads than processors */
}

static void only_allowed_processors_count(void **state) {
  static const char *const lists[] = {"0-3", "4-7", ""};
  cpu_set_t allowed;
  mbi_numa numa;
  (void)state;
  allow(&allowed, 5, 6);
  read_map("0-2", lists, 3, &allowed, &numa);
  assert_int_equal(numa.nodes, 1);
  assert_int_equal(numa.count, 2);
  assert_int_equal(numa.cpu[0], 5);
  assert_int_equal(numa.node[1], 1);
}

static void folders_that_say_nothing(void **state) {
  static const char *const odd[] = {"3-1", "-5", "x", "1-", "70000-70001"};
  cpu_set_t allowed;
  mbi_numa numa;
  int i;
  (void)state;
  allow(&allowed, 2, 4);
  mbi_numa_read("/nowhere/at/all", &allowed, &numa);
  assert_int_equal(numa.nodes, 1);
  assert_int_equal(numa.count, 3);
  assert_int_equal(numa.cpu[2], 4);
  for (i = 0; i < 5; i++) {
    read_map("0", odd + i, 1, &allowed, &numa);
    assert_int_equal(numa.nodes, 1);
    assert_int_equal(numa.count, 3);
  }
  CPU_ZERO(&allowed);
  mbi_numa_read("/nowhere/at/all", &allowed, &numa);
  assert_int_equal(numa.count, 0);
  assert_int_equal(mbi_numa_node(&numa, 3, 2), 0);
}

/* ---- Threads ----------------------------------------------------------------------------- */

typedef struct seen {
  int cpus[8], ran[8];
} seen;

static void look(void *argument, int index) {
  seen *s = (seen *)argument;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  (void)sched_getaffinity(0, sizeof mine, &mine);
  s->cpus[index] = CPU_COUNT(&mine);
  (void)__atomic_add_fetch(&s->ran[index], 1, __ATOMIC_RELAXED);
}

static void bound_threads_share_every_task_once(void **state) {
  merbit_context_desc desc = cpu_desc(NULL, 3);
  merbit_context *context;
  cpu_set_t before, after;
  int turn, i;
  (void)state;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  desc.bind_threads = 1;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  assert_int_equal(context->numa.count, CPU_COUNT(&before));
  for (turn = 0; turn < 500; turn++) {
    const int tasks = 2 + turn % 7;
    seen s;
    memset(&s, 0, sizeof s);
    mbi_parallel(context, tasks, look, &s);
    for (i = 0; i < tasks; i++) {
      assert_int_equal(s.ran[i], 1);
      assert_true(s.cpus[i] == 1 || s.cpus[i] == CPU_COUNT(&before));
    }
  }
  assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
  assert_true(CPU_EQUAL(&before, &after)); /* the caller's affinity is unchanged */
  merbit_context_destroy(context);
}

static void count_run(void *argument, int index) {
  (void)__atomic_add_fetch((int *)argument + index, 1, __ATOMIC_RELAXED);
}

/* Words of 64 bits record the tasks taken: full words, and one task more. */
static void bound_threads_forget_the_call_before(void **state) {
  static const int counts[] = {63, 64, 65, 128, 129, 8191, 8192, 8193};
  merbit_context_desc desc = cpu_desc(NULL, 3);
  merbit_context *context;
  int turn, i, k;
  (void)state;
  desc.bind_threads = 1;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  for (k = 0; k < 8; k++) {
    int *ran = (int *)test_allocate(counts[k], sizeof *ran);
    for (turn = 1; turn <= 2; turn++) {
      mbi_parallel(context, counts[k], count_run, ran);
      for (i = 0; i < counts[k]; i++) {
        assert_int_equal(ran[i], turn);
      }
    }
    free(ran);
  }
  merbit_context_destroy(context);
}

/* ---- Plans ------------------------------------------------------------------------------- */

static int64_t moves, refused_from;
static int nodes_asked;

static int64_t pretend(const void *array, size_t bytes, int node) {
  assert_true(bytes == 0 || array != NULL);
  nodes_asked |= 1 << node;
  return ++moves >= refused_from ? -1 : 0;
}

static int64_t a_page_stays(const void *array, size_t bytes, int node) {
  (void)array;
  (void)bytes;
  (void)node;
  return 1;
}

static void two_nodes(mbi_numa *numa) {
  memset(numa, 0, sizeof *numa);
  numa->nodes = 2;
  numa->count = 2;
  numa->cpu[1] = 1;
  numa->node[1] = 1;
}

static merbit_plan *make_plan(merbit_context *context, const products_case *c,
                              merbit_method method) {
  merbit_plan_desc desc;
  merbit_plan *plan;
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  desc.numa = 1;
  assert_int_equal(merbit_plan_create(context, &c->a.view, &desc, &plan), MERBIT_OK);
  plan->placed = MBI_PLACED_NOTHING;
  return plan;
}

static void says(const merbit_plan *plan, const char *piece) {
  char line[1024];
  (void)merbit_plan_describe(plan, line, sizeof line);
  if (strstr(line, piece) == NULL) {
    fail_msg("\"%s\" lacks \"%s\"", line, piece);
  }
}

static void multiply(void *user, const merbit_view *view, const void *alpha, const void *x,
                     const void *beta, void *y) {
  (void)view;
  assert_int_equal(merbit_spmv((merbit_plan *)user, NULL, alpha, x, beta, y, NULL), MERBIT_OK);
}

/* Makes 20,000 nonzeros in rows of 7 and a few: enough for two tasks. */
static void make_matrix(test_matrix *m) {
  uint64_t random = 3;
  int64_t k;
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "rows of 7");
  m->rows = 2900;
  m->cols = 500;
  m->nnz = 7 * m->rows;
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof(int64_t));
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof(int32_t));
  m->values = (double *)test_allocate(m->nnz, sizeof(double));
  for (k = 0; k <= m->rows; k++) {
    m->row_ptr[k] = 7 * k;
  }
  for (k = 0; k < m->nnz; k++) {
    m->col_ind[k] = (int32_t)test_below(&random, m->cols);
    m->values[k] = test_uniform(&random);
  }
}

/* Refusals from each call on: the parts are moved or copied, and products are right, also with
 * new values. */
static void parts_are_moved_or_copied(void **state) {
  products_form form = products_form_of(0);
  test_matrix m;
  products_case c;
  mbi_numa numa;
  int bits;
  (void)state;
  two_nodes(&numa);
  make_matrix(&m);
  for (bits = 0; bits < 4; bits++) {
    form = products_form_of((bits & 1) | (bits & 2) << 2);
    products_case_make(NULL, &m, &form, &c);
    for (refused_from = 1; refused_from <= 5; refused_from++) {
      merbit_context *context = cpu_open(NULL, 2);
      merbit_plan *plan = make_plan(context, &c, MERBIT_METHOD_MERGE);
      moves = nodes_asked = 0;
      assert_int_equal(plan->tasks, 2);
      assert_int_equal(mbi_numa_place(plan, &numa, pretend), MERBIT_OK);
      assert_int_equal(plan->csr.col_ind != c.a.col_ind, refused_from <= 2);
      assert_int_equal(plan->values != c.a.values, refused_from <= 4);
      assert_int_equal(plan->placed, refused_from <= 4 ? MBI_PLACED_COPIED : MBI_PLACED_MOVED);
      assert_int_equal(nodes_asked, refused_from == 1 ? 1 : 3);
      says(plan, refused_from <= 4
                     ? "; NUMA: parts copied to 2 nodes, but threads are not bound"
                     : "; NUMA: parts moved to 2 nodes, but threads are not bound");
      products_once(&c, 0.5, -1, multiply, plan);
      assert_int_equal(merbit_plan_update_values(plan, c.a.values, MERBIT_MEMORY_HOST),
                       MERBIT_OK);
      assert_int_equal(mbi_numa_place(plan, &numa, pretend), MERBIT_OK); /* copies once */
      products_once(&c, 1, 0, multiply, plan);
      merbit_plan_destroy(plan);
      merbit_context_destroy(context);
    }
    products_case_free(&c);
  }
  test_matrix_free(&m);
}

static int asked[200], ran[400], runs;

static int64_t record(const void *array, size_t bytes, int node) {
  (void)array;
  (void)bytes;
  asked[moves++] = node;
  return 0;
}

static void note_run(void *argument, int index) {
  (void)argument;
  ran[runs++] = index;
}

/* Each task's part of the matrix goes to the node of the bound thread that owns it. That thread
 * begins with its own tasks and then takes any; one without tasks takes none; every task is
 * taken exactly once. */
static void parts_are_where_their_tasks_run(void **state) {
  static const int cases[][2] = {{40, 10}, {40, 39}, {40, 40}, {7, 3},
                                 {4, 2},   {3, 10},  {2, 129}};
  products_form form = products_form_of(0);
  mbi_pool *pool = (mbi_pool *)test_allocate(1, sizeof *pool);
  test_matrix m;
  products_case c;
  mbi_numa numa;
  int i;
  (void)state;
  two_nodes(&numa);
  make_matrix(&m);
  products_case_make(NULL, &m, &form, &c);
  for (i = 0; i < 7; i++) {
    const int threads = cases[i][0], tasks = cases[i][1];
    merbit_context *context = cpu_open(NULL, threads);
    merbit_plan *plan = make_plan(context, &c, MERBIT_METHOD_MERGE);
    const int made = plan->tasks;
    int number, k, owned = 0;
    plan->tasks = tasks;
    moves = 0;
    assert_int_equal(mbi_numa_settle(plan, &numa, plan->csr.col_ind, 4, record), 1);
    plan->tasks = made;
    assert_int_equal(moves, tasks);
    pool->threads = threads;
    pool->tasks = tasks;
    pool->task = note_run;
    for (number = 0; number < threads; number++) {
      const int own =
          mbi_first_task(tasks, threads, number + 1) - mbi_first_task(tasks, threads, number);
      memset(pool->claims, 0, sizeof pool->claims);
      runs = 0;
      mbi_pool_drain_near(pool, number);
      assert_int_equal(runs, own > 0 ? tasks : 0);
      for (k = 0; k < own; k++, owned++) {
        assert_int_equal(asked[ran[k]], mbi_numa_node(&numa, threads, number));
        assert_int_equal(ran[k], owned);
      }
      mbi_pool_drain_near(pool, 0);
      assert_int_equal(runs, tasks);
    }
    assert_int_equal(owned, tasks);
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
  }
  products_case_free(&c);
  test_matrix_free(&m);
  free(pool);
}

static void sorted_rows_are_written_where_they_are_read(void **state) {
  products_form form = products_form_of(0);
  merbit_context *context = cpu_open(NULL, 2);
  test_matrix m;
  products_case c;
  mbi_numa numa;
  merbit_plan *plan;
  (void)state;
  two_nodes(&numa);
  make_matrix(&m);
  products_case_make(NULL, &m, &form, &c);
  plan = make_plan(context, &c, MERBIT_METHOD_SORTED);
  moves = 0;
  refused_from = 100;
  assert_int_equal(mbi_numa_place(plan, &numa, pretend), MERBIT_OK);
  assert_int_equal(moves, 4);
  says(plan, "; NUMA: parts moved to 2 nodes");
  refused_from = 1;
  assert_int_equal(mbi_numa_place(plan, &numa, pretend), MERBIT_OK);
  says(plan, "; NUMA: parts placed on 2 nodes by first touch");
  products_once(&c, 1, 0, multiply, plan);
  assert_int_equal(mbi_numa_settle(plan, &numa, plan->sorted.values, 8, a_page_stays), 0);
  merbit_plan_destroy(plan);
  products_case_free(&c);
  test_matrix_free(&m);
  merbit_context_destroy(context);
}

/* Through the public interface, on this machine's nodes. */
static void as_a_user_asks(void **state) {
  static const merbit_method methods[] = {MERBIT_METHOD_REFERENCE, MERBIT_METHOD_MERGE,
                                          MERBIT_METHOD_SORTED, MERBIT_METHOD_BSR,
                                          MERBIT_METHOD_AUTO};
  products_form form = products_form_of(0);
  test_matrix m;
  int method, bound;
  (void)state;
  make_matrix(&m);
  for (bound = 0; bound < 2; bound++) {
    merbit_context_desc desc = cpu_desc(NULL, 2);
    merbit_context *context;
    desc.bind_threads = bound;
    assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
    for (method = 0; method < 5; method++) {
      mbi_numa here;
      merbit_plan *plan;
      products_case c;
      products_case_make(NULL, &m, &form, &c);
      mbi_numa_here(&here);
      form.plan.numa = 1;
      form.plan.method = methods[method];
      assert_int_equal(merbit_plan_create(context, &c.a.view, &form.plan, &plan), MERBIT_OK);
      says(plan, here.nodes == 1 && methods[method] != MERBIT_METHOD_BSR
                     ? "; NUMA: one node, no effect"
                     : "; NUMA: ");
      products_once(&c, 0.5, -1, multiply, plan);
      merbit_plan_destroy(plan);
      products_case_free(&c);
    }
    merbit_context_destroy(context);
  }
  test_matrix_free(&m);
}

/* The pages that lie completely in an array; if the array begins with a page, including that
 * one. */
static void pages_of_an_array(void **state) {
  static const uintptr_t expected[][4] = {/* array, bytes, first, end */
                                          {8192, 4096, 8192, 12288},
                                          {8192, 8191, 8192, 12288},
                                          {8193, 8191, 12288, 16384},
                                          {4095, 4098, 4096, 8192},
                                          {8192, 4095, 8192, 8192}};
  int i;
  (void)state;
  for (i = 0; i < 5; i++) {
    uintptr_t first, end;
    mbi_numa_pages(expected[i][0], expected[i][1], 4096, &first, &end);
    assert_true(first == expected[i][2] && end == expected[i][3]);
  }
}

/* The kernel's call: our pages are on node 0 or stay; there is no node 1000. */
static void the_kernel_moves_or_says_no(void **state) {
  const size_t bytes = 1500 * (size_t)sysconf(_SC_PAGESIZE);
  char *array = (char *)malloc(bytes);
  int64_t left;
  (void)state;
  memset(array, 1, bytes);
  left = mbi_numa_move(array, bytes, 1000);
  assert_true(left == -1 || left >= 1490);
  left = mbi_numa_move(array, bytes, 0);
  assert_true(left >= -1 && left <= 1500);
  assert_int_equal(mbi_numa_move(array, 10, 0), 0); /* less than a page */
  free(array);
}

static void copies_that_find_no_memory(void **state) {
  products_form form = products_form_of(0);
  test_matrix m;
  products_case c;
  mbi_numa numa;
  int call;
  (void)state;
  two_nodes(&numa);
  make_matrix(&m);
  products_case_make(NULL, &m, &form, &c);
  for (call = 1; call <= 2; call++) {
    cpu_memory memory;
    merbit_context *context = cpu_open(&memory, 2);
    merbit_plan *plan = make_plan(context, &c, MERBIT_METHOD_MERGE);
    products_once(&c, 1, 0, multiply, plan); /* the pool has started, and allocates no more */
    refused_from = 0;
    memory.made = 0;
    memory.fail_at = call;
    assert_int_equal(mbi_numa_place(plan, &numa, pretend), MERBIT_OUT_OF_MEMORY);
    cpu_expect(context, MERBIT_OUT_OF_MEMORY, "a copy of the matrix on its nodes");
    memory.fail_at = 0;
    products_once(&c, 1, 0, multiply, plan);
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
    assert_int_equal(memory.live, 0);
  }
  products_case_free(&c);
  test_matrix_free(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(processors_come_node_by_node),
      cmocka_unit_test(only_allowed_processors_count),
      cmocka_unit_test(folders_that_say_nothing),
      cmocka_unit_test(bound_threads_share_every_task_once),
      cmocka_unit_test(bound_threads_forget_the_call_before),
      cmocka_unit_test(parts_are_moved_or_copied),
      cmocka_unit_test(parts_are_where_their_tasks_run),
      cmocka_unit_test(sorted_rows_are_written_where_they_are_read),
      cmocka_unit_test(as_a_user_asks),
      cmocka_unit_test(pages_of_an_array),
      cmocka_unit_test(the_kernel_moves_or_says_no),
      cmocka_unit_test(copies_that_find_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
