package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

const (
	// followPatience is for how long an archive may lie behind that no commit waits for, beyond its
	// interval, and followPoll the pause between two looks at it.
	followPatience = 10 * time.Second
	followPoll     = 20 * time.Millisecond
)

// logEnd is where the last transaction of a server's log ends.
type logEnd struct{ archive.Position }

// endOfLog looks into the files of a log. Behind its last transaction there may be the beginning of a file.
func endOfLog(dir string) (logEnd, error) {
	files, err := binlog.Files(dir, server.BinlogName)
	if err != nil {
		return logEnd{}, err
	}
	for _, name := range slices.Backward(files) {
		x, err := binlog.Scan(filepath.Join(dir, name), 4, nil)
		if err != nil {
			return logEnd{}, err
		}
		if x.Groups == 0 {
			continue
		}
		p := archive.Position{Offset: x.End}
		_, err = fmt.Sscanf(name, server.BinlogName+".%d", &p.File)
		return logEnd{p}, err
	}
	return logEnd{}, nil
}

// since is how many bytes a log has grown by; those in files that are gone do not count.
func (e logEnd) since(dir string, before logEnd) (int64, error) {
	if e.File == before.File {
		return e.Offset - before.Offset, nil
	}
	n := e.Offset
	for file := max(1, before.File); file < e.File; file++ {
		fi, err := os.Lstat(filepath.Join(dir, fmt.Sprintf("%s.%06d", server.BinlogName, file)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		n += fi.Size()
		if file == before.File {
			n -= before.Offset
		}
	}
	return n, nil
}

// endOfArchive is where the log of an archive ends, and how many bytes it has.
func endOfArchive(dir string) (archive.Position, int64, error) {
	d := archive.OSDisk{Dir: dir}
	m, err := archive.ReadManifest(d)
	if err != nil {
		return archive.Position{}, 0, err
	}
	last := m.Last()
	if last == nil {
		return archive.Position{}, 0, errors.New("the archive has no epoch")
	}
	return archive.EndOf(d, m.LogID(last.Number))
}

// archived returns how many bytes an archive has, once it has a server's log up to its end: at once where
// commits wait for that.
func (s *dbServer) archived(ctx context.Context, end logEnd) (int64, error) {
	for limit := time.Now().Add(interval + followPatience); ; {
		at, total, err := endOfArchive(s.Archive)
		if err != nil {
			return 0, err
		}
		if !at.Before(end.Position) {
			return total, nil
		}
		if s.Durable == instance.DurableCommit || time.Now().After(limit) {
			return 0, fmt.Errorf("its log ends at %s, and its archive has it up to %s", end, at)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(followPoll):
		}
	}
}
