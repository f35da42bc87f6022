#ifndef MBI_PLAN_H
#define MBI_PLAN_H
#include "spmv/cpu/cpu.h"
#include "spmv/stages/stages.h"

/* Requests of the library's own iterations and of merbit_dist.h; all zero for a user's plan. */
typedef struct mbi_plan_making {
  int dual;          /* 1: the dual-buffer commit of MERBIT */
  const char *after; /* mbi_epilogue.after; NULL: none */
  int in_place;      /* CPU, 1: SORTED may reorder col_ind and values in the view's own arrays,
                      * which outlive the plan. col_ind has base 0 and MBI_SORTED_PADDING extra
                      * elements. The maker may set it to 0 later: the plan then owns both. */
  /* CUDA: */
  uint64_t arena_bytes; /* bytes that the maker wants in each workspace; such a plan lives for
                         * one call, and keeps the memory in which a transpose was made */
  mbi_arena *arena;     /* the maker's arena for the plan's arrays, which outlives the plan;
                         * NULL: the plan's own */
  int dots;             /* 1: products also compute x'A x, if that costs little */
  int stops;            /* 1: products with an epilogue do nothing once its skip flag is set */
  int interleaved;      /* 1: other kernels run between products (mbi_plan_launches_plainly) */
  int unsynchronised;   /* 1: creation does not wait for its work on the default stream */
  /* Called once the plan's arrays have been checked, so that the maker can enqueue work of its
   * own; or NULL. */
  merbit_status (*checked)(void *maker);
  void *maker;
} mbi_plan_making;

struct merbit_plan {
  merbit_context *context;
  int64_t references; /* held by the user and by the user's workspaces */
  merbit_plan_desc desc;
  merbit_view given;     /* the user's view, or what the symmetric stage made of it */
  merbit_view view;      /* `given`, or its transpose */
  merbit_view csr;       /* the CSR that is multiplied or was uploaded */
  merbit_matrix *owner;  /* owner of the view's arrays; NULL: the user */
  merbit_matrix *matrix; /* holds csr if the view was converted or reordered */
  mbi_reorder reorder;
  mbi_transpose transpose;
  mbi_symmetric symmetric; /* for a matrix given by one triangle */
  mbi_bsr bsr;             /* the blocks, if the method has them; csr is the view then */
  merbit_side side;
  merbit_method method;
  const mbi_method *row;   /* the row of `method` */
  const mbi_method *asked; /* the row of desc.method */
  merbit_type type;        /* of the values; vectors and sums: spmv/plan/types.c */
  char reason[384];        /* why AUTO fell back to the CPU; or empty */
  char why[160];           /* why AUTO chose the method; or empty */
  double plan_seconds;
  mbi_program_times times; /* of all programs that the plan has made */
  mbi_plan_making making;
  mbi_arena arena; /* the plan's own: memory in which a transpose was made */
  /* CPU */
  const mbi_cpu_method *cpu;
  int tasks;
  const void *values; /* of csr or bsr; NULL: all ones */
  void *own_values;   /* the values if an update has copied them */
  mbi_blocks blocks;
  mbi_sorted sorted;
  mbi_placed placed;
  int placed_nodes;
  void *placed_columns; /* csr.col_ind if it was copied */
  /* CUDA */
  mbi_device_csr device;
  const mbi_cuda_method *cuda;
  const merbit_device_profile *profile; /* the GPU's rates and latencies, for forecasts */
  void *state; /* what the method has built: a struct of spmv/gpu/NAME/NAME.h */
  mbi_program program;
  void *scale; /* CUfunction that multiplies x by the values of the columns before a product; or
                * NULL */
  uint64_t schedule_bytes;    /* bytes that the method added to the CSR */
  uint64_t stream_bytes;      /* bytes that a product moves, without x and y */
  mbi_nonempty_rows nonempty; /* set if AUTO or the method needs it */
  mbi_extracted extracted;
  mbi_operators *operators; /* MERBIT_SEMIRING_CUSTOM: spmv/shared/semiring.c */
  double tuning[MBI_KNOBS]; /* plan_desc.tuning, in the order of cuda->knobs; 0: not set */
  int stops; /* CUDA, 1: products take no scalars, only the skip flag of their epilogue; once
              * that is set, their results are not needed */
  mbi_epilogue *epilogue; /* spmv/shared/epilogue.c; or NULL */
  int streaming;          /* 1: rows are long enough for streaming loads of the matrix */
  int passing;            /* sixteenths of the matrix that L2 drops first: mbi_choose_passing */
  merbit_workspace *workspace; /* the plan's own; holds no reference */
};

struct merbit_workspace {
  merbit_plan *plan;
  void *carries;                 /* CPU: carries of the merge tasks */
  void *bounce;                  /* CUDA, several host vectors: spmv/plan/many_product.c */
  mbi_devptr device_carries;     /* CUDA: carry_first[blocks], carry_out[blocks] */
  mbi_devptr staged_x, staged_y; /* CUDA with host vectors */
  const void *known_x, *known_y; /* the last addresses that were found to be in GPU memory */
  double *sums;                  /* CPU: the epilogue's sums of each chunk */
  mbi_devptr sums_scratch;       /* CUDA: spmv/plan/epilogue_product.c */
  mbi_devptr arena;              /* CUDA: plan->making.arena_bytes bytes */
  const void *known_epilogue[9]; /* the same for vectors, scalars, sums and skip */
};

#ifdef MBI_SEPARATE
/* spmv/plan/common.c */
MBI_INTERNAL merbit_status mbi_plan_allocate(merbit_plan *plan, uint64_t bytes,
                                             const char *what, mbi_devptr *address);
MBI_INTERNAL merbit_status mbi_plan_allocate_parts(merbit_plan *plan, const char *what,
                                                   int count, mbi_devptr *const *parts,
                                                   const uint64_t *bytes);
MBI_INTERNAL void mbi_plan_release(merbit_plan *plan, mbi_devptr address);
MBI_INTERNAL merbit_status mbi_plan_program(merbit_plan *plan, const char *file,
                                            const mbi_preamble *preamble, int parts,
                                            mbi_program *program);
MBI_INTERNAL int mbi_knob(const merbit_plan *plan, int knob);
MBI_INTERNAL int mbi_plan_launches_plainly(const merbit_plan *plan);
MBI_INTERNAL int mbi_plan_start(const merbit_plan *plan, int behind);
MBI_INTERNAL merbit_status mbi_plan_launch(merbit_plan *plan, void *function, const char *name,
                                           int64_t grid, int threads, unsigned shared_bytes,
                                           void *stream, const void *arguments, size_t bytes);
MBI_INTERNAL size_t mbi_value_bytes(const merbit_plan *plan);
MBI_INTERNAL uint64_t mbi_value_bytes_once(const merbit_plan *plan);
MBI_INTERNAL unsigned mbi_value_shared(const merbit_plan *plan);
MBI_INTERNAL const char *mbi_value_name(const merbit_plan *plan);
MBI_INTERNAL int mbi_plan_has_blocks(const merbit_plan *plan);
MBI_INTERNAL int mbi_plan_copies_values(const merbit_plan *plan);
MBI_INTERNAL int mbi_plan_reorders(const merbit_plan *plan);
MBI_INTERNAL int mbi_plan_transposes(const merbit_plan *plan);
MBI_INTERNAL void mbi_view_swap(merbit_view *coo);
MBI_INTERNAL merbit_status mbi_plan_check_arrays(const merbit_plan *plan,
                                                 const merbit_view *host);
/* spmv/plan/types.c */
MBI_INTERNAL mbk_scalar mbi_plan_scalar(const merbit_plan *plan, const void *scalar);
MBI_INTERNAL int mbi_alpha_zero(const merbit_plan *plan, const void *alpha);
MBI_INTERNAL merbit_type mbi_plan_accumulator(const merbit_plan *plan);
MBI_INTERNAL int mbi_plan_vectors(const merbit_plan *plan);
MBI_INTERNAL int mbi_plan_plain(const merbit_plan *plan);
MBI_INTERNAL const char *mbi_type_device(merbit_type type);
MBI_INTERNAL int mbi_plan_conjugates(const merbit_plan *plan);
MBI_INTERNAL int mbi_plan_stored(const merbit_plan *plan);
MBI_INTERNAL const char *mbi_type_text(merbit_type values, merbit_type sums);
MBI_INTERNAL const char *mbi_plan_type_text(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_types_choose(merbit_context *context, merbit_type type,
                                            merbit_plan_desc *desc);
MBI_INTERNAL merbit_status mbi_types_check_method(merbit_context *context, merbit_type type,
                                                  const mbi_method *method,
                                                  const merbit_plan_desc *desc);
MBI_INTERNAL merbit_status mbi_size_check_address(merbit_context *context, const char *what,
                                                  size_t size, const void *address);
MBI_INTERNAL merbit_status mbi_types_check_address(merbit_context *context, const char *what,
                                                   merbit_type type, const void *address);
MBI_INTERNAL merbit_status mbi_types_check_there(merbit_context *context, int is_new,
                                                 merbit_type type, const void *values);
/* spmv/plan/dispatch.c */
MBI_INTERNAL uint64_t mbi_scratch_bytes(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_scratch_clear(const merbit_plan *plan, mbi_devptr scratch);
MBI_INTERNAL void mbi_method_forget(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_method_create(merbit_plan *plan);
MBI_INTERNAL void mbi_method_destroy(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_method_multiply(merbit_plan *plan, mbi_devptr scratch,
                                               const void *alpha, mbi_devptr x,
                                               const void *beta, mbi_devptr y, void *stream);
/* spmv/plan/workspace.c */
MBI_INTERNAL void mbi_workspace_free(merbit_workspace *workspace);
MBI_INTERNAL uint64_t mbi_workspace_bytes(const merbit_plan *plan, uint64_t bytes[5]);
MBI_INTERNAL merbit_status mbi_workspace_make(merbit_plan *plan, merbit_workspace **workspace);
MBI_INTERNAL merbit_status mbi_plan_wait(merbit_plan *plan);
/* spmv/plan/tuning.c */
MBI_INTERNAL merbit_status mbi_tuning_take(merbit_plan *plan);
/* spmv/plan/plan.c */
MBI_INTERNAL merbit_status mbi_plan_check_side(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_plan_check(merbit_context *context, const merbit_view *view,
                                          const merbit_plan_desc *desc,
                                          merbit_plan_desc *taken);
MBI_INTERNAL merbit_side mbi_plan_side(const merbit_context *context,
                                       const merbit_plan_desc *desc);
MBI_INTERNAL void mbi_plan_unref(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_plan_create(merbit_context *context, const merbit_view *view,
                                           const merbit_plan_desc *desc,
                                           const mbi_plan_making *how, merbit_plan **plan);
/* spmv/plan/update.c */
MBI_INTERNAL merbit_status mbi_plan_check_memory(merbit_context *context, merbit_memory memory);
/* Checks the arguments of merbit_plan_update_values. */
MBI_INTERNAL merbit_status mbi_plan_check_values(const merbit_plan *plan, const void *values,
                                                 merbit_memory memory);
/* spmv/plan/product.c */
MBI_INTERNAL int mbi_overlap(const void *x, uint64_t x_bytes, const void *y, uint64_t y_bytes);
MBI_INTERNAL merbit_status mbi_spmv_check(merbit_plan *plan, const merbit_workspace *workspace,
                                          const void *x, const void *y, const char *call);
MBI_INTERNAL void mbi_spmv_cpu(merbit_plan *plan, merbit_workspace *workspace,
                               const void *alpha, const void *x, const void *beta, void *y);
MBI_INTERNAL merbit_status mbi_spmv_check_address(const merbit_plan *plan, const void *pointer,
                                                  const void **known, const char *call,
                                                  const char *name);
/* spmv/plan/epilogue_product.c */
MBI_INTERNAL const void *mbi_epilogue_factor(const merbit_plan *plan, int one);
MBI_INTERNAL merbit_status mbi_spmv(merbit_plan *plan, merbit_workspace *workspace,
                                    const void *alpha, const void *x, const void *beta, void *y,
                                    void *stream, const char *call);
MBI_INTERNAL merbit_status mbi_spmv_epilogue(merbit_plan *plan, merbit_workspace *workspace,
                                             const void *x, void *y, const void *const *vectors,
                                             const double *scalars, double *sums,
                                             const int *skip, void *stream);
MBI_INTERNAL merbit_status mbi_epilogue_alone(merbit_plan *plan, const void *ax, void *y,
                                              const void *const *vectors, const double *scalars,
                                              void *stream);
#endif /* MBI_SEPARATE */

#endif
