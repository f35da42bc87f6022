#include "core/context.h"
#include "jit/jit.h"
#include "spmv/stages/stages.h"
#include "solve/amg/amg_cuda.h"

/* Products and transposes of sparse matrices in GPU memory. The kernels are in
 * solve/amg/multiply.cuh. All work is enqueued on the default stream. */

#define MBI_AMG_SHARED 49152 /* bytes of shared memory that every GPU gives a block */
#define MBI_AMG_TILE 2048    /* MBK_SCAN_TILE */
#define MBI_AMG_BLOCKS 8192  /* the most thread blocks of a kernel that takes any grid */
#define MBI_AMG_LONG ((uint64_t)1 << 28) /* rough bytes of scratch memory for long rows */
#define MBI_AMG_STRIP 3                  /* MBK_MULTIPLY_STRIP */

#ifndef MBI_AMG_FEW
#define MBI_AMG_FEW 4096 /* up to this many rows may get a thread block each */
#endif

static const char *const mbi_amg_kernel_names[MBI_AMG_KERNELS] = {
    "mbk_scan_sums",
    "mbk_scan_tiles",
    "mbk_scan_counts",
    "mbk_multiply_columns",
    "mbk_multiply_long_columns",
    "mbk_multiply_values",
    "mbk_multiply_blocks",
    "mbk_multiply_packs",
    "mbk_multiply_long_values",
    "mbk_amg_copy",
    "mbk_amg_move",
    "mbk_amg_rows",
    "mbk_amg_symmetry",
    "mbk_amg_links",
    "mbk_amg_nodes",
    "mbk_amg_norms",
    "mbk_amg_fill",
    "mbk_amg_lump",
    "mbk_amg_expand",
    "mbk_amg_lanczos_start",
    "mbk_amg_lanczos_multiply",
    "mbk_amg_lanczos_subtract",
    "mbk_amg_products",
    "mbk_amg_near_keys",
    "mbk_amg_decide",
    "mbk_amg_join",
    "mbk_amg_rest",
    "mbk_amg_follow",
    "mbk_amg_tentative",
    "mbk_amg_depend",
    "mbk_amg_weigh",
    "mbk_amg_block",
    "mbk_amg_settle",
    "mbk_amg_attach",
    "mbk_amg_beside",
    "mbk_amg_point",
    "mbk_amg_nearby",
    "mbk_amg_gather",
    "mbk_amg_restrict",
    "mbk_amg_relax",
    "mbk_amg_invert",
};

/* ---- Programs and launches --------------------------------------------------------------- */

/* Compiles or loads the two programs of the set-up. */
MBI_INTERNAL merbit_status mbi_amg_gpu_open(mbi_amg_gpu *gpu) {
  merbit_context *context = gpu->context;
  mbi_device_csr none;
  mbi_preamble empty, preamble;
  mbi_program_wish wishes[2];
  mbi_program_times times;
  int i;
  memset(&empty, 0, sizeof empty);
  memset(&none, 0, sizeof none);
  memset(&times, 0, sizeof times);
  gpu->transpose.from = &none;
  mbi_transpose_preamble(&gpu->transpose, &preamble);
  wishes[0].file = MBI_AMG_FILE;
  wishes[0].preamble = &empty;
  wishes[0].program = &gpu->program;
  wishes[1].file = MBI_TRANSPOSE_FILE;
  wishes[1].preamble = &preamble;
  wishes[1].program = &gpu->transpose.program;
  wishes[0].parts = wishes[1].parts = 1;
  MBI_TRY(mbi_programs_create(context, wishes, 2, &times));
  for (i = 0; i < MBI_AMG_KERNELS; i++) {
    MBI_TRY(
        mbi_program_kernel(context, &gpu->program, mbi_amg_kernel_names[i], &gpu->kernels[i]));
  }
  MBI_TRY(mbi_transpose_find(context, &gpu->transpose));
  return mbi_amg_pool_take(context, &gpu->keep, sizeof(mbi_amg_facts), &gpu->facts);
}

MBI_NOINLINE MBI_INTERNAL merbit_status mbi_amg_launch(mbi_amg_gpu *gpu, int kernel,
                                                       int64_t grid, int threads, size_t shared,
                                                       const void *arguments) {
  return mbi_device_launch(gpu->context, gpu->kernels[kernel], mbi_amg_kernel_names[kernel],
                           grid, threads, (unsigned)shared, NULL, arguments);
}

/* Returns the number of thread blocks for `count` threads. */
MBI_INTERNAL int64_t mbi_amg_blocks(int64_t count) {
  const int64_t blocks = mbi_block_count(count, MBI_AMG_THREADS);
  return blocks < MBI_AMG_BLOCKS ? blocks : MBI_AMG_BLOCKS;
}

/* Returns the number of lanes for rows of `nnz` / `rows` entries, 1 to 32. */
MBI_INTERNAL uint32_t mbi_amg_row_lanes(int64_t rows, int64_t nnz) {
  uint32_t lanes = 1;
  while (lanes < 32 && nnz >= 2 * (int64_t)lanes * rows) {
    lanes *= 2;
  }
  return lanes;
}

MBI_NOINLINE MBI_INTERNAL merbit_status mbi_amg_run(mbi_amg_gpu *gpu, int kernel,
                                                    int64_t threads, const void *arguments) {
  return mbi_amg_launch(gpu, kernel, mbi_amg_blocks(threads), MBI_AMG_THREADS, 0, arguments);
}

MBI_INTERNAL merbit_status mbi_amg_keep(mbi_amg_gpu *gpu, int64_t count, size_t size,
                                        mbi_devptr *address) {
  return mbi_amg_pool_take(gpu->context, &gpu->keep, (uint64_t)count * size, address);
}

MBI_INTERNAL merbit_status mbi_amg_borrow(mbi_amg_gpu *gpu, int64_t count, size_t size,
                                          mbi_devptr *address) {
  return mbi_amg_pool_take(gpu->context, &gpu->scratch, (uint64_t)count * size, address);
}

/* Enqueues a copy of `count` numbers of `from`, in order or indexed by `places` if not 0, to
 * `to` in f64 or to `rounded` in f32. */
MBI_INTERNAL merbit_status mbi_amg_move(mbi_amg_gpu *gpu, mbi_devptr from, mbi_devptr places,
                                        int64_t count, mbi_devptr to, mbi_devptr rounded) {
  mbk_amg_move_arguments arguments;
  arguments.count = (uint64_t)count;
  arguments.places = places;
  arguments.from = from;
  arguments.to = to;
  arguments.rounded = rounded;
  return mbi_amg_run(gpu, MBI_AMG_MOVE, count, &arguments);
}

/* Waits for the enqueued work and copies the numbers that the kernels have reported. */
MBI_INTERNAL merbit_status mbi_amg_read(mbi_amg_gpu *gpu, mbi_amg_facts *facts) {
  return mbi_device_download(gpu->context, facts, gpu->facts, sizeof *facts);
}

/* Enqueues the scan that turns `count` counts into exclusive prefix sums, then the total. */
MBI_INTERNAL merbit_status mbi_amg_scan(mbi_amg_gpu *gpu, mbi_devptr counts, int64_t count) {
  const size_t shared = MBI_AMG_THREADS / 32 * sizeof(uint64_t);
  mbk_scan_arguments arguments;
  arguments.counts = counts;
  arguments.count = (uint64_t)count;
  arguments.tiles = (uint64_t)mbi_block_count(count, MBI_AMG_TILE);
  arguments.total = gpu->facts + offsetof(mbi_amg_facts, total);
  arguments.most = gpu->facts + offsetof(mbi_amg_facts, most);
  MBI_TRY(mbi_amg_pool_take(gpu->context, &gpu->scratch, arguments.tiles * sizeof(uint64_t),
                            &arguments.sums));
  MBI_TRY(mbi_amg_launch(gpu, MBI_AMG_SCAN_SUMS, (int64_t)arguments.tiles, MBI_AMG_THREADS,
                         shared, &arguments));
  MBI_TRY(mbi_amg_launch(gpu, MBI_AMG_SCAN_TILES, 1, MBI_AMG_THREADS, shared, &arguments));
  return mbi_amg_launch(gpu, MBI_AMG_SCAN_COUNTS, (int64_t)arguments.tiles, MBI_AMG_THREADS,
                        shared, &arguments);
}

/* ---- Products ---------------------------------------------------------------------------- */

/* Returns the smallest power of two that is at least `count`, limited to `least` and `most`. */
static uint32_t mbi_amg_power(double count, uint32_t least, uint32_t most) {
  uint32_t power = least;
  while (power < most && power < count) {
    power *= 2;
  }
  return power;
}

/* The groups of lanes that compute the rows of a product. */
typedef struct mbi_amg_lanes {
  uint32_t a, b;   /* entries of A's row, and of each row of B, at a time */
  double products; /* average per row of C */
} mbi_amg_lanes;

/* Returns the number of columns of a block of width `wide` that a lane takes at a time. */
static uint32_t mbi_amg_pack(uint32_t wide) {
  return wide % 2 == 0 ? 2 : 1;
}

/* Returns the groups for the pass over columns, or with `values` for that over values. A lane
 * takes about two entries of B's rows if those are single values. Groups of the columns' pass
 * are larger, because each has a table in shared memory. */
static mbi_amg_lanes mbi_amg_lanes_of(const mbi_amg_there *a, const mbi_amg_there *b,
                                      int values) {
  const int few = values && b->wide <= 1;
  const double of_a = (double)a->nnz / (double)(a->rows > 0 ? a->rows : 1);
  const uint32_t wide = b->wide > 1 ? b->wide / mbi_amg_pack(b->wide) : 1;
  const double of_b =
      (b->row_ptr != 0 ? (double)b->nnz / (double)(b->rows > 0 ? b->rows : 1) : 1) * wide;
  mbi_amg_lanes lanes;
  lanes.products = of_a * of_b;
  lanes.b = mbi_amg_power(of_b * (few ? 0.5 : 0.75), 1, b->wide > 1 ? 32 : 16);
  lanes.a =
      mbi_amg_power(of_a / (few || b->row_ptr == 0 ? 8 : 4), 1, lanes.b < 8 ? 4 : 32 / lanes.b);
  return lanes;
}

/* Returns whether all rows go to whole thread blocks, because they are too few to fill the GPU
 * with groups of a warp. */
static int mbi_amg_few(int64_t rows, const mbi_amg_lanes *lanes) {
  return rows <= MBI_AMG_FEW && lanes->products >= MBI_AMG_THREADS;
}

/* Returns the most bytes of shared memory that each group can have if the block is one warp. */
static size_t mbi_amg_shared(const mbi_amg_lanes *lanes) {
  return (size_t)MBI_AMG_SHARED * lanes->a * lanes->b / 32;
}

/* Returns the number of threads of a block, up to `threads`, whose groups need `bytes` of
 * shared memory each. */
static int mbi_amg_threads(const mbi_amg_lanes *lanes, size_t bytes, int threads) {
  const size_t group = lanes->a * lanes->b;
  while (threads > 32 && (size_t)threads / group * bytes > MBI_AMG_SHARED) {
    threads /= 2;
  }
  return threads;
}

/* Returns the number of thread blocks for the long rows; each needs `bytes` of memory. */
static int64_t mbi_amg_long_grid(const mbi_amg_gpu *gpu, uint64_t bytes) {
  const uint64_t most = 4 * (uint64_t)gpu->context->device.multiprocessors;
  const uint64_t fit = MBI_AMG_LONG / (bytes + 1) + 1;
  return (int64_t)(fit < most ? fit : most);
}

/* Returns the bytes of shared memory for a set of columns. */
static size_t mbi_amg_set_bytes(uint32_t slots) {
  return (slots + slots / 2 + 1) * sizeof(uint32_t);
}

/* Sets the sizes of the tables of columns, and how many columns of a row the first pass keeps.
 */
static void mbi_amg_tables(mbk_multiply_columns_arguments *arguments, const mbi_amg_there *a,
                           const mbi_amg_lanes *lanes) {
  uint32_t slots = mbi_amg_power(lanes->products / 2, 128, 2048);
  while (mbi_amg_set_bytes(slots) > mbi_amg_shared(lanes)) {
    slots /= 2;
  }
  while (arguments->b_ptr == 0 && a->longest > 0 && slots / 4 >= a->longest) {
    slots /= 2; /* C's rows are no longer than A's */
  }
  arguments->slots = slots;
  arguments->keeps = mbi_amg_power(lanes->products / 2, 8, 64);
  if (arguments->keeps > slots / 2) {
    arguments->keeps = slots / 2;
  }
}

/* Enqueues the pass that counts the columns of C, or writes them if there is
 * arguments->c_col. */
static merbit_status mbi_amg_columns(mbi_amg_gpu *gpu,
                                     mbk_multiply_columns_arguments *arguments,
                                     const mbi_amg_lanes *lanes, int64_t grid_long) {
  const size_t bytes = mbi_amg_set_bytes(arguments->slots);
  const int threads = mbi_amg_threads(lanes, bytes, MBI_AMG_THREADS);
  const int groups = threads / (int)(lanes->a * lanes->b);
  if (arguments->long_rows != 0) {
    MBI_TRY(mbi_amg_launch(gpu, MBI_AMG_COLUMNS_PASS,
                           mbi_block_count((int64_t)arguments->rows, groups), threads,
                           (size_t)groups * bytes, arguments));
  }
  return mbi_amg_launch(gpu, MBI_AMG_LONG_COLUMNS, grid_long, MBI_AMG_THREADS,
                        MBI_AMG_THREADS / 32 * sizeof(uint64_t), arguments);
}

/* Fails if a matrix has more entries than 32-bit offsets can count. */
MBI_INTERNAL merbit_status mbi_amg_check_entries(merbit_context *context, uint64_t entries) {
  return entries <= INT32_MAX ? MERBIT_OK
                              : mbi_fail(context, MERBIT_TOO_LARGE,
                                         "a product of AMG's set-up has %" PRIu64
                                         " nonzeros; it takes at most 2147483647",
                                         entries);
}

/* Sets the structure of C = A B: c->row_ptr and c->col_ind, allocated from gpu->keep. Without
 * b->row_ptr, row j of B is one entry in column b->col_ind[j], or empty if that is negative;
 * without b->col_ind either, B is the unit matrix. With `smooths`, A has a diagonal that its
 * arrays do not hold. Waits once. */
MBI_INTERNAL merbit_status mbi_amg_product_columns(mbi_amg_gpu *gpu, const mbi_amg_there *a,
                                                   const mbi_amg_there *b, int smooths,
                                                   mbi_amg_there *c) {
  merbit_context *context = gpu->context;
  const mbi_amg_lanes lanes = mbi_amg_lanes_of(a, b, 0);
  const uint64_t words = ((uint64_t)b->cols + 31) / 32;
  const int64_t grid_long = mbi_amg_long_grid(gpu, words * sizeof(uint32_t));
  const mbi_amg_pool scratch = gpu->scratch;
  mbk_multiply_columns_arguments arguments;
  mbi_amg_facts facts;
  c->rows = a->rows;
  c->cols = b->cols;
  MBI_TRY(mbi_amg_pool_take(context, &gpu->keep, ((uint64_t)c->rows + 1) * sizeof(int32_t),
                            &c->row_ptr));
  arguments.rows = (uint64_t)a->rows;
  arguments.a_ptr = a->row_ptr;
  arguments.a_col = a->col_ind;
  arguments.b_ptr = b->row_ptr;
  arguments.b_col = b->col_ind;
  arguments.smooths = (uint32_t)smooths;
  arguments.lanes_a = lanes.a;
  arguments.lanes_b = lanes.b;
  mbi_amg_tables(&arguments, a, &lanes);
  arguments.c_ptr = c->row_ptr;
  arguments.c_col = 0;
  arguments.long_count = gpu->facts + offsetof(mbi_amg_facts, long_rows);
  arguments.words = words;
  arguments.long_rows = arguments.kept = 0;
  if (!mbi_amg_few(a->rows, &lanes)) {
    MBI_TRY(mbi_amg_borrow(gpu, c->rows, sizeof(int32_t), &arguments.long_rows));
    MBI_TRY(mbi_amg_borrow(gpu, c->rows * arguments.keeps, sizeof(int32_t), &arguments.kept));
  }
  MBI_TRY(mbi_amg_pool_take(context, &gpu->scratch,
                            (uint64_t)grid_long * words * sizeof(uint32_t), &arguments.bits));
  MBI_TRY(mbi_device_zero(context, gpu->facts, offsetof(mbi_amg_facts, missing), NULL));
  MBI_TRY(mbi_amg_columns(gpu, &arguments, &lanes, grid_long));
  MBI_TRY(mbi_amg_scan(gpu, c->row_ptr, c->rows));
  MBI_TRY(mbi_amg_read(gpu, &facts));
  MBI_TRY(mbi_amg_check_entries(context, facts.total));
  c->nnz = (int64_t)facts.total;
  c->longest = facts.most;
  MBI_TRY(mbi_amg_pool_take(context, &gpu->keep, facts.total * sizeof(int32_t), &c->col_ind));
  arguments.c_col = c->col_ind;
  MBI_TRY(mbi_amg_columns(gpu, &arguments, &lanes,
                          arguments.long_rows == 0 || facts.long_rows > 0 ? grid_long : 0));
  mbi_amg_pool_rewind(&gpu->scratch, &scratch); /* later work runs after the pass */
  return MERBIT_OK;
}

/* Sets the number of rows of a strip (up to `high`) and the number of strips. */
static void mbi_amg_strips(mbk_multiply_values_arguments *arguments, int64_t nodes,
                           uint32_t high) {
  arguments->high = arguments->high_c < high ? arguments->high_c : high;
  arguments->strips = (arguments->high_c + arguments->high - 1) / arguments->high;
  arguments->rows = (uint64_t)nodes * arguments->strips;
}

/* Enqueues the pass over the rows of C that have more than arguments->most entries. */
static merbit_status mbi_amg_long_values(mbi_amg_gpu *gpu, int64_t nodes,
                                         mbk_multiply_values_arguments *arguments) {
  size_t shared = (2 + MBI_AMG_THREADS) * sizeof(uint32_t);
  uint64_t sums, warps = MBI_AMG_THREADS / 32;
  int64_t grid;
  mbi_amg_strips(arguments, nodes, MBI_AMG_STRIP);
  sums = (uint64_t)arguments->longest * arguments->high * arguments->wide * sizeof(double);
  grid = mbi_amg_long_grid(gpu, warps * sums);
  while (warps > 2 && shared + warps * sums > MBI_AMG_SHARED) {
    warps /= 2;
    grid *= 2;
  }
  if (shared + warps * sums <= MBI_AMG_SHARED) {
    shared += (size_t)(warps * sums);
  } else { /* in GPU memory */
    grid = grid * (int64_t)warps / (MBI_AMG_THREADS / 32);
    warps = MBI_AMG_THREADS / 32;
    MBI_TRY(mbi_amg_pool_take(gpu->context, &gpu->scratch, (uint64_t)grid * warps * sums,
                              &arguments->sums));
  }
  return mbi_amg_launch(gpu, MBI_AMG_LONG_VALUES, grid, 32 * (int)warps, shared, arguments);
}

/* Enqueues the pass that writes c->values. The entries of all three matrices may be blocks.
 * `smooths` is NULL, or the level whose P is C: then B is T, and A has the columns of A_F. */
MBI_INTERNAL merbit_status mbi_amg_product_values(mbi_amg_gpu *gpu, const mbi_amg_there *a,
                                                  const mbi_amg_there *b,
                                                  const mbi_amg_gpu_level *smooths,
                                                  const mbi_amg_there *c) {
  const mbi_amg_lanes lanes = mbi_amg_lanes_of(a, b, 1);
  const double mean = (double)c->nnz / (double)(c->rows > 0 ? c->rows : 1);
  const uint32_t usual = mbi_amg_power(8 * mean, 64, 1024); /* only few rows are longer */
  int kernel = MBI_AMG_VALUES_PASS, threads = MBI_AMG_THREADS, groups;
  mbk_multiply_values_arguments arguments;
  arguments.a_ptr = a->row_ptr;
  arguments.a_col = a->col_ind;
  arguments.a_val = a->values;
  arguments.b_ptr = b->row_ptr;
  arguments.b_col = b->col_ind;
  arguments.b_val = b->values;
  arguments.scale = smooths != NULL ? smooths->scale : 0;
  arguments.omega = smooths != NULL && smooths->empty == 0 && smooths->lambda > 0
                        ? MBI_AMG_OMEGA / smooths->lambda
                        : 0;
  arguments.high_b = b->high > 0 ? b->high : 1;
  arguments.high_c = c->high > 0 ? c->high : 1;
  arguments.wide = b->wide > 0 ? b->wide : 1;
  arguments.lanes_a = lanes.a;
  arguments.lanes_b = lanes.b;
  arguments.most = 0;
  arguments.longest = c->longest;
  arguments.c_ptr = c->row_ptr;
  arguments.c_col = c->col_ind;
  arguments.c_val = c->values;
  arguments.sums = 0;
  if (arguments.high_b * arguments.high_c * arguments.wide > 1) {
    kernel = mbi_amg_pack(arguments.wide) > 1 ? MBI_AMG_PACKS_PASS : MBI_AMG_BLOCKS_PASS;
    threads /= 2;
  }
  mbi_amg_strips(&arguments, a->rows, MBI_AMG_STRIP);
  if (!mbi_amg_few((int64_t)arguments.rows, &lanes)) {
    const size_t entry =
        lanes.a * arguments.high * arguments.wide * sizeof(double) + sizeof(int32_t);
    const uint32_t fit = (uint32_t)(mbi_amg_shared(&lanes) / entry) & ~3u;
    uint32_t most = ((c->longest < usual ? c->longest : usual) + 3) & ~3u;
    size_t bytes;
    most = most < fit ? most : fit;
    bytes = most * entry;
    threads = mbi_amg_threads(&lanes, bytes, threads);
    groups = threads / (int)(lanes.a * lanes.b);
    arguments.most = most;
    MBI_TRY(mbi_amg_launch(gpu, kernel, mbi_block_count((int64_t)arguments.rows, groups),
                           threads, (size_t)groups * bytes, &arguments));
  }
  return c->longest > arguments.most ? mbi_amg_long_values(gpu, a->rows, &arguments)
                                     : MERBIT_OK;
}

/* ---- Transposes -------------------------------------------------------------------------- */

/* Sets the structure of R, the transpose of P, and the index in P of each of its entries,
 * allocated from gpu->keep. */
MBI_INTERNAL merbit_status mbi_amg_turn(mbi_amg_gpu *gpu, const mbi_amg_there *p,
                                        mbi_amg_there *r, mbi_devptr *places) {
  merbit_context *context = gpu->context;
  const uint64_t columns = (uint64_t)p->nnz * sizeof(int32_t);
  const mbi_amg_pool scratch = gpu->scratch;
  mbi_transposing *t = &gpu->transpose;
  mbi_device_csr from, to;
  int i;
  r->rows = p->cols;
  r->cols = p->rows;
  r->nnz = p->nnz;
  MBI_TRY(mbi_amg_pool_take(context, &gpu->keep, ((uint64_t)r->rows + 1) * sizeof(int32_t),
                            &r->row_ptr));
  MBI_TRY(mbi_amg_pool_take(context, &gpu->keep, columns, &r->col_ind));
  MBI_TRY(mbi_amg_pool_take(context, &gpu->keep, columns, places));
  memset(&from, 0, sizeof from);
  memset(&to, 0, sizeof to);
  from.row_ptr = p->row_ptr;
  from.col_ind = p->col_ind;
  from.rows = to.cols = (uint64_t)p->rows;
  from.cols = to.rows = (uint64_t)p->cols;
  from.nnz = to.nnz = (uint64_t)p->nnz;
  to.row_ptr = r->row_ptr;
  t->from = &from;
  t->to = &to;
  mbi_transpose_size(context, t);
  for (i = 0; i < 2; i++) {
    MBI_TRY(mbi_amg_pool_take(context, &gpu->scratch, columns, &t->keys[i]));
  }
  MBI_TRY(mbi_amg_pool_take(context, &gpu->scratch, columns, &t->rows[1 - t->last]));
  MBI_TRY(mbi_amg_pool_take(context, &gpu->scratch, columns, &t->places[1 - t->last]));
  MBI_TRY(mbi_amg_pool_take(context, &gpu->scratch, (t->blocks * sizeof(int32_t)) << t->bits,
                            &t->counts));
  MBI_TRY(mbi_amg_pool_take(context, &gpu->scratch, sizeof(int32_t) << t->bits, &t->totals));
  t->rows[t->last] = r->col_ind;
  t->places[t->last] = *places;
  MBI_TRY(mbi_transpose_enqueue(context, t));
  mbi_amg_pool_rewind(&gpu->scratch, &scratch); /* later work runs after the transpose */
  return MERBIT_OK;
}
