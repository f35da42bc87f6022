#!/bin/sh
# `conan create .` passes, the package has the version of merbit.h, and programs that find it through Conan's CMake files
# run: with merbit::impl, and with merbit::merbit and their own implementation.
# Usage: test_conan.sh CMAKE GENERATOR
set -eu
cmake=$1 generator=$2
if ! command -v conan >/dev/null; then
  echo "skipped: conan was not found on the PATH"
  exit 77
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^#define MERBIT_VERSION_STRING "\(.*\)"/\1/p' "$root/merbit.h")

fail() {
  cat "$work/log" >&2
  echo "FAILED: $1" >&2
  exit 1
}

# try COMMAND...
try() {
  "$@" >"$work/log" 2>&1 || fail "$*"
}

# A copy, because conan writes into the recipe's folder; and a separate cache.
mkdir "$work/recipe"
for name in conanfile.py CMakeLists.txt LICENSE merbit.h merbit_dist.h cmake test_package; do
  cp -r "$root/$name" "$work/recipe"
done
export CONAN_HOME="$work/home"
try conan profile detect
try conan create "$work/recipe" -s build_type=Debug
grep -qx "merbit $version: MERBIT_OK" "$work/log" || fail "test_package does not say that it runs version $version"

if conan create "$work/recipe" -s os=Windows >"$work/log" 2>&1; then
  fail "the recipe accepts Windows"
fi
grep -q "this recipe is for Linux, not for Windows" "$work/log" || fail "the recipe does not say that it is for Linux"

try conan install --requires "merbit/$version" -s build_type=Debug -g CMakeDeps --output-folder "$work/deps"
# check FOLDER OPTION...: builds and runs the consumer.
check() {
  folder=$work/$1
  shift
  try "$cmake" -G "$generator" -S "$root/tests/install/consumer" -B "$folder" "-DLANGUAGES=C;CXX" -DWAY=find_package \
    -DVERSION="$version" -DCMAKE_PREFIX_PATH="$work/deps" -DCMAKE_BUILD_TYPE=Debug "$@"
  try "$cmake" --build "$folder"
  for program in program_c program_cpp; do
    try "$folder/$program"
    [ "$(cat "$work/log")" = "$version 42" ] || fail "$folder/$program: not $version 42"
  done
}
check impl
object=$(find "$work/home" -name merbit.c.o)
check header -DIMPLEMENTATION="$object"
echo "conan create: packaged, found and run"
