package template

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// word is a name, a string or a run of signs in the body of an object.
type word struct {
	text       string // of a name, without its quotes
	kind       wordKind
	start, end int
}

type wordKind int

const (
	sign wordKind = iota
	name
	literal
)

// words splits a statement as a server does, without comments but for those that it executes.
func words(sql, mode string) []word {
	ansi, plainBackslash := strings.Contains(mode, "ANSI_QUOTES"), strings.Contains(mode, "NO_BACKSLASH_ESCAPES")
	var list []word
	for i := 0; i < len(sql); {
		rest := sql[i:]
		switch c := sql[i]; {
		case strings.HasPrefix(rest, "/*!"), strings.HasPrefix(rest, "/*M!"):
			i += strings.Index(rest, "!") + 1
			for i < len(sql) && sql[i] >= '0' && sql[i] <= '9' {
				i++
			}
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return list
			}
			i += n + 4
		case strings.HasPrefix(rest, "*/"):
			i += 2
		case c == '#', strings.HasPrefix(rest, "--") && (len(rest) == 2 || rest[2] <= ' '):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				return list
			}
			i += n
		case c == '`', c == '\'', c == '"':
			n := closing(rest, c == '`' || plainBackslash || c == '"' && ansi)
			w := word{kind: literal, start: i, end: i + n, text: rest[1:max(n-1, 1)]}
			if c == '`' || c == '"' && ansi {
				w.kind, w.text = name, strings.ReplaceAll(w.text, string([]byte{c, c}), string(c))
			}
			list = append(list, w)
			i += n
		case c <= ' ':
			i++
		case nameByte(c):
			n := 1
			for n < len(rest) && nameByte(rest[n]) {
				n++
			}
			list = append(list, word{kind: name, text: rest[:n], start: i, end: i + n})
			i += n
		default:
			list = append(list, word{kind: sign, text: rest[:1], start: i, end: i + 1})
			i++
		}
	}
	return list
}

// closing is the length of the quoted thing that text begins with, doubled quotes in it included.
func closing(text string, plainBackslash bool) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && !plainBackslash:
			i++
		case text[i] != text[0]:
		case i+1 < len(text) && text[i+1] == text[0]:
			i++
		default:
			return i + 1
		}
	}
	return len(text)
}

// nameByte reports whether a name may have c without quotes.
func nameByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// relocate returns the body of an object of the database from for the database to: where it names
// its own database, it is to name the other. fold is how a server keeps names of databases, and
// isObject says what has a name there.
func relocate(sql, mode, from, to string, fold func(string) string, isObject func(string) bool) (string, error) {
	if from = fold(from); !strings.Contains(fold(sql), from) {
		return sql, nil
	}
	list := words(sql, mode)
	is := func(i int, text string) bool {
		return i >= 0 && i < len(list) && list[i].kind == sign && list[i].text == text
	}
	var own []int // where the name stands, before a dot
	var other, dynamic, quoted bool
	for i, w := range list {
		switch {
		case w.kind == literal:
			text := fold(w.text)
			quoted = quoted || text == from || strings.Contains(text, from+".") || strings.Contains(text, dbconn.QuoteName(from))
		case w.kind == name && (strings.EqualFold(w.text, "PREPARE") || strings.EqualFold(w.text, "IMMEDIATE")):
			dynamic = true
		case w.kind != name || fold(w.text) != from || is(i-1, ".") || is(i-1, "@") || is(i+1, "@"): // also of an account
		case is(i+1, "."):
			own = append(own, i)
		default:
			other = true // a table, an alias, a variable
		}
	}
	var b strings.Builder
	at := 0
	for _, i := range own {
		// Where something else has the name too, what it qualifies tells whether it is the database.
		if other && !is(i+3, ".") {
			if i+2 < len(list) && isObject(list[i+2].text) {
				return "", fmt.Errorf("%w: in it %s may be the database, or something else of that name", ErrUnclonable, from)
			}
			continue
		}
		b.WriteString(sql[at:list[i].start])
		b.WriteString(dbconn.QuoteName(to))
		at = list[i].end
	}
	if dynamic && quoted {
		return "", fmt.Errorf("%w: a text that it prepares may name the database %s", ErrUnclonable, from)
	}
	b.WriteString(sql[at:])
	return b.String(), nil
}

// relocated is the statement that makes an object of s in the database to.
func (s *Shape) relocated(o Object, to string) (create string, err error) {
	switch {
	case to == s.Name:
		return o.Create, nil
	case o.Kind == "VIEW":
		create = requalify(o, s.Name, to)
	default:
		create, err = relocate(o.Create, o.SQLMode, s.Name, to, s.fold, s.isObject)
	}
	return s.Definers.stand(o, create), err
}

// fold is the name of a database as the server keeps it.
func (s *Shape) fold(name string) string {
	if s.Folds {
		return strings.ToLower(name)
	}
	return name
}

// same reports whether p, of a clone, is as o of the template s.
func (s *Shape) same(o, p Object, clone string) bool {
	want, err := s.relocated(o, clone)
	a, b := o, p
	a.Create, b.Create = want, p.Create
	if o.Kind == "VIEW" { // each server names in its own way what is in the same database
		a.Create, b.Create = requalify(o, s.Name, ""), requalify(p, clone, "")
		if clone != s.Name {
			a.Create = s.Definers.stand(o, a.Create)
		}
	}
	return err == nil && a == b
}

// isObject reports whether a table, a view or a routine has a name.
func (s *Shape) isObject(name string) bool {
	if s.Table(s.fold(name)) != nil {
		return true
	}
	return slices.ContainsFunc(s.Objects, func(o Object) bool {
		return o.Kind != "TRIGGER" && o.Kind != "EVENT" && strings.EqualFold(o.Name, name)
	})
}
