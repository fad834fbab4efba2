package durable

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/semisync"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestNothingWaitsForConnection: a server that takes a connection and then says nothing holds up neither what is
// archived nor the end.
func TestNothingWaitsForConnection(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan struct{}, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			asked <- struct{}{}
		}
	}()
	a := &acks{socket: socket, still: func() bool { return true }}
	a.begin(make(chan struct{}))
	const most = connectPatience - time.Second // of what takes microseconds
	at := func(what string, f func()) {
		t.Helper()
		began := time.Now()
		f()
		if took := time.Since(began); took > most {
			t.Errorf("%s took %s", what, took)
		}
	}
	at("Start", func() { _ = a.Start("binlog.000001") })
	select {
	case <-asked:
	case <-time.After(connectPatience):
		t.Fatal("no connection is made")
	}
	at("Ack", func() { _ = a.Ack("binlog.000001", 100) })
	at("the start of another file", func() { _ = a.Start("binlog.000002") })
	at("renew", a.renew)
	at("close", a.close)
}

// TestNothingIsSaidOfAnotherLog: a connection that comes when the log was begun again hears nothing of the one before:
// its files have the same names.
func TestNothingIsSaidOfAnotherLog(t *testing.T) {
	a := &acks{still: func() bool { return false }}
	a.again = make(chan struct{}, 1)
	if err := a.Ack("binlog.000001", 100); err != nil {
		t.Fatal(err)
	}
	if err := a.take(t.Context(), &semisync.Replica{}, "binlog.000001"); err != nil { // one that cannot write
		t.Error(err)
	}
}

// TestAcksLogInEarly: the connection that acknowledges commits logs in before there is a file to follow. Nobody can log in on
// MySQL while a statement about accounts waits to be acknowledged; here nobody can since the account is locked.
func TestAcksLogInEarly(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv, db := startLogged(t, want)
		exec(t, db, "CREATE USER acks@localhost IDENTIFIED BY 'Acks-12345'")
		exec(t, db, "GRANT ALL PRIVILEGES ON *.* TO acks@localhost")
		a := &acks{socket: srv.Endpoint.Socket, login: dbconn.Login{User: "acks", Password: "Acks-12345"}, still: func() bool { return true }}
		a.begin(make(chan struct{}))
		defer a.close()
		a.await(nil, nil)
		exec(t, db, "ALTER USER acks@localhost ACCOUNT LOCK")
		files, err := binlog.Files(srv.DataDir(), server.BinlogName)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Start(files[len(files)-1]); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(connectPatience); ; time.Sleep(lookAtReplica) {
			n := 0
			if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'acks' AND command LIKE 'Binlog Dump%'").Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n == 1 {
				return
			}
			if time.Now().After(end) {
				t.Fatal("the server sends its log to nobody")
			}
		}
	})
}
