#!/usr/bin/env bash
# The site, from the pages of docs/, the examples and the headers: build/docs/site/index.html. Every example is run, the
# C++ reference is made by Doxygen, and no link may be dead.
#   scripts/docs.sh            builds and checks; installs the package and the tools of docs/requirements.txt in build/docs/venv
#   scripts/docs.sh --browser  also opens every page in chromium, at phone and desk width; screenshots in build/docs/pictures
# PYTHON=... takes an interpreter that has the tools already, with the package of build/python (see CMake's GAUSSMITH_BUILD_PYTHON).
# The page of gaussmith compare is made by the tool of the release build, which is built where there is none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

browser=false
case "${1:-}" in
  '') ;;
  --browser) browser=true ;;
  *)
    echo "docs: unknown argument '$1'; accepted: --browser" >&2
    exit 1
    ;;
esac
command -v doxygen >/dev/null || {
  echo "docs: there is no doxygen; scripts/install_dependencies.sh --dev" >&2
  exit 1
}

mkdir -p build/docs
if [[ -n "${PYTHON:-}" ]]; then
  python="$PYTHON"
  export PYTHONPATH="$PWD/build/python"
else
  python=build/docs/venv/bin/python
  [[ -x "$python" ]] || python3 -m venv build/docs/venv
  "$python" -m pip install --quiet --requirement docs/requirements.txt .
  # Where mkdocstrings looks for the package.
  mkdir -p build/python
  [[ -e build/python/gaussmith ]] ||
    ln -s "$("$python" -c 'import gaussmith, os; print(os.path.dirname(gaussmith.__file__))')" build/python/gaussmith
fi

echo "Running the examples:"
"$python" scripts/docs_pages.py build/docs/source
if [[ ! -x build/bin/gaussmith ]]; then
  cmake --preset release >/dev/null
  cmake --build build --target gaussmith_tool
fi
build/bin/gaussmith compare --data data/epil.csv --target y --features base,age,trt --likelihood poisson --prior isotropic \
  --standardize --set prior.variance=1 --methods laplace,kl,ep,is,nuts --html build/docs/source/docs/comparison.html >/dev/null
rm -rf build/docs/api
GAUSSMITH_VERSION="$(sed -n 's/.*version = "\([0-9.]*\)".*/\1/p' include/gaussmith/version.hpp)" doxygen docs/Doxyfile
cp -r build/docs/api build/docs/source/api
NO_MKDOCS_2_WARNING=1 "$python" -m mkdocs build --quiet --strict --config-file docs/mkdocs.yml
"$python" scripts/check_links.py build/docs/site
if $browser; then "$python" scripts/check_browser.py build/docs/site build/docs/pictures; fi
echo "The site is build/docs/site/index.html; with search: python3 -m http.server --directory build/docs/site"
