#include "spmv/gpu/bsr/bsr.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* The method BSR. Its blocks are those of the user's view, or the full blocks of which a CSR
 * consists, if AUTO chooses BSR (spmv/stages/full_blocks.c), or blocks extracted from a CSR, if
 * the user asks for BSR or AUTO chooses it for blocks with holes
 * (spmv/stages/extract_blocks.c). */

static merbit_status mbi_bsr_method_create(merbit_plan *plan) {
  return mbi_plan_has_blocks(plan) ? mbi_bsr_create(plan)
         : plan->desc.method == MERBIT_METHOD_BSR || !mbi_has_full_blocks(&plan->nonempty)
             ? mbi_extract_create(plan)
             : mbi_extracted_create(plan);
}

static void mbi_bsr_method_destroy(merbit_plan *plan) {
  if (plan->extracted.csr.rows > 0) {
    mbi_extracted_destroy(plan);
  } else {
    mbi_bsr_destroy(plan);
  }
}

static merbit_status mbi_bsr_method_refresh(merbit_plan *plan) {
  return plan->extracted.by_shape ? mbi_extract_refresh(plan) : mbi_bsr_fill(plan);
}

static merbit_status mbi_bsr_bound(merbit_plan *plan, mbi_bound *bound) {
  const mbi_bsr_tiles *t = mbi_bsr_tiles_of(plan);
  const uint64_t blocks = plan->device.nnz, size = mbi_type_size(plan->type);
  const uint64_t area = (uint64_t)(plan->bsr.view.block_rows * plan->bsr.view.block_cols);
  uint64_t tiles;
  MBI_TRY(mbi_bsr_size(plan));
  tiles = blocks / (uint64_t)(t->slots * t->together) + 1; /* the shortest tiles */
  mbi_nonempty_bound(plan, bound);
  bound->kept += (t->words + tiles * (uint64_t)(t->slots + 1) + 1 + t->places) * 4 +
                 mbi_bsr_entries(t) * size;
  bound->making += blocks * area * size;
  bound->scratch += 2 * tiles * (uint64_t)t->block_rows * size;
  return MERBIT_OK;
}

MBI_INTERNAL const mbi_cuda_method mbi_bsr_method = {
    sizeof(mbi_bsr_tiles),  /* state_bytes */
    mbi_bsr_method_create,  /* create */
    mbi_bsr_method_destroy, /* destroy */
    mbi_bsr_carry_bytes,    /* carry_bytes */
    mbi_bsr_multiply,       /* multiply */
    mbi_bsr_info,           /* info */
    mbi_bsr_describe,       /* describe */
    mbi_bsr_method_refresh, /* refresh */
    0,                      /* forms */
    mbi_extracted_cost,     /* cost */
    mbi_bsr_bound,          /* bound */
    MBI_MAKING_FORM,        /* making */
    NULL,                   /* trusted */
    "blocks shuffle",       /* knobs */
};
