/* The command line. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H
#include "catalogue.h"

#define BENCH_SIGMAS 42
#define BENCH_COUNTS 8
#define BENCH_MOST_ROUNDS 101

typedef struct bench_options {
  const char *methods, *json, *write;
  const char *rivals;         /* file with other programs' times; or NULL */
  const char *solve, *system; /* NULL: products are measured; the usual systems are solved */
  const char
      *preconditioner; /* kinds, separated by commas; NULL: preconditioners are not compared */
  const char *product; /* methods for solvers and ranks, separated by commas */
  double tolerance;    /* of solvers; 0: their default */
  int max_iterations;
  /* Fixed numbers of iterations for solvers and ranks, whether they converge or not. If there
   * are none, they run until they converge. */
  int iterations[BENCH_COUNTS], iteration_counts;
  int single, full; /* precisions asked for */
  int sigmas[BENCH_SIGMAS], sigma_count;
  int omega;          /* for MERBIT; 0: the library's choice */
  const char *tuning; /* for the other methods; NULL: the library's choice */
  int values;         /* one of bench_value_kinds */
  int vectors;        /* number of vectors in products with several */
  int block_threads;  /* for merbit's products; 0: the library's choice */
  int rounds, threads;
  int numa, bind; /* 1: matrix parts on memory nodes; threads bound to processors */
  merbit_side side;
  const char *startup; /* hidden option: the child process of the start-up measurement */
  const char *const *inputs;
  int input_count;
} bench_options;

/* Matrices of every class with 50M nonzeros or more, which together take ten minutes. */
static const char *const bench_gpu_inputs[] = {
    "gen:road:57.5M",          "gen:kmer:60M",    "gen:star:64M",        "gen:rmat:65.2M",
    "gen:rmat-permuted:65.2M", "gen:web:143.5M",  "gen:stencil27:79.5M", "gen:fem:60M",
    "gen:band5:60M",           "gen:circuit:60M", "gen:lp:60M",          "gen:uniform:60M"};
static const char *const bench_solve_inputs_usual[] = {
    "gen:road:57.5M",          "gen:kmer:60M",   "gen:star:64M",   "gen:rmat:65.2M",
    "gen:rmat-permuted:65.2M", "gen:web:143.5M", "gen:uniform:60M"};
static const char *const bench_cpu_inputs[] = {
    "gen:onerow:5M", "gen:road:5M",    "gen:rmat:5M",     "gen:star:5M",
    "gen:short:5M",  "gen:uniform:5M", "gen:stencil27:5M"};

static void bench_help(void) {
  int i;
  (void)fputs("Time merbit's products against cuSPARSE's on the same arrays, verified.\n"
              "  bench [options] INPUT...\n"
              "INPUT: a Matrix Market file, a raw .csr dump, or gen:NAME:NNZ[:SEED] (NNZ as "
              "60M; SEED 1):\n",
              stdout);
  for (i = 0; i < BENCH_GENERATORS; i++) {
    (void)printf("  %-18s %s\n", bench_generators[i].name, bench_generators[i].about);
  }
  (void)fputs(
      "  meshBxB            27-point stencil, B unknowns per node: dense B x B blocks\n"
      "  blocksRxC          dense R x C blocks, most near the diagonal, some at random\n"
      "  looseRxC           dense R x C blocks at random\n"
      "  bsr004             dense 5 x 5 blocks at one in twenty block positions\n"
      "  bsrband            as many 5 x 5 blocks in a band around the diagonal\n"
      "  denseRxC           a dense matrix of R rows and C columns; gen:denseRxC, without "
      "NNZ\n",
      stdout);
  (void)fputs(
      "Without INPUT: a default set. Options:\n"
      "  --precision LIST  of f32 and f64; both by default\n"
      "  --methods LIST    names, or beginnings of names up to a '-'; by default all,\n"
      "                    except those below that run only if named.\n"
      "                    GPU: auto, light (auto for one product), scan, merge, rows,\n"
      "                    sliced, binned, hubs, bsr, bsr-csr (extracts blocks from a CSR), "
      "cb;\n"
      "                    if named, variants tune-bsr-...,\n"
      "                    tune-merge-rN (chunks per block), -sN (steps), -tN (threads);\n"
      "                    if named, bsr-found (searches for the block shape), bsr-rowmajor,\n"
      "                    bsr-private, bsr-team, bsr-vector,\n"
      "                    each of these four with 32 to 1024 threads and 1 to 16 waves,\n"
      "                    sweep-bsr-rowmajor, ... sweep-bsr-vector;\n"
      "                    if named, CB with other limits: cb-listed, cb-plain, cb-coo "
      "(columns\n"
      "                    not aggregated, all blocks COO), cb-coo20, cb-dense64, "
      "cb-dense200,\n"
      "                    cb-s64, cb-s256, in blocks of 8 warps cb-t256, cb-balanced (by the\n"
      "                    paper's queue), cb-coo-balanced; if cb is named, the nonzeros of\n"
      "                    its blocks are counted too;\n"
      "                    if named, the plain kernels of a report: warp-rows, warp-loop,\n"
      "                    warp-tiled, nonzero-split, path-walk, and path-global, whose "
      "threads\n"
      "                    walk in global memory, with variants tune-loop-...,\n"
      "                    tune-tiled-..., tune-split-..., tune-path-...;\n"
      "                    if named, rcm, degree: auto on the reordered matrix;\n"
      "                    if named, types, with f64: f16, bf16, f32 in f64, c64 and c128,\n"
      "                    complex ones beside cuSPARSE's CSR and COO;\n"
      "                    if named, products over semirings: minplus-auto, -scan, -merge,\n"
      "                    -rows, maxtimes-scan, orand-scan, -merge, custom-scan, -merge "
      "(plus\n"
      "                    and times as the user's operators);\n"
      "                    if named, products with an epilogue: dot (a dot product), rank\n"
      "                    (PageRank's update);\n"
      "                    if named, transpose: auto with MERBIT_OPERATION_T, beside "
      "cuSPARSE's\n"
      "                    CSR with its own (cusparse-csr-alg1-t, cusparse-csr-alg2-t);\n"
      "                    if named, many-N (N row-major vectors; --vectors sets N),\n"
      "                    many-N-columns, variants -u4, -s2, -t128, -t512, -u4-t128, beside\n"
      "                    cusparse-spmm-N, cusparse-spmm-N-alg2, cusparse-spmm-N-columns;\n"
      "                    merbit-sN, merbit-dual-sN (N is sigma; with the dual-buffer "
      "commit);\n"
      "                    every cuSPARSE is measured, unless some are named:\n"
      "                    cusparse-csr-alg1, ... cusparse-coo-alg2, cusparse-op-alg1, -alg2\n"
      "                    (SpMVOp), cusparse-sell-32, cusparse-bsr, cusparse-bsrmv (blocks\n"
      "                    that move the fewest bytes), cusparse-bsr-4, ... of 2, 4, 8 and 16\n"
      "                    CPU: auto, merge, sorted, bsr, reference, if named rcm, degree and\n"
      "                    symmetric, beside static (OpenMP loop over rows); if named, on the\n"
      "                    matrix as blocks, the schedules of a report: bsr-rows, bsr-naive,\n"
      "                    bsr-split, bsr-maximum, bsr-fixed, bsr-preprocessed (the same as "
      "bsr)\n"
      "  --values KIND     general (default), or generated: equal (all 1), row or column\n"
      "                    (one value for each), few (200 different ones), half (exact in "
      "f16)\n"
      "  --vectors N       vectors of many-N, 2 to 64; 8 by default\n"
      "  --solve LIST      of pagerank, cg and bicgstab: solve instead, from end to end, "
      "beside the\n"
      "                    best loop over cuSPARSE's CSR and COO with fused vector kernels\n"
      "  --system LIST     for --solve: spd (dominant diagonal; --values equal: -1 off "
      "it),\n"
      "                    ones (of the undirected graph), flow (not symmetric), given; by\n"
      "                    default spd for cg, ones and flow for bicgstab\n"
      "  --preconditioner LIST for --solve of cg, bicgstab and gmres, on either side, "
      "end to end\n"
      "                    with each of none, jacobi, block-jacobi, chebyshev, fsai, amg, "
      "amg-single,\n"
      "                    until 1e-8, and by name cusparse-amg, CG with AMG's cycle over "
      "cuSPARSE.\n"
      "                    A file's matrix is solved unchanged; --system takes one name.\n"
      "                    INPUT is pde:NAME:SIDE as well: poisson2d, poisson3d, poisson27, "
      "weak2d,\n"
      "                    weak3d, weak3d2 (anisotropic), cells, random2d, random3d (jumps), "
      "elastic,\n"
      "                    streets, convection2d, convection3d (not symmetric)\n"
      "  --product LIST    for --solve: methods of the products, auto by default; PageRank\n"
      "                    with another method is not accelerated\n"
      "  --iterations LIST for --solve: fixed numbers of iterations, as 50,100; PageRank by "
      "the\n"
      "                    plain power method\n"
      "  --tolerance T     of solvers on ||b - A x|| / ||b||; 1e-10, in f32 1e-5, by default\n"
      "  --max-iterations N of solvers; 2000 by default, of PageRank 1000\n"
      "  --sigma LIST      of merbit's steps per lane, as 7,14 or 1-42; 7,14,28 by default\n"
      "  --omega N         of merbit's lanes per tile; 32 by default\n"
      "  --tuning TEXT     sizes of scan, merge, ... cb as plan_desc.tuning takes them, as\n"
      "                    \"steps=8\", and of the schedules of blocks on the CPU (chunks=8, "
      "of\n"
      "                    a thread); methods without these names are left out\n"
      "  --block-threads N of merbit's products; the library's choice by default\n"
      "  --repeat N        rounds of measuring, 3 to 101; 15 by default\n"
      "  --side SIDE       auto (default), cuda or cpu\n"
      "  --threads N       CPU threads; all by default\n"
      "  --bind            bind CPU threads to processors (context_desc.bind_threads)\n"
      "  --numa            put parts of the matrix on their threads' memory nodes "
      "(plan_desc.numa)\n"
      "  --json FILE       write every figure to FILE\n"
      "  --rivals FILE     times of other programs on the same matrices, as rows of the "
      "tables\n"
      "                    and rivals of the speed-ups. A line: matrix (the name that its "
      "table\n"
      "                    has), f32 or f64, plain (A x) or general, rival, microseconds,\n"
      "                    separated by tabs; # begins a comment\n"
      "  --write FILE      measure nothing: write the INPUT, or the system that --system "
      "makes of\n"
      "                    it, as a Matrix Market file, on which other programs can be timed "
      "for\n"
      "                    --rivals\n"
      "Times are medians over the rounds of batches of 10 ms between CUDA events (50 ms on "
      "the\n"
      "CPU), with quartiles; -ab is alpha A x + beta y, the others A x. speedup: over the "
      "best\n"
      "verified rival of the kind. %limit: of the least time, which is the larger of bytes\n"
      "over copy bandwidth and nonzeros over the rate of random gathers from a vector of x's\n"
      "size; bytes are the plan's streams once, for cuSPARSE those of CSR (CPU: those of CSR, "
      "at\n"
      "the rate of a plain sum by all threads). plan: with cubins from\n"
      "the cache (cuSPARSE: its preprocess), cold: with an empty cache. payback: products "
      "after\n"
      "which plan and products take no longer than cuSPARSE's preprocess and products.\n"
      "own/CSR: memory of the plan's, or the format's, own arrays over that of a CSR, which\n"
      "SCAN, ROWS, HUBS and MERBIT read beside. conv: making blocks of a CSR on the GPU, in\n"
      "milliseconds and in products (bsr-csr: its whole plan; cuSPARSE: csr2bsr alone).\n"
      "merbit-tile-sN is the kernel that builds a plan's tiles, compared with its product.\n"
      "GFLOP/s: two for each nonzero, without those of alpha and beta.\n"
      "--solve: medians of 3 runs (--repeat). prep: plan or preprocessing, vectors, "
      "recording;\n"
      "total: with the iterations; whole: with the transpose of a graph too; limit: bytes of\n"
      "merbit's plan and vectors over copy bandwidth; looks: convergence checks per 100 "
      "iterations.\n"
      "PageRank in f64 ends with the first iteration whose ERR is below 1e-10.\n"
      "MERBIT_BENCH_CUSPARSE names the libcusparse to open where it is not found.\n",
      stdout);
}

/* Reads a whole number from `low` to `high`. */
static int bench_option_integer(const char *option, const char *text, int low, int high) {
  char *end = NULL;
  const long value = strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < low || value > high) {
    bench_die("%s %s: give a whole number from %d to %d", option, text, low, high);
  }
  return (int)value;
}

static void bench_option_precision(bench_options *o, const char *text) {
  o->single =
      strcmp(text, "f32") == 0 || strcmp(text, "f32,f64") == 0 || strcmp(text, "f64,f32") == 0;
  o->full = strcmp(text, "f32") != 0;
  if (!o->single && strcmp(text, "f64") != 0) {
    bench_die("--precision %s: give f32, f64 or f32,f64", text);
  }
}

static void bench_option_sigma(bench_options *o, const char *text) {
  char copy[256], *rest = NULL, *part;
  (void)snprintf(copy, sizeof copy, "%s", text);
  o->sigma_count = 0;
  for (part = strtok_r(copy, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
    char *const dash = strchr(part, '-');
    int sigma, last;
    if (dash != NULL) {
      *dash = '\0';
    }
    sigma = bench_option_integer("--sigma", part, 1, 64);
    last = dash != NULL ? bench_option_integer("--sigma", dash + 1, sigma, 64) : sigma;
    for (; sigma <= last; sigma++) {
      if (o->sigma_count == BENCH_SIGMAS) {
        bench_die("--sigma %s: give at most %d values", text, BENCH_SIGMAS);
      }
      o->sigmas[o->sigma_count++] = sigma;
    }
  }
}

static void bench_option_iterations(bench_options *o, const char *text) {
  char copy[256], *rest = NULL, *part;
  (void)snprintf(copy, sizeof copy, "%s", text);
  o->iteration_counts = 0;
  for (part = strtok_r(copy, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
    if (o->iteration_counts == BENCH_COUNTS) {
      bench_die("--iterations %s: give at most %d numbers", text, BENCH_COUNTS);
    }
    o->iterations[o->iteration_counts++] =
        bench_option_integer("--iterations", part, 1, 1000000);
  }
}

static void bench_option_values(bench_options *o, const char *text) {
  for (o->values = 0; o->values < BENCH_VALUES_KINDS; o->values++) {
    if (strcmp(text, bench_value_kinds[o->values]) == 0) {
      return;
    }
  }
  bench_die("--values %s: give general, equal, row, column, few or half", text);
}

static void bench_option_side(bench_options *o, const char *text) {
  o->side = strcmp(text, "cpu") == 0    ? MERBIT_SIDE_CPU
            : strcmp(text, "cuda") == 0 ? MERBIT_SIDE_CUDA
                                        : MERBIT_SIDE_AUTO;
  if (o->side == MERBIT_SIDE_AUTO && strcmp(text, "auto") != 0) {
    bench_die("--side %s: give auto, cuda or cpu", text);
  }
}

/* Sets defaults and checks combinations. With --solve the default precision is f64, for ranks
 * alone also f32. */
static void bench_settle(bench_options *o) {
  if (o->rounds == 0) {
    o->rounds = o->solve != NULL ? 3 : 15;
  }
  if (!o->single && !o->full) {
    o->full = 1;
    o->single = o->solve == NULL || strcmp(o->solve, "pagerank") == 0;
  }
  if (o->preconditioner != NULL && o->solve == NULL) {
    bench_die("--preconditioner %s: give --solve with cg, bicgstab or gmres, too",
              o->preconditioner);
  }
  if (o->solve != NULL && o->side == MERBIT_SIDE_CPU && o->preconditioner == NULL) {
    bench_die("--solve compares on the GPU; leave out --side cpu");
  }
  if (o->iteration_counts > 0 && o->max_iterations > 0) {
    bench_die("--iterations %d and --max-iterations %d: give one of them", o->iterations[0],
              o->max_iterations);
  }
  if (o->solve == NULL && (o->iteration_counts > 0 || strcmp(o->product, "auto") != 0)) {
    bench_die("--iterations and --product are for --solve");
  }
}

static void bench_option(bench_options *o, const char *option, const char *value) {
  if (strcmp(option, "--precision") == 0) {
    bench_option_precision(o, value);
  } else if (strcmp(option, "--methods") == 0) {
    o->methods = value;
  } else if (strcmp(option, "--sigma") == 0) {
    bench_option_sigma(o, value);
  } else if (strcmp(option, "--omega") == 0) {
    o->omega = bench_option_integer(option, value, 8, 32);
  } else if (strcmp(option, "--tuning") == 0) {
    o->tuning = value;
  } else if (strcmp(option, "--values") == 0) {
    bench_option_values(o, value);
  } else if (strcmp(option, "--block-threads") == 0) {
    o->block_threads = bench_option_integer(option, value, 32, 1024);
  } else if (strcmp(option, "--vectors") == 0) {
    o->vectors = bench_option_integer(option, value, 2, 64);
  } else if (strcmp(option, "--repeat") == 0) {
    o->rounds = bench_option_integer(option, value, 3, BENCH_MOST_ROUNDS);
  } else if (strcmp(option, "--side") == 0) {
    bench_option_side(o, value);
  } else if (strcmp(option, "--threads") == 0) {
    o->threads = bench_option_integer(option, value, 1, 1024);
  } else if (strcmp(option, "--json") == 0) {
    o->json = value;
  } else if (strcmp(option, "--rivals") == 0) {
    o->rivals = value;
  } else if (strcmp(option, "--write") == 0) {
    o->write = value;
  } else if (strcmp(option, "--solve") == 0) {
    o->solve = value;
  } else if (strcmp(option, "--system") == 0) {
    o->system = value;
  } else if (strcmp(option, "--preconditioner") == 0) {
    o->preconditioner = value;
  } else if (strcmp(option, "--product") == 0) {
    o->product = value;
  } else if (strcmp(option, "--iterations") == 0) {
    bench_option_iterations(o, value);
  } else if (strcmp(option, "--max-iterations") == 0) {
    o->max_iterations = bench_option_integer(option, value, 1, 1000000);
  } else if (strcmp(option, "--tolerance") == 0) {
    o->tolerance = strtod(value, NULL);
    if (!(o->tolerance > 0 && o->tolerance < 1)) {
      bench_die("--tolerance %s: give a number between 0 and 1", value);
    }
  } else if (strcmp(option, "--startup") == 0) {
    o->startup = value;
  } else {
    bench_die("there is no option %s; bench --help lists them", option);
  }
}

/* Parses the command line. Options may be anywhere. The other arguments, which are moved to the
 * front of argv, are the inputs. */
static void bench_parse(bench_options *o, int argc, char **argv) {
  int i, inputs = 0;
  memset(o, 0, sizeof *o);
  o->methods = "all";
  o->sigmas[0] = 7;
  o->sigmas[1] = 14;
  o->sigmas[2] = 28;
  o->sigma_count = 3;
  o->vectors = 8;
  o->product = "auto";
  for (i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      bench_help();
      exit(0);
    }
    if (strncmp(argv[i], "--", 2) != 0) {
      argv[1 + inputs++] = argv[i];
    } else if (strcmp(argv[i], "--numa") == 0) {
      o->numa = 1;
    } else if (strcmp(argv[i], "--bind") == 0) {
      o->bind = 1;
    } else if (i + 1 == argc) {
      bench_die("%s: a value must follow, if it is an option; see bench --help", argv[i]);
    } else {
      bench_option(o, argv[i], argv[i + 1]);
      i++;
    }
  }
  bench_settle(o);
  o->inputs = (const char *const *)(argv + 1);
  o->input_count = inputs;
  if (o->write != NULL && inputs != 1) {
    bench_die("--write %s: give one INPUT, not %d", o->write, inputs);
  }
}

#endif
