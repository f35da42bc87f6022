/* The table of support/rules.h on the CPU: the sequential loop, the merge in many pieces,
 * blocks of several shapes, and plans with one to four threads. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/mman.h>
#include "support/cpu.h"
#include "support/products.h"
#include "support/rules.h"

static const int64_t fills[] = {0, 1, 6, 100, 900};
#define FILLS ((int)(sizeof fills / sizeof fills[0]))

static long rows_checked;

typedef struct host_rules { /* a case as the arrays that a product takes */
  rules_case c;
  products_form form;
  products_arrays a;
  void *x, *y0, *y, *alpha, *beta;
} host_rules;

/* Makes a case by bits: f32, 64-bit offsets, base 1, pattern. */
static void host_rules_make(int index, int64_t fill, int bits, host_rules *h) {
  memset(h, 0, sizeof *h);
  h->form.type = bits & 1 ? MERBIT_F32 : MERBIT_F64;
  h->form.offset_type = bits & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  h->form.base = bits >> 2 & 1;
  h->form.pattern = bits >> 3 & 1;
  rules_make(index, bits & 1, fill, h->form.pattern, 1, &h->c);
  products_arrays_make(NULL, &h->c.m, &h->form, &h->a);
  h->x = products_values(h->c.x, h->c.m.cols, h->form.type);
  h->y0 = products_values(h->c.y0, h->c.m.rows, h->form.type);
  h->y = products_values(h->c.y0, h->c.m.rows, h->form.type);
  h->alpha = products_values(&h->c.alpha, 1, h->form.type);
  h->beta = products_values(&h->c.beta, 1, h->form.type);
}

static void host_rules_free(host_rules *h) {
  products_arrays_free(&h->a);
  rules_free(&h->c);
  free(h->x);
  free(h->y0);
  free(h->y);
  free(h->alpha);
  free(h->beta);
}

static void host_rules_reset(host_rules *h) {
  memcpy(h->y, h->y0, (size_t)h->c.m.rows * mbi_type_size(h->form.type));
}

static void host_rules_hold(const host_rules *h, const char *who) {
  rows_checked += (long)h->c.m.rows;
  if (rules_wrong(&h->c, h->y, h->form.type == MERBIT_F32, who) != 0) {
    fail_msg("%s breaks the rules", who);
  }
}

static void the_row_loop(void **state) {
  int index, f, bits;
  (void)state;
  for (index = rules_next(-1); index < RULES_COUNT; index = rules_next(index)) {
    for (f = 0; f < FILLS; f++) {
      for (bits = 0; bits < 16; bits++) {
        host_rules h;
        host_rules_make(index, fills[f], bits, &h);
        mbi_reference_multiply(&h.a.view, h.a.view.values, h.alpha, h.x, h.beta, h.y);
        host_rules_hold(&h, "the row loop");
        host_rules_free(&h);
      }
    }
  }
}

static void the_merge(void **state) {
  static const int tasks[] = {1, 2, 3, 4, 7, 64};
  merbit_context *contexts[4];
  int index, f, bits, t, threads;
  (void)state;
  for (threads = 1; threads <= 4; threads++) {
    contexts[threads - 1] = cpu_open(NULL, threads);
  }
  for (index = rules_next(-1); index < RULES_COUNT; index = rules_next(index)) {
    for (f = 0; f < FILLS; f++) {
      for (bits = 0; bits < 16; bits++) {
        host_rules h;
        host_rules_make(index, fills[f], bits, &h);
        for (t = 0; t < 6; t++) {
          void *scratch = malloc(mbi_merge_scratch_bytes(tasks[t], h.form.type));
          host_rules_reset(&h);
          mbi_merge_multiply(contexts[(t + f) % 4], &h.a.view, h.a.view.values, tasks[t],
                             scratch, h.alpha, h.x, h.beta, h.y);
          host_rules_hold(&h, "the merge");
          free(scratch);
        }
        host_rules_free(&h);
      }
    }
  }
  for (threads = 1; threads <= 4; threads++) {
    merbit_context_destroy(contexts[threads - 1]);
  }
}

/* Rows of the table share blocks with others, whose entries must not affect them. */
static void blocks(void **state) {
  static const int shapes[][2] = {{1, 1}, {2, 3},  {4, 4},  {8, 8},
                                  {5, 7}, {16, 1}, {1, 16}, {16, 16}};
  int index, f, bits, turn = 0;
  (void)state;
  for (index = rules_next(-1); index < RULES_COUNT; index = rules_next(index)) {
    for (f = 0; f < FILLS; f++) {
      for (bits = 0; bits < 16; bits++, turn++) {
        merbit_context *context = cpu_open(NULL, 1 + turn % 3);
        merbit_plan_desc desc;
        merbit_plan *plan;
        host_rules h;
        memset(&desc, 0, sizeof desc);
        desc.method = MERBIT_METHOD_BSR;
        desc.block_rows = shapes[turn * 5 / 8 % 8][0];
        desc.block_cols = shapes[turn * 5 / 8 % 8][1];
        host_rules_make(index, fills[f], bits, &h);
        assert_int_equal(merbit_plan_create(context, &h.a.view, &desc, &plan), MERBIT_OK);
        assert_int_equal(merbit_spmv(plan, NULL, h.alpha, h.x, h.beta, h.y, NULL), MERBIT_OK);
        host_rules_hold(&h, "a plan of blocks");
        merbit_plan_destroy(plan);
        host_rules_free(&h);
        merbit_context_destroy(context);
      }
    }
  }
}

/* Large enough for as many tasks as threads; also from COO, whose conversion sorts the
 * columns. */
static void plans(void **state) {
  int index, threads, bits, method;
  (void)state;
  for (threads = 1; threads <= 4; threads++) {
    merbit_context *context = cpu_open(NULL, threads);
    for (index = rules_next(-1); index < RULES_COUNT; index = rules_next(index)) {
      for (bits = 0; bits < 4; bits++) {
        host_rules h;
        merbit_plan *plan;
        host_rules_make(index, 8192 * threads / (bits < 2 ? 1 : 20), bits & 1, &h);
        if (bits >= 2) { /* duplicates are only zeros */
          products_arrays_free(&h.a);
          h.form.format = MERBIT_COO;
          products_arrays_make(NULL, &h.c.m, &h.form, &h.a);
        }
        for (method = 0; method < 2; method++) {
          merbit_plan_desc desc;
          memset(&desc, 0, sizeof desc);
          desc.method = method == 0 ? MERBIT_METHOD_MERGE : MERBIT_METHOD_SORTED;
          assert_int_equal(merbit_plan_create(context, &h.a.view, &desc, &plan), MERBIT_OK);
          host_rules_reset(&h);
          assert_int_equal(merbit_spmv(plan, NULL, h.alpha, h.x, h.beta, h.y, NULL), MERBIT_OK);
          host_rules_hold(&h, "a plan");
          merbit_plan_destroy(plan);
        }
        host_rules_free(&h);
      }
    }
    merbit_context_destroy(context);
  }
}

static void *forbidden_pages(const void *from, size_t bytes) {
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(pages != MAP_FAILED);
  memcpy(pages, from, bytes);
  return pages;
}

/* Once the plan is made, a product with alpha 0 reads neither the matrix's arrays nor x:
 * reading them crashes this program. */
static void alpha_zero_touches_nothing(void **state) {
  static const int32_t row_ptr[] = {0, 1, 3}, col_ind[] = {1, 0, 1};
  static const double values[] = {1, 2, 3}, at[] = {5, 6}, zeros[] = {0.0, -0.0}, beta = 2;
  static const merbit_method methods[] = {MERBIT_METHOD_REFERENCE, MERBIT_METHOD_MERGE,
                                          MERBIT_METHOD_BSR, MERBIT_METHOD_SORTED};
  int which, method;
  (void)state;
  for (method = 0; method < 4; method++) {
    for (which = 0; which < 4; which++) {
      merbit_context *context = cpu_open(NULL, 2);
      double y[2] = {3, -4};
      const void *from[4];
      size_t bytes[4];
      void *page;
      merbit_plan_desc desc;
      merbit_plan *plan;
      from[0] = row_ptr, from[1] = col_ind, from[2] = values, from[3] = at;
      bytes[0] = sizeof row_ptr, bytes[1] = sizeof col_ind, bytes[2] = sizeof values;
      bytes[3] = sizeof at;
      page = forbidden_pages(from[which], bytes[which]);
      from[which] = page;
      memset(&desc, 0, sizeof desc);
      desc.method = methods[method];
      {
        const merbit_view view = desc.method == MERBIT_METHOD_BSR
                                     ? merbit_bsr(2, 2, 3, 1, 1, from[0], from[1], from[2])
                                     : merbit_csr(2, 2, 3, from[0], from[1], from[2]);
        assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
      }
      assert_int_equal(mprotect(page, bytes[which], PROT_NONE), 0);
      assert_int_equal(merbit_spmv(plan, NULL, &zeros[which % 2], from[3], &beta, y, NULL),
                       MERBIT_OK);
      assert_true(y[0] == 6 && y[1] == -8);
      assert_int_equal(munmap(page, bytes[which]), 0);
      merbit_plan_destroy(plan);
      merbit_context_destroy(context);
    }
  }
}

static int report(void **state) {
  (void)state;
  print_message("%d rules, %ld rows of y, each what the table says\n", (int)RULES_COUNT,
                rows_checked);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_row_loop),
      cmocka_unit_test(the_merge),
      cmocka_unit_test(blocks),
      cmocka_unit_test(plans),
      cmocka_unit_test(alpha_zero_touches_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, report);
}
