#!/bin/sh
# once.sh runs a command again after it failed and when an input, the command, MERBIT_TEST_FULL or MERBIT_NVRTC changes, else not.
set -eu
once=$(dirname "$0")/once.sh
work=$(mktemp -d)/"a folder"
mkdir "$work"
trap 'rm -rf "${work%/*}"' EXIT
cd "$work"

# expect RUNS STATUS COMMAND... runs `sh -c COMMAND` by once.sh; in all, the command must then have run that often.
expect() {
  runs=$1 wanted=$2 status=0
  sh "$once" "$work/stamp" "$work/input" -- sh -c "$3" >"$work/out" 2>&1 || status=$?
  [ "$status" -eq "$wanted" ] || { echo "FAILED: exit code $status, not $wanted: $3"; exit 1; }
  found=$(cat "$work/ran" 2>/dev/null | wc -l)
  [ "$found" -eq "$runs" ] || { echo "FAILED: ran $found times, not $runs: $3"; exit 1; }
}

unset MERBIT_TEST_FULL MERBIT_NVRTC
case $once in /*) ;; *) once=$OLDPWD/$once ;; esac
echo a >input
run='echo $MERBIT_TEST_SEED >>ran'
expect 1 77 "$run; exit 77" # as a skipped test
expect 2 0 "$run"
expect 2 0 "$run"
echo b >input
expect 3 0 "$run"
expect 3 0 "$run"
export MERBIT_TEST_FULL=1
expect 4 0 "$run"
unset MERBIT_TEST_FULL
export MERBIT_NVRTC=another
expect 5 0 "$run"
unset MERBIT_NVRTC
expect 6 1 "$run; false"
expect 7 1 "$run; false"
rm input
expect 7 1 "$run"
[ "$(sort -u ran | wc -l)" -eq 6 ] || { echo "FAILED: not one seed for each input"; exit 1; }
! grep -qv '^[0-9][0-9]*$' ran || { echo "FAILED: a seed is no number"; exit 1; }
echo "once.sh: 7 of 10 commands ran"
