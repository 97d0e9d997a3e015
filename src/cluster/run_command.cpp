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
child=
warn() {
  if $warned; then return; fi
  warned=true
  note "the time limit is near: the command is asked to save"
  if [[ -n "$child" ]]; then kill -USR1 "$child"; fi
}
trap warn USR1

note "command: ${command[*]}"
"${command[@]}" &
child=$!
if $warned; then kill -USR1 "$child"; fi
wait "$child"
code=$?
while kill -0 "$child" 2>/dev/null; do  # a signal interrupts waiting
  wait "$child"
  code=$?
done
if $warned; then
  wait "$child"  # what it ended with, not the signal
  code=$?
fi
note "the command ended with $code"

# 75: stopped, with the work so far saved; 138: by the signal itself, before it could.
if $warned && ((code == 75 || code == 138)); then
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
