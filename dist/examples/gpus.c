/* Solves a 3D Poisson problem on the GPUs of one machine: gpus SIDE N solves a cube of SIDE^3
 * unknowns on N GPUs. It forks one process per GPU; they exchange over NCCL. If a process lacks
 * a GPU or NCCL, it says so, and all end. */
#define MERBIT_DIST_IMPLEMENTATION
#include "merbit_dist.h"

#include "poisson.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Memory that the processes share: the id of their group, and whether it is ready. */
typedef struct shared {
  volatile int ready; /* 1: the id is ready; -1: it could not be made */
  merbit_nccl_id id;
} shared;

static int fail(merbit_context *context, int rank) {
  char sentence[MERBIT_MESSAGE_SIZE];
  (void)merbit_last_error(context, sentence, sizeof sentence);
  (void)fprintf(stderr, "rank %d: %s\n", rank, sentence);
  return 1;
}

/* Runs one process. */
static int solve(shared *s, int64_t n, int rank, int ranks) {
  const int64_t first = n * n * n * rank / ranks, end = n * n * n * (rank + 1) / ranks;
  const size_t rows = (size_t)(end - first), bytes = rows * sizeof(double);
  double *ones = (double *)malloc(bytes);
  merbit_context_desc gpu = merbit_context_defaults();
  merbit_context *context = NULL;
  merbit_exchange *exchange = NULL;
  merbit_buffer *b = NULL, *x = NULL;
  merbit_dist *dist = NULL;
  merbit_dist_solver_desc desc;
  merbit_dist_result result;
  merbit_error error = {MERBIT_OK, ""};
  merbit_view view;
  size_t i;
  gpu.side = MERBIT_SIDE_CUDA;
  gpu.device = rank;
  if (ones == NULL || merbit_context_create(&gpu, &context, &error) != MERBIT_OK) {
    (void)fprintf(stderr, "rank %d: no memory, or no GPU %d: %s\n", rank, rank, error.message);
    s->ready = -1; /* so that no one waits */
    return 1;
  }
  if (rank == 0 && s->ready == 0) {
    s->ready = merbit_exchange_nccl_id(context, NULL, &s->id) == MERBIT_OK ? 1 : -1;
  }
  while (s->ready == 0) {
    (void)usleep(1000);
  }
  if (s->ready < 0 ||
      merbit_exchange_nccl_create(context, &s->id, rank, ranks, NULL, &exchange) != MERBIT_OK) {
    return rank == 0 || s->ready > 0 ? fail(context, rank) : 1;
  }
  view = poisson_make(n, first, end);
  for (i = 0; i < rows; i++) {
    ones[i] = 1;
  }
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_SOLVER_CG;
  desc.tolerance = 1e-9;
  if (merbit_buffer_create(context, bytes, &b) != MERBIT_OK ||
      merbit_buffer_create(context, bytes, &x) != MERBIT_OK ||
      merbit_buffer_upload(b, 0, ones, bytes) != MERBIT_OK ||
      merbit_dist_create(context, exchange, &view, NULL, &dist) != MERBIT_OK ||
      merbit_dist_solve(dist, &desc, merbit_buffer_pointer(b), merbit_buffer_pointer(x), 0,
                        NULL, &result) != MERBIT_OK) {
    return fail(context, rank);
  }
  if (rank == 0) {
    (void)printf("%d GPUs, %lld rows: %s after %d iterations, residual %.1e, %.3f s\n", ranks,
                 (long long)view.cols, merbit_stop_name(result.stop), result.iterations,
                 result.residual, result.seconds);
  }
  merbit_dist_destroy(dist);
  merbit_exchange_nccl_destroy(exchange);
  merbit_buffer_destroy(b);
  merbit_buffer_destroy(x);
  merbit_context_destroy(context);
  poisson_free(&view);
  free(ones);
  return result.stop != MERBIT_STOP_CONVERGED;
}

int main(int argc, char **argv) {
  const int64_t n = argc > 1 ? atoi(argv[1]) : 100;
  const int ranks = argc > 2 ? atoi(argv[2]) : 1;
  shared *s = (shared *)mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int rank, failed = 0;
  if (s == (shared *)MAP_FAILED || n < 1 || ranks < 1) {
    (void)fprintf(stderr, "usage: gpus [side of the cube] [processes]\n");
    return 2;
  }
  for (rank = 0; rank < ranks; rank++) { /* fork before any CUDA call */
    if (fork() == 0) {
      exit(solve(s, n, rank, ranks));
    }
  }
  for (rank = 0; rank < ranks; rank++) {
    int end = 1;
    (void)wait(&end);
    failed |= end;
  }
  return failed != 0;
}
