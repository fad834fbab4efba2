package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/dumpdir"
	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/load"
	"github.com/ramaria-db/ramaria/internal/memo"
)

// hash returns what stands for the content of a dump: that of its file, or of all files of its directory.
func (s input) hash(ctx context.Context, m memo.Store) (string, error) {
	if !s.dir {
		return hashFile(ctx, m, s.path)
	}
	d, err := dumpdir.Open(s.path, io.Discard)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range d.Files() {
		sum, err := hashFile(ctx, m, filepath.Join(s.path, name))
		if err != nil {
			return "", errors.Join(err, d.Close())
		}
		fmt.Fprintf(h, "file %q %s\n", name, sum)
	}
	return hex.EncodeToString(h.Sum(nil)), d.Close()
}

// head tells what the beginning of a dump tells.
func (s input) head() (dump.Head, error) {
	if !s.dir {
		return dumpfile.Peek(s.path, s.called())
	}
	d, err := dumpdir.Open(s.path, io.Discard)
	if err != nil {
		return dump.Head{}, err
	}
	return dump.Head{Schema: true, NeedsDatabase: len(d.Databases) == 0, Databases: d.Databases}, d.Close()
}

// load loads a dump; what is read goes to watch as well, and the text of a file by way of through.
func (s input) load(ctx context.Context, to load.Target, watch io.Writer, through func(io.Reader) io.Reader) (dump.Summary, error) {
	if s.dir {
		d, err := dumpdir.Open(s.path, watch)
		if err != nil {
			return dump.Summary{}, err
		}
		sum, err := to.LoadDir(ctx, s.name, d.Parts, d.Counts, d.Notes)
		return sum, errors.Join(err, d.Close())
	}
	f, err := dumpfile.OpenWatched(s.path, s.called(), watch)
	if err != nil {
		return dump.Summary{}, err
	}
	defer f.Close()
	f.Tell(to.Say)
	return to.Load(ctx, s.name, through(f))
}
