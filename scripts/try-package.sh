#!/usr/bin/env bash
# Installs a package made by scripts/package.sh on this machine and tests it as a user would: the
# manual page, completion, the documented paths, and the commands of the quickstart with a smaller
# budget; then removes it. Only for disposable machines: scripts/fresh-machine.sh --package FILE.
#
#   scripts/try-package.sh FILE.deb     (as root)
set -euo pipefail
package=$(realpath "${1:?usage: scripts/try-package.sh FILE.deb}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

stop() {
  echo "try-package.sh: $*" >&2
  exit 1
}
install() {
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 --no-install-recommends install "$@" \
    </dev/null
}

apt-get -q update
echo "== the package alone"
install "$package"
saddle version
[[ "$(command -v saddle)" == /usr/bin/saddle ]] || stop "saddle is not /usr/bin/saddle"
saddle --help >/dev/null

echo "== manual page"
install man-db groff-base bash-completion gnuplot-nox bible-kjv
page=$(man -w saddle) || stop "man does not find the page of saddle"
warnings=$(MANROFFSEQ='' MANWIDTH=100 man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)
[[ -z "$warnings" ]] || stop "the manual page has faults: $warnings"
text=$(MANWIDTH=100 man -E UTF-8 -P cat saddle)
for word in 'saddle tokenizer train' --resume training.max_tokens 'EXIT STATUS'; do
  grep -q -e "$word" <<<"$text" || stop "the manual page does not have $word"
done
echo "$page: $(wc -l <<<"$text") lines"

echo "== completion"
bash -c '
  source /usr/share/bash-completion/bash_completion
  _completion_loader saddle || (($? == 124))
  complete -p saddle
  COMP_WORDS=(saddle tok) COMP_CWORD=1
  _saddle
  [[ "${COMPREPLY[*]}" == tokenizer ]]' || stop "bash does not complete saddle"

echo "== places"
configs=/usr/share/saddle/configs
documents=/usr/share/doc/saddle
for file in $configs/20m.yaml $configs/quickstart.yaml $documents/README.md \
    $documents/docs/options.md $documents/copyright; do
  [[ -s $file ]] || stop "$file is missing"
done
diff <(saddle options) $documents/docs/options.md || stop "docs/options.md is not what saddle prints"
verified=$(dpkg --verify saddle)
[[ -z "$verified" ]] || stop "installed files differ from the package: $verified"

echo "== quickstart"
scripts/quickstart.sh --program saddle --config $configs/quickstart.yaml \
  --set training.max_tokens=245760 --set training.checkpoint_epochs=10

echo "== removal"
DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 purge saddle </dev/null
for file in /usr/bin/saddle /usr/share/saddle $documents; do
  [[ ! -e $file ]] || stop "$file is still there after removal"
done
echo "package: it installs, runs and is removed"
