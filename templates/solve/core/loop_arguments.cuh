// Arguments of the kernels of solve/core/loop.cu, which the host fills.
typedef struct mbk_solve_loop_arguments {
  mbk_u64 handle;
  MBK_POINTER(const mbi_solve_memory) m;
} mbk_solve_loop_arguments;
