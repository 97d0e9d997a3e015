#!/usr/bin/env bash
# Compiles the CUDA sources of this folder with nvcc against CUDA's own headers.
#
#   nvcc_test.sh SOURCE_ROOT SCRATCH_FOLDER [NVCC]     exit code 77: there is no nvcc
set -euo pipefail
root=$1
scratch=$2
nvcc=${3:-}
if [[ ! -x "$nvcc" ]]; then
  echo "skipped: nvcc was not found when the build was configured"
  exit 77
fi
mkdir -p "$scratch"
for source in "$root"/tests/emulated_cuda/kernels/*.cu; do
  echo "$source"
  "$nvcc" -std=c++20 -arch=sm_90 --expt-relaxed-constexpr --Werror all-warnings \
    -I "$root/src" -I "$root/tests" -c "$source" -o "$scratch/$(basename "$source").o"
done
