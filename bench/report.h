/* The table of one problem, and its figures in JSON. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H
#include "json.h"
#include "timing.h"

static void bench_report_head(const bench_problem *p, bench_json *json) {
  const bench_matrix *m = p->m;
  const int64_t longest = bench_longest_row(m);
  const char *precision = p->single ? "f32" : "f64";
  (void)printf("\n%s, %s: %lld x %lld, %lld nonzeros, longest row %lld\n", m->name, precision,
               (long long)m->rows, (long long)m->cols, (long long)m->nnz, (long long)longest);
  bench_json_open(json, NULL, '{');
  bench_json_text(json, "input", m->name);
  bench_json_text(json, "precision", precision);
  bench_json_integer(json, "rows", m->rows);
  bench_json_integer(json, "cols", m->cols);
  bench_json_integer(json, "nnz", m->nnz);
  bench_json_integer(json, "longest_row", longest);
  bench_json_number(json, "row_length_mean", bench_mean_row(m));
  bench_json_number(json, "row_length_variation", bench_row_variation(m));
}

static const char *bench_kind_name(bench_kind kind) {
  return kind == BENCH_PLAIN     ? "A x"
         : kind == BENCH_GENERAL ? "alpha A x + beta y"
         : kind == BENCH_TILE    ? "tile build"
         : kind == BENCH_SEVERAL ? "A X"
                                 : "A' x";
}

/* Formats a table cell: "-" unless the number is above 0. */
static const char *bench_cell(char *text, size_t size, int digits, double number) {
  (void)snprintf(text, size, "-");
  if (number > 0) {
    (void)snprintf(text, size, "%.*f", digits, number);
  }
  return text;
}

static void bench_report_row(const bench_case *c, double speedup, double payback) {
  char cells[10][24];
  const size_t size = sizeof cells[0];
  (void)printf("%-22s %9.1f %9.1f %9.1f %7s %6s %7s %6s %8s %8s %8s %7s %7s %6s  %s", c->name,
               1e6 * c->median, 1e6 * c->quartiles[0], 1e6 * c->quartiles[1],
               bench_cell(cells[0], size, 3, speedup),
               bench_cell(cells[1], size, 0, 1e-9 * c->bytes / c->median),
               bench_cell(cells[9], size, 1, 1e-9 * c->flops / c->median),
               bench_cell(cells[2], size, 0, bench_percent(c)),
               bench_cell(cells[3], size, 2, c->has_plan ? 1e3 * c->plan_seconds : 0),
               bench_cell(cells[4], size, 1, 1e3 * c->cold_seconds),
               bench_cell(cells[5], size, 0, payback),
               bench_cell(cells[6], size, 2, c->csr_memory > 0 ? c->memory / c->csr_memory : 0),
               bench_cell(cells[7], size, 2, 1e3 * c->convert_seconds),
               bench_cell(cells[8], size, 1, c->convert_seconds / c->median),
               c->kind == BENCH_TILE ? ""
               : c->given            ? "given"
               : c->good             ? "ok"
                                     : "WRONG");
  if (c->kind != BENCH_TILE && !c->good) {
    (void)printf(" (%lld rows, error %.2g)", (long long)c->verdict.wrong, c->verdict.relative);
  }
  (void)putchar('\n');
}

static void bench_report_plan(const bench_case *c, double payback, bench_json *json) {
  bench_json_number(json, c->rival ? "preprocess_seconds" : "plan_seconds", c->plan_seconds);
  bench_json_number(json, "plan_and_100_products_seconds", c->plan_seconds + 100.0 * c->median);
  if (c->reorder_seconds > 0) {
    bench_json_number(json, "reorder_seconds", c->reorder_seconds);
  }
  if (!c->rival) {
    bench_json_number(json, "plan_cold_seconds", c->cold_seconds > 0 ? c->cold_seconds : NAN);
    bench_json_number(json, "compile_seconds", c->cold_seconds > 0 ? c->compile_seconds : NAN);
    bench_json_number(json, "payback_products", payback > 0 ? payback : NAN);
  }
  if (c->convert_seconds > 0) {
    bench_json_number(json, "convert_seconds", c->convert_seconds);
    bench_json_number(json, "convert_products", c->convert_seconds / c->median);
  }
  if (c->csr_memory > 0) {
    bench_json_number(json, "memory_bytes", c->memory);
    bench_json_number(json, "csr_memory_bytes", c->csr_memory);
  }
  if (c->about[0] != '\0') {
    bench_json_text(json, "about", c->about);
  }
}

static void bench_report_json(const bench_case *c, bench_json *json) {
  bench_json_text(json, "name", c->name);
  bench_json_text(json, "kind", bench_kind_name(c->kind));
  bench_json_integer(json, "rival", c->rival);
  bench_json_integer(json, "given", c->given);
  bench_json_number(json, "seconds", c->median);
  bench_json_number(json, "seconds_min", c->least);
  bench_json_number(json, "seconds_quartile_1", c->quartiles[0]);
  bench_json_number(json, "seconds_quartile_3", c->quartiles[1]);
  bench_json_number(json, "seconds_max", c->most);
  bench_json_integer(json, "batch", c->batch);
  bench_json_integer(json, "rounds", c->rounds);
  if (c->bytes > 0) {
    bench_json_number(json, "bytes", c->bytes);
    bench_json_number(json, "bytes_per_second", c->bytes / c->median);
  }
  if (c->flops > 0) {
    bench_json_number(json, "gflops", 1e-9 * c->flops / c->median);
  }
  if (c->limit > 0) {
    bench_json_number(json, "limit_seconds", c->limit);
    bench_json_number(json, "percent_of_limit", bench_percent(c));
  }
  if (c->kind != BENCH_TILE && !c->given) {
    bench_json_integer(json, "verified", c->good);
    bench_json_integer(json, "rows_outside_bound", c->verdict.wrong);
    bench_json_number(json, "relative_error", c->verdict.relative);
  }
}

static void bench_report_case(const bench_case *cases, int count, int i, bench_json *json) {
  const bench_case *c = &cases[i];
  const int basis = bench_basis(cases, count, i);
  const int ours = !c->rival && c->kind != BENCH_TILE && basis >= 0;
  const double speedup = basis >= 0 ? cases[basis].median / c->median : 0;
  const double payback = ours && c->has_plan ? bench_payback(c, &cases[basis]) : 0;
  bench_report_row(c, speedup, payback);
  bench_json_open(json, NULL, '{');
  bench_report_json(c, json);
  if (basis >= 0) {
    bench_json_text(json, "compared_with", cases[basis].name);
    bench_json_number(json, "speedup", speedup);
    bench_json_number(json, "speedup_paired", bench_paired_ratio(&cases[basis], c));
  }
  if (c->has_plan) {
    bench_report_plan(c, payback, json);
  }
  bench_json_close(json, '}');
}

/* Reports all cases. `title` heads the column of speed-ups. */
static void bench_report_cases(const bench_case *cases, int count, const char *title,
                               bench_json *json) {
  int i;
  (void)printf("%-22s %9s %9s %9s %7s %6s %7s %6s %8s %8s %8s %7s %7s %6s  %s\n", "method",
               "us", "1st qu.", "3rd qu.", title, "GB/s", "GFLOP/s", "%limit", "plan ms",
               "cold ms", "payback", "own/CSR", "conv ms", "in A x", "verified");
  bench_json_open(json, "methods", '[');
  for (i = 0; i < count; i++) {
    bench_report_case(cases, count, i, json);
  }
  bench_json_close(json, ']');
}

#endif
