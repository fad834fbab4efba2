#!/bin/sh
# Builds the wheel, with the binary in it, into the directory $1 (dist). RAMARIA_BIN names a
# static binary that is there already; otherwise hatch_build.py has Go build one of this checkout.
# PYTHON is the interpreter to build with, which needs no packages of its own.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-dist}"
out=$(cd "${1:-dist}" && pwd)
"${PYTHON:-python3}" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-cache-dir --wheel-dir "$out" "$here"
ls "$out"/ramaria-*.whl
