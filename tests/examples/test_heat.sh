#!/bin/sh
# examples/heat.c: the plate cools, both preconditioners agree, and multigrid still needs few iterations when values change.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for kind in amg jacobi; do
  "$1" 60 8 $kind >"$work/$kind"
  cat "$work/$kind"
done
awk '/points/ { first = $NF } /^step/ { last[FILENAME] = $NF } /in all/ { all[FILENAME] = $1 }
  END { a = ARGV[1]; j = ARGV[2]
        exit !(last[a] < first && last[a] > 0 && last[a] == last[j] && all[a] < 8 * 25 && 3 * all[a] < all[j]) }' \
  "$work/amg" "$work/jacobi" || { echo "that is not the plate"; exit 1; }
for wrong in 0 5x '5 2x' '5 2 amg 1'; do
  # shellcheck disable=SC2086 # several arguments
  if "$1" $wrong 2>"$work/error"; then echo "accepted: $wrong"; exit 1; fi
  grep -q usage "$work/error"
done
