#!/usr/bin/env bash
# Compiles one CUDA source of saddle with nvcc for every architecture that is supported, and fails if a
# kernel keeps registers in memory (spills).
#
#   nvcc_test.sh SOURCE_ROOT SOURCE OBJECT [NVCC]     exit code 77: there is no nvcc
set -euo pipefail
root=$1
source=$2
object=$3
nvcc=${4:-}
if [[ ! -x "$nvcc" ]]; then
  echo "skipped: nvcc was not found when the build was configured"
  exit 77
fi
mkdir -p "$(dirname "$object")"
architectures=()
for version in 80 89 90; do
  architectures+=(-gencode "arch=compute_$version,code=sm_$version")
done
# 554: the conversion of a view to a read-only view is not used in views that are read-only already.
"$nvcc" -std=c++20 "${architectures[@]}" --expt-relaxed-constexpr --Werror all-warnings \
  -diag-suppress 554 -Xptxas -v -I "$root/src" -I "$root/tests" -c "$source" -o "$object" 2>"$object.log" || {
  grep -v '^ptxas info' "$object.log" >&2
  exit 1
}
kernels=$(grep -c 'Compiling entry function' "$object.log" || true)
if grep -E '[1-9][0-9]* bytes spill' "$object.log" >&2; then
  echo "$source: kernels spill registers" >&2
  exit 1
fi
echo "$source: $kernels kernels without spills"
