#!/usr/bin/env bash
# Formats every C++ file of the checkout in place.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
git ls-files -z --cached --others --exclude-standard -- '*.cpp' '*.hpp' | xargs -0 -r clang-format -i
