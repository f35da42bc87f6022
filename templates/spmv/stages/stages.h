#ifndef MBI_STAGES_H
#define MBI_STAGES_H
#include "spmv/shared/shared.h"

/* What a plan of one triangle holds beside its arrays: spmv/stages/symmetric.c. */
typedef struct mbi_half {
  merbit_view view; /* the user's */
  merbit_view full; /* both triangles, or the lower one, where it is not the view itself */
  void *places;     /* where its values were */
  merbit_index_type place_type;
  mbi_halves_signs signs;
  int upper;
  double seconds;
  int direct;     /* the lower triangle is multiplied, by method HALF: spmv/cpu/symmetric.c */
  int64_t *parts; /* of its tasks, and in one allocation behind them where each part's columns
                     begin, and its scratch: tasks + 1 each */
} mbi_half;

/* The CSR that became blocks on the GPU, while plan->device holds those: spmv/stages/full_blocks.c, where AUTO
 * took it for full ones; spmv/stages/extract_blocks.c. */
typedef struct mbi_full {
  mbi_device_csr csr; /* csr.rows 0: none did */
  mbi_ranks ranks;
  mbi_program program;
  void *kernels[4]; /* CUfunction: places, values; carved: count, sums, offsets, fill */
  int carved;       /* by spmv/stages/extract_blocks.c */
} mbi_full;

/* The order of a reordered plan, and where the values of a plan were that it moved: spmv/stages/reorder.c.
 */
typedef struct mbi_reorder {
  int32_t *order; /* order[new] = old; NULL: as the view's */
  void *places;   /* where each nonzero was, or block of a transpose; on CUDA until it is in
                     GPU memory */
  merbit_index_type place_type;
  int64_t bandwidth_before, bandwidth;
  double seconds;
  mbi_devptr device_order, device_places;
  uint64_t bytes; /* of the two */
  mbi_program program;
  void *kernels[3]; /* CUfunction: gather, scatter, values */
} mbi_reorder;

/* What a plan of a transpose holds beside its arrays: spmv/stages/transpose.c. */
typedef struct mbi_transpose {
  merbit_matrix *matrix; /* plan->view, where CPU threads made it */
  int on_gpu;            /* plan->view lies in plan->device instead */
  double seconds;
} mbi_transpose;

#endif
