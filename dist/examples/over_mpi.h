/* The exchange of merbit_dist.h over MPI. A message is at most 2 GB, because MPI counts in
 * int. */
#ifndef OVER_MPI_H
#define OVER_MPI_H
#include "merbit_dist.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

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

/* Makes the exchange. Free user->requests at the end. */
static merbit_exchange over_mpi_make(over_mpi *user) {
  merbit_exchange exchange;
  memset(&exchange, 0, sizeof exchange);
  MPI_Comm_rank(MPI_COMM_WORLD, &exchange.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &exchange.ranks);
  user->requests = (MPI_Request *)malloc((size_t)exchange.ranks * 2 * sizeof *user->requests);
  exchange.counts = mpi_counts;
  exchange.start = mpi_start;
  exchange.finish = mpi_finish;
  exchange.user = user;
  return exchange;
}

#endif /* OVER_MPI_H */
