package replay

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// modes are sessions, a line each, whose settings are in the log, and count for what is computed from their rows.
const modes = `
SET sql_mode = 'TIME_TRUNCATE_FRACTIONAL'; INSERT INTO computed (a, t) VALUES (1, '2020-01-01 00:00:00.9');
SET sql_mode = ''; INSERT INTO computed (a, t) VALUES (2, '2020-01-01 00:00:00.9');
SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'; INSERT INTO computed (a, c) VALUES (3, 'x');
SET sql_mode = ''; INSERT INTO computed (a, c) VALUES (4, 'x');
SET time_zone = '+05:00'; INSERT INTO computed (a, s) VALUES (5, '2020-01-01 01:00:00');
SET time_zone = '-05:00'; INSERT INTO computed (a, s) VALUES (6, '2020-01-01 01:00:00');
SET time_zone = '+00:00'; INSERT INTO computed (a, s) VALUES (7, '2020-01-01 01:00:00');
SET sql_mode = ''; INSERT INTO computed (a, b) VALUES (8, 0);
SET sql_mode = 'TRADITIONAL'; INSERT INTO computed (a) VALUES (9);
`

// TestReplayOfSessionsSettings: stored generated columns have the values that they got in the sessions that wrote the rows, though
// transactions of several sessions stand one behind the other. MariaDB logs nothing of a session before rows.
func TestReplayOfSessionsSettings(t *testing.T) {
	t.Parallel()
	servertest.EachFrom(t, "mysql:8.4", func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.Load(t, "USE shop; CREATE TABLE computed (a INT PRIMARY KEY, t DATETIME(6), r DATETIME AS (CAST(t AS DATETIME)) STORED, c CHAR(5), n INT AS (CHAR_LENGTH(c)) STORED, s TIMESTAMP NULL, d DATE AS (DATE(s)) STORED, b INT, e INT AS (1 / b) STORED) ENGINE=InnoDB")
		for line := range strings.Lines(modes) {
			w.Load(t, "USE shop; "+line)
		}
		const rows = "SELECT * FROM shop.computed ORDER BY a"
		before := query(t, w.Running, rows)
		w.Kill()
		got, _ := w.replay(t, w.logs(t))
		if diff := cmp.Diff(before, query(t, got, rows)); diff != "" {
			t.Errorf("rows (-twin +replayed):\n%s", diff)
		}
	})
}
