package binlog

import (
	"fmt"
	"strings"
)

// types are columns of every type, each with values to write: the least, the largest,
// the empty, the long.
type typed struct {
	sql    string
	values []string
}

func long(n int) string { return fmt.Sprintf("REPEAT('x', %d)", n) }

var commonTypes = []typed{
	{"TINYINT", []string{"-128", "127"}},
	{"SMALLINT UNSIGNED", []string{"0", "65535"}},
	{"MEDIUMINT", []string{"-8388608", "8388607"}},
	{"INT", []string{"-2147483648", "2147483647"}},
	{"BIGINT UNSIGNED", []string{"0", "18446744073709551615"}},
	{"FLOAT", []string{"1.1", "-3.402823466E+38"}},
	{"DOUBLE", []string{"0.1", "1.7976931348623157E+308"}},
	{"DECIMAL(1,0)", []string{"9", "-9"}},
	{"DECIMAL(65,30)", []string{"-12345678901234567890123456789012345.123456789012345678901234567890", "0"}},
	{"DECIMAL(14,4)", []string{"1234567890.1234", "-0.0001"}},
	{"BIT(1)", []string{"b'1'", "b'0'"}},
	{"BIT(64)", []string{"b'1'", "18446744073709551615"}},
	{"BIT(17)", []string{"131071", "0"}},
	{"DATE", []string{"'1000-01-01'", "'9999-12-31'"}},
	{"TIME", []string{"'-838:59:59'", "'838:59:59'"}},
	{"TIME(3)", []string{"'-00:00:00.001'", "'12:13:14.567'"}},
	{"TIME(6)", []string{"'-838:59:58.999999'", "'00:00:00'"}},
	{"DATETIME", []string{"'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'"}},
	{"DATETIME(1)", []string{"'2000-01-01 00:00:00.1'", "'9999-12-31 23:59:59.9'"}},
	{"DATETIME(6)", []string{"'2000-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"}},
	{"TIMESTAMP NULL", []string{"'1970-01-02 00:00:01'", "'2038-01-19 00:00:07'"}},
	{"TIMESTAMP(5) NULL", []string{"'1970-01-02 00:00:01.00001'", "'2038-01-18 03:14:07.99999'"}},
	{"YEAR", []string{"1901", "2155"}},
	{"CHAR(0)", []string{"''", "NULL"}},
	{"CHAR(1) CHARACTER SET latin1", []string{"'é'", "''"}},
	{"CHAR(255) CHARACTER SET utf8mb4", []string{"REPEAT('😀', 255)", "'ß'"}},
	{"CHAR(64) CHARACTER SET utf8mb4", []string{"REPEAT('😀', 64)", "'ß'"}},
	{"CHAR(63) CHARACTER SET utf8mb4", []string{"REPEAT('😀', 63)", "'ß'"}},
	{"BINARY(200)", []string{"X'00ff00'", "''"}},
	{"VARCHAR(255) CHARACTER SET latin1", []string{long(255), "'äöü'"}},
	{"VARCHAR(256) CHARACTER SET latin1", []string{long(256), "''"}},
	{"VARCHAR(3000) CHARACTER SET utf8mb4", []string{"REPEAT('😀', 3000)", "''"}},
	{"VARBINARY(300)", []string{"X'0000ffff27'", "''"}},
	{"TINYBLOB", []string{long(255), "''"}},
	{"BLOB", []string{long(65535), "''"}},
	{"MEDIUMBLOB", []string{long(70000), "''"}},
	{"LONGBLOB", []string{long(150000), "''"}},
	{"TINYTEXT", []string{long(255), "''"}},
	{"MEDIUMTEXT CHARACTER SET utf8mb4", []string{"REPEAT('😀', 300)", "''"}},
	{"ENUM('a','b','ü')", []string{"'a'", "'ü'"}},
	{enum(300), []string{"'v299'", "'v0'"}},
	{"SET('a','b','c')", []string{"''", "'a,c'"}},
	{set(64), []string{"'v0,v63'", "''"}},
	{"GEOMETRY", []string{"ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('LINESTRING(0 0,1 1,2 2.5)')"}},
	{"JSON", []string{`'{"a": [1, 2.5, null, "ü"]}'`, `'[]'`}},
}

func enum(n int) string { return "ENUM(" + members(n) + ")" }
func set(n int) string  { return "SET(" + members(n) + ")" }

func members(n int) string {
	var s []string
	for i := range n {
		s = append(s, fmt.Sprintf("'v%d'", i))
	}
	return strings.Join(s, ",")
}

func (r *live) types() []typed {
	types := commonTypes
	switch {
	case r.flavour == MariaDB:
		return append(types[:len(types):len(types)], []typed{
			{"UUID", []string{"'123e4567-e89b-12d3-a456-426655440000'", "'00000000-0000-0000-0000-000000000000'"}},
			{"INET6", []string{"'::'", "'ffff::1'"}},
			{"INET4", []string{"'0.0.0.0'", "'255.255.255.255'"}},
			{"VARCHAR(255) COMPRESSED", []string{long(255), "''"}},
			{"VARCHAR(254) COMPRESSED CHARACTER SET latin1", []string{long(254), "'a'"}},
			{"VARCHAR(2000) COMPRESSED", []string{long(2000), "''"}},
			{"BLOB COMPRESSED", []string{long(60000), "''"}},
			{"TEXT COMPRESSED", []string{long(60000), "'short'"}},
		}...)
	case r.Version.Major >= 9:
		return append(types[:len(types):len(types)], typed{"VECTOR(3)", []string{"TO_VECTOR('[1,2,3]')", "TO_VECTOR('[-1.5,0,1e30]')"}})
	}
	return types
}

// makeTables makes and fills tables, and returns their names.
func (r *live) makeTables() []string {
	var columns, least, most, nulls []string
	for i, t := range r.types() {
		columns = append(columns, fmt.Sprintf("c%d %s", i, t.sql))
		least = append(least, t.values[0])
		most = append(most, t.values[1])
		nulls = append(nulls, "NULL")
	}
	row := func(id int, v []string) string { return fmt.Sprintf("(%d,%s)", id, strings.Join(v, ",")) }
	all := strings.Join(columns, ", ")
	r.exec(
		"CREATE TABLE types (id INT PRIMARY KEY, "+all+")",
		"CREATE TABLE more (id INT, "+all+")", // the same without a key, and filled by the changes
		"INSERT INTO types VALUES "+row(1, least)+","+row(2, most)+","+row(3, nulls)+","+row(4, least),
		"CREATE TABLE nokey (a INT, b VARCHAR(20))",
		"INSERT INTO nokey VALUES (1,'x'),(1,'x'),(2,'y'),(3,NULL),(1,'x')",
		"CREATE TABLE loose (a INT, n INT, UNIQUE (a))", // a key that may be NULL
		"INSERT INTO loose VALUES (1,1),(NULL,2),(NULL,2)",
		"CREATE TABLE parts (id INT, v VARCHAR(20), PRIMARY KEY (id)) PARTITION BY HASH (id) PARTITIONS 3",
		"INSERT INTO parts VALUES (1,'a'),(2,'b'),(3,'c'),(4,'d')",
		"CREATE TABLE gen (id INT PRIMARY KEY AUTO_INCREMENT, a INT, v INT AS (a+1) VIRTUAL, s INT AS (a*2) STORED, UNIQUE (s))",
		"INSERT INTO gen (a) VALUES (1),(2),(3)",
		"CREATE TABLE parent (id INT PRIMARY KEY)",
		"CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))",
		"INSERT INTO parent VALUES (1),(2),(3)",
		"INSERT INTO child VALUES (1,1),(2,1),(3,2)",
		"CREATE TABLE seen (n INT)",
		"CREATE TRIGGER tr AFTER UPDATE ON parts FOR EACH ROW INSERT INTO seen VALUES (NEW.id)",
		"CREATE TABLE `odd ``näme` (`cölumn .` INT PRIMARY KEY, d DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)",
		"INSERT INTO `odd ``näme` VALUES (1,'2020-01-01'),(2,'2020-01-01')",
	)
	return []string{"types", "more", "nokey", "loose", "parts", "gen", "parent", "child", "seen", "`odd ``näme`"}
}

// change changes all of the tables, in several transactions.
func (r *live) change() {
	var swap []string
	for i, t := range r.types() {
		swap = append(swap, fmt.Sprintf("c%d=%s", i, t.values[i%2]))
	}
	r.exec(
		"DELETE FROM types WHERE id=4",
		"UPDATE types SET "+strings.Join(swap, ", ")+" WHERE id IN (1,3)",
		"INSERT INTO more SELECT * FROM types",
		"UPDATE types SET "+strings.Join(nullAll(len(swap)), ", ")+" WHERE id=2",
		"BEGIN",
		"INSERT INTO nokey VALUES (1,'x'),(2,'y'),(9,'z')",
		"UPDATE nokey SET a=a+1",
		"UPDATE nokey SET a=a+1",
		"DELETE FROM nokey WHERE a=4",
		"INSERT INTO loose VALUES (1,5),(1,6),(1,7) ON DUPLICATE KEY UPDATE n=VALUES(n)",
		"UPDATE loose SET n=n+1",
		"UPDATE loose SET n=n-1 WHERE a IS NULL LIMIT 1",
		"COMMIT",
		"UPDATE parts SET id=id+10, v=CONCAT(v,v)",
		"DELETE FROM parts WHERE id=12",
		"INSERT INTO parts VALUES (2,'again')",
		"UPDATE parts SET v='x' WHERE id=2",
		"BEGIN",
		"INSERT INTO gen (a) VALUES (10),(11)",
		"UPDATE gen SET a=a+100 ORDER BY id DESC",
		"SAVEPOINT s", "DELETE FROM gen", "ROLLBACK TO s",
		"DELETE FROM gen WHERE id=2",
		"COMMIT",
		"INSERT INTO gen (id, a) VALUES (1,5) ON DUPLICATE KEY UPDATE a=a+1000",
		"REPLACE INTO gen (id, a) VALUES (3,4000)",
		"UPDATE gen, parts SET gen.a=gen.a+5, parts.v='two' WHERE gen.id=1 AND parts.id=2",
		"DELETE FROM child WHERE p=1", "DELETE FROM parent WHERE id=1",
		"INSERT INTO parent VALUES (7)", "INSERT INTO child VALUES (8,7)",
		"DELETE FROM child WHERE p=2", "DELETE FROM parent WHERE id=2",
		"UPDATE `odd ``näme` SET `cölumn .`=5 WHERE `cölumn .`=1",
	)
}

func nullAll(n int) []string {
	var s []string
	for i := range n {
		s = append(s, fmt.Sprintf("c%d=NULL", i))
	}
	return s
}
