#!/bin/sh
# Builds what a release has into the directory $1, which is emptied: for amd64 and arm64 an archive, a deb and an rpm;
# checksums, the list of what is built in (SBOM), install.sh; and the clients and the action for GitHub, where CLIENTS is
# not "no". Two builds of one commit are the same, byte for byte. VERSION and LDFLAGS are what the Makefile says, NFPM and
# CYCLONEDX the programs.
set -eu
umask 022
export LC_ALL=C TZ=UTC
: "${VERSION:?}" "${LDFLAGS:?}" "${NFPM:?}" "${CYCLONEDX:?}"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
VERSION=${VERSION#v}
# A package of 0.1.0-rc1 is older than one of 0.1.0, and one of 0.1.0-3-gcafe, three commits later, newer.
PACKAGED=$(printf '%s' "$VERSION" | sed 's/-\(g[0-9a-f]\{7,\}\)/.\1/; s/-dirty$/.dirty/; s/-\([a-z]\)/~\1/; s/-/./g')
export SOURCE_DATE_EPOCH VERSION PACKAGED
rm -rf "$1"
mkdir -p "$1"
out=$(cd "$1" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

pages=$tmp/pages
mkdir -p "$pages/completions"
go run -ldflags "$LDFLAGS" ./packaging/man "$pages/man1"
gzip -n9 "$pages"/man1/*
for shell in bash:ramaria zsh:_ramaria fish:ramaria.fish; do
	go run ./cmd/ramaria completion ${shell%:*} >"$pages/completions/${shell#*:}"
done

# packed NAME: the directory NAME of $tmp as an archive without a trace of who packed it, and when.
packed() {
	tar -C "$tmp" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw -cf - "$1" | gzip -n9
}

# quiet COMMAND...: what it prints is shown if it fails.
quiet() { "$@" >"$tmp/said" 2>&1 || { cat "$tmp/said" >&2; return 1; }; }

for arch in amd64 arm64; do
	export ARCH=$arch STAGE="$tmp/ramaria-$VERSION-linux-$arch"
	mkdir "$STAGE"
	GOOS=linux GOARCH=$arch CGO_ENABLED=0 go build -trimpath -ldflags "$LDFLAGS" -o "$STAGE/ramaria" ./cmd/ramaria
	cp -R "$pages/." "$STAGE/"
	cp LICENSE THIRD_PARTY_NOTICES README.md CHANGELOG.md "$STAGE/"
	packed "${STAGE##*/}" >"$out/${STAGE##*/}.tar.gz"
	sed "s|src: STAGE|src: $STAGE|" packaging/release/nfpm.yaml >"$tmp/nfpm.yaml"
	for kind in deb rpm; do
		quiet "$NFPM" package --config "$tmp/nfpm.yaml" --packager $kind --target "$out/"
	done
	"$CYCLONEDX" bin -json -noserial -licenses -version "$VERSION" "$STAGE/ramaria" 2>/dev/null |
		sed '/^    "timestamp": /d; /^    "tools": \[/,/^    \],/d' |
		sed '0,/^      "version": .*/s//&\n      "licenses": [{"license": {"id": "Apache-2.0"}}],/' >"$out/${STAGE##*/}.sbom.json"
done
cp packaging/release/install.sh "$out/"

if [ "${CLIENTS:-yes}" != no ]; then
	RELEASED=
	case $VERSION in *[!0-9.]*) ;; *) RELEASED=$VERSION ;; esac
	export RELEASED
	for arch in amd64 arm64; do
		machine=x86_64
		[ $arch = amd64 ] || machine=aarch64
		RAMARIA_ARCH=$machine RAMARIA_VERSION=$VERSION BIN="$tmp/ramaria-$VERSION-linux-$arch/ramaria" ONLY=python sh clients/build.sh "$out" >/dev/null
	done
	BIN="$tmp/ramaria-$VERSION-linux-amd64/ramaria" ONLY=java sh clients/build.sh "$out" >/dev/null
	sh packaging/release/npm.sh "$tmp" "$out"
	sh packaging/action/build.sh "$tmp/setup-ramaria-$VERSION"
	packed "setup-ramaria-$VERSION" >"$out/setup-ramaria-$VERSION.tar.gz"
fi
(cd "$out" && sha256sum -- * >"$tmp/SHA256SUMS" && mv "$tmp/SHA256SUMS" .)
