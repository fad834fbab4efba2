package front

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
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
var interesting = [256]bool{comUse: true, comQuery: true, comKill: true, comPrepare: true, comReset: true, isChange: true}

// hasText reports whether a command has a text that may be for the door.
func hasText(command byte) bool { return command == comQuery || command == comPrepare }

// forDoor reports whether a text may be for the door, from a glance.
func forDoor(text []byte) bool {
	at := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	if at < len(text) && strings.IndexByte("/-#", text[at]) >= 0 {
		before, _ := comments(string(text))
		at = len(before)
	}
	if at+1 < len(text) {
		// CALL, CREATE, DROP, KILL and USE; of COMMIT, DELETE and UPDATE there are many.
		switch [2]byte{text[at] | 0x20, text[at+1] | 0x20} {
		case [2]byte{'c', 'a'}, [2]byte{'c', 'r'}, [2]byte{'d', 'r'}, [2]byte{'k', 'i'}, [2]byte{'u', 's'}:
			return true
		}
	}
	return asks(text)
}

// asks reports whether a text says the name by which the door is asked for something.
func asks[T string | []byte](text T) bool {
	const name = "ramaria"
	for i := 0; i+len(name) <= len(text); i++ {
		if text[i]|0x20 == name[0] && strings.EqualFold(string(text[i:i+len(name)]), name) {
			return true
		}
	}
	return false
}

var (
	useStatement = regexp.MustCompile("(?is)^\\s*use\\s+(?:`((?:[^`]|``)+)`|([^\\s;`]+))\\s*;?\\s*$")
	// makeStatement makes or drops a database: frameworks do that for each of their workers.
	makeStatement = regexp.MustCompile("(?is)^(\\s*(?:create|drop)\\s+(?:or\\s+replace\\s+)?(?:database|schema)\\s+(?:if\\s+(?:not\\s+)?exists\\s+)?)(?:`((?:[^`]|``)+)`|([^\\s;`]+))(.*)$")
	killStatement = regexp.MustCompile(`(?is)^(\s*kill\s+(?:hard\s+|soft\s+)?(?:connection\s+|query\s+)?)(\d+)(\s*(?:;.*)?)$`)
)

// nothing is a statement to which the server answers that all is well.
const nothing = "DO 0"

// command does what a command has for the door, and returns the one that the server gets in its place; nil where the client
// has its answer.
func (s *session) command(ctx context.Context, payload []byte) []byte {
	switch payload[0] {
	case comUse:
		s.nowhere = false
		return append([]byte{comUse}, s.real(string(payload[1:]))...)
	case comKill:
		if len(payload) == 5 {
			if thread, ours := s.door.threadOf(binary.LittleEndian.Uint32(payload[1:])); ours {
				return binary.LittleEndian.AppendUint32([]byte{comKill}, thread)
			}
		}
		return payload
	}
	at := textAt(payload, s.countsAttributes())
	text, err := s.statement(ctx, string(payload[at:]), payload[0] == comPrepare)
	if err != nil {
		return nil
	}
	return append(payload[:at:at], text...)
}

// countsAttributes reports whether the client sends, before a statement, how many attributes it has.
func (s *session) countsAttributes() bool { return s.login.can&s.server.can&canQueryAttrs != 0 }

// statement does what a text has for the door, and returns the one that the server gets; with an error, errCut, it gets
// none.
func (s *session) statement(ctx context.Context, text string, prepared bool) (string, error) {
	if w := late(text); w.do != "" {
		return signal(refuse(erUnknown, stateGeneral, "ramaria: %s has to be the first of several statements, or alone; none was done", w)), nil
	}
	w, rest := wanted(text)
	if w.do == "" {
		before, rest := comments(text)
		return before + s.named(ctx, rest), nil
	}
	if prepared {
		return signal(refuse(erUnknown, stateGeneral, "ramaria: %s cannot be prepared: send it as plain text", w.do)), nil
	}
	err := s.control(ctx, w)
	if errors.Is(err, errCut) {
		return "", err
	}
	if err != nil {
		r := s.door.refusal(err)
		r.Code, r.State = erUnknown, stateGeneral // the server makes no warning of an error, nor success
		return signal(r), nil
	}
	return rest, nil
}

// tooLong has the server refuse what asks the door for something in a text that the door does not read whole.
func tooLong(w wish) string {
	return signal(refuse(erUnknown, stateGeneral, "ramaria: %s begins a text of more than %d bytes, which is not done: send it alone", w, mostCommand))
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
		s.nowhere = false
		if real := s.real(name); real != name {
			return "USE " + quote(real)
		}
		return s.ifClone(ctx, name, text, signal(refuse(erBadDB, stateNoDatabase, "Unknown database: connect to %s instead of using it", name)))
	}
	if m := makeStatement.FindStringSubmatch(text); m != nil {
		name := unquoted(m[2], m[3])
		if real := s.door.seats.leased(name); real != "" {
			s.nowhere = s.nowhere || s.seat != nil && s.seat.lease.Name == real
			return m[1] + quote(real) + m[4]
		}
		s.nowhere = s.nowhere || s.seat != nil && s.seat.lease.Name == name
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
