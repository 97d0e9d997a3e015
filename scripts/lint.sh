#!/usr/bin/env bash
# Runs clang-tidy, with the checks of .clang-tidy, on the sources of the library and the program.
#
#   scripts/lint.sh [--jobs N] [FILE...]     default: every .cpp under src and apps
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
if [[ "${1-}" == --jobs ]]; then
  jobs=${2:?lint.sh: --jobs needs a number}
  shift 2
fi
command -v clang-tidy >/dev/null || {
  echo "lint.sh: clang-tidy is missing; scripts/install-packages.sh --lint installs it" >&2
  exit 1
}
cmake --preset release >/dev/null
cmake --build build/release --target saddle_revision >/dev/null  # a header that sources include

if (($#)); then
  printf '%s\0' "$@"
else
  find src apps -type f -name '*.cpp' -print0
fi | xargs -0 -n 1 -P "$jobs" clang-tidy -p build/release --quiet \
  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-unknown-pragmas
