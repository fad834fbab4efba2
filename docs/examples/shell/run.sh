#!/bin/sh
# Runs the tests, two at a time, each in a database of its own: shop@ and the test's name.
printf '%s\n' tests/*.sh | xargs -P 2 -I TEST sh -ec '
	server="-h 127.0.0.1 -P ${DB_PORT:-3307} -u $MYSQL_USER"
	sql() { mysql --no-defaults $server -N "${DB_NAME:-shop@$PPID-TEST}" -e "$1"; }
	trap "if [ \$? = 0 ]; then echo ok TEST; else echo not ok TEST; fi" EXIT
	. ./TEST'
