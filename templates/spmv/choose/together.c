#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* Rows that move through the columns together. If rows are long, equally long and start at the
 * same time, all rows that are in flight on a multiprocessor have reached about the same
 * columns. If a row's columns are so scattered that it uses each line of x only once, it still
 * finds in L1 the lines that the other rows have loaded, until they are evicted, and in L2
 * those that any row on the GPU has loaded. */

/* Returns the bytes of x. */
static double mbi_together_x(const merbit_plan *plan) {
  return (double)plan->device.cols * (double)mbi_type_size(mbi_plan_accumulator(plan));
}

/* Returns the bytes of L1, estimated as the shared memory per block, which is a part of L1. */
static double mbi_together_l1(const merbit_plan *plan) {
  return plan->context->device.shared_bytes_per_block;
}

/* Returns the share of `loads` random loads among `sectors` sectors that are the first to touch
 * their sector. */
static double mbi_together_fresh(double loads, double sectors) {
  return sectors / loads * (1 - exp(-loads / sectors));
}

/* Returns the size of x as a multiple of L1. */
MBI_INTERNAL double mbi_together_share(const merbit_plan *plan) {
  return mbi_together_x(plan) / mbi_together_l1(plan);
}

/* Returns whether L1 can hold x and still serve the matrix. If L2 holds the matrix, the few
 * sectors of x that L1 does not hold matter less. (3M floats in 50,000 rows of 60 random
 * columns on an H200, x of 0.86 of L1: SLICED 10.7 us, ROWS 17.5.) */
MBI_INTERNAL int mbi_together_held(const merbit_plan *plan) {
  return mbi_together_share(plan) <= (mbi_choose_small(plan) ? 1 : 0.75);
}

/* Returns whether columns are scattered as far as is known: a sampled window of nonzeros
 * touches nearly as many sectors of x as random columns would. */
static int mbi_together_random(const merbit_plan *plan) {
  const double found = plan->nonempty.sectors; /* 0: no sample was taken */
  return found == 0 ||
         found > 0.75 * mbi_together_fresh(MBI_NONEMPTY_WINDOW, mbi_together_x(plan) / 32);
}

/* Returns whether x does not fit in L1 and columns are scattered. */
MBI_INTERNAL int mbi_together_apart(const merbit_plan *plan) {
  return !mbi_together_held(plan) && mbi_together_random(plan);
}

/* Returns whether the part of x that a row passes while its lanes take `nonzeros` nonzeros
 * stays in L1 until the other rows of the multiprocessor have passed it. */
MBI_INTERNAL int mbi_together_near(const merbit_plan *plan, double nonzeros) {
  return nonzeros * mbi_together_x(plan) * (double)plan->device.rows <=
         0.3 * mbi_together_l1(plan) * (double)plan->device.nnz;
}

/* Returns whether neighbouring long rows have neighbouring columns at the same position, so
 * that together they read whole lines of x although a window of consecutive nonzeros does not.
 * If columns are random, this does not count: 32 rows touch few sectors only because they read
 * most of x. */
MBI_INTERNAL int mbi_together_abreast(const merbit_plan *plan) {
  const double packed = (double)mbi_type_size(plan->type) / 32; /* the same for a dense row */
  return plan->nonempty.abreast > 0 && plan->nonempty.abreast < 1.25 * packed &&
         plan->nonempty.sectors > 1.3 * packed && !mbi_together_random(plan);
}

/* The time of a gather from L1, relative to one from L2. */
#define MBI_TOGETHER_HIT 0.1

/* Returns the seconds for gathering x if `lanes` lanes share a row and take `at_once` of its
 * nonzeros at a time. */
MBI_INTERNAL double mbi_together_gathers(const merbit_plan *plan, const mbi_traffic *t,
                                         int lanes, double at_once) {
  const double size = t->cols * t->size, some = plan->profile->l2_bytes / 4;
  const double in_l2 = mbi_choose_gather(plan, size < some ? size : some);
  const double all = plan->context->device.multiprocessors,
               most = (double)plan->context->device.lanes / lanes;
  const double rows = t->rows / all < most ? t->rows / all : most; /* per multiprocessor */
  const double loads = rows * t->nnz / t->rows;
  const double fresh = mbi_together_held(plan) || mbi_together_near(plan, at_once)
                           ? mbi_together_fresh(loads, size / 32)
                           : plan->nonempty.sectors;
  const double missed = size > some ? mbi_together_fresh(loads * all, size / 32) : 0;
  return t->nnz * ((1 - fresh) * MBI_TOGETHER_HIT * in_l2 +
                   fresh * ((1 - missed) * in_l2 + missed * mbi_choose_gather(plan, size)));
}
