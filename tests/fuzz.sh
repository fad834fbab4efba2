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

log=$(mktemp)
trap 'rm -f "$log" "$log.status"' EXIT
trap 'exit 130' INT TERM

# One target. Until Go 1.27 a run can end with its deadline as an error, having found
# nothing (https://go.dev/issue/75804): that run, and no other failure, is made again.
fuzz() {
	for try in 1 2 3; do
		[ "$try" = 1 ] || echo "fuzz: nothing found, but the deadline came out as an error: try $try"
		{
			go test -run '^$' -fuzz "^$2\$" -fuzztime "${FUZZTIME:-15s}" "$1" </dev/null 2>&1
			echo "$?" >"$log.status"
		} | tee "$log"
		status=$(cat "$log.status")
		[ "$status" -ne 0 ] && grep -qx '    context deadline exceeded' "$log" &&
			! grep -q 'Failing input written' "$log" || return "$status"
	done
	return "$status"
}

echo "$targets" | {
	failed=0
	while read -r package target; do
		echo "-- $target in $package"
		fuzz "$package" "$target" || failed=1
	done
	exit "$failed"
}
