#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* Phases of a product. All methods take the matrix from its first row to its last. If rows of
 * one kind follow those of another, as equations of different physics or constraints of a
 * linear program do, gathers of scattered columns cannot hide behind streaming rows that come
 * later, and long rows that lie together may be too few for the lanes of the GPU. */

/* The nonzeros that each lane of the GPU holds at once: so far apart, nonzeros still overlap.
 */
#define MBI_PHASES_HELD 12.0
/* The share by which many steps of few lanes, instead of one, make a row take longer. Fitted to
 * four matrices of two kinds of rows. (24M doubles, of which 14M in the last 96,000 rows of 150
 * random columns, on an H200: ROWS 184 us with 8 lanes per row, SCAN 150.) */
#define MBI_PHASES_STEPS 0.5

/* Returns the number of parts, a power of two, in which a product's phases are told apart. */
static int mbi_phases_count(const merbit_plan *plan) {
  const double held = MBI_PHASES_HELD * mbi_choose_lanes(plan);
  int count = MBI_NONEMPTY_PARTS;
  while (count > 1 && (double)plan->device.nnz < held * count) {
    count /= 2;
  }
  return count;
}

/* Returns the time of a gather, relative to one with all lanes at work, if the GPU has only
 * `rows` rows to walk: blocks are too few for all multiprocessors, some of which get one more
 * than others, or have too few nonzeros in flight. */
static double mbi_phases_thin(const merbit_plan *plan, const mbi_walkers *w, double rows) {
  const double all = plan->context->device.multiprocessors;
  const double resident = floor((double)plan->context->device.lanes / w->threads);
  const double blocks = ceil(rows * w->lanes / w->threads);
  const double each = ceil(blocks / all) < resident ? ceil(blocks / all) : resident;
  const double flight = each * w->threads / w->lanes * w->at_once;
  return (blocks < all * resident ? each * all / blocks : 1) * (1 + w->half / flight);
}

/* Returns the number of rows that are at least half as long as those of a part. */
static double mbi_phases_like(const merbit_plan *plan, int part) {
  const mbi_nonempty_part *const parts = plan->nonempty.parts;
  double rows = 0;
  int p;
  for (p = 0; p < MBI_NONEMPTY_PARTS; p++) {
    rows += parts[p].rows <= 2 * parts[part].rows ? parts[p].rows : 0;
  }
  return rows;
}

/* Returns the factor by which a part takes longer because its rows have more nonzeros than
 * their lanes take at once, which the number of lanes is chosen for. */
static double mbi_phases_steps(const mbi_walkers *w, double length) {
  return w->fits && length > w->at_once ? 1 + MBI_PHASES_STEPS * (1 - w->at_once / length) : 1;
}

/* Returns the seconds for streaming and gathering, as mbi_choose_overlap does, phase by phase.
 * `walkers` says how lanes walk whole rows; NULL: the method divides the nonzeros evenly. (16M
 * floats, 20,000 rows of 400 random columns, then a tridiagonal matrix, on an H200: SCAN 77 us,
 * SLICED 153 to 201.) */
MBI_INTERNAL double mbi_phases_overlap(const merbit_plan *plan, double streaming,
                                       double gathering, const mbi_walkers *walkers) {
  const mbi_nonempty_part *const parts = plan->nonempty.parts;
  const int count = mbi_phases_count(plan), joined = MBI_NONEMPTY_PARTS / count;
  const double rows = (double)plan->device.rows, nnz = (double)plan->device.nnz;
  double seconds = 0;
  int i, p;
  if (!plan->nonempty.sampled_parts) {
    return mbi_choose_overlap(plan, streaming, gathering);
  }
  for (i = 0; i < count; i++) {
    double streams = 0, gathers = 0;
    for (p = i * joined; p < (i + 1) * joined; p++) {
      const double share = 1.0 / MBI_NONEMPTY_PARTS;
      double thin = 1, steps = 1;
      if (walkers != NULL) {
        thin = mbi_phases_thin(plan, walkers, mbi_phases_like(plan, p)) /
               mbi_phases_thin(plan, walkers, rows);
        steps = mbi_phases_steps(walkers, share * nnz / parts[p].rows) /
                mbi_phases_steps(walkers, nnz / rows);
      }
      streams += steps * share;
      gathers += steps * thin * share * parts[p].sectors / plan->nonempty.sectors;
    }
    seconds += mbi_choose_overlap(plan, streams * streaming, gathers * gathering);
  }
  return seconds;
}

/* Returns whether an eighth of the nonzeros or more lie together in long rows that are fewer
 * than the GPU's lanes. */
MBI_INTERNAL int mbi_phases_few(const merbit_plan *plan) {
  const double mean = (double)plan->device.rows / MBI_NONEMPTY_PARTS;
  int p, found = 0;
  for (p = 0; p < MBI_NONEMPTY_PARTS && plan->nonempty.sampled_parts; p++) {
    found += 2 * plan->nonempty.parts[p].rows <= mean &&
             mbi_phases_like(plan, p) < mbi_choose_lanes(plan);
  }
  return found >= MBI_NONEMPTY_PARTS / 8;
}

/* Returns the share of the nonzeros whose part touches between `least` and `most` sectors of x
 * per nonzero. */
MBI_INTERNAL double mbi_phases_share(const merbit_plan *plan, double least, double most) {
  const mbi_nonempty_part *const parts = plan->nonempty.parts;
  double share = 0;
  int p;
  if (!plan->nonempty.sampled_parts) {
    return plan->nonempty.sectors > least && plan->nonempty.sectors < most;
  }
  for (p = 0; p < MBI_NONEMPTY_PARTS; p++) {
    share += parts[p].sectors > least && parts[p].sectors < most ? 1.0 / MBI_NONEMPTY_PARTS : 0;
  }
  return share;
}
