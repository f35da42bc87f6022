#!/bin/sh
# Build and run PageRank: sh examples/run.sh [graph.mtx [names.txt]]
# Without arguments the graph is the packages of Debian 12, which ships with this repository. Installs a C
# compiler with apt-get if there is none; needs neither network nor root otherwise.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/examples

say() {
  printf '== %s\n' "$*"
}

compiles() {
  printf '#include <stdio.h>\nint main(void) { return 0; }\n' |
    cc -x c - -o /dev/null >/dev/null 2>&1
}

# ---- A compiler and the C library's headers ----------------------------------------------------------
if ! compiles; then
  sudo=""
  [ "$(id -u)" -eq 0 ] || sudo="sudo"
  if ! command -v apt-get >/dev/null 2>&1; then
    say "there is no working C compiler named cc, and no apt-get to install one" >&2
    exit 1
  fi
  say "no C compiler: installing gcc and libc6-dev with ${sudo:+$sudo }apt-get"
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev \
    >/dev/null
fi

# ---- Build ---------------------------------------------------------------------------------------------
mkdir -p "$build"
say "cc -O3 -I. examples/pagerank.c -o build/examples/pagerank -lm -ldl -pthread"
(cd "$root" && cc -O3 -I. examples/pagerank.c -o build/examples/pagerank -lm -ldl -pthread)

# ---- Run -----------------------------------------------------------------------------------------------
if [ $# -eq 0 ]; then
  [ -f "$build/debian12-deps.mtx" ] || say "unpacking the packages of Debian 12 into build/examples"
  [ -f "$build/debian12-deps.mtx" ] || sh "$root/examples/data/unpack.sh" "$build"
  set -- "$build/debian12-deps.mtx" "$build/debian12-deps.names.txt"
fi
say "build/examples/pagerank $*"
exec "$build/pagerank" "$@"
