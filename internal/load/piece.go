package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// piece are rows of a file as they stand there, for LOAD DATA.
type piece struct {
	text []byte
	// ends are where rows end in text.
	ends []int
	// into is what follows the name of the table in LOAD DATA.
	into   string
	format dump.LineFormat
	line   int // in which text begins
}

// lineOf returns the line in which a row begins; rows count from 0.
func (p *piece) lineOf(row int) int {
	if row <= 0 || row > len(p.ends) {
		return p.line
	}
	return p.line + bytes.Count(p.text[:p.ends[row-1]], []byte{'\n'})
}

// rowPart loads a file of rows. It reads some megabytes at a time; each goes to a worker as it is, if the
// order of the table's rows means nothing.
func (l *loader) rowPart(ctx context.Context, p *dump.Part) error {
	if p.Database != "" {
		if err := l.use(p.Database); err != nil {
			return err
		}
		if l.rename != nil && !l.rename.Takes(p.Database) {
			return nil
		}
	}
	if err := l.beginSession(ctx); err != nil {
		return err
	}
	if !l.fit.RowsOf(p.Database) {
		return nil
	}
	in, err := l.openPart(ctx, p)
	if err != nil {
		return err
	}
	defer in.Close()
	t, err := l.intoFile(ctx, p.Rows)
	if err != nil {
		return err
	}
	r := &rowReader{in: in, format: p.Rows.Lines, line: l.at.lines + 1}
	if err := r.skip(p.Rows.Skip); err != nil {
		return l.rowFault(r, p.Rows, err)
	}
	if err := l.pieces(ctx, t, p.Rows, r); err != nil {
		return l.rowFault(r, p.Rows, err)
	}
	l.count(dump.Summary{Statements: 1, Bytes: r.bytes, Lines: r.line - 1 - l.at.lines})
	if want := p.Rows.Bytes; want >= 0 && r.bytes != want {
		return &dump.Error{File: l.name, Msg: fmt.Sprintf("the file has %d bytes of rows, and the dump says %d: it is cut short, or another", r.bytes, want), Hint: "copy or make the dump again"}
	}
	if p.Rows.More {
		return nil
	}
	l.lock.Lock()
	t.ended = true
	idle := t.outstanding == 0 && t.keys != ""
	l.lock.Unlock()
	if idle {
		return l.hand(ctx, &chunk{table: t, sets: l.sets, epoch: l.at.epoch})
	}
	return nil
}

// rowFault completes an error about a file of rows.
func (l *loader) rowFault(r *rowReader, f *dump.RowFile, err error) error {
	if errors.Is(err, errRowLong) {
		return &dump.Error{File: l.name, Line: r.line, Msg: err.Error(), Hint: "lines may end otherwise than the dump says: copy or make the dump again"}
	}
	if !errors.Is(err, errRowCut) {
		return err
	}
	return &dump.Error{File: l.name, Line: r.line, Msg: "the file ends in the middle of a row of " + f.Table, Hint: "the file is cut short: copy or make the dump again"}
}

// intoFile finds the table of a file of rows.
func (l *loader) intoFile(ctx context.Context, f *dump.RowFile) (*table, error) {
	if err := l.settle(ctx); err != nil {
		return nil, err
	}
	if err := l.flush(ctx); err != nil {
		return nil, err
	}
	if err := l.know(ctx); err != nil {
		return nil, err
	}
	t, err := l.table(ctx, l.resolve("", f.Table))
	if err != nil {
		return nil, err
	}
	l.lock.Lock()
	making := t.ended && t.keys != ""
	t.ended = false
	l.lock.Unlock()
	if making {
		return t, l.wait(ctx, t)
	}
	return t, nil
}

// pieces reads the rows of a file and has them sent.
func (l *loader) pieces(ctx context.Context, t *table, f *dump.RowFile, r *rowReader) error {
	into := ""
	for {
		text, ends, err := r.next(lastChunk)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if into == "" {
			if into, err = l.intoColumns(t, f, r, text[:ends[0]]); err != nil {
				return err
			}
		}
		p := &piece{text: text, ends: ends, into: into, format: f.Lines, line: r.line - bytes.Count(text, []byte{'\n'})}
		small := t.fresh && r.ended() && !f.More
		if t.fresh && !small && t.shape != nil && t.shape.Bare != nil && l.free(t) {
			t.line = p.line
			if err := l.dropKeys(ctx, t); err != nil {
				return err
			}
		}
		if err := l.sendPiece(ctx, t, p, small); err != nil {
			return err
		}
		t.fresh = false
		l.at.loaded[t.name] += int64(len(ends))
	}
}

// sendPiece has a worker load a piece, or loads it here, after all that came before.
func (l *loader) sendPiece(ctx context.Context, t *table, p *piece, small bool) error {
	c := &chunk{table: t, piece: p, facts: l.facts, sets: l.sets, epoch: l.at.epoch, head: []byte("LOAD DATA INTO TABLE " + t.name.String())}
	if l.free(t) {
		c.bulk = small && l.bulk && !l.facts.foreignKeyChecks
		return l.hand(ctx, c)
	}
	if err := l.barrier(ctx); err != nil {
		return err
	}
	if t.triggers {
		l.filled()
	}
	c.database = l.database
	if err := l.loadPiece(ctx, l.primary, c); err != nil {
		_ = l.primary.exec(context.WithoutCancel(ctx), "ROLLBACK") // where the connection is gone, the server does it
		return err
	}
	return l.primary.exec(ctx, "COMMIT")
}

// intoColumns returns what follows the table's name in LOAD DATA. Where the dump does not say which
// columns the fields are, their number must tell.
func (l *loader) intoColumns(t *table, f *dump.RowFile, r *rowReader, row []byte) (string, error) {
	if f.Columns != "" || t.shape == nil {
		return f.Options + " " + f.Columns, nil
	}
	var all, stored, set []string
	for _, c := range t.shape.Columns {
		name, variable := dbconn.QuoteName(c.Name), fmt.Sprintf("@ramaria_%d", len(all))
		switch {
		case c.Generated:
			all = append(all, variable)
			continue
		case c.Kind == dump.JSONColumn: // MySQL makes none of bytes
			set = append(set, name+" = CONVERT("+variable+" USING utf8mb4)")
			name = variable
		}
		all, stored = append(all, name), append(stored, name)
	}
	n, setting := f.Lines.Count(row), ""
	if set != nil {
		setting = " SET " + strings.Join(set, ", ")
	}
	for _, names := range [][]string{all, stored} {
		if n == len(names) {
			return f.Options + " (" + strings.Join(names, ",") + ")" + setting, nil
		}
	}
	return "", &dump.Error{File: l.name, Line: r.line - bytes.Count(r.given, []byte{'\n'}),
		Msg:  fmt.Sprintf("its first row has %d fields, and table %s has %d columns: fields do not end in a tab, or it is the file of another table", n, t.name, len(all)),
		Hint: "dump without --fields-terminated-by and the like, which the files do not tell; or load this one yourself: LOAD DATA LOCAL INFILE ... INTO TABLE " + t.name.String() + " FIELDS TERMINATED BY ..."}
}

// loadPiece loads a piece by LOAD DATA and does not commit it. The server takes what it can of a value, and leaves
// out a row that it cannot have: what it warns of is an error here, unless it is a note, which INSERT gives too.
func (l *loader) loadPiece(ctx context.Context, s *session, c *chunk) error {
	p := c.piece
	further := "INTO TABLE " + c.table.name.String() + " " + p.into
	if !c.table.noted.Load() && c.table.shape != nil && c.table.shape.InnoDB {
		done, err := dbconn.LoadData(ctx, s.conn, further, bytes.NewReader(p.text))
		if err != nil {
			return l.refused(err, p.line, c.head)
		}
		if done == (dbconn.Loaded{Rows: int64(len(p.ends))}) {
			return nil
		}
		// What it was shows only behind the statement itself.
		if err := s.exec(ctx, "ROLLBACK"); err != nil {
			return l.refused(err, p.line, c.head)
		}
	}
	warnings, all, err := dbconn.LoadDataWarned(ctx, s.conn, further, bytes.NewReader(p.text))
	if err != nil {
		return l.refused(err, p.line, c.head)
	}
	for _, w := range warnings {
		if w.Harmless() {
			continue
		}
		where := ""
		if w.Row() == 0 && len(p.ends) > 1 {
			where = fmt.Sprintf(" (in one of %d rows from this line on)", len(p.ends))
		}
		fault := dump.Refused(l.name, p.lineOf(w.Row()-1), c.head, fmt.Sprintf("the server does not take a row as it is: %d %s%s", w.Code, w.Message, where), nil)
		fault.Hint = "was the dump made of another kind of server, or with other options for its fields? what stands before was loaded"
		return fault
	}
	if !all {
		fault := dump.Refused(l.name, p.line, c.head, fmt.Sprintf("the server has more than %d notes on rows, and does not keep them: whether one is a fault cannot be told", len(warnings)), nil)
		fault.Hint = "SET GLOBAL max_error_count = 65535, as an account that may, and load again"
		return fault
	}
	c.table.noted.Store(true)
	return nil
}
