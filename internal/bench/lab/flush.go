package lab

import (
	"context"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Limits of writing out a server's dirty pages. A server keeps them in its pool as long as it
// has room, and would write them during the rounds of others.
const (
	// flushPatience is how long it may take, in a round: a disk that is held back gives no more.
	flushPatience = 10 * time.Second
	// flushedPages is how many dirty pages count as none: those of statistics and of the purge come
	// one by one.
	flushedPages = 8
)

// FlushNote states it with a result.
const FlushNote = "after each round the server's dirty pages are written out: it is counted in the bytes, and not in the time"

// CountFlushed runs work and returns how many bytes it made the disk write, if it had one, and
// those that the server still had in its pool are among them. Work takes its own time.
func (r *PlacedServer) CountFlushed(ctx context.Context, work func() error) (int64, error) {
	db, err := dbconn.Open(r.Endpoint.Socket, r.Admin, "")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	flush := func() error {
		_, err := dbconn.FlushPages(ctx, db, flushedPages, flushPatience, nil)
		return err
	}
	if err := flush(); err != nil {
		return 0, err
	}
	return r.CountWritten(func() error {
		if err := work(); err != nil {
			return err
		}
		return flush()
	})
}
