package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// firstEvent is where the first event of a file begins.
const firstEvent = 4

// plan is what of the logs is to be applied.
type plan struct {
	parts  []part
	groups int64
	// bytes are those of all parts.
	bytes int64
	gtids binlog.GTIDs
}

// part is what of one file is to be applied: groups from From on, the last of which ends at to.
type part struct {
	Log
	to int64
}

// errEnough ends a scan behind what is to be applied.
var errEnough = errors.New("that is all")

// plan reads the logs, all of them: a fault in the middle is to be found before anything is applied.
func (j *Job) plan(ctx context.Context) (*plan, error) {
	p := &plan{}
	for i, l := range j.Logs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l.From = max(l.From, firstEvent)
		if l.From != firstEvent && i > 0 {
			return nil, fmt.Errorf("%s: it is to be applied from %d on, but is not the first", l.Path, l.From)
		}
		if err := p.read(l); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// read reads a file. It is read from its beginning even if less of it is needed, since only so MariaDB's
// GTIDs are known.
func (p *plan) read(l Log) error {
	q := part{Log: l}
	ext, err := binlog.Scan(l.Path, firstEvent, func(g binlog.Group) error {
		switch {
		case g.Start < l.From && l.From < g.End, g.Start < l.To && l.To < g.End:
			return fmt.Errorf("%s: it is to be applied from %d to %d, and a transaction is from %d to %d", l.Path, l.From, l.To, g.Start, g.End)
		case l.To > 0 && g.Start >= l.To:
			return errEnough
		case g.Start < l.From:
			return nil
		}
		q.to = g.End
		p.groups++
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if max(l.From, l.To) > ext.End {
		return fmt.Errorf("%s: it is to be applied from %d to %d, and its last transaction that is whole ends at %d", l.Path, l.From, l.To, ext.End)
	}
	for _, g := range ext.GTIDs {
		p.gtids.Add(g)
	}
	if q.to > 0 {
		p.parts = append(p.parts, q)
		p.bytes += q.to - q.From
	}
	return nil
}
