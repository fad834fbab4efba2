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

// Died says after the end whether the server ended other than it should, and whether this supervisor killed it for
// what another start would meet again.
func (s *Supervisor) Died() (died, killed bool) {
	s = s.last()
	return s.proc.Exit() != nil, s.killedFor != ""
}
