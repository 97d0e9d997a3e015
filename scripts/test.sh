#!/usr/bin/env bash
# Installs what is missing, builds the release preset and runs every test.
#
#   scripts/test.sh [--all] [--portable] [--jobs N] [--minutes M]
#     --all        also runs every test, except those on a real Slurm, under the address and
#                  undefined-behaviour sanitizers, those of the loader, the trainer and the emulated
#                  CUDA under the thread sanitizer, and the numerical tests again without the
#                  instructions that this processor has beyond AVX2
#     --portable   builds for every processor with AVX2 instead of for this one (the portable preset),
#                  and runs every test of that build
#     --jobs N     compile and test with N jobs (default: one per core)
#     --minutes M  stop and fail when everything together takes longer (default: 60)
#
# Tests on real documents run when SADDLE_REFERENCE_DIR names a folder that holds them
# (data/c4/..., data/tokenizer/tokenizer.model); without it they skip.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all=false
preset=release
jobs=$(nproc)
minutes=60
while (($#)); do
  case "$1" in
    --all) all=true ;;
    --portable) preset=portable ;;
    --jobs) jobs=${2:?test.sh: --jobs needs a number}; shift ;;
    --minutes) minutes=${2:?test.sh: --minutes needs a number}; shift ;;
    *) echo "test.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done

# What the environment asks of OpenMP is for the user's own programs: tests set what they need.
for variable in $(compgen -e | grep -E '^(OMP|GOMP|KMP|BLIS|DNNL|ONEDNN|SADDLE_TEST)_' || true); do
  unset "$variable"
done

# Tests run in parallel, so waiting threads sleep instead of spinning on shared cores.
export OMP_WAIT_POLICY=passive
export ASAN_OPTIONS=halt_on_error=1:detect_leaks=1:print_stacktrace=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

# The sanitizers of g++ 12 place their shadow memory at fixed addresses, which kernels with strong
# address randomization can occupy; if the system allows it, randomization is off for these runs.
fixed_addresses=()
if setarch "$(uname -m)" --addr-no-randomize true 2>/dev/null; then
  fixed_addresses=(setarch "$(uname -m)" --addr-no-randomize)
fi

options=(-DSADDLE_BUILD_TESTS=ON)
if [[ -n "${SADDLE_REFERENCE_DIR:-}" ]]; then
  options+=(-DSADDLE_REFERENCE_DIR="$(realpath "$SADDLE_REFERENCE_DIR")")
fi

closing_lines=()
failed=false

# in_time COMMAND...: runs it within the remaining minutes.
in_time() {
  local left=$((minutes * 60 - SECONDS))
  ((left > 0)) || return 124
  timeout --kill-after=10 "$left" "$@"
}

# The libraries of products choose their code at run time; this holds them to AVX2.
only_avx2=(env DNNL_MAX_CPU_ISA=AVX2 BLIS_ARCH_TYPE=haswell)

# run_preset PRESET TARGETS [CTEST OPTION...]: builds, tests, keeps the test runner's closing line.
run_preset() {
  local preset=$1 targets=$2 log="build/$1/ctest.log" runner=() line
  shift 2
  echo "== $preset: build"
  # shellcheck disable=SC2086  # the targets are words
  if ! in_time scripts/build.sh "$preset" --jobs "$jobs" "${options[@]}" -- $targets; then
    closing_lines+=("$preset: no tests run, the build failed or did not finish in $minutes minutes")
    failed=true
    return
  fi
  [[ "$preset" != *san ]] || runner=("${fixed_addresses[@]}")
  [[ "$preset" != portable ]] || runner=("${only_avx2[@]}")
  echo "== $preset: test"
  if ! in_time "${runner[@]}" ctest --test-dir "build/$preset" --output-on-failure \
      --no-tests=error --parallel "$jobs" --timeout 600 "$@" 2>&1 | tee "$log"; then
    failed=true
  fi
  line=$(grep -E '^[0-9]+% tests passed|^No tests were found' "$log" | tail -n 1 || true)
  closing_lines+=("$preset: ${line:-the tests did not finish in $minutes minutes}")
}

scripts/install-packages.sh
scripts/install-packages.sh --tests || echo "test.sh: the tests that need those packages skip" >&2
run_preset "$preset" ""
if $all; then
  # Without the tests on a real Slurm, which mostly wait: other tests run the same commands on
  # simulated answers.
  # The emulated device runs the kernels of all operations here; larger tests on it take too long.
  run_preset asan-ubsan "" -LE '^(slurm|emulated_(model|train|curvature))$'
  # libgomp is not instrumented and its barriers look like races, so its loops run on one thread here.
  # This tests the threads of the loader and the trainer, and that races in kernels are found.
  # Of the tests of operations on the emulated device those that run every kernel, and not again.
  OMP_NUM_THREADS=1 run_preset tsan "data_tests train_tests emulated_cuda_tests ops_tests" \
    -L '^(data|train|emulated_cuda|emulated_ops)$' \
    -E '^emulated\..*(SameBits|BitsOf|Workers|PartsOf|WritesAnd|Nan|Hessian|Derivative|Refuse)'
  # The release build is for this processor; tolerances must also hold on those with only AVX2.
  if [[ "$preset" == portable ]]; then
    : # all of it ran above
  elif grep -qw avx512f /proc/cpuinfo; then
    run_preset portable \
      "ops_tests model_tests train_tests curvature_tests analysis_tests precision_tests" \
      -L '^(ops|model|train|curvature|analysis|precision)$'
  else
    closing_lines+=("portable: not run, this processor has no AVX-512 to leave out")
  fi
fi

echo
printf '%s\n' "${closing_lines[@]}"
if $failed; then
  exit 1
fi
