package durable

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/semisync"
	"github.com/ramaria-db/ramaria/internal/shipper"
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
)

// acks lets the commits of a server go on, as a semi-synchronous replica of it. A connection that
// ends, as by KILL, is made again for as long as the server lives.
type acks struct {
	socket string
	login  dbconn.Login
	gone   <-chan struct{}
	now    atomic.Pointer[semisync.Replica]
	hungUp atomic.Bool
	file   string
	// turns counts the connections. Each has another server id than the one before: of one id a server
	// waits until the old one has gone, and MariaDB lets one that went before its ack receiver had seen it
	// go only when another comes.
	turns uint32
}

var _ shipper.Acks = (*acks)(nil)

var errServerGone = errors.New("the server has ended")

// Start implements shipper.Acks.
func (a *acks) Start(file string) error {
	a.file = file
	for {
		if a.hungUp.Load() {
			return errServerGone
		}
		err := a.connect()
		if err == nil {
			return nil
		}
		select {
		case <-a.gone:
			return errServerGone
		case <-time.After(connectAgain):
		}
	}
}

// connect makes a connection before the one that there was is closed, so that the server always has one.
func (a *acks) connect() error {
	ctx, cancel := context.WithTimeout(context.Background(), connectPatience)
	defer cancel()
	a.turns++
	r, err := semisync.Connect(ctx, a.socket, a.login, replicaID+a.turns%replicaIDs)
	if err != nil {
		return err
	}
	if err := r.Start(a.file, 4); err != nil {
		return errors.Join(err, r.Close())
	}
	if old := a.now.Swap(r); old != nil {
		_ = old.Close() // it ends, or has ended
	}
	return nil
}

// Ack implements shipper.Acks.
func (a *acks) Ack(file string, offset int64) error {
	for {
		if r := a.now.Load(); r != nil {
			if err := r.Ack(file, uint64(offset)); err == nil {
				return nil
			}
		}
		if err := a.Start(file); err != nil {
			return err
		}
	}
}

// hangUp ends the connection for good. A server that shuts down waits for the thread that sends its log
// to us, and that waits for us to read, which we never do.
func (a *acks) hangUp() {
	a.hungUp.Store(true)
	a.close()
}

func (a *acks) close() {
	if r := a.now.Swap(nil); r != nil {
		_ = r.Close() // of a server that ends there is nothing to tell
	}
}
