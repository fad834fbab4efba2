#!/bin/sh
# Measures ways to keep these tests apart; takes the flags of ramaria bench suite.
export TIMES="${TIMES:-8}"
exec ramaria bench suite \
	--way 'truncate@disk=ISOLATION=truncate NODE_OPTIONS=--conditions=plain npm test' \
	--way 'reload@shm-relaxed=ISOLATION=reload NODE_OPTIONS=--conditions=plain npm test' \
	--way 'reset@ramaria=npm test' "$@"
