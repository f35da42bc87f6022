#!/bin/sh
# merbit.h as a part of another CMake project, by add_subdirectory (C only) and by FetchContent (C++ only): a program
# that links merbit::merbit runs, and the parent gets no program, test or option of this repository.
# Usage: test_subproject.sh CMAKE GENERATOR
set -eu
cmake=$1 generator=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/program.c" <<'END'
#define MERBIT_IMPLEMENTATION
#include <merbit.h>
int main(void) {
  merbit_context *context = NULL;
  const merbit_status status = merbit_context_create(NULL, &context, NULL);
  merbit_context_destroy(context);
  return status != MERBIT_OK;
}
END
cp "$work/program.c" "$work/program.cpp"

fail() {
  cat "$work/log" >&2
  echo "FAILED: $1" >&2
  exit 1
}

# Builds and runs a parent project: name, language, source file, the commands that add merbit.
check() {
  cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES $2)
include(CTest)
$4
add_executable(program $3)
target_link_libraries(program PRIVATE merbit::merbit)
get_property(targets DIRECTORY "$root" PROPERTY BUILDSYSTEM_TARGETS)
get_property(tests DIRECTORY "$root" PROPERTY TESTS)
get_property(below DIRECTORY "$root" PROPERTY SUBDIRECTORIES)
if(NOT "\${targets}|\${tests}|\${below}" STREQUAL "merbit||")
  message(FATAL_ERROR "more than the library: targets \${targets}, tests \${tests}, folders \${below}")
endif()
END
  "$cmake" -G "$generator" -S "$work" -B "$work/$1" >"$work/log" 2>&1 || fail "$1: configure"
  "$cmake" --build "$work/$1" >"$work/log" 2>&1 || fail "$1: build"
  "$work/$1/program" >"$work/log" 2>&1 || fail "$1: run"
  grep '^MERBIT_' "$work/$1/CMakeCache.txt" >"$work/log" && fail "$1: options of this repository"
  echo "$1: built and run"
}

check add_subdirectory C program.c "add_subdirectory(\"$root\" merbit)"
check FetchContent CXX program.cpp "include(FetchContent)
FetchContent_Declare(merbit SOURCE_DIR \"$root\")
FetchContent_MakeAvailable(merbit)"
