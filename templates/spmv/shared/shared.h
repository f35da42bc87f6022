#ifndef MBI_SHARED_H
#define MBI_SHARED_H
#include "market/market.h"

/* How values are stored: spmv/stages/value_forms.c. Kernels know the numbers: spmv/shared/values.cuh. */
typedef enum mbi_value_form {
  MBI_VALUES_GENERAL, /* each, in the plan's type; or none, for a pattern of ones */
  MBI_VALUES_EQUAL,   /* one for all */
  MBI_VALUES_SINGLE,  /* each, as a float that is exactly the double */
  MBI_VALUES_HALF,    /* each, as a half that is exactly the value */
  MBI_VALUES_TABLE,   /* each, as a byte: its number in a table */
  MBI_VALUES_ROW,     /* one for each row */
  MBI_VALUES_COLUMN   /* one for each column */
} mbi_value_form;

#define MBI_VALUES_MOST 256 /* of a table */

/* A CSR matrix in GPU memory: spmv/shared/device_csr.c. Arrays that the plan owns are freed with it. */
typedef struct mbi_device_csr {
  mbi_devptr row_ptr, col_ind, values; /* values 0: a pattern of ones */
  mbi_value_form form;                 /* of `values` */
  mbi_devptr table;                    /* MBI_VALUES_TABLE: the plan's own */
  int owns_row_ptr, owns_col_ind, owns_values;
  merbit_index_type offset_type; /* of row_ptr; columns are 32-bit */
  int base;
  uint64_t rows, cols, nnz;
  uint64_t bytes;     /* owned, but for this: */
  mbi_devptr scratch; /* in which the check left its answer, and where ranks count; or 0 */
  uint64_t scratch_bytes;
} mbi_device_csr;

/* Rows that hold something, ranked: spmv/shared/nonempty_rows.c. */
typedef struct mbi_ranks {
  uint64_t count;       /* rows with a nonzero */
  uint64_t slots;       /* of slices of 32 rows as they come, each as wide as its longest row */
  uint32_t longest;     /* nonzeros of the longest row, at most 2^32 - 1 */
  mbi_devptr row_start; /* ranks + 1 offsets; the plan's row_ptr where no row is empty; until
                           mbi_ranks_finish */
  mbi_devptr row_id, empty_id; /* rows with and without a nonzero; 0 where no row is empty */
  int start_apart;             /* row_start is not behind them, but released before */
  uint64_t bytes;              /* of what is owned of the three, and stays */
  mbi_devptr column_counts; /* of a sample of the nonzeros: see mbi_ranks_columns */
  uint64_t column_bytes;
  int columns_coded;        /* HUBS has put codes in the place of counts */
  uint32_t hub_least;       /* a column counted this often is a hub */
  double hub_share;         /* of the nonzeros that lie in hubs */
  double sectors; /* of x that a nonzero adds in a window of neighbours: spmv/choose/choose.c */
  int block_rows, block_cols; /* of the full blocks that the matrix consists of */
  double narrow; /* share of slices of 32 rows whose columns lie in few pages: spmv/shared/pages.cuh */
  mbi_devptr counts, offsets; /* scratch, kept, and in it the rank of each block's first row */
  uint64_t counts_bytes, blocks;
  mbi_program program; /* until mbi_ranks_finish */
} mbi_ranks;

#endif
