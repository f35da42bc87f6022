#!/bin/sh
# `cmake --install`, static or shared: configuring without tests needs only a C compiler, the installed folder can be moved,
# programs in C and C++ that use it through find_package and pkg-config run, and all version numbers are that of merbit.h.
# Usage: test_install.sh CMAKE GENERATOR static|shared
set -eu
cmake=$1 generator=$2 kind=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
consumer=$root/tests/install/consumer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^#define MERBIT_VERSION_STRING "\(.*\)"/\1/p' "$root/merbit.h")
prefix=$work/moved

fail() {
  cat "$work/log" >&2
  echo "FAILED: $kind: $1" >&2
  exit 1
}

# try WHAT COMMAND...
try() {
  what=$1
  shift
  "$@" >"$work/log" 2>&1 || fail "$what"
}

# answer WHAT PROGRAM: the program prints the version and the product.
answer() {
  try "$1: run" "$2"
  [ "$(cat "$work/log")" = "$version 42" ] || fail "$1: not $version 42"
}

# ---- Build and install ---------------------------------------------------------------------------
# Packagers hide symbols that are not marked, and some have other folders for libraries.
case $kind in
static) shared=OFF libdir=lib ;;
shared) shared=ON libdir=lib/other ;;
esac
try configure "$cmake" -G "$generator" -S "$root" -B "$work/build" -DBUILD_TESTING=OFF -DBUILD_SHARED_LIBS=$shared \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_C_VISIBILITY_PRESET=hidden -DCMAKE_INSTALL_LIBDIR=$libdir
grep -E '^[^:]*(PYTHON|CXX_COMPILER|CMOCKA)[^:]*:' "$work/build/CMakeCache.txt" >"$work/log" && fail "more is looked for than a C compiler"
try build "$cmake" --build "$work/build"
try install "$cmake" --install "$work/build" --prefix "$work/prefix"
mv "$work/prefix" "$prefix"
(cd "$prefix" && find . -type f) >"$work/log"
grep -q '^\./include/merbit\.h$' "$work/log" || fail "no include/merbit.h"
if [ "$kind" = shared ]; then
  nm -D --defined-only "$prefix/$libdir/libmerbit.so" >"$work/log"
  grep -q ' merbit_spmv$' "$work/log" || fail "merbit_spmv is not exported"
  ! grep -qvE ' (merbit_.*|_init|_fini)$' "$work/log" || fail "symbols outside merbit_ are exported"
  [ -e "$prefix/$libdir/libmerbit.so.${version%.*}" ] || fail "no soname libmerbit.so.${version%.*}"
fi

# ---- find_package ---------------------------------------------------------------------------------
# configure FOLDER OPTION...
configure() {
  folder=$1
  shift
  "$cmake" -G "$generator" -S "$consumer" -B "$work/$folder" "-DLANGUAGES=C;CXX" -DWAY=find_package \
    -DCMAKE_PREFIX_PATH="$prefix;$prefix/$libdir/cmake" "$@" >"$work/log" 2>&1
}
configure impl -DVERSION="$version" || fail "find_package($version)"
try "find_package: build" "$cmake" --build "$work/impl"
answer "find_package, merbit::impl, C" "$work/impl/program_c"
answer "find_package, merbit::impl, C++" "$work/impl/program_cpp"
if configure other -DVERSION=0.0.9; then
  fail "find_package(0.0.9) accepts $version"
fi
grep -q "version: $version" "$work/log" || fail "find_package does not say that it found $version"

# ---- pkg-config --------------------------------------------------------------------------------------
export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig" LD_LIBRARY_PATH="$prefix/$libdir"
# build WHAT COMMAND...: compiles, links and runs a program.
build() {
  what=$1
  shift
  try "$what: build" "$@" -o "$work/program"
  answer "$what" "$work/program"
}
object=$work/build/CMakeFiles/merbit_impl.dir/merbit.c.o
[ "$(find "$work/build" -name 'merbit.c.o')" = "$object" ] || fail "no object of the implementation"
for name in merbit merbit-impl; do
  try "pkg-config $name" pkg-config --modversion $name
  [ "$(cat "$work/log")" = "$version" ] || fail "$name.pc: not version $version"
done
build "pkg-config, merbit-impl, C" cc "$consumer/program.c" $(pkg-config --cflags --libs merbit-impl)
build "pkg-config, merbit-impl, C++" c++ "$consumer/program.cpp" $(pkg-config --cflags --libs merbit-impl)
build "pkg-config, merbit" cc "$consumer/program.c" "$object" $(pkg-config --cflags --libs merbit)
if [ "$kind" = static ]; then
  configure header -DVERSION="$version" -DIMPLEMENTATION="$object" || fail "find_package: configure"
  try "merbit::merbit: build" "$cmake" --build "$work/header"
  answer "merbit::merbit, C" "$work/header/program_c"
  answer "merbit::merbit, C++" "$work/header/program_cpp"
fi
echo "$kind: installed, found and run"
