package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// LoadDir loads a dump that lies in several files; name is what their directory is called in errors.
// Counts are the rows that tables should have then, at least. People are told the notes first. See Load.
func (t Target) LoadDir(ctx context.Context, name string, parts []dump.Part, counts []dump.Count, notes []string) (dump.Summary, error) {
	for _, note := range notes {
		if t.Say != nil {
			t.Say("note: %s: %s", name, note)
		}
	}
	return t.load(ctx, name, parts, counts)
}

// progress is where the reader is in a dump of several parts. Lines count through all of them, so
// that what stands first is known; an error has the file's own.
type progress struct {
	// begun are the parts that were begun, and the lines before them.
	begun []begun
	// lines are those of the parts that were read.
	lines int
	// head are the SET statements that the present part begins with, until another statement comes;
	// nil then. last are those of the part before, and told how many settings it had made with them.
	head, last []dump.Statement
	atHead     bool
	told       int
	database   string // and the current one then
	epoch      int
	loaded     map[dump.TableName]int64 // rows, of tables that rows were counted of
	sum        dump.Summary
}

type begun struct {
	file string
	line int
}

// part loads a part of the dump.
func (l *loader) part(ctx context.Context, p *dump.Part) error {
	l.at.begun = append(l.at.begun, begun{p.File, l.at.lines + p.Before})
	l.at.head, l.at.atHead = nil, l.several()
	for _, text := range p.Settings {
		l.at.head = append(l.at.head, dump.Statement{Text: []byte(text), Delimiter: ";"})
	}
	l.pick = p.Pick
	if p.Rows != nil {
		l.scanner = dump.NewScanner(bytes.NewReader(nil), l.name) // for its settings
		l.scanner.For(l.runs)
		return l.rowPart(ctx, p)
	}
	in, err := l.openPart(ctx, p)
	if err != nil {
		return err
	}
	defer in.Close()
	text := io.Reader(in)
	if !l.binary && !p.Binary {
		text = newLineEnds(in)
	}
	l.scanner = dump.NewScanner(text, l.name)
	l.scanner.ByRows()
	l.scanner.For(l.runs)
	if p.Database != "" {
		if err := l.use(p.Database); err != nil {
			return err
		}
	}
	err = l.read(ctx)
	l.count(l.scanner.Summary())
	if err == nil && l.several() {
		err = l.endPart(ctx)
	}
	return err
}

// several says that the dump has parts, with sessions of their own.
func (l *loader) several() bool { return l.parts[0].File != "" }

// picked says that a statement is one of those that are taken of the part.
func (l *loader) picked(st *dump.Statement) bool {
	if l.pick == nil {
		return true
	}
	if st.Rows != nil {
		return l.pick(dump.StatementRows)
	}
	switch kind := dump.Classify(st.Text, st.Delimiter).Kind; kind {
	case dump.StatementSet, dump.StatementSetTransactions, dump.StatementUse:
		return true
	default:
		return l.pick(kind)
	}
}

// openPart opens the text of a part.
func (l *loader) openPart(ctx context.Context, p *dump.Part) (io.ReadCloser, error) {
	in, err := p.Open()
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{dump.Until(ctx, in), in}, nil
}

// endPart begins what every part begins with, even if there was nothing else in it, and refuses one
// that leaves a transaction open.
func (l *loader) endPart(ctx context.Context) error {
	if err := l.beginSession(ctx); err != nil {
		return err
	}
	return l.ended()
}

// use makes a database the current one, as USE in the dump does.
func (l *loader) use(name string) error {
	l.at.sum.Current = name
	if !slices.Contains(l.at.sum.Databases, name) {
		l.at.sum.Databases = append(l.at.sum.Databases, name)
	}
	st := dump.Statement{Text: []byte("USE " + dbconn.QuoteName(name)), Delimiter: ";"}
	if l.rename != nil {
		if keep, err := l.rename.Apply(&st, l.name); err != nil || !keep {
			return err
		}
	}
	l.at.head = append(l.at.head, st)
	return nil
}

// count adds what a part's text was to the summary of all.
func (l *loader) count(s dump.Summary) {
	sum := &l.at.sum
	l.at.lines += s.Lines
	sum.Lines += s.Lines
	sum.Statements += s.Statements
	sum.Bytes += s.Bytes
	sum.NeedsDatabase = sum.NeedsDatabase || s.NeedsDatabase
	if s.Current != "" {
		sum.Current = s.Current
	}
	if sum.Maker == "" {
		sum.Maker = s.Maker
	}
	sum.Notices = append(sum.Notices, s.Notices...)
	for _, name := range s.Databases {
		if !slices.Contains(sum.Databases, name) {
			sum.Databases = append(sum.Databases, name)
		}
	}
}

// heads keeps the SET and USE statements that a part begins with, and reports whether this is one of
// them. With another statement it carries them out first: in new sessions, unless the part before had
// begun with the same and set nothing else. A dump may have many thousands of parts.
func (l *loader) heads(ctx context.Context, st *dump.Statement) (bool, error) {
	if !l.at.atHead {
		return false, nil
	}
	if st.Rows == nil {
		switch dump.Classify(st.Text, st.Delimiter).Kind {
		case dump.StatementSet, dump.StatementUse:
			own := *st
			own.Text = bytes.Clone(st.Text)
			l.at.head = append(l.at.head, own)
			return true, nil
		}
	}
	return false, l.beginSession(ctx)
}

// beginSession begins the session of a part.
func (l *loader) beginSession(ctx context.Context) error {
	if !l.at.atHead {
		return nil
	}
	l.at.atHead = false
	head := l.at.head
	same := func(a, b dump.Statement) bool { return bytes.Equal(a.Text, b.Text) }
	if l.at.last != nil && !l.alone && l.at.told == len(l.sets) && l.at.database == l.database && slices.EqualFunc(head, l.at.last, same) {
		return nil
	}
	if err := l.renew(ctx); err != nil {
		return err
	}
	for i := range head {
		if err := l.statement(ctx, &head[i]); err != nil {
			return err
		}
	}
	l.at.last, l.at.told, l.at.database = head, len(l.sets), l.database
	return nil
}

// renew has what follows be carried out in new sessions.
func (l *loader) renew(ctx context.Context) error {
	if err := l.settle(ctx); err != nil {
		return err
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	database := l.endpoint
	fresh, err := l.connect(ctx, database)
	if err != nil {
		return err
	}
	l.primary.conn.Close()
	l.primary, l.database = fresh, database
	l.sets, l.known, l.alone, l.open = nil, false, false, transaction{}
	l.at.epoch++
	return nil
}

// locate has an error name the file of the part and its line there.
func (l *loader) locate(err error) {
	fault, ok := errors.AsType[*dump.Error](err)
	if !ok || fault.File != l.name || len(l.at.begun) == 0 {
		return
	}
	at := l.at.begun[len(l.at.begun)-1]
	for i := len(l.at.begun) - 1; i >= 0 && fault.Line > 0; i-- {
		if at = l.at.begun[i]; fault.Line > at.line {
			break
		}
	}
	if at.file != "" {
		fault.File = at.file
	}
	if fault.Line > 0 {
		fault.Line -= at.line
	}
}

// checkCounts compares what tables have with what the dump says of them. Rows are counted as they
// are read; only where that gives too few, the server counts.
func (l *loader) checkCounts(ctx context.Context, counts []dump.Count) error {
	for _, c := range counts {
		name := dump.TableName{Database: c.Database, Name: c.Table}
		if l.rename != nil {
			if !l.rename.Takes(c.Database) {
				continue
			}
			name.Database = l.rename.To
		}
		if name.Database == "" {
			name.Database = l.endpoint
		}
		if l.at.loaded[name] >= c.Rows {
			continue
		}
		var n int64
		if err := l.primary.conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+name.String()).Scan(&n); err != nil {
			return &dump.Error{File: c.File, Msg: fmt.Sprintf("it says that %s has %d rows, and that table cannot be read: %v", name, c.Rows, err), Hint: "is the directory complete? copy or make the dump again"}
		}
		if n < c.Rows {
			return &dump.Error{File: c.File, Msg: fmt.Sprintf("it says that %s has %d rows, and only %d were loaded: a file of it is missing, or is cut short", name, c.Rows, n), Hint: "copy or make the dump again"}
		}
	}
	return nil
}
