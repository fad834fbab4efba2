#!/bin/sh
# Measures ways to keep these tests apart; takes the flags of ramaria bench suite.
export TIMES="${TIMES:-8}"
exec ramaria bench suite \
	--way 'truncate@disk=ISOLATION=truncate go test -count=1 -tags plain' \
	--way 'reload@shm-relaxed=ISOLATION=reload go test -count=1 -tags plain' \
	--way 'reset@ramaria=go test -count=1' "$@"
