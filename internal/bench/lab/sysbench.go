package lab

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

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
)

const (
	// SysbenchTables is the number of tables of all sysbench runs, as in the published
	// comparisons of MySQL on RAM.
	SysbenchTables = 8
	// SysbenchThreads is the number of their connections, likewise.
	SysbenchThreads = 8
	// rowBytes is about what a row of sysbench takes with its index.
	rowBytes = 233
)

// SysbenchData is a generated data set: SysbenchTables tables of so many rows each.
type SysbenchData struct{ Rows int }

// LargeData is 2 GB, PoolData what fits into the buffer pool, and RAMData what a volume's
// memory is measured by.
var (
	LargeData = SysbenchData{Rows: 1_100_000}
	PoolData  = SysbenchData{Rows: 10_000}
	RAMData   = SysbenchData{Rows: 150_000}
)

func (d SysbenchData) String() string {
	return fmt.Sprintf("sysbench's, %d tables of %d rows, about %s", SysbenchTables, d.Rows, runner.Bytes.Format(float64(d.Size())))
}

// Size is about the size of the data in bytes.
func (d SysbenchData) Size() int64 { return SysbenchTables * int64(d.Rows) * rowBytes }

// SysbenchFlags returns the flags for an instance with the data on a volume.
func (l *Lab) SysbenchFlags(ctx context.Context, d SysbenchData, volume string) ([]string, error) {
	s, err := l.FindSysbench(ctx)
	if err != nil {
		return nil, err
	}
	// sysbench takes a password from its command line or from a file.
	script := filepath.Join(l.Dir, fmt.Sprintf("prepare-%d.sh", d.Rows))
	text := fmt.Sprintf(`#!/bin/sh
umask 077; conf=$(mktemp -p %s); trap 'rm -f "$conf"' EXIT
printf 'mysql-socket=%%s\nmysql-user=%%s\nmysql-password=%%s\nmysql-db=%%s\n' "$MYSQL_UNIX_PORT" "$MYSQL_USER" "$MYSQL_PWD" "$MYSQL_DATABASE" > "$conf"
%s --config-file="$conf" oltp_update_index --tables=%d --table-size=%d --threads=%d prepare
`, server.ShellQuote(l.Dir), s.Shell(), SysbenchTables, d.Rows, SysbenchThreads)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		return nil, err
	}
	flags := l.From(volume)
	flags[indexOf(flags, "--from")+1] = "exec:" + script
	return append(flags, "--key", "1", "--database", "sbtest"), nil
}

// FindSysbench finds the program.
func (l *Lab) FindSysbench(ctx context.Context) (server.Program, error) {
	if l.Sysbench == nil {
		return server.Program{}, fmt.Errorf("%w: there is no sysbench", runner.ErrUnavailable)
	}
	p, err := l.Sysbench(ctx)
	if errors.Is(err, software.ErrNoTool) {
		err = fmt.Errorf("%w: %w", runner.ErrUnavailable, err)
	}
	return p, err
}

// SysbenchRun is one run of a workload on a server.
type SysbenchRun struct {
	dbconn.Endpoint
	// name is one that no other run has at the same time.
	Name     string
	Workload string
	Data     SysbenchData
	// threads 0 are SysbenchThreads; seconds 0 are for ever, or until so many transactions are done.
	Threads, Seconds, Transactions int
}

// SysbenchReport is what a run came to.
type SysbenchReport struct {
	Transactions int
	Rate         float64 // transactions a second
	// P50 and P99 are seconds that so many of a hundred transactions took at most; 0 of none.
	P50, P99 float64
}

var (
	// transactions is the line of sysbench's report with the rate.
	transactions = regexp.MustCompile(`transactions:\s+(\d+)\s+\(([0-9.]+) per sec`)
	// percentile is the line with the latency, in milliseconds.
	percentile = regexp.MustCompile(`99th percentile:\s+([0-9.]+)`)
	// bucket is a line of the histogram of latencies: milliseconds, and how many transactions.
	bucket    = regexp.MustCompile(`(?m)^ *([0-9.]+) \|\** +(\d+)$`)
	errNoRate = errors.New("its report has no rate")
	errNoTail = errors.New("its report has no 99th percentile")
)

// parseSysbench reads a report.
func parseSysbench(text string) (r SysbenchReport, err error) {
	m := transactions.FindStringSubmatch(text)
	if m == nil {
		return r, errNoRate
	}
	if r.Transactions, err = strconv.Atoi(m[1]); err != nil {
		return r, err
	}
	if r.Rate, err = strconv.ParseFloat(m[2], 64); err != nil {
		return r, err
	}
	if m = percentile.FindStringSubmatch(text); m == nil {
		return r, errNoTail
	}
	r.P99, err = strconv.ParseFloat(m[1], 64)
	r.P99 /= 1000
	r.P50 = medianOf(text)
	return r, err
}

// medianOf is the median of the histogram in a report, in seconds; 0 without one.
func medianOf(text string) float64 {
	type line struct {
		ms float64
		n  int
	}
	var lines []line
	all := 0
	for _, m := range bucket.FindAllStringSubmatch(text, -1) {
		ms, err := strconv.ParseFloat(m[1], 64)
		n, bad := strconv.Atoi(m[2])
		if err != nil || bad != nil {
			return 0
		}
		lines = append(lines, line{ms, n})
		all += n
	}
	so := 0
	for _, l := range lines {
		if so += l.n; 2*so >= all {
			return l.ms / 1000
		}
	}
	return 0
}

// StartSysbench starts a workload on an instance; seconds 0 goes on until ctx ends. The
// function returned waits for the end and returns the transactions per second.
func (l *Lab) StartSysbench(ctx context.Context, name, workload string, d SysbenchData, seconds int) (func() (float64, error), error) {
	i, err := l.Instance(name)
	if err != nil {
		return nil, err
	}
	return l.StartSysbenchAt(ctx, i.Endpoint, name, workload, d, seconds)
}

// StartSysbenchAt is StartSysbench on any server; name is one that nothing else uses.
func (l *Lab) StartSysbenchAt(ctx context.Context, e dbconn.Endpoint, name, workload string, d SysbenchData, seconds int) (func() (float64, error), error) {
	wait, err := l.StartSysbenchRun(ctx, SysbenchRun{Endpoint: e, Name: name, Workload: workload, Data: d, Seconds: seconds})
	if err != nil {
		return nil, err
	}
	return func() (float64, error) {
		r, err := wait()
		return r.Rate, err
	}, nil
}

// StartSysbenchRun starts a run. The function returned waits for its end.
func (l *Lab) StartSysbenchRun(ctx context.Context, r SysbenchRun) (func() (SysbenchReport, error), error) {
	wait, err := l.sysbenchDo(ctx, r, "run")
	if err != nil {
		return nil, err
	}
	return func() (SysbenchReport, error) {
		text, err := wait()
		if err != nil {
			return SysbenchReport{}, err
		}
		report, err := parseSysbench(text)
		if err != nil {
			err = fmt.Errorf("sysbench %s: %w: %s", r.Workload, err, lastLine(text))
		}
		return report, err
	}, nil
}

// FillTables makes the tables of a run, and their rows.
func (l *Lab) FillTables(ctx context.Context, r SysbenchRun) error {
	wait, err := l.sysbenchDo(ctx, r, "prepare")
	if err == nil {
		_, err = wait()
	}
	return err
}

// sysbenchDo starts the program. The function returned waits for its end and returns what
// it said.
func (l *Lab) sysbenchDo(ctx context.Context, r SysbenchRun, command string) (func() (string, error), error) {
	s, err := l.FindSysbench(ctx)
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(l.Dir, "sysbench-"+r.Name+".conf")
	text := fmt.Sprintf("mysql-socket=%s\nmysql-user=%s\nmysql-password=%s\nmysql-db=%s\n", r.Socket, r.User, r.Password, r.Database)
	if err := server.WritePrivate(conf, []byte(text), server.Account{}); err != nil {
		return nil, err
	}
	argv := append(append([]string{}, s.Argv...), "--config-file="+conf, r.Workload, fmt.Sprintf("--tables=%d", SysbenchTables),
		fmt.Sprintf("--table-size=%d", r.Data.Rows), fmt.Sprintf("--threads=%d", cmp.Or(r.Threads, SysbenchThreads)), fmt.Sprintf("--time=%d", r.Seconds), fmt.Sprintf("--events=%d", r.Transactions), "--percentile=99", "--histogram=on", command)
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
			return "", fmt.Errorf("sysbench %s: %w: %s", r.Workload, err, firstError(out.String()))
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

// CheckTables counts the rows of all tables, and has the server check the first n.
func (l *Lab) CheckTables(ctx context.Context, name string, d SysbenchData, n int) error {
	db, err := l.open(name)
	if err != nil {
		return err
	}
	defer db.Close()
	return CheckTablesIn(ctx, db, "instance "+name, d, n)
}

// CheckTablesIn is CheckTables on any server; what is it in words.
func CheckTablesIn(ctx context.Context, db *sql.DB, what string, d SysbenchData, n int) error {
	for t := 1; t <= SysbenchTables; t++ {
		var rows, last int
		if err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*), COALESCE(MAX(id), 0) FROM sbtest%d", t)).Scan(&rows, &last); err != nil {
			return fmt.Errorf("check %s: %w", what, err)
		}
		if rows != d.Rows || last != d.Rows {
			return fmt.Errorf("check %s: sbtest%d has %d rows, the last of them %d, not %d", what, t, rows, last, d.Rows)
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

// Memory is about what the data takes in RAM, with the log of its making.
func (d SysbenchData) Memory() int64 { return d.Size() + d.Size()/4 + 256<<20 }
