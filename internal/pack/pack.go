package pack

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
)

const (
	// DefaultStatement is the size of merged statements, in bytes: larger ones gain nothing.
	DefaultStatement = 1 << 20
	// MaxStatement is the largest that may be chosen, in bytes: what a server takes by default.
	MaxStatement = 16 << 20
	// packetRoom is what a server wants beside the text of the largest statement, in bytes.
	packetRoom = 1 << 10
	// largeTable is from where on, in bytes of rows, keys are made behind the rows: making them
	// costs some milliseconds each.
	largeTable = 4 << 20
	// readSize and writeSize are the sizes of reads and writes, in bytes; a head fits a read.
	readSize  = 256 << 10
	writeSize = 256 << 10
)

// Options are the settings of Pack.
type Options struct {
	// Statement is the size in bytes up to which rows are merged into one statement; 0 means
	// DefaultStatement, and more than MaxStatement means that. A row that is larger stays alone.
	Statement int
	// LargeTable is the size in bytes of the rows of a table whose keys are made behind them; 0
	// means 4 MB.
	LargeTable int
}

// Summary is what Pack did.
type Summary struct {
	// In is what was read.
	In dump.Summary
	// Statements and Bytes are what was written.
	Statements, Bytes int64
}

// Pack writes the dump in, which is called name in errors, to out. A fault of the dump, which may
// be that it is cut short, is a *dump.Error; what was written then is not to be used.
func Pack(ctx context.Context, out io.Writer, in io.Reader, name string, opts Options) (Summary, error) {
	text := bufio.NewReaderSize(in, readSize)
	p := &packer{
		name:    name,
		limit:   DefaultStatement,
		large:   largeTable,
		out:     writer{w: bufio.NewWriterSize(out, writeSize), delimiter: ";"},
		session: newSession(),
		tables:  map[dump.TableName]*table{},
		watched: map[dump.TableName]bool{},
		needed:  map[string][]string{},
	}
	if opts.Statement > 0 {
		p.limit = min(opts.Statement, MaxStatement-packetRoom)
	}
	if opts.LargeTable > 0 {
		p.large = opts.LargeTable
	}
	p.rows.text = make([]byte, 0, p.limit)
	p.run.held = make([]byte, 0, p.large)
	p.out.head(firstLines(text))
	p.scanner = dump.NewScanner(dump.Until(ctx, text), name)
	p.scanner.ByRows()
	err := p.read(ctx)
	if err == nil {
		err = p.end()
	}
	return Summary{In: p.scanner.Summary(), Statements: p.out.statements, Bytes: p.out.bytes}, err
}

type packer struct {
	name         string
	limit, large int
	scanner      *dump.Scanner
	out          writer
	session      session

	database string // the current one; "" for that of the client that loads the dump
	tables   map[dump.TableName]*table
	// watched are the tables that the dump has made triggers on.
	watched map[dump.TableName]bool
	// needed are, by table, columns that foreign keys refer to. Keys on those cannot be dropped.
	// References are not compared by database, since that depends on what is current then.
	needed map[string][]string
	// blind says that there may be foreign keys which are not known.
	blind bool
	// odd says that a statement may have changed the session in a way that cannot be followed:
	// there may be triggers, transactions and temporary tables that nothing is known of. The
	// rest is left as it is.
	odd bool

	rows    rows
	run     run
	foreign []foreignKeys // to be made
	locked  bool          // by a LOCK TABLES that was left out
}

// read goes through the dump.
func (p *packer) read(ctx context.Context) error {
	for {
		st, err := p.scanner.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case st.Rows != nil:
			err = p.insert(&st)
		default:
			err = p.statement(&st)
		}
		switch {
		case err != nil:
			return err
		case p.out.err != nil:
			return p.out.err
		case ctx.Err() != nil:
			return ctx.Err()
		case st.Delimiter == "" && !st.More:
			return &dump.Error{File: p.name, Line: st.EndLine, Msg: "the last statement of the dump has no end",
				Hint: "the file is cut short: make the dump again; or, if it is whole, add a semicolon at its end"}
		}
	}
}

// end finishes the output.
func (p *packer) end() error {
	if p.scanner.Summary().Statements == 0 {
		return &dump.Error{File: p.name, Msg: "there is no statement in this dump", Hint: "make the dump again"}
	}
	p.endRows()
	if s := &p.session; !p.odd && (s.begun || s.settings["autocommit"] == off) && s.dirty {
		return &dump.Error{File: p.name, Msg: "the dump ends in a transaction, and what is in it would be lost",
			Hint: "the file is cut short: make the dump again; or, if it is whole, add COMMIT; at its end"}
	}
	p.makeForeign()
	return p.out.end()
}

// statement writes a statement that is no INSERT of rows.
func (p *packer) statement(st *dump.Statement) error {
	p.endRows()
	text := p.scanner.WithoutComments(st.Text)
	class := dump.Classify(text, st.Delimiter)
	name := p.resolve(class.Database, class.Table)
	if p.odd {
		if err := p.transaction(class, st); err != nil {
			return err
		}
		p.out.statement(st.Text, st.Delimiter)
		return nil
	}
	switch class.Kind {
	case dump.StatementLock, dump.StatementUnlock:
		if p.lock(class.Kind == dump.StatementUnlock) {
			return nil
		}
	case dump.StatementRows, dump.StatementSet, dump.StatementSetTransactions, dump.StatementUnknown:
		if dump.AsksForLast(text) {
			return &dump.Error{File: p.name, Line: st.Line, Msg: "it asks what the statement before it has done (ROW_COUNT() or the like), which is written in another way here",
				Hint: "put the number there that it is to be"}
		}
	}
	if p.concernsForeign(class, name, text) {
		p.makeForeign()
	}
	if err := p.transaction(class, st); err != nil {
		return err
	}
	p.out.statement(st.Text, st.Delimiter)
	switch class.Kind {
	case dump.StatementSet, dump.StatementSetTransactions:
		p.session.set(text)
		if p.scanner.Wide() {
			p.odd = true
			clear(p.tables)
		}
	case dump.StatementUse:
		p.database = class.Database
	case dump.StatementCreateTable:
		p.create(name, text)
	case dump.StatementDropTable:
		p.tables[name] = &table{name: name, dropped: true}
	case dump.StatementTrigger:
		p.watched[name] = true
	case dump.StatementRows:
		p.filled()
	case dump.StatementOther:
		p.other(text)
	case dump.StatementUnknown:
		p.odd = true
		clear(p.tables)
	}
	return nil
}

// lock has LOCK TABLES and UNLOCK TABLES left out: START TRANSACTION would release the locks, and
// keys could not be made under them. A session that loads a dump locks out only those that would read
// half of a table, and these see nothing of it before the COMMIT. It returns false for an UNLOCK
// TABLES of other locks.
func (p *packer) lock(unlock bool) bool {
	if unlock && !p.locked {
		return false
	}
	p.locked = !unlock
	if p.session.own() && p.session.dirty {
		p.out.own("COMMIT") // as they would
		p.session.committed()
	}
	return true
}

// transaction follows the transactions of the dump.
func (p *packer) transaction(class dump.StatementClass, st *dump.Statement) error {
	s := &p.session
	switch class.Kind {
	case dump.StatementBegin:
		s.committed()
		s.begun = true
	case dump.StatementCommit:
		s.committed()
		s.begun = class.Chain
	case dump.StatementRollback:
		if s.lost {
			return &dump.Error{File: p.name, Line: st.Line, Msg: "ROLLBACK would take back rows that were committed before their keys are made",
				Hint: "remove what is taken back"}
		}
		s.committed()
		s.begun = class.Chain
	case dump.StatementCreateTable, dump.StatementDropTable, dump.StatementTrigger, dump.StatementStoredObject, dump.StatementKeys, dump.StatementLock:
		s.committed() // as the server does before
		s.begun = false
	case dump.StatementSet, dump.StatementSetTransactions, dump.StatementUse, dump.StatementQuery, dump.StatementUnlock, dump.StatementSavepoint:
	default:
		s.dirty = true
	}
	return nil
}

// create takes note of a table that the dump makes.
func (p *packer) create(name dump.TableName, text []byte) {
	before := p.tables[name]
	t := &table{name: name}
	p.tables[name] = t
	shape, ok := dump.ParseTable(text)
	if !ok {
		p.blind = p.blind || contains(text, "references")
		return
	}
	for _, clause := range shape.ForeignKeys {
		to, columns := dump.References(clause)
		to = strings.ToLower(to)
		p.needed[to] = append(p.needed[to], columns...)
	}
	head, _, _ := bytes.Cut(text, []byte{'('})
	if contains(head, "exists") && (before == nil || !before.dropped) {
		return // it may be another table, which was there
	}
	t.shape, t.fresh, t.mode = shape, true, p.session.modes
}

// filled takes note of rows that came in an unknown way, into whichever table.
func (p *packer) filled() {
	for _, t := range p.tables {
		t.fresh = false
	}
}

// other forgets what an unknown statement may have changed.
func (p *packer) other(text []byte) {
	switch strings.ToLower(dump.FirstWord(text)) {
	case "truncate", "grant", "revoke", "analyze", "optimize", "repair", "do":
		p.filled()
		return
	}
	p.blind = p.blind || contains(text, "references")
	clear(p.tables)
}

// resolve returns the name of a table in the current database.
func (p *packer) resolve(database, name string) dump.TableName {
	if database == "" {
		database = p.database
	}
	return dump.TableName{Database: database, Name: name}
}

// contains looks for a word in lower case, wherever it stands.
func contains(text []byte, word string) bool {
	return bytes.Contains(bytes.ToLower(text), []byte(word))
}
