#!/usr/bin/env bash
# Checks that take too long for the tests: signals at random moments, every limit of memory, ill-conditioned models.
# Usage: scripts/long_checks.sh [SECTION ...], of signals, memory, rounding and kills; default: all. Wants a release build in
# build/ with its tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GAUSSMITH_TOOL="${GAUSSMITH_TOOL:-build/bin/gaussmith}"

# 200 signals over all commands, 20 kills: the end within a second, a stated exit code, nothing half-written.
signals() {
  GAUSSMITH_SIGNALS="${GAUSSMITH_SIGNALS:-200}" python3 -B tests/cli/test_signals.py
}

# Nine runs on one and two threads under twenty limits of address space: the result, or one line and exit code 3.
memory() {
  scripts/memory_limits.py "$GAUSSMITH_TOOL"
}

# Claims of convergence against sixty digits: GAUSSMITH_SEEDS problems from GAUSSMITH_FIRST_SEED on, four methods each.
rounding() {
  GAUSSMITH_SEEDS="${GAUSSMITH_SEEDS:-500}" build/bin/test_hard --gtest_filter='*Rounding*'
}

# A design of measurements killed at 50 moments: the same selections, the same curve.
kills() {
  GAUSSMITH_KILLS="${GAUSSMITH_KILLS:-50}" python3 -B tests/cli/test_design_measure.py Measure.test_killed_it_goes_on_and_ends_the_same
}

for section in "${@:-signals memory rounding kills}"; do
  for name in $section; do
    case "$name" in
      signals | memory | rounding | kills) echo "== $name" && "$name" ;;
      *) echo "unknown section $name; there are signals, memory, rounding and kills" >&2 && exit 1 ;;
    esac
  done
done
