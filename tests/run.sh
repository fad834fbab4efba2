#!/bin/sh
# The whole suite, called by `make test` (every behaviour once) and, with ALL=1, by `make
# test-all`. Every step runs even if one before it failed; the exit status is that of all of
# them. The last lines say where the time went, then the grid of suites and servers, the
# skipped tests, and the count: "N passed, N failed, N skipped".
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
# leftover. Each attempt has one of its own below it, which tests/gotest makes. Their paths
# are short because those of unix sockets must be.
below=$(mktemp -d "${TMPDIR:-/tmp}/rt.XXXX") || exit 1
# Tests of root run servers and commands under other accounts, which need it too.
[ "$(id -u)" != 0 ] || chmod 1777 "$below"
mkdir -p bin
report=bin/test-report.txt
output=bin/test-output.txt
results=bin/test-results.txt
profile=bin/test-profile.txt
snapshot=bin/test-snapshot.json
linted=bin/test-lint.txt
left=bin/test-leftovers.txt
rm -f "$report" "$output" "$results" "$profile" "$linted" "$left"
trap 'rmdir "$below" 2>/dev/null' EXIT
trap 'echo "interrupted: files may be left in $below"; exit 130' INT TERM

# The race detector needs a C compiler.
race=''
if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null 2>&1; then
	race=-race
else
	echo 'SKIPPED: no C compiler, so the tests run without the race detector'
fi

# Tests of mounted volumes need mkfs.xfs, which is fetched if it is missing.
if tools=$(go run ./tests/tools); then
	[ -z "$tools" ] || export PATH="$tools:$PATH"
else
	echo 'mkfs.xfs could not be had: tests of mounted volumes are skipped, or fail'
fi

# The least numbers of tests are for root: what takes root is skipped with all that is in it,
# and uncounted.
guards=''
if [ "$(id -u)" = 0 ]; then
	guards='-root'
fi
if [ "${CI:-}" = true ]; then
	guards="$guards -ci"
fi
[ "${ALL:-}" = 1 ] || export RAMARIA_TEST_QUICK=1

# Data directories of empty servers, made once for all tests of this run.
empty=$below/empty
run_tests() {
	mkdir "$empty" || return 1
	# shellcheck disable=SC2086 # the variables hold lists of words
	RAMARIA_TEST_EMPTY=$empty go run ./tests/gotest ${V:+-v} $guards $race ${RAMARIA_TEST_END:+-end "$RAMARIA_TEST_END"} \
		-below "$below" -snapshot "$snapshot" -report "$report" -output "$output" -results "$results" -profile "$profile"
	status=$?
	rm -rf "$empty"
	return $status
}

run_fuzz() { TMPDIR=$below "$MAKE" --no-print-directory fuzz; }

# The linter computes while tests wait: it runs beside them and gives way.
began=$(date +%s)
nice -n 19 "$MAKE" --no-print-directory lint >"$linted" 2>&1 &
lint=$!
say_lint() {
	wait "$lint"
	status=$?
	cat "$linted"
	return $status
}

check_leftovers() {
	go run ./tests/leftovers -check "$snapshot" -below "$below" >"$left" 2>&1
	status=$?
	cat "$left"
	return $status
}

step 'what is there before' go run ./tests/leftovers -snapshot "$snapshot" -below "$below"
step 'tests' run_tests
step 'lint' say_lint
[ "${ALL:-}" != 1 ] || step 'fuzzing' run_fuzz
rmdir "$below"/[0-9] 2>/dev/null # what is empty
step 'leftovers' check_leftovers

printf '\n== summary\n'
if [ -n "$(ls -A "$below")" ]; then
	echo "the files of tests that failed are kept in $below"
fi
if [ -f "$profile" ]; then
	cat "$profile"
	printf 'all steps: %s seconds\n\n' $(($(date +%s) - began))
fi
if [ -f "$results" ]; then
	go run ./tests/matrix -results "$results" || failed="$failed 'matrix'"
	echo
fi
# In short, last, what has failed besides tests: of a long output, the end is what is kept.
in_short() {
	case "$failed" in *"'lint'"*)
		echo 'failed: lint'
		grep -E '^[^ ]+:[0-9]+|rror' "$linted" | head -n 5 | sed 's/^/    /'
		;;
	esac
	case "$failed" in *"'leftovers'"*)
		echo 'failed: leftovers'
		grep '^left' "$left" | head -n 5 | sed 's/^/    /'
		;;
	esac
	[ -z "$failed" ] || echo "failed steps:$failed"
}
if [ -f "$report" ]; then
	sed '$d' "$report"
	in_short
	tail -n 1 "$report"
else
	failed="$failed 'report'"
	in_short
	echo '0 passed, 1 failed, 0 skipped'
fi
[ -z "$failed" ]
