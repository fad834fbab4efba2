package template

import (
	"context"
	"database/sql"
	"fmt"
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
	s.elsewhere, s.reaches = keys, false
	for _, o := range s.Objects {
		if names := o.names(s.others, s.fold); len(names) > 0 {
			s.reaches = s.reaches || o.leads()
			s.elsewhere = append(s.elsewhere, fmt.Sprintf("%s %s names the database %s: what it changes there no reset puts back", strings.ToLower(o.Kind), o.Name, strings.Join(names, " and ")))
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
