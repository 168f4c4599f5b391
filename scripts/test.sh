#!/usr/bin/env bash
# Everything that must hold, from a fresh clone: format, layers, tests in release and under sanitizers, coverage, the
# installed package, the Python package, lint, API reference. The fuzz targets run on fixed mutations among the sanitized tests; the long
# search is scripts/fuzz.sh. Stops at the first step that fails.
#   scripts/test.sh          all steps
#   scripts/test.sh --quick  release build and its tests only
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root="$PWD"

quick=false
case "${1:-}" in
  '') ;;
  --quick) quick=true ;;
  *)
    echo "test: unknown argument '$1'; accepted: --quick" >&2
    exit 1
    ;;
esac

minimal_coverage=90
jobs="$(nproc)"
logs="$root/build/logs"
mkdir -p "$logs"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
# The cache stays in the checkout, so that a second run is quick and nothing else is touched.
export CCACHE_DIR="${CCACHE_DIR:-$root/.cache/ccache}"
export CTEST_PARALLEL_LEVEL="$jobs" CMAKE_BUILD_PARALLEL_LEVEL="$jobs"
# What ccache needs to know to cache files with precompiled headers.
export CCACHE_SLOPPINESS=pch_defines,time_macros
export UBSAN_OPTIONS=print_stacktrace=1
unset DESTDIR

# step NAME COMMAND...: runs it with its output in a log, which is shown when it fails, and prints the seconds it took.
# Each COMMAND is a function below; it runs in a subshell with -e, so its first failing line fails the step.
step() {
  local name="$1" log="$logs/$2.log" start=$SECONDS status=0
  printf '%-46s ' "$name"
  set +e
  (
    set -e
    "$2"
  ) >"$log" 2>&1 </dev/null
  status=$?
  set -e
  if ((status)); then
    printf 'FAILED after %d s\n' $((SECONDS - start))
    tail -n 150 "$log" >&2 || true
    echo "test: step '$name' failed; the whole log is ${log#"$root"/}" >&2
    exit 1
  fi
  printf '%4d s\n' $((SECONDS - start))
}

# show NAME PATTERN: the lines of a step's log that a reader wants to see even when all is well.
show() { sed -n "/$2/s/^/    /p" "$logs/$1.log"; }

# The C++ files of ours: other folders of a checkout, such as virtual environments, hold those of others.
sources() {
  local folders=(apps bench examples fuzz include python reproduce src tests)
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- "${folders[@]}" | grep -E '\.[ch]pp$'
  else
    find "${folders[@]}" -type f \( -name '*.cpp' -o -name '*.hpp' \)
  fi
}

configure() {
  local preset="$1"
  shift
  local launcher=()
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  cmake --preset "$preset" "${launcher[@]}" "$@"
}

run_ctest() { ctest --test-dir "$1" --output-on-failure --no-tests=error --timeout 600; }

check_format() {
  sources >"$scratch/sources"
  xargs -r -P "$jobs" -n 8 clang-format --dry-run -Werror <"$scratch/sources"
}

check_layers() { python3 scripts/check_layers.py; }

# An environment of its own, made anew when the list changes.
python_environment() {
  local wanted=python/requirements.txt have=build/venv/requirements.txt
  if cmp -s "$wanted" "$have"; then return; fi
  python3 -m venv --clear build/venv
  # What is never imported need not be compiled.
  build/venv/bin/python -m pip install --disable-pip-version-check --no-compile --requirement "$wanted"
  cp "$wanted" "$have"
}

build_release() {
  configure release -DGAUSSMITH_BUILD_TESTS=ON -DGAUSSMITH_BUILD_EXAMPLES=ON -DGAUSSMITH_BUILD_BENCH=ON \
    -DGAUSSMITH_BUILD_PYTHON=ON -DPython_EXECUTABLE="$root/build/venv/bin/python"
  cmake --build build
}

# As `pip install .` does, but in the release build, which has everything compiled already.
install_python() {
  build/venv/bin/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall \
    -C build-dir=build -C cmake.define.GAUSSMITH_BUILD_APPS=true .
}

# What was installed, not what lies in the checkout.
test_python() { env -u PYTHONPATH build/venv/bin/python -m pytest; }

check_python_types() {
  build/venv/bin/python -m mypy --cache-dir build/mypy examples/python
  MYPYPATH=build/python build/venv/bin/python -m mypy --cache-dir build/mypy_package --package gaussmith
}

test_release() { run_ctest build; }

# The tests have used the installed static library already.
# Code for another instruction set must be refused: there Eigen's vectors cannot pass between the user and the library.
package_refusal() {
  cmake -D BUILD="$root/build" -D WORK="$scratch/avx" -D FLAGS=-mavx -D REFUSED='same -march' \
    -P tests/consumer/run.cmake
}

# The objects serve both kinds of library, so the same build directory links the shared one in seconds, and is put back.
package_shared() {
  configure release -DBUILD_SHARED_LIBS=ON
  cmake --build build --target gaussmith gaussmith_tool
  cmake -D BUILD="$root/build" -D WORK="$scratch/shared" -P tests/consumer/run.cmake
  configure release -DBUILD_SHARED_LIBS=OFF
  cmake --build build
}

build_sanitized() {
  configure asan -DGAUSSMITH_COVERAGE=ON
  cmake --build build-asan
}

test_sanitized() {
  # Counts of an earlier run would hide lines that are no longer reached.
  find build-asan -name '*.gcda' -delete
  run_ctest build-asan
}

coverage() {
  gcovr --root . --filter 'src/' --filter 'include/' --exclude-unreachable-branches --exclude-throw-branches \
    -j "$jobs" --sort-uncovered --print-summary --fail-under-line "$minimal_coverage" build-asan
}

lint() {
  # clang cannot read the precompiled headers of gcc.
  configure release -B build-lint -DGAUSSMITH_PRECOMPILE=OFF
  scripts/lint.py build-lint
}

api_reference() {
  mkdir -p build/docs
  GAUSSMITH_VERSION="$(sed -n 's/.*version = "\([0-9.]*\)".*/\1/p' include/gaussmith/version.hpp)" doxygen docs/Doxyfile
}

if $quick; then
  scripts/install_dependencies.sh --dev
  step 'Python environment' python_environment
  step 'Release build' build_release
  step 'Tests, release' test_release
  show test_release '% tests passed'
  exit 0
fi

scripts/install_dependencies.sh --dev
step 'Format' check_format
step 'Layers' check_layers
step 'Python environment' python_environment
step 'Release build: tool, tests, Python, bench' build_release
step 'Tests, release' test_release
show test_release '% tests passed'
step 'Python package installed by pip' install_python
step 'Tests, Python' test_python
show test_python ' passed'
step 'Types, Python examples and package' check_python_types
step 'Installed package, other instruction set' package_refusal
step 'Installed package, shared' package_shared
step 'Sanitizer build (ASan, UBSan, coverage)' build_sanitized
step 'Tests, sanitizers' test_sanitized
show test_sanitized '% tests passed'
step "Line coverage, at least $minimal_coverage %" coverage
show coverage '^lines:'
step 'clang-tidy' lint
step 'API reference' api_reference
echo "All steps passed in $SECONDS s."
