#!/usr/bin/env bash
# Builds saddle in build/package and packs it as a Debian package: the program, its manual page, bash
# completion, settings files and documentation.
#
#   scripts/package.sh [--native] [--jobs N] [--output FOLDER]
#     --native         for the processor of this machine; without it, for x86-64 with AVX2
#     --jobs N         compile with N jobs (default: one per core)
#     --output FOLDER  where the package is written (default: build/package)
#
# The version is that of the project, with the time and the revision of the last commit.
# `scripts/fresh-machine.sh --package FILE` installs and tests it on a fresh Debian 12.
set -euo pipefail

native=OFF
jobs=$(nproc)
output=
while (($#)); do
  case "$1" in
    --native) native=ON ;;
    --jobs) jobs=${2:?package.sh: --jobs needs a number}; shift ;;
    --output) output=$(realpath -m -- "${2:?package.sh: --output needs a folder}"); shift ;;
    *) echo "package.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output=${output:-$PWD/build/package}

scripts/install-packages.sh
scripts/install-packages.sh --package
scripts/build.sh package --jobs "$jobs" -DSADDLE_NATIVE=$native -- saddle

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' build/package/CMakeCache.txt)
if revision=$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd.%h 2>/dev/null); then
  version+="+git$revision"
  if [[ -n "$(git status --porcelain --untracked-files=no)" ]]; then version+=.changed; fi
  # Sets the times of the files in the package, so that the same tree gives the same package.
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
fi

rm -f build/package/saddle_*.deb  # of earlier runs
log=build/package/cpack.log
if ! cpack --config build/package/CPackConfig.cmake -B build/package \
    -D CPACK_PACKAGE_VERSION="$version" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
name="saddle_${version}_$(dpkg --print-architecture).deb"
mkdir -p "$output"
[[ "$output" -ef build/package ]] || mv "build/package/$name" "$output/"
package="$output/$name"
echo
dpkg-deb --field "$package" Package Version Architecture Depends Recommends
echo "package: $package"
