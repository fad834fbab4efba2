package engine

import "github.com/ramaria-db/ramaria/internal/progress"

// meters are the bars of a recovery, one after the other.
type meters struct {
	e       *Engine
	of      string
	what    string
	current *progress.Meter
}

func (e *Engine) meters(of string) *meters { return &meters{e: e, of: of} }

// progress is a durable.Progress.
func (m *meters) progress(what string, done, total int64) {
	if what != m.what {
		m.close()
		w, terminal := m.e.progress()
		m.what, m.current = what, progress.NewMeter(w, terminal, m.of+": "+what, total)
	}
	m.current.Set(done)
}

func (m *meters) close() {
	if m.current != nil {
		_ = m.current.Close() // nothing of it stays
	}
}
