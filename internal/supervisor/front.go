package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/front"
	"github.com/ramaria-db/ramaria/internal/server"
)

// openFront opens the port of the front door, if the instance has one. Clients wait in it until Run serves them.
func (s *Supervisor) openFront(ctx context.Context) (err error) {
	port := s.inst.Spec.Front
	if port == 0 || s.front != nil { // that of the instance before it was moved
		return nil
	}
	s.front, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(frontHost(s.inst.Spec.Set["bind_address"]), strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("open its front door: %w\nhint: ramaria up %s --front PORT takes another; ss -ltnp shows who has this one", err, s.inst.Name)
	} else if err != nil {
		err = fmt.Errorf("open its front door: %w\nhint: it listens where the server does, by --set bind_address; ramaria up %s --front 0 does without it", err, s.inst.Name)
	}
	return err
}

// frontHost is where the door listens: where the server does, by its bind_address.
func frontHost(bind string) string {
	if strings.TrimSpace(bind) == "*" {
		return ""
	}
	first, _, _ := strings.Cut(bind, ",")
	return cmp.Or(strings.TrimSpace(first), server.Loopback)
}

// serveFront lets clients in by the front door until ctx ends.
func (s *Supervisor) serveFront(ctx context.Context, l net.Listener) error {
	if l == nil {
		return nil
	}
	c := client.New(s.inst.APISocket())
	defer c.Close()
	d, err := front.New(front.Config{Pool: c, Name: s.inst.Name, Linger: front.DefaultLinger, Log: s.log})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return d.Serve(ctx, l)
}

// closeFront closes the port, if Run has not. It may be called more than once.
func (s *Supervisor) closeFront() error {
	if s.front == nil {
		return nil
	}
	err := s.front.Close()
	s.front = nil
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
