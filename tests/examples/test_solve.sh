#!/bin/sh
# examples/solve on the power network that ships with it: each method finds the ones, preconditioners save iterations, the picture
# is an SVG with a curve; bad input gives an error message.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MERBIT_CACHE_DIR="$work/cache"
bus=$root/examples/data/1138_bus.mtx
off() { # the error of x in the run in $1 is at most $2
  awk -v most="$2" '/off by at most/ { found = $NF <= most } END { exit !found }' "$1" || { cat "$1"; exit 1; }
}
"$1" --picture "$work/cg.svg" "$bus" >"$work/cg"
cat "$work/cg"
grep -q '1138 unknowns, 4054 nonzeros, symmetric; CG, preconditioner: jacobi' "$work/cg"
off "$work/cg" 1e-6
grep -q '<svg' "$work/cg.svg"
grep -q 'CG on 1138_bus.mtx' "$work/cg.svg"
"$1" --preconditioner none --picture "$work/plain.json" "$bus" >"$work/plain"
off "$work/plain" 1e-5
iterations() { sed -n 's/^\([0-9]*\) iterations.*/\1/p' "$1"; }
[ "$(iterations "$work/cg")" -lt "$(iterations "$work/plain")" ]
python3 -c 'import json, sys
curve, = json.load(open(sys.argv[1], encoding="utf-8"))["curves"]
sys.exit(curve["name"] != "CG" or curve["points"][-1][0] != int(sys.argv[2]) or curve["points"][-1][1] > 1e-10)' \
  "$work/plain.json" "$(iterations "$work/plain")" || { echo "the numbers are not of this solve"; head -c 500 "$work/plain.json"; exit 1; }
for kind in chebyshev fsai; do
  "$1" --preconditioner "$kind" "$bus" >"$work/$kind"
  grep -q "preconditioner: $kind" "$work/$kind"
  off "$work/$kind" 1e-6
  [ "$(iterations "$work/$kind")" -lt "$(($(iterations "$work/cg") / 2))" ]
done
"$1" --method bicgstab "$bus" >"$work/bicgstab"
off "$work/bicgstab" 1e-4
"$1" --method gmres "$root/tests/data/mtx/cage5.mtx" >"$work/gmres"
grep -q 'not symmetric; GMRES(30), preconditioner: jacobi' "$work/gmres"
off "$work/gmres" 1e-8
if "$1" "$work/none.mtx" 2>"$work/errors"; then echo "a missing file was accepted"; exit 1; fi
grep -q 'none.mtx' "$work/errors"
printf '%%%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 1 1 1\n2 2 1 1\n' >"$work/complex.mtx"
if "$1" "$work/complex.mtx" 2>"$work/errors"; then echo "a complex matrix was accepted"; exit 1; fi
grep -q 'the field is complex' "$work/errors"
if "$1" "$root/tests/data/mtx/ash219.mtx" 2>"$work/errors"; then echo "a tall matrix was accepted"; exit 1; fi
grep -q '219 x 85' "$work/errors"
if "$1" 2>"$work/errors"; then echo "no matrix was accepted"; exit 1; fi
grep -q usage "$work/errors"
if "$1" --preconditioner ilu "$bus" 2>"$work/errors"; then echo "an unknown preconditioner was accepted"; exit 1; fi
grep -q usage "$work/errors"
