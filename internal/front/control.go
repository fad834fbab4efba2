package front

import (
	"context"
	"errors"
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
	if m := callStatement.FindStringSubmatch(uncommented(statement)); m != nil { // some libraries write one behind each statement
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
	if !asks(text) {
		return wish{}
	}
	for _, rest := first(text); rest != ""; {
		var statement string
		statement, rest = first(rest)
		if w, _ := wanted(statement); w.do != "" {
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
		if _, err := s.askMarked([]byte{comPing}); err != nil { // in its turn: what the client has sent before it counts
			return err
		}
		return pool.SetSavepoint(ctx, name)
	default:
		return fmt.Errorf("there is no ramaria.%s: there are reset, savepoint and rollback", w.do)
	}
	if w.how != "" && w.how != keepSession {
		return fmt.Errorf("there is no ramaria.%s('%s'): there is '%s'", w.do, w.how, keepSession)
	}
	keep := w.how == keepSession
	answers, err := s.settle(keep)
	if err == nil {
		err = do()
	}
	if answers != nil { // also where it was interrupted: the session may be new all the same
		s.resume(keep, answers)
	}
	s.nowhere = s.nowhere && err != nil
	return err
}

// settle ends what the session has open, so that a reset need not end its connection, and makes the session new, unless
// it is to be kept.
//
// A server may still be busy with a statement that it has answered, as others see it, for as long as the machine gives it
// no time; a reset waits a while for it, and then ends the connection. Who has an answer to a ping has left all of that
// behind, and a ping is not taken for work.
//
// With an error there are answers all the same, if the server has answered and the session may be new.
func (s *session) settle(keep bool) (answers [][]byte, err error) {
	ping := []byte{comPing}
	commands := [][]byte{s.query("ROLLBACK"), s.query("UNLOCK TABLES"), ping}
	ends := 0 // which of them must succeed
	if !keep {
		commands = [][]byte{ping, {comReset}, ping}
		ends = 1
	}
	answers, err = s.askMarked(commands...)
	if answers != nil && err == nil && len(answers[ends]) > 0 && answers[ends][0] == isErr {
		if r := refusalOf(answers[ends]); keep && r.Code == erInXA {
			err = errors.New("an XA transaction is open: end it by XA ROLLBACK, or leave out 'keep session'")
		} else {
			err = fmt.Errorf("put the session back: %s", r.Text)
		}
	}
	if keep && err != nil {
		return nil, err
	}
	return answers, err
}

// charset is the command that sets the character set of the login. COM_RESET_CONNECTION keeps that in MariaDB, and takes
// that of the server in MySQL. A client may name one that the server does not know, which refuses to set it then; so what
// else is to be set has statements of its own.
// https://dev.mysql.com/doc/c-api/9.2/en/mysql-reset-connection.html
func (s *session) charset() []byte {
	return s.query(fmt.Sprintf("SET character_set_client = %d, character_set_results = %[1]d, collation_connection = %[1]d", s.login.collation))
}

// resume makes a session that is new as it was after the client's set-up, of which settle has the answers. It enters the
// clone now, since that may have been gone until now; a session that is kept enters it where it was gone with the session
// in it. What has changed of the session the client hears with its answer.
//
// Whether each statement is committed is as it was before: drivers remember that, and tests that turn it off find it as
// they expect it again, unless the client itself has turned it off at first. That may be a driver that has begun its first
// transaction: it is on where the driver has turned it on since, as where a server begins sessions with it off.
func (s *session) resume(keep bool, answers [][]byte) {
	enter := append([]byte{comUse}, s.seat.lease.Name...)
	var commands [][]byte
	switch {
	case !keep:
		commands = append(commands, enter, s.charset())
		set := s.relay.setUp()
		for _, text := range set.texts {
			commands = append(commands, s.query(text))
		}
		before, after := answers[0], answers[len(answers)-1]
		if commits(before) && (set.autocommit || !commits(after)) {
			commands = append(commands, s.query("SET autocommit = 1"))
		}
	case s.nowhere:
		commands = append(commands, enter)
	default:
		return
	}
	var state []byte
	for _, a := range answers {
		state = append(state, changed(a)...)
	}
	for range resumeTries {
		t := newTap(len(commands))
		if t.tells = s.tracks(); t.tells {
			t.state = state
		}
		s.ask(t, commands)
		if !t.wait(answerTime) {
			_ = s.relay.Close()
			return
		}
		if commands, state = interrupted(commands, t.answers), t.state; len(commands) == 0 {
			return
		}
	}
}

// commits reports whether an answer says that each statement is committed.
func commits(answer []byte) bool {
	o, bad := parseOkay(answer, false)
	return !bad && o.flags()&byItself != 0
}

// resumeTries is how often a command is sent that KILL QUERY interrupts: each ends one.
const resumeTries = 3

// interrupted returns the commands of which the server has answered that they were interrupted.
func interrupted(commands, answers [][]byte) (list [][]byte) {
	for i, a := range answers {
		if len(a) > 0 && a[0] == isErr && refusalOf(a).Code == erInterrupted {
			list = append(list, commands[i])
		}
	}
	return list
}

// query is the command that has the server do a statement.
func (s *session) query(text string) []byte {
	command := []byte{comQuery}
	if s.countsAttributes() {
		command = append(command, 0, 1)
	}
	return append(command, text...)
}

var (
	// errCut says that what the client asked the door for was interrupted (KILL QUERY), and that the client has been told.
	errCut  = errors.New("interrupted")
	errGone = errors.New("the server has ended the connection, or does not answer")
)

// askMarked asks the server commands of the door's own, whose answers it tells from those that the client waits for, and
// returns with errCut as well. A session whose server does not answer is ended: nobody could tell whose the answers are that are still to come.
func (s *session) askMarked(commands ...[]byte) (answers [][]byte, err error) {
	t := newTap(len(commands))
	var all [][]byte
	for _, statement := range t.mark() {
		all = append(all, s.query(statement))
	}
	s.ask(t, append(all, commands...))
	switch {
	case !t.wait(answerTime):
		_ = s.relay.Close()
		return nil, errGone
	case t.cut:
		return t.answers, errCut
	}
	return t.answers, nil
}

// ask sends the server commands whose answers t takes.
func (s *session) ask(t *tap, commands [][]byte) {
	if s.tap != nil && !s.tap.wait(answerTime) {
		_ = s.relay.Close()
	}
	var packets []byte
	for _, c := range commands {
		packets = append(packets, packet(0, c)...)
	}
	s.tap = t
	s.relay.ask(t, packets)
}
