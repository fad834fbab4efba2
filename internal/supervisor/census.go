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
	// hastyShare bounds what looks cost that are taken at once, or while the machine swaps, to one
	// part in so many.
	hastyShare = 50
)

// census finds out what takes room in the data directory, again and again until ctx ends. It asks
// the server nothing.
func (s *Supervisor) census(ctx context.Context) {
	c := &datafiles.Census{Binlog: server.BinlogName}
	trouble := ""
	var began time.Time
	var took time.Duration
	for pause := firstCensus; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		case <-s.countNow:
			// At once, but not again and again while it costs much.
			if !sleep(ctx, hastyShare*took-time.Since(began)) {
				return
			}
		}
		began = time.Now()
		r, err := c.Take(s.inst.DataDir(), began)
		switch {
		case err == nil:
			trouble = ""
			s.measureSwap(r.Bytes)
			s.contents.Store(contents(r))
		case err.Error() != trouble && !s.gone():
			trouble = err.Error()
			s.log.Error("cannot find out what takes room", "error", err)
		}
		took = time.Since(began)
		share := watchShare
		if s.swapped.Load() != nil { // what is swapped out changes though no file does
			share = hastyShare
		}
		pause = max(censusInterval, time.Duration(share)*took)
	}
}

// sleep waits for so long, and reports whether ctx lasted.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// measureSwap finds out what of the instance is swapped out.
func (s *Supervisor) measureSwap(of int64) {
	st, err := s.inst.State()
	if err == nil {
		var now *client.Swap
		if now, err = s.swap(st.ServerPID, of); err == nil {
			s.swapped.Store(now)
		}
	}
	if err != nil && !s.gone() {
		s.log.Warn("cannot find out what is swapped out", "error", err)
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
