package template

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
)

// leads reports whether an object can call a procedure that switches the binary log off. Within a function or a trigger
// the server refuses that, and a view calls functions only.
// https://dev.mysql.com/doc/refman/8.4/en/set-sql-log-bin.html
func (o Object) leads() bool {
	return o.Kind == "EVENT" || o.Kind == "PROCEDURE" || strings.HasPrefix(o.Kind, "PACKAGE")
}

// blinding is what a text has that switches the binary log off, or may put together a statement that does.
var blinding = regexp.MustCompile(`(?i)sql_log_bin|\bprepare\b|\bexecute\s+immediate\b`)

// procedure is one of a database of the server, or a package of them.
type procedure struct {
	Object
	database, definer string
	// mighty says that it runs by the rights of somebody who may switch the log off, and invoker that it runs by those
	// of who calls it.
	mighty, invoker bool
}

func (p *procedure) String() string { return strings.ToLower(p.Kind) + " " + p.Name }

// CheckElsewhere returns an error, which is ErrUnclonable, if a procedure or an event leads to a procedure of another
// database that may switch the log off by the rights of a definer: clones have the template's own of somebody who may
// not, and those of other databases as they are. It comes after ReadElsewhere, and needs s.Definers.
func (s *Shape) CheckElsewhere(ctx context.Context, conn *sql.Conn) error {
	if !s.reaches || s.Definers.StandIn.User == "" || s.Definers.Open() { // each reset makes those of an open one again
		return nil
	}
	all, err := s.procedures(ctx, conn)
	if err != nil {
		return fmt.Errorf("find what procedures and events of %s lead to: %w", s.Name, err)
	}
	for _, o := range s.Objects {
		if !o.leads() {
			continue
		}
		t := tracer{shape: s, all: all, from: strings.ToLower(o.Kind) + " " + o.Name, seen: map[traced]bool{}}
		if err := t.calls(o, "", nil); err != nil {
			return err
		}
	}
	return nil
}

// procedureKey is what a name stands for: routines have theirs in any case.
type procedureKey struct{ database, name string }

// procedures are those of all databases, the template's own among them: what lies in another database calls these, and
// not those of a clone.
func (s *Shape) procedures(ctx context.Context, conn *sql.Conn) (map[procedureKey][]*procedure, error) {
	all := map[procedureKey][]*procedure{}
	r := reader{ctx: ctx, conn: conn, shape: s}
	err := r.each(func(row map[string]string) error {
		p := &procedure{
			Object:   Object{Kind: row["kind"], Name: row["name"], Create: row["body"], SQLMode: row["mode"]},
			database: row["of"], definer: row["definer"], invoker: row["security"] == "INVOKER",
		}
		account := p.definer
		if at := strings.LastIndex(account, "@"); at > 0 {
			account = account[:at]
		}
		p.mighty = !p.invoker && s.Definers.Blinding[account]
		key := procedureKey{s.fold(p.database), strings.ToLower(p.Name)}
		all[key] = append(all[key], p)
		return nil
	}, "SELECT routine_schema AS `of`, routine_type AS kind, routine_name AS name, routine_definition AS body, sql_mode AS `mode`, definer AS definer, security_type AS security "+
		"FROM information_schema.routines WHERE routine_type <> 'FUNCTION' ORDER BY routine_schema, routine_name")
	return all, err
}

// tracer follows what an object of the template calls.
type tracer struct {
	shape *Shape
	all   map[procedureKey][]*procedure
	from  string
	seen  map[traced]bool
}

// traced is a procedure, and whether it is called by the rights of somebody who may switch the log off.
type traced struct {
	*procedure
	mighty bool
}

// calls looks at what an object names that may be a procedure, each word of it: in Oracle's mode a call has no CALL.
// database is where it lies, "" for a clone, and by the procedure by the rights of whose definer it runs, if that may
// switch the log off, else nil.
func (t *tracer) calls(o Object, database string, by *procedure) error {
	words := words(o.Create, o.SQLMode)
	is := func(i int, text string) bool {
		return i >= 0 && i < len(words) && words[i].kind == sign && words[i].text == text
	}
	for i, w := range words {
		if w.kind != name || is(i-1, ".") || is(i-1, "@") {
			continue
		}
		called := procedureKey{t.shape.fold(database), strings.ToLower(w.text)}
		if is(i+1, ".") && i+2 < len(words) {
			called = procedureKey{t.shape.fold(w.text), strings.ToLower(words[i+2].text)}
			if database == "" && called.database == t.shape.fold(t.shape.Name) {
				continue // the clone's
			}
		}
		for _, p := range t.all[called] {
			if err := t.enter(p, by); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter looks at a procedure that is called by the rights of the definer of by, or of nobody mighty.
func (t *tracer) enter(p, by *procedure) error {
	switch {
	case p.mighty:
		by = p
	case !p.invoker:
		by = nil
	}
	at := traced{p, by != nil}
	if t.seen[at] {
		return nil
	}
	t.seen[at] = true
	if by != nil && blinding.MatchString(p.Create) {
		return fmt.Errorf("%w: %s leads to the database %s, where %s may switch the binary log off, by which resets know what changed, by the rights of %s, the definer of %s of the database %s\n"+
			"hint: make %s again with DEFINER = %s@localhost", ErrUnclonable, t.from, p.database, p, by.definer, by, by.database, by, t.shape.Definers.StandIn.User)
	}
	return t.calls(p.Object, p.database, by)
}
