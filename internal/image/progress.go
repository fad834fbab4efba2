package image

import (
	"io"
	"os"

	"github.com/ramaria-db/ramaria/internal/progress"
)

// dumpBar returns a progress bar in bytes of the file of a dump.
func (b *build) dumpBar(s input) io.WriteCloser {
	size := int64(-1)
	if fi, err := os.Stat(s.path); err == nil {
		size = fi.Size()
	}
	return b.bar("loading "+s.name, size)
}

// bar returns a progress bar in bytes, or where there is no terminal, a single line. A size of
// -1 is not known.
func (s *Store) bar(what string, size int64) io.WriteCloser {
	return progress.Bar(s.Talk, s.Terminal, what, size)
}
