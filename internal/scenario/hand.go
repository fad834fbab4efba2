package scenario

import (
	"context"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/fixture"
)

// hand is the best that a shell script does to have its fixture again: one session of the
// client that drops the database and loads a dump with extended inserts, on a server in
// RAM with ramaria's settings and no binary log.
type hand struct {
	*logless
	lab     *Lab
	payload *payload
}

// begin starts the server on a copy of the small image.
func (h *hand) begin(ctx context.Context) error {
	kind, err := h.lab.ramKind(ctx)
	if err != nil {
		return err
	}
	image, err := h.lab.imageOn(ctx, kind, h.lab.From(string(kind)))
	if err != nil {
		return err
	}
	h.logless, err = h.lab.startLogless(ctx, "hand", kind, image)
	return err
}

// verify checks what a database holds.
func (h *hand) verify(ctx context.Context, database string) error {
	return h.payload.verify(ctx, h.endpoint(""), database)
}

// handCase is that recipe.
func (l *Lab) handCase() bench.Case {
	const database = "hand"
	h := &hand{lab: l, payload: l.fixture()}
	var recipe string
	return bench.Case{
		Name: RowHand, Settings: "ramaria's settings without a binary log, in RAM, one session of the client",
		Prepare: func(ctx context.Context) (err error) {
			if recipe, err = h.payload.recipe(database, fixture.Extended); err != nil {
				return err
			}
			return h.begin(ctx)
		},
		Round: func(ctx context.Context) (s bench.Sample, err error) {
			for range handCycles {
				began := time.Now()
				if err := h.client(ctx, recipe); err != nil {
					return bench.Sample{}, err
				}
				s.Values = append(s.Values, time.Since(began).Seconds())
			}
			return s, nil
		},
		Check:   func(ctx context.Context) error { return h.verify(ctx, database) },
		Cleanup: func(context.Context) error { return h.close() },
	}
}
