/* JSON as it is written, and the tables on stdout. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H
#include "timing.h"

#define BENCH_JSON_DEPTH 16

typedef struct bench_json {
  FILE *file; /* NULL: nothing is written */
  const char *path;
  int depth;
  int filled[BENCH_JSON_DEPTH];
} bench_json;

static void bench_json_text_raw(FILE *file, const char *text) {
  (void)fputc('"', file);
  for (; *text != '\0'; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      (void)fprintf(file, "\\%c", c);
    } else if (c < 32) {
      (void)fprintf(file, "\\u%04x", c);
    } else {
      (void)fputc(c, file);
    }
  }
  (void)fputc('"', file);
}

/* Comma, indentation and name of what comes next; 0 where nothing is written. */
static int bench_json_next(bench_json *json, const char *name) {
  if (json->file == NULL) {
    return 0;
  }
  if (json->depth > 0) {
    (void)fprintf(json->file, "%s\n%*s", json->filled[json->depth] ? "," : "", 2 * json->depth,
                  "");
  }
  json->filled[json->depth] = 1;
  if (name != NULL) {
    bench_json_text_raw(json->file, name);
    (void)fputs(": ", json->file);
  }
  return 1;
}

static void bench_json_open(bench_json *json, const char *name, char bracket) {
  if (bench_json_next(json, name)) {
    (void)fputc(bracket, json->file);
    json->filled[++json->depth] = 0;
  }
}

static void bench_json_close(bench_json *json, char bracket) {
  if (json->file != NULL) {
    json->depth--;
    (void)fprintf(json->file, "\n%*s%c", 2 * json->depth, "", bracket);
  }
}

static void bench_json_text(bench_json *json, const char *name, const char *text) {
  if (bench_json_next(json, name)) {
    bench_json_text_raw(json->file, text);
  }
}

/* JSON has no NaN and no infinity. */
static void bench_json_number(bench_json *json, const char *name, double number) {
  if (bench_json_next(json, name)) {
    (void)fprintf(json->file, isfinite(number) ? "%.9g" : "null", number);
  }
}

static void bench_json_integer(bench_json *json, const char *name, int64_t number) {
  if (bench_json_next(json, name)) {
    (void)fprintf(json->file, "%lld", (long long)number);
  }
}

static void bench_json_begin(bench_json *json, const char *path) {
  memset(json, 0, sizeof *json);
  json->path = path;
  if (path != NULL) {
    json->file = fopen(path, "w");
    if (json->file == NULL) {
      bench_die("%s cannot be written: %s", path, strerror(errno));
    }
  }
  bench_json_open(json, NULL, '{');
}

static void bench_json_end(bench_json *json) {
  bench_json_close(json, '}');
  if (json->file != NULL) {
    (void)fputc('\n', json->file);
    if (ferror(json->file) || fclose(json->file) != 0) {
      bench_die("%s could not be written to its end: %s", json->path, strerror(errno));
    }
  }
}

/* ---- One table --------------------------------------------------------------------------- */

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
}

static void bench_report_case(const bench_case *cases, int count, int i, double copy_bandwidth,
                              bench_json *json) {
  const bench_case *c = &cases[i];
  const int basis = bench_basis(cases, count, i);
  const double rate = c->bytes / c->median;
  char ratio[16] = "-", gigabytes[16] = "-", percent[16] = "-", plan[16] = "-",
       compile[16] = "-";
  if (basis >= 0) {
    (void)snprintf(ratio, sizeof ratio, "%.3f", c->median / cases[basis].median);
  }
  if (c->bytes > 0) {
    (void)snprintf(gigabytes, sizeof gigabytes, "%.0f", 1e-9 * rate);
  }
  if (c->bytes > 0 && copy_bandwidth > 0) {
    (void)snprintf(percent, sizeof percent, "%.0f", 100.0 * rate / copy_bandwidth);
  }
  if (c->has_plan) {
    (void)snprintf(plan, sizeof plan, "%.1f", 1e3 * c->plan_seconds);
    (void)snprintf(compile, sizeof compile, "%.0f", 1e3 * c->compile_seconds);
  }
  (void)printf("%-22s %9.1f %9.1f %9.1f %7s %6s %6s %8s %7s  %s", c->name, 1e6 * c->median,
               1e6 * c->least, 1e6 * c->most, ratio, gigabytes, percent, plan, compile,
               c->kind == BENCH_TILE ? ""
               : c->good             ? "ok"
                                     : "WRONG");
  if (c->kind != BENCH_TILE && !c->good) {
    (void)printf(" (%lld rows, error %.2g)", (long long)c->verdict.wrong, c->verdict.relative);
  }
  (void)putchar('\n');
  bench_json_open(json, NULL, '{');
  bench_json_text(json, "name", c->name);
  bench_json_text(json, "kind",
                  c->kind == BENCH_PLAIN     ? "A x"
                  : c->kind == BENCH_GENERAL ? "alpha A x + beta y"
                                             : "tile build");
  bench_json_number(json, "seconds", c->median);
  bench_json_number(json, "seconds_min", c->least);
  bench_json_number(json, "seconds_max", c->most);
  bench_json_integer(json, "batch", c->batch);
  bench_json_integer(json, "rounds", c->rounds);
  if (basis >= 0) {
    bench_json_text(json, "compared_with", cases[basis].name);
    bench_json_number(json, "ratio", c->median / cases[basis].median);
    bench_json_number(json, "ratio_paired", bench_paired_ratio(c, &cases[basis]));
  }
  if (c->bytes > 0) {
    bench_json_number(json, "bytes", c->bytes);
    bench_json_number(json, "bytes_per_second", rate);
    bench_json_number(json, "percent_of_copy",
                      copy_bandwidth > 0 ? 100.0 * rate / copy_bandwidth : NAN);
  }
  if (c->kind != BENCH_TILE) {
    bench_json_integer(json, "rows_outside_bound", c->verdict.wrong);
    bench_json_number(json, "relative_error", c->verdict.relative);
  }
  if (c->has_plan) {
    bench_json_number(json, "plan_seconds", c->plan_seconds);
    bench_json_number(json, "compile_seconds", c->compile_seconds);
    bench_json_number(json, "load_seconds", c->load_seconds);
  }
  bench_json_close(json, '}');
}

static void bench_report_cases(const bench_case *cases, int count, const char *ratio_title,
                               double copy_bandwidth, bench_json *json) {
  int i;
  (void)printf("%-22s %9s %9s %9s %7s %6s %6s %8s %7s  %s\n", "method", "us", "min", "max",
               ratio_title, "GB/s", "% copy", "plan ms", "comp ms", "verified");
  bench_json_open(json, "methods", '[');
  for (i = 0; i < count; i++) {
    bench_report_case(cases, count, i, copy_bandwidth, json);
  }
  bench_json_close(json, ']');
}

#endif
