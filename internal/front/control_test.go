package front

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/client"
)

// obeyed is a relay to a server that does what the door asks.
type obeyed struct {
	relay
	asked [][]byte
	set   setUp
	// answers are what it answers to commands that begin so, in place of that all is well.
	answers map[string][]byte
	// once are such answers that it gives once.
	once map[string][]byte
	// silent has it answer nothing.
	cut, silent bool
	closed      bool
}

func (o *obeyed) Close() error {
	o.closed = true
	return nil
}

func (o *obeyed) ask(t *tap, packets []byte) {
	t.cut = o.cut
	for rest := packets; len(rest) > 0; rest = rest[header+lengthOf(rest):] {
		command := rest[header : header+lengthOf(rest)]
		o.asked = append(o.asked, command)
		answer := fine(byItself)
		for begin, other := range o.answers {
			if strings.HasPrefix(string(command), begin) {
				answer = other
			}
		}
		if other, ok := o.once[string(command)]; ok {
			answer = other
			delete(o.once, string(command))
		}
		if !markStatement.Match(command) {
			t.answers = append(t.answers, answer)
		}
	}
	if !o.silent {
		t.whole = true
	}
	t.end()
}

func (o *obeyed) setUp() setUp { return o.set }

// TestUnsettled: where a session cannot be put back, its clone is not put back either, and the client hears why, once.
func TestUnsettled(t *testing.T) {
	failed := func(code uint16) []byte {
		return append(binary.LittleEndian.AppendUint16([]byte{isErr}, code), "#HY000no"...)
	}
	for _, c := range []struct {
		name, text string
		server     obeyed
		said       string // what the server is to answer the client
		lost       bool   // its connection ends
	}{
		{"the reset fails", "CALL ramaria.reset()", obeyed{answers: map[string][]byte{"\x1f": failed(1)}}, "put the session back: no", false},
		{"the rollback fails", "CALL ramaria.reset('keep session')", obeyed{answers: map[string][]byte{"\x03ROLLBACK": failed(1)}}, "put the session back: no", false},
		{"XA", "CALL ramaria.reset('keep session')", obeyed{answers: map[string][]byte{"\x03ROLLBACK": failed(erInXA)}}, "end it by XA ROLLBACK, or leave out ''keep session''", false},
		{"interrupted", "CALL ramaria.reset()", obeyed{cut: true}, "", false},
		{"no answer", "CALL ramaria.reset()", obeyed{silent: true}, "does not answer", true},
		{"no answer to a savepoint", "CALL ramaria.savepoint()", obeyed{silent: true}, "does not answer", true},
	} {
		pool := &resets{}
		s := &session{door: &Door{c: Config{Pool: pool}}, server: &upstream{}, seat: &seat{}, relay: &c.server}
		got, err := s.statement(t.Context(), c.text, false)
		if (err != nil) != (c.said == "") || !strings.Contains(got, c.said) || pool.n > 0 || c.server.closed != c.lost {
			t.Errorf("%s: %q, %v; %d resets; ended %t, want %t", c.name, got, err, pool.n, c.server.closed, c.lost)
		}
	}
}

// TestResumed: a session is new, and has what its client has set at first; each statement is committed as it was before.
func TestResumed(t *testing.T) {
	off := setUp{texts: []string{"SET time_zone = '+1:00'", "SET autocommit = 0"}, autocommit: true}
	enter := []string{"\x02shop_7", "\x03SET character_set_client = 0, character_set_results = 0, collation_connection = 0"}
	again := append(slices.Clone(enter), "\x03SET time_zone = '+1:00'", "\x03SET autocommit = 0")
	for _, c := range []struct {
		name          string
		set           setUp
		before, after uint16 // the flags of the session's answers, and of the new one's
		dropped       bool
		text          string
		want          []string
	}{
		{"as it was", setUp{}, 0, 0, false, "CALL ramaria.reset()", enter},
		{"on before it, and not after it", setUp{}, byItself, 0, false, "CALL ramaria.reset()", append(slices.Clone(enter), "\x03SET autocommit = 1")},
		{"on", setUp{}, byItself, byItself, false, "CALL ramaria.reset()", enter},
		{"on after it alone", setUp{}, 0, byItself, false, "CALL ramaria.reset()", enter},
		{"off", off, 0, byItself, false, "CALL ramaria.reset()", again},
		{"off at first, and on since", off, byItself, byItself, false, "CALL ramaria.reset()", append(slices.Clone(again), "\x03SET autocommit = 1")},
		{"kept", off, 0, 0, false, "CALL ramaria.reset('keep session')", nil},
		{"kept, without its database", off, 0, 0, true, "CALL ramaria.reset('keep session')", []string{"\x02shop_7"}},
	} {
		o := &obeyed{set: c.set, answers: map[string][]byte{"\x0e": fine(c.after)}, once: map[string][]byte{"\x0e": fine(c.before)}}
		pool := &resets{told: func() { o.asked = nil }}
		s := &session{door: &Door{c: Config{Pool: pool}}, login: response{database: "shop@1"}, server: &upstream{}, seat: &seat{lease: client.Database{Name: "shop_7"}}, relay: o}
		if c.dropped {
			s.named(t.Context(), "DROP DATABASE shop_7")
		}
		if got, err := s.statement(t.Context(), c.text, false); got != nothing || err != nil {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
		if !slices.EqualFunc(o.asked, c.want, func(got []byte, want string) bool { return string(got) == want }) {
			t.Errorf("%s: the server is asked %q, want %q", c.name, o.asked, c.want)
		}
	}
}

// TestInterrupted: a session has what its client has set at first also where KILL QUERY has met what the door asks, or the
// server has refused that: by then it may be new.
func TestInterrupted(t *testing.T) {
	interrupted := append(binary.LittleEndian.AppendUint16([]byte{isErr}, erInterrupted), "#70100no"...)
	off := setUp{texts: []string{"SET time_zone = '+1:00'", "SET autocommit = 0"}, autocommit: true}
	const zone = "\x03SET time_zone = '+1:00'"
	for _, c := range []struct {
		name   string
		server obeyed
		resets int
		zones  int // how often the time zone is set
	}{
		{"before the session is new", obeyed{cut: true}, 0, 1},
		{"while it is made new", obeyed{once: map[string][]byte{"\x1f": interrupted}}, 0, 1},
		{"while it is set up", obeyed{once: map[string][]byte{zone: interrupted}}, 1, 2},
		{"whenever it is set up", obeyed{answers: map[string][]byte{zone: interrupted}}, 1, resumeTries},
	} {
		o := &c.server
		if o.set = off; o.answers == nil {
			o.answers = map[string][]byte{}
		}
		o.answers["\x0e"] = fine(0)
		pool := &resets{}
		s := &session{door: &Door{c: Config{Pool: pool}}, server: &upstream{}, seat: &seat{lease: client.Database{Name: "shop_7"}}, relay: o}
		_, err := s.statement(t.Context(), "CALL ramaria.reset()", false)
		zones, on := 0, false
		for _, command := range o.asked {
			if string(command) == zone {
				zones++
			}
			on = on || string(command) == "\x03SET autocommit = 1"
		}
		if (err != nil) != o.cut || pool.n != c.resets || zones != c.zones || on || o.closed {
			t.Errorf("%s: %v, %d resets, the zone set %d times, autocommit on %t, closed %t; asked %q", c.name, err, pool.n, zones, on, o.closed, o.asked)
		}
	}
}

// TestSettled: before a clone is put back, the server has done all that the session asked for, and answered a ping, so that
// it cannot take the session for one at work; after it, it enters the database, which may have been gone.
func TestSettled(t *testing.T) {
	for text, want := range map[string][]string{
		"CALL ramaria.reset()":               {"\x03SIGNAL", "\x03SIGNAL", "\x0e", "\x1f", "\x0e", "reset", "\x02shop_7", "\x03SET character_set_client = 45"},
		"CALL ramaria.rollback()":            {"\x03SIGNAL", "\x03SIGNAL", "\x0e", "\x1f", "\x0e", "\x02shop_7", "\x03SET character_set_client = 45"},
		"CALL ramaria.reset('keep session')": {"\x03SIGNAL", "\x03SIGNAL", "\x03ROLLBACK", "\x03UNLOCK TABLES", "\x0e", "reset"},
	} {
		o := &obeyed{}
		pool := &resets{told: func() { o.asked = append(o.asked, []byte("reset")) }}
		s := &session{door: &Door{c: Config{Pool: pool}}, login: response{collation: utf8mb4}, server: &upstream{}, seat: &seat{lease: client.Database{Name: "shop_7"}}, relay: o}
		if got, err := s.statement(t.Context(), text, false); got != nothing || err != nil {
			t.Errorf("%s: %s, %v", text, got, err)
		}
		same := slices.EqualFunc(o.asked, want, func(got []byte, want string) bool { return strings.HasPrefix(string(got), want) })
		if !same {
			t.Errorf("%s: the server is asked %q, want %q", text, o.asked, want)
		}
	}
}
