package reset_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// settingsSchema has tables that are put back by each way.
const settingsSchema = "CREATE TABLE keyed (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(20), at TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00'); INSERT INTO keyed (a) VALUES ('x'), ('y\\\\z');" +
	"CREATE TABLE bare (a INT, b TIMESTAMP NULL); INSERT INTO bare VALUES (1, NULL), (2, NULL);" +
	"CREATE TABLE isam (id INT PRIMARY KEY, a INT) ENGINE=MyISAM; INSERT INTO isam VALUES (1, 1), (2, 2); CREATE VIEW seen AS SELECT a FROM bare;"

// TestOddSettings puts a database back in each way on a server whose sessions begin with the oddest settings.
func TestOddSettings(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		l := newLabOn(t, srv, "shop", settingsSchema, func() { srv.Oddest(t) })
		le := l.lease("shop_1")
		srv.Barely(t)
		l.session = l.newSession() // the first is from before
		for _, text := range []string{
			"UPDATE DB.keyed SET a = 'changed'",
			"DELETE FROM DB.keyed\nINSERT INTO DB.keyed (a) VALUES ('new')\nINSERT INTO DB.bare VALUES (3, NULL)\nDELETE FROM DB.isam",
			"ALTER TABLE DB.keyed ADD more INT\nTRUNCATE DB.bare\nDROP VIEW DB.seen\nDROP TABLE DB.isam",
			"DROP DATABASE DB\nCREATE DATABASE DB",
		} {
			le.do(text).Close()
			res, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters)
			if err != nil {
				t.Fatalf("after %s: %v", text, err)
			}
			t.Logf("%s: %s", text, res.Way)
			if d := differences(le.asFresh, le.state()); d != "" {
				t.Errorf("after %s, by %s:\n%s", text, res.Way, d)
			}
		}
	})
}

// TestOddSettingsAreSeen is the negative control: a session that sets what concerns the log alone leaves another
// database, and the comparison says so.
func TestOddSettingsAreSeen(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		l := newLabOn(t, srv, "shop", settingsSchema)
		le := l.lease("shop_1")
		l.exec("SET GLOBAL autocommit = 0")
		c := mysql.NewConfig()
		c.User, c.Passwd, c.Net, c.Addr, c.MultiStatements = srv.Endpoint.User, srv.Endpoint.Password, "unix", srv.Endpoint.Socket, true
		c.Params = map[string]string{"sql_log_bin": "0", "foreign_key_checks": "0"}
		connector, err := mysql.NewConnector(c)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		defer db.Close()
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		le.do("INSERT INTO DB.bare VALUES (3, NULL)").Close()
		_, err = le.Reset(t.Context(), reset.NewSession(srv.Server, conn), &le.Database, reset.RestoreCounters)
		_ = conn.Close()
		_ = db.Close() // its transaction is rolled back
		if err == nil && differences(le.asFresh, le.state()) == "" {
			t.Error("a session that does not commit puts the database back all the same")
		}
		if err := le.session.End(context.WithoutCancel(t.Context()), le.User); err != nil {
			t.Error(err)
		}
	})
}
