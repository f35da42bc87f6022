#ifndef MBI_SOLVER_H
#define MBI_SOLVER_H
#include "spmv/choose/choose.h"

/* Declarations shared by all solver files. merbit_solver_create is in solve/core/solver.c,
 * merbit_solver_solve in solve/core/solve.c. */

#define MBS_FUNCTION static
#define MBS_CALLED static
#include "solve/core/state.cuh"
#include "solve/gmres/arnoldi.cuh"
#include "solve/cg/slots.cuh"
#include "solve/core/loop_arguments.cuh"
#include "solve/core/step_arguments.cuh"
#undef MBS_FUNCTION
#undef MBS_CALLED

/* Values of mbi_step_code.when. MBS_STEP in solve/core/step_text.cuh explains them. */
enum { MBI_STEP_ALWAYS, MBI_STEP_RUNNING, MBI_STEP_UNTIL_CLOSED };

/* A step's code for the CPU, which solve/core/steps.c runs. The argument of `chunk` is an
 * mbi_step_call; `adds` and `maxes` count the step's sums and maxima. */
typedef struct mbi_step_code {
  int (*before)(mbi_solve_state *scalars);
  mbi_task chunk;
  void (*after)(mbi_solve_memory *memory, const mbi_solve_state *scalars, const double *sums);
  int adds, maxes, when;
  const struct mbi_wide_code
      *wide; /* set for a step with many sums (solve/core/wide.c), else NULL */
} mbi_step_code;

/* A step: the name of its kernel in the method's program, and the CPU's code in f64 and f32. */
typedef struct mbi_step {
  const char *kernel;
  const mbi_step_code *code[2];
} mbi_step;

/* The entry of step `name` in a method's table. */
#define MBI_STEP(name)                                                                         \
  {                                                                                            \
    "mbk_" #name, {                                                                            \
      &mbi_##name##_code_f64, &mbi_##name##_code_f32                                           \
    }                                                                                          \
  }

#define MBI_SOLVE_STEPS 16 /* the most steps of a method, which begin with these two: */
#define MBI_STEP_RESIDUAL 0
#define MBI_STEP_BLOCKS 1
#define MBI_SOLVE_FUSED_KERNELS 2 /* the most fused kernels of a method */
#define MBI_STEP_THREADS 768      /* the most threads per thread block; MBK_STEP_THREADS */
#define MBI_STEP_RESIDENT 1       /* thread blocks per multiprocessor; MBK_STEP_RESIDENT */
/* Products assumed per expected solve when the plan chooses its method. */
#define MBI_SOLVER_PRODUCTS 1000
/* Iterations of CG in one pass of a recorded loop. A pass costs 4 us. Each iteration that still
 * runs after the solver has stopped costs 6 us, although its product does nothing. */
#define MBI_CG_LOOP_ITERATIONS 16
#define MBI_SOLVE_ROUND_SECONDS 0.1 /* the time that a round of iterations should take */
#define MBI_SOLVE_BLOCK_MOST 32     /* the most rows of a block of BLOCK_JACOBI */
#define MBI_SOLVER_REORDER_ROWS (1 << 22)
#define MBI_SOLVER_REORDER_SOLVES 60
/* Results of a convergence check in addition to those of merbit_stop. */
#define MBI_SOLVE_ON (-1)        /* the solve continues */
#define MBI_SOLVE_SCALE_RHS (-3) /* b must be scaled first */
/* Values of solver->alias. */
#define MBI_SOLVE_NONE (-1) /* the method has no such vector */
#define MBI_SOLVE_OWN (-2)  /* the vector has memory of its own */

/* A method. `start` and `iterate` call mbi_solve_step, mbi_solve_product and mbi_solve_apply,
 * which enqueue work on the GPU and compute at once on the CPU. Iterations are recorded once
 * and replayed, so they must enqueue the same work each time. */
typedef struct mbi_solve_method {
  const char *name;
  const char *file;      /* the file of the kernels */
  const mbi_step *steps; /* the first two are solve_residual and solve_blocks */
  int step_count;
  int sums;     /* sums that a product's epilogue computes: 0: none; 1: v'A u; 2: also ||A u||^2
                 * (mbi_solve_product_sums) */
  int restarts; /* how often a breakdown may restart the recurrence from b - A x */
  /* Sets solver->alias for the vectors from MBI_AT_OWN on: MBI_SOLVE_NONE, MBI_SOLVE_OWN, or
   * the lower-numbered slot whose memory the vector shares. */
  void (*layout)(struct merbit_solver *solver);
  merbit_status (*start)(
      struct merbit_solver *solver); /* begins the recurrence; b - A x is in MBI_AT_W */
  /* Runs or enqueues one iteration: number `index` of `count` that are enqueued together. One
   * of its steps counts the iteration (mbi_solve_count). */
  merbit_status (*iterate)(struct merbit_solver *solver, int index, int count);
  const char *fused[MBI_SOLVE_FUSED_KERNELS]; /* kernels for mbi_solve_fused, or NULL */
} mbi_solve_method;

/* A setup on the GPU while it is in progress: solve/precondition/setup_cuda.c. */
typedef struct mbi_setup_gpu {
  mbi_program program;
  void *rows, *invert; /* CUfunction */
  mbi_devptr blocks, norms, bad;
  int64_t grid; /* thread blocks, each of which writes a norm; 0: no setup runs */
  void *stream; /* CUstream, non-blocking; NULL: the default stream */
} mbi_setup_gpu;

typedef struct mbi_solve_gpu {
  mbi_program program;
  void *kernels[MBI_SOLVE_STEPS];       /* CUfunction: steps */
  void *open;                           /* CUfunction: mbk_solve_open */
  void *fused[MBI_SOLVE_FUSED_KERNELS]; /* CUfunction */
  int fused_blocks; /* grid of fused kernels; 0: steps are launched one by one */
  int loop_calls;   /* calls of method->iterate in one pass of a recorded loop; 0:
                       MBI_RECORDED_LOOP */
  void *stream;     /* CUstream; NULL: the default stream */
  mbi_arena arena;  /* memory after the vectors, for small arrays of the plan */
  mbi_setup_gpu setup;
  mbi_program loop_program;
  void *loop;    /* CUfunction: mbk_solve_loop */
  void *graph;   /* CUgraphExec, the recorded graph; NULL: there is none */
  int loops;     /* 1: the graph loops on the GPU */
  int tried;     /* 1: recording has succeeded or was given up */
  char why[384]; /* why nothing is recorded, if a call failed */
} mbi_solve_gpu;

struct merbit_solver {
  merbit_context *context;
  merbit_solver_desc desc; /* defaults filled in */
  const mbi_solve_method *method;
  merbit_view view; /* borrowed, but its owner is kept alive */
  merbit_type type; /* of the vectors */
  int64_t n;
  merbit_plan *plan;
  merbit_side side;
  double norm;             /* the infinity norm of A */
  int64_t entries;         /* nonzeros of A as a full CSR, if the CPU has read it; else 0 */
  int scale;               /* values are 2^scale times the caller's: solve/core/scale.c */
  void *scaled;            /* those values in host memory, or NULL */
  mbi_devptr scaled_there; /* the same in GPU memory, or 0 */
  int corrects;            /* 1: the `inner` of another solver, or a preconditioner's engine */
  int planless;            /* 1: the engine of a preconditioner that needs no product with A */
  merbit_preconditioner *precondition; /* M as an object, or NULL: solve/precondition/ */
  mbi_solve_vectors v;
  int64_t bytes_at[MBI_SOLVE_VECTORS]; /* bytes of a vector whose length is not n; else 0 */
  int kept;                            /* Lanczos: vectors kept at a restart; engine: its own */
  int alias[MBI_SOLVE_VECTORS];        /* set by mbi_solve_method.layout */
  void *space;                         /* one allocation: vectors, scalars, arena */
  mbi_solve_memory *memory;            /* scalars, in `space` */
  double *partials;
  mbi_solve_gpu gpu;
  struct merbit_solver *inner; /* finds corrections in f32 (solve/core/refine.c), or NULL */
  struct merbit_solver *many;  /* iterates for solver_desc.vectors right-hand sides, or NULL */
  struct merbit_solver *columns; /* of `many`: one solver per right-hand side, which owns only
                                  * its vectors and scalars */
  int count;                     /* of `many`: number of right-hand sides; else 0 */
  void *single_values;           /* A's values rounded to f32, in host memory, or NULL */
  mbi_devptr single_there;       /* the same in GPU memory, or 0 */
  uint64_t bytes;                /* of space */
  double prepare_seconds;
  char reason[384]; /* why the CPU was chosen */
  /* The current solve: */
  mbi_solve_memory seen; /* CUDA: the state at the last convergence check */
  double *history;
  int history_size, history_count; /* size of `history`; last iteration stored in it, or -1 */
  int restarts, synchronizations;
  int cancelled; /* the progress callback has asked to stop */
  int breakdowns,
      tightenings;      /* restarts after a breakdown; tightened goals since the last restart */
  int restarted;        /* the iteration of the last restart */
  double shrink, worst; /* as in mbi_solve_state; ||b - A x||^2 at the last restart */
  double started;
  int inner_iterations;
  int rhs_scale; /* b is 2^rhs_scale times the caller's b */
  double x_lost; /* if scaling x back ended the solve: the largest entry of the scaled x that
                  * the caller's x does not hold; else 0 */
};

#define MBI_RECORDED_LOOP 4   /* iterations in one pass of a recorded loop, which costs 3 us */
#define MBI_RECORDED_PLAIN 10 /* iterations in a graph that the host launches repeatedly */
/* Iterations of the first round. A recorded loop, which ends by itself, gets at least twice as
 * many. */
#define MBI_SOLVE_ROUND_FIRST 100

#define MBI_SOLVE_ROUND_LEAST 50 /* the least number of iterations of a round */

#ifdef MBI_SEPARATE
extern const mbi_step_code mbi_solve_residual_code_f64, mbi_solve_residual_code_f32;
extern const mbi_step_code mbi_solve_blocks_code_f64, mbi_solve_blocks_code_f32;
extern const mbi_step_code mbi_arnoldi_project_code_f64, mbi_arnoldi_project_code_f32;
extern const mbi_step_code mbi_arnoldi_reproject_code_f64, mbi_arnoldi_reproject_code_f32;
extern const mbi_step_code mbi_arnoldi_extend_code_f64, mbi_arnoldi_extend_code_f32;
/* solve/core/steps.c */
MBI_INTERNAL int64_t mbi_step_chunks(int64_t n);
MBI_INTERNAL void mbi_step_run(merbit_context *context, const mbi_step_code *code,
                               const mbi_solve_vectors *v, int64_t n, mbi_solve_memory *memory,
                               double *partials);
/* solve/core/space.c */
MBI_INTERNAL int mbi_solve_on_gpu(const merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_solve_zero(merbit_solver *solver, void *memory, size_t bytes);
MBI_INTERNAL size_t mbi_solve_bytes(const merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_solve_upload(merbit_solver *solver, void *target,
                                            const void *source, size_t bytes);
MBI_INTERNAL merbit_status mbi_solve_download(merbit_solver *solver, void *target,
                                              const void *source, size_t bytes);
MBI_INTERNAL int mbi_solve_host_vectors(const merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_solve_copy_in(merbit_solver *solver, int slot,
                                             const void *source);
MBI_INTERNAL merbit_status mbi_solve_copy_out(merbit_solver *solver, int slot, void *target);
MBI_INTERNAL int mbi_solve_threads(const merbit_solver *solver);
MBI_INTERNAL int mbi_solve_blocks(const merbit_solver *solver);
MBI_INTERNAL uint64_t mbi_solve_post_bytes(const merbit_solver *solver);
MBI_INTERNAL int mbi_solve_columns(const merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_solve_allocate_memory(merbit_solver *solver);
MBI_INTERNAL void mbi_solve_release_memory(merbit_solver *solver);
/* solve/core/scale.c */
MBI_INTERNAL int mbi_scale_rhs_needed(const merbit_solver *solver, const mbi_solve_state *seen);
MBI_INTERNAL merbit_status mbi_scale_vector(merbit_solver *solver, int slot, int exponent);
MBI_INTERNAL merbit_status mbi_scale_factor(merbit_solver *solver, int slot, int *exponent);
MBI_INTERNAL int mbi_scale_of_x(const merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_scale_x_back(merbit_solver *solver, double *lost);
MBI_INTERNAL int mbi_scale_matrix_needed(const merbit_solver *solver, merbit_status made);
MBI_INTERNAL merbit_status mbi_scale_values(merbit_solver *solver, const void *values,
                                            merbit_memory memory, const void **scaled);
MBI_INTERNAL merbit_status mbi_scale_made(merbit_solver *solver, merbit_status status);
/* solve/precondition/diagonal.c */
MBI_INTERNAL double mbi_csr_value(const merbit_view *csr, int64_t k);
MBI_INTERNAL merbit_status mbi_setup_csr(merbit_context *context, const merbit_view *view,
                                         merbit_matrix **copy, merbit_view *csr);
MBI_INTERNAL merbit_status mbi_setup_run(merbit_solver *solver, const merbit_view *csr,
                                         double *blocks);
MBI_INTERNAL merbit_status mbi_setup_fail_diagonal(const merbit_solver *solver, int64_t row,
                                                   double value);
MBI_INTERNAL merbit_status mbi_setup_invert(merbit_solver *solver, const double *blocks,
                                            void *inverse);
/* solve/core/run.c */
MBI_INTERNAL merbit_status mbi_solve_step(merbit_solver *solver, int index);
MBI_INTERNAL merbit_status mbi_solve_fused(merbit_solver *solver, int index);
MBI_INTERNAL merbit_status mbi_solve_product(merbit_solver *solver, int from, int to);
MBI_INTERNAL merbit_status mbi_solve_product_unless_stopped(merbit_solver *solver, int from,
                                                            int to);
MBI_INTERNAL merbit_status mbi_solve_product_sums(merbit_solver *solver, int from, int to,
                                                  int with);
MBI_INTERNAL merbit_status mbi_solve_prepare_round(merbit_solver *solver, int how, int span);
MBI_INTERNAL merbit_status mbi_solve_residual(merbit_solver *solver, int x_zero);
MBI_INTERNAL void mbi_solve_preamble(merbit_type type, mbi_preamble *preamble);
MBI_INTERNAL merbit_status mbi_solve_specialise(merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_solve_apply(merbit_solver *solver, int r, int z);
MBI_INTERNAL int mbi_solve_separate_preconditioner(const merbit_solver *solver);
MBI_INTERNAL const char *mbi_solve_unless_singular(const merbit_solver *solver,
                                                   const char *advice);
/* solve/cg/cg.c */
extern const mbi_solve_method mbi_cg_method, mbi_cg_many_method;
/* solve/bicgstab/bicgstab.c */
extern const mbi_solve_method mbi_bicgstab_method;
/* solve/gmres/gmres.c */
MBI_INTERNAL void mbi_arnoldi_layout(merbit_solver *solver, int columns);
MBI_INTERNAL merbit_status mbi_gmres_check(merbit_context *context,
                                           const merbit_solver_desc *desc);
MBI_INTERNAL int mbi_gmres_restarts(const merbit_solver *solver, const mbi_solve_state *state);
MBI_INTERNAL int mbi_gmres_ended(const mbi_solve_state *state);
MBI_INTERNAL void mbi_gmres_describe_stop(const merbit_solver *solver,
                                          const mbi_solve_state *state, char *text,
                                          size_t size);
extern const mbi_solve_method mbi_gmres_method;
/* solve/core/methods.c */
MBI_INTERNAL const mbi_solve_method *mbi_solve_method_of(merbit_solver_method method);
/* solve/core/recorded.c */
MBI_INTERNAL void mbi_recorded_stream(merbit_solver *solver);
MBI_INTERNAL void mbi_recorded_release(merbit_solver *solver);
MBI_INTERNAL int mbi_recorded_loops(const merbit_solver *solver);
MBI_INTERNAL void mbi_recorded_destroy(merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_recorded_run(merbit_solver *solver, int span);
/* solve/core/convergence.c */
MBI_INTERNAL const mbi_solve_memory *mbi_solve_checked(const merbit_solver *solver);
MBI_INTERNAL double mbi_solve_ratio(const mbi_solve_state *state, double square);
MBI_INTERNAL merbit_status mbi_solve_read_residual(merbit_solver *solver, int x_zero);
MBI_INTERNAL merbit_status mbi_solve_project(merbit_solver *solver, int slot);
MBI_INTERNAL merbit_status mbi_solve_center(merbit_solver *solver);
MBI_INTERNAL int mbi_solve_next_round(int done, double seconds);
MBI_INTERNAL void mbi_solver_reset(merbit_solver *solver, double *history, int history_size);
MBI_INTERNAL int mbi_solve_first_round(const merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_solve_begin(merbit_solver *solver, int x_zero, int span);
MBI_INTERNAL merbit_status mbi_solve_check(merbit_solver *solver, int *stop, int *how);
MBI_INTERNAL merbit_status mbi_solve_begin_round(merbit_solver *solver, int how, int span);
MBI_INTERNAL merbit_status mbi_solve_loop(merbit_solver *solver, int x_zero, int *stop);
MBI_INTERNAL void mbi_solve_describe_stop(const merbit_solver *solver,
                                          const merbit_solver_result *result, char *text,
                                          size_t size);
/* solve/core/refine.c */
MBI_INTERNAL merbit_status mbi_refine_round(merbit_solver *solver, const void *values,
                                            merbit_memory memory, const void **rounded);
MBI_INTERNAL merbit_status mbi_refine_holds(merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_refine_describe(merbit_solver *solver, merbit_view *view,
                                               merbit_solver_desc *desc);
MBI_INTERNAL merbit_status mbi_refine_loop(merbit_solver *solver, int x_zero, int *stop);
extern const mbi_solve_method mbi_refine_method;
/* solve/precondition/inverse.c */
MBI_INTERNAL void *mbi_solver_inverse_place(const merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_solver_order_inverse(merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_solver_invert(merbit_solver *solver, const double *blocks);
/* solve/precondition/setup_cuda.c */
MBI_INTERNAL int mbi_setup_on_gpu(const merbit_solver *solver, const merbit_view *view);
MBI_INTERNAL void mbi_setup_preamble(const merbit_view *view, mbi_preamble *preamble);
MBI_INTERNAL void mbi_setup_release(merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_setup_begin(merbit_solver *solver, const merbit_view *view);
MBI_INTERNAL merbit_status mbi_setup_end(merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_setup_when_checked(void *maker);
/* solve/precondition/setup.c */
MBI_INTERNAL merbit_status mbi_solver_setup(merbit_solver *solver, const merbit_view *view);
MBI_INTERNAL merbit_status mbi_setup_move_values(merbit_context *context, merbit_memory memory,
                                                 merbit_view *view, void **own);
MBI_INTERNAL void mbi_setup_release_values(merbit_context *context, const merbit_view *view,
                                           void *own);
/* solve/core/checks.c */
MBI_INTERNAL int mbi_solver_makes_object(const merbit_solver_desc *desc);
MBI_INTERNAL merbit_preconditioner_desc mbi_solver_object(const merbit_solver_desc *desc,
                                                          merbit_side side);
MBI_INTERNAL merbit_status mbi_solver_check(merbit_context *context, const merbit_view *view,
                                            const merbit_solver_desc *desc);
/* solve/core/solver.c */
MBI_INTERNAL merbit_status mbi_solver_enter(merbit_solver *solver);
MBI_INTERNAL void mbi_solver_leave(merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_solver_build(merbit_solver *solver);
MBI_INTERNAL int64_t mbi_solver_device_bytes(const merbit_solver *solver,
                                             const merbit_plan_info *plan);
MBI_INTERNAL void mbi_solver_free(merbit_solver *solver);
/* solve/core/solve.c */
MBI_INTERNAL merbit_status mbi_solver_check_vectors(merbit_solver *solver, const char *call,
                                                    const void *in, const void *out,
                                                    const char *names);
MBI_INTERNAL merbit_status mbi_solver_join(merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_solver_load(merbit_solver *solver, const void *b, const void *x,
                                           int start_from_x);
MBI_INTERNAL merbit_status mbi_solver_end(merbit_solver *solver, int stop, void *x,
                                          merbit_solver_result *result);
MBI_INTERNAL void mbi_solver_finish(merbit_solver *solver, merbit_solver_result *result);
MBI_INTERNAL merbit_status mbi_solver_decline(merbit_solver *solver, const void *b, void *x,
                                              int start_from_x, merbit_solver_result *result);
#endif /* MBI_SEPARATE */

#endif
