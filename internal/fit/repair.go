package fit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// repair is what a CREATE TABLE can do without.
type repair struct {
	codes []int
	// says is part of the message, "" for any.
	says string
	do   func(*creation) edits
	of   string // as it is told
}

// repairs are tried in this order, each once.
var repairs = []repair{
	// ER_BLOB_CANT_HAVE_DEFAULT: MySQL takes the same as an expression.
	{[]int{1101}, "", (*creation).defaults, "defaults of TEXT, BLOB and JSON columns, as expressions"},
	// ER_CANNOT_FIND_KEY_IN_KEYRING and ER_TABLESPACE_CANNOT_ENCRYPT
	{[]int{3185, 3183}, "", (*creation).encryption, "ENCRYPTION='Y', left out"},
	// ER_ILLEGAL_HA, ER_CANT_CREATE_TABLE, ER_TOO_BIG_ROWSIZE
	{[]int{1031, 1118, 1478}, "", (*creation).rowFormat, "ROW_FORMAT=FIXED, COMPACT or REDUNDANT, left out"},
	{[]int{1005}, "errno: 140", (*creation).rowFormat, "ROW_FORMAT=FIXED, COMPACT or REDUNDANT, left out"},
	// ER_UNKNOWN_STORAGE_ENGINE, ER_UNKNOWN_OPTION, ER_PARSE_ERROR at the option of such an engine
	{[]int{1286, 1911, 1064}, "", (*creation).engine, "storage engines that are not here, InnoDB in their place"},
	// ER_CHECK_NOT_IMPLEMENTED
	{[]int{1178}, "partition", (*creation).partitioned, "partitioned MyISAM tables, InnoDB in its place"},
	// ER_TABLESPACE_MISSING, ER_WRONG_TABLESPACE_NAME, ER_ILLEGAL_HA_CREATE_OPTION
	{[]int{3510, 3119, 1478, 1064}, "", (*creation).tablespace, "TABLESPACE, left out"},
}

// Repair changes a CREATE TABLE that was refused so that it may be taken. It returns false if nothing is known to help.
func (f *Fit) Repair(text, meant []byte, said dbconn.Refusal) (repaired []byte, of string, ok bool) {
	if !f.Fix || !dump.NewWalk(meant).Next().Is("create") {
		return nil, "", false
	}
	c := readCreation(meant)
	for _, r := range repairs {
		if !slices.Contains(r.codes, said.Code) || !strings.Contains(said.Message, r.says) {
			continue
		}
		if e := r.do(c); len(e) > 0 {
			return e.of(text), r.of, true
		}
	}
	return nil, "", false
}

// Repaired counts a statement that was taken after a repair.
func (f *Fit) Repaired(of string) { f.notes.add(ofRepairs, of) }

// Repairable says that Fix may help against a refusal of a statement.
func Repairable(said dbconn.Refusal, statement string) bool {
	w := dump.NewWalk([]byte(statement))
	return w.Next().Is("create") && w.Next().Is("table") && said.Code != 1064 && slices.ContainsFunc(repairs, func(r repair) bool {
		return slices.Contains(r.codes, said.Code) && strings.Contains(said.Message, r.says)
	})
}

// creation are the tokens of a CREATE TABLE: body those in the parentheses of the columns, options those behind them.
type creation struct {
	meant         []byte
	body, options []dump.Token
}

func readCreation(meant []byte) *creation {
	c := &creation{meant: meant}
	w := dump.NewWalk(meant)
	depth, behind := 0, false
	for tok := w.Next(); !tok.End(); tok = w.Next() {
		switch {
		case tok.Symbol('('):
			depth++
		case tok.Symbol(')'):
			depth--
			behind = behind || depth == 0
			if depth == 0 && len(c.options) == 0 {
				continue
			}
		}
		switch {
		case behind:
			c.options = append(c.options, tok)
		case depth > 0:
			c.body = append(c.body, tok)
		}
	}
	return c
}

// drop takes out the options that these words begin, with their values.
func (c *creation) drop(words ...string) (e edits) {
	for i := range c.options {
		if from, value, ok := c.option(i, words...); ok {
			e = append(e, edit{from: from, to: value.To})
		}
	}
	return e
}

// option returns the beginning and the value of an option at a place, if these words begin it.
func (c *creation) option(i int, words ...string) (from int, value dump.Token, ok bool) {
	from = c.options[i].From
	for _, word := range words {
		if i >= len(c.options) || !c.options[i].Is(word) {
			return 0, value, false
		}
		i++
	}
	if i < len(c.options) && c.options[i].Symbol('=') {
		i++
	}
	if i >= len(c.options) || !c.options[i].IsName() {
		return 0, value, false
	}
	return from, c.options[i], true
}

func (c *creation) encryption() edits { return c.drop("encryption") }
func (c *creation) tablespace() edits { return c.drop("tablespace") }

func (c *creation) rowFormat() (e edits) {
	for i := range c.options {
		if from, value, ok := c.option(i, "row_format"); ok && slices.ContainsFunc([]string{"fixed", "compact", "redundant"}, value.Is) {
			e = append(e, edit{from: from, to: value.To})
		}
	}
	return e
}

// engine has the table be one of InnoDB, without the options that its engine alone had, which stand in backquotes.
func (c *creation) engine() (e edits) {
	e = c.toInnoDB(func(name string) bool {
		return !slices.Contains([]string{"innodb", "myisam", "memory", "aria", "csv", "archive", "merge", "mrg_myisam", "blackhole"}, name)
	})
	if len(e) == 0 {
		return nil
	}
	for i := 1; i+2 <= len(c.options); i++ {
		if name := c.options[i-1]; c.meant[name.From] == '`' && c.options[i].Symbol('=') {
			e = append(e, edit{from: name.From, to: c.options[i+1].To})
		}
	}
	return e
}

func (c *creation) partitioned() edits {
	return c.toInnoDB(func(name string) bool { return name != "innodb" })
}

func (c *creation) toInnoDB(which func(engine string) bool) (e edits) {
	for i := range c.options {
		if _, value, ok := c.option(i, "engine"); ok && which(strings.ToLower(value.Name())) {
			e = append(e, edit{value.From, value.To, "InnoDB"})
		}
	}
	return e
}

// defaults puts the literals that are defaults of columns without a length into parentheses.
func (c *creation) defaults() (e edits) {
	long := false // of the present column
	depth := 0
	for i, tok := range c.body {
		switch {
		case tok.Symbol('('):
			depth++
		case tok.Symbol(')'):
			depth--
		case depth == 1 && tok.Symbol(','):
			long = false
		case depth == 1 && slices.ContainsFunc([]string{"text", "tinytext", "mediumtext", "longtext", "blob", "tinyblob", "mediumblob", "longblob", "json", "geometry"}, tok.Is):
			long = true
		case depth == 1 && long && tok.Is("default") && i+1 < len(c.body):
			value := c.body[i+1]
			if !value.IsName() || value.Is("null") {
				continue
			}
			if !value.IsString() && i+2 < len(c.body) && c.body[i+2].IsString() { // _utf8mb4'x'
				value.To = c.body[i+2].To
			}
			e = append(e, edit{value.From, value.To, "(" + string(bytes.Clone(c.meant[value.From:value.To])) + ")"})
		}
	}
	return e
}
