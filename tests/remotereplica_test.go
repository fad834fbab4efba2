package tests

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// boss administers a plain server.
var boss = dbconn.Login{User: "boss", Password: "it's \"secret\"_1A"}

// plainSource is a plain server that keeps a log, at an address.
type plainSource struct {
	*plainServer

	h       *testHome
	address string
	login   string // the option file
}

// sourceLines are its option file's.
func sourceLines(srv *server.Server, address string) []string {
	host, port, _ := strings.Cut(address, ":")
	lines := []string{"skip_networking = OFF", "port = " + port, "bind_address = " + host, "log_bin = own-bin", "server_id = 77", "binlog_format = MIXED"}
	if srv.Flavour == server.MySQL {
		return append(lines[:5], "gtid_mode = ON", "enforce_gtid_consistency = ON")
	}
	return lines
}

// newSource starts one with data.
func (h *testHome) newSource(address string, also ...string) *plainSource {
	h.t.Helper()
	s := &plainSource{h: h, address: address, login: filepath.Join(h.t.TempDir(), "login.cnf")}
	s.plainServer = newPlain(h.t, h.srv, append(sourceLines(h.srv, address), also...)...)
	exe(h.t, s.db, "CREATE USER boss@'%' IDENTIFIED BY "+dbconn.Quote(boss.Password))
	exe(h.t, s.db, "GRANT ALL ON *.* TO boss@'%' WITH GRANT OPTION")
	h.exec(s.db, dialect(h.srv, rewindData...)...)
	h.exec(s.db, "CREATE DATABASE app")
	if err := os.WriteFile(s.login, []byte(boss.ClientConfig()), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return s
}

// openInstance connects to an instance's database.
func (h *testHome) openInstance(name string) *sql.DB {
	h.t.Helper()
	return openDSN(h.t, h.ramaria("up", name))
}

// laterRows compares the numbers in the table later.
func (h *testHome) laterRows(what string, db *sql.DB, want string) {
	h.t.Helper()
	got, err := column(h.t.Context(), db, "SELECT a FROM shop.later ORDER BY a")
	if err != nil || strings.Join(got, " ") != want {
		h.t.Errorf("%s has the rows %v, want %s (%v)", what, got, want, err)
	}
}

// says reports whether the status of an instance, as JSON, has a text.
func (h *testHome) says(name, text string) bool {
	h.t.Helper()
	return strings.Contains(h.ramaria("status", name, "--json"), text)
}

// apart are lines of a picture that are not the same in a replica: what each server has of its own, and MyISAM's, which
// no dump has as of one moment.
var apart = regexp.MustCompile(`clerk|mysql\.|ramaria_|boss|app@|root`)

// sameAs compares all that a source and its replica hold, until it is the same.
func (s *plainSource) sameAs(replica *sql.DB) {
	s.h.t.Helper()
	picture := func(db *sql.DB) []string {
		return slices.DeleteFunc(slices.Clone(s.h.picture(db)), apart.MatchString)
	}
	want := picture(s.db)
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		diff := cmp.Diff(want, picture(replica))
		if diff == "" {
			return
		}
		if time.Now().After(end) {
			s.h.t.Fatalf("-source +replica:\n%s", diff)
		}
	}
}

// TestReplicaOfPlain: a server that is none of ours is followed from a dump on, with writes going on, whatever is
// restarted, and the replica is promoted when it is gone.
func TestReplicaOfPlain(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	s := h.newSource("127.0.0.1:" + freePort(t))
	writes := openDSN(t, (&url.URL{Scheme: "mysql", User: url.UserPassword(boss.User, boss.Password), Host: s.address, Path: "/app"}).String())
	l := h.beginMoveLoad(writes)
	h.until("some commits", func() bool { return l.sum() > 100 })
	args := []string{"replica", "add", s.address, "near", "--login", s.login, "--volume", "shm"}
	if _, talk, err := h.try(append(slices.Clone(args), "--sync")...); err == nil || !strings.Contains(talk, "--sync is for a source that is an instance of this machine") {
		t.Errorf("--sync: %v: %s", err, talk)
	}
	changing := s.change("CREATE EVENT app.e%d ON SCHEDULE EVERY 1 DAY DO SELECT 1")
	_, talk, err := h.try(args...)
	if err != nil && strings.Contains(talk, "--no-tls") { // MariaDB before 11.4 has no certificate of its own
		args = append(args, "--no-tls")
		_, talk, err = h.try(args...)
	}
	changing()
	if err == nil || !strings.Contains(talk, "event app.e") || !strings.Contains(talk, "was made, changed or dropped there meanwhile") {
		t.Errorf("a copy while events come: %v: %s", err, talk)
	}
	changing = s.change("CREATE DATABASE app%d")
	_, talk, err = h.try(args...)
	changing()
	if err == nil || !strings.Contains(talk, "databases were made or dropped there meanwhile") {
		t.Errorf("a copy while databases come: %v: %s", err, talk)
	}
	s.atOnce(args)
	h.until("more commits", func() bool { return l.sum() > 200 })
	l.end()
	replica := h.openInstance("near")
	s.sameAs(replica)
	if _, err := replica.Exec("DELETE FROM app.ack"); err == nil {
		t.Error("the replica is written to")
	}
	h.until("it says what it follows", func() bool { return h.says("near", `"of": "`+s.address+`"`) && h.says("near", `"state": "following"`) })

	// An account of the source logs in, and a view of another definer is readable.
	var n int
	socket := regexp.MustCompile(`"socket": "([^"]+)"`).FindStringSubmatch(h.ramaria("status", "near", "--json"))
	clerk, err := dbconn.Open(socket[1], dbconn.Login{User: "clerk", Password: "clerk"}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer clerk.Close()
	if err := clerk.QueryRow("SELECT COUNT(*) FROM shop.total").Scan(&n); err != nil || n == 0 {
		t.Errorf("the clerk sees %d customers in a view: %v", n, err)
	}

	// Either is restarted.
	h.ramaria("down", "near")
	exe(t, s.db, "INSERT INTO shop.customer (name) VALUES ('while it was away')")
	replica = h.openInstance("near")
	s.sameAs(replica)
	s.stop()
	h.until("the replica says that it has no connection", func() bool { return h.says("near", `"state": "connecting"`) })
	s.start()
	exe(t, s.db, "CREATE TABLE shop.later (a INT PRIMARY KEY)")
	exe(t, s.db, "INSERT INTO shop.later VALUES (1)")
	s.sameAs(replica)

	// A branch of it follows nobody; it goes on itself.
	h.ramaria("branch", "near", "side")
	side := h.openInstance("side")
	exe(t, side, "INSERT INTO shop.later VALUES (100)")
	exe(t, s.db, "INSERT INTO shop.later VALUES (2)")
	s.sameAs(replica)
	h.laterRows("the branch", side, "1 100")
	h.ramaria("rm", "side")

	// What happens to accounts there does not concern it, and does not stop it.
	exe(t, s.db, "CREATE USER root@'10.%' IDENTIFIED BY 'aB1_x'")
	exe(t, s.db, "GRANT ALL ON *.* TO root@'10.%'")
	exe(t, s.db, "DROP USER root@'10.%', clerk@localhost")
	exe(t, s.db, "INSERT INTO shop.customer (name) VALUES ('behind accounts')")
	s.sameAs(replica)
	if err := clerk.QueryRow("SELECT COUNT(*) FROM shop.total").Scan(&n); err != nil {
		t.Errorf("the clerk is gone: %v", err)
	}

	// One that may not be followed is left as it was.
	if _, talk, err := h.try("replica", "add", s.address, "near", "--login", s.login); err == nil || !strings.Contains(talk, "an instance of that name exists") {
		t.Errorf("the same name again: %v: %s", err, talk)
	}
	h.ramaria(append([]string{"replica", "add", s.address, "far"}, args[4:]...)...)
	_, talk, err = h.try("replica", "rm", "far")
	m := regexp.MustCompile(`its account stays at \S+: (DROP USER .*)`).FindStringSubmatch(talk)
	if err != nil || m == nil {
		t.Fatalf("replica rm: %v: %s", err, talk)
	}
	exe(t, s.db, m[1])
	if names, err := column(t.Context(), s.db, "SELECT User FROM mysql.user WHERE User LIKE 'ramaria\\_remote%'"); err != nil || len(names) != 1 {
		t.Errorf("accounts for replication: %v, want that of near (%v)", names, err)
	}

	s.kill()
	h.ramaria("replica", "promote", "near")
	exe(t, replica, "INSERT INTO shop.later VALUES (3)")
	h.laterRows("the promoted replica", replica, "1 2 3")
	h.ramaria("down", "near")
	replica = h.openInstance("near")
	exe(t, replica, "INSERT INTO shop.later VALUES (4)")
}

// change carries out a statement with numbers until the function that it returns is called.
func (s *plainSource) change(statement string) (end func()) {
	ctx, cancel := context.WithCancel(s.h.t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if _, err := s.db.ExecContext(s.h.t.Context(), fmt.Sprintf(statement, n)); err != nil {
				s.h.t.Error(err)
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return func() { cancel(); group.Wait() }
}

// atOnce has two commands make one replica: one wins, the other says so, and nothing of it is left.
func (s *plainSource) atOnce(args []string) {
	s.h.t.Helper()
	type outcome struct {
		talk string
		err  error
	}
	outcomes := make(chan outcome)
	for range 2 {
		go func() {
			_, talk, err := s.h.try(args...)
			outcomes <- outcome{talk, err}
		}()
	}
	a, b := <-outcomes, <-outcomes
	if a.err != nil {
		a, b = b, a
	}
	if a.err != nil || b.err == nil || !strings.Contains(b.talk, "make a replica near: an instance of that name exists") {
		s.h.t.Fatalf("two at once: %v: %s\n%v: %s", a.err, a.talk, b.err, b.talk)
	}
	if names, err := column(s.h.t.Context(), s.db, "SELECT User FROM mysql.user WHERE User LIKE 'ramaria\\_remote%'"); err != nil || len(names) != 1 {
		s.h.t.Errorf("accounts for replication after two at once: %v, want one (%v)", names, err)
	}
}

// TestReplicaAbroad: the source is on another machine, which a network namespace stands for; its certificate is checked,
// and the way to it breaks.
func TestReplicaAbroad(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a network namespace is for root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIPPED, UNTESTED: no ip to make a network namespace with: apt-get install iproute2")
	}
	h := newTestHome(t)
	// Other programs of TestMatrix have it at the same time: names and addresses are of this one.
	pid := os.Getpid()
	ns, net4 := fmt.Sprintf("rr%d", pid), fmt.Sprintf("10.%d.%d.", 208+pid>>8&15, pid&255)
	here, there := net4+"1", net4+"2"
	ip := func(args ...string) error {
		out, err := exec.Command("ip", args...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return err
	}
	t.Cleanup(func() {
		if err := errors.Join(ip("link", "del", ns), ip("netns", "del", ns)); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(ip("netns", "add", ns), ip("link", "add", ns, "type", "veth", "peer", "name", "eth0", "netns", ns),
		ip("addr", "add", here+"/30", "dev", ns), ip("link", "set", ns, "up"),
		ip("-n", ns, "addr", "add", there+"/30", "dev", "eth0"), ip("-n", ns, "link", "set", "eth0", "up"), ip("-n", ns, "link", "set", "lo", "up")); err != nil {
		t.Fatal(err)
	}
	ca, cert, key := certificate(t, net.ParseIP(there))
	s := h.newSource("127.0.0.1:"+freePort(t), "ssl_cert = "+cert, "ssl_key = "+key)
	s.address = relay(t, ns, there+":3306", s.address)
	args := []string{"replica", "add", s.address, "near", "--login", s.login, "--volume", "shm"}
	other, _, _ := certificate(t, net.ParseIP(there))
	if _, talk, err := h.try(append(slices.Clone(args), "--tls-ca", other)...); err == nil || !strings.Contains(talk, "certificate") {
		t.Errorf("a certificate of another authority: %v: %s", err, talk)
	}
	h.ramaria(append(args, "--tls-ca", ca)...)
	replica := h.openInstance("near")
	exe(t, s.db, "INSERT INTO shop.customer (name) VALUES ('from abroad')")
	s.sameAs(replica)
	if err := ip("link", "set", ns, "down"); err != nil {
		t.Fatal(err)
	}
	exe(t, s.db, "INSERT INTO shop.customer (name) VALUES ('unheard')")
	h.until("the replica says that it has no connection", func() bool { return h.says("near", `"state": "connecting"`) })
	if err := ip("link", "set", ns, "up"); err != nil {
		t.Fatal(err)
	}
	s.sameAs(replica)
	// Without encryption the account that was made for it lets nobody in.
	h.ramaria("replica", "rm", "near")
}

// relay has what connects to an address in a network namespace reach another one outside of it.
func relay(t *testing.T, namespace, from, to string) string {
	t.Helper()
	var l net.Listener
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // and it ends with the goroutine; the socket stays where it was made
		file, err := os.Open("/run/netns/" + namespace)
		if err == nil {
			err = errors.Join(unix.Setns(int(file.Fd()), unix.CLONE_NEWNET), file.Close()) // #nosec G115 -- a file's number
		}
		if err == nil {
			l, err = net.Listen("tcp", from)
		}
		made <- err
	}()
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); out.Close() }()
			go func() { _, _ = io.Copy(in, out); in.Close() }()
		}
	}()
	return from
}

// certificate makes an authority, and a certificate of it for an address.
func certificate(t *testing.T, address net.IP) (ca, cert, key string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "rp-") // above t.TempDir is one that only its owner can enter
	check(err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(os.Chmod(dir, 0o755)) // the server is another user
	write := func(name, kind string, text []byte) string {
		path := filepath.Join(dir, name)
		check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: text}), 0o644)) // #nosec G306 -- of a test
		return path
	}
	made := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true,
		}
	}
	root, leaf := made(1, "authority"), made(2, "server")
	root.IsCA, leaf.IPAddresses = true, []net.IP{address}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	rootText, err := x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey)
	check(err)
	leafText, err := x509.CreateCertificate(rand.Reader, leaf, root, &leafKey.PublicKey, rootKey)
	check(err)
	keyText, err := x509.MarshalPKCS8PrivateKey(leafKey)
	check(err)
	return write("ca.pem", "CERTIFICATE", rootText), write("cert.pem", "CERTIFICATE", leafText), write("key.pem", "PRIVATE KEY", keyText)
}
