/* CB-SpMV's queue of tasks, against its paper's Algorithm 2 done by searching all thread
 * blocks: each task goes to the right place, with its blocks. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/products.h"
#include "support/stretched.h"
#include "support/cpu.h"

static merbit_context *context;

static uint64_t nonzeros_of(const mbi_cb_format *f, uint64_t task) {
  uint64_t sum = 0, block;
  for (block = f->task_block[task]; block < f->task_block[task + 1]; block++) {
    sum += MBI_CB_COUNT(f->words[block]);
  }
  return sum;
}

/* Computes each task's place by the paper: the heaviest remaining task (the first in a tie)
 * goes to the thread block with the fewest nonzeros that has a free warp (the first in a
 * tie). */
static void deal(const mbi_cb_format *f, uint64_t warps, uint64_t *place_of) {
  const uint64_t blocks = (f->tasks + warps - 1) / warps;
  uint64_t *load = (uint64_t *)test_allocate((int64_t)blocks, sizeof *load);
  uint64_t *taken = (uint64_t *)test_allocate((int64_t)blocks, sizeof *taken);
  uint64_t turn, task, b;
  for (task = 0; task < f->tasks; task++) {
    place_of[task] = UINT64_MAX;
  }
  for (turn = 0; turn < f->tasks; turn++) {
    uint64_t heaviest = UINT64_MAX, least = UINT64_MAX;
    for (task = 0; task < f->tasks; task++) {
      if (place_of[task] == UINT64_MAX &&
          (heaviest == UINT64_MAX || nonzeros_of(f, task) > nonzeros_of(f, heaviest))) {
        heaviest = task;
      }
    }
    for (b = 0; b < blocks; b++) {
      if (taken[b] < warps && (least == UINT64_MAX || load[b] < load[least])) {
        least = b;
      }
    }
    place_of[heaviest] = least * warps + taken[least]++;
    load[least] += nonzeros_of(f, heaviest);
  }
  free(load);
  free(taken);
}

static void check(test_matrix *m, int warps) {
  const mbi_cb_options plain = {0.15, 32, 128, 20, 1, 1, 0};
  const mbi_cb_options queued = {0.15, 32, 128, 20, 1, 1, warps};
  products_form form;
  products_arrays a;
  mbi_cb_format f, q;
  uint64_t *place_of, task, filled = 0;
  memset(&form, 0, sizeof form);
  form.type = MERBIT_F64;
  products_arrays_make(NULL, m, &form, &a);
  assert_int_equal(mbi_cb_create_format(context, &a.view, a.values, 8, &plain, &f), MERBIT_OK);
  assert_int_equal(mbi_cb_create_format(context, &a.view, a.values, 8, &queued, &q), MERBIT_OK);
  place_of = (uint64_t *)test_allocate((int64_t)f.tasks, sizeof *place_of);
  deal(&f, (uint64_t)warps, place_of);
  assert_int_equal(q.tasks,
                   (f.tasks + (uint64_t)warps - 1) / (uint64_t)warps * (uint64_t)warps);
  assert_int_equal(q.task_block[0], 0);
  assert_int_equal(q.task_block[q.tasks], f.blocks);
  for (task = 0; task < f.tasks; task++) {
    const uint64_t count = f.task_block[task + 1] - f.task_block[task];
    const uint64_t place = place_of[task], at = q.task_block[place];
    if (q.task_block[place + 1] - at != count || q.task_target[place] != f.task_target[task] ||
        memcmp(q.words + at, f.words + f.task_block[task], (size_t)count * 8) != 0 ||
        memcmp(q.first + at, f.first + f.task_block[task], (size_t)count * 4) != 0) {
      fail_msg("%s, %d warps: task %llu is not at place %llu", m->name, warps,
               (unsigned long long)task, (unsigned long long)place);
    }
    filled += count;
  }
  assert_int_equal(filled, f.blocks); /* the remaining places have no blocks */
  assert_memory_equal(q.data, f.data, f.data_bytes);
  free(place_of);
  mbi_cb_format_free(context, &f);
  mbi_cb_format_free(context, &q);
  products_arrays_free(&a);
}

static void tasks_go_where_the_paper_says(void **state) {
  int i, checked = 0;
  (void)state;
  for (i = 0; i < test_matrix_count() + stretched_count(); i++) {
    test_matrix m;
    if (i < test_matrix_count()) {
      test_matrix_make(i, 31, &m);
    } else {
      stretched_make(i - test_matrix_count(), 31, &m);
    }
    if (m.rows > 0 && m.nnz < 100000) {
      check(&m, 1);
      check(&m, 3);
      check(&m, 8);
      checked++;
    }
    test_matrix_free(&m);
  }
  assert_true(checked > 20);
}

static void allocations_fail(void **state) {
  const mbi_cb_options options = {0.15, 32, 128, 20, 1, 1, 8};
  cpu_memory memory;
  merbit_context *small = cpu_open(&memory, 1);
  test_matrix m;
  products_form form;
  products_arrays a;
  long at = 1, live;
  merbit_status status;
  (void)state;
  stretched_make(stretched_count() - 1, 1, &m);
  memset(&form, 0, sizeof form);
  form.type = MERBIT_F64;
  products_arrays_make(NULL, &m, &form, &a);
  live = memory.live;
  do {
    mbi_cb_format f;
    memory.fail_at = memory.made + at++;
    status = mbi_cb_create_format(small, &a.view, a.values, 8, &options, &f);
    mbi_cb_format_free(small, &f);
    assert_int_equal(memory.live, live);
  } while (status == MERBIT_OUT_OF_MEMORY);
  assert_int_equal(status, MERBIT_OK);
  assert_int_equal(at, 15); /* ten arrays of the format, three of the queue */
  products_arrays_free(&a);
  test_matrix_free(&m);
  merbit_context_destroy(small);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_go_where_the_paper_says),
      cmocka_unit_test(allocations_fail),
  };
  int failed;
  context = cpu_open(NULL, 1);
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(context);
  return failed;
}
