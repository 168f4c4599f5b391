#!/usr/bin/env bash
# Builds and runs the benchmarks; arguments go to the program, e.g. --benchmark_filter=laplace.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/install_dependencies.sh --dev
cmake --preset release -DGAUSSMITH_BUILD_BENCH=ON > /dev/null
cmake --build build --target gaussmith_bench
exec build/bin/gaussmith_bench "$@"
