#!/bin/sh
# Demonstrates the PETSc plugin: sh dist/petsc/run.sh
# Installs Debian's PETSc and Open MPI if they are missing, builds the plugin and an ordinary PETSc program (laplace.c), and
# solves a 3D problem on 4 processes by PETSc's aij and by merbit. Prints the residuals side by side, and fails if the
# numbers of iterations differ or the residuals differ by more than 1e-8, relatively.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/environment.sh"
missing=""
for tool in make mpicc mpirun pkg-config; do
  command -v $tool >/dev/null 2>&1 || missing=$tool
done
if [ -n "$missing" ] || ! pkg-config --exists "$PETSC"; then
  echo "== installing PETSc and Open MPI with apt-get"
  sudo=""
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev make pkg-config \
    petsc-dev libopenmpi-dev openmpi-bin
fi
echo "== building in $build"
make -s -C "$here"
cd "$build"
for type in aij aijmerbit; do
  echo "== mpirun -n 4 laplace -mat_type $type"
  plugin=""
  [ $type = aij ] || plugin="-dll_prepend $build/libmerbit_petsc.so -log_view :log.txt"
  mpirun -n 4 ./laplace -n "${N-40}" -ksp_type cg -ksp_rtol 1e-9 -mat_type $type -residuals $type.txt $plugin
done
paste aij.txt aijmerbit.txt | awk '
  NR == 1 { print "iteration   residual by aij          by aijmerbit" }
  NF != 2 { print "== the numbers of iterations differ"; bad = 1; exit }
  { d = ($1 - $2) / $1; d = d < 0 ? -d : d; most = d > most ? d : most }
  { printf "%9d   %s   %s\n", NR - 1, $1, $2 }
  END {
    if (bad) exit 1
    printf "== equal numbers of iterations; the residuals differ by at most %.1e of their size\n", most
    exit NR == 0 || most > 1e-8
  }'
echo "== of the log that -log_view writes (calls, seconds, flops of a process):"
awk '/^(MatMult |Merbit)/ { printf "%-14s %6s %12s %12s\n", $1, $2, $4, $6; n += $1 == "MerbitMult" } END { exit n == 0 }' log.txt
