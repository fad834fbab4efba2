package front

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// relay is a client's connection and one to the server, between which bytes are passed on: by a loop, or, where a
// connection is more than a socket (TLS), by two goroutines.
type relay interface {
	// next waits for a command that is for the door, and returns its payload; what the client sends after it
	// waits. It returns nil when both connections have ended: the end of one is that of the other.
	next() []byte
	// pass sends the server what it gets in the command's place, which may be nothing.
	pass(packet []byte)
	// ask sends the server commands of the door's own, before pass, whose answers t takes.
	ask(t *tap, packets []byte)
	// setUp is what the client has set right after its login.
	setUp() setUp
	// release ends the server's connection in place of pass, and returns the client's, with what it has sent. What
	// the client has not been told yet is lost: it has to wait for an answer before it logs in again.
	release() (client net.Conn, sent []byte, err error)
	// Close ends both connections.
	io.Closer
}

// terms are what a relay is to know of its session.
type terms struct {
	counts bool   // the client sends, before a statement, how many attributes it has
	hushed func() // is called once when the client has ended what it sends, and may still read
}

// serveRelay relays bytes until one side ends, and does what is for the door.
func (s *session) serveRelay(ctx context.Context) {
	var sent []byte
	for {
		of := terms{counts: s.countsAttributes(), hushed: s.hushed}
		r := s.door.loops.relay(s.client, s.server.Conn, sent, of)
		if r == nil {
			r = newCopier(s.client, s.raw, s.server.Conn, sent, of)
		}
		if !s.hold(r) {
			_ = r.Close()
		}
		s.relay, s.tap, s.nowhere = r, nil, false
		command := s.serveCommands(ctx, r)
		if command == nil {
			return
		}
		client, rest, err := r.release()
		if err != nil || !s.regain(client) {
			return
		}
		if s.change(ctx, command) != nil {
			return
		}
		sent = rest
	}
}

// serveCommands does what a client has for the door until the relay ends. It returns early, with the command, when
// the client wants to log in again.
func (s *session) serveCommands(ctx context.Context, r relay) []byte {
	for {
		payload := r.next()
		if len(payload) == 0 || payload[0] == isChange {
			return payload
		}
		if command := s.command(ctx, payload); command != nil {
			r.pass(packet(0, command))
		} else {
			r.pass(nil)
		}
	}
}

// buffered is how much a copier reads at a time, in bytes: results are many times that, questions a small part.
const buffered = 16 << 10

// copier is the relay of connections that are more than sockets.
type copier struct {
	// raw is what client is over.
	client, raw, server net.Conn

	buf        []byte
	start, end int // what is read and not passed on
	finder     finder
	hushed     func()
	answers    chan struct{} // closed when no answer comes any more
	released   chan struct{}

	mu  sync.Mutex
	tap *tap // what the door asks of the server; nil for nothing
}

func newCopier(client, raw, server net.Conn, sent []byte, of terms) *copier {
	c := &copier{client: client, raw: raw, server: server, finder: finder{counts: of.counts}, hushed: of.hushed, buf: make([]byte, max(buffered, len(sent))), answers: make(chan struct{}), released: make(chan struct{})}
	c.end = copy(c.buf, sent)
	go c.answer()
	return c
}

// answer passes on what the server says.
func (c *copier) answer() {
	defer close(c.answers)
	buf := make([]byte, buffered)
	for {
		n, err := c.server.Read(buf)
		said := c.theClients(buf[:n], err)
		if len(said) > 0 {
			if _, failed := c.client.Write(said); failed != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	select {
	case <-c.released: // the client stays, and gets another server
	default:
		_ = c.raw.Close()
	}
}

// theClients is what is the client's of what the server says. err says that it says no more.
func (c *copier) theClients(said []byte, err error) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tap == nil {
		return said
	}
	if len(said) > 0 {
		said = c.tap.take(said)
	}
	if err != nil { // what the server has said last may be why
		said = append(said, c.tap.held...)
	}
	if c.tap.over() {
		c.tap = nil
	}
	return said
}

func (c *copier) next() []byte {
	payload, err := c.read()
	if errors.Is(err, io.EOF) {
		c.silence()
	}
	if err != nil {
		_ = c.Close()
		<-c.answers
		return nil
	}
	return payload
}

// silence is that of a pair.
func (c *copier) silence() {
	c.hushed()
	w, ok := c.server.(interface{ CloseWrite() error })
	if !ok || w.CloseWrite() != nil {
		return
	}
	select {
	case <-c.answers:
	case <-time.After(silentTime):
	}
}

func (c *copier) read() ([]byte, error) {
	for {
		pass, command, err := c.finder.cut(c.buf[c.start:c.end])
		if err != nil {
			return nil, err
		}
		if pass > 0 {
			if _, err := c.server.Write(c.buf[c.start : c.start+pass]); err != nil {
				return nil, err
			}
			c.start += pass
		}
		if command > 0 {
			payload := bytes.Clone(c.buf[c.start+header : c.start+command])
			c.start += command
			return payload, nil
		}
		c.end = copy(c.buf, c.buf[c.start:c.end])
		c.start = 0
		if c.end == len(c.buf) { // a command that is to come whole
			c.buf = append(c.buf, make([]byte, mostHeld)...)
		}
		n, err := c.client.Read(c.buf[c.end:])
		if err != nil {
			return nil, err
		}
		c.end += n
	}
}

// pass leaves an error to next: the server has gone, and what it has said before is on its way.
func (c *copier) pass(packet []byte) {
	if len(packet) > 0 {
		_, _ = c.server.Write(packet)
	}
}

func (c *copier) ask(t *tap, packets []byte) {
	c.mu.Lock()
	t.follow(c.tap)
	c.tap = t
	c.mu.Unlock()
	go func() {
		select {
		case <-c.answers:
			t.end()
		case <-t.done:
		}
	}()
	_, _ = c.server.Write(packets) // an error is left to next
}

func (c *copier) setUp() setUp { return c.finder.setUp }

func (c *copier) release() (net.Conn, []byte, error) {
	close(c.released)
	_ = c.server.Close()
	<-c.answers
	return c.client, c.buf[c.start:c.end], nil
}

func (c *copier) Close() error {
	_ = c.server.Close()
	return c.raw.Close()
}
