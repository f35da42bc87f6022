/* Solves a 3D Poisson problem on all ranks of MPI: mpirun -n 4 mpi [side of the cube] */
#define MERBIT_DIST_IMPLEMENTATION
#include "merbit_dist.h"

#include "over_mpi.h"
#include "poisson.h"

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
  memset(&desc, 0, sizeof desc);
  exchange = over_mpi_make(&user);
  first = n * n * n * exchange.rank / exchange.ranks;
  view = poisson_make(n, first, n * n * n * (exchange.rank + 1) / exchange.ranks);
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
  poisson_free(&view);
  free(b);
  free(x);
  free(user.requests);
  MPI_Finalize();
  return result.stop == MERBIT_STOP_CONVERGED ? 0 : 1;
}
