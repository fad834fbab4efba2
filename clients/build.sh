#!/bin/sh
# Builds the clients in other languages into the directory $1, each from a copy of its source,
# around the ramaria that BIN names: ramaria-*.whl, ramaria-*.tgz, ramaria-junit5-*.jar. ONLY
# is the language of a single one, and RELEASED the version of a release; a wheel has the version of
# its ramaria, or RAMARIA_VERSION where that is for another machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export RAMARIA_BIN="${BIN:?names the ramaria to put in}"
mkdir "$tmp/clients"
cp "$here/../LICENSE" "$here/../THIRD_PARTY_NOTICES" "$tmp/"
built=0

# ready LANGUAGE PROGRAM says whether to build a client.
ready() {
	[ "${ONLY:-$1}" = "$1" ] || return 1
	command -v "$2" >/dev/null || { echo "SKIPPED: the $1 client: there is no $2"; return 1; }
	cp -R "$here/$1" "$tmp/clients/"
	case ${RELEASED:+$1} in
	java) sed -i "s/-SNAPSHOT<\/version>/<\/version>/; 0,/<version>[0-9.]*<\/version>/s//<version>$RELEASED<\/version>/" "$tmp/clients/java/pom.xml" ;;
	esac
	built=$((built + 1))
}

if [ "${ONLY:-python}" = python ] && command -v python3 >/dev/null && ! python3 -m pip --version >/dev/null 2>&1; then
	echo 'SKIPPED: the python client: this python3 has no pip (apt-get install python3-pip)'
elif ready python python3; then
	"$tmp/clients/python/build.sh" "$out" >/dev/null
fi
if ready node npm; then
	(cd "$tmp/clients/node" && npm pack --silent --pack-destination "$out" >/dev/null)
fi
if ready java mvn; then
	(cd "$tmp/clients/java" && mvn --batch-mode --no-transfer-progress -Dstyle.color=never --quiet -DskipTests ${SOURCE_DATE_EPOCH:+"-Dproject.build.outputTimestamp=$SOURCE_DATE_EPOCH"} package)
	cp "$tmp"/clients/java/target/ramaria-junit5-*.jar "$out/"
fi
[ "$built" -gt 0 ] || { echo "no client was built" >&2; exit 1; }
ls "$out"/*
