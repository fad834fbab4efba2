#!/bin/sh
# Packs the npm packages into the directory $2: ramaria, in JavaScript alone, and ramaria-linux-x64 and ramaria-linux-arm64
# with the binaries of $1/ramaria-VERSION-linux-ARCH. npm installs the one that fits the machine.
set -eu
: "${VERSION:?}" "${SOURCE_DATE_EPOCH:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for pair in x64:amd64 arm64:arm64; do
	cpu=${pair%:*} arch=${pair#*:}
	dir=$tmp/ramaria-linux-$cpu
	mkdir -p "$dir/bin"
	cp "$1/ramaria-$VERSION-linux-$arch/ramaria" "$dir/bin/"
	cp LICENSE THIRD_PARTY_NOTICES "$dir/"
	cat >"$dir/package.json" <<-EOF
		{
		  "name": "ramaria-linux-$cpu",
		  "version": "$VERSION",
		  "description": "The program of the package ramaria, for Linux on $cpu",
		  "license": "Apache-2.0",
		  "os": ["linux"],
		  "cpu": ["$cpu"],
		  "files": ["bin/ramaria", "THIRD_PARTY_NOTICES"]
		}
	EOF
	(cd "$dir" && npm pack --silent --pack-destination "$2" >/dev/null)
done
mkdir "$tmp/clients"
cp -R clients/node "$tmp/clients/"
cp LICENSE THIRD_PARTY_NOTICES "$tmp/"
node packaging/release/npm.mjs "$tmp/clients/node/package.json" "$VERSION"
(cd "$tmp/clients/node" && npm pack --silent --pack-destination "$2" >/dev/null)
