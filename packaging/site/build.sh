#!/bin/sh
# Renders the documentation of the tree $1 into the directory $2, which is emptied. SPHINX is its program. The same tree
# gives the same bytes. Any warning is a failure, so any broken link is.
set -eu
: "${SPHINX:?}"
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C.UTF-8 TZ=UTC PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 TMPDIR="$tmp"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-0}" # no page has a date of its own
"$SPHINX" -q -E -W --keep-going -b html -c "$here" -d "$tmp/doctrees" "$1" "$tmp/site"
# The first page by the name that browsers and web servers look for.
cp "$tmp/site/README.html" "$tmp/site/index.html"
rm -rf "$2" "$tmp/site/.buildinfo" "$tmp/site/_sources"
mkdir -p "$(dirname "$2")"
cp -R "$tmp/site" "$2"
