package fit

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// stays are the variables that dumps set and that stay as they are here. The dumpers of managed and of
// replicated servers write them; an application has no right to set them, or the server does not know
// them, and what is loaded is the same without.
var stays = map[string]bool{
	// Off, what is loaded would be in no log, by which resets and recoveries work.
	"sql_log_bin": true,
	// The transactions of the server that was dumped. This one counts its own.
	"gtid_purged": true,
	// Where a replica of this server would go on.
	"gtid_slave_pos": true,
	// When statistics are computed, of the whole server. They are when a dump is loaded.
	"innodb_stats_auto_recalc": true,
}

// settings takes what stays as it is out of a SET statement; nil if nothing is left. Settings of the whole server always stay:
// they are the instance's, and would be gone with the next start.
func (f *Fit) settings(text []byte) []byte {
	rest, found := dump.LeaveOut(text, stays)
	for _, name := range found {
		f.notes.add(ofSettings, name)
	}
	if rest == nil || !hasScope(rest) {
		return rest
	}
	var kept [][]byte
	parts := Split(rest)
	server := false // the word before holds for those behind that say nothing else
	for _, one := range parts {
		w := dump.NewWalk(one)
		w.Next()
		switch first := w.Peek(); {
		case isServerScope(first):
			server = true
		case first.Is("session"), first.Is("local"):
			server = false
		}
		bare := !w.Peek().Symbol('@')
		name := variable(w)
		if scoped := strings.HasPrefix(name, ofServerScope); scoped || server && bare {
			f.notes.add(ofSettings, ofServerScope+strings.TrimPrefix(name, ofServerScope))
		} else {
			kept = append(kept, bytes.TrimSpace(one[len("SET "):]))
		}
	}
	switch len(kept) {
	case 0:
		return nil
	case len(parts):
		return rest
	}
	return append([]byte("SET "), bytes.Join(kept, []byte(", "))...)
}

// hasScope says that a word is there by which a setting is the server's.
func hasScope(text []byte) bool {
	w := dump.NewWalk(text)
	for tok := w.Next(); !tok.End(); tok = w.Next() {
		if isServerScope(tok) {
			return true
		}
	}
	return false
}

func isServerScope(tok dump.Token) bool {
	return tok.Is("global") || tok.Is("persist") || tok.Is("persist_only")
}

// ofServerScope is what the names of the server's settings begin with.
const ofServerScope = "global "

// Numbers of errors about settings.
// https://dev.mysql.com/doc/mysql-errors/9.0/en/server-error-reference.html
const (
	errUnknownVariable = 1193
	errDenied          = 1227 // a right is missing
	errLocalVariable   = 1228 // not for SET GLOBAL
	errGlobalVariable  = 1229 // only for SET GLOBAL
	errValue           = 1231
	errReadOnly        = 1238
)

// idleModes are words of sql_mode that one of the servers does not know, and that change nothing of what is loaded: they were
// about GRANT, SHOW CREATE TABLE, or say what the other server does anyway.
var idleModes = []string{
	"no_auto_create_user", "no_field_options", "no_key_options", "no_table_options", "mysql323", "mysql40", "not_used",
	"time_round_fractional", "ignore_bad_table_options", "simultaneous_assignment",
}

// Yield tells what to send instead of a SET of one variable that was refused: nil for nothing. It returns false if the fault
// stands.
func (f *Fit) Yield(text []byte, said dbconn.Refusal) ([]byte, bool) {
	w := dump.NewWalk(text)
	if !w.Next().Is("set") {
		return nil, false
	}
	name := variable(w)
	switch said.Code {
	case errUnknownVariable:
		f.notes.add(ofSettings, name+" (unknown to this server)")
		return nil, true
	case errDenied, errLocalVariable, errGlobalVariable, errReadOnly:
		f.notes.add(ofSettings, name)
		return nil, true
	case errValue:
		if strings.HasSuffix(said.Message, "'NULL'") && bytes.IndexByte(text, '@') > 0 {
			f.notes.add(ofRestores, name)
			return nil, true
		}
		return f.yieldMode(text, said)
	}
	return nil, false
}

// variable reads the left side of an assignment: in lower case, with @ or the word global where it is no variable of the session.
func variable(w *dump.Walk) string {
	var scope, name string
	for {
		tok := w.Next()
		switch {
		case tok.End(), tok.Symbol('='), tok.Symbol(':'):
			return scope + name
		case tok.Symbol('@') && w.Peek().Symbol('@'):
			w.Next()
		case tok.Symbol('@'):
			scope = "@"
		case isServerScope(tok):
			scope = ofServerScope
		case tok.IsName():
			name = strings.ToLower(tok.Name())
		}
	}
}

var refusedMode = regexp.MustCompile(`'sql_mode'.*'([^']*)'`)

// yieldMode leaves out a word of sql_mode that the server does not know.
func (f *Fit) yieldMode(text []byte, said dbconn.Refusal) ([]byte, bool) {
	m := refusedMode.FindStringSubmatch(said.Message)
	if len(m) < 2 || !slices.Contains(idleModes, strings.ToLower(m[1])) {
		return nil, false
	}
	w := dump.NewWalk(text)
	for tok := w.Next(); !tok.End(); tok = w.Next() {
		if !tok.IsString() {
			continue
		}
		words := strings.Split(tok.Name(), ",")
		kept := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return strings.EqualFold(strings.TrimSpace(word), m[1]) })
		if len(kept) == len(words) {
			continue
		}
		f.notes.add(ofModes, strings.ToUpper(m[1]))
		return slices.Concat(text[:tok.From+1], []byte(strings.Join(kept, ",")), text[tok.To-1:]), true
	}
	return nil, false
}

// Split returns the assignments of a SET statement as statements of their own; itself if it has one, or is not understood.
func Split(text []byte) [][]byte {
	w := dump.NewWalk(text)
	if !w.Next().Is("set") || bytes.Contains(text, []byte("/*")) {
		return [][]byte{text}
	}
	var parts [][]byte
	from, depth := w.Peek().From, 0
	for {
		tok := w.Next()
		switch {
		case tok.Symbol('('):
			depth++
		case tok.Symbol(')'):
			depth--
		case tok.End(), tok.Symbol(',') && depth == 0:
			end := len(text)
			if !tok.End() {
				end = tok.From
			}
			parts = append(parts, append([]byte("SET "), bytes.TrimSpace(text[from:end])...))
			if tok.End() {
				return parts
			}
			from = tok.To
		}
	}
}
