package corpus

// dialect is a way in which a database is written as a dump.
type dialect struct {
	name string
	// origin is the server that is dumped, by its own dumper.
	origin string
	// runs are the arguments of the dumper, of each run; NAME stands for the database. What the runs
	// write stands one behind the other, between head and tail.
	runs       [][]string
	head, tail string
	// named says that the dump makes and uses the database itself.
	named bool
}

const (
	maria10, maria11, mysql9 = "mariadb:10.11", "mariadb:11.8", "mysql:9.7"

	// packaged is the dialect of the text that a package ships.
	packaged = "package"
)

// What a server with GTIDs has its dumper write; one with resets has none.
const (
	gtids    = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"
	gtid     = "SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;\nSET @@SESSION.SQL_LOG_BIN= 0;\n\n--\n-- GTID state at the beginning of the backup \n--\n\nSET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '" + gtids + "';\n"
	gtidTail = "SET @@SESSION.SQL_LOG_BIN = @MYSQLDUMP_TEMP_LOG_BIN;\n"
)

// What programs that are no dumpers write around tables.
const (
	adminer = "-- Adminer 4.8.1 MySQL dump\n\nSET NAMES utf8;\nSET time_zone = '+00:00';\nSET foreign_key_checks = 0;\nSET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';\n\nSET NAMES utf8mb4;\n\n"
	pma     = "-- phpMyAdmin SQL Dump\n-- version 5.2.1\n--\n\nSET FOREIGN_KEY_CHECKS=0;\nSET SQL_MODE = \"NO_AUTO_VALUE_ON_ZERO\";\nSTART TRANSACTION;\nSET time_zone = \"+00:00\";\n\n\n" +
		"/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;\n/*!40101 SET @OLD_CHARACTER_SET_RESULTS=@@CHARACTER_SET_RESULTS */;\n" +
		"/*!40101 SET @OLD_COLLATION_CONNECTION=@@COLLATION_CONNECTION */;\n/*!40101 SET NAMES utf8mb4 */;\n\n"
	pmaTail = "SET FOREIGN_KEY_CHECKS=1;\nCOMMIT;\n\n/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;\n" +
		"/*!40101 SET CHARACTER_SET_RESULTS=@OLD_CHARACTER_SET_RESULTS */;\n/*!40101 SET COLLATION_CONNECTION=@OLD_COLLATION_CONNECTION */;\n"
	heidi = "-- --------------------------------------------------------\n-- Host:                         127.0.0.1\n-- HeidiSQL Version:             12.5.0.6677\n\n" +
		"/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;\n/*!40101 SET NAMES utf8 */;\n/*!50503 SET NAMES utf8mb4 */;\n/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;\n" +
		"/*!40103 SET TIME_ZONE='+00:00' */;\n/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;\n" +
		"/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;\n/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;\n\n"
	heidiTail = "/*!40103 SET TIME_ZONE=IFNULL(@OLD_TIME_ZONE, 'system') */;\n/*!40101 SET SQL_MODE=IFNULL(@OLD_SQL_MODE, '') */;\n" +
		"/*!40014 SET FOREIGN_KEY_CHECKS=IFNULL(@OLD_FOREIGN_KEY_CHECKS, 1) */;\n/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;\n/*!40111 SET SQL_NOTES=IFNULL(@OLD_SQL_NOTES, 1) */;\n"
)

// The objects besides tables, as MySQL's dumper and that of MariaDB are told.
var all = []string{"--routines", "--triggers", "--events"}

// dialects are those that dumpers write. Each source has perSource of them, in turn.
var dialects = []dialect{
	{name: "mysqldump", origin: mysql9, runs: with(nil)},
	{name: "mysqldump-single-transaction", origin: mysql9, runs: with(all, "--single-transaction", "--set-gtid-purged=OFF")},
	{name: "mysqldump-one-row", origin: mysql9, runs: with(all, "--skip-extended-insert", "--complete-insert", "--set-gtid-purged=OFF")},
	{name: "mysqldump-compact", origin: mysql9, runs: with(nil, "--compact", "--set-gtid-purged=OFF")},
	{name: "mysqldump-hex", origin: mysql9, runs: with(all, "--hex-blob", "--no-tablespaces", "--set-gtid-purged=OFF")},
	{name: "mysqldump-ansi", origin: mysql9, runs: with(nil, "--compatible=ansi", "--set-gtid-purged=OFF")},
	{name: "mysqldump-databases", origin: mysql9, runs: with(all, "--set-gtid-purged=OFF", "--add-drop-database", "--databases"), named: true},
	{name: "mysqldump-split", origin: mysql9, runs: [][]string{
		{"--no-data", "--routines", "--events", "--skip-triggers", "--set-gtid-purged=OFF", "NAME"}, {"--no-create-info", "--triggers", "--set-gtid-purged=OFF", "NAME"}}},
	{name: "mysqldump-gtid", origin: mysql9, head: gtid, tail: gtidTail, runs: with(all, "--set-gtid-purged=OFF", "--single-transaction")},
	{name: "mysqldump-gtid-commented", origin: mysql9, head: "/* SET @@GLOBAL.GTID_PURGED='+" + gtids + "';*/\n", runs: with(nil, "--set-gtid-purged=OFF", "--order-by-primary")},
	{name: "mariadb-dump-10.11", origin: maria10, runs: with(all)},
	{name: "mariadb-dump-11.8", origin: maria11, runs: with(all)},
	{name: "mariadb-dump-11.8-history", origin: maria11, runs: with(nil, "--dump-history", "--single-transaction")},
	{name: "mariadb-dump-10.11-skip-opt", origin: maria10, runs: with(all, "--skip-opt", "--skip-comments")},
	{name: "mariadb-dump-11.8-latin1", origin: maria11, runs: with(nil, "--default-character-set=latin1", "--hex-blob")},
	{name: "mariadb-dump-10.11-local-time", origin: maria10, runs: with(nil, "--skip-tz-utc", "--order-by-primary", "--no-autocommit")},
	{name: "mariadb-dump-11.8-locked", origin: maria11, runs: with(all, "--lock-all-tables", "--master-data=2", "--databases"), named: true},
	{name: "mariadb-dump-10.11-replace", origin: maria10, runs: with(nil, "--replace", "--skip-disable-keys", "--skip-add-drop-table")},
	{name: "mariadb-dump-11.8-ignore", origin: maria11, runs: with(nil, "--insert-ignore", "--complete-insert", "--tz-utc=0")},
	{name: "phpmyadmin", origin: maria10, head: pma, tail: pmaTail, runs: with(nil, "--compact", "--complete-insert", "--skip-triggers")},
	{name: "adminer", origin: maria11, head: adminer, runs: with(nil, "--compact", "--add-drop-table", "--complete-insert", "--skip-set-charset", "--skip-triggers")},
	{name: "heidisql", origin: mysql9, head: heidi, tail: heidiTail, runs: with(nil, "--compact", "--complete-insert", "--set-gtid-purged=OFF", "--skip-triggers")},
}

// perSource is how many dumps there are of a source, besides the text that its package ships.
const perSource = 2

// with is one run with those arguments and some more.
func with(args []string, more ...string) [][]string {
	return [][]string{append(append(append([]string{}, args...), more...), "NAME")}
}

// dialectsOf are all dialects, in the order in which the source with a number tries them. Large steps
// give neighbours in the list, which are alike, to other sources.
func dialectsOf(number int) (list []dialect) {
	const step = 9 // and the length of the list have no common factor
	for i := range dialects {
		list = append(list, dialects[(number*perSource+i)*step%len(dialects)])
	}
	return list
}
