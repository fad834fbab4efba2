package scenario

import (
	"bytes"
	"cmp"
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

	"github.com/ramaria-db/ramaria/internal/bench"
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

// largeData is 2 GB, poolData what fits into the buffer pool, and ramData what a volume's
// memory is measured by.
var (
	largeData = sysbenchData{rows: 1_100_000}
	poolData  = sysbenchData{rows: 10_000}
	ramData   = sysbenchData{rows: 150_000}
)

func (d sysbenchData) String() string {
	return fmt.Sprintf("sysbench's, %d tables of %d rows, about %s", sysbenchTables, d.rows, bench.Bytes.Format(float64(d.size())))
}

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
umask 077; conf=$(mktemp -p %s); trap 'rm -f "$conf"' EXIT
printf 'mysql-socket=%%s\nmysql-user=%%s\nmysql-password=%%s\nmysql-db=%%s\n' "$MYSQL_UNIX_PORT" "$MYSQL_USER" "$MYSQL_PWD" "$MYSQL_DATABASE" > "$conf"
%s --config-file="$conf" oltp_update_index --tables=%d --table-size=%d --threads=%d prepare
`, server.ShellQuote(l.Dir), s.Shell(), sysbenchTables, d.rows, sysbenchThreads)
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
		return server.Program{}, fmt.Errorf("%w: there is no sysbench", bench.ErrUnavailable)
	}
	p, err := l.Sysbench(ctx)
	if errors.Is(err, server.ErrNoTool) {
		err = fmt.Errorf("%w: %w", bench.ErrUnavailable, err)
	}
	return p, err
}

// sysbenchRun is one run of a workload on a server.
type sysbenchRun struct {
	server.Endpoint
	// name is one that no other run has at the same time.
	name     string
	workload string
	data     sysbenchData
	// threads 0 are sysbenchThreads; seconds 0 are for ever.
	threads, seconds int
}

// sysbenchReport is what a run came to.
type sysbenchReport struct {
	rate float64 // transactions a second
	p99  float64 // seconds that 99 % of the transactions took at most; 0 of none
}

var (
	// transactions is the line of sysbench's report with the rate.
	transactions = regexp.MustCompile(`transactions:\s+\d+\s+\(([0-9.]+) per sec`)
	// percentile is the line with the latency, in milliseconds.
	percentile = regexp.MustCompile(`99th percentile:\s+([0-9.]+)`)
	errNoRate  = errors.New("its report has no rate")
	errNoTail  = errors.New("its report has no 99th percentile")
)

// parseSysbench reads a report.
func parseSysbench(text string) (r sysbenchReport, err error) {
	m := transactions.FindStringSubmatch(text)
	if m == nil {
		return r, errNoRate
	}
	if r.rate, err = strconv.ParseFloat(m[1], 64); err != nil {
		return r, err
	}
	if m = percentile.FindStringSubmatch(text); m == nil {
		return r, errNoTail
	}
	r.p99, err = strconv.ParseFloat(m[1], 64)
	r.p99 /= 1000
	return r, err
}

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
	wait, err := l.startRun(ctx, sysbenchRun{Endpoint: e, name: name, workload: workload, data: d, seconds: seconds})
	if err != nil {
		return nil, err
	}
	return func() (float64, error) {
		r, err := wait()
		return r.rate, err
	}, nil
}

// startRun starts a run. The function returned waits for its end.
func (l *Lab) startRun(ctx context.Context, r sysbenchRun) (func() (sysbenchReport, error), error) {
	wait, err := l.sysbenchDo(ctx, r, "run")
	if err != nil {
		return nil, err
	}
	return func() (sysbenchReport, error) {
		text, err := wait()
		if err != nil {
			return sysbenchReport{}, err
		}
		report, err := parseSysbench(text)
		if err != nil {
			err = fmt.Errorf("sysbench %s: %w: %s", r.workload, err, lastLine(text))
		}
		return report, err
	}, nil
}

// fillTables makes the tables of a run, and their rows.
func (l *Lab) fillTables(ctx context.Context, r sysbenchRun) error {
	wait, err := l.sysbenchDo(ctx, r, "prepare")
	if err == nil {
		_, err = wait()
	}
	return err
}

// sysbenchDo starts the program. The function returned waits for its end and returns what
// it said.
func (l *Lab) sysbenchDo(ctx context.Context, r sysbenchRun, command string) (func() (string, error), error) {
	s, err := l.sysbench(ctx)
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(l.Dir, "sysbench-"+r.name+".conf")
	text := fmt.Sprintf("mysql-socket=%s\nmysql-user=%s\nmysql-password=%s\nmysql-db=%s\n", r.Socket, r.User, r.Password, r.Database)
	if err := server.WritePrivate(conf, []byte(text), server.Account{}); err != nil {
		return nil, err
	}
	argv := append(append([]string{}, s.Argv...), "--config-file="+conf, r.workload, fmt.Sprintf("--tables=%d", sysbenchTables),
		fmt.Sprintf("--table-size=%d", r.data.rows), fmt.Sprintf("--threads=%d", cmp.Or(r.threads, sysbenchThreads)), fmt.Sprintf("--time=%d", r.seconds), "--percentile=99", command)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	// A session of its own, as an application is apart from its server. Where the kernel shares
	// the processors out by sessions (sched_autogroup, sched(7)), a server in the session of its
	// load answers several times faster on a busy machine than one that has its own.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start sysbench: %w", err), os.Remove(conf))
	}
	return func() (string, error) {
		err := cmd.Wait()
		os.Remove(conf)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			return "", fmt.Errorf("sysbench %s: %w: %s", r.workload, err, firstError(out.String()))
		}
		return out.String(), nil
	}, nil
}

// firstError is the line of a program's report that says why it failed: those that follow from it
// come after. Of two lines the first says but what failed.
func firstError(s string) string {
	var fatal []string
	for line := range strings.Lines(s) {
		if strings.HasPrefix(line, "FATAL: ") {
			fatal = append(fatal, strings.TrimSpace(line))
		}
	}
	if len(fatal) == 0 {
		return lastLine(s)
	}
	return strings.Join(fatal[:min(len(fatal), 2)], " ")
}

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
		var rows, last int
		if err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*), COALESCE(MAX(id), 0) FROM sbtest%d", t)).Scan(&rows, &last); err != nil {
			return fmt.Errorf("check %s: %w", what, err)
		}
		if rows != d.rows || last != d.rows {
			return fmt.Errorf("check %s: sbtest%d has %d rows, the last of them %d, not %d", what, t, rows, last, d.rows)
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
