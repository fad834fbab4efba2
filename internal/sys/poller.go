package sys

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Ready is what a socket can be waited for.
type Ready uint32

// Ways of being ready.
const (
	CanRead  Ready = unix.EPOLLIN
	CanWrite Ready = unix.EPOLLOUT
	// Broken is told of every socket that is waited for.
	Broken Ready = unix.EPOLLERR | unix.EPOLLHUP
)

// PollEvent is what a Poller has seen of a socket.
type PollEvent struct {
	Key   uint64 // given with the socket
	Ready Ready
}

// pollEvents is how many events a Poller takes at once.
const pollEvents = 128

// Poller waits for many sockets at once, in the thread that calls Wait: Go's poller wakes a thread, which then wakes a
// goroutine. epoll(7), level-triggered.
type Poller struct {
	epoll, wake int
	events      [pollEvents]unix.EpollEvent
	seen        [pollEvents]PollEvent
}

// NewPoller returns one that waits for nothing but Wake.
func NewPoller() (_ *Poller, err error) {
	p := &Poller{}
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	if p.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, errors.Join(fmt.Errorf("eventfd: %w", err), unix.Close(p.epoll))
	}
	if err := unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, p.wake, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		return nil, errors.Join(fmt.Errorf("epoll_ctl: %w", err), p.Close())
	}
	return p, nil
}

// Close closes it. No Wait may be running. It may be called more than once.
func (p *Poller) Close() error {
	if p.epoll < 0 {
		return nil
	}
	err := errors.Join(unix.Close(p.epoll), unix.Close(p.wake))
	p.epoll, p.wake = -1, -1
	return err
}

// Wake makes this and every later Wait return nil.
func (p *Poller) Wake() { _, _ = unix.Write(p.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// Wait returns what is ready, once something is; the next call overwrites it. One goroutine calls it.
func (p *Poller) Wait() []PollEvent {
	for {
		n, err := unix.EpollWait(p.epoll, p.events[:], -1)
		if err != nil {
			continue // a signal: there is no other error
		}
		for i, e := range p.events[:n] {
			p.seen[i] = PollEvent{uint64(uint32(e.Pad))<<32 | uint64(uint32(e.Fd)), Ready(e.Events)}
			if p.seen[i].Key == 0 {
				return nil
			}
		}
		return p.seen[:n]
	}
}

// Polled is a socket that a Poller waits for, and Go's own does not know.
type Polled struct {
	poller *Poller
	fd     int
	key    uint64
	waits  Ready
}

// Take takes a socket over from a connection, which the caller closes. Its events have the key, which is not 0.
func (p *Poller) Take(c syscall.Conn, key uint64) (*Polled, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	if outer := raw.Control(func(is uintptr) { fd, err = unix.FcntlInt(is, unix.F_DUPFD_CLOEXEC, 0) }); outer != nil {
		return nil, outer
	}
	if err != nil {
		return nil, fmt.Errorf("duplicate a socket: %w", err)
	}
	return &Polled{poller: p, fd: fd, key: key}, nil
}

// Await says what to wait for. A socket that is waited for in no way is not in epoll at all, which would tell again and
// again that it is broken.
func (s *Polled) Await(what Ready) error {
	if s.waits == what {
		return nil
	}
	op := unix.EPOLL_CTL_MOD
	switch {
	case s.waits == 0:
		op = unix.EPOLL_CTL_ADD
	case what == 0:
		op = unix.EPOLL_CTL_DEL
	}
	s.waits = what
	return unix.EpollCtl(s.poller.epoll, op, s.fd, &unix.EpollEvent{Events: uint32(what), Fd: int32(uint32(s.key)), Pad: int32(uint32(s.key >> 32))})
}

// Awaits reports whether it is waited for in that way.
func (s *Polled) Awaits(what Ready) bool { return s.waits&what != 0 }

// Read reads what has come, which may be nothing. An error says that no more will come: io.EOF where the other side has
// ended.
func (s *Polled) Read(b []byte) (int, error) {
	switch n, err := unix.Read(s.fd, b); {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return 0, nil
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	default:
		return n, nil
	}
}

// Write writes what the socket takes now, and returns the rest.
func (s *Polled) Write(b []byte) (rest []byte, err error) {
	for len(b) > 0 {
		n, err := unix.Write(s.fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return b, nil
		case err != nil:
			return nil, err
		default:
			b = b[n:]
		}
	}
	return nil, nil
}

// CloseWrite says to the other side that no more will be written.
func (s *Polled) CloseWrite() error { return unix.Shutdown(s.fd, unix.SHUT_WR) }

// Conn gives the socket back to Go. Close this one.
func (s *Polled) Conn() (net.Conn, error) {
	fd, err := unix.FcntlInt(uintptr(s.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicate a socket: %w", err)
	}
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	return net.FileConn(f)
}

// Close closes it. It may be called more than once.
func (s *Polled) Close() error {
	if s.fd < 0 {
		return nil
	}
	err := errors.Join(s.Await(0), unix.Close(s.fd))
	s.fd = -1
	return err
}
