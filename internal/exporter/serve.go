package exporter

import (
	"bytes"
	"context"
	"errors"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/lobby"
)

const (
	textType = "text/plain; version=0.0.4; charset=utf-8"
	openType = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	// slowest is how long a client may take for its request, and for the answer.
	slowest = 30 * time.Second
)

// Serve answers GET /metrics until ctx ends.
func (e *Exporter) Serve(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", e.serve)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<title>ramaria exporter</title><a href=metrics>metrics</a>\n")) // who goes away wants no answer
	})
	asked := addressed(l.Addr(), mux)
	s := &http.Server{ConnContext: lobby.Context, ReadTimeout: slowest, WriteTimeout: slowest, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lobby.Known(r.Context()) // who asks is let be until it has its answer, and goes then
		asked.ServeHTTP(w, r)
	})}
	s.SetKeepAlivesEnabled(false)
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(lobby.New(lobby.Default).Listener(l, lobby.HTTP)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// addressed serves in on loopback to those alone who asked this machine: a browser that was led here under a name of
// another site would give that site's page what it got. Elsewhere anybody may ask.
func addressed(to net.Addr, in http.Handler) http.Handler {
	if a, ok := to.(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return in
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this is ramaria exporter at "+to.String()+", which answers to that name and to localhost", http.StatusMisdirectedRequest)
			return
		}
		in.ServeHTTP(w, r)
	})
}

func (e *Exporter) serve(w http.ResponseWriter, r *http.Request) {
	open := wantsOpen(r.Header.Get("Accept"))
	var b bytes.Buffer
	if err := e.Write(r.Context(), &b, open); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", textType)
	if open {
		w.Header().Set("Content-Type", openType)
	}
	_, _ = w.Write(b.Bytes()) // who goes away wants no answer
}

// wantsOpen reports whether a client takes OpenMetrics 1.0, which it names only if it does: it prefers that, or a form
// that there is not.
func wantsOpen(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err == nil && media == "application/openmetrics-text" && (params["version"] == "" || params["version"] == "1.0.0") && params["q"] != "0" {
			return true
		}
	}
	return false
}
