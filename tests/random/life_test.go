package random

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/tests/grammar"
)

// verb is what a step of a lease's life does.
type verb string

const (
	run       verb = "run"        // a statement, to its end
	begin     verb = "begin"      // a statement, without waiting for its end
	await     verb = "await"      // the end of that
	killQuery verb = "kill query" // of a connection, by another
	kill      verb = "kill"       // a connection, by another
	cut       verb = "cut"        // a connection, as a client does that dies
	reset     verb = "reset"
	mark      verb = "mark"
	rewind    verb = "rewind"
	compare   verb = "compare" // with the template, or the mark
	use       verb = "use"     // each table, and compare with the same use of a plain copy
)

// step is one step of a life. Lives are made up as a whole before they are lived, so that one
// that failed can be lived again, and made shorter.
type step struct {
	verb verb
	conn int
	text string
	mode client.ResetMode
}

func (s step) String() string {
	switch s.verb {
	case run, begin:
		return fmt.Sprintf("%d %s: %s", s.conn, s.verb, s.text)
	case await, killQuery, kill, cut:
		return fmt.Sprintf("%d %s", s.conn, s.verb)
	}
	return strings.TrimSpace(fmt.Sprintf("- %s %s", s.verb, s.mode))
}

// connections is how many connections a lease uses at most.
const connections = 3

// mood says which statements a round has, by the rules of the grammar, of a hundred.
type mood [7]int

// rules are those of a mood, in its order.
var rules = [7]string{"gentle", "dml", "ddl", "txn", "session", "read", "play"}

var moods = []mood{
	{75, 0, 0, 15, 5, 5}, {60, 0, 0, 35, 0, 5}, {0, 70, 0, 10, 5, 10, 5}, {0, 50, 0, 20, 5, 5, 20}, {0, 50, 10, 10, 10, 10, 10}, {0, 40, 40, 5, 5, 5, 5}, {0, 25, 10, 20, 40, 5},
	{0, 0, 0, 15, 10, 75}, {0, 0, 100}, {0, 20, 20, 20, 10, 5, 25}, {0, 10, 0, 0, 0, 0, 90},
}

// newLife makes up the life of a lease of a schema.
func newLife(r *rand.Rand, g grammar.Grammar, s grammar.Schema, lease string) []step {
	l := life{Maker: grammar.Maker{Rand: r, Grammar: g, Tables: s.Tables, Scope: lease}}
	l.add(step{verb: compare})
	for range 2 + r.IntN(5) {
		l.round()
	}
	return l.steps
}

type life struct {
	grammar.Maker
	steps []step
}

func (l *life) add(s step) { l.steps = append(l.steps, s) }

func (l *life) chance(percent int) bool { return l.IntN(100) < percent }

// round does something to a clone, and has it put back.
func (l *life) round() {
	if l.chance(25) {
		l.mischief(moods[l.IntN(5)])
		l.add(step{verb: mark})
		for range 1 + l.IntN(3) {
			l.mischief(moods[l.IntN(len(moods)>>l.IntN(3))])
			l.oddMoment()
			l.add(step{verb: rewind, mode: l.mode()})
			l.look()
		}
		if l.chance(30) {
			return // the next round begins at the mark
		}
	} else {
		l.mischief(grammar.Pick(l.Rand, moods))
	}
	l.oddMoment()
	l.add(step{verb: reset, mode: l.mode()})
	l.Forget()
	l.look()
}

func (l *life) mode() client.ResetMode {
	if l.chance(15) {
		return client.KeepCounters
	}
	return client.RestoreCounters
}

// look compares, mostly, and uses, at times; so it is at times a reset upon a reset.
func (l *life) look() {
	if l.chance(95) {
		l.add(step{verb: compare})
	}
	if l.chance(20) {
		l.add(step{verb: use})
	}
}

// mischief is some statements.
func (l *life) mischief(m mood) {
	for range l.IntN(12) {
		s := step{verb: run, conn: l.IntN(connections) * l.IntN(2)}
		for i, n := 0, l.IntN(100); n >= 0; i++ {
			s.text, n = rules[i], n-m[i]
		}
		for _, s.text = range strings.Split(l.Make(s.text), " ;; ") {
			l.add(s)
		}
		if l.chance(2) {
			l.add(step{verb: cut, conn: s.conn})
		}
	}
}

// oddMoment puts a database back while connections are busy, killed or cut.
func (l *life) oddMoment() {
	if !l.chance(25) {
		return
	}
	conn := l.IntN(connections)
	kind := grammar.Pick(l.Rand, []string{"dml", "dml", "slow", "ddl", "slow"})
	l.add(step{verb: begin, conn: conn, text: l.Make(kind)})
	other := (conn + 1) % connections
	switch l.IntN(5) {
	case 0:
		l.add(step{verb: killQuery, conn: conn})
	case 1:
		l.add(step{verb: kill, conn: conn})
	case 2:
		l.add(step{verb: cut, conn: conn})
	case 3:
		l.add(step{verb: begin, conn: other, text: l.Make("slow")})
	}
}
