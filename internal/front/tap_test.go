package front

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// said is what a server answers to the statements of a tap's marks, and to n commands behind them.
func said(marks []string, n int) (b []byte) {
	for _, m := range marks {
		b = append(b, packet(1, raisedBy(m))...)
	}
	return append(b, bytes.Repeat(packet(1, fine(byItself)), n)...)
}

func raisedBy(statement string) []byte {
	m := markStatement.FindStringSubmatch(statement)
	return raised([][]byte{nil, []byte(m[1]), []byte(m[2])})
}

// TestTap tells the door's answers from the client's, in whatever pieces they come and in whatever character set.
func TestTap(t *testing.T) {
	clients := append(packet(1, fine(byItself)), packet(1, append([]byte{isErr, 0x7a, 4}, "#42S02no table"...))...)
	next := packet(1, []byte("\x01 result"))
	interrupted := packet(1, append([]byte{isErr, 0x25, 5}, "#70100interrupted"...))
	for _, c := range []struct {
		name    string
		said    func(marks []string) []byte
		clients []byte // of which the client gets
		cut     bool
		ends    bool
	}{
		{"as it should", func(m []string) []byte { return slices.Concat(clients, said(m, 3), next) }, slices.Concat(clients, next), false, true},
		{"KILL QUERY ends the first", func(m []string) []byte { return slices.Concat(clients, interrupted, said(m[1:], 3)) }, slices.Concat(clients, interrupted), true, true},
		{"KILL QUERY ends the second", func(m []string) []byte {
			return slices.Concat(clients, said(m[:1], 0), interrupted, said(nil, 3), next)
		}, slices.Concat(clients, next), false, true},
		{"no answer", func(m []string) []byte { return slices.Concat(clients, said(m, 2)) }, clients, false, false},
		{"no mark", func([]string) []byte { return slices.Concat(clients, interrupted, interrupted) }, slices.Concat(clients, interrupted, interrupted), false, false},
	} {
		for seed := range uint64(50) {
			rng := rand.New(rand.NewPCG(seed, 1))
			tap := newTap(3)
			all := c.said(tap.mark())
			var got []byte
			for rest := all; len(rest) > 0; {
				n := min(len(rest), 1+rng.IntN(1<<rng.IntN(7)))
				if tap.over() {
					got = append(got, rest[:n]...)
				} else {
					got = append(got, tap.take(rest[:n])...)
				}
				rest = rest[n:]
			}
			if ended := tap.wait(time.Millisecond); ended != c.ends || tap.cut != c.cut {
				t.Fatalf("%s, seed %d: ended %t, want %t; cut %t, want %t", c.name, seed, ended, c.ends, tap.cut, c.cut)
			}
			if !c.ends {
				got = append(got, tap.held...) // it may be the beginning of a mark
				got = got[:min(len(got), len(c.clients))]
			}
			if !bytes.Equal(got, c.clients) {
				t.Fatalf("%s, seed %d: the client gets %q, want %q", c.name, seed, got, c.clients)
			}
			if c.ends && len(tap.answers) != 3 {
				t.Fatalf("%s, seed %d: %d answers, want 3", c.name, seed, len(tap.answers))
			}
		}
	}
}

// TestTapTells: what the door's commands have changed of a session the client hears with its own next answer.
func TestTapTells(t *testing.T) {
	track := func(info, state string) []byte {
		flags := uint16(byItself)
		if state != "" {
			flags |= stateChanged
		}
		b := appendCounted(fine(flags), []byte(info))
		if state != "" {
			b = appendCounted(b, []byte(state))
		}
		return b
	}
	schema, charset, own := "\x01\x05\x04shop", "\x00\x05\x01a\x02bc", "\x02\x021"
	failed := append([]byte{isErr, 0x7a, 4}, "#42S02no table"...)
	for _, c := range []struct{ name, next, want string }{
		{"all is well", string(track("", "")), string(track("", schema+charset))},
		{"it changes something", string(track("one row", own)), string(track("one row", schema+charset+own))},
		{"an error", string(failed), string(failed)},
		{"rows", "\x02", "\x02"},
	} {
		for size := 1; size < 40; size++ {
			tap := newTap(2)
			tap.tells = true
			after := "\x01\x00\x00\x02x"
			all := slices.Concat(packet(1, track("", schema)), packet(1, track("", charset)), packet(1, []byte(c.next)), []byte(after))
			var got []byte
			for part := range slices.Chunk(all, size) {
				if tap.over() {
					got = append(got, part...)
				} else {
					got = append(got, tap.take(part)...)
				}
			}
			if want := string(packet(1, []byte(c.want))) + after; string(got) != want || !tap.over() {
				t.Fatalf("%s, in pieces of %d: the client gets %q, want %q", c.name, size, got, want)
			}
		}
	}
	// A client that has asked the door again meanwhile hears no news, and all of its answers.
	before, tap := newTap(1), newTap(1)
	before.tells = true
	answer := packet(1, track("", ""))
	got := before.take(slices.Concat(packet(1, track("", schema)), answer[:5]))
	marks := tap.mark()
	tap.follow(before)
	got = append(got, tap.take(slices.Concat(answer[5:], said(marks, 1)))...)
	if !bytes.Equal(got, answer) || !tap.over() {
		t.Errorf("the client gets %q, want %q", got, answer)
	}
}

// TestSetUp: what a client sets at first is kept, and nothing of what tests do.
func TestSetUp(t *testing.T) {
	sqlx := "SET sql_mode=(SELECT CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')),time_zone='+00:00',NAMES utf8mb4 COLLATE utf8mb4_unicode_ci"
	rails := "SET  @@SESSION.sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'),  @@SESSION.wait_timeout = 2147483"
	for _, c := range []struct {
		name string
		said []string // with P, it is prepared; R is a reset of the connection
		want []string
	}{
		{"sqlx", []string{sqlx + ";", "SELECT 1"}, []string{sqlx}},
		{"Rails", []string{rails, "SELECT * FROM t", "SET sql_mode = ''"}, []string{rails}},
		{"Django", []string{"SET AUTOCOMMIT = 0", "SELECT VERSION(), @@sql_mode", "SET SQL_AUTO_IS_NULL = 0; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"},
			[]string{"SET AUTOCOMMIT = 0", "SET SQL_AUTO_IS_NULL = 0", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"}},
		{"Connector/J", []string{"/* mysql-connector-j-9.4.0 */SELECT  @@session.time_zone AS z", "SET character_set_results = NULL", "/* ping */ SET autocommit=0"},
			[]string{"SET character_set_results = NULL", "SET autocommit=0"}},
		{"Laravel", []string{"use `shop@1`;", "PSET NAMES 'utf8mb4'", "PSET time_zone = ?", "SET sql_mode = ''"}, []string{"SET NAMES 'utf8mb4'"}},
		{"a test's own", []string{"SET time_zone = '+1:00'", "INSERT INTO t VALUES (1)", "SET sql_mode = ''"}, []string{"SET time_zone = '+1:00'"}},
		{"several", []string{"SET time_zone = '+1:00'; INSERT INTO t VALUES (1); SET sql_mode = ''"}, []string{"SET time_zone = '+1:00'"}},
		{"after a reset", []string{"/* ramaria: reset */", "SET sql_mode = ''"}, nil},
		{"foreign keys", []string{"SET foreign_key_checks = 0", "SET sql_mode = ''"}, nil},
		{"a variable of its own", []string{"SET @x = 1"}, nil},
		{"the next transaction", []string{"SET TRANSACTION READ ONLY"}, nil},
		{"for the next statement", []string{"SET SQL_SELECT_LIMIT=1", "SET session transaction read only", "SET @@session.transaction_read_only = 1;", "SET sql_mode = ''"}, []string{"SET sql_mode = ''"}},
		{"a statement", []string{"SET STATEMENT max_statement_time=1 FOR SELECT 1"}, nil},
		{"for others", []string{"SET GLOBAL time_zone = '+1:00'"}, nil},
		{"rows", []string{"SELECT @@sql_mode FROM t", "SET sql_mode = ''"}, nil},
		{"its own reset", []string{"SET sql_mode = ''", "R", "SET time_zone = '+1:00'"}, []string{"SET time_zone = '+1:00'"}},
		{"a long one", []string{"SET time_zone = '+1:00'", "SET sql_mode = '" + strings.Repeat(" ", mostCommand) + "'", "SET sql_mode = ''"}, []string{"SET time_zone = '+1:00'"}},
		{"too much", slices.Repeat([]string{"SET sql_mode = '" + strings.Repeat(" ", mostSetUp/4) + "'"}, 5), slices.Repeat([]string{"SET sql_mode = '" + strings.Repeat(" ", mostSetUp/4) + "'"}, 3)},
	} {
		var f finder
		for _, text := range c.said {
			command, rest := byte(comQuery), text
			if text == "R" {
				command, rest = comReset, ""
			} else if after, prepared := strings.CutPrefix(text, "P"); prepared {
				command, rest = comPrepare, after
			}
			if _, _, err := f.cut(packet(0, append([]byte{command}, rest...))); err != nil {
				t.Fatal(err)
			}
			f.left = 0 // where it was for the door
		}
		if !slices.Equal(f.setUp.texts, c.want) {
			t.Errorf("%s: %q, want %q", c.name, f.setUp.texts, c.want)
		}
	}
}

// TestAttributes: a text is found behind what a client says of it.
func TestAttributes(t *testing.T) {
	const text = "CALL ramaria.reset()"
	values := slices.Concat(
		[]byte{6, 1, 0b000100, 1},
		[]byte{0xfe, 0, 11}, []byte("traceparent"), []byte{8, 0x80, 1, 'n', 6, 0, 0, 12, 0, 1, 'd', 5, 0, 1, 'f', 0xf6, 0, 0},
		[]byte{4, 'a', 'b', 'c', 'd'}, binary.LittleEndian.AppendUint64(nil, 7), []byte{4, 1, 2, 3, 4}, make([]byte, 8), []byte{1, '9'})
	for _, c := range []struct {
		name   string
		before []byte
		counts bool
		want   string
	}{
		{"not counted", nil, false, text},
		{"none", []byte{0, 1}, true, text},
		{"several", values, true, text},
		{"cut", []byte{3, 1, 0, 1, 0xfe}, true, ""},
	} {
		payload := slices.Concat([]byte{comQuery}, c.before, []byte(text))
		if c.want == "" {
			payload = payload[:len(payload)-len(text)]
		}
		if got := string(payload[textAt(payload, c.counts):]); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		f := finder{counts: c.counts}
		if _, command, _ := f.cut(packet(0, payload)); (command > 0) != (c.want != "") {
			t.Errorf("%s: a command of %d bytes is for the door", c.name, command)
		}
	}
}

// TestForDoor: who asks for nothing is not held up.
func TestForDoor(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT 1": false, "UPDATE t SET a = 1": false, "COMMIT": false, "DELETE FROM t": false, "/* app */ SELECT 1": false, "": false, "/": false, "C": false,
		"/*! SET NAMES utf8 */": false, " -- a\n COMMIT": false,
		"CALL x()": true, "  Create DATABASE d": true, "/* app */ USE x": true, "kill 1": true, "drop t": true, "/* Ramaria: Reset */": true,
		"SELECT 1; Call Ramaria.Reset()": true, "SELECT 'RaMaRiA'": true,
	} {
		if got := forDoor([]byte(text)); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

// BenchmarkFirst is what a text costs in which the door looks for statements.
func BenchmarkFirst(b *testing.B) {
	text := "SELECT " + strings.Repeat("a, ", mostCommand/3-10) + "b FROM t"
	for b.Loop() {
		if _, rest := first(text); rest != "" {
			b.Fatal(rest)
		}
	}
}
