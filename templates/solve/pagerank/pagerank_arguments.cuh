// Arguments of the kernels in solve/pagerank/pagerank.cu, for host and device.
typedef struct mbk_pagerank_weigh_arguments {
  MBK_POINTER(MBK_VECTOR) weights;
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  mbk_u64 n;
} mbk_pagerank_weigh_arguments;

typedef struct mbk_pagerank_begin_arguments {
  MBK_POINTER(MBK_VECTOR) z;
  MBK_POINTER(const MBK_VECTOR) weights;
  mbk_i32 given;
  mbk_u64 n;
  MBK_POINTER(double) partials;
} mbk_pagerank_begin_arguments;

typedef struct mbk_pagerank_first_arguments {
  MBK_POINTER(const double) partials;
  mbk_u32 blocks;
  MBK_POINTER(mbi_solve_memory) m;
} mbk_pagerank_first_arguments;

typedef struct mbk_pagerank_update_arguments {
  MBK_POINTER(MBK_VECTOR) z;
  MBK_POINTER(const MBK_VECTOR) y, weights, teleport;
  mbk_u64 n;
  MBK_POINTER(const mbi_solve_memory) m;
  MBK_POINTER(double) partials;
} mbk_pagerank_update_arguments;

typedef struct mbk_pagerank_end_arguments {
  MBK_POINTER(MBK_VECTOR) z;
  MBK_POINTER(const MBK_VECTOR) weights;
  mbk_u64 n;
} mbk_pagerank_end_arguments;
