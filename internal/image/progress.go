package image

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
)

// bar returns a progress bar in bytes of dump text for one dump, or where there is
// no terminal, a single line.
func (b *build) bar(s source) io.WriteCloser {
	if !b.Terminal || b.Talk == nil {
		b.say("loading %s\n", s.name)
		return nopCloser{io.Discard}
	}
	size := int64(-1) // the text of a compressed dump has no known size
	if fi, err := os.Stat(s.path); err == nil && !packed(s.path) {
		size = fi.Size()
	}
	return progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(b.Talk),
		progressbar.OptionSetDescription("loading "+s.name),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(24),
		progressbar.OptionClearOnFinish(),
	)
}

type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }
