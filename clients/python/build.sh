#!/bin/sh
# Builds the wheel, with the binary in it, into the directory $1 (dist). RAMARIA_BIN names a
# static binary that is there already; otherwise Go builds one from this checkout.
# PYTHON is the interpreter to build with, which needs no packages of its own.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-dist}"
out=$(cd "${1:-dist}" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

if [ -z "${RAMARIA_BIN:-}" ]; then
	RAMARIA_BIN=$tmp/ramaria
	(cd "$here/../.." && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$RAMARIA_BIN" ./cmd/ramaria)
fi
export RAMARIA_BIN
"${PYTHON:-python3}" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-cache-dir --wheel-dir "$out" "$here"
ls "$out"/ramaria-*.whl
