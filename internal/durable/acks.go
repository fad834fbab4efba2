package durable

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/semisync"
	"github.com/ramaria-db/ramaria/internal/shipper"
	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// replicaID and those after it, replicaIDs of them, are the server ids by which acknowledgements
	// come: above those that instances get.
	replicaID  = 4294967200
	replicaIDs = 16
	// connectAgain is the pause after a connection that could not be made.
	connectAgain = 100 * time.Millisecond
	// connectPatience is how long one attempt may take.
	connectPatience = 10 * time.Second
	// lookAtReplica is the time between two looks whether the connection still stands: a commit
	// whose acknowledgement went down with it waits so long at most.
	lookAtReplica = 50 * time.Millisecond
	// spareAgain is the pause after a spare connection that could not be made, as where the server has no room for it.
	spareAgain = time.Second
)

// acks lets the commits of a server go on, as a semi-synchronous replica of it. A connection that
// ends, as by KILL, is made again for as long as the server lives, and the last acknowledgement is
// repeated by it. Nothing waits for that: the log is archived meanwhile.
//
// The next connection is logged in before it is needed: on MySQL nobody can log in while a statement about accounts
// waits for its acknowledgement, and so nobody could acknowledge it.
type acks struct {
	socket string
	login  dbconn.Login
	// stopped ends what is done beside; it is set by begin.
	stopped context.CancelFunc
	// still reports whether the log is the one that was archived: of another, which has the same names of
	// files, nothing is known.
	still  func() bool
	beside sync.WaitGroup
	again  chan struct{} // the connection is to be made again
	// turns counts the connections, for the goroutine that makes them. Each has another server id than the one
	// before: of one id a server waits until the old one has gone, and MariaDB lets one that went before its ack
	// receiver had seen it go only when another comes.
	turns uint32
	// spare is the connection that comes next, nil if there is none, and spared when one could last not be made. They are
	// of the goroutine that makes connections, too.
	spare  *semisync.Replica
	spared time.Time
	// ready is closed once a connection is logged in.
	ready chan struct{}

	mu sync.Mutex // guards what follows; a connection is made without it
	// now is the connection, nil if there is none, and from the file that the server was asked to send by it.
	now  *semisync.Replica
	from string
	// file and offset are how far the log lasts, file "" if nothing was said of it yet.
	file   string
	offset int64
}

var _ shipper.Acks = (*acks)(nil)

// begin begins to look after the connection, until close or gone.
func (a *acks) begin(gone <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	a.stopped, a.again, a.ready = cancel, make(chan struct{}, 1), make(chan struct{})
	a.soon()
	a.beside.Go(func() {
		defer a.dropSpare()
		looks := time.NewTicker(lookAtReplica)
		defer looks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-gone:
				return
			case <-a.again:
			case <-looks.C:
			}
			if !a.tend(ctx) {
				select {
				case <-ctx.Done():
				case <-gone:
				case <-time.After(connectAgain):
					a.soon()
				}
			}
		}
	})
}

// soon has the connection looked at.
func (a *acks) soon() {
	select {
	case a.again <- struct{}{}:
	default:
	}
}

// tend makes the connection again if it has ended, or is about another file than the one that is followed, and
// reports whether all is well.
func (a *acks) tend(ctx context.Context) bool {
	if a.shutting() {
		a.dropSpare()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.drop()
		return true
	}
	a.mu.Lock()
	file := a.file
	stands := a.now != nil && a.from == file && !sys.HungUp(a.now.Conn())
	a.mu.Unlock()
	if !stands && file != "" && a.still() && a.connect(ctx, file) != nil {
		return false
	}
	a.keepSpare(ctx)
	return true
}

// keepSpare logs the next connection in.
func (a *acks) keepSpare(ctx context.Context) {
	if a.spare != nil && sys.HungUp(a.spare.Conn()) {
		a.dropSpare()
	}
	if a.spare == nil && time.Since(a.spared) > spareAgain {
		var err error
		if a.spare, err = a.logIn(ctx); err != nil {
			a.spare, a.spared = nil, time.Now()
		}
	}
	select {
	case <-a.ready:
	default:
		close(a.ready) // also where there is none: what has no room for it may have none for long
	}
}

// dropSpare closes the next connection.
func (a *acks) dropSpare() {
	if a.spare != nil {
		_ = a.spare.Close() // it was asked for nothing
		a.spare = nil
	}
}

// await waits until statements about accounts cannot keep the first connection from coming any more, or as long as one
// attempt may take, or until one of what it hangs on is no more. The log may be followed much later, by a slow disk.
func (a *acks) await(gone, done <-chan struct{}) {
	select {
	case <-a.ready:
	case <-gone:
	case <-done:
	case <-time.After(connectPatience):
	}
}

// shutting reports whether the server has begun to shut down: its socket goes first of all. It waits
// for the thread that sends its log to us then, and that waits for us to read, which we never do.
func (a *acks) shutting() bool {
	_, err := os.Lstat(a.socket)
	return errors.Is(err, fs.ErrNotExist)
}

// Start implements shipper.Acks. Commits of the file may go on by the connection that there is, until another
// one is made, which lets the server go of the file before.
func (a *acks) Start(file string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.file, a.offset = file, 0
	a.soon()
	return nil
}

// Ack implements shipper.Acks.
func (a *acks) Ack(file string, offset int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.file, a.offset = file, offset
	if a.now != nil && a.now.Ack(file, uint64(offset)) != nil {
		a.drop()
	}
	if a.now == nil {
		a.soon()
	}
	return nil
}

// connect makes a connection from the beginning of a file on, before which all lasts, and says by it how far
// the log lasts. The server has the one before for as long as that, unless it has no room for two: then it is
// asked for one that was free a moment ago.
func (a *acks) connect(ctx context.Context, file string) error {
	ctx, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	r := a.spare
	a.spare = nil
	if r == nil {
		var err error
		r, err = a.logIn(ctx)
		if err != nil && ctx.Err() == nil && a.had() {
			r, err = a.logIn(ctx)
		}
		if err != nil {
			return err
		}
	}
	if err := r.Start(ctx, file, 4); err != nil {
		return errors.Join(err, r.Close())
	}
	return a.take(ctx, r, file)
}

// logIn opens a connection that asks for nothing yet.
func (a *acks) logIn(ctx context.Context) (*semisync.Replica, error) {
	ctx, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	a.turns++
	return semisync.Connect(ctx, a.socket, a.login, replicaID+a.turns%replicaIDs)
}

// had drops the connection, and reports whether there was one.
func (a *acks) had() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.drop()
	return a.now != nil
}

// take puts a connection in the place of the one before. What was archived meanwhile is said by it.
func (a *acks) take(ctx context.Context, r *semisync.Replica, from string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil { // nothing looks after it any more
		return errors.Join(context.Cause(ctx), r.Close())
	}
	a.drop() // one that ends, or has ended
	a.now, a.from = r, from
	if a.offset == 0 || !a.still() { // the log may have been begun again while the connection was made
		return nil
	}
	err := r.Ack(a.file, uint64(a.offset))
	if err != nil {
		a.drop()
	}
	return err
}

// renew has the connection made again.
func (a *acks) renew() {
	a.mu.Lock()
	a.drop()
	a.mu.Unlock()
	a.soon()
}

// drop closes the connection.
func (a *acks) drop() {
	if a.now != nil {
		_ = a.now.Close() // what it has sent, it has sent
		a.now = nil
	}
}

// close ends it all, once begin was called.
func (a *acks) close() {
	a.stopped()
	a.mu.Lock()
	a.drop()
	a.mu.Unlock()
	a.beside.Wait() // it makes no other
}
