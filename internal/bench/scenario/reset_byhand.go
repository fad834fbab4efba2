package scenario

import (
	"context"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/fixture"
)

// byHand is the best that a shell script does to have its fixture again: one session of the
// client that drops the database and loads a dump with extended inserts, on a server in
// RAM with ramaria's settings and no binary log.
type byHand struct {
	*lab.NoLogServer
	lab  *lab.Lab
	data *lab.Data
}

// begin starts the server on a copy of the small image.
func (h *byHand) begin(ctx context.Context) error {
	kind, err := h.lab.RAMKind(ctx)
	if err != nil {
		return err
	}
	image, err := h.lab.BuildImage(ctx, kind, h.lab.From(string(kind)))
	if err != nil {
		return err
	}
	h.NoLogServer, err = h.lab.StartWithoutLog(ctx, "hand", kind, image)
	return err
}

// verify checks what a database holds.
func (h *byHand) verify(ctx context.Context, database string) error {
	return h.data.Verify(ctx, h.Endpoint(""), database)
}

// byHandRow is that recipe.
func byHandRow(l *lab.Lab) runner.Case {
	const database = "hand"
	h := &byHand{lab: l, data: l.Fixture()}
	var recipe string
	return runner.Case{
		Name: RowHand, Settings: "ramaria's settings without a binary log, in RAM, one session of the client",
		Prepare: func(ctx context.Context) (err error) {
			if recipe, err = h.data.ReloadScript(database, fixture.Extended); err != nil {
				return err
			}
			return h.begin(ctx)
		},
		Round: func(ctx context.Context) (s runner.Sample, err error) {
			for range handCycles {
				began := time.Now()
				if err := h.Client(ctx, recipe); err != nil {
					return runner.Sample{}, err
				}
				s.Values = append(s.Values, time.Since(began).Seconds())
			}
			return s, nil
		},
		Check:   func(ctx context.Context) error { return h.verify(ctx, database) },
		Cleanup: func(context.Context) error { return h.Close() },
	}
}
