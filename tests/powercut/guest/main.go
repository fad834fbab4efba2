// Command guest is what runs in the virtual machine whose power is cut (see tests/powercut): it brings
// up a durable instance, says which rows it has, and writes rows, saying of each when it was
// acknowledged.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

const writers = 8

func main() {
	fmt.Println("FAILED", run(context.Background()))
	select {} // the first process must not end
}

func run(ctx context.Context) error {
	db, err := up(ctx)
	if err != nil {
		return err
	}
	if err := tell(ctx, db); err != nil {
		return err
	}
	fmt.Println("READY")
	var out sync.Mutex // of lines
	for w := range writers {
		var n int64
		if err := db.QueryRowContext(ctx, "SELECT COALESCE(MAX(n), 0) FROM ledger WHERE w = ?", w).Scan(&n); err != nil {
			return err
		}
		go func() {
			for {
				n++
				if err := write(ctx, db, w, n); err != nil {
					fmt.Println("FAILED", w, n, err)
					return
				}
				out.Lock()
				fmt.Println("A", w, n)
				out.Unlock()
			}
		}()
	}
	for ctx.Err() == nil { // cuts are to come in the middle of bases and of rotations, too
		time.Sleep(2 * time.Second)
		_ = exec.CommandContext(ctx, "ramaria", "backup", "shop").Run()
		_, _ = db.ExecContext(ctx, "FLUSH BINARY LOGS")
	}
	return ctx.Err()
}

// up starts the instance, or recovers it.
func up(ctx context.Context) (*sql.DB, error) {
	cmd := exec.CommandContext(ctx, "ramaria", "up", "shop", "--durable", "--volume", "shm")
	if _, err := os.Stat("/disk/home/state/instances/shop.json"); err == nil {
		cmd = exec.CommandContext(ctx, "ramaria", "up", "shop")
	}
	cmd.Stderr = os.Stdout
	dsn, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ramaria up: %w", err)
	}
	text, err := exec.CommandContext(ctx, "ramaria", "status", "shop", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("ramaria status: %w", err)
	}
	var status struct{ Socket string }
	if err := json.Unmarshal(text, &status); err != nil {
		return nil, err
	}
	rest := strings.TrimPrefix(strings.TrimSpace(string(dsn)), "mysql://")
	user, rest, _ := strings.Cut(rest, ":")
	password, _, _ := strings.Cut(rest, "@")
	return dbconn.Open(status.Socket, dbconn.Login{User: user, Password: password}, "app")
}

// write is a transaction of two rows, by which a half one is seen.
func write(ctx context.Context, db *sql.DB, w int, n int64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO ledger VALUES (?, ?, REPEAT('x', 200))", w, n); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE total SET n = n + 1 WHERE w = ?", w); err != nil {
		return err
	}
	return tx.Commit()
}

// tell says what is there: of each writer the last row, how many there are, and what total has.
func tell(ctx context.Context, db *sql.DB) error {
	for _, text := range []string{
		"CREATE TABLE IF NOT EXISTS ledger (w INT, n BIGINT, t VARCHAR(250), PRIMARY KEY (w, n)) ENGINE=InnoDB",
		"CREATE TABLE IF NOT EXISTS total (w INT PRIMARY KEY, n BIGINT) ENGINE=InnoDB",
		"INSERT IGNORE INTO total VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0)",
	} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	rows, err := db.QueryContext(ctx, "SELECT total.w, COALESCE(MAX(ledger.n), 0), COUNT(ledger.n), total.n FROM total LEFT JOIN ledger USING (w) GROUP BY total.w, total.n")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var w, last, count, total int64
		if err := rows.Scan(&w, &last, &count, &total); err != nil {
			return err
		}
		fmt.Println("ROWS", w, last, count, total)
	}
	return rows.Err()
}
