#!/bin/sh
# merbit_dist.h as its users compile it: as C99 and C++11, by gcc and clang, under strict flags, in two translation units, static,
# with no symbol outside the prefix. The examples compile without a warning. -O2, with which the test programs are built, is
# used here only with MERBIT_TEST_FULL.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
level=${MERBIT_TEST_FULL:+-O2}
warnings="-Wall -Wextra -Wconversion -Wshadow -pedantic -Werror"

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

cat >"$work/main.c" <<'END'
#define MERBIT_DIST_IMPLEMENTATION
#include "merbit_dist.h"
#ifdef __cplusplus
extern "C" {
#endif
int other(void);
#ifdef __cplusplus
}
#endif
int main(void) { return merbit_dist_describe(NULL, NULL, 0) == 0 ? other() : 1; }
END
cat >"$work/other.c" <<'END'
#include "merbit_dist.h"
#include "merbit_dist.h"
int other(void);
int other(void) { return merbit_dist_get_info(NULL, NULL) == MERBIT_INVALID_ARGUMENT ? 0 : 1; }
END
sed '1i #define MERBIT_STATIC' "$work/main.c" >"$work/static.c"
gcc -std=c99 $level $warnings -I"$root" -c "$work/main.c" -o "$work/main.o" || fail "gcc, C99"
gcc -std=c99 $warnings -I"$root" -c "$work/other.c" -o "$work/other.o" || fail "gcc, the declarations"
gcc "$work/main.o" "$work/other.o" -o "$work/two" -lm -ldl -pthread || fail "two translation units do not link"
"$work/two" || fail "two translation units"
foreign=$(nm -g --defined-only "$work/main.o" | awk '$3 !~ /^merbit_|^main$/ {print $3}')
[ -z "$foreign" ] || fail "symbols outside merbit_: $foreign"
gcc -std=c99 $warnings -I"$root" -c "$work/static.c" -o "$work/static.o" || fail "static"
exported=$(nm -g --defined-only "$work/static.o" | awk 'NF == 3 && $3 != "main" {print $3}')
[ -z "$exported" ] || fail "MERBIT_STATIC exports: $exported"
g++ -x c++ -std=c++11 $warnings -I"$root" -fsyntax-only "$work/main.c" || fail "g++, C++11"
if command -v clang >/dev/null 2>&1; then
  clang -std=c99 $warnings -I"$root" -fsyntax-only "$work/main.c" || fail "clang, C99"
  clang++ -x c++ -std=c++11 $warnings -I"$root" -fsyntax-only "$work/main.c" || fail "clang++, C++11"
fi
gcc -std=gnu99 $warnings -I"$root" -fsyntax-only "$root/dist/examples/gpus.c" || fail "dist/examples/gpus.c"
echo "all modes compile"
