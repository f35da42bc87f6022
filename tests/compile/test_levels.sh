#!/bin/sh
# merbit.h compiles without warnings at every level of optimisation; each level has its own warnings. By default tests one of
# gcc -O2 as C99 or C++11, gcc -O3 and clang -O2, chosen by MERBIT_TEST_SEED (test_modes.sh tests -O0); with MERBIT_TEST_FULL
# all levels, also as C++11 and C++20, with every version of gcc and clang on the PATH.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Wconversion -Wshadow -pedantic -Werror"
cases=0

printf '#define MERBIT_IMPLEMENTATION\n#include "merbit.h"\n' >"$work/library.c"

# compile COMMAND...
compile() {
  "$@" $warnings -I"$root" -c "$work/library.c" -o "$work/library.o" || {
    echo "FAILED: $*" >&2
    exit 1
  }
  cases=$((cases + 1))
}

if [ -z "${MERBIT_TEST_FULL-}" ]; then
  turn=$((${MERBIT_TEST_SEED-1} % 4))
  if ! command -v gcc >/dev/null; then
    turn=3
  elif ! command -v clang >/dev/null; then
    turn=$((${MERBIT_TEST_SEED-1} % 3))
  fi
  case $turn in
  0) compile gcc -std=c99 -O2 ;;
  1) compile gcc -std=c99 -O3 ;;
  2) compile g++ -x c++ -std=c++11 -O2 ;;
  3) ! command -v clang >/dev/null || compile clang -std=c99 -O2 ;;
  esac
else
  # Tests a compiler with several names once: /usr/bin/gcc may be a link to gcc-12.
  tried=""
  for path in $(echo "$PATH" | tr : '\n' | sed 's|.*|&/gcc &/clang &/gcc-[0-9]* &/clang-[0-9]*|'); do
    cxx=$(echo "$path" | sed 's|\(.*\)gcc|\1g++|; s|\(.*\)clang|\1clang++|')
    [ -x "$path" ] && [ -x "$cxx" ] || continue
    case " $tried " in *" $(readlink -f "$path") "*) continue ;; esac
    tried="$tried $(readlink -f "$path")"
    for level in -O0 -O1 -O2 -O3; do
      compile "$path" -std=c99 "$level"
      compile "$cxx" -x c++ -std=c++11 "$level"
      compile "$cxx" -x c++ -std=c++20 "$level"
    done
    echo "$path: no warnings"
  done
fi
[ "$cases" -gt 0 ] || { echo "no compiler found"; exit 77; }
echo "$cases builds"
