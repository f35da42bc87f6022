/* Timing of cases next to each other: batches of calls in rounds, so that drift affects all
 * alike. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H
#include "matrix.h"
#include "verify.h"

#define BENCH_CASES 320
#define BENCH_ROUNDS 101
#define BENCH_FAR 5.0 /* times the fastest case: slower ones get few rounds */
#define BENCH_FEW_ROUNDS 3

typedef enum bench_kind {
  BENCH_PLAIN,      /* y = A x */
  BENCH_GENERAL,    /* y = alpha A x + beta y */
  BENCH_TILE,       /* the build of a plan's tiles */
  BENCH_TRANSPOSED, /* y = A' x */
  BENCH_SEVERAL     /* Y = A X */
} bench_kind;

typedef struct bench_case {
  char name[64];
  bench_kind kind;
  int rival; /* 1: ours are compared with it */
  void (*enqueue)(struct bench_case *self);
  void *object; /* for `enqueue` */
  int parity;   /* parity of calls, for dual buffers */
  double call;  /* approximate seconds of a call */
  int batch;    /* calls per measurement */
  int rounds;
  double samples[BENCH_ROUNDS]; /* seconds per call */
  double median, least, most, quartiles[2];
  double bytes; /* bytes of a call if everything moves once; 0: unknown */
  double flops; /* operations of a call, two per nonzero; 0: unknown */
  double limit; /* lower bound for the seconds of a call; 0: unknown */
  bench_verdict verdict;
  int good;  /* 1: verified */
  int given; /* 1: another program's time from --rivals, of which nothing was verified */
  int of;    /* the case with which a TILE build is compared, or -1 */
  int has_plan;
  double plan_seconds;    /* with cubins from the cache; for a rival, its preprocessing */
  double cold_seconds;    /* with an empty cache; 0: not measured */
  double compile_seconds; /* NVRTC's part of the cold plan */
  double reorder_seconds; /* part of plan_seconds; 0: the plan does not reorder */
  double convert_seconds; /* converting the CSR to blocks on the GPU; 0: not done, or unknown */
  double memory;          /* bytes of the format's own arrays, in addition to the CSR's if those
                           * are read in place */
  double csr_memory;      /* bytes of the CSR; 0: not needed */
  char about[768];        /* the plan's description */
} bench_case;

/* Returns the seconds that `count` calls take. */
typedef double (*bench_stopwatch)(void *clock, bench_case *c, int count);

static int bench_by_size(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

/* Returns a quantile of ascending samples, interpolated between the two nearest ones. A share
 * of 0.5 is the median. */
static double bench_quantile(const double *sorted, int count, double share) {
  const double at = share * (count - 1);
  const int below = (int)at;
  return below + 1 < count ? sorted[below] + (at - below) * (sorted[below + 1] - sorted[below])
                           : sorted[below];
}

static double bench_median(const double *samples, int count) {
  double sorted[BENCH_ROUNDS];
  memcpy(sorted, samples, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, bench_by_size);
  return bench_quantile(sorted, count, 0.5);
}

/* Warms up, and chooses the number of calls that take `seconds`. */
static void bench_calibrate(bench_case *c, bench_stopwatch watch, void *clock, double seconds) {
  int count = 1;
  double took;
  (void)watch(clock, c, 2);
  took = watch(clock, c, 1);
  while (took < 0.2 * seconds && count < 1000) {
    count *= 4;
    took = watch(clock, c, count);
  }
  c->call = took / count;
  c->batch = (int)ceil(seconds * count / (took > 0 ? took : 1e-9));
  c->batch = c->batch < 1 ? 1 : c->batch > 4000 ? 4000 : c->batch;
}

/* Sets the number of rounds. Cases that are much slower than the fastest of their kind get
 * fewer, because they decide nothing. */
static void bench_share_rounds(bench_case *cases, int count, int rounds) {
  int i, k;
  for (i = 0; i < count; i++) {
    cases[i].rounds = rounds;
    for (k = 0; k < count; k++) {
      if (cases[k].kind == cases[i].kind && cases[i].call > BENCH_FAR * cases[k].call &&
          cases[i].rounds > BENCH_FEW_ROUNDS) {
        cases[i].rounds = BENCH_FEW_ROUNDS;
      }
    }
  }
}

static void bench_evaluate(bench_case *c) {
  double sorted[BENCH_ROUNDS];
  memcpy(sorted, c->samples, (size_t)c->rounds * sizeof *sorted);
  qsort(sorted, (size_t)c->rounds, sizeof *sorted, bench_by_size);
  c->least = sorted[0];
  c->quartiles[0] = bench_quantile(sorted, c->rounds, 0.25);
  c->median = bench_quantile(sorted, c->rounds, 0.5);
  c->quartiles[1] = bench_quantile(sorted, c->rounds, 0.75);
  c->most = sorted[c->rounds - 1];
}

/* Times all cases. Each round starts with another one, so that none always follows the same. */
static void bench_time(bench_case *cases, int count, int rounds, double seconds,
                       bench_stopwatch watch, void *clock) {
  int round, i;
  for (i = 0; i < count; i++) {
    bench_calibrate(&cases[i], watch, clock, seconds);
  }
  bench_share_rounds(cases, count, rounds);
  for (round = 0; round < rounds; round++) {
    for (i = 0; i < count; i++) {
      bench_case *c = &cases[(i + round) % count];
      if (round < c->rounds) {
        c->samples[round] = watch(clock, c, c->batch) / c->batch;
      }
    }
  }
  for (i = 0; i < count; i++) {
    bench_evaluate(&cases[i]);
  }
}

/* Returns the median over the rounds of the quotient of two cases' times in the same round. */
static double bench_paired_ratio(const bench_case *over, const bench_case *under) {
  const int rounds = over->rounds < under->rounds ? over->rounds : under->rounds;
  double ratios[BENCH_ROUNDS];
  int round;
  for (round = 0; round < rounds; round++) {
    ratios[round] = over->samples[round] / under->samples[round];
  }
  return bench_median(ratios, rounds);
}

/* Sets the operations of each case. Those with several vectors have `vectors`. */
static void bench_count_flops(bench_case *cases, int count, const bench_problem *p,
                              int vectors) {
  int i;
  for (i = 0; i < count; i++) {
    cases[i].flops =
        cases[i].kind == BENCH_TILE
            ? 0
            : 2.0 * (double)p->m->nnz * (cases[i].kind == BENCH_SEVERAL ? vectors : 1);
  }
}

/* Returns the percentage of the limit that a case reaches, at most 100, or 0 if the limit is
 * unknown. */
static double bench_percent(const bench_case *c) {
  const double percent = 100.0 * c->limit / c->median;
  return percent < 100.0 ? percent : 100.0;
}

/* Returns the number of products after which our plan and products take no longer than the
 * rival's preprocessing and products; 0: never. */
static double bench_payback(const bench_case *ours, const bench_case *rival) {
  const double gain = rival->median - ours->median;
  const double cost = ours->plan_seconds - rival->plan_seconds;
  return gain <= 0 ? 0 : cost <= gain ? 1 : ceil(cost / gain);
}

/* Returns the fastest correct case of a kind, among rivals or among ours, or -1. */
static int bench_best(const bench_case *cases, int count, bench_kind kind, int rival) {
  int best = -1, i;
  for (i = 0; i < count; i++) {
    if (cases[i].kind == kind && cases[i].rival == rival && cases[i].good &&
        (best < 0 || cases[i].median < cases[best].median)) {
      best = i;
    }
  }
  return best;
}

/* Returns the case with which case i is compared: the best rival of its kind, or the product
 * for a TILE build. Returns -1 if there is none. */
static int bench_basis(const bench_case *cases, int count, int i) {
  return cases[i].kind == BENCH_TILE ? cases[i].of : bench_best(cases, count, cases[i].kind, 1);
}

/* Returns the case with this name, or -1. */
static int bench_named(const bench_case *cases, int count, const char *name) {
  int i;
  for (i = 0; i < count; i++) {
    if (strcmp(cases[i].name, name) == 0) {
      return i;
    }
  }
  return -1;
}

/* Returns the bytes of x and y. y counts twice if beta is not 0. */
static double bench_vector_bytes(const bench_problem *p, bench_kind kind) {
  const double size = (double)p->size;
  return size * (double)p->m->cols +
         (kind == BENCH_GENERAL ? 2.0 : 1.0) * size * (double)p->m->rows;
}

/* Returns the bytes of a CSR's arrays. */
static double bench_csr_memory(const bench_problem *p) {
  return 4.0 * (double)(p->m->rows + 1) + (double)p->m->nnz * (4.0 + (double)p->size);
}

static double bench_csr_bytes(const bench_problem *p, bench_kind kind) {
  return (double)p->m->nnz * (4.0 + (double)p->size) + 4.0 * (double)(p->m->rows + 1) +
         bench_vector_bytes(p, kind);
}

/* ---- Lists of names ---------------------------------------------------------------------- */

#define BENCH_NAMES 128

/* Positions of names in lists that bench_chosen has matched. */
static struct {
  const char *places[BENCH_NAMES];
  int count;
} bench_met;

static int bench_has_met(const char *place) {
  int i = 0;
  while (i < bench_met.count && bench_met.places[i] != place) {
    i++;
  }
  return i < bench_met.count;
}

/* Returns whether a list of names separated by commas, as for --methods, chooses `name`. A name
 * in the list also chooses names that continue it with '-'; "all" chooses every name. */
static int bench_chosen(const char *list, const char *name) {
  int chosen = 0;
  while (*list != '\0') {
    const size_t length = strcspn(list, ",");
    if ((length == 3 && strncmp(list, "all", 3) == 0) ||
        (length > 0 && strncmp(list, name, length) == 0 &&
         (name[length] == '\0' || name[length] == '-'))) {
      chosen = 1;
      if (!bench_has_met(list)) {
        if (bench_met.count == BENCH_NAMES) {
          bench_die("give at most %d names", BENCH_NAMES);
        }
        bench_met.places[bench_met.count++] = list;
      }
    }
    list += length;
    list += *list == ',';
  }
  return chosen;
}

/* Returns whether the list has `name`, or a name that continues it with '-'. */
BENCH_UNUSED static int bench_names(const char *list, const char *name) {
  const size_t wanted = strlen(name);
  while (*list != '\0') {
    const size_t length = strcspn(list, ",");
    if (length >= wanted && strncmp(list, name, wanted) == 0 &&
        (length == wanted || list[wanted] == '-')) {
      return 1;
    }
    list += length;
    list += *list == ',';
  }
  return 0;
}

/* Ends the program if a name in the list has chosen nothing. */
static void bench_check_names(const char *option, const char *list) {
  int count = 0;
  while (*list != '\0') {
    const size_t length = strcspn(list, ",");
    if (length > 0 && !bench_has_met(list)) {
      bench_die("%s: %.*s names nothing that is measured here; see bench --help", option,
                (int)length, list);
    }
    count += length > 0;
    list += length;
    list += *list == ',';
  }
  if (count == 0) {
    bench_die("%s: give a name; see bench --help", option);
  }
}

#endif
