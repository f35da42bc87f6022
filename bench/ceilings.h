/* The GPU's limits, measured in the same run as the products: bytes copied and values gathered
 * per second. They give a lower bound for the time of a product. */
#ifndef BENCH_CEILINGS_H
#define BENCH_CEILINGS_H
#include "driver.h"
#include "json.h"

#define BENCH_GATHER_SMALLEST 16 /* vectors have 2^16 bytes, which every L1 holds, to 2^30 */
#define BENCH_GATHER_LARGEST 30
#define BENCH_GATHER_SIZES (BENCH_GATHER_LARGEST - BENCH_GATHER_SMALLEST + 1)

typedef struct bench_ceilings { /* 0: not measured */
  double copy;                  /* bytes read and written per second */
  /* values of 8 and of 4 bytes per second, for vectors of 2^16, 2^17, ... bytes */
  double gather[2][BENCH_GATHER_SIZES];
} bench_ceilings;

/* ---- Copying ----------------------------------------------------------------------------- */

#define BENCH_COPY_BYTES ((uint64_t)4 << 30)
#define BENCH_COPY_PATTERN ((uint64_t)64 << 20)

typedef struct bench_copy {
  bench_gpu *gpu;
  mbi_devptr source, target;
  uint64_t bytes;
} bench_copy;

static void bench_copy_enqueue(bench_case *self) {
  bench_copy *copy = (bench_copy *)self->object;
  bench_gpu_check(copy->gpu,
                  copy->gpu->driver.copy_async(copy->target, copy->source, (size_t)copy->bytes,
                                               copy->gpu->stream),
                  "cuMemcpyDtoDAsync");
}

/* Fills the source with random bytes, because constant ones might move faster. */
static void bench_copy_prepare(bench_copy *copy) {
  bench_gpu *gpu = copy->gpu;
  uint64_t *pattern = (uint64_t *)bench_allocate((int64_t)BENCH_COPY_PATTERN / 8, 8), i;
  for (i = 0; i < BENCH_COPY_PATTERN / 8; i++) {
    pattern[i] = bench_random(1, i);
  }
  bench_merbit_check(gpu->context, mbi_device_upload(gpu->context, copy->source, pattern,
                                                     (size_t)BENCH_COPY_PATTERN));
  for (i = BENCH_COPY_PATTERN; i < copy->bytes; i += BENCH_COPY_PATTERN) {
    bench_gpu_check(gpu,
                    gpu->driver.copy_async(copy->source + i, copy->source,
                                           (size_t)BENCH_COPY_PATTERN, gpu->stream),
                    "cuMemcpyDtoDAsync");
  }
  bench_gpu_wait(gpu);
  free(pattern);
}

/* Measures the copy rate, bytes read plus bytes written, with the largest size that fits. */
static void bench_copy_measure(bench_gpu *gpu, bench_ceilings *ceilings) {
  bench_copy copy;
  bench_case c;
  copy.gpu = gpu;
  copy.target = 0;
  for (copy.bytes = BENCH_COPY_BYTES; copy.bytes > BENCH_COPY_PATTERN; copy.bytes /= 2) {
    if (mbi_device_allocate(gpu->context, copy.bytes, "copying", &copy.source) != MERBIT_OK) {
      continue;
    }
    if (mbi_device_allocate(gpu->context, copy.bytes, "copying", &copy.target) == MERBIT_OK) {
      break;
    }
    mbi_device_release(gpu->context, copy.source);
  }
  if (copy.target == 0) {
    return;
  }
  memset(&c, 0, sizeof c);
  (void)snprintf(c.name, sizeof c.name, "copy");
  c.object = &copy;
  c.enqueue = bench_copy_enqueue;
  bench_copy_prepare(&copy);
  bench_time(&c, 1, 11, 0.01, bench_gpu_watch, gpu);
  ceilings->copy = 2.0 * (double)copy.bytes / c.median;
  mbi_device_release(gpu->context, copy.source);
  mbi_device_release(gpu->context, copy.target);
}

/* ---- Gathering --------------------------------------------------------------------------- */

/* Every lane of a full GPU loads eight values at a time from random places of the vector. The
 * places come from a Weyl sequence and a multiplicative hash, a few instructions each, so that
 * computing them does not limit what L1 delivers. */

static const char bench_gather_source[] =
    "extern \"C\" __global__ void __launch_bounds__(512, 4)\n"
    "bench_gather(const VALUE *__restrict__ x, unsigned mask, unsigned rounds,\n"
    "             unsigned seed, VALUE *never) {\n"
    "  unsigned state = (blockIdx.x * blockDim.x + threadIdx.x + seed) * 0x85ebca6bu;\n"
    "  VALUE sum = 0;\n"
    "  state = (state ^ (state >> 16)) * 0xc2b2ae35u;\n"
    "  for (unsigned round = 0; round < rounds; round++) {\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 8; i++) {\n"
    "      unsigned place = state + (unsigned)i * 0x9e3779b9u;\n"
    "      place = (place ^ (place >> 15)) * 0x2c1b3c6du;\n"
    "      sum += x[(place ^ (place >> 13)) & mask];\n"
    "    }\n"
    "    state += 8u * 0x9e3779b9u;\n"
    "  }\n"
    "  if (sum == (VALUE)0x12345) {\n" /* never true, as x is all zero; keeps the loads */
    "    *never = sum;\n"
    "  }\n"
    "}\n";

#define BENCH_GATHER_THREADS 512
#define BENCH_GATHER_TOTAL ((int64_t)1 << 28) /* values per launch */

typedef struct bench_gather {
  bench_gpu *gpu;
  void *function;
  mbi_devptr x, never;
  uint32_t mask, rounds, seed;
  int blocks;
} bench_gather;

static void bench_gather_enqueue(bench_case *self) {
  bench_gather *g = (bench_gather *)self->object;
  void *arguments[5];
  g->seed += 0x10000001u; /* new places: caches may hold the last launch's */
  arguments[0] = &g->x;
  arguments[1] = &g->mask;
  arguments[2] = &g->rounds;
  arguments[3] = &g->seed;
  arguments[4] = &g->never;
  bench_launch(g->gpu, g->function, "bench_gather", g->blocks, BENCH_GATHER_THREADS, 0,
               arguments);
}

/* Compiles and loads the kernel for values of 4 or 8 bytes with merbit's NVRTC. */
static merbit_status bench_gather_load(merbit_context *context, int single, void **module,
                                       void **function) {
  static const char name[] = "bench_gather.cu";
  const mbi_nvrtc *nvrtc = &context->device.nvrtc;
  mbi_preamble preamble;
  mbi_target target;
  char text[2048];
  void *program = NULL, *image = NULL;
  size_t size = 0;
  merbit_status status;
  memset(&preamble, 0, sizeof preamble);
  (void)snprintf(text, sizeof text, "#define VALUE %s\n%s",
                 single ? "unsigned" : "unsigned long long", bench_gather_source);
  status =
      mbi_target_choose(context, name, &preamble, context->device.compute_capability, &target);
  if (status == MERBIT_OK) {
    status =
        mbi_nvrtc_check(context, nvrtc->create_program(&program, text, name, 0, NULL, NULL),
                        "nvrtcCreateProgram", name);
  }
  if (status == MERBIT_OK) {
    status = mbi_nvrtc_run(context, program, name, &preamble, &target, &image, &size);
    (void)nvrtc->destroy_program(&program);
  }
  if (status == MERBIT_OK && module != NULL) { /* NULL: only test whether it compiles */
    status = mbi_device_check(context, context->device.driver.module_load_data(module, image),
                              "cuModuleLoadData", name);
  }
  if (status == MERBIT_OK && module != NULL) {
    status = mbi_device_check(
        context, context->device.driver.module_get_function(function, *module, "bench_gather"),
        "cuModuleGetFunction", name);
  }
  mbi_release(context, image);
  return status;
}

/* Measures gathers of one value type. A rate stays 0 if the GPU lacks memory for its size; all
 * do if the kernel cannot be compiled. */
static void bench_gather_measure_type(bench_gpu *gpu, int single, mbi_devptr x, int largest,
                                      bench_ceilings *ceilings) {
  const int64_t size = single ? 4 : 8;
  bench_gather g;
  bench_case c;
  void *module = NULL;
  int bits;
  memset(&g, 0, sizeof g);
  memset(&c, 0, sizeof c);
  g.gpu = gpu;
  g.x = g.never = x;
  if (bench_gather_load(gpu->context, single, &module, &g.function) != MERBIT_OK) {
    char message[MERBIT_MESSAGE_SIZE];
    (void)merbit_last_error(gpu->context, message, sizeof message);
    (void)printf("gathers are not measured: %.160s\n", message);
    return;
  }
  /* The grid has as many threads as the GPU holds at once. */
  g.blocks = gpu->context->device.multiprocessors * (2048 / BENCH_GATHER_THREADS);
  g.rounds =
      (uint32_t)(BENCH_GATHER_TOTAL / ((int64_t)g.blocks * BENCH_GATHER_THREADS * 8) + 1);
  (void)snprintf(c.name, sizeof c.name, "gather");
  c.object = &g;
  c.enqueue = bench_gather_enqueue;
  for (bits = BENCH_GATHER_SMALLEST; bits <= largest; bits++) {
    g.mask = (uint32_t)(((int64_t)1 << bits) / size - 1);
    bench_time(&c, 1, 5, 0.004, bench_gpu_watch, gpu);
    ceilings->gather[single][bits - BENCH_GATHER_SMALLEST] =
        (double)g.rounds * 8.0 * BENCH_GATHER_THREADS * g.blocks / c.median;
  }
  (void)gpu->context->device.driver.module_unload(module);
}

static void bench_gather_measure(bench_gpu *gpu, bench_ceilings *ceilings) {
  mbi_devptr x = 0;
  int largest = BENCH_GATHER_LARGEST;
  while (mbi_device_allocate(gpu->context, (uint64_t)1 << largest, "gathering", &x) !=
         MERBIT_OK) {
    if (--largest < BENCH_GATHER_SMALLEST) {
      return;
    }
  }
  bench_gpu_fill(gpu, x, 0, (size_t)1 << largest);
  bench_gpu_wait(gpu);
  bench_gather_measure_type(gpu, 0, x, largest, ceilings);
  bench_gather_measure_type(gpu, 1, x, largest, ceilings);
  mbi_device_release(gpu->context, x);
}

/* ---- The limit --------------------------------------------------------------------------- */

/* Returns the values per second for a vector of `bytes` bytes, interpolated between the
 * measured sizes: the logarithm of the rate is linear in the logarithm of the size. */
static double bench_gather_rate(const bench_ceilings *ceilings, int single, double bytes) {
  const double *rates = ceilings->gather[single];
  double at = (bytes > 1 ? log2(bytes) : 0.0) - BENCH_GATHER_SMALLEST;
  int below;
  at = at < 0 ? 0 : at > BENCH_GATHER_SIZES - 1 ? BENCH_GATHER_SIZES - 1 : at;
  below = at >= BENCH_GATHER_SIZES - 1 ? BENCH_GATHER_SIZES - 2 : (int)at;
  while (below > 0 && rates[below + 1] <= 0) {
    below--;
    at = below + 1;
  }
  if (rates[below] <= 0 || rates[below + 1] <= 0) {
    return rates[0];
  }
  return rates[below] * pow(rates[below + 1] / rates[below], at - below);
}

/* Returns a lower bound for the seconds of a product: its bytes at copy speed, or its gathers
 * of x at the rate of random ones from a vector of that size. 0 means unknown. */
static double bench_limit(const bench_ceilings *ceilings, const bench_problem *p,
                          double bytes) {
  const double gathers =
      bench_gather_rate(ceilings, p->single, (double)p->m->cols * (double)p->size);
  const double moving = ceilings->copy > 0 ? bytes / ceilings->copy : 0;
  const double gathering = gathers > 0 ? (double)p->m->nnz / gathers : 0;
  return moving > gathering ? moving : gathering;
}

static void bench_ceilings_report(const bench_ceilings *ceilings, bench_json *json) {
  int single, i;
  (void)printf("copy bandwidth %.2f TB/s, read and written\n", 1e-12 * ceilings->copy);
  bench_json_open(json, "ceilings", '{');
  bench_json_number(json, "copy_bytes_per_second", ceilings->copy);
  bench_json_open(json, "gathers", '[');
  for (single = 1; single >= 0; single--) {
    if (ceilings->gather[single][0] <= 0) {
      continue; /* not measured */
    }
    (void)printf("random gathers of %d bytes, 1e9/s, by size of the vector:", single ? 4 : 8);
    for (i = 0; i < BENCH_GATHER_SIZES; i++) {
      const double size = ldexp(1.0, i + BENCH_GATHER_SMALLEST);
      if (ceilings->gather[single][i] > 0) {
        (void)printf(size < 1048576.0 ? "%s %.0fK %.0f" : "%s %.0fM %.0f", i > 0 ? "," : "",
                     size < 1048576.0 ? size / 1024.0 : size / 1048576.0,
                     1e-9 * ceilings->gather[single][i]);
        bench_json_open(json, NULL, '{');
        bench_json_integer(json, "value_bytes", single ? 4 : 8);
        bench_json_number(json, "vector_bytes", size);
        bench_json_number(json, "per_second", ceilings->gather[single][i]);
        bench_json_close(json, '}');
      }
    }
    (void)putchar('\n');
  }
  bench_json_close(json, ']');
  bench_json_close(json, '}');
}

#endif
