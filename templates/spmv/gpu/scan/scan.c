#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* SCAN on the host: builds the schedule of tiles, launches the product and the fix-up.
 * spmv/gpu/scan/scan.cu, whole.cu and linked.cu describe the kernels. */

/* ---- Specialise: the kernels of one program ---------------------------------------------- */

/* Returns whether the blocks that write empty rows should first prefetch the sectors of y that
 * they share with other rows. This pays if y does not stay in L2 and the product does not load
 * the old y anyway. (12M rows, 600,000 of them non-empty, on an H200: 78 us in f32 and 115 us
 * in f64; without the prefetch 88 and 129.) */
static int mbi_scan_fills_ahead(const merbit_plan *plan) {
  const double y =
      (double)plan->device.rows * (double)mbi_type_size(mbi_plan_accumulator(plan));
  return y > MBI_CHOOSE_KEPT * plan->profile->l2_bytes;
}

MBI_INTERNAL void mbi_scan_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_scan_schedule *s = mbi_scan_of(plan);
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_BLOCKS", s->resident);
  mbi_preamble_define_int(preamble, "MBK_STEPS", s->steps);
  mbi_preamble_define_int(preamble, "MBK_PACK", s->pack);
  mbi_preamble_define_int(preamble, "MBK_DEPTH", s->depth);
  mbi_preamble_define_int(preamble, "MBK_EMPTY_ROWS", s->empty_rows > 0);
  mbi_preamble_define_int(preamble, "MBK_ALIGNED", mbi_scan_aligned(plan));
  mbi_choose_loads(plan, preamble, mbi_device_csr_stream_bytes(plan), s->fills, 0);
  mbi_preamble_define_int(preamble, "MBK_THREADS", s->threads);
  mbi_preamble_define_int(preamble, "MBK_OLD_ROWS", s->held);
  if (s->fill_blocks > 0) {
    mbi_preamble_define_int(preamble, "MBK_FILL", s->fill);
    mbi_preamble_define_int(preamble, "MBK_FILL_AHEAD", mbi_scan_fills_ahead(plan));
  }
  if (s->whole) {
    mbi_preamble_define_int(preamble, "MBK_FITTED", s->fitted);
  }
  if (s->dots) {
    mbi_preamble_define_int(preamble, "MBK_DOTS", 1);
  }
}

/* Gets the build kernel and the fix-up kernel from the plan's program. */
MBI_INTERNAL merbit_status mbi_scan_kernels(merbit_plan *plan) {
  mbi_scan_schedule *s = mbi_scan_of(plan);
  MBI_TRY(
      mbi_program_part_kernel(plan->context, &plan->program, 2, "mbk_scan_build", &s->build));
  return mbi_program_part_kernel(plan->context, &plan->program, 2, "mbk_scan_fixup", &s->fixup);
}

/* Returns the name of the kernel that computes a product, for any beta if it adds. */
static const char *mbi_scan_product_name(const mbi_scan_schedule *s, int adds) {
  return s->whole    ? adds ? "mbk_scan_whole_sum" : "mbk_scan_whole"
         : s->linked ? adds ? "mbk_scan_linked_sum" : "mbk_scan_linked"
         : adds      ? "mbk_scan_sum"
                     : "mbk_scan_product";
}

static merbit_status mbi_scan_specialise(merbit_plan *plan) {
  merbit_context *context = plan->context;
  mbi_scan_schedule *s = mbi_scan_of(plan);
  mbi_preamble preamble;
  mbi_scan_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan,
                           s->whole    ? "spmv/gpu/scan/whole.cu"
                           : s->linked ? "spmv/gpu/scan/linked.cu"
                                       : "spmv/gpu/scan/scan.cu",
                           &preamble, 3, &plan->program));
  if (s->whole || s->linked) {
    MBI_TRY(mbi_program_part_kernel(context, &plan->program, 2, "mbk_scan_build", &s->build));
  } else {
    MBI_TRY(mbi_scan_kernels(plan));
  }
  if (s->whole) {
    MBI_TRY(mbi_program_kernel(context, &plan->program, "mbk_scan_cut", &s->cut));
  }
  MBI_TRY(
      mbi_program_kernel(context, &plan->program, mbi_scan_product_name(s, 0), &s->product));
  return mbi_program_part_kernel(context, &plan->program, 1, mbi_scan_product_name(s, 1),
                                 &s->sum);
}

/* ---- Launch: build the schedule once, then products -------------------------------------- */

static merbit_status mbi_scan_build(merbit_plan *plan) {
  mbi_scan_schedule *s = mbi_scan_of(plan);
  const int64_t block_tiles = MBI_SCAN_BUILD_THREADS / 32;
  mbk_scan_build_arguments arguments;
  if (s->tiles == 0) {
    return MERBIT_OK;
  }
  arguments.row_start = plan->nonempty.row_start;
  arguments.ranks = (uint32_t)plan->nonempty.count;
  arguments.nnz = plan->device.nnz;
  arguments.tiles = s->tiles;
  arguments.row_ends = s->row_ends;
  arguments.tile_row = s->tile_row;
  return mbi_device_launch(
      plan->context, s->build, "mbk_scan_build",
      ((int64_t)s->tiles + block_tiles - 1) / block_tiles, MBI_SCAN_BUILD_THREADS,
      (unsigned)(MBI_SCAN_BUILD_THREADS / 32 * (size_t)s->steps * sizeof(uint32_t)), NULL,
      &arguments);
}

/* Counts the non-empty rows into plan->nonempty, and lists them if some rows are empty. */
MBI_INTERNAL merbit_status mbi_scan_nonempty(merbit_plan *plan) {
  if (!mbi_nonempty_fit(plan)) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "%s takes fewer than 2^32 - 1 rows, not %" PRIu64
                    "; for one vector use MERBIT_METHOD_MERBIT",
                    plan->row->identifier, plan->device.rows);
  }
  MBI_TRY(mbi_nonempty_need(plan));
  if (plan->nonempty.count < plan->device.rows && plan->nonempty.row_id == 0) {
    MBI_TRY(mbi_nonempty_compact(plan));
  }
  return MERBIT_OK;
}

/* Allocates SCAN's arrays and builds row_ends and tile_row; block_start is left for
 * mbi_scan_cut. The kernels must be loaded. */
MBI_INTERNAL merbit_status mbi_scan_schedule_create(merbit_plan *plan) {
  mbi_scan_schedule *s = mbi_scan_of(plan);
  const uint64_t words = s->tiles * (uint64_t)s->steps * sizeof(uint32_t);
  const uint64_t tile_rows = (2 * s->tiles + 1) * sizeof(uint32_t);
  const uint64_t starts = s->whole ? (s->blocks + 2) * sizeof(uint64_t) : 0;
  mbi_devptr *const parts[] = {&s->row_ends, &s->tile_row, &s->block_start};
  const uint64_t bytes[] = {words, tile_rows, starts};
  MBI_TRY(mbi_plan_allocate_parts(plan, "the ends and tiles of rows", 3, parts, bytes));
  plan->schedule_bytes = words + tile_rows + starts + plan->nonempty.bytes;
  plan->stream_bytes =
      words + tile_rows + s->tiles * sizeof(uint32_t) + starts +
      4 * s->tiles * mbi_type_size(mbi_plan_accumulator(plan)) +
      (s->empty_rows > 0
           ? (plan->nonempty.count + (plan->device.rows + 31) / 32) * sizeof(uint32_t)
           : 0);
  MBI_TRY(mbi_scan_build(plan));
  return MERBIT_OK;
}

/* Computes block_start from the schedule and, if blocks are fitted, their number. */
static merbit_status mbi_scan_cut(merbit_plan *plan) {
  mbi_scan_schedule *s = mbi_scan_of(plan);
  const uint64_t count = s->block_start + (s->blocks + 1) * sizeof(uint64_t);
  mbk_scan_cut_arguments arguments;
  arguments.row_start = plan->nonempty.row_start;
  arguments.tile_row = s->tile_row;
  arguments.nnz = plan->device.nnz;
  arguments.tiles = s->tiles;
  arguments.blocks = s->blocks;
  arguments.block_start = s->block_start;
  MBI_TRY(mbi_device_launch(
      plan->context, s->cut, "mbk_scan_cut",
      s->fitted ? 1 : (int64_t)s->blocks / MBI_SCAN_BUILD_THREADS + 1, MBI_SCAN_BUILD_THREADS,
      s->fitted ? (unsigned)(s->tiles * sizeof(uint32_t)) : 0, NULL, &arguments));
  return s->fitted ? mbi_device_download(plan->context, &s->blocks, count, sizeof s->blocks)
                   : MERBIT_OK;
}

/* Builds SCAN's arrays for plan->device. On failure the caller runs mbi_scan_destroy. */
MBI_INTERNAL merbit_status mbi_scan_create(merbit_plan *plan) {
  MBI_TRY(mbi_scan_nonempty(plan));
  if (mbi_scan_asks_sectors(plan) && plan->nonempty.sectors <= 0) {
    MBI_TRY(mbi_nonempty_sample(plan));
  }
  MBI_TRY(mbi_scan_size(plan));
  MBI_TRY(mbi_scan_specialise(plan));
  MBI_TRY(mbi_scan_schedule_create(plan));
  plan->stream_bytes += mbi_device_csr_stream_bytes(plan);
  return mbi_scan_of(plan)->whole ? mbi_scan_cut(plan) : MERBIT_OK;
}

MBI_INTERNAL void mbi_scan_destroy(merbit_plan *plan) {
  mbi_plan_release(plan, mbi_scan_of(plan)->row_ends);
  mbi_program_destroy(plan->context, &plan->program);
}

/* Returns the bytes of scratch for one product: slots, or firsts, tails and the partial sums of
 * x'A x. */
MBI_INTERNAL uint64_t mbi_scan_carry_bytes(const merbit_plan *plan) {
  const mbi_scan_schedule *s = mbi_scan_of(plan);
  const uint64_t size = mbi_type_size(mbi_plan_accumulator(plan));
  return s->whole    ? 0
         : s->linked ? s->blocks * 2 * size
                     : s->tiles * (2 * size + (s->dots ? sizeof(double) : 0));
}

/* Returns the bytes of scratch that must be zero before the first product: the slots of linked
 * blocks, or 0 if the plan has none. */
MBI_INTERNAL uint64_t mbi_scan_slot_bytes(const merbit_plan *plan) {
  return plan->cuda->carry_bytes == mbi_scan_carry_bytes && mbi_scan_of(plan)->linked
             ? mbi_scan_carry_bytes(plan)
             : 0;
}

/* Returns the number of partial sums of x'A x that a product computes: one per tile, or 0 if
 * the plan computes none. */
MBI_INTERNAL uint64_t mbi_scan_dot_parts(const merbit_plan *plan) {
  return plan->cuda != NULL && plan->method == MERBIT_METHOD_SCAN && mbi_scan_of(plan)->dots
             ? mbi_scan_of(plan)->tiles
             : 0;
}

/* Returns the address of these partial sums in the plan's own workspace, or 0 if there are
 * none. They are valid after a product. */
MBI_INTERNAL mbi_devptr mbi_scan_dots(const merbit_plan *plan) {
  const uint64_t parts = mbi_scan_dot_parts(plan);
  return parts > 0 ? plan->workspace->device_carries +
                         2 * parts * mbi_type_size(mbi_plan_accumulator(plan))
                   : 0;
}

/* Launches the fix-up after the product. It completes rows that cross tiles, and writes the
 * empty rows unless the product has done so (s->fills). `how` comes from mbi_plan_start. */
MBI_INTERNAL merbit_status mbi_scan_launch_fixup(merbit_plan *plan, mbi_devptr carries,
                                                 const void *alpha, const void *beta,
                                                 mbi_devptr y, void *stream, int how) {
  mbi_scan_schedule *s = mbi_scan_of(plan);
  mbi_devptr tails = carries + s->tiles * mbi_type_size(mbi_plan_accumulator(plan));
  mbk_scan_fixup_arguments arguments;
  if (s->fixup_blocks == 0) {
    return MERBIT_OK;
  }
  arguments.tile_row = s->tile_row;
  arguments.row_id = plan->nonempty.row_id;
  arguments.row_bits = plan->nonempty.row_bits;
  arguments.firsts = carries;
  arguments.tails = tails;
  arguments.y = y;
  arguments.tiles = s->tiles;
  arguments.filled = s->empty_rows > 0 && !s->fills ? plan->device.rows : 0;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_device_launch_some(
      plan->context, s->fixup, "mbk_scan_fixup", (int64_t)s->fixup_blocks,
      MBI_SCAN_FIXUP_THREADS,
      (unsigned)(MBI_SCAN_FIXUP_THREADS / 32 *
                 (mbi_type_size(mbi_plan_accumulator(plan)) + sizeof(uint32_t))),
      stream, &arguments, 0, how);
}

static merbit_status mbi_scan_multiply(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                                       mbi_devptr x, const void *beta, mbi_devptr y,
                                       void *stream) {
  mbi_scan_schedule *s = mbi_scan_of(plan);
  const unsigned size = (unsigned)mbi_type_size(mbi_plan_accumulator(plan));
  const int adds = mbi_plan_adds(plan, beta);
  const int joins = !s->whole && !s->linked; /* a fix-up joins firsts and tails */
  mbk_scan_product_arguments arguments;
  if (s->blocks > 0) {
    arguments.row_ends = s->row_ends;
    arguments.tile_row = s->tile_row;
    arguments.row_id = plan->nonempty.row_id;
    arguments.row_bits = plan->nonempty.row_bits;
    arguments.block_start = s->block_start;
    arguments.col_ind = plan->device.col_ind;
    arguments.values = plan->device.values;
    arguments.table = plan->device.table;
    arguments.x = x;
    arguments.y = y;
    arguments.firsts = joins ? carries : 0;
    arguments.tails = joins ? carries + s->tiles * size : 0;
    arguments.slots = s->linked ? carries : 0;
    arguments.rows = plan->device.rows;
    arguments.nnz = plan->device.nnz;
    arguments.tiles = s->tiles;
    arguments.fill_rate = mbi_scan_fill_rate(s);
    arguments.alpha = mbi_plan_scalar(plan, alpha);
    arguments.beta = mbi_plan_scalar(plan, beta);
    MBI_TRY(mbi_plan_launch(plan, adds ? s->sum : s->product, mbi_scan_product_name(s, adds),
                            (int64_t)(s->blocks + s->fill_blocks), s->threads,
                            mbi_scan_product_shared(plan, adds), stream, &arguments,
                            sizeof arguments));
  }
  return mbi_scan_launch_fixup(plan, carries, alpha, beta, y, stream, mbi_plan_start(plan, 1));
}

/* ---- Describe ---------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_scan_info(const merbit_plan *plan, merbit_plan_info *info) {
  const mbi_scan_schedule *s = mbi_scan_of(plan);
  info->block_threads = s->threads;
  info->tiles = (int64_t)s->tiles;
}

static int mbi_scan_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_scan_schedule *s = mbi_scan_of(plan);
  return snprintf(text, size,
                  "%" PRIu64 " tiles of 32 x %d, scan depth %d, %" PRIu64
                  " empty rows, %d threads%s%s",
                  s->tiles, s->steps, s->depth, s->empty_rows, s->threads,
                  s->whole    ? " with whole rows"
                  : s->linked ? " in linked blocks"
                              : "",
                  plan->passing == 16 ? ", matrix by streaming loads" : "");
}

/* Returns the forecast seconds of a product, the launch of the fix-up included. Values looked
 * up per row or in a table take longer here than streamed ones: a lookup is charged as a
 * fraction of a gather from L2, since both are limited by the multiprocessors. A sector of y
 * that holds both empty and other rows costs 2.5 times as much as it does where a later fix-up
 * writes the empty rows. (12M rows, 600,000 of them non-empty, on an H200: 75 us in f32, 110 us
 * in f64; 100M rows, 5M of them non-empty: 464 and 603 us.) */
MBI_INTERNAL double mbi_scan_cost(const merbit_plan *plan) {
  const mbi_traffic t = mbi_traffic_of(plan);
  const double traffic = mbi_phases_overlap(
      plan, t.vectors + t.lists + 2.5 * t.shared + t.stream, t.gathers, NULL);
  double seconds = mbi_choose_with_lines(plan, traffic,
                                         plan->nonempty.lines + mbi_choose_matrix_lines(plan)) +
                   plan->profile->launch_seconds / 2 + mbi_walk_fixup(plan, MBI_SCAN_TILE);
  if (plan->device.form == MBI_VALUES_TABLE || plan->device.form == MBI_VALUES_ROW) {
    seconds += t.nnz * mbi_choose_gather(plan, 0) * (plan->type == MERBIT_F32 ? 0.13 : 0.21);
  }
  return seconds;
}

/* Adds to *bound the memory for tiles of at least `steps` steps: the lists of rows, the
 * schedule, and two carries of `sums` bytes per tile. */
MBI_INTERNAL void mbi_scan_bound_tiles(const merbit_plan *plan, uint64_t steps, uint64_t sums,
                                       mbi_bound *bound) {
  const uint64_t tiles = plan->device.nnz / (32 * steps) + 1;
  mbi_nonempty_bound(plan, bound);
  /* row_ends has a word per 32 nonzeros and, in the last tile, at most 32 unused words.
   * tile_row and block_start follow. */
  bound->kept += (plan->device.nnz / 32 + 32) * sizeof(uint32_t) +
                 (2 * tiles + 1) * sizeof(uint32_t) +
                 (tiles + (tiles < MBI_SCAN_FITTED ? tiles : 0) + 4) * sizeof(uint64_t);
  bound->scratch += 2 * tiles * sums;
}

static merbit_status mbi_scan_bound(merbit_plan *plan, mbi_bound *bound) {
  uint64_t steps, least;
  MBI_TRY(mbi_scan_size(plan)); /* the rows are not known yet */
  steps = (uint64_t)mbi_scan_of(plan)->steps;
  least = plan->device.nnz <= mbi_scan_at_once(plan, 12) ? 2 : 4;
  mbi_scan_bound_tiles(
      plan, mbi_knob(plan, MBI_KNOB_SCAN_STEPS) == 0 && steps > least ? least : steps,
      mbi_type_size(mbi_plan_accumulator(plan)), bound);
  return MERBIT_OK;
}

MBI_INTERNAL const mbi_cuda_method mbi_scan_method = {
    sizeof(mbi_scan_schedule),                                            /* state_bytes */
    mbi_scan_create,                                                      /* create */
    mbi_scan_destroy,                                                     /* destroy */
    mbi_scan_carry_bytes,                                                 /* carry_bytes */
    mbi_scan_multiply,                                                    /* multiply */
    mbi_scan_info,                                                        /* info */
    mbi_scan_describe,                                                    /* describe */
    NULL,                                                                 /* refresh */
    (MBI_FORMS_ALL & ~MBI_FORMS_SLOW) | MBI_FORMS_UNPAID(MBI_FORMS_SLOW), /* forms */
    mbi_scan_cost,                                                        /* cost */
    mbi_scan_bound,                                                       /* bound */
    0,                                                                    /* making */
    NULL,                                                                 /* trusted */
    "steps whole",                                                        /* knobs */
};
