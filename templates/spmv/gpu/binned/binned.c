#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/binned/binned.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* BINNED on the host: builds the runs of nonzeros, launches the two phases and the fix-up.
 * spmv/gpu/binned/binned.cu describes the method. */

/* ---- Build: count, place, fill ----------------------------------------------------------- */

/* Launches build kernel `which`. */
static merbit_status mbi_binned_launch(merbit_plan *plan, int which, const char *name,
                                       uint64_t blocks, uint64_t shared,
                                       const void *arguments) {
  void *kernel = mbi_binned_of(plan)->kernels[which];
  MBI_TRY(mbi_device_reserve_shared(plan->context, kernel, name, (unsigned)shared));
  return mbi_device_launch(plan->context, kernel, name, (int64_t)blocks,
                           MBI_BINNED_BUILD_THREADS, (unsigned)shared, NULL, arguments);
}

/* Uploads a host array. */
static merbit_status mbi_binned_send(merbit_plan *plan, const uint32_t *array, uint64_t count,
                                     const char *what, mbi_devptr *target) {
  MBI_TRY(mbi_plan_allocate(plan, count * sizeof(uint32_t), what, target));
  return mbi_device_upload(plan->context, *target, array, (size_t)count * sizeof(uint32_t));
}

/* Computes part_start from the parts' numbers of groups. Fails if a part is too large. */
MBI_INTERNAL merbit_status mbi_binned_place_parts(merbit_plan *plan, uint32_t *groups) {
  mbi_binned *b = mbi_binned_of(plan);
  const uint64_t most = (uint64_t)plan->context->device.shared_bytes_per_block;
  uint64_t part;
  for (part = 0; part < b->parts; part++) {
    const uint32_t own = groups[part];
    b->part_groups = own > b->part_groups ? own : b->part_groups;
    groups[part] = (uint32_t)b->groups;
    b->groups += own;
  }
  groups[b->parts] = (uint32_t)b->groups;
  if (b->groups > UINT32_MAX || b->part_groups * mbi_binned_group(plan) > 65536 ||
      mbi_binned_sum_shared(plan, b->part_groups) > most ||
      mbi_binned_fill_shared(plan) > most) {
    return mbi_fail(
        plan->context, MERBIT_TOO_LARGE,
        "%" PRIu64 " groups of products, %" PRIu64
        " of them in one part, are too many; lower tiles in plan_desc.tuning or use another "
        "plan_desc.method",
        b->groups, b->part_groups);
  }
  return mbi_binned_send(plan, groups, b->parts + 1, "starts of parts", &b->part_start);
}

/* Computes the items of phase 1 from each strip's number of groups, and replaces that number by
 * the strip's first group. */
static merbit_status mbi_binned_place_strips(merbit_plan *plan, uint32_t *groups,
                                             uint32_t *items) {
  mbi_binned *b = mbi_binned_of(plan);
  uint64_t strip, sum = 0;
  for (strip = 0; strip < b->strips; strip++) {
    uint64_t left = groups[strip];
    groups[strip] = (uint32_t)sum;
    while (left > 0) {
      const uint64_t own = left < MBI_BINNED_ITEM ? left : MBI_BINNED_ITEM;
      uint32_t *const item = items + 3 * b->items++;
      item[0] = (uint32_t)strip;
      item[1] = (uint32_t)sum;
      sum += own;
      item[2] = (uint32_t)sum;
      left -= own;
    }
  }
  return mbi_binned_send(plan, items, 3 * b->items, "items", &b->item_list);
}

/* Counts the groups of the runs and orders the runs for phase 1. `groups` and `host` hold a
 * word per strip, and also a word per part and one more; behind these, `host` holds the
 * items. */
static merbit_status mbi_binned_place(merbit_plan *plan, mbi_devptr groups, uint32_t *host) {
  mbi_binned *b = mbi_binned_of(plan);
  merbit_context *context = plan->context;
  const uint64_t blocks =
      (b->strips * 32 + MBI_BINNED_BUILD_THREADS - 1) / MBI_BINNED_BUILD_THREADS;
  uint32_t strips = (uint32_t)b->strips;
  mbk_binned_count_arguments count_arguments;
  mbk_binned_total_arguments total_arguments;
  mbk_binned_offsets_arguments offsets_arguments;
  count_arguments.col_ind = plan->device.col_ind;
  count_arguments.nnz = plan->device.nnz;
  count_arguments.strips = strips;
  count_arguments.runs = b->runs;
  count_arguments.part_groups = groups;
  MBI_TRY(mbi_binned_launch(plan, 0, "mbk_binned_count", b->parts,
                            (b->strips + 1) * sizeof(uint32_t), &count_arguments));
  MBI_TRY(mbi_device_download(context, host, groups, b->parts * sizeof(uint32_t)));
  MBI_TRY(mbi_binned_place_parts(plan, host));
  total_arguments.runs = b->runs;
  total_arguments.strips = strips;
  total_arguments.parts = b->parts;
  total_arguments.groups = groups;
  MBI_TRY(mbi_binned_launch(plan, 1, "mbk_binned_total", blocks, 0, &total_arguments));
  MBI_TRY(mbi_device_download(context, host, groups, b->strips * sizeof(uint32_t)));
  MBI_TRY(mbi_binned_place_strips(plan, host, host + b->strips));
  MBI_TRY(mbi_device_upload(context, groups, host, b->strips * sizeof(uint32_t)));
  offsets_arguments.runs = b->runs;
  offsets_arguments.strips = strips;
  offsets_arguments.parts = b->parts;
  offsets_arguments.strip_start = groups;
  return mbi_binned_launch(plan, 2, "mbk_binned_offsets", blocks, 0, &offsets_arguments);
}

/* Allocates the runs, counts their groups and orders them. */
static merbit_status mbi_binned_order(merbit_plan *plan) {
  mbi_binned *b = mbi_binned_of(plan);
  merbit_context *context = plan->context;
  const uint64_t words = b->strips > b->parts + 1 ? b->strips : b->parts + 1;
  /* At most one item per strip is not full, and each group of a full item holds a nonzero. */
  const uint64_t items = b->strips + plan->device.nnz / MBI_BINNED_ITEM;
  mbi_devptr groups = 0;
  void *host = NULL;
  merbit_status status;
  MBI_TRY(mbi_plan_allocate(plan, b->strips * b->parts * sizeof(uint32_t), "runs", &b->runs));
  MBI_TRY(mbi_plan_allocate(plan, words * sizeof(uint32_t), "groups of runs", &groups));
  status = mbi_allocate_array(context, (int64_t)(words + 3 * items), sizeof(uint32_t),
                              "items of strips", &host);
  if (status == MERBIT_OK) {
    status = mbi_binned_place(plan, groups, (uint32_t *)host);
  }
  mbi_plan_release(plan, groups);
  mbi_release(context, host);
  return status;
}

/* Launches the kernel that copies the matrix into strips; with `again` only its values. */
static merbit_status mbi_binned_fill(merbit_plan *plan, uint32_t again) {
  mbi_binned *b = mbi_binned_of(plan);
  mbk_binned_fill_arguments arguments;
  arguments.col_ind = plan->device.col_ind;
  arguments.values = plan->device.values;
  arguments.nnz = plan->device.nnz;
  arguments.strips = (uint32_t)b->strips;
  arguments.runs = b->runs;
  arguments.part_start = b->part_start;
  arguments.strip_col = b->strip_col;
  arguments.strip_values = b->values;
  arguments.target = b->target;
  arguments.places = b->places;
  arguments.again = again;
  return mbi_binned_launch(plan, 3, "mbk_binned_fill", b->parts, mbi_binned_fill_shared(plan),
                           &arguments);
}

static merbit_status mbi_binned_refresh(merbit_plan *plan) {
  return mbi_binned_fill(plan, 1);
}

/* Stores the matrix in strips, in the order of the runs. */
static merbit_status mbi_binned_store(merbit_plan *plan) {
  mbi_binned *b = mbi_binned_of(plan);
  merbit_context *context = plan->context;
  const uint64_t size = mbi_type_size(plan->type), slots = b->groups * mbi_binned_group(plan);
  const uint64_t value_bytes = mbi_value_bytes(plan);
  const uint64_t places = mbi_scan_of(plan)->tiles * 32 * MBI_BINNED_STEPS * sizeof(uint16_t);
  const uint64_t last = 32 * MBI_BINNED_STEPS * sizeof(uint16_t);
  const uint64_t streams =
      slots * (sizeof(uint16_t) + value_bytes) + b->groups * sizeof(uint32_t) + places;
  mbi_devptr *const parts[] = {&b->strip_col, &b->values, &b->target, &b->places};
  const uint64_t bytes[] = {slots * sizeof(uint16_t), slots * value_bytes,
                            b->groups * sizeof(uint32_t), places};
  MBI_TRY(mbi_plan_allocate_parts(plan, "the matrix in strips", 4, parts, bytes));
  /* All places of the last tile are loaded, also those without a nonzero. */
  MBI_TRY(mbi_device_zero(context, b->places + places - last, (size_t)last, NULL));
  plan->schedule_bytes += streams + b->strips * b->parts * sizeof(uint32_t);
  plan->stream_bytes += streams + 2 * slots * size + mbi_value_bytes_once(plan);
  return mbi_binned_fill(plan, 0);
}

MBI_INTERNAL merbit_status mbi_binned_create(merbit_plan *plan) {
  mbi_binned *b = mbi_binned_of(plan);
  merbit_context *context = plan->context;
  MBI_TRY(mbi_scan_nonempty(plan));
  MBI_TRY(mbi_binned_size(plan));
  MBI_TRY(mbi_binned_specialise(plan));
  MBI_TRY(mbi_scan_schedule_create(plan));
  if (b->parts == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_binned_order(plan));
  MBI_TRY(mbi_binned_store(plan));
  MBI_TRY(mbi_device_reserve_shared(context, b->kernels[4], "mbk_binned_multiply",
                                    (unsigned)mbi_binned_multiply_shared(plan)));
  return mbi_device_reserve_shared(context, b->kernels[5], "mbk_binned_sum",
                                   (unsigned)mbi_binned_sum_shared(plan, b->part_groups));
}

static void mbi_binned_destroy(merbit_plan *plan) {
  mbi_binned *b = mbi_binned_of(plan);
  mbi_plan_release(plan, b->runs);
  mbi_plan_release(plan, b->part_start);
  mbi_plan_release(plan, b->item_list);
  mbi_plan_release(plan, b->strip_col);
  mbi_scan_destroy(plan);
}

/* ---- Launch ------------------------------------------------------------------------------ */

/* Returns the bytes of a product's scratch: the tiles' carries, then the products, which begin
 * at a multiple of 32 bytes. */
static uint64_t mbi_binned_carry_bytes(const merbit_plan *plan) {
  return mbi_scan_carry_bytes(plan) + 32 + mbi_binned_of(plan)->groups * 32;
}

static merbit_status mbi_binned_multiply(merbit_plan *plan, mbi_devptr carries,
                                         const void *alpha, mbi_devptr x, const void *beta,
                                         mbi_devptr y, void *stream) {
  mbi_binned *b = mbi_binned_of(plan);
  mbi_scan_schedule *s = mbi_scan_of(plan);
  mbi_devptr tails = carries + s->tiles * mbi_type_size(plan->type);
  mbi_devptr products = (carries + mbi_scan_carry_bytes(plan) + 31) / 32 * 32;
  /* In f64 dependent launches make the kernels up to 6% slower (H200). */
  const int overlaps = plan->type == MERBIT_F32;
  const int how = overlaps ? mbi_plan_start(plan, 0) : MBI_LAUNCH_PLAIN;
  mbk_binned_multiply_arguments multiply_arguments;
  mbk_binned_sum_arguments sum_arguments;
  if (b->parts == 0) {
    return mbi_scan_launch_fixup(plan, carries, alpha, beta, y, stream, how);
  }
  multiply_arguments.items = b->item_list;
  multiply_arguments.strip_col = b->strip_col;
  multiply_arguments.values = b->values != 0 ? b->values : plan->device.values;
  multiply_arguments.table = plan->device.table;
  multiply_arguments.target = b->target;
  multiply_arguments.x = x;
  multiply_arguments.cols = plan->device.cols;
  multiply_arguments.products = products;
  multiply_arguments.alpha = mbi_plan_scalar(plan, alpha);
  multiply_arguments.beta = mbi_plan_scalar(plan, beta);
  MBI_TRY(mbi_device_launch_some(
      plan->context, b->kernels[4], "mbk_binned_multiply", (int64_t)b->items, s->threads,
      (unsigned)mbi_binned_multiply_shared(plan), stream, &multiply_arguments, 0, how));
  sum_arguments.part_start = b->part_start;
  sum_arguments.products = products;
  sum_arguments.places = b->places;
  sum_arguments.by_row = plan->device.values;
  sum_arguments.row_ends = s->row_ends;
  sum_arguments.tile_row = s->tile_row;
  sum_arguments.row_id = plan->nonempty.row_id;
  sum_arguments.y = y;
  sum_arguments.firsts = carries;
  sum_arguments.tails = tails;
  sum_arguments.nnz = plan->device.nnz;
  sum_arguments.tiles = s->tiles;
  sum_arguments.alpha = mbi_plan_scalar(plan, alpha);
  sum_arguments.beta = mbi_plan_scalar(plan, beta);
  MBI_TRY(mbi_device_launch_some(
      plan->context, b->kernels[5], "mbk_binned_sum", (int64_t)b->parts, s->threads,
      (unsigned)mbi_binned_sum_shared(plan, b->part_groups), stream, &sum_arguments, 0, how));
  return mbi_scan_launch_fixup(plan, carries, alpha, beta, y, stream,
                               overlaps ? mbi_plan_start(plan, 1) : MBI_LAUNCH_PLAIN);
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_binned_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->block_threads = mbi_scan_of(plan)->threads;
  info->tiles = (int64_t)mbi_scan_of(plan)->tiles;
}

static int mbi_binned_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_binned *b = mbi_binned_of(plan);
  const uint64_t slots = b->groups * mbi_binned_group(plan);
  return snprintf(text, size,
                  "%" PRIu64 " strips of %" PRIu64 " columns, %" PRIu64 " parts of %" PRIu64
                  " nonzeros, %d tiles per warp, %.1f%% of the slots filled, %d threads",
                  b->strips, b->strip, b->parts, b->part_nonzeros, b->warp_tiles,
                  slots > 0 ? 100.0 * (double)plan->device.nnz / (double)slots : 100.0,
                  mbi_scan_of(plan)->threads);
}

/* Returns the forecast seconds of a product. Each nonzero is read, and its product is written
 * and read again. 0.7 of these bytes count, at the rate that follows from what L2 keeps of
 * them, and 0.35 of a gather from L2 per 4 bytes of a product. If some rows are empty, the
 * vectors count twice. Two launches follow the first and count as four. (Fitted like the
 * factors of spmv/choose/critical_path.c.) */
MBI_INTERNAL double mbi_binned_cost(const merbit_plan *plan) {
  const mbi_traffic t = mbi_traffic_of(plan);
  const double bytes = 1.1 * (4.5 + t.values + 2.0 * t.size);
  const int passing = mbi_choose_passing_of(plan, (uint64_t)(bytes * t.nnz));
  return t.vectors + t.lists + t.shared + (t.lists > 0 ? t.vectors : 0) +
         2 * plan->profile->launch_seconds +
         t.nnz * (0.7 * bytes * mbi_choose_stream_of(plan, passing) +
                  0.35 * t.size / 4.0 * mbi_choose_gather(plan, plan->profile->l2_bytes / 4)) +
         mbi_walk_fixup(plan, 32 * MBI_BINNED_STEPS);
}

/* Adds upper bounds. Each run may have one group that is not full, and no group is empty. */
static merbit_status mbi_binned_bound(merbit_plan *plan, mbi_bound *bound) {
  const mbi_binned *b = mbi_binned_of(plan);
  const uint64_t nnz = plan->device.nnz, group = mbi_binned_group(plan);
  const uint64_t each = sizeof(uint16_t) + mbi_value_bytes(plan);
  uint64_t runs, groups;
  MBI_TRY(mbi_binned_size(plan));
  runs = b->strips * b->parts;
  groups = nnz / group + runs < nnz ? nnz / group + runs : nnz;
  mbi_scan_bound_tiles(plan, MBI_BINNED_STEPS, mbi_type_size(plan->type), bound);
  bound->kept += (runs + b->parts + 1) * sizeof(uint32_t) +
                 3 * (b->strips + nnz / MBI_BINNED_ITEM) * sizeof(uint32_t) +
                 groups * (group * each + sizeof(uint32_t)) +
                 (nnz + 32 * MBI_BINNED_STEPS) * sizeof(uint16_t);
  bound->making += (b->strips + b->parts + 1) * sizeof(uint32_t);
  bound->scratch += 32 + groups * 32;
  return MERBIT_OK;
}

MBI_INTERNAL const mbi_cuda_method mbi_binned_method = {
    sizeof(mbi_binned),     /* state_bytes */
    mbi_binned_create,      /* create */
    mbi_binned_destroy,     /* destroy */
    mbi_binned_carry_bytes, /* carry_bytes */
    mbi_binned_multiply,    /* multiply */
    mbi_binned_info,        /* info */
    mbi_binned_describe,    /* describe */
    mbi_binned_refresh,     /* refresh */
    MBI_FORMS_ALL,          /* forms */
    mbi_binned_cost,        /* cost */
    mbi_binned_bound,       /* bound */
    MBI_MAKING_FORM,        /* making */
    NULL,                   /* trusted */
    "strip tiles",          /* knobs */
};
