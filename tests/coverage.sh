#!/bin/sh
# Line and branch coverage of the sources in templates/ by the tests that run on this machine: sh tests/coverage.sh
# Run sh tests/run.sh first: it installs the tools. This script adds gcovr, pinned, to the virtual environment under
# build/. It measures the sources as C (-O0, no sanitizers); tests/mutations/run.py measures the tests of kernels.
# Uncovered branches are listed and compared with tests/uncovered.md. Forked children end with exit instead of _exit,
# so that they write their counts.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
jobs=$(getconf _NPROCESSORS_ONLN)
python=$root/build/python/bin/python3
[ -x "$python" ] || python3 -m venv build/python
"$python" -c 'import jinja2, gcovr' 2>/dev/null ||
  "$python" -m pip install --quiet --disable-pip-version-check \
    -r gen/requirements.txt -r tests/coverage-requirements.txt

mkdir -p build
rm -rf build/coverage
{ cmake -S . -B build/coverage -DCMAKE_BUILD_TYPE=Coverage -DMERBIT_PYTHON="$python" \
  -DCMAKE_C_FLAGS="-O0 -g --coverage -fprofile-update=atomic -D_exit=exit" -DCMAKE_CXX_FLAGS="-O1 -g" \
  -DCMAKE_SHARED_LINKER_FLAGS=--coverage &&
  cmake --build build/coverage --parallel "$jobs"; } >build/coverage.log 2>&1 ||
  { cat build/coverage.log; exit 1; }
# Leaves out tests that compile the header in their own way, or not as C.
ctest --test-dir build/coverage --parallel "$jobs" --output-on-failure --no-tests=error \
  -E '^(compile_|gen_|simt_|mutations_)' >build/coverage.tests.log 2>&1 ||
  { echo "some tests fail here, perhaps for lack of room for counts; tests/run.sh decides:"
    grep 'Failed)\|Timeout)' build/coverage.tests.log || true; }
"$python" -m gcovr --root "$root" --filter "$root/templates/" --filter "$root/build/coverage/tests/sources/" --exclude-throw-branches \
  --gcov-suspicious-hits-threshold 0 --merge-mode-functions=merge-use-line-min --json build/coverage/merbit.json build/coverage \
  >build/coverage.gcovr.log 2>&1 || { cat build/coverage.gcovr.log; exit 1; }
"$python" tests/coverage.py build/coverage/merbit.json
