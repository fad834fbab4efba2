package load

import (
	"bytes"
	"context"
	"slices"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// Variables that tests make smaller.
var (
	// firstChunk and lastChunk are the sizes in bytes of the first chunk of a table and of
	// those of a large one: small enough to be shared out early, large enough to be worth it.
	firstChunk = 64 << 10
	lastChunk  = 4 << 20
	// largeTable is from where on, in bytes of rows, secondary keys are made behind the rows:
	// making them costs some milliseconds each.
	largeTable = 4 << 20
	// maxInsert is the size in bytes of an INSERT; a server takes 16 MB by default, and
	// gains nothing from more than this.
	maxInsert = 1 << 20
)

// chunk are rows of one table that are sent together.
type chunk struct {
	table *table
	// number is its place among the chunks, from 1 on; 0 for one without rows, and for those of the reader.
	number int
	// head is what stands before the rows, columns what they go into; nil if that is not known.
	head    []byte
	columns []dump.Column
	rows    []byte
	ends    []int
	// from says in which line of the dump runs of rows began.
	from []origin
	// piece are rows of a file, instead of head and rows.
	piece *piece
	facts facts
	sets  []setting
	epoch int // of sets
	// database is the current one.
	database string
	// whole says that the rows must stay the statement that they are.
	whole bool
	// bulk says that they are all that go into an empty table.
	bulk bool
	// null says that NULL may stand in one of them.
	null bool
}

// origin says that the row of this number, and those that follow, begin in that line, and their
// statement in which.
type origin struct{ row, line, statement int }

func (c *chunk) add(st *dump.Statement) {
	c.from = append(c.from, origin{len(c.ends), st.RowsLine, st.Line})
	if len(c.rows) > 0 {
		c.rows = append(c.rows, ',')
	}
	base := len(c.rows)
	c.rows = append(c.rows, st.Rows...)
	c.null = c.null || mayBeNull(st.Rows)
	c.ends = slices.Grow(c.ends, len(st.Ends))
	for _, end := range st.Ends {
		c.ends = append(c.ends, base+end)
	}
}

// some says that there are rows in it.
func (c *chunk) some() bool { return len(c.ends) > 0 || c.piece != nil }

// row returns the row of a number, without what separates it from the one before.
func (c *chunk) row(n int) []byte { return c.span(n, n+1) }

// span returns the rows from one number up to another.
func (c *chunk) span(from, to int) []byte {
	begin := 0
	if from > 0 {
		begin = c.ends[from-1]
	}
	rows := c.rows[begin:c.ends[to-1]]
	return rows[bytes.IndexByte(rows, '('):]
}

// statement returns an INSERT of the rows from one number up to another.
func (c *chunk) statement(from, to int) []byte {
	rows := c.span(from, to)
	text := make([]byte, 0, len(c.head)+len(rows))
	return append(append(text, c.head...), rows...)
}

// spans calls send with the numbers of the rows of each INSERT, until it fails.
func (c *chunk) spans(send func(from, to int) error) error {
	loose := c.loose()
	for from := 0; from < len(c.ends); {
		to := c.statementEnd(from)
		switch {
		case loose && c.table.made:
			to = from + 1
			for to < len(c.ends) && c.ends[to]-c.ends[from] < maxInsert {
				to++
			}
		case loose:
			for to < len(c.ends) && c.ends[c.statementEnd(to)-1]-c.ends[from] < maxInsert {
				to = c.statementEnd(to)
			}
		}
		if err := send(from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// line returns the line in which a row stands.
func (c *chunk) line(row int) int {
	if c.piece != nil {
		return c.piece.lineOf(row)
	}
	from, begin := c.origin(row), 0
	if from.row > 0 {
		begin = c.ends[from.row-1]
	}
	return from.line + bytes.Count(c.rows[begin:c.ends[row]-len(c.row(row))], []byte{'\n'})
}

// origin returns where a row comes from.
func (c *chunk) origin(row int) origin {
	i := len(c.from) - 1
	for i > 0 && c.from[i].row > row {
		i--
	}
	return c.from[i]
}

// cut returns the rows from one number up to another as a chunk of their own.
func (c *chunk) cut(from, to int) *chunk {
	part := *c
	part.rows = c.span(from, to)
	begin := c.ends[to-1] - len(part.rows)
	part.ends = make([]int, to-from)
	for i := range part.ends {
		part.ends[i] = c.ends[from+i] - begin
	}
	part.from = []origin{{0, c.line(from), c.origin(from).statement}}
	for _, o := range c.from {
		if o.row > from && o.row < to {
			part.from = append(part.from, origin{o.row - from, o.line, o.statement})
		}
	}
	return &part
}

// statementEnd returns the number of the first row behind a row that is not of its statement.
func (c *chunk) statementEnd(row int) int {
	for _, o := range c.from {
		if o.row > row {
			return o.row
		}
	}
	return len(c.ends)
}

// loose says that the rows can be sent in other statements than they stand in. If wrong values
// are not refused, NULL for a column that must not be NULL is 0 in an INSERT of several rows,
// but refused in one of one row: https://mariadb.com/kb/en/null-values/
func (c *chunk) loose() bool {
	return !c.whole && c.table.loose() && (!c.null || c.facts.strict())
}

// mayBeNull says that NULL stands somewhere in rows, in whatever case, if only inside a string.
func mayBeNull(rows []byte) bool {
	for i := 0; i+4 <= len(rows); i++ {
		if rows[i]|0x20 == 'n' && rows[i+1]|0x20 == 'u' && rows[i+2]|0x20 == 'l' && rows[i+3]|0x20 == 'l' {
			return true
		}
	}
	return false
}

// batch are rows that are sent in order, by the reader's own session.
type batch struct {
	chunk
	numbers numbering
}

// numbering is where rows have their AUTO_INCREMENT numbers from.
type numbering uint8

const (
	// mixed rows, and those of which it is not known, stay the statement that they are: how
	// many numbers the server passes over depends on it.
	mixed numbering = iota
	explicit
	generated
)

// rows takes the rows of a statement.
func (l *loader) rows(ctx context.Context, st *dump.Statement) error {
	l.open.changed(st.Line)
	if l.fit.Fix {
		if err := l.ungenerate(ctx, st); err != nil {
			return err
		}
	}
	t := l.current
	if t == nil || !bytes.Equal(t.rows.head, st.Text) || !l.known {
		var err error
		if t, err = l.into(ctx, st); err != nil {
			return err
		}
	}
	l.lookAtText(t, st.Rows)
	l.at.loaded[t.name] += int64(len(st.Ends))
	numbers := l.numbering(t, st)
	if !l.facts.plain() {
		numbers = mixed
	}
	if numbers != explicit || !t.plain || !l.free(t) {
		return l.inOrder(ctx, t, st, numbers)
	}
	if err := l.flushBatch(ctx); err != nil {
		return err
	}
	t.rows.add(st)
	size := len(t.rows.rows)
	if t.fresh && (t.shape.Bare != nil || l.fillsAtOnce(t)) && size < largeTable {
		return nil // it may yet turn out to be small
	}
	if t.fresh && t.shape.Bare != nil {
		t.line = st.Line
		if err := l.dropKeys(ctx, t); err != nil {
			return err
		}
	}
	if size < min(max(firstChunk, t.sent/2), lastChunk) {
		return nil
	}
	return l.send(ctx, t, 1)
}

// into finds the table of an INSERT and makes it the current one.
func (l *loader) into(ctx context.Context, st *dump.Statement) (*table, error) {
	if err := l.flushBatch(ctx); err != nil {
		return nil, err
	}
	in := dump.ParseInsert(st.Text)
	name := l.resolve(in.Database, in.Table)
	if t := l.current; t != nil {
		var err error
		if t.name == name {
			err = l.send(ctx, t, 1)
		} else {
			err = l.leave(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := l.know(ctx); err != nil {
		return nil, err
	}
	t, err := l.table(ctx, name)
	if err != nil {
		return nil, err
	}
	if l.current != t { // rows again: its keys are being made
		if err := l.wait(ctx, t); err != nil {
			return nil, err
		}
	}
	l.lock.Lock()
	t.ended = false
	l.lock.Unlock()
	t.plain = in.Plain
	t.rows = &chunk{table: t, head: bytes.Clone(st.Text), facts: l.facts, sets: l.sets, epoch: l.at.epoch}
	if t.shape != nil {
		t.rows.columns = t.shape.Into(in)
		t.counter = t.shape.Counter(t.rows.columns)
	}
	l.current = t
	return t, nil
}

// numbering tells where the rows of a statement have their numbers from.
func (l *loader) numbering(t *table, st *dump.Statement) numbering {
	switch {
	case t.shape == nil || t.rows.columns == nil:
		return mixed
	case t.counter == dump.NoCounter:
		return explicit
	case t.counter == dump.OmittedCounter:
		return generated
	}
	from, given := 0, 0
	for _, end := range st.Ends {
		if dump.Positive(l.scanner.Field(st.Rows[from:end], t.counter)) {
			given++
		}
		from = end
	}
	if given == len(st.Ends) {
		return explicit
	}
	return mixed
}

// inOrder sends rows by the reader's own session, after all that stands before.
func (l *loader) inOrder(ctx context.Context, t *table, st *dump.Statement, numbers numbering) error {
	if err := l.leave(ctx); err != nil {
		return err
	}
	l.current = t
	t.fresh = false
	if t.triggers {
		l.filled()
	}
	b := &l.batch
	if len(b.ends) > 0 && (b.table != t || !bytes.Equal(b.head, st.Text) || b.numbers != numbers || numbers == mixed ||
		!t.plain || !t.loose() || len(b.rows)+len(st.Rows) > maxInsert) {
		if err := l.flushBatch(ctx); err != nil {
			return err
		}
	}
	if len(b.ends) == 0 {
		b.chunk = chunk{table: t, head: t.rows.head, rows: b.rows[:0], ends: b.ends[:0], from: b.from[:0], facts: l.facts, whole: numbers == mixed}
		b.numbers = numbers
	}
	b.add(st)
	return nil
}

// flushBatch sends the rows that are kept in order.
func (l *loader) flushBatch(ctx context.Context) error {
	b := &l.batch
	if len(b.ends) == 0 {
		return nil
	}
	if err := l.barrier(ctx); err != nil {
		return err
	}
	c, err := &b.chunk, error(nil)
	if last := c.from[len(c.from)-1].row; b.numbers == generated && last > 0 {
		// Of the last statement, LAST_INSERT_ID() tells the first number.
		err = l.insert(ctx, l.primary, c.cut(0, last))
		c = c.cut(last, len(c.ends))
	}
	if err == nil {
		err = l.insert(ctx, l.primary, c)
	}
	b.rows, b.ends, b.from = b.rows[:0], b.ends[:0], b.from[:0]
	return err
}

// flush sends all rows that were not sent yet: something else comes.
func (l *loader) flush(ctx context.Context) error {
	if err := l.flushBatch(ctx); err != nil {
		return err
	}
	return l.leave(ctx)
}

// fillsAtOnce says that one session fills an empty table sooner than several, by LOAD DATA, if
// there are not too many rows.
func (l *loader) fillsAtOnce(t *table) bool {
	return l.bulk && !t.rows.facts.foreignKeyChecks && t.rows.loose() && l.byData(t.rows)
}

// leave sends the last rows of the current table, shared out among the workers.
func (l *loader) leave(ctx context.Context) error {
	t := l.current
	if t == nil {
		return nil
	}
	l.current = nil
	parts := min(l.workers, len(t.rows.rows)/firstChunk+1)
	t.rows.bulk = t.fresh && l.fillsAtOnce(t)
	if t.rows.bulk || !t.rows.loose() {
		parts = 1
	}
	if err := l.send(ctx, t, parts); err != nil {
		return err
	}
	l.lock.Lock()
	t.ended = true
	idle := t.outstanding == 0 && t.keys != ""
	l.lock.Unlock()
	t.rows.rows, t.rows.ends, t.rows.from = nil, nil, nil
	if idle { // in the session of its rows: the reader may not have told the server of later settings
		return l.hand(ctx, &chunk{table: t, sets: t.rows.sets, epoch: t.rows.epoch})
	}
	return nil
}

// send hands the rows of a table that were not sent yet to the workers, in so many parts.
func (l *loader) send(ctx context.Context, t *table, parts int) error {
	c := t.rows
	if c == nil || len(c.ends) == 0 {
		return nil
	}
	t.sent += len(c.rows)
	t.fresh = false
	next := *c
	next.bulk, next.null = false, false
	next.rows, next.ends, next.from = make([]byte, 0, min(len(c.rows), lastChunk)), make([]int, 0, min(len(c.ends), 1<<16)), nil
	t.rows = &next
	n := len(c.ends)
	if c.loose() && !c.bulk {
		parts = max(parts, len(c.rows)/lastChunk)
	}
	parts = min(parts, n)
	for i, from := 1, 0; from < n; i++ {
		to := i * n / parts
		if !t.made { // of a statement that is refused, nothing may have gone in
			to = c.statementEnd(max(from, to-1))
		}
		part := c
		if from > 0 || to < n {
			part = c.cut(from, to)
		}
		if err := l.hand(ctx, part); err != nil {
			return err
		}
		from = to
	}
	return nil
}
