#!/bin/sh
# Runs the tests that need a GPU, then again under compute-sanitizer: sh tests/gpu/run.sh [BUILD]
# BUILD (default build/release) is a folder configured by `cmake --preset release` and built. compute-sanitizer is slow:
# under it the tests take every ninth generated matrix (MERBIT_TEST_STRIDE). gpu_lost, which provokes a fault, is left out, and
# so are corners, dist, dist_nccl, measured and methods, whose kernels other tests run.
# If the device refuses a tool, its message is quoted. Under the tools the iterations of solvers are recorded without loops
# (MERBIT_TEST_NO_LOOPS): with conditional nodes compute-sanitizer 2025.3 stops many programs with an illegal address that
# no tool reports.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build/release}
ctest --test-dir "$build" -L gpu --output-on-failure --no-tests=error
command -v compute-sanitizer >/dev/null 2>&1 || {
  echo "compute-sanitizer is not in PATH; it comes with the CUDA toolkit" >&2
  exit 1
}
log=$build/compute-sanitizer.log
bad=0
for test in amg bsr bsr_views dots extract_blocks device epilogue full_blocks linked many pagerank preconditioner product reorder rules semiring solve_many solver streams transpose types values; do
  # That test makes the driver refuse an allocation and a cubin; memcheck would report both.
  [ "$test" = device ] && quiet="--report-api-errors no" || quiet=
  for tool in memcheck racecheck initcheck synccheck; do
    [ "$tool" = memcheck ] && options=$quiet || options=
    if MERBIT_TEST_NO_LOOPS=1 MERBIT_TEST_STRIDE=${MERBIT_TEST_STRIDE:-9} compute-sanitizer --tool "$tool" $options --error-exitcode 9 \
      "$build/tests/test_gpu_$test" >"$log" 2>&1; then
      printf '%-10s %-10s %s\n' "$test" "$tool" "$(grep -E 'SUMMARY' "$log" | tail -1)"
    else
      bad=1
      printf '%-10s %-10s FAILED\n' "$test" "$tool"
      tail -40 "$log"
    fi
  done
done
exit $bad
