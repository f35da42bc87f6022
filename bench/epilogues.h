/* Products with epilogues, to be compared with those without on the same arrays. They are
 * measured only if --methods names them. Their results are chosen so that y is A x. */
#ifndef BENCH_EPILOGUES_H
#define BENCH_EPILOGUES_H
#include "plans.h"

static struct { /* of the current problem */
  mbi_devptr vectors[2], scalars, sums;
} bench_beside;

static void bench_epilogue_enqueue(bench_case *self) {
  bench_ours *o = (bench_ours *)self->object;
  const void *vectors[2];
  vectors[0] = mbi_device_pointer(bench_beside.vectors[0]);
  vectors[1] = mbi_device_pointer(bench_beside.vectors[1]);
  bench_merbit_check(
      o->gpu->context,
      merbit_spmv_epilogue(
          o->plan, NULL, mbi_device_pointer(o->arrays->x), mbi_device_pointer(o->arrays->y),
          vectors, (const double *)mbi_device_pointer(bench_beside.scalars),
          (double *)mbi_device_pointer(bench_beside.sums), NULL, o->gpu->stream));
}

static void bench_beside_create(bench_bench *b) {
  static const double scalars[2] = {1, 0};
  const bench_problem *p = b->arrays.problem;
  merbit_context *context = b->lab->gpu.context;
  void *ones = bench_allocate(p->m->rows, p->size);
  int64_t i;
  int v;
  for (i = 0; i < p->m->rows; i++) {
    if (p->single) {
      ((float *)ones)[i] = 1;
    } else {
      ((double *)ones)[i] = 1;
    }
  }
  for (v = 0; v < 2; v++) {
    bench_beside.vectors[v] = bench_gpu_copy_of(&b->lab->gpu, ones, p->m->rows, p->size);
  }
  bench_beside.scalars = bench_gpu_allocate(&b->lab->gpu, 2, sizeof(double));
  bench_beside.sums = bench_gpu_allocate(&b->lab->gpu, 2, sizeof(double));
  bench_merbit_check(context,
                     mbi_device_upload(context, bench_beside.scalars, scalars, sizeof scalars));
  free(ones);
}

static void bench_beside_destroy(bench_bench *b) {
  merbit_context *context = b->lab->gpu.context;
  mbi_device_release(context, bench_beside.vectors[0]);
  mbi_device_release(context, bench_beside.vectors[1]);
  mbi_device_release(context, bench_beside.scalars);
  mbi_device_release(context, bench_beside.sums);
  memset(&bench_beside, 0, sizeof bench_beside);
}

/* Adds a dot product and PageRank's epilogue. */
static void bench_add_epilogues(bench_bench *b) {
  static const merbit_epilogue dot = {NULL, {"v0 * ax", NULL}, 1, 0, NULL, NULL};
  static const merbit_epilogue rank = {"(s0 * ax + s1) / abs(v1)",
                                       {"abs(s0 * ax + s1 - v0 * abs(v1))", "v1 < 0 ? y : 0"},
                                       2,
                                       2,
                                       NULL,
                                       NULL};
  static const struct {
    const char *name;
    const merbit_epilogue *epilogue;
    merbit_method method;
  } list[] = {{"dot", &dot, MERBIT_METHOD_AUTO}, {"rank", &rank, MERBIT_METHOD_AUTO}};
  size_t i;
  for (i = 0; i < sizeof list / sizeof list[0]; i++) {
    merbit_epilogue epilogue = *list[i].epilogue;
    bench_request request;
    bench_cost cost;
    bench_ours *o;
    if (strcmp(b->lab->options->methods, "all") == 0 ||
        !bench_chosen(b->lab->options->methods, list[i].name)) {
      continue;
    }
    if (bench_beside.sums == 0) {
      bench_beside_create(b);
    }
    memset(&request, 0, sizeof request);
    request.name = list[i].name;
    request.desc.method = list[i].method;
    request.desc.epilogue = &epilogue;
    o = bench_add_plan(b, &request, &cost);
    if (o != NULL) {
      (void)bench_add_ours(b, request.name, BENCH_PLAIN, bench_epilogue_enqueue, o, &cost);
    }
  }
}

#endif
