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
	return len(p), b.add(int64(len(p)))
}

func (b *bar) add(n int64) error {
	b.early += n
	if time.Since(b.began) < settled {
		return nil
	}
	err := b.Add64(b.early)
	b.early = 0
	return err
}

// Quiet is Bar, but nothing where there is no terminal: for what says a line when it is done.
func Quiet(talk io.Writer, terminal bool, what string, size int64) io.WriteCloser {
	if !terminal {
		return nothing{io.Discard}
	}
	return Bar(talk, terminal, what, size)
}

// Meter shows how much of a piece of work is done that tells so itself, in bytes.
type Meter struct {
	bar  io.WriteCloser
	done int64
}

// NewMeter returns a meter as Quiet shows it.
func NewMeter(talk io.Writer, terminal bool, what string, size int64) *Meter {
	return &Meter{bar: Quiet(talk, terminal, what, size)}
}

// Set says how much is done.
func (m *Meter) Set(done int64) {
	if b, ok := m.bar.(*bar); ok && done > m.done {
		_ = b.add(done - m.done) // of what cannot be shown there is nothing to say
		m.done = done
	}
}

// Close ends it.
func (m *Meter) Close() error { return m.bar.Close() }

// nothing is written to in vain.
type nothing struct{ io.Writer }

// Close does nothing.
func (nothing) Close() error { return nil }
