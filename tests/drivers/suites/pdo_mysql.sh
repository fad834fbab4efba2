# PDO and mysqli of PHP, whose tests are in Debian's source package of the PHP that is installed.
fetch() {
	series=$(php -r 'echo PHP_MAJOR_VERSION, ".", PHP_MINOR_VERSION;')
	debian_source "php$series" ||
		debian_source "php$series/$(. /etc/os-release && echo "$VERSION_CODENAME")" || return
	echo "php $(ls "php$series"_*.orig.tar.xz | sed 's/.*_\(.*\).orig.*/\1/')"
}

run() {
	cd src
	export PDO_MYSQL_TEST_DSN="mysql:host=$HOST;port=$PORT;dbname=$DB"
	export PDO_MYSQL_TEST_USER=$USER PDO_MYSQL_TEST_PASS=$PASSWORD
	NO_INTERACTION=1 php run-tests.php -p "$(command -v php)" -q --no-progress --no-color --show-slow 5000 -W "$LOG.results" ext/pdo_mysql/tests >"$LOG" 2>&1
	sed -nE 's/^(PASS|FAIL|BORK|SKIP|XFAIL|LEAK|WARN)[A-Z]*\t(.*)/\1 \2/p' "$LOG.results" | sed -e 's/^BORK/FAIL/' -e "s|$PWD/||" -e "s|# .*common.phpt: ||"
}
