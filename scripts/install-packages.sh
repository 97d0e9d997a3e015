#!/usr/bin/env bash
# Installs the Debian 12 packages for building, testing, figures and the quickstart, as root or
# through sudo. It requests only missing packages, so it works offline when nothing is missing.
#
#   scripts/install-packages.sh [--lint] [--tests] [--fuzz] [--package] [--list]
#     --lint     also the packages of scripts/format.sh and scripts/lint.sh
#     --tests    also the packages of some tests, which skip without them
#     --fuzz     also the packages of scripts/fuzz.sh; its tests skip without them
#     --package  also the packages of scripts/package.sh and scripts/fresh-machine.sh
#     --list     print the names and install nothing
set -euo pipefail

packages=(
  # to build
  g++ cmake ninja-build git ca-certificates
  libdnnl-dev libblis-openmp-dev libsentencepiece-dev libyaml-cpp-dev nlohmann-json3-dev
  libcli11-dev libfmt-dev libssl-dev zlib1g-dev
  libcurl4-openssl-dev libeigen3-dev
  # to test and to measure
  libgtest-dev libgmock-dev libbenchmark-dev
  # to draw figures
  gnuplot-nox
  # text for the quickstart
  bible-kjv
)

for_tests=(
  # a one-node cluster
  munge slurmctld slurmd slurm-client slurmdbd mariadb-server-core mariadb-client-core
  # a browser, for the page of a report
  chromium
)

list_only=false
for argument in "$@"; do
  case "$argument" in
    --lint) packages+=(clang-format clang-tidy libomp-dev) ;;
    --tests) packages+=("${for_tests[@]}") ;;
    --package) packages+=(dpkg-dev file debootstrap) ;;
    --fuzz) packages+=(clang libclang-rt-14-dev) ;;
    --list) list_only=true ;;
    *) echo "install-packages.sh: unknown option $argument" >&2; exit 2 ;;
  esac
done
if $list_only; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

if ! command -v dpkg-query >/dev/null; then
  echo "install-packages.sh: this is not a Debian system; install the equivalents of:" >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ "$status" == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "packages: all ${#packages[@]} are installed"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "install-packages.sh: not root and no sudo here. Run this as root, then try again:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "packages: installing ${missing[*]}"
apt_get() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@"; }
install_missing() { apt_get install -y --no-install-recommends "${missing[@]}" </dev/null; }

apt_get update || echo "packages: could not update the package lists, using the existing ones" >&2
if ! install_missing; then
  echo "install-packages.sh: apt-get could not install: ${missing[*]}" >&2
  echo "  Is there a network, and is this Debian 12 with its main archive?" >&2
  exit 1
fi
