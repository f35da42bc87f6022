#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* The prolongation P of multigrid: T after one step of damped Jacobi with the filtered matrix
 * A_F (Vanek, Mandel, Brezina 1996, section 4); and its transpose R. */

typedef struct mbi_smooth {
  mbi_amg_build build;
  mbi_amg_level *level;
  double factor;
} mbi_smooth;

/* Adds `value` times `from` to `to`, both of `count` elements. Two are taken at a time, so that
 * compilers vectorise. */
static void mbi_smooth_add(double value, const double *from, int count, double *to) {
  int c = 0;
  for (; c + 1 < count; c += 2) {
    const double s = to[c] + value * from[c], t = to[c + 1] + value * from[c + 1];
    to[c] = s;
    to[c + 1] = t;
  }
  if (c < count) {
    to[c] += value * from[c];
  }
}

/* Returns -omega / lambda / d of a row, where d is the diagonal of A_F or its lower limit.
 * `diagonal` is that of A_F. */
static double mbi_smooth_factor(const mbi_smooth *s, int64_t row, double diagonal) {
  const double inverse = s->level->inverse[row];
  if (diagonal * inverse < MBI_AMG_LEAST_DIAGONAL) {
    diagonal = MBI_AMG_LEAST_DIAGONAL * (inverse != 0 ? 1 / inverse : 0);
  }
  return diagonal != 0 ? -s->factor / diagonal : 0;
}

/* Sets the `count` values of a row of P with the columns `col_ind`. sums[column] is scratch
 * memory: 0 on entry and return. */
static void mbi_smooth_row(const mbi_smooth *s, int64_t row, const int32_t *col_ind,
                           double *values, int64_t count, double *sums) {
  const mbi_amg_level *level = s->level;
  const mbi_amg_csr *a = &level->a;
  const unsigned char *kept = mbi_amg_kept(level, row);
  const int block = level->block, vectors = level->vectors;
  const int64_t begin = a->row_ptr[row];
  const int32_t node = (int32_t)(row / block);
  const double *t = level->t;
  double diagonal = 0, *own = sums + (int64_t)level->aggregate[node] * vectors;
  int32_t other = -1, first = 0; /* the node of a column, and its first row */
  int64_t k, c;
  for (k = begin; k < a->row_ptr[row + 1]; k++) {
    int64_t column = a->col_ind[k];
    int32_t to;
    if (other < 0 || column - first >= block) {
      other = block == 1 ? a->col_ind[k] : a->col_ind[k] / block;
      first = other * block;
    }
    to = other;
    if (!(kept[(k - begin) / 8] >> (k - begin) % 8 & 1)) {
      column += (int64_t)node * block - first; /* dropped: lumped into the node's own block */
      to = node;
    }
    diagonal += column == row ? a->values[k] : 0;
    if (vectors == 1 && level->aggregate[to] >= 0) {
      sums[level->aggregate[to]] += a->values[k] * t[column];
    } else if (level->aggregate[to] >= 0) {
      mbi_smooth_add(a->values[k], t + column * vectors, vectors,
                     sums + (int64_t)level->aggregate[to] * vectors);
    }
  }
  diagonal = mbi_smooth_factor(s, row, diagonal);
  for (c = 0; c < count; c++) {
    sums[col_ind[c]] *= diagonal;
  }
  for (c = 0; c < vectors; c++) {
    own[c] += t[row * vectors + c];
  }
  for (c = 0; c < count; c++) {
    values[c] = sums[col_ind[c]];
    sums[col_ind[c]] = 0;
  }
}

/* Writes the columns of a node's rows of P at the end of a part. marks[aggregate] is at least
 * that position if the aggregate is there. Returns their number, or -1 if there is no
 * memory. */
static int32_t mbi_smooth_columns(mbi_amg_build *build, int task, int64_t node,
                                  int32_t *marks) {
  const mbi_amg_level *level = ((const mbi_smooth *)build->self)->level;
  const mbi_amg_csr *a = &level->a;
  const int vectors = level->vectors, block = level->block;
  const int64_t end = (node + 1) * block;
  int64_t room = (a->row_ptr[end] - a->row_ptr[node * block] + 1) * vectors, row, k;
  mbi_amg_part *part = &build->parts[task];
  const int32_t start = (int32_t)part->used;
  int32_t *col_ind, found = 0;
  int c;
  if (!mbi_amg_reserve(build, task, room * block)) {
    return -1;
  }
  col_ind = part->col_ind + start;
  marks[level->aggregate[node]] = start;
  col_ind[found++] = level->aggregate[node];
  for (row = node * block; !level->plain && row < end; row++) {
    const unsigned char *kept = mbi_amg_kept(level, row);
    const int64_t begin = a->row_ptr[row];
    for (k = begin; k < a->row_ptr[row + 1]; k++) {
      const int32_t aggregate = level->aggregate[a->col_ind[k] / block];
      if (aggregate >= 0 && marks[aggregate] < start &&
          (kept[(k - begin) / 8] >> (k - begin) % 8 & 1)) {
        marks[aggregate] = start;
        col_ind[found++] = aggregate;
      }
    }
  }
  mbi_amg_sort(col_ind, found);
  for (k = found - 1; k >= 0; k--) {
    const int32_t aggregate = col_ind[k];
    for (c = vectors - 1; c >= 0; c--) {
      col_ind[k * vectors + c] = aggregate * vectors + c;
    }
  }
  return found * vectors;
}

/* Appends a row of P, columns and values, if nodes have one row and there is one vector.
 * Returns 0 if there is no memory. */
static int mbi_smooth_append(mbi_amg_build *build, int task, int64_t row, int32_t *marks) {
  const mbi_smooth *s = (const mbi_smooth *)build->self;
  const mbi_amg_level *level = s->level;
  const mbi_amg_csr *a = &level->a;
  const unsigned char *kept = mbi_amg_kept(level, row);
  const int64_t begin = a->row_ptr[row], length = a->row_ptr[row + 1] - begin;
  const int32_t *aggregate = level->aggregate, *columns = a->col_ind + begin;
  const double *t = level->t, *values = a->values + begin;
  mbi_amg_part *part = &build->parts[task];
  double diagonal = 0, *sums;
  int32_t *col_ind, found = 1, start;
  int64_t k;
  if (!mbi_amg_reserve(build, task, (length + 1) * (1 + (length >= MBI_AMG_SHORT)))) {
    return 0;
  }
  start = (int32_t)part->used;
  col_ind = part->col_ind + start;
  sums = part->values + start;
  col_ind[0] = aggregate[row];
  sums[0] = 0;
  marks[aggregate[row]] = start;
  for (k = 0; k < length; k++) {
    const int32_t column = kept[k / 8] >> k % 8 & 1 ? columns[k] : (int32_t)row;
    const int32_t to = aggregate[column];
    int32_t at;
    diagonal += column == row ? values[k] : 0;
    if (to < 0) {
      continue;
    }
    at = marks[to] - start;
    if (at < 0) {
      at = found++;
      marks[to] = start + at;
      col_ind[at] = to;
      sums[at] = 0;
    }
    sums[at] += values[k] * t[column];
  }
  diagonal = mbi_smooth_factor(s, row, diagonal);
  for (k = 0; k < found; k++) {
    sums[k] *= diagonal;
  }
  sums[0] += t[row];
  part->used += found;
  mbi_amg_sort_row(col_ind, sums, found, marks, start);
  build->to->row_ptr[row + 1] = found;
  return 1;
}

/* Appends a task's rows of P, or sets their values if the columns are known. All rows of a node
 * have the same columns: those of the aggregates of the node and of the neighbours that A_F
 * keeps. */
static void mbi_smooth_rows(mbi_amg_build *build, int task, int32_t *marks) {
  const mbi_smooth *s = (const mbi_smooth *)build->self;
  const mbi_amg_level *level = s->level;
  const mbi_amg_csr *to = build->to;
  const int block = level->block, vectors = level->vectors;
  const int64_t last = mbi_amg_share(&level->a, build->tasks, task + 1) / block;
  const int single = block == 1 && vectors == 1 && !build->known && !level->plain;
  mbi_amg_part *part = &build->parts[task];
  double *sums = (double *)(void *)marks; /* one per column of P; the marks follow them */
  int64_t node = mbi_amg_share(&level->a, build->tasks, task) / block, row;
  memset(sums, 0, (size_t)to->cols * sizeof *sums);
  for (; node < last; node++) {
    const int isolated = level->aggregate[node] < 0;
    const int64_t begin = node * block;
    const int64_t start = part->used;
    int32_t found = 0;
    if (single && !isolated) {
      if (!mbi_smooth_append(build, task, node, marks + 2 * to->cols)) {
        return;
      }
      continue;
    }
    if (build->known) {
      found = to->row_ptr[begin + 1] - to->row_ptr[begin];
    } else if (!isolated &&
               (found = mbi_smooth_columns(build, task, node, marks + 2 * to->cols)) < 0) {
      return;
    }
    for (row = begin; row < begin + block; row++) {
      double *const values =
          build->known ? to->values + to->row_ptr[row] : part->values + part->used;
      if (level->plain) {
        memcpy(values, level->t + row * vectors, (size_t)found * sizeof *values);
      } else if (!isolated) {
        mbi_smooth_row(s, row,
                       build->known ? to->col_ind + to->row_ptr[row] : part->col_ind + start,
                       values, found, sums);
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

/* Counts the products a_ij p_jk of a task's entries of A. */
static void mbi_smooth_count(void *argument, int task) {
  mbi_smooth *s = (mbi_smooth *)argument;
  const mbi_amg_csr *a = &s->level->a;
  const int32_t *row_ptr = s->level->p.row_ptr;
  const int64_t last = mbi_share(a->nnz, s->build.tasks, task + 1);
  int64_t k = mbi_share(a->nnz, s->build.tasks, task), products = 0;
  for (; k < last; k++) {
    products += row_ptr[a->col_ind[k] + 1] - row_ptr[a->col_ind[k]];
  }
  s->build.parts[task].used = products;
}

/* Returns whether A P takes more than MBI_AMG_DENSE products per entry of A and vector, as in
 * graphs with hubs, whose neighbours all become neighbours of each other. */
static int mbi_smooth_dense(merbit_context *context, mbi_smooth *s) {
  double products = 0;
  int task;
  mbi_parallel(context, s->build.tasks, mbi_smooth_count, s);
  for (task = 0; task < s->build.tasks; task++) {
    products += (double)s->build.parts[task].used;
  }
  return products > (double)MBI_AMG_DENSE * (double)s->level->a.nnz * s->level->vectors;
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
  s.build.columns = 2 * (int64_t)level->aggregates * level->vectors + level->aggregates;
  s.build.columns += s.build.columns % 2; /* aligns each task's sums */
  s.build.hint = 3 * level->a.rows * level->vectors;
  MBI_TRY(mbi_amg_build_run(context, &s.build, level->a.rows,
                            (int64_t)level->aggregates * level->vectors));
  if (level->plain || s.build.known || !mbi_smooth_dense(context, &s)) {
    return MERBIT_OK;
  }
  level->plain = 1;
  mbi_amg_csr_release(context, &level->p);
  return mbi_amg_build_run(context, &s.build, level->a.rows,
                           (int64_t)level->aggregates * level->vectors);
}

/* Copies the values of a task's rows of P to R. next[row] is the next index to fill in a row of
 * R, which has P's rows in order. */
static void mbi_smooth_turn(mbi_amg_build *build, int task, int32_t *next) {
  const mbi_amg_csr *p = (const mbi_amg_csr *)build->self, *r = build->to;
  const int64_t first = mbi_amg_share(p, build->tasks, task);
  const int64_t last = p->row_ptr[mbi_amg_share(p, build->tasks, task + 1)];
  int64_t row, k;
  for (row = 0; row < r->rows; row++) {
    int32_t low = r->row_ptr[row], high = first > 0 ? r->row_ptr[row + 1] : low;
    while (low < high) {
      const int32_t middle = low + (high - low) / 2;
      if (r->col_ind[middle] < first) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    next[row] = low;
  }
  for (k = p->row_ptr[first]; k < last; k++) {
    r->values[next[p->col_ind[k]]++] = p->values[k];
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
  build.rows = mbi_smooth_turn;
  build.self = &level->p;
  build.tasks = mbi_share_tasks(context, level->p.nnz);
  build.valued = 1;
  build.columns = level->r.rows;
  return mbi_amg_build_run(context, &build, level->r.rows, level->r.cols);
}
