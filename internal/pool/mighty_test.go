package pool_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// blindRight is a right by which a session may switch the log off.
func (h *house) blindRight() string {
	return map[server.Flavour]string{server.MariaDB: "BINLOG ADMIN", server.MySQL: "SYSTEM_VARIABLES_ADMIN"}[h.srv.Flavour]
}

// does has root run statements.
func (h *house) does(statements ...string) {
	h.t.Helper()
	for _, statement := range statements {
		h.exec(h.root, statement)
	}
}

// TestMightyElsewhere refuses a template that leads to a procedure of another database that may switch the log off.
func TestMightyElsewhere(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.withApp()
		h.does(
			"CREATE DATABASE far", "CREATE DATABASE lib", "CREATE USER mighty@localhost", "GRANT ALL ON *.* TO mighty@localhost",
			"CREATE DEFINER = mighty@localhost PROCEDURE far.hide() SET sql_log_bin = 0", "CREATE PROCEDURE lib.go() CALL far.hide()",
			"CREATE DEFINER = mighty@localhost PROCEDURE lib.harmless() SELECT 1",
			"CREATE DEFINER = app@localhost PROCEDURE shop.start() CALL lib.go()",
		)
		refused := func(what, text string) {
			t.Helper()
			_, err := h.PutTemplate(t.Context(), "shop")
			if !errors.Is(err, pool.ErrUnclonable) || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "hint: ") {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused("a procedure that leads to a mighty one", "procedure start leads to the database far, where procedure hide may switch the binary log off")
		h.does("DROP PROCEDURE far.hide", "CREATE DEFINER = app@localhost PROCEDURE far.hide() SET sql_log_bin = 0")
		h.put("shop")
		// What has the rights of its caller has those of a mighty one here.
		h.does("DROP PROCEDURE lib.go", "CREATE DEFINER = mighty@localhost PROCEDURE lib.go() CALL hide()", "CREATE PROCEDURE lib.hide() SQL SECURITY INVOKER SET sql_log_bin = 0")
		refused("a procedure with the rights of a mighty caller", "where procedure hide may switch the binary log off, by which resets know what changed, by the rights of mighty@localhost, the definer of procedure go")
		h.does("DROP PROCEDURE lib.go", "CREATE DEFINER = app@localhost PROCEDURE lib.go() CALL hide()")
		h.put("shop")
		// The template's own is called from elsewhere as it is.
		h.does("CREATE DEFINER = mighty@localhost PROCEDURE shop.own() SET sql_log_bin = 0", "DROP PROCEDURE lib.go", "CREATE DEFINER = app@localhost PROCEDURE lib.go() CALL shop.own()")
		refused("a procedure that comes back to the template", "leads to the database shop, where procedure own may")
	})
}

// TestMightyNeighbour has a template name a database in which something mighty is that nothing of the template calls, or
// nothing that could switch the log off.
func TestMightyNeighbour(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.withApp()
		h.does(
			"CREATE DATABASE common", "CREATE TABLE common.country (id int PRIMARY KEY)", "INSERT INTO common.country VALUES (1)",
			"CREATE PROCEDURE common.tidy() BEGIN PREPARE s FROM 'SELECT 1'; EXECUTE s; END",
			"CREATE VIEW shop.countries AS SELECT id FROM common.country",
			"CREATE FUNCTION shop.many() RETURNS int READS SQL DATA RETURN (SELECT COUNT(*) FROM common.country)",
			"CREATE TRIGGER shop.checked AFTER INSERT ON shop.sale FOR EACH ROW SET @n = (SELECT COUNT(*) FROM common.country)",
			"CREATE PROCEDURE shop.list() SELECT id FROM common.country",
		)
		h.put("shop")
		h.Close()
		h.open() // it is looked at again
		h.lease(pool.Request{Template: "shop"})
		// Within a trigger the server refuses to switch the log off.
		h.does("CREATE PROCEDURE common.hide() SET sql_log_bin = 0", "CREATE TRIGGER shop.hides AFTER DELETE ON shop.sale FOR EACH ROW CALL common.hide()")
		h.put("shop")
		l, db := h.lease(pool.Request{Template: "shop"})
		before := h.state(l.Name)
		if _, err := db.ExecContext(t.Context(), "DELETE FROM sale"); err == nil {
			t.Error("a trigger switched the log off")
		}
		if _, err := h.Reset(t.Context(), l.Name, false); err != nil || h.state(l.Name) != before {
			t.Errorf("a reset upon that: %v", err)
		}
	})
}

// TestLaterElsewhere has what a template leads to become mighty once that is made: a definer gets a right, or a procedure
// is made.
func TestLaterElsewhere(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.withApp()
		right := h.blindRight()
		h.does(
			"CREATE DATABASE lib", "CREATE USER later@localhost", "CREATE USER mighty@localhost", "GRANT ALL ON *.* TO mighty@localhost", "GRANT EXECUTE ON lib.* TO app@localhost", "GRANT EXECUTE ON lib.* TO later@localhost",
			"CREATE DEFINER = later@localhost PROCEDURE lib.hide() SET sql_log_bin = 0",
			"CREATE DEFINER = app@localhost PROCEDURE shop.start() CALL lib.hide()", "CREATE DEFINER = app@localhost PROCEDURE shop.again() CALL lib.made()",
		)
		for _, c := range []struct{ name, give, take, call string }{
			{"a grant", "GRANT " + right + " ON *.* TO later@localhost", "REVOKE " + right + " ON *.* FROM later@localhost", "CALL start()"},
			{"a procedure", "CREATE DEFINER = mighty@localhost PROCEDURE lib.made() SET sql_log_bin = 0", "DROP PROCEDURE lib.made", "CALL again()"},
		} {
			for _, looked := range []bool{true, false} {
				h.put("shop")
				l, db := h.lease(pool.Request{Template: "shop"})
				db.SetMaxOpenConns(1)
				before := h.state(l.Name)
				h.does(c.give)
				for _, statement := range []string{c.call, "INSERT INTO item (name) VALUES ('unseen')"} {
					h.exec(db, statement)
				}
				if looked {
					if _, err := h.Reset(t.Context(), l.Name, false); !errors.Is(err, pool.ErrUnclonable) || !strings.Contains(err.Error(), "leads to the database lib") {
						t.Errorf("%s: a reset: %v", c.name, err)
					}
				}
				h.does(c.take)
				if res, err := h.Reset(t.Context(), l.Name, false); err != nil || res.Way != reset.Reclone || h.state(l.Name) != before {
					t.Errorf("%s, looked at %v: once it is taken away: %v by %s\n%s\nwant:\n%s", c.name, looked, err, res.Way, h.state(l.Name), before)
				}
				h.exec(db, "INSERT INTO item (name) VALUES ('seen')") // its session has its log again
				if _, err := h.Reset(t.Context(), l.Name, false); err != nil || h.state(l.Name) != before {
					t.Errorf("%s, looked at %v: the next reset: %v\n%s\nwant:\n%s", c.name, looked, err, h.state(l.Name), before)
				}
				if err := h.Drop(t.Context(), l.Name); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestEverybodysRight has every account switch the log off: each reset makes the database again, as long as that is so.
func TestEverybodysRight(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.withApp()
		right := h.blindRight()
		give, take := []string{"GRANT " + right + " ON *.* TO PUBLIC"}, []string{"REVOKE " + right + " ON *.* FROM PUBLIC"}
		if h.srv.Flavour == server.MySQL { // no log has its list of roles that all have
			h.does("CREATE ROLE everybodys", "SET GLOBAL mandatory_roles = 'everybodys'")
			give, take = []string{"GRANT " + right + " ON *.* TO everybodys"}, []string{"REVOKE " + right + " ON *.* FROM everybodys"}
		}
		h.put("shop")
		l, db := h.lease(pool.Request{Template: "shop"})
		db.SetMaxOpenConns(1)
		before := h.state(l.Name)
		hide := func() {
			t.Helper()
			db.SetMaxIdleConns(0) // a session has the rights of its login
			db.SetMaxIdleConns(1)
			if h.srv.Flavour == server.MySQL {
				h.exec(db, "SET ROLE ALL")
			}
			h.exec(db, "SET sql_log_bin = 0")
		}
		back := func(what string, way reset.Way) {
			t.Helper()
			h.exec(db, "INSERT INTO item (name) VALUES ('unseen')")
			if res, err := h.Reset(t.Context(), l.Name, false); err != nil || res.Way != way || h.state(l.Name) != before {
				t.Errorf("%s: %v by %s, want %s\n%s\nwant:\n%s", what, err, res.Way, way, h.state(l.Name), before)
			}
		}
		h.does(give...)
		for _, what := range []string{"the first reset", "the second", "the third"} {
			hide()
			back(what, reset.Reclone)
		}
		if notes := strings.Join(h.Templates()[0].Notes, "\n"); !strings.Contains(notes, "each reset makes the whole database again") {
			t.Errorf("the notes say nothing of it: %s", notes)
		}
		hide()
		if err := h.SetSavepoint(t.Context(), l.Name); !errors.Is(err, reset.ErrNoSavepoint) {
			t.Errorf("a savepoint that no log tells of: %v", err)
		}
		h.does(take...)
		back("once it is taken away", reset.Reclone)
		back("in a session of then", reset.Undo) // in which the log is on again
		if h.srv.Flavour == server.MySQL {
			return // no statement tells that a role is everybody's
		}
		h.does(give...)
		hide()
		h.exec(db, "INSERT INTO item (name) VALUES ('unseen')")
		h.does(take...)
		back("given and taken back", reset.Reclone)
		back("after that", reset.Undo)
	})
}

// TestRightsOfOthers has others work on accounts that a template has nothing to do with: its leases keep their
// savepoints. Where a definer may have got a right, they are gone, and the error says why.
func TestRightsOfOthers(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.withApp()
		h.does("CREATE USER later@localhost", "GRANT ALL ON `shop%`.* TO later@localhost", "CREATE DEFINER = later@localhost PROCEDURE shop.hide() SET sql_log_bin = 0")
		h.put("shop")
		l, db := h.lease(pool.Request{Template: "shop"})
		h.exec(db, "INSERT INTO item (name) VALUES ('before')")
		if err := h.SetSavepoint(t.Context(), l.Name); err != nil {
			t.Fatal(err)
		}
		at := h.state(l.Name)
		for _, statement := range []string{
			"CREATE USER guest@localhost IDENTIFIED BY 'Secret-1!'", "GRANT ALL ON `guests`.* TO guest@localhost", "SET PASSWORD FOR guest@localhost = PASSWORD('Secret-2!')",
			"ALTER USER guest@localhost IDENTIFIED BY 'Secret-3!'", "CREATE DATABASE guests", "CREATE TABLE guests.t (mysql int)", "CREATE PROCEDURE guests.p() SELECT 1", "DROP PROCEDURE guests.p",
			"DROP USER guest@localhost", "DROP DATABASE guests", "CREATE ROLE reader", "GRANT SELECT ON `shop`.* TO reader", "DROP ROLE reader",
		} {
			if h.srv.Flavour == server.MySQL {
				statement = strings.Replace(statement, "PASSWORD('Secret-2!')", "'Secret-2!'", 1)
			}
			h.does(statement)
			h.exec(db, "INSERT INTO item (name) VALUES ('after')")
			if _, err := h.RollBack(t.Context(), l.Name, false); err != nil || h.state(l.Name) != at {
				t.Fatalf("%s: a rollback: %v\n%s\nwant:\n%s", statement, err, h.state(l.Name), at)
			}
		}
		h.does("CREATE USER boss@localhost", "GRANT ALL ON *.* TO boss@localhost") // what is read is no other
		if _, err := h.RollBack(t.Context(), l.Name, false); err != nil {
			t.Errorf("a right of somebody else: %v", err)
		}
		right := h.blindRight()
		h.does("GRANT "+right+" ON *.* TO later@localhost", "REVOKE "+right+" ON *.* FROM later@localhost")
		if _, err := h.RollBack(t.Context(), l.Name, false); !errors.Is(err, reset.ErrSavepointLost) || !strings.Contains(err.Error(), "rights of accounts were changed") {
			t.Errorf("a right of a definer, which was taken back: %v", err)
		}
	})
}

// TestRedefinedTemplate has the definers of a template be read again, and then leaves the log open whether it changed: it
// was unusable from then on, since nothing told what its rows had been.
func TestRedefinedTemplate(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.withApp()
		h.does("CREATE USER later@localhost", "GRANT ALL ON `shop`.* TO later@localhost", "CREATE DEFINER = later@localhost VIEW shop.items AS SELECT id FROM shop.item")
		h.put("shop")
		l, _ := h.lease(pool.Request{Template: "shop"})
		h.does("GRANT " + h.blindRight() + " ON *.* TO later@localhost")
		if res, err := h.Reset(t.Context(), l.Name, false); err != nil || res.Way != reset.Reclone {
			t.Fatalf("a reset once the definer may switch the log off: %v by %s", err, res.Way)
		}
		h.does("CREATE DATABASE reports", "CREATE VIEW reports.v AS SELECT * FROM shop.item")
		if _, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop", Name: "other"}); err != nil {
			t.Errorf("a lease once the log leaves open whether the template changed: %v", err)
		}
		h.does("INSERT INTO shop.item (name) VALUES ('more')")
		if _, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop", Name: "more"}); !errors.Is(err, reset.ErrTemplateChanged) {
			t.Errorf("a lease once the template was changed: %v", err)
		}
	})
}

// TestPassingRightOfApp has the account that defines what is in clones switch the log off by a right that it has for a while.
func TestPassingRightOfApp(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.withApp()
		h.does("CREATE DEFINER = app@localhost PROCEDURE shop.hide() SET sql_log_bin = 0")
		h.put("shop")
		l, db := h.lease(pool.Request{Template: "shop"})
		db.SetMaxOpenConns(1)
		before := h.state(l.Name)
		h.does("GRANT " + h.blindRight() + " ON *.* TO app@localhost")
		for _, statement := range []string{"CALL hide()", "INSERT INTO item (name) VALUES ('unseen')"} {
			h.exec(db, statement)
		}
		h.does("REVOKE " + h.blindRight() + " ON *.* FROM app@localhost")
		if res, err := h.Reset(t.Context(), l.Name, false); err != nil || res.Way != reset.Reclone || h.state(l.Name) != before {
			t.Errorf("a reset: %v by %s\n%s\nwant:\n%s", err, res.Way, h.state(l.Name), before)
		}
	})
}
