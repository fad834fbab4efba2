#!/bin/sh
# Measures ways to keep these tests apart; takes the flags of ramaria bench suite.
export TIMES="${TIMES:-8}"
exec ramaria bench suite \
	--way 'truncate@disk=ISOLATION=truncate mvn -q -o test' \
	--way 'reload@shm-relaxed=ISOLATION=reload mvn -q -o test' \
	--way 'reset@ramaria=mvn -q -o test' "$@"
