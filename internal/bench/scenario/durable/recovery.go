package durable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// recoveryTransactions is how many the log has, and recoveryRounds how often it is replayed: by the
	// client that takes longest.
	recoveryTransactions = 60_000
	quickTransactions    = 15_000
	recoveryRounds       = 3
	recoveryName         = "recovery"
	// besideLog is the log that is replayed, and besideSpeed how much of it a second.
	besideLog, besideSpeed = "log", "log per second"
)

// Names of rows.
const (
	RowPiped     = "mysqlbinlog | client"
	RowRecovered = "ramaria up"
)

// recovery is a durable instance whose RAM is taken away again and again.
type recovery struct {
	lab          *lab.Lab
	data         lab.SysbenchData
	kind         volume.Kind
	transactions int

	begun    bool
	failure  error
	up       bool
	instance *instance.Instance
	want     lab.Contents
	// base is a copy of the data directory as the base backup has it, and logs are the files of the log
	// since.
	base  string
	logs  []string
	bytes int64
}

// Recovery measures how long it takes until everything is back: by hand, and by `ramaria up`.
func Recovery(l *lab.Lab) runner.Scenario {
	r := newRecovery(l)
	settings := l.SysbenchSettings(r.data)
	settings["volume"] = string(r.kind)
	settings["log"] = fmt.Sprintf("%d transactions of %s since the base backup, both on the disk", r.transactions, updates)
	s := runner.Scenario{
		Name: "recovery", Rounds: recoveryRounds, Unit: runner.Seconds, Settings: settings,
		Title:  "everything back in RAM after it was lost, from a base backup and the log since, up to a server that answers",
		Beside: []runner.Measure{{Name: besideLog, Unit: runner.Bytes}, {Name: besideSpeed, Unit: runner.Bytes}},
		Cases: []runner.Case{
			{
				Name: RowPiped, Settings: "cp -a of a data directory, a server with ramaria's settings, mysqlbinlog --disable-log-bin FILES | client, volume " + string(r.kind),
				Command: "cp -a BASE DATADIR; mysqld --datadir=DATADIR; mysqlbinlog --disable-log-bin FILES | mysql",
				Prepare: r.prepareByHand, Round: r.byHand, Cleanup: r.end,
			},
			{
				Name: RowRecovered, Ours: true, Settings: "from the archive of a durable instance, volume " + string(r.kind), Command: "ramaria up NAME",
				Prepare: r.prepare, Round: r.round, Check: r.check, Cleanup: r.end,
			},
		},
		Conclusion: r.conclusion,
	}
	log := int64(r.transactions) * logBytes
	files := l.FreshBytes() + 256<<20 + 2*r.data.Size()
	need := lab.Need{Memory: 2*l.ResidentBytes() + 3*files + 64<<20, Disk: files + 3*log}
	need.Shm = l.SharedMemoryOf(lab.Place{Name: lab.PlaceRamaria, Ramaria: true, Kind: r.kind}, 3*files)
	need.SetIn(&s)
	return s
}

func newRecovery(l *lab.Lab) *recovery {
	r := &recovery{lab: l, data: lab.SysbenchData{Rows: max(l.Options.Scaled(tableRows), 100)}, transactions: max(l.Options.Sized(recoveryTransactions), 100)}
	if l.Options.Quick {
		r.transactions = max(l.Options.Sized(quickTransactions), 100)
	}
	var err error
	if r.kind, err = l.RAMKind(context.Background()); err != nil {
		r.kind = volume.Shm // which says why it cannot be
	}
	return r
}

func (r *recovery) archive() string { return filepath.Join(r.lab.Dir, recoveryName+"-archive") }

// prepare makes the instance, has it do its work, and remembers what is in it; once.
func (r *recovery) prepare(ctx context.Context) error {
	if !r.begun {
		r.begun = true
		r.failure = r.fill(ctx)
	}
	return r.failure
}

func (r *recovery) fill(ctx context.Context) error {
	flags, err := r.lab.SysbenchFlags(ctx, r.data, string(r.kind))
	if err != nil {
		return err
	}
	image, _, err := r.lab.ImageDirs(ctx, r.kind, flags)
	if err != nil {
		return err
	}
	r.base = filepath.Join(r.lab.Dir, recoveryName+"-base")
	if out, err := exec.CommandContext(ctx, "cp", "-a", image, r.base).CombinedOutput(); err != nil {
		return fmt.Errorf("cp -a: %w: %s", err, out)
	}
	if _, err := r.lab.Run(ctx, append([]string{"up", recoveryName, "--durable", "--archive", r.archive()}, flags...)...); err != nil {
		return err
	}
	r.up = true
	if r.instance, err = r.lab.Instance(recoveryName); err != nil {
		return err
	}
	wait, err := r.lab.StartSysbenchRun(ctx, lab.SysbenchRun{Endpoint: r.instance.Endpoint, Name: recoveryName, Workload: updates, Data: r.data, Transactions: r.transactions})
	if err == nil {
		_, err = wait()
	}
	if err != nil {
		return err
	}
	if r.want, err = r.contents(ctx, r.instance.Endpoint); err != nil {
		return err
	}
	return r.writeLog()
}

// contents is what a server has.
func (r *recovery) contents(ctx context.Context, e dbconn.Endpoint) (lab.Contents, error) {
	db, err := dbconn.Open(e.Socket, e.Login, database)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return lab.ReadContents(ctx, db, database, nil)
}

// compare returns an error if a server has something else than was acknowledged.
func (r *recovery) compare(ctx context.Context, e dbconn.Endpoint, row string) error {
	have, err := r.contents(ctx, e)
	if err != nil {
		return err
	}
	if !maps.Equal(have, r.want) {
		return fmt.Errorf("check %s: its tables are not what they were", row)
	}
	return nil
}

// writeLog writes the files of the archived log as the server wrote them: it keeps but the last ones.
func (r *recovery) writeLog() error {
	d := archive.OSDisk{Dir: r.archive()}
	m, err := archive.ReadManifest(d)
	if err != nil {
		return err
	}
	to := &logFiles{dir: r.lab.Dir, sizes: map[string]int64{}}
	_, _, err = archive.ReadLog(d, m.LogID(m.Last().Number), to)
	if err := errors.Join(err, to.close()); err != nil {
		return err
	}
	r.logs = slices.Sorted(maps.Keys(to.sizes))
	for _, n := range to.sizes {
		r.bytes += n
	}
	return nil
}

// prepareByHand is prepare, where there are the programs.
func (r *recovery) prepareByHand(ctx context.Context) error {
	if len(r.lab.Server.LogReader.Argv) == 0 || len(r.lab.Server.Client.Argv) == 0 {
		return fmt.Errorf("%w: %s has no mysqlbinlog, or no client, beside it", runner.ErrUnavailable, r.lab.Server.Name())
	}
	return r.prepare(ctx)
}

// byHand is a round of mysqlbinlog. The answer is checked before its server goes.
func (r *recovery) byHand(ctx context.Context) (_ runner.Sample, err error) {
	v, err := r.lab.OpenVolume(ctx, r.kind)
	if err != nil {
		return runner.Sample{}, err
	}
	s := &lab.PlainServer{Lab: r.lab, Dir: filepath.Join(v.Dir(), recoveryName+"-by-hand"), Volume: string(r.kind)}
	defer func() { err = errors.Join(err, s.Remove(), v.Close()) }()
	if err := errors.Join(s.Prepare(), s.WriteClient()); err != nil {
		return runner.Sample{}, err
	}
	began := time.Now()
	if err := s.CopyAndStart(ctx, r.base); err != nil {
		return runner.Sample{}, err
	}
	if err := r.pipe(ctx, s.ClientConfig()); err != nil {
		return runner.Sample{}, err
	}
	return r.sample(time.Since(began)), r.compare(ctx, s.Endpoint(""), RowPiped)
}

// pipe replays the log by the client.
func (r *recovery) pipe(ctx context.Context, config string) error {
	reader, client := r.lab.Server.LogReader, r.lab.Server.Client
	command := func(p server.Program, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, p.Argv[0], slices.Concat(p.Argv[1:], args)...)
		cmd.Env = p.Environ(os.Environ())
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return cmd
	}
	from := command(reader, append([]string{"--no-defaults", "--disable-log-bin"}, r.logs...)...)
	to := command(client, "--defaults-file="+config, "--binary-mode")
	var said, answered strings.Builder
	from.Stderr, to.Stdout, to.Stderr = &said, &answered, &answered
	out, err := from.StdoutPipe()
	if err != nil {
		return err
	}
	to.Stdin = out
	if err := from.Start(); err != nil {
		return err
	}
	err = to.Run()
	_ = out.Close() // a client that ended early reads no more
	err = errors.Join(err, from.Wait())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("mysqlbinlog | client: %w: %.300s %.300s", err, said.String(), answered.String())
	}
	return nil
}

func (r *recovery) sample(took time.Duration) runner.Sample {
	n := float64(r.bytes)
	return runner.Sample{Value: took.Seconds(), Beside: map[string]float64{besideLog: n, besideSpeed: n / took.Seconds()}}
}

// takeAway ends the instance as a power failure does.
func (r *recovery) takeAway(ctx context.Context) error {
	state, err := r.instance.State()
	if err != nil {
		return err
	}
	supervisor, err := sys.OpenProcess(state.SupervisorPID)
	if err != nil {
		return fmt.Errorf("kill instance %s: %w", recoveryName, err)
	}
	defer supervisor.Close()
	daemon, err := sys.OpenProcess(state.ServerPID) // which goes with its supervisor
	if err != nil {
		return fmt.Errorf("kill instance %s: %w", recoveryName, err)
	}
	defer daemon.Close()
	if err := supervisor.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	if err := errors.Join(supervisor.WaitExit(ctx), daemon.WaitExit(ctx)); err != nil {
		return err
	}
	return sys.RemoveTree(r.instance.Dir)
}

// round takes the RAM away, and has it back.
func (r *recovery) round(ctx context.Context) (runner.Sample, error) {
	if err := r.takeAway(ctx); err != nil {
		return runner.Sample{}, err
	}
	began := time.Now()
	if _, err := r.lab.Run(ctx, "up", recoveryName); err != nil {
		return runner.Sample{}, err
	}
	return r.sample(time.Since(began)), nil
}

func (r *recovery) check(ctx context.Context) error {
	var err error
	if r.instance, err = r.lab.Instance(recoveryName); err != nil {
		return err
	}
	return r.compare(ctx, r.instance.Endpoint, RowRecovered)
}

// end removes everything. It may be called more than once.
func (r *recovery) end(ctx context.Context) error {
	var errs []error
	if r.up {
		r.up = false
		_, err := r.lab.Run(ctx, "down", recoveryName, "--rm")
		errs = append(errs, err)
	}
	if r.begun {
		errs = append(errs, os.RemoveAll(r.archive()))
		for _, path := range append(r.logs, r.base) {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

func (r *recovery) conclusion(res *runner.Result) string {
	piped, ours := &res.Rows[0], &res.Rows[1]
	if ours.Count == 0 {
		return ""
	}
	text := fmt.Sprintf("ramaria up has %s of log back in %s, %s a second", runner.Bytes.Format(ours.Beside[besideLog]), runner.Seconds.Format(ours.Median), runner.Bytes.Format(ours.Beside[besideSpeed]))
	switch {
	case piped.Count == 0:
	case res.Beats(ours, piped):
		text += fmt.Sprintf("; mysqlbinlog | client takes %.1f times as long, %s", ours.Ratio, runner.Seconds.Format(piped.Median))
	default:
		text += fmt.Sprintf("; mysqlbinlog | client takes %s, which is no more beyond noise", runner.Seconds.Format(piped.Median))
	}
	return text + "."
}

// logFiles writes a log as files.
type logFiles struct {
	dir   string
	sizes map[string]int64
	file  *os.File
}

var _ archive.Sink = (*logFiles)(nil)

func (s *logFiles) open(n uint32) (err error) {
	path := filepath.Join(s.dir, fmt.Sprintf("%s-%s.%06d", recoveryName, server.BinlogName, n))
	if s.file != nil && s.file.Name() == path {
		return nil
	}
	if err := s.close(); err != nil {
		return err
	}
	s.file, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	return err
}

// WriteAt implements archive.Sink.
func (s *logFiles) WriteAt(n uint32, b []byte, at int64) error {
	if err := s.open(n); err != nil {
		return err
	}
	_, err := s.file.WriteAt(b, at)
	s.sizes[s.file.Name()] = max(s.sizes[s.file.Name()], at+int64(len(b)))
	return err
}

// Truncate implements archive.Sink.
func (s *logFiles) Truncate(n uint32, size int64) error {
	if err := s.open(n); err != nil {
		return err
	}
	s.sizes[s.file.Name()] = size
	return s.file.Truncate(size)
}

func (s *logFiles) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}
