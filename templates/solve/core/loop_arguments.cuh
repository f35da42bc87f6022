// Arguments of the kernels in solve/core/loop.cu, for host and device.
typedef struct mbk_solve_loop_arguments {
  mbk_u64 handle;
  MBK_POINTER(const mbi_solve_memory) m; // one per right-hand side
  mbk_i32 columns;                       // number of right-hand sides
} mbk_solve_loop_arguments;
