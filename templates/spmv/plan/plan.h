#ifndef MBI_PLAN_H
#define MBI_PLAN_H
#include "spmv/cpu/cpu.h"
#include "spmv/gpu/merbit/merbit.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/rows/rows.h"
#include "spmv/gpu/merge/merge.h"
#include "spmv/gpu/sliced/sliced.h"
#include "spmv/gpu/binned/binned.h"
#include "spmv/gpu/bsr/bsr.h"
#include "spmv/gpu/hubs/hubs.h"
#include "spmv/gpu/cb/cb.h"
#include "spmv/gpu/many/many.h"
#include "spmv/stages/stages.h"
#include "spmv/study/study.h"

typedef struct mbi_operators mbi_operators;
typedef struct mbi_epilogue mbi_epilogue;

/* What a method on CUDA provides. create: for the matrix in plan->device, in an entered
 * context; after a failure destroy cleans up. describe: its part of the plan's line. */
typedef struct mbi_cuda_method {
  merbit_status (*create)(merbit_plan *plan);
  void (*destroy)(merbit_plan *plan);
  uint64_t (*carry_bytes)(const merbit_plan *plan);
  merbit_status (*multiply)(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                            mbi_devptr x, const void *beta, mbi_devptr y, void *stream);
  void (*info)(const merbit_plan *plan, merbit_plan_info *info);
  int (*describe)(const merbit_plan *plan, char *text, size_t size);
  merbit_status (*refresh)(
      merbit_plan *plan); /* new plan->device.values; NULL: read in place */
} mbi_cuda_method;

/* What the library's own iterations want of a plan; all zero for a user's. */
typedef struct mbi_plan_making {
  int dual;          /* the dual-buffer commit */
  const char *after; /* of mbi_epilogue; NULL: nothing */
  /* CUDA: */
  uint64_t room; /* bytes that the maker wants behind what products use; then the plan lives as
                    long as one call, and keeps what a transpose was made in */
  int dots;      /* x'A x comes with a product, where that costs it little */
  int stops;     /* a product of an epilogue ends where its flag is set */
  int calm;      /* other kernels stand between products: mbi_plan_calm */
  int hasty;     /* what the GPU does for the plan may still be on the default stream */
  /* What the maker wants to be enqueued beside what the plan does, once its arrays have been
   * found sound; NULL: nothing. */
  merbit_status (*checked)(void *maker);
  void *maker;
} mbi_plan_making;

struct merbit_plan {
  merbit_context *context;
  int64_t references; /* its workspaces, and the user */
  merbit_plan_desc desc;
  merbit_view given;     /* the user's, with both triangles */
  merbit_view view;      /* the same, or its transpose */
  merbit_view csr;       /* what is multiplied, or was uploaded */
  merbit_matrix *owner;  /* whose arrays these may be; NULL: the user's */
  merbit_matrix *matrix; /* holds csr where the view had to be converted or reordered */
  mbi_reorder reorder;
  mbi_transpose transpose;
  mbi_half half; /* of a matrix given by one triangle */
  mbi_bsr bsr;           /* what is multiplied by methods of blocks; csr is the view then */
  merbit_side side;
  merbit_method method;
  merbit_type type; /* of values; of vectors and sums: spmv/plan/types.c */
  char reason[384]; /* why AUTO fell back to the CPU; else empty */
  char why[160];    /* what decided AUTO's choice of a method; else empty */
  double plan_seconds;
  mbi_plan_making making;
  mbi_spare spare;
  /* CPU */
  int tasks;
  const void *values; /* of csr or bsr; NULL: ones */
  void *own_values;   /* holds values after an update */
  mbi_blocks blocks;
  mbi_sorted sorted;
  mbi_placed placed;
  int placed_nodes;
  void *placed_columns; /* holds csr.col_ind where it was copied */
  /* CUDA */
  mbi_device_csr device;
  const mbi_cuda_method *cuda;
  mbi_program program;
  void *scale; /* CUfunction: x times the values of its columns, where that comes first */
  uint64_t schedule_bytes; /* what the method added to the CSR */
  uint64_t stream_bytes;   /* that a product moves beside x and y */
  mbi_merbit merbit;
  mbi_scan_schedule scan;
  mbi_ranks ranks; /* where the choice or the method asks */
  mbi_rows rows;
  mbi_merge_path merge;
  mbi_sliced sliced;
  mbi_binned binned;
  mbi_bsr_tiles bsr_tiles;
  mbi_full full;
#ifdef MERBIT_STUDY_METHODS
  mbi_bsr_study bsr_study;
  mbi_csr_study csr_study;
#endif
  mbi_hubs hubs;
  mbi_cb cb;
  mbi_many many;
  mbi_operators *operators;    /* MERBIT_SEMIRING_CUSTOM: spmv/shared/semiring.c */
  int stops; /* CUDA: products take no scalars but the skip of their epilogue, whose iterations
                need nothing of them once it is set */
  mbi_epilogue *epilogue;      /* spmv/shared/epilogue.c; or NULL */
  int once;                    /* the matrix is loaded past the caches */
  merbit_workspace *workspace; /* the plan's own; holds no reference */
};

struct merbit_workspace {
  merbit_plan *plan;
  void *carries;                 /* CPU: of the merge tasks */
  void *bounce;                  /* CUDA with several host vectors: spmv/plan/many_product.c */
  mbi_devptr device_carries;     /* CUDA: carry_first[blocks], carry_out[blocks] */
  mbi_devptr staged_x, staged_y; /* CUDA with host vectors */
  const void *known_x, *known_y; /* pointers already found to be the GPU's */
  double *sums;                  /* CPU: of each chunk of an epilogue */
  mbi_devptr sums_scratch;       /* CUDA: spmv/plan/epilogue_product.c */
  mbi_devptr room;               /* CUDA: plan->making.room bytes of it */
  const void *known_epilogue[9]; /* as known_x: vectors, scalars, sums, skip */
};

#endif
