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

// groups are some groups of the logs, by the path of their file and where they begin.
type groups map[string]map[int64]bool

func (g groups) add(path string, start int64) {
	if g[path] == nil {
		g[path] = map[int64]bool{}
	}
	g[path][start] = true
}

// mistaken finds the groups that the server logged and did not do.
func (j *Job) mistaken() (groups, error) {
	out := groups{}
	if j.Server.Flavour != server.MariaDB || j.Settled {
		return out, nil
	}
	type place struct {
		path  string
		start int64
		step  binlog.XAStep
	}
	last := map[string]place{}
	for _, l := range j.Logs {
		_, err := binlog.ScanXA(l.Path, func(g binlog.XAGroup) error {
			if g.Start < l.From {
				return nil
			}
			if l.To > 0 && g.Start >= l.To {
				return errEnough
			}
			now := place{l.Path, g.Start, g.Step}
			before, is := last[g.Name]
			switch {
			case !is && g.Step == binlog.XARollsBack && j.NonePrepared:
				out.add(now.path, now.start)
			case is && (g.Step == binlog.XAPrepares) == (before.step == binlog.XAPrepares):
				out.add(before.path, before.start)
			}
			last[g.Name] = now
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
	}
	return out, nil
}
