#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/rows/rows.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* ROWS on the host: lanes per row, loads in flight, launches. spmv/gpu/rows/rows.cu
 * describes the method. */

/* ---- Sizes: lanes per row and loads in flight -------------------------------------------- */

/* The most lanes per row for which a part of the matrix is kept in L2. With more lanes, keeping
 * it makes products slower. (f64 on an H100, 3M nonzeros, us without and with it: 7-point
 * stencil with 2 lanes 12.9 and 11.7, three diagonals with 1 lane 20.1 and 13.1; with 8 lanes a
 * mesh 14.9 and 15.5, 27-point stencil 11.5 and 13.0.) */
#define MBI_ROWS_KEPT 2

/* Returns the state of a plan that uses this method. */
MBI_INTERNAL mbi_rows *mbi_rows_of(const merbit_plan *plan) {
  return (mbi_rows *)plan->state;
}

/* Returns the average length of a row, rounded up. */
static uint64_t mbi_rows_mean(const merbit_plan *plan) {
  const uint64_t rows = plan->device.rows > 0 ? plan->device.rows : 1;
  return (plan->device.nnz + rows - 1) / rows;
}

/* Returns whether L2 holds the matrix and at least two of five rows are empty. */
static int mbi_rows_sparse(const merbit_plan *plan) {
  return plan->nonempty.count > 0 && mbi_choose_small(plan) &&
         5 * plan->nonempty.count <= 3 * plan->device.rows;
}

/* Returns whether products add up in floats. */
static int mbi_rows_floats(const merbit_plan *plan) {
  return mbi_plan_accumulator(plan) == MERBIT_F32;
}

/* Returns the most nonzeros that a lane should load at once: 8 floats take the registers of
 * every fifth thread. Doubles take twice as many; more lanes gain more from scattered columns,
 * which they wait for, and if rows much longer than the average hold most nonzeros. (Rows of 16
 * on an H200, us, lanes x loads: 2M floats, 2 x 8 5.0, 4 x 4 3.6; 24M, 60 and 49. Rows of 5,
 * 24M doubles, 1 x 5 88, 2 x 3 103. Rows of 8 to 24 random columns, 2M doubles, 4 x 6 16.2, 8 x
 * 3 15.3.) */
static int mbi_rows_batch(const merbit_plan *plan) {
  const size_t bytes = mbi_type_size(mbi_plan_accumulator(plan));
  const int even = plan->nonempty.typical <= 2 * (double)mbi_rows_mean(plan);
  return mbi_rows_floats(plan)                                 ? 7
         : bytes == 8 && even && plan->nonempty.sectors <= 0.5 ? 6
                                                               : 4;
}

/* Returns the share of the GPU's lanes that the rows occupy with `lanes` lanes each. Above 1
 * they do not all fit at once. */
static double mbi_rows_fill(const merbit_plan *plan, int lanes) {
  return (double)plan->device.rows * lanes / mbi_choose_lanes(plan);
}

/* Returns the average length of the non-empty rows, rounded up. */
static uint64_t mbi_rows_full(const merbit_plan *plan) {
  return (plan->device.nnz + plan->nonempty.count - 1) / plan->nonempty.count;
}

/* The most nonzeros that a lane loads at once where L2 holds the matrix and many rows are
 * empty, and the most lanes, as a multiple of those that the GPU holds: those of empty rows end
 * at once. (1M nonzeros on an H200, us in f32 / f64, lanes x loads: 200,000 rows, a quarter of
 * them with 20 nonzeros, 1 x 6 9.3 / 10.8, 2 x 5 9.3 / 9.6, 4 x 5 8.7 / 8.8; 500,000 rows, a
 * tenth with 20, 1 x 3 10.2 / 11.4, 2 x 5 9.4 / 10.9, 4 x 5 10.4 / 12.2; 1M rows, a quarter
 * with 4, 1 x 2 8.6 / 9.6, 1 x 4 8.3 / 9.3, 2 x 2 10.2 / 10.4.) */
#define MBI_ROWS_SPARSE_LOADS 5
#define MBI_ROWS_SPARSE_FILL 4.0

/* Rows of a warp wait for a single one that takes a second step. Their lanes therefore cover
 * the longest row if it is at most MBI_ROWS_NEAR times as long as the average, otherwise the
 * longer rows if they are at most MBI_ROWS_COVERED times as long. Rows of fewer than
 * MBI_ROWS_FEW nonzeros gain nothing. (In L2 on an H200, us, lanes x loads by the average and
 * by these lengths: 1M floats in rows of 19 to 35, 4 x 8 5.1, 8 x 5 3.9; 1.8M floats in rows of
 * 54 to 81, 16 x 5 4.3, 16 x 6 3.6; 1.2M doubles in rows of 1 to 19, 2 x 4 5.0, 2 x 5 4.3.
 * Twice the average: 3M floats in rows of 1 or 40, 4 x 6 9.6, 8 x 5 10.7.) */
#define MBI_ROWS_NEAR 1.2
#define MBI_ROWS_COVERED 1.8
#define MBI_ROWS_FEW 4

/* Returns the length of the longer rows, which a row's lanes should load at once, or 0 if they
 * are too long. Slices of 32 rows with padding tell how long the longest row of a warp is, and
 * `typical` how long most rows are if a part of the matrix has shorter ones. */
static uint64_t mbi_rows_longer(const merbit_plan *plan) {
  const double rows = plan->device.rows > 0 ? (double)plan->device.rows : 1;
  const double longest = plan->nonempty.longest;
  const double mean = (double)plan->device.nnz / rows, close = MBI_ROWS_NEAR * mean;
  const double slots = (double)plan->nonempty.slots / rows, typical = plan->nonempty.typical;
  const double longer = longest <= close                      ? longest
                        : typical > slots && typical <= close ? typical
                                                              : slots;
  return !mbi_rows_sparse(plan) && mean >= MBI_ROWS_FEW && longer >= mean &&
                 longer <= MBI_ROWS_COVERED * mean
             ? (uint64_t)ceil(longer)
             : 0;
}

/* Returns the number of nonzeros of a row that its lanes should load at once. */
static uint64_t mbi_rows_cover(const merbit_plan *plan) {
  const uint64_t longer = mbi_rows_longer(plan);
  return longer > 0              ? longer
         : mbi_rows_sparse(plan) ? mbi_rows_full(plan)
                                 : mbi_rows_mean(plan);
}

/* Returns the number of lanes per row that makes one batch of loads cover a row. */
static int mbi_rows_spread(const merbit_plan *plan) {
  const int sparse = mbi_rows_sparse(plan);
  const uint64_t batch = sparse ? MBI_ROWS_SPARSE_LOADS : (uint64_t)mbi_rows_batch(plan);
  const uint64_t cover = mbi_rows_cover(plan);
  int lanes = 1;
  while (lanes < 32 && (uint64_t)lanes * batch < cover &&
         !(sparse && mbi_rows_fill(plan, 2 * lanes) > MBI_ROWS_SPARSE_FILL)) {
    lanes *= 2;
  }
  return lanes;
}

/* Returns whether rows are so long that their warps take several steps. */
static int mbi_rows_long(const merbit_plan *plan) {
  return mbi_rows_mean(plan) >= 256;
}

/* Returns whether rows move through x together: they are long, they fill the GPU, and their
 * columns are scattered. Each lane should then have few nonzeros in flight:
 * spmv/choose/together.c. (40,000 rows of 500 doubles in 40,000 columns on an H200: 122 us with
 * 8 nonzeros per lane, 79 with 2.) */
static int mbi_rows_together(const merbit_plan *plan) {
  return mbi_rows_long(plan) && mbi_rows_fill(plan, 32) >= 0.75 && mbi_together_apart(plan);
}

/* Returns the number of lanes per row. Rows that move together get half a warp if that lets
 * more rows use what L1 holds, and if the two rows of a warp have nearly equal lengths. */
static int mbi_rows_lanes(const merbit_plan *plan) {
  const int wish = mbi_knob(plan, MBI_KNOB_ROWS_LANES);
  const int more = mbi_rows_together(plan) && mbi_rows_fill(plan, 16) >= 0.75 &&
                   mbi_together_near(plan, 32) &&
                   (double)plan->nonempty.slots <= 1.5 * (double)plan->device.nnz &&
                   (!mbi_rows_floats(plan) || !mbi_together_near(plan, 128));
  return wish != 0 ? wish : more ? 16 : mbi_rows_spread(plan);
}

/* Returns whether the rows occupy at least half of the GPU's lanes. */
MBI_INTERNAL int mbi_rows_half(const merbit_plan *plan) {
  return mbi_rows_fill(plan, mbi_rows_lanes(plan)) >= 0.5;
}

/* Returns the number of nonzeros that each lane of a row loads at once. */
static int mbi_rows_unroll(const merbit_plan *plan, int lanes) {
  const uint64_t cover = mbi_rows_cover(plan), spare = cover < MBI_ROWS_FEW;
  const uint64_t share = (cover - 1) / (uint64_t)lanes + 1 + spare;
  const int wish = mbi_knob(plan, MBI_KNOB_ROWS_UNROLL);
  const int most = mbi_rows_sparse(plan)      ? MBI_ROWS_SPARSE_LOADS
                   : !mbi_rows_together(plan) ? 8
                   : mbi_rows_floats(plan) && mbi_together_near(plan, 128) ? 4
                                                                           : 2;
  return wish != 0 ? wish : share > (uint64_t)most ? most : (int)share;
}

/* Returns the number of nonzeros that all lanes of a row load at once. */
static double mbi_rows_at_once(const merbit_plan *plan) {
  const int lanes = mbi_rows_lanes(plan);
  return (double)lanes * mbi_rows_unroll(plan, lanes);
}

/* Returns the seconds of the critical path: the steps of the longest row, in each of which its
 * lanes load columns and values, then x. */
MBI_INTERNAL double mbi_rows_walk(const merbit_plan *plan) {
  return mbi_walk(plan, mbi_rows_at_once(plan), 2);
}

/* Returns the number of steps that the lanes take for the longest row. */
MBI_INTERNAL double mbi_rows_steps(const merbit_plan *plan) {
  return (double)plan->nonempty.longest / mbi_rows_at_once(plan);
}

/* Returns the number of threads per block. */
static int mbi_rows_threads(const merbit_plan *plan) {
  return plan->desc.block_threads != 0 ? plan->desc.block_threads
         : mbi_rows_together(plan)     ? 512
                                       : 256;
}

MBI_INTERNAL merbit_status mbi_rows_size(merbit_plan *plan) {
  mbi_rows *r = mbi_rows_of(plan);
  merbit_context *context = plan->context;
  uint64_t groups;
  r->lanes = mbi_rows_lanes(plan);
  if (r->lanes < 1 || r->lanes > 32 || (r->lanes & (r->lanes - 1)) != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.tuning: lanes is %d; lanes per row are a power of two up to 32",
                    r->lanes);
  }
  r->unroll = mbi_rows_unroll(plan, r->lanes);
  r->threads = mbi_rows_threads(plan);
  if (r->unroll < 1 || r->unroll > 32 || r->threads < 32 || r->threads > 1024 ||
      r->threads % 32 != 0) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.tuning: unroll is %d and plan_desc.block_threads %d; use 1 to 32, and a "
        "multiple of 32 up to 1024",
        r->unroll, r->threads);
  }
  groups = (uint64_t)(r->threads / r->lanes);
  r->blocks = (plan->device.rows + groups - 1) / groups;
  if (r->blocks > (uint64_t)INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64
                    " rows are too many for MERBIT_METHOD_ROWS; use another plan_desc.method",
                    plan->device.rows);
  }
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

/* Returns whether lanes hold the old y while they multiply. With 6 floats, or 3, 5 or 6 doubles
 * in flight, that would take the registers of a fourth to a sixth of the resident threads. (10
 * doubles a row on an H200: 83 us without, 99 with the old y held.) C128 would spill. */
static int mbi_rows_holds(const merbit_plan *plan) {
  const int unroll = mbi_rows_of(plan)->unroll;
  const size_t bytes = mbi_type_size(mbi_plan_accumulator(plan));
  return bytes < 8 ? unroll != 6 : bytes == 8 && unroll != 3 && unroll != 5 && unroll != 6;
}

MBI_INTERNAL void mbi_rows_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_rows *r = mbi_rows_of(plan);
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_LANES", r->lanes);
  mbi_preamble_define_int(preamble, "MBK_UNROLL", r->unroll);
  mbi_choose_loads(plan, preamble,
                   mbi_device_csr_stream_bytes(plan) +
                       plan->device.rows * mbi_index_bytes(plan->device.offset_type),
                   r->lanes <= MBI_ROWS_KEPT, 1);
  mbi_preamble_define_int(preamble, "MBK_THREADS", r->threads);
  mbi_preamble_define_int(preamble, "MBK_HOLDS", mbi_rows_holds(plan));
}

static merbit_status mbi_rows_create(merbit_plan *plan) {
  mbi_rows *r = mbi_rows_of(plan);
  mbi_preamble preamble;
  MBI_TRY(mbi_rows_size(plan));
  plan->stream_bytes =
      mbi_device_csr_stream_bytes(plan) +
      (plan->device.rows + 1) * (uint64_t)mbi_index_bytes(plan->device.offset_type);
  mbi_rows_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/gpu/rows/rows.cu", &preamble, 1, &plan->program));
  MBI_TRY(mbi_program_kernel(plan->context, &plan->program, "mbk_rows_product", &r->product));
  return mbi_program_kernel(plan->context, &plan->program, "mbk_rows_sum", &r->sum);
}

static void mbi_rows_destroy(merbit_plan *plan) {
  mbi_program_destroy(plan->context, &plan->program);
}

MBI_INTERNAL uint64_t mbi_rows_carry_bytes(const merbit_plan *plan) {
  (void)plan;
  return 0;
}

/* ---- Launch ------------------------------------------------------------------------------ */

static merbit_status mbi_rows_multiply(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                                       mbi_devptr x, const void *beta, mbi_devptr y,
                                       void *stream) {
  mbi_rows *r = mbi_rows_of(plan);
  mbk_rows_product_arguments arguments;
  const int adds = mbi_plan_adds(plan, beta);
  (void)carries;
  if (r->blocks == 0) {
    return MERBIT_OK;
  }
  arguments.row_ptr = plan->device.row_ptr;
  arguments.col_ind = plan->device.col_ind;
  arguments.values = plan->device.values;
  arguments.table = plan->device.table;
  arguments.x = x;
  arguments.y = y;
  arguments.rows = plan->device.rows;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_plan_launch(plan, adds ? r->sum : r->product,
                         adds ? "mbk_rows_sum" : "mbk_rows_product", (int64_t)r->blocks,
                         r->threads, mbi_value_shared(plan), stream, &arguments, 0);
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_rows_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->block_threads = mbi_rows_of(plan)->threads;
}

static int mbi_rows_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_rows *r = mbi_rows_of(plan);
  return snprintf(text, size, "%d lane%s per row, %d nonzeros in flight, %d threads", r->lanes,
                  r->lanes == 1 ? "" : "s", r->unroll, r->threads);
}

/* Returns whether each row has a whole warp. */
static int mbi_rows_lone(const merbit_plan *plan) {
  return mbi_rows_lanes(plan) == 32;
}

/* Returns the factor, at least 1, by which gathers take longer because there are too few rows
 * to fill the GPU with lanes. (548 rows of 5,474 doubles on an H100: 74 us, SCAN 32.) */
MBI_INTERNAL double mbi_rows_thin(const merbit_plan *plan) {
  const double processors = plan->context->device.multiprocessors;
  const double full = mbi_choose_lanes(plan) * mbi_rows_unroll(plan, mbi_rows_lanes(plan));
  const double flight = (double)plan->device.rows * mbi_rows_at_once(plan);
  const double half = MBI_CHOOSE_HALF * processors;
  return flight < full ? (1 + half / flight) / (1 + half / full) : 1;
}

/* Returns the lines of 128 bytes per nonzero that a warp's loads touch. In columns and values,
 * each row of the warp touches its own line, or shares one if rows are short. In x, the count
 * lies between those of 32 consecutive nonzeros and of 32 rows, but never above the former.
 * (10M floats, runs of 10,000 rows with 42 nonzeros among rows with 2, two lanes per row, on an
 * H200: ROWS 60 us, SCAN 33.) */
static double mbi_rows_lines(const merbit_plan *plan) {
  const double lanes = mbi_rows_lanes(plan), rows = 32 / lanes;
  const double apart = rows * plan->nonempty.typical / 128;
  const double columns = 1 + 4 * apart, values = 1 + (double)mbi_value_bytes(plan) * apart;
  const double along = plan->nonempty.lines, share = log2(lanes) / 5;
  const double of_x = pow(along, share) * pow(plan->nonempty.lines_abreast, 1 - share);
  return (of_x < along ? of_x : along) +
         ((columns < rows ? columns : rows) + (values < rows ? values : rows)) / 32;
}

/* Returns the forecast seconds for gathering x. If all rows are in flight at once, their lanes
 * move through the columns together, and what they read of x stays in L2. (3,098 rows of 9,684
 * doubles, x of 38 MB, on an H100: 359 us, SCAN 432.) Rows of other lengths do not move with
 * them. If each row has a warp, the warps of short rows idle until the longest row of the block
 * ends. (Rows of 1 and 1,000 doubles in
 * turn, 8 in flight, on an H100: 226 us, HUBS 211.) If neighbouring rows read the same lines of
 * x, L1 holds some of them. (4,472 rows of 2,236 floats, half of them in every 2,236th column,
 * on an H200: ROWS 30 us, SCAN 43.) */
static double mbi_rows_gathers(const merbit_plan *plan, const mbi_traffic *t) {
  const double some = plan->profile->l2_bytes / 4, all = t->cols * t->size;
  const double uneven = (double)plan->nonempty.slots / t->nnz - 1;
  const int together = mbi_rows_together(plan);
  const double idle =
      mbi_rows_lone(plan) ? (together ? 0.15 : 0.35) * (uneven < 1 ? uneven : 1) : 0;
  const double abreast = mbi_together_abreast(plan)
                             ? (1 + plan->nonempty.abreast / plan->nonempty.sectors) / 2
                             : 1;
  if (together) {
    const double mean = t->nnz / t->rows, typical = plan->nonempty.typical;
    const double even = typical > mean ? mean / typical : 1;
    const double held =
        mbi_together_gathers(plan, t, mbi_rows_lanes(plan), mbi_rows_at_once(plan));
    return (1 + idle) * mbi_rows_thin(plan) * (even * held + (1 - even) * t->gathers);
  }
  return (1 + idle) * mbi_rows_thin(plan) * abreast *
         (mbi_rows_fill(plan, mbi_rows_lanes(plan)) > 1 || all <= some
              ? 1.1 * t->gathers
              : 0.8 * t->nnz * plan->nonempty.sectors * mbi_choose_gather(plan, some));
}

/* Three quarters of the lanes, instead of half, may be idle if the longest of 32 rows has at
 * most this many nonzeros on average. */
#define MBI_ROWS_SHORT 16

/* Returns whether too many lanes would be idle: more than half, or more than three quarters if
 * rows are short. Lanes that share a warp wait for its longest row; a row with a warp of its
 * own waits for none. (5M rows of 2.5 nonzeros on average, at random among 20,000 columns, on
 * an H200: ROWS 52 us in f32 and 74 in f64, SCAN 88 and 94.) */
MBI_INTERNAL int mbi_rows_idle(const merbit_plan *plan) {
  const uint64_t slots = plan->nonempty.slots;
  const uint64_t most = slots <= MBI_ROWS_SHORT * plan->device.rows ? 4 : 2;
  return !mbi_rows_lone(plan) && slots > most * plan->device.nnz;
}

/* Returns whether SCAN is faster if L2 holds the matrix and many rows are empty. ROWS takes the
 * time of the gathers, and of the loads that lanes wait for: of the row's offsets, then of
 * columns and of x in each step. Doubles take longer. Columns that were not sampled count as
 * scattered. Where rows are many more than nonzeros and nearly all are empty, most warps walk
 * for a single row. (1M rows, one in 20 has 8 nonzeros, on an H200, f32 / f64: ROWS 7.8 and 8.4
 * us, SCAN 6.0 and 6.6.) */
static int mbi_rows_sparse_idle(const merbit_plan *plan) {
  const double steps = ceil((double)mbi_rows_full(plan) / mbi_rows_at_once(plan));
  const double walks =
      mbi_rows_fill(plan, mbi_rows_lanes(plan)) * (1 + 2 * steps) * mbi_walk_load(plan);
  const double found = plan->nonempty.sectors; /* 0: no sample was taken */
  const double gathers = (double)plan->device.nnz * (found > 0 ? found : 1) *
                         mbi_choose_gather(plan, plan->profile->l2_bytes / 4);
  const double scan = mbi_scan_cost(plan) + (found > 0 ? 0 : gathers);
  const int lonely = 5 * plan->device.rows > 9 * plan->device.nnz &&
                     8 * plan->nonempty.count <= plan->device.rows;
  return lonely || (plan->type == MERBIT_F32 ? 1.2 : 1.3) *
                           pow(pow(walks, 1.5) + pow(gathers, 1.5), 1 / 1.5) >
                       scan;
}

/* Returns the same for a small matrix, where only loads from L2 wait: idle lanes may be more,
 * and rows that do not share a warp do not count. (2M doubles in L2 on an H200, us: 40,000 rows
 * of 47 on average, log-normal, ROWS 8.9, SCAN 12.2; 250,000 rows of 7.4, 9.8 and 13.7.) */
MBI_INTERNAL int mbi_rows_idle_in_l2(const merbit_plan *plan) {
  if (mbi_rows_sparse(plan)) {
    return mbi_rows_sparse_idle(plan);
  }
  const double slots = (double)plan->nonempty.slots / (double)plan->device.nnz;
  const double shared = 1 - log2(mbi_rows_lanes(plan)) / 5;
  return 1 + (slots - 1) * shared >
         (plan->nonempty.slots <= MBI_ROWS_SHORT * plan->device.rows ? 4 : 2.5);
}

/* Returns the share of a product's time after which the last long row starts: with as many rows
 * left as the GPU holds at once, unless long rows lie together. (Every 50th of 16,783 rows has
 * 9,300 floats, the others 440, on an H200: the walk alone 25 us, ROWS 50, SCAN 23.) */
static double mbi_rows_start(const merbit_plan *plan) {
  const double fill = mbi_rows_fill(plan, mbi_rows_lanes(plan));
  return fill > 1 && !mbi_phases_few(plan) ? 1 - 1 / fill : 0;
}

/* Returns the forecast seconds of a product, or HUGE_VAL if too many lanes would be idle. The
 * latter does not apply if there are fewer nonzeros than rows. Most lanes then only write y,
 * and the time is that of the three dependent loads of a row, for as many rows at once as the
 * GPU has lanes. */
MBI_INTERNAL double mbi_rows_cost(const merbit_plan *plan) {
  const mbi_traffic t = mbi_traffic_of(plan);
  const int alone = mbi_rows_lone(plan) || t.nnz < t.rows;
  const double uneven = alone ? 0 : (double)plan->nonempty.slots / t.nnz - 1;
  const int together = mbi_rows_together(plan);
  /* Where rows read x together, the time of gathers includes what L1 keeps for other rows. */
  const double lines = together || mbi_together_abreast(plan) ? 0 : mbi_rows_lines(plan);
  const double factor = together ? (plan->type == MERBIT_F32 ? 1.0 : 0.97) + 0.35 * uneven
                        : mbi_together_abreast(plan) ? 1.1
                        : mbi_rows_long(plan)        ? 1.0
                                                     : 0.9 + 0.16 * uneven;
  const mbi_walkers walkers = {(double)mbi_rows_lanes(plan), mbi_rows_at_once(plan),
                               (double)mbi_rows_threads(plan), MBI_CHOOSE_HALF, 1};
  const double traffic =
      mbi_phases_overlap(plan, t.vectors + t.stream + mbi_choose_offsets(plan),
                         mbi_rows_gathers(plan, &t), &walkers);
  const double turns = t.nnz < t.rows ? t.rows / mbi_choose_lanes(plan) * 1.5 : 0;
  const double seconds =
      factor * mbi_choose_with_lines(plan, traffic, lines) +
      (together ? 0
                : mbi_walk_end(plan, t.nnz / t.rows / mbi_rows_at_once(plan) / 2 + turns, 1));
  if (t.nnz >= t.rows && mbi_rows_idle(plan)) {
    return HUGE_VAL;
  }
  return mbi_choose_longer(seconds,
                           mbi_rows_start(plan) * (seconds + plan->profile->launch_seconds) +
                               mbi_rows_walk(plan));
}

static merbit_status mbi_rows_bound(merbit_plan *plan, mbi_bound *bound) {
  (void)bound; /* nothing is built */
  return mbi_rows_size(plan);
}

MBI_INTERNAL const mbi_cuda_method mbi_rows_method = {
    sizeof(mbi_rows),     /* state_bytes */
    mbi_rows_create,      /* create */
    mbi_rows_destroy,     /* destroy */
    mbi_rows_carry_bytes, /* carry_bytes */
    mbi_rows_multiply,    /* multiply */
    mbi_rows_info,        /* info */
    mbi_rows_describe,    /* describe */
    NULL,                 /* refresh */
    MBI_FORMS_ALL,        /* forms */
    mbi_rows_cost,        /* cost */
    mbi_rows_bound,       /* bound */
    0,                    /* making */
    NULL,                 /* trusted */
    "unroll lanes",       /* knobs */
};
