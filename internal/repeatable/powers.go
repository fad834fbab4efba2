package repeatable

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// Powers are what lets a session switch the binary log off, or see to it otherwise that what it commits is not there.
// No session gets one that it has not without a trace in the log: statements about accounts, and changes to the
// server's own tables, are logged before they give anything.
type Powers struct {
	// Accounts are the accounts and roles that have one.
	Accounts []Account
	// Rights are the privileges, as GRANT has them.
	Rights []string
}

// Account is the name of an account, or of a role, which has no host in MariaDB.
type Account struct{ User, Host string }

// grantTables are the tables of the schema mysql by which servers know who may do what, and what runs as whom.
var grantTables = map[string]bool{
	"user": true, "global_priv": true, "db": true, "host": true, "tables_priv": true, "columns_priv": true, "procs_priv": true, "proxies_priv": true,
	"roles_mapping": true, "role_edges": true, "default_roles": true, "global_grants": true, "proc": true, "event": true, "func": true,
}

// What is said of what cannot be read: it may be anything.
const (
	darkAccounts = "a statement about accounts is not understood"
	darkTables   = "a statement about the server's own tables is not understood"
	darkAny      = "a statement is not understood"
)

// ByTable says what powers a change of a table's rows may give, "" for none.
func ByTable(schema, table string) string {
	if strings.EqualFold(schema, "mysql") && grantTables[strings.ToLower(table)] {
		return "rows of mysql." + strings.ToLower(table) + " were changed"
	}
	return ""
}

// ByQuery says what of the powers a statement may give, "" for none. It goes by what is named: who says a name in a
// statement that takes something away is told of, too. What it does not understand may give any.
func (p Powers) ByQuery(q *binlog.Query, mysql bool) string {
	if bracket(q.SQL) {
		return ""
	}
	s := statement{query: q, parser: newParser(q, mysql)}
	s.inner()
	begin := s.parser
	grants := s.is("grant|revoke")
	switch {
	case s.ofAccounts():
		if s.ambiguous() {
			return darkAccounts
		}
		return p.named(&s.parser, grants)
	case s.ofTables():
		return redefined(&s)
	}
	dark := s.tok.kind == tokenBad
	if s.parser = begin; s.ofDefiner() {
		return p.defines(&s)
	}
	if dark || s.tok.kind == tokenBad {
		return darkAny
	}
	return ""
}

// inner moves over MariaDB's SET STATEMENT var = expression, ... FOR, to the statement within.
func (s *statement) inner() {
	for s.match("set statement") {
		for depth := 0; depth > 0 || !s.eat("for"); s.next() {
			switch {
			case s.tok.kind == tokenEnd:
				s.bad()
				return
			case s.tok.kind == tokenBad:
				return
			case s.symbol('('):
				depth++
			case s.symbol(')'):
				depth--
			case s.symbol('@'), s.symbol('.'): // what follows is a name
				s.next()
			}
		}
	}
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

// ofDefiner reports whether the statement makes something that runs by the rights of somebody whom it names, and moves on
// to that name.
func (s *statement) ofDefiner() bool {
	if !s.eat("create|alter") {
		return false
	}
	s.match("or replace")
	return s.eat("definer") && s.eatSymbol('=')
}

// blinds is what switches the log off, or executes what it is given.
var blinds = regexp.MustCompile(`(?i)sql_log_bin|\b(?:prepare|immediate)\b`)

// Blinds reports whether the body of a routine or an event may switch the log off, if who defined it may.
func Blinds(body string) bool { return blinds.MatchString(body) }

// defines says of a routine, or an event, that it is defined by an account that has powers, and may use them.
func (p Powers) defines(s *statement) string {
	name, had := p.account(&s.parser)
	switch {
	case s.tok.kind == tokenBad:
		return darkAny
	case had && blinds.Match(s.sql):
		return "what " + name + " defines may switch it off"
	}
	return ""
}

// account moves over the name of an account, and says whether it is one that has powers. A backslash in it stands for what
// follows, in some modes.
func (p Powers) account(s *parser) (name string, powers bool) {
	plain := func(text []byte) string {
		return strings.TrimRight(string(bytes.ReplaceAll(text, []byte(`\`), nil)), " ")
	}
	user, host, given := plain(s.tok.text), "", false
	s.next()
	if s.eatSymbol('@') {
		given = true
		for more := true; more; {
			host += plain(s.tok.text)
			s.next()
			if more = s.symbol('.') || s.symbol('-'); more {
				host += string(s.tok.text)
				s.next()
			}
		}
	}
	powers = slices.ContainsFunc(p.Accounts, func(a Account) bool {
		if !strings.EqualFold(a.User, user) {
			return false
		}
		if !given {
			return a.Host == "" || a.Host == "%"
		}
		return strings.EqualFold(a.Host, host)
	})
	if given {
		return user + "@" + host, powers
	}
	return user, powers
}

// named looks for a name of an account or a right in the rest of a statement; grants says that it is GRANT or REVOKE.
func (p Powers) named(s *parser, grants bool) string {
	if grants {
		if why := p.granted(s); why != "" {
			return why
		}
	}
	text := false // a string that follows is a password, a comment or the like
	for !s.end() {
		switch {
		case s.tok.kind == tokenBad:
			return darkAccounts
		case s.tok.kind == tokenSymbol:
			text = s.symbol('=') || s.symbol('(')
			s.next()
		case text && s.tok.kind == tokenString:
			text = false
			s.next()
		default:
			text = s.is("by|using|password|replace|subject|issuer|cipher|comment|attribute") || !grants && s.is("as")
			if name, powers := p.account(s); powers {
				return "a statement names the account " + name
			}
		}
	}
	return ""
}

// granted looks for a right in what stands before ON in GRANT and REVOKE, and moves on to the accounts. There is no ON where
// roles are given; their names are for others.
func (p Powers) granted(s *parser) string {
	begin := *s
	text := " "
	for !s.is("on") {
		switch {
		case s.tok.kind == tokenBad:
			return darkAccounts
		case s.end(), s.is("to|from"):
			*s = begin
			return ""
		case s.symbol('('): // columns
			if !s.skipParens() {
				return darkAccounts
			}
			text += ", "
		default: // in quotes, too: MySQL takes them for a right as for a role
			text += strings.ToLower(string(s.tok.text)) + " "
			s.next()
		}
	}
	for _, right := range append([]string{"PROXY"}, p.Rights...) {
		if strings.Contains(text, " "+strings.ToLower(right)+" ") {
			return "a statement names the privilege " + right
		}
	}
	s.next()
	s.eat("table|function|procedure|package|library")
	if s.eatSymbol('*') && s.eatSymbol('.') && s.symbol('*') && strings.Contains(text, " all ") {
		return "a statement names all privileges"
	}
	for !s.is("to|from") { // over what they are on
		switch {
		case s.tok.kind == tokenBad:
			return darkAccounts
		case s.end():
			return ""
		case s.eatSymbol('.'):
		}
		s.next()
	}
	return ""
}

// redefined looks for a table of the server's own in the rest of a statement.
func redefined(s *statement) string {
	table, here := "", strings.EqualFold(s.query.Schema, "mysql")
	for ; !s.end() && s.tok.kind != tokenBad; s.next() {
		name := strings.ToLower(string(s.tok.text))
		here = here || s.tok.kind != tokenString && name == "mysql"
		if table == "" && s.tok.kind != tokenString && grantTables[name] {
			table = name
		}
	}
	switch {
	case here && table != "":
		return "mysql." + table + " was made anew, or changed"
	case s.tok.kind != tokenBad && !s.ambiguous():
		return ""
	}
	if text := bytes.ToLower(s.sql); strings.EqualFold(s.query.Schema, "mysql") || bytes.Contains(text, []byte("mysql")) {
		for name := range grantTables {
			if bytes.Contains(text, []byte(name)) {
				return darkTables
			}
		}
	}
	return ""
}
