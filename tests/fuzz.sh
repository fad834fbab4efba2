#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME, one after the other. A crasher
# is written to testdata/fuzz of its package: commit it with the fix.
set -u
cd "$(dirname "$0")/.."

# Names come first, then the package that they are in: "ok <package> 0.01s".
list=$(go test -list '^Fuzz' ./...) || {
	echo "$list" >&2
	exit 1
}
targets=$(echo "$list" | awk '
	/^Fuzz/ { names[n++] = $1 }
	/^ok/   { for (i = 0; i < n; i++) print $2, names[i]; n = 0 }')
[ -n "$targets" ] || {
	echo 'fuzz: no targets found, although there are some' >&2
	exit 1
}

echo "$targets" | {
	status=0
	while read -r package target; do
		echo "-- $target in $package"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-15s}" "$package" </dev/null || status=1
	done
	exit "$status"
}
