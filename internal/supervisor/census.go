package supervisor

import (
	"context"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/datafiles"
	"github.com/ramaria-db/ramaria/internal/server"
)

const (
	// censusInterval is the least time between two looks at the files of the data directory. A look
	// takes two microseconds a file; it costs one part in watchShare of the time at most.
	censusInterval = 30 * time.Second
	// firstCensus is when the first look is taken: growth is counted from then on.
	firstCensus = 2 * time.Second
)

// census finds out what takes room in the data directory, again and again until ctx ends. It asks
// the server nothing.
func (s *Supervisor) census(ctx context.Context) {
	c := &datafiles.Census{Binlog: server.BinlogName}
	trouble := ""
	for pause := firstCensus; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		case <-s.countNow:
		}
		began := time.Now()
		r, err := c.Take(s.inst.DataDir(), began)
		switch {
		case err == nil:
			s.contents.Store(contents(r))
			trouble = ""
		case err.Error() != trouble && !s.gone():
			trouble = err.Error()
			s.log.Error("cannot find out what takes room", "error", err)
		}
		pause = max(censusInterval, watchShare*time.Since(began))
	}
}

// recount has the next look taken at once.
func (s *Supervisor) recount() {
	select {
	case s.countNow <- struct{}{}:
	default: // it will be
	}
}

// contents is a report as the API has it.
func contents(r datafiles.Report) *client.Contents {
	uses := func(list []datafiles.Use) []client.Use {
		out := make([]client.Use, len(list))
		for i, u := range list {
			out[i] = client.Use{What: u.String(), Kind: string(u.Kind), Database: u.Database, Name: u.Name, Bytes: u.Bytes, GrownBytes: u.Grown}
		}
		return out
	}
	return &client.Contents{Since: r.Since, Files: int64(r.Files), Bytes: r.Bytes, Grown: uses(r.Grown), Databases: uses(r.Databases), Largest: uses(r.Largest)}
}
