package replay

import (
	"bufio"
	"net"
	"slices"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestReplayOfWrittenHistory: a row that was written as one that ended at what was the last moment has ended after a
// replay; one that has not ended has not.
func TestReplayOfWrittenHistory(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		srv := servertest.Find(t, want)
		if srv.Flavour != server.MariaDB || srv.Version.Compare(server.Version{Major: 10, Minor: 11}) < 0 {
			return // without system_versioning_insert_history
		}
		w := newTwin(t, want, "counted.sql")
		w.Load(t, `CREATE TABLE shop.written (a INT PRIMARY KEY, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
			PERIOD FOR SYSTEM_TIME (s, e)) ENGINE=InnoDB WITH SYSTEM VERSIONING;
			SET time_zone = '+00:00', system_versioning_insert_history = 1;
			INSERT INTO shop.written (a, s, e) VALUES (1, '2001-01-01', '2038-01-19 03:14:07.999999'), (2, '2001-01-01', '2038-01-19 03:14:06');
			INSERT INTO shop.written (a) VALUES (3); UPDATE shop.written SET a = 4 WHERE a = 3`)
		before := rows(t, w.Running)
		got, _ := w.replay(t, w.logs(t))
		if after := rows(t, got); !slices.Equal(before, after) {
			t.Errorf("rows %q, want %q", after, before)
		}
	})
}

// rows are those of shop.written, and when each of them ends.
func rows(t *testing.T, r *servertest.Running) []string {
	t.Helper()
	return asked(t, r, "SELECT a, s, e FROM shop.written FOR SYSTEM_TIME ALL ORDER BY a, s", "SELECT COUNT(*) FROM shop.written")
}

// TestGreet: whoever else connects where the applier is awaited keeps it from nothing.
func TestGreet(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	greeted := make(chan error, 1)
	go func() { greeted <- greet(l, "11.8.3-MariaDB", "applier") }()
	connect := func(user string) (net.Conn, *bufio.Reader) {
		t.Helper()
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		r := bufio.NewReader(c)
		if hello, err := readPacket(r); err != nil || string(hello[1:21]) != "5.5.5-11.8.3-MariaDB" {
			t.Fatalf("it says %q, %v", hello, err)
		}
		if user != "" {
			if err := writePacket(c, 1, append(append(make([]byte, 32), user...), 0, 0)); err != nil {
				t.Fatal(err)
			}
		}
		return c, r
	}
	connect("") // and says nothing
	gone, _ := connect("")
	gone.Close()
	for _, name := range []string{"other", "applie", "applier2"} {
		_, r := connect(name)
		if _, err := readPacket(r); err == nil {
			t.Errorf("%s is let in", name)
		}
	}
	c, r := connect("applier")
	if ok, err := readPacket(r); err != nil || ok[0] != 0 {
		t.Fatalf("the applier gets %q, %v", ok, err)
	}
	for _, command := range []byte{3, 1} { // a question, and the end
		if err := writePacket(c, 0, []byte{command}); err != nil {
			t.Fatal(err)
		}
		if command == 3 {
			if said, err := readPacket(r); err != nil || said[0] != 0xff {
				t.Errorf("a question gets %q, %v", said, err)
			}
		}
	}
	if err := <-greeted; err != nil {
		t.Errorf("the applier was not told: %v", err)
	}
}
