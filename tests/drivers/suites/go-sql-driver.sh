# go-sql-driver/mysql, whose tests are in its module.
fetch() {
	go mod init suite 2>/dev/null
	go get github.com/go-sql-driver/mysql@latest 2>/dev/null
	dir=$(go list -m -f '{{.Dir}}' github.com/go-sql-driver/mysql)
	rm -rf src && cp -r "$dir" src && chmod -R u+w src
	echo "go-sql-driver/mysql ${dir##*@}"
	cd src && go test -c -o ../test .
}

run() {
	cd src
	MYSQL_TEST_ADDR=$HOST:$PORT MYSQL_TEST_USER=$USER MYSQL_TEST_PASS=$PASSWORD MYSQL_TEST_DBNAME=$DB MYSQL_TEST_CONCURRENT=1 \
		../test -test.v -test.timeout 5m -test.skip "^TestConnectorReturnsTimeout$" >"$LOG" 2>&1
	sed -nE 's/^ *--- (PASS|FAIL|SKIP): ([^ ]+) .*/\1 \2/p' "$LOG"
}
