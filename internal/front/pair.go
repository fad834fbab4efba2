package front

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// readSize is how much a pair reads at a time, in bytes.
const readSize = 64 << 10

// pair is the relay of two sockets, which a loop serves.
//
// The invariant: nothing is read from one side while the other has not taken what was read before, so that a slow
// reader costs no more memory than one read.
type pair struct {
	// forget removes the pair from its loop.
	forget func()
	hushed func() // as in terms
	// wants has the command that the session is to do; it is closed with the pair.
	wants chan []byte

	mu             sync.Mutex // guards the rest, against the session
	client, server side
	finder         finder
	held           []byte // sent by the client, and not to be passed on yet
	busy           bool   // the session has a command: what the client sends after it waits
	tap            *tap   // what the door asks of the server; nil for nothing
	silent         bool   // the client has ended what it sends, and may still read
	ended          bool
}

// side is one of the sockets.
type side struct {
	*sys.Polled

	out  []byte // what it has not taken yet
	deaf bool   // it takes nothing any more; what it has said before is still to be read
}

// send writes what the socket takes, and keeps the rest.
func (s *side) send(b []byte) error {
	if s.deaf {
		return nil
	}
	if len(s.out) > 0 {
		s.out = append(s.out, b...)
		return nil
	}
	rest, err := s.Write(b)
	s.out = append(s.out, rest...)
	return err
}

// flush writes what was kept.
func (s *side) flush() (err error) {
	if len(s.out) == 0 {
		return nil
	}
	if s.out, err = s.Write(s.out); len(s.out) == 0 {
		s.out = nil
	}
	return err
}

// begin registers the pair with its loop.
func (p *pair) begin(sent []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle(p.passOn(sent))
}

// ready does what an event of one side asks for. buf is the loop's.
func (p *pair) ready(ofServer bool, what sys.Ready, buf []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
	case ofServer:
		p.settle(p.serverReady(buf))
	default:
		p.settle(p.clientReady(what, buf))
	}
}

func (p *pair) clientReady(what sys.Ready, buf []byte) error {
	if err := p.client.flush(); err != nil {
		return err
	}
	if !p.client.Awaits(sys.CanRead) {
		if what&sys.Broken != 0 {
			return io.EOF
		}
		return nil
	}
	held := copy(buf, p.held)
	n, err := p.client.Read(buf[held : held+readSize])
	if errors.Is(err, io.EOF) {
		return p.silence()
	}
	if err != nil || n == 0 {
		return err
	}
	return p.passOn(buf[:held+n])
}

func (p *pair) serverReady(buf []byte) error {
	if err := p.hear(p.server.flush()); err != nil {
		return err
	}
	if !p.server.Awaits(sys.CanRead) {
		return nil
	}
	n, err := p.server.Read(buf[:readSize])
	if err != nil {
		if p.tap != nil { // what the server has said last may be why
			_ = p.client.send(p.tap.held)
		}
		return err
	}
	said := buf[:n]
	if p.tap != nil {
		said = p.tap.take(said)
		if p.tap.over() {
			p.tap = nil
		}
	}
	return p.client.send(said)
}

// silentTime is how long a client that has ended what it sends may wait for the answers: one that was killed cannot be
// told from it, and keeps its clone as long.
const silentTime = 10 * time.Second

// silence has the server know that the client sends nothing more. It answers what it was asked, and ends the connection.
func (p *pair) silence() error {
	if err := p.hear(p.server.CloseWrite()); err != nil {
		return err
	}
	p.silent, p.held = true, nil
	p.hushed()
	time.AfterFunc(silentTime, func() { _ = p.Close() })
	return nil
}

// hear notes that the server has closed its connection, about which it has perhaps said why; other errors it returns.
func (p *pair) hear(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		p.server.deaf, p.server.out = true, nil
		return nil
	}
	return err
}

// passOn passes on what the client has sent, up to a command for the door.
func (p *pair) passOn(b []byte) error {
	pass, command, err := p.finder.cut(b)
	if err != nil {
		return err
	}
	if pass > 0 {
		if err := p.hear(p.server.send(b[:pass])); err != nil {
			return err
		}
	}
	rest := b[pass:]
	if command > 0 {
		p.busy = true
		p.wants <- bytes.Clone(rest[header:command]) // there is room: the session has taken the last
		rest = rest[command:]
	}
	p.held = nil
	if len(rest) > 0 {
		p.held = bytes.Clone(rest)
	}
	return nil
}

// settle ends the pair upon an error, and otherwise says what the loop is to wait for.
func (p *pair) settle(err error) {
	var client, server sys.Ready
	if !p.busy && !p.silent && len(p.server.out) == 0 {
		client |= sys.CanRead
	}
	if len(p.server.out) > 0 {
		server |= sys.CanWrite
	}
	if len(p.client.out) > 0 {
		client |= sys.CanWrite
	} else {
		server |= sys.CanRead
	}
	if err == nil {
		err = p.client.Await(client)
	}
	if err == nil {
		err = p.server.Await(server)
	}
	if err != nil {
		p.end()
	}
}

func (p *pair) end() {
	if p.ended {
		return
	}
	p.ended = true
	_ = p.client.Close()
	_ = p.server.Close()
	p.forget()
	close(p.wants)
	if p.tap != nil {
		p.tap.end()
	}
}

func (p *pair) next() []byte { return <-p.wants }

func (p *pair) pass(packet []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.busy = false
	err := p.hear(p.server.send(packet))
	if err == nil {
		err = p.passOn(p.held)
	}
	p.settle(err)
}

func (p *pair) ask(t *tap, packets []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		t.end()
		return
	}
	t.follow(p.tap)
	p.tap = t
	p.settle(p.hear(p.server.send(packets)))
}

func (p *pair) setUp() setUp {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.finder.setUp
}

func (p *pair) release() (client net.Conn, sent []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, nil, net.ErrClosed
	}
	defer p.end()
	client, err = p.client.Conn()
	return client, p.held, err
}

// Close ends both connections.
func (p *pair) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	return nil
}
