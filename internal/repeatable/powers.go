package repeatable

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// Powers are what lets a session switch the binary log off, or see to it otherwise that what it commits is not there.
// No session gets one that it has not without a trace in the log: statements about accounts, and changes to the
// server's own tables, are logged before they give anything.
type Powers struct {
	// Accounts are the names, without their hosts, of accounts and roles that have one.
	Accounts []string
	// Rights are the privileges, as GRANT has them.
	Rights []string
}

// grantTables are the tables of the schema mysql by which servers know who may do what, and what runs as whom.
var grantTables = map[string]bool{
	"user": true, "global_priv": true, "db": true, "host": true, "tables_priv": true, "columns_priv": true, "procs_priv": true, "proxies_priv": true,
	"roles_mapping": true, "role_edges": true, "default_roles": true, "global_grants": true, "proc": true, "event": true, "func": true,
}

// ByTable says what powers a change of a table's rows may give, "" for none.
func ByTable(schema, table string) string {
	if strings.EqualFold(schema, "mysql") && grantTables[strings.ToLower(table)] {
		return "rows of mysql." + strings.ToLower(table) + " were changed"
	}
	return ""
}

// ByQuery says what of the powers a statement may give, "" for none. It goes by what is named: who says a name in a
// statement that takes something away is told of, too.
func (p Powers) ByQuery(q *binlog.Query, mysql bool) string {
	if bracket(q.SQL) {
		return ""
	}
	s := statement{query: q, parser: newParser(q, mysql)}
	if s.match("set statement") {
		for !s.end() && s.tok.kind != tokenBad && !s.eat("for") {
			s.next()
		}
	}
	switch {
	case s.ofAccounts():
		if s.ambiguous() {
			return "a statement about accounts is not understood"
		}
		return p.named(&s.parser)
	case s.ofTables():
		return redefined(&s.parser, strings.EqualFold(q.Schema, "mysql"))
	}
	return ""
}

// ofAccounts reports whether the statement is one about accounts, roles or rights, and moves on to what of them.
func (s *statement) ofAccounts() bool {
	begin := s.parser
	switch {
	case s.match("grant|revoke"), s.match("set password"), s.match("set default role"):
		return true
	case s.match("create|alter|drop|rename [or replace] user|role"):
		return true
	}
	s.parser = begin
	return false
}

// ofTables reports whether the statement defines or removes tables, and moves on to their names.
func (s *statement) ofTables() bool {
	if s.eat("truncate") {
		return true
	}
	if !s.eat("create|alter|drop|rename") {
		return false
	}
	s.modifiers()
	for s.eat("temporary|ignore") {
		s.modifiers()
	}
	return s.eat("table|tables")
}

// named looks for a name of an account or a right in the rest of a statement.
func (p Powers) named(s *parser) string {
	var words []string
	for ; !s.end(); s.next() {
		if s.tok.kind == tokenBad {
			return "a statement about accounts is not understood"
		}
		name := string(bytes.ReplaceAll(s.tok.text, []byte(`\`), nil))
		if s.tok.kind != tokenSymbol && slices.ContainsFunc(p.Accounts, func(a string) bool { return strings.EqualFold(a, name) }) {
			return fmt.Sprintf("a statement names the account %s", name)
		}
		words = append(words, strings.ToLower(name))
	}
	text := " " + strings.Join(words, " ") + " "
	for _, right := range append([]string{"PROXY"}, p.Rights...) {
		if strings.Contains(text, " "+strings.ToLower(right)+" ") {
			return "a statement names the privilege " + right
		}
	}
	if strings.Contains(text, " all ") && strings.Contains(text, " on * . * ") {
		return "a statement names all privileges"
	}
	return ""
}

// redefined looks for a table of the server's own in the rest of a statement; here says that it is the default database.
func redefined(s *parser, here bool) string {
	table := ""
	for ; !s.end() && s.tok.kind != tokenBad; s.next() {
		name := strings.ToLower(string(s.tok.text))
		here = here || name == "mysql"
		if table == "" && s.tok.kind != tokenString && grantTables[name] {
			table = name
		}
	}
	if here && table != "" {
		return "mysql." + table + " was made anew, or changed"
	}
	return ""
}
