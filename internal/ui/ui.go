// Package ui is the page of `ramaria ui`: every instance of a home, live, and buttons for what the
// commands do to them. It serves HTTP on loopback to whoever came by a one-time link, and to nobody
// else: other users of the machine reach the port, and what keeps them out is a cookie that is sent
// neither to other ports nor by other sites.
//
// It keeps nothing, and nothing depends on it: while no page is open it does nothing.
package ui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/lobby"
)

// Config is what a Server is started with.
type Config struct {
	// Engine is open, and is copied: notes of what the page asks for go to the page.
	Engine engine.Engine
	// Port is that of 127.0.0.1, 0 for any free one.
	Port int
	// Link is called with the first one-time link, and with the next one each time that one was used.
	Link func(url string)
	// Version is the program's.
	Version string
}

// DrainTime is how long a server that is told to end waits for what was asked for: longer than a snapshot
// takes, since an action that is cut off is undone.
const DrainTime = 10 * time.Second

// readTime is how long the head of a request may take to arrive, and idleTime how long a connection stays open
// without one: other users of the machine can connect, too, and there are only so many.
const readTime, idleTime = 10 * time.Second, time.Minute

// Server serves the page.
type Server struct {
	config Config
	door   *door
	hub    *hub
	http   *http.Server
	listen net.Listener
	// life ends DrainTime after the server was told to end, with what was asked for.
	life context.Context //nolint:containedctx // actions outlive the request that asked for them
	end  context.CancelFunc
	work sync.WaitGroup
}

// Start listens. Serve serves, and closes what is open at its end.
func Start(ctx context.Context, c Config) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port)))
	if err != nil {
		return nil, fmt.Errorf("serve the page: %w\nhint: ramaria ui without --port takes any free one", err)
	}
	s := &Server{config: c, listen: l}
	s.hub = newHub(&s.config.Engine)
	s.door = newDoor(l.Addr().(*net.TCPAddr).Port)
	s.http = &http.Server{Handler: s.routes(), ConnContext: lobby.Context, ReadHeaderTimeout: readTime, IdleTimeout: idleTime, MaxHeaderBytes: 16 << 10}
	return s, nil
}

// Serve serves until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	defer s.end()
	s.config.Link(s.door.link())
	var hub sync.WaitGroup
	watching, stop := context.WithCancel(ctx)
	defer stop()
	hub.Go(func() { s.hub.run(watching) })
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(lobby.New(lobby.Default).Listener(s.listen, lobby.HTTP)) }()
	var err error
	select {
	case err = <-served: // it cannot accept any more
	case <-ctx.Done():
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), DrainTime)
		defer cancel()
		// Streams end with the hub, which has been told by ctx too.
		if serr := s.http.Shutdown(drain); serr != nil {
			s.end() // what is under way is undone
			err = errors.Join(serr, s.http.Close())
		}
		if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
	}
	stop()
	hub.Wait()
	s.work.Wait()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

// routes are the paths of the page. Those below the session's path are for who has its cookie.
func (s *Server) routes() http.Handler {
	in := http.NewServeMux()
	in.HandleFunc("GET /{$}", serveAsset("index.html"))
	for _, name := range assetNames() {
		in.HandleFunc("GET /"+name, serveAsset(name))
	}
	in.HandleFunc("GET /events", s.events)
	in.HandleFunc("GET /log", s.log)
	in.HandleFunc("GET /leases", s.leases)
	in.HandleFunc("POST /dsn", s.dsn)
	in.HandleFunc("POST /do", s.do)
	return s.door.guard(in, s.config.Link)
}
