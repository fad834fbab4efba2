#!/bin/sh
# Installs ramaria: the program, its manual pages and its completions.
#
#   sh install.sh                   as root below /usr/local, as another user below ~/.local
#   PREFIX=DIR sh install.sh        below DIR
#   VERSION=0.1.0 sh install.sh     this version instead of the newest
#   FROM=DIR-OR-URL sh install.sh   from where the files of a release are: a directory, or an address
#
# It checks the archive against SHA256SUMS, and touches nothing else. These sums come from where the archive does, and
# nobody has signed them: they tell of a damaged file, and that it is the project's you know by the address, over HTTPS.
set -eu
umask 022

fail() {
	printf 'install ramaria: %s\n' "$1" >&2
	[ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2
	exit 1
}

releases=https://github.com/ramaria-db/ramaria/releases
if [ -n "${FROM:-}" ]; then
	from=$FROM
elif [ -n "${VERSION:-}" ]; then
	from=$releases/download/v${VERSION#v}
else
	from=$releases/latest/download
fi
if [ -z "${PREFIX:-}" ]; then
	if [ "$(id -u)" = 0 ]; then PREFIX=/usr/local; else PREFIX=${HOME:?is where it would be installed}/.local; fi
fi
[ "$(uname -s)" = Linux ] || fail "this is $(uname -s)" "Ramaria runs on Linux; elsewhere in a virtual machine or a container of it"
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no build for $(uname -m)" "go install github.com/ramaria-db/ramaria/cmd/ramaria@latest" ;;
esac

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

# wgets URL FILE: by wget, a step at a time. By itself it follows from https to http.
wgets() {
	url=$1
	for _ in 1 2 3 4 5; do
		case $url in
		"$only"://*) ;;
		*) fail "$1 leads to $url, and not to $only" "fetch the files of a release, and: FROM=DIRECTORY sh install.sh" ;;
		esac
		LC_ALL=C wget --max-redirect=0 -O "$2" "$url" 2>"$tmp/said" && return
		to=$(sed -n 's/^ *[Ll]ocation: \([^ ]*\).*/\1/p' "$tmp/said" | tail -n 1)
		[ -n "$to" ] || break
		host=${url#*://}
		case $to in
		//*) url=$only:$to ;;
		/*) url=$only://${host%%/*}$to ;; # on the same server
		*) url=$to ;;
		esac
	done
	grep . "$tmp/said" | tail -n 1 >&2
	return 1
}

# fetch NAME: the file of that name, into $tmp.
fetch() {
	case $from in
	http://127.0.0.1[:/]* | http://localhost[:/]*) only=http ;; # stays on this machine
	http://*) fail "$from is not encrypted, and the checksums come from there too" "FROM=https://... or fetch the files of a release, and: FROM=DIRECTORY sh install.sh" ;;
	*) only=https ;;
	esac
	case $from in
	http://* | https://*)
		if command -v curl >/dev/null 2>&1; then
			# Which holds for where it is sent on to, also.
			curl --proto "=$only" --tlsv1.2 -fsSL --retry 3 -o "$tmp/$1" "$from/$1" || fail "cannot fetch $from/$1"
		elif command -v wget >/dev/null 2>&1; then
			wget --version 2>/dev/null | grep -q '^GNU Wget 1\.' || # Wget2 ends well, and does not say where it is sent
				fail "this wget, perhaps BusyBox's or Wget2, cannot be kept from going on without encryption" "install curl, or GNU wget 1; or fetch the files of a release, and: FROM=DIRECTORY sh install.sh"
			wgets "$from/$1" "$tmp/$1" || fail "cannot fetch $from/$1"
		else
			fail "there is neither curl nor wget" "fetch the files of a release by hand, and: FROM=DIRECTORY sh install.sh"
		fi
		;;
	*) cp "$from/$1" "$tmp/$1" || fail "cannot read $from/$1" ;;
	esac
}

fetch SHA256SUMS
archive=$(sed -n "s/^[0-9a-f]\{64\}  \(ramaria-.*-linux-$arch\.tar\.gz\)\$/\1/p" "$tmp/SHA256SUMS")
case $archive in
'') fail "$from has no archive for linux-$arch" ;;
*'
'*) fail "$from has more than one archive for linux-$arch" "VERSION=... names one" ;;
esac
[ -z "${VERSION:-}" ] || [ "$archive" = "ramaria-${VERSION#v}-linux-$arch.tar.gz" ] ||
	fail "$from has $archive, and not version ${VERSION#v}" "leave VERSION out, or FROM"
fetch "$archive"
want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$tmp/SHA256SUMS")
got=$(sha256sum <"$tmp/$archive" | cut -d' ' -f1)
[ "$got" = "$want" ] || fail "$archive is not what SHA256SUMS says" "fetch it again; if that does not help, tell us"
tar -xzf "$tmp/$archive" -C "$tmp"
top=$tmp/${archive%.tar.gz}

# put FROM TO MODE: a new file in the place of the old one, which may be at work.
put() {
	mkdir -p "$(dirname "$2")" && cp "$1" "$2.new" && chmod "$3" "$2.new" && mv -f "$2.new" "$2" ||
		fail "cannot write $2" "PREFIX=DIR sh install.sh installs elsewhere"
}
put "$top/ramaria" "$PREFIX/bin/ramaria" 755
for page in "$top"/man1/*; do put "$page" "$PREFIX/share/man/man1/${page##*/}" 644; done
put "$top/completions/ramaria" "$PREFIX/share/bash-completion/completions/ramaria" 644
put "$top/completions/_ramaria" "$PREFIX/share/zsh/site-functions/_ramaria" 644
put "$top/completions/ramaria.fish" "$PREFIX/share/fish/vendor_completions.d/ramaria.fish" 644

printf 'installed %s\n' "$("$PREFIX/bin/ramaria" --version)"
case :$PATH: in
*:"$PREFIX/bin":*) printf 'try: ramaria demo\n' ;;
*) printf 'try: %s/bin/ramaria demo\nhint: export PATH=%s/bin:$PATH\n' "$PREFIX" "$PREFIX" ;;
esac
