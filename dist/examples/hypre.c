/* Solves a 3D Poisson problem by hypre's PCG with merbit's products: mpirun -n 4 hypre [side]
 *
 * hypre never holds the matrix: its PCG takes functions for the operations on a matrix, of
 * which merbit provides the product. */
#define MERBIT_DIST_IMPLEMENTATION
#include "merbit_dist.h"

#include "over_mpi.h"
#include "poisson.h"

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <_hypre_parcsr_ls.h>

/* ---- The matrix, as hypre's PCG sees it -------------------------------------------------- */

static HYPRE_Int ours_comm_info(void *dist, HYPRE_Int *id, HYPRE_Int *processes) {
  merbit_dist_info info;
  const merbit_status status = merbit_dist_get_info((const merbit_dist *)dist, &info);
  *id = info.rank;
  *processes = info.ranks;
  return status != MERBIT_OK;
}

static void *ours_matvec_create(void *dist, void *x) {
  (void)x;
  return dist;
}

static HYPRE_Int ours_matvec(void *data, HYPRE_Complex alpha, void *dist, void *x,
                             HYPRE_Complex beta, void *y) {
  (void)data;
  return merbit_dist_spmv((merbit_dist *)dist, &alpha,
                          hypre_VectorData(hypre_ParVectorLocalVector((hypre_ParVector *)x)),
                          &beta,
                          hypre_VectorData(hypre_ParVectorLocalVector((hypre_ParVector *)y)),
                          NULL) != MERBIT_OK;
}

static HYPRE_Int ours_matvec_destroy(void *data) {
  (void)data; /* the operator itself */
  return 0;
}

/* ---- The program ------------------------------------------------------------------------- */

static void need(int fine, merbit_context *context) {
  char sentence[MERBIT_MESSAGE_SIZE];
  if (!fine) {
    (void)merbit_last_error(context, sentence, sizeof sentence);
    (void)fprintf(stderr, "%s\n", sentence);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* Makes a vector of this rank's rows with equal elements. */
static HYPRE_IJVector vector_make(HYPRE_BigInt first, HYPRE_BigInt end, double value,
                                  HYPRE_ParVector *vector) {
  HYPRE_IJVector made;
  void *object;
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, end - 1, &made);
  HYPRE_IJVectorSetObjectType(made, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(made);
  HYPRE_IJVectorAssemble(made);
  HYPRE_IJVectorGetObject(made, &object);
  *vector = (HYPRE_ParVector)object;
  HYPRE_ParVectorSetConstantValues(*vector, value);
  return made;
}

int main(int argc, char **argv) {
  const int64_t n = argc > 1 ? atoi(argv[1]) : 40;
  merbit_context_desc cpu = merbit_context_defaults();
  merbit_context *context = NULL;
  merbit_dist *dist = NULL;
  merbit_exchange exchange;
  merbit_view view;
  over_mpi user;
  int64_t first, end;
  HYPRE_IJVector b, x;
  HYPRE_ParVector par_b, par_x;
  HYPRE_Int iterations = 0;
  HYPRE_Real residual = 0;
  hypre_PCGFunctions *functions;
  void *pcg;
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  exchange = over_mpi_make(&user);
  first = n * n * n * exchange.rank / exchange.ranks;
  end = n * n * n * (exchange.rank + 1) / exchange.ranks;
  view = poisson_make(n, first, end);
  cpu.side = MERBIT_SIDE_CPU;
  cpu.threads = 1; /* for each rank */
  need(merbit_context_create(&cpu, &context, NULL) == MERBIT_OK, context);
  need(merbit_dist_create(context, &exchange, &view, NULL, &dist) == MERBIT_OK, context);
  b = vector_make((HYPRE_BigInt)first, (HYPRE_BigInt)end, 1, &par_b);
  x = vector_make((HYPRE_BigInt)first, (HYPRE_BigInt)end, 0, &par_x);
  functions = hypre_PCGFunctionsCreate(
      hypre_ParKrylovCAlloc, hypre_ParKrylovFree, ours_comm_info, hypre_ParKrylovCreateVector,
      hypre_ParKrylovDestroyVector, ours_matvec_create, ours_matvec, ours_matvec_destroy,
      hypre_ParKrylovInnerProd, hypre_ParKrylovCopyVector, hypre_ParKrylovClearVector,
      hypre_ParKrylovScaleVector, hypre_ParKrylovAxpy, hypre_ParKrylovIdentitySetup,
      hypre_ParKrylovIdentity);
  pcg = hypre_PCGCreate(functions);
  hypre_PCGSetTol(pcg, 1e-9);
  hypre_PCGSetMaxIter(pcg, 1000);
  hypre_PCGSetTwoNorm(pcg, 1);
  hypre_PCGSetup(pcg, dist, par_b, par_x);
  need(hypre_PCGSolve(pcg, dist, par_b, par_x) == 0, context);
  hypre_PCGGetNumIterations(pcg, &iterations);
  HYPRE_PCGGetFinalRelativeResidualNorm((HYPRE_Solver)pcg, &residual);
  if (exchange.rank == 0) {
    (void)printf("hypre on %d ranks: %d iterations, residual %.1e\n", exchange.ranks,
                 (int)iterations, (double)residual);
  }
  hypre_PCGDestroy(pcg);
  HYPRE_IJVectorDestroy(b);
  HYPRE_IJVectorDestroy(x);
  merbit_dist_destroy(dist);
  merbit_context_destroy(context);
  poisson_free(&view);
  free(user.requests);
  HYPRE_Finalize();
  MPI_Finalize();
  return residual > 1e-9;
}
