package tests

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// TestUpFront: an instance that has a door has it for as long as it runs, also in another volume and after a restart.
func TestUpFront(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	out, failed, err := h.try("up", "main", "--server", h.daemon(), "--database", "shop", "--front", port)
	if err == nil || !strings.Contains(failed, "--front PORT takes another") {
		t.Errorf("at a port that is taken: %s%s", out, failed)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	dsn := h.ramaria("up", "main", "--server", h.daemon(), "--database", "shop", "--front", port)
	plain := openDSN(t, dsn)
	h.exec(plain, "CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	h.ramaria("template", "add", "shop")
	all := h.startFront("--listen", "0.0.0.0:0")
	if got := all.url.Hostname(); got != "0.0.0.0" {
		t.Errorf("a door that was told to listen at 0.0.0.0 says %s", got)
	}
	all.end()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = "127.0.0.1:" + port
	d := &frontDoor{h: h, url: u}
	finds := func(when string) {
		t.Helper()
		db := d.to("shop@" + when)
		if n := h.one(db, "SELECT COUNT(*) FROM t"); n != "1" {
			t.Errorf("%s there are %s rows, want 1", when, n)
		}
		h.exec(db, "INSERT INTO t VALUES (2)")
	}
	finds("at first")
	if out := h.ramaria("status", "main"); !strings.Contains(out, "127.0.0.1:"+port+", for databases named TEMPLATE@NAME") {
		t.Errorf("status does not show the door:\n%s", out)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"up", "main", "--front", "0"}, "change instance main: it runs"},
		{[]string{"up", "sure", "--durable", "--front", port}, "a durable instance"},
		{[]string{"up", "bare", "--log", "off", "--front", port}, "--log off"},
		{[]string{"up", "odd", "--front", "65536"}, "ports are"},
		{[]string{"up", "odd", "--front", port, "--port", port}, "the server's own port"},
	} {
		if _, talk, err := h.try(c.args...); err == nil || !strings.Contains(talk, c.want) {
			t.Errorf("ramaria %s: %v: %s, want %q", strings.Join(c.args, " "), err, talk, c.want)
		}
	}
	h.ramaria("branch", "main", "other") // which has no door: the port is taken
	// Elsewhere: server and door are where the DSN says.
	elsewhere, err := url.Parse(h.ramaria("up", "elsewhere", "--server", h.daemon(), "--database", "shop", "--set", "bind_address=127.0.0.2", "--front", port))
	if err != nil || elsewhere.Hostname() != "127.0.0.2" {
		t.Errorf("with bind_address=127.0.0.2 the DSN is %s, %v", elsewhere, err)
	}
	h.exec(openDSN(t, elsewhere.String()), "CREATE TABLE t (a INT PRIMARY KEY)")
	elsewhere.Host = "127.0.0.2:" + port
	h.exec(openDSN(t, elsewhere.String()), "INSERT INTO t VALUES (1)")
	h.ramaria("down", "main")
	if c, err := net.Dial("tcp", u.Host); err == nil {
		t.Error("the door is open when the instance is down")
		_ = c.Close()
	}
	h.ramaria("up", "main")
	finds("after a restart")
	h.ramaria("move", "main", "--volume", "disk")
	finds("after a move")
	h.ramaria("down", "main")
	h.ramaria("up", "main", "--front", "0")
	if c, err := net.Dial("tcp", u.Host); err == nil {
		t.Error("the door is open though it was taken away")
		_ = c.Close()
	}
}
