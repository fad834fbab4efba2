package repeatable

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

func TestPriv(t *testing.T) {
	if os.Getenv("PRIV") == "" {
		t.Skip()
	}
	r := startReal(t, os.Getenv("RAMARIA_TEST_SERVER"))
	for _, s := range []string{"CREATE USER app2@localhost IDENTIFIED BY 'Abc-12345'", "GRANT ALL ON shop.* TO app2@localhost"} {
		if err := r.exec(s); err != nil {
			t.Fatal(err)
		}
	}
	db, err := dbconn.Open(r.Endpoint.Socket, dbconn.Login{User: "app2", Password: "Abc-12345"}, "shop")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, _ := db.Conn(context.Background())
	for _, s := range strings.Split(os.Getenv("PRIV"), ";") {
		if strings.HasPrefix(s, "SHOW") {
			var a, b string
			err := c.QueryRowContext(context.Background(), s).Scan(&a, &b)
			t.Log(s, a, b, err)
			continue
		}
		_, err := c.ExecContext(context.Background(), s)
		t.Log(s, " => ", err)
	}
}
