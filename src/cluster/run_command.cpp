#include "cluster/batch_text.h"

namespace saddle::cluster {

const char* const kRunCommand =
    R"sh(note "job ${SLURM_JOB_ID:-none} on ${SLURMD_NODENAME:-$(hostname)}," \
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
)sh";

}  // namespace saddle::cluster
