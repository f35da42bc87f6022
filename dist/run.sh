#!/bin/sh
# Demonstrates distributed operators: sh dist/run.sh
# Installs Open MPI, hypre and Trilinos if they are missing, builds the examples in build/dist/, and solves a 3D problem over MPI on
# 1 to 4 processes. If nvidia-smi finds GPUs and NCCL is installed, does the same on 1, 2, 4, ... GPUs. Then runs the tests
# of merbit_dist.h.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build="$root/build/dist"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
missing=""
for tool in cmake make python3 pkg-config mpicc mpirun; do
  command -v $tool >/dev/null 2>&1 || missing=$tool
done
printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <cmocka.h>\n' |
  cc -E - >/dev/null 2>&1 || missing=cmocka
python3 -c 'import jinja2' 2>/dev/null || missing=jinja2
[ -e /usr/include/hypre/HYPRE.h ] || missing=hypre
[ -e /usr/include/trilinos/BelosTpetraAdapter.hpp ] || missing=Trilinos
if [ -n "$missing" ] && command -v apt-get >/dev/null 2>&1; then
  echo "== installing Open MPI and the tools of the tests with apt-get"
  sudo=""
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc g++ libc6-dev make cmake \
    pkg-config python3 python3-jinja2 libcmocka-dev libopenmpi-dev openmpi-bin libhypre-dev \
    libtrilinos-tpetra-dev libtrilinos-belos-dev libtrilinos-teuchos-dev libtrilinos-kokkos-dev libtrilinos-kokkos-kernels-dev
fi
mkdir -p "$build"
if command -v mpicc >/dev/null 2>&1 && command -v mpirun >/dev/null 2>&1; then
  mpicc -O2 -I"$root" "$root/dist/examples/mpi.c" -o "$build/mpi" -lm -ldl -pthread
  for ranks in 1 2 3 4; do
    echo "== mpirun -n $ranks build/dist/mpi"
    mpirun -n $ranks "$build/mpi" "${N-40}"
  done
  if [ -e /usr/include/hypre/HYPRE.h ]; then
    mpicc -O2 -I"$root" -I/usr/include/hypre "$root/dist/examples/hypre.c" -o "$build/hypre" -lHYPRE -lm -ldl -pthread
    echo "== mpirun -n 4 build/dist/hypre"
    mpirun -n 4 "$build/hypre" "${N-40}"
  fi
  if [ -e /usr/include/trilinos/BelosTpetraAdapter.hpp ]; then
    sh "$root/dist/examples/trilinos.sh" "$build/trilinos"
    echo "== mpirun -n 4 build/dist/trilinos"
    mpirun -n 4 "$build/trilinos" "${N-40}"
  fi
else
  echo "== no MPI here: the example over MPI is left out"
fi
gpus=0
! command -v nvidia-smi >/dev/null 2>&1 || gpus=$(nvidia-smi -L | grep -c '^GPU' || true)
if [ "$gpus" -gt 0 ]; then
  cc -O2 -I"$root" "$root/dist/examples/gpus.c" -o "$build/gpus" -lm -ldl -pthread
  ranks=1
  while [ $ranks -le "$gpus" ]; do
    echo "== build/dist/gpus ${N-100} $ranks"
    "$build/gpus" "${N-100}" $ranks || {
      echo "== over NCCL it does not work here: see the sentence above (MERBIT_NCCL names the library)"
      break
    }
    ranks=$((ranks * 2))
  done
fi
echo "== tests"
cd "$root"
cmake --preset release >"$build/cmake.txt" || { cat "$build/cmake.txt"; exit 1; }
cmake --build build/release --target test_dist_errors test_dist_failures test_dist_product test_dist_solve test_gpu_dist test_gpu_dist_nccl \
  >"$build/make.txt" 2>&1 || { cat "$build/make.txt"; exit 1; }
ctest --test-dir build/release -R '^(dist_(errors|failures|product|solve|mpi)|gpu_dist|gpu_dist_nccl)$' --output-on-failure
