// The state that the steps of a solver share; the CPU and the GPU both compile this file.
// Scalars lie in the memory of the side that computes, where steps read and write them, so that
// no number passes through the host. The including file defines MBS_FUNCTION.

#define MBI_SOLVE_VECTORS 12
#define MBI_SOLVE_SCALARS 16
#define MBI_STEP_SHARED 2048 // bytes of shared memory for a step on the GPU
#define MBI_SOLVE_SUMS 5     // the most sums and maxima of a step
#define MBI_FUSED_SUMS 4     // the most sums of a stage of a fused kernel
#define MBI_WIDE_GROUP 8     // sums that a thread holds at a time, in a step with many sums
#define MBI_SOLVE_RING                                                                         \
  2048 // residuals kept; no more iterations pass between two convergence checks

// state.stop: a merbit_stop that a step can detect, or one of these. Products read it and do
// nothing unless it is 0.
#define MBI_SOLVE_RUNNING 0
#define MBI_SOLVE_CAP 1
#define MBI_SOLVE_NOT_FINITE 3
#define MBI_SOLVE_STAGNATED 4
#define MBI_SOLVE_BREAKDOWN 5
#define MBI_SOLVE_CANDIDATE 100 // the recurrence has reached the goal; b - A x decides

// state.why: the reason of a breakdown. state.value is the number at fault.
#define MBI_WHY_NOTHING 0
#define MBI_WHY_CURVATURE 1      // CG: p'Ap is not positive
#define MBI_WHY_PRECONDITIONER 2 // CG: r'M^-1 r is not positive
#define MBI_WHY_SHADOW 3         // BiCGSTAB: the shadow residual is orthogonal to r, or to v
#define MBI_WHY_OMEGA 4          // BiCGSTAB: A s is orthogonal to s
// Those of GMRES and the power method begin at 16: solve/gmres/arnoldi.cuh.

// Slots of mbi_solve_vectors that every method has. A method's own slots start at MBI_AT_OWN.
#define MBI_AT_X 0
#define MBI_AT_B 1
#define MBI_AT_W 2       // scratch for products; b - A x at a convergence check
#define MBI_AT_INVERSE 3 // inverse diagonal, or inverse blocks: column j of row i at j * n + i
#define MBI_AT_OWN 4

// Places where z = M^-1 r is computed: within other steps (NONE, DIAGONAL), or by a step or
// callback of its own.
#define MBI_PRE_NONE 0
#define MBI_PRE_DIAGONAL 1
#define MBI_PRE_SEPARATE 2

typedef struct mbi_solve_vectors {
  void *at[MBI_SOLVE_VECTORS];
  long long n;        // rows
  int pre;            // an MBI_PRE value
  int block;          // rows per block of the preconditioner; 0: none
  int from, to;       // slots r and z of solve_blocks; mbk_cg_fused reuses them
  int basis;          // GMRES and Lanczos: vectors per cycle
  int lanczos;        // 1: the method is Lanczos
  const double *dots; // partial sums of p'A p left by the last product, or null
  long long dot_count;
  unsigned long long *posts; // fused kernels: 2 MBI_FUSED_SUMS slots of 16 bytes per block
  long long stride;          // elements between vectors of the basis; CG: between those of two
                             // right-hand sides
} mbi_solve_vectors;

typedef struct mbi_solve_state {
  double scalar[MBI_SOLVE_SCALARS]; // the method's own scalars
  double product_sums[2];           // set by the last mbi_solve_product_sums
  double rr;                        // ||r||^2 of the recurrence
  double goal;                      // the recurrence stops once rr is at or below it
  double tolerance, shrink;         // goal = (shrink * tolerance * ||b||)^2
  double epsilon;                   // distance from 1 to the next number of the vectors' type
  double ww, bb;                    // ||b - A x||^2 and ||b||^2 at the last convergence check;
                                    // ww is NaN if x is not finite
  double w_most, x_most, b_most;    // largest magnitudes of entries at that check
  double value;
  int stop;
  int closed; // the iteration that set `stop` is complete; later ones change no vector
  int iterations, cap;
  int check_at; // the iteration after which the host checks convergence; a recorded loop ends
                // there
  int why;
  unsigned ticket; // number of thread blocks of a step that have finished
  unsigned turn;   // number of exchanges of sums between the blocks of fused kernels
  int copied;      // 1: this is a thread block's copy, which has no ring
  int padding;
} mbi_solve_state;

typedef struct mbi_solve_memory {
  mbi_solve_state state;
  double ring[MBI_SOLVE_RING]; // ring[k % MBI_SOLVE_RING]: ||r||^2 after iteration k
} mbi_solve_memory;

// How mbi_solve_open prepares a round of iterations.
#define MBI_OPEN_BEGIN 0   // a new solve
#define MBI_OPEN_GO_ON 1   // the next round
#define MBI_OPEN_TIGHTER 2 // the same recurrence, to a lower goal

// Prepares a round of `span` iterations.
MBS_FUNCTION void mbi_solve_open(mbi_solve_memory *m, int how, int span, int cap,
                                 double tolerance, double shrink, double epsilon) {
  mbi_solve_state *s = &m->state;
  if (how == MBI_OPEN_BEGIN) {
    s->iterations = 0;
    s->cap = cap;
    s->tolerance = tolerance;
    s->epsilon = epsilon;
    s->ticket = 0;
    s->why = MBI_WHY_NOTHING;
    s->value = 0;
    s->stop = MBI_SOLVE_RUNNING;
    s->closed = 0;
  }
  s->shrink = shrink;
  s->goal = shrink * tolerance * shrink * tolerance *
            s->bb; // after BEGIN, solve_residual sets bb and the goal
  if (how == MBI_OPEN_TIGHTER) {
    s->stop = MBI_SOLVE_RUNNING;
    s->closed = 0;
  }
  s->check_at = s->iterations + span;
}

// Records ||r||^2 after an iteration or a start. Sets `stop` if it has reached the goal or is
// not finite, or if no more iterations are allowed.
MBS_FUNCTION void mbi_solve_note_residual(mbi_solve_memory *m, double rr) {
  mbi_solve_state *s = &m->state;
  s->rr = rr;
  if (!s->copied) {
    m->ring[s->iterations % MBI_SOLVE_RING] = rr;
  }
  if (!(rr - rr == 0)) { // NaN or Inf
    s->stop = MBI_SOLVE_NOT_FINITE;
  } else if (rr <= s->goal) {
    s->stop = MBI_SOLVE_CANDIDATE;
  } else if (s->iterations >= s->cap) {
    s->stop = MBI_SOLVE_CAP;
  }
}

// Counts an iteration that ends with ||r||^2 = rr.
MBS_FUNCTION void mbi_solve_count(mbi_solve_memory *m, double rr) {
  m->state.iterations++;
  mbi_solve_note_residual(m, rr);
}

// Starts the recurrence from b - A x. The convergence check has left ||b - A x||^2 in ww and
// ||b||^2 in bb. If bb is 0, whatever the first x, the recurrence has nothing to compute.
MBS_FUNCTION void mbi_solve_restart(mbi_solve_memory *m) {
  m->state.stop = MBI_SOLVE_RUNNING;
  m->state.closed = 0;
  m->state.why = MBI_WHY_NOTHING;
  mbi_solve_note_residual(m, m->state.ww);
  if (m->state.bb == 0) {
    m->state.stop = MBI_SOLVE_CANDIDATE;
  }
}

// Records a breakdown caused by `value` and returns the stop for MBS_BEFORE to return, so that
// the solver stops before any vector changes.
MBS_FUNCTION int mbi_solve_broken(mbi_solve_state *c, int why, double value) {
  c->why = why;
  c->value = value;
  return value - value == 0 ? MBI_SOLVE_BREAKDOWN : MBI_SOLVE_NOT_FINITE;
}
