#!/bin/sh
# Runs the Python client's tests from a clean checkout: builds the wheel around RAMARIA_BIN, and
# tests what pip installs of it, in an environment that goes at the end.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${RAMARIA_BIN:?names the ramaria to test with}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export TMPDIR="$tmp" # pytest keeps the directories of its last runs in it

step() {
	echo "+ $*"
	"$@"
}

step "${PYTHON:-python3}" -m venv "$tmp/venv"
PYTHON=$tmp/venv/bin/python
export PYTHON
step "$here/build.sh" "$tmp/dist"
step "$PYTHON" -m pip install --quiet --disable-pip-version-check "$tmp"/dist/ramaria-*.whl pytest pytest-xdist pytest-django pymysql sqlalchemy alembic django

# mysqlclient is compiled, against the headers of a client library.
if ! command -v mariadb_config mysql_config >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	step apt-get update -q >/dev/null || true
	step apt-get install -q -y libmariadb-dev gcc pkg-config >/dev/null || true
fi
if ! step "$PYTHON" -m pip install --quiet --disable-pip-version-check mysqlclient; then
	echo "SKIPPED: the tests with mysqlclient: it cannot be built here (apt-get install libmariadb-dev gcc pkg-config)"
fi

# The one that came with the wheel.
step env -u RAMARIA_BIN PATH=/usr/bin:/bin "$PYTHON" -c 'from ramaria import instance; print(instance.program(), instance.run("--version"))'

cp -R "$here/tests" "$here/README.md" "$here/bench" "$here/../../docs/howto/fast-test-suite.md" "$tmp"
cd "$tmp"
unset RAMARIA_API RAMARIA_INSTANCE
step "$PYTHON" -m pytest -q -rfEs -p no:cacheprovider -n 2 tests
