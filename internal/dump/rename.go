package dump

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Rename loads a dump of a database that it names itself (USE, CREATE DATABASE, names with the
// database before them) into another one. It is for one pass over one or several dumps.
//
// Names qualified with the database's name lose it, which suits clones of the database too:
// Target's current database is To. That goes by tokens, so a table or an alias of the same name
// could be meant by a word before a dot: that is refused, never guessed.
type Rename struct {
	// To is the database that everything goes to.
	To string
	// From is the database of the dump that is taken; what belongs to others is left out. ""
	// takes the first that the dump names, and refuses a second.
	From string
	// New says that To was made for the dump, and takes the options of CREATE DATABASE.
	New bool
	// Hint is that of the errors about another database.
	Hint string

	from    string // that is taken, once it is known
	current string // that of the last USE of the present dump
	found   bool   // From is named in it
	// bare and qualified are lines where From stood alone, and before a dot.
	bare, qualified int
	head, renamed   []byte // of the last INSERT
}

// Begin is called before each dump.
func (r *Rename) Begin() { r.from, r.current, r.found, r.head = cmp.Or(r.From, r.from), "", false, nil }

// Missed returns an error for a dump that was read, file, and names databases, as s says, but not From: all of it was left out.
func (r *Rename) Missed(s Summary, file string) error {
	if r.From == "" || r.found || len(s.Databases) == 0 {
		return nil
	}
	return &Error{File: file, Msg: fmt.Sprintf("the dump holds no database %s, but %s", r.From, strings.Join(s.Databases, ", ")), Hint: "--database " + s.Databases[0]}
}

// Apply rewrites a statement; file names its dump in errors. It returns false for one that is
// to be left out.
func (r *Rename) Apply(st *Statement, file string) (bool, error) {
	fault := func(format string, args ...any) *Error {
		return &Error{File: file, Line: st.Line, Msg: fmt.Sprintf(format, args...), Hint: r.Hint, Statement: printable(st.Text[:min(len(st.Text), headSize)])}
	}
	if st.Rows != nil && bytes.Equal(st.Text, r.head) && r.head != nil {
		if !r.ours() {
			return false, nil
		}
		st.Text = r.renamed
		return true, nil
	}
	a := read(st.Text[:min(len(st.Text), headSize)])
	switch a.kind {
	case kindUse, kindCreateDatabase, kindDropDatabase:
		if !a.whole(st.Text) {
			err := fault("what begins with this holds more than that, which would be left out with it: a delimiter is missing")
			err.Hint = "end the statement where it ends"
			return false, err
		}
	}
	switch a.kind {
	case kindUse:
		r.head = nil
		if err := r.take(a.name, fault); err != nil {
			return false, err
		}
		r.current = a.name
		st.Text = []byte("USE " + dbconn.QuoteName(r.To))
		return r.ours(), nil
	case kindCreateDatabase:
		if err := r.take(a.name, fault); err != nil {
			return false, err
		}
		options := r.options(st.Text)
		st.Text = []byte("ALTER DATABASE " + dbconn.QuoteName(r.To) + options)
		return a.name == r.from && r.New && options != "", nil
	case kindDropDatabase:
		// Dumps drop what they are about to make.
		return false, r.take(a.name, fault)
	}
	if name := alteredDatabase(st.Text); name != "" && cmp.Or(r.from, r.From, r.current) == "" {
		// A dump that names its database nowhere else does not qualify names.
		text, err := (&Rename{To: r.To, from: name}).rewrite(st, false, fault)
		st.Text = text
		return err == nil, err
	}
	class := Classify(st.Text, st.Delimiter)
	if class.Kind == StatementSet || class.Kind == StatementSetTransactions {
		return true, nil
	}
	database := class.Database
	switch a.kind {
	case kindData:
		database = ParseInsert(st.Text).Database
	case kindSchema, kindTable:
		database = cmp.Or(database, a.name)
	}
	if database != "" {
		// A dump may qualify all names instead of a USE.
		if err := r.take(database, fault); err != nil {
			return false, err
		}
		if database != r.from {
			return false, nil
		}
	} else if !r.ours() {
		return false, nil
	}
	columns := st.Rows != nil || class.Kind == StatementCreateTable
	if database == "" && class.Kind == StatementCreateTable && class.Table == r.from {
		r.bare = st.Line
	}
	text, err := r.rewrite(st, columns, fault)
	if err != nil {
		return false, err
	}
	if st.Rows != nil {
		r.head, r.renamed = append(r.head[:0], st.Text...), text
	}
	st.Text = text
	return true, nil
}

// alteredDatabase returns the database that an ALTER DATABASE names, "" if it is none, or is about the current one. Dumpers
// write it around a routine, trigger or event that was made when the database had another collation.
func alteredDatabase(text []byte) string {
	t := tokens{b: text}
	if !t.next().is("alter") {
		return ""
	}
	if what := t.next(); !what.is("database") && !what.is("schema") {
		return ""
	}
	tok := t.next()
	for _, option := range []string{"default", "character", "charset", "collate", "comment", "encryption", "read"} {
		if tok.is(option) {
			return ""
		}
	}
	if !tok.isName() {
		return ""
	}
	return tok.name()
}

// ours says that the current database is the one that is taken, or that there was no USE yet.
func (r *Rename) ours() bool { return r.current == "" || r.current == r.from }

// Takes says that what belongs to a database, named or the current one before, is taken.
func (r *Rename) Takes(database string) bool { return database == "" || database == r.from }

// take notes that the dump names a database.
func (r *Rename) take(name string, fault func(string, ...any) *Error) error {
	r.found = r.found || name == r.From
	switch {
	case r.from == "":
		r.from = name
	case name != r.from && r.From == "":
		return fault("the dump holds several databases, %s and %s", r.from, name)
	}
	return nil
}

// options returns the character set and the collation of a CREATE DATABASE, as ALTER DATABASE
// takes them.
func (r *Rename) options(text []byte) string {
	t := tokens{b: text}
	var out string
	for tok := t.next(); tok.kind != tokenEnd; tok = t.next() {
		var option string
		switch {
		case tok.is("charset"), tok.is("character") && t.next().is("set"):
			option = " CHARACTER SET "
		case tok.is("collate"):
			option = " COLLATE "
		default:
			continue
		}
		value := t.next()
		if value.symbol('=') {
			value = t.next()
		}
		if value.isName() {
			out += option + value.name()
		}
	}
	return out
}

// rewrite returns the text of a statement without From before a dot, and with To in its place in
// ALTER DATABASE. columns says that a name that stands alone is one of a column, which no dot
// follows.
func (r *Rename) rewrite(st *Statement, columns bool, fault func(string, ...any) *Error) ([]byte, error) {
	if r.from == "" || !bytes.Contains(st.Text, []byte(strings.ReplaceAll(r.from, "`", "``"))) {
		return st.Text, nil
	}
	var out []byte
	done := 0
	t := tokens{b: st.Text}
	var before, last token
	for {
		tok := t.next()
		if tok.kind == tokenEnd {
			break
		}
		end := len(st.Text) - len(t.b)
		begin := end - len(tok.text)
		quoted := tok.kind == tokenName || tok.kind == tokenString
		if quoted {
			begin -= 2
		}
		if mine := tok.isName() && (tok.kind != tokenString || st.Text[begin] == '"') && tok.name() == r.from; mine && !last.symbol('.') && !last.symbol('@') {
			// The next token decides.
			ahead := t
			ahead.space()
			switch next := at(ahead.b, 0); {
			case next == '.':
				r.qualified = st.Line
				out = append(out, st.Text[done:begin]...)
				done = len(st.Text) - len(ahead.b) + 1
			case (last.is("database") || last.is("schema")) && before.is("alter"):
				out = append(append(out, st.Text[done:begin]...), dbconn.QuoteName(r.To)...)
				done = end
			case next == '@' || tok.kind == tokenString || columns:
			default:
				r.bare = st.Line
			}
			if r.bare > 0 && r.qualified > 0 {
				err := fault("%s. stands before a name (line %d), and %[1]s is a table, a column or an alias as well (line %[3]d): which one is meant cannot be told",
					r.from, r.qualified, r.bare)
				err.Hint = "make the dump without --databases, or name the alias otherwise"
				return nil, err
			}
		}
		if tok.kind == tokenWord && last.symbol('.') && done > 0 && done <= begin && len(bytes.TrimSpace(st.Text[done:begin])) == 0 {
			// Behind a dot a reserved word needs no quotes.
			out = append(append(out, st.Text[done:begin]...), dbconn.QuoteName(string(tok.text))...)
			done = end
		}
		before, last = last, tok
	}
	if out == nil {
		return st.Text, nil
	}
	return append(out, st.Text[done:]...), nil
}
