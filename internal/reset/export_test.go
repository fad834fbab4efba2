package reset

import (
	"context"
	"maps"
	"slices"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/template"
)

// Names that tests of the package's parts need.
var (
	FirstWords = firstWords
	EffectOf   = effectOf
	SpeaksUTF8 = speaksUTF8
)

// Few is how many tables are asked for their counters one by one.
const Few = few

// Effects, as tests name them.
const (
	EffectUnknown    = unknown
	EffectHarmless   = harmless
	EffectStructural = structural
	EffectWide       = wide
	EffectDatabase   = database
	EffectBegin      = begin
	EffectCommit     = commit
	EffectRollback   = rollback
	EffectRollbackTo = rollbackTo
	EffectSavepoint  = savepoint
	EffectXACommit   = xaCommit
	EffectXARollback = xaRollback
	EffectXAOther    = xaOther
)

// Names are the names in a statement; true says that it may stand before a dot.
func Names(sql string) map[string]bool {
	list := map[string]bool{}
	for _, n := range names(sql) {
		list[n.text] = list[n.text] || n.qualifies
	}
	return list
}

// Verdicts returns what says, of what is known of a database now, that it has changed or that it
// has not.
func (j *Journal) Verdicts(name string) (changed func(what string), same func() bool) {
	_, at := j.unverified(name)
	return func(what string) { j.differs(name, at, what) }, func() bool { return j.settle(name, at) }
}

// Apply carries out a plan.
func (r *Engine) Apply(ctx context.Context, s *Session, d *Database, p *Plan) error {
	return r.apply(ctx, s, d, p, nil, RestoreCounters)
}

// Setting returns the statements that set counters.
func (r *Engine) Setting(ctx context.Context, s *Session, name string, counters map[string]uint64) []string {
	return r.setting(ctx, s, name, counters)
}

// Staged is how many bytes of row images are kept of transactions without a verdict.
func (j *Journal) Staged() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, g := range j.prepared {
		for _, change := range g.staged {
			n += change.Rows.Size()
		}
	}
	return n
}

// MaxTable is how many bytes of row images are kept.
const MaxTable = maxTable

// RightsOf is what a statement of a session in a database may do to rights, where one is watched.
func RightsOf(sql, session, watched string) Rights {
	j := &Journal{watched: map[string]*Changes{watched: {}}, standIn: "app"}
	j.statement(binlog.Query{Schema: session, SQL: []byte(sql)}, sql, effectOf(sql))
	return j.rights
}

// Restore carries out statements, as many at once as the server takes.
func (s *Session) Restore(ctx context.Context, statements []string) error {
	return s.restore(ctx, statements)
}

// RowFiles is a journal of a watched database with a template of tables of MyISAM, whose files are in dir.
func RowFiles(dir, name string, tables ...string) *Journal {
	shape := &template.Shape{Name: name}
	for _, table := range tables {
		shape.Tables = append(shape.Tables, template.Table{Name: table, Engine: isam})
	}
	j := &Journal{dir: dir, watched: map[string]*Changes{name: {}}, marks: map[string]rowsMark{}}
	j.MarkRows(name, shape)
	return j
}

// Look returns the tables of a watched database whose rows may have been written, by their files.
func (j *Journal) Look(name string) []string {
	j.look(name)
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Sorted(maps.Keys(j.watched[name].Tables))
}

// Forgive has nothing be known of a watched database.
func (j *Journal) Forgive(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.watched[name] = &Changes{}
}
