package tests

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"time"
)

// expect is what the tables slot and ledger have when the writers have committed so much.
func expect(there acks) (slots map[[2]int]int, ledger map[int]int) {
	slots, ledger = map[[2]int]int{}, map[int]int{}
	for id := range durableLedger {
		ledger[id+1] = 0
	}
	for w, last := range there {
		for n := 1; n <= last; n++ {
			switch n % 8 {
			case 0:
				for k := durableSlots / 2; k < durableSlots; k++ {
					delete(slots, [2]int{w, k})
				}
			case 1, 2:
				slots[[2]int{w, n % durableSlots}] = n
			case 3:
				ledger[(w+n)%durableLedger+1]--
				ledger[(w+n*7)%durableLedger+1]++
				for k := range durableSlots {
					if _, is := slots[[2]int{w, k}]; is {
						slots[[2]int{w, k}] = n
					}
				}
			}
		}
	}
	return slots, ledger
}

// whole checks every table; a server warns for a moment of history that it is about to remove.
func (d *durable) whole(ctx context.Context) error {
	for end := time.Now().Add(purgeTime); ; time.Sleep(untilPause) {
		if err := checkTables(ctx, d.db); err == nil || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
	}
}

// check compares what is there with what the writers were told. What is there counts from then on.
func (d *durable) check(ctx context.Context) error { return d.checkFrom(ctx, d.told()) }

// checkFrom is check where less counts than what the writers were told last: they went on.
func (d *durable) checkFrom(ctx context.Context, least acks) error {
	most := d.told()
	for w := range most {
		most[w]++
	}
	there, err := acksBetween(ctx, d.db, least, most)
	if err != nil {
		return err
	}
	if err := inOrder(ctx, d.db); err != nil {
		return err
	}
	slots, ledger := expect(there)
	if err := cmp.Or(sameRows(ctx, d.db, "SELECT writer, k, n FROM slot", slots, func(r [3]int) ([2]int, int) { return [2]int{r[0], r[1]}, r[2] }),
		sameRows(ctx, d.db, "SELECT id, balance, 0 FROM ledger", ledger, func(r [3]int) (int, int) { return r[0], r[1] })); err != nil {
		return err
	}
	for w, n := range there {
		d.acked[w].Store(int64(n))
	}
	return nil
}

// inOrder wants the commits of each writer in the order of their automatic numbers.
func inOrder(ctx context.Context, db *sql.DB) error {
	var n int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM ack a JOIN ack b ON a.writer = b.writer AND a.n + 1 = b.n AND a.at >= b.at").Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("%d commits are before the one that their writer made before", n)
	}
	return nil
}

// sameRows compares three columns of numbers with what there should be.
func sameRows[K comparable](ctx context.Context, db *sql.DB, query string, want map[K]int, split func([3]int) (K, int)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	got := map[K]int{}
	for rows.Next() {
		var r [3]int
		if err := rows.Scan(&r[0], &r[1], &r[2]); err != nil {
			return err
		}
		k, v := split(r)
		got[k] = v
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if maps.Equal(got, want) {
		return nil
	}
	for k, v := range want {
		if g, is := got[k]; !is || g != v {
			return fmt.Errorf("%s: %v is %d (there: %t), want %d; %d rows, want %d", query, k, g, is, v, len(got), len(want))
		}
	}
	return fmt.Errorf("%s: %d rows, want %d", query, len(got), len(want))
}
