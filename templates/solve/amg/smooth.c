#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* Multigrid: the prolongation, which is T after one step of a damped
 * Jacobi iteration with the filtered matrix A_F (Vanek, Mandel, Brezina 1996, section 4). */

typedef struct mbi_smooth {
  mbi_amg_build build;
  mbi_amg_level *level;
  double factor;
} mbi_smooth;

/* Sets values[c], c < count, to the row of P for A's row, where marks[g] is the place of
 * aggregate g. */
static void mbi_smooth_row(const mbi_smooth *s, int64_t row, const int32_t *marks,
                           int32_t start, double *values, int64_t count) {
  const mbi_amg_level *level = s->level;
  const mbi_amg_csr *a = &level->a, *kept = &level->kept;
  const int block = level->block, vectors = level->vectors;
  const int64_t node = row / block, first = node * block;
  const double *t = level->t;
  int64_t next = kept->row_ptr[node], end = kept->row_ptr[node + 1], k, c;
  double diagonal = 0;
  for (c = 0; c < count; c++) {
    values[c] = 0;
  }
  for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
    int64_t column = a->col_ind[k], other = block == 1 ? column : column / block;
    double *to;
    while (next < end && kept->col_ind[next] < other) {
      next++;
    }
    if (other != node && (next == end || kept->col_ind[next] != other)) {
      column = first + (column - other * block); /* weak: it counts as one of the own block */
      other = node;
    }
    diagonal += column == row ? a->values[k] : 0;
    if (level->aggregate[other] >= 0) {
      to = values + (int64_t)(marks[level->aggregate[other]] - start) * vectors;
      for (c = 0; c < vectors; c++) {
        to[c] += a->values[k] * t[column * vectors + c];
      }
    }
  }
  if (diagonal * level->inverse[row] < MBI_AMG_LEAST_DIAGONAL) {
    diagonal =
        MBI_AMG_LEAST_DIAGONAL * (level->inverse[row] != 0 ? 1 / level->inverse[row] : 0);
  }
  diagonal = diagonal != 0 ? -s->factor / diagonal : 0;
  for (c = 0; c < count; c++) {
    values[c] *= diagonal;
  }
  for (c = 0; c < vectors; c++) {
    values[(int64_t)(marks[level->aggregate[node]] - start) * vectors + c] +=
        t[row * vectors + c];
  }
}

/* Writes the columns of a node's rows of P from the end of a part on, and marks the place of
 * each aggregate. Returns how many there are, or -1 if there is no memory. */
static int32_t mbi_smooth_columns(mbi_amg_build *build, int task, int64_t node,
                                  int32_t *marks) {
  const mbi_amg_level *level = ((const mbi_smooth *)build->self)->level;
  const mbi_amg_csr *kept = &level->kept;
  const int vectors = level->vectors;
  const int64_t room = (kept->row_ptr[node + 1] - kept->row_ptr[node] + 1) * vectors;
  mbi_amg_part *part = &build->parts[task];
  const int32_t start = (int32_t)part->used;
  int32_t *col_ind, found = 0;
  int64_t k;
  int c;
  if (!mbi_amg_reserve(build, task, room * level->block)) {
    return -1;
  }
  col_ind = part->col_ind + start;
  marks[level->aggregate[node]] = start;
  col_ind[found++] = level->aggregate[node];
  for (k = kept->row_ptr[node]; !level->plain && k < kept->row_ptr[node + 1]; k++) {
    const int32_t aggregate = level->aggregate[kept->col_ind[k]];
    if (aggregate >= 0 && marks[aggregate] < start) {
      marks[aggregate] = start;
      col_ind[found++] = aggregate;
    }
  }
  mbi_amg_sort(col_ind, found);
  for (k = found - 1; k >= 0; k--) {
    const int32_t aggregate = col_ind[k];
    marks[aggregate] = start + (int32_t)k;
    for (c = vectors - 1; c >= 0; c--) {
      col_ind[k * vectors + c] = aggregate * vectors + c;
    }
  }
  return found * vectors;
}

/* Appends a task's rows of P, or sets their values if the columns are known. All rows of a node
 * have the same columns: those of the aggregates of the node and of the neighbours that A_F
 * keeps. */
static void mbi_smooth_rows(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_smooth *s = (const mbi_smooth *)build->self;
  const mbi_amg_level *level = s->level;
  const mbi_amg_csr *to = build->to;
  const int block = level->block, vectors = level->vectors;
  const int64_t last = mbi_amg_share(&level->kept, build->tasks, task + 1);
  mbi_amg_part *part = &build->parts[task];
  int64_t node = mbi_amg_share(&level->kept, build->tasks, task), row;
  for (; node < last; node++) {
    const int isolated = level->aggregate[node] < 0;
    const int64_t begin = node * block;
    const int32_t start = build->known ? 0 : (int32_t)part->used;
    int32_t found = 0, k;
    if (build->known) {
      found = to->row_ptr[begin + 1] - to->row_ptr[begin];
      for (k = 0; k < found; k += vectors) {
        marks[to->col_ind[to->row_ptr[begin] + k] / vectors] = k / vectors;
      }
    } else if (!isolated && (found = mbi_smooth_columns(build, task, node, marks)) < 0) {
      return;
    }
    for (row = begin; row < begin + block; row++) {
      double *const values =
          build->known ? to->values + to->row_ptr[row] : part->values + part->used;
      if (level->plain) {
        memcpy(values, level->t + row * vectors, (size_t)found * sizeof *values);
      } else if (!isolated) {
        mbi_smooth_row(s, row, marks, start, values, found);
      }
      if (!build->known) {
        memcpy(part->col_ind + part->used, part->col_ind + start,
               (size_t)found * sizeof *marks);
        part->used += found;
        to->row_ptr[row + 1] = found;
      }
    }
  }
}

/* Returns whether A P would have more than MBI_AMG_DENSE entries for each of A and vector:
 * those of graphs with hubs, whose neighbours all become neighbours of each other. */
static int mbi_smooth_dense(const mbi_amg_level *level) {
  const mbi_amg_csr *a = &level->a;
  const int32_t *row_ptr = level->p.row_ptr;
  double products = 0;
  int64_t k;
  for (k = 0; k < a->nnz; k++) {
    products += row_ptr[a->col_ind[k] + 1] - row_ptr[a->col_ind[k]];
  }
  return products > (double)MBI_AMG_DENSE * (double)a->nnz * level->vectors;
}

MBI_INTERNAL merbit_status mbi_amg_smooth(merbit_context *context, mbi_amg_level *level) {
  mbi_smooth s;
  memset(&s, 0, sizeof s);
  s.level = level;
  s.factor = level->lambda > 0 ? MBI_AMG_OMEGA / level->lambda : 0;
  s.build.to = &level->p;
  s.build.what = "the prolongation";
  s.build.rows = mbi_smooth_rows;
  s.build.self = &s;
  s.build.tasks = mbi_share_tasks(context, level->a.rows + level->a.nnz);
  s.build.valued = 1;
  s.build.columns = level->aggregates;
  s.build.hint = 3 * level->a.rows * level->vectors;
  MBI_TRY(mbi_amg_build_run(context, &s.build, level->a.rows,
                            (int64_t)level->aggregates * level->vectors));
  if (level->plain || s.build.known || !mbi_smooth_dense(level)) {
    return MERBIT_OK;
  }
  level->plain = 1;
  mbi_amg_csr_release(context, &level->p);
  return mbi_amg_build_run(context, &s.build, level->a.rows,
                           (int64_t)level->aggregates * level->vectors);
}

/* Sets the values of a task's rows of R, each of which it finds in a row of P. */
static void mbi_smooth_transpose_rows(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_amg_csr *p = (const mbi_amg_csr *)build->self, *r = build->to;
  const int64_t last = mbi_amg_share(r, build->tasks, task + 1);
  int64_t row = mbi_amg_share(r, build->tasks, task), k, j;
  (void)marks;
  for (; row < last; row++) {
    for (k = r->row_ptr[row]; k < r->row_ptr[row + 1]; k++) {
      for (j = p->row_ptr[r->col_ind[k]]; p->col_ind[j] != row; j++) {
      }
      r->values[k] = p->values[j];
    }
  }
}

MBI_INTERNAL merbit_status mbi_amg_transpose(merbit_context *context, mbi_amg_level *level) {
  const merbit_view view = mbi_amg_view(&level->p);
  mbi_amg_build build;
  if (level->r.row_ptr == NULL) {
    return mbi_amg_take(context, &view, MBI_BUILD_TRANSPOSE, &level->r);
  }
  memset(&build, 0, sizeof build);
  build.to = &level->r;
  build.what = "the restriction";
  build.rows = mbi_smooth_transpose_rows;
  build.self = &level->p;
  build.tasks = mbi_share_tasks(context, level->p.nnz);
  build.valued = 1;
  return mbi_amg_build_run(context, &build, level->r.rows, level->r.cols);
}
