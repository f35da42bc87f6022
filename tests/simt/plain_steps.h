// The steps of solvers run row by row on the CPU, as a reference for their kernels. Compiled
// from the same text as the kernels, with macros that turn each step into a loop instead of a
// launch.
#ifndef SIMT_PLAIN_STEPS_H
#define SIMT_PLAIN_STEPS_H
#include "runs.h"

#include <functional>

#define MBS_FUNCTION [[maybe_unused]] static
#define MBS_CALLED MBS_FUNCTION
#include "solve/core/state.cuh"
#include "solve/gmres/arnoldi.cuh"
#include "solve/cg/slots.cuh"
#include "solve/precondition/slots.cuh"
#undef MBS_CALLED
#undef MBS_FUNCTION

struct plain_step {
  std::function<void(const mbi_solve_vectors &, mbi_solve_memory *)> run;
  int when; // the argument of MBS_STEP
};
static std::map<std::string, plain_step> plain_steps[2]; // by kernel name: f64, f32

#define MBS_INDEX long long
#define MBS_ALWAYS 0
#define MBS_RUNNING 1
#define MBS_UNTIL_CLOSED 2
#define MBS_BEFORE(name) static int name##_before(mbi_solve_state *c)
#define MBS_ELEMENT(name)                                                                      \
  static void name##_element(long long i, const mbi_solve_vectors *v,                          \
                             const mbi_solve_state *c, double *sums)
#define MBS_AFTER(name)                                                                        \
  static void name##_after(mbi_solve_memory *m, const mbi_solve_state *c, const double *sums)
#define MBS_REGISTER(name, when)                                                               \
  [[maybe_unused]] static const bool name##_registered =                                       \
      (plain_steps[sizeof(MBS_VECTOR) == 4]["mbk_" #name] = {name##_plain, when}, true);
#define MBS_STEP(name, adds, maxes, when)                                                      \
  static void name##_plain(const mbi_solve_vectors &v, mbi_solve_memory *m) {                  \
    mbi_solve_state c = m->state;                                                              \
    double sums[MBI_SOLVE_SUMS] = {};                                                          \
    assert_int_equal(name##_before(&c), 0);                                                    \
    for (long long i = 0; i < v.n; i++) {                                                      \
      name##_element(i, &v, &c, sums);                                                         \
    }                                                                                          \
    if (adds + maxes > 0) {                                                                    \
      name##_after(m, &c, sums);                                                               \
    }                                                                                          \
  }                                                                                            \
  MBS_REGISTER(name, when)
#define MBS_WIDE_COUNT(name) static int name##_count(const mbi_solve_state *c)
#define MBS_WIDE_ELEMENT(name)                                                                 \
  static void name##_element(long long i, const mbi_solve_vectors *v,                          \
                             const mbi_solve_state *c, int first, double *sums)
#define MBS_WIDE_AFTER(name)                                                                   \
  static void name##_after(mbi_solve_memory *m, const mbi_solve_vectors *v, const double *sums)
#define MBS_WIDE_STEP(name)                                                                    \
  static void name##_plain(const mbi_solve_vectors &v, mbi_solve_memory *m) {                  \
    const mbi_solve_state c = m->state;                                                        \
    std::vector<double> sums((size_t)name##_count(&c) + MBI_WIDE_GROUP);                       \
    for (int first = 0; first < name##_count(&c); first += MBI_WIDE_GROUP) {                   \
      for (long long i = 0; i < v.n; i++) {                                                    \
        name##_element(i, &v, &c, first, &sums[(size_t)first]);                                \
      }                                                                                        \
    }                                                                                          \
    name##_after(m, &v, sums.data());                                                          \
  }                                                                                            \
  MBS_REGISTER(name, MBS_RUNNING)
#include "solve/core/step_text.cuh"

namespace plain_f64 {
#define MBS_VECTOR double
#include "solve/core/check_steps.cuh"
#include "solve/cg/steps.cuh"
#include "solve/precondition/steps.cuh"
#include "solve/bicgstab/steps.cuh"
#include "solve/core/refine_steps.cuh"
#include "solve/core/wide_steps.cuh"
#include "solve/gmres/arnoldi_steps.cuh"
#include "solve/eigen/steps.cuh"
#undef MBS_VECTOR
} // namespace plain_f64
namespace plain_f32 {
#define MBS_VECTOR float
#include "solve/core/check_steps.cuh"
#include "solve/cg/steps.cuh"
#include "solve/precondition/steps.cuh"
#include "solve/bicgstab/steps.cuh"
#include "solve/core/wide_steps.cuh"
#include "solve/gmres/arnoldi_steps.cuh"
#include "solve/eigen/steps.cuh"
#undef MBS_VECTOR
} // namespace plain_f32
#include "undefine_steps.h"
#endif
