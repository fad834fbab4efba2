package tests

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
)

// slowedText is what status says where commits wait for the disk so that an interval is kept.
const slowedText = "commits are slowed since "

// TestDurableSlowed: no disk writes within a millisecond, so that with that interval each commit waits for the archive.
// status says so for as long as it is so, and nothing that was acknowledged is lost with the RAM.
func TestDurableSlowed(t *testing.T) {
	t.Parallel()
	const writers = 4
	d := newDurable(t, "shm")
	d.beginInterval(t, "1ms")
	if _, err := d.db.Exec("CREATE TABLE w (writer INT, n INT, PRIMARY KEY (writer, n))"); err != nil {
		t.Fatal(err)
	}
	slowed := func() *time.Time {
		t.Helper()
		var s struct{ Durable client.Durable }
		if err := json.Unmarshal([]byte(d.ramaria("status", durableName, "--json")), &s); err != nil {
			t.Fatal(err)
		}
		return s.Durable.SlowedSince
	}
	var acked [writers]int
	write := func(ctx context.Context) (end func()) {
		ctx, cancel := context.WithCancel(ctx)
		var all sync.WaitGroup
		for w := range acked {
			all.Go(func() {
				for ctx.Err() == nil {
					if _, err := d.db.Exec("INSERT INTO w VALUES (?, ?)", w, acked[w]+1); err != nil {
						return // the server was killed
					}
					acked[w]++
				}
			})
		}
		return func() { cancel(); all.Wait() }
	}
	end := write(t.Context())
	d.warns(t, slowedText)
	if slowed() == nil {
		t.Error("durable.slowed_since is not there")
	}
	end()
	d.quiet(t, slowedText)
	if since := slowed(); since != nil {
		t.Errorf("nothing is written, and commits are slowed since %s", since)
	}

	ctx, cancel := context.WithCancel(t.Context())
	end = write(ctx)
	d.warns(t, slowedText)
	lost := func(bool) error {
		cancel()
		end()
		return nil
	}
	if err := d.end(t, ending{lost: true}, lost); err != nil {
		t.Fatal(err)
	}
	d.open(t, d.ramaria("up", durableName))
	for w, n := range acked {
		var there int
		if err := d.db.QueryRow("SELECT COUNT(*) FROM w WHERE writer = ?", w).Scan(&there); err != nil {
			t.Fatal(err)
		}
		if there < n {
			t.Errorf("writer %d: %d commits were acknowledged, and %d are there", w, n, there)
		}
	}
}
