package durable

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestDescribeByRows: a table whose checksum is not one of its rows is equal while they are, and differs once one does.
func TestDescribeByRows(t *testing.T) {
	servertest.EachFrom(t, "mysql:8.0", func(t *testing.T, want string) {
		found := servertest.Find(t, want)
		srv := servertest.Start(t, found)
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		exec := func(sql string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		const name = "table `a``b`.`t``t`"
		describes := func() string {
			t.Helper()
			all, err := describe(t.Context(), db, found)
			if err != nil || all[name] == "" {
				t.Fatalf("%v, %v", all, err)
			}
			return all[name]
		}
		exec("CREATE DATABASE `a``b`")
		exec("CREATE TABLE `a``b`.`t``t` (id INT PRIMARY KEY, j JSON, `v``w` VARCHAR(9), w VARCHAR(9), f FLOAT, d DOUBLE INVISIBLE, b BIT(9), z BLOB, at TIMESTAMP(6) NULL, p POINT," +
			" g INT AS (id + 1), s INT AS (id + 2) STORED, KEY mv ((CAST(j->'$.z' AS UNSIGNED ARRAY))))")
		empty := describes()
		exec("INSERT INTO `a``b`.`t``t` (id, j, `v``w`, w, f, d, b, z, at, p) VALUES" +
			` (1, '{"s": "aaaaaaaaaaaaaa", "z": [1, 2, 3]}', '', NULL, 16777215, 0.1, 257, X'00ff', '2026-01-01 00:00:00', POINT(1, 2)),` +
			` (2, '{"s": "b", "z": [3, 4]}', 'a', 'b', 1, 1, 1, 'x', NULL, NULL), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`)
		exec("UPDATE `a``b`.`t``t` SET j = JSON_REPLACE(j, '$.s', 'b') WHERE id = 1")
		was := describes()
		exec("FLUSH TABLES")
		if is := describes(); is != was {
			t.Errorf("the same rows: %s, and %s", was, is)
		}
		exec("ALTER TABLE `a``b`.`t``t` ENGINE = InnoDB")
		if is := describes(); is != was || is == empty {
			t.Errorf("the same rows, in another order: %s, and %s; %s of none", was, is, empty)
		}
		for _, set := range []string{
			`j = JSON_SET(j, '$.z', JSON_ARRAY(1, 2))`, "`v``w` = NULL", "w = ''", "f = 16777214", "d = 0.1 + 1e-16", "b = 256", "z = X'00fe'", "at = NULL",
			"at = '2026-01-01 00:00:00.000001'", "p = POINT(2, 1)", "`v``w` = w, w = ''", "id = 4",
		} {
			exec("UPDATE `a``b`.`t``t` SET " + set + " WHERE id = 1")
			is := describes()
			if is == was || !strings.HasPrefix(is, "3 ") {
				t.Errorf("%s: %s, and before that %s", set, is, was)
			}
			was = is
		}
	})
}
