MERBIT_API merbit_view merbit_csr(int64_t rows, int64_t cols, int64_t nnz, const void *row_ptr,
                                  const void *col_ind, const void *values) {
  merbit_view view;
  memset(&view, 0, sizeof view);
  view.rows = rows;
  view.cols = cols;
  view.nnz = nnz;
  view.row_ptr = row_ptr;
  view.col_ind = col_ind;
  view.values = values;
  return view;
}

MERBIT_API merbit_view merbit_bsr(int64_t rows, int64_t cols, int64_t blocks, int block_rows,
                                  int block_cols, const void *row_ptr, const void *col_ind,
                                  const void *values) {
  merbit_view view = merbit_csr(rows, cols, blocks, row_ptr, col_ind, values);
  view.format = MERBIT_BSR;
  view.block_rows = block_rows;
  view.block_cols = block_cols;
  return view;
}

/* How a view becomes a CSR. */
#define MBI_BUILD_TRANSPOSE 1 /* rows become columns */
#define MBI_BUILD_KEEP 2      /* duplicates stay, beside each other in the order of the arrays */

static void mbi_build_describe(mbi_build *build, merbit_context *context,
                               const merbit_view *from, int flags) {
  const int transpose = (flags & MBI_BUILD_TRANSPOSE) != 0;
  memset(build, 0, sizeof *build);
  build->context = context;
  build->from = from;
  build->walk = transpose && from->format == MERBIT_CSR;
  build->major = transpose ? from->col_ind : from->row_ind;
  build->minor = transpose ? from->row_ind : from->col_ind;
  build->to.value_type = mbi_view_type(from);
  build->to.offset_type = MERBIT_INDEX_64;
  build->to.memory = MERBIT_MEMORY_HOST;
  build->to.rows = transpose ? from->cols : from->rows;
  build->to.cols = transpose ? from->rows : from->cols;
  build->to.nnz = from->nnz;
}

static merbit_status mbi_build_allocate(mbi_build *build) {
  merbit_context *context = build->context;
  int64_t nnz = build->to.nnz;
  void *memory;
  merbit_status status = mbi_allocate_array(context, build->to.rows + 1, sizeof(int64_t),
                                            "the row offsets of a matrix", &memory);
  build->row_ptr = (int64_t *)memory;
  build->to.row_ptr = memory;
  if (status == MERBIT_OK) {
    status =
        mbi_allocate_array(context, nnz, sizeof(int32_t), "the columns of a matrix", &memory);
    build->col_ind = (int32_t *)memory;
  }
  if (status == MERBIT_OK && build->from->values != NULL) {
    status = mbi_allocate_array(context, nnz, mbi_type_size(build->to.value_type),
                                "the values of a matrix", &build->values);
  }
  return status;
}

/* 32-bit offsets where they suffice. */
static merbit_status mbi_build_narrow(mbi_build *build) {
  int64_t row;
  void *memory;
  merbit_status status;
  if (build->to.nnz > INT32_MAX) {
    return MERBIT_OK;
  }
  status = mbi_allocate_array(build->context, build->to.rows + 1, sizeof(int32_t),
                              "the row offsets of a matrix", &memory);
  if (status != MERBIT_OK) {
    return status;
  }
  build->narrow_row_ptr = (int32_t *)memory;
  for (row = 0; row <= build->to.rows; row++) {
    build->narrow_row_ptr[row] = (int32_t)build->row_ptr[row];
  }
  mbi_release(build->context, build->row_ptr);
  build->row_ptr = NULL;
  build->to.row_ptr = memory;
  build->to.offset_type = MERBIT_INDEX_32;
  return MERBIT_OK;
}

static merbit_status mbi_build_run(mbi_build *build, int flags) {
  merbit_status status = mbi_build_allocate(build);
  if (status == MERBIT_OK) {
    status = mbi_build_group(build);
  }
  if (status == MERBIT_OK) {
    status = mbi_build_sort(build);
  }
  if (status == MERBIT_OK && (flags & MBI_BUILD_KEEP) == 0) {
    status = mbi_build_merge(build);
  }
  if (status == MERBIT_OK) {
    status = mbi_build_narrow(build);
  }
  return status;
}

/* A matrix's record for arrays that become its own. */
static merbit_status mbi_matrix_record(merbit_context *context, const merbit_view *view,
                                       void *memory, merbit_matrix **matrix) {
  merbit_matrix *made = (merbit_matrix *)mbi_allocate(context, sizeof *made);
  *matrix = made;
  if (made == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a matrix's record");
  }
  made->context = context;
  made->references = 1;
  made->view = *view;
  made->view.owner = made;
  made->memory = memory;
  mbi_context_retain(context);
  return MERBIT_OK;
}

static merbit_status mbi_matrix_from_entries(merbit_context *context, const merbit_view *view,
                                             int flags, merbit_matrix **matrix) {
  mbi_build build;
  merbit_status status;
  mbi_build_describe(&build, context, view, flags);
  status = mbi_build_run(&build, flags);
  if (status == MERBIT_OK) {
    merbit_view view_made = build.to;
    view_made.col_ind = build.col_ind;
    view_made.values = build.values;
    status = mbi_matrix_record(context, &view_made, NULL, matrix);
  }
  if (status != MERBIT_OK) {
    mbi_release(context, build.row_ptr);
    mbi_release(context, build.narrow_row_ptr);
    mbi_release(context, build.col_ind);
    mbi_release(context, build.values);
  }
  return status;
}

/* A copy of the host `view`, as merbit_matrix_create promises but for the MBI_BUILD flags. The
 * caller has checked the view, header and arrays. */
static merbit_status mbi_matrix_from_view(merbit_context *context, const merbit_view *view,
                                          int flags, merbit_matrix **matrix) {
  merbit_view entries;
  merbit_status status;
  *matrix = NULL;
  if ((flags & MBI_BUILD_TRANSPOSE) != 0 && view->rows > INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "view.rows is %" PRId64
                    "; a transpose takes at most 2147483647, its columns",
                    view->rows);
  }
  if (view->format != MERBIT_BSR) {
    return mbi_matrix_from_entries(context, view, flags, matrix);
  }
  status = mbi_expand_blocks(context, view, &entries);
  if (status == MERBIT_OK) {
    status = mbi_matrix_from_entries(context, &entries, flags, matrix);
  }
  mbi_host_view_release(context, &entries);
  return status;
}

/* How a matrix is made from a checked host view: `detail` is the maker's own. */
typedef merbit_status (*mbi_matrix_maker)(merbit_context *context, const merbit_view *host,
                                          const void *detail, merbit_matrix **matrix);

static merbit_status mbi_matrix_checked(merbit_context *context, const merbit_view *view,
                                        mbi_matrix_maker maker, const void *detail,
                                        merbit_matrix **matrix) {
  merbit_view host;
  merbit_status status;
  if (matrix != NULL) {
    *matrix = NULL;
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (matrix == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the out pointer `matrix` is NULL");
  }
  status = mbi_view_to_full(context, view, &host);
  if (status == MERBIT_OK) {
    status = maker(context, &host, detail, matrix);
    mbi_view_from_full(context, view, &host);
  }
  return status;
}

static merbit_status mbi_matrix_make_csr(merbit_context *context, const merbit_view *host,
                                         const void *flags, merbit_matrix **matrix) {
  return mbi_matrix_from_view(context, host, *(const int *)flags, matrix);
}

static merbit_status mbi_matrix_make_bsr(merbit_context *context, const merbit_view *host,
                                         const void *desc, merbit_matrix **matrix) {
  mbi_bsr bsr;
  merbit_status status =
      mbi_bsr_from_view(context, host, (const merbit_bsr_desc *)desc, MBI_MASKS_NONE, &bsr);
  if (status == MERBIT_OK) {
    status = mbi_matrix_record(context, &bsr.view, bsr.memory, matrix);
    if (status != MERBIT_OK) {
      mbi_bsr_release(context, &bsr);
    }
  }
  return status;
}

MERBIT_API merbit_status merbit_matrix_create(merbit_context *context, const merbit_view *view,
                                              merbit_matrix **matrix) {
  const int flags = 0;
  return mbi_matrix_checked(context, view, mbi_matrix_make_csr, &flags, matrix);
}

MERBIT_API merbit_status merbit_matrix_transpose(merbit_context *context,
                                                 const merbit_view *view,
                                                 merbit_matrix **matrix) {
  const int flags = MBI_BUILD_TRANSPOSE;
  return mbi_matrix_checked(context, view, mbi_matrix_make_csr, &flags, matrix);
}

MERBIT_API merbit_status merbit_matrix_create_bsr(merbit_context *context,
                                                  const merbit_view *view,
                                                  const merbit_bsr_desc *desc,
                                                  merbit_matrix **matrix) {
  merbit_bsr_desc defaults;
  memset(&defaults, 0, sizeof defaults);
  return mbi_matrix_checked(context, view, mbi_matrix_make_bsr, desc != NULL ? desc : &defaults,
                            matrix);
}

MERBIT_API merbit_view merbit_matrix_view(const merbit_matrix *matrix) {
  merbit_view none;
  if (matrix != NULL) {
    return matrix->view;
  }
  memset(&none, 0, sizeof none);
  return none;
}

/* Keeps the owner of a view alive for an object made from it; NULL is accepted. */
static void mbi_matrix_retain(merbit_matrix *matrix) {
  if (matrix != NULL) {
    mbi_mutex_lock(&matrix->context->lock);
    matrix->references++;
    mbi_mutex_unlock(&matrix->context->lock);
  }
}

/* Drops one reference; the last one frees the matrix. */
MERBIT_API void merbit_matrix_destroy(merbit_matrix *matrix) {
  merbit_context *context;
  int64_t left;
  if (matrix == NULL) {
    return;
  }
  context = matrix->context;
  mbi_mutex_lock(&context->lock);
  left = --matrix->references;
  mbi_mutex_unlock(&context->lock);
  if (left > 0) {
    return;
  }
  if (matrix->memory == NULL) {
    mbi_host_view_release(context, &matrix->view);
  }
  mbi_release(context, matrix->memory);
  mbi_release(context, matrix);
  mbi_context_unref(context);
}
