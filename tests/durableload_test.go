package tests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// statements are the n-th transaction of a writer; one alone is committed by itself.
func statements(w, n int) []string {
	ack := fmt.Sprintf("INSERT INTO ack (writer, n) VALUES (%d, %d)", w, n)
	slot := n % durableSlots
	from, to := (w+n)%durableLedger+1, (w+n*7)%durableLedger+1
	switch n % 8 {
	case 0:
		return []string{ack, fmt.Sprintf("DELETE FROM slot WHERE writer = %d AND k >= %d", w, durableSlots/2)}
	case 1, 2:
		return []string{ack, fmt.Sprintf("REPLACE INTO slot VALUES (%d, %d, %d, REPEAT('x', %d))", w, slot, n, n%3000)}
	case 3:
		return []string{
			fmt.Sprintf("UPDATE ledger SET balance = balance - 1 WHERE id = %d", from), ack,
			fmt.Sprintf("UPDATE ledger SET balance = balance + 1 WHERE id = %d", to),
			fmt.Sprintf("UPDATE slot SET n = %d WHERE writer = %d", n, w),
		}
	}
	return []string{ack}
}

func (d *durable) told() (n acks) {
	for w := range n {
		n[w] = int(d.acked[w].Load())
	}
	return n
}

// load has all writers write. What it returns waits until they have ended, or ends them.
func (d *durable) load(t *testing.T, e ending) (end func(stop bool) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	errs := make([]error, killWriters)
	committed := make(chan struct{}, 1)
	for w := range killWriters {
		conn, err := d.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			errs[w] = d.write(ctx, conn, w, committed)
			conn.Close()
		})
	}
	if e.flush {
		group.Go(func() {
			for ctx.Err() == nil {
				if _, err := d.root.ExecContext(ctx, "FLUSH BINARY LOGS"); err != nil {
					return
				}
			}
		})
	}
	made := make(chan struct{})
	if e.bases {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if _, _, err := d.try("backup", durableName); err != nil {
					return
				}
				if n == 0 {
					close(made)
				}
			}
		})
	}
	select {
	case <-committed:
	case <-time.After(patience):
		t.Fatalf("no commit in %s\n%s", patience, d.logs())
	}
	if e.bases {
		select {
		case <-made:
		case <-time.After(patience):
			t.Fatalf("no base backup in %s\n%s", patience, d.logs())
		}
	}
	time.Sleep(leastLoad + rand.N(mostLoad-leastLoad)) // #nosec G404 -- no secret
	return func(stop bool) error {
		if stop {
			cancel()
		}
		ended := make(chan struct{})
		go func() { group.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(patience):
			return errors.New("writers wait on although the server has ended")
		}
		cancel()
		return errors.Join(errs...)
	}
}

// write commits until it is stopped, or the connection ends.
func (d *durable) write(stopped context.Context, conn *sql.Conn, w int, committed chan<- struct{}) error {
	ctx := context.Background()
	for n := int(d.acked[w].Load()) + 1; stopped.Err() == nil; {
		texts := statements(w, n)
		if len(texts) > 1 {
			texts = slices.Concat([]string{"BEGIN"}, texts, []string{"COMMIT"})
		}
		var err error
		for _, text := range texts {
			if _, err = conn.ExecContext(ctx, text); err != nil {
				break
			}
		}
		const deadlock, timeout = 1213, 1205
		going := []uint16{1053, 1317, 3100} // what a server says that shuts down
		var refused *mysql.MySQLError
		switch {
		case err == nil:
			d.acked[w].Store(int64(n))
			n++
			select {
			case committed <- struct{}{}:
			default:
			}
		case errors.As(err, &refused) && (refused.Number == deadlock || refused.Number == timeout):
			if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
				return nil //nolint:nilerr // the server was killed
			}
		case errors.As(err, &refused) && !slices.Contains(going, refused.Number):
			return fmt.Errorf("writer %d: %w", w, err)
		default:
			return nil
		}
	}
	return nil
}
