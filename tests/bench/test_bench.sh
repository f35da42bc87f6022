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
