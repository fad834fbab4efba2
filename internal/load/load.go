package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/fit"
	"github.com/ramaria-db/ramaria/internal/server"
)

// Target is where dumps are loaded to: a running server, by its socket. The endpoint's database
// is that of statements before any USE, "" for none.
type Target struct {
	// Server is what runs there: comments in statements are sent if its own client sends them.
	Server   *server.Server
	Endpoint dbconn.Endpoint
	// Rename sends dumps that name their own database to the endpoint's; nil leaves them alone.
	Rename *dump.Rename
	// Binary keeps CR LF in what is loaded, as the client's --binary-mode does.
	Binary bool
	// Fit is what of the dump is mapped. Owner is the account, quoted as in statements, that what has no definer gets, and what
	// Fit makes ours; "" is who loads.
	Fit   fit.Options
	Owner string
	// AllowEmpty takes a dump without a statement for one that means to have none.
	AllowEmpty bool
	// Say tells people about the dump; nil for nobody.
	Say func(format string, args ...any)
}

// CreateDatabase makes the database of the endpoint if it does not exist, and reports
// whether it made it.
func (t Target) CreateDatabase(ctx context.Context) (bool, error) {
	db, err := dbconn.Open(t.Endpoint.Socket, t.Endpoint.Login, "")
	if err != nil {
		return false, err
	}
	defer db.Close()
	made, err := db.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+dbconn.QuoteName(t.Endpoint.Database))
	if err != nil {
		return false, fmt.Errorf("make database %q: %w", t.Endpoint.Database, err)
	}
	n, err := made.RowsAffected()
	return n > 0, err
}

// ErrServerGone is matched by an error of Load that comes of the end of the server.
var ErrServerGone = errors.New("the server has gone away")

// errKeys is that of keys that could not be made.
var errKeys = errors.New("make keys again that were left for later")

// Unfinished reports whether, after an error of Load, tables may be without keys that they should have.
func Unfinished(err error) bool { return errors.Is(err, ErrServerGone) || errors.Is(err, errKeys) }

// maxWorkers bounds the connections that rows go by: more gain little on one server.
const maxWorkers = 4

// Load loads a dump; name is what it is called in errors. What the server refuses, and a fault of
// the dump, is a *dump.Error; what stands before it was carried out, of what stands behind some
// rows may be there. When ctx ends, the rows that were sent stay, and every table gets its keys.
func (t Target) Load(ctx context.Context, name string, in io.Reader) (dump.Summary, error) {
	return t.load(ctx, name, []dump.Part{{Open: func() (io.ReadCloser, error) { return io.NopCloser(in), nil }}}, nil)
}

func (t Target) load(ctx context.Context, name string, parts []dump.Part, counts []dump.Count) (dump.Summary, error) {
	db, err := dbconn.OpenLoading(t.Endpoint.Socket, t.Endpoint.Login, "")
	if err != nil {
		return dump.Summary{}, err
	}
	defer db.Close()
	db.SetMaxIdleConns(0) // a session that is closed has settings, which the next one must not get
	l := &loader{
		name: name, db: db, comments: t.Server.KeepsComments(), bulk: t.Server.FillsAtOnce(),
		parts: parts, counts: counts, binary: t.Binary, endpoint: t.Endpoint.Database, rename: t.Rename,
		at:      progress{loaded: map[dump.TableName]int64{}},
		tables:  map[dump.TableName]*table{},
		dropped: map[dump.TableName]bool{},
		before:  map[string]map[string]bool{},
		tasks:   make(chan *chunk),
		turns:   turns{next: 1},
		// The reader is one of those that keep the processors busy, but it mostly waits.
		workers: min(max(2, runtime.NumCPU()), maxWorkers),
	}
	l.runs = t.Server.RunsComment
	if l.fit, err = fit.New(t.Fit, l, t.Owner); err != nil {
		return dump.Summary{}, err
	}
	if l.rename != nil {
		l.rename.Begin()
	}
	l.users = t.Server.Dialect().Users
	l.settled = sync.NewCond(&l.lock)
	err = l.run(ctx, t.Endpoint.Database)
	sum := l.at.sum
	l.advise(context.WithoutCancel(ctx), err)
	l.locate(err)
	t.otherFlavour(err, sum)
	l.tell(ctx, t.Say, sum)
	if err == nil && l.rename != nil {
		err = l.rename.Missed(sum, name)
	}
	if err == nil && sum.Statements == 0 && !t.AllowEmpty {
		err = &dump.Error{
			File: name, Msg: "there is not one statement in it",
			Hint: "did the program that writes it fail, or is it another file? --allow-empty takes it as it is",
		}
	}
	return sum, err
}

type loader struct {
	name    string
	db      *sql.DB
	scanner *dump.Scanner
	rename  *dump.Rename // may be nil
	fit     *fit.Fit
	users   string // asks for accounts
	workers int
	// comments says that they are sent, and bulk that the server fills an empty table in one go.
	comments, bulk bool

	// The dump, and where it goes.
	parts    []dump.Part
	counts   []dump.Count
	binary   bool
	runs     dump.Runs
	endpoint string // the database of statements before any USE

	// Of the reader.
	at       progress
	pick     func(dump.StatementKind) bool // of the present part; may be nil
	primary  *session
	database string    // the current one
	sets     []setting // what every session is told
	facts    facts
	known    bool // the facts are those of now
	tables   map[dump.TableName]*table
	dropped  map[dump.TableName]bool    // by the dump, and not made again
	before   map[string]map[string]bool // by database, the names of tables that were there, in lower case; nil for not asked
	objects  *bool                      // views, routines or events were there; nil for not asked
	current  *table                     // the one whose rows came last
	batch    batch                      // rows in order, not sent yet
	computed computed                   // of the rows that came last
	foreign  []key                      // foreign keys to be made at the end
	alone    bool                       // sessions can no longer be told the same
	open     transaction
	unread   error // why the dump could not be read on

	noData  atomic.Bool // the server takes no LOAD DATA LOCAL
	tasks   chan *chunk
	group   sync.WaitGroup
	started int

	lock    sync.Mutex
	settled *sync.Cond // a table has nothing outstanding, or there is a fault
	fault   error
	line    int // of the fault
	turns   turns
	work    context.Context    // of workers
	cancel  context.CancelFunc // of the reader
}

// run loads, and leaves nothing running.
func (l *loader) run(ctx context.Context, database string) error {
	// A fault ends the reader; what stands before it, workers still do.
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	l.work, l.cancel = ctx, cancel
	var err error
	if l.primary, err = l.connect(reading, database); err != nil {
		return err
	}
	defer func() { l.primary.conn.Close() }() // another may have taken its place
	l.database = database
	for i := range l.parts {
		if err = l.part(reading, &l.parts[i]); err != nil {
			break
		}
	}
	if l.broken() == nil && reading.Err() == nil {
		if end := l.end(reading); err == nil {
			err = end
		}
	}
	if l.broken() == nil && err == nil {
		err = l.checkCounts(reading, l.counts)
	}
	close(l.tasks)
	l.group.Wait()
	if fault := l.broken(); fault != nil {
		err = fault
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if l.unread == nil && dbconn.Gone(err) && !errors.Is(err, ErrServerGone) {
		err = fmt.Errorf("%w: %w", ErrServerGone, err)
	}
	if err != nil && !errors.Is(err, ErrServerGone) {
		err = errors.Join(err, l.mend(context.WithoutCancel(ctx)))
	}
	return err
}

// connect returns a session with the settings that the client program has, and a current
// database, if there is one.
func (l *loader) connect(ctx context.Context, database string) (*session, error) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("load %s: connect: %w", l.name, err)
	}
	s := &session{conn: conn, database: database}
	text := "SET NAMES utf8mb4" // the server's collation for it, which differs by version
	if database != "" {
		text += "; USE " + dbconn.QuoteName(database)
	}
	if err := s.exec(ctx, text); err != nil {
		conn.Close()
		return nil, fmt.Errorf("load %s into database %q: %w", l.name, database, err)
	}
	return s, nil
}

// read goes through the dump.
func (l *loader) read(ctx context.Context) error {
	for {
		st, err := l.scanner.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			if fault, ok := errors.AsType[*dump.Error](err); ok && fault.Line > 0 {
				fault.Line += l.at.lines
			}
			l.unread = err
			return err
		}
		st.Line, st.EndLine, st.RowsLine = st.Line+l.at.lines, st.EndLine+l.at.lines, st.RowsLine+l.at.lines
		if l.rename != nil {
			keep, err := l.rename.Apply(&st, l.name)
			if err != nil {
				return err
			}
			if !keep {
				continue
			}
		}
		if head, err := l.heads(ctx, &st); err != nil { // which may choose a database
			return err
		} else if head || !l.picked(&st) {
			continue
		}
		if st.Rows != nil && !l.fit.Rows(st.Text) {
			continue
		}
		if st.Rows != nil {
			err = l.rows(ctx, &st)
		} else {
			err = l.statement(ctx, &st)
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// end finishes what has begun.
func (l *loader) end(ctx context.Context) error {
	if err := l.flush(ctx); err != nil { // before a setting that is refused
		return err
	}
	if err := l.settle(ctx); err != nil {
		return err
	}
	if err := l.barrier(ctx); err != nil {
		return err
	}
	return l.ended()
}

// ended refuses a dump, or a file of it, that ends in a transaction.
func (l *loader) ended() error {
	if l.open.line > 0 {
		return &dump.Error{File: l.name, Line: l.open.line, Msg: "the dump ends in a transaction, which has something to commit since this line",
			Hint: "the file is cut short, or COMMIT is missing: a client would take back what was loaded since"}
	}
	return nil
}

// barrier waits until all that was sent is done.
func (l *loader) barrier(ctx context.Context) error {
	if err := l.waitAll(ctx); err != nil {
		return err
	}
	return l.makeForeign(ctx)
}

// waitAll waits for the rows of all tables.
func (l *loader) waitAll(ctx context.Context) error {
	for _, t := range l.tables {
		if err := l.wait(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// busy says that workers are at something that the reader has not waited for.
func (l *loader) busy() bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	for _, t := range l.tables {
		if t.outstanding > 0 {
			return true
		}
	}
	return len(l.foreign) > 0
}

// makeForeign makes the foreign keys of tables that have their rows.
func (l *loader) makeForeign(ctx context.Context) error {
	if len(l.foreign) == 0 {
		return nil
	}
	// They were not checked when they were made, nor were the rows.
	if err := l.primary.exec(ctx, "SET @ramaria_checks = @@foreign_key_checks, foreign_key_checks = 0"); err != nil {
		return l.refused(err, l.foreign[0].line, nil)
	}
	for len(l.foreign) > 0 {
		k := l.foreign[0]
		if err := l.primary.alter(ctx, k.add); err != nil {
			return l.refused(err, k.line, []byte(k.add))
		}
		l.foreign = l.foreign[1:]
	}
	if err := l.primary.exec(ctx, "SET foreign_key_checks = @ramaria_checks"); err != nil {
		return l.refused(err, 0, nil)
	}
	return nil
}

// filled notes that any table may have rows.
func (l *loader) filled() {
	for _, t := range l.tables {
		t.fresh = false
	}
}
