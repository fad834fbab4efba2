package load

import (
	"bytes"
	"context"
	"slices"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// computed is how the rows behind one head lose what they have for generated columns.
type computed struct {
	head   []byte // nil if it is not known
	places []int  // of such columns in a row; none if it has none
	names  []string
	text   []byte // the head without them
}

// ungenerate takes values for generated columns out of rows: one server refuses them, the other ignores them.
func (l *loader) ungenerate(ctx context.Context, st *dump.Statement) error {
	g := &l.computed
	if g.head == nil || !bytes.Equal(g.head, st.Text) {
		if err := l.findGenerated(ctx, st.Text); err != nil {
			return err
		}
	}
	if len(g.places) == 0 {
		return nil
	}
	rows := make([]byte, 0, len(st.Rows))
	ends := make([]int, 0, len(st.Ends))
	var fields [][]byte
	from := 0
	for _, end := range st.Ends {
		fields = l.scanner.Fields(fields[:0], st.Rows[from:end])
		if len(fields) <= g.places[len(g.places)-1] { // too few: the server will tell
			return nil
		}
		row := st.Rows[from:end]
		rows = append(rows, row[:bytes.IndexByte(row, '(')+1]...)
		first := true
		for i, field := range fields {
			if j := slices.Index(g.places, i); j >= 0 {
				if !bytes.EqualFold(field, []byte("default")) {
					l.fit.Generated(g.names[j])
				}
				continue
			}
			if !first {
				rows = append(rows, ',')
			}
			first = false
			rows = append(rows, field...)
		}
		rows = append(rows, ')')
		ends = append(ends, len(rows))
		from = end
	}
	st.Text, st.Rows, st.Ends = g.text, rows, ends
	return nil
}

// findGenerated looks for generated columns among those that rows go into.
func (l *loader) findGenerated(ctx context.Context, head []byte) error {
	in := dump.ParseInsert(head)
	if err := l.know(ctx); err != nil {
		return err
	}
	t, err := l.table(ctx, l.resolve(in.Database, in.Table))
	if err != nil {
		return err
	}
	l.computed = computed{head: bytes.Clone(head)}
	if t.shape == nil {
		return nil
	}
	g := &l.computed
	var kept []string
	for i, c := range t.shape.Into(in) {
		if c.Generated && !c.RowTime {
			g.places, g.names = append(g.places, i), append(g.names, in.Table+"."+c.Name)
		} else {
			kept = append(kept, dbconn.QuoteName(c.Name))
		}
	}
	if len(g.places) > 0 {
		g.text = dump.Onto(head, kept)
	}
	return nil
}
