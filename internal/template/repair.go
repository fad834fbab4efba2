package template

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Repair is what makes a database that was changed the same as its template again.
type Repair struct {
	// Defaults says that the database's character set, collation or comment is another; Comment that
	// the template has no comment.
	Defaults, Comment bool
	// Drop are tables to be removed, Remake those to be made and filled (they are in Drop
	// too where they exist), Refill those whose rows alone may differ.
	Drop, Remake, Refill []string
	// DropObjects and MakeObjects are views, routines, triggers and events.
	DropObjects, MakeObjects []Object
}

// Compare settles how have, a changed clone of s, becomes as s. The rows of the tables
// that needsRefill names are not to be trusted. Of tables that have does not define (see
// ReadSome) the definition is taken to be right.
func (s *Shape) Compare(have *Shape, needsRefill map[string]bool) Repair {
	r := Repair{Defaults: s.Options != have.Options, Comment: commented(have.Options) && !commented(s.Options)}
	for _, t := range have.Tables {
		if s.Table(t.Name) == nil {
			r.Drop = append(r.Drop, t.Name)
		}
	}
	for _, t := range s.Tables {
		switch now := have.Table(t.Name); {
		case now == nil:
			r.Remake = append(r.Remake, t.Name)
		case now.Create != "" && definition(now.Create, have.Name) != definition(t.Create, s.Name):
			r.Drop = append(r.Drop, t.Name)
			r.Remake = append(r.Remake, t.Name)
		case needsRefill[t.Name]:
			r.refill(s, t.Name)
		}
	}
	s.compareObjects(have, &r)
	return r
}

// commented reports whether the options of a database have a comment, which only MariaDB knows.
func commented(options string) bool { return strings.Contains(options, " COMMENT '") }

// refill puts the rows of a table back. A table with triggers is made again: they must not
// see that.
func (r *Repair) refill(s *Shape, table string) {
	if len(s.triggers(table)) > 0 {
		r.Drop = append(r.Drop, table)
		r.Remake = append(r.Remake, table)
		return
	}
	r.Refill = append(r.Refill, table)
}

// Again has those of the tables made again that would only be filled.
func (r *Repair) Again(tables map[string]bool) {
	fill := r.Refill
	r.Refill = nil
	for _, t := range fill {
		if tables[t] {
			r.Drop = append(r.Drop, t)
			r.Remake = append(r.Remake, t)
		} else {
			r.Refill = append(r.Refill, t)
		}
	}
}

// Refill puts the rows of tables that have the right shape back to those of the template.
func (s *Shape) Refill(ctx context.Context, conn *sql.Conn, name string, tables []string) error {
	var r Repair
	for _, t := range tables {
		r.refill(s, t)
	}
	for _, o := range s.Objects {
		if o.Kind == "TRIGGER" && slices.Contains(r.Remake, o.Table) {
			r.MakeObjects = append(r.MakeObjects, o)
		}
	}
	return s.Repair(ctx, conn, name, r)
}

// compareObjects fills in what is to be done about views, routines, triggers and events.
func (s *Shape) compareObjects(have *Shape, r *Repair) {
	// The order of a table's triggers is theirs together, and a table takes them along.
	again := map[string]bool{}
	for _, t := range r.Remake {
		again[t] = true
	}
	for _, t := range s.Tables {
		same := slices.EqualFunc(s.triggers(t.Name), have.triggers(t.Name), func(a, b Object) bool { return s.same(a, b, have.Name) })
		again[t.Name] = again[t.Name] || !same
	}
	right := func(o Object, other *Shape, same func(p Object) bool) bool {
		if o.Kind == "TRIGGER" {
			return !again[o.Table] && other.Table(o.Table) != nil
		}
		return slices.ContainsFunc(other.Objects, same)
	}
	for _, o := range have.Objects {
		if !right(o, s, func(p Object) bool { return s.same(p, o, have.Name) }) {
			r.DropObjects = append(r.DropObjects, o)
		}
	}
	for _, o := range s.Objects {
		if !right(o, have, func(p Object) bool { return s.same(o, p, have.Name) }) {
			r.MakeObjects = append(r.MakeObjects, o)
		}
	}
}

func (s *Shape) triggers(table string) []Object {
	var list []Object
	for _, o := range s.Objects {
		if o.Kind == "TRIGGER" && o.Table == table {
			list = append(list, o)
		}
	}
	return list
}

// Empty reports whether there is nothing to be done.
func (r Repair) Empty() bool {
	return !r.Defaults && len(r.Drop)+len(r.Remake)+len(r.Refill)+len(r.DropObjects)+len(r.MakeObjects) == 0
}

// Repair carries out a repair of the database name.
func (s *Shape) Repair(ctx context.Context, conn *sql.Conn, name string, r Repair) error {
	run := statements{ctx: ctx, conn: conn}
	list := []string{"USE " + dbconn.QuoteName(name)}
	if r.Defaults {
		list = append(list, "ALTER DATABASE "+dbconn.QuoteName(name)+s.defaults())
	}
	if r.Comment {
		list = append(list, "ALTER DATABASE "+dbconn.QuoteName(name)+" COMMENT ''")
	}
	for _, o := range r.DropObjects {
		list = append(list, "DROP "+o.Kind+" IF EXISTS "+dbconn.QuoteName(o.Name))
	}
	if len(r.Drop) > 0 {
		names := make([]string, len(r.Drop))
		for i, t := range r.Drop {
			names[i] = dbconn.QuoteName(t)
		}
		list = append(list, "DROP TABLE IF EXISTS "+strings.Join(names, ", "))
	}
	for _, statement := range list {
		if err := run.add(statement); err != nil {
			return fmt.Errorf("repair %s: %w", name, err)
		}
	}
	if err := run.run(); err != nil {
		return fmt.Errorf("repair %s: %w", name, err)
	}
	if err := s.makeTables(ctx, conn, name, r.Remake, s.Files); err != nil {
		return fmt.Errorf("repair %s: %w", name, err)
	}
	if err := s.fillAgain(ctx, conn, name, r.Refill); err != nil {
		return err
	}
	if err := s.makeObjects(ctx, conn, name, r.MakeObjects); err != nil {
		return fmt.Errorf("repair %s: %w", name, err)
	}
	if len(r.Remake)+len(r.MakeObjects) == 0 {
		return nil
	}
	if s.made != nil {
		s.made(name)
	}
	if _, err := s.verify(ctx, conn, name, r.Remake, r.MakeObjects); err != nil {
		return fmt.Errorf("repair %s: %w", name, err)
	}
	return nil
}
