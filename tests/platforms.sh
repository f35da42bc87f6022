#!/bin/sh
# Builds merbit for other platforms and runs what can run here: sh tests/platforms.sh [PLATFORM ...]
# All platforms by default; their names are below. For each, compiles the header without warnings as C99 and C++11, the
# examples and the tests of the CPU side. Linux programs run here or under qemu-user, Windows programs under Wine, macOS
# programs not at all. Installs what is missing: the compiler zig from PyPI in a virtual environment under
# build/platforms, qemu-user and Wine with apt-get, and cmocka's source from Debian. Reports what it skips.
set -eu
all="x86_64-linux-musl aarch64-linux-musl aarch64-linux-gnu x86_64-windows-gnu x86_64-windows-msvc x86_64-macos aarch64-macos"
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build/platforms
export MERBIT_TEST_SEED="${MERBIT_TEST_SEED:-$(date +%s)}" WINEDEBUG=-all WINEPREFIX="$work/wine"
mkdir -p "$work"

say() {
  printf '== %s\n' "$*"
}

# ---- Tools ---------------------------------------------------------------------------------------
python=$work/python/bin/python3
if ! "$python" -c 'import jinja2, ziglang' 2>/dev/null; then
  say "installing zig and Jinja2 in build/platforms/python"
  python3 -m venv "$work/python"
  "$python" -m pip install --quiet --disable-pip-version-check ziglang==0.17.1 -r gen/requirements.txt || {
    say "skipped: zig, the compiler for all platforms, cannot be installed"
    exit 77
  }
fi
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu # where libc6-arm64-cross has glibc
for tool in "qemu-aarch64 qemu-user" "wine wine64 wine" "$QEMU_LD_PREFIX/lib/libc.so.6 libc6-arm64-cross"; do
  command -v ${tool%% *} >/dev/null || [ -f ${tool%% *} ] || {
    say "installing with apt-get: ${tool#* }"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ${tool#* } >/dev/null ||
      say "skipped: ${tool#* } cannot be installed, so programs that need it do not run"
  }
done
if [ ! -f "$work/cmocka/src/cmocka.c" ]; then
  say "fetching cmocka's source from Debian"
  (
    mkdir -p "$work/apt/lists/partial" && cd "$work/apt"
    echo 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main' >list
    for step in update "source --download-only cmocka"; do
      apt-get -qq -o Dir::Etc::SourceList="$PWD/list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$PWD/lists" \
        -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= $step
    done
    mkdir -p ../cmocka && tar -xf cmocka_*.orig.tar.xz -C ../cmocka --strip-components=1
  ) >"$work/cmocka.log" 2>&1 || say "skipped: cmocka cannot be fetched, so no tests are built: build/platforms/cmocka.log"
fi

# ---- One platform --------------------------------------------------------------------------------
# Each step reports what it did, or fails with its log.
step() {
  what=$1
  shift
  "$@" >"$dir/log" 2>&1 || {
    tail -n 60 "$dir/log"
    say "$platform: FAILED: $what"
    exit 1
  }
  say "$platform: $what"
}

# glibc's macro for memchr uses _Generic, about which clang warns in C99.
headers() {
  quiet=""
  case $target in *-linux-gnu) quiet=-Wno-c11-extensions ;; esac
  printf '#define MERBIT_IMPLEMENTATION\n#include "merbit.h"\nint main(void) { return merbit_version()[0] == 0; }\n' >"$dir/header.c"
  for language in "cc -x c -std=c99" "c++ -x c++ -std=c++11"; do
    "$dir"/$language -Wall -Wextra -Wconversion -Wshadow -pedantic -Werror $quiet -I "$root" -c "$dir/header.c" -o "$dir/header.o" ||
      return 1
  done
}

configure() {
  "$dir/cc" -w -O1 -DHAVE_SIGNAL_H $guard -I "$work/cmocka/include" -c "$work/cmocka/src/cmocka.c" -o "$dir/cmocka.o" &&
    "$dir/ar" rcs "$dir/libcmocka.a" "$dir/cmocka.o" &&
    cmake -S "$root" -B "$dir/build" -DCMAKE_SYSTEM_NAME="$system" -DCMAKE_SYSTEM_PROCESSOR="${platform%%-*}" \
    -DCMAKE_C_COMPILER="$dir/cc" -DCMAKE_CXX_COMPILER="$dir/cc" -DCMAKE_AR="$dir/ar" \
    -DCMAKE_RANLIB=/bin/true -DCMAKE_INSTALL_NAME_TOOL=/bin/true \
    "-DCMAKE_C_FLAGS=-w -O1" -DCMAKE_CROSSCOMPILING_EMULATOR="$emulator" -DCMAKE_BUILD_TYPE=Debug \
    -DCMOCKA_INCLUDE="$work/cmocka/include" -DCMOCKA_LIBRARY="$dir/libcmocka.a" -DMERBIT_PYTHON="$python"
}

# Patterns of ctest for the tests to run. Tests of files, of processes and of sizes beyond memory run only on the host
# (run.sh); qemu is slow and runs only quick ones.
quick="core_hash|core_memory|jit_buffer|jit_profile_estimate|market_read_(faults|values)|market_write_text"
quick="$quick|matrix_(block_shape|build_failures|build_wide|check|expand|triangle.*)|solve_(core_solver|pagerank|pagerank_refusals)"
quick="$quick|spmv_cpu_(many|reference)|spmv_plan_(lifetime|product|refusals)"
long="matrix_(blocks|build_forms|mutants|order)|solve_pagerank_random_graphs|spmv_plan_(identities|types)|spmv_stages_.*"
long="$long|spmv_cpu_(blocks|merge|semirings|sorted|symmetric)"

# Sets `names`, the tests to run. CTest itself accepts only patterns with few parentheses.
build() {
  names=$(ctest --test-dir "$dir/build" -N | sed -n 's/^ *Test *#[0-9]*: //p' | grep -E -x "$tests")
  cmake --build "$dir/build" --parallel "$(getconf _NPROCESSORS_ONLN)" --target readme pagerank elasticity heat paths solve \
    $(echo "$names" | sed 's/^/test_/')
}

run_tests() {
  ctest --test-dir "$dir/build" --output-on-failure --no-tests=error --timeout 1500 -R "^($(echo "$names" | paste -s -d '|'))\$"
}

# Wraps an example as a program of this system, for tests/examples.
wrap() {
  program=$(ls "$dir/build/$1" "$dir/build/$1.exe" 2>/dev/null)
  cat >"$dir/example-$1" <<END
#!/bin/sh
status=0
$emulator "$program" "\$@" >"$dir/output" || status=\$?
tr -d '\\r' <"$dir/output" | sed '/^picture: /{ s/Z://; y/\\\\/\\//; }'
exit \$status
END
  chmod +x "$dir/example-$1"
}

examples() {
  for example in readme pagerank elasticity heat paths solve; do
    wrap $example
    sh "$root/tests/examples/test_$example.sh" "$dir/example-$example" || return 1
  done
}

for platform in ${*:-$all}; do
  dir=$work/$platform
  mkdir -p "$dir"
  guard="-D_UINTPTR_T_DEFINED" # cmocka.h would redefine the type
  flags=$guard runs="" emulator="" tests=$quick target=$platform
  case $platform in
  *-linux-*)
    system=Linux
    case $platform in
    "$(uname -m)"-linux-musl) runs=yes ;;
    aarch64-linux-musl) emulator=$(command -v qemu-aarch64) && runs=yes ;;
    aarch64-linux-gnu) [ -f $QEMU_LD_PREFIX/lib/libc.so.6 ] && emulator=$(command -v qemu-aarch64) && runs=yes ;;
    esac
    tests="$tests|core_status|core_threads|market_(decimal|read_.*)|spmv_cpu_numa|jit_cache_(directory|entry|size)"
    [ -n "$emulator" ] || tests="$tests|$long"
    ;;
  *-windows-*)
    system=Windows guard="" flags=""
    tests="$tests|$long|core_os_windows"
    emulator=$(command -v wine) && runs=yes
    ;;
  *-macos)
    system=Darwin
    tests="$tests|$long"
    ;;
  *)
    say "$platform is none of: $all"
    exit 2
    ;;
  esac
  case $platform in *-msvc)
    target=x86_64-windows-gnu
    flags="-fms-extensions -include $root/tests/platforms/like_msvc.h"
    ;;
  esac
  for tool in cc c++ ar; do
    to="-target $target"
    [ $tool != ar ] || to="" flags=""
    # CMake and cmocka must find a compiler that they know.
    cat >"$dir/$tool" <<END
#!/bin/sh
case "\$PWD \$*" in *CompilerId* | *CMakeScratch* | *cmocka.c*) ;; *) set -- $flags "\$@" ;; esac
exec "$python" -m ziglang $tool $to "\$@"
END
    chmod +x "$dir/$tool"
  done
  step "the header compiles as C99 and C++11" headers
  [ -f "$work/cmocka/src/cmocka.c" ] || continue
  step "configured" configure
  step "examples and tests are built" build
  if [ -z "$runs" ]; then
    say "$platform: nothing here runs it"
    continue
  fi
  step "examples run" examples
  step "tests pass" run_tests
  tail -n 3 "$dir/log"
done
say "all done"
