/* The CSR kernels that exist only for comparison, if --methods names them. */
#ifndef BENCH_STUDY_PLANS_H
#define BENCH_STUDY_PLANS_H
#include "plans.h"

/* Adds a report's kernels in their original form (a warp per row, the warp loop, tiles of x,
 * the nonzero split, and the merge path that threads walk in shared or in global memory) and
 * with other sizes. */
static void bench_add_study_plans(bench_bench *b) {
  static const struct {
    const char *name;
    merbit_method method;
    const char *tuning;
    int threads;
  } list[] = {{"warp-rows", MERBIT_METHOD_ROWS, "lanes=32", 0},
              {"warp-loop", MERBIT_METHOD_WARP_LOOP, NULL, 0},
              {"warp-tiled", MERBIT_METHOD_WARP_TILED, NULL, 0},
              {"nonzero-split", MERBIT_METHOD_NONZERO_SPLIT, NULL, 0},
              {"path-walk", MERBIT_METHOD_PATH_WALK, NULL, 0},
              {"path-global", MERBIT_METHOD_PATH_GLOBAL, NULL, 0},
              {"tune-loop-l4", MERBIT_METHOD_WARP_LOOP, "lanes=4", 0},
              {"tune-loop-l4-r8", MERBIT_METHOD_WARP_LOOP, "rows=8 lanes=4", 0},
              {"tune-loop-r8", MERBIT_METHOD_WARP_LOOP, "rows=8", 0},
              {"tune-tiled-r4", MERBIT_METHOD_WARP_TILED, "rows=4", 512},
              {"tune-tiled-w4096-r4", MERBIT_METHOD_WARP_TILED, "columns=4096 rows=4", 1024},
              {"tune-split-s11", MERBIT_METHOD_NONZERO_SPLIT, "steps=11", 0},
              {"tune-split-t128", MERBIT_METHOD_NONZERO_SPLIT, NULL, 128},
              {"tune-path-s11", MERBIT_METHOD_PATH_WALK, "steps=11", 0},
              {"tune-path-t128", MERBIT_METHOD_PATH_WALK, NULL, 128},
              {"tune-global-s32", MERBIT_METHOD_PATH_GLOBAL, "steps=32", 0},
              {"tune-global-s256", MERBIT_METHOD_PATH_GLOBAL, "steps=256", 0}};
  size_t i;
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    bench_request request;
    memset(&request, 0, sizeof request);
    request.name = list[i].name;
    request.desc.method = list[i].method;
    request.desc.tuning = list[i].tuning;
    request.desc.block_threads =
        list[i].threads != 0 ? list[i].threads : b->lab->options->block_threads;
    request.desc.unchecked = 1;
    if (strcmp(b->lab->options->methods, "all") != 0) {
      bench_add_products(b, &request);
    }
  }
}

#endif
