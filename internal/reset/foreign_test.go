package reset_test

import (
	"errors"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// abroad is a template whose tables foreign keys tie to another database, and that one to a third.
const abroad = "CREATE DATABASE world; CREATE DATABASE geo;\n" +
	"CREATE TABLE world.continent (id int PRIMARY KEY) ENGINE=InnoDB;\n" +
	"CREATE TABLE geo.country (id int PRIMARY KEY, continent int, name int, FOREIGN KEY (continent) REFERENCES world.continent (id) ON DELETE CASCADE) ENGINE=InnoDB;\n" +
	"CREATE TABLE city (id int PRIMARY KEY, country int, FOREIGN KEY (country) REFERENCES geo.country (id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB;\n" +
	"CREATE TABLE street (id int PRIMARY KEY, city int, FOREIGN KEY (city) REFERENCES city (id) ON DELETE SET NULL) ENGINE=InnoDB;\n" +
	"INSERT INTO world.continent VALUES (1), (2);\n" +
	"INSERT INTO geo.country VALUES (1, 1, 0), (2, 2, 0), (3, 1, 0), (4, 1, 0);\n" +
	"INSERT INTO city VALUES (1, 1), (2, 1), (5, 4);\n" +
	"INSERT INTO street VALUES (1, 1), (2, 2), (5, 5);\n"

// TestForeignParent changes rows of other databases, which foreign keys of a clone and its template follow.
func TestForeignParent(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "shop", abroad)
		l.Journal.MarkRows("shop", l.shape)
		if err := l.Prove(t.Context(), l.session, l.shape); err != nil {
			t.Fatal(err)
		}
		le := l.lease("shop_1")
		for _, change := range []struct{ before, then string }{
			{"UPDATE city SET country = 2 WHERE id = 1", "UPDATE geo.country SET id = 20 WHERE id = 2"},
			{"UPDATE city SET country = 3 WHERE id = 2", "DELETE FROM geo.country WHERE id = 3"},
			{"UPDATE city SET country = 20 WHERE id = 5", "DELETE FROM world.continent WHERE id = 2"},
			{"", "UPDATE geo.country SET name = 1"},
		} {
			if change.before != "" {
				le.do("SET foreign_key_checks = 0\n" + change.before).Close() // the account has no rights there
			}
			le.super(change.then)
			if res := le.reset(); res.Way == reset.Reclone {
				t.Errorf("after %s: %s: %s", change.then, res.Way, res.Why)
			}
		}
		if res := le.reset(); res.Way != reset.Noop {
			t.Errorf("after nothing: %s: %s", res.Way, res.Why)
		}

		le.super("DELETE FROM geo.country WHERE id = 4")
		if _, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters); !errors.Is(err, reset.ErrTemplateChanged) {
			if err != nil {
				t.Fatal(err)
			}
			le.check()
		}
		if _, err := l.Clone(t.Context(), l.session, l.shape, "shop_2"); !errors.Is(err, reset.ErrTemplateChanged) {
			t.Errorf("a clone of a template that lost a row: %v", err)
		}
	})
}
