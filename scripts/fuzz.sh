#!/usr/bin/env bash
# The coverage-guided search for input that breaks a reader: builds the fuzz targets with clang and runs each for a while.
#   scripts/fuzz.sh [seconds-per-target, 60] [target...]      e.g. scripts/fuzz.sh 600 fuzz_csv
# A finding stops the run, and its input is left in build-fuzz/found/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds="${1:-60}"
targets=("${@:2}")
scripts/install_dependencies.sh --dev
export CCACHE_DIR="${CCACHE_DIR:-$PWD/.cache/ccache}"
cmake --preset fuzz -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
if ((${#targets[@]} == 0)); then
  for source in fuzz/fuzz_*.cpp; do targets+=("$(basename "$source" .cpp)"); done
fi
cmake --build --preset fuzz --target "${targets[@]}"
for target in "${targets[@]}"; do
  echo "== $target, $seconds s"
  # libFuzzer writes what it learns into the first folder, so that is not the corpus of the checkout.
  mkdir -p "build-fuzz/learned/$target" build-fuzz/found
  "build-fuzz/bin/$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -verbosity=0 -print_final_stats=1 \
    -artifact_prefix="build-fuzz/found/$target-" "build-fuzz/learned/$target" "fuzz/corpus/${target#fuzz_}"
done
