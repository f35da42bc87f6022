#ifndef MBI_STAGES_H
#define MBI_STAGES_H
#include "spmv/shared/shared.h"
#include "spmv/stages/extract_blocks_arguments.cuh"
#include "spmv/stages/full_blocks_arguments.cuh"
#include "spmv/stages/reorder_arguments.cuh"
#include "spmv/stages/transpose_arguments.cuh"
#include "spmv/stages/value_check_arguments.cuh"
#include "spmv/stages/value_groups_arguments.cuh"
#include "spmv/stages/value_sample_arguments.cuh"

/* A matrix in symmetric storage (one triangle): spmv/stages/symmetric.c. */
typedef struct mbi_symmetric {
  merbit_view view; /* the user's */
  merbit_view full; /* both triangles, or the lower one, unless that is the view itself */
  void *places;     /* the original places of the values in the view */
  merbit_index_type place_type;
  mbi_symmetry_signs signs;
  int upper;
  double seconds;
  int direct;     /* 1: method SYMMETRIC multiplies the lower triangle (spmv/cpu/symmetric.c) */
  int64_t *parts; /* the first row of each task, then the first column and the buffer offset of
                   * each task; tasks + 1 numbers each */
} mbi_symmetric;

/* The CSR from which blocks have been made on the GPU; plan->device holds the blocks. They are
 * made by spmv/stages/full_blocks.c if AUTO has found full blocks, otherwise by
 * spmv/stages/extract_blocks.c. */
typedef struct mbi_extracted {
  mbi_device_csr csr; /* csr.rows is 0 if there are no blocks */
  mbi_nonempty_rows nonempty;
  mbi_program program;
  void *kernels[5]; /* CUfunction of full_blocks.cu: places; of extract_blocks.cu: count, sums,
                     * offsets, places, values */
  int by_shape;     /* 1: made by spmv/stages/extract_blocks.c */
} mbi_extracted;

/* The order of a reordered plan, and the original places of values that are stored in another
 * order than the user's: spmv/stages/reorder.c. */
typedef struct mbi_reorder {
  int32_t *order; /* order[new] = old; NULL: the view's order */
  void *places;   /* the original place of each nonzero, or of each block of a transpose; on
                   * CUDA only until it has been uploaded */
  merbit_index_type place_type;
  int64_t bandwidth_before, bandwidth;
  double seconds;
  mbi_devptr device_order, device_places;
  uint64_t bytes; /* of both device arrays */
  mbi_program program;
  void *kernels[3]; /* CUfunction: gather, scatter, values */
} mbi_reorder;

/* A plan that multiplies by a transpose: spmv/stages/transpose.c. */
typedef struct mbi_transpose {
  merbit_matrix *matrix; /* holds plan->view if CPU threads have made it */
  int on_gpu;            /* 1: plan->view is in plan->device instead */
  double seconds;
} mbi_transpose;

/* The number of expected products from which it pays to search for shorter values and to copy
 * them. The second number is for forms that take more than one pass over the matrix. */
#define MBI_VALUES_CALLS 8
#define MBI_VALUES_MORE_CALLS 24
#define MBI_VALUES_WINDOW 2048
#define MBI_VALUES_SAMPLE_SHARED ((4096 + MBI_VALUES_KEYS) * 8 + 8) /* bytes */
#define MBI_VALUES_KEYS 512
/* The seconds of the launch that multiplies x by the values of the columns, as a multiple of
 * the profile's launch_seconds. The launch overlaps with earlier work. */
#ifndef MBI_VALUES_LAUNCH
#define MBI_VALUES_LAUNCH 0.156
#endif
#define MBI_FORM(form) (1u << (form))
#define MBI_FORMS_CHEAP (MBI_FORM(MBI_VALUES_EQUAL) | MBI_FORM(MBI_VALUES_SINGLE))
/* Forms that cost SCAN more than they save. */
#define MBI_FORMS_SLOW (MBI_FORM(MBI_VALUES_TABLE) | MBI_FORM(MBI_VALUES_ROW))
#define MBI_FORMS_ALL                                                                          \
  (MBI_FORMS_CHEAP | MBI_FORM(MBI_VALUES_HALF) | MBI_FORM(MBI_VALUES_TABLE) |                  \
   MBI_FORM(MBI_VALUES_ROW) | MBI_FORM(MBI_VALUES_COLUMN))
/* Forms that a method supports although they do not pay with it. */
#define MBI_FORMS_UNPAID(forms) ((uint32_t)(forms) << 16)
/* A search for shorter forms of values. */
typedef struct mbi_values_search {
  mbi_devptr values;
  mbi_devptr scratch; /* holds an mbi_values_scratch */
  mbi_devptr columns; /* a value per column once column values have been searched; else 0 */
  uint32_t against;   /* bits of the forms ruled out so far */
} mbi_values_search;

typedef struct mbi_extract_tally { /* counts made on the GPU */
  uint64_t blocks, inside, entries;
  uint64_t descends; /* not 0: the columns of a row descend, and the other fields are
                      * meaningless */
} mbi_extract_tally;
#define MBI_EXTRACT_SQUARES 8 /* AUTO tries blocks of 1 x 1 up to this side */
typedef struct mbi_extract {  /* state while blocks are made */
  merbit_plan *plan;
  merbit_view csr; /* without arrays; nnz counts duplicates once */
  mbi_devptr answers, counts, sums;
} mbi_extract;

typedef struct mbi_reorder_call {
  void (*move)(merbit_type type, void *to, const void *from, const void *places,
               merbit_index_type place_type, int64_t first, int64_t last);
  merbit_type type;
  const void *from, *places;
  void *to;
  merbit_index_type place_type;
  int64_t count;
  int tasks;
} mbi_reorder_call;

enum {
  MBI_TRANSPOSE_ROWS,
  MBI_TRANSPOSE_COUNT,
  MBI_TRANSPOSE_SCAN,
  MBI_TRANSPOSE_MOVE,
  MBI_TRANSPOSE_STARTS,
  MBI_TRANSPOSE_KERNELS
};
#define MBI_TRANSPOSE_FILE "spmv/stages/transpose.cu"
/* The state of the sort of entries by column, a radix sort from the least significant digit.
 * The keys are columns. The rows of the entries move with them, and their places too if there
 * are values. */
typedef struct mbi_transposing {
  const mbi_device_csr *from;
  mbi_device_csr *to;
  mbi_program program;
  void *kernels[MBI_TRANSPOSE_KERNELS];   /* CUfunction */
  int passes, last;                       /* last: index of the buffers that the last pass
                                           * writes */
  uint32_t bits;                          /* of a digit */
  uint64_t blocks, chunk;                 /* number of blocks, and of entries of each */
  mbi_devptr space;                       /* holds everything that the plan does not keep */
  uint64_t bytes;                         /* of `space` */
  mbi_devptr keys[2], rows[2], places[2]; /* each pass reads one buffer and writes the other */
  mbi_devptr counts, totals;              /* counts of digits, per block and in all */
  merbit_index_type place_type;
} mbi_transposing;

/* New values on their way through the stages of a plan. */
typedef struct mbi_new_values {
  const void *values; /* `count` values, in the order that the next stage reads */
  merbit_memory memory;
  int64_t count;
  void *downloaded;      /* the host copy of values in device memory; or NULL */
  merbit_matrix *matrix; /* the converted values; or NULL */
} mbi_new_values;

/* A stage of a plan. `make` builds from the result of the previous stage the matrix that the
 * next one reads, or leaves it unchanged. `map_values` does the same to new values; on failure
 * the caller releases what `fresh` holds. */
typedef struct mbi_stage {
  merbit_status (*make)(merbit_plan *plan);
  merbit_status (*map_values)(merbit_plan *plan, mbi_new_values *fresh);
} mbi_stage;
enum {
  MBI_STAGE_SYMMETRIC,
  MBI_STAGE_TRANSPOSE,
  MBI_STAGE_FORMAT,
  MBI_STAGE_REORDER,
  MBI_STAGE_STORE,
  MBI_STAGES
};

#ifdef MBI_SEPARATE
/* spmv/stages/format.c */
MBI_INTERNAL merbit_status mbi_new_values_download(merbit_plan *plan, mbi_new_values *fresh);
MBI_INTERNAL int mbi_view_is_plain(const merbit_view *view);
MBI_INTERNAL int mbi_format_converts(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_format_blocks_on_host(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_format_make(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_format_map_values(merbit_plan *plan, mbi_new_values *fresh);
/* spmv/stages/stored_values.c */
MBI_INTERNAL merbit_status mbi_stored_map_values(merbit_plan *plan, mbi_new_values *fresh);
/* spmv/stages/stages.c */
MBI_INTERNAL merbit_status mbi_stages_make(merbit_plan *plan, int first);
MBI_INTERNAL merbit_status mbi_stages_map_values(merbit_plan *plan, mbi_new_values *fresh);
/* spmv/stages/value_forms.c */
MBI_INTERNAL int64_t mbi_values_blocks(uint64_t count);
MBI_INTERNAL uint64_t mbi_values_bytes(const merbit_plan *plan, mbi_value_form form);
MBI_INTERNAL merbit_status mbi_values_search_begin(merbit_plan *plan, mbi_devptr values,
                                                   mbi_values_search *search);
MBI_INTERNAL void mbi_values_search_end(merbit_plan *plan, mbi_values_search *search);
MBI_INTERNAL merbit_status mbi_values_have(merbit_plan *plan, mbi_values_search *search,
                                           mbi_value_form form, int *have);
MBI_INTERNAL merbit_status mbi_values_store(merbit_plan *plan, mbi_values_search *search,
                                            mbi_value_form form, mbi_devptr stored,
                                            mbi_devptr table);
MBI_INTERNAL merbit_status mbi_values_specialise(merbit_plan *plan, uint32_t forms);
/* spmv/stages/full_blocks.c */
MBI_INTERNAL int mbi_has_full_blocks(const mbi_nonempty_rows *nonempty);
MBI_INTERNAL int mbi_plan_has_full_blocks(const merbit_plan *plan);
MBI_INTERNAL double mbi_extracted_cost(const merbit_plan *plan);
MBI_INTERNAL void mbi_extracted_enter(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_extracted_allocate(merbit_plan *plan, int high, int wide,
                                                  uint64_t blocks,
                                                  merbit_index_type offset_type);
MBI_INTERNAL void mbi_extracted_let_go(merbit_plan *plan);
MBI_INTERNAL void mbi_extracted_destroy(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_extracted_create(merbit_plan *plan);
/* spmv/stages/extract_blocks.c */
MBI_INTERNAL void mbi_extract_preamble(const merbit_plan *plan, const mbi_device_csr *csr,
                                       mbi_preamble *preamble);
MBI_INTERNAL merbit_status mbi_extract_all(mbi_extract *c, mbi_extract_tally *tally);
MBI_INTERNAL merbit_status mbi_extract_probe(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_extract_create(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_extract_refresh(merbit_plan *plan);
/* spmv/stages/reorder.c */
MBI_INTERNAL const char *mbi_reordering_name(merbit_reordering reordering);
MBI_INTERNAL merbit_status mbi_reorder_check(merbit_context *context, const merbit_view *view,
                                             const mbi_method *method,
                                             const merbit_plan_desc *desc);
MBI_INTERNAL merbit_status mbi_reorder_make(merbit_plan *plan);
MBI_INTERNAL void mbi_reorder_preamble(const merbit_plan *plan, mbi_preamble *preamble);
MBI_INTERNAL merbit_status mbi_reorder_specialise(merbit_plan *plan);
MBI_INTERNAL int mbi_reorder_on_cpu(const merbit_plan *plan);
MBI_INTERNAL int mbi_reorder_on_gpu(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_reorder_upload(merbit_plan *plan);
MBI_INTERNAL void mbi_reorder_release_sources(merbit_plan *plan);
MBI_INTERNAL void mbi_reorder_release_cuda(merbit_plan *plan);
MBI_INTERNAL void mbi_reorder_destroy(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_reorder_launch(merbit_plan *plan, int kernel, mbi_devptr index,
                                              mbi_devptr from, mbi_devptr to, int64_t count,
                                              void *stream);
MBI_INTERNAL merbit_status mbi_reorder_values_cuda(merbit_plan *plan, mbi_devptr from,
                                                   mbi_devptr to);
MBI_INTERNAL void mbi_reorder_run(merbit_plan *plan, mbi_reorder_call *call);
MBI_INTERNAL merbit_status mbi_reorder_map_values(merbit_plan *plan, mbi_new_values *fresh);
/* spmv/stages/symmetric.c */
MBI_INTERNAL int mbi_plan_is_symmetric(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_symmetric_check(merbit_context *context, const merbit_view *view,
                                               const merbit_plan_desc *desc);
MBI_INTERNAL merbit_status mbi_symmetric_make(merbit_plan *plan);
MBI_INTERNAL void mbi_symmetric_destroy(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_symmetric_map_values(merbit_plan *plan, mbi_new_values *fresh);
/* spmv/stages/transpose_sort.c */
MBI_INTERNAL void mbi_transpose_size(const merbit_context *context, mbi_transposing *t);
MBI_INTERNAL void mbi_transpose_preamble(const mbi_transposing *t, mbi_preamble *preamble);
MBI_INTERNAL merbit_status mbi_transpose_find(merbit_context *context, mbi_transposing *t);
MBI_INTERNAL merbit_status mbi_transpose_enqueue(merbit_context *context, mbi_transposing *t);
MBI_INTERNAL merbit_status mbi_transpose_sort(merbit_plan *plan, const mbi_device_csr *from);
/* spmv/stages/transpose.c */
MBI_INTERNAL merbit_status mbi_transpose_check(merbit_context *context, const merbit_view *view,
                                               const merbit_plan_desc *desc);
MBI_INTERNAL merbit_status mbi_transpose_map_values(merbit_plan *plan, mbi_new_values *fresh);
MBI_INTERNAL int mbi_plan_may_fall_back(const merbit_plan *plan, merbit_status status);
MBI_INTERNAL merbit_status mbi_transpose_make(merbit_plan *plan);
#endif /* MBI_SEPARATE */

#endif
