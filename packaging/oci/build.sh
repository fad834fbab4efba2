#!/bin/sh
# Builds the container image as the file $1, an OCI layout in a tar, from the archive of a release, $2, which is that of this
# machine's architecture: Debian SUITE with its MariaDB, and the program. No daemon is needed, but mmdebstrap. Built again
# while Debian's packages are the same, it is the same.
set -eu
umask 022
export LC_ALL=C TZ=UTC
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
version=${2##*/ramaria-}
arch=${version##*-linux-} arch=${arch%.tar.gz} version=${version%-linux-*}
[ "$arch" = "$(go env GOARCH)" ] || { echo "build an image of $2: this machine is $(go env GOARCH)" >&2; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Who uses the image wants no manuals. dpkg keeps the list of what is in it, which scanners read.
mmdebstrap --quiet --variant=minbase --include=ca-certificates,mariadb-server-core,mariadb-client-core,tini \
	--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
	--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
	--customize-hook='chroot "$1" useradd --uid 1000 --home-dir /var/lib/ramaria --create-home --skel /nonexistent ramaria' \
	--customize-hook='chmod 700 "$1/var/lib/ramaria"; mkdir "$1/docker-entrypoint-initdb.d"' \
	--customize-hook='rm -f "$1"/etc/shadow- "$1"/etc/passwd- "$1"/etc/group- "$1"/etc/gshadow- "$1"/etc/subuid- "$1"/etc/subgid-' \
	--customize-hook='rm -rf "$1"/var/log/* "$1"/var/cache/* "$1"/etc/apt/sources.list.d/* "$1"/etc/hostname "$1"/etc/resolv.conf' \
	"${SUITE:-trixie}" "$tmp/server.tar"

bin=$tmp/program/usr/local/bin
mkdir -p "$bin"
doc=$tmp/program/usr/share/doc/ramaria
mkdir -p "$doc"
tar -xzf "$2" -C "$bin" --strip-components=1 "ramaria-$version-linux-$arch/ramaria"
tar -xzf "$2" -C "$doc" --strip-components=1 "ramaria-$version-linux-$arch/LICENSE" "ramaria-$version-linux-$arch/THIRD_PARTY_NOTICES"
cp packaging/oci/entrypoint.sh "$bin/ramaria-container"
chmod 755 "$bin"/*
tar -C "$tmp/program" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf "$tmp/program.tar" usr

go run ./packaging/oci -version "$version" -revision "$(git rev-parse HEAD)" -arch "$arch" "$tmp/image" "$tmp/server.tar" "$tmp/program.tar"
tar -C "$tmp/image" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw -cf "$1" .
