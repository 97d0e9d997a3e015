#!/usr/bin/env bash
# Builds the fuzz targets (docs/fuzzing.md) with clang's libFuzzer under build/fuzz, runs each of them
# for a while and prints one line per target. Exits with 1 if a target found a fault, with 77 if this
# machine has no clang++ with libFuzzer (scripts/install-packages.sh --fuzz installs it).
#
#   scripts/fuzz.sh [--seconds S] [--jobs N] [--seed N] [--build-only | --no-build] [TARGET...]
#     --seconds S   run time of each target (default: 60)
#     --jobs N      compile with N jobs (default: one per core)
#     --seed N      of the random changes, to repeat a run (default: a new one each time)
#     --build-only  do not run the targets
#     --no-build    run the existing build
#     TARGET        a folder of tests/fuzz (default: all)
#
# New corpus files are kept in build/fuzz/corpus/TARGET, and bytes that trigger a fault in
# build/fuzz/found/TARGET.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=60
jobs=$(nproc)
build=true
seed=
execute=true
targets=()
while (($#)); do
  case "$1" in
    --seconds) seconds=${2:?fuzz.sh: --seconds needs a number}; shift ;;
    --jobs) jobs=${2:?fuzz.sh: --jobs needs a number}; shift ;;
    --build-only) execute=false ;;
    --no-build) build=false ;;
    --seed) seed=${2:?fuzz.sh: --seed needs a number}; shift ;;
    -*) echo "fuzz.sh: unknown option $1" >&2; exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done
if ((${#targets[@]} == 0)); then
  for folder in tests/fuzz/*/corpus; do targets+=("$(basename "$(dirname "$folder")")"); done
fi
for target in "${targets[@]}"; do
  if [[ ! -d "tests/fuzz/$target/corpus" ]]; then
    echo "fuzz.sh: there is no target '$target' in tests/fuzz" >&2
    exit 2
  fi
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
program=build/fuzz/tests/fuzz/saddle_fuzz

# The compiler has the runtime if a program that does nothing links.
find_compiler() {
  local compiler
  echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' \
    >"$scratch/nothing.cpp"
  for compiler in clang++ clang++-{14..20}; do
    if "$compiler" -fsanitize=fuzzer,address,undefined "$scratch/nothing.cpp" \
        -o "$scratch/nothing" 2>/dev/null; then
      command -v "$compiler"
      return
    fi
  done
  echo "fuzz.sh: skipped: this machine has no clang++ with libFuzzer" >&2
  return 77
}

if $build; then
  compiler=$(find_compiler)
  scripts/build.sh fuzz --jobs "$jobs" -DCMAKE_CXX_COMPILER="$compiler" -- saddle_fuzz
elif [[ ! -x "$program" ]]; then
  echo "fuzz.sh: skipped: $program was not built" >&2
  exit 77
fi
$execute || exit 0

# Readers that need files get them in a memory file system, if there is one.
files=$scratch
if [[ -d /dev/shm && -w /dev/shm ]]; then
  files=$(mktemp -d -p /dev/shm)
  trap 'rm -rf "$scratch" "$files"' EXIT
fi

failed=false
printf '%-14s %10s %8s %9s %7s  %s\n' target runs seconds coverage corpus faults
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target found=build/fuzz/found/$target log=build/fuzz/$target.log
  mkdir -p "$corpus" "$found"
  fault=""
  if ! TMPDIR=$files "$program" "--target=$target" -max_total_time="$seconds" ${seed:+-seed="$seed"} -timeout=10 \
      -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$found/" \
      "$corpus" "tests/fuzz/$target/corpus" >"$log" 2>&1; then
    fault=$(grep -m 1 -E '^fault: |ERROR: |runtime error: |what\(\): ' "$log" || tail -n 1 "$log")
    failed=true
  fi
  last=$(grep -E '^#[0-9]+.* cov: ' "$log" | tail -n 1 || true)
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  covered=$(sed -n 's/.* cov: \([0-9]*\).*/\1/p' <<<"$last")
  kept=$(sed -n 's/.* corp: \([0-9]*\).*/\1/p' <<<"$last")
  printf '%-14s %10s %8s %9s %7s  %s\n' "$target" "${runs:--}" "$seconds" "${covered:--}" \
    "${kept:--}" "${fault:-none}"
  if [[ -n "$fault" ]]; then
    echo "  the bytes are in $found, the full message is in $log; to repeat: $program --target=$target FILE"
  fi
done
if $failed; then exit 1; fi
