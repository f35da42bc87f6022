#!/bin/sh
# merbit as part of another CMake project: with add_subdirectory in C, where a source of the project has the implementation,
# and with FetchContent in C++, which links merbit::impl. The programs run, the parent gets no program, test or option of
# this repository, and merbit::impl is built only if it is linked, also in a project that is compiled with -ffast-math.
# Usage: test_subproject.sh CMAKE GENERATOR
set -eu
cmake=$1 generator=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^#define MERBIT_VERSION_STRING "\(.*\)"/\1/p' "$root/merbit.h")

fail() {
  cat "$work/log" >&2
  echo "FAILED: $1" >&2
  exit 1
}

# check WAY LANGUAGE PROGRAM OPTION... builds and runs the consumer.
check() {
  way=$1 language=$2 program=$3
  shift 3
  "$cmake" -G "$generator" -S "$root/tests/install/consumer" -B "$work/$way" -DWAY="$way" -DLANGUAGES="$language" \
    -DREPOSITORY="$root" "$@" >"$work/log" 2>&1 || fail "$way: configure"
  "$cmake" --build "$work/$way" >"$work/log" 2>&1 || fail "$way: build"
  "$work/$way/$program" >"$work/log" 2>&1 || fail "$way: run"
  [ "$(cat "$work/log")" = "$version 42" ] || fail "$way: not $version 42"
  grep '^MERBIT_' "$work/$way/CMakeCache.txt" >"$work/log" && fail "$way: options of this repository"
  find "$work/$way" -name 'libmerbit*' >"$work/log"
}

check add_subdirectory C program_c -DIMPLEMENTATION="$root/cmake/merbit.c"
[ ! -s "$work/log" ] || fail "add_subdirectory: merbit::impl was built, though nothing links it"
check FetchContent CXX program_cpp -DCMAKE_CXX_FLAGS=-ffast-math
[ -s "$work/log" ] || fail "FetchContent: merbit::impl was not built"
echo "add_subdirectory and FetchContent: built and run"
