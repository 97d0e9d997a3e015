#!/usr/bin/env bash
# From a fresh Debian 12 to a small trained, evaluated and analyzed model: packages, build, text,
# tokenizer, token cache, training, evaluation, curvature and its figures, a report. It writes only
# under quickstart/ and build/release.
#
#   scripts/quickstart.sh [--jobs N] [--set key=value]... [--program FILE] [--config FILE]
#     --program FILE  use this program, for example an installed one; nothing is installed or built
#     --config FILE   settings to use instead of configs/quickstart.yaml
#
# Running it again reuses the text, the tokenizer and the cache, and trains in a new run directory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
overrides=()
saddle=
config=configs/quickstart.yaml
while (($#)); do
  case "$1" in
    --jobs) jobs=${2:?quickstart.sh: --jobs needs a number} ;;
    --set) overrides+=(--set "${2:?quickstart.sh: --set needs key=value}") ;;
    --program) saddle=${2:?quickstart.sh: --program needs a file} ;;
    --config) config=${2:?quickstart.sh: --config needs a file} ;;
    *) echo "quickstart.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done

text=quickstart/text
tokenizer=quickstart/tokenizer.model
cache=quickstart/cache

# stage NAME COMMAND...: runs one stage and reports how long it took.
stage() {
  local name=$1 begin=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "== $name: $((SECONDS - begin)) s"
}

train_tokenizer() {
  if [[ -s "$tokenizer" ]]; then
    echo "tokenizer: $tokenizer already exists"
    return
  fi
  local vocab_size
  vocab_size=$(sed -nE 's/^ +vocab_size: *([0-9]+).*/\1/p' "$config")
  "$saddle" tokenizer train --input "$text"/c4-train.*.json.gz \
    --vocab-size "${vocab_size:?no vocab_size in $config}" --output "$tokenizer"
}

# The first of run-1, run-2, ... that does not exist yet.
new_run_directory() {
  local number=1
  while [[ -e "quickstart/run-$number" ]]; do
    number=$((number + 1))
  done
  echo "quickstart/run-$number"
}

# field NAME FILE: the number of the last "NAME": 1.23 in a JSON file.
field() { sed -nE "s/.*\"$1\": *([-+.0-9eE]+).*/\1/p" "$2" | tail -n 1; }

# Waiting threads sleep: spinning is slightly faster on idle cores, and much slower on cores that other
# programs also use.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

mkdir -p quickstart
run=$(new_run_directory)
settings=(--config "$config" --set "data.source=$text" --set "data.tokenizer=$tokenizer"
  --set "data.cache=$cache" --set "runtime.output_dir=$run" "${overrides[@]}")

if [[ -z "$saddle" ]]; then
  saddle=build/release/apps/saddle/saddle
  stage packages scripts/install-packages.sh
  stage build scripts/build.sh release --jobs "$jobs" -- saddle
fi
stage text scripts/bible-documents.sh "$text"
stage tokenizer train_tokenizer
stage prepare "$saddle" prepare "${settings[@]}"
stage train "$saddle" train "${settings[@]}"

evaluation="$run/evaluation.json"
evaluate() {
  "$saddle" evaluate "${settings[@]}" --checkpoint "$run/final.state.safetensors" --full --json \
    >"$evaluation"
}
stage evaluate evaluate

analysis="$run/analysis"
analyze() {
  "$saddle" analyze --run "$run" --checkpoints all --data-case both \
    --noise-samples 4 --random-samples 2 --output "$analysis"
}
stage analyze analyze
stage figures "$saddle" plot-analysis --output "$analysis"
stage report "$saddle" report --runs "$run" --output "$run/report"

loss=$(field loss "$evaluation")
unigram=$(field unigram_loss "$evaluation")
cat <<END

Done in $SECONDS s.
  validation loss          ${loss:?no loss in $evaluation} nats per token, over the whole validation split
  unigram loss             ${unigram:?no unigram_loss in $evaluation} nats per token, what the frequencies of the training tokens reach
  run (metrics, weights)   $run
  evaluation               $evaluation
  curvature                $analysis/summary.csv, and a file per checkpoint and case next to it
  figures of it            $analysis/figures/*.png and *.pdf
  report of the training   $run/report/report.html
  tokenizer, token cache   $tokenizer, $cache
END
if ! awk -v loss="$loss" -v unigram="$unigram" 'BEGIN { exit !(loss < unigram) }'; then
  echo "quickstart.sh: the model is no better than the unigram distribution" >&2
  exit 1
fi
