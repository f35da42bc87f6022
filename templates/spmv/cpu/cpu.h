#ifndef MBI_CPU_H
#define MBI_CPU_H
#include "spmv/shared/shared.h"

/* Rows sorted by length within windows, on the CPU: spmv/cpu/sorted.c. */
#define MBI_SORTED_AHEAD 64 /* nonzeros ahead of which x is asked for, where it is far away */
#define MBI_SORTED_PADDING MBI_SORTED_AHEAD /* columns behind the last, 0 */

typedef struct mbi_sorted_run { /* of rows that are equally long */
  int64_t length, count;
} mbi_sorted_run;

typedef struct mbi_sorted_window {
  int64_t row, entry; /* the first */
  int64_t run, runs;
} mbi_sorted_window;

typedef struct mbi_sorted_share { /* a task's */
  int64_t head_row;               /* a row that an earlier task began, or -1 */
  int64_t head, head_end;         /* its entries here */
  int64_t row, last;              /* rows that this task has whole */
  int64_t carry, carry_end;       /* entries of a row that a later task ends */
  int64_t window, windows, run, runs;
} mbi_sorted_share;

typedef struct mbi_sorted {
  mbi_sorted_share *shares;
  mbi_sorted_window *windows;
  mbi_sorted_run *runs;
  uint16_t *row_id; /* in its window */
  int32_t *col_ind; /* from 0 */
  void *values;     /* NULL: all are `value` */
  double value;
  int far_x; /* x is larger than the caches */
} mbi_sorted;

typedef enum mbi_placed { /* what became of plan_desc.numa: spmv/cpu/numa.c */
  MBI_PLACED_NOTHING,
  MBI_PLACED_ONE_NODE,
  MBI_PLACED_MOVED,
  MBI_PLACED_COPIED,
  MBI_PLACED_TOUCHED
} mbi_placed;

/* Fixed-size tasks of blocks on the CPU, plan->tasks of them: spmv/cpu/blocks.c. */
typedef struct mbi_blocks {
  int64_t *chunk_index, *chunk_row; /* where each begins, and the last ends; one allocation */
} mbi_blocks;

#endif
