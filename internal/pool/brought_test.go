package pool_test

import (
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// What a template brings along: routines of mighty definers, references to other databases, tables
// whose rows lie elsewhere.

// withApp gives the pool of a house an application's account, as instances have.
func (h *house) withApp() {
	h.t.Helper()
	app := dbconn.Login{User: "app", Password: dbconn.NewPassword()}
	conn, err := h.root.Conn(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	// Its session is one without a log from then on, and no other statement is to get it.
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
	for line := range strings.Lines(h.srv.Dialect().InitSQL(dbconn.Login{User: "other_admin", Password: app.Password}, app, "", false)) {
		if _, err := conn.ExecContext(h.t.Context(), line); err != nil {
			h.t.Fatalf("%s: %v", line, err)
		}
	}
	h.Close()
	h.config.Endpoint.Login = app
	h.open()
}

// blinds are procedures that keep what follows out of the log, each by the rights of its definer.
var blinds = map[string]string{
	"plain":     "SET sql_log_bin = 0",
	"by name":   "SET @@SESSION.sql_log_bin = OFF",
	"prepared":  "BEGIN PREPARE s FROM 'SET sql_log_bin = 0'; EXECUTE s; END",
	"nested":    "CALL inner_one()",
	"as a row":  "SET SESSION binlog_row_image = 'MINIMAL', binlog_format = 'STATEMENT'",
	"a role":    "SET sql_log_bin = 0",
	"as a role": "SET sql_log_bin = 0", // the role itself, which MariaDB allows
	"in ANSI":   "SET sql_log_bin = 0", // whose definer is written in other quotes
}

// TestBlindingDefiner has leases call what switches the log off by the rights of its definer. Without
// a stand-in the rows that follow stay, which shows that the test sees that.
func TestBlindingDefiner(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.root.SetMaxOpenConns(1)
		h.exec(h.root, "CREATE USER mighty@localhost")
		h.exec(h.root, "GRANT ALL ON *.* TO mighty@localhost WITH GRANT OPTION")
		h.exec(h.root, "CREATE ROLE captain")
		h.exec(h.root, "CREATE USER roled@localhost")
		h.exec(h.root, "GRANT ALL ON *.* TO captain")
		h.exec(h.root, "GRANT captain TO roled@localhost")
		h.exec(h.root, "SET DEFAULT ROLE captain "+map[server.Flavour]string{server.MariaDB: "FOR", server.MySQL: "TO"}[h.srv.Flavour]+" roled@localhost")
		h.exec(h.root, "CREATE DEFINER = mighty@localhost PROCEDURE shop.inner_one() SET sql_log_bin = 0")
		for name, body := range blinds {
			definer := "mighty@localhost"
			switch {
			case name == "a role":
				definer = "roled@localhost"
			case name == "as a role" && h.srv.Flavour == server.MariaDB:
				definer = "captain"
			case name == "in ANSI":
				h.exec(h.root, "SET sql_mode = 'ANSI_QUOTES'")
			}
			h.exec(h.root, "CREATE DEFINER = "+definer+" PROCEDURE shop."+dbconn.QuoteName(name)+"() "+body)
			h.exec(h.root, "SET sql_mode = DEFAULT")
		}
		try := func(name string) (leaked bool) {
			l, db := h.lease(pool.Request{Template: "shop"})
			db.SetMaxOpenConns(1)
			before := h.state(l.Name)
			_, refused := db.ExecContext(t.Context(), "CALL `"+name+"`()")
			h.exec(db, "INSERT INTO item (name) VALUES ('unseen')")
			h.exec(db, "DELETE FROM sale")
			if _, err := h.Reset(t.Context(), l.Name, false); err != nil {
				t.Fatal(err)
			}
			leaked = h.state(l.Name) != before
			t.Logf("%s: %v, leaked %v", name, refused, leaked)
			if err := h.Drop(t.Context(), l.Name); err != nil {
				t.Fatal(err)
			}
			return leaked
		}
		h.put("shop")
		if !try("plain") {
			t.Error("without a stand-in for its definer the procedure did not switch the log off: the test shows nothing")
		}
		h.withApp()
		made, err := h.PutTemplate(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(made.Notes, "\n"); !strings.Contains(notes, "mighty@localhost may switch the binary log off") || !strings.Contains(notes, "roled@localhost may") {
			t.Errorf("notes: %s", notes)
		}
		for name := range blinds {
			if try(name) {
				t.Errorf("%s: what a lease changed behind it stayed after a reset", name)
			}
		}
		// What a lease drops comes back as clones have it, and the template keeps its own.
		l, db := h.lease(pool.Request{Template: "shop"})
		h.exec(db, "DROP PROCEDURE plain")
		if _, err := h.Reset(t.Context(), l.Name, false); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{l.Name: "app@localhost", "shop": "mighty@localhost"} {
			var definer string
			err := h.root.QueryRowContext(t.Context(), "SELECT definer FROM information_schema.routines WHERE routine_schema = ? AND routine_name = 'plain'", name).Scan(&definer)
			if err != nil || definer != want {
				t.Errorf("the definer in %s is %s, %v; want %s", name, definer, err, want)
			}
		}
	})
}

// TestOtherDatabases has a template name another database in every way, and a lease write to it.
func TestOtherDatabases(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.withApp()
		for _, statement := range []string{
			"CREATE DATABASE geo", "CREATE TABLE geo.place (id int PRIMARY KEY)", "INSERT INTO geo.place VALUES (1)", "CREATE TABLE geo.log (what varchar(20))",
			"CREATE TABLE shop.branch (id int PRIMARY KEY, place int, CONSTRAINT lies_in FOREIGN KEY (place) REFERENCES geo.place (id))",
			"CREATE VIEW shop.places AS SELECT id FROM geo.place",
			"CREATE TRIGGER shop.noted AFTER INSERT ON shop.branch FOR EACH ROW INSERT INTO geo.log VALUES ('branch')",
			"CREATE PROCEDURE shop.note(w varchar(20)) INSERT INTO `geo`.log VALUES (w)",
			"CREATE EVENT shop.nightly ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01 00:00:00' DO DELETE FROM geo.log",
			"CREATE PROCEDURE shop.inner_only() SELECT 'geo.log' AS `geo`",
		} {
			h.exec(h.root, statement)
		}
		made, err := h.PutTemplate(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(made.Notes, "\n")
		for _, part := range []string{"foreign key lies_in of table branch names the database geo", "view places names", "trigger noted names", "procedure note names", "event nightly names"} {
			if !strings.Contains(notes, part) {
				t.Errorf("the notes lack %q:\n%s", part, notes)
			}
		}
		if strings.Contains(notes, "inner_only names") {
			t.Errorf("a text counts as a name:\n%s", notes)
		}
		l, db := h.lease(pool.Request{Template: "shop"})
		h.exec(db, "INSERT INTO branch VALUES (1, 1)")
		res, err := h.Reset(t.Context(), l.Name, false)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(res.Warnings, "; "); text != "it reaches beyond the database and stays: rows of geo.log changed" {
			t.Errorf("the reset warns: %q", text)
		}
		h.exec(db, "INSERT INTO item (name) VALUES ('own')")
		if res, err = h.Reset(t.Context(), l.Name, false); err != nil || len(res.Warnings) > 0 {
			t.Errorf("a reset of rows of its own warns: %q, %v", res.Warnings, err)
		}
		// Of a transaction that changes nothing of the clone only MySQL's log has whose it is.
		said := map[server.Flavour]string{server.MySQL: "it reaches beyond the database and stays: rows of geo.log changed"}[h.srv.Flavour]
		h.exec(db, "CALL note('alone')")
		if res, err = h.Reset(t.Context(), l.Name, false); err != nil || strings.Join(res.Warnings, "; ") != said {
			t.Errorf("a procedure that changes nothing of the clone: %q, %v; want %q", res.Warnings, err, said)
		}
		var rows int
		if err := h.root.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM geo.log WHERE what = 'alone'").Scan(&rows); err != nil || rows != 1 {
			t.Errorf("the procedure wrote %d rows, %v", rows, err)
		}
	})
}

// TestLaterRights has the definer of what a clone has get a right by which it switches the log off, once the template
// is made: what changed behind it goes with the next reset, whether the definer still has it or not.
func TestLaterRights(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.withApp()
		right := h.blindRight()
		for _, statement := range []string{
			"CREATE USER later@localhost", "GRANT ALL ON `shop%`.* TO later@localhost",
			"CREATE DEFINER = later@localhost PROCEDURE shop.hide() SET sql_log_bin = 0",
		} {
			h.exec(h.root, statement)
		}
		gives := map[string][]string{
			"a grant": {"GRANT " + right + " ON *.* TO later@localhost"}, "rows": {
				map[server.Flavour]string{
					server.MariaDB: "UPDATE mysql.global_priv SET Priv = JSON_SET(Priv, '$.access', (1 << 36)) WHERE User = 'later'",
					server.MySQL:   "INSERT INTO mysql.global_grants VALUES ('later', 'localhost', 'SYSTEM_VARIABLES_ADMIN', 'N')",
				}[h.srv.Flavour], "FLUSH PRIVILEGES",
			},
		}
		if h.srv.Flavour == server.MariaDB {
			gives["everybody"] = []string{"GRANT " + right + " ON *.* TO PUBLIC"}
		}
		for name, give := range gives {
			for _, after := range []string{"reset", "reset once it is taken away", "lease"} {
				h.put("shop") // with the definer that has no such right
				l, db := h.lease(pool.Request{Template: "shop"})
				db.SetMaxOpenConns(1)
				before := h.stateOfAnybody(l.Name)
				for _, statement := range give {
					h.exec(h.root, statement)
				}
				h.exec(db, "CALL hide()")
				h.exec(db, "INSERT INTO item (name) VALUES ('unseen')")
				h.exec(db, "DELETE FROM sale")
				if after == "reset once it is taken away" {
					h.takeBack(right)
				}
				if after == "lease" {
					if err := h.Drop(t.Context(), l.Name); err != nil {
						t.Fatal(err)
					}
					h.takeBack(right)
					l, _ = h.lease(pool.Request{Template: "shop"})
				} else if res, err := h.Reset(t.Context(), l.Name, false); err != nil {
					t.Fatal(err)
				} else if res.Way != reset.Reclone {
					t.Errorf("%s, %s: reset by %s", name, after, res.Way)
				}
				if d := cmp.Diff(before, h.stateOfAnybody(l.Name)); d != "" {
					t.Errorf("%s, %s: what changed behind a definer's later right stayed (-want +got):\n%s", name, after, d)
				}
				if err := h.Drop(t.Context(), l.Name); err != nil {
					t.Fatal(err)
				}
				h.takeBack(right)
			}
		}
	})
}

// stateOfAnybody is state, whoever has the procedure of TestLaterRights.
func (h *house) stateOfAnybody(name string) string {
	return strings.ReplaceAll(h.state(name), "`later`@", "`app`@")
}

// takeBack takes a right away from all that TestLaterRights gave it to.
func (h *house) takeBack(right string) {
	for _, from := range []string{"later@localhost", "PUBLIC"} {
		_, _ = h.root.ExecContext(h.t.Context(), "REVOKE "+right+" ON *.* FROM "+from) // it may have none
	}
}

// TestRowsElsewhere refuses tables whose rows are not their own, by name.
func TestRowsElsewhere(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		for _, statement := range []string{
			"CREATE DATABASE merged", "CREATE TABLE merged.a (id int) ENGINE=MyISAM", "CREATE TABLE merged.b LIKE merged.a", "INSERT INTO merged.a VALUES (1)",
			"CREATE TABLE merged.both_of (id int) ENGINE=MRG_MyISAM UNION=(merged.a, merged.b) INSERT_METHOD=LAST",
			"CREATE DATABASE holes", "CREATE TABLE holes.sink (id int) ENGINE=BLACKHOLE COMMENT='DATA DIRECTORY=''x'''",
			"CREATE TABLE holes.a (id int) ENGINE=MyISAM", "CREATE TABLE holes.b LIKE holes.a", "INSERT INTO holes.a VALUES (1)", "CREATE TABLE holes.`b-ü` LIKE holes.a",
		} {
			if _, err := h.root.ExecContext(t.Context(), statement); err != nil {
				if strings.Contains(statement, "BLACKHOLE") { // a plugin on MariaDB
					h.exec(h.root, "CREATE TABLE holes.sink (id int) ENGINE=MEMORY COMMENT='DATA DIRECTORY=''x'''")
					continue
				}
				t.Fatalf("%s: %v", statement, err)
			}
		}
		_, err := h.PutTemplate(t.Context(), "merged")
		if !errors.Is(err, pool.ErrUnclonable) || !strings.Contains(err.Error(), "table both_of: its engine MRG_M") || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("a MERGE table: %v", err)
		}
		h.put("holes")
		// A lease may make one. It goes, and what was written by it.
		l, db := h.lease(pool.Request{Template: "holes"})
		before := h.state(l.Name)
		for _, statement := range []string{
			"CREATE TABLE both_of (id int) ENGINE=MRG_MyISAM UNION=(a, b) INSERT_METHOD=LAST", "INSERT INTO both_of VALUES (7)", "DELETE FROM both_of WHERE id = 1",
		} {
			h.exec(db, statement)
		}
		if _, err := h.Reset(t.Context(), l.Name, false); err != nil || h.state(l.Name) != before {
			t.Errorf("after a MERGE table of a lease's own: %v\n%s\nwant:\n%s", err, h.state(l.Name), before)
		}
		// A temporary one leaves nothing in the log, whatever it does, and whatever the child is called.
		db.SetMaxOpenConns(1)
		h.exec(db, "CREATE TEMPORARY TABLE unseen (id int) ENGINE=MRG_MyISAM UNION=(a, `b-ü`) INSERT_METHOD=LAST")
		for _, statement := range []string{"INSERT INTO unseen VALUES (7)", "UPDATE unseen SET id = id + 1", "DELETE FROM unseen"} {
			h.exec(db, statement)
			if res, err := h.Reset(t.Context(), l.Name, false); err != nil || h.state(l.Name) != before || res.Way != reset.Refill {
				t.Errorf("after a temporary MERGE table: %s: %v by %s\n%s\nwant:\n%s", statement, err, res.Way, h.state(l.Name), before)
			}
			if res, err := h.Reset(t.Context(), l.Name, false); err != nil || res.Way != reset.Noop {
				t.Errorf("a reset upon that: %v by %s", err, res.Way)
			}
		}
		h.exec(db, "INSERT INTO unseen VALUES (8)")
		if err := h.SetSavepoint(t.Context(), l.Name); err != nil {
			t.Fatal(err)
		}
		if res, err := h.RollBack(t.Context(), l.Name, false); err != nil || res.Way != reset.Noop {
			t.Errorf("a rollback to rows that a temporary MERGE table wrote: %v by %s", err, res.Way)
		}
		h.exec(db, "INSERT INTO unseen VALUES (9)")
		if _, err := h.RollBack(t.Context(), l.Name, false); !errors.Is(err, reset.ErrSavepointLost) || h.state(l.Name) != before {
			t.Errorf("a rollback of rows that a temporary MERGE table wrote: %v\n%s\nwant:\n%s", err, h.state(l.Name), before)
		}
	})
}

// TestUnseenRows has somebody write to a template, and to a spare clone, through a temporary MERGE table, of which no log
// tells.
func TestUnseenRows(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.limit(8, 1)
		h.exec(h.root, "CREATE TABLE shop.old (id int) ENGINE=MyISAM")
		h.exec(h.root, "INSERT INTO shop.old VALUES (1)")
		h.put("shop")
		before := h.state("shop")
		h.stocked(1)
		for _, spare := range h.databases("shop_") {
			conn := h.conn(h.root, "CREATE TEMPORARY TABLE `"+spare+"`.unseen (id int) ENGINE=MRG_MyISAM UNION=(`"+spare+"`.old) INSERT_METHOD=LAST\nINSERT INTO `"+spare+"`.unseen VALUES (7)")
			h.cut(conn)
		}
		l, _ := h.lease(pool.Request{Template: "shop"})
		if got := h.state(l.Name); got != before {
			t.Errorf("a spare clone that was written to was handed out:\n%s\nwant:\n%s", got, before)
		}
		// What comes and goes leaves rows as they were, and a template that can be used.
		conn := h.conn(h.root, "CREATE TEMPORARY TABLE shop.unseen (id int) ENGINE=MRG_MyISAM UNION=(shop.old) INSERT_METHOD=LAST\nUPDATE shop.unseen SET id = 2\nUPDATE shop.unseen SET id = 1")
		l, _ = h.lease(pool.Request{Template: "shop", Name: "after_all"})
		if got := h.state(l.Name); got != before {
			t.Errorf("a clone of a template that is as it was:\n%s\nwant:\n%s", got, before)
		}
		h.on(conn, "INSERT INTO shop.unseen VALUES (8)")
		if _, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop", Name: "of_another"}); !errors.Is(err, reset.ErrTemplateChanged) {
			t.Errorf("a clone of a template that was written to: %v", err)
		}
		// So it is where the directory is called otherwise than the template.
		h.does("CREATE DATABASE `my-shöp`", "CREATE TABLE `my-shöp`.old (id int) ENGINE=MyISAM")
		h.put("my-shöp")
		h.lease(pool.Request{Template: "my-shöp"})
		h.conn(h.root, "CREATE TEMPORARY TABLE `my-shöp`.unseen (id int) ENGINE=MRG_MyISAM UNION=(`my-shöp`.old) INSERT_METHOD=LAST\nINSERT INTO `my-shöp`.unseen VALUES (8)")
		if _, err := h.NewDatabase(t.Context(), pool.Request{Template: "my-shöp", Name: "of_a_third"}); !errors.Is(err, reset.ErrTemplateChanged) {
			t.Errorf("a clone of a template with an odd name that was written to: %v", err)
		}
	})
}

// TestAllComputed clones tables that have no column for INSERT.
func TestAllComputed(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		for _, statement := range []string{
			"CREATE TABLE shop.one (b int GENERATED ALWAYS AS (1) STORED)", "INSERT INTO shop.one () VALUES (), (), ()",
			"CREATE TABLE shop.virt (b int AS (1) VIRTUAL, c datetime AS (TIMESTAMP'2020-01-01 00:00:00') STORED)", "INSERT INTO shop.virt () VALUES (), ()",
			"CREATE TABLE shop.none (b int AS (1) STORED)",
		} {
			if _, err := h.root.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		h.put("shop")
		l, db := h.lease(pool.Request{Template: "shop"})
		before := h.state("shop")
		if got := h.state(l.Name); got != before {
			t.Errorf("the clone:\n%s\nwant:\n%s", got, before)
		}
		for _, statement := range []string{"INSERT INTO one () VALUES ()", "DELETE FROM virt", "INSERT INTO none () VALUES ()", "DROP TABLE one"} {
			h.exec(db, statement)
			if _, err := h.Reset(t.Context(), l.Name, false); err != nil || h.state(l.Name) != before {
				t.Errorf("after %s and a reset: %v\n%s\nwant:\n%s", statement, err, h.state(l.Name), before)
			}
		}
	})
}
