#!/bin/sh
# The program dist/examples/mpi.c on 1 to 4 processes, and hypre.c and trilinos.cpp if these libraries are installed:
# sh tests/dist/test_mpi.sh FOLDER
# Builds in FOLDER, mpi.c as C99 without warnings. The numbers of rows and iterations must not depend on the number of
# processes, and hypre and Trilinos must need the same number of iterations.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
for tool in mpicc mpirun; do
  command -v $tool >/dev/null 2>&1 || { echo "skipped: no $tool (Debian: libopenmpi-dev openmpi-bin)"; exit 77; }
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 # the processes share cores
mkdir -p "$build"
cc -D_GNU_SOURCE -shared -fPIC -o "$build/yield.so" "$root/tests/support/yield.c"
mpicc -std=c99 -O1 -Wall -Wextra -Wconversion -pedantic -Werror -I"$root" "$root/dist/examples/mpi.c" -o "$build/mpi" \
  -lm -ldl -pthread
for ranks in 1 2 3 4; do
  mpirun -n $ranks env LD_PRELOAD="$build/yield.so" "$build/mpi" 16 >"$build/out.txt" || { cat "$build/out.txt"; echo "FAILED: $ranks ranks"; exit 1; }
  cat "$build/out.txt"
  grep -q "^$ranks ranks: 4096 rows" "$build/out.txt" || { echo "FAILED: another number of ranks or rows"; exit 1; }
  grep -q "^MERBIT_STOP_CONVERGED" "$build/out.txt" || { echo "FAILED: no solution"; exit 1; }
  [ $ranks -eq 1 ] || [ "$(sed -n 2p "$build/out.txt" | cut -d' ' -f3)" = "$iterations" ] || {
    echo "FAILED: another number of iterations than on one rank"
    exit 1
  }
  iterations=$(sed -n 2p "$build/out.txt" | cut -d' ' -f3)
done
# other NAME TEXT: another library's program needs the same number of iterations.
other() {
  for ranks in 1 3; do
    mpirun -n $ranks env LD_PRELOAD="$build/yield.so" "$build/$1" 16 | tee "$build/out.txt"
    grep -q "^$2 on $ranks ranks: $iterations iterations" "$build/out.txt" || { echo "FAILED: not $iterations iterations"; exit 1; }
  done
}
hypre=/usr/include/hypre
if [ -e $hypre/_hypre_parcsr_ls.h ]; then
  mpicc -std=c99 -O1 -Wall -Wextra -I"$root" -isystem $hypre "$root/dist/examples/hypre.c" -o "$build/hypre" -lHYPRE -lm -ldl -pthread
  other hypre hypre
else
  echo "left out: hypre.c; no $hypre (Debian: libhypre-dev)"
fi
if [ -e /usr/include/trilinos/BelosTpetraAdapter.hpp ]; then
  sh "$root/dist/examples/trilinos.sh" "$build/trilinos" -Wall -Wextra
  other trilinos Trilinos
else
  echo "left out: trilinos.cpp (Debian: libtrilinos-tpetra-dev libtrilinos-belos-dev)"
fi
