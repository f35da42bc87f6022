#!/bin/sh
# bench on the fake driver: two small matrices, each kind of method and option once; bench verifies every product.
# Arguments: bench, the folder of the fake libcuda.so.1 and libnvrtc.so.13, and the fake libcusparse for rivals.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bench=$1
cusparse=$3
export LD_LIBRARY_PATH="$2" MERBIT_BENCH_CUSPARSE="$work/none" MERBIT_NVRTC="$2/libnvrtc.so.13" FAKE_BYTES=67108864 OMP_NUM_THREADS=2
fail() { echo "$1"; cat "$work/out" "$work/errors"; exit 1; }
run() { "$bench" --side cuda --repeat 3 --precision f64 --json "$work/json" "$@" >"$work/out" 2>"$work/errors" || fail "bench $*: exit code $?"; }
row() { grep -q "^$1  .* ok$" "$work/out" || fail "no verified row of $1"; }
says() { grep -q -- "$1" "$work/$2" || fail "$2 does not say: $1"; }

# MERBIT by sigma, in descriptors of 32 and 64 bits, with both commits; the kernels of CSR reports; CB's ablation.
run --methods merbit,warp-rows,path-walk,path-global,cb-balanced,cb-coo --sigma 14-15 gen:road:700 gen:onerow:2k
for name in merbit-s14 merbit-dual-s14 merbit-s15 merbit-dual-s15 warp-rows path-walk path-global-ab cb-balanced cb-coo cb-coo-balanced; do
  row $name
done
says 'sigma 14, 32-bit lanes' json
says 'sigma 15, 64-bit lanes' json
says 'dual-buffer commit, [1-9][0-9.]*% of the tiles within one row' json # of the matrix with one long row
says '"block_histogram"' json
says '0 results of merbit and 0 of rivals outside the bound' out

# Kernels of blocks by threads and waves.
run --methods bsr,bsr-team,sweep-bsr-vector --tuning waves=2 gen:bsrband:200
for name in bsr bsr-team bsr-team-ab sweep-bsr-vector-t32-w1 sweep-bsr-vector-t1024-w16; do row $name; done

# The number of iterations asked for, with products by named methods.
run --solve pagerank,bicgstab --system ones --product auto,merbit,path-global --iterations 3,5 gen:road:1k
for name in merbit by-merbit by-path-global; do
  test "$(grep -c "^$name  *[35]  .*  cap$" "$work/out")" = 4 || fail "$name is not there for 3 and 5 iterations of both"
done
says '"fixed_iterations": *5' json
says 'dual-buffer commit' json
run --solve cg --product rows --tolerance 1e-4 gen:road:1k
says '^by-rows .* converged$' out

# Rivals: products of cuSPARSE and iterations over it, recorded and verified.
export MERBIT_BENCH_CUSPARSE="$cusparse"
run --methods auto,cusparse gen:road:500
for name in cusparse-csr-alg1 cusparse-csr-alg2-ab; do row $name; done
run --solve pagerank,cg,bicgstab --system spd --methods cusparse-csr-alg2 --tolerance 1e-5 gen:road:200
test "$(grep -c '^cusparse-csr-alg2  .*  converged$' "$work/out")" = 3 || fail 'not 3 loops over cuSPARSE have converged'
says 'recorded as CUDA graphs' json
says '0 not solved' out
# Multigrid over cuSPARSE takes as many iterations as merbit's: with an inverse of the coarsest matrix, and with sweeps on a
# diagonal one that is too large to invert.
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real symmetric\n300 300 300"; for (i = 1; i <= 300; i++) print i, i, i }' >"$work/diagonal.mtx"
run --solve cg,bicgstab --preconditioner none,amg,cusparse-amg pde:streets:20 "$work/diagonal.mtx"
test "$(grep -c '^cusparse-amg  .*e-[01][0-9]$' "$work/out")" = 2 || fail 'not 2 rows of cusparse-amg, which is of CG alone'
awk '$1 == "amg" { ours = $2 } $1 == "cusparse-amg" && ($2 - ours) ^ 2 > 1 { exit 1 }' "$work/out" || fail 'iterations differ'
says '2 levels, recorded' json
says '1 level, recorded' json
export MERBIT_BENCH_CUSPARSE="$work/none"

if "$bench" --side cuda --solve cg --product bsr gen:road:1k >"$work/out" 2>"$work/errors"; then fail 'a product of blocks was taken'; fi
says '--product: there is no method bsr on CUDA' errors
if "$bench" --side cuda --methods scam gen:road:1k >"$work/out" 2>"$work/errors"; then fail 'a wrong name was taken'; fi
says '--methods: scam names nothing' errors
