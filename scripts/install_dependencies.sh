#!/usr/bin/env bash
# Installs the Debian packages that Gaussmith is built from, skipping those that are there.
#   scripts/install_dependencies.sh            what the library, the tool and the Python package need
#   scripts/install_dependencies.sh --dev      also what the tests and checks need
#   scripts/install_dependencies.sh --missing  only names those of the first kind that are missing
set -euo pipefail

build_packages=(g++ cmake ninja-build libeigen3-dev libopenblas-serial-dev liblapacke-dev libsuitesparse-dev libfftw3-dev
  libboost-dev libcli11-dev nlohmann-json3-dev libfmt-dev zlib1g-dev python3-dev python3-venv)
dev_packages=(git libgtest-dev libnlopt-dev libnlopt-cxx-dev libbenchmark-dev clang clang-format clang-tidy libclang-rt-14-dev gcovr doxygen ccache)
minimal_cmake=3.25

fail() {
  echo "install_dependencies: $*" >&2
  exit 1
}

is_installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" == installed ]]
}

# The version of the cmake that would be called, which need not be the packaged one; empty without any.
cmake_version() {
  local line
  read -r line < <(cmake --version 2>/dev/null) || true
  echo "${line##* }"
}

cmake_is_recent() {
  local version
  version="$(cmake_version)"
  [[ -n "$version" ]] && dpkg --compare-versions "$version" ge "$minimal_cmake"
}

packages=("${build_packages[@]}")
case "${1:-}" in
  '') ;;
  --missing) ;;
  --dev) packages+=("${dev_packages[@]}") ;;
  *) fail "unknown argument '$1'; accepted: --dev, --missing" ;;
esac

command -v dpkg-query >/dev/null || fail "this script knows Debian packages only; install: ${packages[*]}"

missing=()
for package in "${packages[@]}"; do
  if [[ "$package" == cmake ]] && cmake_is_recent; then continue; fi
  is_installed "$package" || missing+=("$package")
done

if [[ "${1:-}" == --missing ]]; then
  if ((${#missing[@]})); then printf '%s\n' "${missing[@]}"; fi
  exit 0
fi

if ((${#missing[@]})); then
  as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "not root and no sudo; install: ${missing[*]}"
    as_root=(sudo)
  fi
  echo "Installing ${#missing[@]} packages: ${missing[*]}"
  log="$(mktemp)"
  trap 'rm -f "$log"' EXIT
  apt_get() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 \
      </dev/null || {
      cat "$log" >&2
      fail "'apt-get $*' failed; the reason is above"
    }
  }
  apt_get update
  apt_get install -y --no-install-recommends "${missing[@]}"
fi

cmake_is_recent || fail "cmake $minimal_cmake or later is needed; $(command -v cmake) is $(cmake_version)"
echo "Dependencies: all ${#packages[@]} packages are there."
