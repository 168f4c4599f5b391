#!/usr/bin/env bash
# From a fresh clone to a working tool: dependencies, a release build with build/bin/gaussmith, and the tour.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install_dependencies.sh

# Compiler output matters only when something goes wrong.
quietly() {
  local log=build/quickstart.log
  mkdir -p build
  "$@" >"$log" 2>&1 </dev/null || {
    cat "$log" >&2
    echo "quickstart: '$*' failed; the reason is above" >&2
    exit 1
  }
}

cache=()
if command -v ccache >/dev/null; then
  export CCACHE_DIR="${CCACHE_DIR:-$PWD/.cache/ccache}"
  cache=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
echo "Building build/bin/gaussmith (a few minutes the first time)."
quietly cmake --preset release "${cache[@]}"
quietly cmake --build --preset release

if [[ -x scripts/tour.sh ]]; then
  scripts/tour.sh
else
  build/bin/gaussmith --help
fi
echo "From Python: python3 -m venv env && env/bin/pip install '.[sklearn,plot]' (a few minutes), then import gaussmith as gs."
