#!/bin/sh
# Build the Python package and pass its tests: sh python/test.sh [PYTHON]
# Makes a virtual environment under build/, installs the package there with SciPy, pytest, matplotlib, tqdm and mypy, and runs
# python/tests; with PyTorch and CuPy too if PYTHON, python3 unless given, has them. Where there is no GPU, the tests of CuPy
# run once more with a stand-in on the fake CUDA driver of tests/fake, if g++ is there, and so does one of SciPy's arrays.
# Without an index for pip the tests use what PYTHON has: if that is not SciPy, pytest and setuptools 77, the script exits
# with 77.
set -eu
python=${1:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build/python-package
venv=$work/venv

"$python" -m venv --clear --system-site-packages "$venv"
# If PYTHON is one of a virtual environment, that environment's packages are not the system's.
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

# The tests use the installed package: they run elsewhere than in python/.
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
