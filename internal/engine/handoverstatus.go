package engine

import (
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// HandOverListing is a hand-over as status says it; see docs/json.md.
type HandOverListing struct {
	// To is the kind of target, and Dir what was made for it.
	To    string    `json:"to"`
	Dir   string    `json:"dir"`
	Begun time.Time `json:"begun"`
	// Target is what the instance sees of it, and Since since when, "" for not known.
	Target string    `json:"target,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Diverged is the first statement since which the target may differ; nil for none.
	Diverged *client.Divergence `json:"diverged,omitempty"`
	// HandedOverTo is the HOST:PORT that has the data since At, "" before the cut-over.
	HandedOverTo string    `json:"handed_over_to,omitempty"`
	At           time.Time `json:"at,omitzero"`
	// Position is up to where it has the instance's log.
	Position string `json:"position,omitempty"`
}

// listHandOver is the hand-over of an instance; nil for none.
func (e *Engine) listHandOver(r *instance.Record, running bool) (*HandOverListing, error) {
	h, err := e.Registry.HandOver(r.Name)
	if err != nil || h == nil {
		return nil, err
	}
	l := &HandOverListing{To: h.To, Dir: h.Dir, Begun: h.Begun}
	if h.HandedOver() {
		l.HandedOverTo, l.At, l.Position = h.Cut.To, h.Cut.At, h.Cut.Position
		return l, nil
	}
	if seen, err := r.HandingOver(); running && err == nil && seen != nil && seen.Of == h.User {
		l.Target, l.Since, l.Diverged = seen.State, seen.Since, seen.Diverged
	}
	return l, nil
}
