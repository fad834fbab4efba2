package front

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

// tap is what the door itself asks of the server in a client's session: it takes the answers out of what the server
// says, and the client gets the rest.
//
// A client may have asked for more than it was answered yet, and nothing counts the server's answers. So the first
// thing that is asked for is an error that nobody else knows: what comes before it is the client's, and what comes
// after it the door's. It is asked for twice: KILL QUERY, which another session may have sent late, ends one statement.
type tap struct {
	marks   [2]mark // the errors after which answers begin
	marked  bool    // they are still to come
	own     int     // how many of the next answers are those errors
	want    int     // how many answers are still to come, those included
	held    []byte
	answers [][]byte // payloads
	// cut says that the first error did not come: the client has been told that what it asked for was interrupted.
	cut bool
	// whole says that all answers have come. It, answers and cut stay as they are once done is closed.
	whole bool
	// tells says that the client is to hear with its next answer what the door's commands have changed of the session:
	// that is state.
	tells bool
	state []byte

	once sync.Once
	done chan struct{}
}

// newTap expects answers to that many commands.
func newTap(answers int) *tap { return &tap{want: answers, done: make(chan struct{})} }

// mark is an error that nobody else knows, by its number and its state: its text would come in the client's character set.
type mark struct {
	code  uint16
	state string
}

// first is what its packet has behind the length, which depends on the text.
func (m mark) first() []byte {
	return append(binary.LittleEndian.AppendUint16([]byte{1, isErr}, m.code), "#"+m.state...)
}

// statement is one that raises it. https://dev.mysql.com/doc/refman/8.4/en/signal.html
func (m mark) statement() string {
	return fmt.Sprintf("SIGNAL SQLSTATE '%s' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'ramaria'", m.state, m.code)
}

// Numbers of marks are above those of all servers, and below those that some take for something else.
const (
	markLeast = 20000
	markMost  = 60000
)

// mark chooses two errors, whose statements are to be sent before the commands.
func (t *tap) mark() (statements []string) {
	var n [2]byte
	_, _ = rand.Read(n[:])   // it does not fail
	state := rand.Text()[:5] // of A to Z and 2 to 7: not of success (00), a warning (01) or the end of rows (02)
	code := markLeast + binary.LittleEndian.Uint16(n[:])%(markMost-markLeast)
	t.marks = [2]mark{{code, state}, {code + 1, state}}
	t.marked, t.own, t.want = true, len(t.marks), t.want+len(t.marks)
	for _, m := range t.marks {
		statements = append(statements, m.statement())
	}
	return statements
}

// take is given what the server says, and returns what of it is the client's.
func (t *tap) take(b []byte) (pass []byte) {
	t.held = append(t.held, b...)
	if t.marked {
		at, found := t.begin()
		pass, t.held = bytes.Clone(t.held[:at]), t.held[at:]
		if !found {
			return pass
		}
		t.marked = false
	}
	for t.want > 0 {
		payload, whole := t.packet()
		if !whole {
			return pass
		}
		if t.want--; t.own > 0 {
			t.own--
		} else {
			t.answers = append(t.answers, payload)
			if t.tells {
				t.state = append(t.state, changed(payload)...)
			}
		}
	}
	if !t.whole {
		t.whole = true
		t.end()
	}
	if t.tells = t.tells && len(t.state) > 0; t.tells {
		answer, short := t.told()
		if short {
			return pass
		}
		pass = append(pass, answer...)
	}
	pass, t.held = append(pass, t.held...), nil
	return pass
}

// begin is where what is the door's begins, or else how much is certainly the client's.
func (t *tap) begin() (at int, found bool) {
	const length = header - 1
	for n, m := range t.marks {
		if at := bytes.Index(t.held, m.first()); at >= length {
			if n > 0 {
				t.cut = true
				t.own--
				t.want--
			}
			return at - length, true
		}
	}
	return max(0, len(t.held)-length-len(t.marks[0].first())+1), false
}

// packet takes the next one from what is held.
func (t *tap) packet() (payload []byte, whole bool) {
	if len(t.held) < header || len(t.held) < header+lengthOf(t.held) {
		return nil, false
	}
	end := header + lengthOf(t.held)
	payload = t.held[header:end:end]
	t.held = t.held[end:]
	return payload, true
}

// told is the client's next answer, with what has changed of its session; short says that the rest of it is to come.
// Only an answer that all is well has room for that.
func (t *tap) told() (answer []byte, short bool) {
	if len(t.held) <= header {
		return nil, true
	}
	seq := t.held[header-1]
	if t.held[header] == isOK && lengthOf(t.held) <= mostLogin {
		payload, whole := t.packet()
		if !whole {
			return nil, true
		}
		answer = packet(seq, telling(payload, t.state))
	}
	t.tells = false
	return answer, false
}

// follow has t go on where another was that is not over.
func (t *tap) follow(before *tap) {
	if before != nil {
		t.held = before.held
	}
}

// over reports whether all that follows is the client's.
func (t *tap) over() bool { return t.whole && !t.tells }

// end says that no answer comes any more.
func (t *tap) end() { t.once.Do(func() { close(t.done) }) }

// answerTime bounds how long the door waits for an answer. What the client has asked before has to be done in it, too.
const answerTime = time.Minute

// wait waits for the answers, and reports whether all have come.
func (t *tap) wait(atMost time.Duration) bool {
	late := time.NewTimer(atMost)
	defer late.Stop()
	select {
	case <-t.done:
		return t.whole
	case <-late.C:
	}
	select {
	case <-t.done: // at the same time
		return t.whole
	default:
		return false
	}
}
