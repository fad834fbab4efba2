package repeatable

import (
	"strconv"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// statement is one that is being judged.
type statement struct {
	parser
	judge   *Judge
	query   *binlog.Query
	verdict Verdict
	// lost says that what is known of tables may not hold any longer.
	lost bool
	// saysUTF8 says that the text has MariaDB's utf8, utf8Table which table it makes with it.
	saysUTF8  bool
	utf8Table Table
	// named says that the last character set that a table's options name is utf8.
	named bool
	// historic says that the table has, or gets, partitions by SYSTEM_TIME.
	historic bool
	// maybe says that IF EXISTS stands in it.
	maybe bool
	// changes are what the statement does to what is known of tables, in order.
	changes []change
}

// change is of one table's primary key.
type change struct {
	table   Table
	known   bool
	columns []string
	// schema says that all tables of the table's database are gone.
	schema bool
}

// fence makes the statement one, unless it is one already.
func (s *statement) fence(kind, why string) {
	if s.verdict.Fence == "" {
		s.verdict.Fence, s.verdict.Kind = why, kind
	}
}

// unknown makes the statement a fence since its next token is not understood.
func (s *statement) unknown() {
	s.lost = true
	what := "the end of the statement"
	switch s.tok.kind {
	case tokenWord, tokenName, tokenString, tokenSymbol:
		what = shorten(s.tok.text)
	case tokenBad:
		what = "a part of the statement"
	}
	s.fence("unknown", what+" is not on the list of what gives the same again")
}

// shorten quotes a piece of a statement for a message.
func shorten(text []byte) string {
	const most = 30
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "..."
	}
	return strconv.Quote(string(text))
}

// judgeAll returns the verdict.
func (s *statement) judgeAll() Verdict {
	switch {
	case s.query.ErrorCode != 0:
		s.lost = true
		s.fence("error", "it ended in error "+strconv.Itoa(int(s.query.ErrorCode))+", perhaps half done")
	case s.query.Partial:
		s.lost = true
		s.fence("event", "the log has settings of its session that are not understood")
	case s.ambiguous():
		s.lost = true
		s.fence("charset", "its character set may hide a backslash or a quote in a letter")
	default:
		s.judgeHead()
		s.fenceUTF8()
		s.bySession()
	}
	return s.verdict
}

// remember applies the changes of the statement to what is known.
func (s *statement) remember() {
	switch s.query.Alter {
	case binlog.AlterStarts, binlog.AlterFails:
		return
	}
	k := s.judge.keys
	if s.lost || s.judge.blind {
		clear(k)
		return
	}
	for _, c := range s.changes {
		switch {
		case c.schema:
			k.forgetSchema(c.table.Schema)
		case c.known:
			k.set(c.table, c.columns)
		default:
			k.forget(c.table)
		}
	}
}

// rule says what to do with statements, or parts of such, that begin with a pattern.
type rule struct {
	pattern string
	do      func(*statement)
}

// first does what the first rule says whose pattern matches, and reports whether there was one.
func (s *statement) first(rules []rule) bool {
	for _, r := range rules {
		if s.match(r.pattern) {
			r.do(s)
			return true
		}
	}
	return false
}

// ifExists is the bit of the flags that MariaDB's sql_if_exists sets.
const ifExists = 1 << 28

// loose reports whether parts of the statement may do nothing, since what they are of is not there.
func (s *statement) loose() bool { return s.query.Flags2&ifExists != 0 || s.maybe }

// pass is for what gives the same again, whatever follows.
func pass(s *statement) { s.skip() }

// ends is for what gives the same again if nothing follows.
func ends(s *statement) {
	if !s.end() {
		s.unknown()
	}
}

// rows is for statements that change rows.
func rows(s *statement) {
	s.fence("dml", "a statement that changes rows is in the log as text")
}

// refuse is for what is known not to give the same again.
func refuse(kind, why string) func(*statement) {
	return func(s *statement) { s.lost = true; s.fence(kind, why) }
}

func (s *statement) judgeHead() {
	if s.end() {
		return // nothing but comments
	}
	if !s.first(heads) {
		s.unknown()
	}
}

// heads are the statements that are understood; those of CREATE, ALTER and DROP have lists of
// their own.
var heads []rule

func init() {
	heads = []rule{
		{"begin|commit [work]", ends},
		{"rollback|savepoint|xa", pass},
		{"start transaction", ends},
		{"release savepoint", pass},
		{"create", (*statement).create},
		{"alter", (*statement).alter},
		{"drop", (*statement).drop},
		{"rename table|tables", (*statement).rename},
		{"rename user", pass},
		{"truncate", pass},
		{"analyze|optimize|repair [no_write_to_binlog|local] table|tables|view", pass},
		{"flush", pass},
		{"grant|revoke", (*statement).grant},
		{"set password", (*statement).account},
		{"set default role", pass},
		{"set statement", (*statement).setStatement},
		{"delete from", (*statement).emptied},
		{"insert|replace|update|delete|load|call|do|select|with|values|table|execute", rows},
		{"install|uninstall", refuse("install", "INSTALL and UNINSTALL change the server, not the data")},
	}
}

// emptied is for what servers write when they find a table of engine MEMORY empty.
func (s *statement) emptied() {
	_, ok := s.table(s.query.Schema)
	if !ok || !s.end() || !generated(s.sql) {
		rows(s)
	}
}

// setStatement is MariaDB's SET STATEMENT var=value, ... FOR statement.
func (s *statement) setStatement() {
	for {
		if !s.eat(harmless) || !s.eatSymbol('=') {
			s.unknown()
			return
		}
		s.eatSymbol('-')
		s.next()
		switch {
		case s.eatSymbol(','):
		case s.eat("for"):
			s.judgeHead()
			return
		default:
			s.unknown()
			return
		}
	}
}

// harmless are variables that SET STATEMENT may set. The applier sets none of them, though the text
// says so: these do not say what the statement does, are in the event's flags, or are innodb_strict_mode,
// which is OFF in a replay.
const harmless = "innodb_strict_mode|lock_wait_timeout|innodb_lock_wait_timeout|max_statement_time|" +
	"foreign_key_checks|unique_checks|alter_algorithm"
