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
if "$1" "$work/none.mtx" 2>"$work/errors"; then
  echo "a missing file was accepted"
  exit 1
fi
grep -q 'none.mtx' "$work/errors" || { cat "$work/errors"; exit 1; }
