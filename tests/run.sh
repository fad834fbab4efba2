#!/bin/sh
# The whole suite, called by `make test`. Every step runs even if one before it
# failed; the exit status is that of all of them. The last lines are the grid of suites
# and servers, the skipped tests, and the count: "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.."
: "${MAKE:=make}"

failed=''
step() {
	name=$1
	shift
	printf '\n== %s\n' "$name"
	"$@" || failed="$failed '$name'"
}

# A directory for the tests alone: what is left in it, or runs in it, is a
# leftover. Its path is short because those of unix sockets must be.
below=$(mktemp -d "${TMPDIR:-/tmp}/rt.XXXXXX") || exit 1
# Tests of root run servers and commands under other accounts, which need it too.
[ "$(id -u)" != 0 ] || chmod 1777 "$below"
mkdir -p bin
report=bin/test-report.txt
results=bin/test-results.txt
snapshot=bin/test-snapshot.json
rm -f "$report" "$results"
trap 'rmdir "$below" 2>/dev/null' EXIT
trap 'echo "interrupted: files may be left in $below"; exit 130' INT TERM

# The race detector needs a C compiler.
race=''
if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null 2>&1; then
	race=-race
else
	echo 'SKIPPED: no C compiler, so the tests run without the race detector'
fi

# Tests of mounted volumes need mkfs.xfs, which is fetched where there is none.
if tools=$(go run ./tests/tools); then
	[ -z "$tools" ] || export PATH="$tools:$PATH"
else
	echo 'mkfs.xfs could not be had: tests of mounted volumes are skipped, or fail'
fi

# The floors are for root: what takes root is skipped with all that is in it, and uncounted.
guards=''
if [ "$(id -u)" = 0 ]; then
	guards='-floors tests/floors.txt'
fi
if [ "${CI:-}" = true ]; then
	guards="$guards -must-not-skip tests/must-not-skip.txt"
fi

run_tests() {
	# shellcheck disable=SC2086 # the variables hold lists of words
	TMPDIR=$below go run ./tests/tally ${V:+-v} $guards -report "$report" -results "$results" -- \
		-count=1 -timeout 60m $race ./...
}

run_fuzz() { TMPDIR=$below "$MAKE" --no-print-directory fuzz; }

step 'lint' "$MAKE" --no-print-directory lint
step 'what is there before' go run ./tests/leftovers -snapshot "$snapshot" -below "$below"
step 'tests' run_tests
step 'fuzzing' run_fuzz
step 'leftovers' go run ./tests/leftovers -check "$snapshot" -below "$below"

printf '\n== summary\n'
if [ -n "$failed" ]; then
	echo "failed:$failed"
	if [ -n "$(ls -A "$below")" ]; then
		echo "the tests' files are kept in $below"
	fi
fi
if [ -f "$results" ]; then
	go run ./tests/matrix -results "$results" || failed="$failed 'matrix'"
	echo
fi
if [ -f "$report" ]; then
	cat "$report"
else
	failed="$failed 'report'"
	echo '0 passed, 1 failed'
fi
[ -z "$failed" ]
