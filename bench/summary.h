/* Summary of a run: geometric means and the worst cases of AUTO against the best rival. */
#ifndef BENCH_SUMMARY_H
#define BENCH_SUMMARY_H
#include "json.h"
#include "timing.h"

typedef struct bench_tally { /* for one precision and kind of product */
  int count, slower, percents, far;
  double log_speedup, worst;
  double log_percent, least_percent;
  double log_rival_percent;
  char worst_input[256], least_input[256];
} bench_tally;

typedef struct bench_summary {
  bench_tally tallies[2][2]; /* f64, f32; y = A x, alpha A x + beta y */
  int wrong;                 /* number of our results outside the error bound */
  int wrong_rivals;
} bench_summary;

static void bench_sum_up_percent(bench_tally *t, const bench_problem *p, const bench_case *ours,
                                 const bench_case *rival) {
  const double percent = bench_percent(ours);
  if (ours->limit > 0 && rival->limit > 0) {
    t->log_percent += log(percent);
    t->log_rival_percent += log(bench_percent(rival));
    if (t->percents++ == 0 || percent < t->least_percent) {
      t->least_percent = percent;
      (void)snprintf(t->least_input, sizeof t->least_input, "%s", p->m->name);
    }
    t->far += percent < 60;
  }
}

static void bench_sum_up_kind(bench_summary *sum, const bench_problem *p,
                              const bench_case *cases, int count, bench_kind kind) {
  const int rival = bench_best(cases, count, kind, 1);
  const int ours = bench_named(cases, count, kind == BENCH_GENERAL ? "auto-ab" : "auto");
  bench_tally *t = &sum->tallies[p->single][kind == BENCH_GENERAL];
  if (rival >= 0 && ours >= 0 && cases[ours].good) {
    const double speedup = cases[rival].median / cases[ours].median;
    t->log_speedup += log(speedup);
    t->slower += speedup < 0.98;
    if (t->count++ == 0 || speedup < t->worst) {
      t->worst = speedup;
      (void)snprintf(t->worst_input, sizeof t->worst_input, "%s", p->m->name);
    }
    bench_sum_up_percent(t, p, &cases[ours], &cases[rival]);
  }
}

static void bench_sum_up(bench_summary *sum, const bench_problem *p, const bench_case *cases,
                         int count) {
  int i;
  for (i = 0; i < count; i++) {
    const int bad = cases[i].kind != BENCH_TILE && !cases[i].good;
    sum->wrong += bad && !cases[i].rival;
    sum->wrong_rivals += bad && cases[i].rival;
  }
  bench_sum_up_kind(sum, p, cases, count, BENCH_PLAIN);
  bench_sum_up_kind(sum, p, cases, count, BENCH_GENERAL);
}

static void bench_report_tally(const bench_tally *t, const char *precision, const char *kind,
                               bench_json *json) {
  const double mean = exp(t->log_speedup / t->count);
  (void)printf("  %s, %-18s %.3f over %d matrices, %d below 0.98, worst %.3f (%s)\n", precision,
               kind, mean, t->count, t->slower, t->worst, t->worst_input);
  bench_json_open(json, NULL, '{');
  bench_json_text(json, "precision", precision);
  bench_json_text(json, "kind", kind);
  bench_json_integer(json, "matrices", t->count);
  bench_json_number(json, "speedup_mean", mean);
  bench_json_number(json, "speedup_worst", t->worst);
  bench_json_text(json, "speedup_worst_input", t->worst_input);
  bench_json_integer(json, "below_0.98", t->slower);
  if (t->percents > 0) {
    const double percent = exp(t->log_percent / t->percents);
    const double rival = exp(t->log_rival_percent / t->percents);
    (void)printf(
        "  %25s of the limit: %.0f%%, rival %.0f%%; %d under 60%%, least %.0f%% (%s)\n", "",
        percent, rival, t->far, t->least_percent, t->least_input);
    bench_json_number(json, "percent_of_limit_mean", percent);
    bench_json_number(json, "percent_of_limit_mean_rival", rival);
    bench_json_number(json, "percent_of_limit_least", t->least_percent);
    bench_json_text(json, "percent_of_limit_least_input", t->least_input);
    bench_json_integer(json, "under_60_percent", t->far);
  }
  bench_json_close(json, '}');
}

static void bench_report_summary(const bench_summary *sum, const char *rival,
                                 bench_json *json) {
  static const char *const kinds[2] = {"A x", "alpha A x + beta y"};
  int single, kind;
  (void)printf("\nsummary: geometric means of auto's speed-up over %s\n", rival);
  bench_json_open(json, "summary", '[');
  for (single = 1; single >= 0; single--) {
    for (kind = 0; kind < 2; kind++) {
      if (sum->tallies[single][kind].count > 0) {
        bench_report_tally(&sum->tallies[single][kind], single ? "f32" : "f64", kinds[kind],
                           json);
      }
    }
  }
  bench_json_close(json, ']');
  (void)printf("  %d results of merbit and %d of rivals outside the bound\n", sum->wrong,
               sum->wrong_rivals);
  bench_json_integer(json, "wrong_results", sum->wrong);
  bench_json_integer(json, "wrong_results_of_rivals", sum->wrong_rivals);
}

#endif
