#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/merbit/merbit.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/plan/plan.h"

/* Sizes of SCAN: steps, packs, threads, and whether blocks own whole rows. */

/* ---- Sizes, from the plan's settings ----------------------------------------------------- */

/* Returns the state of a plan that uses this method. */
MBI_INTERNAL mbi_scan_schedule *mbi_scan_of(const merbit_plan *plan) {
  return (mbi_scan_schedule *)plan->state;
}

/* Returns the number of accumulators that fit in 16 bytes. */
MBI_INTERNAL int mbi_scan_widest(merbit_type type) {
  return (int)(16 / mbi_type_size(type));
}

/* Returns 1 if columns and values can be loaded 16 bytes at a time. */
MBI_INTERNAL int mbi_scan_aligned(const merbit_plan *plan) {
  return (plan->device.col_ind | plan->device.values) % 16 == 0;
}

/* Returns 1 if values are stored per row or in a table. Looking them up takes registers. */
static int mbi_scan_looks_up(const merbit_plan *plan) {
  return plan->device.form == MBI_VALUES_ROW || plan->device.form == MBI_VALUES_TABLE;
}

/* Returns the number of nonzeros in flight if each multiprocessor runs one block of 1,024
 * threads that owns whole rows. One of its 32 warps is left for rows beyond the block's
 * tiles. */
MBI_INTERNAL uint64_t mbi_scan_at_once(const merbit_plan *plan, int steps) {
  return (uint64_t)plan->context->device.multiprocessors * 31 * 32 * (uint64_t)steps;
}

/* Returns the number of resident blocks per multiprocessor that leaves a lane enough registers
 * to avoid spilling. Blocks that own whole rows need more registers. On compute capability 9.0,
 * NVRTC fits one more pack of 16 bytes into 40 registers in the simple cases (packs_fit). */
MBI_INTERNAL int mbi_scan_resident(const merbit_plan *plan) {
  const int packs = mbi_scan_of(plan)->steps / mbi_scan_widest(mbi_plan_accumulator(plan)),
            threads = mbi_scan_of(plan)->threads;
  const int single = mbi_plan_accumulator(plan) == MERBIT_F32;
  const int packs_fit =
      plan->context->device.compute_capability == 90 && mbi_scan_aligned(plan) &&
      mbi_scan_of(plan)->pack >= mbi_scan_widest(mbi_plan_accumulator(plan)) &&
      !mbi_scan_looks_up(plan) && !mbi_plan_has_semiring(plan) &&
      plan->desc.scalar_memory != MERBIT_MEMORY_DEVICE &&
      !(mbi_scan_of(plan)->dots && plan->passing < 16);
  const int full = (mbi_scan_of(plan)->whole ? 1 : single ? 2 : 3) + packs_fit;
  /* With values stored per row, four f32 packs spill at 1,024 threads where addresses take more
   * registers. */
  const int tight = plan->context->device.compute_capability >= 100 && packs == 4 && single &&
                    plan->device.form == MBI_VALUES_ROW;
  /* If all blocks run at once, a second one per multiprocessor is that of the next launch. */
  const int once = mbi_scan_of(plan)->whole && plan->device.nnz <= mbi_scan_at_once(plan, 12);
  /* With 16-byte accumulators, the rest of a lane's state takes twice the registers. */
  const int wide_accumulator = mbi_plan_accumulator(plan) == MERBIT_C128;
  const int blocks = (wide_accumulator           ? (packs > 16  ? 256
                                                    : packs > 8 ? 384
                                                                : 512)
                      : packs > 14               ? 384
                      : tight                    ? 768
                      : packs > (single ? 4 : 6) ? 512
                      : packs > full             ? 1024
                      : once                     ? 1280
                                                 : 1536) /
                     threads;
  return blocks > 16 ? 16 : blocks < 1 ? 1 : blocks;
}

/* The longest row of matrices that take a single launch. */
#define MBI_SCAN_LONGEST (1024 * 8)

/* Returns about how many blocks multiply and write empty rows if blocks own whole rows. A block
 * loses a tile to its last row or, if it is fitted, half a row and half a tile, more or less.
 */
static uint64_t mbi_scan_whole_blocks(const merbit_plan *plan, int threads, int steps) {
  const double tile = 32.0 * steps, round = (double)threads * steps;
  const double row = plan->nonempty.typical < round ? plan->nonempty.typical : round;
  const int fitted = plan->nonempty.longest > tile;
  const double lost = fitted ? (row + tile) / 2 : tile;
  const uint64_t fills = plan->nonempty.count < plan->device.rows
                             ? plan->device.rows / (uint64_t)(32 * threads) + 1
                             : 0;
  return (uint64_t)ceil((double)plan->device.nnz * (fitted ? 1.02 : 1) / (round - lost)) +
         fills;
}

/* Returns whether the blocks that write empty rows leave too few multiprocessors for those that
 * own whole rows. Some of these would run after the others, and two launches are faster. (1M
 * nonzeros, us in f32 / f64 on an H200, one and two launches: 2.5M rows, of which one in 20 has
 * 8 nonzeros, 16.0 / 22.4 and 13.2 / 17.7; 1.7M, one in 100 has 60, 13.7 / 17.5 and 11.6 /
 * 13.4.) */
static int mbi_scan_crowded(const merbit_plan *plan) {
  return plan->nonempty.count < plan->device.rows &&
         mbi_scan_whole_blocks(plan, 1024, 12) >
             (uint64_t)plan->context->device.multiprocessors;
}

/* Returns 1 if a product should also compute x'A x, as far as its matrix decides. */
static int mbi_scan_wants_dots(const merbit_plan *plan) {
  const mbi_device_csr *csr = &plan->device;
  return plan->making.dots && mbi_plan_plain(plan) && csr->rows == csr->cols &&
         csr->rows * mbi_type_size(plan->type) >= MBI_SCAN_DOTS && csr->nnz < 8 * csr->rows &&
         csr->form != MBI_VALUES_COLUMN; /* x is scaled before the product */
}

/* Returns the number of nonzeros that linked blocks of 1,024 threads take at once, one on each
 * multiprocessor. */
static uint64_t mbi_scan_links_at_once(const merbit_plan *plan, int steps) {
  return (uint64_t)plan->context->device.multiprocessors * 1024 * (uint64_t)steps;
}

/* Returns whether gathers of x mostly miss L1, as far as columns were sampled. */
static int mbi_scan_gathers(const merbit_plan *plan) {
  return plan->nonempty.sectors > 0.4;
}

/* Returns whether most nonzeros are in rows of many tiles, and the matrix is small enough for
 * linked blocks. Few blocks then wait for others, and a fix-up would add up many carries. */
static int mbi_scan_may_link(const merbit_plan *plan) {
  return mbi_plan_accumulator(plan) != MERBIT_C128 && plan->nonempty.typical >= 1024 &&
         plan->device.nnz < 98304 * (uint64_t)plan->context->device.multiprocessors &&
         !mbi_scan_wants_dots(plan) && mbi_knob(plan, MBI_KNOB_SCAN_WHOLE) != 2;
}

/* Returns 1 if the sizes of SCAN depend on how columns are scattered. */
MBI_INTERNAL int mbi_scan_asks_sectors(const merbit_plan *plan) {
  return mbi_scan_may_link(plan) && plan->device.nnz > mbi_scan_links_at_once(plan, 4);
}

/* Returns whether a single launch with linked blocks pays. Where L1 finds most of x, only
 * blocks of 1,024 threads that all run at once are faster than two launches. (H200, us in f32
 * / f64, two launches and one: 259,000 nonzeros, longest row of 13,481, 5.6 / 6.4 and 4.2
 * / 4.7; 2.7M alike 20.6 / 23.1 and 17.3 / 19.3; 9M 54.6 / 56.8 and 51.5 / 53.4. In rows of 60
 * of which each block waits for the one before, 1M take 11.4 / 13.1 and 12.1 / 14.0; where L1
 * finds x, 3M of a hundred full rows 8.0 / 10.7 and 8.6 / 10.9.) */
static int mbi_scan_suits_links(const merbit_plan *plan) {
  return mbi_scan_may_link(plan) &&
         (mbi_scan_gathers(plan) || plan->device.nnz <= mbi_scan_links_at_once(plan, 8));
}

/* Returns 1 if a single launch with whole rows per block pays. It does if the whole matrix is
 * in flight at once and no row exceeds `most` nonzeros. It also does for larger matrices of
 * short rows, whose ends a fix-up would have to look up. It does not if most nonzeros are in
 * long rows. (1.5M in a hundred full rows and short ones, us on an H200, f32 / f64: 6.9 / 9.1,
 * two launches 6.0 / 7.0.) */
static int mbi_scan_suits_whole(const merbit_plan *plan, uint64_t most) {
  const uint64_t nnz = plan->device.nnz, longest = plan->nonempty.longest;
  return mbi_scan_may_link(plan)             ? 0
         : nnz <= mbi_scan_at_once(plan, 12) ? longest <= most && !mbi_scan_crowded(plan)
         : nnz <= mbi_scan_at_once(plan, 99) ? !plan->streaming && longest <= 64
                                             : 0;
}

/* Returns 1 if the whole matrix is in flight at once in blocks that own whole rows. */
MBI_INTERNAL int mbi_scan_holds_rows(const merbit_plan *plan) {
  return plan->device.nnz <= mbi_scan_at_once(plan, 12) &&
         mbi_scan_suits_whole(plan, MBI_SCAN_LONGEST);
}

/* Returns 1 if the whole matrix is in flight at once in a single launch of SCAN. */
MBI_INTERNAL int mbi_scan_holds_all(const merbit_plan *plan) {
  return mbi_scan_holds_rows(plan) ||
         (plan->device.nnz <= mbi_scan_at_once(plan, 12) && mbi_scan_suits_links(plan));
}

/* Returns the rows per thread in blocks that write empty rows (MBK_FILL). With 8, the empty
 * rows in a sector of y are written soon after its other rows. With 32 there are fewer such
 * blocks, so if all multiplying blocks run at once, these do too. (us on an H100, f32, with 8
 * and with 32: 12M rows with 3M nonzeros, alpha and beta, 110 and 117; R-MAT with 500,000
 * nonzeros 7.4 and 6.8.) */
static int mbi_scan_fill(const merbit_plan *plan) {
  return mbi_scan_of(plan)->whole && mbi_scan_holds_rows(plan) ? 32 : 8;
}

/* Computes the sizes that depend on the rows and on s->tiles, for every method that cuts the
 * nonzeros into tiles. s->fills must be set. */
MBI_INTERNAL void mbi_scan_size_rows(merbit_plan *plan) {
  mbi_scan_schedule *s = mbi_scan_of(plan);
  const uint64_t pack = (uint64_t)s->pack;
  /* The most neighbouring lanes over which one row extends. */
  const uint64_t lanes =
      (plan->nonempty.longest > 0 ? plan->nonempty.longest - 1 : 0) / pack + 1;
  s->depth = mbi_log2_ceiling(lanes < 32 ? lanes : 32);
  s->held = 32;
  s->fixup_blocks = s->whole || s->linked
                        ? 0
                        : (s->tiles + MBI_SCAN_FIXUP_THREADS - 1) / MBI_SCAN_FIXUP_THREADS;
  s->empty_rows = plan->device.rows - plan->nonempty.count;
  s->fill_blocks = 0;
  if (s->empty_rows > 0 && s->fills) {
    uint64_t share;
    s->fill = mbi_scan_fill(plan);
    share = (uint64_t)s->threads * (uint64_t)s->fill;
    s->fill_blocks = (plan->device.rows + share - 1) / share;
    s->blocks = s->blocks > 0 ? s->blocks : 1;
  } else if (s->empty_rows > 0) { /* one thread per row, but at most eight blocks per
                                   * multiprocessor */
    const uint64_t most = 8 * (uint64_t)plan->context->device.multiprocessors;
    const uint64_t wanted = plan->device.rows / MBI_SCAN_FIXUP_THREADS + 1;
    const uint64_t useful = wanted < most ? wanted : most;
    s->fixup_blocks = s->fixup_blocks > useful ? s->fixup_blocks : useful;
  }
}

/* Returns the share of all blocks that write empty rows, times 2^32 and rounded up. The
 * kernel's mbk_scan_fillers uses it. */
MBI_INTERNAL uint32_t mbi_scan_fill_rate(const mbi_scan_schedule *s) {
  const uint64_t all = s->blocks + s->fill_blocks;
  return (uint32_t)(((s->fill_blocks << 32) + all - 1) / all);
}

/* Returns 1 if each lane takes twice as many consecutive nonzeros as 16 bytes of accumulators
 * hold, which halves the work of the segmented scan. This pays only if no values are streamed,
 * because they would be loaded in half sectors, and if rows are not short. (20M ones on an
 * H200, us: in f64 stencil27 63 to 50, a web graph 78 to 66, a circuit with five nonzeros per
 * row 77 to 69, but a road network with three 92 to 97.) */
static int mbi_scan_takes_twice(const merbit_plan *plan) {
  const int single = mbi_plan_accumulator(plan) == MERBIT_F32;
  const int twice = 2 * mbi_scan_widest(mbi_plan_accumulator(plan));
  return (single || mbi_plan_accumulator(plan) == MERBIT_F64) && !mbi_plan_has_semiring(plan) &&
         mbi_value_bytes(plan) == 0 && plan->device.form != MBI_VALUES_ROW &&
         plan->device.nnz >= (single ? 8 : 4) * plan->device.rows &&
         plan->device.nnz >= 49152 * (uint64_t)plan->context->device.multiprocessors &&
         mbi_knob(plan, MBI_KNOB_SCAN_STEPS) % twice == 0;
}

/* Returns 1 if blocks that own whole rows run at once, one per multiprocessor, and none takes
 * more than `rounds` rounds. */
static int mbi_scan_fits(const merbit_plan *plan, int threads, int steps, int rounds) {
  return mbi_scan_whole_blocks(plan, threads, steps) <=
             (uint64_t)plan->context->device.multiprocessors &&
         plan->nonempty.longest <= (uint64_t)(rounds * threads * steps);
}

/* Returns the least even number of steps with which blocks of 1,024 threads that own whole rows
 * run at once. More steps would leave some multiprocessors idle. A second round of one block
 * takes less time than that. (us on an H200, f32 / f64, an R-MAT graph of 496,954 nonzeros
 * whose longest row has 4,202: with 4 steps 5.4 / 6.3, with 6 steps 6.8 / 8.2.) */
static int mbi_scan_spread(const merbit_plan *plan, int most) {
  int steps = 2;
  while (steps < most && !mbi_scan_fits(plan, 1024, steps, 2)) {
    steps += 2;
  }
  return steps;
}

/* Returns the least number of threads with which blocks that own whole rows run at once, and
 * none takes a second round. Larger blocks would leave some multiprocessors idle. (800,000
 * nonzeros of a web graph on an H200, us in f32 / f64: 832 threads 4.1 / 6.2, 1,024 threads 5.9
 * / 8.8.) */
static int mbi_scan_narrow(const merbit_plan *plan, int steps) {
  int threads = 512;
  while (threads < 1024 && !mbi_scan_fits(plan, threads, steps, 1)) {
    threads += 64;
  }
  return threads;
}

/* Returns the longest row for a single launch: that of two rounds of a block. */
static uint64_t mbi_scan_longest(const mbi_scan_schedule *s) {
  const uint64_t rounds = 2 * (uint64_t)s->threads * (uint64_t)s->steps;
  return rounds < MBI_SCAN_LONGEST ? rounds : MBI_SCAN_LONGEST;
}

/* Returns whether columns are so scattered, as far as they were sampled, that products wait for
 * gathers from L2 more than for the matrix. Shorter tiles are then somewhat faster. (f32 on an
 * H200, us with 12 and 8 steps: R-MAT 124 and 122, uniform 151 and 150, 18M in rows of up to
 * 847,000 116 and 113; where L1 finds some of the columns, a web graph 58 and 62, fem 46 and
 * 49.) From compute capability 10.0 on, 8 steps would spill in blocks of 512 threads. */
static int mbi_scan_scattered(const merbit_plan *plan) {
  return plan->nonempty.sectors > 0.7 && plan->context->device.compute_capability < 100;
}

/* Returns whether two steps are faster than four in two launches. They are up to a million
 * nonzeros or, if columns were sampled and are scattered, 1.5 million, unless rows extend over
 * many tiles. (us on an H200, f32 / f64, with 4 and with 2 steps: 260,000 nonzeros in 13,561
 * rows, the longest of 13,481, 6.4 / 8.1 and 5.5 / 6.7; 880,000 alike, 9.3 / 11.3 and 8.5
 * / 9.7; 1.4M in 200,000 rows, twenty of them of 14,000 and the others of five neighbours, 6.8
 * / 8.4 and 8.8 / 9.2.) */
static int mbi_scan_shortest(const merbit_plan *plan) {
  const merbit_type accumulator = mbi_plan_accumulator(plan);
  return (accumulator == MERBIT_F32 || accumulator == MERBIT_F64) &&
         plan->device.nnz <= mbi_scan_at_once(plan, plan->nonempty.sectors > 0.5 ? 12 : 8) &&
         plan->device.nnz <= 64 * plan->nonempty.count;
}

/* Chooses the steps and the threads of linked blocks, where the user did not. Up to half a
 * million nonzeros or, where L1 finds most of x, a million, all blocks of 1,024 threads run at
 * once. Smaller blocks are faster beyond, because each waits for fewer gathers. */
static void mbi_scan_link(merbit_plan *plan) {
  const int wish_steps = mbi_knob(plan, MBI_KNOB_SCAN_STEPS);
  const int single = mbi_plan_accumulator(plan) == MERBIT_F32;
  const uint64_t nnz = plan->device.nnz;
  mbi_scan_schedule *s = mbi_scan_of(plan);
  int steps = nnz <= mbi_scan_at_once(plan, 12) ? 2 : 4,
      threads = single && steps == 4 ? 256 : 128;
  if (nnz <= mbi_scan_links_at_once(plan, 4) || !mbi_scan_gathers(plan)) {
    steps = nnz <= mbi_scan_links_at_once(plan, 2)   ? 2
            : nnz <= mbi_scan_links_at_once(plan, 4) ? 4
                                                     : 8;
    threads = 1024;
  }
  s->steps = wish_steps != 0 ? wish_steps : steps;
  s->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads : threads;
  s->pack = single && plan->streaming && s->steps % 4 == 0 ? 4 : 2;
}

/* Chooses the steps, the threads and whether blocks own whole rows, where the user did not. */
static void mbi_scan_defaults(merbit_plan *plan) {
  const merbit_plan_desc *wish = &plan->desc;
  const int wish_steps = mbi_knob(plan, MBI_KNOB_SCAN_STEPS);
  const int wish_whole = mbi_knob(plan, MBI_KNOB_SCAN_WHOLE);
  mbi_scan_schedule *s = mbi_scan_of(plan);
  const uint64_t nnz = plan->device.nnz;
  const uint64_t processors = (uint64_t)plan->context->device.multiprocessors;
  const int single = mbi_plan_accumulator(plan) == MERBIT_F32;
  /* 12 steps would spill in f64 if alpha and beta are in GPU memory, and from compute
   * capability 10.0 on, where addresses take more registers. */
  const int registers_suffice = single || (wish->scalar_memory != MERBIT_MEMORY_DEVICE &&
                                           plan->context->device.compute_capability < 100);
  const int wide_accumulator =
      mbi_plan_accumulator(plan) == MERBIT_C128; /* see mbi_scan_resident */
  const int most = wide_accumulator ? 4 : registers_suffice ? 12 : 8;
  const int all_at_once = nnz <= mbi_scan_at_once(plan, most);
  int threads = all_at_once && !wide_accumulator ? 1024 : 512;
  int steps = single ? 8 : 4;
  s->pack = single && !plan->streaming ? 2 : mbi_scan_widest(mbi_plan_accumulator(plan));
  s->threads = wish->block_threads != 0 ? wish->block_threads : threads;
  if (all_at_once && !wide_accumulator) {
    steps = wish_steps != 0 ? wish_steps : mbi_scan_spread(plan, most);
    s->threads = wish->block_threads != 0 ? s->threads : mbi_scan_narrow(plan, steps);
  }
  s->steps = wish_steps != 0 ? wish_steps : steps;
  s->linked = mbi_scan_suits_links(plan);
  s->whole = nnz > 0 && (wish_whole == 2 || (wish_whole == 0 && s->threads >= 64 &&
                                             mbi_scan_suits_whole(plan, mbi_scan_longest(s))));
  if (s->linked) {
    mbi_scan_link(plan);
  } else if (!s->whole) {
    const int wide = s->pack == mbi_scan_widest(mbi_plan_accumulator(plan));
    const int twice = mbi_scan_takes_twice(plan);
    s->pack = twice ? 2 * mbi_scan_widest(mbi_plan_accumulator(plan)) : s->pack;
    if (wide_accumulator && nnz < processors * 16384) {
      threads = 128;
    } else if (wide_accumulator) { /* half as many steps of the segmented scan per nonzero */
      threads = 256;
      steps = 6;
      s->pack = wish_steps % 2 == 0 ? 2 : 1;
    } else if (nnz < processors * 16384) { /* short tiles in small blocks, for latency */
      steps = mbi_scan_shortest(plan) ? 2 : 4;
      s->pack = single && (wish_steps != 0 ? wish_steps : steps) == 2 ? 2 : s->pack;
      threads = 128;
    } else if (nnz < processors * 49152) {
      steps = 8;
      threads = 256;
    } else { /* many loads in flight per lane, as far as registers allow */
      steps = !wide || (twice && single) ? 16 : single && !mbi_scan_scattered(plan) ? 12 : 8;
      threads = wide && !(twice && single) ? 512 : 256;
    }
    s->steps = wish_steps != 0 ? wish_steps : steps;
    s->threads = wish->block_threads != 0 ? wish->block_threads : threads;
  } else if (wish_steps == 0) {
    /* Values to look up would spill with more steps. Blocks take another round instead. */
    const int fits = plan->context->device.compute_capability < 100 ? 8 : 4;
    s->steps = !single && mbi_scan_looks_up(plan) && s->steps > fits ? fits : s->steps;
    s->pack = s->steps % s->pack == 0 ? s->pack : 2;
  }
}

/* Returns the number of rows per tile whose old y is copied to shared memory: 1.5 times the
 * rows that end in an average tile, or 2.5 times if row lengths differ much. At most 512 bytes
 * are used, because gathers need L1; the other rows read the old y when they are written. If
 * most rows are empty, 32 are enough, since the old y of the others rarely share a sector.
 * (alpha and beta on an H100, us with 32 and with this rule: a road network with 30M nonzeros
 * in f32 169 and 161, cnr-2000 in f32 16.8 and 15.3, in f64 23.9 and 22.2.) */
static int mbi_scan_held(const merbit_plan *plan) {
  const mbi_scan_schedule *s = mbi_scan_of(plan);
  const double nnz = (double)plan->device.nnz, count = (double)plan->nonempty.count;
  const double uneven = (double)plan->nonempty.slots > 2 * nnz ? 2.5 : 1.5;
  const double wanted = nnz > 0 ? uneven * 32 * s->steps * count / nnz : 0;
  const int most = 512 / (int)mbi_type_size(mbi_plan_accumulator(plan));
  return 2 * count < (double)plan->device.rows || wanted <= 32 ? 32
         : wanted < most                                       ? ((int)wanted / 32 + 1) * 32
                                                               : most;
}

/* Chooses and checks the sizes that kernels are compiled for. plan->nonempty must be set. */
MBI_INTERNAL merbit_status mbi_scan_size(merbit_plan *plan) {
  mbi_scan_schedule *s = mbi_scan_of(plan);
  merbit_context *context = plan->context;
  const int whole = mbi_knob(plan, MBI_KNOB_SCAN_WHOLE);
  uint64_t tile, warps;
  mbi_scan_defaults(plan);
  if (s->steps < 1 || s->steps > 32 || s->steps % s->pack != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.tuning: steps is %d; the scan takes multiples of %d up to 32",
                    s->steps, s->pack);
  }
  if (s->threads < 32 || s->threads > 1024 || s->threads % 32 != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.block_threads is %d; use a multiple of 32 up to 1024",
                    s->threads);
  }
  if (whole < 0 || whole > 2 || (s->whole && s->threads < 64)) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.tuning: whole is %d and plan_desc.block_threads %d; the scan takes "
        "whole=1 for rows that cross blocks, whole=2 for whole rows in blocks of at least 64 "
        "threads",
        whole, s->threads);
  }
  tile = 32 * (uint64_t)s->steps;
  s->tiles = (plan->device.nnz + tile - 1) / tile;
  if (s->tiles > (uint64_t)INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " nonzeros make %" PRIu64
                    " tiles; raise steps in plan_desc.tuning",
                    plan->device.nnz, s->tiles);
  }
  s->dots = mbi_scan_wants_dots(plan) && !s->whole;
  s->resident = mbi_scan_resident(plan);
  /* With whole rows, one warp is reserved for rows that extend beyond the block's tiles. */
  warps = (uint64_t)s->threads / 32 - (s->whole ? 1 : 0);
  s->blocks = (s->tiles + warps - 1) / warps;
  s->fitted = s->whole && plan->nonempty.longest > tile && s->tiles <= MBI_SCAN_FITTED;
  if (s->fitted) { /* at most: two neighbours take more than a round but a tile, see whole.cu */
    s->blocks = 2 * s->blocks + 2;
  }
  s->fills = 1;
  mbi_scan_size_rows(plan);
  s->held = mbi_scan_held(plan);
  return MERBIT_OK;
}

/* Returns the bytes of shared memory per block for the old y, or 0 if it is not read. */
MBI_INTERNAL unsigned mbi_scan_held_shared(const merbit_plan *plan, int adds) {
  const mbi_scan_schedule *s = mbi_scan_of(plan);
  return adds ? (unsigned)(s->threads / 32 * s->held) *
                    (unsigned)mbi_type_size(mbi_plan_accumulator(plan))
              : 0;
}

/* Returns the bytes of shared memory per block of a product: a table of values, the old y and,
 * in a single launch, the warps' carries. Blocks that own whole rows have two buffers of these.
 */
MBI_INTERNAL unsigned mbi_scan_product_shared(const merbit_plan *plan, int adds) {
  const mbi_scan_schedule *s = mbi_scan_of(plan);
  const unsigned size = (unsigned)mbi_type_size(mbi_plan_accumulator(plan));
  const unsigned buffers = s->whole ? 2 : s->linked ? 1 : 0;
  return mbi_value_shared(plan) + mbi_scan_held_shared(plan, adds) +
         (unsigned)s->threads / 32 * buffers * (2 * size + (unsigned)sizeof(uint32_t));
}
