package front

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// loop passes the bytes of many relays on, with one thread that waits for all of their sockets at once. Each
// statement wakes the door twice; Go's own poller wakes a thread, which wakes a goroutine, and costs twice as much.
//
// The order of locks: a pair's before the loop's.
type loop struct {
	epoll, wake int

	mu    sync.Mutex
	pairs map[uint64]*pair
	last  uint64 // of the pairs' numbers
}

// readSize is how much is read at a time, in bytes.
const readSize = 64 << 10

// loops are those of a door; a session has one of them.
type loops struct {
	all  []*loop
	work sync.WaitGroup
}

// start begins as many loops as are of use: beside each there is a server, and clients, to run.
func (l *loops) start() error {
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		one, err := newLoop()
		if err != nil {
			return err
		}
		l.all = append(l.all, one)
		l.work.Go(one.run)
	}
	return nil
}

// close ends the loops, whose relays have ended.
func (l *loops) close() {
	for _, one := range l.all {
		_, _ = unix.Write(one.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
	l.work.Wait()
	for _, one := range l.all {
		unix.Close(one.epoll)
		unix.Close(one.wake)
	}
}

// relay takes two connections over, and begins with what the client has sent; nil where they are no sockets.
func (l *loops) relay(client, server net.Conn, sent []byte) relay {
	c, isSocket := client.(syscall.Conn)
	s, both := server.(syscall.Conn)
	if !isSocket || !both || len(l.all) == 0 {
		return nil
	}
	least := l.all[0]
	for _, one := range l.all[1:] {
		if one.busy() < least.busy() {
			least = one
		}
	}
	p, err := least.take(c, s, sent)
	if err != nil {
		return nil
	}
	_ = client.Close()
	_ = server.Close()
	return p
}

func newLoop() (_ *loop, err error) {
	l := &loop{pairs: map[uint64]*pair{}}
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, errors.Join(fmt.Errorf("eventfd: %w", err), unix.Close(l.epoll))
	}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.wake, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		return nil, errors.Join(fmt.Errorf("epoll_ctl: %w", err), unix.Close(l.epoll), unix.Close(l.wake))
	}
	return l, nil
}

func (l *loop) busy() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pairs)
}

// take makes a pair of two sockets, of which Go's poller knows nothing.
func (l *loop) take(client, server syscall.Conn, sent []byte) (*pair, error) {
	p := &pair{loop: l, wants: make(chan []byte, 1)}
	var err error
	if p.client.fd, err = duplicate(client); err != nil {
		return nil, err
	}
	if p.server.fd, err = duplicate(server); err != nil {
		return nil, errors.Join(err, unix.Close(p.client.fd))
	}
	l.mu.Lock()
	l.last++
	number := l.last
	l.pairs[number] = p
	l.mu.Unlock()
	p.client.key, p.server.key = number<<1, number<<1|ofServer
	p.begin(sent)
	return p, nil
}

func duplicate(c syscall.Conn) (fd int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	if outer := raw.Control(func(is uintptr) { fd, err = unix.FcntlInt(is, unix.F_DUPFD_CLOEXEC, 0) }); outer != nil {
		return 0, outer
	}
	return fd, err
}

// ofServer in an event's key says that it is of the server's socket. The wake's key is 0, which is no pair's.
const ofServer = 1

func keyOf(e unix.EpollEvent) uint64 { return uint64(uint32(e.Pad))<<32 | uint64(uint32(e.Fd)) }

func (l *loop) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buf := make([]byte, mostHeld+readSize)
	events := make([]unix.EpollEvent, 128)
	for {
		n, err := unix.EpollWait(l.epoll, events, -1)
		if err != nil { // by a signal: there is no other
			continue
		}
		for _, e := range events[:n] {
			key := keyOf(e)
			if key == 0 {
				return
			}
			l.mu.Lock()
			p := l.pairs[key>>1] // nil where an event before this one has ended it
			l.mu.Unlock()
			if p != nil {
				p.ready(key&1 == ofServer, e.Events, buf)
			}
		}
	}
}

func (l *loop) forget(number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pairs, number)
}
