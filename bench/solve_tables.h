/* The tables of solvers and loops, and their geometric means. */
#ifndef BENCH_SOLVE_TABLES_H
#define BENCH_SOLVE_TABLES_H
#include "solve.h"

typedef struct bench_solve_tally {   /* one task in one precision */
  int count, below, wrong, unsolved; /* unsolved: ours did not converge, but a loop did */
  double log_total, log_step, log_whole, worst;
  char worst_input[256];
} bench_solve_tally;

typedef struct bench_solve_sum {
  bench_solve_tally tallies[BENCH_TASKS][3]; /* f64, f32, f64 refined */
} bench_solve_sum;

static const char *const bench_precision_names[3] = {"f64", "f32", "f64, refined"};

static const char *bench_stop_name(int stop) {
  static const char *const names[] = {"converged",  "cap",       "cancelled",
                                      "not finite", "stagnated", "breakdown"};
  return stop >= 0 && stop < (int)(sizeof names / sizeof names[0]) ? names[stop] : "running";
}

/* Returns the rival with the least total, or the least per iteration; -1 if there is none. */
static int bench_solve_best(const bench_solve *s, int per_step) {
  int best = -1, i;
  for (i = 0; i < s->count; i++) {
    const bench_solve_case *c = &s->cases[i];
    const double seconds = per_step ? c->step : c->total;
    if (c->rival && c->good && !c->skipped &&
        (best < 0 || seconds < (per_step ? s->cases[best].step : s->cases[best].total))) {
      best = i;
    }
  }
  return best;
}

static double bench_looks(const bench_solve_case *c) {
  return 100.0 * c->end.looks / (c->end.iterations > 0 ? c->end.iterations : 1);
}

static void bench_solve_row(const bench_solve *s, const bench_solve_case *c, int best,
                            int best_step) {
  char cells[4][24];
  const size_t size = sizeof cells[0];
  if (c->skipped) {
    (void)printf("%-18s left out: %s\n", c->name, c->about);
    return;
  }
  (void)printf(
      "%-18s %5d %9.2f %9.2f %9.1f %8s %6s %9.2f %9.2f %7s %7s %7.0f %5.1f %9.2e  %s%s\n",
      c->name, c->end.iterations, 1e3 * c->end.prepare, 1e3 * c->end.iterate, 1e6 * c->step,
      bench_cell(cells[0], size, 1, 1e6 * c->limit),
      bench_cell(cells[1], size, 0, 100 * c->limit / c->step), 1e3 * c->total,
      1e3 * c->end.whole,
      bench_cell(cells[2], size, 3, c->rival || best < 0 ? 0 : s->cases[best].total / c->total),
      bench_cell(cells[3], size, 3,
                 c->rival || best_step < 0 ? 0 : s->cases[best_step].step / c->step),
      1e-6 * c->end.memory, bench_looks(c), c->residual, c->good ? "" : "WRONG, ",
      bench_stop_name(c->end.stop));
}

static void bench_solve_json(const bench_solve *s, const bench_solve_case *c, int best,
                             int best_step, bench_json *json) {
  bench_json_open(json, NULL, '{');
  bench_json_text(json, "name", c->name);
  bench_json_integer(json, "rival", c->rival);
  bench_json_text(json, "about", c->about);
  if (!c->skipped) {
    bench_json_integer(json, "verified", c->good);
    bench_json_integer(json, "iterations", c->end.iterations);
    bench_json_text(json, "stop", bench_stop_name(c->end.stop));
    bench_json_number(json, "prepare_seconds", c->end.prepare);
    bench_json_number(json, "iterate_seconds", c->end.iterate);
    bench_json_number(json, "iteration_seconds", c->step);
    bench_json_number(json, "total_seconds", c->total);
    bench_json_number(json, "whole_seconds", c->end.whole);
    bench_json_number(json, "estimate", c->end.estimate);
    bench_json_number(json, s->task == BENCH_PAGERANK ? "err" : "true_residual", c->residual);
    bench_json_number(json, "gpu_bytes", c->end.memory);
    bench_json_number(json, "synchronizations_per_100", bench_looks(c));
    if (c->limit > 0) {
      bench_json_number(json, "limit_seconds", c->limit);
    }
    if (!c->rival && s->task != BENCH_PAGERANK) {
      bench_json_number(json, "backward_error", c->backward);
    }
    if (!c->rival && best >= 0) {
      bench_json_text(json, "compared_with", s->cases[best].name);
      bench_json_number(json, "speedup", s->cases[best].total / c->total);
      bench_json_number(json, "speedup_iteration", s->cases[best_step].step / c->step);
    }
  }
  bench_json_close(json, '}');
}

static void bench_solve_report(const bench_solve *s) {
  bench_json *json = s->lab->json;
  const int best = bench_solve_best(s, 0), step = bench_solve_best(s, 1);
  int i;
  (void)printf("%-18s %5s %9s %9s %9s %8s %6s %9s %9s %7s %7s %7s %5s %9s\n", "loop", "its",
               "prep ms", "iter ms", "us/it", "limit us", "%limit", "total ms", "whole ms",
               "speedup", "per it", "MB", "looks",
               s->task == BENCH_PAGERANK ? "ERR" : "residual");
  bench_json_open(json, "methods", '[');
  for (i = 0; i < s->count; i++) {
    bench_solve_row(s, &s->cases[i], best, step);
    bench_solve_json(s, &s->cases[i], best, step, json);
  }
  bench_json_close(json, ']');
  for (i = 0; i < s->count; i++) {
    if (!s->cases[i].rival && !s->cases[i].skipped) {
      (void)printf("%s: %s\n", s->cases[i].name, s->cases[i].about);
    }
  }
}

static void bench_solve_tally_case(const bench_solve *s, const bench_solve_case *ours,
                                   bench_solve_tally *t) {
  const int best = bench_solve_best(s, 0), step = bench_solve_best(s, 1);
  t->wrong += ours->skipped || !ours->good;
  if (ours->product != MERBIT_METHOD_AUTO || best < 0 || ours->skipped || !ours->good) {
    return;
  }
  if (ours->end.stop != 0 && s->cases[best].end.stop == 0) {
    t->unsolved++;
  } else {
    const double speedup = s->cases[best].total / ours->total;
    t->log_total += log(speedup);
    t->log_step += log(s->cases[step].step / ours->step);
    t->log_whole += log(s->cases[best].end.whole / ours->end.whole);
    t->below += speedup < 1.05;
    if (t->count++ == 0 || speedup < t->worst) {
      t->worst = speedup;
      (void)snprintf(t->worst_input, sizeof t->worst_input, "%s", s->problem.m->name);
    }
  }
}

static void bench_solve_tally_up(const bench_solve *s, bench_solve_sum *sum) {
  int i;
  for (i = 0; i < s->count; i++) {
    const bench_solve_case *c = &s->cases[i];
    if (!c->rival) {
      bench_solve_tally_case(s, c, &sum->tallies[s->task][c->refined ? 2 : s->problem.single]);
    }
  }
}

/* Prints the summary. Returns the number of our runs that were wrong or failed. */
static int bench_solve_summary(const bench_solve_sum *sum, bench_json *json) {
  static const int order[3] = {1, 0, 2};
  int task, k, wrong = 0;
  (void)printf("\nsummary: geometric means over the best loop over cuSPARSE\n");
  bench_json_open(json, "summary", '[');
  for (task = 0; task < BENCH_TASKS; task++) {
    for (k = 0; k < 3; k++) {
      const bench_solve_tally *t = &sum->tallies[task][order[k]];
      const double n = t->count > 0 ? t->count : 1;
      wrong += t->wrong;
      if (t->count + t->unsolved > 0) {
        (void)printf(
            "  %-8s %s: total %.3f, an iteration %.3f, with the transpose %.3f over %d "
            "systems, %d below 1.05, worst %.3f (%s); %d not solved\n",
            bench_task_names[task], bench_precision_names[order[k]], exp(t->log_total / n),
            exp(t->log_step / n), exp(t->log_whole / n), t->count, t->below, t->worst,
            t->worst_input, t->unsolved);
        bench_json_open(json, NULL, '{');
        bench_json_text(json, "task", bench_task_names[task]);
        bench_json_text(json, "precision", bench_precision_names[order[k]]);
        bench_json_integer(json, "systems", t->count);
        bench_json_integer(json, "not_solved", t->unsolved);
        bench_json_number(json, "speedup_mean", exp(t->log_total / n));
        bench_json_number(json, "speedup_iteration_mean", exp(t->log_step / n));
        bench_json_number(json, "speedup_whole_mean", exp(t->log_whole / n));
        bench_json_number(json, "speedup_worst", t->worst);
        bench_json_text(json, "speedup_worst_input", t->worst_input);
        bench_json_close(json, '}');
      }
    }
  }
  bench_json_close(json, ']');
  (void)printf("  %d runs of merbit wrong or failed\n", wrong);
  return wrong;
}

#endif
