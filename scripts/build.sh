#!/usr/bin/env bash
# Configures and builds one preset under build/PRESET (through ccache if it is installed).
#
#   scripts/build.sh PRESET [--jobs N] [-DNAME=VALUE...] [--] [TARGET...]
#   default: every target, one job per core
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:?usage: scripts/build.sh PRESET [--jobs N] [-DNAME=VALUE...] [--] [TARGET...]}
shift
jobs=$(nproc)
options=()
while (($#)); do
  case "$1" in
    --jobs) jobs=${2:?build.sh: --jobs needs a number}; shift ;;
    -D*) options+=("$1") ;;
    --) shift; break ;;
    -*) echo "build.sh: unknown option $1" >&2; exit 2 ;;
    *) break ;;
  esac
  shift
done

if command -v ccache >/dev/null; then
  # Lets ccache also cache what is compiled with precompiled headers.
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
  options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cmake --preset "$preset" "${options[@]}"
if (($#)); then
  cmake --build "build/$preset" --parallel "$jobs" --target "$@"
else
  cmake --build "build/$preset" --parallel "$jobs"
fi
