/* The benchmark of the distributed operator: products, CG and PageRank on several GPUs of one
 * host. It forks a process for each GPU before any of them touches CUDA. See --help. */
#define MERBIT_IMPLEMENTATION
#define MERBIT_DIST_IMPLEMENTATION
#include "merbit_dist.h"

#include "report.h"

typedef struct bench_run {
  const dist_options *options;
  report *all; /* shared */
} bench_run;

static void bench_tell_device(bed *b, report *all) {
  merbit_context_info info;
  (void)merbit_context_get_info(b->context, &info);
  (void)snprintf(all->device, sizeof all->device, "%s", info.device);
  all->driver = info.driver_version;
  all->capability = info.compute_capability;
  if (b->nccl != NULL) {
    (void)((mbi_nccl *)b->nccl->user)->calls.get_version(&all->nccl);
  }
}

/* Runs all matrices on the ranks of one crew. */
static void bench_work(crew *c, void *argument) {
  const bench_run *run = (const bench_run *)argument;
  const dist_options *o = run->options;
  report *all = run->all;
  bed b;
  int i, strong;
  bed_open(&b, c, o);
  if (c->rank == 0) {
    bench_tell_device(&b, all);
  }
  for (i = 0; i < o->matrix_count; i++) {
    for (strong = 0; strong < 2; strong++) {
      const int64_t nnz = strong ? o->strong : o->weak * c->ranks;
      if (nnz > 0) {
        task_result *result = (task_result *)bench_allocate(1, sizeof *result);
        task_run(&b, o->matrices[i], nnz, strong, result);
        if (c->rank == 0 && all->count < REPORT_MOST) {
          all->results[all->count++] = *result;
          report_row(all, result);
        }
        free(result);
      }
    }
  }
  bed_close(&b);
}

/* Returns 0 if every rank ended well and every product was right. */
int main(int argc, char **argv) {
  char *command = bench_command(argc, argv);
  dist_options options;
  bench_run run;
  crew c;
  double began = mbi_seconds();
  int failed = 0, wrong = 0, i;
  dist_parse(&options, argc, argv);
  crew_open(&c);
  run.options = &options;
  run.all = (report *)crew_map(sizeof *run.all);
  report_head();
  for (i = 0; i < options.rank_counts; i++) {
    failed += crew_run(&c, options.ranks[i], bench_work, &run,
                       options.limit - (mbi_seconds() - began));
    if (options.json != NULL) { /* written each time, in case the run is interrupted */
      report_write(run.all, &options, command, failed);
    }
  }
  for (i = 0; i < run.all->count; i++) {
    wrong += run.all->results[i].wrong != 0;
  }
  free(command);
  return failed != 0 || wrong != 0;
}
