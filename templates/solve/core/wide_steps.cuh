// Steps whose number of sums depends on the state. A thread accumulates MBI_WIDE_GROUP of them
// at a time. How to write them:
//   MBS_WIDE_COUNT(name)    returns the number of sums
//   MBS_WIDE_ELEMENT(name)  computes row i of the sums first, first + 1, ...: adds to sums[0],
//                           ...; the same thread calls it with first = 0, MBI_WIDE_GROUP, ...
//   MBS_WIDE_AFTER(name)    stores the complete sums in the state
//   MBS_WIDE_STEP(name)     defines the step, which is skipped once a stop is set

// Row i of vector k of a basis.
#define MBS_BASIS(slot, k) (MBS_AT(slot)[(MBS_INDEX)(k)*v->stride + i])
