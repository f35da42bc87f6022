#!/bin/sh
# examples/paths on its towns, and on the graph that ships with the library, where each edge has length 1, so that
# distances are numbers of edges; bad input gives an error message.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MERBIT_CACHE_DIR="$work/cache"
"$1" >"$work/output"
cat "$work/output"
grep -q '11 of 11 reached, at most 4 edges and a distance of 1140 away' "$work/output"
grep -q '990  by   3 edges  Lyon' "$work/output"
grep -q 'f64 min-plus' "$work/output"
sh "$root/examples/data/unpack.sh" "$work"
"$1" "$work/debian12-deps.mtx" 1000 >"$work/output"
grep '10688 of 101999 reached, at most 21 edges and a distance of 21 away' "$work/output"
awk '/ edges  vertex/ { if ($1 != $3) { print "not " $3 " edges: " $0; wrong = 1 } } END { exit wrong }' "$work/output"

refused() { # refused TEXT ARGUMENT...: the program fails with this text and prints no distance
  text=$1
  shift
  if "$@" >"$work/output" 2>"$work/errors"; then
    echo "no error '$text': $*"
    exit 1
  fi
  grep -q -e "$text" "$work/errors" || { cat "$work/errors"; exit 1; }
  if grep -q 'edges' "$work/output"; then echo "distances after '$text'"; exit 1; fi
}
graph() { # graph LENGTH...: writes the cycle 1 -> 2 -> 3 -> 1 with these lengths to graph.mtx
  printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 %s\n2 3 %s\n3 1 %s\n' "$@" >"$work/graph.mtx"
}
refused usage "$1" "$work/none.mtx" 1x
refused usage "$1" "$work/none.mtx" 1 2
refused usage "$1" --help
refused 'none.mtx' "$1" "$work/none.mtx"
graph 1 -5 7
"$1" "$work/graph.mtx" 1 >"$work/output"
grep -q -e '-4 *by *2 edges  vertex 3' "$work/output" || { cat "$work/output"; exit 1; }
graph 1 -5 3
refused 'cycle of negative length' "$1" "$work/graph.mtx"
for length in nan -inf inf; do
  graph 1 "$length" 7
  refused "to vertex 3 is $length" "$1" "$work/graph.mtx"
done
graph 1 2 3
for source in 0 4 9223372036854775807 -9223372036854775808; do
  refused 'source is one of them' "$1" "$work/graph.mtx" "$source"
done
