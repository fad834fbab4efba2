package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
	"github.com/ramaria-db/ramaria/internal/volume/volumetest"
)

// outsideHome is a home of the test's own with a volume on XFS in RAM, and one on disk.
type outsideHome struct {
	t      *testing.T
	dir    string
	server *server.Server
	opener *volume.Opener
	keys   string
}

func newOutsideHome(t *testing.T, want string) *outsideHome {
	t.Helper()
	dir, err := os.MkdirTemp("", "ro-") // short, for sockets, and open to the account
	if err != nil {
		t.Fatal(err)
	}
	h := &outsideHome{
		t: t, dir: dir, server: servertest.Find(t, want), keys: filepath.Join(dir, "keys"),
		opener: &volume.Opener{Places: host.Places{Mounts: filepath.Join(dir, "m"), Disk: filepath.Join(dir, "d")}},
	}
	t.Cleanup(func() {
		if err := sys.RemoveTree(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return h
}

// store opens the volume of a kind.
func (h *outsideHome) store(kind volume.Kind) *instance.Store {
	h.t.Helper()
	v, err := h.opener.Open(h.t.Context(), volume.Spec{Kind: kind})
	if err != nil {
		h.t.Fatal(err)
	}
	if kind.Mounted() {
		h.t.Cleanup(func() {
			if err := v.Destroy(context.Background(), true); err != nil {
				h.t.Error(err)
			}
		})
	}
	return &instance.Store{
		Registry: instance.Registry{Dir: filepath.Join(h.dir, "state")}, Volume: v,
		Account: server.Account{UID: host.ReservedID, GID: host.ReservedID},
	}
}

// run makes an instance of the data that lies in data/ in a directory, and starts it.
func (h *outsideHome) run(store *instance.Store, name, from string) *Supervisor {
	h.t.Helper()
	parent := &instance.Instance{Record: instance.Record{Name: "from", Dir: from}, Made: instance.Made{Server: h.server}}
	parent.Endpoint.User = "app"
	i, err := store.Branch(h.t.Context(), parent, name, volume.How{}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := Start(h.t.Context(), i, store, Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Keys: h.keys})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, s.Kill()); err != nil {
			h.t.Error(err)
		}
	})
	return s
}

// rows are those of the table that the test writes to, and whether the server finds it whole.
func rows(t *testing.T, s *Supervisor) (list []string) {
	t.Helper()
	db, err := dbconn.Open(s.inst.Socket(), s.inst.Supervisor, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var table, op, kind, text string
	if err := db.QueryRowContext(t.Context(), "CHECK TABLE d.t EXTENDED").Scan(&table, &op, &kind, &text); err != nil || text != "OK" {
		t.Errorf("CHECK TABLE of instance %s: %s (%v)", s.inst.Name, text, err)
	}
	found, err := db.QueryContext(t.Context(), "SELECT CONCAT_WS(' ', id, SHA2(pad, 256)) FROM d.t ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var row string
		if err := found.Scan(&row); err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestSnapshotOutside takes the data of an instance on XFS in RAM, whose server is written to, to a
// directory on disk, and, in the same moment, as blocks that are shared. Both are the same, and a
// server finds the same in them. A copy whose last round is left out is the negative control.
func TestSnapshotOutside(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: mounting takes root")
	}
	servertest.Each(t, func(t *testing.T, want string) {
		h := newOutsideHome(t, want)
		seed := servertest.Start(t, h.server)
		seed.Load(t, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, pad VARCHAR(2000));")
		seed.Kill()
		ram, disk := h.store(volume.XFS), h.store(volume.Disk)
		source := h.run(ram, "source", filepath.Dir(seed.DataDir()))
		outside, err := h.opener.Outside(filepath.Join(h.dir, "archive"))
		if err != nil {
			t.Fatal(err)
		}
		if volume.SharesWith(outside, source.inst.DataDir()) || !volume.SharesWith(ram.Volume, source.inst.DataDir()) {
			t.Fatal("blocks are shared within a file system, and not beyond it")
		}
		w := startWriter(t, source)

		twin := filepath.Join(ram.Volume.Dir(), "images", "twin")
		base := filepath.Join(outside.Dir(), "base")
		for _, dir := range []string{twin, base} {
			if err := os.Mkdir(dir, 0o711); err != nil {
				t.Fatal(err)
			}
		}
		var before, after int64
		data, copied := source.inst.DataDir(), 0
		cost, err := source.snapshot(t.Context(), "the data", outside, func(ctx context.Context, how volume.How) error {
			freeze := how.Freeze
			how.Filter = server.CloneFilter
			for _, last := range []bool{false, true} {
				name := filepath.Join(base, "half")
				if last {
					name = filepath.Join(base, "data")
				}
				how.Freeze = func(rest func(context.Context) error) error {
					if err := w.more(10); err != nil { // the copy is of before that
						return err
					}
					before = w.written.Load()
					return freeze(func(ctx context.Context) error {
						copied++
						if !last { // and nothing of what has changed is copied
							return nil
						}
						return errors.Join(rest(ctx), sys.CopyTree(ctx, data, filepath.Join(twin, "data"), server.CloneFilter))
					})
				}
				if err := outside.Snapshot(ctx, data, name, how); err != nil {
					return err
				}
				after = w.written.Load()
			}
			return nil
		})
		err = errors.Join(err, w.more(1), w.stop())
		if err != nil || copied != 2 {
			t.Fatalf("the server stopped %d times: %v", copied, err)
		}
		t.Logf("pause %d us, before that %d us, %d bytes", cost.PauseMicros, cost.LiveMicros, cost.DataBytes)

		tree := func(dir string) volumetest.Tree {
			tree := volumetest.ReadTree(t, dir)
			for name, e := range tree { // where holes are is the file system's affair
				e.Data = ""
				tree[name] = e
			}
			return tree
		}
		was := tree(filepath.Join(twin, "data"))
		if d := volumetest.Diff(was, tree(filepath.Join(base, "data"))); d != "" {
			t.Errorf("the copy on disk is not what the server had (-server +copy):\n%s", d)
		}
		if volumetest.Diff(was, tree(filepath.Join(base, "half"))) == "" {
			t.Error("a copy without its last round is the same: the test sees nothing")
		}

		onDisk, shared := rows(t, h.run(disk, "disk", base)), rows(t, h.run(ram, "shared", twin))
		if d := cmp.Diff(shared, onDisk); d != "" {
			t.Errorf("servers find other rows (-shared +disk):\n%s", d)
		}
		// A row that was answered before the server stopped is there, one of later is not.
		if n := int64(len(onDisk)); n < before || n > after+1 {
			t.Errorf("there are %d rows: %d were answered before, %d when it went on", n, before, after)
		}
		if all := rows(t, source); len(all) <= len(onDisk) {
			t.Errorf("the source has %d rows and the copy %d: nothing was written meanwhile", len(all), len(onDisk))
		}
	})
}

// writer inserts rows one after the other, and counts those that were answered.
type writer struct {
	written   atomic.Int64
	end, done chan struct{}
	err       error // once done is closed
}

func startWriter(t *testing.T, s *Supervisor) *writer {
	t.Helper()
	db, err := dbconn.Open(s.inst.Socket(), s.inst.Supervisor, "")
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{end: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		defer db.Close()
		for n := int64(1); ; n++ {
			if _, w.err = db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO d.t VALUES (%d, REPEAT(SHA2(%d, 256), 30))", n, n)); w.err != nil {
				return
			}
			w.written.Store(n)
			select {
			case <-w.end:
				return
			default:
			}
		}
	}()
	return w
}

// more waits until n more rows have been answered.
func (w *writer) more(n int64) error {
	for want := w.written.Load() + n; w.written.Load() < want; {
		select {
		case <-w.done:
			return fmt.Errorf("the writer has ended: %w", w.err)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// stop ends it.
func (w *writer) stop() error {
	close(w.end)
	<-w.done
	return w.err
}
