package template

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Notes says what people should know of a template: what its clones have otherwise, and what in it
// reaches into other databases. Clones share what is there, and no reset puts it back.
func (s *Shape) Notes() []string { return append(s.definerNotes(), s.elsewhere...) }

// ReadElsewhere finds the objects and foreign keys that name other databases of the server. It is
// told as far as the text does: a name may stand for something else, and a text that is put together
// when it runs may name any.
func (s *Shape) ReadElsewhere(ctx context.Context, conn *sql.Conn) error {
	r := reader{ctx: ctx, conn: conn, shape: s}
	var keys []string
	s.others = map[string]string{}
	err := r.each(func(row map[string]string) error {
		if name := row["name"]; !dbconn.SystemSchema(name) && s.fold(name) != s.Name {
			s.others[s.fold(name)] = name
		}
		return nil
	}, "SELECT schema_name AS name FROM information_schema.schemata")
	if err == nil {
		err = r.each(func(row map[string]string) error {
			keys = append(keys, fmt.Sprintf("the foreign key %s of table %s names the database %s", row["name"], row["of"], row["other"]))
			return nil
		}, "SELECT constraint_name AS name, table_name AS `of`, unique_constraint_schema AS other FROM information_schema.referential_constraints "+
			"WHERE constraint_schema = ? AND unique_constraint_schema <> constraint_schema ORDER BY table_name, constraint_name", s.Name)
	}
	if err != nil {
		return fmt.Errorf("find what reaches beyond %s: %w", s.Name, err)
	}
	s.elsewhere = keys
	for _, o := range s.Objects {
		if names := o.names(s.others, s.fold); len(names) > 0 {
			s.elsewhere = append(s.elsewhere, fmt.Sprintf("%s %s names the database %s: what it changes there no reset puts back", strings.ToLower(o.Kind), o.Name, strings.Join(names, " and ")))
		}
	}
	return nil
}

// blinding is what a text has that switches the binary log off, or may put together a statement that does.
var blinding = regexp.MustCompile(`(?i)sql_log_bin|\bprepare\b|\bexecute\s+immediate\b`)

// CheckElsewhere returns an error, which is ErrUnclonable, if an object names a database in which a routine or trigger may
// switch the log off by the rights of its definer, or one that leads there: clones have the template's own of somebody
// who may not, and those of other databases as they are. It comes after ReadElsewhere, and needs s.Definers.
func (s *Shape) CheckElsewhere(ctx context.Context, conn *sql.Conn) error {
	if s.Definers.StandIn.User == "" {
		return nil
	}
	r := reader{ctx: ctx, conn: conn, shape: s}
	by := map[string]string{} // what names a database, in the end an object of the template
	var next []string
	reach := func(o Object, who string) {
		for _, name := range o.names(s.others, s.fold) {
			if by[name] == "" {
				by[name], next = who, append(next, name)
			}
		}
	}
	for _, o := range s.Objects {
		reach(o, strings.ToLower(o.Kind)+" "+o.Name)
	}
	for ; len(next) > 0; next = next[1:] {
		who := by[next[0]]
		if err := r.each(func(row map[string]string) error {
			account := row["definer"]
			if at := strings.LastIndex(account, "@"); at > 0 {
				account = account[:at]
			}
			o := Object{Create: row["body"], SQLMode: row["mode"]}
			if row["security"] != "INVOKER" && (s.Definers.Everybody || s.Definers.Blinding[account]) && blinding.MatchString(o.Create) {
				return fmt.Errorf("%w: %s leads to the database %s, where %s %s may switch the binary log off, by which resets know what changed, by the rights of its definer %s\n"+
					"hint: make that one again with DEFINER = %s@localhost, or SQL SECURITY INVOKER", ErrUnclonable, who, next[0], strings.ToLower(row["kind"]), row["name"], row["definer"], s.Definers.StandIn.User)
			}
			reach(o, who)
			return nil
		}, "SELECT routine_type AS kind, routine_name AS name, routine_definition AS body, sql_mode AS `mode`, definer, security_type AS security FROM information_schema.routines WHERE routine_schema = ? "+
			"UNION ALL SELECT 'TRIGGER', trigger_name, action_statement, sql_mode, definer, 'DEFINER' FROM information_schema.triggers WHERE trigger_schema = ?", next[0], next[0]); err != nil {
			return err
		}
	}
	return nil
}

// names returns which of some databases stand before a dot in an object.
func (o Object) names(databases map[string]string, fold func(string) string) (list []string) {
	words := words(o.Create, o.SQLMode)
	for i, w := range words {
		if w.kind != name || i+1 == len(words) || words[i+1].text != "." || words[i+1].kind != sign {
			continue
		}
		if i > 0 && words[i-1].kind == sign && (words[i-1].text == "." || words[i-1].text == "@") {
			continue
		}
		if other := databases[fold(w.text)]; other != "" && !slices.Contains(list, other) {
			list = append(list, other)
		}
	}
	return list
}
