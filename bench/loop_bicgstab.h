/* The kernels of the BiCGSTAB loop; see loop_kernels.h. */
#ifndef BENCH_LOOP_BICGSTAB_H
#define BENCH_LOOP_BICGSTAB_H
#include "loop_kernels.h"

/* clang-format off */
/* BiCGSTAB: van der Vorst 1992. The next iteration's rho is computed as rhat's - omega rhat't,
 * so that one pass does everything after the second product. That is as exact as rhat'r,
 * because r has been rounded. v = A p is q among the arguments. */
static const char bench_loop_bicgstab[] = BENCH_TEXT(
/* r = b - t; rhat = p = r. t is A x, or NULL for x = 0, which is then stored. */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_bi_start(MBK_GRID_CONSTANT loop_arguments v) {
  loop_state *const state = v.state;
  MBK_SHARED_MEMORY(shared);
  double sum[1] = {0};
  loop_each(v.n, [&](mbk_u64 at) {
    loop_pack a = loop_get(v.b, at);
    if (v.t != nullptr) {
      const loop_pack c = loop_get(v.t, at);
      for (int k = 0; k < P; k++) {
        a.at[k] -= c.at[k];
      }
    } else {
      loop_clear(v.x, at);
    }
    for (int k = 0; k < P; k++) {
      sum[0] += (double)a.at[k] * (double)a.at[k];
    }
    mbk_store_pack(v.r + at, a);
    mbk_store_pack(v.rhat + at, a);
    mbk_store_pack(v.p + at, a);
  });
  if (loop_sum<1>((double *)shared, v.partials, state, sum)) {
    state->rr = state->rho = sum[0];
    state->norm = v.t == nullptr ? sum[0] : state->norm;
    state->stop = sum[0] <= state->tolerance * state->tolerance * state->norm ? CONVERGED
                  : state->iterations >= state->cap ? CAP : RUNNING;
  }
}

/* alpha = rho / rhat'v */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_bi_alpha(MBK_GRID_CONSTANT loop_arguments v) {
  loop_state *const state = v.state;
  MBK_SHARED_MEMORY(shared);
  if (state->stop != RUNNING) {
    return;
  }
  double sum[1] = {0};
  loop_dot(v.rhat, v.q, v.n, sum[0]);
  if (loop_sum<1>((double *)shared, v.partials, state, sum)) {
    state->alpha = state->rho / sum[0];
    if (!(sum[0] != 0) || sum[0] - sum[0] != 0) {
      state->stop = BREAKDOWN;
    }
  }
}

/* s = r - alpha v, stored in r */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_bi_half(MBK_GRID_CONSTANT loop_arguments v) {
  const loop_state *const state = v.state;
  if (state->stop != RUNNING) {
    return;
  }
  const double alpha = state->alpha;
  loop_each(v.n, [&](mbk_u64 at) {
    loop_pack a = loop_get(v.r, at);
    const loop_pack b = loop_get(v.q, at);
    for (int k = 0; k < P; k++) {
      a.at[k] = (VECTOR)((double)a.at[k] - alpha * (double)b.at[k]);
    }
    mbk_store_pack(v.r + at, a);
  });
}

/* omega = t's / t't; rho; beta */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_bi_omega(MBK_GRID_CONSTANT loop_arguments v) {
  loop_state *const state = v.state;
  MBK_SHARED_MEMORY(shared);
  if (state->stop != RUNNING) {
    return;
  }
  double sum[4] = {0, 0, 0, 0};
  loop_each(v.n, [&](mbk_u64 at) {
    const loop_pack a = loop_get(v.t, at), b = loop_get(v.r, at);
    const loop_pack c = loop_get(v.rhat, at);
    for (int k = 0; k < P; k++) {
      sum[0] += (double)a.at[k] * (double)b.at[k];
      sum[1] += (double)a.at[k] * (double)a.at[k];
      sum[2] += (double)c.at[k] * (double)b.at[k];
      sum[3] += (double)c.at[k] * (double)a.at[k];
    }
  });
  if (loop_sum<4>((double *)shared, v.partials, state, sum)) {
    const double omega = sum[1] != 0 ? sum[0] / sum[1] : 0.0;
    const double rho = sum[2] - omega * sum[3];
    state->omega = omega;
    state->beta = omega != 0 ? rho / state->rho * (state->alpha / omega) : 0.0;
    state->rho = rho;
  }
}

/* x += alpha p + omega s; r = s - omega t; p = r + beta (p - omega v); r'r */
MBK_KERNEL MBK_RESIDENT(THREADS, RESIDENT)
mbk_loop_bi_update(MBK_GRID_CONSTANT loop_arguments v) {
  loop_state *const state = v.state;
  MBK_SHARED_MEMORY(shared);
  if (state->stop != RUNNING) {
    return;
  }
  const double alpha = state->alpha, beta = state->beta, omega = state->omega;
  double sum[1] = {0};
  loop_each(v.n, [&](mbk_u64 at) {
    loop_pack a = loop_get(v.x, at), s = loop_get(v.r, at), d = loop_get(v.p, at);
    const loop_pack e = loop_get(v.t, at), g = loop_get(v.q, at);
    for (int k = 0; k < P; k++) {
      const double fresh = (double)s.at[k] - omega * (double)e.at[k];
      a.at[k] = (VECTOR)((double)a.at[k] + alpha * (double)d.at[k] + omega * (double)s.at[k]);
      s.at[k] = (VECTOR)fresh;
      d.at[k] = (VECTOR)(fresh + beta * ((double)d.at[k] - omega * (double)g.at[k]));
      sum[0] += fresh * fresh;
    }
    mbk_store_pack(v.x + at, a);
    mbk_store_pack(v.r + at, s);
    mbk_store_pack(v.p + at, d);
  });
  if (loop_sum<1>((double *)shared, v.partials, state, sum)) {
    loop_end(state, sum[0]);
    if (state->stop == RUNNING && !(state->omega != 0 && state->rho != 0)) {
      state->stop = BREAKDOWN;
    }
  }
}
);
/* clang-format on */

#endif
