#!/usr/bin/env bash
# Kills, stops and starves the program at random moments, many times, and checks the files it left.
#
#   scripts/faults.sh [--rounds N]      default: 100 of each kind
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rounds=100
if [[ "${1:-}" == --rounds ]]; then
  rounds=${2:?faults.sh: --rounds needs a number}
elif (($#)); then
  echo "faults.sh: unknown option $1" >&2
  exit 2
fi

scripts/install-packages.sh
scripts/build.sh release -- faults_tests
SADDLE_FAULT_ROUNDS=$rounds exec ctest --test-dir build/release -L '^faults$' --output-on-failure \
  --timeout 3000 --no-tests=error
