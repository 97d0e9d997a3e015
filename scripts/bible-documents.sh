#!/usr/bin/env bash
# Makes a small corpus in the form of C4 from Debian's bible-kjv (King James Version, public
# domain): every chapter is a document, and every 20th chapter is for validation.
#
#   scripts/bible-documents.sh DIRECTORY
#
# Writes c4-train.00000-of-00001.json.gz and c4-validation.00000-of-00001.json.gz, gzip-compressed
# JSON lines {"text", "timestamp", "url"}; existing files are kept.
set -euo pipefail

directory=${1:?usage: scripts/bible-documents.sh DIRECTORY}
train="$directory/c4-train.00000-of-00001.json.gz"
validation="$directory/c4-validation.00000-of-00001.json.gz"
if [[ -s "$train" && -s "$validation" ]]; then
  echo "text: $directory already exists"
  exit 0
fi

mkdir -p "$directory"
scratch=$(mktemp -d "$directory/.text.XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT

# One verse per line: "Ge1:1 In the beginning ...". Characters special to JSON are escaped, control
# characters are dropped; then the verses of a chapter are joined.
bible -f gen1:1-rev22:21 </dev/null |
  tr -d '\000-\010\013-\037\177' |
  sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/\t/\\t/g' |
  awk -v train="$scratch/train" -v validation="$scratch/validation" '
    function write_chapter(  line) {
      if (chapter == "") return
      line = "{\"text\":\"" text "\",\"timestamp\":\"1769-01-01T00:00:00Z\",\"url\":\"bible:" chapter "\"}"
      if (++chapters % 20 == 0) print line > validation
      else print line > train
    }
    match($0, /^[1-3]?[A-Za-z]+[0-9]+:[0-9]+ /) {
      reference = substr($0, 1, RLENGTH - 1)
      verse = substr($0, RLENGTH + 1)
      sub(/:.*/, "", reference)
      if (reference != chapter) {
        write_chapter()
        chapter = reference
        text = verse
      } else {
        text = text " " verse
      }
      next
    }
    { print "bible-documents.sh: not a verse: " $0 > "/dev/stderr"; bad = 1; exit 1 }
    END { if (!bad) write_chapter() }'

if [[ ! -s "$scratch/train" || ! -s "$scratch/validation" ]]; then
  echo "bible-documents.sh: the program bible printed no text" >&2
  exit 1
fi
echo "text: $(wc -l <"$scratch/train") documents for training, $(wc -l <"$scratch/validation") for validation"
gzip -n "$scratch/train" "$scratch/validation"
mv "$scratch/train.gz" "$train"
mv "$scratch/validation.gz" "$validation"
