#!/usr/bin/env bash
# Formats every C++ file of ours in place.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folders=(apps bench examples fuzz include python reproduce src tests)
git ls-files -z --cached --others --exclude-standard -- "${folders[@]}" | grep -zE '\.[ch]pp$' | xargs -0 -r clang-format -i
