package image

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
)

// dumpBar returns a progress bar in bytes of dump text for one dump.
func (b *build) dumpBar(s source) io.WriteCloser {
	size := int64(-1) // the text of a compressed dump has no known size
	if fi, err := os.Stat(s.path); err == nil && !packed(s.path) {
		size = fi.Size()
	}
	return b.bar("loading "+s.name, size)
}

// barPause is the least time between two pictures of a bar.
const barPause = 50 * time.Millisecond

// bar returns a progress bar in bytes, or where there is no terminal, a single
// line. A size of -1 is not known.
func (s *Store) bar(what string, size int64) io.WriteCloser {
	if !s.Terminal || s.Talk == nil {
		s.say("%s\n", what)
		return nopCloser{io.Discard}
	}
	return progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(s.Talk),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(barPause),
		progressbar.OptionClearOnFinish(),
	)
}

// quietBar is bar, but nothing where there is no terminal: for what says a line
// when it is done.
func (s *Store) quietBar(what string, size int64) io.WriteCloser {
	if !s.Terminal || s.Talk == nil {
		return nopCloser{io.Discard}
	}
	return s.bar(what, size)
}

type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }
