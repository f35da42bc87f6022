#!/bin/sh
# Unpack the shipped graph: sh examples/data/unpack.sh FOLDER
# Writes FOLDER/debian12-deps.mtx (Matrix Market) and FOLDER/debian12-deps.names.txt. The packed form has
# one line of columns for each row, half the size of Matrix Market's pairs of row and column.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?usage: unpack.sh FOLDER}
mkdir -p "$folder"
gzip -dc "$here/debian12-deps.names.txt.gz" >"$folder/debian12-deps.names.txt"
gzip -dc "$here/debian12-deps.rows.gz" | awk '
  /^%/ { print; next }
  !size { print; size = $3; next }
  { row++; for (k = 1; k <= NF; k++) { print row, $k; entries++ } }
  END { exit entries != size }' >"$folder/debian12-deps.mtx.part"
mv "$folder/debian12-deps.mtx.part" "$folder/debian12-deps.mtx"
