#!/bin/sh
# Says what `ramaria status` expects of a recovery, and what it takes: of four kinds of logs, and of a large base.
#
#     tests/estimate/run.sh mariadb:10.11 [ROUNDS]
#
# RAMARIA is the binary (bin/ramaria). It works in RAMARIA_HOME, or below a new directory: no other instances may be there. The first round of an
# instance says what is expected of any machine; later ones go by what its recoveries before have measured.
set -eu
server=$1 rounds=${2:-2}
ramaria=${RAMARIA:-bin/ramaria}
RAMARIA_HOME=${RAMARIA_HOME:-$(mktemp -d)}
export RAMARIA_HOME
trap '"$ramaria" down --all --rm >/dev/null 2>&1; rm -rf "$RAMARIA_HOME"/a-*' EXIT

field() { "$ramaria" status "$1" --json | sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\).*/\1/p" | head -1; }
sql() { "$ramaria" sql "$1" >/dev/null; }

double() { # TABLE COLUMNS SELECT TIMES
	echo "SET @n = 0;"
	for _ in $(seq "$4"); do echo "SET @n = (SELECT COUNT(*) FROM $1); INSERT INTO $1 ($2) SELECT $3 FROM $1;"; done
}

setup() {
	echo "CREATE TABLE keyed (a INT PRIMARY KEY, b VARCHAR(100), c INT); INSERT INTO keyed VALUES (0, 'row', 0);"
	double keyed a,b,c "a + @n, CONCAT('some text ', a + @n), 0" 17
	echo "CREATE TABLE keyless (a INT, b VARCHAR(100), c INT); INSERT INTO keyless SELECT * FROM keyed WHERE a < 40000;"
	echo "CREATE TABLE large (id INT PRIMARY KEY AUTO_INCREMENT, s LONGBLOB);"
}

small() { i=0; while [ $i -lt 8000 ]; do i=$((i + 1)); echo "UPDATE keyed SET c = c + 1 WHERE a = $i;"; done; echo "UPDATE keyed SET c = c + 1; UPDATE keyed SET c = c + 1;"; }
large() { for _ in $(seq 200); do echo "INSERT INTO large (s) VALUES (REPEAT('0123456789abcdef', 65536));"; done; }
keyless() { echo "UPDATE keyless SET c = c + 1; UPDATE keyless SET c = c + 1; UPDATE keyless SET c = c + 1;"; }
ddl() { for i in $(seq 250); do echo "CREATE TABLE IF NOT EXISTS d$1_$i (a INT PRIMARY KEY, b INT); ALTER TABLE d$1_$i ADD c INT, ADD INDEX (b);"; done; }

printf '%-14s %-8s %5s %9s %8s %8s\n' server log round MB said took
for log in ${LOGS:-small large keyless ddl}; do
	"$ramaria" up $log --server "$server" --volume shm --durable --recover-within 10m --archive "$RAMARIA_HOME/a-$log" >/dev/null 2>&1
	setup | sql $log
	for round in $(seq "$rounds"); do
		"$ramaria" backup $log >/dev/null 2>&1
		$log "$round" | sql $log
		sleep 3
		said=$(field $log recover_seconds) bytes=$(field $log since_bytes)
		dir=$(field $log dir)
		kill -9 "$(field $log supervisor_pid)" "$(field $log server_pid)"
		sleep 1
		rm -rf "$dir"
		from=$(date +%s.%N)
		"$ramaria" up $log >/dev/null 2>&1
		to=$(date +%s.%N)
		echo "$server $log $round $bytes $said $from $to" | awk '{ printf "%-14s %-8s %5d %9.1f %8.2f %8.2f\n", $1, $2, $3, $4 / 1e6, $5, $7 - $6 }'
	done
	"$ramaria" down $log --rm >/dev/null 2>&1
done
