#!/usr/bin/env bash
# A Slurm batch script that runs any command of saddle and continues by itself after a time limit.
#
#   sbatch [OPTION OF SBATCH...] scripts/slurm.sh COMMAND...
#   scripts/slurm.sh [--OPTION=VALUE OF SBATCH...] COMMAND...
#
# as in `sbatch --time=24:00:00 scripts/slurm.sh train --config configs/20m.yaml`. The second form
# submits itself with the defaults of the site file, ~/.config/saddle/slurm.yaml, which holds lines
# "key: value"; SADDLE_SLURM_KEY in the environment overrides the line `key`. docs/guides/slurm.md
# lists the keys.
#
# Before the time limit Slurm signals this script, which signals the command to stop: training saves
# its state, and the job goes back into the queue. When it starts again, training resumes from that
# state.
#SBATCH --job-name=saddle
#SBATCH --output=runs/slurm-%j.log
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@300
#SBATCH --requeue
set -u

note() { printf '%s slurm: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"; }

# site KEY: its value from the environment, else from the site file, else nothing.
site() {
  local variable=SADDLE_SLURM_${1^^} file=${SADDLE_SLURM_SITE:-}
  file=${file:-${XDG_CONFIG_HOME:-$HOME/.config}/saddle/slurm.yaml}
  if [[ -n "${!variable:-}" ]]; then
    printf '%s' "${!variable}"
  elif [[ -r "$file" ]]; then
    sed -nE "s/^$1:[[:space:]]*//p" "$file" | tail -n 1 | sed -E 's/[[:space:]]+(#.*)?$//' |
      if [[ "$1" == options ]]; then  # its words have their own quotes
        cat
      else
        sed -E 's/^"(.*)"$/\1/; s/^'\''(.*)'\''$/\1/'
      fi
  fi
}

# default KEY VARIABLE: the value, or nothing if sbatch's own variable sets it: an option on the
# command line would override that variable, which overrides #SBATCH lines.
default() {
  [[ -n "${!2:-}" ]] || site "$1"
}

# submit WORD...: outside a job this script submits itself.
submit() {
  local options=() more=() key value words
  for key in account partition qos constraint; do
    value=$(default "$key" "SBATCH_${key^^}")
    [[ -z "$value" ]] || options+=("--$key=$value")
  done
  value=$(default time SBATCH_TIMELIMIT)
  [[ -z "$value" ]] || options+=("--time=$value")
  value=$(site cpus)
  [[ -z "$value" ]] || options+=("--cpus-per-task=$value")
  value=$(default memory SBATCH_MEM_PER_NODE)
  [[ -z "$value" ]] || options+=("--mem=$value")
  value=$(default gpus SBATCH_GRES)
  [[ -z "$value" || "$value" == 0 ]] || options+=("--gres=gpu:$value")
  value=$(default signal_seconds SBATCH_SIGNAL)
  [[ -z "$value" ]] || options+=("--signal=B:USR1@$value")
  words=$(site options | xargs -r -n 1 printf '%s\n' 2>/dev/null) ||
    { echo "slurm.sh: a quote in 'options' of the site file is not closed" >&2; exit 3; }
  [[ -z "$words" ]] || mapfile -t more <<<"$words"
  while (($#)) && [[ "$1" == -* ]]; do
    more+=("$1")
    shift
  done
  (($#)) || { echo "slurm.sh: no command was given (see the top of this script)" >&2; exit 2; }
  command -v sbatch >/dev/null ||
    { echo "slurm.sh: sbatch is not on this machine: submit where Slurm is installed" >&2; exit 7; }
  mkdir -p runs
  exec sbatch "${options[@]}" "${more[@]}" "${BASH_SOURCE[0]}" "$@"
}
[[ -n "${SLURM_JOB_ID:-}" ]] || submit "$@"
(($#)) || { echo "slurm.sh: no command was given (see the top of this script)" >&2; exit 2; }

# resumed WORD...: the words of `train`, changed to resume from its newest state.
resumed() {
  local kept=()
  while (($#)); do
    case "$1" in
      --resume) shift ;;
      --resume=*) ;;
      *) kept+=("$1") ;;
    esac
    shift
  done
  command=("${kept[@]}" --resume auto)
}

program=$(site program)
if [[ -z "$program" ]]; then
  program=${SLURM_SUBMIT_DIR:-.}/build/release/apps/saddle/saddle
  [[ -x "$program" ]] || program=saddle
fi
max_restarts=$(site max_restarts)
max_restarts=${max_restarts:-100}
setup=$(site setup)

command=("$program" "$@")
if [[ "$1" == train ]] && ((${SLURM_RESTART_COUNT:-0} > 0)); then resumed "${command[@]}"; fi

# -- begin: runs "${command[@]}"
note "job ${SLURM_JOB_ID:-none} on ${SLURMD_NODENAME:-$(hostname)}," \
  "restart ${SLURM_RESTART_COUNT:-0} of at most $max_restarts"
if [[ -n "$setup" ]]; then
  note "setup: $setup"
  eval "$setup" || { note "the setup failed"; exit 1; }
fi

# Slurm's warning is passed on only once: a second signal would end the command without saving.
warned=false
passed=false
child=
pass_on() {
  if $passed || ! $warned || [[ -z "$child" ]]; then return; fi
  passed=true
  kill -USR1 "$child"
}
warn() {
  if $warned; then return; fi
  warned=true
  note "the time limit is near: asking the command to save"
  pass_on
}
trap warn USR1
# Slurm is ending the job and signals the command itself; wait while the command saves.
ended=false
trap 'ended=true' TERM

note "command: ${command[*]}"
"${command[@]}" &
child=$!
pass_on  # a warning that came earlier
wait "$child"
code=$?
while kill -0 "$child" 2>/dev/null; do  # a signal interrupts waiting
  wait "$child"
  code=$?
done
if $warned || $ended; then
  wait "$child"  # its own exit code, not the signal's
  code=$?
fi
note "the command ended with $code"

# 75: stopped, with the work so far saved; 138: ended by the signal itself, before it could save.
if $warned && ! $ended && ((code == 75 || code == 138)); then
  if ((${SLURM_RESTART_COUNT:-0} >= max_restarts)); then
    note "not put back into the queue: it was put back $max_restarts times; submit it again to continue"
  elif scontrol requeue "$SLURM_JOB_ID"; then
    note "back in the queue"
    exit "$code"
  else
    note "not put back into the queue: Slurm refused; submit it again to continue"
  fi
fi
# -- end
exit "$code"
