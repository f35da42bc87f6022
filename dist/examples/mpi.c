/* Solves a 3D Poisson problem on all ranks of MPI: mpirun -n 4 mpi [side of the cube]
 * The exchange is the 12 lines between the two banners. */
#define MERBIT_DIST_IMPLEMENTATION
#include "merbit_dist.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The exchange ------------------------------------------------------------------------ */

typedef struct over_mpi {
  MPI_Request *requests; /* two for each rank */
  int count;
} over_mpi;

static int mpi_counts(void *user, const int64_t *to, int64_t *from) {
  return (void)user, MPI_Alltoall(to, 1, MPI_INT64_T, from, 1, MPI_INT64_T, MPI_COMM_WORLD);
}

static int mpi_start(void *user, const merbit_message *sends, int send_count,
                     const merbit_message *receives, int receive_count, void *stream) {
  over_mpi *u = (over_mpi *)user;
  int i, failed = 0;
  (void)stream;
  u->count = 0;
  for (i = 0; i < receive_count; i++) {
    failed |= MPI_Irecv(receives[i].data, (int)receives[i].bytes, MPI_BYTE, receives[i].rank, 0,
                        MPI_COMM_WORLD, &u->requests[u->count++]);
  }
  for (i = 0; i < send_count; i++) {
    failed |= MPI_Isend(sends[i].data, (int)sends[i].bytes, MPI_BYTE, sends[i].rank, 0,
                        MPI_COMM_WORLD, &u->requests[u->count++]);
  }
  return failed;
}

static int mpi_finish(void *user, void *stream) {
  over_mpi *u = (over_mpi *)user;
  return (void)stream, MPI_Waitall(u->count, u->requests, MPI_STATUSES_IGNORE);
}

/* ---- The problem ------------------------------------------------------------------------- */

/* Makes rows [first, end) of the 7-point stencil of an n x n x n cube, with global columns. */
static merbit_view poisson(int64_t n, int64_t first, int64_t end) {
  const int64_t step[] = {1, n, n * n}, rows = end - first;
  int64_t *row_ptr = (int64_t *)malloc((size_t)(rows + 1) * sizeof *row_ptr);
  int64_t *col_ind = (int64_t *)malloc((size_t)(7 * rows + 1) * sizeof *col_ind);
  double *values = (double *)malloc((size_t)(7 * rows + 1) * sizeof *values);
  merbit_view view;
  int64_t row, at = 0;
  int axis, side;
  if (row_ptr == NULL || col_ind == NULL || values == NULL) {
    (void)fprintf(stderr, "no memory\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
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

int main(int argc, char **argv) {
  const int64_t n = argc > 1 ? atoi(argv[1]) : 40;
  merbit_context_desc cpu = merbit_context_defaults();
  merbit_dist_solver_desc desc;
  merbit_dist_result result;
  merbit_dist_info info;
  merbit_exchange exchange;
  merbit_context *context = NULL;
  merbit_dist *dist = NULL;
  merbit_view view;
  over_mpi user;
  char sentence[MERBIT_MESSAGE_SIZE];
  double *b, *x;
  int64_t i, first;
  MPI_Init(&argc, &argv);
  memset(&exchange, 0, sizeof exchange);
  memset(&desc, 0, sizeof desc);
  MPI_Comm_rank(MPI_COMM_WORLD, &exchange.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &exchange.ranks);
  user.requests = (MPI_Request *)malloc((size_t)exchange.ranks * 2 * sizeof *user.requests);
  exchange.counts = mpi_counts;
  exchange.start = mpi_start;
  exchange.finish = mpi_finish;
  exchange.user = &user;

  first = n * n * n * exchange.rank / exchange.ranks;
  view = poisson(n, first, n * n * n * (exchange.rank + 1) / exchange.ranks);
  b = (double *)malloc((size_t)(view.rows + 1) * sizeof *b);
  x = (double *)malloc((size_t)(view.rows + 1) * sizeof *x);
  for (i = 0; i < view.rows; i++) {
    b[i] = 1;
  }
  cpu.side = MERBIT_SIDE_CPU;
  cpu.threads = 1; /* for each rank */
  desc.method = MERBIT_SOLVER_CG;
  desc.tolerance = 1e-9;
  if (merbit_context_create(&cpu, &context, NULL) != MERBIT_OK ||
      merbit_dist_create(context, &exchange, &view, NULL, &dist) != MERBIT_OK ||
      merbit_dist_solve(dist, &desc, b, x, 0, NULL, &result) != MERBIT_OK) {
    (void)merbit_last_error(context, sentence, sizeof sentence);
    (void)fprintf(stderr, "%s\n", sentence);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  (void)merbit_dist_get_info(dist, &info);
  if (exchange.rank == 0) {
    (void)printf("%d ranks: %lld rows, rank 0 receives %lld elements a product\n",
                 exchange.ranks, (long long)info.global_rows, (long long)info.halo);
    (void)printf("%s after %d iterations, residual %.1e\n", merbit_stop_name(result.stop),
                 result.iterations, result.residual);
  }
  merbit_dist_destroy(dist);
  merbit_context_destroy(context);
  free((void *)view.row_ptr);
  free((void *)view.col_ind);
  free((void *)view.values);
  free(b);
  free(x);
  free(user.requests);
  MPI_Finalize();
  return result.stop == MERBIT_STOP_CONVERGED ? 0 : 1;
}
