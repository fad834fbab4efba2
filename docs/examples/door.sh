#!/bin/sh
# door.sh COMMAND...: runs a command behind a front door, whose port is DB_PORT, before the instance of the variables
# MYSQL_ and RAMARIA_API. Its template shop is made of shop.sql. This is for bench.sh; docs/languages.md has the rest.
set -eu
tmp=$(mktemp -d)
front=
end() {
	status=$?
	trap - EXIT
	[ -z "$front" ] || kill "$front"
	rm -rf "$tmp"
	exit "$status"
}
trap end EXIT
trap 'exit 130' INT TERM
{ echo 'CREATE DATABASE shop; USE shop;' && cat ../shop.sql; } | mysql --no-defaults -h 127.0.0.1 -P "$MYSQL_TCP_PORT" -u "$MYSQL_USER"
ramaria template add shop
ramaria front --listen 127.0.0.1:0 >"$tmp/url" &
front=$!
until [ -s "$tmp/url" ]; do
	kill -0 "$front" || exit 1
	sleep 0.01
done
DB_PORT=$(sed 's|.*:\([0-9]*\)/.*|\1|' "$tmp/url")
export DB_PORT
"$@"
