package archive

import (
	"slices"
	"strings"
	"time"
)

// Breach is a time at which a server did not work as the archive depends on.
type Breach struct {
	// From is when all was well last, To when it was so again.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// What was wrong.
	What string `json:"what"`
	// Base is the base that was made after it, 0 for none yet.
	Base uint32 `json:"base,omitempty"`
	// Open says that it went on when this was written. Base is one that was made meanwhile, then.
	Open bool `json:"open,omitempty"`
}

// Note adds a breach. One that went on, and began when this did, is this one.
func (m *Manifest) Note(b Breach) {
	i := slices.IndexFunc(m.Breaches, func(was Breach) bool { return was.Open && was.From.Equal(b.From) })
	if i < 0 {
		m.Breaches = append(m.Breaches, b)
		return
	}
	if b.Open {
		b.Base = m.Breaches[i].Base
	}
	m.Breaches[i] = b
}

// Opened reports whether a breach goes on.
func (m *Manifest) Opened() bool {
	return slices.ContainsFunc(m.Breaches, func(b Breach) bool { return b.Open })
}

// Shut ends the breaches that go on, at a time; base is one that was made since then, 0 for none yet.
func (m *Manifest) Shut(to time.Time, base uint32) {
	for i := range m.Breaches {
		if b := &m.Breaches[i]; b.Open {
			b.Open, b.Base, b.To = false, base, to
		}
	}
}

// Lose ends the breaches of which a base has not all: data was made of that, and by the log, and what the log lacks is lost.
// what is added to what was wrong. They end when they were last known to go on, and are unmended: another base is to have
// what is left.
func (m *Manifest) Lose(base uint32, what string) {
	for i := range m.Breaches {
		b := &m.Breaches[i]
		if !b.Hides(base) || strings.HasSuffix(b.What, what) {
			continue
		}
		b.Open, b.Base = false, 0
		b.What += what
	}
}

// Hides reports whether a base has not all that the log may lack of the breach: it goes on, or that base was not made after it.
func (b Breach) Hides(base uint32) bool { return b.Open || b.Base == 0 || b.Base > base }

// Unmended reports whether there was a breach after which no base was made.
func (m *Manifest) Unmended() bool {
	return slices.ContainsFunc(m.Breaches, func(b Breach) bool { return b.Base == 0 })
}
