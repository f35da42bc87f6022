// Kernels of Arnoldi's process, for GMRES and Lanczos. Bytes per row of f64 vectors with j
// vectors in the basis: project 8 (j + 1), extend 8 (j + 3), reproject 8 (j + 2) and, for j
// above 8, as much again unless caches hold the basis. Launch and shared memory:
// solve/core/step.cuh.
#define MBK_STEP_ROWS 1
#include "solve/core/wide.cuh"
#include "solve/core/check.cuh"
#include "solve/gmres/process.cuh"

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_arnoldi_start(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  arnoldi_start_step(a.v, a.n, a.m, a.partials, (double *)shared);
}
