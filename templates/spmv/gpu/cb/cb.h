#ifndef MBI_GPU_CB_H
#define MBI_GPU_CB_H
#include "spmv/shared/shared.h"
#include "spmv/gpu/cb/cb_arguments.cuh"

/* The state of CB (CB-SpMV): blocks of 16 x 16. spmv/gpu/cb/cb.cu describes the method. */
typedef struct mbi_cb {
  int threads, aggregated;
  uint64_t limit; /* the most steps of a warp */
  uint64_t block_count, data_bytes, forms[3], tasks, parts, splits;
  mbi_devptr words, first, data; /* the blocks' words, first columns and data */
  mbi_devptr task_block, task_target, split_strip, split_part;
  void *product, *fixup; /* CUfunction */
} mbi_cb;

enum { MBI_CB_COO, MBI_CB_CSR, MBI_CB_DENSE, MBI_CB_FORMS };
#define MBI_CB_SIDE 16
#define MBI_CB_SPARSE 32 /* a block with fewer entries is super-sparse */
#define MBI_CB_PLACE 29  /* bits of an entry's place in its strip */
/* A block's word. Its fields, from the lowest bit on: the number of entries, the form, the
 * kernel's steps, a bit at the end of a strip or part (MBI_CB_END), the width of a column, and
 * the offset of the block's data in units of 8 bytes. Steps: in COO, the doublings until a
 * segmented scan over 16 lanes spans the longest row; in CSR, the length of the longest row.
 * Widths: 0 for consecutive columns, 1 and 2 for that many bytes, 3 for four bytes. */
#define MBI_CB_WORD(count, form, steps, width, offset)                                         \
  ((uint64_t)(count) | (uint64_t)(form) << 9 | (uint64_t)(steps) << 11 |                       \
   (uint64_t)(width) << 20 | (offset) / 8 << 22)
#define MBI_CB_COUNT(word) ((word)&511)
#define MBI_CB_FORM(word) ((word) >> 9 & 3)
#define MBI_CB_END ((uint64_t)1 << 19)
/* Empty blocks after the last one, because the kernel reads ahead. */
#define MBI_CB_SPARE 4
typedef struct mbi_cb_format { /* the encoded matrix on the host */
  int aggregated;
  uint64_t blocks, data_bytes, forms[MBI_CB_FORMS];
  uint64_t *words;
  uint32_t *first; /* first column of each block */
  unsigned char *data;
  uint64_t limit, cut, tasks, parts, splits; /* spmv/gpu/cb/fill.c */
  uint64_t *task_block;
  uint32_t *task_target, *split_strip, *split_part;
} mbi_cb_format;
typedef struct mbi_cb_strip { /* first a strip's counts, then where it starts */
  uint64_t blocks, bytes, sparse;
} mbi_cb_strip;
typedef struct mbi_cb_options {
  double aggregate;          /* the least share of super-sparse blocks for which columns are
                              * aggregated */
  uint64_t coo_max, csr_max; /* below coo_max entries: COO; above csr_max: dense */
  uint64_t steps;            /* the most per warp; 0: chosen from the size and the GPU */
  int processors;            /* multiprocessors of the GPU */
  int weighed;               /* 1: below coo_max a block is CSR if COO would take longer */
#ifdef MERBIT_STUDY_METHODS
  int warps; /* per thread block, if a priority queue assigns tasks; else 0 */
#endif
} mbi_cb_options;
typedef struct mbi_cb_build {
  const merbit_view *from; /* host CSR, 32-bit columns */
  const char *values;      /* as the plan stores them */
  size_t value_bytes;      /* 0: a pattern */
  const mbi_cb_options *options;
  uint64_t strips;
  int tasks;
  uint64_t *keys, *spare; /* of entries: column, four bits of row, place in the strip */
  mbi_cb_strip *strip[2]; /* with all columns; with aggregated columns */
  mbi_cb_format *format;
} mbi_cb_build;
typedef struct mbi_cb_cursor {
  const mbi_cb_build *build;
  int aggregated, crowded; /* crowded: 1 if the group has duplicate entries */
  int form;
  const uint64_t *keys; /* of the strip */
  uint64_t count, group_to;
  uint32_t columns[MBI_CB_SIDE]; /* of the group */
  unsigned width;
  uint64_t from, to; /* the block's keys */
} mbi_cb_cursor;

/* How strips are assigned to warps. The paper uses a priority queue (section 3.4), which
 * scatters neighbouring strips over the GPU. Here strips go to warps in order: each warp takes
 * as many as keep it within `limit` steps, or one strip of up to `cut` steps. A longer strip is
 * cut into parts, one per warp. The GPU assigns thread blocks to free multiprocessors, which is
 * list scheduling: the last one ends within the mean load plus that of one thread block, the
 * same bound as the queue's (Graham, SIAM J. Appl. Math. 17, 1969). */
#define MBI_CB_PART 0x80000000u /* in task_target: the number of a part, not of a strip */
#define MBI_CB_LEAST_LIMIT 20

#define MBI_CB_FIXUP_THREADS 512

/* CB's knobs: the most steps of a warp, of about 32 nonzeros each; and the limits in
 * mbi_cb_options. */
enum { MBI_KNOB_CB_STEPS, MBI_KNOB_CB_AGGREGATE, MBI_KNOB_CB_COO_MAX, MBI_KNOB_CB_CSR_MAX };
#ifdef MERBIT_STUDY_METHODS /* nonzero: Algorithm 2 of the paper assigns the tasks */
#define MBI_KNOB_CB_BALANCE 4
#endif

#ifdef MBI_SEPARATE
MBI_INTERNAL mbi_cb *mbi_cb_of(const merbit_plan *plan);
/* spmv/gpu/cb/build.c */
MBI_INTERNAL uint64_t mbi_cb_pad(uint64_t bytes, uint64_t size);
MBI_INTERNAL uint64_t mbi_cb_column_bytes(unsigned width);
MBI_INTERNAL uint64_t mbi_cb_bytes(int form, unsigned width, uint64_t count, uint64_t size);
MBI_INTERNAL uint64_t mbi_cb_offset(const mbi_cb_build *b, uint64_t row);
MBI_INTERNAL uint64_t mbi_cb_share(const mbi_cb_build *b, int task);
MBI_INTERNAL void mbi_cb_begin(const mbi_cb_build *b, uint64_t strip, int aggregated,
                               mbi_cb_cursor *c);
MBI_INTERNAL unsigned mbi_cb_row(uint64_t key);
MBI_INTERNAL uint32_t mbi_cb_column(uint64_t key);
MBI_INTERNAL int mbi_cb_next(mbi_cb_cursor *c);
MBI_INTERNAL void mbi_cb_count_task(void *argument, int task);
MBI_INTERNAL void mbi_cb_place(mbi_cb_build *b);
/* spmv/gpu/cb/fill.c */
MBI_INTERNAL void mbi_cb_format_free(merbit_context *context, mbi_cb_format *f);
MBI_INTERNAL merbit_status mbi_cb_check_sizes(merbit_context *context, const mbi_cb_build *b);
MBI_INTERNAL merbit_status mbi_cb_create_format(merbit_context *context,
                                                const merbit_view *from, const void *values,
                                                size_t value_bytes,
                                                const mbi_cb_options *options,
                                                mbi_cb_format *format);
#ifdef MERBIT_STUDY_METHODS
/* spmv/study/cb_study.c */
MBI_INTERNAL merbit_status mbi_cb_queue(merbit_context *context, mbi_cb_format *f, int warps);
#endif
/* spmv/gpu/cb/cb.c */
MBI_INTERNAL merbit_status mbi_cb_options_take(merbit_plan *plan, mbi_cb_options *options);
MBI_INTERNAL void mbi_cb_preamble(const merbit_plan *plan, mbi_preamble *preamble);
#endif /* MBI_SEPARATE */

#endif
