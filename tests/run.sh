#!/bin/sh
# Build and pass all tests: sh tests/run.sh [--full]
# Installs what is missing (tools with Debian's apt-get; Jinja2, pinned, in a virtual environment under build/), then
# tests two builds: optimised, and under AddressSanitizer and UndefinedBehaviorSanitizer (kernels on the CPU and the
# fake driver only there). Tests that need a GPU are skipped without one. --full runs the random tests at length, and
# then the tests of CPU threads under ThreadSanitizer at normal length. MERBIT_TEST_SEED=N repeats the run that printed it.
set -eu
case "${1-}" in
"")
  presets="release sanitize"
  timeout=1500
  ;;
--full)
  export MERBIT_TEST_FULL=1
  presets="release sanitize thread"
  timeout=7200
  ;;
*)
  echo "usage: sh tests/run.sh [--full]" >&2
  exit 2
  ;;
esac
: "${MERBIT_TEST_SEED:=$(date +%s)}"
export MERBIT_TEST_SEED
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

say() {
  printf '== %s\n' "$*"
}

have() {
  command -v "$1" >/dev/null 2>&1
}

# ---- Tools ---------------------------------------------------------------------------------------
packages=""
have cc || packages="$packages gcc"
have c++ || packages="$packages g++"
have cmake || packages="$packages cmake"
have make || have ninja || packages="$packages ninja-build"
have python3 || packages="$packages python3"
have pkg-config || packages="$packages pkg-config"
have nm || packages="$packages binutils"
have gzip || packages="$packages gzip"
printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <cmocka.h>\n' |
  cc -E - >/dev/null 2>&1 || packages="$packages libcmocka-dev libc6-dev"
if ! python3 -c 'import jinja2' 2>/dev/null && [ ! -x build/python/bin/python3 ]; then
  python3 -c 'import ensurepip, venv' 2>/dev/null || packages="$packages python3-venv"
fi
optional=""
have clang || optional="clang"
printf 'int LLVMFuzzerTestOneInput(void);\nint LLVMFuzzerTestOneInput(void) { return 0; }' |
  clang -fsanitize=fuzzer,address -x c -o /dev/null - >/dev/null 2>&1 || optional="$optional libclang-rt-dev"
[ -e /usr/share/i18n/locales/de_DE ] || optional="$optional locales"
if [ -n "$packages" ] || [ -n "$optional" ]; then
  sudo=""
  [ "$(id -u)" -eq 0 ] || sudo="sudo"
  if have apt-get && { [ -z "$sudo" ] || have sudo; }; then
    say "installing with apt-get:$packages $optional"
    $sudo apt-get update -qq || true
    if [ -n "$packages" ]; then
      $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages
    fi
    for package in $optional; do
      $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $package ||
        say "$package could not be installed: what needs it is skipped"
    done
  elif [ -n "$packages" ]; then
    say "missing, and no apt-get to install them:$packages"
    exit 1
  else
    say "not there, so what needs it is skipped: $optional"
  fi
fi

# ---- Python --------------------------------------------------------------------------------------
python=python3
if ! python3 -c 'import jinja2' 2>/dev/null; then
  python=$root/build/python/bin/python3
  if [ ! -x "$python" ] || ! "$python" -c 'import jinja2' 2>/dev/null; then
    say "installing Jinja2 in build/python"
    python3 -m venv build/python
    "$python" -m pip install --quiet --disable-pip-version-check -r gen/requirements.txt
  fi
fi

# ---- Build and test --------------------------------------------------------------------------------
say "MERBIT_TEST_SEED=$MERBIT_TEST_SEED"
jobs=$(($(getconf _NPROCESSORS_ONLN) + 2)) # keeps all cores busy while jobs wait for files
# Ninja has less overhead than make. An existing build folder keeps its generator.
! have ninja || export CMAKE_GENERATOR="${CMAKE_GENERATOR-Ninja}"
mkdir -p build
for preset in $presets; do
  say "building: $preset (log: build/$preset.log)"
  { cmake --preset "$preset" -DMERBIT_PYTHON="$python" -DMERBIT_TEST_TIMEOUT=$timeout &&
    cmake --build --preset "$preset" --parallel "$jobs"; } >build/"$preset".log 2>&1 ||
    { cat build/"$preset".log; exit 1; }
  say "testing: $preset"
  [ "$preset" != thread ] || unset MERBIT_TEST_FULL
  ctest --preset "$preset" --parallel "$jobs"
done
say "all tests passed"
