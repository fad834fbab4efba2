#!/bin/sh
# Builds the action for GitHub into the directory $1: what the repository setup-ramaria has under the tag of a release.
# VERSION is that of Ramaria which it gets unless it is told otherwise. Needs npm.
set -eu
: "${VERSION:?}"
src=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp "$src"/*.mjs "$src"/package*.json "$tmp/"
cd "$tmp"
npm ci --silent --no-audit --no-fund --ignore-scripts
for step in main post; do
	node_modules/.bin/esbuild $step.mjs --bundle --minify --platform=node --target=node20 --format=esm --log-level=warning \
		--legal-comments=inline --outfile="$out/$step.mjs" \
		--banner:js="import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"
done
node notices.mjs >"$out/THIRD_PARTY_NOTICES"
cp "$src/action.yml" "$src/../release/install.sh" "$src/../../LICENSE" "$out/"
printf '%s\n' "${VERSION#v}" >"$out/VERSION"
