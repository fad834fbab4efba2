package front

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Commands of the protocol that may be for the door.
const (
	comQuit    = 0x01
	comUse     = 0x02
	comQuery   = 0x03
	comKill    = 0x0c
	comPing    = 0x0e
	comPrepare = 0x16
	comReset   = 0x1f
)

// interesting says which commands to look at.
var interesting = [256]bool{comUse: true, comQuery: true, comKill: true, comPrepare: true, isChange: true}

// forDoor reports whether a command may be for the door, from a glance.
func forDoor(command byte, b []byte) bool {
	if command != comQuery && command != comPrepare {
		return true
	}
	for i, c := range b[1:] {
		switch c {
		case ' ', '\t', '\r', '\n', 0, 1: // the last two are of query attributes, of which there are none
			continue
		case 'C', 'c', 'K', 'k', 'U', 'u', '/', '-', '#':
			return true
		case 'D', 'd': // DROP, and not DELETE
			return i+2 == len(b) || b[i+2]|0x20 == 'r' || asks(b)
		}
		return asks(b)
	}
	return false
}

// asks reports whether a command says the name by which the door is asked for something.
func asks(b []byte) bool {
	return bytes.Contains(b, []byte("ramaria")) || bytes.Contains(b, []byte("RAMARIA"))
}

var (
	useStatement = regexp.MustCompile("(?is)^\\s*use\\s+(?:`((?:[^`]|``)+)`|([^\\s;`]+))\\s*;?\\s*$")
	// makeStatement makes or drops a database: frameworks do that for each of their workers.
	makeStatement = regexp.MustCompile("(?is)^(\\s*(?:create|drop)\\s+(?:or\\s+replace\\s+)?(?:database|schema)\\s+(?:if\\s+(?:not\\s+)?exists\\s+)?)(?:`((?:[^`]|``)+)`|([^\\s;`]+))(.*)$")
	killStatement = regexp.MustCompile(`(?is)^(\s*kill\s+(?:hard\s+|soft\s+)?(?:connection\s+|query\s+)?)(\d+)(\s*(?:;.*)?)$`)
)

// nothing is a statement to which the server answers that all is well.
const nothing = "DO 0"

// command does what a command has for the door, and returns the one that the server gets in its place.
func (s *session) command(ctx context.Context, payload []byte) []byte {
	switch payload[0] {
	case comUse:
		return append([]byte{comUse}, s.real(string(payload[1:]))...)
	case comKill:
		if len(payload) == 5 {
			if thread, ours := s.door.threadOf(binary.LittleEndian.Uint32(payload[1:])); ours {
				return binary.LittleEndian.AppendUint32([]byte{comKill}, thread)
			}
		}
		return payload
	}
	// A client that can send attributes of a query sends their number before it, which is none here.
	start := 1
	if payload[0] == comQuery && s.countsAttributes() {
		if len(payload) < 3 || payload[1] != 0 {
			return payload
		}
		start = 3
	}
	text := s.statement(ctx, string(payload[start:]), payload[0] == comPrepare)
	return append(payload[:start:start], text...)
}

// countsAttributes reports whether the client sends, before a statement, how many attributes it has.
func (s *session) countsAttributes() bool { return s.login.can&s.server.can&canQueryAttrs != 0 }

// statement does what a text has for the door, and returns the one that the server gets.
func (s *session) statement(ctx context.Context, text string, prepared bool) string {
	w, rest := wanted(text)
	if w.do == "" {
		if w = late(text); w.do != "" {
			return signal(refuse(erUnknown, stateGeneral, "ramaria: %s has to be the first of several statements, or alone; none was done", w))
		}
		before, rest := comments(text)
		return before + s.named(ctx, rest)
	}
	if prepared {
		return signal(refuse(erUnknown, stateGeneral, "ramaria: %s cannot be prepared: send it as plain text", w.do))
	}
	if err := s.control(ctx, w); err != nil {
		r := s.door.refusal(err)
		r.Code, r.State = erUnknown, stateGeneral // the server makes no warning of an error, nor success
		return signal(r)
	}
	return rest
}

// named gives the server its own names for what a statement names: databases, and connections.
func (s *session) named(ctx context.Context, text string) string {
	if m := killStatement.FindStringSubmatch(text); m != nil {
		if id, err := strconv.ParseUint(m[2], 10, 32); err == nil {
			if thread, ours := s.door.threadOf(uint32(id)); ours {
				return m[1] + strconv.FormatUint(uint64(thread), 10) + m[3]
			}
		}
		return text
	}
	if m := useStatement.FindStringSubmatch(text); m != nil {
		name := unquoted(m[1], m[2])
		if real := s.real(name); real != name {
			return "USE " + quote(real)
		}
		return s.ifClone(ctx, name, text, signal(refuse(erBadDB, stateNoDatabase, "Unknown database: connect to %s instead of using it", name)))
	}
	if m := makeStatement.FindStringSubmatch(text); m != nil {
		name := unquoted(m[2], m[3])
		if real := s.door.seats.leased(name); real != "" {
			return m[1] + quote(real) + m[4]
		}
		return s.ifClone(ctx, name, text, nothing) // nobody is in it: the next who connects finds it as the template is
	}
	return text
}

// ifClone chooses the statement for a name that nobody has a clone by: of a template's clone, or of a database.
func (s *session) ifClone(ctx context.Context, name, ofDatabase, ofClone string) string {
	if !isClone(name) {
		return ofDatabase
	}
	switch is, err := s.door.seats.ofTemplate(ctx, name); {
	case err != nil:
		return signal(s.door.refusal(err))
	case is:
		return ofClone
	default:
		return ofDatabase
	}
}

// unquoted is the name of a database that stands in a statement: quoted, or plain.
func unquoted(quoted, plain string) string {
	if quoted != "" {
		return strings.ReplaceAll(quoted, "``", "`")
	}
	return plain
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// real is the server's name of a database.
func (s *session) real(name string) string {
	if s.seat != nil && name == s.login.database {
		return s.seat.lease.Name
	}
	return name
}

// mostSignal is how long the text of an error may be that a statement raises, in characters.
const mostSignal = 128

// signal is a statement to which the server answers with an error: it comes in its turn, whatever the client
// has asked before, and in the form that the client reads.
func signal(r *RefusalError) string {
	text := []rune(r.Text)
	if len(text) > mostSignal {
		text = append(text[:mostSignal-3:mostSignal-3], []rune("...")...)
	}
	quoted := strings.NewReplacer(`\`, `\\`, "'", "''").Replace(string(text))
	return fmt.Sprintf("SIGNAL SQLSTATE '%s' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = '%s'", r.State, r.Code, quoted)
}
