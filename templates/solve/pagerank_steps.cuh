/* PageRank's scalars between two iterations: what C and CUDA C++ have in common, compiled for
 * the CPU and for the GPU. MBK_STEP says how a function is declared there. */
typedef struct mbk_pagerank_state {
  double damping, tolerance; /* constant */
  double sum;      /* of the teleport distribution as it is stored: 1, or n where all are 1 */
  double base;     /* what each unit of it receives in the next iteration */
  double change;   /* L1, of the last iteration */
  double least;    /* change so far */
  double dangling; /* vertices that nothing leaves */
  int iterations, cap;
  int stale; /* iterations since the change was least */
  int stop;  /* MBK_PAGERANK_RUNNING, or a merbit_stop */
} mbk_pagerank_state;

#define MBK_PAGERANK_RUNNING (-1)
#define MBK_PAGERANK_CONVERGED 0 /* as merbit_stop */
#define MBK_PAGERANK_CAP 1
#define MBK_PAGERANK_NOT_FINITE 3
#define MBK_PAGERANK_STAGNATED 4
/* Without rounding an iteration takes the change down by the damping at least. */
#define MBK_PAGERANK_PATIENCE 16

/* The mass of dangling vertices goes where all teleports go. */
MBK_STEP void mbk_pagerank_spread(mbk_pagerank_state *state, double mass) {
  state->base = (1.0 - state->damping + state->damping * mass) / state->sum;
}

MBK_STEP void mbk_pagerank_decide(mbk_pagerank_state *state, double change, double mass) {
  mbk_pagerank_spread(state, mass);
  state->change = change;
  state->iterations++;
  if (change < state->least) {
    state->least = change;
    state->stale = 0;
  } else {
    state->stale++;
  }
  if (change - change != 0) { /* NaN or Inf */
    state->stop = MBK_PAGERANK_NOT_FINITE;
  } else if (change < state->tolerance) {
    state->stop = MBK_PAGERANK_CONVERGED;
  } else if (state->stale >= MBK_PAGERANK_PATIENCE) {
    state->stop = MBK_PAGERANK_STAGNATED;
  } else if (state->iterations >= state->cap) {
    state->stop = MBK_PAGERANK_CAP;
  }
}
