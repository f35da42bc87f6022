/* merbit's methods for dense blocks, on blocks in GPU memory. */
#ifndef BENCH_BLOCK_PLANS_H
#define BENCH_BLOCK_PLANS_H
#include "plans.h"

/* Copies the matrix to the GPU in blocks of its own shape, or in square blocks that are at
 * least half full. Returns 0 if it has neither. */
static int bench_arrays_block(bench_bench *b) {
  bench_arrays *a = &b->arrays;
  bench_gpu *gpu = &b->lab->gpu;
  const bench_problem *p = a->problem;
  bench_layout l;
  double share;
  const int side = p->m->block_rows > 0 ? 0 : bench_block_choose(p->m, p->size, &share);
  const int rows = p->m->block_rows > 0 ? p->m->block_rows : side;
  const int cols = p->m->block_rows > 0 ? p->m->block_cols : side;
  if (rows == 0 || a->blocks.block > 0) {
    return a->blocks.block > 0;
  }
  bench_blocks_create(p, rows, cols, &l);
  a->block_offsets = bench_gpu_copy_of(gpu, l.offsets, l.rows + 1, sizeof *l.offsets);
  a->block_columns = bench_gpu_copy_of(gpu, l.columns, l.entries, sizeof *l.columns);
  a->block_values = bench_gpu_copy_of(gpu, l.values, l.stored, p->size);
  a->blocks = l;
  a->blocks.offsets = a->blocks.columns = NULL;
  a->blocks.values = NULL;
  bench_layout_free(&l);
  return 1;
}

/* Returns the bytes that every product of blocks must move: the blocks, their columns and the
 * offsets of block rows, each once, and the vectors. */
static double bench_block_bytes(const bench_arrays *a, bench_kind kind) {
  const bench_problem *p = a->problem;
  return 4.0 * (double)(a->blocks.entries + a->blocks.rows + 1) +
         (double)p->size * (double)a->blocks.stored + bench_vector_bytes(p, kind);
}

static void bench_add_block_products(bench_bench *b, const bench_request *request) {
  bench_cost cost;
  bench_ours *o = bench_add_plan(b, request, &cost);
  bench_kind kind;
  for (kind = BENCH_PLAIN; o != NULL && kind <= BENCH_GENERAL; kind = (bench_kind)(kind + 1)) {
    char name[64];
    bench_case *c;
    (void)snprintf(name, sizeof name, "%s%s", request->name,
                   kind == BENCH_GENERAL ? "-ab" : "");
    c = bench_add_ours(b, name, kind, bench_ours_enqueue, o, &cost);
    c->bytes = bench_block_bytes(&b->arrays, kind);
    c->limit = b->lab->ceilings.copy > 0 ? c->bytes / b->lab->ceilings.copy : 0;
    c->convert_seconds = request->blocks ? 0 : cost.warm;
    if (kind == BENCH_PLAIN) {
      (void)printf("%s: %s\n", request->name, c->about);
    }
  }
}

/* Adds the BSR method with its own choice of constants, on given blocks and on the CSR, from
 * which it makes blocks of the same shape; and, if --methods names them: blocks of the shape
 * that it finds itself, variants with other constants (how x is loaded, blocks per tile,
 * threads), and the study kernels, each by its full name. */
static void bench_add_block_plans(bench_bench *b) {
  static const struct {
    const char *name, *asked; /* added only if --methods contains this text */
    int method;
    const char *tuning;
    int tile, threads; /* tile: in quarters of the method's own size */
    int csr;           /* 0: takes blocks; 1: makes them of this shape; 2: of any */
  } list[] = {{"bsr", "", MERBIT_METHOD_BSR, NULL, 0, 0, 0},
              {"bsr-csr", "", MERBIT_METHOD_BSR, NULL, 0, 0, 1},
              {"bsr-found", "bsr-found", MERBIT_METHOD_BSR, NULL, 0, 0, 2},
              {"tune-bsr-direct", "tune", MERBIT_METHOD_BSR, "shuffle=1", 0, 0, 0},
              {"tune-bsr-shuffle", "tune", MERBIT_METHOD_BSR, "shuffle=2", 0, 0, 0},
              {"tune-bsr-tile-half", "tune", MERBIT_METHOD_BSR, NULL, 2, 0, 0},
              {"tune-bsr-tile-2", "tune", MERBIT_METHOD_BSR, NULL, 8, 0, 0},
              {"tune-bsr-tile-4", "tune", MERBIT_METHOD_BSR, NULL, 16, 0, 0},
              {"tune-bsr-64", "tune", MERBIT_METHOD_BSR, NULL, 0, 64, 0},
              {"tune-bsr-256", "tune", MERBIT_METHOD_BSR, NULL, 0, 256, 0},
              {"bsr-rowmajor", "bsr-rowmajor", MERBIT_METHOD_BSR_ROW_MAJOR, NULL, 0, 0, 0},
              {"bsr-private", "bsr-private", MERBIT_METHOD_BSR_PRIVATE, NULL, 0, 0, 0},
              {"bsr-team", "bsr-team", MERBIT_METHOD_BSR_TEAM, NULL, 0, 0, 0},
              {"bsr-vector", "bsr-vector", MERBIT_METHOD_BSR_VECTOR, NULL, 0, 0, 0}};
  const bench_options *options = b->lab->options;
  int own = 0, together = 1;
  size_t i;
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    bench_request request;
    const int before = b->our_count;
    char blocks[32];
    if (!bench_chosen(options->methods, list[i].name) ||
        strstr(options->methods, list[i].asked) == NULL || !bench_arrays_block(b)) {
      continue;
    }
    memset(&request, 0, sizeof request);
    request.name = list[i].name;
    request.blocks = list[i].csr == 0;
    request.cold = i <= 1;
    request.desc.block_rows = list[i].csr == 1 ? b->arrays.blocks.block : 0;
    request.desc.block_cols = list[i].csr == 1 ? b->arrays.blocks.width : 0;
    request.desc.method = (merbit_method)list[i].method;
    request.desc.unchecked = 1;
    request.desc.tuning = list[i].tuning;
    request.desc.block_threads =
        list[i].threads != 0 ? list[i].threads : options->block_threads;
    if (list[i].method >= (int)MERBIT_METHOD_BSR_ROW_MAJOR) {
      request.desc.tuning = options->tuning; /* carries the number of waves */
    }
    if (list[i].tile != 0 && own > 0) {
      const int groups = own / together * list[i].tile / 4;
      (void)snprintf(blocks, sizeof blocks, "blocks=%d", (groups > 0 ? groups : 1) * together);
      request.desc.tuning = blocks;
    }
    bench_add_block_products(b, &request);
    if (i == 0 && b->our_count > before) {
      own = mbi_bsr_tiles_of(b->ours[before].plan)->slot_blocks;
      together = mbi_bsr_tiles_of(b->ours[before].plan)->together;
    }
  }
}

/* Adds the study kernels with several numbers of threads and of waves (how often their thread
 * blocks fill the GPU), as in tables 7 to 12 of Chirila's report, if --methods names
 * sweep-bsr-NAME. */
static void bench_add_block_sweeps(bench_bench *b) {
  static const char *const names[] = {"rowmajor", "private", "team", "vector"};
  static const int threads[] = {32, 64, 128, 256, 512, 1024};
  int kernel, t, waves;
  for (kernel = 0; kernel < 4; kernel++) {
    char name[48];
    (void)snprintf(name, sizeof name, "sweep-bsr-%s", names[kernel]);
    if (strstr(b->lab->options->methods, "sweep") == NULL ||
        !bench_chosen(b->lab->options->methods, name) || !bench_arrays_block(b)) {
      continue;
    }
    for (t = 0; t < 6; t++) {
      for (waves = 1; waves <= 16; waves *= 2) {
        bench_request request;
        bench_cost cost;
        bench_ours *o;
        char tuning[32];
        memset(&request, 0, sizeof request);
        (void)snprintf(name, sizeof name, "sweep-bsr-%s-t%d-w%d", names[kernel], threads[t],
                       waves);
        (void)snprintf(tuning, sizeof tuning, "waves=%d", waves);
        request.name = name;
        request.blocks = 1;
        request.desc.method = (merbit_method)(MERBIT_METHOD_BSR_ROW_MAJOR + kernel);
        request.desc.unchecked = 1;
        request.desc.tuning = tuning;
        request.desc.block_threads = threads[t];
        o = bench_add_plan(b, &request, &cost);
        if (o != NULL) {
          bench_case *c = bench_add_ours(b, name, BENCH_PLAIN, bench_ours_enqueue, o, &cost);
          c->bytes = bench_block_bytes(&b->arrays, BENCH_PLAIN);
          c->limit = b->lab->ceilings.copy > 0 ? c->bytes / b->lab->ceilings.copy : 0;
        }
      }
    }
  }
}

#endif
