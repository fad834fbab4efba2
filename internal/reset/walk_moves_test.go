package reset_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// walkMoves makes random statements about a schema.
type walkMoves struct {
	*rand.Rand
	schema  *walkSchema
	flavour server.Flavour
	// n numbers new objects.
	n int
}

// table returns a table that most of the time is there.
func (m *walkMoves) table() *walkTable { return &m.schema.tables[m.IntN(len(m.schema.tables))] }

func quoted(t *walkTable) string { return dbconn.QuoteName(t.name) }

// where chooses some rows.
func (m *walkMoves) where(t *walkTable) string {
	return pick(m.Rand, fmt.Sprintf(" WHERE %s = %d", t.id, m.IntN(30)), fmt.Sprintf(" WHERE %s > %d LIMIT %d", t.id, m.IntN(30), 1+m.IntN(5)), fmt.Sprintf(" WHERE %s < %d", t.id, m.IntN(10)), " LIMIT 2")
}

func (m *walkMoves) set(t *walkTable) string {
	c := t.columns[m.IntN(len(t.columns))]
	return c.name + " = " + c.value(m.Rand)
}

// read returns a statement that changes nothing.
func (m *walkMoves) read() string {
	t := m.table()
	return pick(m.Rand, "SELECT * FROM "+quoted(t), "SELECT COUNT(*) FROM above", "SELECT twice(3)", "CHECK TABLE "+quoted(t), "ANALYZE TABLE "+quoted(t),
		"SELECT * FROM "+quoted(t)+m.where(t)+" FOR UPDATE")
}

// dml returns a statement that changes rows.
func (m *walkMoves) dml() string {
	t := m.table()
	name := quoted(t)
	switch m.IntN(14) {
	case 0, 1, 2:
		return "INSERT INTO " + name + " " + t.values(m.Rand, 1+m.IntN(4))
	case 3:
		return "INSERT IGNORE INTO " + name + " " + t.values(m.Rand, 5)
	case 4:
		return "REPLACE INTO " + name + " " + t.values(m.Rand, 1+m.IntN(3))
	case 5:
		return "INSERT INTO " + name + " " + t.values(m.Rand, 3) + " ON DUPLICATE KEY UPDATE " + m.set(t)
	case 6, 7, 8:
		return "UPDATE IGNORE " + name + " SET " + m.set(t) + m.where(t)
	case 9:
		return "UPDATE " + name + " SET " + m.set(t) + ", " + m.set(t)
	case 10:
		return fmt.Sprintf("UPDATE %s SET %s = %s + %d WHERE %s = %d", name, t.id, t.id, pick(m.Rand, 1, -1, 100), t.id, m.IntN(20))
	case 11:
		return "DELETE FROM " + name + m.where(t)
	case 12:
		return pick(m.Rand, "CALL mix("+fmt.Sprint(m.IntN(20))+")", "DELETE c, g FROM child c JOIN grandchild g ON g.p = c.id WHERE c.id < 5",
			"UPDATE child c, parent p SET c.p = NULL, p.id = p.id + 50 WHERE c.id = p.id", "DELETE FROM parent"+m.where(t), "DELETE FROM self WHERE id = "+fmt.Sprint(m.IntN(20)))
	}
	o := m.table()
	return "INSERT IGNORE INTO " + name + " (id) SELECT id FROM " + quoted(o) + " LIMIT 7"
}

// ddl returns a statement that changes more than rows.
func (m *walkMoves) ddl() string {
	t, o := m.table(), m.table()
	m.n++
	name, fresh := quoted(t), fmt.Sprintf("new%d", m.n)
	c := t.columns[m.IntN(len(t.columns))].name
	list := []string{
		"ALTER TABLE " + name + " ADD COLUMN " + fresh + " int DEFAULT 5",
		"ALTER TABLE " + name + " ADD COLUMN " + fresh + " varchar(9) DEFAULT 'x' FIRST",
		"ALTER TABLE " + name + " DROP COLUMN " + c,
		"ALTER TABLE " + name + " RENAME COLUMN " + c + " TO " + fresh,
		"ALTER TABLE " + name + " ADD KEY " + fresh + " (id)",
		"CREATE INDEX " + fresh + " ON " + name + " (id)",
		"ALTER TABLE " + name + " AUTO_INCREMENT = 90",
		"ALTER TABLE " + name + " COMMENT 'odd ` tick'",
		"ALTER TABLE " + name + " ENGINE = InnoDB",
		"ALTER TABLE " + name + " CONVERT TO CHARACTER SET " + pick(m.Rand, "latin1", "utf8mb3", "utf8mb4"),
		"ALTER TABLE " + name + " ALTER COLUMN " + c + " DROP DEFAULT",
		"TRUNCATE TABLE " + name, "TRUNCATE " + name,
		"DROP TABLE " + name,
		"DROP TABLE IF EXISTS nothing, " + name,
		"DROP TABLE IF EXISTS /* a ` tick */ `missing`, " + name,
		"RENAME TABLE " + name + " TO " + fresh,
		"RENAME TABLE " + name + " TO " + fresh + ", " + quoted(o) + " TO " + name + ", " + fresh + " TO " + quoted(o),
		"ALTER TABLE " + name + " RENAME TO " + fresh,
		"CREATE TABLE " + fresh + " LIKE " + name,
		"CREATE TABLE " + fresh + " AS SELECT * FROM " + name,
		"CREATE TABLE " + fresh + " (id int AUTO_INCREMENT PRIMARY KEY, p int, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)",
		"CREATE TABLE IF NOT EXISTS " + name + " (id int)",
		"DROP TRIGGER IF EXISTS " + pick(m.Rand, "grows", "shrinks", "turns"),
		"CREATE TRIGGER " + fresh + " AFTER " + pick(m.Rand, "INSERT", "UPDATE", "DELETE") + " ON " + name + " FOR EACH ROW SET @x = 1",
		"CREATE OR REPLACE VIEW " + pick(m.Rand, "below", "above", fresh) + " AS SELECT * FROM " + name,
		"DROP VIEW IF EXISTS " + pick(m.Rand, "below", "above"),
		"DROP FUNCTION IF EXISTS twice", "DROP PROCEDURE IF EXISTS mix", "CREATE PROCEDURE " + fresh + "() SELECT 1",
		"DROP EVENT IF EXISTS nightly", "ALTER EVENT nightly COMMENT 'c'",
		"ALTER DATABASE CHARACTER SET " + pick(m.Rand, "latin1", "utf8mb4"),
		"ALTER TABLE parts " + pick(m.Rand, "TRUNCATE PARTITION p1", "DROP PARTITION p0", "REORGANIZE PARTITION p2 INTO (PARTITION p2 VALUES LESS THAN (20), PARTITION p3 VALUES LESS THAN MAXVALUE)", "REMOVE PARTITIONING"),
		"ALTER TABLE child DROP FOREIGN KEY child_ibfk_1", "ALTER TABLE child ADD FOREIGN KEY (id) REFERENCES parent (id) ON DELETE CASCADE",
	}
	if m.flavour == server.MariaDB {
		list = append(list, "CREATE OR REPLACE TABLE "+name+" (id int, x int)", "CREATE OR REPLACE TABLE "+name+" AS SELECT * FROM "+quoted(o),
			"SET STATEMENT max_statement_time = 9 FOR ALTER TABLE "+name+" ADD COLUMN "+fresh+" int", "CREATE SEQUENCE "+fresh,
			"ALTER TABLE "+name+" RENAME INDEX id TO "+fresh)
	}
	return pick(m.Rand, list...)
}

// transaction returns statements that begin or end transactions; inside says that one is
// open.
func (m *walkMoves) transaction(inside bool) string {
	if !inside {
		return pick(m.Rand, "BEGIN", "START TRANSACTION", "START TRANSACTION WITH CONSISTENT SNAPSHOT", "BEGIN", "BEGIN", "SET autocommit = 0", "SET autocommit = 0", "XA START 'x'", "XA START 'x'", "START TRANSACTION READ ONLY")
	}
	return pick(m.Rand, "COMMIT", "COMMIT", "ROLLBACK", "SAVEPOINT s", "SAVEPOINT r", "ROLLBACK TO s", "ROLLBACK TO SAVEPOINT r", "RELEASE SAVEPOINT s", "SET autocommit = 1")
}

// session returns a statement about a session or what only it sees.
func (m *walkMoves) session() string {
	t := m.table()
	return pick(m.Rand, "SET foreign_key_checks = 0", "SET foreign_key_checks = 1", "SET sql_mode = ''", "SET sql_mode = DEFAULT", "SET unique_checks = 0", "SET sql_mode = 'ANSI_QUOTES'",
		"CREATE TEMPORARY TABLE IF NOT EXISTS tt (a int) SELECT 1 AS a", "INSERT INTO tt VALUES (1)", "DROP TEMPORARY TABLE IF EXISTS tt", "SET timestamp = 1", "SET timestamp = DEFAULT",
		"CREATE TEMPORARY TABLE "+quoted(t)+" (id int)", "DROP TEMPORARY TABLE IF EXISTS "+quoted(t), "SET NAMES latin1", "SET NAMES utf8mb4")
}

// next returns the next statement of a connection in a mood: it reads, it changes rows, or
// it does anything.
func (m *walkMoves) next(mood string, inside, alone bool) string {
	n := m.IntN(100)
	switch {
	case mood == "quiet" || !alone:
		return m.read()
	case n < 12:
		return m.transaction(inside)
	case n < 18:
		return m.session()
	case n < 24:
		return m.read()
	case mood == "wild" && n < 60:
		return m.ddl()
	}
	return m.dml()
}

// ends reports whether a statement ends an open transaction by itself, begins whether it
// opens one.
func begins(statement string) bool {
	return statement == "BEGIN" || strings.HasPrefix(statement, "START TRANSACTION") || statement == "SET autocommit = 0" || strings.HasPrefix(statement, "XA START")
}

func ends(statement string) bool {
	return statement == "COMMIT" || statement == "ROLLBACK" || statement == "SET autocommit = 1"
}
