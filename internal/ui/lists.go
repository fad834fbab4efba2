package ui

import (
	"context"
	"net/http"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// listTime is how long an instance may take to list its leases. The page asks again and again, and a request
// that waits keeps one of the browser's connections from its buttons.
const listTime = 5 * time.Second

// lease is a lease as the page shows it: without its password.
type lease struct {
	Name     string    `json:"name"`
	Template string    `json:"template"`
	Expires  time.Time `json:"expires_at,omitzero"`
	Kept     bool      `json:"kept,omitempty"`
}

// leases answers GET /leases?instance=NAME. An instance that does not run has none: the page asks for what it
// saw a moment ago, and it may have stopped since, or stop while it is asked.
func (s *Server) leases(w http.ResponseWriter, r *http.Request) {
	i, err := s.config.Engine.Registry.Open(r.URL.Query().Get("instance"))
	if err != nil {
		answerError(w, http.StatusConflict, err)
		return
	}
	c := client.New(i.APISocket())
	defer c.Close()
	ctx, cancel := context.WithTimeout(r.Context(), listTime)
	defer cancel()
	all, err := c.Databases(ctx)
	if err != nil && runs(i) {
		answerError(w, http.StatusConflict, err)
		return
	}
	list := make([]lease, len(all))
	for n, d := range all {
		list[n] = lease{d.Name, d.Template, d.Expires, d.Kept}
	}
	answer(w, http.StatusOK, list)
}

// runs says whether an instance still runs, as far as can be told.
func runs(i *instance.Instance) bool {
	state, err := i.State()
	return err != nil || state.Phase == instance.Running
}

// dsn answers POST /dsn: it has a password, and so goes out only when it is asked for, into no stream and
// no log.
func (s *Server) dsn(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Instance string `json:"instance"`
	}
	if err := decode(r, &q); err != nil {
		answerError(w, http.StatusBadRequest, err)
		return
	}
	i, err := s.config.Engine.Registry.Open(q.Instance)
	if err != nil {
		answerError(w, http.StatusConflict, err)
		return
	}
	answer(w, http.StatusOK, map[string]string{"url": i.Endpoint.URL()})
}
