package supervisor

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/dbconn"
)

const (
	// trafficTime is how long a server may take to say what goes on in it: Status does not wait for one that
	// is paused or hangs.
	trafficTime = 200 * time.Millisecond
	// trafficKept is how long what it said is good for, whoever asks however often.
	trafficKept = 500 * time.Millisecond
	// trafficIdle is how long its connection stays when nobody asks any more.
	trafficIdle = 5 * time.Second
)

// traffic asks the server what goes on in it, when somebody wants to know. It does so on a connection of
// its own, which the one that the supervisor's work depends on does not wait for.
type traffic struct {
	mu   sync.Mutex
	db   *sql.DB
	said *client.Traffic
	at   time.Time
	// asked is how often it was asked: these questions are not the application's.
	asked int64
}

// ownSessions is how many of a server's sessions are the supervisor's at all times: its own, and this one.
const ownSessions = 2

// open is called when a server answers.
func (t *traffic) open(socket string, login dbconn.Login) error {
	t.close()
	db, err := dbconn.Open(socket, login, "")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	db.SetConnMaxIdleTime(trafficIdle)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.db = db
	return nil
}

// close is called before a server ends, which may wait for its connections.
func (t *traffic) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.db != nil {
		_ = t.db.Close() // as of closeDB
	}
	t.db, t.said, t.asked = nil, nil, 0
}

// ask returns what goes on, nil if the server does not say.
func (t *traffic) ask(ctx context.Context) *client.Traffic {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.db == nil || time.Since(t.at) < trafficKept {
		return t.said
	}
	ctx, cancel := context.WithTimeout(ctx, trafficTime)
	defer cancel()
	t.said, t.at = nil, time.Now()
	n, err := dbconn.ReadTraffic(ctx, t.db)
	if err == nil {
		t.asked++
		t.said = &client.Traffic{Connections: max(0, n.Connections-ownSessions), Queries: max(0, n.Questions-t.asked)}
	}
	return t.said
}
