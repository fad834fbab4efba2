package xa

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// Committed reads from what a MariaDB server wrote when it started up to where in the log InnoDB had committed then. The
// position is zero where it knew of none. Commits are in the order of the log.
func Committed(serverLog io.Reader) (at binlog.Position, err error) {
	lines := bufio.NewScanner(serverLog)
	for lines.Scan() {
		if m := lastCommitted.FindSubmatch(lines.Bytes()); m != nil {
			at.File = filepath.Base(string(m[1]))
			if at.Offset, err = strconv.ParseInt(string(m[2]), 10, 64); err != nil {
				return at, fmt.Errorf("read the server's log: %w", err)
			}
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return at, fmt.Errorf("read the server's log: %w", err)
	}
	return at, nil
}

var lastCommitted = regexp.MustCompile(`InnoDB: Last binlog file '([^']+)', position (\d+)`)

// group is an ordinary transaction of the log.
type group struct {
	binlog.Group
	path string
	// run counts the starts of the server before it.
	run int
	// sure says that, being locked, it cannot but be one that was not committed.
	sure bool
	// keyless says that it is told by the rows that it inserted, which no lock guards.
	keyless bool
}

// String is where it is.
func (g *group) String() string { return fmt.Sprintf("%s:%d", filepath.Base(g.path), g.Start) }

// mostBefore and mostUnknown are how many transactions are looked at that come before the position up to which InnoDB has
// committed, and where there is no such position.
const mostBefore, mostUnknown = 100, 10_000

// tail returns the ordinary transactions of the log behind a position, and some before it. Where the log has no such
// position, all may be behind it.
func (l Log) tail(committed binlog.Position) (before, behind []*group, err error) {
	run := 0
	for _, path := range l.files {
		name := filepath.Base(path)
		reached := func(offset int64) {
			if name == committed.File && offset == committed.Offset {
				before, behind = append(before, behind...), nil
			}
		}
		ext, err := binlog.Scan(path, 0, func(g binlog.Group) error {
			reached(g.Start)
			if g.Kind == binlog.Transaction && g.ByXID() {
				behind = append(behind, &group{Group: g, path: path})
			}
			reached(g.End)
			if len(behind) >= 2*mostUnknown {
				behind = slices.Clone(behind[len(behind)-mostUnknown:])
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		if ext.Format != nil && ext.Format.Created != 0 {
			run++
		}
		for _, g := range behind {
			if g.path == path {
				g.run = run
			}
		}
	}
	for _, g := range behind { // what the server wrote before it was started once more was settled then
		g.sure = g.run == behind[len(behind)-1].run
	}
	return before[max(0, len(before)-mostBefore):], behind, nil
}
