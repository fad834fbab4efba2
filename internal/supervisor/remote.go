package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/api"
)

// openRemote opens the port of the API for clients on other machines, if the instance is open to them. They wait in it until
// Run serves them. Its certificate and token are made once, so that clients know it again.
func (s *Supervisor) openRemote(ctx context.Context) error {
	address := s.inst.Spec.APIListen
	if address == "" {
		return nil
	}
	keys, err := s.inst.MakeAPIKeys()
	if err != nil {
		return fmt.Errorf("open the API to other machines: %w", err)
	}
	s.remoteHandler = api.RemoteHandler(s, keys.Token, s.log)
	if s.remote != nil { // that of the instance before it was moved
		return nil
	}
	c, err := keys.TLS()
	if err != nil {
		return fmt.Errorf("open the API to other machines: %w", err)
	}
	s.remote, err = api.ListenTLS(ctx, address, c)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("open the API to other machines: %w\nhint: ramaria up %s --api-listen ADDRESS:PORT takes another port; ss -ltnp shows who has this one", err, s.inst.Name)
	case err != nil:
		return fmt.Errorf("open the API to other machines: %w\nhint: --api-listen must be an address of this machine; ramaria up %s --api-listen off does without it", err, s.inst.Name)
	}
	return nil
}

// serveRemote serves clients on other machines until ctx ends. What HTTP itself would log is about strangers, as many as
// there are: it is not written to the volume.
func (s *Supervisor) serveRemote(ctx context.Context, l net.Listener) error {
	if l == nil {
		return nil
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.serveBy(w, r, func(at *Supervisor) http.Handler { return at.remoteHandler })
	})
	return api.Serve(ctx, l, h, slog.New(slog.DiscardHandler))
}

// closeRemote closes the port, if Run has not. It may be called more than once.
func (s *Supervisor) closeRemote() error {
	if s.remote == nil {
		return nil
	}
	err := s.remote.Close()
	s.remote = nil
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
