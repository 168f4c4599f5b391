#!/usr/bin/env bash
# From a fresh clone to a working tool: dependencies, a release build with build/bin/gaussmith, and the tour.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install_dependencies.sh

# A sign of life every half minute: ninja begins its lines with [done/all]. Sleep must not hold the output open when this is ended.
tell_progress() {
  while sleep 30 >/dev/null 2>&1; do
    sed -nE 's/^\[([0-9]+)\/([0-9]+)\].*/  \1 of \2 steps done/p' "$1" | tail -n 1
  done
}

# Compiler output matters only when something goes wrong.
quietly() {
  local log=build/quickstart.log status=0
  mkdir -p build
  : >"$log"
  tell_progress "$log" &
  local teller=$!
  # shellcheck disable=SC2064
  trap "kill $teller 2>/dev/null || true" EXIT
  "$@" >"$log" 2>&1 </dev/null || status=$?
  kill "$teller" 2>/dev/null || true
  wait "$teller" 2>/dev/null || true
  trap - EXIT
  if ((status)); then
    cat "$log" >&2
    echo "quickstart: '$*' failed; the reason is above" >&2
    exit 1
  fi
}

cache=()
if command -v ccache >/dev/null; then
  export CCACHE_DIR="${CCACHE_DIR:-$PWD/.cache/ccache}"
  # What ccache needs to know to cache files with precompiled headers.
  export CCACHE_SLOPPINESS=pch_defines,time_macros
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
