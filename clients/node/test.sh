#!/bin/sh
# Packs the client, installs the package beside drivers and test runners in a temporary
# directory, and runs its tests there, on an instance of their own.
set -eu
: "${RAMARIA_BIN:?is the path of the ramaria binary}" "${RAMARIA_HOME:?is where servers are, and the instance will be}"

here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
export TMPDIR="$tmp" # Jest keeps a cache in it
export RAMARIA_INSTANCE="node-client-$$"
unset RAMARIA_API RAMARIA_KEEP NODE_OPTIONS
cleanup() {
	status=$?
	trap - EXIT
	"$RAMARIA_BIN" down "$RAMARIA_INSTANCE" --rm >"$tmp/down" 2>&1 || cat "$tmp/down" >&2
	rm -rf "$tmp"
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# The package is made of a copy: packing writes below its directory.
mkdir -p "$tmp/clients/node" "$tmp/app"
cp "$here/../../LICENSE" "$here/../../THIRD_PARTY_NOTICES" "$tmp/"
cp -R "$here/package.json" "$here/README.md" "$here/src" "$here/scripts" "$tmp/clients/node/"

set -x
cd "$tmp/clients/node"
npm pack --silent --pack-destination "$tmp"

# The client works from Node 18 on, what it is tested with mostly from Node 20 on.
cd "$tmp/app"
node -e '
const { version, devDependencies } = require("../clients/node/package.json")
const dependencies = { ...devDependencies, ramaria: `file:../ramaria-${version}.tgz` }
if (parseInt(process.versions.node) < 20) Object.assign(dependencies, { vitest: "3", vite: "6", mariadb: "~3.4" })
require("fs").writeFileSync("package.json", JSON.stringify({ private: true, type: "module", dependencies }))'
npm install --loglevel error --no-audit --no-fund --no-package-lock --ignore-scripts --prefer-offline
cp -R "$here/test" test
cp "$here/../../docs/howto/fast-test-suite.md" test/

node_modules/.bin/tsc --noEmit --strict --target esnext --module nodenext --types node test/types.test.ts
node --test --test-reporter spec --test-concurrency 1 test/client.test.js test/remote.test.js test/drivers.test.js test/readme.test.js test/runners.test.js
