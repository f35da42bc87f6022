// Arguments of the kernels in solve/core/step.cuh, for host and device.
typedef struct mbk_solve_open_arguments {
  MBK_POINTER(mbi_solve_memory) m;
  mbk_i32 how, span, cap;
  double tolerance, shrink, epsilon;
} mbk_solve_open_arguments;

// The arguments of every step and every fused kernel of a solver.
typedef struct mbk_solve_step_arguments {
  mbi_solve_vectors v;
  mbk_i64 n;
  MBK_POINTER(mbi_solve_memory) m;
  MBK_POINTER(double) partials;
} mbk_solve_step_arguments;
