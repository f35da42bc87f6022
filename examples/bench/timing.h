/* Things to be timed side by side: batches of calls, in rounds, so that drift hits all of them
 * alike. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H
#include "matrix.h"
#include "verify.h"

#define BENCH_CASES 64
#define BENCH_ROUNDS 101

typedef enum bench_kind {
  BENCH_PLAIN,   /* y = A x */
  BENCH_GENERAL, /* y = alpha A x + beta y */
  BENCH_TILE     /* what a plan costs on the GPU */
} bench_kind;

typedef struct bench_case {
  char name[48];
  bench_kind kind;
  int rival; /* what ours are compared with */
  void (*enqueue)(struct bench_case *self);
  void *object; /* what enqueue works on */
  int parity;   /* of calls, for dual buffers */
  int batch;    /* calls in one measurement */
  int rounds;
  double samples[BENCH_ROUNDS]; /* seconds a call */
  double median, least, most;
  double bytes; /* of one call, everything moved once; 0: not known */
  bench_verdict verdict;
  int good; /* verified */
  int of;   /* the case whose time a TILE build is compared with, or -1 */
  int has_plan;
  double plan_seconds, compile_seconds, load_seconds;
} bench_case;

/* Seconds that `count` calls take. */
typedef double (*bench_stopwatch)(void *clock, bench_case *c, int count);

static int bench_by_size(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static double bench_median(const double *samples, int count) {
  double sorted[BENCH_ROUNDS];
  memcpy(sorted, samples, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, bench_by_size);
  return count % 2 ? sorted[count / 2] : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]);
}

/* Warm up, and choose how many calls last `seconds`. */
static void bench_calibrate(bench_case *c, bench_stopwatch watch, void *clock, double seconds) {
  int count = 1;
  double took;
  (void)watch(clock, c, 2);
  took = watch(clock, c, 1);
  while (took < 0.2 * seconds && count < 1000) {
    count *= 4;
    took = watch(clock, c, count);
  }
  c->batch = (int)ceil(seconds * count / (took > 0 ? took : 1e-9));
  c->batch = c->batch < 1 ? 1 : c->batch > 4000 ? 4000 : c->batch;
}

/* Each round starts with another case, so that none always follows the same one. */
static void bench_time(bench_case *cases, int count, int rounds, double seconds,
                       bench_stopwatch watch, void *clock) {
  int round, i;
  for (i = 0; i < count; i++) {
    bench_calibrate(&cases[i], watch, clock, seconds);
    cases[i].rounds = rounds;
  }
  for (round = 0; round < rounds; round++) {
    for (i = 0; i < count; i++) {
      bench_case *c = &cases[(i + round) % count];
      c->samples[round] = watch(clock, c, c->batch) / c->batch;
    }
  }
  for (i = 0; i < count; i++) {
    bench_case *c = &cases[i];
    c->median = bench_median(c->samples, rounds);
    c->least = c->most = c->samples[0];
    for (round = 1; round < rounds; round++) {
      c->least = c->samples[round] < c->least ? c->samples[round] : c->least;
      c->most = c->samples[round] > c->most ? c->samples[round] : c->most;
    }
  }
}

/* Median over the rounds of the quotient of two cases measured in the same round. */
static double bench_paired_ratio(const bench_case *over, const bench_case *under) {
  double ratios[BENCH_ROUNDS];
  int round;
  for (round = 0; round < over->rounds; round++) {
    ratios[round] = over->samples[round] / under->samples[round];
  }
  return bench_median(ratios, over->rounds);
}

/* The fastest rival of a kind, or -1. Wrong results do not count. */
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

/* What the time of case i is divided by: a rival of its kind, or the product of a TILE build;
 * -1: nothing. */
static int bench_basis(const bench_case *cases, int count, int i) {
  return cases[i].kind == BENCH_TILE ? cases[i].of : bench_best(cases, count, cases[i].kind, 1);
}

/* `list` is what --methods says: names separated by commas; a name takes in everything that
 * begins with it and goes on with '-'. */
static int bench_chosen(const char *list, const char *name) {
  while (*list != '\0') {
    const size_t length = strcspn(list, ",");
    if ((length == 3 && strncmp(list, "all", 3) == 0) ||
        (length > 0 && strncmp(list, name, length) == 0 &&
         (name[length] == '\0' || name[length] == '-'))) {
      return 1;
    }
    list += length;
    list += *list == ',';
  }
  return 0;
}

#endif
