/* The kernels of the loops with which merbit's solvers are compared. They do everything between
 * two cuSPARSE products in as few passes as possible. Scalars stay in a state on the GPU. A
 * kernel that computes sums stores a partial sum per thread block. The last block to finish
 * adds them in the order of blocks, so that results are reproducible, and updates the scalars.
 * The text is CUDA C with the names of merbit's own kernels (jit/device.cuh). */
#ifndef BENCH_LOOP_KERNELS_H
#define BENCH_LOOP_KERNELS_H
#include "matrix.h"

#define BENCH_LOOP_THREADS 256
#define BENCH_LOOP_RESIDENT 5 /* blocks per multiprocessor */
#define BENCH_LOOP_RUNNING (-1)
#define BENCH_LOOP_CONVERGED 0
#define BENCH_LOOP_CAP 1
#define BENCH_LOOP_BREAKDOWN 5 /* values as in merbit_stop */

typedef struct bench_loop_state { /* loop_state in the kernels */
  double alpha, beta, omega, rho;
  double rr;        /* r'r as the iteration computes it */
  double norm;      /* b'b */
  double tolerance; /* for ||r|| / ||b||, or for the L1 change of the ranks */
  double damping, base, change, vertices;
  int32_t iterations, cap, stop;
  uint32_t ticket;
} bench_loop_state;

/* The arguments of every kernel (loop_arguments in the kernels). */
typedef struct bench_loop_arguments {
  mbi_devptr x, r, p, q; /* iterate, residual, direction, product with A */
  mbi_devptr t, rhat;    /* for BiCGSTAB; with a preconditioner, t is z = M^-1 r */
  mbi_devptr b;          /* right-hand side */
  mbi_devptr dangling;   /* for PageRank: a byte per vertex; 0: no vertex is dangling */
  mbi_devptr state, partials;
  uint64_t n;
} bench_loop_arguments;

/* The arguments of a multigrid sweep (loop_sweep in the kernels). */
typedef struct bench_loop_sweep {
  mbi_devptr inverse, b, y, t; /* D^-1, right-hand side, iterate, A y */
  double weight;
  uint64_t n;
  uint32_t before_residual; /* 1: copy b to t */
} bench_loop_sweep;

/* Makes a string of C code. Commas and quotes are allowed, lines that begin with # are not. */
#define BENCH_TEXT(...) #__VA_ARGS__

static const char bench_loop_head[] = "#include \"jit/device.cuh\"\n"
                                      "#ifdef __CUDACC_RTC__\n"
                                      "#define LOOP_FENCE __threadfence()\n"
                                      "#else\n"
                                      "#define LOOP_FENCE ((void)0)\n"
                                      "#endif\n";

/* clang-format off */
static const char bench_loop_common[] = BENCH_TEXT(
enum { THREADS = 256, RESIDENT = 5, RUNNING = -1, CONVERGED = 0, CAP = 1, BREAKDOWN = 5 };

struct loop_state {
  double alpha, beta, omega, rho, rr, norm, tolerance, damping, base, change, vertices;
  mbk_i32 iterations, cap, stop;
  mbk_u32 ticket;
};

struct loop_arguments {
  VECTOR *x, *r, *p, *q, *t, *rhat;
  const VECTOR *b;
  const unsigned char *dangling;
  loop_state *state;
  double *partials;
  mbk_u64 n;
};

struct loop_sweep {
  const VECTOR *inverse, *b;
  VECTOR *y, *t;
  double weight;
  mbk_u64 n;
  mbk_u32 before_residual;
};

typedef mbk_pack<VECTOR, 16 / sizeof(VECTOR)> loop_pack;
typedef mbk_pack<unsigned char, 16 / sizeof(VECTOR)> loop_marks;
MBK_DEVICE loop_pack loop_get(const VECTOR *x, mbk_u64 at) {
  return *(const loop_pack *)(x + at);
}

template <int N> MBK_DEVICE void loop_block_sum(double *shared, double (&sum)[N]) {
  const mbk_u32 warp = mbk_thread() / 32u;
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    for (int k = 0; k < N; k++) {
      sum[k] += mbk_shuffle_down(0xffffffffu, sum[k], lanes, 32);
    }
  }
  mbk_block_sync();
  if (mbk_lane() == 0) {
    for (int k = 0; k < N; k++) {
      shared[N * warp + k] = sum[k];
    }
  }
  mbk_block_sync();
  if (mbk_thread() == 0) {
    for (mbk_u32 w = 1; w < THREADS / 32; w++) {
      for (int k = 0; k < N; k++) {
        sum[k] += shared[N * w + k];
      }
    }
  }
}

/* Adds sums over the grid. Returns true in one thread of the last block, which gets them. */
template <int N>
MBK_DEVICE bool loop_sum(double *shared, double *partials, loop_state *state,
                         double (&sum)[N]) {
  loop_block_sum<N>(shared, sum);
  mbk_u32 *const last = (mbk_u32 *)(shared + N * (THREADS / 32));
  if (mbk_thread() == 0) {
    for (int k = 0; k < N; k++) {
      partials[N * mbk_block() + k] = sum[k];
    }
    LOOP_FENCE;
    *last = mbk_atomic_add(&state->ticket, 1u) == mbk_grid() - 1;
  }
  mbk_block_sync();
  if (*last == 0) {
    return false;
  }
  LOOP_FENCE;
  for (int k = 0; k < N; k++) {
    sum[k] = 0;
  }
  for (mbk_u32 b = mbk_thread(); b < mbk_grid(); b += THREADS) {
    for (int k = 0; k < N; k++) {
      sum[k] += ((const volatile double *)partials)[N * b + k];
    }
  }
  mbk_block_sync();
  loop_block_sum<N>(shared, sum);
  if (mbk_thread() == 0) {
    state->ticket = 0;
  }
  return mbk_thread() == 0;
}

/* Calls f(place) for all packs of 16 bytes. Zeros follow the last element. */
enum { P = 16 / sizeof(VECTOR) };
template <class F> MBK_DEVICE void loop_each(mbk_u64 n, const F &f) {
  const mbk_u64 step = (mbk_u64)mbk_grid() * THREADS * P;
  for (mbk_u64 at = ((mbk_u64)mbk_block() * THREADS + mbk_thread()) * P; at < n; at += step) {
    f(at);
  }
}

/* Adds x'y of this thread's packs to `sum`. */
MBK_DEVICE void loop_dot(const VECTOR *x, const VECTOR *y, mbk_u64 n, double &sum) {
  loop_each(n, [&](mbk_u64 at) {
    const loop_pack a = loop_get(x, at), b = loop_get(y, at);
    for (int k = 0; k < P; k++) {
      sum += (double)a.at[k] * (double)b.at[k];
    }
  });
}

MBK_DEVICE void loop_clear(VECTOR *x, mbk_u64 at) {
  loop_pack zero;
  for (int k = 0; k < P; k++) {
    zero.at[k] = 0;
  }
  mbk_store_pack(x + at, zero);
}

/* Counts an iteration and decides whether to stop. `size` is what should become small. */
MBK_DEVICE void loop_count(loop_state *state, bool converged, double size) {
  state->iterations++;
  if (converged) {
    state->stop = CONVERGED;
  } else if (size - size != 0) {
    state->stop = BREAKDOWN;
  } else if (state->iterations >= state->cap) {
    state->stop = CAP;
  }
}

MBK_DEVICE void loop_end(loop_state *state, double rr) {
  state->rr = rr;
  loop_count(state, rr <= state->tolerance * state->tolerance * state->norm, rr);
}
);

/* x' = damping q + base, where q = P'x */
static const char bench_loop_pagerank[] = BENCH_TEXT(
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_rank(MBK_GRID_CONSTANT loop_arguments v) {
  loop_state *const state = v.state;
  MBK_SHARED_MEMORY(shared);
  if (state->stop != RUNNING) {
    return;
  }
  const double base = state->base, damping = state->damping;
  double sum[2] = {0, 0};
  loop_each(v.n, [&](mbk_u64 at) {
    const loop_pack old = loop_get(v.x, at), fresh = loop_get(v.q, at);
    loop_marks mark;
    if (v.dangling != nullptr) {
      mark = *(const loop_marks *)(v.dangling + at);
    }
    loop_pack rank;
    for (int k = 0; k < P; k++) {
      rank.at[k] = (VECTOR)(damping * (double)fresh.at[k] + base);
      const double difference = (double)rank.at[k] - (double)old.at[k];
      sum[0] += at + k >= v.n ? 0.0 : difference < 0 ? -difference : difference;
      sum[1] += v.dangling != nullptr && mark.at[k] != 0 ? (double)rank.at[k] : 0.0;
    }
    mbk_store_pack(v.x + at, rank);
  });
  if (loop_sum<2>((double *)shared, v.partials, state, sum)) {
    state->base = (1.0 - damping + damping * sum[1]) / state->vertices;
    state->change = sum[0];
    loop_count(state, sum[0] < state->tolerance, sum[0]);
  }
}
);

/* Conjugate gradients: Hestenes, Stiefel 1952. */
static const char bench_loop_cg[] = BENCH_TEXT(
/* Start from x = 0: r = p = b. */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_cg_start(MBK_GRID_CONSTANT loop_arguments v) {
  loop_state *const state = v.state;
  MBK_SHARED_MEMORY(shared);
  double sum[1] = {0};
  loop_each(v.n, [&](mbk_u64 at) {
    const loop_pack load = loop_get(v.b, at);
    for (int k = 0; k < P; k++) {
      sum[0] += (double)load.at[k] * (double)load.at[k];
    }
    loop_clear(v.x, at);
    mbk_store_pack(v.r + at, load);
    mbk_store_pack(v.p + at, load);
  });
  if (loop_sum<1>((double *)shared, v.partials, state, sum)) {
    state->rr = state->norm = state->rho = sum[0];
    state->stop = sum[0] == 0 ? CONVERGED : RUNNING;
  }
}

/* alpha = rho / p'q, where rho is r'r, or r'z with a preconditioner */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_cg_dot(MBK_GRID_CONSTANT loop_arguments v) {
  loop_state *const state = v.state;
  MBK_SHARED_MEMORY(shared);
  if (state->stop != RUNNING) {
    return;
  }
  double sum[1] = {0};
  loop_dot(v.p, v.q, v.n, sum[0]);
  if (loop_sum<1>((double *)shared, v.partials, state, sum)) {
    state->alpha = state->rho / sum[0];
    if (!(sum[0] > 0)) {
      state->stop = BREAKDOWN;
    }
  }
}

/* r -= alpha q; r'r. The next kernel decides whether the iteration is the last. */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_cg_residual(MBK_GRID_CONSTANT loop_arguments v) {
  loop_state *const state = v.state;
  MBK_SHARED_MEMORY(shared);
  if (state->stop != RUNNING) {
    return;
  }
  const double alpha = state->alpha;
  double sum[1] = {0};
  loop_each(v.n, [&](mbk_u64 at) {
    loop_pack a = loop_get(v.r, at);
    const loop_pack b = loop_get(v.q, at);
    for (int k = 0; k < P; k++) {
      a.at[k] = (VECTOR)((double)a.at[k] - alpha * (double)b.at[k]);
      sum[0] += (double)a.at[k] * (double)a.at[k];
    }
    mbk_store_pack(v.r + at, a);
  });
  if (loop_sum<1>((double *)shared, v.partials, state, sum)) {
    state->beta = sum[0] / state->rr;
    state->omega = sum[0];
  }
}

/* x += alpha p; p = r + beta p */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_cg_direction(MBK_GRID_CONSTANT loop_arguments v) {
  loop_state *const state = v.state;
  MBK_SHARED_MEMORY(shared);
  if (state->stop != RUNNING) {
    return;
  }
  const double alpha = state->alpha, beta = state->beta;
  loop_each(v.n, [&](mbk_u64 at) {
    loop_pack a = loop_get(v.x, at), b = loop_get(v.p, at);
    const loop_pack c = loop_get(v.r, at);
    for (int k = 0; k < P; k++) {
      a.at[k] = (VECTOR)((double)a.at[k] + alpha * (double)b.at[k]);
      b.at[k] = (VECTOR)((double)c.at[k] + beta * (double)b.at[k]);
    }
    mbk_store_pack(v.x + at, a);
    mbk_store_pack(v.p + at, b);
  });
  mbk_u32 *const last = (mbk_u32 *)shared;
  mbk_block_sync();
  if (mbk_thread() == 0) {
    *last = mbk_atomic_add(&state->ticket, 1u) == mbk_grid() - 1;
    if (*last != 0) {
      state->ticket = 0;
      state->rho = state->omega;
      loop_end(state, state->omega);
    }
  }
}
);

/* CG with a preconditioner, and multigrid sweeps. */
static const char bench_loop_multigrid[] = BENCH_TEXT(
/* rho = r'z; beta = rho / old rho, or 0 in the first iteration */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_pcg_beta(MBK_GRID_CONSTANT loop_arguments v) {
  loop_state *const state = v.state;
  MBK_SHARED_MEMORY(shared);
  if (state->stop != RUNNING) {
    return;
  }
  double sum[1] = {0};
  loop_dot(v.r, v.t, v.n, sum[0]);
  if (loop_sum<1>((double *)shared, v.partials, state, sum)) {
    state->beta = state->iterations > 0 ? sum[0] / state->rho : 0.0;
    state->rho = sum[0];
    if (!(sum[0] > 0)) {
      state->stop = BREAKDOWN;
    }
  }
}

/* p = z + beta p */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_pcg_direction(MBK_GRID_CONSTANT loop_arguments v) {
  const loop_state *const state = v.state;
  if (state->stop != RUNNING) {
    return;
  }
  const double beta = state->beta;
  loop_each(v.n, [&](mbk_u64 at) {
    loop_pack a = loop_get(v.p, at);
    const loop_pack b = loop_get(v.t, at);
    for (int k = 0; k < P; k++) {
      a.at[k] = (VECTOR)((double)b.at[k] + beta * (double)a.at[k]);
    }
    mbk_store_pack(v.p + at, a);
  });
}

/* x += alpha p; r -= alpha q; r'r */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_pcg_update(MBK_GRID_CONSTANT loop_arguments v) {
  loop_state *const state = v.state;
  MBK_SHARED_MEMORY(shared);
  if (state->stop != RUNNING) {
    return;
  }
  const double alpha = state->alpha;
  double sum[1] = {0};
  loop_each(v.n, [&](mbk_u64 at) {
    loop_pack a = loop_get(v.x, at), b = loop_get(v.r, at);
    const loop_pack c = loop_get(v.p, at), d = loop_get(v.q, at);
    for (int k = 0; k < P; k++) {
      a.at[k] = (VECTOR)((double)a.at[k] + alpha * (double)c.at[k]);
      b.at[k] = (VECTOR)((double)b.at[k] - alpha * (double)d.at[k]);
      sum[0] += (double)b.at[k] * (double)b.at[k];
    }
    mbk_store_pack(v.x + at, a);
    mbk_store_pack(v.r + at, b);
  });
  if (loop_sum<1>((double *)shared, v.partials, state, sum)) {
    loop_end(state, sum[0]);
  }
}

/* y = w D^-1 b */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_sweep_first(MBK_GRID_CONSTANT loop_sweep s) {
  loop_each(s.n, [&](mbk_u64 at) {
    loop_pack a = loop_get(s.inverse, at);
    const loop_pack b = loop_get(s.b, at);
    for (int k = 0; k < P; k++) {
      a.at[k] = (VECTOR)(s.weight * (double)a.at[k] * (double)b.at[k]);
    }
    mbk_store_pack(s.y + at, a);
  });
}

/* y += w D^-1 (b - t) */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_sweep(MBK_GRID_CONSTANT loop_sweep s) {
  loop_each(s.n, [&](mbk_u64 at) {
    loop_pack a = loop_get(s.y, at);
    const loop_pack b = loop_get(s.b, at), c = loop_get(s.inverse, at), d = loop_get(s.t, at);
    for (int k = 0; k < P; k++) {
      a.at[k] = (VECTOR)((double)a.at[k] + s.weight * (double)c.at[k] *
                                               ((double)b.at[k] - (double)d.at[k]));
    }
    mbk_store_pack(s.y + at, a);
    if (s.before_residual != 0) {
      mbk_store_pack(s.t + at, b);
    }
  });
}
);

/* clang-format on */

#endif
