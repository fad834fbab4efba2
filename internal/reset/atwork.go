package reset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// workPatience is how long a statement without a transaction may go on while a database waits to
// be put back. Who has the answer to a statement may ask for that before the server calls the
// session idle: such a one must not be ended.
// On a busy machine the server's thread may wait for a processor that long; each question of ours waits
// for one, too, and it has had its turn long before the last of workQuestions.
const (
	workPatience  = 100 * time.Millisecond
	workQuestions = 40
)

// statements are those at work in sessions of a user when they were first asked for. What has
// written nothing yet, or writes to a table that knows no transactions, has none open, and
// would write to the database after it was put back.
type statements struct {
	user  string
	now   []dbconn.Session
	first map[uint64]string // by thread; nil before they were asked for
	since time.Time
	asked int      // how often, since then
	ended []uint64 // the threads whose time was up
}

// ask asks what is at work now.
func (w *statements) ask() dbconn.Question {
	w.now = w.now[:0]
	return dbconn.AskSessions(&w.now)
}

// done reports whether all of the first have ended.
func (w *statements) done() bool {
	list := map[uint64]string{}
	for _, s := range w.now {
		if s.User == w.user && works(s) {
			list[s.ID] = s.Statement
		}
	}
	if w.first == nil {
		w.first, w.since = list, time.Now()
	}
	w.asked++
	maps.DeleteFunc(w.first, func(thread uint64, statement string) bool {
		now, still := list[thread]
		if statement == "" {
			w.first[thread] = now
		}
		// MariaDB does not wait for a session that is busy, and leaves out what it does.
		return !still || now != "" && statement != "" && now != statement
	})
	return len(w.first) == 0
}

// others are the connections of the user, as they were when they were last asked for, without those that were ended.
func (w *statements) others(ended []uint64) (list []uint64) {
	for _, s := range w.now {
		if s.User == w.user && s.Command != "Killed" && !slices.Contains(ended, s.ID) && !slices.Contains(w.ended, s.ID) {
			list = append(list, s.ID)
		}
	}
	return list
}

// works reports whether a session may be about to write. One that only connects, or has a
// connection seen to, does not.
func works(s dbconn.Session) bool {
	return s.Command == "Query" || s.Command == "Execute" || s.Command == "Killed" || s.Command == "Bulk_execute"
}

// end waits for a moment, and ends what has had its time.
func (w *statements) end(ctx context.Context, s *Session) error {
	if time.Since(w.since) >= workPatience && w.asked >= workQuestions {
		threads := slices.Collect(maps.Keys(w.first))
		w.ended = append(w.ended, threads...)
		return s.kill(ctx, threads)
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait for statements to end: %w", ctx.Err())
	case <-time.After(gonePoll):
		return nil
	}
}
