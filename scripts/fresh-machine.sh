#!/usr/bin/env bash
# Sets up a fresh Debian 12 in a folder (debootstrap), copies the last commit of this tree into it, and
# runs the quickstart there as root. It ends with the lines and the exit code of the quickstart.
#
#   sudo scripts/fresh-machine.sh [--output FOLDER] [--keep] [--command COMMAND | --package FILE.deb]
#     --output FOLDER    where (default: build/fresh-machine); new, empty, or from an earlier run
#     --command COMMAND  run this in the copied tree instead of scripts/quickstart.sh
#     --package FILE     install and test this package there: scripts/try-package.sh
#     --keep             keep the machine in the folder for inspection
#
# Packages come from the Debian 12 archives that apt on this machine uses, through the same proxy and
# with the same certificates. Programs inside see their own processes, mounts and files, but the network
# and processors of this machine. All of them, and the mounts, end with this script.
set -euo pipefail

release=bookworm
folder=
keep=false
command=scripts/quickstart.sh
package=
while (($#)); do
  case "$1" in
    --output) folder=$(realpath -m -- "${2:?fresh-machine.sh: --output needs a folder}"); shift ;;
    --command) command=${2:?fresh-machine.sh: --command needs a command}; shift ;;
    --package) package=$(realpath -m -- "${2:?fresh-machine.sh: --package needs a file}"); shift ;;
    --keep) keep=true ;;
    *) echo "fresh-machine.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${folder:-$PWD/build/fresh-machine}

stop() {
  echo "fresh-machine.sh: $*" >&2
  exit 1
}

((EUID == 0)) || stop "this needs root, to mount and to change the root directory: use sudo"
[[ -z "$package" || -f "$package" ]] || stop "there is no file $package"
# The folder belongs to this script if it holds its lock file; nothing else in it is touched.
lock="$folder/fresh-machine.lock"
root="$folder/root"
made_folder=false
if [[ ! -e "$folder" ]]; then
  mkdir -p "$folder"
  made_folder=true
elif [[ ! -d "$folder" ]]; then
  stop "$folder is not a folder"
elif [[ ! -e "$lock" && -n "$(ls -A "$folder")" ]]; then
  stop "$folder is neither empty nor a machine of this script; name another folder with --output"
elif [[ -e "$lock" ]]; then
  if [[ -s "$lock" ]]; then made_folder=true; fi
fi
exec {lock_file}>>"$lock"
flock --nonblock "$lock_file" || stop "$folder is in use by another run of this script"
if $made_folder; then echo "fresh-machine.sh made this folder" >"$lock"; fi

running=
# Ends the programs inside, then deletes the machine.
clean_up() {
  local status=$?
  trap '' INT TERM HUP
  if [[ -n "$running" ]]; then
    kill -KILL "$running" 2>/dev/null || true
    wait "$running" 2>/dev/null || true
  fi
  if ! $keep; then
    rm -rf --one-file-system -- "$root"
    rm -f -- "$lock"
    if $made_folder; then rmdir --ignore-fail-on-non-empty -- "$folder"; fi
  fi
  exit "$status"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

command -v debootstrap >/dev/null || scripts/install-packages.sh --package

# in_namespaces COMMAND...: replaces this process with it. Its mounts are private, and all its
# processes end with this script, however that ends.
in_namespaces() {
  exec setpriv --pdeathsig KILL \
    unshare --mount --propagation private --pid --fork --kill-child -- "$@" </dev/null
}
(in_namespaces true) || stop "this system does not let root create mount and process namespaces"

# The archives of Debian 12 among those of this machine, as lines of "URL SUITE".
archives=$(apt-get --print-uris update |
  sed -nE "s|^'([^']*)/dists/($release(-[a-z]+)?)/InRelease'.*|\1 \2|p" | sort -u)
main_archive=$(awk -v suite="$release" '$2 == suite { print $1; exit }' <<<"$archives")
[[ -n "$main_archive" ]] || stop "apt on this machine has no archive of Debian 12 ($release)"

# isolated COMMAND...: runs it, and waits for it in a way that a signal can interrupt.
isolated() {
  in_namespaces "$@" &
  running=$!
  local status=0
  wait "$running" || status=$?
  running=
  return "$status"
}

rm -rf --one-file-system -- "$root"
mkdir "$root"
echo "== debootstrap"
begin=$SECONDS
# debootstrap does its own downloads: it takes a proxy from the environment, not from apt.
proxy=
eval "$(apt-config shell proxy Acquire::http::Proxy)"
if [[ -n "$proxy" && "$proxy" != DIRECT ]]; then export http_proxy=$proxy; fi
log="$root/debootstrap.log"
if ! isolated debootstrap --variant=minbase --force-check-gpg "$release" "$root" "$main_archive" \
    >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  stop "debootstrap could not set up the machine"
fi
echo "== debootstrap: $((SECONDS - begin)) s"

# The same names, archives, proxy and certificates as here.
for file in /etc/hosts /etc/resolv.conf; do
  if [[ -e $file ]]; then cat "$file" >"$root$file"; fi
done
while read -r url suite; do
  echo "deb $url $suite main"
done <<<"$archives" >"$root/etc/apt/sources.list"
settings="$root/etc/apt/apt.conf.d/90host"
apt-config dump Acquire | grep -E \
  '^Acquire::(https?::(Proxy|Timeout|Verify-Peer|Verify-Host)|Retries|Check-(Valid-Until|Date)|ForceIPv[46])' \
  >"$settings" || true
certificates=/etc/ssl/certs/ca-certificates.crt
if [[ -e $certificates ]]; then
  cp "$certificates" "$root/etc/apt/host-certificates.crt"
  echo 'Acquire::https::CaInfo "/etc/apt/host-certificates.crt";' >>"$settings"
fi
if [[ -d /usr/local/share/ca-certificates ]]; then  # for other programs, once ca-certificates is installed
  mkdir -p "$root/usr/local/share"
  cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
fi

# The last commit, as a clean clone.
if [[ -n "$(git -c safe.directory='*' status --porcelain --untracked-files=no)" ]]; then
  echo "fresh-machine.sh: uncommitted changes are not copied" >&2
fi
git -c safe.directory='*' clone --quiet --no-local . "$root/root/saddle"
git -C "$root/root/saddle" remote remove origin
if [[ -n "$package" ]]; then
  cp "$package" "$root/root/"
  command="scripts/try-package.sh '/root/$(basename "$package")'"
fi

# The first process of the machine: makes the mounts of a running system, then runs the command. A new
# /proc is refused if this machine's own is partly covered, as in some containers.
read -r -d '' start <<'END' || true
  root=$1
  shift
  mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  status=0
  chroot "$root" "$@" || status=$?
  exit "$status"
END
environment=(HOME=/root USER=root LOGNAME=root LANG=C.UTF-8 TERM=dumb
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
for name in http_proxy https_proxy ftp_proxy all_proxy no_proxy; do
  for variable in "$name" "${name^^}"; do
    if [[ -n "${!variable:-}" ]]; then environment+=("$variable=${!variable}"); fi
  done
done
if $keep; then echo "the machine stays in $root" >&2; fi
isolated bash -euc "$start" fresh-machine.sh "$root" \
  env -i --default-signal=INT,QUIT "${environment[@]}" bash -c "cd /root/saddle && $command"
