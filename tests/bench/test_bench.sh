#!/bin/sh
# bench on the CPU: names in --methods that match no method are refused, others accepted.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bench=$1
run() { "$bench" --side cpu --threads 1 --repeat 3 --precision f64 --methods "$1" gen:road:2K >"$work/out" 2>"$work/errors"; }
accept() { run "$1" || { echo "--methods $1 was refused"; cat "$work/errors"; exit 1; }; }
refuse() { # --methods $1, with a message that contains $2
  if run "$1"; then echo "--methods $1 was accepted"; exit 1; fi
  grep -q -- "$2" "$work/errors" || { cat "$work/errors"; exit 1; }
}
accept static,symmetric
refuse symmetric,merge,mer,scan '--methods: mer names nothing that is measured here'

# --rivals: each time in the file becomes a row of its matrix's table, and the base of speed-ups. A wrong line is named, and
# one of an unknown matrix is reported.
name='gen:road:2K seed 1' # as in the head of its table
tab=$(printf '\t')
line() { printf "%s$tab%s$tab%s$tab%s$tab%s\n" "$@" >>"$work/rivals"; }
table() { "$bench" --side cpu --threads 1 --repeat 3 --precision f64 --methods auto --json "$work/json" --rivals "$work/rivals" gen:road:2K >"$work/out" 2>"$work/errors"; }
reject() { # the file, with FILE:LINE and message $1
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

# The schedules of blocks run only if they are named, with the number of chunks given; a matrix without blocks has none.
cpu() { "$bench" --side cpu --threads 2 --repeat 3 --precision f64 --json "$work/json" "$@" >"$work/out" 2>"$work/errors" || { cat "$work/errors"; exit 1; }; }
schedules=bsr-rows,bsr-naive,bsr-split,bsr-maximum,bsr-fixed,bsr-preprocessed
cpu --methods $schedules --tuning chunks=3 gen:bsrband:20k
for name in $(echo $schedules | tr , ' '); do
  grep -q "^$name  .* ok$" "$work/out" || { echo "no row of $name"; cat "$work/out"; exit 1; }
done
grep -q '"about": *"bsr on .* 6 \(chunks\|tasks\)' "$work/json" || { echo 'not 2 threads of 3 chunks'; grep about "$work/json"; exit 1; }
cpu --methods bsr gen:bsrband:20k
if grep -q '^bsr-' "$work/out"; then echo 'schedules that nobody named'; exit 1; fi
cpu --methods bsr-rows,bsr-fixed --tuning chunks=5000 gen:bsrband:20k
grep -q '^bsr-fixed is left out: .*chunks is 5000' "$work/out"
cpu --methods bsr-rows gen:road:2K
grep -q '^bsr-rows is left out: no blocks are half full' "$work/out"

# Pinned threads, parts on their NUMA nodes; operations and uneven rows are in the figures.
cpu --bind --numa --methods merge gen:dense40x50
grep -q 'GFLOP/s' "$work/out"
grep -q '"gflops"' "$work/json"
grep -q '"row_length_mean": *50' "$work/json"
grep -q '"row_length_variation": *0' "$work/json"
grep -q 'NUMA: ' "$work/json"

# Options that do not apply to a run of this kind.
for wrong in '--iterations 5|--iterations and --product are for --solve' '--product scan|--iterations and --product are for --solve' \
  '--sigma 9-7|--sigma 7: give a whole number from 9 to 64' '--solve cg --iterations 5 --max-iterations 6|give one of them' \
  '--iterations 0|--iterations 0: give a whole number' '--side cpu --solve cg|leave out --side cpu'; do
  if "$bench" ${wrong%%|*} gen:road:1K >"$work/out" 2>"$work/errors"; then echo "${wrong%%|*} was taken"; exit 1; fi
  grep -q -- "${wrong##*|}" "$work/errors" || { cat "$work/errors"; exit 1; }
done

# --preconditioner: a row for each kind on systems made for it, also on the CPU; unknown kinds are refused.
precondition() { "$bench" --solve cg --side cpu --threads 1 --repeat 3 --json "$work/json" --preconditioner "$@" >"$work/out" 2>"$work/errors"; }
precondition jacobi,amg,amg-single pde:poisson3d:7 pde:weak2d:12 pde:cells:9 pde:elastic:2 pde:streets:18 gen:road:2K || { cat "$work/errors"; exit 1; }
for name in jacobi amg amg-single; do
  test "$(grep -c "^$name  .*e-[01][0-9]$" "$work/out")" = 6 || { echo "no 6 rows of $name"; cat "$work/out"; exit 1; }
done
grep -q '"preconditioner": *"amg-single"' "$work/json"
if precondition multigrid pde:poisson3d:7; then echo 'an unknown kind was taken'; exit 1; fi
grep -q -- '--preconditioner: multigrid names nothing' "$work/errors"
if precondition amg pde:poisson:7; then echo 'an unknown system was taken'; exit 1; fi
grep -q 'pde:poisson:7: there is no such system' "$work/errors"
if precondition amg pde:poisson3d; then echo 'a system without a size was taken'; exit 1; fi
grep -q 'pde:poisson3d: give pde:NAME:SIDE' "$work/errors"

# Other solvers, on nonsymmetric systems; a file's matrix is solved unchanged, unless --system derives a system from it.
solvers() { "$bench" --side cpu --threads 1 --repeat 3 --json "$work/json" --preconditioner "$@" >"$work/out" 2>"$work/errors"; }
solvers jacobi,amg --solve bicgstab,gmres pde:convection2d:20 pde:convection3d:7 gen:road:2K || { cat "$work/errors"; exit 1; }
test "$(grep -c '^\(jacobi\|amg\)  .*e-[01][0-9]$' "$work/out")" = 12 || { echo 'no 12 rows of BiCGSTAB and GMRES'; cat "$work/out"; exit 1; }
test "$(grep -c '"solver": *"gmres"' "$work/json")" = 9 # amg also matches amg-single
grep -q '^gen:road:2K seed 1, flow by bicgstab' "$work/out"
{ echo '%%MatrixMarket matrix coordinate real symmetric'; echo '2 2 3'; echo '1 1 2'; echo '2 1 1'; echo '2 2 2'; } >"$work/two.mtx"
solvers none --solve cg "$work/two.mtx" || { cat "$work/errors"; exit 1; }
grep -q 'two.mtx, given by cg: 2 unknowns' "$work/out"
solvers none --solve cg --system spd "$work/two.mtx" && grep -q 'two.mtx, spd by cg' "$work/out"
echo '%%MatrixMarket matrix array real general
1 2
1
1' >"$work/wide.mtx"
for wrong in "--solve cg,pagerank $work/two.mtx|--solve: pagerank names nothing" "--solve cg --system spd,ones $work/two.mtx|give one of spd, ones" \
  "--solve gmres $work/wide.mtx|is 1 x 2; --solve takes square" 'pde:poisson3d:7|give --solve with cg, bicgstab or gmres'; do
  if solvers none ${wrong%%|*}; then echo "${wrong%%|*} was taken"; exit 1; fi
  grep -q -- "${wrong##*|}" "$work/errors" || { cat "$work/errors"; exit 1; }
done

# --write: writes a system of --preconditioner, or one that --system derives from a graph, for other programs.
"$bench" --side cpu --write "$work/seven.mtx" pde:poisson3d:7
grep -q '^343 343 2107$' "$work/seven.mtx" && grep -q '^1 1 6$' "$work/seven.mtx" && grep -q '^1 50 -1$' "$work/seven.mtx"
"$bench" --side cpu --system spd --write "$work/road.mtx" gen:road:2K
solvers fsai --solve cg "$work/road.mtx" && grep -q '^fsai .*e-[01][0-9]$' "$work/out"
