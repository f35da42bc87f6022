/* mbi_parallel runs every index once, whatever the threads, the callers, nesting, missing
 * memory or a fork. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include "support/cpu.h"

enum { MOST = 2000 };

typedef struct tally {
  merbit_context *context;
  int hits[MOST];
  int inner; /* tasks that each task starts itself */
  int total;
} tally;

static void count(void *argument, int index) {
  (void)__atomic_add_fetch((int *)argument, 1 + 0 * index, __ATOMIC_RELAXED);
}

static void hit(void *argument, int index) {
  tally *t = (tally *)argument;
  (void)__atomic_add_fetch(&t->hits[index], 1, __ATOMIC_RELAXED);
  if (t->inner > 0) {
    mbi_parallel(t->context, t->inner, count, &t->total);
  }
}

static int each_once(merbit_context *context, int tasks) {
  tally *t = (tally *)test_allocate(1, sizeof *t);
  int i, right = 1;
  t->context = context;
  mbi_parallel(context, tasks, hit, t);
  for (i = 0; i < MOST; i++) {
    right = right && t->hits[i] == (i < tasks);
  }
  free(t);
  return right;
}

static void every_index_once(void **state) {
  static const int counts[] = {0, 1, 2, 3, 7, 8, 9, 100, MOST};
  int threads, i, round;
  (void)state;
  for (threads = 1; threads <= 9; threads += 2) {
    merbit_context *context = cpu_open(NULL, threads);
    for (round = 0; round < 20; round++) {
      for (i = 0; i < 9; i++) {
        assert_true(each_once(context, counts[i]));
      }
    }
    merbit_context_destroy(context);
  }
}

/* Sleeping workers wake up again. */
static void after_a_rest(void **state) {
  merbit_context *context = cpu_open(NULL, 4);
  int i;
  (void)state;
  for (i = 0; i < 10; i++) {
    (void)usleep(2000);
    assert_true(each_once(context, 50));
  }
  merbit_context_destroy(context);
}

/* Writes a result, which must be visible when the call returns. */
static void square(void *argument, int index) {
  ((int64_t *)argument)[index] = (int64_t)index * index;
}

static void results_are_visible(void **state) {
  merbit_context *context = cpu_open(NULL, 3);
  int64_t *squares = (int64_t *)test_allocate(MOST, sizeof *squares);
  int round, i;
  (void)state;
  for (round = 0; round < 200; round++) {
    memset(squares, 0xff, MOST * sizeof *squares);
    mbi_parallel(context, MOST, square, squares);
    for (i = 0; i < MOST; i++) {
      assert_true(squares[i] == (int64_t)i * i);
    }
  }
  free(squares);
  merbit_context_destroy(context);
}

#ifndef _OPENMP
typedef struct masks { /* of the threads of one call, which wait until each has a task */
  sigset_t blocked[2];
  pthread_t thread[2];
  int arrived;
} masks;

static void note_mask(void *argument, int index) {
  masks *m = (masks *)argument;
  int left = 10000; /* ms */
  (void)pthread_sigmask(SIG_SETMASK, NULL, &m->blocked[index]);
  m->thread[index] = pthread_self();
  (void)__atomic_add_fetch(&m->arrived, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(&m->arrived, __ATOMIC_ACQUIRE) < 2 && left-- > 0) {
    (void)usleep(1000);
  }
}

/* A worker blocks the program's signals, but none that its own instructions raise. The caller's
 * thread blocks what it blocked before. */
static void workers_leave_signals_to_the_program(void **state) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  static const int others[] = {SIGTERM, SIGINT, SIGALRM, SIGCHLD, SIGUSR1};
  merbit_context *context = cpu_open(NULL, 2);
  masks m;
  size_t i;
  int of_caller, of_worker;
  (void)state;
  memset(&m, 0, sizeof m);
  mbi_parallel(context, 2, note_mask, &m);
  of_caller = pthread_equal(m.thread[0], pthread_self()) ? 0 : 1;
  of_worker = 1 - of_caller;
  assert_false(pthread_equal(m.thread[of_worker], pthread_self()));
  for (i = 0; i < sizeof own / sizeof own[0]; i++) {
    assert_int_equal(sigismember(&m.blocked[of_worker], own[i]), 0);
  }
  for (i = 0; i < sizeof others / sizeof others[0]; i++) {
    assert_int_equal(sigismember(&m.blocked[of_worker], others[i]), 1);
    assert_int_equal(sigismember(&m.blocked[of_caller], others[i]), 0);
  }
  merbit_context_destroy(context);
}
#endif

static void tasks_may_start_tasks(void **state) {
  merbit_context *context = cpu_open(NULL, 4);
  tally *t = (tally *)test_allocate(1, sizeof *t);
  int i;
  (void)state;
  t->context = context;
  t->inner = 5;
  mbi_parallel(context, 100, hit, t);
  assert_int_equal(t->total, 500);
  for (i = 0; i < 100; i++) {
    assert_int_equal(t->hits[i], 1);
  }
  free(t);
  merbit_context_destroy(context);
}

static void *call_often(void *argument) {
  merbit_context *context = (merbit_context *)argument;
  intptr_t wrong = 0;
  int i;
  for (i = 0; i < 200; i++) {
    wrong += !each_once(context, 1 + i % 60);
  }
  return (void *)wrong;
}

static void callers_from_several_threads(void **state) {
  merbit_context *context = cpu_open(NULL, 3);
  pthread_t threads[4];
  int i;
  (void)state;
  for (i = 0; i < 4; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, call_often, context), 0);
  }
  for (i = 0; i < 4; i++) {
    void *wrong;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
  merbit_context_destroy(context);
}

enum { ROWS = 3000, WIDTH = 7 };

/* Makes a plan for rows of ones and multiplies once: the sums are WIDTH. */
static void *make_a_plan(void *argument) {
  merbit_context *context = (merbit_context *)argument;
  int32_t *row_ptr = (int32_t *)test_allocate(ROWS + 1, sizeof *row_ptr);
  int32_t *col_ind = (int32_t *)test_allocate(ROWS * WIDTH, sizeof *col_ind);
  double *x = (double *)test_allocate(ROWS, sizeof *x),
         *y = (double *)test_allocate(ROWS, sizeof *y);
  merbit_view view = merbit_csr(ROWS, ROWS, ROWS * WIDTH, row_ptr, col_ind, NULL);
  const double one = 1;
  merbit_plan *plan;
  intptr_t wrong = 0;
  int i;
  for (i = 0; i < ROWS * WIDTH; i++) {
    row_ptr[1 + i / WIDTH] = i + 1;
    col_ind[i] = (i / WIDTH + i % WIDTH) % ROWS;
    x[i / WIDTH] = 1;
  }
  if (merbit_plan_create(context, &view, NULL, &plan) != MERBIT_OK) {
    wrong = 1;
  } else {
    wrong = merbit_spmv(plan, NULL, &one, x, NULL, y, NULL) != MERBIT_OK;
    for (i = 0; i < ROWS; i++) {
      wrong += y[i] != WIDTH;
    }
    merbit_plan_destroy(plan);
  }
  free(row_ptr);
  free(col_ind);
  free(x);
  free(y);
  return (void *)wrong;
}

/* The first work of a context may come from several threads at once. */
static void threads_make_plans_at_once(void **state) {
  int turn, i;
  (void)state;
  for (turn = 0; turn < 10; turn++) {
    merbit_context *context = cpu_open(NULL, 3);
    pthread_t threads[2];
    for (i = 0; i < 2; i++) {
      assert_int_equal(pthread_create(&threads[i], NULL, make_a_plan, context), 0);
    }
    for (i = 0; i < 2; i++) {
      void *wrong;
      assert_int_equal(pthread_join(threads[i], &wrong), 0);
      assert_null(wrong);
    }
    merbit_context_destroy(context);
  }
}

static void without_memory_for_workers(void **state) {
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 4);
  (void)state;
  memory.limit = 1;
  assert_true(each_once(context, 100));
  assert_true(each_once(context, 100));
  memory.limit = 0;
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

/* Threads do not survive a fork; their work is done nevertheless. */
static void after_a_fork(void **state) {
  merbit_context *context = cpu_open(NULL, 3), *fresh = cpu_open(NULL, 3);
  pid_t child;
  int status;
  (void)state;
  assert_true(each_once(context, 100));
  (void)usleep(50000);
  child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    int good;
    (void)alarm(20);
    good = each_once(context, 100) && each_once(context, 100) && each_once(fresh, 100);
    merbit_context_destroy(context); /* does not wait for a worker */
    merbit_context_destroy(fresh);
    _exit(good ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_true(each_once(context, 100));
  assert_true(each_once(fresh, 100));
  merbit_context_destroy(context);
  merbit_context_destroy(fresh);
}

static void contexts_that_never_worked(void **state) {
  int i;
  (void)state;
  for (i = 0; i < 50; i++) {
    cpu_memory memory;
    merbit_context *context = cpu_open(&memory, 1 + i % 4);
    if (i % 2) {
      assert_true(each_once(context, 2)); /* destroyed at once, while workers still start */
    }
    merbit_context_destroy(context);
    assert_int_equal(memory.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_index_once),
      cmocka_unit_test(after_a_rest),
      cmocka_unit_test(results_are_visible),
#ifndef _OPENMP
      cmocka_unit_test(workers_leave_signals_to_the_program),
#endif
      cmocka_unit_test(tasks_may_start_tasks),
      cmocka_unit_test(callers_from_several_threads),
      cmocka_unit_test(threads_make_plans_at_once),
      cmocka_unit_test(without_memory_for_workers),
      cmocka_unit_test(after_a_fork),
      cmocka_unit_test(contexts_that_never_worked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
