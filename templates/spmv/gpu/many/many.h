#ifndef MBI_GPU_MANY_H
#define MBI_GPU_MANY_H
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/many/copies_arguments.cuh"
#include "spmv/gpu/many/many_arguments.cuh"
#include "spmv/gpu/many/rows_arguments.cuh"

/* The state of MANY: SCAN's schedule, and how lanes share columns of X
 * (spmv/gpu/many/lane.cuh). */
typedef struct mbi_many {
  mbi_scan_schedule scan; /* first, so that mbi_scan_of finds it */
  int width;              /* columns that are multiplied: the vectors, plus padding in copies */
  int span;               /* columns that a lane loads at once */
  int team;               /* lanes per nonzero */
  int words;              /* nonzeros of a run, divided by 32 */
  int piece;              /* nonzeros of a run that are staged at once */
  int staged;             /* nonzeros that a warp stages if teams own rows; 0: teams own runs */
  int unroll, threads, resident;
  unsigned shared;                /* bytes of shared memory of a block */
  void *loose, *collect, *spread; /* CUfunction */
} mbi_many;

/* Bytes of the host buffer through which host vectors with gaps are copied. */
#define MBI_MANY_BOUNCE 65536

/* MANY's knobs: nonzeros per run, divided by 32 (setting it also selects runs if rows are
 * even); gathers that a lane keeps in flight, 4 or 8. */
enum { MBI_KNOB_MANY_RUN, MBI_KNOB_MANY_UNROLL };

#ifdef MBI_SEPARATE
MBI_INTERNAL mbi_many *mbi_many_of(const merbit_plan *plan);
/* spmv/gpu/many/sizes.c */
MBI_INTERNAL int mbi_many_copies(const merbit_plan *plan);
MBI_INTERNAL void mbi_many_shape(const merbit_plan *plan, mbi_many *m);
MBI_INTERNAL merbit_status mbi_many_size(merbit_plan *plan);
MBI_INTERNAL void mbi_many_preamble(const merbit_plan *plan, mbi_preamble *preamble);
/* spmv/gpu/many/many.c */
MBI_INTERNAL merbit_status mbi_many_workspace(merbit_workspace *workspace);
MBI_INTERNAL merbit_status mbi_many_multiply(merbit_plan *plan, mbi_devptr scratch,
                                             const void *alpha, mbi_devptr x, uint64_t ldx,
                                             const void *beta, mbi_devptr y, uint64_t ldy,
                                             void *stream);
#endif /* MBI_SEPARATE */

#endif
