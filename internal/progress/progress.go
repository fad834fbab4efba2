// Package progress shows how far a long piece of work has come.
package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// pause is the least time between two pictures of a bar.
const pause = 50 * time.Millisecond

// Bar returns what bytes are written to as they are dealt with: a bar with rate and time left
// on a terminal, which is gone after Close; elsewhere talk gets a single line. size is -1 where
// it is not known; talk may be nil.
func Bar(talk io.Writer, terminal bool, what string, size int64) io.WriteCloser {
	what = Plain(what)
	switch {
	case talk == nil:
		return nothing{io.Discard}
	case !terminal:
		fmt.Fprintf(talk, "%s\n", what)
		return nothing{io.Discard}
	}
	b := &bar{began: time.Now(), ProgressBar: progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(talk),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(pause),
		progressbar.OptionClearOnFinish(),
	)}
	b.StartWithoutRender() // its rate counts from now on
	return b
}

// settled is how long a piece of work goes on before a bar shows: what is over by then needs none,
// and the rate of the first microseconds is that of a buffer being filled.
const settled = 300 * time.Millisecond

// bar is a bar that shows after settled.
type bar struct {
	*progressbar.ProgressBar
	began time.Time
	early int64 // bytes that came before
}

// Write implements io.Writer.
func (b *bar) Write(p []byte) (int, error) {
	b.early += int64(len(p))
	if time.Since(b.began) < settled {
		return len(p), nil
	}
	err := b.Add64(b.early)
	b.early = 0
	return len(p), err
}

// Quiet is Bar, but nothing where there is no terminal: for what says a line when it is done.
func Quiet(talk io.Writer, terminal bool, what string, size int64) io.WriteCloser {
	if !terminal {
		return nothing{io.Discard}
	}
	return Bar(talk, terminal, what, size)
}

// nothing is written to in vain.
type nothing struct{ io.Writer }

// Close does nothing.
func (nothing) Close() error { return nil }
