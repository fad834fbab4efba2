package differential

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/tests/picture"
)

// atOnce is how many trials run, and are looked at, side by side.
const atOnce = 4

// sideBySide is what a pattern must match for trials to run one after the other.
const sideBySide = "trials side by side"

// unrecoverable is the error of a recovery that fails as a whole.
type unrecoverable struct{ err error }

func (u *unrecoverable) Error() string { return u.err.Error() }

// cycle runs trials, takes the RAM away, recovers, and returns in what each differs from before, "" if in
// nothing. What belongs to no trial is told of under "".
func (in *instance) cycle(ctx context.Context, trials []*trial, killed bool) (said map[string]outcome, differ map[string]string, err error) {
	said = map[string]outcome{}
	var mu sync.Mutex
	began := time.Now()
	took := func(what string) {
		if testing.Verbose() {
			in.t.Logf("%d trials, %s: %.1f s", len(trials), what, time.Since(began).Seconds())
		}
		began = time.Now()
	}
	err = each(trials, in.atOnce, func(t *trial) error {
		o, err := t.run(ctx, in)
		mu.Lock()
		said[t.database] = o
		mu.Unlock()
		return err
	})
	if err == nil && killed {
		err = in.killed(ctx)
	}
	if err != nil {
		return said, nil, err
	}
	took("run")
	clear(in.unanswered)
	before, err := in.look(ctx, trials)
	if err != nil {
		return said, nil, fmt.Errorf("look: %w", err)
	}
	took("look")
	if err := in.lose(); err != nil {
		return said, nil, err
	}
	took("lose")
	defer took("look again")
	if err := in.up(); err != nil {
		return said, nil, &unrecoverable{err}
	}
	took("recover")
	after, err := in.look(ctx, trials)
	if err != nil {
		return said, nil, fmt.Errorf("look at what was recovered: %w", err)
	}
	for _, p := range slices.Concat(slices.Collect(maps.Values(before)), slices.Collect(maps.Values(after))) {
		maps.DeleteFunc(p, func(of, _ string) bool { return in.unanswered[of] })
	}
	for _, t := range trials {
		t.forgive(said[t.database], before[t.database], after[t.database])
	}
	differ = map[string]string{}
	for of := range before {
		if d := picture.Differences(after[of], before[of]); d != "" {
			differ[of] = d
		}
	}
	for of := range after {
		if before[of] == nil {
			differ[of] = picture.Differences(after[of], nil)
		}
	}
	return said, differ, in.clear(ctx, trials)
}

// each does something with each trial, some at once.
func each(trials []*trial, atOnce int, do func(*trial) error) error {
	var group sync.WaitGroup
	errs := make([]error, len(trials))
	places := make(chan struct{}, atOnce)
	for i, t := range trials {
		group.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			errs[i] = do(t)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// look makes pictures of all trials, and under "" of what is no trial's.
func (in *instance) look(ctx context.Context, trials []*trial) (map[string]picture.Picture, error) {
	all := map[string]picture.Picture{}
	var mu sync.Mutex
	err := each(trials, atOnce, func(t *trial) error {
		conn, err := in.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		p, err := picture.Look(ctx, conn, t.database, picture.Blind{Order: true})
		if err != nil {
			return err
		}
		if err := in.lookBeside(ctx, conn, t, p); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all[t.database] = p
		return nil
	})
	if err != nil {
		return nil, err
	}
	conn, err := in.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if all[""], err = picture.Look(ctx, conn, storm, picture.Blind{Order: true, Counters: true}); err != nil {
		return nil, err
	}
	// Afterwards: MariaDB tells of the files of tables that were opened.
	return all, in.whole(ctx, all)
}

// lookBeside adds the second database of a trial, if it has one.
func (in *instance) lookBeside(ctx context.Context, conn *sql.Conn, t *trial, p picture.Picture) error {
	var n int
	err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME='"+t.database+"_2'").Scan(&n)
	if err != nil || n == 0 {
		return err
	}
	other, err := picture.Look(ctx, conn, t.database+"_2", picture.Blind{Order: true, Counters: true})
	for of, text := range other {
		p["2: "+of] = text
	}
	return err
}

// clear removes what trials left, as far as the account may.
func (in *instance) clear(ctx context.Context, trials []*trial) error {
	conn, err := in.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	l := picture.NewLooker(ctx, conn, "")
	for _, row := range l.Ask("XA RECOVER").Rows {
		if len(row) == 4 {
			l.Ask("XA ROLLBACK '" + row[3] + "'")
		}
	}
	l.Ask("SET SESSION lock_wait_timeout=2, foreign_key_checks=0")
	for _, t := range trials {
		l.Ask("DROP DATABASE IF EXISTS " + t.database)
		l.Ask("DROP DATABASE IF EXISTS " + t.database + "_2")
	}
	for _, row := range l.Ask("SELECT CONCAT(QUOTE(User), '@', QUOTE(Host)) FROM mysql.user WHERE User REGEXP '^c[0-9]+_'").Rows {
		l.Ask("DROP USER " + row[0])
	}
	return l.Err()
}
