package tests

import (
	"crypto/sha1"
	"crypto/subtle"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
)

// testChange logs in again on the same connection, as mysql2 of Node does by changeUser. Drivers for Go cannot.
func (d *frontDoor) testChange(t *testing.T) {
	d.h.during(t)
	password := []byte(d.config("").Passwd)
	user := d.url.User.Username()
	w, salt := d.wire()
	defer func() { _ = w.Close() }()
	login := append(append(wireLogin(0), user...), 0, sha1.Size)
	login = append(append(append(login, nativeAnswer(password, salt)...), "shop@before"...), 0)
	w.write(append(login, "mysql_native_password\x00"...))
	if got := w.read(); w.failed != nil || got[0] != 0 {
		t.Fatalf("the login: %v, error %d", w.failed, errorOf(got))
	}
	ask := func(text string) {
		t.Helper()
		if got := w.command(append([]byte{0x03}, text...)); w.failed != nil || got[0] != 0 {
			t.Fatalf("%s: %v, error %d %q", text, w.failed, errorOf(got), got)
		}
	}
	// Its answer is one to the salt of the login, which is over: the door asks for another.
	collation := uint16(45)
	change := func(database string, password []byte) uint16 {
		t.Helper()
		packet := append(append([]byte{0x11}, user...), 0, sha1.Size)
		packet = append(append(append(packet, nativeAnswer(password, salt)...), database...), 0, byte(collation), byte(collation>>8))
		got := w.command(append(packet, "mysql_native_password\x00"...))
		if w.failed != nil || got[0] != 0xfe || len(got) < 46 {
			t.Fatalf("change to %s: %v, answer %q", database, w.failed, got)
		}
		w.write(nativeAnswer(password, got[23:43]))
		got = w.read()
		if w.failed != nil {
			t.Fatal(w.failed)
		}
		return errorOf(got)
	}
	for _, database := range []string{"shop@before", "shop@after", "shop@@", "shop", "shop@before"} {
		ask("SET @kept = 1")
		if n := change(database, password); n != 0 {
			t.Fatalf("change to %s: error %d", database, n)
		}
		// These fail, as a DO would not in MariaDB, unless the session is new, and in the database of that name.
		ask("SET @is = IF(@kept IS NULL, 0, (SELECT 1 UNION SELECT 2))")
		if database != "shop" {
			ask("INSERT INTO t VALUES (77)")
			ask("CALL ramaria.reset()")
		}
	}
	wide := "utf8mb4_general_nopad_ci"
	if collation = 1069; d.h.srv.Flavour == server.MySQL {
		wide, collation = "utf8mb4_0900_bin", 309
	}
	if n := change("shop@before", password); n != 0 {
		t.Fatalf("change to collation %d: error %d", collation, n)
	}
	ask("SET @is = IF(CONCAT(@@character_set_client, ' ', @@collation_connection) = 'utf8mb4 " + wide + "', 0, (SELECT 1 UNION SELECT 2))")
	ask("INSERT INTO t VALUES (77)")
	if got := d.h.one(d.to("shop@before"), "SELECT COUNT(*) FROM t"); got != "3" {
		t.Errorf("another connection of the name finds %s rows, want 3", got)
	}
	if got := d.h.one(d.to("shop"), "SELECT COUNT(*) FROM t"); got != "2" {
		t.Errorf("the template has %s rows, want 2", got)
	}
	if n := change("shop@after", []byte("wrong")); n != 1045 {
		t.Errorf("a wrong password gets error %d, want 1045", n)
	}
	if _, err := w.Read(make([]byte, 1)); err == nil {
		t.Error("a connection whose change was refused lives on")
	}
}

// testRemade makes the instance again below the door, which must not let in who knows the former password, although nobody
// has come with the new one.
func (d *frontDoor) testRemade(t *testing.T) {
	d.h.during(t)
	d.h.exec(d.to("shop@1"), "INSERT INTO t VALUES (77)")
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := openDSN(t, d.h.ramaria("up", "main", "--fresh", "--password-file", password))
	d.h.exec(plain, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
	d.h.ramaria("template", "add", "shop")
	for range 3 {
		for _, name := range []string{"shop@1", "shop@later", "shop", ""} {
			d.refused(d.to(name).Ping(), 1045, "Access denied")
		}
	}
	d.url.User = url.UserPassword(d.url.User.Username(), "another")
	if n := d.h.one(d.to("shop@1"), "SELECT COUNT(*) FROM t"); n != "1" {
		t.Errorf("the new template has %s rows, want 1", n)
	}
}

// testCrash kills the server: what the connections had that ended by it is given back as soon as the server is there again.
func (d *frontDoor) testCrash(t *testing.T) {
	h := d.h
	h.during(t)
	h.exec(d.to("shop@crash"), "INSERT INTO t VALUES (77)")
	h.exec(d.to("shop@@"), "INSERT INTO t VALUES (77)")
	pid, err := strconv.Atoi(regexp.MustCompile(`server (\d+)`).FindStringSubmatch(h.ramaria("status", "main"))[1])
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.until("the instance is down", func() bool { return !strings.Contains(h.ramaria("ls"), "running") })
	h.ramaria("up", "main")
	h.until("the clones are given back", func() bool {
		out, _, err := h.try("db", "ls")
		return err == nil && !strings.Contains(out, "shop_")
	})
}

// nativeAnswer shows by mysql_native_password that a client knows a password.
func nativeAnswer(password, salt []byte) []byte {
	once := sha1.Sum(password)
	twice := sha1.Sum(once[:])
	mask := sha1.Sum(append(append([]byte{}, salt...), twice[:]...))
	subtle.XORBytes(mask[:], mask[:], once[:])
	return mask[:]
}
