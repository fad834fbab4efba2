package front

import (
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/client"
)

// Commands of the protocol that may be for the door.
const (
	comQuit    = 0x01
	comUse     = 0x02
	comQuery   = 0x03
	comKill    = 0x0c
	comPrepare = 0x16
)

// interesting says which commands to look at.
var interesting = [256]bool{comUse: true, comQuery: true, comKill: true, comPrepare: true, isChange: true}

// glance is how much of a command forDoor looks at, in bytes.
const glance = 8

// forDoor reports whether a command whose payload begins with b may be for the door, from a glance.
func forDoor(command byte, b []byte) bool {
	if command != comQuery && command != comPrepare {
		return true
	}
	for i, c := range b[1:] {
		switch c {
		case ' ', '\t', '\r', '\n', 0, 1: // the last two are of query attributes, of which there are none
			continue
		case 'C', 'c', 'K', 'k', 'U', 'u', '/':
			return true
		case 'D', 'd': // DROP, and not DELETE
			return i+2 == len(b) || b[i+2]|0x20 == 'r'
		}
		return false
	}
	return false
}

var (
	callStatement = regexp.MustCompile("(?is)^\\s*call\\s+`?ramaria`?\\s*\\.\\s*`?(\\w+)`?\\s*(?:\\(\\s*\\))?\\s*;?\\s*$")
	noteStatement = regexp.MustCompile(`(?is)^\s*/\*\s*ramaria\s*[: ]\s*(\w+)\s*\*/`)
	useStatement  = regexp.MustCompile("(?is)^\\s*use\\s+(?:`((?:[^`]|``)+)`|([^\\s;`]+))\\s*;?\\s*$")
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
	if payload[0] == comQuery && s.login.can&s.server.can&canQueryAttrs != 0 {
		if len(payload) < 3 || payload[1] != 0 {
			return payload
		}
		start = 3
	}
	text := s.statement(ctx, string(payload[start:]), payload[0] == comPrepare)
	return append(payload[:start:start], text...)
}

// statement does what a statement has for the door, and returns the one that the server gets.
func (s *session) statement(ctx context.Context, text string, prepared bool) string {
	if m := killStatement.FindStringSubmatch(text); m != nil {
		if id, err := strconv.ParseUint(m[2], 10, 32); err == nil {
			if thread, ours := s.door.threadOf(uint32(id)); ours {
				return m[1] + strconv.FormatUint(uint64(thread), 10) + m[3]
			}
		}
		return text
	}
	if m := useStatement.FindStringSubmatch(text); m != nil {
		name := named(m[1], m[2])
		if real := s.real(name); real != name {
			return "USE " + quote(real)
		}
		return s.ifClone(ctx, name, text, signal(refuse(erBadDB, stateNoDatabase, "Unknown database: connect to %s instead of using it", name)))
	}
	if m := makeStatement.FindStringSubmatch(text); m != nil {
		name := named(m[2], m[3])
		if real := s.door.seats.leased(name); real != "" {
			return m[1] + quote(real) + m[4]
		}
		return s.ifClone(ctx, name, text, nothing) // nobody is in it: the next who connects finds it as the template is
	}
	do, rest := "", nothing
	if m := callStatement.FindStringSubmatch(text); m != nil {
		do = m[1]
	} else if m := noteStatement.FindStringSubmatch(text); m != nil {
		do = m[1]
		if after := text[len(m[0]):]; strings.Trim(after, " \t\r\n;") != "" {
			rest = after
		}
	}
	if do == "" {
		return text
	}
	if prepared {
		return signal(refuse(erUnknown, stateGeneral, "ramaria: %s cannot be prepared: send it as plain text", do))
	}
	if err := s.control(ctx, strings.ToLower(do)); err != nil {
		r := s.door.refusal(err)
		r.Code, r.State = erUnknown, stateGeneral // the server makes no warning of an error, nor success
		return signal(r)
	}
	return rest
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

// named is the name of a database that stands in a statement: quoted, or plain.
func named(quoted, plain string) string {
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

// control does what a statement asks the door for.
func (s *session) control(ctx context.Context, do string) error {
	if s.seat == nil {
		return fmt.Errorf("%s is for a clone: connect to the database TEMPLATE@NAME", do)
	}
	pool, name := s.door.c.Pool, s.seat.lease.Name
	switch do {
	case "reset":
		_, err := pool.ResetDatabase(ctx, name, client.RestoreCounters)
		return err
	case "savepoint":
		return pool.SetSavepoint(ctx, name)
	case "rollback":
		_, err := pool.RollbackDatabase(ctx, name, client.RestoreCounters)
		return err
	default:
		return fmt.Errorf("there is no ramaria.%s: there are reset, savepoint and rollback", do)
	}
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
