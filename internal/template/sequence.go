package template

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// SequenceState is where a sequence stands. Numbers are texts: they may be negative, or above
// what an int64 holds.
type SequenceState struct {
	// Next is the value that comes next, unless the server has taken some more into memory.
	Next string `json:"next"`
	// Rounds is how often it has begun again.
	Rounds string `json:"rounds"`
	// Over says that Next lies outside of its bounds: it has run out, or begins again.
	Over bool `json:"over,omitempty"`
}

// sequenceState reads the one row of a sequence.
// https://mariadb.com/kb/en/sequence-overview/
func sequenceState(row map[string]string) SequenceState {
	return SequenceState{
		Next: row["next_not_cached_value"], Rounds: row["cycle_count"],
		Over: less(row["next_not_cached_value"], row["minimum_value"]) || less(row["maximum_value"], row["next_not_cached_value"]),
	}
}

func less(a, b string) bool {
	var x, y big.Int
	_, okA := x.SetString(a, 10)
	_, okB := y.SetString(b, 10)
	return okA && okB && x.Cmp(&y) < 0
}

// restart returns the statements that bring a sequence to a state, wherever it stands. RESTART
// goes backwards as well, within the bounds, and forgets the rounds and what is in memory; SETVAL
// goes on from there.
func restart(own string, s SequenceState) []string {
	set := "DO SETVAL(" + own + ", " + s.Next + ", 0, " + s.Rounds + ")"
	switch {
	case s.Over:
		return []string{"ALTER SEQUENCE " + own + " RESTART", set}
	case s.Rounds == "0":
		return []string{"ALTER SEQUENCE " + own + " RESTART " + s.Next}
	}
	return []string{"ALTER SEQUENCE " + own + " RESTART " + s.Next, set}
}

// Restart brings sequences of the database name to states.
func Restart(ctx context.Context, conn *sql.Conn, name string, states map[string]SequenceState) error {
	run := statements{ctx: ctx, conn: conn}
	for table, state := range states {
		for _, statement := range restart(dbconn.QuoteName(name)+"."+dbconn.QuoteName(table), state) {
			if err := run.add(statement); err != nil {
				return fmt.Errorf("restart the sequence %s of %s: %w", table, name, err)
			}
		}
	}
	if err := run.run(); err != nil {
		return fmt.Errorf("restart sequences of %s: %w", name, err)
	}
	return nil
}

// SettleSequences sets each sequence of a database to the very value that comes next, and
// returns the states, by name. A server takes many values into memory at once, and only what
// comes behind them can be read: so the next one is taken, and given back.
func SettleSequences(ctx context.Context, conn *sql.Conn, name string) (map[string]SequenceState, error) {
	r := reader{ctx: ctx, conn: conn, shape: &Shape{Name: name}}
	if err := r.tables(); err != nil {
		return nil, fmt.Errorf("settle sequences of %s: %w", name, err)
	}
	states := map[string]SequenceState{}
	for _, t := range r.shape.Tables {
		if t.Kind != Sequence {
			continue
		}
		state, err := settleSequence(&r, dbconn.QuoteName(name)+"."+dbconn.QuoteName(t.Name))
		if err != nil {
			return nil, fmt.Errorf("settle sequence %s of %s: %w", t.Name, name, err)
		}
		states[t.Name] = state
	}
	return states, nil
}

func settleSequence(r *reader, own string) (state SequenceState, err error) {
	read := func(row map[string]string) error {
		state = sequenceState(row)
		return nil
	}
	if err := r.each(read, "SELECT * FROM "+own); err != nil {
		return state, err
	}
	var next string
	err = r.conn.QueryRowContext(r.ctx, "SELECT NEXTVAL("+own+")").Scan(&next)
	if dbconn.SequenceOver(err) {
		return state, nil // and so it is for everybody
	}
	if err != nil {
		return state, err
	}
	if err := r.each(read, "SELECT * FROM "+own); err != nil {
		return state, err
	}
	state.Next, state.Over = next, false
	run := statements{ctx: r.ctx, conn: r.conn}
	for _, statement := range restart(own, state) {
		if err := run.add(statement); err != nil {
			return state, err
		}
	}
	return state, run.run()
}
