// Steps with as many sums as the solver comes to need, taken in groups of rows' products, so
// that a thread holds MBI_WIDE_GROUP sums at most. How they are written:
//   MBS_WIDE_COUNT(name)    how many sums
//   MBS_WIDE_ELEMENT(name)  does row i for the sums first, first + 1, ...: adds to sums[0],
//   ...;
//                           called with first = 0, MBI_WIDE_GROUP, ... by the same thread
//   MBS_WIDE_AFTER(name)    takes the complete sums into the state
//   MBS_WIDE_STEP(name)     which is not taken once a stop is set

// Vector `at` of a basis, at row i.
#define MBS_BASIS(slot, k) (MBS_AT(slot)[(MBS_INDEX)(k)*v->stride + i])
