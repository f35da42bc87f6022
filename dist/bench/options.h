/* The command line. */
#ifndef DIST_BENCH_OPTIONS_H
#define DIST_BENCH_OPTIONS_H
#include "crew.h"
#include "matrices.h"

enum { DIST_EXCHANGE_NCCL, DIST_EXCHANGE_SHARED };

typedef struct dist_options {
  int ranks[8], rank_counts; /* the numbers of ranks to run with */
  const char *matrices[DIST_NAMES];
  int matrix_count;
  int64_t weak, strong; /* nonzeros of each rank, of all ranks together; 0: not run */
  int gpus;             /* 0: one for each rank */
  int threads;          /* of each rank; 0: an equal part of the processors */
  int rounds, graph, exchange;
  double limit; /* seconds for the whole run */
  merbit_side side;
  const char *json, *commit;
} dist_options;

static void dist_help(void) {
  (void)fputs(
      "Time products, CG and PageRank of matrices whose rows lie on several GPUs of one host, "
      "one "
      "process each.\n"
      "  dist_bench [options]\n"
      "  --ranks LIST      numbers of processes, by default 1,2,4\n"
      "  --matrices LIST   of stencil27, stencil7, road, rmat, web (all by default) and vast, "
      "which\n"
      "                    has more than 2^31 columns\n"
      "  --weak NNZ        nonzeros of each rank, by default 80M; 0: no weak scaling\n"
      "  --strong NNZ      nonzeros of all ranks together, by default 600M; 0: none\n"
      "  --exchange NAME   nccl (default), or shared: through shared memory of the host\n"
      "  --gpus N          number of GPUs, if ranks are to share them\n"
      "  --side cpu        compute on the CPU, with --exchange shared\n"
      "  --threads N       CPU threads of each rank\n"
      "  --repeat N        rounds of each measurement, by default 7, at most 31\n"
      "  --no-graph        do not record the calls in CUDA graphs\n"
      "  --limit SECONDS   for the whole run, by default 600; ranks that take longer are "
      "ended\n"
      "  --json FILE       write results there\n"
      "  --commit TEXT     what the results are of, for the JSON\n"
      "The environment decides about NCCL: MERBIT_NCCL names the library, NCCL_NVLS_ENABLE=0 "
      "turns\n"
      "NVLink multicast off, NCCL_MULTI_RANK_GPU_ENABLE=1 (2.30 and later) lets ranks share a "
      "GPU.\n",
      stdout);
}

/* Returns a number with an optional K, M or G. */
static int64_t dist_amount(const char *option, const char *text) {
  char *end = NULL;
  double value = strtod(text, &end);
  value *= *end == 'K' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1;
  end += *end == 'K' || *end == 'M' || *end == 'G';
  if (end == text || *end != '\0' || !(value >= 0) || value > 1e15) {
    bench_die("%s %s: give a number, as 80M", option, text);
  }
  return (int64_t)value;
}

static int dist_small(const char *option, const char *text, int least, int most) {
  const int64_t value = dist_amount(option, text);
  if (value < least || value > most) {
    bench_die("%s %s: give a number from %d to %d", option, text, least, most);
  }
  return (int)value;
}

static void dist_take_ranks(dist_options *o, char *list) {
  char *item, *rest = list;
  o->rank_counts = 0;
  while ((item = strtok_r(rest, ",", &rest)) != NULL) {
    if (o->rank_counts == (int)(sizeof o->ranks / sizeof *o->ranks)) {
      bench_die("--ranks: give at most %d numbers", o->rank_counts);
    }
    o->ranks[o->rank_counts++] = dist_small("--ranks", item, 1, CREW_MOST);
  }
}

static void dist_take_matrices(dist_options *o, char *list) {
  char *item, *rest = list;
  o->matrix_count = 0;
  while ((item = strtok_r(rest, ",", &rest)) != NULL) {
    int i = 0;
    while (i < DIST_NAMES && strcmp(item, dist_names[i]) != 0) {
      i++;
    }
    if (i == DIST_NAMES || o->matrix_count == DIST_NAMES) {
      bench_die("--matrices: there is no %s, or too many; see --help", item);
    }
    o->matrices[o->matrix_count++] = dist_names[i];
  }
}

static void dist_parse(dist_options *o, int argc, char **argv) {
  int i;
  memset(o, 0, sizeof *o);
  o->ranks[0] = 1;
  o->ranks[1] = 2;
  o->ranks[2] = 4;
  o->rank_counts = 3;
  for (i = 0; i < DIST_NAMES - 1; i++) { /* without vast */
    o->matrices[o->matrix_count++] = dist_names[i];
  }
  o->weak = 80000000;
  o->strong = 600000000;
  o->rounds = 7;
  o->graph = 1;
  o->limit = 600;
  o->side = MERBIT_SIDE_CUDA;
  for (i = 1; i < argc; i++) {
    const char *name = argv[i];
    char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(name, "--help") == 0) {
      dist_help();
      exit(0);
    }
    if (strcmp(name, "--no-graph") == 0) {
      o->graph = 0;
      continue;
    }
    if (value == NULL) {
      bench_die("%s: give a value, or see --help", name);
    }
    i++;
    if (strcmp(name, "--ranks") == 0) {
      dist_take_ranks(o, value);
    } else if (strcmp(name, "--matrices") == 0) {
      dist_take_matrices(o, value);
    } else if (strcmp(name, "--weak") == 0) {
      o->weak = dist_amount(name, value);
    } else if (strcmp(name, "--strong") == 0) {
      o->strong = dist_amount(name, value);
    } else if (strcmp(name, "--exchange") == 0 && strcmp(value, "nccl") == 0) {
      o->exchange = DIST_EXCHANGE_NCCL;
    } else if (strcmp(name, "--exchange") == 0 && strcmp(value, "shared") == 0) {
      o->exchange = DIST_EXCHANGE_SHARED;
    } else if (strcmp(name, "--side") == 0 && strcmp(value, "cpu") == 0) {
      o->side = MERBIT_SIDE_CPU;
    } else if (strcmp(name, "--gpus") == 0) {
      o->gpus = dist_small(name, value, 1, CREW_MOST);
    } else if (strcmp(name, "--threads") == 0) {
      o->threads = dist_small(name, value, 1, 1024);
    } else if (strcmp(name, "--repeat") == 0) {
      o->rounds = dist_small(name, value, 1, 31);
    } else if (strcmp(name, "--limit") == 0) {
      o->limit = (double)dist_amount(name, value);
    } else if (strcmp(name, "--json") == 0) {
      o->json = value;
    } else if (strcmp(name, "--commit") == 0) {
      o->commit = value;
    } else {
      bench_die("%s %s is no option; see --help", name, value);
    }
  }
  if (o->side == MERBIT_SIDE_CPU && o->exchange == DIST_EXCHANGE_NCCL) {
    bench_die("NCCL exchanges between GPUs; give --exchange shared with --side cpu");
  }
}

#endif
