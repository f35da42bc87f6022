// PageRank's scalars between two iterations, in the state that solvers have: one text for the
// CPU and the GPU. state.rr and the ring hold the L1 change of an iteration; state.closed is
// not 0 once it has stopped.

// In state.scalar; the first two are s0 and s1 of the product's epilogue.
#define MBI_PAGERANK_DAMPING 0
#define MBI_PAGERANK_BASE 1     // what each unit of the teleport distribution receives next
#define MBI_PAGERANK_SUM 2      // of the distribution as it is stored: 1, or n where all are 1
#define MBI_PAGERANK_LEAST 3    // change so far
#define MBI_PAGERANK_STALE 4    // iterations since
#define MBI_PAGERANK_DANGLING 5 // vertices that nothing leaves

// In state.stop, which else is a merbit_stop.
#define MBI_PAGERANK_CONVERGED 100
#define MBI_PAGERANK_STAGNATED 4
// But for rounding each iteration takes the change down, by the damping at least.
#define MBI_PAGERANK_PATIENCE 16

// The mass of dangling vertices goes where all teleports go.
MBS_FUNCTION void mbi_pagerank_spread(mbi_solve_state *s, double mass) {
  const double damping = s->scalar[MBI_PAGERANK_DAMPING];
  s->scalar[MBI_PAGERANK_BASE] = (1.0 - damping + damping * mass) / s->scalar[MBI_PAGERANK_SUM];
}

// At the end of an iteration.
MBS_FUNCTION void mbi_pagerank_decide(mbi_solve_memory *m, double change, double mass) {
  mbi_solve_state *s = &m->state;
  mbi_pagerank_spread(s, mass);
  s->iterations++;
  s->rr = change;
  m->ring[s->iterations % MBI_SOLVE_RING] = change;
  if (change < s->scalar[MBI_PAGERANK_LEAST]) {
    s->scalar[MBI_PAGERANK_LEAST] = change;
    s->scalar[MBI_PAGERANK_STALE] = 0;
  } else {
    s->scalar[MBI_PAGERANK_STALE] += 1;
  }
  if (!(change - change == 0)) { // NaN or Inf
    s->stop = MBI_SOLVE_NOT_FINITE;
  } else if (change < s->tolerance) {
    s->stop = MBI_PAGERANK_CONVERGED;
  } else if (s->scalar[MBI_PAGERANK_STALE] >= MBI_PAGERANK_PATIENCE) {
    s->stop = MBI_PAGERANK_STAGNATED;
  } else if (s->iterations >= s->cap) {
    s->stop = MBI_SOLVE_CAP;
  }
  s->closed = s->stop != MBI_SOLVE_RUNNING;
}
