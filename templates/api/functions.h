/* ---- Library ------------------------------------------------------------------------------- */

/* Returns the version of the implementation, "MAJOR.MINOR.PATCH", in static storage. */
MERBIT_API const char *merbit_version(void);
/* Returns the name of a status, for example "MERBIT_INVALID_MATRIX", in static storage; never NULL.
 * A number that is no status gives "MERBIT_UNKNOWN_STATUS". */
MERBIT_API const char *merbit_status_name(merbit_status status);
/* Returns one line that explains a status, in static storage; never NULL. */
MERBIT_API const char *merbit_status_text(merbit_status status);
/* Returns the name of a stop, for example "MERBIT_STOP_CONVERGED", in static storage; never NULL. A
 * number that is no stop gives "MERBIT_UNKNOWN_STOP". */
MERBIT_API const char *merbit_stop_name(merbit_stop stop);

/* Return a descriptor with every field zero, which means all defaults; then set single fields in
 * it. This compiles without a warning in C and in C++: merbit_plan_desc desc =
 * merbit_plan_defaults(); */
MERBIT_API merbit_context_desc merbit_context_defaults(void);
MERBIT_API merbit_bsr_desc merbit_bsr_defaults(void);
MERBIT_API merbit_read_desc merbit_read_defaults(void);
MERBIT_API merbit_plan_desc merbit_plan_defaults(void);
MERBIT_API merbit_pagerank_desc merbit_pagerank_defaults(void);
MERBIT_API merbit_solver_desc merbit_solver_defaults(void);
MERBIT_API merbit_preconditioner_desc merbit_preconditioner_defaults(void);
MERBIT_API merbit_eigen_desc merbit_eigen_defaults(void);

/* Return the 16 bits of the F16 or BF16 number nearest to `value`; ties go to the even one. A value
 * beyond the largest number becomes an infinity, and a NaN stays a NaN. */
MERBIT_API uint16_t merbit_f16_from_f32(float value);
MERBIT_API uint16_t merbit_bf16_from_f32(float value);
/* Return the F32 value of the 16 bits of an F16 or BF16 number. The conversion is exact. */
MERBIT_API float merbit_f32_from_f16(uint16_t bits);
MERBIT_API float merbit_f32_from_bf16(uint16_t bits);

/* ---- Context ------------------------------------------------------------------------------- */

/* Opens a GPU or the CPU. `desc` may be NULL, which means all defaults; its strings are copied.
 * `error` may be NULL; otherwise it receives the status and the sentence. Destroy the context with
 * merbit_context_destroy. Fails with MERBIT_NO_DEVICE or MERBIT_NO_COMPILER only under
 * MERBIT_SIDE_CUDA; MERBIT_SIDE_AUTO takes the CPU in these cases. */
MERBIT_API merbit_status merbit_context_create(const merbit_context_desc *desc,
                                               merbit_context **context, merbit_error *error);
/* Gives the context up; NULL is accepted. Buffers, plans, matrices and solvers made from it stay
 * valid, and the last of them frees it. */
MERBIT_API void merbit_context_destroy(merbit_context *context);
/* Writes facts about the context and its work so far to *info. Fails only if a pointer is NULL. */
MERBIT_API merbit_status merbit_context_get_info(merbit_context *context,
                                                 merbit_context_info *info);
/* Returns the status of the calling thread's last failure in a call on this context or on an object
 * made from it, and writes its sentence to `message`. A later success hardly ever clears it (only
 * where merbit had to recover from an inner failure): test the status of every call, and ask here
 * only after a failure. Returns MERBIT_OK and an empty sentence if the thread has had no failure,
 * or if 64 other threads have failed since; a thread may also find that of an ended thread whose id
 * it has got. `message` may be NULL; it receives at most `size` bytes and is always terminated.
 * MERBIT_MESSAGE_SIZE is enough. */
MERBIT_API merbit_status merbit_last_error(merbit_context *context, char *message, size_t size);

/* Exports the disk cache's entries for this version of merbit (kernels, profiles of GPUs, and what
 * AUTO measured) to the file `path`, which is replaced. Only you may read the file; on Windows it
 * inherits its folder's access control list instead. Fails with MERBIT_NO_DEVICE on the CPU,
 * MERBIT_NOT_SUPPORTED without a disk cache, MERBIT_INVALID_ARGUMENT if the cache or `path` is
 * empty, and MERBIT_IO_ERROR if the cache cannot be read, if the file cannot be written, or if
 * `path` names a device or a pipe. */
MERBIT_API merbit_status merbit_cache_export(merbit_context *context, const char *path);
/* Imports an exported file into the disk cache of contexts with the descriptor `desc`; NULL means
 * all defaults. Needs no GPU and no NVRTC. A context that is created later and finds no NVRTC then
 * computes on the GPU with the kernels of the cache, if the GPU has the same compute capability. A
 * plan that needs a kernel that is not there fails with MERBIT_NO_COMPILER, or falls back to the
 * CPU.
 *
 * Import only what you exported: its kernels run as merbit's own. The file must be yours, and
 * nobody else may write to it. `error` is as in merbit_context_create. Fails with
 * MERBIT_INVALID_FILE if a byte of the file has changed, MERBIT_NOT_SUPPORTED if another version of
 * merbit wrote it or there is no disk cache, MERBIT_TOO_LARGE beyond cache_max_bytes, and
 * MERBIT_IO_ERROR. A file that is refused changes nothing. */
MERBIT_API merbit_status merbit_cache_import(const merbit_context_desc *desc, const char *path,
                                             merbit_error *error);

/* ---- Buffers: arrays where the context computes, without CUDA headers ----------------------- */

/* Allocates `bytes` bytes, which may be 0, where the context computes. The memory is not
 * initialised. Destroy the buffer with merbit_buffer_destroy. */
MERBIT_API merbit_status merbit_buffer_create(merbit_context *context, size_t bytes,
                                              merbit_buffer **buffer);
/* Copies `bytes` bytes from host memory into the buffer from `offset` on, or back. The copy is
 * complete on return. It waits for work on the default stream; synchronise other streams first.
 * Fails with MERBIT_INVALID_ARGUMENT if the range exceeds the buffer or the host pointer is
 * NULL. */
MERBIT_API merbit_status merbit_buffer_upload(merbit_buffer *buffer, size_t offset,
                                              const void *source, size_t bytes);
MERBIT_API merbit_status merbit_buffer_download(const merbit_buffer *buffer, size_t offset,
                                                void *target, size_t bytes);
/* Returns the buffer's address for merbit_spmv and other calls: a device pointer on CUDA, a host
 * pointer on the CPU, NULL for a NULL buffer. */
MERBIT_API void *merbit_buffer_pointer(const merbit_buffer *buffer);
/* Frees the buffer; NULL is accepted. */
MERBIT_API void merbit_buffer_destroy(merbit_buffer *buffer);

/* ---- Matrices ------------------------------------------------------------------------------ */

/* Returns a view of CSR arrays in host memory with 32-bit indices, base 0 and F64 values:
 * row_ptr[rows + 1], col_ind[nnz], values[nnz]. NULL for `values` means a pattern, in which every
 * entry is 1. Nothing is read or copied. For other types, bases or memory set the fields of the
 * view. */
MERBIT_API merbit_view merbit_csr(int64_t rows, int64_t cols, int64_t nnz, const void *row_ptr,
                                  const void *col_ind, const void *values);
/* Returns a view of COO arrays of the same types, which are triplets in any order: row_ind[nnz],
 * col_ind[nnz], values[nnz]. */
MERBIT_API merbit_view merbit_coo(int64_t rows, int64_t cols, int64_t nnz, const void *row_ind,
                                  const void *col_ind, const void *values);
/* Returns a view of BSR arrays of the same types: row_ptr[block rows + 1], col_ind[blocks], and
 * blocks * block_rows * block_cols values, each block in row-major order. `rows` and `cols` count
 * scalars, not blocks. */
MERBIT_API merbit_view merbit_bsr(int64_t rows, int64_t cols, int64_t blocks, int block_rows,
                                  int block_cols, const void *row_ptr, const void *col_ind,
                                  const void *values);
/* Checks every array of a view. Returns MERBIT_INVALID_MATRIX for a bad entry, and the sentence
 * names the first one. Reads O(rows + nnz) numbers; arrays in device memory are downloaded. */
MERBIT_API merbit_status merbit_view_check(merbit_context *context, const merbit_view *view);

/* Copies any view into a CSR matrix in host memory that merbit owns: columns sorted, duplicates
 * added up in the order of the arrays, base 0, 32-bit columns, 32-bit offsets if nnz < 2^31. Arrays
 * in device memory are downloaded. If the view gives one triangle, the copy has both; so it is in
 * all calls below except those that write files. Fails with MERBIT_NOT_SUPPORTED for duplicates of
 * F16 and BF16 values, whose sums would lose digits. */
MERBIT_API merbit_status merbit_matrix_create(merbit_context *context, const merbit_view *view,
                                              merbit_matrix **matrix);
/* Copies the transpose of any view into a CSR matrix of the same form as merbit_matrix_create, and
 * fails as that does, and with MERBIT_TOO_LARGE if the view has more than 2^31 - 1 rows. */
MERBIT_API merbit_status merbit_matrix_transpose(merbit_context *context, const merbit_view *view,
                                                 merbit_matrix **matrix);
/* Copies any view of F64 or F32 into a BSR matrix in host memory that merbit owns, sorted and
 * without duplicates. It has every block that holds an entry. Places of such a block without an
 * entry become stored zeros, which are entries of the copy. Offsets have 32 bits if there are fewer
 * than 2^31 blocks. A pattern stays a pattern if its blocks are full. `desc` may be NULL, which
 * means all defaults. */
MERBIT_API merbit_status merbit_matrix_create_bsr(merbit_context *context,
                                                  const merbit_view *view,
                                                  const merbit_bsr_desc *desc,
                                                  merbit_matrix **matrix);
/* Writes to *info the shape, number and size of the blocks that merbit_matrix_create_bsr would
 * make, without making them. */
MERBIT_API merbit_status merbit_view_find_blocks(merbit_context *context,
                                                 const merbit_view *view,
                                                 const merbit_bsr_desc *desc,
                                                 merbit_block_info *info);
/* Returns a view of the matrix's own arrays. Plans and solvers made from the view keep the matrix
 * alive; the view itself does not (OWNERSHIP in the manual). NULL gives a view of all zeros. */
MERBIT_API merbit_view merbit_matrix_view(const merbit_matrix *matrix);
/* Gives the matrix up; NULL is accepted. */
MERBIT_API void merbit_matrix_destroy(merbit_matrix *matrix);

/* Reads a Matrix Market file into a CSR matrix that merbit owns: from a path, from `size` bytes of
 * memory, or from a callback, which is called until it returns 0. `desc` may be NULL, which means
 * all defaults. Duplicates are added up in the order of the file. A file with a symmetry must hold
 * one triangle, lower or upper. The matrix gets both triangles, Hermitian ones with conjugates,
 * unless read_desc.keep_half is set. Patterns stay patterns. Integers of 2^53 and more (2^24 in
 * F32) become the nearest number, and the log says so. The field unsigned-integer, which SciPy
 * writes, is read as integer. Compressed files, for example by gzip, are refused: a callback can
 * decompress them. Fails with MERBIT_INVALID_FILE, and the sentence names the line and the text at
 * fault; with MERBIT_IO_ERROR if the file or the callback cannot be read, with MERBIT_TOO_LARGE
 * beyond read_desc.max_rows or 2^31 - 1 columns, with MERBIT_NOT_SUPPORTED for a value_type of F16
 * or BF16 or a real one for a complex file, and with MERBIT_CANCELLED if read_desc.progress says
 * so. The format: Boisvert, Pozo, Remington, NISTIR 5935. */
MERBIT_API merbit_status merbit_matrix_read_file(merbit_context *context, const char *path,
                                                 const merbit_read_desc *desc,
                                                 merbit_matrix **matrix);
MERBIT_API merbit_status merbit_matrix_read_memory(merbit_context *context, const void *data,
                                                   size_t size, const merbit_read_desc *desc,
                                                   merbit_matrix **matrix);
MERBIT_API merbit_status merbit_matrix_read_stream(merbit_context *context,
                                                   merbit_read_callback read, void *user,
                                                   const merbit_read_desc *desc,
                                                   merbit_matrix **matrix);
/* Writes a view in host memory as a Matrix Market file to a path, or through a callback. The file
 * is of the kinds coordinate and general; a view of one triangle gives a file with its symmetry,
 * which has the entries of the lower triangle. Values have enough digits to be read back bit for
 * bit, except that a NaN loses its sign and payload. A file at `path` is written beside its target
 * and then renamed, so a failure leaves the old file in place. Symbolic links are followed, on
 * Linux and macOS even to a target that does not exist. A target that the caller has no right to
 * write is refused. Fails with MERBIT_NOT_SUPPORTED for values of F16 and BF16 and for arrays in
 * GPU memory, with MERBIT_INVALID_MATRIX for a bad entry, and with MERBIT_IO_ERROR if the path or
 * the callback cannot be written. */
MERBIT_API merbit_status merbit_matrix_write_file(merbit_context *context,
                                                  const merbit_view *view, const char *path);
MERBIT_API merbit_status merbit_matrix_write_stream(merbit_context *context,
                                                    const merbit_view *view,
                                                    merbit_write_callback write, void *user);

/* ---- Plans and products -------------------------------------------------------------------- */

/* Prepares `view` for repeated products. `desc` may be NULL, which means all defaults. The arrays
 * of the view are borrowed and must stay unchanged until the plan is destroyed; OWNERSHIP in the
 * manual has the exceptions. Arrays in GPU memory are read on the default stream: synchronise a
 * non-blocking stream that writes them first. Destroy the plan with merbit_plan_destroy. The first
 * plan of its kind compiles kernels, which takes some tenths of a second; later plans find them in
 * the cache.
 *
 * Fails with MERBIT_INVALID_MATRIX if an array has a bad entry (unless plan_desc.unchecked is set),
 * with MERBIT_INVALID_ARGUMENT if a field is out of range or contradicts another, with
 * MERBIT_NOT_SUPPORTED if the method does not support what the descriptor asks for, with
 * MERBIT_NO_DEVICE if it asks for a GPU that the context lacks, and with MERBIT_TOO_LARGE. If the
 * GPU fails under AUTO, a plan of host arrays may be one for the CPU (SIDES in the manual). */
MERBIT_API merbit_status merbit_plan_create(merbit_context *context, const merbit_view *view,
                                            const merbit_plan_desc *desc, merbit_plan **plan);
/* Writes to *memory an upper bound of the memory that merbit_plan_create(context, view, desc)
 * takes. Reads only the sizes and types of the view, not its arrays: its pointers may be any but
 * NULL, and `values` NULL for a pattern. Allocates and compiles nothing. Fails as
 * merbit_plan_create does if a size, a type or `desc` is wrong. Where the size of a form depends on
 * the arrays, the worst case is counted; AUTO counts as the largest of its methods. The guide has
 * the factors. Fails with MERBIT_NOT_SUPPORTED where there is no bound: for MERBIT_METHOD_CB, and
 * for blocks other than those of a BSR view. Not counted are modules on the GPU, a plan that falls
 * back to the CPU, and values that replace borrowed ones later. */
MERBIT_API merbit_status merbit_plan_forecast(merbit_context *context, const merbit_view *view,
                                              const merbit_plan_desc *desc,
                                              merbit_plan_memory *memory);
/* Copies new values for the same structure into the plan: as many as the view had, in its type and
 * in its order, even if the plan is reordered or transposed. `memory` says where they are;
 * MERBIT_MEMORY_DEFAULT means where the view's values were. No product of the plan may be running.
 * If a plan on CUDA stores its values in a shorter form (merbit_plan_describe says so) that the new
 * values do not fit, this call makes the plan general; captured graphs must then be captured again.
 * So they must if the plan reads the view's array in GPU memory and new values are elsewhere.
 * Values in GPU memory are read on the default stream. Whether they keep the rules of the view's
 * symmetry, as a real diagonal, is not checked. The call is complete on return. After a
 * failure the plan may have some of the new values: give it values again before the next product.
 * Fails with MERBIT_INVALID_ARGUMENT if the view was a pattern. */
MERBIT_API merbit_status merbit_plan_update_values(merbit_plan *plan, const void *values,
                                                   merbit_memory memory);
/* Writes one line that says what the plan chose and why. Writes at most `size` bytes, always
 * terminated if size > 0. Returns the length of the whole line without its terminating zero. */
MERBIT_API size_t merbit_plan_describe(const merbit_plan *plan, char *text, size_t size);
/* Writes to *info the plan's method, sizes, memory and times. Fails only if a pointer is NULL. */
MERBIT_API merbit_status merbit_plan_get_info(const merbit_plan *plan, merbit_plan_info *info);
/* Gives the plan up; NULL is accepted. Its workspaces keep it alive. */
MERBIT_API void merbit_plan_destroy(merbit_plan *plan);

/* Permutes a vector into the order of a plan with plan_desc.reordering, which multiplies P A P':
 * px[i] = x[order[i]]. A solver permutes its vectors once, iterates in the plan's order, and
 * permutes the result back. Both vectors have cols elements of the plan's vector type, are where
 * the plan expects vectors, and must not overlap. On CUDA the work is enqueued on `stream` as by
 * merbit_spmv; CPU threads permute vectors of MERBIT_MEMORY_HOST at once. For a plan that is not
 * reordered the call copies x. Fails with MERBIT_INVALID_ARGUMENT if a vector is NULL, in the wrong
 * memory or not aligned, or if they overlap. */
MERBIT_API merbit_status merbit_plan_reorder(merbit_plan *plan, const void *x, void *px,
                                             void *stream);
/* Permutes a vector of rows elements back: y[order[i]] = py[i]. Otherwise as
 * merbit_plan_reorder. */
MERBIT_API merbit_status merbit_plan_restore(merbit_plan *plan, const void *py, void *y,
                                             void *stream);
/* Writes the plan's order: row i of the plan is row order[i] of the view. `order` is a host array
 * of `count` elements, which must be the number of elements of y; otherwise, and for NULL, the
 * call fails with MERBIT_INVALID_ARGUMENT. */
MERBIT_API merbit_status merbit_plan_get_order(const merbit_plan *plan, int64_t *order,
                                               int64_t count);

/* Allocates scratch memory for one product at a time. Each stream, thread or captured graph that
 * uses the plan at the same time as others needs a workspace of its own. It keeps its plan alive.
 * Destroy it with merbit_workspace_destroy. */
MERBIT_API merbit_status merbit_workspace_create(merbit_plan *plan, merbit_workspace **workspace);
/* Frees the workspace; NULL is accepted. No product that uses it may be running. */
MERBIT_API void merbit_workspace_destroy(merbit_workspace *workspace);

/* Computes y = alpha op(A) x + beta y. x has cols elements of the plan's vector type and y has rows
 * elements; a transposed operation exchanges the two. They must not overlap, and are where
 * plan_desc.vector_memory says. alpha and beta each point to one number of the same type as x
 * (complex: two reals), where plan_desc.scalar_memory says. alpha NULL means 1, beta NULL means 0.
 * beta = 0 never reads y, alpha = 0 never reads A or x. For other semirings see SEMIRINGS in the
 * manual.
 *
 * `workspace` may be NULL, which means the plan's own, for one product at a time. Threads may share
 * a plan if each has its own workspace. `stream` is a CUstream, or NULL for the default stream; the
 * CPU ignores it. On CUDA the call returns when the product is enqueued. It allocates nothing,
 * waits for nothing, and may be captured in a graph. Only host vectors (plan_desc.vector_memory
 * HOST) make it copy and wait.
 *
 * Fails with MERBIT_INVALID_ARGUMENT if x or y is NULL, if they overlap, if they are host memory
 * and the plan expects GPU memory, if `workspace` belongs to another plan, or if the plan is for
 * several vectors or has an epilogue. Not checked are GPU memory given to a plan on the CPU, and
 * where alpha and beta are. */
MERBIT_API merbit_status merbit_spmv(merbit_plan *plan, merbit_workspace *workspace,
                                     const void *alpha, const void *x, const void *beta, void *y,
                                     void *stream);

/* Computes Y = alpha op(A) X + beta Y for the plan_desc.vectors columns of X and Y. The matrix is
 * read once for all of them. plan_desc.vector_order is the order of X and Y. ldx and ldy are the
 * distances, in elements, between rows (row-major) or between vectors (column-major), and at least
 * the length of one row or vector. Elements in the gaps are neither read nor written, but from its
 * first element to its last, gaps included, X must not overlap Y. All other arguments are those of
 * merbit_spmv. A plan of one vector needs its elements adjacent: row-major with ldx or ldy other
 * than 1 gives MERBIT_NOT_SUPPORTED. Row-major X in GPU memory gives MERBIT_TOO_LARGE if its rows
 * are 2^32 bytes or more apart. Column-major X, and on CUDA Y, are copied to row-major scratch
 * in the workspace. merbit_plan_reorder moves one vector per call. */
MERBIT_API merbit_status merbit_spmm(merbit_plan *plan, merbit_workspace *workspace,
                                     const void *alpha, const void *x, int64_t ldx,
                                     const void *beta, void *y, int64_t ldy, void *stream);

/* Computes the product of a plan with plan_desc.epilogue: y[row] becomes the epilogue's `result`
 * for row `row` of op(A) x, and sums[0] and sums[1] become its sums over all rows, which have the
 * same bits in every run; on the CPU with the same number of threads. A sum without an expression
 * becomes 0. alpha is 1 and beta is 0. All arrays are where the plan computes: x, y, the epilogue's
 * vectors (as long as y), `scalars`, the two doubles at `sums`, and the int at `skip`. Only
 * `vectors`, the array of the vectors' addresses, is in host memory, and is read before the call
 * returns. Everything else is read and written when the product runs, not when it is enqueued. y
 * must not overlap x or a vector; a vector may be x.
 *
 * `sums` may be NULL: then no sums are stored. `skip` may be NULL. If the int at `skip` is not 0,
 * the sums stay unchanged. y stays unchanged too if the epilogue has a `result`; otherwise y may be
 * overwritten by the product, which on CUDA runs in any case and takes its time. `workspace` and
 * `stream` are those of merbit_spmv. Fails with MERBIT_INVALID_ARGUMENT if the plan has no
 * epilogue, if a pointer that it needs is NULL, if y overlaps x or a vector, or, on CUDA, if a
 * pointer is in host memory or not aligned to its element. */
MERBIT_API merbit_status merbit_spmv_epilogue(merbit_plan *plan, merbit_workspace *workspace,
                                              const void *x, void *y,
                                              const void *const *vectors,
                                              const double *scalars, double *sums,
                                              const int *skip, void *stream);

/* ---- Solvers ------------------------------------------------------------------------------- */

/* Computes the PageRank of a link graph. Entry (i, j) of `graph` is an edge from i to j, and its
 * value is the weight, which is 1 in a pattern. The value type is F64 or F32. Weights must be
 * finite and not negative. The rank of vertices without outgoing edges is distributed as teleports
 * are, as in NetworkX. `ranks` is a host array of graph->rows elements of the graph's value type.
 * It receives ranks of at least 0 that add up to 1. `desc` and `result` may be NULL. The call
 * returns MERBIT_OK however the iteration ended; result->stop says how. Fails as merbit_plan_create
 * does, with MERBIT_INVALID_MATRIX if the graph is not square or a weight is wrong, and with
 * MERBIT_INVALID_ARGUMENT if a field is out of range, for example if a weight of `personalisation`
 * or `start` is negative or all are zero.
 *
 * The method is the power method (the MERBIT paper, section 5.5.1). It is accelerated by
 * second-order Richardson iteration (Golub, Varga 1961) while the changes show that this pays,
 * except with MERBIT_METHOD_MERBIT or pagerank_desc.unaccelerated. Acceleration needs fewer
 * iterations if links go both ways; it hardly ever costs more than a tenth of the iterations and 2
 * more. The last iteration is a step of the power method. So if it stops as converged, the sum of
 * all errors of the ranks is at most damping / (1 - damping) times the tolerance, plus rounding. If
 * it stops earlier, `ranks` has the last iterate. In both cases acceleration may leave some ranks
 * below 0. These become 0, which is nearer to the true rank, and the sum then exceeds 1 by as much:
 * if it stops as converged, by less than that bound. */
MERBIT_API merbit_status merbit_pagerank(merbit_context *context, const merbit_view *graph,
                                         const merbit_pagerank_desc *desc, void *ranks,
                                         merbit_pagerank_result *result);

/* Makes a solver of A x = b for the square matrix `view` of F64 or F32: its plan, vectors and
 * kernels. `desc` must name a method. The arrays of the view are borrowed and must stay unchanged
 * until the solver is destroyed; OWNERSHIP in the manual has the exceptions. Destroy the solver
 * with merbit_solver_destroy. Fails as merbit_plan_create does, with MERBIT_INVALID_MATRIX if the
 * matrix is not square, with MERBIT_NOT_SUPPORTED for other types and for fields that exclude each
 * other, and with MERBIT_INVALID_MATRIX if the preconditioner cannot be made: the sentence names a
 * zero on the diagonal (JACOBI, AMG), a block without an inverse (BLOCK_JACOBI), a row with Inf or
 * NaN (AMG), or why the matrix is not symmetric positive definite, with the entry or row where one
 * was found (CHEBYSHEV, FSAI).
 *
 * On CUDA, the first solve and the first solve with new values record the iterations while the GPU
 * computes. The diagonal and the norm of A are computed where its arrays are; the CPU inverts
 * blocks and makes FSAI. The GPU makes AMG from a CSR with both triangles and at most 2^31 - 1
 * entries. The CPU makes it from other matrices, and if the GPU has too little memory.
 *
 * A matrix or right-hand side whose norm is very large or small is multiplied by a power of two
 * inside, which rounds nothing: if the norm of A is not between 2^-200 and 2^200 (2^-50 and 2^50 in
 * F32, with refine or with a preconditioner in f32), the solver keeps a scaled copy of the values.
 * With CALLBACK only b is scaled. */
MERBIT_API merbit_status merbit_solver_create(merbit_context *context, const merbit_view *view,
                                              const merbit_solver_desc *desc,
                                              merbit_solver **solver);
/* Solves A x = b. b and x have view.rows elements of the matrix's type, must not overlap, and are
 * where solver_desc.vector_memory says. The iteration begins with x = 0 or, if start_from_x is not
 * 0, with the given x. The call waits for work on the default stream and is complete on return. One
 * thread at a time may use a solver.
 *
 * Returns MERBIT_OK however the iteration ended: result->stop says how, and x is the last iterate
 * (zero for b = 0). The stop is MERBIT_STOP_NOT_FINITE also if entries of x are so large or small
 * that x, in its type, does not reach the tolerance. `history` is a host array of history_size
 * doubles: history[k] becomes the estimated residual after k iterations. `history` and `result` may
 * be NULL. On CUDA no number passes through the host during the iterations. Fails with
 * MERBIT_INVALID_ARGUMENT if b or x is NULL or in the wrong memory, or if they overlap, and with
 * MERBIT_CANCELLED if a CALLBACK says so. */
MERBIT_API merbit_status merbit_solver_solve(merbit_solver *solver, const void *b, void *x,
                                             int start_from_x, double *history, int history_size,
                                             merbit_solver_result *result);
/* Solves A x = b for `count` right-hand sides. Vector k of b begins at element k * ldb and that of
 * x at element k * ldx; ldb and ldx are at least view.rows. From its first vector to its last, gaps
 * included, b must not overlap x. Everything else is as for
 * merbit_solver_solve; start_from_x applies to all vectors. A solver with solver_desc.vectors
 * solves for that many at once: an iteration reads A once for all of them, but applies M to one
 * vector at a time. Each system has its own residual, stops on its own and then keeps its x, as if
 * it were solved alone, but all wait for the slowest. Any other solver solves for one after the
 * other. `results` is NULL or a host array of count elements, one for each right-hand side. There
 * iterate_seconds is the time of all systems that were solved at once, and `plan` the plan that
 * they shared. The progress callback gets the largest iteration count and the largest residual.
 * Once it has asked to stop, it is not called again, and no other system begins: each of the rest
 * gets MERBIT_STOP_CANCELLED, 0 iterations and the residual of its x, which is zero, or as it was
 * if start_from_x is not 0.
 *
 * The method is that of Hestenes and Stiefel 1952 for each vector, not block CG. Fails if count is
 * negative, if ldb or ldx is less than view.rows, or as merbit_solver_solve does; the results of
 * vectors that were not solved are zero then. */
MERBIT_API merbit_status merbit_solver_solve_many(merbit_solver *solver, int count, const void *b,
                                                  int64_t ldb, void *x, int64_t ldx,
                                                  int start_from_x, merbit_solver_result *results);
/* Copies new values for the same structure into the solver, like merbit_plan_update_values, and
 * makes the preconditioner again, which keeps what merbit_preconditioner_update_values keeps. After
 * a failure the solver may have some of the new values: give it values again before the next
 * solve. */
MERBIT_API merbit_status merbit_solver_update_values(merbit_solver *solver, const void *values,
                                                     merbit_memory memory);
/* Computes y = A x with the solver's own plan, for example for a residual, so that A needs no
 * second plan. x and y are like b and x of merbit_solver_solve, in the caller's order, and must not
 * overlap. The call is complete on return. Wrong vectors give MERBIT_INVALID_ARGUMENT. */
MERBIT_API merbit_status merbit_solver_multiply(merbit_solver *solver, const void *x, void *y);
/* Gives the solver up; NULL is accepted. */
MERBIT_API void merbit_solver_destroy(merbit_solver *solver);

/* Makes a preconditioner M of the square matrix `view` of F64 or F32, for an iteration of your own.
 * A solver makes its own from solver_desc.preconditioner. `desc` must name a kind. The arrays of
 * the view are borrowed and must stay unchanged until the preconditioner is destroyed; OWNERSHIP in
 * the manual has the exceptions. The call is complete on return. Fails with MERBIT_INVALID_MATRIX
 * if A has no such preconditioner: the sentence names the row and says what to try. Destroy it with
 * merbit_preconditioner_destroy. */
MERBIT_API merbit_status merbit_preconditioner_create(merbit_context *context,
                                                      const merbit_view *view,
                                                      const merbit_preconditioner_desc *desc,
                                                      merbit_preconditioner **preconditioner);
/* Computes z = M^-1 r. r and z have view.rows elements of the matrix's type, must not overlap, and
 * are where M is applied: in GPU memory on CUDA. On CUDA the work is enqueued on `stream`, a
 * CUstream or NULL for the default stream; the call allocates nothing, waits for nothing, and may
 * be captured in a graph. On the CPU the call is complete on return. One application may run at a
 * time, because all streams share M's scratch memory. Fails with MERBIT_INVALID_ARGUMENT if r or z
 * is NULL, if they overlap, or, on CUDA, if one is in host memory or not aligned to its
 * elements. */
MERBIT_API merbit_status merbit_preconditioner_apply(merbit_preconditioner *preconditioner,
                                                     const void *r, void *z, void *stream);
/* Makes M again from new values for the same structure, as many and in the same order as those of
 * the view, and copies them. `memory` says where they are; MERBIT_MEMORY_DEFAULT means where the
 * view's values were. Everything that depends only on the structure is kept, and so are AMG's
 * aggregates and its choice of whether to take A as symmetric, and FSAI's choice of the 64 largest
 * entries of longer rows. No application may be running; captured graphs must be captured again.
 * The call is complete on return. After a failure M may have some of the new values: give it values
 * again before the next application. Fails if the view was a pattern. */
MERBIT_API merbit_status merbit_preconditioner_update_values(
    merbit_preconditioner *preconditioner, const void *values, merbit_memory memory);
/* Writes one line that says what the preconditioner is. `text`, `size` and the returned length are
 * as in merbit_plan_describe. */
MERBIT_API size_t merbit_preconditioner_describe(const merbit_preconditioner *preconditioner,
                                                 char *text, size_t size);
/* Writes to *info the preconditioner's kind, size and cost. Fails only if a pointer is NULL. */
MERBIT_API merbit_status merbit_preconditioner_get_info(
    const merbit_preconditioner *preconditioner, merbit_preconditioner_info *info);
/* Gives the preconditioner up; NULL is accepted. */
MERBIT_API void merbit_preconditioner_destroy(merbit_preconditioner *preconditioner);

/* Computes eigenvalues at the ends of the spectrum of the square matrix `view` of F64 or F32, and
 * their vectors. `values` is a host array of eigen_desc.count doubles; it receives the eigenvalues
 * in the order of eigen_desc.which. `vectors` is NULL or a host array of as many vectors, one after
 * the other, each of view->rows elements of the matrix's type; it receives vectors of length 1.
 * `desc` and `result` may be NULL. Fails as merbit_plan_create does, with MERBIT_INVALID_MATRIX if
 * the matrix is not square, and with MERBIT_INVALID_ARGUMENT if a field is out of range.
 *
 * Returns MERBIT_OK however the iteration ended: result->stop says how, and result->residuals how
 * accurate each pair is. Pairs that were not reached are NaN. A multiple eigenvalue is listed as
 * often as it was found; some copies may be missed, as by every method that starts from one vector.
 * LANCZOS stops with MERBIT_STOP_BREAKDOWN if it finds that A is not symmetric. POWER stops with
 * MERBIT_STOP_STAGNATED if no eigenvalue is larger in absolute value than all others. */
MERBIT_API merbit_status merbit_eigen(merbit_context *context, const merbit_view *view,
                                      const merbit_eigen_desc *desc, double *values, void *vectors,
                                      merbit_eigen_result *result);
