package supervisor

import (
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// enter writes a new state to state.json.
func (s *Supervisor) enter(st instance.State) error {
	st.Since = time.Now()
	s.state = st
	return s.saveState()
}

// saveState writes state.json.
func (s *Supervisor) saveState() error {
	if s.gone() {
		return nil
	}
	return s.inst.SaveState(s.state)
}

// gone reports whether the instance's directory was taken away, by hand or with its volume. What
// lies under its name since then, if anything, was made again and is another supervisor's: no
// file there may be written or removed any more.
func (s *Supervisor) gone() bool { return !s.lock.Named() }
