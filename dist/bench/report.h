/* The table and the JSON file of a run. */
#ifndef DIST_BENCH_REPORT_H
#define DIST_BENCH_REPORT_H
#include "json.h"
#include "tasks.h"

#define REPORT_MOST 128

typedef struct report { /* in shared memory: rank 0 of each run fills it */
  int count;
  char device[128];
  int driver, capability, nccl;
  task_result results[REPORT_MOST];
} report;

/* Returns the result with the fewest ranks for the same matrix and kind of scaling. */
static const task_result *report_base(const report *all, const task_result *r) {
  const task_result *base = r;
  int i;
  for (i = 0; i < all->count; i++) {
    const task_result *other = &all->results[i];
    if (strcmp(other->matrix, r->matrix) == 0 && other->strong == r->strong &&
        other->ranks < base->ranks) {
      base = other;
    }
  }
  return base;
}

/* Returns the efficiency of `seconds` relative to the base; 1 is perfect. Weak: base / this;
 * strong: also divided by the ratio of ranks. */
static double report_efficiency(const task_result *base, const task_result *r, double before,
                                double seconds) {
  const double scale = r->strong ? (double)r->ranks / base->ranks
                                 : (double)base->nnz / base->ranks * r->ranks / (double)r->nnz;
  return before / seconds / scale;
}

static void report_head(void) {
  (void)printf("%-10s %-6s %5s %12s %9s %8s %8s %8s %8s %8s %7s %6s %8s %8s %8s %7s\n",
               "matrix", "scale", "ranks", "nonzeros", "halo", "own us", "pack us", "exch us",
               "halo us", "A x us", "hidden%", "eff.%", "CG us", "PageR us", "setup ms",
               "GPU MB");
}

/* Returns a cell of the table: "-" if it was not measured. */
static const char *report_cell(char *text, size_t size, double number) {
  (void)snprintf(text, size, isnan(number) ? "-" : "%.1f", number);
  return text;
}

static void report_row(const report *all, const task_result *r) {
  const task_result *base = report_base(all, r);
  char cells[3][24];
  (void)printf(
      "%-10s %-6s %5d %12lld %9lld %8.1f %8.1f %8.1f %8.1f %8.1f %7s %6.1f %8s %8s %8.1f "
      "%7.0f %s\n",
      r->matrix, r->strong ? "strong" : "weak", r->ranks, (long long)r->nnz, (long long)r->halo,
      1e6 * r->own.median, 1e6 * r->pack.median, 1e6 * r->exchange.median,
      1e6 * r->halo_product.median, 1e6 * r->product.median,
      report_cell(cells[0], sizeof cells[0], r->ranks > 1 ? r->hidden : NAN),
      100 * report_efficiency(base, r, base->product.median, r->product.median),
      report_cell(cells[1], sizeof cells[1], 1e6 * r->cg_seconds),
      report_cell(cells[2], sizeof cells[2], 1e6 * r->pagerank_seconds),
      1e3 * r->create_seconds, 1e-6 * (double)r->device_bytes, r->wrong == 0 ? "ok" : "WRONG");
  (void)fflush(stdout);
}

static void report_time(bench_json *json, const char *name, const bed_time *time) {
  bench_json_open(json, name, '{');
  bench_json_number(json, "seconds", time->median);
  bench_json_number(json, "seconds_min", time->least);
  bench_json_number(json, "seconds_quartile_1", time->quartiles[0]);
  bench_json_number(json, "seconds_quartile_3", time->quartiles[1]);
  bench_json_number(json, "seconds_max", time->most);
  bench_json_integer(json, "batch", time->batch);
  bench_json_integer(json, "rounds", time->rounds);
  bench_json_integer(json, "recorded", time->recorded);
  bench_json_close(json, '}');
}

static void report_json(const report *all, const task_result *r, bench_json *json) {
  const task_result *base = report_base(all, r);
  bench_json_open(json, NULL, '{');
  bench_json_text(json, "matrix", r->matrix);
  bench_json_text(json, "scaling", r->strong ? "strong" : "weak");
  bench_json_integer(json, "ranks", r->ranks);
  bench_json_integer(json, "global_rows", r->global_rows);
  bench_json_integer(json, "nnz", r->nnz);
  bench_json_integer(json, "rank_rows", r->rows);
  bench_json_integer(json, "rank_own_nnz", r->own_nnz);
  bench_json_integer(json, "rank_halo_nnz", r->halo_nnz);
  bench_json_integer(json, "rank_boundary_rows", r->boundary_rows);
  bench_json_integer(json, "rank_halo", r->halo);
  bench_json_integer(json, "rank_sent", r->sent);
  bench_json_integer(json, "total_halo", r->total_halo);
  bench_json_integer(json, "send_ranks", r->send_ranks);
  bench_json_integer(json, "receive_ranks", r->receive_ranks);
  report_time(json, "own", &r->own);
  report_time(json, "pack", &r->pack);
  report_time(json, "exchange", &r->exchange);
  report_time(json, "halo_product", &r->halo_product);
  report_time(json, "sum", &r->sum);
  report_time(json, "product", &r->product);
  bench_json_number(json, "halo_hidden_percent", r->ranks > 1 ? r->hidden : NAN);
  bench_json_number(json, "efficiency",
                    report_efficiency(base, r, base->product.median, r->product.median));
  bench_json_number(json, "speedup", base->product.median / r->product.median);
  bench_json_integer(json, "compared_with_ranks", base->ranks);
  if (!isnan(r->cg_seconds)) {
    bench_json_number(json, "cg_iteration_seconds", r->cg_seconds);
    bench_json_number(json, "cg_efficiency",
                      report_efficiency(base, r, base->cg_seconds, r->cg_seconds));
  }
  if (!isnan(r->pagerank_seconds)) {
    bench_json_number(json, "pagerank_iteration_seconds", r->pagerank_seconds);
    bench_json_number(json, "pagerank_efficiency",
                      report_efficiency(base, r, base->pagerank_seconds, r->pagerank_seconds));
    bench_json_number(json, "pagerank_total", r->pagerank_total);
  }
  bench_json_number(json, "create_seconds", r->create_seconds);
  bench_json_number(json, "create_products", r->create_seconds / r->product.median);
  bench_json_number(json, "make_seconds", r->make_seconds);
  bench_json_integer(json, "device_bytes", r->device_bytes);
  bench_json_number(json, "gpu_used_bytes", r->used_bytes);
  bench_json_integer(json, "verified", r->wrong == 0);
  bench_json_integer(json, "rows_outside_bound", r->wrong);
  bench_json_number(json, "error_in_bounds", r->error);
  bench_json_text(json, "about", r->about);
  bench_json_close(json, '}');
}

/* Writes the report; `command` and `failed` ranks refer to the whole run. */
static void report_write(const report *all, const dist_options *o, const char *command,
                         int failed) {
  bench_json json;
  char date[64] = "";
  time_t now = time(NULL);
  struct tm utc;
  int i;
  if (gmtime_r(&now, &utc) != NULL) {
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  }
  bench_json_begin(&json, o->json);
  bench_json_text(&json, "program", "dist_bench");
  bench_json_text(&json, "merbit", merbit_version());
  bench_json_text(&json, "date", date);
  bench_json_text(&json, "commit", o->commit != NULL ? o->commit : "");
  bench_json_text(&json, "command", command);
  bench_json_text(&json, "device", all->device);
  bench_json_integer(&json, "compute_capability", all->capability);
  bench_json_integer(&json, "driver", all->driver);
  bench_json_text(&json, "exchange",
                  o->exchange == DIST_EXCHANGE_NCCL ? "nccl" : "shared memory");
  bench_json_integer(&json, "nccl_version", all->nccl);
  bench_json_integer(&json, "gpus", o->gpus);
  bench_json_text(&json, "NCCL_NVLS_ENABLE",
                  getenv("NCCL_NVLS_ENABLE") != NULL ? getenv("NCCL_NVLS_ENABLE") : "");
  bench_json_open(&json, "results", '[');
  for (i = 0; i < all->count; i++) {
    report_json(all, &all->results[i], &json);
  }
  bench_json_close(&json, ']');
  bench_json_integer(&json, "failed", failed);
  bench_json_end(&json);
}

#endif
