package pack

import (
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// sharedTransaction is up to where tables share a transaction, in bytes of rows: the rows of
// some dumps take turns.
const sharedTransaction = 64 << 10

// table is a table of the dump.
type table struct {
	name dump.TableName
	// shape is nil if the dump has not made it, or in a way that is not understood.
	shape *dump.Table
	// fresh says that nothing is in it yet, mode what session.modes was when it was made.
	fresh bool
	mode  int
	// dropped says that the table was dropped.
	dropped bool
}

// foreignKeys are to be made on a table.
type foreignKeys struct {
	table dump.TableName
	add   string
}

// run are the rows of one table that follow on each other.
type run struct {
	table *table
	// waiting says that the rows are held, since it is not known yet whether they are many.
	waiting bool
	held    []byte
	keys    dump.DeferredKeys // what is made when waiting ends because they are; or behind
	// alone says that each statement is a transaction by itself.
	alone bool
	// transaction says that one was begun, with so many bytes of rows so far.
	transaction bool
	size        int
}

// begin begins the rows of a table. Those that INSERT IGNORE passes over it shares no transaction with others: MariaDB takes
// back with them what filled an empty table in the same one while the checks are off.
func (p *packer) begin(t *table, in dump.Insert) {
	r := &p.run
	if r.table == t && r.alone == in.Ignore && (in.Plain || !r.waiting && r.keys.Add == "") {
		return
	}
	p.leave()
	if in.Ignore || r.transaction && r.size > sharedTransaction {
		p.commit()
	}
	r.table, r.alone = t, in.Ignore
	if keys, ok := p.deferKeys(t); ok && in.Plain {
		r.waiting, r.keys = true, keys
	}
}

// deferKeys returns the statements by which a table gets its keys behind the rows; false if that
// could be anything else than having them from the beginning.
func (p *packer) deferKeys(t *table) (dump.DeferredKeys, bool) {
	switch s := &p.session; {
	case p.odd || p.blind || !t.fresh || t.shape == nil || t.shape.Bare == nil:
		return dump.DeferredKeys{}, false
	case len(t.shape.ForeignKeys) > 0 && !s.checksOff(): // the rows would no longer be checked
		return dump.DeferredKeys{}, false
	case s.begun || s.own() && s.dirty: // ALTER TABLE would commit what is open
		return dump.DeferredKeys{}, false
	case s.modes != t.mode: // the same words could make another key, or none
		return dump.DeferredKeys{}, false
	case p.watched[t.name]:
		return dump.DeferredKeys{}, false
	}
	needed := p.needed[strings.ToLower(t.name.Name)]
	for _, clause := range t.shape.Keys {
		// A server does not let go of a key that a foreign key refers to; MySQL also not when
		// foreign_key_checks are off.
		if columns := dump.KeyColumns(clause); len(columns) == 0 || slices.ContainsFunc(needed, func(c string) bool { return strings.EqualFold(c, columns[0]) }) {
			return dump.DeferredKeys{}, false
		}
	}
	return t.shape.DeferKeys(t.name.String())
}

// put writes a part of the statements of the present run.
func (p *packer) put(parts ...[]byte) {
	r := &p.run
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if r.waiting && len(r.held)+size < p.large {
		for _, part := range parts {
			r.held = append(r.held, part...)
		}
		return
	}
	if r.waiting {
		p.decide(true)
	}
	p.start()
	r.size += size
	for _, part := range parts {
		p.out.write(part)
	}
}

// decide ends waiting: the rows are many, or all there are.
func (p *packer) decide(many bool) {
	r := &p.run
	r.waiting = false
	if many {
		p.commit()
		p.out.own(r.keys.Drop)
		if r.keys.AddForeign != "" {
			p.foreign = append(p.foreign, foreignKeys{r.table.name, r.keys.AddForeign})
		}
	} else {
		r.keys = dump.DeferredKeys{}
	}
	if len(r.held) > 0 {
		p.start()
		p.out.write(r.held)
		r.size += len(r.held)
		r.held = r.held[:0]
	}
}

// start begins a transaction unless one is open.
func (p *packer) start() {
	p.out.use(";")
	if p.session.own() {
		p.session.dirty = true
		return
	}
	if !p.run.transaction && !p.run.alone && !p.odd {
		p.out.own("START TRANSACTION")
		p.run.transaction, p.run.size = true, 0
	}
}

func (p *packer) commit() {
	if p.run.transaction {
		p.out.own("COMMIT")
		p.run.transaction = false
	}
}

// leave ends the rows of a table, but for the transaction.
func (p *packer) leave() {
	r := &p.run
	p.flush()
	if r.waiting {
		p.decide(false)
	}
	if r.table != nil {
		r.table.fresh = false
	}
	if r.keys.Add != "" {
		p.commit()
		p.out.own(r.keys.Add)
		p.session.committedHere()
	}
	r.table, r.keys = nil, dump.DeferredKeys{}
}

// endRows finishes the rows before something else.
func (p *packer) endRows() {
	p.leave()
	p.commit()
	p.rows.target = target{}
}

// concernsForeign says that foreign keys have to be there before a statement.
func (p *packer) concernsForeign(class dump.StatementClass, name dump.TableName, text []byte) bool {
	if len(p.foreign) == 0 {
		return false
	}
	switch class.Kind {
	case dump.StatementStoredObject, dump.StatementLock, dump.StatementUnlock, dump.StatementKeys, dump.StatementQuery, dump.StatementCommit, dump.StatementSavepoint, dump.StatementTrigger:
		return false
	case dump.StatementSet, dump.StatementSetTransactions:
		return p.session.leavesChecksOff(text)
	case dump.StatementUse:
		return p.database == "" // the table's database has no name
	case dump.StatementCreateTable, dump.StatementDropTable:
		return slices.ContainsFunc(p.foreign, func(f foreignKeys) bool { return strings.EqualFold(f.table.Name, name.Name) })
	}
	return true
}

// makeForeign makes the foreign keys of the tables that have their rows.
func (p *packer) makeForeign() {
	if len(p.foreign) == 0 {
		return
	}
	// They were not checked when they were made, nor were the rows; and a strict mode would look
	// at the defaults of all columns again.
	p.out.own("SET @ramaria_checks = @@foreign_key_checks, @ramaria_mode = @@sql_mode, foreign_key_checks = 0, sql_mode = ''")
	for _, f := range p.foreign {
		p.out.own(f.add)
	}
	p.out.own("SET foreign_key_checks = @ramaria_checks, sql_mode = @ramaria_mode")
	p.session.committedHere()
	p.foreign = nil
}
