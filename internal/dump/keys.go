package dump

import (
	"regexp"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// DeferredKeys are the statements by which the keys of an empty table go and come back.
type DeferredKeys struct {
	// Drop takes Keys and ForeignKeys out of the table. Add and AddForeign make them again;
	// each is empty if there are none of its kind.
	Drop, Add, AddForeign string
}

// DeferKeys returns the statements that have the keys made behind the rows, for any server; name is
// what they call the table. It returns false if there are no keys for which that comes to the
// same: not in a table without Bare, nor if the session that makes them could read their text
// otherwise.
func (t *Table) DeferKeys(name string) (DeferredKeys, bool) {
	var drop, keys, foreign []string
	for _, clause := range t.ForeignKeys {
		drop = append(drop, "DROP FOREIGN KEY "+dbconn.QuoteName(KeyName(clause)))
		clause, ok := sameRestrict(clause)
		if !ok {
			return DeferredKeys{}, false
		}
		foreign = append(foreign, "ADD "+clause)
	}
	for _, clause := range t.Keys {
		drop = append(drop, "DROP KEY "+dbconn.QuoteName(KeyName(clause)))
		keys = append(keys, "ADD "+clause)
	}
	if t.Bare == nil || len(drop) == 0 || !plainText(t.ForeignKeys) || !plainText(t.Keys) {
		return DeferredKeys{}, false
	}
	alter := "ALTER TABLE " + name + " "
	k := DeferredKeys{Drop: alter + strings.Join(drop, ", ")}
	if len(keys) > 0 {
		k.Add = alter + strings.Join(keys, ", ")
	}
	if len(foreign) > 0 {
		k.AddForeign = alter + strings.Join(foreign, ", ")
	}
	return k, true
}

// restrict is an action of a foreign key that is the default.
var restrict = regexp.MustCompile(`(?i)\bON\s+(DELETE|UPDATE)\s+RESTRICT\b`)

// sameRestrict returns a foreign key by which ALTER TABLE makes what CREATE TABLE would. MySQL
// remembers ON DELETE RESTRICT. MariaDB leaves it out, but its ALTER TABLE makes NO ACTION of
// it; it does not read the comment: https://mariadb.com/kb/en/comment-syntax/
func sameRestrict(clause string) (string, bool) {
	end := strings.LastIndexByte(clause, ')') + 1
	actions := clause[end:]
	return clause[:end] + restrict.ReplaceAllString(actions, "/*!50700 $0 */"), !strings.ContainsAny(actions, "`\"'/#-")
}

// plainText says that texts mean the same in every character set and sql_mode.
func plainText(list []string) bool {
	for _, s := range list {
		if strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 || r == '\\' || r == '"' }) {
			return false
		}
	}
	return true
}

// References returns the table, without its database, that a clause of Table.ForeignKeys refers
// to, and the columns; none if it does not say, and means the primary key.
func References(clause string) (table string, columns []string) {
	t := tokens{b: []byte(clause)}
	for {
		tok := t.next()
		if tok.kind == tokenEnd {
			return "", nil
		}
		if tok.is("references") {
			break
		}
	}
	var d StatementClass
	d.tableName(t.next(), &t)
	if t.next().symbol('(') {
		columns = t.columns()
	}
	return d.Table, columns
}

// KeyColumns returns the columns of a clause of Table.Keys.
func KeyColumns(clause string) []string {
	t := tokens{b: []byte(clause)}
	for {
		tok := t.next()
		if tok.kind == tokenEnd {
			return nil
		}
		if tok.symbol('(') {
			return t.columns()
		}
	}
}

// columns reads names up to the parenthesis behind them, without what else is said of them.
func (t *tokens) columns() []string {
	var list []string
	depth, first := 1, true
	for {
		tok := t.next()
		switch {
		case tok.kind == tokenEnd:
			return list
		case tok.symbol('('):
			depth++
		case tok.symbol(')'):
			if depth--; depth == 0 {
				return list
			}
		case tok.symbol(',') && depth == 1:
			first = true
			continue
		case first && tok.isName():
			list = append(list, tok.name())
		}
		first = false
	}
}

// Into returns the columns that the rows of an INSERT into the table go to, in the order of
// their fields; nil if one of them is not known.
func (t *Table) Into(in Insert) []Column {
	var list []Column
	if in.Columns == nil {
		for _, c := range t.Columns {
			if !c.Hidden {
				list = append(list, c)
			}
		}
		return list
	}
	for _, name := range in.Columns {
		i := t.column(name)
		if i < 0 {
			return nil
		}
		list = append(list, t.Columns[i])
	}
	return list
}

func (t *Table) column(name string) int {
	for i, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return i
		}
	}
	return -1
}

// Positive says that a literal is a whole number above zero, in quotes or not.
func Positive(b []byte) bool {
	if len(b) > 2 && b[0] == '\'' {
		b = b[1 : len(b)-1]
	}
	above := false
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
		above = above || c != '0'
	}
	return above
}

// KeyName returns the name in a clause of Table.Keys or Table.ForeignKeys.
func KeyName(clause string) string {
	t := tokens{b: []byte(clause)}
	for {
		tok := t.next()
		if !tok.is("constraint") && !tok.is("unique") && !tok.is("key") && !tok.is("index") {
			return tok.name()
		}
	}
}
