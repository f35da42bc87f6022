/* Plans for test_allocation: creation, updates, and checks. Include merbit.h and cmocka.h
 * first. */
#ifndef TEST_CORE_ALLOCATION_PLANS_H
#define TEST_CORE_ALLOCATION_PLANS_H
#include "core/allocation_world.h"

static merbit_status plan_create(world *w) {
  return merbit_plan_create(w->context, &w->view, NULL, (merbit_plan **)&w->out);
}

static merbit_status plan_create_blocks(world *w) {
  merbit_plan_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_BSR;
  desc.block_rows = desc.block_cols = 4;
  return merbit_plan_create(w->context, &w->view, &desc, (merbit_plan **)&w->out);
}

static merbit_status plan_create_reordered(world *w) {
  merbit_plan_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.reordering = MERBIT_REORDERING_RCM;
  return merbit_plan_create(w->context, &w->view, &desc, (merbit_plan **)&w->out);
}

static merbit_status plan_create_by_degree(world *w) {
  merbit_plan_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.reordering = MERBIT_REORDERING_DEGREE;
  return merbit_plan_create(w->context, &w->view, &desc, (merbit_plan **)&w->out);
}

static merbit_status plan_create_many(world *w) {
  merbit_plan_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.vectors = 3;
  return merbit_plan_create(w->context, &w->view, &desc, (merbit_plan **)&w->out);
}

static void many_made(world *w) {
  world_expect_many(w, (merbit_plan *)w->out);
  merbit_plan_destroy((merbit_plan *)w->out);
}

static void with_many_plan(world *w) {
  assert_int_equal(plan_create_many(w), MERBIT_OK);
  w->plan = (merbit_plan *)w->out;
}

static merbit_status spmm(world *w) {
  world_expect_many(w, w->plan);
  return MERBIT_OK;
}

static merbit_status plan_create_transposed(world *w) {
  merbit_plan_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.operation = MERBIT_OPERATION_T;
  return merbit_plan_create(w->context, &w->view, &desc, (merbit_plan **)&w->out);
}

static double plus(void *user, double a, double b) {
  (void)user;
  return a + b;
}

static double times(void *user, double a, double x) {
  (void)user;
  return a * x;
}

/* Makes a plan with plus-times as user-defined operators. */
static merbit_status plan_create_custom(world *w) {
  merbit_operators operators;
  merbit_plan_desc desc;
  memset(&operators, 0, sizeof operators);
  operators.add = "a + b";
  operators.multiply = "a * x";
  operators.add_f64 = plus;
  operators.multiply_f64 = times;
  memset(&desc, 0, sizeof desc);
  desc.semiring = MERBIT_SEMIRING_CUSTOM;
  desc.operators = &operators;
  return merbit_plan_create(w->context, &w->view, &desc, (merbit_plan **)&w->out);
}

static merbit_status plan_create_epilogue(world *w) {
  static const merbit_epilogue epilogue = {NULL, {"v0 * ax", "ax * ax"}, 1, 0, NULL, NULL};
  merbit_plan_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.epilogue = &epilogue;
  return merbit_plan_create(w->context, &w->view, &desc, (merbit_plan **)&w->out);
}

/* Expects an epilogue's results. The vector is of ones, so the first sum is that of y. */
static void expect_epilogue(world *w, merbit_plan *plan) {
  double *x = (double *)test_allocate(w->view.cols, 8),
         *y = (double *)test_allocate(w->view.rows, 8);
  double *ones = (double *)test_allocate(w->view.rows, 8), sums[2], sum = 0, size = 0;
  const void *vectors[1];
  int64_t i;
  for (i = 0; i < w->view.cols; i++) {
    x[i] = 1;
  }
  for (i = 0; i < w->view.rows; i++) {
    ones[i] = 1;
  }
  vectors[0] = ones;
  assert_int_equal(merbit_spmv_epilogue(plan, NULL, x, y, vectors, NULL, sums, NULL, NULL),
                   MERBIT_OK);
  for (i = 0; i < w->view.rows; i++) {
    sum += y[i];
    size += fabs(y[i]);
  }
  assert_true(fabs(sums[0] - sum) <= 1e-12 * size);
  free(x);
  free(y);
  free(ones);
}

static void epilogue_made(world *w) {
  expect_epilogue(w, (merbit_plan *)w->out);
  merbit_plan_destroy((merbit_plan *)w->out);
}

static void with_epilogue_plan(world *w) {
  assert_int_equal(plan_create_epilogue(w), MERBIT_OK);
  w->plan = (merbit_plan *)w->out;
}

static merbit_status spmv_epilogue(world *w) {
  expect_epilogue(w, w->plan);
  return MERBIT_OK;
}

static void transposed_made(world *w) {
  world_expect_product(w, (merbit_plan *)w->out, NULL, 1, 1);
  merbit_plan_destroy((merbit_plan *)w->out);
}

static void with_transposed_plan(world *w) {
  assert_int_equal(plan_create_transposed(w), MERBIT_OK);
  w->plan = (merbit_plan *)w->out;
}

static void transposed_unharmed(world *w) {
  world_expect_product(w, w->plan, NULL, 1, 1);
}

static void transposed_updated(world *w) {
  world_expect_product(w, w->plan, NULL, 1, 2);
}

static void reordered_made(world *w) {
  world_expect_reordered(w, (merbit_plan *)w->out, 1);
  merbit_plan_destroy((merbit_plan *)w->out);
}

static void with_reordered_plan(world *w) {
  assert_int_equal(plan_create_reordered(w), MERBIT_OK);
  w->plan = (merbit_plan *)w->out;
}

static merbit_status vectors_move(world *w) {
  world_expect_reordered(w, w->plan, 1);
  return MERBIT_OK;
}

static void reordered_unharmed(world *w) {
  world_expect_reordered(w, w->plan, 1);
}

static void reordered_updated(world *w) {
  world_expect_reordered(w, w->plan, 2);
}

static void plan_made(world *w) {
  world_expect_product(w, (merbit_plan *)w->out, NULL, 0, 1);
  merbit_plan_destroy((merbit_plan *)w->out);
}

static void with_plan(world *w) {
  assert_int_equal(merbit_plan_create(w->context, &w->view, NULL, &w->plan), MERBIT_OK);
}

static void with_plan_of_blocks(world *w) {
  assert_int_equal(plan_create_blocks(w), MERBIT_OK);
  w->plan = (merbit_plan *)w->out;
}

/* Makes an unchecked plan: a check would start the threads that the first product must
 * start. */
static void with_unchecked_plan(world *w) {
  merbit_plan_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_MERGE; /* made without workers */
  desc.unchecked = 1;
  assert_int_equal(merbit_plan_create(w->context, &w->view, &desc, &w->plan), MERBIT_OK);
}

static void plan_unharmed(world *w) {
  world_expect_product(w, w->plan, NULL, 0, 1);
}

static merbit_status update_values(world *w) {
  double *doubled = (double *)test_allocate(w->f->nnz, 8);
  merbit_status status;
  int64_t k;
  for (k = 0; k < w->f->nnz; k++) {
    doubled[k] = 2 * ((const double *)w->view.values)[k];
  }
  w->out = NULL;
  status = merbit_plan_update_values(w->plan, doubled, MERBIT_MEMORY_HOST);
  free(doubled);
  return status;
}

static void with_updated_plan(world *w) {
  with_plan(w);
  assert_int_equal(update_values(w), MERBIT_OK);
}

static void values_updated(world *w) {
  world_expect_product(w, w->plan, NULL, 0, 2);
}

#endif /* TEST_CORE_ALLOCATION_PLANS_H */
