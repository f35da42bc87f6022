/* The matrix of the examples, divided among ranks. */
#ifndef POISSON_H
#define POISSON_H
#include "merbit_dist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes rows [first, end) of the 7-point stencil of an n x n x n cube, with global columns. */
static merbit_view poisson_make(int64_t n, int64_t first, int64_t end) {
  const int64_t step[] = {1, n, n * n}, rows = end - first;
  int64_t *row_ptr = (int64_t *)malloc((size_t)(rows + 1) * sizeof *row_ptr);
  int64_t *col_ind = (int64_t *)malloc((size_t)(7 * rows + 1) * sizeof *col_ind);
  double *values = (double *)malloc((size_t)(7 * rows + 1) * sizeof *values);
  merbit_view view;
  int64_t row, at = 0;
  int axis, side;
  if (row_ptr == NULL || col_ind == NULL || values == NULL) {
    (void)fprintf(stderr, "no memory\n");
    exit(1);
  }
  for (row = first; row < end; row++) {
    row_ptr[row - first] = at;
    col_ind[at] = row;
    values[at++] = 6;
    for (axis = 0; axis < 3; axis++) {
      const int64_t place = row / step[axis] % n;
      for (side = -1; side <= 1; side += 2) {
        if (place + side >= 0 && place + side < n) {
          col_ind[at] = row + side * step[axis];
          values[at++] = -1;
        }
      }
    }
  }
  row_ptr[rows] = at;
  memset(&view, 0, sizeof view);
  view.offset_type = view.index_type = MERBIT_INDEX_64;
  view.rows = rows;
  view.cols = n * n * n;
  view.nnz = at;
  view.row_ptr = row_ptr;
  view.col_ind = col_ind;
  view.values = values;
  return view;
}

static void poisson_free(const merbit_view *view) {
  free((void *)(uintptr_t)view->row_ptr);
  free((void *)(uintptr_t)view->col_ind);
  free((void *)(uintptr_t)view->values);
}

#endif /* POISSON_H */
