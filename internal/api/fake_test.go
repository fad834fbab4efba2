package api

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is an Instance that answers what it is told to. Its requests are kept.
type fake struct {
	// during, if not nil, is called in every call, and its error is the call's.
	during    func(ctx context.Context) error
	status    client.Status
	branch    client.Branch
	marks     []client.Mark
	rewind    client.Rewind
	move      client.Move
	promotion client.Promotion

	backup       client.Backup
	verification client.Verification
	pruned       client.Pruned

	templates []client.Template
	databases []client.Database
	reset     client.Reset
	claim     client.TemplateClaim
	limits    client.Limits
	metrics   string

	mu  sync.Mutex
	got []any
}

var at = time.Date(2026, 11, 21, 13, 0, 1, 500_000_000, time.UTC)

// full is a fake with every field of every answer set.
func full() *fake {
	endpoint := client.Endpoint{
		Host: "127.0.0.1", Port: 41233, Socket: "/run/server.sock", User: "app", Password: "p/w:@", Database: "shop",
		URL: "mysql://app:p%2Fw%3A%40@127.0.0.1:41233/shop",
	}
	snapshot := client.Snapshot{LiveMicros: 1, PauseMicros: 2, TotalMicros: 3, DataBytes: 1 << 40}
	marks := []client.Mark{{Label: "a", Created: at, DataBytes: 5, Snapshot: &snapshot}, {Label: "b", Created: at, DataBytes: 6}}
	database := client.Database{
		Name: "shop_1", Host: "127.0.0.1", Port: 41233, Socket: "/run/server.sock", User: "shop_1", Password: "p/w:@",
		URL: "mysql://shop_1:p%2Fw%3A%40@127.0.0.1:41233/shop_1", Template: "shop", Expires: at, Kept: true,
	}
	template := client.Template{Name: "shop", Made: at, Tables: 18, Bytes: 19, Family: "sh", Key: "k", Leases: 20, Spare: 22, Changed: "table visit", Notes: []string{"view v names the database b"}}
	full, swapped := 12000.0, int64(4)
	use := client.Use{What: "shop.orders", Kind: "table", Database: "shop", Name: "orders", Bytes: 3, GrownBytes: 4}
	return &fake{
		status: client.Status{
			Name: "shop", Phase: "running", Since: at, Reason: "none", Warnings: []string{"the volume is 93 % full"}, Notices: []string{"the volume is 80 % full"}, ReadySeconds: 0.052,
			Server:   client.Server{Flavour: "mariadb", Version: "10.11.19", Path: "/usr/sbin/mariadbd", ResidentBytes: 62193664},
			Endpoint: endpoint,
			Volume:   client.Volume{Kind: "shm", Dir: "/dev/shm/ramaria-0", SizeBytes: 7, UsedBytes: 8, FreeBytes: 9, Bound: "limit", Reflink: true},
			Room: &client.Room{
				At: at, Level: "notice", UsedPercent: 82, UsedBytes: 8, FreeBytes: 9, KeptBytes: 7, Bound: "limit", Cgroup: &client.Cgroup{Path: "/a", LimitBytes: 7}, GrowthBytesPerHour: 6, FullSeconds: &full,
				Swap:     &client.Swap{FilesBytes: &swapped, OfBytes: 9, ServerBytes: 2, MachineBytes: 3},
				Contents: &client.Contents{Since: at, Files: 1, Bytes: 2, Grown: []client.Use{use}, Largest: []client.Use{use}, Databases: []client.Use{use}},
			},
			Snapshot: client.SnapshotEstimate{DataBytes: 10, ExpectedPauseMicros: 11}, Log: "on",
			Moving: &client.Moving{Volume: "disk", CopiedBytes: 1, TotalBytes: 2},
			Replica: &client.Replica{
				Sync: true,
				Of:   "shop", State: "following", LagSeconds: new(0.5), LagBytes: new(int64(25)), Position: "ramaria-bin.000001:4", Error: "e",
				Diverged: &client.Divergence{Position: "ramaria-bin.000001:4", Kind: "unknown", Why: "w", At: at},
			},
			Cluster:  &client.Membership{Cluster: "c", State: "ONLINE", Online: true, Role: "primary", Sees: 3, Of: 3},
			Replicas: []string{"copy"},
			Durable: &client.Durable{
				Level: "commit", Archive: "/a", RoomBytes: 1, Position: "1:2:3", Backups: 4, LastBackup: at, SinceBytes: 5, RecoverSeconds: 6.5,
				RecoverWithinSeconds: 30, HistorySeconds: 3600, Verified: &at, Outside: []string{"a.b (MyISAM)"}, SlowedSince: &at, BlindSince: &at,
				Fences:  &client.Fences{Waiting: []client.Fence{{Position: "1:2:3", Kind: "function", Why: "UUID()", Since: at}}, Kinds: []client.FenceCount{{Kind: "function", Count: 2}}},
				Buckets: []client.Bucket{{URL: "s3://b/p", InSync: true, LagSeconds: 0.5, Position: "1:2:3", Complete: &at, Error: "no"}}, Error: "no",
			},
			Marks:    marks,
			Counters: client.Counters{Branches: 12, Marks: 13, Rewinds: 14},
			Traffic: &client.Traffic{
				Connections: 1, MaxConnections: 151, ThreadsRunning: 2, Queries: 3, SlowQueries: 4, Commits: 5, Rollbacks: 6, AbortedConnects: 7,
				ReceivedBytes: 8, SentBytes: 9, UptimeSeconds: 10,
			},
			Leases: &client.Leases{Used: 1, Max: 64, Waiting: 2, Granted: 30, Resets: 40},
		},
		branch: client.Branch{Name: "shop-2", Endpoint: endpoint, API: "/run/api.sock", Snapshot: snapshot, ReadyMicros: 15},
		marks:  marks,
		backup: client.Backup{ID: 3, Time: at, Position: "1:2:3", DataBytes: 4, StoredBytes: 5, Outside: []string{"a.b (MyISAM)"}, Snapshot: &snapshot},
		verification: client.Verification{
			Time: at, Position: "1:2:3", Tables: 6, RestoredBytes: 7, ReplayedBytes: 8, RestoreMicros: 9, ReplayMicros: 10,
		},
		pruned:    client.Pruned{Backups: 11, Epochs: 12},
		rewind:    client.Rewind{Label: "a", Micros: 16, ReadyMicros: 17},
		promotion: client.Promotion{Of: "shop", Position: "ramaria-bin.000001:4", Stopped: "its log is another", Events: []string{"a.b"}, Micros: 22},
		move:      client.Move{Volume: "disk", DataBytes: 18, HeldMicros: 19, PauseMicros: 20, TotalMicros: 21},

		templates: []client.Template{template, {Name: "zoo-é", Made: at}},
		databases: []client.Database{database},
		claim:     client.TemplateClaim{State: client.StateBuild, Template: template, Database: &database},
		limits:    client.Limits{MaxDatabases: 64, Spare: 2},
		metrics:   "# TYPE a gauge\na 1\n",
		reset:     client.Reset{Way: "refill", Micros: 21, Why: "a table has no key", Warnings: []string{"a sequence is not as it was"}, Connections: []uint64{23, 24}},
	}
}

func (f *fake) call(ctx context.Context, request any) error {
	f.mu.Lock()
	f.got = append(f.got, request)
	f.mu.Unlock()
	if f.during != nil {
		return f.during(ctx)
	}
	return nil
}

// requests returns what reached the Instance.
func (f *fake) requests() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.got
}

func (f *fake) Status(ctx context.Context) (client.Status, error) {
	return f.status, f.call(ctx, "status")
}

func (f *fake) Branch(ctx context.Context, r client.BranchRequest) (client.Branch, error) {
	return f.branch, f.call(ctx, r)
}

func (f *fake) Marks(ctx context.Context) ([]client.Mark, error) {
	return f.marks, f.call(ctx, "marks")
}

func (f *fake) Mark(ctx context.Context, r client.MarkRequest) (client.Mark, error) {
	return f.marks[0], f.call(ctx, r)
}

func (f *fake) DeleteMark(ctx context.Context, label string) error {
	return f.call(ctx, "delete "+label)
}

func (f *fake) Rewind(ctx context.Context, label string) (client.Rewind, error) {
	return f.rewind, f.call(ctx, "rewind "+label)
}

func (f *fake) AddReplica(ctx context.Context, r client.ReplicaRequest) (client.Branch, error) {
	return f.branch, f.call(ctx, r)
}

func (f *fake) Promote(ctx context.Context, r client.PromoteRequest) (client.Promotion, error) {
	return f.promotion, f.call(ctx, r)
}

func (f *fake) Move(ctx context.Context, r client.MoveRequest) (client.Move, error) {
	return f.move, f.call(ctx, r)
}

func (f *fake) Backup(ctx context.Context) (client.Backup, error) {
	return f.backup, f.call(ctx, "backup")
}

func (f *fake) Backups(ctx context.Context) ([]client.Backup, error) {
	return []client.Backup{f.backup}, f.call(ctx, "backups")
}

func (f *fake) VerifyBackups(ctx context.Context) (client.Verification, error) {
	return f.verification, f.call(ctx, "verify")
}

func (f *fake) PruneBackups(ctx context.Context) (client.Pruned, error) {
	return f.pruned, f.call(ctx, "prune")
}

func (f *fake) Templates(ctx context.Context) ([]client.Template, error) {
	return f.templates, f.call(ctx, "templates")
}

func (f *fake) PutTemplate(ctx context.Context, name string) (client.Template, error) {
	return f.templates[0], f.call(ctx, "template "+name)
}

func (f *fake) DeleteTemplate(ctx context.Context, name string) error {
	return f.call(ctx, "no template "+name)
}

func (f *fake) Databases(ctx context.Context) ([]client.Database, error) {
	return f.databases, f.call(ctx, "databases")
}

func (f *fake) NewDatabase(ctx context.Context, r client.DatabaseRequest) (client.Database, error) {
	return f.databases[0], f.call(ctx, r)
}

func (f *fake) ResetDatabase(ctx context.Context, name string, c client.ResetMode) (client.Reset, error) {
	return f.reset, f.call(ctx, fmt.Sprintf("reset %s, %s counters", name, c))
}

func (f *fake) SetSavepoint(ctx context.Context, name string) error {
	return f.call(ctx, "savepoint of "+name)
}

func (f *fake) RollbackDatabase(ctx context.Context, name string, c client.ResetMode) (client.Reset, error) {
	return f.reset, f.call(ctx, fmt.Sprintf("rollback of %s, %s counters", name, c))
}

func (f *fake) DropDatabase(ctx context.Context, name string) error {
	return f.call(ctx, "drop "+name)
}

func (f *fake) Database(ctx context.Context, name string) (client.Database, error) {
	return f.databases[0], f.call(ctx, "get "+name)
}

func (f *fake) KeepDatabase(ctx context.Context, name string) (client.Database, error) {
	return f.databases[0], f.call(ctx, "keep "+name)
}

func (f *fake) CreateTemplate(ctx context.Context, r client.TemplateRequest) (client.TemplateClaim, error) {
	return f.claim, f.call(ctx, r)
}

func (f *fake) Limits(ctx context.Context) (client.Limits, error) {
	return f.limits, f.call(ctx, "limits")
}

func (f *fake) SetLimits(ctx context.Context, l client.Limits) (client.Limits, error) {
	return f.limits, f.call(ctx, l)
}

func (f *fake) Metrics(ctx context.Context) ([]byte, error) {
	return []byte(f.metrics), f.call(ctx, "metrics")
}

// failing is a fake whose calls all end in err.
func failing(err error) *fake {
	f := full()
	f.during = func(context.Context) error { return err }
	return f
}

// buffer is a log that may be written to and read at the same time.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *buffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// tempSocket is a path for a socket that is short enough, whatever TMPDIR is.
func tempSocket(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ramaria-api-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "api.sock")
}

// start serves h on a socket of its own until the test ends, and fails it if serving
// does.
func start(t testing.TB, h http.Handler) (socket string, log *buffer) {
	t.Helper()
	socket, log = tempSocket(t), &buffer{}
	l, err := Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, h, log.logger()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return socket, log
}

// httpClient is a plain client of a socket, as curl is one.
func httpClient(t *testing.T, socket string) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
