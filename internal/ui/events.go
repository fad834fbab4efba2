package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// writeTime is how long a browser may take to read what it is sent before it is given up.
const writeTime = 10 * time.Second

// hello is what a page is told first.
type hello struct {
	Version string `json:"version"`
	// Command is how commands begin, as a shell takes them: ramaria --home '/my home'.
	Command string `json:"command"`
	Home    string `json:"home"`
}

// events is the stream of overviews: https://html.spec.whatwg.org/multipage/server-sent-events.html
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	page, ok := s.hub.open()
	if !ok {
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("%d pages are open already.", mostPages))
		return
	}
	defer s.hub.leave(page)
	out := beginStream(w)
	first, err := json.Marshal(hello{Version: s.config.Version, Command: command(s.config.Engine.Home), Home: s.config.Engine.Places.State})
	if err != nil || !out.send("hello", first) {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case text, ok := <-page:
			if !ok {
				out.send("end", []byte("{}"))
				return
			}
			if !out.send("look", text) {
				return
			}
		}
	}
}

// command is how a command line begins that means a home, or, with words, all of it.
func command(home string, words ...string) string {
	all := []string{"ramaria"}
	if home != "" {
		all = append(all, "--home", server.ShellWord(home))
	}
	for _, w := range words {
		all = append(all, server.ShellWord(w))
	}
	return strings.Join(all, " ")
}

// stream is an answer that goes on.
type stream struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func beginStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return stream{w, http.NewResponseController(w)}
}

// send sends an event, and reports whether it went out. data is JSON, and so has no newline.
func (s stream) send(event string, data []byte) bool {
	if err := s.c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return false
	}
	_, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event, data)
	return err == nil && s.c.Flush() == nil
}
