#!/bin/sh
# The PETSc plugin on 1 to 4 processes: sh tests/petsc/test_petsc.sh [FOLDER [PETSC [FAKES]]]
# Builds in FOLDER (default build/petsc) for the PETSc that pkg-config knows as PETSC (default petsc; or the path of a
# petsc.pc). FAKES is the folder of the fake libcuda.so.1 and libnvrtc.so.13, for machines without a GPU. Exit code 77: there
# is no PETSc. Tests of SLEPc and petsc4py run if these are installed for the same PETSc.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/dist/petsc
BUILD=${1-$root/build/petsc}
PETSC=${2-petsc}
fakes=${3-}
. "$here/environment.sh"

for tool in mpicc mpirun pkg-config make; do
  command -v $tool >/dev/null 2>&1 || { echo "skipped: $tool is missing"; exit 77; }
done
pkg-config --exists "$PETSC" || { echo "skipped: pkg-config finds no $PETSC (Debian: apt-get install petsc-dev)"; exit 77; }

make -s -C "$here"
cc -D_GNU_SOURCE -shared -fPIC -o "$build/yield.so" "$root/tests/support/yield.c"
cd "$build"
library=$build/libmerbit_petsc.so
system=$(pkg-config --cflags-only-I "$PETSC" | sed 's/-I/-isystem /g')

compile() { # compile pkg-config's module...: of $name. Programs may replace functions of PETSc
  mpicc -std=c99 -D_GNU_SOURCE -O1 -g -Wall -Wextra -rdynamic $system \
    $(pkg-config --cflags-only-I "$@" | sed 's/-I/-isystem /g') -o "$name" "$root/tests/petsc/$name.c" \
    $(pkg-config --libs "$@") -lm -ldl
}

run() { # run PROCESSES PROGRAM [OPTION...]: its output is in log.txt, and shown if it fails
  processes=$1
  shift
  mpirun -n "$processes" env LD_PRELOAD="$build/yield.so" "$@" >log.txt 2>&1 || {
    cat log.txt
    echo "failed: mpirun -n $processes $*"
    exit 1
  }
}

expect() { # expect TEXT: in log.txt
  grep -q "$1" log.txt || { cat log.txt; echo "failed: no '$1' in what it printed"; exit 1; }
}

refused() { # refused TEXT PROGRAM [OPTION...]: it fails with this text
  text=$1
  shift
  if LD_PRELOAD=${preload-} "$@" >log.txt 2>&1; then
    echo "failed: $* was not refused"
    exit 1
  fi
  expect "$text"
}

for name in operations solvers preconditioners null_spaces; do
  compile "$PETSC"
done
for processes in 1 2 3 4; do
  run $processes ./operations -dll_prepend "$library" -merbit_deterministic
done
run 3 ./operations -dll_prepend "$library" -merbit_threads 2
echo "operations: equal to aij's on 1 to 4 processes"
for processes in 1 2; do
  run $processes ./solvers -dll_prepend "$library"
done
echo "solvers: passed"
for processes in 1 2 4; do
  run $processes ./preconditioners -dll_prepend "$library"
done
run 1 ./null_spaces -dll_prepend "$library"
echo "preconditioners: passed"

# CUDA vectors: if PETSc lacks them, the plugin is built as if it had them.
name=cuda_vectors
compile "$PETSC"
include="$(pkg-config --cflags-only-I "$PETSC") -I$root"
cuda=$library
has_cuda=$(echo '#include <petscconf.h>' | mpicc $include -E -dM - | grep -w PETSC_HAVE_CUDA) || has_cuda=""
if [ -z "$has_cuda" ]; then
  mpicc -std=c99 -D_GNU_SOURCE -O1 -fPIC -fvisibility=hidden $include -DPETSC_HAVE_CUDA=1 -c -o cuda.o "$here/vectors.c"
  mkdir -p cuda
  cuda=$build/cuda/libmerbit_petsc.so
  mpicc -shared -o "$cuda" cuda.o aij.o ksp.o merbit_petsc.o pc.o product.o $(pkg-config --libs "$PETSC") -lm -ldl -pthread
fi
fake=""
[ -z "$fakes" ] || fake="env LD_LIBRARY_PATH=$fakes MERBIT_NVRTC=$fakes/libnvrtc.so.13 MERBIT_CACHE_DIR=$build/cache FAKE_CUDA_STRICT=1"
if [ -n "$fakes" ] || nvidia-smi >/dev/null 2>&1; then
  run 1 $fake ./cuda_vectors -dll_prepend "$cuda" -merbit_deterministic
  run 3 $fake ./cuda_vectors -dll_prepend "$cuda" -merbit_deterministic
  run 1 $fake ./cuda_vectors -dll_prepend "$cuda" -host -merbit_side cpu -starts 0
  if [ -z "$has_cuda" ]; then
    run 1 $fake ./cuda_vectors -dll_prepend "$library" -host
    run 1 $fake ./cuda_vectors -dll_prepend "$cuda" -host -no_gpu -starts 1
  fi
  echo "CUDA vectors: passed"
else
  echo "CUDA vectors: skipped, there is no GPU"
fi

# Output for users: views, logs, and a refused option.
run 2 ./laplace -n 12 -dll_prepend "$library" -mat_type aijmerbit -merbit_view -log_view -merbit_deterministic
expect '^merbit \[1\] MatMult: merge on the CPU'
expect '^MerbitPlan  *[1-9]'
expect '^MerbitMult  *[1-9]'
awk '/^MatMult / { print $2, $6 }' log.txt >merbit.flops
run 2 ./laplace -n 12 -mat_type aij -log_view
awk '/^MatMult / { print $2, $6 }' log.txt >aij.flops
cmp aij.flops merbit.flops && [ -s aij.flops ] || { echo "failed: other flops than aij's"; cat aij.flops merbit.flops; exit 1; }
run 1 ./laplace -n 16 -ksp_type cg -ksp_rtol 1e-13 -dll_prepend "$library" -mat_type aijmerbit -merbit_view -merbit_deterministic
[ "$(grep -c '^merbit \[0\] MatMult: ' log.txt)" -eq 2 ] || # another plan from the 25th product on
  { cat log.txt; echo "failed: not two plans"; exit 1; }
refused 'merbit_threads -1 is out of range' ./laplace -n 8 -dll_prepend "$library" -mat_type aijmerbit -merbit_threads -1
refused 'this one is seqbaij; use -mat_type aij' ./laplace -n 8 -dll_prepend "$library" -mat_type baij -ksp_type merbit -pc_type none
CUDA_VISIBLE_DEVICES= refused 'PETSC ERROR: merbit: ' ./laplace -n 8 -dll_prepend "$library" -ksp_type merbit -pc_type none -merbit_side cuda

# A plugin for another PETSc: this one with another version number.
cat >version.c <<'END'
int PetscGetVersionNumber(int *major, int *minor, int *subminor, int *release);
int PetscGetVersionNumber(int *major, int *minor, int *subminor, int *release) {
  (void)subminor;
  (void)release;
  *major = 9;
  *minor = 9;
  return 0;
}
END
mpicc -shared -fPIC -o version.so version.c
preload=$build/version.so refused 'but this is PETSc 9.9' ./laplace -n 8 -dll_prepend "$library"

# Failures of merbit: if a plan fails, PETSc multiplies; a failing product or update stops the program.
mpicc -std=c99 -O1 -fPIC -fvisibility=hidden $include -c -o faults.o "$root/tests/petsc/faults.c"
mpicc -std=c99 -O1 -fPIC -fvisibility=hidden $include -Dmerbit_plan_create=fault_plan_create -Dmerbit_spmv=fault_spmv \
  -Dmerbit_plan_update_values=fault_update_values -c -o faulty.o "$here/product.c"
mpicc -std=c99 -D_GNU_SOURCE -O1 -fPIC -fvisibility=hidden $include -Dmerbit_preconditioner_apply=fault_apply -c -o faulty_pc.o \
  "$here/pc.c"
mkdir -p faults
mpicc -shared -o faults/libmerbit_petsc.so faults.o faulty.o faulty_pc.o aij.o ksp.o merbit_petsc.o vectors.o \
  $(pkg-config --libs "$PETSC") -lm -ldl -pthread
library=$build/faults/libmerbit_petsc.so
FAULT=plan run 2 ./operations -dll_prepend "$library"
FAULT=plan run 1 ./laplace -n 8 -dll_prepend "$library" -mat_type aijmerbit -merbit_view
expect 'PETSc multiplies; merbit cannot: .*vectors'
FAULT=spmv refused 'merbit_spmv: .x. is NULL' ./laplace -n 8 -dll_prepend "$library" -mat_type aijmerbit
FAULT=apply refused 'r. is NULL\|takes* MERBIT_F64' ./laplace -n 8 -dll_prepend "$library" -ksp_type cg -pc_type merbit
FAULT=update refused 'merbit: the new values are NULL' ./operations -dll_prepend "$library"
library=$build/libmerbit_petsc.so

# Programs that do not know merbit.
N=16 sh "$here/run.sh" >log.txt || { cat log.txt; exit 1; }
expect 'equal numbers of iterations'
if [ "$PETSC" != petsc ] || ! pkg-config --exists slepc; then
  echo "SLEPc: skipped"
else
  name=eigen
  compile slepc petsc
  for processes in 1 3; do
    run $processes ./eigen -mat_type aij
    mv log.txt expected.txt
    run $processes ./eigen -dll_prepend "$library" -mat_type aijmerbit -merbit_deterministic -log_view :events.txt
    cmp expected.txt log.txt && [ "$(wc -l <log.txt)" -eq 6 ] && grep -q '^MerbitMult  *[1-9]' events.txt ||
      { paste expected.txt log.txt; echo "failed: SLEPc on $processes processes"; exit 1; }
  done
  echo "SLEPc: equal eigenvalues"
fi
python=""
for candidate in python3 /usr/bin/python3; do
  [ -n "$python" ] || ! $candidate -c 'import petsc4py, numpy' 2>/dev/null || python=$candidate
done
if [ "$PETSC" != petsc ] || [ -z "$python" ]; then
  echo "petsc4py: skipped"
else
  for processes in 1 3; do
    run $processes $python "$root/tests/petsc/from_python.py" "$library"
  done
  echo "petsc4py: passed"
fi
