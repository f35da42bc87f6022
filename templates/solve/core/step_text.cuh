// How the steps of solvers are written, in the files named *steps.cuh:
//   MBS_BEFORE(name)   looks at the scalars c, a copy that it may add to, and returns 0, or a
//                      stop where the step must not be taken (mbi_solve_broken)
//   MBS_ELEMENT(name)  does row i: adds to sums[0], ..., then takes greatest values of what is
//                      not negative in sums[adds], ...
//   MBS_AFTER(name)    takes the complete sums into the state m->state; not called without sums
//   MBS_STEP(name, adds, maxes, when)  when: MBS_RUNNING, not once a stop is set; MBS_UNTIL_CLOSED,
//                      also in the iteration that sets it; MBS_ALWAYS
// Rows of other vectors may be read at will, but not of those that the step writes. MBS_STORE
// takes a slot that is a constant, and what it stores is not to be read again.

#define MBS_AT(slot) ((MBS_VECTOR *)v->at[slot])
#define MBS_LOAD(slot) ((double)MBS_AT(slot)[i])
#ifndef MBS_STORE // else at the end of the element, by the GPU
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
