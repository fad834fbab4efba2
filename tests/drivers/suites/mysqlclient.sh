# mysqlclient of Python, whose tests are in its source distribution. It is built: libmariadb-dev, pkg-config.
needs() {
	command -v mariadb_config >/dev/null || command -v mysql_config >/dev/null || echo "the headers of a client library: apt-get install libmariadb-dev gcc pkg-config"
}

fetch() {
	[ -x env/bin/pytest ] || { python3 -m venv env && env/bin/pip install --quiet pytest sqlalchemy; }
	rm -rf mysqlclient-* src
	env/bin/pip download --quiet --no-deps --no-binary :all: mysqlclient
	tar xzf mysqlclient-*.tar.gz
	rm mysqlclient-*.tar.gz
	echo mysqlclient-*
	mv mysqlclient-* src
	env/bin/pip install --quiet ./src
}

run() {
	cd src
	printf '[MySQLdb-tests]\nhost = %s\nport = %s\nuser = %s\npassword = %s\ndatabase = %s\ndefault-character-set = utf8mb4\n' \
		"$HOST" "$PORT" "$USER" "$PASSWORD" "$DB" >tests/suite.cnf
	TESTDB=suite.cnf ../env/bin/pytest -v tests >"$LOG" 2>&1
	sed -nE 's/^(tests[^ ]+) (PASSED|FAILED|ERROR|SKIPPED).*/\2 \1/p' "$LOG" |
		sed -e 's/^PASSED/PASS/' -e 's/^FAILED/FAIL/' -e 's/^ERROR/FAIL/' -e 's/^SKIPPED/SKIP/'
}
