#!/bin/sh
# Fuzz one target for 3 seconds (expressions for 2), or for ten minutes with MERBIT_TEST_FULL: run.sh TARGET PROGRAM PYTHON WORK_DIR
# A failing input stays in WORK_DIR; FUZZ_TARGET=TARGET PROGRAM FILE repeats it.
set -eu
target=$1 program=$2 python=$3 work=$4
here=$(cd "$(dirname "$0")" && pwd)
seconds=3
[ "$target" != expression ] || seconds=2 # short texts, few rules
[ -z "${MERBIT_TEST_FULL-}" ] || seconds=600
rm -rf "$work"
mkdir -p "$work/corpus"
MERBIT_CACHE_DIR=$(mktemp -d /tmp/merbit-fuzz-XXXXXX)
export MERBIT_CACHE_DIR FUZZ_TARGET="$target"
trap 'rm -rf "$MERBIT_CACHE_DIR"' EXIT
trap 'exit 1' HUP INT TERM
"$python" -B "$here/seeds.py" "$target" "$here/../data" "$work/seeds"
echo "MERBIT_TEST_SEED=${MERBIT_TEST_SEED-1}"
dictionary=""
[ ! -e "$here/$target.dict" ] || dictionary="-dict=$here/$target.dict"
if ! "$program" -seed="$((${MERBIT_TEST_SEED-1} % 4294967295 + 1))" -max_total_time="$seconds" -max_len=4096 -timeout=20 \
  -rss_limit_mb=3000 -malloc_limit_mb=256 -use_value_profile=1 -print_final_stats=1 $dictionary \
  -artifact_prefix="$work/" "$work/corpus" "$work/seeds" >"$work/log" 2>&1; then
  tail -n 60 "$work/log"
  exit 1
fi
grep -E 'INITED|DONE|number_of_executed_units|peak_rss' "$work/log"
echo "$target: $(ls "$work/seeds" | wc -l) seeds, $seconds seconds, no failure"
