package bench

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

const (
	// sysbenchTables is the number of tables, and sysbenchThreads of connections, of
	// all sysbench runs: as in the published comparisons of MySQL on RAM.
	sysbenchTables  = 8
	sysbenchThreads = 8
	// rowBytes is about what a row of sysbench takes with its index.
	rowBytes = 233
)

// sysbenchData is a generated data set: sysbenchTables tables of so many rows each.
type sysbenchData struct{ rows int }

// largeData is 2 GB, and poolData what fits into the buffer pool.
var (
	largeData = sysbenchData{rows: 1_100_000}
	poolData  = sysbenchData{rows: 10_000}
)

// size is about the size of the data in bytes.
func (d sysbenchData) size() int64 { return sysbenchTables * int64(d.rows) * rowBytes }

// from returns the flags for an instance with the data on a volume.
func (l *Lab) sysbenchFrom(ctx context.Context, d sysbenchData, volume string) ([]string, error) {
	s, err := l.sysbench(ctx)
	if err != nil {
		return nil, err
	}
	// sysbench takes a password from its command line or from a file.
	script := filepath.Join(l.Dir, fmt.Sprintf("prepare-%d.sh", d.rows))
	text := fmt.Sprintf(`#!/bin/sh
umask 077; conf=$(mktemp -p "%s"); trap 'rm -f "$conf"' EXIT
printf 'mysql-socket=%%s\nmysql-user=%%s\nmysql-password=%%s\nmysql-db=%%s\n' "$MYSQL_UNIX_PORT" "$MYSQL_USER" "$MYSQL_PWD" "$MYSQL_DATABASE" > "$conf"
%s %s --config-file="$conf" oltp_update_index --tables=%d --table-size=%d --threads=%d prepare
`, l.Dir, strings.Join(s.Env, " "), strings.Join(s.Argv, " "), sysbenchTables, d.rows, sysbenchThreads)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		return nil, err
	}
	flags := l.From(volume)
	flags[indexOf(flags, "--from")+1] = "exec:" + script
	return append(flags, "--key", "1", "--database", "sbtest"), nil
}

// sysbench finds the program.
func (l *Lab) sysbench(ctx context.Context) (server.Program, error) {
	if l.Sysbench == nil {
		return server.Program{}, fmt.Errorf("%w: there is no sysbench", ErrUnavailable)
	}
	p, err := l.Sysbench(ctx)
	if errors.Is(err, server.ErrNoTool) {
		err = errors.Join(ErrUnavailable, err)
	}
	return p, err
}

// transactions is the line of sysbench's report with the rate.
var transactions = regexp.MustCompile(`transactions:\s+\d+\s+\(([0-9.]+) per sec`)

// startSysbench starts a workload on an instance; seconds 0 goes on until ctx ends. The
// function returned waits for the end and returns the transactions per second.
func (l *Lab) startSysbench(ctx context.Context, name, workload string, d sysbenchData, seconds int) (func() (float64, error), error) {
	i, err := l.instance(name)
	if err != nil {
		return nil, err
	}
	return l.startSysbenchAt(ctx, i.Endpoint, name, workload, d, seconds)
}

// startSysbenchAt is startSysbench on any server; name is one that nobody else uses.
func (l *Lab) startSysbenchAt(ctx context.Context, e server.Endpoint, name, workload string, d sysbenchData, seconds int) (func() (float64, error), error) {
	s, err := l.sysbench(ctx)
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(l.Dir, "sysbench-"+name+".conf")
	text := fmt.Sprintf("mysql-socket=%s\nmysql-user=%s\nmysql-password=%s\nmysql-db=%s\n", e.Socket, e.User, e.Password, e.Database)
	if err := server.WritePrivate(conf, []byte(text), server.Account{}); err != nil {
		return nil, err
	}
	argv := append(append([]string{}, s.Argv...), "--config-file="+conf, workload, fmt.Sprintf("--tables=%d", sysbenchTables),
		fmt.Sprintf("--table-size=%d", d.rows), fmt.Sprintf("--threads=%d", sysbenchThreads), fmt.Sprintf("--time=%d", seconds), "run")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start sysbench: %w", err)
	}
	return func() (float64, error) {
		err := cmd.Wait()
		os.Remove(conf)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		m := transactions.FindSubmatch(out.Bytes())
		if err != nil || m == nil {
			return 0, fmt.Errorf("sysbench %s: %w: %s", workload, errors.Join(err, errNoRate), lastLine(out.String()))
		}
		return strconv.ParseFloat(string(m[1]), 64)
	}, nil
}

var errNoRate = errors.New("its report has no rate")

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// checkTables counts the rows of all tables, and has the server check the first n.
func (l *Lab) checkTables(ctx context.Context, name string, d sysbenchData, n int) error {
	db, err := l.open(name)
	if err != nil {
		return err
	}
	defer db.Close()
	return checkTablesIn(ctx, db, "instance "+name, d, n)
}

// checkTablesIn is checkTables on any server; what is it in words.
func checkTablesIn(ctx context.Context, db *sql.DB, what string, d sysbenchData, n int) error {
	for t := 1; t <= sysbenchTables; t++ {
		var rows int
		if err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT MAX(id) FROM sbtest%d", t)).Scan(&rows); err != nil {
			return fmt.Errorf("check %s: %w", what, err)
		}
		if rows != d.rows {
			return fmt.Errorf("check %s: sbtest%d ends at row %d, not %d", what, t, rows, d.rows)
		}
		if t > n {
			continue
		}
		var table, op, kind, text string
		if err := db.QueryRowContext(ctx, fmt.Sprintf("CHECK TABLE sbtest%d", t)).Scan(&table, &op, &kind, &text); err != nil {
			return fmt.Errorf("check %s: %w", what, err)
		}
		if kind != "status" || text != "OK" {
			return fmt.Errorf("check %s: %s: %s: %s", what, table, kind, text)
		}
	}
	return nil
}
