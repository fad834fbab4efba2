package pool_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// costly are statements, one a line, that the journal of the log cannot attribute to one database,
// or not by itself. None of them changes the template shop. LEASE is the lease's name; those of
// root are run with the template as the default database.
var costly = []struct {
	name, lease, root string
}{
	{name: "random numbers before DDL", lease: "CREATE VIEW v1 AS SELECT * FROM item ORDER BY RAND()\nCREATE TABLE r1 AS SELECT RAND() AS r"},
	{name: "variables before DDL", lease: "SET @t = NOW() + INTERVAL 1 DAY\nCREATE EVENT e ON SCHEDULE AT @t DO SET @z = 1\nDROP EVENT e"},
	{name: "a counter before DDL", lease: "INSERT INTO sale (item) VALUES (3)\nCREATE TABLE last_one AS SELECT LAST_INSERT_ID() AS id\nSET insert_id = 77\nCREATE TABLE c (id int AUTO_INCREMENT PRIMARY KEY) AS SELECT 1 AS a"},
	{name: "text in another character set", lease: "SET NAMES latin1\nCREATE TABLE l1 (a int COMMENT '\xe4\xf6')\nSET NAMES utf8mb4"},
	{name: "accounts of its own", lease: "SET PASSWORD = 'aB1_cccccccccccccc'"},
	{name: "names of the template, in a lease", lease: "CREATE TABLE shop (item int)\nCREATE TABLE `shop.item` (a int)\nALTER TABLE item COMMENT 'shop.item'\nDROP TABLE shop"},
	{name: "DDL of a clone, from within the template", root: `ALTER TABLE LEASE.item ADD COLUMN x int
		DROP TABLE IF EXISTS LEASE.sale, LEASE.nothing
		RENAME TABLE LEASE.item TO LEASE.item2
		CREATE TABLE LEASE.item LIKE shop.item
		CREATE TABLE LEASE.made AS SELECT * FROM shop.item
		CREATE VIEW LEASE.seen AS SELECT * FROM shop.item
		DROP VIEW IF EXISTS LEASE.sold, LEASE.seen
		CREATE TRIGGER LEASE.trg BEFORE INSERT ON LEASE.item FOR EACH ROW SET NEW.name = 'x'
		CREATE PROCEDURE LEASE.proc() SELECT 1
		CREATE EVENT LEASE.ev ON SCHEDULE EVERY 1 DAY DO SELECT 1
		CREATE INDEX i ON LEASE.item (name)
		TRUNCATE TABLE LEASE.item
		DROP TABLE LEASE.item2, LEASE.made`},
	{name: "tables that go from one clone to another", root: "CREATE TABLE LEASE.gone (a int)\nRENAME TABLE LEASE.gone TO OTHER.gone\nDROP TABLE OTHER.gone"},
	{name: "DDL of the template that leaves it as it is", root: "CREATE TABLE IF NOT EXISTS item (a int)\nDROP TABLE IF EXISTS nothing\nDROP VIEW IF EXISTS shop.nothing\nCREATE TABLE passing (a int)\nDROP TABLE passing\nCREATE DATABASE IF NOT EXISTS shop\nANALYZE TABLE item\nOPTIMIZE TABLE item"},
	{name: "the log removed", root: "RESETLOGS"},
	{name: "the log removed twice", root: "INSERT INTO LEASE.sale (item) VALUES (3)\nRESETLOGS\nINSERT INTO LEASE.sale (item) VALUES (3)\nRESETLOGS"},
	{name: "the log purged", root: "FLUSH BINARY LOGS\nFLUSH BINARY LOGS\nPURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY\nFLUSH LOGS"},
	{name: "the log in other formats", root: "SET GLOBAL binlog_format = STATEMENT\nSET SESSION binlog_format = STATEMENT\nINSERT INTO LEASE.sale (item) VALUES (2)\nUPDATE LEASE.sale SET item = 1 ORDER BY RAND() LIMIT 1\nSET SESSION binlog_format = ROW\nSET GLOBAL binlog_format = ROW"},
	{name: "a log of what is needed only", root: "SET SESSION binlog_row_image = MINIMAL\nUPDATE LEASE.item SET note = 'z'\nDELETE FROM LEASE.sale"},
	{name: "a log of less than is needed", root: "SET SESSION binlog_row_image = NOBLOB\nUPDATE LEASE.item SET name = 'z'"},
	{name: "a log that is off", root: "SET SESSION sql_log_bin = 0\nCREATE TABLE IF NOT EXISTS shop.item (a int)\nSET SESSION sql_log_bin = 1"},
	{name: "a log that is compressed", root: "SET SESSION binlog_transaction_compression = ON\nINSERT INTO LEASE.sale (item) VALUES (2)\nSET GLOBAL log_bin_compress = ON\nSET GLOBAL log_bin_compress_min_len = 10\n" +
		"INSERT INTO LEASE.item (name, note) VALUES ('x', REPEAT('x', 3000))\nSET GLOBAL log_bin_compress = OFF"},
	{name: "checksums in the log", root: "SET GLOBAL binlog_checksum = CRC32\nINSERT INTO LEASE.sale (item) VALUES (2)\nSET GLOBAL binlog_checksum = NONE"},
	{name: "parts of documents in the log", root: "CREATE TABLE LEASE.doc (id int PRIMARY KEY, d json)\nINSERT INTO LEASE.doc VALUES (1, '{\"a\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\", \"b\": 1}')\n" +
		"SET SESSION binlog_row_value_options = PARTIAL_JSON\nUPDATE LEASE.doc SET d = JSON_SET(d, '$.b', 2)"},
	{name: "settings for one statement", root: "SET STATEMENT max_statement_time = 9 FOR CREATE TABLE LEASE.st (a int)\nSET STATEMENT max_statement_time = 9 FOR DROP TABLE LEASE.st"},
	{name: "a statement that fails half way", root: "CREATE TABLE LEASE.my (id int PRIMARY KEY) ENGINE=MyISAM\nINSERT INTO LEASE.my VALUES (1), (2), (1)\nDROP TABLE LEASE.my, LEASE.none"},
}

// TestCostsOnlyItself runs each of them, and wants other leases to be reset and new ones to be made as
// ever, and none to be dirty.
func TestCostsOnlyItself(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.exec(h.root, "CREATE DATABASE `größe`")
		h.exec(h.root, "CREATE TABLE `größe`.t (id int PRIMARY KEY)")
		if h.srv.Flavour == server.MySQL { // whose CHECKSUM TABLE is another one each time then
			h.exec(h.root, "CREATE TABLE `größe`.doc (id int PRIMARY KEY, d json, p point, e float, b bit(9), KEY ((CAST(d->'$.l' AS UNSIGNED ARRAY))))")
			h.exec(h.root, "INSERT INTO `größe`.doc VALUES (1, '{\"l\": [1, 2]}', POINT(1, 2), 0.1, 5), (2, '{\"l\": [3]}', NULL, NULL, NULL)")
		}
		h.put("shop")
		h.put("größe")
		odd, inOdd := h.lease(pool.Request{Template: "größe", Name: "odd"})
		h.exec(inOdd, "INSERT INTO t VALUES (9)")
		victim, inVictim := h.lease(pool.Request{Template: "shop", Name: "victim"})
		for i, tc := range costly {
			t.Run(tc.name, func(t *testing.T) {
				h.t = t
				l, db := h.lease(pool.Request{Template: "shop", Name: fmt.Sprintf("lease_%d", i)})
				h.exec(inVictim, "UPDATE item SET name = 'dirty'")
				names := strings.NewReplacer("LEASE", l.Name, "OTHER", victim.Name, "RESETLOGS", h.resetLogs())
				h.try(db, names.Replace(tc.lease))
				within, err := dbconn.Open(h.srv.Endpoint.Socket, h.srv.Endpoint.Login, "shop")
				if err != nil {
					t.Fatal(err)
				}
				defer within.Close()
				h.try(within, names.Replace(tc.root))
				h.clean(victim.Name, "shop")
				fresh, _ := h.lease(pool.Request{Template: "shop"})
				h.same(fresh.Name, "shop")
				if err := h.Drop(t.Context(), fresh.Name); err != nil {
					t.Error(err)
				}
				h.clean(odd.Name, "größe")
				h.clean(l.Name, "shop")
				h.clean(l.Name, "shop")
				for _, tm := range h.Templates() {
					if tm.Changed != "" {
						t.Errorf("template %s: %s", tm.Name, tm.Changed)
					}
				}
				if err := h.Drop(t.Context(), l.Name); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// try runs statements, one a line, on one connection; those that the server does not know, or
// refuses, are passed over.
func (h *house) try(db *sql.DB, text string) {
	h.t.Helper()
	conn, err := db.Conn(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	defer conn.Close()
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if _, err := conn.ExecContext(h.t.Context(), line); err != nil {
			h.t.Logf("%s: %v", line, err)
		}
	}
}

// clean resets a lease, which is to be as its template then.
func (h *house) clean(name, template string) {
	h.t.Helper()
	if _, err := h.Reset(h.t.Context(), name, reset.RestoreCounters); err != nil {
		h.t.Errorf("reset %s: %v", name, err)
		return
	}
	h.same(name, template)
}

func (h *house) same(name, template string) {
	h.t.Helper()
	if got, want := h.state(name), h.state(template); got != want {
		h.t.Errorf("%s is not as its template:\n%s\nwant:\n%s", name, got, want)
	}
}

// resetLogs is the statement that removes all logs.
func (h *house) resetLogs() string {
	if h.srv.Flavour == server.MySQL {
		return "RESET BINARY LOGS AND GTIDS"
	}
	return "RESET MASTER"
}

// TestReallyChanged: a template that was changed makes no clones and refills none, whatever became
// of the log meanwhile; another template's go on.
func TestReallyChanged(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.exec(h.root, "CREATE DATABASE other")
		h.exec(h.root, "CREATE TABLE other.t (id int PRIMARY KEY)")
		h.put("other")
		for name, text := range map[string]string{
			"rows":                       "UPDATE shop.item SET name = CONCAT(name, 'x') WHERE id = 1",
			"rows, and the log removed":  "UPDATE shop.item SET name = CONCAT(name, 'x') WHERE id = 1\nRESETLOGS",
			"rows, unseen by the log":    "SET sql_log_bin = 0\nUPDATE shop.item SET note = CONCAT(name, 'y') WHERE id = 2\nSET sql_log_bin = 1\nRESETLOGS",
			"a table more":               "CREATE TABLE shop.more (a int)",
			"a column more":              "ALTER TABLE shop.item ADD COLUMN x int",
			"rows, by a statement":       "DELETE FROM shop.sale\nRESETLOGS\nTRUNCATE TABLE shop.sale",
			"a view less":                "DROP VIEW shop.sold\nRESETLOGS",
			"a counter":                  "ALTER TABLE shop.item AUTO_INCREMENT = 50",
			"the whole database, and it": "DROP DATABASE shop\nCREATE DATABASE shop",
		} {
			t.Run(name, func(t *testing.T) {
				h.t = t
				h.exec(h.root, "DROP DATABASE shop")
				h.srv.Load(t, schema)
				h.put("shop")
				l, db := h.lease(pool.Request{Template: "shop"})
				h.try(h.root, strings.ReplaceAll(text, "RESETLOGS", h.resetLogs()))
				_, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop", Name: "mine"})
				if !errors.Is(err, reset.ErrTemplateChanged) || !strings.Contains(err.Error(), "hint: ramaria template add shop") {
					t.Errorf("a clone of a template that was changed: %v", err)
				}
				h.exec(db, "DROP TABLE sale")
				if _, err := h.Reset(t.Context(), l.Name, reset.RestoreCounters); !errors.Is(err, reset.ErrTemplateChanged) {
					t.Errorf("a refill from a template that was changed: %v", err)
				}
				o, _ := h.lease(pool.Request{Template: "other"})
				h.clean(o.Name, "other")
				h.put("shop")
				h.clean(l.Name, "shop")
				for _, name := range []string{o.Name, l.Name} {
					if err := h.Drop(t.Context(), name); err != nil {
						t.Error(err)
					}
				}
			})
		}
	})
}
