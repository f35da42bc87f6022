#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/bsr/bsr.h"
#include "spmv/stages/stages.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* Converts a CSR in GPU memory that consists of full blocks to a matrix of blocks. Its values
 * stay in the order of the CSR until mbi_bsr_fill. */

/* ---- Encode: blocks for the kernels of spmv/gpu/bsr/bsr.c -------------------------------- */

MBI_INTERNAL int mbi_has_full_blocks(const mbi_nonempty_rows *nonempty) {
  return nonempty->block_rows * nonempty->block_cols >= 4;
}

/* Returns whether the matrix is known to consist of full blocks and has a stored value for each
 * nonzero. */
MBI_INTERNAL int mbi_plan_has_full_blocks(const merbit_plan *plan) {
  return mbi_has_full_blocks(&plan->nonempty) && plan->device.form == MBI_VALUES_GENERAL &&
         plan->device.values != 0;
}

/* Returns the forecast of a product of blocks in seconds. Tiles split rows of blocks; a lane
 * has at least MBI_BSR_TILE_BYTES of a tile. The fix-up adds up the rows of a block one after
 * the other. (16 rows of 500,000 doubles in 16 x 16 blocks on an H100: 169 us, MERGE 41.)
 * Bytes that stay in L2 take a quarter longer than others, because too few loads of blocks are
 * in flight. (H100, L2 of 50 MB: 3 x 3 blocks, 25 MB 11.1 us; 2 x 2, 50 MB 17.9 us; 100 MB and
 * more as fast as a copy.) Masks take a tenth more. (30M nonzeros in blocks of 5 x 5, 86%
 * filled, on an H200: f32 166 MB 39.4 us, f64 319 MB 78.6.) */
MBI_INTERNAL double mbi_extracted_cost(const merbit_plan *plan) {
  const mbi_nonempty_rows *nonempty = &plan->nonempty;
  const mbi_traffic t = mbi_traffic_of(plan);
  const double in_l2 = 1 + (16 - mbi_choose_passing(plan)) / 64.0;
  double high = nonempty->masked_side, bytes = 1.1 * nonempty->masked_bytes;
  if (mbi_plan_has_full_blocks(plan)) {
    high = nonempty->block_rows;
    bytes = 4.0 / (high * nonempty->block_cols) + t.values;
  } else if (high == 0 || plan->device.form != MBI_VALUES_GENERAL) {
    return HUGE_VAL;
  }
  return mbi_choose_overlap(plan, t.vectors + in_l2 * t.nnz * bytes * mbi_choose_past(plan),
                            t.gathers) +
         high * mbi_walk_fixup(plan, 32 * MBI_BSR_TILE_BYTES / t.size / high);
}

/* Moves the CSR and its non-empty rows to plan->extracted. */
MBI_INTERNAL void mbi_extracted_enter(merbit_plan *plan) {
  plan->extracted.csr = plan->device;
  plan->extracted.nonempty = plan->nonempty;
  memset(&plan->nonempty, 0, sizeof plan->nonempty);
  memset(&plan->device, 0, sizeof plan->device);
}

/* Sets up plan->bsr and plan->device for `blocks` blocks of high x wide, and allocates their
 * offsets and columns. */
MBI_INTERNAL merbit_status mbi_extracted_allocate(merbit_plan *plan, int high, int wide,
                                                  uint64_t blocks,
                                                  merbit_index_type offset_type) {
  const mbi_device_csr *from = &plan->extracted.csr;
  merbit_view *view = &plan->bsr.view;
  mbi_device_csr *csr = &plan->device;
  csr->offset_type = offset_type;
  csr->rows = (uint64_t)mbi_block_count((int64_t)from->rows, high);
  csr->cols = (uint64_t)mbi_block_count((int64_t)from->cols, wide);
  csr->nnz = blocks;
  *view = merbit_bsr((int64_t)from->rows, (int64_t)from->cols, (int64_t)blocks, high, wide,
                     NULL, NULL, NULL);
  view->value_type = plan->type;
  view->memory = MERBIT_MEMORY_DEVICE;
  plan->bsr.entries = (int64_t)from->nnz;
  csr->bytes = (csr->rows + 1) * mbi_index_bytes(csr->offset_type);
  csr->owns_row_ptr = csr->owns_col_ind = 1;
  MBI_TRY(mbi_plan_allocate(plan, csr->bytes, "offsets of blocks", &csr->row_ptr));
  {
    const uint64_t columns = csr->nnz * sizeof(int32_t);
    csr->bytes += columns;
    MBI_TRY(mbi_plan_allocate(plan, columns, "columns of blocks", &csr->col_ind));
  }
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

static merbit_status mbi_extracted_specialise(merbit_plan *plan) {
  mbi_extracted *full = &plan->extracted;
  mbi_preamble preamble;
  memset(&preamble, 0, sizeof preamble);
  mbi_preamble_define(&preamble, "MBK_ROW_PTR",
                      full->csr.offset_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define_int(&preamble, "MBK_BASE", full->csr.base);
  mbi_preamble_define_int(&preamble, "MBK_HIGH", plan->bsr.view.block_rows);
  mbi_preamble_define_int(&preamble, "MBK_WIDE", plan->bsr.view.block_cols);
  MBI_TRY(mbi_plan_program(plan, "spmv/stages/full_blocks.cu", &preamble, 1, &full->program));
  return mbi_program_kernel(plan->context, &full->program, "mbk_full_blocks_places",
                            &full->kernels[0]);
}

/* ---- Launch ------------------------------------------------------------------------------ */

static merbit_status mbi_extracted_places(merbit_plan *plan) {
  mbk_full_blocks_places_arguments arguments;
  arguments.row_ptr = plan->extracted.csr.row_ptr;
  arguments.col_ind = plan->extracted.csr.col_ind;
  arguments.block_rows = plan->device.rows;
  arguments.block_ptr = plan->device.row_ptr;
  arguments.block_col = plan->device.col_ind;
  return mbi_device_launch(plan->context, plan->extracted.kernels[0], "mbk_full_blocks_places",
                           (int64_t)(plan->device.rows / 8 + 1), 256, 0, NULL, &arguments);
}

/* Releases what is not needed for new values, after the choice. Of an uploaded CSR only the
 * offsets and columns stay, and only if the blocks were made for a shape. */
MBI_INTERNAL void mbi_extracted_let_go(merbit_plan *plan) {
  mbi_device_csr *csr = &plan->extracted.csr;
  if (csr->owns_col_ind && !plan->extracted.by_shape) {
    mbi_plan_release(plan, csr->col_ind);
    csr->bytes -= csr->nnz * sizeof(int32_t);
    csr->owns_col_ind = 0;
    csr->col_ind = 0;
  }
  if (csr->owns_row_ptr && !plan->extracted.by_shape) {
    mbi_plan_release(plan, csr->row_ptr);
    csr->bytes -= (csr->rows + 1) * mbi_index_bytes(csr->offset_type);
    csr->owns_row_ptr = 0;
    csr->row_ptr = 0;
  }
  if (csr->owns_values) {
    mbi_plan_release(plan, csr->values);
    csr->bytes -= csr->nnz * mbi_type_size(plan->type);
  }
  csr->owns_values = 0;
  csr->values = 0;
  mbi_nonempty_destroy(plan, &plan->extracted.nonempty);
  plan->device.bytes += csr->bytes;
}

MBI_INTERNAL merbit_status mbi_extracted_create(merbit_plan *plan) {
  const int high = plan->nonempty.block_rows, wide = plan->nonempty.block_cols;
  mbi_extracted_enter(plan);
  MBI_TRY(mbi_extracted_allocate(plan, high, wide,
                                 plan->extracted.csr.nnz / (uint64_t)(high * wide),
                                 plan->extracted.csr.offset_type));
  MBI_TRY(mbi_extracted_specialise(plan));
  MBI_TRY(mbi_extracted_places(plan));
  plan->device.values = plan->extracted.csr.values; /* lent */
  MBI_TRY(mbi_bsr_create(plan));
  plan->device.values = 0;
  return MERBIT_OK;
}

/* Gives the plan back as much of its CSR as still exists. */
MBI_INTERNAL void mbi_extracted_destroy(merbit_plan *plan) {
  mbi_extracted *full = &plan->extracted;
  if (full->csr.rows == 0) {
    return; /* no blocks have been made, or they have been destroyed */
  }
  mbi_bsr_destroy(plan);
  mbi_program_destroy(plan->context, &full->program);
  mbi_nonempty_destroy(plan, &plan->nonempty);
  mbi_device_csr_destroy(plan, &plan->device);
  plan->device = full->csr;
  plan->nonempty = full->nonempty;
  memset(&plan->bsr, 0, sizeof plan->bsr);
  memset(full, 0, sizeof *full);
}
