package pool_test

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestLeaseCannotWriteTemplate tries to write into the template by the account of a lease, and by the
// rights of those who defined what is in its clone.
func TestLeaseCannotWriteTemplate(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		for _, statement := range []string{
			"CREATE VIEW shop.every AS SELECT id, name FROM shop.item", "CREATE PROCEDURE shop.put() INSERT INTO shop.item (name) VALUES ('put')",
			"CREATE TRIGGER shop.sold_one AFTER INSERT ON shop.sale FOR EACH ROW UPDATE shop.item SET note = 'sold'",
			"CREATE EVENT shop.daily ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01 00:00:00' DO DELETE FROM shop.item",
		} {
			h.exec(h.root, statement)
		}
		h.put("shop")
		before := h.state("shop")
		l, db := h.lease(pool.Request{Template: "shop"})
		for _, statement := range []string{"CALL put()", "INSERT INTO sale (item) VALUES (1)", "UPDATE every SET name = 'mine'"} {
			h.exec(db, statement)
		}
		for _, statement := range []string{
			"INSERT INTO shop.item (name) VALUES ('x')", "DELETE FROM shop.sale", "CALL shop.put()", "UPDATE shop.every SET name = 'x'", "DROP TABLE shop.sale",
			"CREATE DEFINER = root@localhost PROCEDURE p() DELETE FROM shop.sale", "CREATE DEFINER = root@localhost TRIGGER tr AFTER DELETE ON sale FOR EACH ROW DELETE FROM shop.sale",
			"CREATE OR REPLACE VIEW every AS SELECT id, name FROM shop.item", "ALTER VIEW every AS SELECT id, name FROM shop.item", "ALTER TABLE sale RENAME TO shop.other",
			"CREATE TABLE shop.more (a int)", "ALTER DATABASE shop CHARACTER SET latin1",
		} {
			if _, err := db.ExecContext(t.Context(), statement); err == nil {
				t.Errorf("%s: it was allowed", statement)
			}
		}
		// Its own it may make, which is of no use.
		for _, statement := range []string{
			"CREATE PROCEDURE mine() DELETE FROM shop.sale", "DROP TRIGGER sold_one", "CREATE TRIGGER sold_one AFTER INSERT ON sale FOR EACH ROW DELETE FROM shop.sale",
			"ALTER EVENT daily DO DELETE FROM shop.item", "ALTER EVENT daily ON SCHEDULE EVERY 1 SECOND STARTS '2020-01-01 00:00:00'",
		} {
			h.exec(db, statement)
		}
		for _, statement := range []string{"CALL mine()", "INSERT INTO sale (item) VALUES (1)"} {
			if _, err := db.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "denied") {
				t.Errorf("%s: %v", statement, err)
			}
		}
		if got := h.state("shop"); got != before {
			t.Errorf("the template was changed:\n%s\nwant:\n%s", got, before)
		}
		if _, err := h.Reset(t.Context(), l.Name, false); err != nil {
			t.Error(err)
		}
	})
}
