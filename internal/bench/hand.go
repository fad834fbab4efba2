package bench

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/server"
)

// hand is the best that a shell script does to have its fixture again: one session of the
// client that drops the database and loads a dump with extended inserts, on a server in
// RAM with ramaria's settings and no binary log.
type hand struct {
	*logless
	lab *Lab
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

// recipe is a file of statements that makes a database with the fixture anew.
func (h *hand) recipe(database string) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "DROP DATABASE IF EXISTS %s;\n", server.QuoteName(database))
	w := h.lab.World
	w.Database = database
	if err := w.WriteDump(&b, fixture.Extended); err != nil {
		return "", err
	}
	return h.lab.writeDump("recipe-"+database, b.String())
}

// verify checks every row of the fixture in a database.
func (h *hand) verify(ctx context.Context, database string) error {
	db, err := server.Open(h.socket(), h.login, database)
	if err != nil {
		return err
	}
	defer db.Close()
	return h.lab.World.Verify(ctx, db)
}

// handCase is that recipe.
func (l *Lab) handCase() Case {
	const database = "hand"
	h := &hand{lab: l}
	var recipe string
	return Case{
		Name: RowHand, Settings: "ramaria's settings without a binary log, in RAM, one session of the client",
		Prepare: func(ctx context.Context) (err error) {
			if recipe, err = h.recipe(database); err != nil {
				return err
			}
			return h.begin(ctx)
		},
		Round: func(ctx context.Context) (s Sample, err error) {
			for range handCycles {
				began := time.Now()
				if err := h.client(ctx, recipe); err != nil {
					return Sample{}, err
				}
				s.Values = append(s.Values, time.Since(began).Seconds())
			}
			return s, nil
		},
		Check:   func(ctx context.Context) error { return h.verify(ctx, database) },
		Cleanup: func(context.Context) error { return h.close() },
	}
}
