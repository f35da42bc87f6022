// What the steps of a solver share, for the CPU and the GPU: one text is compiled by either
// compiler. Scalars live in memory of the side that computes; steps read and write them there,
// so that no number passes through the host. Whoever includes this defines MBS_FUNCTION.

#define MBI_SOLVE_VECTORS 12
#define MBI_SOLVE_SCALARS 16
#define MBI_STEP_SHARED 2048 // bytes of a step on the GPU
#define MBI_SOLVE_SUMS 5 // of a step, the greatest values it looks for included
#define MBI_FUSED_SUMS 4 // of a stage of a sweep
#define MBI_WIDE_GROUP 8 // sums of a step with many that a thread holds at a time
#define MBI_SOLVE_RING                                                                         \
  2048 // iterations whose residuals are kept; more never pass between two looks

// state.stop: a merbit_stop that a step can tell, or one of these. Products look at it too, and
// do nothing unless it is 0.
#define MBI_SOLVE_RUNNING 0
#define MBI_SOLVE_CAP 1
#define MBI_SOLVE_NOT_FINITE 3
#define MBI_SOLVE_STAGNATED 4
#define MBI_SOLVE_BREAKDOWN 5
#define MBI_SOLVE_CANDIDATE 100 // the recurrence is below the goal: b - A x decides

// state.why: what broke down; state.value is the number at fault.
#define MBI_WHY_NOTHING 0
#define MBI_WHY_CURVATURE 1      // CG: p'Ap is not positive
#define MBI_WHY_PRECONDITIONER 2 // CG: r'M^-1 r is not positive
#define MBI_WHY_SHADOW 3         // BiCGSTAB: the shadow residual is orthogonal to r, or to v
#define MBI_WHY_OMEGA 4          // BiCGSTAB: A s is orthogonal to s
// A method adds its own from 16 on.

// Places in mbi_solve_vectors that every method has; its own begin at MBI_AT_OWN.
#define MBI_AT_X 0
#define MBI_AT_B 1
#define MBI_AT_W 2       // scratch: products, and b - A x at a look
#define MBI_AT_INVERSE 3 // of the diagonal, or of its blocks: column j of row i at j * n + i
#define MBI_AT_OWN 4

// How z = M^-1 r is found: within a step, or between steps, by a step or a callback.
#define MBI_PRE_NONE 0
#define MBI_PRE_DIAGONAL 1
#define MBI_PRE_SEPARATE 2

typedef struct mbi_solve_vectors {
  void *at[MBI_SOLVE_VECTORS];
  long long n;      // rows
  int pre;          // a MBI_PRE
  int block;        // rows of a block of the preconditioner; 0: it has no blocks
  int from, to;     // of solve_blocks
  int basis;        // GMRES and Lanczos: vectors of a cycle
  int lanczos;      // the latter
  const double *dots; // of p'A p: the parts that the last product has left; null: it leaves none
  long long dot_count;
  unsigned long long *posts; // of sweeps: 2 MBI_FUSED_SUMS slots of 16 bytes for each block
  long long stride; // elements from one vector of the basis to the next
} mbi_solve_vectors;

typedef struct mbi_solve_state {
  double scalar[MBI_SOLVE_SCALARS]; // the method's own
  double product_sums[2];           // of the last mbi_solve_product_sums
  double rr;                        // ||r||^2 of the recurrence
  double goal;                      // the recurrence stops at or below it
  double tolerance, shrink;         // goal = (shrink * tolerance * ||b||)^2
  double epsilon;                   // distance from 1 to the next number of the vectors' type
  double ww, bb;                    // ||b - A x||^2 and ||b||^2, at the last look
  double w_most, x_most, b_most;    // and the largest entries, without sign
  double value;
  int stop;
  int closed; // the iteration that set `stop` is complete: later ones leave vectors alone
  int iterations, cap;
  int check_at; // the iteration after which the host checks convergence: the loop ends there
  int why;
  unsigned ticket; // blocks of a step that are done
  unsigned turn;   // how often the blocks of sweeps have told each other their sums
  int copied;      // a block's own: the ring is not behind it
  int padding;
} mbi_solve_state;

typedef struct mbi_solve_memory {
  mbi_solve_state state;
  double ring[MBI_SOLVE_RING]; // ring[k % MBI_SOLVE_RING]: ||r||^2 after iteration k
} mbi_solve_memory;

// How mbi_solve_open prepares a batch of iterations.
#define MBI_OPEN_BEGIN 0   // a new solve
#define MBI_OPEN_GO_ON 1   // the next batch
#define MBI_OPEN_TIGHTER 2 // the same recurrence, to a lower goal

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
  s->goal = shrink * tolerance * shrink * tolerance * s->bb; // after BEGIN a look sets bb
  if (how == MBI_OPEN_TIGHTER) {
    s->stop = MBI_SOLVE_RUNNING;
    s->closed = 0;
  }
  s->check_at = s->iterations + span;
}

// After an iteration, or a start: is ||r||^2 low enough, and may there be another iteration?
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

// At the end of an iteration.
MBS_FUNCTION void mbi_solve_count(mbi_solve_memory *m, double rr) {
  m->state.iterations++;
  mbi_solve_note_residual(m, rr);
}

// At the start of a recurrence from b - A x, whose square the look has left in ww.
MBS_FUNCTION void mbi_solve_restart(mbi_solve_memory *m) {
  m->state.stop = MBI_SOLVE_RUNNING;
  m->state.closed = 0;
  m->state.why = MBI_WHY_NOTHING;
  mbi_solve_note_residual(m, m->state.ww);
}

// For MBS_BEFORE: a number that cannot be right stops the solver before vectors change.
MBS_FUNCTION int mbi_solve_broken(mbi_solve_state *c, int why, double value) {
  c->why = why;
  c->value = value;
  return value - value == 0 ? MBI_SOLVE_BREAKDOWN : MBI_SOLVE_NOT_FINITE;
}
