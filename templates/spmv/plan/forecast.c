#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/gpu/many/many.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* merbit_plan_forecast. It fills in a plan's record without arrays, from which the `bound`
 * functions of the methods and the functions below compute upper bounds of memory. */

#define MBI_FORECAST_ROUNDING 16384 /* bytes of minor arrays and of gaps between arrays */

typedef struct mbi_forecast {
  merbit_plan plan; /* csr: the sizes of op(A), with both triangles */
  /* plan.state for a method that has a bound */
  double state[MBI_STATE_MOST / sizeof(double)];
  uint64_t value;           /* bytes of a stored value */
  uint64_t matrix, places;  /* bytes of op(A) as a CSR, and of the map of its values */
  int turned, turns_on_gpu; /* op(A) is transposed, unless the view is a COO */
  int blocks;               /* the plan multiplies the view's blocks */
  int borrows;              /* the matrix is used where it lies in GPU memory */
} mbi_forecast;

static merbit_status mbi_forecast_size(mbi_forecast *f) {
  merbit_plan *plan = &f->plan;
  const merbit_view *view = &plan->view;
  const merbit_plan_desc *desc = &plan->desc;
  const int triangle = mbi_view_is_triangle(view), csr = view->format == MERBIT_CSR;
  const int turns = desc->operation != MERBIT_OPERATION_N && !triangle;
  const int device = view->memory == MERBIT_MEMORY_DEVICE;
  const int stays = device && csr && !mbi_plan_reorders(plan); /* in GPU memory */
  merbit_view *to = &plan->csr;
  int adds_up;
  *to = *view;
  if (turns) { /* blocks stay blocks */
    to->rows = view->cols;
    to->cols = view->rows;
    to->block_rows = view->block_cols;
    to->block_cols = view->block_rows;
  }
  f->blocks = mbi_plan_takes_blocks(plan);
  if (f->blocks && (view->format != MERBIT_BSR ||
                    (desc->block_rows != 0 && (desc->block_rows != to->block_rows ||
                                               desc->block_cols != to->block_cols)))) {
    return mbi_fail(plan->context, MERBIT_NOT_SUPPORTED,
                    "merbit_plan_forecast: the number of blocks depends on the arrays; give a "
                    "BSR view of the same blocks, or create the plan");
  }
  to->nnz = (f->blocks ? view->nnz : mbi_view_values(view)) * (triangle ? 2 : 1);
  to->offset_type = to->nnz > INT32_MAX ? MERBIT_INDEX_64 : view->offset_type;
  /* A pattern gets values if a conversion adds up its duplicates. */
  adds_up = view->format == MERBIT_COO ||
            (!f->blocks && !triangle && (!turns || !csr) && !mbi_view_is_plain(view) &&
             !stays && (mbi_plan_build_flags(plan) & MBI_BUILD_KEEP) == 0);
  f->value = view->values != NULL || adds_up ? mbi_type_size(plan->type) : 0;
  f->value *= f->blocks ? (uint64_t)(view->block_rows * view->block_cols) : 1;
  f->matrix = ((uint64_t)to->rows + 1) * (uint64_t)mbi_index_bytes(to->offset_type) +
              (uint64_t)to->nnz * (sizeof(int32_t) + f->value);
  f->places = (uint64_t)to->nnz * (to->nnz > INT32_MAX ? 8 : 4);
  f->turned = turns && view->format != MERBIT_COO;
  f->turns_on_gpu = f->turned && plan->side == MERBIT_SIDE_CUDA && csr &&
                    !mbi_plan_reorders(plan) && (device || view->index_type == MERBIT_INDEX_32);
  f->borrows = stays && !triangle && !f->turned;
  return MERBIT_OK;
}

/* Returns the bytes of host memory that the stages keep. */
static uint64_t mbi_forecast_host(const mbi_forecast *f) {
  const merbit_plan *plan = &f->plan;
  const merbit_view *view = &plan->view;
  const uint64_t made = f->matrix + f->places + sizeof(merbit_matrix);
  uint64_t sum = mbi_view_is_triangle(view) ? made : 0;
  sum += f->turned && !f->turns_on_gpu ? made : 0;
  if (f->blocks) { /* 32-bit columns */
    sum += view->index_type == MERBIT_INDEX_64 ? (uint64_t)view->nnz * sizeof(int32_t) : 0;
  } else if (mbi_plan_reorders(plan)) {
    sum += made + (uint64_t)plan->csr.rows * sizeof(int32_t);
  } else if (!mbi_view_is_plain(view) && !f->borrows) {
    sum += made;
  }
  return sum + (plan->desc.numa && plan->side == MERBIT_SIDE_CPU ? f->matrix : 0);
}

/* Adds the GPU memory that the stages need to *bound. Returns the bytes that a transpose needs
 * only while it is being made. */
static uint64_t mbi_forecast_device(const mbi_forecast *f, mbi_bound *bound) {
  const merbit_plan *plan = &f->plan;
  const merbit_view *view = &plan->view;
  const uint64_t nnz = (uint64_t)plan->csr.nnz, cols = (uint64_t)plan->csr.cols;
  const int64_t most = plan->csr.rows > plan->csr.cols ? plan->csr.rows : plan->csr.cols;
  bound->kept += mbi_nonempty_bytes(most) + (f->turned ? f->places : 0);
  bound->kept += !f->borrows ? f->matrix : view->index_type == MERBIT_INDEX_64 ? 4 * nnz : 0;
  if (mbi_plan_reorders(plan)) {
    bound->kept += f->places + (uint64_t)plan->csr.rows * sizeof(int32_t);
  }
  if (mbi_plan_plain(plan) && !plan->desc.changing_values && !f->blocks) { /* shorter values */
    bound->kept += f->borrows ? nnz * f->value : 0;
    bound->making += (nnz + cols) * f->value;
    bound->scratch += cols * f->value + 256; /* x times the values of columns */
  }
  /* The matrix as given, columns twice, rows and the map once, and the digit counts. */
  return f->turns_on_gpu ? f->matrix + 8 * cols + 12 * nnz + 2 * f->places : 0;
}

/* Returns whether AUTO may choose a method on the plan's side. Methods of blocks are left out
 * on CUDA: the blocks that AUTO chooses take less memory than slices, which are counted. */
static int mbi_forecast_may_take(const merbit_plan *plan, const mbi_method *row) {
  const int takes = row->takes, cuda = plan->side == MERBIT_SIDE_CUDA;
  return cuda ? row->cuda != NULL && row->cuda->bound != NULL && (takes & MBI_OF_BLOCKS) == 0 &&
                    (mbi_plan_vectors(plan) > 1) == (row->number == MERBIT_METHOD_MANY) &&
                    (mbi_plan_plain(plan) || (takes & MBI_TAKES_TYPES) != 0) &&
                    (!mbi_plan_has_semiring(plan) || (takes & MBI_TAKES_SEMIRINGS) != 0)
              : row->cpu != NULL && (row->number != MERBIT_METHOD_SYMMETRIC ||
                                     mbi_view_is_triangle(&plan->view));
}

static merbit_status mbi_forecast_row(mbi_forecast *f, const mbi_method *row,
                                      mbi_bound *bound) {
  merbit_plan *plan = &f->plan;
  memset(bound, 0, sizeof *bound);
  if (plan->side == MERBIT_SIDE_CPU) {
    mbi_method_take_cpu(plan, row->number);
    if (plan->cpu->bound != NULL) {
      plan->cpu->bound(plan, bound);
    }
    return MERBIT_OK;
  }
  memset(f->state, 0, sizeof f->state);
  mbi_method_take_cuda(plan, row->number);
  plan->state = f->state;
  return row->cuda->bound != NULL
             ? row->cuda->bound(plan, bound)
             : mbi_fail(plan->context, MERBIT_NOT_SUPPORTED,
                        "merbit_plan_forecast: what %s needs depends on the arrays; create "
                        "the plan, or use another plan_desc.method",
                        row->identifier);
}

/* Sets *bound to the memory that the method needs. For AUTO this is the maximum over the
 * methods that it may choose, and *largest is the method that keeps most. */
static merbit_status mbi_forecast_method(mbi_forecast *f, mbi_bound *bound,
                                         merbit_method *largest) {
  merbit_plan *plan = &f->plan;
  const mbi_method *row;
  mbi_bound one;
  uint64_t most = 0;
  size_t i;
  *largest = plan->desc.method;
  memset(bound, 0, sizeof *bound);
  if (plan->desc.method != MERBIT_METHOD_AUTO) {
    return mbi_forecast_row(f, plan->asked, bound);
  }
  for (i = 1; (row = mbi_method_row(i)) != NULL; i++) {
    char reason[384];
    if (!mbi_forecast_may_take(plan, row)) {
      continue;
    }
    if (mbi_forecast_row(f, row, &one) != MERBIT_OK) { /* AUTO does not choose it either */
      mbi_error_clear(plan->context, reason, sizeof reason);
      continue;
    }
    if (one.kept + one.scratch >= most) {
      most = one.kept + one.scratch;
      *largest = row->number;
    }
    bound->kept = one.kept > bound->kept ? one.kept : bound->kept;
    bound->making = one.making > bound->making ? one.making : bound->making;
    bound->scratch = one.scratch > bound->scratch ? one.scratch : bound->scratch;
  }
  mbi_nonempty_columns_bound(plan, bound);
  bound->making += /* vectors and carries for measuring methods */
      (plan->device.rows + plan->device.cols) * mbi_type_size(plan->type) + bound->scratch;
  if (plan->side == MERBIT_SIDE_CUDA && mbi_plan_vectors(plan) == 1) {
    const uint64_t profile = mbi_choose_profile_bound(plan); /* comes before the methods */
    bound->making = bound->making > profile ? bound->making : profile;
  }
  return MERBIT_OK;
}

static merbit_status mbi_forecast_make(mbi_forecast *f, merbit_plan_memory *memory) {
  merbit_plan *plan = &f->plan;
  mbi_device_csr *csr = &plan->device;
  const uint64_t rows = (uint64_t)plan->csr.rows, cols = (uint64_t)plan->csr.cols;
  const uint64_t vector =
      mbi_type_size(mbi_plan_accumulator(plan)) * (uint64_t)mbi_plan_vectors(plan);
  const int epilogue = plan->desc.epilogue != NULL;
  mbi_bound bound, stages = {0, 0, 0};
  uint64_t host = sizeof f->state + sizeof *plan + sizeof(merbit_workspace) +
                  sizeof(mbi_operators) + sizeof(mbi_epilogue) + mbi_forecast_host(f);
  uint64_t turning, held, peak;
  csr->rows = f->blocks ? (uint64_t)mbi_block_count((int64_t)rows, plan->csr.block_rows) : rows;
  csr->cols = f->blocks ? (uint64_t)mbi_block_count((int64_t)cols, plan->csr.block_cols) : cols;
  csr->nnz = (uint64_t)plan->csr.nnz;
  csr->offset_type = plan->csr.offset_type;
  csr->values = f->value > 0 ? 256 : 0; /* any aligned address */
  plan->streaming = csr->nnz >= 4 * csr->rows;
  plan->bsr.view = plan->csr;
  plan->tasks = f->blocks ? mbi_block_chunks(plan->context, &plan->csr)
                          : mbi_merge_tasks(plan->context, &plan->csr);
  MBI_TRY(mbi_forecast_method(f, &bound, &memory->method));
  if (plan->side == MERBIT_SIDE_CPU) {
    const uint64_t sums = f->blocks ? (uint64_t)plan->csr.block_rows * vector : 16 * vector;
    bound.scratch += (uint64_t)plan->tasks * MBI_CHUNKS_PER_THREAD * (8 + 2 * sums) +
                     (epilogue ? 16 * (rows / MBI_EPILOGUE_CHUNK + 2) : 0);
    memory->workspace_bytes = (int64_t)bound.scratch;
    memory->host_bytes = (int64_t)(host + bound.kept + bound.scratch);
    return MERBIT_OK;
  }
  turning = mbi_forecast_device(f, &stages);
  bound.scratch +=
      stages.scratch +
      (plan->desc.vector_memory == MERBIT_MEMORY_HOST ? (rows + cols) * vector : 0) +
      (epilogue ? MBI_EPILOGUE_PRODUCT + rows * vector : 0);
  held = stages.kept + bound.kept + bound.scratch + MBI_FORECAST_ROUNDING;
  peak = bound.making + stages.making + MBI_FORECAST_ROUNDING;
  memory->workspace_bytes = (int64_t)bound.scratch;
  memory->device_bytes = (int64_t)held;
  memory->device_peak_bytes = (int64_t)(held + (peak > turning ? peak : turning));
  memory->host_bytes = (int64_t)(host + MBI_MANY_BOUNCE);
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_plan_forecast(merbit_context *context, const merbit_view *view,
                                              const merbit_plan_desc *desc,
                                              merbit_plan_memory *memory) {
  merbit_plan_desc defaults;
  mbi_forecast f;
  if (memory != NULL) {
    memset(memory, 0, sizeof *memory);
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (view == NULL || memory == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "merbit_plan_forecast: `%s` is NULL",
                    view == NULL ? "view" : "memory");
  }
  memset(&defaults, 0, sizeof defaults);
  memset(&f, 0, sizeof f);
  desc = desc != NULL ? desc : &defaults;
  MBI_TRY(mbi_plan_check(context, view, desc, &f.plan.desc));
  f.plan.context = context;
  f.plan.given = f.plan.view = *view;
  f.plan.type = mbi_view_type(view);
  f.plan.side = mbi_plan_side(context, desc);
  f.plan.profile = &context->device.estimate;
  f.plan.asked = mbi_method_find(desc->method);
  mbi_method_take(&f.plan, desc->method);
  MBI_TRY(mbi_plan_check_side(&f.plan));
  MBI_TRY(mbi_tuning_take(&f.plan));
  MBI_TRY(mbi_forecast_size(&f));
  return mbi_forecast_make(&f, memory);
}
