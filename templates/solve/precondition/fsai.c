#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/plan/plan.h"
#include "solve/precondition/precondition.h"

/* FSAI: M^-1 = G'G with a sparse lower triangle G that approximates the inverse of the Cholesky
 * factor of A: Kolotilina, Yeremin, "Factorized Sparse Approximate Inverse Preconditionings I",
 * SIAM Journal on Matrix Analysis 14 (1993), section 2. Row i of G has the pattern J of row i
 * of the lower triangle of A. Its values are y / sqrt(y_i), where A(J, J) y = e_i; CPU threads
 * solve these systems. The products with G and G' run on either side. */
#define MBI_FSAI_MOST 64 /* entries of a row of G; of longer rows of A the largest are kept */

typedef struct mbi_fsai {
  void *row_ptr, *columns, *values; /* of G, in host memory */
  merbit_view g;
  merbit_plan *plans[2]; /* of G and of its transpose */
} mbi_fsai;

typedef struct mbi_fsai_rows {
  merbit_context *context;
  const merbit_view *a; /* CSR in host memory with sorted rows */
  mbi_fsai *own;
  int64_t bad; /* the first row without a solution, or -1 */
  double pivot;
  int tasks;
} mbi_fsai_rows;

/* Writes the columns of row `row` of G to `columns` and returns their number: those of A's
 * lower triangle or, if there are too many, the diagonal and those of the largest |a_ij| /
 * sqrt(a_jj). */
static int mbi_fsai_places(const merbit_view *a, int64_t row, int32_t *columns) {
  double sizes[MBI_FSAI_MOST];
  const int64_t end = mbi_csr_find(a, row, row);
  int count = 0, i;
  int64_t k;
  for (k = mbi_row_start(a, row); k < end; k++) {
    const int32_t column = (int32_t)mbi_index_at(a->col_ind, a->index_type, k);
    const int64_t diagonal =
        end - mbi_row_start(a, row) < MBI_FSAI_MOST ? -1 : mbi_csr_find(a, column, column);
    const double size =
        diagonal < 0 ? 0 : fabs(mbi_csr_value(a, k)) / sqrt(mbi_csr_value(a, diagonal));
    int place = count;
    if (count == MBI_FSAI_MOST - 1) { /* replaces the smallest */
      place = 0;
      for (i = 1; i < count; i++) {
        place = sizes[i] < sizes[place] ? i : place;
      }
      if (size <= sizes[place]) {
        continue;
      }
      for (i = place; i + 1 < count; i++) { /* columns stay sorted */
        columns[i] = columns[i + 1];
        sizes[i] = sizes[i + 1];
      }
      place = count - 1;
    } else {
      count++;
    }
    columns[place] = column;
    sizes[place] = size;
  }
  columns[count] = (int32_t)row;
  return count + 1;
}

/* Factors A(J, J) = L L' and solves L' y = e_last: y is the last column of the inverse of
 * A(J, J), divided by the square root of its last entry. On entry l holds the lower triangle of
 * A(J, J), row by row. A pivot that is 0 up to rounding, as in a Laplacian, is replaced by the
 * diagonal entry. Returns `count`, or the index of the first negative pivot and that pivot in
 * *pivot. */
static int mbi_fsai_solve(double *l, int count, double epsilon, double *y, double *pivot) {
  int i, j, k;
  for (i = 0; i < count; i++) {
    double *row = l + i * (i + 1) / 2;
    const double diagonal = row[i], least = 8 * count * epsilon * diagonal;
    for (j = 0; j <= i; j++) {
      const double *other = l + j * (j + 1) / 2;
      double sum = row[j];
      for (k = 0; k < j; k++) {
        sum -= row[k] * other[k];
      }
      if (j < i) {
        row[j] = sum / other[j];
      } else if (!(sum >= -least)) {
        *pivot = sum;
        return i;
      } else {
        row[i] = sqrt(sum > least ? sum : diagonal);
      }
    }
  }
  for (i = count - 1; i >= 0; i--) {
    double sum = i == count - 1 ? 1 : 0;
    for (k = i + 1; k < count; k++) {
      sum -= l[k * (k + 1) / 2 + i] * y[k];
    }
    y[i] = sum / l[i * (i + 1) / 2 + i];
  }
  return count;
}

/* Computes the values of a task's rows of G. */
static void mbi_fsai_fill(void *argument, int task) {
  mbi_fsai_rows *f = (mbi_fsai_rows *)argument;
  const int64_t last = mbi_share_rows(f->a, f->tasks, task + 1);
  const double epsilon = mbi_view_type(f->a) == MERBIT_F32 ? FLT_EPSILON : DBL_EPSILON;
  double l[MBI_FSAI_MOST * (MBI_FSAI_MOST + 1) / 2], y[MBI_FSAI_MOST], pivot = 0;
  int64_t row;
  for (row = mbi_share_rows(f->a, f->tasks, task); row < last; row++) {
    const int64_t first = mbi_row_start(&f->own->g, row);
    const int count = (int)(mbi_row_start(&f->own->g, row + 1) - first);
    const int32_t *columns = (const int32_t *)f->own->columns + first;
    int i, j;
    for (i = 0; i < count; i++) {
      for (j = 0; j <= i; j++) {
        const int64_t k = mbi_csr_find(f->a, columns[i], columns[j]);
        l[i * (i + 1) / 2 + j] = k < 0 ? 0 : mbi_csr_value(f->a, k);
      }
    }
    if (mbi_fsai_solve(l, count, epsilon, y, &pivot) < count) {
      mbi_mutex_lock(&f->context->lock);
      if (f->bad < 0 || row < f->bad) {
        f->bad = row;
        f->pivot = pivot;
      }
      mbi_mutex_unlock(&f->context->lock);
      return;
    }
    for (i = 0; i < count; i++) {
      if (mbi_view_type(f->a) == MERBIT_F32) {
        ((float *)f->own->values)[first + i] = (float)y[i];
      } else {
        ((double *)f->own->values)[first + i] = y[i];
      }
    }
  }
}

/* Allocates G and sets its structure, which follows from `a`. */
static merbit_status mbi_fsai_shape(merbit_preconditioner *p, mbi_fsai *own,
                                    const merbit_view *a) {
  const size_t offset = a->offset_type == MERBIT_INDEX_64 ? sizeof(int64_t) : sizeof(int32_t);
  int32_t columns[MBI_FSAI_MOST];
  int64_t row, count = 0, lower;
  MBI_TRY(mbi_allocate_array(p->context, p->n + 1, offset, "row offsets of G", &own->row_ptr));
  mbi_index_set(own->row_ptr, a->offset_type, 0, 0);
  for (row = 0; row < p->n; row++) {
    lower = mbi_csr_find(a, row, row) + 1 - mbi_row_start(a, row);
    count += lower < MBI_FSAI_MOST ? lower : MBI_FSAI_MOST;
    mbi_index_set(own->row_ptr, a->offset_type, row + 1, count);
  }
  MBI_TRY(
      mbi_allocate_array(p->context, count, sizeof(int32_t), "columns of G", &own->columns));
  MBI_TRY(mbi_allocate_array(p->context, count, mbi_type_size(p->type), "values of G",
                             &own->values));
  for (row = 0; row < p->n; row++) {
    const int64_t first = mbi_index_at(own->row_ptr, a->offset_type, row);
    const int places = mbi_fsai_places(a, row, columns);
    memcpy((int32_t *)own->columns + first, columns, (size_t)places * sizeof columns[0]);
  }
  own->g = merbit_csr(p->n, p->n, count, own->row_ptr, own->columns, own->values);
  own->g.offset_type = a->offset_type;
  own->g.value_type = p->type;
  return MERBIT_OK;
}

/* Computes the values of G from a CSR in host memory. */
static merbit_status mbi_fsai_values(merbit_preconditioner *p, mbi_fsai *own,
                                     const merbit_view *a) {
  mbi_fsai_rows f;
  f.context = p->context;
  f.a = a;
  f.own = own;
  f.bad = -1;
  f.pivot = 0;
  f.tasks = mbi_share_tasks(p->context, 4 * a->nnz + a->rows);
  mbi_parallel(p->context, f.tasks, mbi_fsai_fill, &f);
  return f.bad < 0 ? MERBIT_OK
                   : mbi_fail(p->context, MERBIT_INVALID_MATRIX,
                              "the part of A that row %" PRId64
                              ", counted from 0, couples is not positive "
                              "definite (a pivot is %g): %s " MBI_PRE_NEEDS_SPD,
                              f.bad, f.pivot, mbi_precondition_name(p->desc.kind));
}

/* Makes the plans of G and G', or gives them new values. */
static merbit_status mbi_fsai_plan(merbit_preconditioner *p, mbi_fsai *own) {
  int k;
  for (k = 0; k < 2; k++) {
    merbit_plan_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.operation = k == 0 ? MERBIT_OPERATION_N : MERBIT_OPERATION_T;
    desc.side = p->side;
    desc.deterministic = p->desc.deterministic;
    desc.expected_calls = MBI_SOLVER_PRODUCTS;
    MBI_TRY(own->plans[k] != NULL
                ? merbit_plan_update_values(own->plans[k], own->values, MERBIT_MEMORY_HOST)
                : merbit_plan_create(p->context, &own->g, &desc, &own->plans[k]));
  }
  return MERBIT_OK;
}

/* Makes G and its plans from `a`, for the first time or with new values. */
static merbit_status mbi_fsai_update(merbit_preconditioner *p, const merbit_view *a) {
  mbi_fsai *own = (mbi_fsai *)p->state;
  merbit_matrix *copy = NULL;
  merbit_status status;
  MBI_TRY(merbit_matrix_create(p->context, a, &copy));
  p->engine->entries = copy->view.nnz;
  status = mbi_precondition_examine_csr(p, &copy->view);
  if (status == MERBIT_OK && own->values == NULL) {
    status = mbi_fsai_shape(p, own, &copy->view);
  }
  if (status == MERBIT_OK) {
    status = mbi_fsai_values(p, own, &copy->view);
  }
  merbit_matrix_destroy(copy);
  return status == MERBIT_OK ? mbi_fsai_plan(p, own) : status;
}

static merbit_status mbi_fsai_create(merbit_preconditioner *p, const merbit_view *a) {
  p->state = mbi_allocate(p->context, sizeof(mbi_fsai));
  if (p->state == NULL) {
    return mbi_fail(p->context, MERBIT_OUT_OF_MEMORY, "no memory for an approximate inverse");
  }
  memset(p->state, 0, sizeof(mbi_fsai));
  return mbi_fsai_update(p, a);
}

static merbit_status mbi_fsai_apply(merbit_preconditioner *p, const void *r, void *z,
                                    void *stream) {
  const mbi_fsai *own = (const mbi_fsai *)p->state;
  void *between = p->engine->v.at[MBI_PRE_OWN];
  MBI_TRY(merbit_spmv(own->plans[0], NULL, NULL, r, NULL, between, stream));
  return merbit_spmv(own->plans[1], NULL, NULL, between, NULL, z, stream);
}

static void mbi_fsai_describe(const merbit_preconditioner *p, char *text, size_t size) {
  (void)snprintf(text, size, " of %" PRId64 " nonzeros%s", ((const mbi_fsai *)p->state)->g.nnz,
                 mbi_precondition_on_gpu(p) ? ", made by CPU threads," : "");
}

static void mbi_fsai_info(const merbit_preconditioner *p, merbit_preconditioner_info *info) {
  const mbi_fsai *own = (const mbi_fsai *)p->state;
  info->host_bytes += own->g.nnz * (int64_t)(sizeof(int32_t) + mbi_type_size(p->type)) +
                      (p->n + 1) * (own->g.offset_type == MERBIT_INDEX_64 ? 8 : 4);
  info->operator_complexity =
      info->nonzeros[0] > 0 ? 2 * (double)own->g.nnz / (double)info->nonzeros[0] : 1;
  mbi_precondition_count(NULL, own->plans[0], info);
  mbi_precondition_count(NULL, own->plans[1], info);
}

static void mbi_fsai_destroy(merbit_preconditioner *p) {
  mbi_fsai *own = (mbi_fsai *)p->state;
  if (own != NULL) {
    merbit_plan_destroy(own->plans[0]);
    merbit_plan_destroy(own->plans[1]);
    mbi_release(p->context, own->row_ptr);
    mbi_release(p->context, own->columns);
    mbi_release(p->context, own->values);
    mbi_release(p->context, own);
  }
}

MBI_INTERNAL const mbi_precondition_method mbi_fsai_method = {
    "FSAI",            /* name */
    0,                 /* block */
    0,                 /* product */
    1,                 /* vectors */
    mbi_fsai_create,   /* create */
    mbi_fsai_apply,    /* apply */
    mbi_fsai_update,   /* update */
    mbi_fsai_describe, /* describe */
    mbi_fsai_info,     /* info */
    mbi_fsai_destroy,  /* destroy */
};
