#!/usr/bin/env bash
# A Slurm cluster of one node on loopback, as children of this script, for tests.
#
#   one_node_slurm.sh FOLDER
#
# FOLDER: a short path, fresh, made by the caller; SLURM_CONF must then name FOLDER/slurm.conf. Prints
# "ready" when jobs can be submitted, and runs until it is killed or its standard input ends; if a
# cluster cannot be started, it prints "skip: REASON" and exits with 77. The node has 4 processors and
# two fake GPUs, the limit of the partition "small" is 72 hours, and accounting is on.
set -uo pipefail

skip() { echo "skip: $*"; exit 77; }

folder=${1:?usage: one_node_slurm.sh FOLDER}
PATH=$PATH:/usr/sbin:/sbin
for program in mariadb munged slurmctld slurmd slurmdbd sbatch sacct mariadbd mariadb-install-db unshare; do
  command -v "$program" >/dev/null || skip "$program is not installed (scripts/install-packages.sh --tests)"
done

# In its own namespaces, so that nothing remains afterwards, not even orphans of jobs.
if [[ -z "${ONE_NODE_SLURM_INSIDE:-}" ]] &&
    unshare --mount --pid --fork --mount-proc true 2>/dev/null; then
  ONE_NODE_SLURM_INSIDE=1 exec unshare --mount --pid --fork --mount-proc --kill-child \
    bash "${BASH_SOURCE[0]}" "$folder"
fi

host=$(hostname -s)
address=$(getent ahostsv4 "$host" | awk 'NR == 1 { print $1 }')
[[ -n "$address" ]] || skip "the name of this machine, $host, has no address"
user=$(id -un)

# Ports that nobody listens on, below those that the kernel assigns itself.
port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
base=$((20000 + RANDOM % 10000))
for attempt in {1..50}; do
  if port_is_free "$base" && port_is_free $((base + 1)) && port_is_free $((base + 2)); then break; fi
  base=$((20000 + RANDOM % 10000))
done

cd "$folder" || skip "there is no folder $folder"
folder=$PWD
((${#folder} < 60)) || skip "the folder $folder is too long for a socket"
mkdir -p munge state spool log run db
chmod 755 . munge

only_loopback=""
if [[ "$address" == 127.0.0.1 ]]; then
  only_loopback="CommunicationParameters=NoCtldInAddrAny,NoInAddrAny"
fi

cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
SlurmdPort=$((base + 1))
$only_loopback
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$folder/munge/sock,cred_expire=10
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd.log
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
JobAcctGatherType=jobacct_gather/linux
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=3
MinJobAge=300
MessageTimeout=5
GresTypes=gpu
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 CPUs=4 RealMemory=4000 Gres=gpu:2 State=UNKNOWN
PartitionName=small Nodes=n1 Default=YES MaxTime=72:00:00 DefaultTime=01:00:00 State=UP
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((base + 2))
AccountingStoragePass=$folder/munge/sock
AccountingStorageTRES=gres/gpu
END
cat >gres.conf <<END
AutoDetect=off
NodeName=n1 Name=gpu File=/dev/null
NodeName=n1 Name=gpu File=/dev/zero
END
echo "CgroupPlugin=cgroup/v1" >cgroup.conf
cat >slurmdbd.conf <<END
AuthType=auth/munge
AuthInfo=socket=$folder/munge/sock
DbdHost=$host
DbdAddr=127.0.0.1
DbdPort=$((base + 2))
${only_loopback:+CommunicationParameters=NoInAddrAny}
SlurmUser=$user
PidFile=$folder/run/slurmdbd.pid
LogFile=$folder/log/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
END
chmod 600 slurmdbd.conf

export SLURM_CONF=$folder/slurm.conf MYSQL_UNIX_PORT=$folder/run/my.sock
children=()
start() {
  local name=$1
  shift
  "$@" >"log/$name.out" 2>&1 </dev/null &
  children+=($!)
}
stop_all() {
  local i
  for ((i = ${#children[@]} - 1; i >= 0; i--)); do
    kill "${children[i]}" 2>/dev/null
    wait "${children[i]}" 2>/dev/null
  done
}
trap stop_all EXIT
trap 'exit 0' TERM INT HUP

# until_it_holds SECONDS COMMAND...
until_it_holds() {
  local ends=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < ends)) || return 1
    sleep 0.1
  done
}
could_not() { skip "$1 did not start: $(tail -n 1 "log/$2" 2>/dev/null)"; }

(umask 077; head -c 128 /dev/urandom >munge/key)
chmod 400 munge/key
start munged munged -F --key-file="$folder/munge/key" --socket="$folder/munge/sock" \
  --pid-file="$folder/run/munged.pid" --log-file="$folder/log/munged.log" \
  --seed-file="$folder/munge/seed"
mariadb-install-db --no-defaults --user="$user" --datadir="$folder/db" \
  --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve --cross-bootstrap \
  >log/install-db.out 2>&1 || could_not "the database" install-db.out
start mariadbd mariadbd --no-defaults --user="$user" --datadir="$folder/db" \
  --socket="$MYSQL_UNIX_PORT" --skip-networking --innodb-buffer-pool-size=64M \
  --innodb-lock-wait-timeout=900
until_it_holds 30 test -S munge/sock || could_not munged munged.out
until_it_holds 60 test -S run/my.sock || could_not mariadbd mariadbd.out
start slurmdbd slurmdbd -D
until_it_holds 60 bash -c "exec 3<>/dev/tcp/127.0.0.1/$((base + 2))" || could_not slurmdbd slurmdbd.log
start slurmctld slurmctld -D
until_it_holds 30 sinfo -h || could_not slurmctld slurmctld.log
start slurmd slurmd -D -N n1
node_is_idle() { [[ "$(sinfo -h -n n1 -o %t)" == idle ]]; }
until_it_holds 40 node_is_idle || could_not slurmd slurmd.log
echo ready
# Runs until the starting process closes the standard input, or kills it.
while read -r _; do :; done
