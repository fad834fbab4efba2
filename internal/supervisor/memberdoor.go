package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/server"
)

// memberDoor is where other machines ask about a member of a cluster on several.
type memberDoor struct {
	stop   context.CancelFunc
	served chan error
	// hasLeft says that most of the others say that this machine's member is none any more.
	hasLeft atomic.Bool
}

// openDoor opens the door, before the server starts: a donor's word may have to come in by it.
func (s *Supervisor) openDoor() error {
	c := s.cluster
	if !c.Far() {
		return nil
	}
	n, _ := c.Node(s.inst.Name)
	config, err := c.TLS()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	l, err := api.ListenTLSWith(ctx, n.DoorAddress(), config)
	if err != nil {
		stop()
		return fmt.Errorf("open the door of member %s to other machines: %w\nhint: ip -brief address shows the addresses of this machine, ss -ltnp who has the port", n.Name, err)
	}
	s.door = &memberDoor{stop: stop, served: make(chan error, 1)}
	h := s.options.Door(n.Name)
	go func() { s.door.served <- api.Serve(ctx, l, h, slog.New(slog.DiscardHandler)) }()
	return nil
}

// closeDoor closes it. It may be called more than once.
func (s *Supervisor) closeDoor() error {
	if s.door == nil {
		return nil
	}
	s.door.stop()
	err := <-s.door.served
	s.door = nil
	return err
}

// wordPause is the pause between two looks whether a donor has said something.
const wordPause = 200 * time.Millisecond

// carryWords tells joiners on other machines what their donor on this one has said, until ctx ends.
func (s *Supervisor) carryWords(ctx context.Context) {
	if s.inst.Server.Flavour != server.MariaDB {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wordPause):
		}
		if err := s.carry(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot tell a member that joins what its donor said", "error", err)
		}
	}
}

func (s *Supervisor) carry(ctx context.Context) error {
	c, err := s.options.Clusters.Get(s.inst.Spec.Cluster) // another may have joined just now
	if err != nil {
		return err
	}
	return s.options.Clusters.CarryWords(c, func(n cluster.Node, text string) error {
		return c.Ask(ctx, n.DoorAddress(), http.MethodPut, cluster.PathWord, cluster.Word{Text: text}, nil)
	})
}

// askPause is the pause between two questions to the other machines, who the members are.
const askPause = 5 * time.Second

// askOthers asks the other machines now and then who the members are, until ctx ends: this one may have been cut off when they
// were told.
func (s *Supervisor) askOthers(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(askPause):
		}
		left, err := s.options.AskOthers(ctx, s.inst.Name)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("cannot write down who the members of the cluster are", "error", err)
		}
		s.door.hasLeft.Store(left)
	}
}
