// PageRank's scalars between two iterations, in the state that solvers have: one text for the
// CPU and the GPU. state.rr and the ring hold the L1 change of an iteration; state.closed is
// not 0 once it has stopped.

// In state.scalar; the first four are s0 to s3 of the product's epilogue.
#define MBI_PAGERANK_DAMPING 0
#define MBI_PAGERANK_BASE 1  // what each unit of the teleport distribution receives next
#define MBI_PAGERANK_RELAX 2 // the next ranks are so many times those of the power method,
#define MBI_PAGERANK_PAST 3  // and so many times (1 minus that) those of the iteration before
#define MBI_PAGERANK_SUM 4   // of the distribution as it is stored: 1, or n where all are 1
#define MBI_PAGERANK_LEAST 5 // change so far
#define MBI_PAGERANK_STALE 6 // iterations since
#define MBI_PAGERANK_DANGLING 7 // vertices that nothing leaves
#define MBI_PAGERANK_MOST 8     // that MBI_PAGERANK_RELAX may be
#define MBI_PAGERANK_MARK 9     // change at the end of the last window

// In state.stop, which else is a merbit_stop.
#define MBI_PAGERANK_CONVERGED 100
#define MBI_PAGERANK_STAGNATED 4
// But for rounding each iteration of the power method takes the change down, by the damping at
// least.
#define MBI_PAGERANK_PATIENCE 16

#define MBI_PAGERANK_WINDOW 3 // iterations between two looks at how fast it goes
#define MBI_PAGERANK_WORTH 10 // iterations that must be left for a change of speed
// Relaxation, in steps of 1 / 64, so that it depends on no rounding error: to begin with, and
// then twice what it was above 1, at most: what goes wrong shall do so slowly.
#define MBI_PAGERANK_GRAIN 64.0
#define MBI_PAGERANK_LEAP 1.3125

// The mass of dangling vertices goes where all teleports go.
MBS_FUNCTION void mbi_pagerank_spread(mbi_solve_state *s, double mass) {
  const double damping = s->scalar[MBI_PAGERANK_DAMPING];
  s->scalar[MBI_PAGERANK_BASE] = (1.0 - damping + damping * mass) / s->scalar[MBI_PAGERANK_SUM];
}

MBS_FUNCTION void mbi_pagerank_relax(mbi_solve_state *s, double factor) {
  s->scalar[MBI_PAGERANK_RELAX] = factor;
  s->scalar[MBI_PAGERANK_PAST] = 1 - factor;
}

// At the end of a window: second-order Richardson iteration, whose factor comes from the
// largest eigenvalue that the changes show. Golub, Varga, "Chebyshev semi-iterative methods,
// successive overrelaxation iterative methods, and second order Richardson iterative methods",
// Numer. Math. 3 (1961), section 4; estimates as in Hageman, Young, "Applied Iterative Methods"
// (1981), chapter 5. With eigenvalues in [-lambda, lambda] and factor f = 2 / (1 + sqrt(1 -
// lambda^2)) the changes fall by sqrt(f - 1): at damping 0.85 by 0.56 in place of 0.85. Links
// both ways make such eigenvalues; cycles of links make others, of which too high a factor
// shows itself by changes that fall hardly faster than the damping alone has them fall.
MBS_FUNCTION void mbi_pagerank_hasten(mbi_solve_state *s) {
  const double damping = s->scalar[MBI_PAGERANK_DAMPING];
  const double factor = s->scalar[MBI_PAGERANK_RELAX], more = factor - 1;
  const double rate = cbrt(s->rr / s->scalar[MBI_PAGERANK_MARK]);
  double lambda, wanted, most;
  s->scalar[MBI_PAGERANK_MARK] = s->rr;
  if (s->iterations == MBI_PAGERANK_WINDOW) {
    return;
  }
  if (!(rate < damping - 0.2 * (1 - damping)) && more > 0) {
    s->scalar[MBI_PAGERANK_MOST] =
        1 + floor(0.4 * more * MBI_PAGERANK_GRAIN) / MBI_PAGERANK_GRAIN;
    mbi_pagerank_relax(s, s->scalar[MBI_PAGERANK_MOST]);
    return;
  }
  // Where both of a pair of roots have the size sqrt(more) nothing is to be learnt.
  if (!(rate * rate > more) || !(rate < damping + 0.1 * (1 - damping))) { // or rounding
    return;
  }
  lambda = (rate * rate + more) / (factor * rate);
  lambda = lambda < damping ? lambda : damping;
  wanted = floor(2 / (1 + sqrt(1 - lambda * lambda)) * MBI_PAGERANK_GRAIN) / MBI_PAGERANK_GRAIN;
  most = factor + more > MBI_PAGERANK_LEAP ? factor + more : MBI_PAGERANK_LEAP;
  most = most < s->scalar[MBI_PAGERANK_MOST] ? most : s->scalar[MBI_PAGERANK_MOST];
  wanted = wanted < most ? wanted : most;
  if (wanted > factor && log(s->tolerance / s->rr) <= MBI_PAGERANK_WORTH * log(rate)) {
    mbi_pagerank_relax(s, wanted);
  }
}

// At the end of an iteration, whose change is the one by the power method. The last iteration
// is always one of those: what it bounds is the distance to the ranks themselves.
MBS_FUNCTION void mbi_pagerank_decide(mbi_solve_memory *m, double change, double mass) {
  mbi_solve_state *s = &m->state;
  const int relaxed = s->scalar[MBI_PAGERANK_RELAX] != 1;
  mbi_pagerank_spread(s, mass);
  s->iterations++;
  s->rr = change;
  m->ring[s->iterations % MBI_SOLVE_RING] = change;
  if (relaxed) { // then the next change may be any
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
  } else if (s->iterations % MBI_PAGERANK_WINDOW == 0) {
    mbi_pagerank_hasten(s);
  }
  s->closed = s->stop != MBI_SOLVE_RUNNING;
}
