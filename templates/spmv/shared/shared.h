#ifndef MBI_SHARED_H
#define MBI_SHARED_H
#include "market/market.h"
#include "spmv/shared/csr_blocks_arguments.cuh"
#include "spmv/shared/csr_check_arguments.cuh"
#include "spmv/shared/csr_columns_arguments.cuh"
#include "spmv/shared/csr_hash_arguments.cuh"
#include "spmv/shared/csr_sample_arguments.cuh"
#include "spmv/shared/epilogue_arguments.cuh"
#include "spmv/shared/nonempty_rows_arguments.cuh"
#include "spmv/shared/values_arguments.cuh"

typedef struct mbi_operators mbi_operators;
typedef struct mbi_epilogue mbi_epilogue;

/* The forms in which values are stored: spmv/stages/value_forms.c. spmv/shared/values.cuh uses
 * the same numbers. */
typedef enum mbi_value_form {
  MBI_VALUES_GENERAL, /* one per nonzero, in the plan's type; or none, for a pattern of ones */
  MBI_VALUES_EQUAL,   /* one for all nonzeros */
  MBI_VALUES_SINGLE,  /* one per nonzero: a float that equals the double */
  MBI_VALUES_HALF,    /* one per nonzero: a half that equals the value */
  MBI_VALUES_TABLE,   /* one per nonzero: a byte that indexes a table */
  MBI_VALUES_ROW,     /* one per row */
  MBI_VALUES_COLUMN   /* one per column */
} mbi_value_form;

#define MBI_VALUES_MOST 256 /* the most entries of a table */

/* A CSR matrix in GPU memory: spmv/shared/device_csr.c. The plan frees the arrays that it
 * owns. */
typedef struct mbi_device_csr {
  mbi_devptr row_ptr, col_ind, values; /* values 0: a pattern of ones */
  mbi_value_form form;                 /* of `values` */
  mbi_devptr table;                    /* the table of MBI_VALUES_TABLE, owned by the plan */
  int owns_row_ptr, owns_col_ind, owns_values;
  merbit_index_type offset_type; /* of row_ptr; columns have 32 bits */
  int base;
  uint64_t rows, cols, nnz;
  uint64_t bytes;     /* of owned arrays, without scratch */
  mbi_devptr scratch; /* holds the answer of the check, then the counts of rows; or 0 */
  uint64_t scratch_bytes;
} mbi_device_csr;

/* The kernel files of spmv/shared/csr_programs.c. Those that take longest to compile come
 * first, so that parallel compilations end at about the same time. */
typedef enum mbi_csr_file {
  MBI_CSR_VALUES,       /* a sample of the values: spmv/stages/value_forms.c */
  MBI_CSR_SAMPLE,       /* a sample of the columns */
  MBI_CSR_NONEMPTY,     /* counts and lists of the non-empty rows */
  MBI_CSR_BLOCKS,       /* sizes of full blocks */
  MBI_CSR_CHECK,        /* the check of the user's arrays */
  MBI_CSR_COLUMNS,      /* counts of columns */
  MBI_CSR_HASH,         /* a hash of the structure */
  MBI_CSR_VALUE_CHECK,  /* a check of all values, and rounding */
  MBI_CSR_VALUE_GROUPS, /* values that are few, or equal in rows or columns */
  MBI_CSR_FILES
} mbi_csr_file;

typedef struct mbi_csr_types {
  merbit_index_type offset_type;
  merbit_index_type
      index_type; /* of the columns that the check reads; other kernels read 32 bits */
  int base;
} mbi_csr_types;

typedef struct mbi_csr_programs { /* all zero: none has been made */
  mbi_program of[MBI_CSR_FILES];
} mbi_csr_programs;

#define MBI_NONEMPTY_PARTS 16
/* A part of the matrix with 1 / MBI_NONEMPTY_PARTS of its nonzeros. */
typedef struct mbi_nonempty_part {
  double rows;    /* that begin in it, at least 1 */
  double sectors; /* of x per nonzero of a sampled window */
} mbi_nonempty_part;

/* The non-empty rows, counted and listed: spmv/shared/nonempty_rows.c. */
typedef struct mbi_nonempty_rows {
  uint64_t count;              /* rows with a nonzero */
  uint64_t slots;              /* entries of slices of 32 consecutive rows, with padding */
  uint64_t sorted_slots;       /* the same for rows sorted within windows of 1,024 */
  uint32_t longest;            /* nonzeros of the longest row, at most 2^32 - 1 */
  double typical;              /* mean over the nonzeros of the length of their row, at most
                                * 2^20 */
  mbi_devptr row_start;        /* count + 1 offsets, valid until mbi_nonempty_finish; the plan's
                                * row_ptr if no row is empty */
  mbi_devptr row_id, row_bits; /* list of the non-empty rows, and a bit per row, 1 if it has a
                                * nonzero; both 0 if no row is empty */
  int start_apart;             /* 1: row_start is an allocation of its own, which is released
                                * first */
  uint64_t bytes;              /* of the arrays that are kept */
  mbi_devptr column_counts;    /* counts in a sample of the nonzeros: mbi_nonempty_columns */
  uint64_t column_bytes;
  int columns_coded;  /* 1: HUBS has overwritten the counts with codes */
  uint32_t hub_least; /* least count of a hub; columns with this count fill up the capacity */
  uint32_t hub_above; /* number of columns with higher counts, which are all hubs */
  double hub_share;   /* share of the nonzeros in hubs */
  double sectors;     /* sectors of x per nonzero of a sampled window: mbi_nonempty_sample */
  mbi_nonempty_part parts[MBI_NONEMPTY_PARTS]; /* consecutive ones, if sampled_parts is 1 */
  int sampled_parts;
  double abreast; /* the same for 32 rows side by side (mbk_sample_abreast); 0: not sampled,
                   * or non-empty rows have fewer than 256 nonzeros on average */
  double lines;   /* lines of x per nonzero that 32 consecutive nonzeros touch */
  double lines_abreast;       /* the same for nonzeros at one position of 32 rows */
  int block_rows, block_cols; /* the full blocks of which the matrix consists */
  int masked_side;            /* side of the best square blocks with masks, 0 if none are known:
                               * mbi_extract_probe */
  double masked_bytes;        /* bytes per nonzero of these blocks */
  double narrow;              /* share of slices of 32 rows whose columns lie in few pages:
                               * spmv/shared/pages.cuh */
  double diagonal_slots;      /* entries per nonzero if sampled slices of 64 rows were stored by
                               * diagonals; 0: not sampled */
  mbi_devptr counts, offsets; /* scratch that is kept; offsets: the number of the first
                               * non-empty row of each block */
  uint64_t counts_bytes, blocks;
  mbi_csr_programs programs; /* valid until mbi_nonempty_finish */
} mbi_nonempty_rows;

#define MBI_EXPRESSION_TEXT 512   /* the most characters of the user's text */
#define MBI_EXPRESSION_SIZE 1400  /* bytes of the translated text with the final zero */
#define MBI_EXPRESSION_DEPTH 64   /* the most levels of nesting; parentheses count twice */
#define MBI_EXPRESSION_DIGITS 64  /* the most characters of a number */
#define MBI_EXPRESSION_NUMBER 48  /* the most characters of a translated number */
#define MBI_EXPRESSION_MARK "in_" /* prefix of names in the translated text */
typedef struct mbi_expression {   /* an expression being translated */
  merbit_context *context;
  const char *what;         /* the name used in messages */
  const char *const *names; /* ended by NULL */
  merbit_type type;
  const char *number; /* the name of `type` in kernels */
  const char *source;
  const char *at; /* the current token, of `length` characters; at the end length is 0 */
  size_t length;
  char *text; /* the translated text */
  size_t written;
  int depth, operand;
} mbi_expression;
#define MBI_CALLS 9 /* number of functions that an expression may call */
typedef struct mbi_call {
  const char *name;
  int arguments;
} mbi_call;

/* The kind of an operand, in mbi_expression.operand. */
enum { MBI_OPERAND_NUMBER, MBI_OPERAND_TRUTH };

/* A copy of the user's operators. */
struct mbi_operators {
  merbit_operators given;                                       /* its expressions are NULL */
  char add[MBI_EXPRESSION_SIZE], multiply[MBI_EXPRESSION_SIZE]; /* for kernels; empty: none */
};
/* alpha or beta as an argument of a semiring's kernels. */
typedef union mbi_scalar {
  struct {
    double value;
    uint32_t given;
  } f64;
  struct {
    float value;
    uint32_t given;
  } f32;
} mbi_scalar;

#define MBI_EPILOGUE_VECTORS 6
#define MBI_EPILOGUE_CHUNK 8192  /* rows per task on the CPU */
#define MBI_EPILOGUE_THREADS 256 /* threads per block of the kernel */
#define MBI_EPILOGUE_BLOCKS 1024 /* the most; the last one adds up their sums in one step */
struct mbi_epilogue {            /* a copy of the user's epilogue */
  merbit_epilogue given;         /* its expressions are NULL */
  char result[MBI_EXPRESSION_SIZE], sums[2][MBI_EXPRESSION_SIZE]; /* for kernels; empty: none */
  /* For the library's own iterations, or NULL: the include name of a file that defines what the
   * last block does with the sums. It is passed after_memory. */
  const char *after;
  mbi_devptr after_memory;
  mbi_program program;
  void *kernel; /* CUfunction */
};
/* Offsets in the scratch of a product. First comes the ticket, which is zero between products,
 * even if the plan is made again; then the sums of the blocks. If there is a result, the rest
 * is for a product that must not go to y. */
#define MBI_EPILOGUE_PARTS 256
#define MBI_EPILOGUE_PRODUCT (MBI_EPILOGUE_PARTS + 2 * MBI_EPILOGUE_BLOCKS * sizeof(double))

#define MBI_ARRAYS_THREADS 256
#define MBI_ARRAYS_GRID 4096 /* the most blocks; each strides over the arrays */

#define MBI_NONEMPTY_PER_BLOCK 1024
#define MBI_NONEMPTY_COUNT_SHARED (24u + 522u * (unsigned)sizeof(uint32_t)) /* bytes */
#define MBI_NONEMPTY_SUMS 40 /* words before the offsets of the blocks */
#define MBI_NONEMPTY_WINDOW 8192
#define MBI_NONEMPTY_TABLE 12288
#define MBI_NONEMPTY_BINS 4096

/* Upper bounds of the bytes that a method needs besides its CSR: what the plan keeps, what it
 * needs only while it is made, and the scratch of a product. */
typedef struct mbi_bound {
  uint64_t kept, making, scratch;
} mbi_bound;

#define MBI_STATE_MOST 512 /* the most bytes of plan->state */

/* The functions of a method on CUDA. A function may be NULL only if its comment says so. The
 * CUDA context is current in create, destroy, multiply and refresh. */
typedef struct mbi_cuda_method {
  size_t state_bytes; /* of plan->state, which is zero before `create`; 1 to MBI_STATE_MOST */
  /* Builds the method's form of plan->device, and sets plan->program and plan->stream_bytes. On
   * failure the caller runs `destroy`. */
  merbit_status (*create)(merbit_plan *plan);
  void (*destroy)(merbit_plan *plan);
  /* Returns the bytes of scratch of a product. */
  uint64_t (*carry_bytes)(const merbit_plan *plan);
  /* Enqueues y = alpha A x + beta y. */
  merbit_status (*multiply)(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                            mbi_devptr x, const void *beta, mbi_devptr y, void *stream);
  /* Sets the fields that are particular to the method: block_threads, tiles and the like. */
  void (*info)(const merbit_plan *plan, merbit_plan_info *info);
  /* Writes the method's part of the plan's description. */
  int (*describe)(const merbit_plan *plan, char *text, size_t size);
  /* Takes over new plan->device.values. NULL: products read them in place. */
  merbit_status (*refresh)(merbit_plan *plan);
  /* The forms of values that the method takes besides general values and patterns:
   * MBI_FORMS_... AUTO considers the method for these forms alone. A plan that names the method
   * chooses among those that pay. */
  uint32_t forms;
  /* Returns the forecast of a product in seconds: without its first launch, with
   * profile->launch_seconds / 2 for each later one. HUGE_VAL: the matrix does not suit the
   * method. NULL: AUTO never chooses it. */
  double (*cost)(const merbit_plan *plan);
  /* Adds the method's memory to *bound. The plan has no arrays: plan->device holds sizes, of
   * which nnz may be too large, and plan->state is zero. NULL: the memory depends on the
   * arrays. */
  merbit_status (*bound)(merbit_plan *plan, mbi_bound *bound);
  double making; /* number of products that take as long as `create`: MBI_MAKING_... */
  /* Returns whether AUTO may choose the method by its forecast alone, without measuring. NULL:
   * yes. */
  int (*trusted)(const merbit_plan *plan);
  /* The names that plan_desc.tuning may set, at most MBI_KNOBS, separated by spaces, in the
   * order of plan->tuning. A point after a name allows fractions. NULL: none. */
  const char *knobs;
} mbi_cuda_method;

#ifdef MERBIT_STUDY_METHODS
#define MBI_KNOBS 5
#else
#define MBI_KNOBS 4 /* the most knobs of a method */
#endif

/* The number of products that take as long as building a form of the matrix in addition to
 * SCAN's schedule: slices or SCAN's own with new columns, which one pass writes, or any other
 * form. The ratio does not depend on the GPU, because building moves the same arrays through
 * the same memory as products do. (Slices of 45 matrices of 6 to 30 million nonzeros on an
 * H200: 1.3 to 9.6 products in f64, 2 to 15 in f32.) */
#define MBI_MAKING_FORM 12.0
#define MBI_MAKING_COLUMNS 8.0
#define MBI_MAKING_SCHEDULE 2.0 /* SCAN's schedule itself, or the sizes of another method */

/* The properties of a CSR that AUTO finds on the CPU. */
typedef struct mbi_cpu_sample {
  int equal; /* 1: all values are equal, or it is a pattern */
  int block; /* rows and columns of the full blocks of which the matrix consists; 1: none */
} mbi_cpu_sample;

/* The functions of a method on the CPU. */
typedef struct mbi_cpu_method {
  /* Builds the method's form of plan->csr or plan->bsr. On failure the caller runs `destroy`.
   * NULL: the method multiplies plan->csr itself. */
  merbit_status (*create)(merbit_plan *plan);
  void (*destroy)(merbit_plan *plan); /* NULL: there is nothing to release */
  /* Returns the bytes of scratch of a product. */
  size_t (*scratch_bytes)(const merbit_plan *plan);
  /* Computes y = alpha A x + beta y. NULL: the plan is for merbit_spmm. */
  void (*multiply)(const merbit_plan *plan, void *scratch, const void *alpha, const void *x,
                   const void *beta, void *y);
  /* Returns the bytes of the matrix that a product reads. NULL: those of plan->csr. */
  int64_t (*stream_bytes)(const merbit_plan *plan);
  /* Writes the plan's description; a product moves `bytes`. NULL: the description of a CSR. */
  int (*describe)(const merbit_plan *plan, int64_t bytes, char *text, size_t size);
  /* Takes over new plan->values. NULL: products read them in place. */
  merbit_status (*refresh)(merbit_plan *plan);
  /* Returns the forecast of a product in seconds, or HUGE_VAL if the matrix does not suit the
   * method. NULL: AUTO never chooses it. */
  double (*cost)(const merbit_plan *plan, const mbi_cpu_sample *sample);
  /* Adds the memory that the plan keeps for the method, except carries. The plan has no arrays:
   * plan->csr and plan->tasks hold sizes. NULL: none. */
  void (*bound)(const merbit_plan *plan, mbi_bound *bound);
} mbi_cpu_method;

/* Properties of a method: what it supports besides f64 or f32, plus-times and one vector, and
 * others. */
enum {
  MBI_TAKES_TYPES = 1,       /* short, complex and mixed values */
  MBI_TAKES_SEMIRINGS = 2,   /* semirings other than plus-times */
  MBI_TAKES_REORDERING = 4,  /* plan_desc.reordering */
  MBI_TAKES_VECTORS_CPU = 8, /* plan_desc.vectors above 1 */
  MBI_TAKES_VECTORS_CUDA = 16,
  MBI_OF_BLOCKS = 32,        /* multiplies plan->bsr */
  MBI_ALWAYS_DEPENDENT = 64, /* waiting for all earlier work would gain nothing */
  MBI_SEQUENTIAL = 128       /* runs in one thread of the CPU */
};

/* A row of the table of methods: spmv/choose/methods.c. */
typedef struct mbi_method {
  merbit_method number;
  const char *name, *identifier; /* the names in merbit_plan_describe and in users' code */
  int takes;                     /* MBI_TAKES_... */
  const mbi_cuda_method *cuda;   /* NULL: not on CUDA */
  const mbi_cpu_method *cpu;     /* NULL: not on the CPU */
} mbi_method;

#ifdef MBI_SEPARATE
/* spmv/shared/expression_text.c */
extern const mbi_call mbi_calls[MBI_CALLS];
MBI_INTERNAL int mbi_is_letter(char c);
MBI_INTERNAL merbit_status mbi_expression_refuse(mbi_expression *e, const char *why);
MBI_INTERNAL int mbi_expression_is(const mbi_expression *e, const char *token);
MBI_INTERNAL void mbi_expression_next(mbi_expression *e);
MBI_INTERNAL merbit_status mbi_expression_insert(mbi_expression *e, size_t at,
                                                 const char *text);
MBI_INTERNAL merbit_status mbi_expression_append(mbi_expression *e, const char *text);
MBI_INTERNAL merbit_status mbi_expression_wrap(mbi_expression *e, size_t from, const char *head,
                                               const char *tail);
MBI_INTERNAL merbit_status mbi_expression_want(mbi_expression *e, size_t from, int wanted);
/* spmv/shared/expression.c */
MBI_INTERNAL merbit_status mbi_expression_write(merbit_context *context, const char *what,
                                                const char *source, const char *const *names,
                                                merbit_type type, const char *number,
                                                char *text);
MBI_INTERNAL merbit_status mbi_expression_check(merbit_context *context, const char *what,
                                                const char *source, const char *const *names,
                                                merbit_type type, char *text);
/* spmv/shared/semiring.c */
MBI_INTERNAL int mbi_plan_has_semiring(const merbit_plan *plan);
MBI_INTERNAL int mbi_plan_build_flags(const merbit_plan *plan);
MBI_INTERNAL const char *mbi_semiring_label(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_semiring_check(merbit_context *context, const merbit_view *view,
                                              const mbi_method *method,
                                              const merbit_plan_desc *desc);
MBI_INTERNAL int mbi_semiring_runs(const merbit_plan *plan, merbit_side side);
MBI_INTERNAL merbit_status mbi_semiring_take(merbit_plan *plan);
MBI_INTERNAL void mbi_semiring_preamble(const merbit_plan *plan, mbi_preamble *preamble);
MBI_INTERNAL double mbi_semiring_zero(const merbit_plan *plan);
MBI_INTERNAL mbi_scalar mbi_semiring_scalar(const merbit_plan *plan, const void *scalar);
MBI_INTERNAL int mbi_semiring_adds(const merbit_plan *plan, const void *beta);
MBI_INTERNAL int mbi_plan_adds(const merbit_plan *plan, const void *beta);
/* spmv/shared/epilogue_table.c */
MBI_INTERNAL merbit_epilogue_rows mbi_epilogue_builtin(const merbit_epilogue *given,
                                                       merbit_type type);
/* spmv/shared/epilogue.c */
MBI_INTERNAL int mbi_plan_has_epilogue(const merbit_plan *plan);
MBI_INTERNAL int64_t mbi_epilogue_stream_bytes(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_epilogue_check(merbit_context *context,
                                              const merbit_plan_desc *desc);
MBI_INTERNAL merbit_status mbi_epilogue_take_one(const merbit_plan *plan, int sum,
                                                 const char *what, const char *source,
                                                 char *text);
MBI_INTERNAL merbit_status mbi_epilogue_take(merbit_plan *plan, const char *after);
MBI_INTERNAL void mbi_epilogue_preamble(const mbi_epilogue *e, merbit_type type,
                                        mbi_preamble *preamble);
MBI_INTERNAL merbit_status mbi_epilogue_specialise(merbit_plan *plan);
MBI_INTERNAL void mbi_epilogue_release_cuda(merbit_plan *plan);
MBI_INTERNAL uint64_t mbi_epilogue_blocks(const merbit_plan *plan);
MBI_INTERNAL int64_t mbi_epilogue_chunks(const merbit_plan *plan);
MBI_INTERNAL uint64_t mbi_epilogue_scratch_bytes(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_epilogue_allocate_sums(merbit_workspace *workspace);
/* spmv/shared/csr_programs.c */
MBI_INTERNAL merbit_status mbi_csr_programs_create(merbit_context *context,
                                                   const mbi_csr_types *types, uint32_t wanted,
                                                   mbi_csr_programs *programs,
                                                   mbi_program_times *times);
MBI_INTERNAL void mbi_csr_programs_destroy(merbit_context *context, mbi_csr_programs *programs);
MBI_INTERNAL merbit_status mbi_csr_kernel(merbit_context *context, const mbi_csr_types *types,
                                          mbi_csr_programs *programs, mbi_csr_file file,
                                          const char *name, mbi_program_times *times,
                                          void **kernel);
MBI_INTERNAL mbi_csr_types mbi_plan_csr_types(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_plan_csr_kernel(merbit_plan *plan, mbi_csr_file file,
                                               const char *name, void **kernel);
/* spmv/shared/device_csr.c */
MBI_INTERNAL uint64_t mbi_nonempty_blocks_of(int64_t rows);
MBI_INTERNAL uint64_t mbi_nonempty_bytes(int64_t rows);
MBI_INTERNAL int64_t mbi_arrays_blocks(int64_t count);
MBI_INTERNAL merbit_status mbi_array_upload(merbit_plan *plan, const void *source,
                                            uint64_t bytes, const char *what,
                                            mbi_device_csr *csr, mbi_devptr *target, int *owns);
MBI_INTERNAL merbit_status mbi_device_csr_create(merbit_plan *plan, const merbit_view *view,
                                                 mbi_device_csr *csr);
MBI_INTERNAL merbit_status mbi_device_csr_prepare(merbit_plan *plan, const merbit_view *view,
                                                  uint32_t inspecting,
                                                  mbi_csr_programs *programs,
                                                  mbi_device_csr *csr);
MBI_INTERNAL void mbi_device_csr_destroy(merbit_plan *plan, mbi_device_csr *csr);
MBI_INTERNAL uint64_t mbi_device_csr_stream_bytes(const merbit_plan *plan);
MBI_INTERNAL void mbi_plan_preamble(const merbit_plan *plan, mbi_preamble *preamble);
/* spmv/shared/nonempty_rows.c */
MBI_INTERNAL void mbi_nonempty_finish(merbit_plan *plan, mbi_nonempty_rows *nonempty);
MBI_INTERNAL void mbi_nonempty_destroy(merbit_plan *plan, mbi_nonempty_rows *nonempty);
MBI_INTERNAL int mbi_nonempty_equal(const merbit_plan *plan);
MBI_INTERNAL int mbi_nonempty_uneven(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_nonempty_sums(merbit_plan *plan, mbi_devptr array,
                                             uint64_t count, uint64_t *sum);
MBI_INTERNAL void mbi_nonempty_take_parts(merbit_plan *plan, const uint32_t *found,
                                          double nonzeros);
MBI_INTERNAL merbit_status mbi_nonempty_sample(merbit_plan *plan);
MBI_INTERNAL uint32_t mbi_nonempty_worth(const merbit_plan *plan, uint64_t stride);
MBI_INTERNAL void mbi_nonempty_take_hubs(mbi_nonempty_rows *nonempty, const uint32_t *bins,
                                         uint64_t sampled, uint32_t worth, uint64_t capacity);
MBI_INTERNAL merbit_status mbi_nonempty_columns(merbit_plan *plan, uint64_t capacity);
MBI_INTERNAL merbit_status mbi_nonempty_blocks(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_nonempty_hash(merbit_plan *plan, uint64_t *hash);
MBI_INTERNAL int mbi_nonempty_fit(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_nonempty_need(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_nonempty_compact(merbit_plan *plan);
MBI_INTERNAL void mbi_nonempty_bound(const merbit_plan *plan, mbi_bound *bound);
MBI_INTERNAL void mbi_nonempty_columns_bound(const merbit_plan *plan, mbi_bound *bound);
#endif /* MBI_SEPARATE */

#endif
