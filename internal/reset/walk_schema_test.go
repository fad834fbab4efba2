package reset_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// walkTable is what the random walk knows of a table of its template.
type walkTable struct {
	name    string
	columns []walkColumn
	// id is the column that most statements choose rows by.
	id     string
	engine string
}

// walkColumn is a column, with what makes values of it.
type walkColumn struct {
	name, def string
	value     func(r *rand.Rand) string
}

// walkSchema is a random database.
type walkSchema struct {
	text   string
	tables []walkTable
}

// walkTypes are the types of columns, and what makes values of each. Half of the values
// lie close together, so that keys meet.
var walkTypes = []struct {
	def   string
	value func(r *rand.Rand) string
}{
	{"int", func(r *rand.Rand) string { return fmt.Sprint(r.IntN(40) - 20) }},
	{"tinyint", func(r *rand.Rand) string { return fmt.Sprint(r.IntN(256) - 128) }},
	{"mediumint unsigned", func(r *rand.Rand) string { return fmt.Sprint(r.IntN(1 << 24)) }},
	{"bigint unsigned", func(r *rand.Rand) string { return fmt.Sprint(r.Uint64()) }},
	{"decimal(20,6)", func(r *rand.Rand) string { return fmt.Sprintf("%d.%06d", r.IntN(2000)-1000, r.IntN(1000000)) }},
	{"float", func(r *rand.Rand) string { return fmt.Sprintf("%e", float32(r.NormFloat64())) }},
	{"double", func(r *rand.Rand) string { return fmt.Sprintf("%e", r.NormFloat64()*1e200) }},
	{"bit(9)", func(r *rand.Rand) string { return fmt.Sprintf("b'%b'", r.IntN(512)) }},
	{"varchar(30)", walkText},
	{"varchar(300) CHARACTER SET latin1", func(r *rand.Rand) string { return pick(r, "'ä'", "'ÿß'", "'x'", "''", "REPEAT('lé', 140)") }},
	{"char(10)", walkText},
	{"text", func(r *rand.Rand) string { return fmt.Sprintf("REPEAT(%s, %d)", walkText(r), r.IntN(300)) }},
	{"mediumblob", func(r *rand.Rand) string { return fmt.Sprintf("REPEAT(x'%04x', %d)", r.IntN(65536), r.IntN(2000)) }},
	{"binary(8)", func(r *rand.Rand) string { return fmt.Sprintf("x'%016x'", r.Uint64()) }},
	{"varbinary(20)", func(r *rand.Rand) string { return fmt.Sprintf("x'%06x'", r.IntN(1<<24)) }},
	{"enum('x','y','ö')", func(r *rand.Rand) string { return pick(r, "'x'", "'y'", "'ö'") }},
	{"set('a','b','c')", func(r *rand.Rand) string { return pick(r, "''", "'a'", "'a,c'", "'b'") }},
	{"date", func(r *rand.Rand) string {
		return fmt.Sprintf("'%04d-%02d-%02d'", 1000+r.IntN(9000), 1+r.IntN(12), 1+r.IntN(28))
	}},
	{"time(3)", func(r *rand.Rand) string {
		return fmt.Sprintf("'%d:%02d:%02d.%03d'", r.IntN(1600)-800, r.IntN(60), r.IntN(60), r.IntN(1000))
	}},
	{"datetime(6)", func(r *rand.Rand) string {
		return fmt.Sprintf("'%04d-01-02 03:04:05.%06d'", 1000+r.IntN(9000), r.IntN(1000000))
	}},
	{"timestamp(3) NULL DEFAULT NULL", func(r *rand.Rand) string {
		return fmt.Sprintf("'%04d-06-02 03:04:05.%03d'", 1971+r.IntN(60), r.IntN(1000))
	}},
	{"year", func(r *rand.Rand) string { return fmt.Sprint(1901 + r.IntN(255)) }},
	{"json", func(r *rand.Rand) string { return fmt.Sprintf(`'{"k": [%d, null, "ü"]}'`, r.IntN(100)) }},
	{"geometry", func(r *rand.Rand) string {
		return fmt.Sprintf("ST_GeomFromText('LINESTRING(0 0, %d %d)')", r.IntN(9)+1, r.IntN(9))
	}},
}

func walkText(r *rand.Rand) string {
	return pick(r, "'a'", "'A'", "'b'", "''", "'ö'", "'Łoś'", "'it''s'", "'`'", "'🐘'", "'c '", "'zz'")
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// walkNames are names that are hard to tell from something else.
var walkNames = []string{
	"T", "t", "order", "Select", "tïsch_ö", "sp ace", "back`tick", `quo"te`, "exchanged", strings.Repeat("l", 64), "semi;colon", "dash--dash", "2020", "table",
}

// newWalkSchema makes a random schema, and fills it.
func newWalkSchema(r *rand.Rand, flavour server.Flavour) walkSchema {
	var s walkSchema
	b := &strings.Builder{}
	b.WriteString("SET NAMES utf8mb4; SET sql_mode = ''; SET foreign_key_checks = 0;\n")
	actions := []string{"CASCADE", "SET NULL", "RESTRICT", "NO ACTION"}
	key := func(column, parent string) string {
		return fmt.Sprintf(", KEY (%s), FOREIGN KEY (%s) REFERENCES %s (id) ON DELETE %s ON UPDATE %s", column, column, parent, pick(r, actions...), pick(r, actions...))
	}
	auto := "int NOT NULL AUTO_INCREMENT PRIMARY KEY"
	s.add(r, b, "parent", "id "+auto, "", "InnoDB")
	s.add(r, b, "child", "id "+auto+", p int NULL", key("p", "parent"), "InnoDB")
	s.add(r, b, "grandchild", "id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, p int NULL, q int NULL", key("p", "child")+key("q", "parent"), "InnoDB")
	// ON UPDATE CASCADE of a key to its own table does not work in MySQL, so neither flavour gets one.
	s.add(r, b, "self", "id int PRIMARY KEY, p int NULL", fmt.Sprintf(", KEY (p), FOREIGN KEY (p) REFERENCES self (id) ON DELETE %s", pick(r, "CASCADE", "SET NULL")), "InnoDB")
	s.add(r, b, "bare", "id int", "", "InnoDB")
	s.add(r, b, "isam", "id "+auto, "", "MyISAM")
	s.add(r, b, "bare_isam", "id int, KEY (id)", "", "MyISAM")
	s.add(r, b, "parts", "id int NOT NULL PRIMARY KEY", "", "InnoDB PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (0), PARTITION p1 VALUES LESS THAN (10), PARTITION p2 VALUES LESS THAN MAXVALUE)")
	s.add(r, b, "latin", "id int NOT NULL, v varchar(10) DEFAULT 'é', UNIQUE KEY u (id)", "", "InnoDB DEFAULT CHARSET=latin1")
	s.add(r, b, "maybe", "id int NULL UNIQUE", "", "InnoDB")
	s.add(r, b, "computed", "id "+auto+", a int, g int GENERATED ALWAYS AS (a + 1) VIRTUAL, h int GENERATED ALWAYS AS (a * 2) STORED", ", KEY (g)", "InnoDB")
	s.add(r, b, "floats", "id "+pick(r, "double", "bigint unsigned", "tinyint")+" NOT NULL AUTO_INCREMENT PRIMARY KEY", "", "InnoDB")
	r.Shuffle(len(walkNames), func(i, j int) { walkNames[i], walkNames[j] = walkNames[j], walkNames[i] })
	for _, name := range append([]string{"T", "t"}, walkNames[:3]...) {
		if name = strings.TrimSpace(name); s.has(name) {
			continue
		}
		s.add(r, b, name, pick(r, "id int PRIMARY KEY", "id "+auto, "id varchar(20) CHARACTER SET utf8mb4 PRIMARY KEY"), "", "InnoDB")
	}
	text := b.String()
	if flavour == server.MySQL { // its floats do not count
		text = strings.ReplaceAll(text, "id double NOT NULL AUTO_INCREMENT", "id int NOT NULL AUTO_INCREMENT")
	}
	s.text = text + `DELIMITER ;;
CREATE TRIGGER grows AFTER INSERT ON child FOR EACH ROW INSERT INTO bare (id) VALUES (NEW.id);;
CREATE TRIGGER shrinks BEFORE DELETE ON isam FOR EACH ROW INSERT IGNORE INTO T (id) VALUES (OLD.id);;
CREATE TRIGGER turns BEFORE UPDATE ON maybe FOR EACH ROW SET NEW.id = NEW.id + 1;;
CREATE FUNCTION twice(n int) RETURNS int DETERMINISTIC RETURN n * 2;;
CREATE PROCEDURE mix(IN n int) BEGIN UPDATE parent SET id = id + 100 WHERE id = n; DELETE FROM isam WHERE id = n; END;;
CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2031-01-01 00:00:00' DISABLE DO DELETE FROM bare;;
CREATE VIEW below AS SELECT c.id, c.p, twice(c.id) AS two FROM child c JOIN parent ON parent.id = c.p;;
CREATE VIEW above AS SELECT * FROM below WHERE id > 1;;
DELIMITER ;
`
	return s
}

func (s *walkSchema) has(name string) bool {
	for _, t := range s.tables {
		if t.name == name {
			return true
		}
	}
	return false
}

// add makes a table with the given columns and some more of random types, and rows in it.
func (s *walkSchema) add(r *rand.Rand, b *strings.Builder, name, columns, keys, engine string) {
	t := walkTable{name: name, id: "id", engine: strings.Fields(engine)[0]}
	small := func(r *rand.Rand) string { return fmt.Sprint(r.IntN(30) - 3) }
	for _, def := range []string{"id", "p", "q", "a"} {
		if strings.HasPrefix(columns, def+" ") || strings.Contains(columns, ", "+def+" ") {
			t.columns = append(t.columns, walkColumn{name: def, value: small})
		}
	}
	list := columns
	for i := range 1 + r.IntN(5) {
		types := walkTypes
		if name == "parts" { // geometry, the last, cannot be in partitions
			types = types[:len(types)-1]
		}
		typ := types[r.IntN(len(types))]
		c := walkColumn{name: fmt.Sprintf("c%d", i), def: typ.def, value: typ.value}
		t.columns = append(t.columns, c)
		list += ", " + c.name + " " + c.def
	}
	fmt.Fprintf(b, "CREATE TABLE %s (%s%s) ENGINE=%s;\n", dbconn.QuoteName(name), list, keys, engine)
	for range pick(r, 0, 1, 8, 25) {
		fmt.Fprintf(b, "INSERT IGNORE INTO %s %s;\n", dbconn.QuoteName(name), t.values(r, 1))
	}
	s.tables = append(s.tables, t)
}

// values are random rows, with the names of their columns.
func (t *walkTable) values(r *rand.Rand, n int) string {
	columns := t.columns
	if r.IntN(3) == 0 && columns[0].name == "id" {
		columns = columns[1:] // the counter's affair
	}
	if len(columns) == 0 {
		columns = t.columns
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	var rows []string
	for range n {
		values := make([]string, len(columns))
		for i, c := range columns {
			if values[i] = c.value(r); r.IntN(6) == 0 && c.name != "id" {
				values[i] = "NULL"
			}
		}
		rows = append(rows, "("+strings.Join(values, ", ")+")")
	}
	return "(" + strings.Join(names, ", ") + ") VALUES " + strings.Join(rows, ", ")
}
