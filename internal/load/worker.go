package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// hand gives a chunk to a worker, and starts another one as long as there may be more.
func (l *loader) hand(ctx context.Context, c *chunk) error {
	l.lock.Lock()
	c.table.outstanding++
	if c.some() {
		l.turns.given++
		c.number = l.turns.given
	}
	l.lock.Unlock()
	c.database = l.database
	if l.started < l.workers {
		l.started++
		l.group.Go(func() { l.toil(l.work, c) })
		return nil
	}
	if ctx.Err() == nil {
		select {
		case l.tasks <- c:
			return nil
		case <-ctx.Done():
		}
	}
	l.finish(ctx, nil, c, nil)
	return errors.Join(l.broken(), ctx.Err())
}

// toil sends chunks until there are no more.
func (l *loader) toil(ctx context.Context, first *chunk) {
	s, err := l.worker(ctx, first)
	if err == nil {
		defer func() { s.conn.Close() }()
		err = l.do(ctx, s, first)
	}
	l.turnOver(first, err)
	l.finish(ctx, s, first, err)
	for c := range l.tasks {
		switch {
		case s == nil: // the fault is known
		case ctx.Err() != nil:
			err = ctx.Err()
		default:
			if err = l.follows(ctx, s, c); err == nil {
				err = l.do(ctx, s, c)
			}
		}
		l.turnOver(c, err)
		l.finish(ctx, s, c, err)
	}
}

// worker returns the session of a worker.
func (l *loader) worker(ctx context.Context, c *chunk) (*session, error) {
	s, err := l.connect(ctx, c.database)
	if err != nil {
		return nil, err
	}
	s.epoch = c.epoch
	if err := s.exec(ctx, shortWait); err != nil {
		s.conn.Close()
		return nil, err
	}
	return s, nil
}

// follows gives a worker another session where a chunk needs one that nothing was set in.
func (l *loader) follows(ctx context.Context, s *session, c *chunk) error {
	if s.epoch == c.epoch {
		return nil
	}
	fresh, err := l.worker(ctx, c)
	if err != nil {
		return err
	}
	s.conn.Close()
	*s = *fresh
	return nil
}

// A worker that meets rows that another holds back until its turn does not wait for them, nor for a statement that
// wants the table for itself, as CREATE TABLE with a foreign key to it: that one may wait for what another worker holds
// until the turn of this one, which no server takes for a deadlock. One whose turn it is waits as a client does.
const (
	shortWait = "SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1"
	longWait  = "SET innodb_lock_wait_timeout = DEFAULT, lock_wait_timeout = DEFAULT"
)

// finish takes note of the end of a chunk, and makes the keys of a table whose last it was.
func (l *loader) finish(ctx context.Context, s *session, c *chunk, err error) {
	l.fail(err)
	t := c.table
	l.lock.Lock()
	defer l.lock.Unlock()
	if s != nil && t.outstanding == 1 && t.ended && t.keys != "" && l.fault == nil && ctx.Err() == nil {
		keys := t.keys
		l.lock.Unlock() // no other worker is at this table
		err := s.alter(ctx, keys)
		if err != nil {
			l.fail(l.refused(err, t.line, []byte(keys)))
		}
		l.lock.Lock()
		if err == nil {
			t.keys = ""
		}
	}
	t.outstanding--
	l.settled.Broadcast()
}

// fail keeps the fault that stands first in the dump, and ends the load.
func (l *loader) fail(err error) {
	if err == nil || errors.Is(err, errBehind) {
		return
	}
	line := 0
	if fault, ok := errors.AsType[*dump.Error](err); ok {
		line = fault.Line
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.fault == nil || line > 0 && (l.line == 0 || line < l.line) {
		l.fault, l.line = err, line
	}
	l.cancel()
	l.settled.Broadcast()
}

func (l *loader) broken() error {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.fault
}

// do sends the rows of a chunk, and commits them when all that stands before them is in.
func (l *loader) do(ctx context.Context, s *session, c *chunk) error {
	byData := c.piece != nil || len(c.ends) > 0 && l.byData(c)
	if l.behindFault(c) {
		return errBehind
	}
	if err := l.follow(ctx, s, c, c.bulk && byData); err != nil || !c.some() {
		return err
	}
	for try := 1; ; try++ {
		what, err := l.attempt(ctx, s, c, byData)
		if what == held {
			var mine bool
			if mine, err = l.turn(ctx, c, true); mine {
				if err = s.exec(ctx, "COMMIT"); err == nil {
					return nil
				}
				what, err = refused, l.refused(err, c.line(0), c.head)
			}
		}
		if _, said := dbconn.RefusalOf(err); err != nil && !said && !dbconn.TooLarge(err) {
			_ = s.exec(context.WithoutCancel(ctx), "ROLLBACK") // where the connection is gone, the server does it
			return err
		}
		if err := s.exec(ctx, "ROLLBACK"); err != nil {
			return l.refused(err, c.line(0), c.head)
		}
		switch {
		case what != refused && try < maxTries:
			if err := l.recall(ctx, c); err != nil {
				return err
			}
		case byData && c.piece == nil:
			c.table.odd.Add(1)
			byData = false
			if err := l.follow(ctx, s, c, false); err != nil {
				return err
			}
		default:
			return l.judge(ctx, s, c)
		}
	}
}

// judge sends a chunk that was refused once more, in its turn and alone: now the verdict counts.
func (l *loader) judge(ctx context.Context, s *session, c *chunk) error {
	if err := l.recall(ctx, c); err != nil {
		return err
	}
	if err := s.exec(ctx, longWait); err != nil {
		return l.refused(err, c.line(0), c.head)
	}
	if c.piece != nil {
		if err := l.loadPiece(ctx, s, c); err != nil {
			_ = s.exec(context.WithoutCancel(ctx), "ROLLBACK") // where the connection is gone, the server does it
			return err
		}
		if err := s.exec(ctx, "COMMIT"); err != nil {
			return l.refused(err, c.line(0), c.head)
		}
	} else if err := l.insert(ctx, s, c); err != nil {
		return err
	}
	if err := s.exec(ctx, shortWait); err != nil {
		return l.refused(err, c.line(0), c.head)
	}
	return nil
}

// attempted is what came of the rows of a chunk.
type attempted uint8

const (
	held    attempted = iota // they are in the session's transaction
	blocked                  // another session has locks on what they need
	refused                  // an INSERT, or a row by itself, has to tell what is wrong
)

// attempt sends the rows of a chunk and does not commit them.
func (l *loader) attempt(ctx context.Context, s *session, c *chunk, byData bool) (attempted, error) {
	var ok bool
	var err error
	if c.piece != nil {
		err = l.loadPiece(ctx, s, c)
		ok = err == nil
	} else if byData {
		ok, err = l.loadData(ctx, s, c)
	} else if err = s.exec(ctx, "START TRANSACTION"); err == nil {
		err = c.spans(func(from, to int) error { return s.exec(ctx, string(c.statement(from, to))) })
		ok = err == nil
	}
	switch {
	case ok:
		return held, nil
	case err == nil:
		return refused, nil
	case dbconn.LockTimeout(err):
		return blocked, err
	case byData:
		return refused, err
	}
	return refused, l.refused(err, c.line(0), c.head)
}

// byData says that LOAD DATA is tried with rows.
func (l *loader) byData(c *chunk) bool {
	return c.columns != nil && !l.noData.Load() && c.table.odd.Load() < maxOdd && c.facts.charset(nil) != ""
}

// follow sets the session of a worker up as a chunk needs it.
func (l *loader) follow(ctx context.Context, s *session, c *chunk, bulk bool) error {
	if err := s.follow(ctx, c.sets, c.database, bulk); err != nil {
		return fmt.Errorf("load %s: prepare another connection: %w", l.name, err)
	}
	return nil
}

// maxOdd is after how many chunks that LOAD DATA could not take a table's rows are no longer
// tried.
const maxOdd = 3

// loadData sends a chunk by LOAD DATA. It returns false if INSERT has to tell what its rows mean.
func (l *loader) loadData(ctx context.Context, s *session, c *chunk) (bool, error) {
	charset := c.facts.charset(c.rows)
	if charset == "" {
		return false, nil
	}
	text := make([]byte, 0, len(c.rows)+len(c.rows)/8)
	for i := range c.ends {
		var ok bool
		if text, ok = dump.AppendFields(text, c.row(i), c.columns); !ok {
			return false, nil
		}
	}
	var further strings.Builder
	further.WriteString("INTO TABLE " + c.table.name.String() + " CHARACTER SET " + charset +
		` FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n' (`)
	for i, column := range c.columns {
		if i > 0 {
			further.WriteString(",")
		}
		further.WriteString(dbconn.QuoteName(column.Name))
	}
	further.WriteString(")")
	done, err := dbconn.LoadData(ctx, s.conn, further.String(), bytes.NewReader(text))
	if dbconn.NoLocalFiles(err) {
		l.noData.Store(true)
	}
	if err != nil {
		return false, l.refused(err, c.line(0), c.head)
	}
	return done == (dbconn.Loaded{Rows: int64(len(c.ends))}), nil
}

// maxTries is how often rows are sent that met a lock of other rows of the same table.
const maxTries = 10

// insert sends a chunk as INSERTs, each of which counts.
func (l *loader) insert(ctx context.Context, s *session, c *chunk) error {
	loose := c.loose()
	return c.spans(func(from, to int) error {
		if loose && !c.table.made {
			return l.insertWhole(ctx, s, c, from, to)
		}
		return l.insertSpan(ctx, s, c, from, to, loose)
	})
}

// insertSpan sends some rows as one INSERT. If that is refused, and the rows are loose, it finds
// the first row that is not taken by itself; those before it stay.
func (l *loader) insertSpan(ctx context.Context, s *session, c *chunk, from, to int, loose bool) error {
	text := c.statement(from, to)
	for try := 1; ; try++ {
		err := s.exec(ctx, string(text))
		if err != nil {
			err = l.lenient(ctx, s, string(text), err)
		}
		_, said := dbconn.RefusalOf(err)
		switch {
		case err == nil:
			return nil
		case (loose || c.number > 0) && dbconn.LockTimeout(err) && try < maxTries:
			continue
		case !loose:
			return l.refused(err, c.origin(from).statement, text)
		case to-from == 1 || !said && !dbconn.TooLarge(err) || ctx.Err() != nil:
			return l.refused(err, c.line(from), text)
		}
		break
	}
	middle := from + (to-from)/2
	if err := l.insertSpan(ctx, s, c, from, middle, loose); err != nil {
		return err
	}
	return l.insertSpan(ctx, s, c, middle, to, loose)
}

// insertWhole sends some rows as one INSERT. If that is refused, it sends them in the statements that they
// stand in, of which one that is refused leaves nothing: the dump has not made the table.
func (l *loader) insertWhole(ctx context.Context, s *session, c *chunk, from, to int) error {
	text := string(c.statement(from, to))
	err := s.exec(ctx, text)
	if err != nil {
		err = l.lenient(ctx, s, text, err)
	}
	if err == nil {
		return nil
	}
	var next int
	for ; from < to; from = next {
		next = min(c.statementEnd(from), to)
		if c.number == 0 && l.alone { // the dump may have a transaction open
			text := c.statement(from, next)
			if err := s.exec(ctx, string(text)); err != nil {
				return l.refused(err, c.origin(from).statement, text)
			}
			continue
		}
		if err := s.exec(ctx, "START TRANSACTION"); err != nil {
			return l.refused(err, c.line(from), c.head)
		}
		if err := l.insertSpan(ctx, s, c, from, next, true); err != nil {
			_ = s.exec(context.WithoutCancel(ctx), "ROLLBACK") // where the connection is gone, the server does it
			return err
		}
		if err := s.exec(ctx, "COMMIT"); err != nil {
			return l.refused(err, c.line(from), c.head)
		}
	}
	return nil
}

// refused returns the error for a statement that was not carried out.
func (l *loader) refused(err error, line int, text []byte) error {
	said, ok := dbconn.RefusalOf(err)
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case ok:
		return dump.Refused(l.name, line, text, fmt.Sprintf("the server refused a statement: %d (%s) %s", said.Code, said.State, said.Message), err)
	case dbconn.TooLarge(err):
		fault := dump.Refused(l.name, line, text, fmt.Sprintf("a statement of %d bytes is larger than max_allowed_packet of the server", len(text)), err)
		fault.Hint = "SET GLOBAL max_allowed_packet = 1073741824, as an account that may; a new instance gets it by ramaria up NEW --set max_allowed_packet=1G; what stands before was loaded"
		return fault
	case strings.Contains(err.Error(), "is not registered"): // the driver has no file that the server asks for
		fault := dump.Refused(l.name, line, text, "LOAD DATA LOCAL reads another file of the client's, which a load never does", err)
		fault.Hint = "dump these rows as INSERT, or load the file with the client: ramaria sql NAME <FILE; what stands before was loaded"
		return fault
	case dbconn.Gone(err):
		return dump.Refused(l.name, line, text, "the server has gone away", ErrServerGone)
	}
	return dump.Refused(l.name, line, text, err.Error(), err)
}
