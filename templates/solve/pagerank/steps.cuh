// The scalar part of a PageRank iteration, in the state of solvers, for the CPU and the GPU.
// state.rr and the ring hold the L1 change of an iteration. state.closed is nonzero after it
// has stopped.

// Indices in state.scalar; the first four are s0 to s3 of the product's epilogue.
#define MBI_PAGERANK_DAMPING 0
// The mass that the next iteration gives to each unit of the teleport distribution.
#define MBI_PAGERANK_BASE 1
// The relaxation factor: the weight of the power method's ranks in the next ranks.
#define MBI_PAGERANK_RELAX 2
#define MBI_PAGERANK_PAST 3     // weight of the previous ranks: 1 minus the relaxation factor
#define MBI_PAGERANK_SUM 4      // sum of the distribution as it is stored: 1, or n if all are 1
#define MBI_PAGERANK_LEAST 5    // the smallest change so far
#define MBI_PAGERANK_STALE 6    // iterations since that change
#define MBI_PAGERANK_DANGLING 7 // number of vertices without outgoing edges
#define MBI_PAGERANK_MOST 8     // the largest relaxation factor allowed; 1: the power method
// Rate of the power method's changes when it was last measured.
#define MBI_PAGERANK_PLAIN_RATE 9
#define MBI_PAGERANK_SWITCHED 10  // the iteration after which the factor last changed
#define MBI_PAGERANK_STARTED 11   // the iteration after which relaxation began
#define MBI_PAGERANK_HOLD 12      // the first iteration that may start or question relaxation
#define MBI_PAGERANK_KEPT 13      // the factor to which a probe may return; 0: no probe
#define MBI_PAGERANK_KEPT_RATE 14 // the rate with that factor
// Iterations that relaxation has lost, compared with the power method.
#define MBI_PAGERANK_LOST 15

// Values of state.stop in addition to those of merbit_stop.
#define MBI_PAGERANK_CONVERGED 100
#define MBI_PAGERANK_STAGNATED 4
// Iterations without a new smallest change that end the iteration. Apart from rounding errors,
// each iteration of the power method reduces the change at least by the damping.
#define MBI_PAGERANK_PATIENCE 16

// Acceleration, tuned on random graphs of many families
// (tests/solve/pagerank/pagerank_graphs.h).
#define MBI_PAGERANK_WINDOW 3 // iterations between two decisions on the factor
// The least number of iterations left for which relaxation begins.
#define MBI_PAGERANK_AHEAD 14
#define MBI_PAGERANK_WORTH 10 // the same for raising the factor
// Factors are multiples of 1 / 256, so that rounding changes none.
#define MBI_PAGERANK_GRAIN 256.0
#define MBI_PAGERANK_LEAP 1.3125 // one raise leads at most to this, or doubles the part above 1
// The share of the losses allowed by mbi_pagerank_budget that a single trial may use.
#define MBI_PAGERANK_SHARE 0.15

// Sets the base of the next iteration. The mass of dangling vertices goes with the teleports.
MBS_FUNCTION void mbi_pagerank_spread(mbi_solve_state *s, double mass) {
  const double damping = s->scalar[MBI_PAGERANK_DAMPING];
  s->scalar[MBI_PAGERANK_BASE] = (1.0 - damping + damping * mass) / s->scalar[MBI_PAGERANK_SUM];
}

// Sets the relaxation factor of the next iteration.
MBS_FUNCTION void mbi_pagerank_relax(mbi_solve_state *s, double factor) {
  s->scalar[MBI_PAGERANK_RELAX] = factor;
  s->scalar[MBI_PAGERANK_PAST] = 1 - factor;
}

// Acceleration by second-order Richardson iteration: Golub, Varga, "Chebyshev semi-iterative
// methods, successive overrelaxation iterative methods, and second order Richardson iterative
// methods", Numer. Math. 3 (1961), section 4. Eigenvalues are estimated as in Hageman, Young,
// "Applied Iterative Methods" (1981), chapter 5. If the eigenvalues lie in [-lambda, lambda],
// the factor f = 2 / (1 + sqrt(1 - lambda^2)) multiplies the changes by sqrt(f - 1) per
// iteration: at damping 0.85 by 0.56 instead of 0.85. Graphs with links in both directions have
// such eigenvalues. Directed cycles have complex ones, with which relaxed changes fall more
// slowly than those of the power method, or grow. Therefore relaxation is a trial. It begins
// with a factor whose failure costs little, grows while the changes fall as they should with
// real eigenvalues, and is given up for a while if the power method is as fast.

MBS_FUNCTION double mbi_pagerank_least(double a, double b) {
  return a < b ? a : b;
}

MBS_FUNCTION double mbi_pagerank_round(double factor) {
  return floor(factor * MBI_PAGERANK_GRAIN) / MBI_PAGERANK_GRAIN;
}

// Returns the best factor for real eigenvalues of at most `lambda`, and at most the damping.
MBS_FUNCTION double mbi_pagerank_factor(const mbi_solve_state *s, double lambda) {
  lambda = mbi_pagerank_least(lambda, s->scalar[MBI_PAGERANK_DAMPING]);
  return mbi_pagerank_round(2 / (1 + sqrt(1 - lambda * lambda)));
}

// Returns the next factor after `factor`: `wanted`, but not too large a raise.
MBS_FUNCTION double mbi_pagerank_raised(const mbi_solve_state *s, double factor, double wanted,
                                        double leap) {
  const double twice = 2 * factor - 1;
  const double most = mbi_pagerank_least(twice > leap ? twice : leap, 2.5 * factor - 1.5);
  return mbi_pagerank_least(wanted, mbi_pagerank_least(most, s->scalar[MBI_PAGERANK_MOST]));
}

// Returns the rate at which changes fall with this factor if they belong to the real eigenvalue
// `lambda`: the larger root of r^2 - factor lambda r + factor - 1.
MBS_FUNCTION double mbi_pagerank_expected(double lambda, double factor) {
  const double half = factor * lambda / 2, root = half * half - (factor - 1);
  return root > 0 ? half + sqrt(root) : sqrt(factor - 1);
}

// Returns the change `ago` iterations before the last.
MBS_FUNCTION double mbi_pagerank_before(const mbi_solve_memory *m, int ago) {
  return m->ring[(m->state.iterations - ago) % MBI_SOLVE_RING];
}

// Returns the mean rate of the last `count` iterations, 1 to 3.
MBS_FUNCTION double mbi_pagerank_rate(const mbi_solve_memory *m, int count) {
  const double fell = m->state.rr / mbi_pagerank_before(m, count);
  return count == 3 ? cbrt(fell) : count == 2 ? sqrt(fell) : fell;
}

// Changes the relaxation factor and records when.
MBS_FUNCTION void mbi_pagerank_switch(mbi_solve_state *s, double factor) {
  mbi_pagerank_relax(s, factor);
  s->scalar[MBI_PAGERANK_SWITCHED] = s->iterations;
}

// Adds the iterations that this window lost compared with the power method.
MBS_FUNCTION void mbi_pagerank_account(mbi_solve_memory *m) {
  mbi_solve_state *s = &m->state;
  const int count = (s->iterations - 1) % MBI_PAGERANK_WINDOW + 1;
  const double needed =
      log(s->rr / mbi_pagerank_before(m, count)) / log(s->scalar[MBI_PAGERANK_PLAIN_RATE]);
  const double lost = s->scalar[MBI_PAGERANK_LOST] + count - needed;
  s->scalar[MBI_PAGERANK_LOST] = lost > 0 ? lost : 0;
}

// Returns how many iterations the next trial may lose: `share` of what all trials together may
// lose (two, plus a tenth of the power method's iterations), minus what has been lost.
MBS_FUNCTION double mbi_pagerank_budget(const mbi_solve_state *s, double share) {
  const double left = log(s->tolerance / s->rr) / log(s->scalar[MBI_PAGERANK_PLAIN_RATE]);
  return share * (2 + 0.1 * (s->iterations + left)) - s->scalar[MBI_PAGERANK_LOST];
}

// Returns to the power method for the next window, and for later ones until MBI_PAGERANK_HOLD.
MBS_FUNCTION void mbi_pagerank_give_up(mbi_solve_memory *m, double factor) {
  mbi_solve_state *s = &m->state;
  mbi_pagerank_account(m);
  s->scalar[MBI_PAGERANK_MOST] = 1 + mbi_pagerank_round(0.4 * (factor - 1));
  s->scalar[MBI_PAGERANK_HOLD] = s->iterations + floor(0.5 * s->iterations) + 12;
  s->scalar[MBI_PAGERANK_KEPT] = 0;
  mbi_pagerank_switch(s, 1);
}

// Returns whether the rates of the last five iterations are steady; unsteady rates say nothing
// about eigenvalues. After a failed trial they must not rise either.
MBS_FUNCTION int mbi_pagerank_steady(const mbi_solve_memory *m) {
  const double last = m->state.rr / mbi_pagerank_before(m, 1);
  const double rise = m->state.scalar[MBI_PAGERANK_HOLD] > 0 ? 1.02 : 1.5;
  double later = last;
  int k;
  for (k = 1; k < 5; k++) {
    const double rate = mbi_pagerank_before(m, k) / mbi_pagerank_before(m, k + 1);
    if (!(later >= 0.99 * rate && last <= rise * rate)) {
      return 0;
    }
    later = rate;
  }
  return 1;
}

// Begins a trial of relaxation at the end of a window of the power method, if its rates are
// steady. The first factor f is bounded by the cost of a failure: two iterations in which an
// eigenvalue off the real axis multiplies the change by about f (1 + rate^2) - 1 instead of
// rate^2.
MBS_FUNCTION void mbi_pagerank_begin_trial(mbi_solve_memory *m) {
  mbi_solve_state *s = &m->state;
  const double damping = s->scalar[MBI_PAGERANK_DAMPING];
  const double rate =
      mbi_pagerank_rate(m, s->iterations > MBI_PAGERANK_WINDOW ? MBI_PAGERANK_WINDOW : 2);
  double budget, growth, wanted;
  s->scalar[MBI_PAGERANK_PLAIN_RATE] = rate;
  if (s->iterations < 2 * MBI_PAGERANK_WINDOW || s->iterations < s->scalar[MBI_PAGERANK_HOLD] ||
      !(rate < damping + 0.1 * (1 - damping)) || // a slower rate means rounding errors
      !(log(s->tolerance / s->rr) <= MBI_PAGERANK_AHEAD * log(rate)) ||
      !mbi_pagerank_steady(m)) {
    return;
  }
  budget = mbi_pagerank_budget(s, MBI_PAGERANK_SHARE);
  if (!(budget > 0)) {
    return;
  }
  growth = exp(-0.5 * budget * log(rate));
  wanted = mbi_pagerank_least((growth * rate * rate + 1) / (rate * rate + 1),
                              mbi_pagerank_factor(s, rate));
  wanted = mbi_pagerank_least(mbi_pagerank_least(wanted, MBI_PAGERANK_LEAP),
                              s->scalar[MBI_PAGERANK_MOST]);
  wanted = mbi_pagerank_round(wanted);
  if (wanted > 1) {
    s->scalar[MBI_PAGERANK_STARTED] = s->iterations;
    mbi_pagerank_switch(s, wanted);
  }
}

// Decides on the factor after a relaxed iteration. The first change after a switch still
// belongs to the previous factor.
MBS_FUNCTION void mbi_pagerank_watch(mbi_solve_memory *m) {
  mbi_solve_state *s = &m->state;
  const double factor = s->scalar[MBI_PAGERANK_RELAX],
               damping = s->scalar[MBI_PAGERANK_DAMPING];
  const double plain = s->scalar[MBI_PAGERANK_PLAIN_RATE], last = mbi_pagerank_rate(m, 1);
  const int since = s->iterations - (int)s->scalar[MBI_PAGERANK_SWITCHED];
  double rate, lambda, wanted;
  if (since == 1) {
    if (s->scalar[MBI_PAGERANK_STARTED] == s->iterations - 1 && last < 0.9 * plain) {
      // The power method is about to converge faster, because chains of links have ended.
      s->scalar[MBI_PAGERANK_HOLD] = 2 * s->iterations + 6;
      s->scalar[MBI_PAGERANK_LOST] += 4;
      mbi_pagerank_switch(s, 1);
    }
    return;
  }
  if (last > 1) {
    mbi_pagerank_give_up(m, factor);
    return;
  }
  if (s->iterations % MBI_PAGERANK_WINDOW != 0) {
    return;
  }
  rate = mbi_pagerank_rate(m, since > MBI_PAGERANK_WINDOW ? MBI_PAGERANK_WINDOW : 2);
  // Give up a factor that did not grow and promises less than a tenth fewer iterations.
  if (mbi_pagerank_budget(s, 0.5) < 0 ||
      (since >= 4 * MBI_PAGERANK_WINDOW &&
       log(mbi_pagerank_expected(plain, factor)) > 1.1 * log(plain))) {
    mbi_pagerank_give_up(m, factor);
    return;
  }
  mbi_pagerank_account(m);
  if (rate > plain && (s->iterations >= s->scalar[MBI_PAGERANK_HOLD] || rate > damping)) {
    // Either a slower real eigenvalue has appeared, or relaxation hinders: a probe decides.
    s->scalar[MBI_PAGERANK_KEPT] = factor;
    s->scalar[MBI_PAGERANK_KEPT_RATE] = rate;
    mbi_pagerank_switch(s, 1);
    return;
  }
  // If both roots have magnitude sqrt(factor - 1), the rate says nothing about lambda.
  if (!(rate * rate > factor - 1) || !(rate < damping + 0.1 * (1 - damping)) ||
      rate > plain - 0.15 * (plain - mbi_pagerank_expected(plain, factor))) {
    return;
  }
  lambda = (rate * rate + factor - 1) / (factor * rate);
  wanted = mbi_pagerank_raised(s, factor, mbi_pagerank_factor(s, lambda), MBI_PAGERANK_LEAP);
  if (wanted > factor && log(s->tolerance / s->rr) <= MBI_PAGERANK_WORTH * log(rate)) {
    mbi_pagerank_switch(s, wanted);
  }
}

// Ends a probe, which is a window of the power method within a trial. The trial continues if
// the power method was no faster.
MBS_FUNCTION void mbi_pagerank_end_probe(mbi_solve_memory *m) {
  mbi_solve_state *s = &m->state;
  const double kept = s->scalar[MBI_PAGERANK_KEPT], rate = mbi_pagerank_rate(m, 2);
  const double wanted = mbi_pagerank_factor(s, rate);
  if (!(rate >= s->scalar[MBI_PAGERANK_KEPT_RATE] && rate < 1)) {
    mbi_pagerank_give_up(m, kept);
    return;
  }
  mbi_pagerank_account(m);
  s->scalar[MBI_PAGERANK_PLAIN_RATE] = rate;
  s->scalar[MBI_PAGERANK_HOLD] = s->iterations + 2 * MBI_PAGERANK_WINDOW;
  s->scalar[MBI_PAGERANK_KEPT] = 0;
  mbi_pagerank_switch(s, mbi_pagerank_raised(s, kept, wanted > kept ? wanted : kept, 1));
}

// Chooses the factor of the next iteration. A separate function, so that the kernel around it
// needs fewer registers.
MBS_CALLED void mbi_pagerank_accelerate(mbi_solve_memory *m) {
  const mbi_solve_state *s = &m->state;
  if (s->scalar[MBI_PAGERANK_RELAX] != 1) {
    mbi_pagerank_watch(m);
  } else if (s->iterations % MBI_PAGERANK_WINDOW == 0 && s->scalar[MBI_PAGERANK_MOST] > 1) {
    if (s->scalar[MBI_PAGERANK_KEPT] != 0) {
      mbi_pagerank_end_probe(m);
    } else {
      mbi_pagerank_begin_trial(m);
    }
  }
}

// Ends an iteration. `change` is the one that the power method would make. The last iteration
// is always unrelaxed, because its change bounds the distance to the exact ranks.
MBS_FUNCTION void mbi_pagerank_decide(mbi_solve_memory *m, double change, double mass) {
  mbi_solve_state *s = &m->state;
  const int relaxed = s->scalar[MBI_PAGERANK_RELAX] != 1;
  mbi_pagerank_spread(s, mass);
  s->iterations++;
  s->rr = change;
  m->ring[s->iterations % MBI_SOLVE_RING] = change;
  if (relaxed) { // the next change may have any size
    s->scalar[MBI_PAGERANK_LEAST] = 1e300;
    s->scalar[MBI_PAGERANK_STALE] = 0;
  } else if (change < s->scalar[MBI_PAGERANK_LEAST]) {
    s->scalar[MBI_PAGERANK_LEAST] = change;
    s->scalar[MBI_PAGERANK_STALE] = 0;
  } else {
    s->scalar[MBI_PAGERANK_STALE] += 1;
  }
  if (!(change - change == 0)) { // NaN or Inf
    s->stop = MBI_SOLVE_NOT_FINITE;
  } else if (change < s->tolerance && !relaxed) {
    s->stop = MBI_PAGERANK_CONVERGED;
  } else if (s->scalar[MBI_PAGERANK_STALE] >= MBI_PAGERANK_PATIENCE) {
    s->stop = MBI_PAGERANK_STAGNATED;
  } else if (s->iterations >= s->cap) {
    s->stop = MBI_SOLVE_CAP;
  } else if (change < s->tolerance || s->iterations + 1 >= s->cap) {
    mbi_pagerank_relax(s, 1);
  } else {
    mbi_pagerank_accelerate(m);
  }
  s->closed = s->stop != MBI_SOLVE_RUNNING;
}
