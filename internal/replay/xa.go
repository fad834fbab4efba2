package replay

import (
	"errors"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server"
)

// A server of MariaDB that was killed may have logged what it did not do: that an XA transaction is prepared, or
// committed (package xa). Before that was settled at its next start, its application met what the server had, and ended
// it once more, or began another of the same name. Of such groups the log has two, of which the second tells that the
// first did nothing. An applier refuses the second; the first is left out instead.

// mistaken finds the groups that the server logged and did not do, by the path of their file and where they begin.
func (j *Job) mistaken() (map[string]map[int64]bool, error) {
	if j.Server.Flavour != server.MariaDB || j.Settled {
		return map[string]map[int64]bool{}, nil
	}
	out := map[string]map[int64]bool{}
	type place struct {
		path  string
		start int64
		step  binlog.XAStep
	}
	last := map[string]place{}
	leave := func(p place) {
		if out[p.path] == nil {
			out[p.path] = map[int64]bool{}
		}
		out[p.path][p.start] = true
	}
	enough := errors.New("that is all")
	for _, l := range j.Logs {
		_, err := binlog.ScanXA(l.Path, func(g binlog.XAGroup) error {
			if g.Start < l.From {
				return nil
			}
			if l.To > 0 && g.Start >= l.To {
				return enough
			}
			now := place{l.Path, g.Start, g.Step}
			before, is := last[g.Name]
			switch {
			case !is && g.Step == binlog.XARollsBack && j.NonePrepared:
				leave(now)
			case is && (g.Step == binlog.XAPrepares) == (before.step == binlog.XAPrepares):
				leave(before)
			}
			last[g.Name] = now
			return nil
		})
		if err != nil && !errors.Is(err, enough) {
			return nil, err
		}
	}
	return out, nil
}
