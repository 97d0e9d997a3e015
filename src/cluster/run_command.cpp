#include "cluster/batch_text.h"

namespace saddle::cluster {

const char* const kRunCommand =
    R"sh(note "job ${SLURM_JOB_ID:-none} on ${SLURMD_NODENAME:-$(hostname)}," \
  "restart ${SLURM_RESTART_COUNT:-0} of at most $max_restarts"
if [[ -n "$setup" ]]; then
  note "setup: $setup"
  eval "$setup" || { note "the setup failed"; exit 1; }
fi

# Slurm's warning is passed on once: a second signal would end the command without saving.
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
  note "the time limit is near: the command is asked to save"
  pass_on
}
trap warn USR1
# Slurm ends the job, and tells the command so itself; what it saves is waited for.
ended=false
trap 'ended=true' TERM

note "command: ${command[*]}"
"${command[@]}" &
child=$!
pass_on  # a warning that came before
wait "$child"
code=$?
while kill -0 "$child" 2>/dev/null; do  # a signal interrupts waiting
  wait "$child"
  code=$?
done
if $warned || $ended; then
  wait "$child"  # what it ended with, not the signal
  code=$?
fi
note "the command ended with $code"

# 75: stopped, with the work so far saved; 138: by the signal itself, before it could.
if $warned && ! $ended && ((code == 75 || code == 138)); then
  if ((${SLURM_RESTART_COUNT:-0} >= max_restarts)); then
    note "not put back into the queue: it was $max_restarts times; submit it again to go on"
  elif scontrol requeue "$SLURM_JOB_ID"; then
    note "back in the queue"
    exit "$code"
  else
    note "not put back into the queue: Slurm refused; submit it again to go on"
  fi
fi
)sh";

}  // namespace saddle::cluster
