package supervisor

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/metrics"
)

const (
	// trafficPatience is how long a server may take to tell of its traffic. A snapshot stops it for some milliseconds; one
	// that is stopped for longer, or overloaded, is reported without.
	trafficPatience = 250 * time.Millisecond
	// trafficAge is how long an answer counts as new, so that several who ask share one. It is less than a second for
	// those who ask each second.
	trafficAge = 500 * time.Millisecond
)

// traffic asks a server what it does, over a connection of its own: that of the supervisor may be held for long.
// The connection stays open, and is there when max_connections is reached.
type traffic struct {
	db *sql.DB

	// mu guards what follows, and is held while the server is asked: others wait for that answer.
	mu   sync.Mutex
	at   time.Time
	last *client.Traffic
	// asked is how many statements that took: they are not the application's.
	asked int64
}

// ownSessions is how many of a server's sessions are the supervisor's while it asks: its own, and this one.
const ownSessions = 2

// openTraffic makes traffic askable of a server that has started. It connects only when it is first asked for.
func (s *Supervisor) openTraffic() error {
	s.closeTraffic()
	db, err := dbconn.Open(s.inst.Socket(), s.inst.Supervisor, "")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	s.traffic.Store(&traffic{db: db})
	return nil
}

func (s *Supervisor) closeTraffic() {
	if t := s.traffic.Swap(nil); t != nil {
		// Not under mu: who asks now gets an error.
		_ = t.db.Close()
	}
}

// trafficNow is what the server does at present, nil if it does not tell in time.
func (s *Supervisor) trafficNow() *client.Traffic {
	t := s.traffic.Load()
	if t == nil {
		return nil // no server runs
	}
	return t.now()
}

func (t *traffic) now() *client.Traffic {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.at) < trafficAge {
		return t.last
	}
	// Not the context of a request: others wait for the answer too.
	ctx, cancel := context.WithTimeout(context.Background(), trafficPatience)
	defer cancel()
	t.last = nil // why it does not tell, the watch says
	if r, err := dbconn.ReadTraffic(ctx, t.db); err == nil {
		t.asked += dbconn.TrafficStatements
		t.last = &client.Traffic{
			Connections: max(0, r.Connections-ownSessions), MaxConnections: r.MaxConnections, ThreadsRunning: r.Running, Queries: max(0, r.Questions-t.asked), SlowQueries: r.Slow,
			Commits: r.Commits, Rollbacks: r.Rollbacks, AbortedConnects: r.AbortedConnects, ReceivedBytes: r.ReceivedBytes, SentBytes: r.SentBytes,
			UptimeSeconds: r.UptimeSeconds,
		}
	}
	t.at = time.Now()
	return t.last
}

// writeTraffic writes what the server does. There is none of it while the server does not answer.
func writeTraffic(w metrics.Writer, t *client.Traffic) {
	if t == nil {
		return
	}
	w.Gauge("ramaria_server_connections", "Connections that are open, without those of Ramaria.", float64(t.Connections))
	w.Gauge("ramaria_server_max_connections", "How many connections may be open (max_connections).", float64(t.MaxConnections))
	w.Gauge("ramaria_server_threads_running", "Connections that are doing something.", float64(t.ThreadsRunning))
	w.Counter("ramaria_server_queries_total", "Statements that clients sent (Questions).", float64(t.Queries))
	w.Counter("ramaria_server_slow_queries_total", "Statements that took longer than long_query_time.", float64(t.SlowQueries))
	w.Counter("ramaria_server_commits_total", "COMMIT statements; those that commit by themselves are not counted.", float64(t.Commits))
	w.Counter("ramaria_server_rollbacks_total", "ROLLBACK statements.", float64(t.Rollbacks))
	w.Counter("ramaria_server_aborted_connects_total", "Attempts to connect that failed.", float64(t.AbortedConnects))
	w.Counter("ramaria_server_received_bytes_total", "Bytes that clients sent.", float64(t.ReceivedBytes))
	w.Counter("ramaria_server_sent_bytes_total", "Bytes that clients got.", float64(t.SentBytes))
	w.Gauge("ramaria_server_uptime_seconds", "How long the server runs.", float64(t.UptimeSeconds))
}
