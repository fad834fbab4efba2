package supervisor

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
	"github.com/ramaria-db/ramaria/internal/wheatfs"
)

// roomy is a volume of a kind, with room.
type roomy struct {
	volume.Volume
	kind volume.Kind
}

func (r roomy) Kind() volume.Kind          { return r.kind }
func (roomy) Dir() string                  { return "/run/ramaria/home/kind" }
func (roomy) Usage() (volume.Usage, error) { return volume.Usage{Free: 1 << 30}, nil }

// TestTmpDir: where temporary files lie on each kind of volume. One whose server does not run
// measures nothing, and each may be closed more than once.
func TestTmpDir(t *testing.T) {
	for _, c := range []struct {
		name    string
		kind    volume.Kind
		tmp     string // below --tmpdir
		path    string
		scratch bool
	}{
		{"xfs", volume.XFS, "", "/i/tmp", true},
		{"zram", volume.Zram, "", "/i/tmp", true},
		{"tmpfs", volume.Tmpfs, "", "/i/tmp", false},
		{"shm", volume.Shm, "", "/i/tmp", false},
		{"disk", volume.Disk, "", "/i/tmp", false},
		{"xfs and --tmpdir", volume.XFS, "/var/tmp/ramaria-a-1", "/var/tmp/ramaria-a-1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Supervisor{volume: roomy{kind: c.kind}, inst: &instance.Instance{Record: instance.Record{Dir: "/i", Tmp: c.tmp}}}
			if text := s.tmpWarning(); text != "" {
				t.Errorf("before the start: %q", text)
			}
			if err := s.openTmpDir(t.Context()); err != nil {
				t.Fatal(err)
			}
			scratch, is := s.tmpDir.(*server.Scratch)
			if s.tmpDir.Path() != c.path || is != c.scratch {
				t.Errorf("it is %s, a tmpfs: %v", s.tmpDir.Path(), is)
			}
			if is && (scratch.Size != 1<<30/scratchShare || scratch.Volumes != "/run/ramaria") {
				t.Errorf("a tmpfs of %d bytes, beside those in %s", scratch.Size, scratch.Volumes)
			}
			if _, _, ok := s.tmpDir.Usage(); ok || s.tmpWarning() != "" {
				t.Error("it measures what is not there")
			}
			first := s.tmpDir
			if err := s.openTmpDir(t.Context()); err != nil { // of the next start
				t.Fatal(err)
			}
			if c.scratch && s.tmpDir == first {
				t.Error("two starts have the same tmpfs")
			}
			for range 2 {
				if err := s.closeTmpDir(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// crowded is a volume without room for what its data may want.
type crowded struct{ roomy }

func (crowded) Usage() (volume.Usage, error) { return volume.Usage{Free: 1 << 20}, nil }

// TestTmpDirWithoutWheatfs: a wheatfs that nobody asked for and that cannot be started leaves what there would be on a machine
// without; one that was asked for is an error.
func TestTmpDirWithoutWheatfs(t *testing.T) {
	if err := wheatfs.Check(); err != nil {
		t.Skipf("SKIPPED, UNTESTED: %v", err)
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "ibdata1"), make([]byte, 2*leastScratch), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind  volume.Kind
		asked string
		is    tmpKind
	}{{volume.XFS, "", tmpTmpfs}, {volume.Shm, "", tmpOwn}, {volume.XFS, "wheatfs", ""}} {
		s := &Supervisor{
			volume: crowded{roomy{kind: c.kind}}, log: slog.New(slog.DiscardHandler), options: Options{Spill: filepath.Join(dir, "none")},
			inst: &instance.Instance{Record: instance.Record{Dir: dir, Spec: instance.Spec{TmpDir: c.asked}}},
		}
		err := s.openTmpDir(t.Context())
		if c.is == "" {
			if err == nil {
				t.Errorf("%s, asked for %s: no error", c.kind, c.asked)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := s.state.TmpDir; got.Kind != string(c.is) || !strings.Contains(got.Why, "none") {
			t.Errorf("%s: %+v, want %s", c.kind, got, c.is)
		}
		if scratch, is := s.tmpDir.(*server.Scratch); is && (scratch.Size != leastScratch || scratch.FS != nil) {
			t.Errorf("%s: %+v", c.kind, scratch)
		}
	}
}
