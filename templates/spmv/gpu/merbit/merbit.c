#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/merbit/merbit.h"
#include "spmv/plan/plan.h"

/* MERBIT on the host: sizes, building TILE, launches. spmv/gpu/merbit/merbit.cu describes
 * the method. */

/* ---- Sizes, from the plan's settings ----------------------------------------------------- */

/* Returns the state of a plan that uses this method. */
MBI_INTERNAL mbi_merbit *mbi_merbit_of(const merbit_plan *plan) {
  return (mbi_merbit *)plan->state;
}

/* Blocks of 512 threads over neighbouring tiles share more of x in L1. If there would be fewer
 * such blocks per multiprocessor than this, smaller ones balance the work better. */
#define MBI_MERBIT_FEW_BLOCKS 8

/* Returns ceil(log2(value)) for value >= 1. */
MBI_INTERNAL int mbi_log2_ceiling(uint64_t value) {
  int bits = 0;
  while (((uint64_t)1 << bits) < value) {
    bits++;
  }
  return bits;
}

static uint64_t mbi_merbit_blocks(const mbi_merbit *m) {
  const uint64_t block_tiles = (uint64_t)(m->threads / m->omega);
  return (m->tiles + block_tiles - 1) / block_tiles;
}

/* Chooses and checks all sizes that the kernels are compiled for. Fails if a lane descriptor
 * would not fit in 64 bits. */
MBI_INTERNAL merbit_status mbi_merbit_size(merbit_plan *plan) {
  mbi_merbit *m = mbi_merbit_of(plan);
  merbit_context *context = plan->context;
  uint64_t tile_steps;
  int bits, most;
  m->dual = plan->making.dual;
  m->omega = plan->desc.omega != 0 ? plan->desc.omega : 32;
  m->sigma = plan->desc.sigma != 0 ? plan->desc.sigma : plan->type == MERBIT_F32 ? 14 : 7;
  m->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads : 512;
  if (m->omega != 32 && m->omega != 16 && m->omega != 8) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "plan_desc.omega is %d; use 32, 16 or 8",
                    m->omega);
  }
  if (m->threads < 32 || m->threads > 1024 || m->threads % 32 != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.block_threads is %d; use a multiple of 32 up to 1024",
                    m->threads);
  }
  /* A 64-bit lane descriptor holds sigma bits and two coordinates of log2(omega) +
   * ceil(log2(sigma)) bits. The largest sigma is above 32, so the last term is 6. */
  most = 64 - 2 * 6 - 2 * mbi_log2_ceiling((uint64_t)m->omega);
  if (m->sigma < 1 || m->sigma > most) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.sigma is %d; with omega %d use 1 to %d", m->sigma, m->omega,
                    most);
  }
  tile_steps = (uint64_t)m->omega * (uint64_t)m->sigma;
  m->coordinate_bits = mbi_log2_ceiling(tile_steps);
  bits = 2 * m->coordinate_bits + m->sigma;
  m->descriptor_bits = bits <= 32 ? 32 : 64;
  m->path = plan->device.rows + plan->device.nnz;
  m->tiles = (m->path + tile_steps - 1) / tile_steps;
  if (plan->desc.block_threads == 0 &&
      mbi_merbit_blocks(m) <
          MBI_MERBIT_FEW_BLOCKS * (uint64_t)context->device.multiprocessors) {
    m->threads = 128;
  }
  m->blocks = mbi_merbit_blocks(m);
  m->tile_bytes = m->path < (uint64_t)1 << 31 ? 4 : 8;
  if (m->tiles > (uint64_t)INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " rows and %" PRIu64 " nonzeros make %" PRIu64
                    " tiles; raise plan_desc.sigma",
                    plan->device.rows, plan->device.nnz, m->tiles);
  }
  return MERBIT_OK;
}

/* Returns the bytes of dynamic shared memory, as spmv/gpu/merbit/merbit.cu lays it out. */
MBI_INTERNAL unsigned mbi_merbit_product_shared(const mbi_merbit *m, merbit_type type) {
  const size_t groups = (size_t)(m->threads / m->omega);
  return (unsigned)(mbi_type_size(type) * ((size_t)(m->threads * m->sigma) + groups) +
                    sizeof(uint32_t) * groups);
}

MBI_INTERNAL unsigned mbi_merbit_build_shared(const mbi_merbit *m) {
  const int words = (m->omega * m->sigma + 31) / 32 + 2;
  return (unsigned)((size_t)(MBI_MERBIT_BUILD_THREADS / m->omega * words) * sizeof(uint32_t));
}

/* ---- Specialise: one program with the three kernels -------------------------------------- */

MBI_INTERNAL void mbi_merbit_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_merbit *m = mbi_merbit_of(plan);
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define(preamble, "MBK_TILE", m->tile_bytes == 8 ? "mbk_u64" : "mbk_u32");
  mbi_preamble_define(preamble, "MBK_DESCRIPTOR",
                      m->descriptor_bits == 64 ? "mbk_u64" : "mbk_u32");
  mbi_preamble_define_int(preamble, "MBK_COORDINATE_BITS", m->coordinate_bits);
  mbi_preamble_define_int(preamble, "MBK_SIGMA", m->sigma);
  mbi_preamble_define_int(preamble, "MBK_OMEGA", m->omega);
  mbi_preamble_define_int(preamble, "MBK_THREADS", m->threads);
  mbi_preamble_define_int(preamble, "MBK_DUAL", m->dual);
}

static merbit_status mbi_merbit_specialise(merbit_plan *plan) {
  mbi_merbit *m = mbi_merbit_of(plan);
  merbit_context *context = plan->context;
  const unsigned shared = mbi_merbit_product_shared(m, plan->type);
  mbi_preamble preamble;
  if (shared > (unsigned)context->device.shared_bytes_per_block) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "sigma %d with %d threads per block needs %u bytes of shared memory, %s has %d; "
        "use a smaller plan_desc.sigma or block_threads",
        m->sigma, m->threads, shared, context->device.name,
        context->device.shared_bytes_per_block);
  }
  mbi_merbit_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/gpu/merbit/merbit.cu", &preamble, m->dual ? 1 : 2,
                           &plan->program));
  MBI_TRY(mbi_program_kernel(context, &plan->program, "mbk_merbit_build", &m->build));
  MBI_TRY(mbi_program_kernel(context, &plan->program, "mbk_merbit_product", &m->product));
  if (!m->dual) {
    MBI_TRY(mbi_program_part_kernel(context, &plan->program, 1, "mbk_merbit_fixup", &m->fixup));
  }
  MBI_TRY(mbi_device_reserve_shared(context, m->product, "mbk_merbit_product", shared));
  return MERBIT_OK;
}

/* ---- Launch: build TILE once, then products ---------------------------------------------- */

/* Launches the kernel that builds TILE. */
MBI_INTERNAL merbit_status mbi_merbit_build(merbit_plan *plan, void *stream) {
  mbi_merbit *m = mbi_merbit_of(plan);
  const uint64_t block_tiles = (uint64_t)(MBI_MERBIT_BUILD_THREADS / m->omega);
  mbk_merbit_build_arguments arguments;
  arguments.row_ptr = plan->device.row_ptr;
  arguments.rows = plan->device.rows;
  arguments.nnz = plan->device.nnz;
  arguments.tiles = m->tiles;
  arguments.tile_x = m->tile_x;
  arguments.tile_y = m->tile_y;
  arguments.lane_desc = m->lane_desc;
  return mbi_device_launch(plan->context, m->build, "mbk_merbit_build",
                           (int64_t)((m->tiles + block_tiles - 1) / block_tiles),
                           MBI_MERBIT_BUILD_THREADS, mbi_merbit_build_shared(m), stream,
                           &arguments);
}

/* Returns the bytes of scratch for one product: the carries of its blocks. */
MBI_INTERNAL uint64_t mbi_merbit_carry_bytes(const merbit_plan *plan) {
  return mbi_merbit_of(plan)->dual
             ? 0
             : 2 * mbi_merbit_of(plan)->blocks * mbi_type_size(plan->type);
}

/* Returns the bytes of tile_x, or of tile_y. */
static uint64_t mbi_merbit_coordinate_bytes(const mbi_merbit *m) {
  return (m->tiles + 1) * (uint64_t)m->tile_bytes;
}

static uint64_t mbi_merbit_descriptor_bytes(const mbi_merbit *m) {
  return m->tiles * (uint64_t)m->omega * (uint64_t)(m->descriptor_bits / 8);
}

static merbit_status mbi_merbit_bound(merbit_plan *plan, mbi_bound *bound) {
  const mbi_merbit *m = mbi_merbit_of(plan);
  MBI_TRY(mbi_merbit_size(plan));
  bound->kept += 2 * mbi_merbit_coordinate_bytes(m) + mbi_merbit_descriptor_bytes(m);
  bound->scratch += mbi_merbit_carry_bytes(plan);
  return MERBIT_OK;
}

/* Builds MERBIT's arrays for plan->device. On failure the caller runs mbi_merbit_destroy. */
static merbit_status mbi_merbit_create(merbit_plan *plan) {
  mbi_merbit *m = mbi_merbit_of(plan);
  merbit_context *context = plan->context;
  uint64_t coordinates, descriptors;
  MBI_TRY(mbi_merbit_size(plan));
  coordinates = mbi_merbit_coordinate_bytes(m);
  descriptors = mbi_merbit_descriptor_bytes(m);
  plan->schedule_bytes = 2 * coordinates + descriptors;
  plan->stream_bytes = plan->schedule_bytes + mbi_device_csr_stream_bytes(plan) +
                       2 * mbi_merbit_carry_bytes(plan);
  MBI_TRY(mbi_merbit_specialise(plan));
  {
    mbi_devptr *const parts[] = {&m->tile_x, &m->tile_y, &m->lane_desc};
    const uint64_t bytes[] = {coordinates, coordinates, descriptors};
    MBI_TRY(mbi_plan_allocate_parts(plan, "lane descriptors", 3, parts, bytes));
  }
  MBI_TRY(mbi_merbit_build(plan, NULL));
  MBI_TRY(mbi_device_synchronize(context, NULL));
  return MERBIT_OK;
}

static void mbi_merbit_destroy(merbit_plan *plan) {
  /* This also releases the arrays that were allocated with it. */
  mbi_plan_release(plan, mbi_merbit_of(plan)->tile_x);
  mbi_program_destroy(plan->context, &plan->program);
}

/* Launches y = alpha A x + beta y: product and fix-up. `alpha` and `beta` point to the kernels'
 * arguments: a value, or a device pointer if scalars live on the device. */
static merbit_status mbi_merbit_multiply(merbit_plan *plan, mbi_devptr carries,
                                         const void *alpha, mbi_devptr x, const void *beta,
                                         mbi_devptr y, void *stream) {
  mbi_merbit *m = mbi_merbit_of(plan);
  mbi_devptr carry_out = carries + m->blocks * mbi_type_size(plan->type);
  mbk_merbit_product_arguments product_arguments;
  mbk_merbit_fixup_arguments fixup_arguments;
  product_arguments.tile_x = m->tile_x;
  product_arguments.tile_y = m->tile_y;
  product_arguments.lane_desc = m->lane_desc;
  product_arguments.col_ind = plan->device.col_ind;
  product_arguments.values = plan->device.values;
  product_arguments.x = x;
  product_arguments.y = y;
  product_arguments.path = m->path;
  product_arguments.tiles = m->tiles;
  product_arguments.carry_first = carries;
  product_arguments.carry_out = carry_out;
  product_arguments.alpha = mbi_plan_scalar(plan, alpha);
  product_arguments.beta = mbi_plan_scalar(plan, beta);
  MBI_TRY(mbi_device_launch(plan->context, m->product, "mbk_merbit_product", (int64_t)m->blocks,
                            m->threads, mbi_merbit_product_shared(m, plan->type), stream,
                            &product_arguments));
  fixup_arguments.row_ptr = plan->device.row_ptr;
  fixup_arguments.tile_y = m->tile_y;
  fixup_arguments.carry_first = carries;
  fixup_arguments.carry_out = carry_out;
  fixup_arguments.y = y;
  fixup_arguments.tiles = m->tiles;
  fixup_arguments.blocks = m->blocks;
  fixup_arguments.alpha = mbi_plan_scalar(plan, alpha);
  fixup_arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_device_launch(
      plan->context, m->fixup, "mbk_merbit_fixup",
      (int64_t)((m->blocks + MBI_MERBIT_FIXUP_THREADS - 1) / MBI_MERBIT_FIXUP_THREADS),
      MBI_MERBIT_FIXUP_THREADS,
      (unsigned)(MBI_MERBIT_FIXUP_THREADS * mbi_type_size(plan->type) +
                 MBI_MERBIT_FIXUP_THREADS / 32 * sizeof(uint32_t)),
      stream, &fixup_arguments);
}

/* Launches y = A x by the dual-buffer commit. y must be zero where blocks share rows (all zero
 * before the first call). The product zeroes the same elements of z for the next call, which
 * swaps the two (section 4.2 (3)). Results do not repeat bit for bit if a row spans three
 * blocks. */
MBI_INTERNAL merbit_status mbi_merbit_multiply_dual(merbit_plan *plan, mbi_devptr x,
                                                    mbi_devptr y, mbi_devptr z, void *stream) {
  mbi_merbit *m = mbi_merbit_of(plan);
  mbk_merbit_product_dual_arguments arguments;
  arguments.tile_x = m->tile_x;
  arguments.tile_y = m->tile_y;
  arguments.lane_desc = m->lane_desc;
  arguments.col_ind = plan->device.col_ind;
  arguments.values = plan->device.values;
  arguments.x = x;
  arguments.y = y;
  arguments.path = m->path;
  arguments.tiles = m->tiles;
  arguments.z = z;
  arguments.rows = plan->device.rows;
  return mbi_device_launch(plan->context, m->product, "mbk_merbit_product", (int64_t)m->blocks,
                           m->threads, mbi_merbit_product_shared(m, plan->type), stream,
                           &arguments);
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_merbit_info(const merbit_plan *plan, merbit_plan_info *info) {
  const mbi_merbit *m = mbi_merbit_of(plan);
  info->sigma = m->sigma;
  info->omega = m->omega;
  info->block_threads = m->threads;
  info->descriptor_bits = m->descriptor_bits;
  info->tiles = (int64_t)m->tiles;
}

#ifdef MERBIT_STUDY_METHODS
#define MBI_MERBIT_PIECE ((uint64_t)1 << 20) /* tiles that are counted at once */

/* Returns the percentage of tiles that lie within one row and take the kernel's path for long
 * rows (r_f in section 4.3), or -1 if they cannot be read from the GPU. */
static double mbi_merbit_long_percent(const merbit_plan *plan) {
  const mbi_merbit *m = mbi_merbit_of(plan);
  const uint64_t size = (uint64_t)m->tile_bytes;
  uint64_t tile, i, marked = 0;
  unsigned char *tiles;
  int good = mbi_device_enter_alive(plan->context);
  if (!good) {
    return -1;
  }
  tiles = (unsigned char *)mbi_allocate(plan->context, (size_t)(MBI_MERBIT_PIECE * size));
  good = tiles != NULL;
  for (tile = 0; tile < m->tiles && good; tile += MBI_MERBIT_PIECE) {
    const uint64_t left = m->tiles - tile;
    const uint64_t count = left < MBI_MERBIT_PIECE ? left : MBI_MERBIT_PIECE;
    good = mbi_device_download(plan->context, tiles, m->tile_y + tile * size,
                               (size_t)(count * size)) == MERBIT_OK;
    for (i = 0; i < count && good; i++) {
      marked += tiles[(i + 1) * size - 1] >> 7; /* the top bit, little-endian */
    }
  }
  mbi_release(plan->context, tiles);
  mbi_device_leave(plan->context);
  return good ? 100.0 * (double)marked / (double)(m->tiles > 0 ? m->tiles : 1) : -1;
}
#endif

static int mbi_merbit_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_merbit *m = mbi_merbit_of(plan);
#ifdef MERBIT_STUDY_METHODS
  return snprintf(text, size,
                  "%" PRIu64 " tiles, omega %d, sigma %d, %d-bit lanes, %d threads, %s commit, "
                  "%.2f%% of the tiles within one row",
                  m->tiles, m->omega, m->sigma, m->descriptor_bits, m->threads,
                  m->dual ? "dual-buffer" : "carry-out", mbi_merbit_long_percent(plan));
#else
  return snprintf(text, size,
                  "%" PRIu64 " tiles, omega %d, sigma %d, %d-bit lanes, %d threads, %s commit",
                  m->tiles, m->omega, m->sigma, m->descriptor_bits, m->threads,
                  m->dual ? "dual-buffer" : "carry-out");
#endif
}

MBI_INTERNAL const mbi_cuda_method mbi_merbit_method = {
    sizeof(mbi_merbit),     /* state_bytes */
    mbi_merbit_create,      /* create */
    mbi_merbit_destroy,     /* destroy */
    mbi_merbit_carry_bytes, /* carry_bytes */
    mbi_merbit_multiply,    /* multiply */
    mbi_merbit_info,        /* info */
    mbi_merbit_describe,    /* describe */
    NULL,                   /* refresh */
    0,                      /* forms */
    NULL,                   /* cost */
    mbi_merbit_bound,       /* bound */
    0,                      /* making */
    NULL,                   /* trusted */
    NULL,                   /* knobs */
};
