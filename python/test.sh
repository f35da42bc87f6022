#!/bin/sh
# Build the Python package and pass its tests: sh python/test.sh [PYTHON]
# Makes a virtual environment under build/, installs the package there with SciPy, pytest, matplotlib, tqdm and mypy, and
# runs python/tests, including those of PyTorch and CuPy if PYTHON (default python3) has them. Without a GPU, the CuPy tests
# and one of SciPy's arrays run again with a stand-in on the fake CUDA driver of tests/fake, if g++ is installed. Without
# a package index the tests use what PYTHON has; without SciPy, pytest and setuptools 77 the script exits with 77.
set -eu
python=${1:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build/python-package
venv=$work/venv

"$python" -m venv --clear --system-site-packages "$venv"
# If PYTHON belongs to a virtual environment, its packages are not the system's.
"$python" -c 'import site; print(*site.getsitepackages(), sep="\n")' \
  >"$("$venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')/parent.pth"
if "$venv/bin/pip" install -q --retries 1 scipy pytest matplotlib tqdm mypy; then
  "$venv/bin/pip" install -q --force-reinstall --no-deps "$root/python"
elif "$venv/bin/python" -c 'import scipy, pytest, setuptools, sys; sys.exit(int(setuptools.__version__.split(".")[0]) < 77)'; then
  "$venv/bin/pip" install -q --force-reinstall --no-deps --no-index --no-build-isolation "$root/python"
else
  echo "skipped: pip reaches no index, and $python lacks SciPy, pytest or setuptools 77"
  exit 77
fi

# Run outside python/, so that the tests use the installed package.
cd "$work"
"$venv/bin/python" -m pytest -q -rs -p no:cacheprovider "$root/python/tests"

if "$venv/bin/python" -c 'import sys, merbit; sys.exit(merbit.Context().device is None)'; then
  exit 0
fi
if ! command -v g++ >/dev/null 2>&1; then
  echo "skipped: the fake CUDA driver needs g++"
  exit 0
fi
sh "$root/python/tests/standin/build.sh" "$work/fake"
LD_LIBRARY_PATH=$work/fake MERBIT_NVRTC=$work/fake/libnvrtc.so.13 MERBIT_CACHE_DIR=$work/cache \
  PYTHONPATH=$root/python/tests/standin${PYTHONPATH:+:$PYTHONPATH} "$venv/bin/python" -m pytest -q -rs -p no:cacheprovider \
  "$root/python/tests/test_cupy.py" "$root/python/tests/test_solve.py::test_preconditioner_object_options"
