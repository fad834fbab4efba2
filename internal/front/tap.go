package front

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"sync"
)

// tap is what the door itself asks of the server in a client's session: it takes the answers out of what the server
// says, and the client gets the rest.
//
// A client may have asked for more than it was answered yet, and nothing counts the server's answers. So the first
// thing that is asked for is an error whose text nobody else knows: what comes before it is the client's, and what
// comes after it the door's.
type tap struct {
	marker  []byte // the packet after which answers begin; nil once it has come, or where the client waits for nothing
	want    int    // how many answers are still to come
	held    []byte
	answers [][]byte // payloads
	once    sync.Once
	done    chan struct{}
}

// newTap expects answers to that many commands.
func newTap(answers int) *tap { return &tap{want: answers, done: make(chan struct{})} }

// mark is a statement that is to be sent before the commands, where the client may still wait for answers.
func (t *tap) mark() string {
	const state, code = "45000", 1644 // https://dev.mysql.com/doc/refman/8.4/en/signal.html
	text := "ramaria " + rand.Text()
	t.marker = packet(1, append(binary.LittleEndian.AppendUint16([]byte{isErr}, code), "#"+state+text...))
	return "SIGNAL SQLSTATE '" + state + "' SET MESSAGE_TEXT = '" + text + "'"
}

// take is given what the server says, and returns what of it is the client's.
func (t *tap) take(b []byte) (pass []byte) {
	t.held = append(t.held, b...)
	if t.marker != nil {
		at := bytes.Index(t.held, t.marker)
		if at < 0 { // its beginning may have come
			n := max(0, len(t.held)-len(t.marker)+1)
			pass, t.held = bytes.Clone(t.held[:n]), t.held[n:]
			return pass
		}
		pass, t.held, t.marker = bytes.Clone(t.held[:at]), t.held[at+len(t.marker):], nil
	}
	for ; t.want > 0; t.want-- {
		if len(t.held) < header || len(t.held) < header+lengthOf(t.held) {
			return pass
		}
		whole := header + lengthOf(t.held)
		t.answers = append(t.answers, t.held[header:whole:whole])
		t.held = t.held[whole:]
	}
	pass, t.held = append(pass, t.held...), nil
	t.end()
	return pass
}

// over reports whether all answers have come.
func (t *tap) over() bool { return t.marker == nil && t.want == 0 }

// end says that no answer comes any more.
func (t *tap) end() { t.once.Do(func() { close(t.done) }) }

// wait waits for the answers, and reports whether all have come.
func (t *tap) wait() bool {
	<-t.done
	return t.over()
}
