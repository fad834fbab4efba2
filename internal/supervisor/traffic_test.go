package supervisor

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/metrics"
)

// stopped is a server that does not answer, as one that a snapshot has stopped.
type stopped struct{ asked int }

func (s *stopped) Connect(ctx context.Context) (driver.Conn, error) {
	s.asked++
	<-ctx.Done()
	return nil, ctx.Err()
}

func (*stopped) Driver() driver.Driver { return nil }

// TestTrafficOfStopped asks a server that does not answer: it is given up, and not asked again at once.
func TestTrafficOfStopped(t *testing.T) {
	s := &stopped{}
	tr := &traffic{db: sql.OpenDB(s)}
	defer tr.db.Close()
	for range 3 {
		if got := tr.now(); got != nil {
			t.Errorf("there is traffic of a server that does not answer: %v", got)
		}
	}
	if s.asked != 1 {
		t.Errorf("it was asked %d times", s.asked)
	}
	// Negative control: an old answer is asked for again.
	tr.at = time.Now().Add(-2 * trafficAge)
	if tr.now(); s.asked != 2 {
		t.Errorf("it was asked %d times", s.asked)
	}
	tr.last, tr.at = &client.Traffic{Connections: 3}, time.Now()
	if got := tr.now(); got == nil || got.Connections != 3 {
		t.Errorf("an answer is not shared: %v", got)
	}
}

func TestWriteTraffic(t *testing.T) {
	var b strings.Builder
	writeTraffic(metrics.Writer{Writer: &b}, nil)
	if b.String() != "" {
		t.Errorf("nothing is known, and it says %q", b.String())
	}
	writeTraffic(metrics.Writer{Writer: &b}, &client.Traffic{Connections: 3, SentBytes: 5})
	for _, want := range []string{"\nramaria_server_connections 3\n", "\nramaria_server_sent_bytes_total 5\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
}
