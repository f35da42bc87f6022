#!/bin/sh
# examples/pagerank on the graph that ships with it: libc6 comes first with about 8 percent, and the picture is
# drawn; bad input gives an error message.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$root/examples/data/unpack.sh" "$work"
MERBIT_CACHE_DIR="$work/cache" "$1" "$work/debian12-deps.mtx" "$work/debian12-deps.names.txt" >"$work/output"
cat "$work/output"
grep -q 'libc6' "$work/output"
first=$(grep -n 'libc6' "$work/output" | head -1)
echo "$first" | grep -q '8\.0' || { echo "libc6 does not hold 8.0 percent: $first"; exit 1; }
# The ranks and iterations that the README shows; the last change may differ by rounding.
sed -n 's/^ *[0-9]*\. .*%  .*/&/p; s/^\(iterations: .*\), last change.*\(; .*\)/\1, last change .*\2/p' "$root/README.md" >"$work/shown"
[ "$(grep -c . "$work/shown")" -ge 4 ] || { echo "README.md does not show what pagerank prints"; exit 1; }
while IFS= read -r line; do
  grep -qx -- "$line" "$work/output" || { echo "README.md shows what pagerank does not print: $line"; exit 1; }
done <"$work/shown"
picture=$(sed -n 's/^picture: *//p' "$work/output")
grep -q '^</svg>$' "$picture" || { echo "no picture at $picture"; exit 1; }
[ "$(grep -c 'PageRank of debian12-deps.mtx' "$picture")" = 1 ] || { echo "the picture has no title"; exit 1; }
if "$1" "$work/none.mtx" >"$work/output" 2>"$work/errors"; then
  echo "a missing file was accepted"
  exit 1
fi
grep -q 'none.mtx' "$work/errors" || { cat "$work/errors"; exit 1; }
printf '%%%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n' >"$work/two.mtx"
{ head -c 400 /dev/zero | tr '\0' a; printf '\nsecond\n'; } >"$work/two.names"
MERBIT_CACHE_DIR="$work/cache" "$1" "$work/two.mtx" "$work/two.names" >"$work/output"
grep -q '^ *1\..*% *second$' "$work/output" || { echo "a long name shifts the others"; cat "$work/output"; exit 1; }
if "$1" "$work/two.mtx" "$work" >"$work/output" 2>"$work/errors"; then
  echo "a folder was accepted as names"
  exit 1
fi
grep -q "^$work: " "$work/errors" || { cat "$work/errors"; exit 1; }
