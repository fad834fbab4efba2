package front

import (
	"bytes"
	"errors"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// pair is the relay of two sockets, which a loop serves.
//
// The invariant: nothing is read from one side while the other has not taken what was read before, so that a slow
// reader costs no more memory than one read.
type pair struct {
	loop *loop
	// wants has the command that the session is to do; it is closed with the pair.
	wants chan []byte

	mu             sync.Mutex // guards the rest, against the session
	client, server side
	found          commands
	held           []byte // sent by the client, and not to be passed on yet
	busy           bool   // the session has a command: what the client sends after it waits
	ended          bool
}

// side is one of the sockets.
type side struct {
	fd     int
	key    uint64 // of its events
	events uint32 // that the loop waits for
	out    []byte // what it has not taken yet
	deaf   bool   // it takes nothing any more; what it has said before is still to be read
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
	rest, err := s.write(b)
	s.out = append(s.out, rest...)
	return err
}

// flush writes what was kept.
func (s *side) flush() error {
	rest, err := s.write(s.out)
	if s.out = rest; len(rest) == 0 {
		s.out = nil
	}
	return err
}

func (s *side) write(b []byte) (rest []byte, err error) {
	for len(b) > 0 {
		n, err := unix.Write(s.fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return b, nil
		case err != nil:
			return nil, err
		}
		b = b[n:]
	}
	return nil, nil
}

// begin has the loop serve the pair.
func (p *pair) begin(sent []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.then(p.feed(sent))
}

// ready does what an event of one side asks for. buf is the loop's.
func (p *pair) ready(ofServer bool, events uint32, buf []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
	case ofServer:
		p.then(p.serverReady(events, buf))
	default:
		p.then(p.clientReady(events, buf))
	}
}

func (p *pair) clientReady(events uint32, buf []byte) error {
	if len(p.client.out) > 0 {
		if err := p.client.flush(); err != nil {
			return err
		}
	}
	if p.client.events&unix.EPOLLIN == 0 {
		if events&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
			return net.ErrClosed
		}
		return nil
	}
	n := copy(buf, p.held)
	p.held = nil
	m, err := read(p.client.fd, buf[n:n+readSize])
	if err != nil {
		return err
	}
	return p.feed(buf[:n+m])
}

func (p *pair) serverReady(events uint32, buf []byte) error {
	if len(p.server.out) > 0 {
		p.hear(p.server.flush())
	}
	if p.server.events&unix.EPOLLIN == 0 {
		return nil
	}
	n, err := read(p.server.fd, buf[:readSize])
	if err != nil {
		return err
	}
	return p.client.send(buf[:n])
}

// hear notes an error of what was sent to the server: it has closed the connection, and has perhaps said why.
func (p *pair) hear(err error) {
	if err != nil {
		p.server.deaf, p.server.out = true, nil
	}
}

// read reads what has come, which may be nothing; an error says that no more will come.
func read(fd int, buf []byte) (int, error) {
	switch n, err := unix.Read(fd, buf); {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return 0, nil
	case err != nil:
		return 0, err
	case n == 0:
		return 0, net.ErrClosed
	default:
		return n, nil
	}
}

// feed passes on what the client has sent, up to a command for the door.
func (p *pair) feed(b []byte) error {
	pass, command, err := p.found.cut(b)
	if err != nil {
		return err
	}
	if pass > 0 {
		p.hear(p.server.send(b[:pass]))
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

// then ends the pair upon an error, and otherwise says what the loop is to wait for.
func (p *pair) then(err error) {
	var client, server uint32
	if !p.busy && len(p.server.out) == 0 {
		client |= unix.EPOLLIN
	}
	if len(p.server.out) > 0 {
		server |= unix.EPOLLOUT
	}
	if len(p.client.out) > 0 {
		client |= unix.EPOLLOUT
	} else {
		server |= unix.EPOLLIN
	}
	if err == nil {
		err = p.await(&p.client, client)
	}
	if err == nil {
		err = p.await(&p.server, server)
	}
	if err != nil {
		p.end()
	}
}

// await says what the loop is to wait for. A socket of which that is nothing is not in epoll at all, which would tell
// again and again that it is closed.
func (p *pair) await(s *side, events uint32) error {
	if s.events == events {
		return nil
	}
	op := unix.EPOLL_CTL_MOD
	switch {
	case s.events == 0:
		op = unix.EPOLL_CTL_ADD
	case events == 0:
		op = unix.EPOLL_CTL_DEL
	}
	s.events = events
	return unix.EpollCtl(p.loop.epoll, op, s.fd, &unix.EpollEvent{Events: events, Fd: int32(uint32(s.key)), Pad: int32(uint32(s.key >> 32))})
}

func (p *pair) end() {
	if p.ended {
		return
	}
	p.ended = true
	for _, s := range []*side{&p.client, &p.server} {
		_ = p.await(s, 0)
		unix.Close(s.fd)
	}
	p.loop.forget(p.client.key >> 1)
	close(p.wants)
}

func (p *pair) next() []byte { return <-p.wants }

func (p *pair) pass(packet []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.busy = false
	p.hear(p.server.send(packet))
	p.then(p.feed(p.held))
}

func (p *pair) release() (client net.Conn, sent []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, nil, net.ErrClosed
	}
	defer p.end()
	fd, err := unix.FcntlInt(uintptr(p.client.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	file := os.NewFile(uintptr(fd), "client")
	defer file.Close()
	client, err = net.FileConn(file)
	return client, p.held, err
}

// Close ends both connections.
func (p *pair) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	return nil
}
