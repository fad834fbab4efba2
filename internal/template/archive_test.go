package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// TestArchive clones a table of ARCHIVE, which MariaDB has as a plugin only, and has one refused that no clone can be
// filled with.
func TestArchive(t *testing.T) {
	servertest.EachFrom(t, "mysql", func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		srv.Load(t, "CREATE DATABASE shop; USE shop; CREATE TABLE line (id int, text varchar(10)) ENGINE=ARCHIVE; INSERT INTO line VALUES (2, 'a'), (1, 'b');")
		conn := unlogged(t, srv)
		shape, err := template.Read(t.Context(), conn, "shop")
		if err == nil {
			err = shape.Check()
		}
		if err == nil {
			_, err = shape.Clone(t.Context(), conn, "shop_1")
		}
		if err != nil {
			t.Fatal(err)
		}
		srv.Load(t, "USE shop; CREATE TABLE counted (id int AUTO_INCREMENT PRIMARY KEY) ENGINE=ARCHIVE; INSERT INTO counted VALUES (), ();")
		if shape, err = template.Read(t.Context(), conn, "shop"); err != nil {
			t.Fatal(err)
		}
		if _, err = shape.Clone(t.Context(), conn, "shop_2"); err == nil {
			t.Error("it can be cloned, and need not be refused")
		}
		if err = shape.Check(); !errors.Is(err, template.ErrUnclonable) || !strings.Contains(err.Error(), "table counted: its engine ARCHIVE") {
			t.Errorf("%v, want one about the table", err)
		}
	})
}
