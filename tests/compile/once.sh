#!/bin/sh
# Runs a test again only if its input has changed since it passed: once.sh STAMP INPUT... -- COMMAND...
# The input is the contents of the INPUT files, the command, the versions of the compilers and CMake, MERBIT_TEST_FULL and
# MERBIT_NVRTC, but not libnvrtc itself; STAMP keeps their checksum. The command finds MERBIT_TEST_SEED set to a number of that checksum, and so makes the same
# choices again.
set -eu
stamp=$1
shift
sum=$({
  for input; do
    [ "$input" != -- ] || break
    cat "$input"
  done
  echo "$* ${MERBIT_TEST_FULL-} ${MERBIT_NVRTC-}"
  for tool in cc c++ gcc g++ clang clang++ cmake nvcc; do
    command -v $tool >/dev/null && $tool --version
  done
} | cksum)
while [ "$1" != -- ]; do
  [ -r "$1" ] || { echo "$0: there is no $1"; exit 1; }
  shift
done
shift
if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$sum" ]; then
  echo "passed before with the same input"
  exit 0
fi
MERBIT_TEST_SEED=${sum%% *} "$@"
echo "$sum" >"$stamp"
