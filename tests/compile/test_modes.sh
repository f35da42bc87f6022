#!/bin/sh
# merbit.h as its users compile it: every compiler and language it promises, strict flags, both linkage modes,
# two translation units in one program, and no symbol outside the prefix.
# Usage: test_modes.sh PYTHON, with a Python that has Jinja2.
set -eu
python=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Wconversion -Wshadow -pedantic -Werror"
cases=0

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

cat >"$work/implementation.c" <<'END'
#define MERBIT_IMPLEMENTATION
#include "merbit.h"
const char *other(void);
int main(void) { return merbit_version()[0] == other()[0] ? 0 : 1; }
END
cat >"$work/other.c" <<'END'
#include "merbit.h"
#include "merbit.h"
#ifdef __cplusplus
const char *other(void);
#else
extern const char *other(void);
#endif
const char *other(void) { return merbit_status_name(MERBIT_OK); }
END
sed 's/return merbit_version.*/return merbit_status_name(MERBIT_OK)[0] == other()[0] ? 0 : 1; }/' \
  "$work/implementation.c" >"$work/main.c"
sed '1i #define MERBIT_IMPLEMENTATION\n#define MERBIT_STATIC' "$work/other.c" >"$work/static_other.c"
sed '1i #define MERBIT_STATIC' "$work/main.c" >"$work/static_main.c"
sed '/^const char \*other(void);$/d; /^int main/d' "$work/main.c" >"$work/library.c"
printf '#include <stdio.h>\n#define MERBIT_IMPLEMENTATION\n#include "merbit.h"\n' >"$work/late.c"
printf '#include <tgmath.h>\n#define MERBIT_IMPLEMENTATION\n#include "merbit.h"\n' >"$work/macros.c"

"$python" "$root/gen/generate.py" --study --output "$work/study/merbit.h" || fail "gen/generate.py --study"

# All combinations of languages, OpenMP and optimisation run with --full. By default nothing is optimised (test_levels.sh does
# that), and MERBIT_TEST_SEED chooses whether C or C++ has OpenMP and the methods for comparison, whether code is generated
# for C++, or its warnings alone are tested, as those of a later standard are, which one that is, and whether gcc or clang, if
# both are there, generates code at all.
if [ $((${MERBIT_TEST_SEED-1} % 2)) -eq 0 ]; then
  next=c++11 later=c++20
else
  next=c99 later=gnu17
fi
only=""
if [ -z "${MERBIT_TEST_FULL-}" ] && command -v g++ >/dev/null && command -v clang++ >/dev/null; then
  [ $((${MERBIT_TEST_SEED-1} / 2 % 2)) -eq 0 ] && only=gcc || only=clang
fi
for family in gcc clang; do
  case $family in gcc) cxx=g++ ;; *) cxx=clang++ ;; esac
  if ! command -v $family >/dev/null || ! command -v $cxx >/dev/null; then
    echo "skipped: no $family"
    continue
  fi
  # A compiler may lack the library that -fopenmp links.
  openmp=-fopenmp
  echo 'int main(void) { return 0; }' >"$work/openmp.c"
  $family -fopenmp "$work/openmp.c" -o "$work/openmp" 2>/dev/null || {
    echo "skipped: $family -fopenmp does not link here"
    openmp=""
  }
  optimised=""
  both=$next
  studies=$next
  standards="c99 c++11 $later"
  parsed=$later
  [ $next = c++11 ] || parsed="c++11 $later"
  [ -z "${MERBIT_TEST_FULL-}" ] || {
    optimised="gcc:c99: gcc:c++11: gcc:c99:-fopenmp gcc:c++11:-fopenmp clang:c99: clang:c++11: clang:c99:-fopenmp clang:c++11:-fopenmp"
    both="c99 gnu17 c++11 c++20"
    studies="c99 c++11"
    standards="c99 gnu17 c++11 c++20"
    parsed=""
  }
  [ "${only:-$family}" = $family ] || parsed=$standards
  for standard in $standards; do
    case $standard in
    c++*) language="$cxx -x c++ -std=$standard" ;;
    *) language="$family -x c -std=$standard" ;;
    esac
    case " $parsed " in *" $standard "*)
      for source in main static_main other; do
        $language $warnings -I"$root" -fsyntax-only "$work/$source.c" || fail "$source: $language"
      done
      cases=$((cases + 1))
      continue
      ;;
    esac
    modes=none
    case " $both " in *" $standard "*) modes="none ${openmp:-}" ;; esac
    for mode in $modes; do
      [ "$mode" != none ] || mode=""
      label="$language $mode"
      strict=$warnings
      case " $optimised " in *" $family:$standard:$mode "*) strict="-O2 $warnings" ;; esac
      [ "$standard $mode" != "c99 " ] || strict="$strict -fPIC -fvisibility=hidden"
      $language $mode $strict -I"$root" -c "$work/main.c" -o "$work/main.o" || fail "$label"
      $language $mode $strict -I"$root" -c "$work/other.c" -o "$work/other.o" || fail "$label"
      $cxx $mode "$work/main.o" "$work/other.o" -o "$work/two" -lm -ldl -pthread || fail "link: $label"
      "$work/two" || fail "two translation units: $label"
      cases=$((cases + 1))
      [ "$standard $mode" != "c99 " ] || cp "$work/main.o" "$work/library.o"
    done
    # Warnings about unused static functions depend on the language, not on OpenMP.
    $language $warnings -I"$root" -c "$work/static_main.c" -o "$work/main.o" || fail "static: $language"
    cases=$((cases + 1))
    [ "$standard" != c99 ] || cp "$work/main.o" "$work/static.o"
    case $standard in c99 | c++11) ;; *) continue ;; esac
    $language $warnings -I"$root" -c "$work/static_other.c" -o "$work/other.o" || fail "static: $language"
    $cxx "$work/main.o" "$work/other.o" -o "$work/two" -lm -ldl -pthread || fail "static link: $language"
    "$work/two" || fail "static, two translation units: $language"
    case " $studies " in *" $standard "*) ;; *) continue ;; esac
    $language $warnings -I"$work/study" -c "$work/library.c" -o "$work/study.o" || fail "study: $language"
  done
  [ "$parsed" != "$standards" ] || continue
  foreign=$(nm -g --defined-only "$work/library.o" | awk '$3 !~ /^merbit_|^main$/ {print $3}')
  [ -z "$foreign" ] || fail "symbols outside merbit_: $foreign"
  nm -g --defined-only "$work/library.o" | grep -q ' merbit_spmv$' || fail "merbit_spmv is not exported"
  # A shared library can keep merbit to itself.
  $family -shared "$work/library.o" -o "$work/library.so" -lm -ldl -pthread || fail "shared library: $family"
  visible=$(nm -D --defined-only "$work/library.so" | awk '/ merbit_/ {print $3}')
  [ -z "$visible" ] || fail "-fvisibility=hidden leaves visible: $visible"
  exported=$(nm -g --defined-only "$work/static.o" | awk 'NF == 3 && $3 != "main" {print $3}')
  [ -z "$exported" ] || fail "MERBIT_STATIC exports: $exported"
  if $family -std=c99 -I"$root" -c "$work/late.c" -o "$work/late.o" 2>"$work/late.txt"; then
    fail "a system header before the implementation was not refused"
  fi
  grep -q "before any system header" "$work/late.txt" || fail "the refusal does not say what to do"
  # Without NaN and infinities a file could not be written, for example.
  for mode in -ffast-math -ffinite-math-only; do
    if $family $mode -std=c99 -I"$root" -fsyntax-only "$work/library.c" 2>"$work/fast.txt"; then
      fail "$family $mode was not refused"
    fi
    grep -q "with -fno-fast-math" "$work/fast.txt" || fail "the refusal of $mode does not say what to do"
  done
  $family -ffast-math -std=c99 $warnings -I"$root" -fsyntax-only "$work/other.c" || fail "declarations with -ffast-math"
  # Names of its own survive headers before it that define macros such as `complex`, `I` and log().
  $family -std=c99 -D_GNU_SOURCE $warnings -I"$root" -fsyntax-only "$work/macros.c" || fail "after tgmath.h: $family"
  # Another compiler accepts the declarations, and an error tells why it cannot compile the implementation.
  $family -U__GNUC__ -std=c99 $warnings -I"$root" -fsyntax-only "$work/other.c" || fail "declarations without GNU C: $family"
  if $family -U__GNUC__ -std=c99 -I"$root" -fsyntax-only "$work/library.c" 2>"$work/foreign.txt"; then
    fail "$family without GNU C was not refused"
  fi
  grep -q "implementation needs gcc, clang" "$work/foreign.txt" || fail "the refusal does not say which compilers there are"
  needed=$(nm -u "$work/library.o" | awk '{print $2}' | grep -E '^(cu|nvrtc|printf|puts|exit|abort|__assert)' || true)
  [ -z "$needed" ] || fail "the header calls $needed"
done
[ "$cases" -gt 0 ] || { echo "no compiler found"; exit 77; }
echo "$cases builds"
