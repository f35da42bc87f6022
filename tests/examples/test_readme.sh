#!/bin/sh
# The README's program is exactly examples/readme.c and prints what the README shows (without a GPU; with one the line
# that names the side differs).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints the fenced block of language $1 that follows the word "readme.c" or another block.
block() {
  awk -v fence="\`\`\`$1" '$0 == fence && !done {inside = 1; next} /^```/ && inside {inside = 0; done = 1} inside' "$root/README.md"
}

block c >"$work/program.c"
[ -s "$work/program.c" ] || { echo "README.md shows no program"; exit 1; }
diff "$work/program.c" "$root/examples/readme.c"
block text >"$work/expected"
[ -s "$work/expected" ] || { echo "README.md shows no output"; exit 1; }
"$1" >"$work/output"
grep -v ' on ' "$work/expected" >"$work/expected.values"
grep -v ' on ' "$work/output" >"$work/output.values"
[ -s "$work/output.values" ]
diff "$work/expected.values" "$work/output.values"
cat "$work/output"
