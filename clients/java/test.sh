#!/bin/sh
# Runs the tests of the Java client on a real server, in an instance of its own.
# RAMARIA_BIN is the program; RAMARIA_HOME and RAMARIA_SERVER are Ramaria's own.
set -eu
cd "$(dirname "$0")"
: "${RAMARIA_BIN:?is to be the path of ramaria}"
export RAMARIA_BIN
export RAMARIA_INSTANCE="java-$$"
unset RAMARIA_API RAMARIA_KEEP

finish() {
	status=$?
	trap - EXIT INT TERM
	"$RAMARIA_BIN" down "$RAMARIA_INSTANCE" --rm >/dev/null || status=1
	rm -rf target
	exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

echo "java: mvn test, on ${RAMARIA_SERVER:-the default server}"
mvn --batch-mode --no-transfer-progress -Dstyle.color=never test || {
	status=$?
	# Last, since a long log may be cut in its middle: the failed tests, and what they said.
	echo 'java: failed tests:'
	awk '/<<< (FAILURE|ERROR)!/ { left = 12 } left-- > 0 && !/^\tat (org.junit|java.base|jdk)/' target/surefire-reports/*.txt | grep -v '^Tests run:' || true
	exit $status
}
