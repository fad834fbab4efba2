package reset

import (
	"context"
	"fmt"
	"sync"
)

// samples is how many pages of each index the server reads for the statistics of a table whose
// counter is put back, at most. It calculates them again then, although neither table nor index
// has changed: at the usual 8 pages that is half of all that a small reset takes.
const samples = 1

// sampling is a server's setting for that. It is global, and lowered as long as that takes.
type sampling struct {
	mu    sync.Mutex
	asked bool
	// usual is what it was before we lowered it first, 0 if it is to be left alone.
	usual int
	// low says that it may have stayed so.
	low bool
}

// around returns the statements to be carried out before and after counters are set.
func (a *sampling) around(ctx context.Context, s *Session) (before, after []string) {
	variable := s.server.Sampling()
	if usual := a.ask(ctx, s, variable); usual > samples {
		return []string{setGlobal(variable, samples)}, []string{setGlobal(variable, usual)}
	}
	return nil, nil
}

// ask asks once, since another session may have lowered it later.
func (a *sampling) ask(ctx context.Context, s *Session, variable string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if variable == "" || a.asked {
		return a.usual
	}
	if err := s.Conn.QueryRowContext(ctx, "SELECT @@GLOBAL."+variable).Scan(&a.usual); err != nil {
		a.usual = 0
		return 0 // it is but slower, and asked again
	}
	a.asked = true
	return a.usual
}

// failed notes that what came between has failed, and with it what was to come after.
func (a *sampling) failed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.low = a.usual > samples
}

// asBefore sets it to what it was if something has failed since.
func (a *sampling) asBefore(ctx context.Context, s *Session) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.low {
		return nil
	}
	err := s.exec(ctx, setGlobal(s.server.Sampling(), a.usual))
	a.low = err != nil
	return err
}

func setGlobal(variable string, n int) string {
	return fmt.Sprintf("SET GLOBAL %s = %d", variable, n)
}
