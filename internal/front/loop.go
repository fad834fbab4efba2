package front

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// loop relays many sessions on one thread. Each statement wakes the door twice, and those wakeups are most of what it
// costs: Go's poller wakes a thread, which then wakes a goroutine.
//
// The order of locks: a pair's before the loop's.
type loop struct {
	poller *sys.Poller

	mu    sync.Mutex
	pairs map[uint64]*pair // by their numbers
	last  uint64
}

// loops are those of a door; a relay has one of them.
type loops struct {
	all  []*loop
	work sync.WaitGroup
}

// useful is how many loops there should be: one for two CPUs, since the server and the clients need the rest. With one
// CPU there is none: a loop that waits would keep it for a while from the goroutines that log clients in.
func useful() int { return runtime.GOMAXPROCS(0) / 2 }

// start starts n loops.
func (l *loops) start(n int) error {
	for range n {
		poller, err := sys.NewPoller()
		if err != nil {
			return err
		}
		one := &loop{poller: poller, pairs: map[uint64]*pair{}}
		l.all = append(l.all, one)
		l.work.Go(one.run)
	}
	return nil
}

// close ends the loops, whose relays have ended.
func (l *loops) close() {
	for _, one := range l.all {
		one.poller.Wake()
	}
	l.work.Wait()
	for _, one := range l.all {
		_ = one.poller.Close()
	}
}

// relay takes two connections over, and begins with what the client has sent; nil where they are not sockets.
func (l *loops) relay(client, server net.Conn, sent []byte, of terms) relay {
	c, isSocket := client.(syscall.Conn)
	s, both := server.(syscall.Conn)
	if !isSocket || !both || len(l.all) == 0 {
		return nil
	}
	least := l.all[0]
	for _, one := range l.all[1:] {
		if one.count() < least.count() {
			least = one
		}
	}
	p, err := least.take(c, s, of)
	if err != nil {
		return nil
	}
	_ = client.Close()
	_ = server.Close()
	p.begin(sent)
	return p
}

func (l *loop) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pairs)
}

// ofServer in an event's key says that it is of the server's socket; the rest is the pair's number.
const ofServer = 1

func (l *loop) take(client, server syscall.Conn, of terms) (*pair, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	number := l.last + 1
	c, err := l.poller.Take(client, number<<1)
	if err != nil {
		return nil, err
	}
	s, err := l.poller.Take(server, number<<1|ofServer)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	p := &pair{forget: func() { l.forget(number) }, hushed: of.hushed, finder: finder{counts: of.counts}, wants: make(chan []byte, 1), client: side{Polled: c}, server: side{Polled: s}}
	l.last, l.pairs[number] = number, p
	return p, nil
}

func (l *loop) forget(number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pairs, number)
}

func (l *loop) run() {
	// A goroutine that may move is moved, after many of the waits.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buf := make([]byte, mostHeld+readSize)
	for {
		events := l.poller.Wait()
		if events == nil {
			return
		}
		for _, e := range events {
			l.mu.Lock()
			p := l.pairs[e.Key>>1] // nil where an event before this one has ended it
			l.mu.Unlock()
			if p != nil {
				p.ready(e.Key&ofServer != 0, e.Ready, buf)
			}
		}
	}
}
