#!/bin/sh
# Compiles trilinos.cpp with Debian's Trilinos: sh dist/examples/trilinos.sh PROGRAM [OPTION...]
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
program=$1
shift
mpicxx -std=c++14 -O1 -DOMPI_SKIP_MPICXX "$@" -I"$folder/../.." -isystem /usr/include/trilinos "$folder/trilinos.cpp" -o "$program" \
  -ltrilinos_belostpetra -ltrilinos_belos -ltrilinos_tpetra -ltrilinos_teuchosnumerics -ltrilinos_teuchosparameterlist \
  -ltrilinos_teuchoscomm -ltrilinos_teuchoscore -ltrilinos_kokkoscore -lm -ldl -pthread
