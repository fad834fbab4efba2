package durable

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/semisync"
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
