#!/bin/sh
# Measures ways to keep these tests apart; takes the flags of ramaria bench suite.
export TIMES="${TIMES:-8}"
exec ramaria bench suite \
	--way 'flush@disk=ISOLATION=flush .venv/bin/python manage.py test --noinput --settings shop.plain' \
	--way 'flush@shm-relaxed=ISOLATION=flush .venv/bin/python manage.py test --noinput --settings shop.plain' \
	--way 'reset@ramaria=.venv/bin/python manage.py test' "$@"
