package front

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/client"
)

// resets counts what it is asked for.
type resets struct {
	Pool
	n    int
	told func() // what is done at a reset, nil for nothing
}

func (r *resets) ResetDatabase(context.Context, string, client.ResetMode) (client.Reset, error) {
	r.n++
	if r.told != nil {
		r.told()
	}
	return client.Reset{}, nil
}

func (r *resets) RollbackDatabase(context.Context, string, client.ResetMode) (client.Reset, error) {
	return client.Reset{}, nil
}

func (r *resets) Templates(context.Context) ([]client.Template, error) {
	return []client.Template{{Name: "shop"}}, nil
}

// several is a packet, or several where the payload is too long for one.
func several(seq byte, payload []byte) (b []byte) {
	for {
		n := min(len(payload), full)
		b = append(b, packet(seq, payload[:n])...)
		payload = payload[n:]
		if n < full {
			return b
		}
		seq++
	}
}

// TestCommands passes on packets that come in pieces of any length, and changes those for the door.
func TestCommands(t *testing.T) {
	t.Run("copied", func(t *testing.T) { testCommands(t, false) })
	t.Run("by the loop", func(t *testing.T) { testCommands(t, true) })
}

func testCommands(t *testing.T, looped bool) {
	query := func(text string) []byte { return append([]byte{comQuery}, text...) }
	// A file is sent in answer to a query, so its packets are counted from 2 on; the count comes round.
	var file []byte
	for n := range 600 {
		file = append(file, packet(byte(2+n), query("CALL ramaria.reset()"))...)
	}
	file = append(file, packet(byte((2+600)%256), nil)...)
	long := bytes.Repeat([]byte("x"), full+100)
	refused := func(n int) []byte { // in place of a text of so many bytes
		text := bytes.Repeat([]byte(" "), n)
		copy(text, tooLong(wish{do: "reset"}))
		return several(0, query(string(text)))
	}
	parts := []struct{ in, out []byte }{
		{packet(0, query("SELECT 1")), nil},
		{packet(0, query("CALL ramaria.reset()")), packet(0, query(nothing))},
		{packet(0, query("")), nil},
		{packet(0, []byte{0x0e}), nil},
		{packet(0, nil), nil},
		{packet(0, query("  call other.reset()")), nil},
		{packet(0, query("USE `shop@1`")), packet(0, query("USE `shop_7`"))},
		{packet(0, append([]byte{comUse}, "shop@1"...)), packet(0, append([]byte{comUse}, "shop_7"...))},
		{packet(0, query("/* ramaria: reset */ SELECT 2")), packet(0, query(" SELECT 2"))},
		{packet(0, query("/* ramaria */ SELECT 2")), nil},
		{packet(0, query("CALL "+strings.Repeat("y", 2*mostCommand))), nil},
		{packet(0, query("CALL ramaria.reset(); "+strings.Repeat("y", 2*mostCommand))), refused(len("CALL ramaria.reset(); ") + 2*mostCommand)},
		{several(0, append(query("/* Ramaria: Reset */ "), long...)), refused(len("/* Ramaria: Reset */ ") + len(long))},
		{packet(0, query("CALL "+strings.Repeat("y", mostCommand-6))), nil},
		{several(0, append(query("CALL "), long...)), nil},
		{append(packet(0, query("LOAD DATA LOCAL INFILE 'x' INTO TABLE t")), file...), nil},
		{packet(0, append([]byte{0x17}, long[:70000]...)), nil},
	}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var in, want []byte
		asked := 0
		for range 12 {
			p := parts[rng.IntN(len(parts))]
			if len(p.in) > 1<<20 && seed%20 > 0 {
				continue
			}
			in = append(in, p.in...)
			if p.out == nil {
				p.out = p.in
			} else if !bytes.Contains(p.out, []byte("shop_7")) && !bytes.Contains(p.out, []byte("send it alone")) {
				asked++
			}
			want = append(want, p.out...)
		}
		pool := &resets{}
		door := &Door{c: Config{Pool: pool}}
		if looped {
			if err := door.loops.start(1); err != nil {
				t.Fatal(err)
			}
		}
		ours, clients := connected(t)
		servers, up := connected(t)
		s := &session{door: door, raw: ours, client: ours, login: response{database: "shop@1"}, server: &upstream{Conn: up}, seat: &seat{lease: client.Database{Name: "shop_7"}}}
		go func() {
			for rest := in; len(rest) > 0; {
				n := min(len(rest), 1+rng.IntN(1<<rng.IntN(18)))
				if _, err := clients.Write(rest[:n]); err != nil {
					break
				}
				rest = rest[n:]
			}
			_ = clients.Close()
		}()
		var ended sync.WaitGroup
		ended.Go(func() { s.serveRelay(t.Context()) })
		got := serve(t, servers)
		_ = servers.Close()
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %d bytes arrived, want %d; the first that differs is %d", seed, len(got), len(want), differs(got, want))
		}
		ended.Wait()
		door.loops.close()
		if pool.n != asked {
			t.Fatalf("seed %d: %d resets, want %d", seed, pool.n, asked)
		}
	}
}

// serve is a server that answers what the door asks, and returns what it hears besides.
func serve(t *testing.T, c net.Conn) (heard []byte) {
	t.Helper()
	own := 0 // how many of the next packets are the door's
	for {
		h := make([]byte, header)
		if _, err := io.ReadFull(c, h); err != nil {
			return heard
		}
		payload := make([]byte, lengthOf(h))
		if _, err := io.ReadFull(c, payload); err != nil {
			t.Fatal(err)
		}
		mark := markStatement.FindSubmatch(payload)
		switch {
		case mark != nil && h[3] == 0:
			write(t, c, packet(1, raised(mark)))
			// To say how it is, to reset the session, answer a ping, and, after the clone is put back, enter it and set the
			// character set.
			own = 5
		case own > 0:
			own--
			write(t, c, packet(1, fine(byItself)))
		default:
			heard = append(append(heard, h...), payload...)
		}
	}
}

var markStatement = regexp.MustCompile(`SIGNAL SQLSTATE '(.{5})' SET MYSQL_ERRNO = (\d+), MESSAGE_TEXT = 'ramaria'$`)

// raised is the error that a mark's statement raises.
func raised(mark [][]byte) []byte {
	code, _ := strconv.ParseUint(string(mark[2]), 10, 16)
	return append(binary.LittleEndian.AppendUint16([]byte{isErr}, uint16(code)), "#"+string(mark[1])+"r\x00a\x00"...)
}

// fine is an answer that all is well.
func fine(flags uint16) []byte {
	return binary.LittleEndian.AppendUint32([]byte{isOK, 0, 0}, uint32(flags))
}

func differs(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// TestStatements tells statements for the door from those for the server.
func TestStatements(t *testing.T) {
	door := &Door{c: Config{Pool: &resets{}}, sessions: map[uint32]*session{}, seats: seats{pool: &resets{}}}
	other := &session{}
	other.thread.Store(17)
	door.sessions[1<<31+1] = other
	const late = "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1105, MESSAGE_TEXT = 'ramaria: CALL ramaria.reset() has to be the first of several statements, or alone; none was done'"
	s := &session{door: door, login: response{database: "shop@1"}, server: &upstream{}, seat: &seat{lease: client.Database{Name: "shop_7"}}, relay: &obeyed{}}
	for text, want := range map[string]string{
		"KILL 2147483649":                                "KILL 17",
		"kill query 2147483649;":                         "kill query 17;",
		"KILL 5":                                         "KILL 5",
		"DROP DATABASE `shop@2`":                         nothing,
		"DROP DATABASE IF EXISTS `a@b`":                  "DROP DATABASE IF EXISTS `a@b`",
		"create schema `sho@p`":                          "create schema `sho@p`",
		"USE `a@b`":                                      "USE `a@b`",
		"USE `shop@2`":                                   "SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1049, MESSAGE_TEXT = 'Unknown database: connect to shop@2 instead of using it'",
		"KILL 2147483649; SELECT SLEEP(1)":               "KILL 17; SELECT SLEEP(1)",
		"KILL 2147483649 + 1":                            "KILL 2147483649 + 1",
		"KILL QUERY ID 2147483649":                       "KILL QUERY ID 2147483649",
		"use shop@1;":                                    "USE `shop_7`",
		"use shop":                                       "use shop",
		"CALL ramaria.reset":                             nothing,
		"CALL ramaria.reset ( ) ;":                       nothing,
		"CALL `ramaria`.`reset`()":                       nothing,
		"/* ramaria: reset */":                           nothing,
		"/*ramaria:reset*/INSERT INTO t VALUES (1)":      "INSERT INTO t VALUES (1)",
		"/* not ramaria: reset */":                       "/* not ramaria: reset */",
		"SELECT '/* ramaria: reset */'":                  "SELECT '/* ramaria: reset */'",
		"CALL ramaria.what()":                            "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1105, MESSAGE_TEXT = 'ramaria: instance : there is no ramaria.what: there are reset, savepoint and rollback'",
		"CALL ramaria_reset()":                           "CALL ramaria_reset()",
		"CREATE PROCEDURE p() CALL ramaria.reset()":      "CREATE PROCEDURE p() CALL ramaria.reset()",
		"CALL ramaria.reset(); INSERT INTO t VALUES (1)": nothing + "; INSERT INTO t VALUES (1)",
		"-- before\n/* each test */ # comes\n CALL ramaria.reset()":                nothing,
		"/* a */ /* ramaria: reset */ SELECT 1":                                    " SELECT 1",
		"/* a */ USE shop@1":                                                       "/* a */ USE `shop_7`",
		"/*! CALL ramaria.reset() */":                                              "/*! CALL ramaria.reset() */",
		"INSERT INTO t VALUES (1); CALL ramaria.reset()":                           late,
		"SELECT ';' /* ; */; -- ;\n CALL ramaria.reset()":                          late,
		"SELECT '; CALL ramaria.reset()'":                                          "SELECT '; CALL ramaria.reset()'",
		"SELECT 'it\\'s; CALL ramaria.reset()' # ; CALL ramaria.reset":             "SELECT 'it\\'s; CALL ramaria.reset()' # ; CALL ramaria.reset",
		"CALL ramaria.reset() -- test 7":                                           nothing,
		"CALL ramaria.reset /* a */ () /* b */ # c":                                nothing,
		"call ramaria.reset(); INSERT INTO t VALUES (1); call ramaria.reset()":     late,
		"/* ramaria: reset */ INSERT INTO t VALUES (1); CALL ramaria.reset() -- x": late,
		"CALL ramaria.reset('-- no')":                                              "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1105, MESSAGE_TEXT = 'ramaria: instance : there is no ramaria.reset(''-- no''): there is ''keep session'''",
		"CALL ramaria.reset('keep session')":                                       nothing,
		"/* ramaria: rollback keep session */":                                     nothing,
		"SELECT 1; /* ramaria: reset */ SELECT 2":                                  late,
		"SELECT 1; Call Ramaria.Reset()":                                           late,
		"/* Ramaria: Reset */ SELECT 3":                                            " SELECT 3",
		"CALL ramaria.reset('all')":                                                "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1105, MESSAGE_TEXT = 'ramaria: instance : there is no ramaria.reset(''all''): there is ''keep session'''",
	} {
		if got, err := s.statement(t.Context(), text, false); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
}

// TestGreeting reads what it writes.
func TestGreeting(t *testing.T) {
	want := greeting{version: "11.8.3-MariaDB", id: 1 << 31, salt: newSalt(saltBytes), can: 0x81bff7fe, charset: 45, status: 2, plugin: native}
	copy(want.reserved[6:], "\x1d\x00\x00\x00")
	got, err := parseGreeting(want.payload())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(greeting{})); diff != "" {
		t.Error(diff)
	}
}

// TestWays lets in who knows the password, and nobody else.
func TestWays(t *testing.T) {
	for name, w := range ways {
		if w.answer == nil {
			continue // TestFront has clients with that
		}
		salt := newSalt(w.salt)
		if !w.knows([]byte("secret"), salt, w.answer([]byte("secret"), salt)) {
			t.Errorf("%s: the password is refused", name)
		}
		for what, answer := range map[string][]byte{
			"another password": w.answer([]byte("Secret"), salt), "another salt": w.answer([]byte("secret"), newSalt(w.salt)), "nothing": nil,
		} {
			if w.knows([]byte("secret"), salt, answer) {
				t.Errorf("%s: %s is let in", name, what)
			}
		}
	}
	if edKnows([]byte("secret"), newSalt(saltEd25519), make([]byte, 64)) {
		t.Errorf("%s: zeros are let in", ed)
	}
}

// TestRefusalOf: a client that the door has greeted hears the state of what the server says without one.
func TestRefusalOf(t *testing.T) {
	for payload, want := range map[string]RefusalError{
		"\xff\x10\x04Too many connections":          {erTooMany, stateGone, "Too many connections"},
		"\xff\x6a\x04Host is blocked":               {1130, stateGeneral, "Host is blocked"},
		"\xff\x19\x04#42000Unknown database 'shop'": {erBadDB, stateNoDatabase, "Unknown database 'shop'"},
	} {
		if diff := cmp.Diff(&want, refusalOf([]byte(payload))); diff != "" {
			t.Error(diff)
		}
	}
}

// FuzzLogin reads what no client sends.
func FuzzLogin(f *testing.F) {
	r := response{can: can41 | canSecure | canPlugin | canDatabase | canLongAuth | canAttributes, user: "app", auth: newSalt(20), database: "shop@1", plugin: native, attributes: []byte{2, 1, 'a'}}
	f.Add(r.payload(r.can))
	f.Add(greeting{version: "9.7.4", salt: newSalt(saltBytes), plugin: caching}.payload())
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = parseGreeting(b)
		if got, err := parseResponse(b); err == nil {
			again, err := parseResponse(got.payload(got.can))
			if err != nil || again.user != got.user || again.database != got.database || !bytes.Equal(again.auth, got.auth) {
				t.Errorf("%v becomes %v, %v", got, again, err)
			}
		}
		_, _ = parseChange(b, r)
		_ = refusalOf(b)
		if len(b) > 0 && b[0] == isOK {
			_ = proven(b, []byte("proof"), len(b)%2 == 0)
		}
	})
}
