package front

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/ramaria-db/ramaria/client"
)

var (
	callStatement = regexp.MustCompile("(?is)^call\\s+`?ramaria`?\\s*\\.\\s*`?(\\w+)`?\\s*(?:\\(\\s*(?:'([^']*)'|\"([^\"]*)\")?\\s*\\))?\\s*$")
	noteStatement = regexp.MustCompile(`(?is)^/\*\s*ramaria\s*[: ]\s*(\w+)(?:\s+([\w ]*\w))?\s*\*/`)
)

// wish is what a statement asks the door for.
type wish struct{ do, how string }

func (w wish) String() string { return "CALL ramaria." + w.do + "()" }

// wanted finds what a text asks the door for: in a comment with which it begins, or by its first statement. rest is
// what the server is to do of it after that.
func wanted(text string) (w wish, rest string) {
	for at := 0; at < len(text); {
		if m := noteStatement.FindStringSubmatch(text[at:]); m != nil {
			return newWish(m[1], m[2]), orNothing(text[at+len(m[0]):])
		}
		if n := comment(text[at:]); n > 0 {
			at += n
		} else if strings.ContainsRune(" \t\r\n", rune(text[at])) {
			at++
		} else {
			break
		}
	}
	head, after := first(text)
	if w = called(head); w.do == "" {
		return w, text
	}
	if strings.Trim(after, " \t\r\n;") == "" {
		return w, nothing
	}
	return w, nothing + ";" + after
}

func newWish(do, how string) wish { return wish{strings.ToLower(do), strings.ToLower(how)} }

// called is what a statement asks for by CALL.
func called(statement string) wish {
	_, statement = comments(statement)
	if m := callStatement.FindStringSubmatch(statement); m != nil {
		return newWish(m[1], m[2]+m[3])
	}
	return wish{}
}

func orNothing(text string) string {
	if strings.Trim(text, " \t\r\n;") == "" {
		return nothing
	}
	return text
}

// late finds what is asked for by a statement that is not the first.
func late(text string) wish {
	for _, rest := first(text); rest != ""; {
		var statement string
		statement, rest = first(rest)
		if w := called(statement); w.do != "" {
			return w
		}
	}
	return wish{}
}

// keepSession leaves the session as it is where a clone is put back.
const keepSession = "keep session"

// control does what a statement asks the door for.
func (s *session) control(ctx context.Context, w wish) error {
	if s.seat == nil {
		return fmt.Errorf("%s is for a clone: connect to the database TEMPLATE@NAME", w.do)
	}
	pool, name := s.door.c.Pool, s.seat.lease.Name
	var do func() error
	switch w.do {
	case "reset":
		do = func() error { _, err := pool.ResetDatabase(ctx, name, client.RestoreCounters); return err }
	case "rollback":
		do = func() error { _, err := pool.RollbackDatabase(ctx, name, client.RestoreCounters); return err }
	case "savepoint":
		if !s.tell(true, []byte{comPing}).wait() { // in its turn: what the client has sent before it counts
			return errClosed
		}
		return pool.SetSavepoint(ctx, name)
	default:
		return fmt.Errorf("there is no ramaria.%s: there are reset, savepoint and rollback", w.do)
	}
	if w.how != "" && w.how != keepSession {
		return fmt.Errorf("there is no ramaria.%s('%s'): there is '%s'", w.do, w.how, keepSession)
	}
	if err := s.settle(w.how != keepSession); err != nil {
		return err
	}
	err := do()
	// After it: the database may have been gone until now.
	s.tell(false, append([]byte{comUse}, name...))
	return err
}

// settle ends what the session has open, so that a reset need not end its connection; afresh makes the session as it
// was after the login.
//
// A server may still be busy with a statement that it has answered, as others see it, for as long as the machine gives it
// no time; a reset waits a while for it, and then ends the connection. Who has an answer to a ping has left all of that
// behind, and a ping is not taken for work.
func (s *session) settle(afresh bool) error {
	commands := [][]byte{s.query("ROLLBACK"), s.query("UNLOCK TABLES")}
	if afresh {
		commands = s.afresh()
	}
	t := s.tell(true, append(commands, []byte{comPing})...)
	if !t.wait() {
		return errClosed
	}
	if answer := t.answers[0]; len(answer) > 0 && answer[0] == isErr {
		return fmt.Errorf("put the session back: %w", refusalOf(answer))
	}
	return nil
}

// afresh are the commands that make the session as it was after the login. COM_RESET_CONNECTION keeps the character set of
// the login in MariaDB, and takes that of the server in MySQL. A client may name one that the server does not know, which
// refuses to set it then; so what else is to be set has a statement of its own.
// https://dev.mysql.com/doc/c-api/9.2/en/mysql-reset-connection.html
func (s *session) afresh() [][]byte {
	commands := [][]byte{{comReset}, s.query(fmt.Sprintf("SET character_set_client = %d, character_set_results = %[1]d, collation_connection = %[1]d", s.login.collation))}
	if a := s.relay.setUp(); a != "" {
		commands = append(commands, s.query("SET autocommit = "+a))
	}
	return commands
}

// query is the command that has the server do a statement.
func (s *session) query(text string) []byte {
	command := []byte{comQuery}
	if s.countsAttributes() {
		command = append(command, 0, 1)
	}
	return append(command, text...)
}

// tell sends the server commands of the door's own. marked has their answers be told from those that the client waits for.
func (s *session) tell(marked bool, commands ...[]byte) *tap {
	if s.tap != nil {
		s.tap.wait()
	}
	t := newTap(len(commands))
	var packets []byte
	if marked {
		packets = packet(0, s.query(t.mark()))
	}
	for _, c := range commands {
		packets = append(packets, packet(0, c)...)
	}
	s.tap = t
	s.relay.ask(t, packets)
	return t
}
