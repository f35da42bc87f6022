#include "core/context.h"
#include "jit/jit.h"
#include "solve/precondition/precondition.h"

/* JACOBI and BLOCK_JACOBI as objects. Inside a solver they are parts of its steps instead. */

/* Multiplies by the inverses of the diagonal blocks. */
static merbit_status mbi_pre_blocks_apply(merbit_preconditioner *p, const void *r, void *z,
                                          void *stream) {
  p->engine->v.from = MBI_PRE_R;
  p->engine->v.to = MBI_PRE_Z;
  return mbi_precondition_step(p, MBI_STEP_BLOCKS, r, z, stream);
}

static void mbi_pre_blocks_describe(const merbit_preconditioner *p, char *text, size_t size) {
  (void)snprintf(text, size, " of blocks of %d rows", p->desc.block_size);
}

static void mbi_pre_blocks_info(const merbit_preconditioner *p,
                                merbit_preconditioner_info *info) {
  const int64_t entries = p->n * (p->desc.block_size > 0 ? p->desc.block_size : 1);
  info->operator_complexity = p->view.nnz > 0 ? (double)entries / (double)info->nonzeros[0] : 1;
}

MBI_INTERNAL const mbi_precondition_method mbi_jacobi_method = {
    "Jacobi",             /* name */
    1,                    /* block */
    0,                    /* product */
    0,                    /* vectors */
    NULL,                 /* create */
    mbi_pre_blocks_apply, /* apply */
    NULL,                 /* update */
    NULL,                 /* describe */
    mbi_pre_blocks_info,  /* info */
    NULL,                 /* destroy */
};
MBI_INTERNAL const mbi_precondition_method mbi_block_jacobi_method = {
    "block Jacobi",          /* name */
    -1,                      /* block */
    0,                       /* product */
    0,                       /* vectors */
    NULL,                    /* create */
    mbi_pre_blocks_apply,    /* apply */
    NULL,                    /* update */
    mbi_pre_blocks_describe, /* describe */
    mbi_pre_blocks_info,     /* info */
    NULL,                    /* destroy */
};
