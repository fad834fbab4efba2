package fit

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// Server is the one that a dump is loaded into.
type Server interface {
	// KnowsCollation asks whether it knows a collation.
	KnowsCollation(ctx context.Context, name string) (bool, error)
}

// Fit fits the statements of one dump to a server.
type Fit struct {
	Options
	server Server
	// owner is the definer that Mine names, "" for who loads.
	owner string
	pairs map[string]string // collations
	// known are collations that the server was asked for, and what is taken for them.
	known map[string]string
	// database is the current one.
	database string
	definers []Definer
	notes    notes
}

// Definer is an account that the dump names as one, and how many views, routines, triggers and events it has.
type Definer struct {
	User, Host string
	Count      int
}

// New returns one for a dump. Owner is the account, quoted, whose views and the like become that have no definer, or get another;
// "" is the one that loads.
func New(o Options, server Server, owner string) (*Fit, error) {
	pairs, err := o.collations()
	return &Fit{Options: o, server: server, owner: owner, pairs: pairs, known: map[string]string{}}, err
}

// Statement fits a statement that is no INSERT of rows: text as it is sent, meant as the server understands it
// (dump.Scanner.Meant). It returns false for one that is left out.
func (f *Fit) Statement(ctx context.Context, text, meant []byte) ([]byte, bool, error) {
	first := dump.NewWalk(meant).Next()
	if first.Is("use") {
		f.database = dump.Classify(meant, ";").Database
	}
	if f.Accounts == Skip && f.ofAccounts(meant) {
		return nil, false, nil
	}
	if f.ofReplication(first, meant) {
		return nil, false, nil
	}
	var edits edits
	switch {
	case first.Is("set"):
		// A versioned comment around it makes no difference.
		text = bytes.TrimSpace(meant)
		if text = f.settings(text); text == nil {
			return nil, false, nil
		}
		meant = text
	case first.Is("create"):
		f.definer(&edits, meant, 0)
		f.visible(text, meant)
	case first.Is("drop"): // and CREATE behind it, before the next delimiter
		if from := behindDrops(meant); from > 0 {
			f.definer(&edits, meant, from)
		}
	}
	if err := f.collate(ctx, &edits, meant); err != nil {
		return nil, false, err
	}
	return edits.of(text), true, nil
}

// Rows reports whether the rows of an INSERT go into their table at all; head is what stands before them.
func (f *Fit) Rows(head []byte) bool {
	return f.Accounts != Skip || f.RowsOf(dump.ParseInsert(head).Database)
}

// RowsOf reports the same of rows for a table of a database, "" for the current one.
func (f *Fit) RowsOf(database string) bool {
	if f.Accounts != Skip || !dbconn.SystemSchema(cmp.Or(database, f.database)) {
		return true
	}
	f.notes.add(ofAccounts, "the database mysql")
	return false
}

// edit replaces part of a text.
type edit struct {
	from, to int
	by       string
}

// edits are of one text, in order.
type edits []edit

func (e edits) of(text []byte) []byte {
	if len(e) == 0 {
		return text
	}
	slices.SortFunc(e, func(a, b edit) int { return a.from - b.from })
	var out []byte
	done := 0
	for _, one := range e {
		out = append(append(out, text[done:one.from]...), one.by...)
		done = one.to
	}
	return append(out, text[done:]...)
}
