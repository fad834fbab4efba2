package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
)

// knownXA are the names of those XA transactions that an archive has prepared, in its newest base or behind that, and
// perhaps ended; nil where it does not say. The log in RAM begins later than that. dir is one of the caller's, for a while.
func knownXA(path, dir string) (known map[string]bool, err error) {
	m, err := Read(path)
	if err != nil {
		return nil, err
	}
	base, parts, err := m.Newest()
	var damaged *archive.DamagedError
	if errors.As(err, &damaged) || err == nil && !base.Settled {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known = map[string]bool{}
	for _, name := range base.Prepared {
		known[name] = true
	}
	d := archive.OSDisk{Dir: path, ReadOnly: true}
	for _, part := range parts {
		to := &fileSink{from: max(1, part.From.File), path: func(n uint32) string { return filepath.Join(dir, fmt.Sprintf(logName, part.Epoch.Number, n)) }}
		to.whole = func(n uint32) error {
			_, err := binlog.ScanXA(to.path(n), func(g binlog.XAGroup) error {
				if g.Step == binlog.XAPrepares {
					known[g.Name] = true
				}
				return nil
			})
			return errors.Join(err, os.Remove(to.path(n)))
		}
		_, _, err := archive.ReadLogFrom(d, m.LogID(part.Epoch.Number), to.from, to)
		if errors.As(err, &damaged) {
			return nil, errors.Join(to.close(), os.RemoveAll(to.path(to.number)))
		}
		if err := errors.Join(err, to.finish()); err != nil {
			return nil, fmt.Errorf("read the archived log: %w", err)
		}
	}
	return known, nil
}
