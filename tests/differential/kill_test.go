package differential

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/tests/home"
	"github.com/ramaria-db/ramaria/tests/picture"
)

const (
	// storm is the database of the writers that are at work when the server is killed.
	storm = "storm"
	// writers is how many there are; leastStorm and mostStorm bound the time until the kill.
	writers               = 4
	leastStorm, mostStorm = 50 * time.Millisecond, 400 * time.Millisecond
)

// killed has writers prepare and commit XA transactions while the server is killed, starts it again, and settles what
// it then finds prepared, as an application does. What it commits afterwards must be recovered.
func (in *instance) killed(ctx context.Context) error {
	if _, err := in.db.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+storm); err != nil {
		return err
	}
	if _, err := in.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+storm+".t (id BIGINT PRIMARY KEY AUTO_INCREMENT, w INT)"); err != nil {
		return err
	}
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() { in.write(ctx, w) })
	}
	time.Sleep(leastStorm + rand.N(mostStorm-leastStorm)) // #nosec G404 -- no secret
	err := in.kill(false)
	group.Wait()
	if err != nil {
		return err
	}
	if err := in.up(); err != nil {
		return &unrecoverable{fmt.Errorf("after a kill of the server: %w", err)}
	}
	return in.settle(ctx)
}

// write prepares and commits until the server is gone.
func (in *instance) write(ctx context.Context, w int) {
	db, err := home.Open(in.endpoint, in.endpoint.User, in.endpoint.Password, storm, "utf8mb4")
	if err != nil {
		return
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	for n := 0; ; n++ {
		xid := fmt.Sprintf("'s%d_%d_%d'", time.Now().UnixNano(), w, n)
		for _, text := range []string{"XA START " + xid, fmt.Sprintf("INSERT INTO t (w) VALUES (%d)", w), "XA END " + xid, "XA PREPARE " + xid, "XA COMMIT " + xid} {
			if home.Exec(ctx, conn, text) != nil {
				return
			}
		}
	}
}

// settle commits or rolls back what is prepared, by chance, and commits something more.
func (in *instance) settle(ctx context.Context) error {
	conn, err := in.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	l := picture.NewLooker(ctx, conn, "")
	for _, row := range l.Ask("XA RECOVER").Rows {
		if len(row) == 4 {
			what := []string{"XA ROLLBACK '", "XA COMMIT '"}[rand.IntN(2)] + row[3] + "'" // #nosec G404 -- no secret
			if a := l.Ask(what); len(a.Names) == 1 && a.Names[0] == "error" {
				in.t.Logf("%s: %v", what, a.Rows)
			}
		}
	}
	if l.Err() != nil {
		return l.Err()
	}
	return home.Exec(ctx, conn, "INSERT INTO "+storm+".t (w) VALUES (-1)")
}
