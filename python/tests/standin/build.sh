#!/bin/sh
# Build the fake libcuda.so.1 and libnvrtc.so.13 of tests/fake in a folder: sh build.sh FOLDER
# They run kernels on the CPU. tests/fake/CMakeLists.txt builds the same libraries for the tests of merbit.h.
set -eu
folder=$1
tests=$(cd "$(dirname "$0")/../../../tests" && pwd)
# Programs run for less time than optimising them would take, and g++ 12.2 fails on solve/amg/setup.cu at -O1 (tree-sra).
flags="-std=c++17 -O0 -g1 -w -fPIC -fvisibility=hidden"
mkdir -p "$folder/ahead/fake" "$folder/programs"
g++ $flags -O2 -I"$tests" -I"$tests/fake" -c "$tests/fake/run.cpp" -o "$folder/ahead/run.o"
g++ $flags -I"$tests" -I"$tests/fake" -x c++-header "$tests/fake/ahead.h" -o "$folder/ahead/fake/ahead.h.gch"
library() {
  g++ -std=c++17 -O1 -fPIC -shared -fvisibility=default -I"$tests" -I"$tests/fake" -DFAKE_COMPILER='"g++"' \
    -DFAKE_FULL_FLAGS='""' -DFAKE_FLAGS="\"-shared $flags\"" -DFAKE_TESTS="\"$tests\"" -DFAKE_AHEAD="\"$folder/ahead\"" \
    -DFAKE_FOLDER="\"$folder/programs\"" -Wl,-soname,"$2" "$tests/fake/$1" -o "$folder/$2" -pthread -ldl
}
library cuda.cpp libcuda.so.1
library nvrtc.cpp libnvrtc.so.13
