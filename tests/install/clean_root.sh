#!/bin/sh
# Run each way of installing in a clean Debian 12: sh tests/install/clean_root.sh [FOLDER]
# debootstrap installs it in FOLDER (default build/clean-root) with only compilers, CMake, pkg-config and Python. The
# committed state is copied there. Needs root, Debian's packages and PyPI; takes a few minutes.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$root/build/clean-root}
packages=gcc,g++,libc6-dev,make,cmake,pkg-config,python3,python3-dev,python3-venv,ca-certificates

say() {
  printf '== %s\n' "$*"
}

if [ ! -f "$folder/complete" ]; then
  command -v debootstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap >/dev/null || {
    say "skipped: there is no debootstrap"
    exit 77
  }
  say "making a clean Debian in $folder"
  mkdir -p "$folder"
  debootstrap --variant=minbase --include=$packages bookworm "$folder" >"$folder.log" 2>&1 || {
    tail -n 5 "$folder.log"
    say "skipped: debootstrap failed"
    exit 77
  }
  cp /etc/resolv.conf "$folder/etc/resolv.conf"
  cp /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/ca-certificates.crt" # may include a proxy's
  touch "$folder/complete"
fi
rm -rf "$folder/merbit"
mkdir "$folder/merbit"
mount --bind /proc "$folder/proc"
trap 'umount "$folder/proc"' EXIT
git -C "$root" archive HEAD | tar -x -C "$folder/merbit"

# inside WHAT COMMAND: runs a shell command in the clean root, in the copy of the repository.
inside() {
  chroot "$folder" /usr/bin/env -i PATH=/usr/bin:/usr/sbin HOME=/root LANG=C.UTF-8 \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 \
    sh -ec "cd /merbit; $2" >"$folder.log" 2>&1 || {
    tail -n 40 "$folder.log"
    say "FAILED: $1"
    exit 1
  }
  say "$1"
}

version=$(sed -n 's/^#define MERBIT_VERSION_STRING "\(.*\)"/\1/p' "$root/merbit.h")
inside "one file copied, C" "mkdir /tmp/copy.\$\$; cd /tmp/copy.\$\$; cp /merbit/merbit.h .
  cc -O1 -I. /merbit/tests/install/consumer/program.c /merbit/cmake/merbit.c -lm -ldl -o program
  test \"\$(./program)\" = '$version 42'"
inside "one file copied, C++" "mkdir /tmp/copy.\$\$; cd /tmp/copy.\$\$; cp /merbit/merbit.h .
  cc -O1 -I. -c /merbit/cmake/merbit.c
  c++ -I. /merbit/tests/install/consumer/program.cpp merbit.o -lm -ldl -o program
  test \"\$(./program)\" = '$version 42'"
for kind in static shared; do
  inside "cmake --install, $kind: find_package and pkg-config" \
    "sh tests/install/test_install.sh cmake 'Unix Makefiles' $kind"
done
inside "add_subdirectory and FetchContent" "sh tests/install/test_subproject.sh cmake 'Unix Makefiles'"
inside "Conan" "python3 -m venv /tmp/conan; /tmp/conan/bin/pip install -q conan
  PATH=/tmp/conan/bin:\$PATH sh tests/install/test_conan.sh cmake 'Unix Makefiles'"
inside "pip install ./python, and its tests" "sh python/test.sh"
say "all done"
