// Package progress shows how far a long piece of work has come.
package progress

import (
	"fmt"
	"io"
	"sync"
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

	lock  sync.Mutex
	early int64 // bytes that came before
}

// Write implements io.Writer.
func (b *bar) Write(p []byte) (int, error) {
	return len(p), b.add(int64(len(p)))
}

func (b *bar) add(n int64) error {
	b.lock.Lock()
	defer b.lock.Unlock()
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

// lineEvery is the time between two lines of a meter where there is no terminal.
const lineEvery = 5 * time.Second

// Meter shows how much of a piece of work is done that tells so itself, in bytes.
type Meter struct {
	bar  io.WriteCloser
	done int64
	// lines takes lines where there is no terminal, nil for none; the next one not before next.
	lines       io.Writer
	what        string
	size        int64
	began, next time.Time
}

// NewMeter returns a meter: a bar on a terminal, and elsewhere a line every few seconds.
func NewMeter(talk io.Writer, terminal bool, what string, size int64) *Meter {
	m := &Meter{bar: Quiet(talk, terminal, what, size), what: Plain(what), size: size, began: time.Now()}
	if !terminal {
		m.lines, m.next = talk, m.began.Add(lineEvery)
	}
	return m
}

// line says in words how much is done.
func (m *Meter) line(done int64, now time.Time) {
	if m.lines == nil || m.size <= 0 || done <= 0 || now.Before(m.next) {
		return
	}
	m.next = now.Add(lineEvery)
	share := min(1, float64(done)/float64(m.size))
	left := time.Duration(float64(now.Sub(m.began)) * (1/share - 1))
	fmt.Fprintf(m.lines, "%s: %.0f %%, about %s left\n", m.what, 100*share, left.Round(time.Second))
}

// Set says how much is done.
func (m *Meter) Set(done int64) {
	m.line(done, time.Now())
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
