#!/bin/sh
# examples/elasticity.c: blocks and CSR need the same number of iterations, and the beam bends as Timoshenko's theory predicts
# (256 for bending, 12.48 for shear), apart from the extra stiffness of a coarse mesh.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" 20 >"$work/output"
cat "$work/output"
awk '/iterations/ { n++; split($0, w, /[ ,;]+/); i[n] = w[2]; for (k in w) if (w[k] == "moves") t[n] = -w[k + 1] }
  END { ok = n == 2 && i[1] - i[2] <= 2 && i[2] - i[1] <= 2 && i[1] > 50
        for (k = 1; k <= 2; k++) ok = ok && t[k] > 0.97 * 268.48 && t[k] < 268.48; exit !ok }' "$work/output" ||
  { echo "that is not the beam"; exit 1; }
grep -q "100.0% filled\|9[0-9]\.[0-9]% filled" "$work/output"
for wrong in 0 20x; do
  if "$1" "$wrong" 2>"$work/error"; then echo "$wrong elements are accepted"; exit 1; fi
  grep -q usage "$work/error"
done
# A height of 2000 elements needs 16 GB.
if (ulimit -v 4000000 && CUDA_VISIBLE_DEVICES= "$1" 2000) 2>"$work/error"; then echo "the memory suffices"; exit 1; fi
grep -q "no memory for the model" "$work/error" || { cat "$work/error"; exit 1; }
