#ifndef MBI_GPU_ROWS_H
#define MBI_GPU_ROWS_H
#include "spmv/shared/shared.h"
#include "spmv/gpu/rows/rows_arguments.cuh"

/* The state of ROWS: spmv/gpu/rows/rows.cu. */
typedef struct mbi_rows {
  int lanes, unroll, threads;
  uint64_t blocks;
  void *product, *sum; /* CUfunction: without and with the old y */
} mbi_rows;

/* ROWS' knobs: nonzeros that a lane loads at once, lanes per row. */
enum { MBI_KNOB_ROWS_UNROLL, MBI_KNOB_ROWS_LANES };

#ifdef MBI_SEPARATE
MBI_INTERNAL mbi_rows *mbi_rows_of(const merbit_plan *plan);
/* spmv/gpu/rows/rows.c */
MBI_INTERNAL double mbi_rows_walk(const merbit_plan *plan);
MBI_INTERNAL int mbi_rows_idle(const merbit_plan *plan);
MBI_INTERNAL int mbi_rows_idle_in_l2(const merbit_plan *plan);
MBI_INTERNAL double mbi_rows_thin(const merbit_plan *plan);
MBI_INTERNAL double mbi_rows_steps(const merbit_plan *plan);
MBI_INTERNAL int mbi_rows_half(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_rows_size(merbit_plan *plan);
MBI_INTERNAL void mbi_rows_preamble(const merbit_plan *plan, mbi_preamble *preamble);
MBI_INTERNAL uint64_t mbi_rows_carry_bytes(const merbit_plan *plan);
MBI_INTERNAL double mbi_rows_cost(const merbit_plan *plan);
#endif /* MBI_SEPARATE */

#endif
