package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

const versioned = `CREATE DATABASE past; USE past;
CREATE TABLE unseen (id int PRIMARY KEY, a int) WITH SYSTEM VERSIONING;
CREATE TABLE named (id int PRIMARY KEY, a int, since timestamp(6) GENERATED ALWAYS AS ROW START, until timestamp(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (since, until)) WITH SYSTEM VERSIONING;
CREATE TABLE parts (id int PRIMARY KEY, a int) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME (PARTITION h HISTORY, PARTITION c CURRENT);
CREATE TABLE keyless (a int) WITH SYSTEM VERSIONING;
INSERT INTO unseen VALUES (1, 1), (2, 2), (3, 3); UPDATE unseen SET a = a + 10 WHERE id < 3; DELETE FROM unseen WHERE id = 1;
INSERT INTO named (id, a) VALUES (1, 1), (2, 2), (3, 3); UPDATE named SET a = a + 10 WHERE id < 3; DELETE FROM named WHERE id = 1;
INSERT INTO parts VALUES (1, 1), (2, 2), (3, 3); UPDATE parts SET a = a + 10 WHERE id < 3; DELETE FROM parts WHERE id = 1;
INSERT INTO keyless VALUES (1), (1), (3); UPDATE keyless SET a = 9 LIMIT 1; DELETE FROM keyless WHERE a = 3;
`

// TestVersioned compares what rows are and were in the clones of versioned tables, from when to when.
func TestVersioned(t *testing.T) { servertest.EachFrom(t, "mariadb", testVersioned) }

func testVersioned(t *testing.T, want string) {
	srv, conn, _ := start(t, want)
	srv.Load(t, versioned)
	shape := read(t, conn, "past")
	if err := shape.Check(); err != nil {
		t.Fatal(err)
	}
	if _, err := shape.Clone(t.Context(), conn, "c"); err != nil {
		t.Fatal(err)
	}
	rows := func(query string) (text string) {
		t.Helper()
		if err := conn.QueryRowContext(t.Context(), query).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	for table, columns := range map[string]string{"unseen": "id, a, row_start, row_end", "named": "id, a, since, until", "parts": "id, a, row_start, row_end", "keyless": "a, row_start, row_end"} {
		for _, when := range []string{"", " FOR SYSTEM_TIME ALL"} {
			query := func(database string) string {
				return "SELECT GROUP_CONCAT(CONCAT_WS(' ', " + columns + ") ORDER BY " + columns + " SEPARATOR '\n') FROM " + database + "." + table + when
			}
			if got, want := rows(query("c")), rows(query("past")); got != want {
				t.Errorf("%s%s:\n%s\nwant\n%s", table, when, got, want)
			}
		}
	}
	run(t, conn, "CREATE TABLE past.trx (id int PRIMARY KEY, s bigint unsigned GENERATED ALWAYS AS ROW START, e bigint unsigned GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING")
	if err := read(t, conn, "past").Check(); !errors.Is(err, template.ErrUnclonable) || !strings.Contains(err.Error(), "table trx") || !strings.Contains(err.Error(), "hint: ") {
		t.Errorf("a table that counts by transactions: %v", err)
	}
}
