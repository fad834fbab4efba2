#!/bin/sh
# Measures ways to keep these tests apart; takes the flags of ramaria bench suite.
export TIMES="${TIMES:-8}"
exec ramaria bench suite \
	--way 'truncate@disk=ISOLATION=truncate .venv/bin/python -m pytest -q -p no:ramaria -p plain' \
	--way 'reload@shm-relaxed=ISOLATION=reload .venv/bin/python -m pytest -q -p no:ramaria -p plain' \
	--way 'reset@ramaria=.venv/bin/python -m pytest -q' "$@"
