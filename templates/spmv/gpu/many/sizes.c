#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/many/many.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* Sizes of MANY: columns per lane, teams, runs or rows, threads and shared memory. */

/* ---- Sizes: columns per lane, from the number of vectors alone --------------------------- */

/* Returns the state of a plan that uses this method. */
MBI_INTERNAL mbi_many *mbi_many_of(const merbit_plan *plan) {
  return (mbi_many *)plan->state;
}

/* Returns 1 if X and Y pass through copies in row order, because they are in column order. */
MBI_INTERNAL int mbi_many_copies(const merbit_plan *plan) {
  return plan->desc.vector_order == MERBIT_VECTORS_COLUMN_MAJOR;
}

/* Sets the columns per lane (16 bytes if that divides a row), the lanes per nonzero (enough for
 * a whole row, up to a warp), and the length of a run, so that the carries of tiles are small
 * compared to the matrix. */
MBI_INTERNAL void mbi_many_shape(const merbit_plan *plan, mbi_many *m) {
  const int widest = mbi_scan_widest(plan->type), vectors = plan->desc.vectors;
  m->span = widest;
  if (mbi_many_copies(plan)) {
    m->span = vectors > 2 ? widest : 2;
    m->width = (vectors + m->span - 1) / m->span * m->span;
  } else {
    m->width = vectors;
    while (m->width % m->span != 0) {
      m->span /= 2;
    }
  }
  m->team = 1;
  while (m->team < 32 && m->team * m->span < m->width) {
    m->team *= 2;
  }
  m->words = m->team > 4 ? m->team / 4 : 1;
}

/* Returns 1 if gathers of X miss the L2 cache. */
static int mbi_many_misses_cache(const merbit_plan *plan) {
  return plan->device.cols * (uint64_t)mbi_many_of(plan)->width * mbi_type_size(plan->type) >
         (uint64_t)16 << 20;
}

/* Returns 1 if a row of X takes at most one sector. */
static int mbi_many_narrow(const merbit_plan *plan) {
  return mbi_many_of(plan)->width * (int)mbi_type_size(plan->type) <= 32;
}

/* Returns 1 if one large block per multiprocessor, with more loads in flight, is fastest: for
 * runs in f32 whose gathers miss L2. (Four vectors on an H200, a uniform matrix of 40M nonzeros
 * and a power law of 43M: 472 and 445 us; two blocks of 256 threads 545 and 483.) */
static int mbi_many_takes_one_block(const merbit_plan *plan) {
  return mbi_many_of(plan)->staged == 0 && plan->type == MERBIT_F32 &&
         mbi_many_misses_cache(plan) && mbi_many_narrow(plan);
}

/* Returns the blocks per multiprocessor that leave enough registers for a batch of columns and
 * values, for the loads in flight and for a row of accumulators, without spilling. */
static int mbi_many_resident(const merbit_plan *plan) {
  const mbi_many *m = mbi_many_of(plan);
  const int value = (int)mbi_type_size(plan->type) / 4;
  const int lane = (m->width + m->span * m->team - 1) / (m->span * m->team) * m->span;
  const int scalars = plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE ? 2 * value : 0;
  const int words =
      m->unroll * (1 + value) + (m->unroll + 1) * lane * value + scalars +
      (lane > m->span ? 4 : 0) + (m->staged == 0 && m->words > 1 ? 4 : 0) +
      /* some lanes have no sum, and rows are numbered among the non-empty ones */
      (m->width % (m->span * m->team) != 0 && plan->nonempty.count < plan->device.rows);
  const int threads = words > 80                                     ? 384
                      : words > 60 || mbi_many_takes_one_block(plan) ? 512
                      : words > 34                                   ? 768
                                                                     : 1024;
  const int blocks = threads / m->threads;
  return blocks > 16 ? 16 : blocks < 1 ? 1 : blocks;
}

/* The number of finished rows that a lane holds. */
#define MBI_MANY_HELD 5

/* Sets the shared memory of a block. In f64 a warp's columns and values take up to 3 KiB (whole
 * runs, except for few vectors) and its finished rows two or four KiB: the L1 cache needs the
 * rest. In f32 they take up to 6 KiB if gathers miss L2, because fewer warps are resident then,
 * else 2 KiB. At least 16 nonzeros of each run are staged. */
static void mbi_many_size_shared(const merbit_plan *plan, mbi_many *m) {
  const int value = (int)mbi_type_size(plan->type), teams = 32 / m->team;
  const int lane = (m->width + m->span * m->team - 1) / (m->span * m->team) * m->span;
  const int stored = (int)mbi_value_bytes(plan);
  const int budget = value == 8 ? 3072 : mbi_many_misses_cache(plan) ? 6144 : 2048;
  m->piece = 32 * m->words;
  while (m->piece % 16 == 0 && m->piece > 16 && m->piece * teams * (4 + stored) > budget) {
    m->piece /= 2;
  }
  m->shared =
      (unsigned)(m->threads / 32) *
      (unsigned)(teams * (4 * m->piece + 16 + (stored > 0 ? stored * m->piece + 16 : 0)) +
                 MBI_MANY_HELD * 32 * lane * value);
}

/* Sets the threads, unless the user chose them, within the shared memory that a block may
 * have. */
static void mbi_many_size_block(const merbit_plan *plan, mbi_many *m) {
  const int limit = plan->context->device.shared_bytes_per_block;
  mbi_many_size_shared(plan, m);
  while (plan->desc.block_threads == 0 && limit > 0 && m->shared > (unsigned)limit &&
         m->threads > 32) {
    m->threads /= 2;
    mbi_many_size_shared(plan, m);
  }
  m->resident = mbi_many_resident(plan);
}

/* Returns the seconds of the critical path: a team walks the longest row, whose columns and
 * values are staged. */
#define MBI_MANY_ROWS_UNROLL 4
static double mbi_many_rows_walk(const merbit_plan *plan) {
  return mbi_walk(plan, MBI_MANY_ROWS_UNROLL, 1);
}

/* Returns the number of nonzeros that a warp stages at once if products go by rows, or 0 if
 * they go by runs. Products go by rows if rows of X are narrow, rows of A have nearly equal
 * lengths, and none takes longer than streaming the matrix. If plan_desc.tuning sets `run`,
 * they go by runs. (Wider rows of X are faster by runs: 42M nonzeros of a 5-point mesh in f64
 * on an H200, with 4, 8 and 16 vectors, take 378, 677 and 1346 us by rows, 433, 510 and 828 by
 * runs.) */
static int mbi_many_staged(const merbit_plan *plan) {
  const int even = mbi_many_narrow(plan) && mbi_nonempty_equal(plan) &&
                   mbi_many_rows_walk(plan) <=
                       (double)mbi_device_csr_stream_bytes(plan) * mbi_choose_stream(plan);
  const int wish = 1024 / mbi_many_of(plan)->team;
  return !even || plan->device.nnz == 0 || mbi_knob(plan, MBI_KNOB_MANY_RUN) != 0 ? 0
         : wish > 512                                                             ? 512
         : wish < 128                                                             ? 128
                                                                                  : wish;
}

static merbit_status mbi_many_size_rows(merbit_plan *plan) {
  mbi_many *m = mbi_many_of(plan);
  const uint64_t teams = (uint64_t)(m->threads / m->team);
  mbi_scan_of(plan)->blocks = (plan->device.rows + teams - 1) / teams;
  if (mbi_scan_of(plan)->blocks > (uint64_t)INT32_MAX) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " rows are too many for %d vectors; take fewer at once",
                    plan->device.rows, plan->desc.vectors);
  }
  m->resident = mbi_many_resident(plan);
  m->shared = (unsigned)(m->threads / 32 * m->staged) * (unsigned)(4 + mbi_value_bytes(plan));
  return MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_many_size(merbit_plan *plan) {
  merbit_context *context = plan->context;
  const merbit_plan_desc *wish = &plan->desc;
  const int run = mbi_knob(plan, MBI_KNOB_MANY_RUN);
  const int unroll = mbi_knob(plan, MBI_KNOB_MANY_UNROLL);
  mbi_many *m = mbi_many_of(plan);
  mbi_scan_schedule *s = mbi_scan_of(plan);
  uint64_t tile, warps, parts;
  mbi_many_shape(plan, m);
  m->words = run != 0 ? run : m->words;
  m->unroll = unroll != 0 ? unroll : m->width <= m->span * m->team ? 8 : 4;
  m->staged = mbi_many_staged(plan);
  m->threads = wish->block_threads != 0         ? wish->block_threads
               : mbi_many_takes_one_block(plan) ? 512
               : mbi_many_narrow(plan)          ? 256
                                                : 128;
  if (m->staged > 0 && unroll == 0) {
    m->unroll = MBI_MANY_ROWS_UNROLL;
  }
  if (m->words < 1 || m->words > m->team || (m->unroll != 4 && m->unroll != 8) ||
      m->threads < 32 || m->threads > 1024 || m->threads % 32 != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.tuning: run is %d, unroll %d and plan_desc.block_threads %d; %d "
                    "vectors take run 1 to %d, unroll 4 or 8, and a multiple of 32 up to 1024",
                    m->words, m->unroll, m->threads, wish->vectors, m->team);
  }
  if (m->staged > 0) {
    return mbi_many_size_rows(plan);
  }
  s->steps = 32 / m->team * m->words;
  s->pack = 1;
  tile = 32 * (uint64_t)s->steps;
  s->tiles = (plan->device.nnz + tile - 1) / tile;
  if (s->tiles > (uint64_t)INT32_MAX / 64) {
    return mbi_fail(
        context, MERBIT_TOO_LARGE,
        "%" PRIu64 " nonzeros make %" PRIu64
        " tiles for %d vectors; raise run in plan_desc.tuning, or take fewer at once",
        plan->device.nnz, s->tiles, wish->vectors);
  }
  mbi_many_size_block(plan, m);
  warps = (uint64_t)m->threads / 32;
  s->blocks = (s->tiles + warps - 1) / warps;
  mbi_scan_size_rows(plan);
  parts = (s->tiles * (uint64_t)m->width + MBI_SCAN_FIXUP_THREADS - 1) / MBI_SCAN_FIXUP_THREADS;
  s->fixup_blocks = s->fixup_blocks < parts ? parts : s->fixup_blocks;
  return MERBIT_OK;
}

MBI_INTERNAL void mbi_many_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_many *m = mbi_many_of(plan);
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_VECTORS", plan->desc.vectors);
  mbi_preamble_define_int(preamble, "MBK_WIDTH", m->width);
  mbi_preamble_define_int(preamble, "MBK_SPAN", m->span);
  mbi_preamble_define_int(preamble, "MBK_TEAM", m->team);
  if (m->staged > 0) {
    mbi_preamble_define_int(preamble, "MBK_STAGED", m->staged);
  } else {
    mbi_preamble_define_int(preamble, "MBK_WORDS", m->words);
    mbi_preamble_define_int(preamble, "MBK_PIECE", m->piece);
    mbi_preamble_define_int(preamble, "MBK_EMPTY_ROWS", mbi_scan_of(plan)->empty_rows > 0);
  }
  mbi_preamble_define_int(preamble, "MBK_UNROLL", m->unroll);
  mbi_preamble_define_int(preamble, "MBK_COLUMNS", mbi_many_copies(plan));
  mbi_preamble_define_int(preamble, "MBK_ALIGNED", mbi_scan_aligned(plan));
  mbi_preamble_define_int(preamble, "MBK_STREAMING", plan->streaming);
  mbi_preamble_define_int(preamble, "MBK_THREADS", m->threads);
  mbi_preamble_define_int(preamble, "MBK_BLOCKS", m->resident);
}
