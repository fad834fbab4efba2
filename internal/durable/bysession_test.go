package durable

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestBySession: tables of which a recovery may make something else are named, and no others.
func TestBySession(t *testing.T) {
	servertest.EachAlways(t, func(t *testing.T, want string) {
		found := servertest.Find(t, want)
		srv := servertest.Start(t, found)
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		const made = "CREATE DATABASE d;\n" +
			`CREATE TABLE d.no (a INT, b INT, c VARCHAR(9), at TIMESTAMP NULL, dt DATETIME, j JSON, ` + "`regexp(``/at` INT" + `,
				g1 INT AS (a + b DIV 2) STORED, g2 VARCHAR(99) AS (CONCAT(c, '/', 'it''s \\ / at', "q\"/ REGEXP dayname(")) STORED, g3 VARCHAR(9) AS (j->>'$.a/b') STORED, -- mysql
				g1 INT AS (a + b DIV 2) STORED, g2 VARCHAR(99) AS (CONCAT(c, '/', 'it''s \\ / at', "q\"/ REGEXP dayname(")) STORED, g3 VARCHAR(9) AS (JSON_VALUE(j, '$.a/b')) STORED, -- mariadb
				` + "g4 INT AS (`regexp(``/at` + 1) STORED" + `, g5 DOUBLE AS (a / b) VIRTUAL, g6 INT AS (at IS NOT NULL) STORED, g7 INT AS (WEEK(dt, 3)) STORED,
				g8 VARCHAR(9) AS (DATE_FORMAT(dt, '%Y-%m')) STORED, -- mysql
				g8 INT AS (UNIX_TIMESTAMP(at)) STORED, g9 VARCHAR(99) AS (DATE_FORMAT(dt, '%W', 'de_DE')) STORED, -- mariadb
				CHECK (a <> 3 AND c <> '/'), CHECK (a / 2 <> 7) NOT ENFORCED); -- mysql
				CHECK (a / 2 <> 7)); -- mariadb
			CREATE TABLE d.versioned (a INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING; -- mariadb
			CREATE TABLE d.a (at TIMESTAMP NULL, d DATE AS (DATE(AT)) STORED UNIQUE);
			CREATE TABLE d.w (dt DATETIME, w INT AS (EXTRACT(WEEK FROM dt)) STORED); -- mysql
			CREATE TABLE d.b (dt DATETIME, at TIMESTAMP AS (dt) STORED);
			CREATE TABLE d.c (a INT, b INT, at TIMESTAMP NULL, q DECIMAL(20, 9) AS (a / b + DAY(at)) STORED);
			CREATE TABLE d.d (c VARCHAR(9), d DATETIME, x INT AS (UNIX_TIMESTAMP(d)) STORED, y INT AS (c RLIKE 'a') STORED, z VARCHAR(9) AS (REGEXP_REPLACE(c, 'a', 'b')) STORED); -- mariadb
			CREATE TABLE d.d (c VARCHAR(9), d DATETIME, n INT, v VARCHAR(99) AS (DAYNAME(d)) STORED, w VARCHAR(99) AS (DATE_FORMAT(d, '%e. %M')) STORED, x DATETIME AS (FROM_UNIXTIME(n)) STORED, -- mysql
				y VARBINARY(99) AS (AES_ENCRYPT(c, 'a')) STORED, z INT AS (c REGEXP 'a') STORED, CONSTRAINT k CHECK (n / 2 <> 7)); -- mysql
			CREATE VIEW d.v AS SELECT * FROM d.a`
		for sql := range strings.SplitSeq(servertest.Flavoured(found, made), ";") {
			if sql = strings.NewReplacer("-- mysql", "", "-- mariadb", "").Replace(sql); strings.TrimSpace(sql) == "" {
				continue
			}
			if _, err := db.ExecContext(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		names := []string{
			"d.a (column d depends on the time_zone of the session)", "d.b (column at depends on the time_zone of the session)",
			"d.c (column q depends on the div_precision_increment and the time_zone of the session)",
		}
		if found.Flavour == server.MariaDB {
			names = append(names, "d.d (column x depends on the time_zone of the session)", "d.d (column y depends on the default_regex_flags of the session)", "d.d (column z depends on the default_regex_flags of the session)")
		} else {
			names = append(names, "d.d (CHECK k depends on the div_precision_increment of the session)", "d.d (column v depends on the lc_time_names of the session)", "d.d (column w depends on the lc_time_names of the session)",
				"d.d (column x depends on the time_zone of the session)", "d.d (column y depends on the block_encryption_mode of the session)",
				"d.w (column w depends on the default_week_format of the session)")
		}
		slices.Sort(names)
		list, err := outsideOf(t.Context(), db, found.Flavour)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(names, list); diff != "" {
			t.Error(diff)
		}
	})
}
