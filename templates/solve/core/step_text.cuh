// How to write a step of a solver, in the files named *steps.cuh:
//   MBS_BEFORE(name)   reads the scalars c, a copy that it may change; returns 0, or a stop if
//                      the step must not be taken (mbi_solve_broken)
//   MBS_ELEMENT(name)  computes row i: adds to sums[0], ...; maxima of numbers that are not
//                      negative go to sums[adds], ...
//   MBS_AFTER(name)    stores the complete sums in m->state; not called if there are no sums
//   MBS_STEP(name, adds, maxes, when)  defines the step. `when` is MBS_RUNNING: not once a stop
//                      is set; MBS_UNTIL_CLOSED: also in the iteration that sets it; or
//                      MBS_ALWAYS
// A step may read any row of the vectors that it does not write, but only row i of those that
// it writes. The slot of MBS_STORE is a constant; a row is not read again after it is stored.

#define MBS_AT(slot) ((MBS_VECTOR *)v->at[slot])
#define MBS_LOAD(slot) ((double)MBS_AT(slot)[i])
#ifndef MBS_STORE // the GPU stores only at the end of a row: solve/core/step.cuh
#define MBS_STORE(slot, value) (MBS_AT(slot)[i] = (MBS_VECTOR)(value))
#endif
#define MBS_SIZE(value) ((value) < 0 ? -(value) : (value))
#define MBS_GREATER(sum, value) ((sum) = (value) > (sum) ? (value) : (sum))
#define MBS_NOTHING_BEFORE(name)                                                               \
  MBS_BEFORE(name) {                                                                           \
    (void)c;                                                                                   \
    return 0;                                                                                  \
  }
#define MBS_NOTHING_AFTER(name)                                                                \
  MBS_AFTER(name) {                                                                            \
    (void)m;                                                                                   \
    (void)c;                                                                                   \
    (void)sums;                                                                                \
  }
