/* ==== >>MANUAL ===================================================================================
 *
 * merbit multiplies a sparse matrix by dense vectors, many times: y = alpha A x + beta y. On an
 * NVIDIA GPU it compiles kernels for that matrix with NVRTC at run time and keeps the compiled
 * kernels (cubins) on disk. Without a GPU, or without NVRTC, the same calls run on CPU threads.
 *
 * USE. Copy this file into your project. In exactly one C or C++ file write, before any system
 * header,
 *
 *     #define MERBIT_IMPLEMENTATION
 *     #include "merbit.h"
 *
 * All other files only include it. On Linux link with -lm -ldl, and with -pthread if the C library
 * is older than glibc 2.34; on Windows and macOS nothing more is needed. The build needs no CUDA
 * header and no CUDA library: merbit opens libcuda and libnvrtc at run time. Define MERBIT_STATIC
 * before the include to make every function static. The CPU methods use OpenMP if the compiler has
 * it enabled; otherwise they use a small thread pool that belongs to the context. In a project that
 * is compiled with -ffast-math or -Ofast, compile that one file with -fno-fast-math (MSVC:
 * /fp:precise), because merbit must see NaN and infinities.
 *
 * If a shared library contains the implementation for its own use, hide it: compile that one file
 * with -fvisibility=hidden, or define MERBIT_STATIC if no other file uses merbit. Otherwise, on
 * Linux, the loader may lead the library's calls to the implementation in another library or in the
 * program, whose version may differ.
 *
 * FUNCTIONS BY TASK. A name that begins with an underscore continues the name before it: _get_info
 * stands for merbit_context_get_info.
 *
 *     open a GPU or the CPU            merbit_context_create, _get_info, _destroy
 *     run where NVRTC is missing       merbit_cache_export, merbit_cache_import
 *     say why a call failed            merbit_last_error, merbit_status_name, merbit_status_text
 *     descriptors with all defaults    merbit_context_defaults, merbit_read_defaults,
 *                                      merbit_bsr_defaults, merbit_plan_defaults,
 *                                      merbit_solver_defaults, merbit_eigen_defaults,
 *                                      merbit_pagerank_defaults, merbit_preconditioner_defaults
 *     keep vectors on the GPU          merbit_buffer_create, _upload, _download, _pointer, _destroy
 *     describe your own arrays         merbit_csr, merbit_coo, merbit_bsr; else merbit_view
 *     check them                       merbit_view_check
 *     copy, sort, add up duplicates    merbit_matrix_create
 *     transpose; make blocks           merbit_matrix_transpose; merbit_matrix_create_bsr
 *     estimate blocks                  merbit_view_find_blocks
 *     use or free an owned matrix      merbit_matrix_view, merbit_matrix_destroy
 *     read a Matrix Market file        merbit_matrix_read_file, _read_memory, _read_stream
 *     write one                        merbit_matrix_write_file, _write_stream
 *     prepare for products             merbit_plan_create, merbit_plan_destroy
 *     y = alpha A x + beta y           merbit_spmv
 *     the same for several vectors     merbit_spmm
 *     a product with dot products      merbit_spmv_epilogue
 *     products in several streams      merbit_workspace_create, merbit_workspace_destroy
 *     change the values                merbit_plan_update_values
 *     see how much memory it will take merbit_plan_forecast
 *     see what a plan chose            merbit_plan_describe, merbit_plan_get_info
 *     reorder and restore vectors      merbit_plan_reorder, _restore, _get_order
 *     solve A x = b                    merbit_solver_create, _solve, _multiply, _destroy,
 *                                      merbit_solver_update_values; merbit_stop_name
 *     solve for several b at once      merbit_solver_solve_many
 *     precondition an iteration        merbit_preconditioner_create, _apply, _update_values,
 *                                      merbit_preconditioner_describe, _get_info, _destroy
 *     values of F16 and BF16           merbit_f16_from_f32, merbit_f32_from_f16,
 *                                      merbit_bf16_from_f32, merbit_f32_from_bf16
 *     eigenvalues and eigenvectors     merbit_eigen
 *     PageRank                         merbit_pagerank
 *     the version                      merbit_version
 *
 * A PRODUCT.
 *
 * Example: product
 *     int row_ptr[] = {0, 2, 3, 5}, col_ind[] = {0, 2, 1, 0, 2};
 *     double values[] = {1, 2, 3, 4, 5}, x[] = {1, 1, 1}, y[3];
 *     merbit_view A = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
 *     merbit_plan_desc desc = merbit_plan_defaults();
 *     merbit_context *context;
 *     merbit_plan *plan;
 *     desc.vector_memory = MERBIT_MEMORY_HOST;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK) {
 *       if (merbit_plan_create(context, &A, &desc, &plan) == MERBIT_OK) {
 *         merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL); // y = A x: 3, 3, 9
 *         merbit_plan_destroy(plan);
 *       }
 *       merbit_context_destroy(context);
 *     }
 *
 * plan_desc.vector_memory says where x and y are. MERBIT_MEMORY_DEFAULT, which is zero, means:
 * where the plan computes. So x and y are device pointers if the plan computes on the GPU, and host
 * pointers if it computes on the CPU. The example has arrays in host memory and must run on both,
 * so it asks for MERBIT_MEMORY_HOST. On a GPU, such vectors are convenient and slow, because every
 * product copies x to the GPU and y back. Vectors in a merbit_buffer stay where the context
 * computes. Any device pointer of your own works too.
 *
 * Example: buffers
 *     int row_ptr[] = {0, 1, 2}, col_ind[] = {1, 0};
 *     float values[] = {2, 3}, x[] = {1, 10}, y[2], alpha = 0.5f;
 *     merbit_view A = merbit_csr(2, 2, 2, row_ptr, col_ind, values);
 *     merbit_context *context = NULL;
 *     merbit_buffer *bx = NULL, *by = NULL;
 *     merbit_plan *plan = NULL;
 *     char sentence[MERBIT_MESSAGE_SIZE];
 *     A.value_type = MERBIT_F32;
 *     if (merbit_context_create(NULL, &context, NULL) ||
 *         merbit_buffer_create(context, sizeof x, &bx) ||
 *         merbit_buffer_create(context, sizeof y, &by) ||
 *         merbit_buffer_upload(bx, 0, x, sizeof x) ||
 *         merbit_plan_create(context, &A, NULL, &plan) ||
 *         merbit_spmv(plan, NULL, &alpha, merbit_buffer_pointer(bx), NULL,
 *                     merbit_buffer_pointer(by), NULL) ||
 *         merbit_buffer_download(by, 0, y, sizeof y)) {
 *       merbit_last_error(context, sentence, sizeof sentence); // what went wrong, and what to do
 *     }
 *     merbit_plan_destroy(plan);
 *     merbit_buffer_destroy(bx);
 *     merbit_buffer_destroy(by);
 *     merbit_context_destroy(context);
 *
 * A GRAPH FROM A FILE.
 *
 * Example: pagerank
 *     merbit_context *context = NULL;
 *     merbit_matrix *graph = NULL;
 *     merbit_view links;
 *     double *ranks = NULL;
 *     merbit_status status = merbit_context_create(NULL, &context, NULL);
 *     if (status == MERBIT_OK) {
 *       status = merbit_matrix_read_file(context, "graph.mtx", NULL, &graph);
 *     }
 *     if (status == MERBIT_OK) {
 *       links = merbit_matrix_view(graph);
 *       ranks = (double *)malloc((size_t)links.rows * sizeof *ranks);
 *       if (ranks != NULL) {
 *         status = merbit_pagerank(context, &links, NULL, ranks, NULL);
 *       }
 *     }
 *     free(ranks);
 *     merbit_matrix_destroy(graph);
 *     merbit_context_destroy(context);
 *
 * A SYSTEM OF EQUATIONS. merbit_solver_solve finds x with A x = b, on the GPU or on the CPU.
 * SOLVERS below has the details.
 *
 * Example: solver
 *     int row_ptr[] = {0, 2, 5, 7}, col_ind[] = {0, 1, 0, 1, 2, 1, 2};
 *     double values[] = {4, -1, -1, 4, -1, -1, 4}, b[] = {3, 2, 3}, x[3];
 *     merbit_view A = merbit_csr(3, 3, 7, row_ptr, col_ind, values);
 *     merbit_solver_desc desc = merbit_solver_defaults();
 *     merbit_solver_result result;
 *     merbit_context *context = NULL;
 *     merbit_solver *solver = NULL;
 *     desc.method = MERBIT_SOLVER_CG;
 *     desc.vector_memory = MERBIT_MEMORY_HOST;
 *     desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK &&
 *         merbit_solver_create(context, &A, &desc, &solver) == MERBIT_OK &&
 *         merbit_solver_solve(solver, b, x, 0, NULL, 0, &result) == MERBIT_OK) {
 *       puts(result.description); // x is 1, 1, 1 if result.stop is MERBIT_STOP_CONVERGED
 *     }
 *     merbit_solver_destroy(solver);
 *     merbit_context_destroy(context);
 *
 * BLOCKS. Some matrices have their entries in small dense blocks, for example in finite elements
 * with several unknowns per node. BSR stores one column index per block. On the CPU, AUTO
 * multiplies a BSR view of F64 or F32 block by block; MERBIT_METHOD_BSR does so on either side.
 * merbit_matrix_create_bsr makes a BSR matrix from any view, with blocks of the shape that you
 * give, or else of the shape that needs the fewest bytes.
 *
 * Example: blocks
 *     int row_ptr[] = {0, 1, 3}, col_ind[] = {0, 0, 1}; // block rows, block columns
 *     double values[] = {4, 1, 1, 4, -1, 0, 0, -1, 4, 1, 1, 4}, x[] = {1, 2, 3, 4}, y[4];
 *     merbit_view A = merbit_bsr(4, 4, 3, 2, 2, row_ptr, col_ind, values), B;
 *     merbit_plan_desc desc = merbit_plan_defaults();
 *     merbit_bsr_desc shape = {4, 2, MERBIT_BLOCK_COLUMN_MAJOR};
 *     merbit_context *context = NULL;
 *     merbit_matrix *larger = NULL;
 *     merbit_plan *plan = NULL;
 *     desc.vector_memory = MERBIT_MEMORY_HOST;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK &&
 *         merbit_matrix_create_bsr(context, &A, &shape, &larger) == MERBIT_OK) {
 *       B = merbit_matrix_view(larger); // two blocks of 4 x 2
 *       if (merbit_plan_create(context, &B, &desc, &plan) == MERBIT_OK) {
 *         merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL);
 *       }
 *     }
 *     merbit_plan_destroy(plan);
 *     merbit_matrix_destroy(larger);
 *     merbit_context_destroy(context);
 *
 * merbit_matrix_create_bsr fills the empty places of a block with stored zeros. A stored zero is an
 * entry: zero times Inf is NaN. A plan with MERBIT_METHOD_BSR also makes blocks from a CSR or COO
 * view, but there the filled places take no part in the product. The GPU makes these blocks from a
 * CSR in device memory whose rows have ascending columns; CPU threads make them from any other
 * view.
 *
 * ORDER. A plan can hold its matrix with rows and columns in another order (plan_desc.reordering),
 * so that entries of x that are used together are stored together. x and y then have the plan's
 * order. A solver permutes its vectors once, iterates, and permutes the result back.
 *
 * Example: order
 *     int row_ptr[] = {0, 2, 4, 6, 8}, col_ind[] = {0, 2, 1, 3, 0, 2, 1, 3};
 *     double values[] = {4, 1, 4, 1, 1, 4, 1, 4}, x[] = {1, 2, 3, 4}, y[4], px[4], py[4];
 *     merbit_view A = merbit_csr(4, 4, 8, row_ptr, col_ind, values);
 *     merbit_plan_desc desc = merbit_plan_defaults();
 *     merbit_context *context = NULL;
 *     merbit_plan *plan = NULL;
 *     int i;
 *     desc.vector_memory = MERBIT_MEMORY_HOST;
 *     desc.reordering = MERBIT_REORDERING_RCM;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK &&
 *         merbit_plan_create(context, &A, &desc, &plan) == MERBIT_OK) {
 *       merbit_plan_reorder(plan, x, px, NULL);
 *       for (i = 0; i < 10; i++) {
 *         merbit_spmv(plan, NULL, NULL, px, NULL, py, NULL); // a solver does more here
 *       }
 *       merbit_plan_restore(plan, py, y, NULL);
 *     }
 *     merbit_plan_destroy(plan);
 *     merbit_context_destroy(context);
 *
 * CPU threads compute the order; arrays in device memory are downloaded for that.
 * plan_info.reorder_seconds is the time it took, about as long as thousands of products on a GPU.
 * New values (merbit_plan_update_values) come in the order of the view, not of the plan.
 *
 * TRANSPOSE. A plan with plan_desc.operation = MERBIT_OPERATION_T multiplies by the transpose: x
 * has view.rows elements and y has view.cols. MERBIT_OPERATION_H also conjugates complex values.
 *
 * Example: transpose
 *     int row_ptr[] = {0, 2, 3}, col_ind[] = {0, 2, 1};
 *     double values[] = {1, 2, 3}, x[] = {1, 10}, y[3];
 *     merbit_view A = merbit_csr(2, 3, 3, row_ptr, col_ind, values);
 *     merbit_plan_desc desc = merbit_plan_defaults();
 *     merbit_context *context = NULL;
 *     merbit_plan *plan = NULL;
 *     desc.vector_memory = MERBIT_MEMORY_HOST;
 *     desc.operation = MERBIT_OPERATION_T;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK &&
 *         merbit_plan_create(context, &A, &desc, &plan) == MERBIT_OK) {
 *       merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL); // 1, 30, 2
 *     }
 *     merbit_plan_destroy(plan);
 *     merbit_context_destroy(context);
 *
 * The plan holds a transposed copy even if few products are expected, so that products are
 * repeatable. If the plan computes on the GPU, the GPU makes the copy of a CSR view. CPU threads
 * make it of blocks, of 64-bit columns in host memory, for a reordered plan, for a plan on the CPU,
 * and if the GPU lacks the memory. A COO view needs no copy, because its row and column indices can
 * be exchanged. New values come in the order of the view. plan_desc.block_rows,
 * plan_desc.block_cols and all fields of merbit_plan_info refer to the transpose.
 *
 * EIGENPAIRS. merbit_eigen finds eigenvalues at the ends of a spectrum. Lanczos is for symmetric
 * matrices. The power method finds the eigenvalue of largest absolute value.
 *
 * Example: eigen
 *     int row_ptr[] = {0, 2, 5, 7}, col_ind[] = {0, 1, 0, 1, 2, 1, 2};
 *     double values[] = {2, -1, -1, 2, -1, -1, 2}, largest[2], vectors[6];
 *     merbit_view A = merbit_csr(3, 3, 7, row_ptr, col_ind, values);
 *     merbit_eigen_desc desc = merbit_eigen_defaults();
 *     merbit_context *context = NULL;
 *     desc.method = MERBIT_EIGEN_LANCZOS;
 *     desc.which = MERBIT_EIGEN_LARGEST;
 *     desc.count = 2;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK) {
 *       merbit_eigen(context, &A, &desc, largest, vectors, NULL); // 3.41421, 2
 *     }
 *     merbit_context_destroy(context);
 *
 * SEVERAL VECTORS. A plan for several vectors (plan_desc.vectors, up to 64) reads the matrix once
 * and multiplies all of them. Matrix and vectors are F64 throughout or F32 throughout, and the
 * semiring is plus-times; else the plan is refused with MERBIT_NOT_SUPPORTED. The vectors are in
 * one array, row-major or column-major. Row-major is faster on the GPU.
 *
 * Example: vectors
 *     int row_ptr[] = {0, 2, 3}, col_ind[] = {0, 2, 1};
 *     double values[] = {1, 2, 3}, x[] = {1, 2, 10, 20, 100, 200}, y[4]; // two vectors of 3
 *     merbit_view A = merbit_csr(2, 3, 3, row_ptr, col_ind, values);
 *     merbit_plan_desc desc = merbit_plan_defaults();
 *     merbit_context *context = NULL;
 *     merbit_plan *plan = NULL;
 *     desc.vector_memory = MERBIT_MEMORY_HOST;
 *     desc.vectors = 2;
 *     desc.vector_order = MERBIT_VECTORS_ROW_MAJOR;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK &&
 *         merbit_plan_create(context, &A, &desc, &plan) == MERBIT_OK) {
 *       merbit_spmm(plan, NULL, NULL, x, 2, NULL, y, 2, NULL); // 201, 402, 30, 60
 *     }
 *     merbit_plan_destroy(plan);
 *     merbit_context_destroy(context);
 *
 * ONE TRIANGLE. A CSR or COO view may give one triangle, lower or upper, of a symmetric,
 * skew-symmetric or Hermitian matrix. Set view.symmetry. The triangle includes the diagonal; a
 * skew-symmetric one has no diagonal. merbit checks that all entries are in one triangle.
 *
 * Example: half
 *     int row_ptr[] = {0, 1, 3, 5}, col_ind[] = {0, 0, 1, 1, 2}; // the lower triangle
 *     double values[] = {4, -1, 4, -1, 4}, x[] = {1, 2, 3}, y[3];
 *     merbit_view A = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
 *     merbit_plan_desc desc = merbit_plan_defaults();
 *     merbit_context *context = NULL;
 *     merbit_plan *plan = NULL;
 *     A.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
 *     desc.vector_memory = MERBIT_MEMORY_HOST;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK &&
 *         merbit_plan_create(context, &A, &desc, &plan) == MERBIT_OK) {
 *       merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL); // 2, 4, 10
 *     }
 *     merbit_plan_destroy(plan);
 *     merbit_context_destroy(context);
 *
 * On the CPU, MERBIT_METHOD_SYMMETRIC multiplies by the stored triangle directly and so reads half
 * the bytes. AUTO takes it if the rows are long and stay close to the diagonal, or if few products
 * are expected. For other methods, for types other than F64 and F32, and on the GPU, CPU threads
 * make both triangles: device arrays are downloaded, and plan_info.expand_seconds is the time. A
 * transposed plan of one triangle costs nothing more. New values come in the order of the triangle.
 * All other calls that take a view (merbit_matrix_create, merbit_pagerank and so on) also work on
 * both triangles; merbit_matrix_write_file writes one. read_desc.keep_half keeps the one triangle
 * that a file stores.
 *
 * TYPES. A view's value_type is the type of its values. x, y, the sums, alpha and beta have one
 * common type:
 *
 *     values (value_type)            x, y, sums, alpha, beta      methods
 *     F64, F32                       the same                     all
 *     F32, with vector_type F64      F64                          MERGE, SCAN, ROWS on CUDA;
 *                                                                 MERGE, REFERENCE on the CPU
 *     F16, BF16                      F32                          as in the row above
 *     C64, C128                      the same                     as in the row above
 *
 * A complex number is two adjacent reals, real part first; so are alpha and beta. On CUDA an array
 * of complex numbers begins at a multiple of its element's size. F16 and BF16 values are 16-bit
 * patterns (uint16_t). If values are narrower than sums, a plan keeps duplicate entries apart, so
 * that only products and sums are rounded. Blocks (merbit_matrix_create_bsr, MERBIT_METHOD_BSR) and
 * merbit_pagerank take F64 and F32. A plan converts a BSR view of any other type to CSR.
 *
 * Example: complex
 *     int row_ptr[] = {0, 1, 2}, col_ind[] = {1, 0};
 *     double values[] = {0, 1, 2, -3}, x[] = {1, 0, 0, 1}; // i and 2 - 3i; 1 and i
 *     double alpha[] = {0, 2}, y[4];                       // 2i
 *     merbit_view A = merbit_csr(2, 2, 2, row_ptr, col_ind, values);
 *     merbit_plan_desc desc = merbit_plan_defaults();
 *     merbit_context *context = NULL;
 *     merbit_plan *plan = NULL;
 *     desc.vector_memory = MERBIT_MEMORY_HOST;
 *     desc.operation = MERBIT_OPERATION_H;
 *     A.value_type = MERBIT_C128;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK &&
 *         merbit_plan_create(context, &A, &desc, &plan) == MERBIT_OK) {
 *       merbit_spmv(plan, NULL, alpha, x, NULL, y, NULL); // -4 - 6i, 2
 *     }
 *     merbit_plan_destroy(plan);
 *     merbit_context_destroy(context);
 *
 * SEMIRINGS. A plan may add and multiply by other operators (plan_desc.semiring). A product over
 * min-plus is one step of shortest paths, over or-and one step of breadth-first search, over
 * max-times one step of most likely paths. MERBIT_SEMIRING_CUSTOM takes operators of your own.
 *
 * Example: semirings
 *     int row_ptr[] = {0, 2, 3, 3}, col_ind[] = {1, 2, 2}; // roads from 0 to 1 and 2, from 1 to 2
 *     double lengths[] = {4, 9, 3}, zero = 0, d[] = {0, 1e300, 1e300}, e[] = {0, 1e300, 1e300};
 *     merbit_view A = merbit_csr(3, 3, 3, row_ptr, col_ind, lengths);
 *     merbit_plan_desc desc = merbit_plan_defaults();
 *     merbit_context *context = NULL;
 *     merbit_plan *plan = NULL;
 *     desc.vector_memory = MERBIT_MEMORY_HOST;
 *     desc.operation = MERBIT_OPERATION_T;
 *     desc.semiring = MERBIT_SEMIRING_MIN_PLUS;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK &&
 *         merbit_plan_create(context, &A, &desc, &plan) == MERBIT_OK) {
 *       merbit_spmv(plan, NULL, NULL, d, &zero, e, NULL); // 0, 4, 9: paths of one road
 *       merbit_spmv(plan, NULL, NULL, e, &zero, d, NULL); // 0, 4, 7: paths of two
 *     }
 *     merbit_plan_destroy(plan);
 *     merbit_context_destroy(context);
 *
 * Write (+) for the semiring's addition and (x) for its multiplication. Then y = (alpha (x) sum)
 * (+) (beta (x) y). The sum of a row begins with the semiring's zero, which is also the sum of an
 * empty row: Inf for min-plus, 0 for max-times and for or-and. The rules for the scalars are:
 * - If alpha is NULL, the sum is not multiplied. If beta is NULL, y is not read.
 * - If alpha is the semiring's zero, neither A nor x is read, and the zero takes the place of alpha
 *   (x) sum.
 * - If beta is the semiring's zero, y is not read.
 * - Any other number is an operand like an entry. In min-plus, 0 is an ordinary number: alpha is
 *   added to each sum, and beta = 0 gives the lesser of the old y and the new value.
 * A pattern has the value 1 everywhere in every semiring: in min-plus each entry is an edge of
 * length 1. Duplicates are separate entries; they are never added up. A stored zero is an entry: in
 * min-plus an edge of length 0, in or-and no edge.
 *
 * min, max and or give the same bits in any order, so every method gives the same bits. A NaN
 * product makes its row NaN. A result that is zero is +0. In or-and every nonzero number, NaN
 * included, is true, and results are 0 or 1. max-times is for numbers >= 0, because its zero is 0;
 * for other numbers define your own operators, with max as `add` and -Inf as the zero. MERGE, SCAN
 * and ROWS on CUDA, and MERGE and REFERENCE on the CPU, take semirings; AUTO chooses among these.
 * Views are CSR or COO of F64 or F32. A plan over a semiring is for one vector, without epilogue.
 * Transposes, reordering, new values, device arrays and scalars in device memory work as with
 * plus-times.
 *
 * With MERBIT_SEMIRING_CUSTOM, plan_desc.operators gives `add` and `multiply`, as expressions for
 * CUDA and as functions for the CPU. A plan needs both operators for its side; if AUTO is to fall
 * back to the CPU, it needs the functions too. `add` must be associative. It must be commutative as
 * well, except for plans on the CPU and for ROWS with one lane per row (plan_desc.tuning =
 * "lanes=1"), which take the entries of a row in their order.
 *
 * SOLVERS. A solver (merbit_solver_create) holds the plan of a square matrix and its vectors. On
 * CUDA it also holds its iterations: the first solve records them as a CUDA graph, so that later
 * solves need no preparation. CG is for symmetric positive definite matrices. BICGSTAB and GMRES
 * are for any square matrix; GMRES restarts every solver_desc.restart iterations.
 *
 * Scalars stay on the GPU. With CUDA 12.4 or later the loop itself runs there (result.recorded is
 * 2), and the host checks about ten times a second, but at most once per 50 iterations. At each
 * check the host calls the progress callback, which may cancel the solve. Kernels that run after
 * the products add up the dot products, in double, in an order that depends on the matrix and the
 * GPU alone. So every solve of one solver gives the same bits, unless a driver call failed in
 * between.
 *
 * A solve has converged when ||b - A x|| / ||b||, recomputed from x, is at most the tolerance. If
 * only the residual of the recurrence is that small, the solver continues: first with a lower goal
 * for the recurrence, then from the recomputed residual. It ends with MERBIT_STOP_STAGNATED if that
 * does not help. After a breakdown, BICGSTAB starts again from the recomputed residual, up to ten
 * times. solver_desc.refine solves for corrections in f32 and computes residuals in f64.
 * result.description says in one sentence why the solve ended.
 *
 * With solver_desc.vectors, merbit_solver_solve_many runs CG for several right-hand sides at once.
 * A second plan computes all their products in one, and on CUDA each step is one launch for all of
 * them. Preconditioners other than NONE and JACOBI are applied to one vector at a time.
 *
 * EPILOGUES. Write op(A) for A, or for its transpose if plan_desc.operation says so. A plan may
 * apply an expression to each row of op(A) x before it is stored in y, and may add up to two sums
 * over all rows (plan_desc.epilogue). One call, merbit_spmv_epilogue, then gives y and a dot
 * product, a norm or a difference.
 *
 * Example: epilogues
 *     int row_ptr[] = {0, 2, 3}, col_ind[] = {0, 1, 1};
 *     double values[] = {2, 1, 4}, x[] = {1, 10}, b[] = {10, 41};
 *     double r[2], norm[2]; // r = b - A x and its ||r||^2
 *     merbit_view A = merbit_csr(2, 2, 3, row_ptr, col_ind, values);
 *     merbit_plan_desc desc = merbit_plan_defaults();
 *     merbit_epilogue epilogue;
 *     const void *vectors[1];
 *     merbit_context *context = NULL;
 *     merbit_plan *plan = NULL;
 *     memset(&epilogue, 0, sizeof epilogue);
 *     epilogue.result = "v0 - ax";
 *     epilogue.sums[0] = "y * y";
 *     epilogue.vectors = 1;
 *     desc.side = MERBIT_SIDE_CPU;
 *     desc.epilogue = &epilogue;
 *     vectors[0] = b;
 *     if (merbit_context_create(NULL, &context, NULL) == MERBIT_OK &&
 *         merbit_plan_create(context, &A, &desc, &plan) == MERBIT_OK) {
 *       merbit_spmv_epilogue(plan, NULL, x, r, vectors, NULL, norm, NULL, NULL); // r: -2, 1; 5
 *     }
 *     merbit_plan_destroy(plan);
 *     merbit_context_destroy(context);
 *
 * The names in expressions are: ax, the row of op(A) x; row, its number in the plan; v0, v1, ...
 * for element `row` of each vector; s0, s1, ... for the scalars. The sums also know y, which is the
 * result. The result is computed in the plan's vector type, to which scalars are rounded. The sums
 * and all their operands are double, also in an f32 plan. Each row counts once; an empty row has ax
 * = 0. Epilogues need plus-times, one vector, and vectors of F64 or F32 (the values may be
 * narrower). They work with every method.
 *
 * On CUDA one kernel after the product reads y and the vectors, and writes y if there is a result.
 * The sums of a plan on CUDA have the same bits in every run; on the CPU they have the same bits
 * for the same number of threads. On the CPU an epilogue is a function (merbit_epilogue.cpu), which
 * is called for ranges of rows after the product. The expression of the example above and those in
 * this table need no function:
 *
 *     result                  sums[0]                              sums[1]
 *     NULL                    "v0 * ax"                            NULL
 *     NULL                    "v0 * ax"                            "ax * ax"
 *     "(s0 * ax + s1) /       "abs(s0 * ax + s1 - v0 * abs(v1))"   "v1 < 0 ? y : 0"
 *       abs(v1)"
 *
 * EXPRESSIONS. An expression has + - * / and parentheses, the comparisons < <= > >= == != (which do
 * not chain), && || !, c ? a : b, decimal numbers, inf, the names listed where the expression is
 * given, and the functions min max abs sqrt exp log pow floor ceil. Operands have the plan's vector
 * type, in an epilogue's sums double. A comparison gives 1 or 0; a number is true unless it is
 * zero. Each operation is rounded separately, as in C without contraction. exp, log and pow may
 * differ from the C library's in the last bits. min and max of a NaN are NaN. merbit refuses
 * everything else and names its position. The compiler sees only a text that merbit writes from the
 * checked tokens; this text is part of the cubin's key. An expression has at most 512 characters,
 * and the text written from it at most 1399. A number takes 48 of these: 26 numbers and their sum
 * fit, or 21 numbers and their product. If an epilogue needs more numbers, pass them as scalars.
 *
 * STATUS. Every call that can fail returns a merbit_status. On failure it sets its out pointer to
 * NULL and leaves a sentence that names the value at fault. merbit_last_error gives the sentence of
 * the calling thread's last failure on a context. A later success may leave that sentence, so test
 * the status of each call. merbit_context_create fills a merbit_error instead. If the context,
 * buffer, plan, solver or preconditioner of a call is NULL, the call returns
 * MERBIT_INVALID_ARGUMENT and leaves no sentence, because no context is known to hold it; a
 * sentence that merbit_last_error gives after such a call belongs to an earlier failure. Destroying
 * NULL does nothing. merbit prints nothing unless MERBIT_LOG is set, and never exits.
 *
 * Declarations name the statuses that tell of their own arguments. Beside these, any call that
 * makes, changes or solves something may return MERBIT_OUT_OF_MEMORY and, on CUDA,
 * MERBIT_DEVICE_OUT_OF_MEMORY, MERBIT_DEVICE_ERROR, MERBIT_DEVICE_LOST, MERBIT_NO_COMPILER and
 * MERBIT_COMPILE_ERROR.
 *
 * DESCRIPTORS. Fill a descriptor with zeros first, as merbit_plan_defaults and its like do: zero
 * means the default, and later versions may add fields. Four fields have no default.
 * merbit_solver_create needs a descriptor with `method` set, because no method suits every matrix.
 * merbit_preconditioner_create needs one with `kind` set. MERBIT_SEMIRING_CUSTOM needs
 * plan_desc.operators. MERBIT_PRECONDITIONER_CALLBACK needs solver_desc.apply.
 *
 * OWNERSHIP. Contexts, matrices, buffers, plans, workspaces, solvers and preconditioners are yours
 * to destroy, in any order: each keeps alive what it was made from. The field `owner` of a
 * merbit_matrix's view names that matrix. Copies of the view name it too, even if you replace an
 * array in a copy. Plans, solvers and preconditioners made from any of these views keep the matrix
 * alive. The view itself does not: make nothing more from it after the matrix is destroyed.
 *
 * Arrays of your own (`owner` is NULL) are borrowed. Later products read them, and so does
 * merbit_plan_update_values. Keep them, unchanged, until every plan, solver and preconditioner made
 * from them is destroyed. How much of them a plan copies depends on its method, so a change in
 * place reaches some products and not others. For new values, use merbit_plan_update_values,
 * merbit_solver_update_values or merbit_preconditioner_update_values, which copy them; for another
 * structure, make another plan. There are two exceptions. First, new values may be written over the
 * old ones if the update follows before the next product, solve or application. Second, products on
 * CUDA do not read arrays in host memory again: such arrays may go once the plan is made, unless
 * the plan is to take new values of a COO, of 64-bit columns or of blocks, or a solver or
 * preconditioner is to take new values. merbit_matrix_create, merbit_matrix_transpose and
 * merbit_matrix_create_bsr copy. merbit_pagerank and merbit_eigen read arrays only until they
 * return.
 *
 * THREADS. Threads may share a context, a matrix and a plan. Products of one plan that run at the
 * same time need a workspace each (merbit_workspace_create); so do products in different streams
 * and in different captured graphs. While one thread changes values or destroys an object, no other
 * thread may use it.
 *
 * CALLBACKS. Every function that you give to merbit must return. Neither a C++ exception nor a
 * longjmp may leave it, because merbit would not release what it holds; to stop a read or an
 * iteration, return a nonzero number where the type's comment allows it. Such a function may call
 * merbit, but not with the plan, solver or preconditioner for which merbit has called it.
 *
 * FORK. In a forked child, contexts that the parent made compute with one thread and cannot use the
 * GPU; make a context in the child. Fork while no other thread is in a call. If the program is
 * built with gcc's OpenMP and the parent process has run OpenMP threads, a new context in the child
 * needs context_desc.threads = 1; otherwise its first product hangs.
 *
 * CUDA. The context retains the device's primary context, or uses your own
 * (context_desc.cuda_context). Each call restores the caller's current context. merbit_spmv only
 * enqueues work on the stream, so a CUDA graph can capture it. After a CUDA context has died, every
 * call returns MERBIT_DEVICE_LOST.
 *
 * VALUES. A plan on CUDA may inspect the values and store them in a shorter form if nothing is
 * lost. If at least eight products are expected, it looks for one value if all are equal, and for
 * floats that represent all values exactly. If at least 24 are expected, it also looks for one
 * value per column or per row if each column or row has equal values, bytes if there are at most
 * 256 different values, and halves that represent all values exactly. Results are those of the
 * general form. merbit_plan_update_values keeps the form if the new values fit it; otherwise it
 * makes the plan general. plan_desc.changing_values turns this off.
 *
 * THE CPU. If enough products are expected, AUTO makes another form of the matrix on the CPU too:
 * rows sorted by length (SORTED), or blocks if the CSR consists of full blocks.
 * merbit_plan_describe gives the forecast of the chosen method and of the next best. Such a plan
 * holds a copy of the columns and, unless all values are equal, of the values. MERGE and REFERENCE
 * read the caller's arrays. plan_desc.numa moves each thread's part of columns and values to the
 * thread's memory node; if MERGE reads the caller's arrays, it moves their pages.
 * context_desc.bind_threads binds each thread to one processor, except the calling thread, which
 * works as thread 0 and should run on the first processor.
 *
 * SIDES. MERBIT_SIDE_AUTO takes the GPU if there are a driver, a device and NVRTC (or the kernels
 * of merbit_cache_import). Otherwise it takes the CPU, and merbit_context_info.reason says why.
 * MERBIT_SIDE_CUDA fails with that reason instead. A plan whose side and method are AUTO may still
 * fall back to the CPU when it is made, if the matrix is in host memory, vector_memory is HOST, and
 * scalar_memory is not DEVICE. After that it never changes sides. merbit_plan_describe names the
 * side.
 *
 * NUMBERS. For a row of k nonzeros, the error of each component of y is at most gamma(k + 2)
 * (|alpha| |A| |x| + |beta| |y|), barring overflow and underflow; gamma(n) = n u / (1 - n u) with
 * the unit roundoff u of the sums. For complex numbers this holds for each part with gamma(k + 4)
 * and the same sums over absolute values of parts: each part of a product is two products and a
 * sum. Inf times a complex number is what these operations give, often NaN in both parts. beta = 0
 * does not read y. alpha = 0 does not read A or x. NaN and Inf stay in the rows whose nonzeros meet
 * them. A sum that is zero is +0, and so is every sum if alpha is 0. The rest, alpha * sum + beta *
 * y, follows IEEE 754: -1 times an empty row is -0, Inf times an empty row is NaN. Subnormal
 * numbers are kept. Products of one plan are bitwise repeatable: on the GPU in every launch, on the
 * CPU for the same number of threads. So is merbit_pagerank, except with MERBIT_METHOD_MERBIT,
 * which adds atomically if a row spans thread blocks.
 *
 * LIMITS. A matrix has fewer than 2^31 columns. Rows and nonzeros are counted in 64 bits.
 *
 * NVRTC. merbit opens the libnvrtc that context_desc.nvrtc_path names, else the one that
 * MERBIT_NVRTC names. If one is named, no other is tried. If none is named, merbit looks in the
 * loader's path, CUDA_HOME, CUDA_PATH, /usr/local/cuda and pip's nvidia wheels; on Windows in the
 * program's folder, CUDA_PATH and pip's wheels of VIRTUAL_ENV. The context's CPU threads compile
 * the kernels of a plan in parallel.
 *
 * CACHE. merbit keeps cubins in context_desc.cache_dir; else in MERBIT_CACHE_DIR; else in
 * XDG_CACHE_HOME/merbit; else in ~/.cache/merbit; on Windows in %LOCALAPPDATA%/merbit/cache. An
 * empty cache_dir turns the disk cache off. The directory must belong to you, and nobody but you
 * and root (on Windows administrators and services) may have the right to write to any folder of
 * its path, except above it to one with the sticky bit, such as /tmp. Otherwise there is no disk
 * cache, and merbit_context_info.cache_off_reason says why.
 *
 * ENVIRONMENT. MERBIT_CACHE_DIR and MERBIT_NVRTC are described above. MERBIT_LOG, with any value,
 * writes log lines to stderr if no log callback is set. MERBIT_DUMP=DIR writes the texts, compiler
 * logs and cubins of the programs that are compiled to DIR, which must exist. An empty variable
 * counts as unset. On Linux and macOS, programs that run with raised privileges (setuid) ignore all
 * four.
 */
