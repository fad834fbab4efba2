package durable

import (
	"context"
	"errors"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/semisync"
	"github.com/ramaria-db/ramaria/internal/shipper"
)

const (
	// replicaID is the server id by which acknowledgements come: above those that instances get.
	replicaID = 4294967294
	// connectAgain is the pause after a connection that could not be made.
	connectAgain = 100 * time.Millisecond
)

// acks lets the commits of a server go on, as a semi-synchronous replica of it. A connection that
// ends, as by KILL, is made again for as long as the server lives.
type acks struct {
	socket string
	login  dbconn.Login
	gone   <-chan struct{}
	now    *semisync.Replica
	file   string
}

var _ shipper.Acks = (*acks)(nil)

var errServerGone = errors.New("the server has ended")

// Start implements shipper.Acks.
func (a *acks) Start(file string) error {
	a.file = file
	for {
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

func (a *acks) connect() error {
	_ = a.close() // of a connection that ends, or has ended
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := semisync.Connect(ctx, a.socket, a.login, replicaID)
	if err != nil {
		return err
	}
	a.now = r
	return r.Start(a.file, 4)
}

// Ack implements shipper.Acks.
func (a *acks) Ack(file string, offset int64) error {
	for {
		if err := a.now.Ack(file, uint64(offset)); err == nil {
			return nil
		}
		if err := a.Start(file); err != nil {
			return err
		}
	}
}

func (a *acks) close() error {
	if a.now == nil {
		return nil
	}
	err := a.now.Close()
	a.now = nil
	return err
}
