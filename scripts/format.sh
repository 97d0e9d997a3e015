#!/usr/bin/env bash
# Formats every C++ and CUDA file in place; with --check only names the files that differ.
#
#   scripts/format.sh [--check]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=(-i)
case "${1-}" in
  "") ;;
  --check) mode=(--dry-run --Werror) ;;
  *) echo "format.sh: unknown option $1" >&2; exit 2 ;;
esac
command -v clang-format >/dev/null || {
  echo "format.sh: clang-format is missing; scripts/install-packages.sh --lint installs it" >&2
  exit 1
}
find src apps tests bench -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' \) -print0 |
  xargs -0 --no-run-if-empty clang-format --style=file "${mode[@]}"
