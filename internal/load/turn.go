package load

import (
	"context"
	"errors"
)

// turns has chunks commit in the order of the dump, though workers send several at a time: the row
// that is refused is the one that a client would have had refused, and nothing that stands behind it
// has gone in. All of it is under loader.lock.
type turns struct {
	// given is the number of the chunk that was handed out last, from 1 on; next is that of the one whose turn it is.
	given, next int
	// failed is the first one that did not go in, 0 for none.
	failed int
	// recalled says that the chunk whose turn it is wants the rows of all others taken back: they may
	// be what it is refused for.
	recalled bool
}

// errBehind is that of a chunk that stands behind a fault.
var errBehind = errors.New("what stands before it was refused")

// turn waits for the turn of a chunk. It returns false if the rows that the chunk holds, uncommitted,
// must be taken back before that.
func (l *loader) turn(ctx context.Context, c *chunk, holds bool) (bool, error) {
	defer l.awaken(ctx)()
	l.lock.Lock()
	defer l.lock.Unlock()
	for l.turns.next != c.number {
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case l.turns.failed > 0 && l.turns.failed < c.number:
			return false, errBehind
		case holds && l.turns.recalled:
			return false, nil
		}
		l.settled.Wait()
	}
	return true, nil
}

// recall waits for the turn of a chunk that holds nothing, and has all others take theirs back.
func (l *loader) recall(ctx context.Context, c *chunk) error {
	if _, err := l.turn(ctx, c, false); err != nil {
		return err
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	l.turns.recalled = true
	l.settled.Broadcast()
	return nil
}

// behindFault says that a chunk stands behind one that did not go in.
func (l *loader) behindFault(c *chunk) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.turns.failed > 0 && l.turns.failed < c.number
}

// turnOver ends the turn of a chunk, or notes that it failed.
func (l *loader) turnOver(c *chunk, err error) {
	if c.number == 0 {
		return
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if err == nil {
		l.turns.next, l.turns.recalled = c.number+1, false
	} else if l.turns.failed == 0 || c.number < l.turns.failed {
		l.turns.failed = c.number
	}
	l.settled.Broadcast()
}

// awaken has those that wait look again when ctx ends, until the function that it returns is called.
func (l *loader) awaken(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		l.lock.Lock()
		defer l.lock.Unlock()
		l.settled.Broadcast()
	})
}
