package tests

import (
	"errors"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ramaria-db/ramaria/client"
)

// manyStrangers connect at once and never say who they are, from so many addresses.
const (
	manyStrangers    = 15000
	strangersPerPeer = 1000
)

// TestLoginBesideStrangers: who logs in gets in, at the door, at the page and at the API for other machines, beside any
// number of those who do not.
func TestLoginBesideStrangers(t *testing.T) {
	t.Parallel()
	needFiles(t, manyStrangers+2000)
	h := newTestHome(t)
	plain := openDSN(t, h.ramaria("up", "main", "--server", h.daemon(), "--database", "shop", "--api-listen", net.JoinHostPort("127.0.0.1", freePort(t))))
	h.exec(plain, "CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
	h.ramaria("template", "add", "shop")
	d := h.startFront("--linger", "100ms")
	defer d.end()
	link, end := h.startUI()
	defer end()
	page, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	h.one(d.to("shop@before"), "SELECT COUNT(*) FROM t")
	t.Run("the door", func(t *testing.T) {
		h.during(t)
		h.beside(d.url.Port(), func() {
			for _, secure := range []string{"false", "skip-verify"} {
				c := d.config("shop@beside")
				c.TLSConfig = secure
				if got := h.one(d.open(c), "SELECT COUNT(*) FROM t"); got != "2" {
					t.Errorf("TLS %s: who logs in beside %d finds %s rows, want 2", secure, manyStrangers, got)
				}
			}
		})
	})
	t.Run("the page", func(t *testing.T) {
		h.during(t)
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := &http.Client{Jar: jar, Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
		h.beside(page.Port(), func() {
			resp, err := browser.Get(link)
			if err != nil {
				t.Fatalf("who comes by the link beside %d: %v", manyStrangers, err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("who comes by the link beside %d gets %s", manyStrangers, resp.Status)
			}
		})
	})
	t.Run("the API", func(t *testing.T) {
		h.during(t)
		r := h.remoteOf("main")
		api, err := url.Parse(r.where)
		if err != nil {
			t.Fatal(err)
		}
		h.beside(api.Port(), func() {
			lease, err := r.client(r.token).NewDatabase(t.Context(), client.DatabaseRequest{Template: "shop"})
			if err != nil {
				t.Fatalf("who has the token, beside %d: %v", manyStrangers, err)
			}
			if lease.Name == "" {
				t.Errorf("beside %d a lease has no name", manyStrangers)
			}
		})
	})
}

// beside has f be done while strangers have connected to a port. They are seen to go after that: most were too many, and the
// others have their time.
func (h *testHome) beside(port string, f func()) {
	h.t.Helper()
	all := h.strangers(port)
	defer func() {
		for _, fd := range all {
			_ = unix.Close(fd)
		}
	}()
	f()
	h.until("all strangers have gone", func() bool { return ended(all) == len(all) })
}

// needFiles has this process open so many files.
func needFiles(t *testing.T, n uint64) {
	t.Helper()
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	if l.Cur >= n {
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: max(l.Max, n)}); err != nil {
		t.Skipf("SKIPPED, UNTESTED: this process may open %d files, and needs %d: %v", l.Cur, n, err)
	}
}

// strangers are the sockets of connections to a port of this machine that say nothing.
func (h *testHome) strangers(port string) (all []int) {
	h.t.Helper()
	n, err := strconv.Atoi(port)
	if err != nil {
		h.t.Fatal(err)
	}
	for i := range manyStrangers {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			h.t.Fatal(err)
		}
		all = append(all, fd)
		from := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 1, byte(1 + i/strangersPerPeer)}}
		if err := errors.Join(unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1), unix.Bind(fd, from)); err != nil {
			h.t.Fatal(err)
		}
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: n, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			h.t.Fatalf("connection %d: %v", i, err)
		}
	}
	return all
}

// ended counts the connections that the other side has ended.
func ended(all []int) (n int) {
	var b [1]byte
	for _, fd := range all {
		read, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN):
		case err != nil || read == 0:
			n++
		default: // a greeting is before the end
			polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
			if _, err := unix.Poll(polled, 0); err == nil && polled[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0 {
				n++
			}
		}
	}
	return n
}
