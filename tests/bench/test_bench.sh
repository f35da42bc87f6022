#!/bin/sh
# bench on the CPU: names in --methods that choose nothing are refused, those that choose something are not.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bench=$1
run() { "$bench" --side cpu --threads 1 --repeat 3 --precision f64 --methods "$1" gen:road:2K >"$work/out" 2>"$work/errors"; }
accept() { run "$1" || { echo "--methods $1 was refused"; cat "$work/errors"; exit 1; }; }
refuse() { # --methods $1, with a sentence that has $2
  if run "$1"; then echo "--methods $1 was accepted"; exit 1; fi
  grep -q -- "$2" "$work/errors" || { cat "$work/errors"; exit 1; }
}
accept static,symmetric
refuse symmetric,merge,mer,scan '--methods: mer names nothing that is measured here'

# --rivals: a time in the file is a row of its table and what speed-ups are over; a line that is wrong is named, one of
# another matrix is told.
name='gen:road:2K seed 1' # as the head of its table has it
tab=$(printf '\t')
line() { printf "%s$tab%s$tab%s$tab%s$tab%s\n" "$@" >>"$work/rivals"; }
table() { "$bench" --side cpu --threads 1 --repeat 3 --precision f64 --methods auto --json "$work/json" --rivals "$work/rivals" gen:road:2K >"$work/out" 2>"$work/errors"; }
reject() { # the file, with FILE:LINE and the rest of the sentence $1
  if table; then echo "--rivals took a wrong line"; exit 1; fi
  grep -q -- "$work/rivals:$1" "$work/errors" || { cat "$work/errors"; exit 1; }
}
echo '# matrix, precision, kind, rival, microseconds' >"$work/rivals"
line "$name" f64 plain other-program 0.002
line "$name" f32 plain in-floats 1
line "$name" f64 general with-beta 1
line gen:absent:1K f64 plain other-program 1
table || { cat "$work/errors"; exit 1; }
grep -q '^other-program  .* given$' "$work/out" || { echo 'no row of the rival'; cat "$work/out"; exit 1; }
if grep -q '^in-floats\|^with-beta' "$work/out"; then echo 'a row of another table'; cat "$work/out"; exit 1; fi
grep -q "$work/rivals:3: no table of this run is of $name in f32, plain" "$work/out"
grep -q "$work/rivals:4: no table of this run is of $name in f64, general" "$work/out"
grep -q "$work/rivals:5: no table of this run is of gen:absent:1K in f64, plain" "$work/out"
if grep -q "$work/rivals:2:" "$work/out"; then echo 'a line that was taken is told'; exit 1; fi
grep -q '"compared_with": *"other-program"' "$work/json" || { echo 'the fastest rival is not compared with'; exit 1; }
for wrong in 'f16|plain|r|1|the precision is "f16"' 'f64|both|r|1|the kind is "both"' 'f64|plain|r|x|the fifth and last field is "x"' \
  'f64|plain|r|-1|the fifth and last field is "-1"' 'f64|plain||1|give five fields'; do
  echo '#' >"$work/rivals"
  (IFS='|'; set -f; set -- $wrong; line "$name" "$1" "$2" "$3" "$4")
  reject "2: ${wrong##*|}"
done
printf 'one field\n' >"$work/rivals"
reject '1: give five fields'
line "$name" f64 plain r "1${tab}more"
sed -i 1d "$work/rivals"
reject '1: the fifth and last field is "1"'
rm "$work/rivals"
if table; then echo 'a missing file was taken'; exit 1; fi
grep -q -- "--rivals $work/rivals: " "$work/errors"
